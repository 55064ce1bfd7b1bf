//! One script from its text to the JSON of its value.

use std::{cell::RefCell, sync::Arc};

use mlua::{Function, Lua, MultiValue, Value, chunk::ChunkMode};

use crate::{
    calls::{CallError, GraphCalls},
    encode::{Encoder, TooLong},
    error::{ScriptFault, innermost, told},
    host,
    limits::{Limits, SCRIPT_BYTES_MAX, Stop},
    line, sandbox,
    shapes::Shapes,
};

const PRELUDE: &str = include_str!("prelude.lua");
/// What messages call the prelude.
const PRELUDE_NAME: &str = "=graph";
/// Stands before the values of the last line, which are told by it from what is returned before that line. As no script can have it for a
/// value (it is no UTF-8) none is taken for another; nothing that a script can look at holds it.
const MARK: &[u8] = b"\xFFthe last line";
/// What returns it, with more to come.
const RETURN_MARK: &[u8] = br#"return "\255the last line", "#;
/// How Lua writes a table: by its address, which tells nothing.
const TABLE: &str = "table: 0x";
const RAISED_TABLE: &str = "it raised a table, and no text: raise what json.encode makes of it";

/// Runs a script on a graph, and gives the JSON of its value. It blocks, for as long as the limits say, and needs a stack of
/// [`STACK_BYTES`](crate::STACK_BYTES).
///
/// The value is that of the last line, where that is an expression; where it has a comma that stands in no text, it is the list of the
/// values of that line, as in `RageDB`. A script may also end with `return`: of several values it is their list.
///
/// # Errors
/// The script cannot be read, fails, or is ended. What it wrote before stays.
pub fn run(script: &[u8], graph: &mut dyn GraphCalls, limits: &Limits) -> Result<Vec<u8>, ScriptFault> {
    if script.len() > SCRIPT_BYTES_MAX {
        return Err(ScriptFault::too_long());
    }
    let limits = Arc::new(limits.clone());
    let run = || {
        let lua = sandbox::state(&limits)?;
        let shapes = Shapes::new(&lua)?;
        let graph = RefCell::new(graph);
        lua.scope(|scope| {
            let host = host::table(&lua, scope, &graph, &shapes, &limits)?;
            lua.load(PRELUDE).set_name(PRELUDE_NAME).call::<()>(host)?;
            let chunk = compile(&lua, script)?;
            let values = chunk.function.call::<MultiValue>(())?.into_vec();
            let (form, values) = match values.as_slice() {
                [Value::String(first), values @ ..] if *first == MARK => (chunk.form, values),
                values => (Form::Return, values),
            };
            let mut encoder = Encoder::new(&shapes, &limits);
            match (form, values) {
                (Form::List, values) | (Form::Return, values @ [_, _, ..]) => encoder.write_all(values)?,
                (_, [first, ..]) => encoder.write(first)?,
                (_, []) => encoder.write(&mlua::Nil)?,
            }
            Ok(encoder.finish())
        })
    };
    // What a script has caught is told all the same, when it is that it must end.
    run().map_err(|error| match limits.check() {
        Err(stop) => stopped(stop, place(&error)),
        Ok(()) => fault(&error, &limits),
    })
}

struct Chunk {
    function: Function,
    /// Of the last line; what is returned before it is always a [`Form::Return`].
    form: Form,
}

/// What the value of a script is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The last line is an expression.
    One,
    /// The last line is a list of expressions.
    List,
    /// What is returned: one value, or the list of several.
    Return,
}

