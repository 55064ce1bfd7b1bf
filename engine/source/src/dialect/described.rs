//! Arguments, fields of filters and members of aggregates that sources have alike, with what GraphQL's documentation says of them.

use prony_graphql::{
    Name,
    compiler::{
        Node,
        ast::{FieldDefinition, InputValueDefinition},
        name,
    },
    schema::build::{
        Pool, described_field, described_input, field_with_arguments, input, list, named, non_null,
    },
};

/// Of a type of filters.
pub const CONDITIONS: &str = "Conditions, all of which must hold.";
/// Of a type of orders.
pub const ORDER: &str = "A key of an order.";
/// Of the field of an aggregate.
pub const AGGREGATE: &str = "How many there are, and sums, averages and extremes of their values.";

/// `where`.
pub fn filter_argument(pool: &mut Pool, conditions: &Name) -> Node<InputValueDefinition> {
    let text = pool.description("Which of them: all conditions must hold.");
    described_input(input(&name!("where"), named(conditions)), text)
}

/// `sort`.
pub fn sort_argument(pool: &mut Pool, order: &Name) -> Node<InputValueDefinition> {
    let text = pool.description("Their order: what is first counts most.");
    described_input(input(&name!("sort"), list(order)), text)
}

/// `limit` and `offset`.
pub fn page_arguments(pool: &mut Pool) -> [Node<InputValueDefinition>; 2] {
    let texts =
        [(name!("limit"), "At most so many of them."), (name!("offset"), "So many of them are passed over.")];
    texts.map(|(name, text)| pool.described_input(&name, named(&name!("Int")), text))
}

/// `operations` of a subscription to changes.
pub fn operations_argument(pool: &mut Pool) -> Node<InputValueDefinition> {
    let text = "Only changes of these kinds.";
    pool.described_input(&name!("operations"), list(&name!("ChangeOperation")), text)
}

/// `and`, `or` and `not` of a type of filters.
pub fn logical_inputs(pool: &mut Pool, conditions: &Name) -> [Node<InputValueDefinition>; 3] {
    let inputs = [
        (name!("and"), list(conditions), "All of these must hold."),
        (name!("or"), list(conditions), "One of these must hold."),
        (name!("not"), named(conditions), "This must not hold."),
    ];
    inputs.map(|(name, ty, text)| described_input(input(&name, ty), pool.description(text)))
}

/// `count`, and where the type of the values is given also `sum`, `avg`, `max` and `min`.
pub fn aggregate_members(pool: &mut Pool, values: Option<&Name>) -> Vec<Node<FieldDefinition>> {
    let count = pool.described_field(&name!("count"), non_null(&name!("Int")), "How many there are.");
    let functions = [
        (name!("sum"), "The sums."),
        (name!("avg"), "The averages."),
        (name!("max"), "The greatest values."),
        (name!("min"), "The least values."),
    ];
    let mut members = vec![count];
    if let Some(values) = values {
        members.extend(functions.map(|(name, text)| {
            described_field(field_with_arguments(&name, Vec::new(), named(values)), pool.description(text))
        }));
    }
    members
}
