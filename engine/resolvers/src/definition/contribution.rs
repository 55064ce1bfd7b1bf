//! From the text of a schema to its parts: checked, and ready to be merged with those of other sources.

use prony_graphql::{
    Name,
    compiler::{
        Node, Schema as Compiled,
        ast::{self, DirectiveList, FieldDefinition},
        collections::HashMap,
        schema::ExtendedType,
        validation::Valid,
    },
    schema::Contribution,
    selection::{AppliedDirective, Value},
};
use serde_json::Value as Json;

use crate::api::error::Faults;

pub(crate) const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];

/// Parses and validates; all faults with their line.
pub(crate) fn parse(sdl: &str) -> Result<Valid<Compiled>, Faults> {
    let mut faults = Faults(Vec::new());
    let valid = match Compiled::parse_and_validate(sdl, "schema") {
        Ok(valid) => valid,
        Err(invalid) => {
            for fault in invalid.errors.iter() {
                let place = fault.line_column_range().map_or_else(
                    || "schema".to_owned(),
                    |range| format!("schema line {}, column {}", range.start.line, range.start.column),
                );
                faults.add(place, fault.error.to_string());
            }
            return Err(faults);
        }
    };
    let definition = &valid.schema_definition;
    for (expected, given) in
        ROOTS.iter().zip([&definition.query, &definition.mutation, &definition.subscription])
    {
        if let Some(given) = given
            && given.name != *expected
        {
            faults.add("schema", format!("the root type {} must be called {expected}", given.name));
        }
    }
    if faults.0.is_empty() { Ok(valid) } else { Err(faults) }
}

/// What the source adds to the served schema.
pub(crate) fn contribution(schema: &Compiled) -> Contribution {
    let fields = |root: &str| -> Vec<Node<FieldDefinition>> {
        let object = schema.get_object(root);
        object.into_iter().flat_map(|object| object.fields.values()).map(|field| field.node.clone()).collect()
    };
    let is_ours = |(name, definition): &(&Name, &ExtendedType)| {
        !definition.is_built_in() && !ROOTS.contains(&name.as_str())
    };
    let types = schema.types.iter().filter(is_ours);
    let directives = schema.directive_definitions.values().filter(|directive| !directive.is_built_in());
    Contribution {
        types: types.map(|(name, definition)| (name.clone(), definition.clone())).collect(),
        query: fields("Query"),
        mutation: fields("Mutation"),
        subscription: fields("Subscription"),
        directives: directives.cloned().collect(),
        ..Contribution::default()
    }
}

/// Directives that stand at fields of the schema, by type and field; only those that `applies` says functions for.
pub(crate) type Declared = HashMap<(Name, Name), Vec<AppliedDirective>>;

pub(crate) fn declared_directives(schema: &Compiled, applies: impl Fn(&Name) -> bool) -> Declared {
    let mut declared = Declared::default();
    for (type_name, definition) in &schema.types {
        let ExtendedType::Object(object) = definition else { continue };
        for (field_name, field) in &object.fields {
            let directives = applied(schema, &field.directives, &applies);
            if !directives.is_empty() {
                declared.insert((type_name.clone(), field_name.clone()), directives);
            }
        }
    }
    declared
}

fn applied(
    schema: &Compiled,
    directives: &DirectiveList,
    applies: &impl Fn(&Name) -> bool,
) -> Vec<AppliedDirective> {
    let known = directives.iter().filter(|directive| applies(&directive.name));
    known
        .map(|directive| {
            let definition = schema.directive_definitions.get(&directive.name);
            let arguments = definition.into_iter().flat_map(|definition| &definition.arguments);
            let value = |argument: &Node<ast::InputValueDefinition>| {
                let given = directive.specified_argument_by_name(&argument.name);
                let value = given.or(argument.default_value.as_ref())?;
                Some((argument.name.clone(), Value::Scalar(json(value))))
            };
            AppliedDirective {
                name: directive.name.clone(),
                arguments: arguments.filter_map(value).collect(),
            }
        })
        .collect()
}

/// A constant of the schema.
fn json(value: &ast::Value) -> Json {
    match value {
        ast::Value::Null | ast::Value::Variable(_) => Json::Null,
        ast::Value::Enum(name) => Json::String(name.to_string()),
        ast::Value::String(text) => Json::String(text.clone()),
        ast::Value::Boolean(value) => Json::Bool(*value),
        ast::Value::Int(number) => serde_json::from_str(number.as_str()).unwrap_or_default(),
        ast::Value::Float(number) => serde_json::from_str(number.as_str()).unwrap_or_default(),
        ast::Value::List(items) => items.iter().map(|item| json(item)).collect(),
        ast::Value::Object(entries) => {
            Json::Object(entries.iter().map(|(key, entry)| (key.to_string(), json(entry))).collect())
        }
    }
}
