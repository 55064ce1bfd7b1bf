//! What the table of keys makes beside the check of a file: the JSON Schema for editors, and the reference's tables.

use super::keys::{Form, Key, Table};
use super::tables::PLAN;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Durations as plans write them.
const DURATION_PATTERN: &str = r"^\s*([0-9.]+\s*(ns|us|µs|ms|s|m|h)\s*)+$";

/// The JSON Schema (draft 2020-12) of a plan, for editors and other tools, ended by a line break.
pub fn plan_schema() -> String {
    let mut definitions = Map::new();
    let mut schema = table_schema(&PLAN, &mut definitions);
    let head = [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("title", json!("A load test plan of prony")),
    ];
    let head: Map<_, _> = head.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let body = std::mem::replace(&mut schema, head);
    schema.extend(body);
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    let text = serde_json::to_string_pretty(&schema).expect("a tree of values is JSON");
    text + "\n"
}

fn table_schema(table: &Table, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys() {
        properties.insert(key.name.to_owned(), key_schema(key, definitions));
    }
    let required: Vec<_> = table.keys().filter(|key| key.is_required).map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn key_schema(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(key.help));
    if let Some(default) = default_of(key) {
        schema.insert("default".to_owned(), default);
    }
    if let Value::Object(form) = form_schema(key.form, definitions) {
        schema.extend(form);
    }
    Value::Object(schema)
}

/// Defaults are single values, which TOML and JSON write alike.
fn default_of(key: &Key) -> Option<Value> {
    serde_json::from_str(key.default).ok()
}

fn form_schema(form: Form, definitions: &mut Map<String, Value>) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Duration => json!({ "type": "string", "pattern": DURATION_PATTERN }),
        Form::Whole { max } => json!({ "type": "integer", "minimum": 0, "maximum": max }),
        Form::Integer => json!({ "type": "integer" }),
        Form::Decimal => json!({ "type": "number", "minimum": 0 }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Any => json!({}),
        Form::List(inner) => json!({ "type": "array", "items": form_schema(*inner, definitions) }),
        Form::Map(inner) => {
            json!({ "type": "object", "additionalProperties": form_schema(*inner, definitions) })
        }
        Form::OneOf(forms) => {
            let forms: Vec<_> = forms.iter().map(|form| form_schema(*form, definitions)).collect();
            json!({ "anyOf": forms })
        }
        Form::Table(table) => {
            if !definitions.contains_key(table.name) {
                // Set before its parts are made, which keeps the order of first mention.
                definitions.insert(table.name.to_owned(), Value::Null);
                let schema = Value::Object(table_schema(table, definitions));
                definitions.insert(table.name.to_owned(), schema);
            }
            json!({ "$ref": format!("#/$defs/{}", table.name) })
        }
    }
}

/// The keys of one table (or of one group of them, from 0) as rows of a Markdown table, for the reference.
pub fn plan_keys_markdown(table: &str, groups: std::ops::Range<usize>) -> Option<String> {
    let table = find(&PLAN, table)?;
    let mut text = "| key | default | means |\n|---|---|---|\n".to_owned();
    for key in table.groups.get(groups)?.iter().flat_map(|group| group.iter()) {
        let default = match (key.is_required, key.default) {
            (true, _) => "required".to_owned(),
            (false, "") => String::new(),
            (false, default) => format!("`{default}`"),
        };
        let _ = writeln!(text, "| `{}` | {default} | {} |", key.name, key.help.replace('|', "\\|"));
    }
    Some(text)
}

fn find(within: &'static Table, name: &str) -> Option<&'static Table> {
    if within.name == name {
        return Some(within);
    }
    within.keys().find_map(|key| find_in_form(key.form, name))
}

fn find_in_form(form: Form, name: &str) -> Option<&'static Table> {
    match form {
        Form::Table(table) => find(table, name),
        Form::List(inner) | Form::Map(inner) => find_in_form(*inner, name),
        Form::OneOf(forms) => forms.iter().find_map(|form| find_in_form(*form, name)),
        _ => None,
    }
}
