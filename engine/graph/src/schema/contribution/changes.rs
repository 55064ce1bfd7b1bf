//! Subscriptions to the changes of a type: the field, and the type of its events.

use apollo_compiler::{Node, name};
use prony_graph_store::Side;
use prony_graphql::schema::build::{field_with_arguments, input, list, named, non_null, object};

use crate::schema::contribution::{Writer, derived, described, valid};
use crate::schema::model::TypeModel;

impl Writer<'_> {
    pub(super) fn changes(&mut self, side: Side, of: &TypeModel) {
        let row = valid(&of.type_name);
        let (thing, thing_name) = match side {
            Side::Nodes => (name!("node"), "The node"),
            Side::Relationships => (name!("relationship"), "The relationship"),
        };
        let event = derived(of, "Change");
        let operation = self.pool.field(&name!("operation"), non_null(&name!("ChangeOperation")));
        let thing = described(
            field_with_arguments(&thing, Vec::new(), non_null(&row)),
            &format!("{thing_name} as it was after the change; where it was deleted, as it was before."),
        );
        self.contribution.types.push(object(&event, None, [operation, thing]));
        let mut arguments = vec![input(&name!("operations"), list(&name!("ChangeOperation")))];
        if side == Side::Nodes {
            arguments.push(input(&name!("_key"), named(&name!("String"))));
        }
        arguments.push(input(&name!("_id"), named(&name!("BigInt"))));
        arguments.push(input(&name!("where"), named(&derived(of, "Clauses"))));
        let field: Node<_> = field_with_arguments(&valid(&of.change_field()), arguments, non_null(&event));
        self.contribution.subscription.push(field);
    }
}
