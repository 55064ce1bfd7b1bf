//! `k6/experimental/fs` and `k6/experimental/csv`: bytes of files and records in them, shared by all users.

use super::binding::{array_buffer, go_error, hold, with_held};
use super::data::shared::{Claim, SharedArrays};
use crate::host::host_of;
use crate::jslib::{RecordsError, RecordsOptions, records};
use crate::vm::{Builtin, Native, Phase, evaluated_module};
use rquickjs::{Ctx, Exception, Function, Object, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const MODULES: [Builtin; 2] = [
    Builtin { specifier: "k6/experimental/fs", text: include_str!("fs.js") },
    Builtin { specifier: "k6/experimental/csv", text: include_str!("csv.js") },
];
pub(super) const NATIVE: Native = Native { name: "prony:files", install };

/// A file that init code has opened.
#[derive(Debug, Clone)]
struct OpenFile {
    path: PathBuf,
    bytes: Arc<[u8]>,
}

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("isInit", Function::new(ctx.clone(), is_init)?)?;
    exports.set("open", Function::new(ctx.clone(), open)?)?;
    exports.set("path", Function::new(ctx.clone(), path)?)?;
    exports.set("name", Function::new(ctx.clone(), name)?)?;
    exports.set("size", Function::new(ctx.clone(), size)?)?;
    exports.set("slice", Function::new(ctx.clone(), slice)?)?;
    exports.set("keepRecords", Function::new(ctx.clone(), keep_records)?)
}

fn is_init(ctx: Ctx<'_>) -> bool {
    host_of(&ctx).phase() == Phase::Init
}

fn open(ctx: Ctx<'_>, path: String) -> rquickjs::Result<Value<'_>> {
    let modules = &host_of(&ctx).script.modules;
    let from = evaluated_module(&ctx);
    let refused =
        |message: String| Exception::throw_message(&ctx, &format!("open() failed; reason: {message}"));
    let bytes = modules.file(&from, &path).map_err(refused)?;
    hold(&ctx, OpenFile { path: modules.file_path(&from, &path), bytes })
}

fn file(ctx: &Ctx<'_>, held: &Value<'_>) -> rquickjs::Result<OpenFile> {
    with_held(ctx, held, |file: &mut OpenFile| file.clone())
}

fn path(ctx: Ctx<'_>, held: Value<'_>) -> rquickjs::Result<String> {
    Ok(file(&ctx, &held)?.path.display().to_string())
}

fn name(ctx: Ctx<'_>, held: Value<'_>) -> rquickjs::Result<String> {
    let file = file(&ctx, &held)?;
    Ok(file.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

fn size(ctx: Ctx<'_>, held: Value<'_>) -> rquickjs::Result<usize> {
    with_held(&ctx, &held, |file: &mut OpenFile| file.bytes.len())
}

/// Bytes from an offset on, at most so many.
fn slice<'js>(ctx: Ctx<'js>, held: Value<'js>, from: usize, count: usize) -> rquickjs::Result<Value<'js>> {
    let bytes = file(&ctx, &held)?.bytes;
    let from = from.min(bytes.len());
    array_buffer(&ctx, &bytes[from..bytes.len().min(from.saturating_add(count))])
}

/// Keeps a file's records as a shared array, where they are not kept already; returns the array's name.
fn keep_records<'js>(ctx: Ctx<'js>, held: Value<'js>, options: String) -> rquickjs::Result<String> {
    let file = file(&ctx, &held)?;
    let name = format!("csv:{}:{options}", Path::new(&file.path).display());
    let arrays = host_of(&ctx).script.shared::<SharedArrays>();
    if arrays.claim(&name) == Claim::Yours {
        let read = || {
            let options: RecordsOptions = serde_json::from_str(&options).map_err(RecordsError::Options)?;
            records(&String::from_utf8_lossy(&file.bytes), &options)
        };
        match read() {
            Ok(records) => {
                arrays.keep(&name, records);
            }
            Err(error) => {
                arrays.give_up(&name);
                return Err(go_error(&ctx, &error.to_string()));
            }
        }
    }
    Ok(name)
}
