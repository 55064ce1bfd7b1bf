//! `console`: values as k6 writes them, to the run's log.

use super::binding::{is_nullish, text_of};
use super::log::{Level, Log};
use crate::host::host_of;
use crate::vm::{Builtin, Native};
use crate::vm::{bytes_of, is_array_buffer, well_formed};
use rquickjs::atom::PredefinedAtom;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, Object, Value};
use std::fmt::Write as _;

/// Each user has its own object, which scripts may change.
pub(super) const GLOBAL_MODULE: Builtin = Builtin {
    specifier: "prony/console",
    text: "import native from 'prony:console';\nexport const console = { ...native };\n",
};
pub(crate) const NATIVE: Native = Native { name: "prony:console", install };

/// Deeper values are not looked into: each level takes stack of the user's, which is small.
const DEPTH_MAX: usize = 24;
/// What is longer is cut anyway, by the log.
const TEXT_BYTES_MAX: usize = 64 * 1024;

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    let levels = [
        ("log", Level::Info),
        ("info", Level::Info),
        ("debug", Level::Debug),
        ("warn", Level::Warning),
        ("error", Level::Error),
    ];
    for (name, level) in levels {
        let write = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| log(&ctx, level, values.0);
        exports.set(name, Function::new(ctx.clone(), write)?.with_name(name)?)?;
    }
    Ok(())
}

fn log<'js>(ctx: &Ctx<'js>, level: Level, values: Vec<Value<'js>>) -> rquickjs::Result<()> {
    let all = host_of(ctx).script.shared::<Log>();
    let log = all.console();
    if log.takes(level) {
        // Where nothing else is written, it needs not be said.
        let source: &[(&str, &str)] = if all.has_own_console() { &[] } else { &[("source", "console")] };
        log.write(level, &line(ctx, values)?, source);
    }
    Ok(())
}

/// Values as one line, with blanks between.
pub(crate) fn line<'js>(ctx: &Ctx<'js>, values: Vec<Value<'js>>) -> rquickjs::Result<String> {
    let mut text = String::new();
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        if value.is_object() && !value.is_function() && !value.is_error() {
            Writer { ctx, text: &mut text, outer: Vec::new() }.value(value)?;
        } else {
            push_plain(ctx, &mut text, value)?;
        }
    }
    Ok(text)
}

fn push_plain<'js>(ctx: &Ctx<'js>, text: &mut String, value: Value<'js>) -> rquickjs::Result<()> {
    if value.is_function() {
        text.push_str("[object Function]");
    } else if let Some(symbol) = value.as_symbol() {
        text.push_str(&text_of(ctx, symbol.description()?)?);
    } else {
        text.push_str(&text_of(ctx, value)?);
    }
    Ok(())
}

struct Writer<'a, 'js> {
    ctx: &'a Ctx<'js>,
    text: &'a mut String,
    /// The objects that the value is in.
    outer: Vec<Object<'js>>,
}

impl<'js> Writer<'_, 'js> {
    fn value(&mut self, value: Value<'js>) -> rquickjs::Result<()> {
        if is_nullish(&value) {
            self.text.push_str("null");
        } else if let Some(text) = value.as_string() {
            let _ = write!(self.text, "\"{}\"", well_formed(text)?);
        } else if value.is_function() || value.is_error() || !value.is_object() {
            push_plain(self.ctx, self.text, value)?;
        } else if let Some(object) = value.into_object() {
            if self.outer.contains(&object) {
                self.text.push_str("[Circular]");
                return Ok(());
            }
            if self.outer.len() >= DEPTH_MAX || self.text.len() > TEXT_BYTES_MAX {
                self.text.push_str("[Object]");
                return Ok(());
            }
            self.outer.push(object.clone());
            self.object(&object)?;
            self.outer.pop();
        }
        Ok(())
    }

    fn object(&mut self, object: &Object<'js>) -> rquickjs::Result<()> {
        if is_array_buffer(object) {
            self.bytes(&bytes_of(object).unwrap_or_default());
            return Ok(());
        }
        let tag: Value<'js> = object.get(PredefinedAtom::SymbolToStringTag)?;
        if let Some(name) =
            tag.as_string().and_then(|tag| tag.to_string().ok()).filter(|tag| tag.ends_with("Array"))
        {
            return self.typed_array(object, &name);
        }
        // What a proxy of an array is, is an array to JavaScript.
        let is_array: bool = self
            .ctx
            .globals()
            .get::<_, Object<'js>>("Array")?
            .get::<_, Function<'js>>("isArray")?
            .call((object.clone(),))?;
        if is_array { self.array(object) } else { self.properties(object) }
    }

    fn array(&mut self, array: &Object<'js>) -> rquickjs::Result<()> {
        let length: u32 = array.get("length")?;
        if length == 0 {
            self.text.push_str("[]");
            return Ok(());
        }
        self.text.push_str("[ ");
        for index in 0..length {
            self.separate(index as usize);
            self.value(array.get(index)?)?;
            if self.text.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        self.text.push_str(" ]");
        Ok(())
    }

    fn properties(&mut self, object: &Object<'js>) -> rquickjs::Result<()> {
        let mut count = 0;
        for key in object.keys::<String>() {
            let key = key?;
            self.text.push_str(if count == 0 { "{ " } else { ", " });
            count += 1;
            let _ = write!(self.text, "{key}: ");
            self.value(object.get(key.as_str())?)?;
            if self.text.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        if count > 0 {
            self.text.push_str(" }");
            return Ok(());
        }
        match self.date(object)? {
            Some(date) => {
                let _ = write!(self.text, "\"{date}\"");
            }
            None => self.text.push_str("{}"),
        }
        Ok(())
    }

    fn date(&self, object: &Object<'js>) -> rquickjs::Result<Option<String>> {
        let class: Object<'js> = self.ctx.globals().get("Date")?;
        if !object.is_instance_of(&class) {
            return Ok(None);
        }
        let format: Function<'js> = object.get("toISOString")?;
        let text = format.call((rquickjs::function::This(object.clone()),)).ok();
        if text.is_none() {
            // A date that is none has no text: what was thrown is taken away.
            self.ctx.catch();
        }
        Ok(text)
    }

    fn typed_array(&mut self, array: &Object<'js>, name: &str) -> rquickjs::Result<()> {
        let length: u32 = array.get("length")?;
        let name = if name == "Uint8ClampedArray" { "Uint8Array" } else { name };
        let _ = write!(self.text, "{name}({length}) ");
        if length == 0 {
            self.text.push_str("[]");
            return Ok(());
        }
        self.text.push_str("[ ");
        for index in 0..length {
            self.separate(index as usize);
            let element = text_of(self.ctx, array.get(index)?)?;
            self.text.push_str(&element);
            if self.text.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        self.text.push_str(" ]");
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.text.push_str("ArrayBuffer { [Uint8Contents]: <");
        for (index, byte) in bytes.iter().take(TEXT_BYTES_MAX / 3).enumerate() {
            let _ = write!(self.text, "{}{byte:02x}", if index > 0 { " " } else { "" });
        }
        let _ = write!(self.text, ">, byteLength: {} }}", bytes.len());
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.text.push_str(", ");
        }
    }
}
