//! What runs `CommonJS` on the virtual machine, and [`Sources`] as its modules.

#![expect(clippy::needless_pass_by_value, reason = "functions of JavaScript own their arguments")]

use super::common_js::RUNNER;
use super::sources::Sources;
use crate::host::host_of;
use crate::modules::binding::go_error;
use crate::vm::{Builtin, Modules, Native, Phase, Place, stack_depth};
use rquickjs::function::This;
use rquickjs::{Ctx, Exception, Function, Module, Object, Value};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const MODULES: &[Builtin] = &[Builtin { specifier: RUNNER, text: include_str!("common_js.js") }];

pub(crate) const NATIVES: &[Native] = &[Native { name: "prony:source", install }];

impl Modules for Sources {
    fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        Self::resolve(self, from, specifier)
    }

    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        Self::text(self, name).ok_or_else(|| format!("no module {name}"))
    }

    fn lacking(&self, from: &str, specifier: &str, texts: &[&str]) -> Vec<String> {
        Self::lacking(self, from, specifier, texts)
    }

    fn author_place(&self, place: Place) -> Place {
        let (file, position) = Self::author_place(self, &place.file, place.line, place.column);
        Place { file, line: position.line, column: position.column }
    }

    fn file_path(&self, from: &str, path: &str) -> PathBuf {
        self.path_of(from, path)
    }

    fn file(&self, from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        self.open(from, path)
    }
}

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("resolve", Function::new(ctx.clone(), resolve)?)?;
    exports.set("url", Function::new(ctx.clone(), url)?)?;
    exports.set("isBuiltin", Function::new(ctx.clone(), is_builtin)?)?;
    exports.set("namespace", Function::new(ctx.clone(), namespace)?)
}

fn resolve(ctx: Ctx<'_>, from: String, specifier: String) -> rquickjs::Result<String> {
    let script = &host_of(&ctx).script;
    if script.builtins.module(&specifier).is_some() {
        return Ok(specifier);
    }
    script.modules.resolve(&from, &specifier).map_err(|message| Exception::throw_message(&ctx, &message))
}

/// Of `import.meta.resolve`: the address of what a module means by a path, whether it is there or not.
fn url(ctx: Ctx<'_>, from: String, specifier: String) -> rquickjs::Result<String> {
    if specifier.is_empty() {
        return Err(go_error(&ctx, "import.meta.resolve() needs a path"));
    }
    if ["file://", "http://", "https://"].iter().any(|scheme| specifier.starts_with(scheme)) {
        return Ok(specifier);
    }
    if !["/", "./", "../"].iter().any(|start| specifier.starts_with(start)) {
        let message =
            format!("The moduleSpecifier \"{specifier}\" couldn't be recognised as something k6 supports.");
        return Err(go_error(&ctx, &message));
    }
    let path = host_of(&ctx).script.modules.file_path(&from, &specifier);
    // Of a folder the last slash stays.
    let end = if specifier.ends_with('/') { "/" } else { "" };
    Ok(format!("file://{}{end}", path.display()))
}

fn is_builtin(ctx: Ctx<'_>, name: String) -> bool {
    host_of(&ctx).script.builtins.module(&name).is_some()
}

/// The exports of a module, evaluated where it was not yet.
fn namespace<'js>(ctx: Ctx<'js>, name: String) -> rquickjs::Result<Value<'js>> {
    let specifier = serde_json::to_string(&name).expect("texts are JSON");
    let text = format!("export * as all from {specifier};");
    let host = host_of(&ctx);
    let is_init = host.phase() == Phase::Init;
    let required_at = host.required_at.replace(if is_init { stack_depth(&ctx) } else { 0 });
    let evaluated = Module::declare(ctx.clone(), format!("require:{name}"), text).and_then(Module::eval);
    host.required_at.set(required_at);
    let (module, promise) = evaluated?;
    match promise.result::<Value<'js>>() {
        Some(Err(_)) => {
            let thrown = ctx.catch();
            // It is thrown where `require` was called, and not left to nobody.
            let ignore = Function::new(ctx.clone(), || ())?;
            promise.catch()?.call::<_, Value<'js>>((This(promise), ignore))?;
            Err(ctx.throw(thrown))
        }
        Some(Ok(_)) => module.get("all"),
        None => {
            let message = format!("require() cannot wait for {name}, which awaits something at its top");
            Err(Exception::throw_message(&ctx, &message))
        }
    }
}
