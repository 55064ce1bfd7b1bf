//! JSON as values of Lua. A null is nil, so that a list with nulls has gaps; an integer beyond 2^53 is the nearest number that Lua has.

use mlua::{Lua, Table, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::shapes::{Shape, Shapes};

/// Reads a text.
pub(crate) fn decode(lua: &Lua, shapes: &Shapes, shape: Shape, json: &[u8]) -> mlua::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let mut fault = None;
    let value = ValueSeed { lua, shapes, shape, is_outermost: true, fault: &mut fault }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    // What Lua has no memory for is not called JSON that is at fault.
    value.map_err(|error| fault.unwrap_or_else(|| mlua::Error::runtime(format!("this is no JSON: {error}"))))
}

struct ValueSeed<'a> {
    lua: &'a Lua,
    shapes: &'a Shapes,
    /// Of objects here.
    shape: Shape,
    /// Whether it is the whole text: of a list, the items are of the shape.
    is_outermost: bool,
    /// What Lua has refused.
    fault: &'a mut Option<mlua::Error>,
}

impl ValueSeed<'_> {
    fn inner(&mut self, shape: Shape) -> ValueSeed<'_> {
        ValueSeed { lua: self.lua, shapes: self.shapes, shape, is_outermost: false, fault: &mut *self.fault }
    }

    fn keep<T, E: serde::de::Error>(&mut self, made: mlua::Result<T>) -> Result<T, E> {
        made.map_err(|error| {
            let told = E::custom("Lua refuses it");
            *self.fault = Some(error);
            told
        })
    }

    fn set<E: serde::de::Error>(&mut self, table: &Table, key: Value, value: Value) -> Result<(), E> {
        let set = table.raw_set(key, value);
        self.keep(set)
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E: serde::de::Error>(mut self, text: &str) -> Result<Value, E> {
        let text = self.lua.create_string(text);
        self.keep(text).map(Value::String)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let table = self.lua.create_table();
        let table = self.keep(table)?;
        let shape = if self.is_outermost { self.shape } else { Shape::Plain };
        let mut index = 0_i64;
        while let Some(item) = items.next_element_seed(self.inner(shape))? {
            index += 1;
            self.set(&table, Value::Integer(index), item)?;
        }
        Ok(Value::Table(table))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let table = self.lua.create_table();
        let table = self.keep(table)?;
        let mut is_empty = true;
        while let Some(key) = members.next_key_seed(self.inner(Shape::Plain))? {
            let value = members.next_value_seed(self.inner(Shape::Plain))?;
            is_empty = false;
            if matches!(key, Value::Nil) {
                return Err(A::Error::custom("a member has no name"));
            }
            self.set(&table, key, value)?;
        }
        let metatable = self.shapes.of(self.shape).or(is_empty.then_some(&self.shapes.object));
        if let Some(metatable) = metatable {
            let set = table.set_metatable(Some(metatable.clone()));
            self.keep(set)?;
        }
        Ok(Value::Table(table))
    }
}
