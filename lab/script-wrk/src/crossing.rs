//! Values on their way from one Lua state to another: copied, and only those that mean the same in both.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mlua::{Lua, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Deeper tables are refused: most likely they contain themselves.
const DEPTH_MAX: u32 = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Crossing {
    Nil,
    Boolean(bool),
    /// Written as its bits: JSON has no infinity.
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    Number(f64),
    /// Written in base64: it may be any bytes.
    #[serde(serialize_with = "write_text", deserialize_with = "read_text")]
    Text(Vec<u8>),
    Table(Vec<(Crossing, Crossing)>),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn write_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    number.to_bits().serialize(serializer)
}

fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    u64::deserialize(deserializer).map(f64::from_bits)
}

fn write_text<S: Serializer>(text: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    STANDARD.encode(text).serialize(serializer)
}

fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

impl Crossing {
    /// `name` is that of the global, for the error.
    pub(super) fn read(name: &str, value: &Value) -> mlua::Result<Self> {
        Self::read_within(name, value, DEPTH_MAX)
    }

    fn read_within(name: &str, value: &Value, depth: u32) -> mlua::Result<Self> {
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(value) => Self::Boolean(*value),
            Value::Integer(value) => Self::Number(*value as f64),
            Value::Number(value) => Self::Number(*value),
            Value::String(value) => Self::Text(value.as_bytes().to_vec()),
            Value::Table(_) if depth == 0 => {
                return Err(mlua::Error::runtime(format!(
                    "`{name}` cannot cross between threads: its tables are nested more than {DEPTH_MAX} deep, or contain themselves"
                )));
            }
            Value::Table(table) => {
                let pairs = table.pairs::<Value, Value>().map(|pair| {
                    let (key, value) = pair?;
                    let inner = |value: &Value| Self::read_within(name, value, depth - 1);
                    Ok((inner(&key)?, inner(&value)?))
                });
                Self::Table(pairs.collect::<mlua::Result<_>>()?)
            }
            other => {
                return Err(mlua::Error::runtime(format!(
                    "`{name}` cannot cross between threads: it is or holds a {}; only nil, booleans, numbers, strings and tables of these can",
                    other.type_name()
                )));
            }
        })
    }

    pub(super) fn write(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Number(value) => Value::Number(*value),
            Self::Text(value) => Value::String(lua.create_string(value)?),
            Self::Table(pairs) => {
                let table = lua.create_table()?;
                for (key, value) in pairs {
                    table.raw_set(key.write(lua)?, value.write(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(code: &str) -> Result<String, String> {
        let (from, to) = (Lua::new(), Lua::new());
        let value: Value = from.load(code).eval().unwrap();
        let crossing = Crossing::read("x", &value).map_err(|error| error.to_string())?;
        to.globals().set("x", crossing.write(&to).unwrap()).unwrap();
        let show = "local function show(v) if type(v) ~= 'table' then return tostring(v) end \
             local keys, out = {}, {} for k in pairs(v) do keys[#keys + 1] = k end \
             table.sort(keys, function(a, b) return tostring(a) < tostring(b) end) \
             for i, k in ipairs(keys) do out[i] = tostring(k) .. '=' .. show(v[k]) end \
             return '{' .. table.concat(out, ' ') .. '}' end return show(x)";
        Ok(to.load(show).eval().unwrap())
    }

    #[test]
    fn plain_values_cross_and_others_are_named() {
        for (code, shown) in [
            ("return nil", "nil"),
            ("return true", "true"),
            ("return 1.5", "1.5"),
            ("return 'a\\0b'", "a\0b"),
            ("return { 1, 'two', { three = false } }", "{1=1 2=two 3={three=false}}"),
        ] {
            assert_eq!(carried(code).as_deref(), Ok(shown), "{code}");
        }
        for (code, part) in [
            ("return print", "a function"),
            ("return { a = { coroutine.create(print) } }", "a thread"),
            ("local t = {} t.t = t return t", "64 deep"),
        ] {
            let error = carried(code).unwrap_err();
            assert!(error.contains("`x`") && error.contains(part), "{error}");
        }
    }
}
