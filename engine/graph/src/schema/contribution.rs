//! The GraphQL types and root fields of a model: for each type its object, filter, order, aggregates and mutations, and
//! for all types together the interfaces `GraphNode` and `GraphRelationship`. Which names there are is the model's business.

mod changes;
mod inputs;
mod mutations;

use apollo_compiler::{
    Name, Node,
    ast::{FieldDefinition, InputValueDefinition, Type},
    collections::{IndexMap, IndexSet},
    name,
    schema::{Component, ComponentName, DirectiveList, ExtendedType, InterfaceType, ObjectType},
};
use prony_graph_store::{Kind, Side};
use prony_graphql::schema::{
    Contribution,
    build::{Pool, enumeration, field_with_arguments, input, list, named, non_null, non_null_list, object},
};

use crate::{
    planning::{
        restrict::Restrictions,
        rights::{Grant, PropertyUse},
    },
    schema::{
        grants::Grants,
        model::{Model, PropertyModel, TypeId, TypeModel},
    },
};
use prony_source::dialect::names;

pub(crate) const NODE: Name = name!("GraphNode");
pub(crate) const RELATIONSHIP: Name = name!("GraphRelationship");

/// With more types of nodes than this, nodes have no lists of neighbours of one type: there would be as many fields as the
/// square of it.
pub(crate) const MAX_TYPED_NEIGHBOURS: usize = 32;

/// All types and root fields of the model, or those that a role is granted.
pub(crate) fn contribution(model: &Model, restrictions: Option<&Restrictions>) -> Contribution {
    let mut writer = Writer {
        model,
        grants: Grants { model, restrictions },
        pool: Pool::default(),
        contribution: Contribution::default(),
        kinds: Vec::new(),
        has_node_key: false,
    };
    for side in [Side::Nodes, Side::Relationships] {
        writer.interface(side);
        writer.common_inputs(side);
        for (id, of) in model.side(side).all() {
            let grants = writer.grants;
            if !grants.has_any(side, id) {
                continue;
            }
            let is_seen = grants.can(side, id, Grant::Select);
            writer.object(side, id, of);
            if is_seen {
                writer.inputs(side, id, of);
            }
            if grants.can(side, id, Grant::Aggregate) {
                writer.aggregate(side, id, of);
            }
            if is_seen {
                writer.queries(side, id, of);
            }
            writer.mutations(side, id, of);
            if is_seen {
                writer.changes(side, of);
            }
        }
    }
    writer.roots_of_all();
    writer.shared();
    let Contribution { query, subscription, .. } = &mut writer.contribution;
    subscription.extend(query.iter().cloned());
    writer.contribution
}

struct Writer<'m> {
    model: &'m Model,
    grants: Grants<'m>,
    pool: Pool,
    contribution: Contribution,
    /// Of the properties seen, each once.
    kinds: Vec<Kind>,
    /// Whether the input that names a node of any type is there.
    has_node_key: bool,
}

/// The type of a property's value.
fn value_type(kind: Kind) -> Type {
    let scalar = named(&scalar_name(kind));
    match kind {
        Kind::Boolean | Kind::Integer | Kind::Double | Kind::String => scalar,
        Kind::BooleanList | Kind::IntegerList | Kind::DoubleList | Kind::StringList => {
            scalar.non_null().list()
        }
    }
}

fn scalar_name(kind: Kind) -> Name {
    match kind {
        Kind::Boolean | Kind::BooleanList => name!("Boolean"),
        Kind::Integer | Kind::IntegerList => name!("BigInt"),
        Kind::Double | Kind::DoubleList => name!("Float"),
        Kind::String | Kind::StringList => name!("String"),
    }
}

fn derived(of: &TypeModel, suffix: &str) -> Name {
    valid(&format!("{}{suffix}", of.type_name))
}

fn valid(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}

fn described(field: Node<FieldDefinition>, description: &str) -> Node<FieldDefinition> {
    let mut field = field;
    field.make_mut().description = Some(Node::new_str(description));
    field
}

