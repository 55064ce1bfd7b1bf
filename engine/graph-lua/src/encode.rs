//! Values of Lua as JSON, in the form that the graph's responses have: a space behind each colon and comma. A table with the
//! keys 1 to n is a list, and so is an empty one, as `RageDB` has it; a table whose keys are texts is an object, its members by name.

use std::ffi::c_void;

use mlua::{Table, Value};
use prony_graphql::json::{write_number, write_string};

use crate::{error::told, limits::Limits, shapes::Shapes};

/// JSON that is nested more is refused, as the graph's calls refuse it.
const DEPTH_MAX: usize = 127;

/// Writes values.
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    shapes: &'a Shapes,
    limits: &'a Limits,
    out: Vec<u8>,
    /// The tables that are being written, from the outside in.
    within: Vec<*const c_void>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(shapes: &'a Shapes, limits: &'a Limits) -> Self {
        Self { shapes, limits, out: Vec::new(), within: Vec::new() }
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
        let limit = self.limits.result_bytes;
        if self.out.len() <= limit {
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
        write_number(&mut self.out, value);
        Ok(())
    }

    fn write_text(&mut self, text: &[u8]) -> mlua::Result<()> {
        let text = std::str::from_utf8(text)
            .map_err(|_| refused("a text that is not UTF-8 cannot be JSON".to_owned()))?;
        write_string(&mut self.out, text);
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
        let mut keys = 0;
        table.for_each::<Value, Value>(|key, _| {
            keys += 1;
            is_index(&key).then_some(()).ok_or_else(mixed)
        })?;
        if keys != length {
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
        let mut members = Vec::new();
        table.for_each::<Value, Value>(|key, value| {
            let Value::String(name) = key else { return Err(mixed()) };
            members.push((name.as_bytes().to_vec(), value));
            Ok(())
        })?;
        let place =
            |name: &[u8]| order.iter().position(|known| known.as_bytes() == name).unwrap_or(order.len());
        members.sort_unstable_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
        self.out.push(b'{');
        for (index, (name, value)) in members.iter().enumerate() {
            self.separate(index);
            self.write_text(name)?;
            self.out.extend_from_slice(b": ");
            self.write(value)?;
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

fn is_index(key: &Value) -> bool {
    match key {
        Value::Integer(key) => *key >= 1,
        Value::Number(key) => *key >= 1.0 && key.fract() == 0.0,
        _ => false,
    }
}
