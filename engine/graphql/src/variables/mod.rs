//! Variables: coerced values of one request (GraphQL specification, section 6.1.2) and their shape, the part
//! of them that decides which plan answers.

mod authority;
mod client;
mod given;
pub(crate) mod literal;
pub(crate) mod rule;
pub(crate) mod scalar;
pub mod shape;
pub(crate) mod value;
mod values;

use std::fmt;

use apollo_compiler::{
    Name,
    ast::{InputValueDefinition, Type},
    schema::{ExtendedType, InputObjectType},
};
use serde_json::{Map, Value as Json};

use crate::{
    document::{
        limits::MAX_REPORTED_ERRORS,
        operation::{Operation, VariableDefinition},
        position::LineIndex,
    },
    error::{ErrorCode, GraphqlError, Position, abridged},
    schema::Schema,
    variables::{
        literal::Literals,
        rule::scalar_rule,
        scalar::describe,
        shape::{Shape, ShapeWriter},
    },
};

pub use crate::variables::{
    authority::{Authority, Policies},
    client::{ClientIdentity, ClientKey, RequestClient},
    values::{ForwardedHeaders, TRACE_HEADERS, Variables, varies_responses},
};

impl Operation {
    /// Coerces the request's variables and takes their shape. All faults are reported at once; each names the
    /// variable and the path in it. Variables that the operation does not declare are ignored.
    pub fn coerce(
        &self,
        schema: &Schema,
        mut given: Map<String, Json>,
    ) -> Result<(Variables, Shape), Vec<GraphqlError>> {
        let mut values = Vec::with_capacity(self.variables.len());
        let mut errors = Vec::new();
        let mut writer = ShapeWriter::new(schema, self.max_shape_bytes);
        for variable in &self.variables {
            let subject =
                Subject { kind: "variable", sigil: "$", name: &variable.name, position: variable.position };
            let mut coercion = Coercion { schema, subject, path: Vec::new(), errors: &mut errors };
            let value = coercion.variable(variable, given.get_mut(variable.name.as_str()).map(Json::take));
            writer.variable(&variable.ty, value.as_ref());
            values.push(value);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        match writer.finish() {
            Some(shape) => Ok((Variables::new(values), shape)),
            None => Err(vec![too_large(self.max_shape_bytes)]),
        }
    }
}

fn too_large(limit: usize) -> GraphqlError {
    let message = format!(
        "the variables hold so many input objects that their shape has more than {limit} bytes \
         (max_shape_bytes); send lists of scalars, or several requests"
    );
    GraphqlError::new(ErrorCode::LimitExceeded, message)
}

/// A step into a value, for messages.
#[derive(Clone, Copy)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// Coerces the value of an argument of a field at `position`.
fn coerce_argument(
    schema: &Schema,
    definition: &InputValueDefinition,
    position: Position,
    value: &mut Json,
    errors: &mut Vec<GraphqlError>,
) {
    let subject = Subject { kind: "argument", sigil: "", name: &definition.name, position };
    Coercion { schema, subject, path: Vec::new(), errors }.value(&definition.ty, value);
}

/// Whose value it is, for messages.
#[derive(Clone, Copy)]
struct Subject<'a> {
    kind: &'static str,
    sigil: &'static str,
    name: &'a Name,
    position: Position,
}

struct Coercion<'a, 'e> {
    schema: &'a Schema,
    subject: Subject<'a>,
    path: Vec<PathStep<'a>>,
    errors: &'e mut Vec<GraphqlError>,
}

impl<'a> Coercion<'a, '_> {
    fn variable(&mut self, variable: &'a VariableDefinition, given: Option<Json>) -> Option<Json> {
        match given {
            Some(mut value) => {
                self.value(&variable.ty, &mut value);
                Some(value)
            }
            None if variable.default.is_some() => variable.default.clone(),
            None => {
                if variable.ty.is_non_null() {
                    self.fault(&format!("expected a value of type {}, found none", variable.ty));
                }
                None
            }
        }
    }

    fn value(&mut self, ty: &'a Type, value: &mut Json) {
        if value.is_null() {
            if ty.is_non_null() {
                self.fault(&format!("expected a value of type {ty}, found null"));
            }
            return;
        }
        if ty.is_list() {
            return self.list(ty.item_type(), value);
        }
        let named = ty.inner_named_type();
        let scalar = scalar_rule(self.schema, named);
        let definition = if scalar.is_specified() { None } else { self.schema.valid().types.get(named) };
        match definition {
            Some(ExtendedType::InputObject(object)) => self.object(object, value),
            Some(ExtendedType::Enum(definition)) => {
                if !value.as_str().is_some_and(|label| definition.values.contains_key(label)) {
                    let message = format!("expected a value of the enum {named}, found {}", describe(value));
                    self.fault(&message);
                }
            }
            _ => {
                if let Err(message) = scalar.coerce(value) {
                    self.fault(&message);
                }
            }
        }
    }

    /// A single value stands for a list of one (GraphQL specification, section 3.11).
    fn list(&mut self, item_type: &'a Type, value: &mut Json) {
        match value {
            Json::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.push(PathStep::Index(index));
                    self.value(item_type, item);
                    self.path.pop();
                }
            }
            single => {
                self.value(item_type, single);
                *single = Json::Array(vec![single.take()]);
            }
        }
    }

    fn object(&mut self, object: &'a InputObjectType, value: &mut Json) {
        let Json::Object(entries) = value else {
            let message = format!("expected an object of type {}, found {}", object.name, describe(value));
            return self.fault(&message);
        };
        for (key, entry) in entries.iter_mut() {
            if let Some((key, definition)) = object.fields.get_key_value(key.as_str()) {
                self.path.push(PathStep::Key(key));
                self.value(&definition.ty, entry);
                self.path.pop();
            } else {
                let key = abridged(key);
                self.fault(&format!("type {} has no field {key:?}", object.name));
            }
        }
        for (key, definition) in &object.fields {
            if entries.contains_key(key.as_str()) {
                continue;
            }
            if let Some(default) = &definition.default_value {
                let lines = LineIndex::new("");
                let json = Literals::constant(self.schema, &lines).json(&definition.ty, default);
                entries.insert(key.to_string(), json);
            } else if definition.is_required() {
                self.path.push(PathStep::Key(key));
                self.fault(&format!("expected a value of type {}, found none", definition.ty));
                self.path.pop();
            }
        }
    }

    fn fault(&mut self, message: &str) {
        if self.errors.len() >= MAX_REPORTED_ERRORS {
            return;
        }
        let Subject { kind, sigil, name, position } = self.subject;
        let message = if self.path.is_empty() {
            format!("{kind} \"{sigil}{name}\": {message}")
        } else {
            format!("{kind} \"{sigil}{name}\": field \"{}\": {message}", Dotted(&self.path))
        };
        self.errors.push(GraphqlError::new(ErrorCode::BadUserInput, message).at(position));
    }
}

/// `id.gt`, `or[2].id`.
struct Dotted<'a>(&'a [PathStep<'a>]);

impl fmt::Display for Dotted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if position == 0 => formatter.write_str(key)?,
                PathStep::Key(key) => write!(formatter, ".{key}")?,
                PathStep::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}
