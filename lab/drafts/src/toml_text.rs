//! Values as TOML has them (TOML 1.0), each on one line unless it is a text of several.

use std::fmt::Write as _;

use serde_json::Value;

pub(crate) fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { basic(name) }
}

/// In the form that is read best: several lines as such, backslashes and quotes without escapes.
pub(crate) fn text(value: &str) -> String {
    toml::Value::String(value.to_owned()).to_string()
}

/// On one line, as inline tables want it.
fn basic(value: &str) -> String {
    let mut out = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

pub(crate) fn texts(pairs: &[(String, String)]) -> String {
    inline(pairs.iter().map(|(name, value)| (name.clone(), text(value))))
}

pub(crate) fn inline(members: impl IntoIterator<Item = (String, String)>) -> String {
    let members: Vec<String> =
        members.into_iter().map(|(name, value)| format!("{} = {value}", key(&name))).collect();
    if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
}

/// None where TOML has no such value: `null`, and numbers that it has no room for.
pub(crate) fn json(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(decimal)) if number.is_f64() => toml::Value::Float(decimal).to_string(),
            _ => return None,
        },
        Value::String(text) => basic(text),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(json).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(members) => {
            let members: Option<Vec<_>> =
                members.iter().map(|(name, value)| Some((name.clone(), json(value)?))).collect();
            inline(members?)
        }
    })
}
