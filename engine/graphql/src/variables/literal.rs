//! From values written in documents and schemas to [`Value`]s, with variables expanded by their shape.

use apollo_compiler::{
    Name, Node,
    ast::{self, InputValueDefinition, Type},
    parser::SourceSpan,
    schema::{Component, ExtendedType, InputObjectType},
};
use serde_json::{Map, Value as Json};

use crate::{
    document::{limits::MAX_REPORTED_ERRORS, operation::Operation, position::LineIndex},
    error::{ErrorCode, GraphqlError},
    schema::Schema,
    variables::value::{Slot, SlotRoot, Step, Value},
    variables::{Variables, rule::scalar_rule, scalar::Scalar},
};

/// Converts literals and gathers what is wrong with them.
pub(crate) struct Literals<'a> {
    schema: &'a Schema,
    lines: &'a LineIndex,
    /// None where no variable may occur: defaults.
    variables: Option<(&'a Operation, &'a Variables)>,
    /// The argument and the fields of input objects that lead to the value at hand.
    path: Vec<Name>,
    errors: Vec<GraphqlError>,
}

impl<'a> Literals<'a> {
    pub(crate) fn constant(schema: &'a Schema, lines: &'a LineIndex) -> Self {
        Self { schema, lines, variables: None, path: Vec::new(), errors: Vec::new() }
    }

