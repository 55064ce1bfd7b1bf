//! Subscriptions to the changes of a type: the field, and the type of its events.

use apollo_compiler::name;
use prony_graph_store::Side;
use prony_graphql::schema::build::{described_field, field_with_arguments, named, non_null, object};
use prony_source::dialect::{filter_argument, operations_argument};

use crate::schema::{
    contribution::{
        Writer, derived,
        descriptions::{self, of_changes, of_side},
        valid,
    },
    model::TypeModel,
};

impl Writer<'_> {
    pub(super) fn changes(&mut self, side: Side, of: &TypeModel) {
        let row = valid(&of.type_name);
        let texts = of_side(side);
        let thing = match side {
            Side::Nodes => name!("node"),
            Side::Relationships => name!("relationship"),
        };
        let event = derived(of, "Change");
        let kind = non_null(&name!("ChangeOperation"));
        let operation = self.pool.described_field(&name!("operation"), kind, texts.change);
        let thing = self.member(&thing, non_null(&row), texts.changed);
        let text = self.pool.description(texts.change);
        self.contribution.types.push(object(&event, Some(text), [operation, thing]));
        let mut arguments = vec![operations_argument(&mut self.pool)];
        if side == Side::Nodes {
            let (name, ty) = (name!("_key"), named(&name!("String")));
            arguments.push(self.pool.described_input(&name, ty, descriptions::CHANGES_OF_KEY));
        }
        let (name, ty) = (name!("_id"), named(&name!("BigInt")));
        arguments.push(self.pool.described_input(&name, ty, texts.changes_of_id));
        arguments.push(filter_argument(&mut self.pool, &derived(of, "Clauses")));
        let field = field_with_arguments(&valid(&of.change_field()), arguments, non_null(&event));
        self.contribution.subscription.push(described_field(field, of_changes(side, of)));
    }
}
