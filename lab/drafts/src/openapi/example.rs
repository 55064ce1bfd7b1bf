//! Values that a schema would take: its examples, or the plainest that fit.

use serde_json::{Map, Value, json};

use super::document::Document;

/// Deeper values are left out.
const DEEPEST: usize = 8;

/// Schemas that are looked at for one value: where each of several parts has several, they multiply level by level. What would be more is
/// left out.
const MOST_SCHEMAS: usize = 5_000;

/// Values in one list, with those inside of its items; a longer one is not made.
const MOST_VALUES: usize = 1_000;

/// None where nothing fits, or where it is not known what would.
pub(super) fn of_schema(document: &Document, schema: &Value) -> Option<Value> {
    Maker { document, open: Vec::new(), left: MOST_SCHEMAS }.of(schema)
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
    /// Schemas that may be looked at yet.
    left: usize,
}

impl<'d> Maker<'d> {
    fn of(&mut self, schema: &'d Value) -> Option<Value> {
        let schema = self.document.resolve(schema)?;
        let is_within_itself = self.open.iter().any(|open| std::ptr::eq(*open, schema));
        if is_within_itself || self.open.len() > DEEPEST || self.left == 0 {
            return None;
        }
        self.left -= 1;
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
        if ["allOf", "oneOf", "anyOf"].iter().any(|key| schema.get(key).is_some_and(Value::is_array)) {
            return self.composed(schema);
        }
        self.of_kind(schema)
    }

    fn of_kind(&mut self, schema: &'d Value) -> Option<Value> {
        match kind(schema)? {
            "object" => Some(self.object(schema)),
            "array" => Some(self.list(schema)),
            "string" => Some(Value::String(text(schema))),
            "integer" => Some(whole(schema)),
            "number" => Some(decimal(schema)),
            "boolean" => Some(Value::Bool(true)),
            _ => None,
        }
    }

    /// As many items as there must be, and one where there may be any.
    fn list(&mut self, schema: &'d Value) -> Value {
        let Some(item) = schema.get("items").and_then(|items| self.of(items)) else {
            return Value::Array(Vec::new());
        };
        let most = (MOST_VALUES / weight(&item)).max(1);
        let count = length(schema, "minItems").unwrap_or(1).clamp(1, most);
        let count = length(schema, "maxItems").map_or(count, |longest| count.min(longest));
        Value::Array(vec![item; count])
    }

    /// The members of all parts together: of those of `allOf`, of one choice of `oneOf` and of `anyOf`, and the
    /// schema's own. What one of them requires another may describe.
    fn composed(&mut self, schema: &'d Value) -> Option<Value> {
        let (mut members, mut taken, mut chosen) = (Map::new(), Vec::new(), None);
        for key in ["allOf", "oneOf", "anyOf"] {
            for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                match self.of(part) {
                    Some(Value::Object(more)) => members.extend(more),
                    // One part that is a text or a number makes the value.
                    Some(other) => return Some(other),
                    None => continue,
                }
                self.document.parts(part, &mut taken);
                if key != "allOf" {
                    chosen = Some(part);
                    break;
                }
            }
        }
        let is_object = match kind(schema) {
            Some(kind) => kind == "object",
            None => !taken.is_empty() || schema.get("allOf").is_some(),
        };
        if !is_object {
            return self.of_kind(schema);
        }
        if let Value::Object(own) = self.object(schema) {
            members.extend(own);
        }
        self.document.parts(schema, &mut taken);
        self.require(&taken, &mut members);
        members.extend(chosen.and_then(|choice| discriminator(schema, choice)));
        Some(Value::Object(members))
    }

    /// Adds what one of the parts requires, and none has made.
    fn require(&mut self, parts: &[&'d Value], members: &mut Map<String, Value>) {
        for &part in parts {
            for name in required(part) {
                if members.contains_key(name) {
                    continue;
                }
                let described = parts.iter().copied().find_map(|part| part.get("properties")?.get(name));
                let Some(property) = described.and_then(|property| self.document.resolve(property)) else {
                    continue;
                };
                if property.get("readOnly") != Some(&Value::Bool(true)) {
                    members.extend(self.of(property).map(|value| (name.to_owned(), value)));
                }
            }
        }
    }

    /// What is required, and what has an example. What only servers write is left out.
    fn object(&mut self, schema: &'d Value) -> Value {
        let required: Vec<&str> = required(schema).collect();
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

/// The member that says which choice it is (OpenAPI 3.1.1, 4.8.25): the name that the mapping gives the choice, else that of its schema.
fn discriminator(schema: &Value, choice: &Value) -> Option<(String, Value)> {
    let discriminator = schema.get("discriminator")?;
    let reference = choice.get("$ref")?.as_str()?;
    let name = reference.rsplit('/').next()?;
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let is_choice = |target: &Value| target.as_str().is_some_and(|to| to == reference || to == name);
    let mapped = mapping.and_then(|mapping| mapping.iter().find(|(_, target)| is_choice(target)));
    let value = mapped.map_or(name, |(value, _)| value.as_str());
    Some((discriminator.get("propertyName")?.as_str()?.to_owned(), Value::String(value.to_owned())))
}

/// The first type that is not `null`; one without a type has that of its keywords.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => {
            // A flag (`required: true` of old descriptions) says nothing of the type.
            let is_said = |key: &str| schema.get(key).is_some_and(|said| !said.is_boolean());
            KIND_OF_KEYWORD.iter().find(|(key, _)| is_said(key)).map(|(_, kind)| *kind)
        }
    }
}

