//! Mutations of a type: `create`, `update` (what is not given stays), `replace` (it goes) and `delete`.

use apollo_compiler::{
    Name, Node,
    ast::{InputValueDefinition, Type},
    name,
};
use prony_graph_store::Side;
use prony_graphql::schema::build::{field_with_arguments, input, input_object, named, non_null};

use crate::schema::contribution::{Writer, derived, input_of, valid, value_type};
use crate::schema::model::TypeModel;

impl Writer<'_> {
    pub(super) fn mutations(&mut self, side: Side, of: &TypeModel) {
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
        self.contribution.types.push(input_object(&key_type, None, key));
        if side == Side::Relationships && of.name == self.model.relationships.types[0].name {
            self.node_key();
        }
        let properties: Vec<_> =
            of.properties.iter().map(|property| input_of(property, value_type(property.kind))).collect();
        let pk_columns = vec![input(&name!("pk_columns"), non_null(&key_type))];
        let changed = [pk_columns.clone(), properties.clone()].concat();
        let result = || named(&name!("Result"));
        self.mutation("create", of, [identity, properties].concat(), named(&valid(&of.type_name)));
        self.mutation("update", of, changed.clone(), result());
        self.mutation("replace", of, changed, result());
        self.mutation("delete", of, pk_columns, result());
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