impl Writer<'_> {
    fn interface(&mut self, side: Side) {
        let (name, description) = match side {
            Side::Nodes => (NODE, "A node, whatever its type."),
            Side::Relationships => (RELATIONSHIP, "A relationship, whatever its type."),
        };
        let fields = self.own_fields(side);
        let definition = InterfaceType {
            description: Some(Node::new_str(description)),
            name: name.clone(),
            implements_interfaces: IndexSet::default(),
            directives: DirectiveList::default(),
            fields: by_name(fields),
        };
        self.contribution.types.push((name, ExtendedType::Interface(Node::new(definition))));
    }

    /// What each node or relationship has.
    fn own_fields(&mut self, side: Side) -> Vec<Node<FieldDefinition>> {
        let id = self.pool.field(&name!("_id"), non_null(&name!("BigInt")));
        let type_name = self.pool.field(&name!("_type"), non_null(&name!("String")));
        match side {
            Side::Nodes => {
                let key = self.pool.field(&name!("_key"), non_null(&name!("String")));
                let around = self.around();
                let neighbors =
                    [around.clone(), self.list_arguments(&name!("GraphNode"), "relationship")].concat();
                let relationships =
                    [around.clone(), self.list_arguments(&name!("GraphRelationship"), "node")].concat();
                let mut fields = vec![
                    id,
                    type_name,
                    key,
                    described(
                        field_with_arguments(&name!("neighbors"), neighbors, non_null_list(&NODE)),
                        "The nodes at the other ends of its relationships, one for each relationship.",
                    ),
                    field_with_arguments(
                        &name!("relationships"),
                        relationships,
                        non_null_list(&RELATIONSHIP),
                    ),
                ];
                if self.grants.can_count_relationships() {
                    fields.push(described(
                        field_with_arguments(&name!("degree"), around, non_null(&name!("Int"))),
                        "How many relationships it has.",
                    ));
                }
                fields
            }
            Side::Relationships => {
                let end = |name: Name| field_with_arguments(&name, Vec::new(), named(&NODE));
                vec![
                    id,
                    type_name,
                    end(name!("from")),
                    end(name!("to")),
                    described(
                        end(name!("node")),
                        "The end that is not the node above; `to` where there is none.",
                    ),
                ]
            }
        }
    }

    /// Which relationships of a node are meant.
    fn around(&mut self) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = vec![input(&name!("direction"), named(&name!("GraphDirection")))];
        if self.grants.selected(Side::Relationships).next().is_some() {
            arguments.push(input(&name!("types"), list(&name!("GraphRelationshipType"))));
        }
        arguments
    }

    /// `where`, `sort`, `limit` and `offset` of a list of the type; `other` filters by what is at the other side.
    fn list_arguments(&mut self, of: &Name, other: &str) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = vec![input(&name!("where"), named(&valid(&format!("{of}Clauses"))))];
        match other {
            "node" => arguments.push(input(&name!("node"), named(&name!("GraphNodeClauses")))),
            "relationship" => {
                arguments.push(input(&name!("relationship"), named(&name!("GraphRelationshipClauses"))));
            }
            _ => {}
        }
        arguments.push(input(&name!("sort"), list(&valid(&format!("{of}Sort")))));
        for count in [name!("limit"), name!("offset")] {
            arguments.push(self.pool.input(&count, named(&name!("Int"))));
        }
        arguments
    }

    fn object(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let mut fields = self.own_fields(side);
        let grants = self.grants;
        for property in grants.properties(side, id, PropertyUse::Read) {
            self.see(property.kind);
            fields.push(self.pool.field(&valid(&property.field), value_type(property.kind)));
        }
        if side == Side::Nodes {
            fields.extend(self.typed_neighbours(of));
        }
        let (interface, what) = match side {
            Side::Nodes => (NODE, "A node"),
            Side::Relationships => (RELATIONSHIP, "A relationship"),
        };
        let definition = ObjectType {
            description: Some(Node::new_str(&format!("{what} of type `{}`.", of.name))),
            name: valid(&of.type_name),
            implements_interfaces: [ComponentName::from(interface)].into_iter().collect(),
            directives: DirectiveList::default(),
            fields: by_name(fields),
        };
        self.contribution.types.push((definition.name.clone(), ExtendedType::Object(Node::new(definition))));
    }

    /// Lists of neighbours of one type, under the name of the type's list. A property of the same name hides it, and so does what is joined.
    fn typed_neighbours(&mut self, of: &TypeModel) -> Vec<Node<FieldDefinition>> {
        let model = self.model;
        if model.nodes.types.len() > MAX_TYPED_NEIGHBOURS {
            return Vec::new();
        }
        let mut fields = Vec::new();
        let grants = self.grants;
        for (id, target) in grants.selected(Side::Nodes) {
            let row = valid(&target.type_name);
            let arguments = [self.around(), self.list_arguments(&row, "relationship")].concat();
            let aggregated: Vec<_> = arguments
                .iter()
                .filter(|argument| !["sort", "limit", "offset"].contains(&argument.name.as_str()))
                .cloned()
                .collect();
            let aggregate = format!("{}_aggregate", target.list_name);
            if is_free(of, &target.list_name) {
                fields.push(field_with_arguments(&valid(&target.list_name), arguments, non_null_list(&row)));
            }
            if is_free(of, &aggregate) && grants.can(Side::Nodes, id, Grant::Aggregate) {
                let output = non_null(&derived(target, "Aggregate"));
                fields.push(field_with_arguments(&valid(&aggregate), aggregated, output));
            }
        }
        fields
    }

    fn aggregate(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let grants = self.grants;
        let mut fields = Vec::new();
        if side == Side::Nodes {
            fields.push(self.pool.field(&name!("_key"), named(&name!("String"))));
        }
        let aggregated = grants.properties(side, id, PropertyUse::Aggregate);
        for property in aggregated.filter(|property| is_aggregated(property.kind)) {
            // A sum of integers may have more than 64 bits, and their average is none.
            let output = match property.kind {
                Kind::Integer => name!("Float"),
                kind => scalar_name(kind),
            };
            fields.push(self.pool.field(&valid(&property.field), named(&output)));
        }
        let mut members = vec![self.pool.field(&name!("count"), non_null(&name!("Int")))];
        if !fields.is_empty() {
            let name = derived(of, "Fields");
            for function in [name!("sum"), name!("avg"), name!("max"), name!("min")] {
                members.push(field_with_arguments(&function, Vec::new(), named(&name)));
            }
            self.contribution.summaries.push(name.clone());
            self.contribution.types.push(object(&name, None, fields));
        }
        let name = derived(of, "Aggregate");
        self.contribution.types.push(object(&name, None, members));
        self.contribution.summaries.push(name);
    }

    fn queries(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let row = valid(&of.type_name);
        let arguments = self.list_arguments(&row, "");
        let aggregated = vec![arguments[0].clone()];
        let aggregate = valid(&format!("{}_aggregate", of.list_name));
        let query = &mut self.contribution.query;
        query.push(field_with_arguments(&valid(&of.list_name), arguments, non_null_list(&row)));
        if self.grants.can(side, id, Grant::Aggregate) {
            query.push(field_with_arguments(&aggregate, aggregated, non_null(&derived(of, "Aggregate"))));
        }
        if side == Side::Nodes {
            let arguments = vec![
                input(&name!("_key"), named(&name!("String"))),
                input(&name!("_id"), named(&name!("BigInt"))),
            ];
            let one = field_with_arguments(&valid(&of.single_name), arguments, named(&row));
            query.push(described(one, "The node with this key, or with this id."));
        }
    }

    fn roots_of_all(&mut self) {
        let id = || vec![input(&name!("_id"), non_null(&name!("BigInt")))];
        let roots = [
            (name!("graph_node"), name!("graph_nodes"), NODE),
            (name!("graph_relationship"), name!("graph_relationships"), RELATIONSHIP),
        ];
        for (one, all, of) in roots {
            let arguments = self.list_arguments(&of, "");
            self.contribution.query.push(field_with_arguments(&one, id(), named(&of)));
            self.contribution.query.push(field_with_arguments(&all, arguments, non_null_list(&of)));
        }
    }

    /// Types that belong to no type of the graph.
    fn shared(&mut self) {
        let directions = [name!("all"), name!("in"), name!("out")];
        let types = &mut self.contribution.types;
        types.push(enumeration(
            &name!("GraphDirection"),
            Some("Seen from the node; `all` where none is given."),
            directions,
        ));
        let names: Vec<Name> =
            self.grants.selected(Side::Relationships).map(|(_, of)| valid(&of.type_name)).collect();
        if !names.is_empty() {
            types.push(enumeration(&name!("GraphRelationshipType"), None, names));
        }
        self.shared_inputs();
    }

    fn see(&mut self, kind: Kind) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }
}

/// Whether a name belongs to no field that nodes of the type have.
pub(crate) fn is_free(of: &TypeModel, name: &str) -> bool {
    of.property(name).is_none()
        && of.joined.iter().all(|joined| **joined != *name)
        && !crate::schema::naming::NODE_FIELDS.contains(&name)
        && names::is_graphql_name(name)
}

/// Lists have no sum and no greatest.
pub(crate) const fn is_aggregated(kind: Kind) -> bool {
    matches!(kind, Kind::Boolean | Kind::Integer | Kind::Double | Kind::String)
}

fn by_name(fields: Vec<Node<FieldDefinition>>) -> IndexMap<Name, Component<FieldDefinition>> {
    fields.into_iter().map(|field| (field.name.clone(), Component::from(field))).collect()
}

/// The field of a property in an input.
fn input_of(property: &PropertyModel, ty: Type) -> Node<InputValueDefinition> {
    input(&valid(&property.field), ty)
}
