//! Arguments of a field that did not come with the request's document, such as those that an interceptor has changed: coerced as
//! variables are, and open where only their shape counts.

use apollo_compiler::{Name, schema::ExtendedType};
use serde_json::{Map, Value as Json};

use crate::{
    document::position::LineIndex,
    error::{ErrorCode, GraphqlError, abridged},
    schema::Schema,
    selection::Field,
    variables::{
        Variables, coerce_argument,
        literal::{Literals, expand},
        value::{Slot, SlotRoot, Value},
    },
};

impl Field {
    /// The same field with these arguments in place of its own. Their values are added to the variables, and the field's
    /// arguments become places in them.
    ///
    /// # Errors
    /// Arguments that the field does not have, values that do not fit, and arguments that are missing: all of them.
    pub fn with_arguments(
        &self,
        schema: &Schema,
        mut given: Map<String, Json>,
        variables: &mut Variables,
    ) -> Result<Self, Vec<GraphqlError>> {
        let definition = match schema.valid().types.get(&self.parent_type) {
            Some(ExtendedType::Object(object)) => object.fields.get(&self.name),
            Some(ExtendedType::Interface(interface)) => interface.fields.get(&self.name),
            _ => None,
        };
        let definitions = definition.map_or(&[][..], |definition| &definition.arguments);
        let mut errors = Vec::new();
        let mut arguments: Vec<(Name, Value)> = Vec::with_capacity(given.len());
        for definition in definitions {
            let name = &definition.name;
            if let Some(mut value) = given.remove(name.as_str()) {
                coerce_argument(schema, definition, self.position, &mut value, &mut errors);
                let root = SlotRoot::Variable(variables.values().len());
                arguments.push((name.clone(), expand(schema, &definition.ty, &value, &mut Slot::from(root))));
                variables.push(value);
            } else if let Some(default) = &definition.default_value {
                let lines = LineIndex::new("");
                let default = Literals::constant(schema, &lines).value(&definition.ty, default);
                arguments.extend(default.map(|value| (name.clone(), value)));
            } else if definition.is_required() {
                let message =
                    format!("argument \"{name}\": expected a value of type {}, found none", definition.ty);
                errors.push(GraphqlError::new(ErrorCode::BadUserInput, message));
            }
        }
        errors.extend(given.keys().map(|name| {
            let message = format!("{}.{} has no argument {:?}", self.parent_type, self.name, abridged(name));
            GraphqlError::new(ErrorCode::BadUserInput, message)
        }));
        if errors.is_empty() { Ok(Self { arguments, ..self.clone() }) } else { Err(errors) }
    }
}
