//! Mutations of a type: `create`, `update` (what is not given stays), `replace` (it goes) and `delete`.

use apollo_compiler::{
    Name, Node,
    ast::{InputValueDefinition, Type},
    name,
};
use prony_graph_store::Side;
use prony_graphql::schema::build::{field_with_arguments, input, input_object, named, non_null};

use crate::{
    planning::rights::{Grant, PropertyUse},
    schema::{
        contribution::{Writer, derived, input_of, valid, value_type},
        model::{TypeId, TypeModel},
    },
};

impl Writer<'_> {
    pub(super) fn mutations(&mut self, side: Side, id_of: TypeId, of: &TypeModel) {
        let grants = self.grants;
        let can = |grant| grants.can(side, id_of, grant);
        let key_type = derived(of, "PkColumns");
        let id = |ty: Type| input(&name!("_id"), ty);
        let (key, identity) = match side {
            Side::Nodes => {
                let key = input(&name!("_key"), named(&name!("String")));
                let identity = vec![input(&name!("_key"), non_null(&name!("String")))];
                (vec![key, id(named(&name!("BigInt")))], identity)
            }
            Side::Relationships => {
                let end = |name: Name| input(&name, non_null(&name!("GraphNodeKey")));
                (vec![id(non_null(&name!("BigInt")))], vec![end(name!("from")), end(name!("to"))])
            }
        };
        let properties = |used| {
            let given = grants.properties(side, id_of, used);
            given.map(|property| input_of(property, value_type(property.kind))).collect::<Vec<_>>()
        };
        let pk_columns = vec![input(&name!("pk_columns"), non_null(&key_type))];
        let changed = [pk_columns.clone(), properties(PropertyUse::Update)].concat();
        let result = || named(&name!("Result"));
        if [Grant::Update, Grant::Delete].into_iter().any(can) {
            self.contribution.types.push(input_object(&key_type, None, key));
        }
        if can(Grant::Insert) {
            if side == Side::Relationships && !std::mem::replace(&mut self.has_node_key, true) {
                self.node_key();
            }
            let arguments = [identity, properties(PropertyUse::Insert)].concat();
            self.mutation("create", of, arguments, named(&valid(&of.type_name)));
        }
        if can(Grant::Update) {
            self.mutation("update", of, changed.clone(), result());
        }
        if can(Grant::Replace) {
            self.mutation("replace", of, changed, result());
        }
        if can(Grant::Delete) {
            self.mutation("delete", of, pk_columns, result());
        }
    }

    /// How a mutation names a node of any type.
    fn node_key(&mut self) {
        let fields = [
            input(&name!("_id"), named(&name!("BigInt"))),
            input(&name!("_type"), named(&name!("String"))),
            input(&name!("_key"), named(&name!("String"))),
        ];
        let description = "A node: its `_id`, or its `_type` and `_key`.";
        self.contribution.types.push(input_object(&name!("GraphNodeKey"), Some(description), fields));
    }

    fn mutation(
        &mut self,
        verb: &str,
        of: &TypeModel,
        arguments: Vec<Node<InputValueDefinition>>,
        answer: Type,
    ) {
        let name = valid(&format!("{verb}{}", of.mutation_stem));
        self.contribution.mutation.push(field_with_arguments(&name, arguments, answer));
    }
}
