//! The subscription fields of a model's tables, and the types of their events.

use apollo_compiler::{
    Name, Node,
    ast::{FieldDefinition, InputValueDefinition},
    collections::HashMap,
    name,
};
use prony_graphql::schema::{
    Contribution,
    build::{Pool, described_field, field_with_arguments, named, non_null, object},
};

use crate::changes::names::{ChangeIndex, KEY, OPERATION, PREVIOUS_KEY};
use prony_source::dialect::{operations_argument, shared_type};

use crate::{
    model::Model,
    restrict::{ColumnUse, Restrictions},
};

/// Adds to what the model contributes, whose names and arguments are used again: there are as many changes as tables.
pub fn add(
    model: &Model,
    index: &ChangeIndex,
    restrictions: Option<&Restrictions>,
    contribution: &mut Contribution,
) {
    let known: HashMap<&str, Name> =
        contribution.types.iter().map(|(name, _)| (name.as_str(), name.clone())).collect();
    let filters = filters(&contribution.query);
    let operation = name!("ChangeOperation");
    let pool = &mut Pool::default();
    let operations = operations_argument(pool);
    let member = |name: &Name, ty| field_with_arguments(name, Vec::new(), ty);
    let operation_member = member(&name_of(OPERATION), non_null(&operation));
    let of_each = pool.description("Each change of a row, in the order of the commits.");
    let (key_name, previous_key_name) = (name_of(KEY), name_of(PREVIOUS_KEY));
    let (mut types, mut fields) = (Vec::new(), Vec::new());
    for names in &index.tables {
        let type_name = &*model.table(names.table).type_name;
        let clauses = format!("{type_name}Clauses");
        // An event says of which row it is.
        let reads_key = |restrictions: &Restrictions| {
            let rights = restrictions.of(names.table);
            model.table(names.table).primary_key.iter().any(|id| rights.allows(ColumnUse::Read, *id))
        };
        if !restrictions.is_none_or(reads_key) {
            continue;
        }
        // A table with a key contributes all three, if it can be seen: the types of its rows and keys, and a list of rows with
        // a filter.
        let (Some(row), Some(key)) = (known.get(type_name), known.get(&*format!("{type_name}Pks"))) else {
            continue;
        };
        let change = name_of(&names.type_name);
        let members = [
            operation_member.clone(),
            member(&key_name, non_null(key)),
            member(&previous_key_name, named(key)),
            member(&name_of(&names.row), named(row)),
        ];
        types.push(object(&change, None, members));
        let arguments = vec![operations.clone(), filters[&*clauses].clone()];
        let field = field_with_arguments(&name_of(&names.field), arguments, non_null(&change));
        fields.push(described_field(field, of_each.clone()));
    }
    if types.is_empty() {
        return;
    }
    types.extend(shared_type(&operation, pool));
    contribution.types.extend(types);
    contribution.subscription.extend(fields);
}

/// The argument `where` of fields, by the name of its type.
fn filters(fields: &[Node<FieldDefinition>]) -> HashMap<&str, Node<InputValueDefinition>> {
    let arguments = fields.iter().filter_map(|field| field.arguments.first());
    let filters = arguments.filter(|argument| argument.name == "where");
    filters.map(|argument| (argument.ty.inner_named_type().as_str(), argument.clone())).collect()
}

fn name_of(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}
