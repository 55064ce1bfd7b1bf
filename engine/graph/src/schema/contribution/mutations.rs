//! Mutations of a type: `create`, `update` (what is not given stays), `replace` (it goes) and `delete`.

use apollo_compiler::{
    Node,
    ast::{InputValueDefinition, Type},
    name,
};
use prony_graph_store::Side;
use prony_graphql::schema::build::{described_input, input, input_object, named, non_null};

use crate::{
    planning::rights::{Grant, PropertyUse},
    schema::{
        contribution::{
            Writer, derived,
            descriptions::{self, of_given_property, of_side},
            valid, value_type,
        },
        model::{PropertyModel, TypeId, TypeModel},
    },
};

impl Writer<'_> {
    pub(super) fn mutations(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let grants = self.grants;
        let can = |grant| grants.can(side, id, grant);
        let texts = of_side(side);
        let key_type = derived(of, "PkColumns");
        if [Grant::Update, Grant::Delete].into_iter().any(can) {
            let key = self.key_columns(side);
            let text = self.pool.description(texts.key_columns);
            self.contribution.types.push(input_object(&key_type, Some(text), key));
        }
        if can(Grant::Insert) {
            if side == Side::Relationships && !std::mem::replace(&mut self.has_node_key, true) {
                self.node_key();
            }
            let identity = self.identity(side);
            let arguments = [identity, self.given(side, id, PropertyUse::Insert)].concat();
            self.mutation("create", of, arguments, named(&valid(&of.type_name)), texts.create);
        }
        let written = self.pool.description(texts.written);
        let pk_columns = vec![described_input(input(&name!("pk_columns"), non_null(&key_type)), written)];
        let changed = [pk_columns.clone(), self.given(side, id, PropertyUse::Update)].concat();
        let result = || named(&name!("Result"));
        if can(Grant::Update) {
            self.mutation("update", of, changed.clone(), result(), texts.update);
        }
        if can(Grant::Replace) {
            self.mutation("replace", of, changed, result(), texts.replace);
        }
        if can(Grant::Delete) {
            self.mutation("delete", of, pk_columns, result(), texts.delete);
        }
    }

    /// By which a node or relationship that is there is named.
    fn key_columns(&mut self, side: Side) -> Vec<Node<InputValueDefinition>> {
        let (big_int, text) = (name!("BigInt"), of_side(side).given_id);
        let mut id = |ty| self.pool.described_input(&name!("_id"), ty, text);
        match side {
            Side::Nodes => {
                let id = id(named(&big_int));
                let ty = named(&name!("String"));
                vec![self.pool.described_input(&name!("_key"), ty, descriptions::GIVEN_KEY), id]
            }
            Side::Relationships => vec![id(non_null(&big_int))],
        }
    }

    /// What a node or relationship cannot be made without.
    fn identity(&mut self, side: Side) -> Vec<Node<InputValueDefinition>> {
        let (string, end) = (non_null(&name!("String")), non_null(&name!("GraphNodeKey")));
        let inputs = match side {
            Side::Nodes => vec![(name!("_key"), string, descriptions::NEW_KEY)],
            Side::Relationships => {
                let from = (name!("from"), end.clone(), descriptions::FROM);
                vec![from, (name!("to"), end, descriptions::TO)]
            }
        };
        inputs.into_iter().map(|(name, ty, text)| self.pool.described_input(&name, ty, text)).collect()
    }

    /// An argument for each property that can be used so.
    fn given(&mut self, side: Side, id: TypeId, used: PropertyUse) -> Vec<Node<InputValueDefinition>> {
        let properties = self.grants.properties(side, id, used);
        let argument = |property: &PropertyModel| {
            let (name, ty) = (valid(&property.field), value_type(property.kind));
            self.pool.described_input(&name, ty, &of_given_property(property))
        };
        properties.map(argument).collect()
    }

    /// How a mutation names a node of any type.
    fn node_key(&mut self) {
        let fields = [
            (name!("_id"), named(&name!("BigInt")), of_side(Side::Nodes).given_id),
            (name!("_type"), named(&name!("String")), descriptions::TYPE),
            (name!("_key"), named(&name!("String")), descriptions::GIVEN_KEY),
        ];
        let fields = fields.map(|(name, ty, text)| self.pool.described_input(&name, ty, text));
        let text = self.pool.description(descriptions::NODE_KEY);
        self.contribution.types.push(input_object(&name!("GraphNodeKey"), Some(text), fields));
    }

    fn mutation(
        &mut self,
        verb: &str,
        of: &TypeModel,
        arguments: Vec<Node<InputValueDefinition>>,
        answer: Type,
        text: &str,
    ) {
        let name = valid(&format!("{verb}{}", of.mutation_stem));
        let field = self.field(&name, arguments, answer, text);
        self.contribution.mutation.push(field);
    }
}
