//! What the prelude is given: the graph's calls, JSON, and searches in texts.

use std::{cell::RefCell, sync::Arc};

use mlua::{IntoLua, Lua, LuaString, Scope, Table, Value};

use crate::{
    calls::{CallError, GraphCall, GraphCalls, Method, Side},
    decode::decode,
    encode::Encoder,
    error::told,
    limits::Limits,
    shapes::{Shape, Shapes},
    strings,
};

/// What a script prints is for the log, where no line is longer.
const PRINTED_BYTES_MAX: usize = 1024;

/// The table that the prelude is called with.
pub(crate) fn table<'scope, 'env: 'scope, 'g: 'env>(
    lua: &Lua,
    scope: &'scope Scope<'scope, 'env>,
    graph: &'env RefCell<&'g mut dyn GraphCalls>,
    shapes: &Shapes,
    limits: &Arc<Limits>,
) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    for (name, metatable) in [
        ("node", &shapes.node),
        ("relationship", &shapes.relationship),
        ("link", &shapes.link),
        ("object", &shapes.object),
    ] {
        host.set(name, metatable)?;
    }
    add_calls(&host, scope, graph, shapes, limits)?;
    add_json(lua, &host, shapes, limits)?;
    strings::add(lua, &host, limits)?;
    host.set(
        "name",
        lua.create_function(|lua, name: LuaString| lua.create_string(encoded(&name.as_bytes())))?,
    )?;
    let print = |_: &Lua, text: LuaString| {
        let text = text.as_bytes();
        let text = String::from_utf8_lossy(&text[..text.len().min(PRINTED_BYTES_MAX)]);
        tracing::debug!(%text, "a script prints");
        Ok(())
    };
    host.set("print", lua.create_function(print)?)?;
    let text = |lua: &Lua, fault: Value| match fault {
        Value::Error(error) => lua.create_string(told(&error)).map(Value::String),
        other => Ok(other),
    };
    host.set("told", lua.create_function(text)?)?;
    Ok(host)
}

fn add_calls<'scope, 'env: 'scope, 'g: 'env>(
    host: &Table,
    scope: &'scope Scope<'scope, 'env>,
    graph: &'env RefCell<&'g mut dyn GraphCalls>,
    shapes: &Shapes,
    limits: &Arc<Limits>,
) -> mlua::Result<()> {
    let (shapes, limits) = (shapes.clone(), Arc::clone(limits));
    let call = move |lua: &Lua, (method, path, query, body, shape): CallArguments| {
        limits.check().map_err(mlua::Error::external)?;
        let (path, query) = (path.to_str()?, query.as_ref().map(LuaString::to_str).transpose()?);
        let body = body.as_ref().map(LuaString::as_bytes);
        let call = GraphCall {
            method: self::method(&method.to_str()?)?,
            path: &path,
            query: query.as_deref(),
            body: body.as_deref().unwrap_or_default(),
            reply_bytes_max: limits.memory_bytes,
        };
        let reply = graph.borrow_mut().call(&call).map_err(mlua::Error::external)?;
        if !is_told(reply.status, &reply.body) {
            return Err(mlua::Error::external(refusal(reply.status, &reply.body)));
        }
        let is_value = reply.status < 300 && !reply.body.is_empty();
        let shape = shape.as_ref().map(LuaString::to_str).transpose()?;
        let value = if is_value {
            decode(lua, &shapes, Shape::parse(shape.as_deref()), &reply.body)?
        } else {
            Value::Nil
        };
        Ok((reply.status, value))
    };
    host.set("call", scope.create_function(call)?)?;
    let count = move |_: &Lua, (side, name): (LuaString, Option<LuaString>)| {
        let name = name.as_ref().map(LuaString::to_str).transpose()?;
        let count = graph.borrow_mut().count(self::side(&side)?, name.as_deref());
        count.map(|count| count as f64).map_err(mlua::Error::external)
    };
    host.set("count", scope.create_function(count)?)?;
    let type_name = move |_: &Lua, (side, number): (LuaString, f64)| {
        // Types have no other numbers.
        if number.fract() != 0.0 || !(0.0..=f64::from(u16::MAX)).contains(&number) {
            return Ok(None);
        }
        Ok(graph.borrow_mut().type_name(self::side(&side)?, number as u16))
    };
    host.set("type_name", scope.create_function(type_name)?)?;
    let type_number = move |_: &Lua, (side, name): (LuaString, LuaString)| {
        Ok(graph.borrow_mut().type_number(self::side(&side)?, &name.to_str()?))
    };
    host.set("type_number", scope.create_function(type_number)?)
}

/// Method, path, query, body, and what the objects of the reply are.
type CallArguments = (LuaString, LuaString, Option<LuaString>, Option<LuaString>, Option<LuaString>);

fn add_json(lua: &Lua, host: &Table, shapes: &Shapes, limits: &Arc<Limits>) -> mlua::Result<()> {
    let (own, bounds) = (shapes.clone(), Arc::clone(limits));
    let encode = move |lua: &Lua, value: Value| {
        let mut encoder = Encoder::new(&own, &bounds);
        encoder.write(&value)?;
        lua.create_string(encoder.finish())
    };
    host.set("encode", lua.create_function(encode)?)?;
    let own = shapes.clone();
    let read =
        move |lua: &Lua, text: LuaString| decode(lua, &own, Shape::Plain, &text.as_bytes())?.into_lua(lua);
    host.set("decode", lua.create_function(read)?)
}

/// Whether a script is told the status: what it asked for is there, is not, or cannot be so. All else is an error of the call.
fn is_told(status: u16, body: &[u8]) -> bool {
    matches!(status, 200..=299 | 304 | 404) || (status == 400 && body == b"\"Invalid Request\"")
}

fn refusal(status: u16, body: &[u8]) -> CallError {
    let text = serde_json::from_slice::<String>(body);
    let message = text.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned());
    CallError { status, message }
}

fn method(word: &str) -> mlua::Result<Method> {
    Ok(match word {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        _ => return Err(mlua::Error::runtime("there is no such method")),
    })
}

fn side(word: &LuaString) -> mlua::Result<Side> {
    Side::parse(&word.to_str()?).ok_or_else(|| mlua::Error::runtime("there are nodes and relationships"))
}

/// A name as a segment of a path. Its first byte is never as it stands, so that it is none of the words of routes.
fn encoded(name: &[u8]) -> Vec<u8> {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(name.len() + 8);
    for (index, &byte) in name.iter().enumerate() {
        if index > 0 && byte.is_ascii_alphanumeric() {
            out.push(byte);
        } else {
            out.extend([b'%', HEXADECIMAL[usize::from(byte >> 4)], HEXADECIMAL[usize::from(byte & 15)]]);
        }
    }
    out
}
