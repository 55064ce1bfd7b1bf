//! Values of fields that did not come from their source, such as those that an interceptor has changed: held against the schema
//! and the selection, and written as a source writes them (GraphQL specification, section 6.4.3).

use std::fmt::Write as _;

use apollo_compiler::{ast::Type, schema::ExtendedType};
use serde_json::{Map, Value as Json};

use crate::{
    json,
    schema::Schema,
    selection::Field,
    variables::{rule::scalar_rule, scalar::describe},
};

/// The JSON text of a field's value, with its members in the order of the selection.
///
/// # Errors
/// Where the value does not fit, in words: its place, what was expected there and what was found.
pub fn complete(schema: &Schema, field: &Field, value: Json) -> Result<Vec<u8>, String> {
    let mut completion = Completion { schema, path: Vec::new(), out: Vec::new() };
    completion.value(&field.output, &field.selections, value)?;
    Ok(completion.out)
}

enum CompletionStep<'a> {
    Key(&'a str),
    Index(usize),
}

struct Completion<'a> {
    schema: &'a Schema,
    path: Vec<CompletionStep<'a>>,
    out: Vec<u8>,
}

impl<'a> Completion<'a> {
    fn value(&mut self, ty: &Type, selections: &'a [Field], mut value: Json) -> Result<(), String> {
        if value.is_null() {
            if ty.is_non_null() {
                return Err(self.fault(&format!("expected a value of type {ty}, found null")));
            }
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        if ty.is_list() {
            return self.list(ty, selections, value);
        }
        let named = ty.inner_named_type();
        let scalar = scalar_rule(self.schema, named);
        let definition = if scalar.is_specified() { None } else { self.schema.valid().types.get(named) };
        match definition {
            Some(ExtendedType::Object(_) | ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
                self.object(named, selections, value)
            }
            Some(ExtendedType::Enum(definition)) => {
                let Some(label) = value.as_str().filter(|label| definition.values.contains_key(*label))
                else {
                    let found = describe(&value);
                    return Err(self.fault(&format!("expected a value of the enum {named}, found {found}")));
                };
                json::write_string(&mut self.out, label);
                Ok(())
            }
            _ => {
                scalar.coerce(&mut value).map_err(|message| self.fault(&message))?;
                self.leaf(&value);
                Ok(())
            }
        }
    }

    fn leaf(&mut self, value: &Json) {
        match value {
            Json::String(text) => json::write_string(&mut self.out, text),
            value => serde_json::to_writer(&mut self.out, value).expect("a vector takes any JSON"),
        }
    }

    fn list(&mut self, ty: &Type, selections: &'a [Field], value: Json) -> Result<(), String> {
        let Json::Array(items) = value else {
            return Err(self.fault(&format!("expected a list of type {ty}, found {}", describe(&value))));
        };
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.path.push(CompletionStep::Index(index));
            self.value(ty.item_type(), selections, item)?;
            self.path.pop();
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, named: &str, selections: &'a [Field], value: Json) -> Result<(), String> {
        let Json::Object(mut members) = value else {
            let message = format!("expected an object of type {named}, found {}", describe(&value));
            return Err(self.fault(&message));
        };
        self.out.push(b'{');
        let begin = self.out.len();
        for field in selections {
            let key = field.response_key.as_str();
            let Some(member) = members.remove(key) else {
                // Below an interface, objects have only the members that are asked of their type, and some are asked twice.
                if field.parent_type == *named {
                    self.absent(named, field)?;
                }
                continue;
            };
            if self.out.len() > begin {
                self.out.push(b',');
            }
            json::write_string(&mut self.out, key);
            self.out.push(b':');
            self.path.push(CompletionStep::Key(key));
            self.value(&field.output, &field.selections, member)?;
            self.path.pop();
        }
        self.out.push(b'}');
        self.unknown(named, selections, &members)
    }

    /// A member that was left out.
    fn absent(&self, named: &str, field: &Field) -> Result<(), String> {
        let message = format!("expected {named}.{}, found an object without it", field.response_key);
        Err(self.fault(&message))
    }

    fn unknown(&self, named: &str, selections: &[Field], left: &Map<String, Json>) -> Result<(), String> {
        let Some(name) = left.keys().next() else { return Ok(()) };
        let mut known = String::new();
        for field in selections {
            let separator = if known.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(known, "{separator}{}", field.response_key);
        }
        Err(self.fault(&format!("expected members of {named} that were selected ({known}), found {name:?}")))
    }

    fn fault(&self, message: &str) -> String {
        let mut path = String::new();
        for step in &self.path {
            // Writing to a string cannot fail.
            let _ = match step {
                CompletionStep::Key(key) if path.is_empty() => write!(path, "{key}"),
                CompletionStep::Key(key) => write!(path, ".{key}"),
                CompletionStep::Index(index) => write!(path, "[{index}]"),
            };
        }
        if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") }
    }
}
