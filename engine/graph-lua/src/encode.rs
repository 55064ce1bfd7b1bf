//! Values of Lua as JSON, in the form that the graph's responses have: a space behind each colon and comma. A table with the
//! keys 1 to n is a list, and so is an empty one, as `RageDB` has it; a table whose keys are texts is an object, its members by name.

use std::{ffi::c_void, ops::Range};

use mlua::{Table, Value};
use prony_graphql::json::{write_number, write_string};

use crate::{error::told, limits::Limits, shapes::Shapes};

/// JSON that is nested more is refused, as the graph's calls refuse it.
const DEPTH_MAX: usize = 127;
/// Numbers whose shortest text has an exponent, and that integers of the graph can be: from 10^16 on, and less than 2^63.
const EXPONENTS: Range<f64> = 1e16..9_223_372_036_854_775_808.0;
/// The least integer of the graph.
const INTEGER_MIN: f64 = -9_223_372_036_854_775_808.0;

/// Writes values.
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    shapes: &'a Shapes,
    limits: &'a Limits,
    out: Vec<u8>,
    /// The tables that are being written, from the outside in.
    within: Vec<*const c_void>,
    /// Of names that are held for these and not written yet: tables within each other may share one that is long.
    held_bytes: usize,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(shapes: &'a Shapes, limits: &'a Limits) -> Self {
        Self { shapes, limits, out: Vec::new(), within: Vec::new(), held_bytes: 0 }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// # Errors
    /// The value has no JSON, or more than a result may have.
    pub(crate) fn write(&mut self, value: &Value) -> mlua::Result<()> {
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Integer(value) => self.write_double(*value as f64)?,
            Value::Number(value) => self.write_double(*value)?,
            Value::String(text) => self.write_text(&text.as_bytes())?,
            Value::Table(table) => self.write_table(table)?,
            // What `pcall` has caught.
            Value::Error(error) => write_string(&mut self.out, &told(error)),
            Value::Other(_) => return Err(refused("a 64-bit integer of LuaJIT cannot be JSON".to_owned())),
            other => {
                return Err(refused(format!("a {} cannot be JSON", other.type_name())));
            }
        }
        self.check_length()
    }

    /// A list of values, of which some may be nil.
    pub(crate) fn write_all(&mut self, values: &[Value]) -> mlua::Result<()> {
        self.out.push(b'[');
        for (index, value) in values.iter().enumerate() {
            self.separate(index);
            self.write(value)?;
        }
        self.out.push(b']');
        self.check_length()
    }

    fn check_length(&self) -> mlua::Result<()> {
        self.check_room(0)
    }

    /// Whether so many bytes more may be written, beside those that are sure to be.
    fn check_room(&self, bytes: usize) -> mlua::Result<()> {
        let limit = self.limits.result_bytes;
        if self.out.len().saturating_add(self.held_bytes).saturating_add(bytes) <= limit {
            return Ok(());
        }
        Err(mlua::Error::external(TooLong { limit }))
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.extend_from_slice(b", ");
        }
    }

    fn write_double(&mut self, value: f64) -> mlua::Result<()> {
        if !value.is_finite() {
            return Err(refused(format!("the number {value} cannot be JSON")));
        }
        let has_exponent = EXPONENTS.contains(&value.abs()) || value.total_cmp(&INTEGER_MIN).is_eq();
        if value.fract() == 0.0 && has_exponent {
            self.out.extend_from_slice((value as i64).to_string().as_bytes());
        } else {
            // Without the sign of a zero, with which it is no integer to the graph.
            write_number(&mut self.out, value + 0.0);
        }
        Ok(())
    }

    fn write_text(&mut self, text: &[u8]) -> mlua::Result<()> {
        self.check_room(text.len())?;
        write_string(&mut self.out, utf8(text)?);
        Ok(())
    }

    fn write_table(&mut self, table: &Table) -> mlua::Result<()> {
        self.limits.check().map_err(mlua::Error::external)?;
        let pointer = table.to_pointer();
        if self.within.contains(&pointer) {
            return Err(refused("a table that contains itself cannot be JSON".to_owned()));
        }
        if self.within.len() >= DEPTH_MAX {
            return Err(refused(format!("tables that are nested more than {DEPTH_MAX} deep cannot be JSON")));
        }
        self.within.push(pointer);
        let order = table.metatable().and_then(|metatable| self.shapes.order(&metatable));
        match order {
            None if table.is_empty() || !table.raw_get::<Value>(1)?.is_nil() => self.write_list(table)?,
            order => self.write_object(table, order.unwrap_or_default())?,
        }
        self.within.pop();
        Ok(())
    }

    fn write_list(&mut self, table: &Table) -> mlua::Result<()> {
        let length = table.raw_len();
        // A length is where the next is nil: there may be gaps before it and items behind it.
        let (mut keys, mut items) = (0, 0);
        table.for_each::<Value, Value>(|key, _| {
            let index = index(&key).ok_or_else(mixed)?;
            keys += 1;
            items += usize::from(index <= length as f64);
            Ok(())
        })?;
        if keys != length || items != length {
            return Err(refused(
                "a list with gaps cannot be JSON: put `false`, or another value, in place of nil".to_owned(),
            ));
        }
        self.out.push(b'[');
        for index in 1..=length {
            self.separate(index - 1);
            self.write(&table.raw_get::<Value>(index)?)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn write_object(&mut self, table: &Table, order: &[&str]) -> mlua::Result<()> {
        // Without the values: Lua has room for a few thousand that are held at a time.
        let (mut names, mut bytes) = (Vec::new(), 0);
        table.for_each::<Value, Value>(|key, _| {
            let Value::String(name) = key else { return Err(mixed()) };
            let name = name.as_bytes();
            bytes += name.len();
            self.check_room(bytes)?;
            names.push(utf8(&name)?.to_owned());
            Ok(())
        })?;
        self.held_bytes += bytes;
        let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
        names.sort_unstable_by(|a, b| {
            let (a, b) = (a.as_str(), b.as_str());
            (place(a), a).cmp(&(place(b), b))
        });
        self.out.push(b'{');
        for (index, name) in names.iter().enumerate() {
            self.separate(index);
            self.held_bytes -= name.len();
            self.write_text(name.as_bytes())?;
            self.out.extend_from_slice(b": ");
            self.write(&table.raw_get::<Value>(name.as_str())?)?;
        }
        self.out.push(b'}');
        Ok(())
    }
}

/// More text than a result may have.
#[derive(Debug, thiserror::Error)]
#[error("its result is longer than {limit} bytes (max_response_bytes)")]
pub(crate) struct TooLong {
    limit: usize,
}

fn refused(message: String) -> mlua::Error {
    mlua::Error::RuntimeError(message)
}

fn mixed() -> mlua::Error {
    refused(
        "a table cannot be JSON whose keys are neither the numbers from 1 on nor texts: make texts of them with tostring"
            .to_owned(),
    )
}

fn utf8(text: &[u8]) -> mlua::Result<&str> {
    std::str::from_utf8(text).map_err(|_| refused("a text that is not UTF-8 cannot be JSON".to_owned()))
}

/// A key that a list may have.
fn index(key: &Value) -> Option<f64> {
    let key = match key {
        Value::Integer(key) => *key as f64,
        Value::Number(key) => *key,
        _ => return None,
    };
    (key >= 1.0 && key.fract() == 0.0).then_some(key)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use mlua::Lua;

    use super::*;

    /// Tables within each other that share one name had it once for each of them, whatever a result may have.
    #[test]
    fn a_long_name_counts_as_often_as_it_is_written() {
        let lua = Lua::new();
        let shapes = Shapes::new(&lua).expect("there is memory");
        let limits = Limits {
            memory_bytes: 0,
            result_bytes: 1 << 20,
            time: None,
            is_cancelled: Arc::new(AtomicBool::new(false)),
        };
        // The long name comes behind that of the table within, or before it.
        for nested in ["a", "z"] {
            let script = format!(
                "local long, t = ('x'):rep(1e5), 1 for i = 1, 100 do t = {{[long] = 1, {nested} = t}} end return t"
            );
            let value: Value = lua.load(script).eval().expect("it is a table");
            let mut encoder = Encoder::new(&shapes, &limits);
            assert!(encoder.write(&value).is_err(), "{nested}");
            assert_eq!(encoder.within.len(), 11, "{nested}: ten of the names fit");
        }
    }
}