/// Keywords that say something of one type alone (JSON Schema Validation 2020-12, 6).
const KIND_OF_KEYWORD: [(&str, &str); 12] = [
    ("properties", "object"),
    ("required", "object"),
    ("additionalProperties", "object"),
    ("items", "array"),
    ("minItems", "array"),
    ("pattern", "string"),
    ("minLength", "string"),
    ("maxLength", "string"),
    ("minimum", "number"),
    ("maximum", "number"),
    ("exclusiveMinimum", "number"),
    ("multipleOf", "number"),
];

/// Names of members that an object must have.
fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// What a keyword says of a length.
fn length(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok())
}

/// How many values a value is, with those inside of it.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(weight).sum::<usize>(),
        _ => 1,
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
    let mut text = known.to_owned();
    let least = length(schema, "minLength").unwrap_or(0).min(1 << 16);
    while text.len() < least {
        text.push('x');
    }
    text.truncate(length(schema, "maxLength").unwrap_or(text.len()).max(least));
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
    let is_whole = |value: &f64| value.fract().abs() < f64::EPSILON;
    let multiples = multiples(schema).map(|value| value.filter(is_whole));
    let value = first_within(schema, candidates.into_iter().chain(multiples)).or(least).unwrap_or(1.0);
    json!(value as i64)
}

fn decimal(schema: &Value) -> Value {
    let (least, most) = bounds(schema);
    let between = least.zip(most).map(|(least, most)| f64::midpoint(least, most));
    let candidates =
        [least, Some(1.5), most, between, least.map(|least| least + 1.0), most.map(|most| most - 1.0)];
    let candidates = candidates.into_iter().chain(multiples(schema));
    json!(first_within(schema, candidates).or(least).unwrap_or(1.5))
}

/// Multiples of `multipleOf`: the first within the bounds, the number itself, two further ones for bounds that are excluded.
fn multiples(schema: &Value) -> [Option<f64>; 4] {
    let (least, most) = bounds(schema);
    let each = step(schema);
    let first = each.zip(least).map(|(step, least)| (least / step).ceil() * step);
    let highest = each.zip(most).map(|(step, most)| (most / step).floor() * step);
    [first, each, first.zip(each).map(|(first, step)| first + step), highest]
}

fn step(schema: &Value) -> Option<f64> {
    schema.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0)
}

/// As near as decimal fractions are to numbers of 64 bits.
fn is_multiple(value: f64, step: f64) -> bool {
    ((value / step).round() * step - value).abs() <= step * 1e-9
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
    step(schema).is_none_or(|step| is_multiple(value, step))
        && bound("minimum").is_none_or(is_above)
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
            (json!({ "type": "integer", "multipleOf": 5 }), json!(5)),
            (json!({ "type": "integer", "minimum": 7, "multipleOf": 5 }), json!(10)),
            (
                json!({ "type": "integer", "minimum": 10, "exclusiveMinimum": true, "multipleOf": 5 }),
                json!(15),
            ),
            (json!({ "type": "integer", "maximum": -3, "multipleOf": 2 }), json!(-4)),
            (json!({ "type": "number", "multipleOf": 0.01 }), json!(1.5)),
            (json!({ "type": "number", "minimum": 0.3, "multipleOf": 0.25 }), json!(1.5)),
            (json!({ "type": "number", "minimum": 1.6, "multipleOf": 0.25 }), json!(1.75)),
        ] {
            let kind = schema["type"].as_str();
            let made = if kind == Some("integer") { whole(&schema) } else { decimal(&schema) };
            assert_eq!(made, expected, "{schema}");
        }
    }
}
