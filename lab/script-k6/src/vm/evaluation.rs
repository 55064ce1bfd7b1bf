//! Which module is being evaluated in init code: k6 opens files relative to it, whichever module has the function that opens.

use crate::host::host_of;
use rquickjs::Ctx;

/// Functions of this program on the stack, one after the other: there are never so many.
const NATIVES_MAX: usize = 64;

/// The modules that the frames on the stack are from, the innermost first; none for functions of this program. Ends with the
/// outermost frame that is from a module.
fn frames(ctx: &Ctx<'_>) -> Vec<Option<String>> {
    let mut frames = Vec::new();
    let mut natives = 0;
    while natives < NATIVES_MAX {
        let module = ctx.script_or_module_name(frames.len().cast_signed());
        let name = module.and_then(|name| name.to_string().ok());
        natives = if name.is_some() { 0 } else { natives + 1 };
        frames.push(name);
    }
    frames.truncate(frames.len() - natives);
    frames
}

/// How many frames are on the stack.
pub(crate) fn stack_depth(ctx: &Ctx<'_>) -> usize {
    frames(ctx).len()
}

/// The file whose body runs: the outermost on the stack, above what has called `require` where that is what runs it. The main
/// module where it is none.
pub(crate) fn evaluated_module(ctx: &Ctx<'_>) -> String {
    let host = host_of(ctx);
    let mut frames = frames(ctx);
    frames.truncate(frames.len().saturating_sub(host.required_at.get()));
    let is_file = |name: &String| name.starts_with("file:") && host.script.builtins.module(name).is_none();
    let found = frames.into_iter().rev().flatten().find(is_file);
    found.unwrap_or_else(|| host.script.entry.clone())
}
