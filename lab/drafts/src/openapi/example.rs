//! Values that a schema would take: its examples, or the plainest that fit.

use serde_json::{Map, Value, json};

use super::document::Document;

/// Deeper values are left out.
const DEEPEST: usize = 8;

/// None where nothing fits, or where it is not known what would.
pub(super) fn of_schema(document: &Document, schema: &Value) -> Option<Value> {
    Maker { document, open: Vec::new() }.of(schema)
}

/// The example of a parameter or a media type, else of its schema.
pub(super) fn of_holder(document: &Document, holder: &Value) -> Option<Value> {
    given(document, holder).or_else(|| of_schema(document, holder.get("schema")?))
}

/// `example`, or the first of `examples`.
pub(super) fn given(document: &Document, holder: &Value) -> Option<Value> {
    if let Some(example) = holder.get("example") {
        return Some(example.clone());
    }
    match holder.get("examples")? {
        Value::Object(examples) => {
            let first = document.resolve(examples.values().next()?)?;
            first.get("value").cloned()
        }
        Value::Array(examples) => examples.first().cloned(),
        _ => None,
    }
}

struct Maker<'d> {
    document: &'d Document,
    /// Schemas in which the one that is looked at stands: one that holds itself has no end.
    open: Vec<&'d Value>,
}

impl<'d> Maker<'d> {
    fn of(&mut self, schema: &'d Value) -> Option<Value> {
        let schema = self.document.resolve(schema)?;
        let is_within_itself = self.open.iter().any(|open| std::ptr::eq(*open, schema));
        if is_within_itself || self.open.len() > DEEPEST {
            return None;
        }
        self.open.push(schema);
        let made = self.made_of(schema);
        self.open.pop();
        made
    }

    fn made_of(&mut self, schema: &'d Value) -> Option<Value> {
        let known =
            [given(self.document, schema), schema.get("const").cloned(), schema.get("default").cloned()];
        if let Some(known) = known.into_iter().flatten().find(|value| !value.is_null()) {
            return Some(known);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return values.iter().find(|value| !value.is_null()).cloned();
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            return Some(self.all_of(schema, parts));
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(Value::Array(choices)) = schema.get(key) {
                return choices.iter().find_map(|choice| self.of(choice));
            }
        }
        match kind(schema) {
            Some("object") => Some(self.object(schema)),
            Some("array") => {
                let item = schema.get("items").and_then(|items| self.of(items));
                Some(Value::Array(item.into_iter().collect()))
            }
            Some("string") => Some(Value::String(text(schema))),
            Some("integer") => Some(whole(schema)),
            Some("number") => Some(decimal(schema)),
            Some("boolean") => Some(Value::Bool(true)),
            _ => None,
        }
    }

    /// The members of all parts together.
    fn all_of(&mut self, schema: &'d Value, parts: &'d [Value]) -> Value {
        let mut members = Map::new();
        for part in parts {
            match self.of(part) {
                Some(Value::Object(more)) => members.extend(more),
                // One part that is a text or a number makes the value.
                Some(other) => return other,
                None => {}
            }
        }
        if let Value::Object(own) = self.object(schema) {
            members.extend(own);
        }
        Value::Object(members)
    }

    /// What is required, and what has an example. What only servers write is left out.
    fn object(&mut self, schema: &'d Value) -> Value {
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Value::Object(Map::new());
        };
        let mut members = Map::new();
        for (name, property) in properties {
            let Some(property) = self.document.resolve(property) else { continue };
            let is_servers = property.get("readOnly") == Some(&Value::Bool(true));
            let is_wanted = required.contains(&name.as_str()) || given(self.document, property).is_some();
            if is_servers || !is_wanted {
                continue;
            }
            members.extend(self.of(property).map(|value| (name.clone(), value)));
        }
        Value::Object(members)
    }
}

/// The first type that is not `null`; one without a type has that of its keywords.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if schema.get("properties").is_some() => Some("object"),
        _ if schema.get("items").is_some() => Some("array"),
        _ => None,
    }
}