    pub(crate) fn with_variables(
        schema: &'a Schema,
        operation: &'a Operation,
        variables: &'a Variables,
    ) -> Self {
        Self {
            schema,
            lines: &operation.lines,
            variables: Some((operation, variables)),
            path: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Result<(), Vec<GraphqlError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    pub(crate) fn fault(&mut self, span: Option<SourceSpan>, mut message: String) {
        if self.errors.len() < MAX_REPORTED_ERRORS {
            if !self.path.is_empty() {
                let path: Vec<&str> = self.path.iter().map(Name::as_str).collect();
                message = format!("argument \"{}\": {message}", path.join("."));
            }
            let error = GraphqlError::new(ErrorCode::BadUserInput, message);
            self.errors.push(match span {
                Some(_) => error.at(self.lines.position(span)),
                None => error,
            });
        }
    }

    /// The coerced JSON of a constant.
    pub(crate) fn json(&mut self, ty: &Type, literal: &Node<ast::Value>) -> Json {
        self.value(ty, literal).map_or(Json::Null, |value| value.resolve(&Variables::default()))
    }

    /// An argument or a field of an input object as it counts: what was given, else the default, else nothing.
    pub(crate) fn input(
        &mut self,
        definition: &InputValueDefinition,
        given: Option<&Node<ast::Value>>,
    ) -> Option<Value> {
        self.path.push(definition.name.clone());
        let value = given.and_then(|literal| self.value(&definition.ty, literal));
        if value.is_none() && definition.is_required() {
            let span = given.and_then(Node::location);
            self.fault(span, format!("expected a value of type {}, found none", definition.ty));
        }
        let default = definition.default_value.as_ref();
        let value = value.or_else(|| default.and_then(|default| self.value(&definition.ty, default)));
        self.path.pop();
        value
    }

    /// None where the literal is a variable without a value.
    pub(crate) fn value(&mut self, ty: &Type, literal: &Node<ast::Value>) -> Option<Value> {
        if let ast::Value::Variable(name) = &**literal {
            return self.variable(ty, name, literal.location());
        }
        if matches!(**literal, ast::Value::Null) {
            return Some(Value::Null);
        }
        if ty.is_list() {
            return Some(Value::List(match &**literal {
                ast::Value::List(items) => items.iter().map(|item| self.item(ty.item_type(), item)).collect(),
                _ => vec![self.item(ty.item_type(), literal)],
            }));
        }
        let schema = self.schema;
        Some(match (schema.valid().types.get(ty.inner_named_type()), &**literal) {
            (Some(ExtendedType::InputObject(object)), ast::Value::Object(entries)) => {
                self.object(object, entries)
            }
            (Some(ExtendedType::Enum(_)), ast::Value::Enum(name)) => Value::Enum(name.clone()),
            _ => self.scalar(ty, literal),
        })
    }

    /// An item of a list; a variable without a value stands for null.
    fn item(&mut self, ty: &Type, literal: &Node<ast::Value>) -> Value {
        let value = self.value(ty, literal).unwrap_or(Value::Null);
        if value == Value::Null && ty.is_non_null() {
            self.fault(literal.location(), "an item of the list must not be null".into());
        }
        value
    }

    fn object(&mut self, object: &'a InputObjectType, entries: &[(Name, Node<ast::Value>)]) -> Value {
        let mut fields = Vec::with_capacity(entries.len());
        for (key, literal) in entries {
            let Some((key, definition)) = object.fields.get_key_value(key) else { continue };
            if let Some(value) = self.input(definition, Some(literal)) {
                fields.push((key.clone(), value));
            }
        }
        for (key, definition) in &object.fields {
            if definition.default_value.is_some() && entries.iter().all(|(given, _)| given != key) {
                fields.extend(self.default_of(key, definition));
            }
        }
        Value::Object(fields)
    }

    fn default_of(
        &mut self,
        key: &Name,
        definition: &Component<InputValueDefinition>,
    ) -> Option<(Name, Value)> {
        self.input(definition, None).map(|value| (key.clone(), value))
    }

    fn scalar(&mut self, ty: &Type, literal: &Node<ast::Value>) -> Value {
        let scalar = scalar_rule(self.schema, ty.inner_named_type());
        if scalar == Scalar::Any && has_variable(literal) {
            return self.open_json(literal);
        }
        let mut json = json_of(scalar, literal);
        match scalar.coerce(&mut json) {
            Ok(()) => match json {
                Json::Bool(value) if scalar == Scalar::Boolean => Value::Boolean(value),
                json => Value::Scalar(json),
            },
            Err(message) => {
                self.fault(literal.location(), message);
                Value::Null
            }
        }
    }

    /// A literal of a custom scalar with variables in it. A variable without a value is no entry of an object, and null
    /// elsewhere.
    fn open_json(&mut self, literal: &Node<ast::Value>) -> Value {
        match &**literal {
            ast::Value::Variable(name) => {
                let Some((index, ty, value)) = self.lookup(name) else { return Value::Null };
                value.map_or(Value::Null, |value| {
                    expand(self.schema, ty, value, &mut Slot::from(SlotRoot::Variable(index)))
                })
            }
            ast::Value::List(items) => Value::List(items.iter().map(|item| self.open_json(item)).collect()),
            ast::Value::Object(entries) => {
                let mut fields = Vec::with_capacity(entries.len());
                for (key, entry) in entries {
                    if !self.is_without_value(entry) {
                        fields.push((key.clone(), self.open_json(entry)));
                    }
                }
                Value::Object(fields)
            }
            ast::Value::Null => Value::Null,
            ast::Value::Boolean(value) => Value::Boolean(*value),
            _ => Value::Scalar(json_of(Scalar::Any, literal)),
        }
    }

    /// Whether it is a variable without a value.
    fn is_without_value(&self, literal: &ast::Value) -> bool {
        let ast::Value::Variable(name) = literal else { return false };
        self.lookup(name).is_none_or(|(_, _, value)| value.is_none())
    }

    fn lookup(&self, name: &Name) -> Option<(usize, &'a Type, Option<&'a Json>)> {
        let (operation, variables) = self.variables?;
        let index = operation.variables.iter().position(|variable| variable.name == *name)?;
        Some((index, &operation.variables[index].ty, variables.value(index)))
    }

    fn variable(&mut self, ty: &Type, name: &Name, span: Option<SourceSpan>) -> Option<Value> {
        let (index, declared, value) = self.lookup(name)?;
        let value = value?;
        if value.is_null() && ty.is_non_null() {
            self.fault(span, format!("variable \"${name}\" is null where {ty} is expected"));
        }
        Some(expand(self.schema, declared, value, &mut Slot::from(SlotRoot::Variable(index))))
    }
}

/// What the shape of a variable decides becomes a value; the rest stays a slot.
pub(super) fn expand(schema: &Schema, ty: &Type, value: &Json, slot: &mut Slot) -> Value {
    let named = ty.inner_named_type();
    let definition = schema.valid().types.get(named);
    let plain = matches!(definition, Some(ExtendedType::Scalar(_))) && Scalar::of(named) != Scalar::Boolean;
    match value {
        Json::Null => Value::Null,
        _ if plain => Value::Slot(slot.clone()),
        Json::Array(items) if ty.is_list() => {
            let expand_item = |(index, item)| {
                slot.path.push(Step::Index(index));
                let value = expand(schema, ty.item_type(), item, slot);
                slot.path.pop();
                value
            };
            Value::List(items.iter().enumerate().map(expand_item).collect())
        }
        _ => match (definition, value) {
            (Some(ExtendedType::InputObject(object)), Json::Object(entries)) => {
                Value::Object(expand_entries(schema, object, entries, slot))
            }
            (Some(ExtendedType::Enum(definition)), Json::String(label)) => {
                let name = definition.values.get_key_value(label.as_str()).map(|(name, _)| name.clone());
                name.map_or(Value::Null, Value::Enum)
            }
            (_, Json::Bool(value)) => Value::Boolean(*value),
            _ => Value::Slot(slot.clone()),
        },
    }
}

fn expand_entries(
    schema: &Schema,
    object: &InputObjectType,
    entries: &Map<String, Json>,
    slot: &mut Slot,
) -> Vec<(Name, Value)> {
    let mut fields = Vec::with_capacity(entries.len());
    for (key, entry) in entries {
        if let Some((key, definition)) = object.fields.get_key_value(key.as_str()) {
            slot.path.push(Step::Key(key.clone()));
            fields.push((key.clone(), expand(schema, &definition.ty, entry, slot)));
            slot.path.pop();
        }
    }
    fields
}

fn has_variable(literal: &ast::Value) -> bool {
    match literal {
        ast::Value::Variable(_) => true,
        ast::Value::List(items) => items.iter().any(|item| has_variable(item)),
        ast::Value::Object(entries) => entries.iter().any(|(_, entry)| has_variable(entry)),
        _ => false,
    }
}

/// A constant as JSON; digits of a `Decimal` and of an `ID` are kept as text.
fn json_of(scalar: Scalar, literal: &ast::Value) -> Json {
    match literal {
        ast::Value::Null | ast::Value::Variable(_) => Json::Null,
        ast::Value::Enum(name) => Json::String(name.to_string()),
        ast::Value::String(text) => Json::String(text.clone()),
        ast::Value::Boolean(value) => Json::Bool(*value),
        ast::Value::Int(number) if scalar == Scalar::Id => Json::String(number.as_str().into()),
        ast::Value::Int(number) => json_of_number(scalar, number.as_str()),
        ast::Value::Float(number) => json_of_number(scalar, number.as_str()),
        ast::Value::List(items) => items.iter().map(|item| json_of(scalar, item)).collect(),
        ast::Value::Object(entries) => Json::Object(
            entries.iter().map(|(key, entry)| (key.to_string(), json_of(scalar, entry))).collect(),
        ),
    }
}

fn json_of_number(scalar: Scalar, digits: &str) -> Json {
    if scalar == Scalar::Decimal {
        return Json::String(digits.into());
    }
    // A literal that JSON cannot hold (1e999) stays text, which numeric scalars then refuse.
    serde_json::from_str(digits).unwrap_or_else(|_| Json::String(digits.into()))
}
