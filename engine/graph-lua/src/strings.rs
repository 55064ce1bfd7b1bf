//! Functions of Lua's `string` that search, in place of Lua's own: these cannot be ended by a hook.

use std::sync::Arc;

use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};

use crate::{
    limits::Limits,
    patterns::{Captured, Found, PatternFault, find},
};

/// Adds the functions to the table that the prelude is given.
pub(crate) fn add(lua: &Lua, host: &Table, limits: &Arc<Limits>) -> mlua::Result<()> {
    let own = Arc::clone(limits);
    let search = move |lua: &Lua, (text, pattern, from, is_plain): Find| {
        let (text, pattern) = (&text.as_bytes(), &pattern.as_bytes());
        let from = begin(text, from);
        if is_plain == Some(true) || !has_specials(pattern) {
            // In linear time, which Lua's own is not.
            let found = memchr::memmem::find(&text[from..], pattern);
            return found
                .map(|at| (from + at + 1, from + at + pattern.len()))
                .map_or_else(|| Value::Nil.into_lua_multi(lua), |places| places.into_lua_multi(lua));
        }
        let found = first(text, pattern, from, &own)?;
        found.map_or_else(|| Value::Nil.into_lua_multi(lua), |found| places(lua, text, &found))
    };
    host.set("find", lua.create_function(search)?)?;
    let own = Arc::clone(limits);
    let search = move |lua: &Lua, (text, pattern, from, _): Find| {
        let (text, pattern) = (&text.as_bytes(), &pattern.as_bytes());
        let found = first(text, pattern, begin(text, from), &own)?;
        let Some(found) = found else { return Value::Nil.into_lua_multi(lua) };
        if found.captures.is_empty() {
            return lua.create_string(&text[found.from..found.to])?.into_lua_multi(lua);
        }
        captures(lua, text, &found)
    };
    host.set("match", lua.create_function(search)?)?;
    let own = Arc::clone(limits);
    // As `find`, with `^` as any other character.
    let search = move |lua: &Lua, (text, pattern, from, _): Find| {
        let (text, pattern) = (&text.as_bytes(), &pattern.as_bytes());
        let check = || own.check();
        let found = find(text, pattern, begin(text, from), false, &check).map_err(told)?;
        found.map_or_else(|| Value::Nil.into_lua_multi(lua), |found| places(lua, text, &found))
    };
    host.set("next_match", lua.create_function(search)?)?;
    let own = Arc::clone(limits);
    let replace =
        move |lua: &Lua, (text, pattern, by, most): (LuaString, LuaString, LuaString, Option<f64>)| {
            let (replaced, count) =
                substitute(&text.as_bytes(), &pattern.as_bytes(), &by.as_bytes(), most, &own)?;
            Ok((lua.create_string(replaced)?, count))
        };
    host.set("substitute", lua.create_function(replace)?)
}

/// Text, pattern, where to begin, and whether the pattern is the text that is looked for.
type Find = (LuaString, LuaString, Option<i64>, Option<bool>);

pub(crate) fn has_specials(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// From Lua's place, which counts from 1, or from the end where it is negative.
fn begin(text: &[u8], from: Option<i64>) -> usize {
    let from = from.unwrap_or(1);
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let begin = if from < 0 { length.saturating_add(from) } else { from - 1 };
    begin.clamp(0, length) as usize
}

fn first(text: &[u8], pattern: &[u8], from: usize, limits: &Limits) -> mlua::Result<Option<Found>> {
    let check = || limits.check();
    let (is_anchored, pattern) = anchored(pattern);
    find(text, pattern, from, is_anchored, &check).map_err(told)
}

fn anchored(pattern: &[u8]) -> (bool, &[u8]) {
    pattern.strip_prefix(b"^").map_or((false, pattern), |rest| (true, rest))
}

fn told(fault: PatternFault) -> mlua::Error {
    match fault {
        PatternFault::Malformed(what) => mlua::Error::RuntimeError(what.to_owned()),
        PatternFault::Stopped(stop) => mlua::Error::external(stop),
    }
}

/// First and last place, and the captures.
fn places(lua: &Lua, text: &[u8], found: &Found) -> mlua::Result<MultiValue> {
    let mut values = captures(lua, text, found)?;
    values.push_front(Value::Number(found.to as f64));
    values.push_front(Value::Number((found.from + 1) as f64));
    Ok(values)
}

fn captures(lua: &Lua, text: &[u8], found: &Found) -> mlua::Result<MultiValue> {
    let captured = found.captures.iter().map(|captured| {
        Ok(match *captured {
            Captured::Text(from, to) => Value::String(lua.create_string(&text[from..to])?),
            Captured::Position(at) => Value::Number((at + 1) as f64),
        })
    });
    captured.collect()
}

/// `string.gsub` with a text in place of what is found.
fn substitute(
    text: &[u8],
    pattern: &[u8],
    by: &[u8],
    most: Option<f64>,
    limits: &Limits,
) -> mlua::Result<(Vec<u8>, u64)> {
    let check = || limits.check();
    let (is_anchored, pattern) = anchored(pattern);
    let most = most.map_or(u64::MAX, |most| most.max(0.0) as u64);
    let (mut out, mut count, mut at) = (Vec::new(), 0, 0);
    while count < most && at <= text.len() {
        let Some(found) = find(text, pattern, at, is_anchored, &check).map_err(told)? else { break };
        count += 1;
        out.extend_from_slice(&text[at..found.from]);
        expand(&mut out, text, by, &found, limits.memory_bytes)?;
        at = found.to;
        if found.from == found.to {
            out.extend_from_slice(text.get(at..=at).unwrap_or_default());
            at += 1;
        }
        check_length(&out, limits.memory_bytes)?;
        if is_anchored {
            break;
        }
        limits.check().map_err(mlua::Error::external)?;
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok((out, count))
}

fn check_length(out: &[u8], bytes_max: usize) -> mlua::Result<()> {
    if out.len() <= bytes_max {
        return Ok(());
    }
    Err(mlua::Error::MemoryError("not enough memory".to_owned()))
}

/// Writes the text that stands in place of what was found, in which `%1` is a capture, and `%0` all of it.
fn expand(out: &mut Vec<u8>, text: &[u8], by: &[u8], found: &Found, bytes_max: usize) -> mlua::Result<()> {
    let mut bytes = by.iter();
    while let Some(&byte) = bytes.next() {
        // Each of many captures may be the whole text.
        check_length(out, bytes_max)?;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        // What is escaped stands for itself, as in LuaJIT.
        let Some(&escaped) = bytes.next() else { break };
        match escaped {
            b'0' => out.extend_from_slice(&text[found.from..found.to]),
            b'1' if found.captures.is_empty() => out.extend_from_slice(&text[found.from..found.to]),
            b'1'..=b'9' => match found.captures.get(usize::from(escaped - b'1')) {
                Some(Captured::Text(from, to)) => out.extend_from_slice(&text[*from..*to]),
                Some(Captured::Position(at)) => out.extend_from_slice((at + 1).to_string().as_bytes()),
                None => return Err(mlua::Error::runtime("invalid capture index")),
            },
            other => out.push(other),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length was looked at behind all of what stands in place of a match.
    #[test]
    fn what_stands_in_place_of_one_match_has_a_bound() {
        let found = Found { from: 0, to: 100, captures: Vec::new() };
        let mut out = Vec::new();
        let refused = expand(&mut out, &[b'x'; 100], &b"%0".repeat(1000), &found, 1000);
        assert!(matches!(refused, Err(mlua::Error::MemoryError(_))), "{refused:?}");
        assert!(out.len() <= 1100, "{}", out.len());
    }
}