/// As its format says (OpenAPI Format Registry), and as long as it must be.
fn text(schema: &Value) -> String {
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("date") => "2026-01-31",
        Some("time") => "12:00:00Z",
        Some("duration") => "PT1H",
        Some("uuid") => "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        Some("email" | "idn-email") => "user@example.com",
        Some("uri" | "url" | "iri") => "https://example.com/",
        Some("hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("byte") => "dGV4dA==",
        _ => "text",
    };
    let length =
        |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    let mut text = known.to_owned();
    let least = length("minLength").unwrap_or(0).min(1 << 16);
    while text.len() < least {
        text.push('x');
    }
    text.truncate(length("maxLength").unwrap_or(text.len()).max(least));
    text
}

/// The lowest that is allowed, where the bounds say one.
fn whole(schema: &Value) -> Value {
    let (least, most) = bounds(schema);
    let candidates = [
        least.map(f64::ceil),
        Some(1.0),
        most.map(f64::floor),
        least.map(|least| least.floor() + 1.0),
        most.map(|most| most.ceil() - 1.0),
    ];
    let value = first_within(schema, candidates).or(least).unwrap_or(1.0);
    json!(value as i64)
}

fn decimal(schema: &Value) -> Value {
    let (least, most) = bounds(schema);
    let between = least.zip(most).map(|(least, most)| f64::midpoint(least, most));
    let candidates =
        [least, Some(1.5), most, between, least.map(|least| least + 1.0), most.map(|most| most - 1.0)];
    json!(first_within(schema, candidates).or(least).unwrap_or(1.5))
}

/// The tightest of each kind, excluded or not.
fn bounds(schema: &Value) -> (Option<f64>, Option<f64>) {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = bound("minimum").into_iter().chain(bound("exclusiveMinimum")).reduce(f64::max);
    let most = bound("maximum").into_iter().chain(bound("exclusiveMaximum")).reduce(f64::min);
    (least, most)
}

fn first_within(schema: &Value, candidates: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    candidates.into_iter().flatten().find(|value| is_within(schema, *value))
}

/// What is excluded of a bound OpenAPI 3.0 says by a flag, and 3.1 by a bound of its own.
fn is_within(schema: &Value, value: f64) -> bool {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let is_excluded = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let is_above = |least: f64| if is_excluded("exclusiveMinimum") { value > least } else { value >= least };
    let is_below = |most: f64| if is_excluded("exclusiveMaximum") { value < most } else { value <= most };
    bound("minimum").is_none_or(is_above)
        && bound("maximum").is_none_or(is_below)
        && bound("exclusiveMinimum").is_none_or(|least| value > least)
        && bound("exclusiveMaximum").is_none_or(|most| value < most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_within_their_bounds() {
        for (schema, expected) in [
            (json!({ "type": "integer" }), json!(1)),
            (json!({ "type": "integer", "minimum": 7 }), json!(7)),
            (json!({ "type": "integer", "maximum": -3 }), json!(-3)),
            (json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true }), json!(1)),
            (json!({ "type": "integer", "exclusiveMinimum": 5 }), json!(6)),
            (json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": 5 }), json!(6)),
            (json!({ "type": "integer", "maximum": 0, "exclusiveMaximum": true }), json!(-1)),
            (json!({ "type": "integer", "exclusiveMaximum": 0.5 }), json!(0)),
            (json!({ "type": "number" }), json!(1.5)),
            (json!({ "type": "number", "minimum": 0.5 }), json!(0.5)),
            (json!({ "type": "number", "maximum": 1 }), json!(1.0)),
            (json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1 }), json!(1.0)),
            (json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }), json!(0.5)),
            (json!({ "type": "number", "exclusiveMinimum": 5 }), json!(6.0)),
            (json!({ "type": "number", "exclusiveMaximum": -2 }), json!(-3.0)),
        ] {
            let kind = schema["type"].as_str();
            let made = if kind == Some("integer") { whole(&schema) } else { decimal(&schema) };
            assert_eq!(made, expected, "{schema}");
        }
    }
}