/// Compiles a script, whose last line may be an expression. The function returns [`MARK`] before the values of that line.
fn compile(lua: &Lua, script: &[u8]) -> mlua::Result<Chunk> {
    let load = |text: &[u8]| {
        let chunk = lua.load(text).set_name(format!("={}", line::SCRIPT)).set_mode(ChunkMode::Text);
        chunk.into_function()
    };
    let whole = || Ok(Chunk { function: load(script)?, form: Form::Return });
    let script = script.trim_ascii_end();
    let begin = script.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let (before, last) = script.split_at(begin);
    let Some((expression, form)) = expression(last) else { return whole() };
    // Else the line is in the middle of something, such as a text.
    if load(before).is_err() {
        return whole();
    }
    // With a value before it, it is no tail call, of which the line would not be known.
    match load(&[before, RETURN_MARK, expression].concat()) {
        Ok(function) => Ok(Chunk { function, form }),
        Err(error) => whole().map_err(|_| error),
    }
}

/// What a last line is the value of; none where it is a statement of another kind.
fn expression(line: &[u8]) -> Option<(&[u8], Form)> {
    const STATEMENTS: [&[u8]; 14] = [
        b"break",
        b"do",
        b"else",
        b"elseif",
        b"end",
        b"for",
        // It begins an expression, too, which nobody has as the value of a script.
        b"function",
        b"goto",
        b"if",
        b"local",
        b"repeat",
        b"then",
        b"until",
        b"while",
    ];
    let line = line.trim_ascii_start();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (word, rest) = line.split_at(line.iter().position(|byte| !is_word(byte)).unwrap_or(line.len()));
    if word == b"return" {
        let is_empty = matches!(rest.trim_ascii_start().first(), None | Some(b';'));
        return (!is_empty).then_some((rest, Form::Return));
    }
    let form = if has_comma(line) { Form::List } else { Form::One };
    (!line.is_empty() && !STATEMENTS.contains(&word)).then_some((line, form))
}

/// Whether a line has a comma outside of texts, which are all in double quotes for this.
fn has_comma(line: &[u8]) -> bool {
    let (mut is_text, mut is_escaped) = (false, false);
    line.iter().any(|&byte| {
        is_text ^= byte == b'"' && !is_escaped;
        is_escaped = is_text && byte == b'\\' && !is_escaped;
        byte == b',' && !is_text
    })
}

fn stopped(stop: Stop, line: Option<u32>) -> ScriptFault {
    match stop {
        Stop::Time(_) => ScriptFault::Limit { line, message: stop.to_string() },
        Stop::Cancelled => ScriptFault::Cancelled,
    }
}

fn fault(error: &mlua::Error, limits: &Limits) -> ScriptFault {
    let line = place(error);
    match innermost(error) {
        mlua::Error::SyntaxError { message, .. } => {
            let (line, message) = line::split(message);
            ScriptFault::Syntax { line, message: message.to_owned() }
        }
        mlua::Error::MemoryError(_) => {
            let bytes = limits.memory_bytes;
            let message = format!("it needs more memory than {bytes} bytes (graph_lua_max_memory_bytes)");
            ScriptFault::Limit { line, message }
        }
        mlua::Error::ExternalError(cause) => {
            if let Some(CallError { status, message }) = cause.downcast_ref() {
                return ScriptFault::Call { status: *status, line, message: message.clone() };
            }
            if let Some(stop) = cause.downcast_ref() {
                return stopped(*stop, line);
            }
            let message = cause.to_string();
            if cause.is::<TooLong>() {
                return ScriptFault::Limit { line, message };
            }
            ScriptFault::Failed { line, message }
        }
        _ => {
            let text = told(error);
            let (own, message) = line::split(&text);
            let message = if message.starts_with(TABLE) { RAISED_TABLE } else { message };
            ScriptFault::Failed { line: own.or(line), message: message.to_owned() }
        }
    }
}

/// The line of the script that was running.
fn place(error: &mlua::Error) -> Option<u32> {
    match error {
        mlua::Error::CallbackError { traceback, cause } => {
            line::innermost(traceback).or_else(|| place(cause))
        }
        mlua::Error::WithContext { cause, .. } => place(cause),
        mlua::Error::RuntimeError(text) => line::split(text).0.or_else(|| line::innermost(text)),
        _ => None,
    }
}
