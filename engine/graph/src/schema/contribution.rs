//! The GraphQL types and root fields of a model: for each type its object, filter, order, aggregates and mutations, and
//! for all types together the interfaces `GraphNode` and `GraphRelationship`. Which names there are is the model's business.

mod changes;
mod descriptions;
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
    build::{
        Pool, described_field, enumeration, field_with_arguments, list, named, non_null, non_null_list,
        object,
    },
};

use crate::{
    planning::{
        restrict::Restrictions,
        rights::{Grant, PropertyUse},
    },
    schema::{
        contribution::descriptions::{
            of_given_property, of_list, of_neighbours, of_one, of_property, of_side,
        },
        grants::Grants,
        model::{Model, TypeId, TypeModel},
    },
};
use prony_source::dialect::{
    AGGREGATE, aggregate_members, filter_argument, names, page_arguments, sort_argument,
};

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
        own_fields: Vec::new(),
        typed_neighbours: Vec::new(),
        kinds: Vec::new(),
        has_node_key: false,
    };
    for side in [Side::Nodes, Side::Relationships] {
        writer.begin(side);
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
    /// Fields that each type of the side at hand has: they are the same for all.
    own_fields: Vec<Node<FieldDefinition>>,
    /// Lists and aggregates of neighbours of one type, which nodes of all types have.
    typed_neighbours: Vec<Node<FieldDefinition>>,
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

impl Writer<'_> {
    /// Makes what all types of a side have.
    fn begin(&mut self, side: Side) {
        self.own_fields = self.own_fields(side);
        self.typed_neighbours = match side {
            Side::Nodes => self.typed_neighbours(),
            Side::Relationships => Vec::new(),
        };
    }

    /// A field without arguments.
    fn member(&mut self, name: &Name, ty: Type, text: &str) -> Node<FieldDefinition> {
        self.field(name, Vec::new(), ty, text)
    }

    fn field(
        &mut self,
        name: &Name,
        arguments: Vec<Node<InputValueDefinition>>,
        ty: Type,
        text: &str,
    ) -> Node<FieldDefinition> {
        described_field(field_with_arguments(name, arguments, ty), self.pool.description(text))
    }

    fn interface(&mut self, side: Side) {
        let name = match side {
            Side::Nodes => NODE,
            Side::Relationships => RELATIONSHIP,
        };
        let definition = InterfaceType {
            description: Some(self.pool.description(of_side(side).any)),
            name: name.clone(),
            implements_interfaces: IndexSet::default(),
            directives: DirectiveList::default(),
            fields: by_name(self.own_fields.clone()),
        };
        self.contribution.types.push((name, ExtendedType::Interface(Node::new(definition))));
    }

    /// What each node or relationship has.
    fn own_fields(&mut self, side: Side) -> Vec<Node<FieldDefinition>> {
        let (big_int, string) = (non_null(&name!("BigInt")), non_null(&name!("String")));
        let id = self.member(&name!("_id"), big_int, of_side(side).id);
        let type_name = self.member(&name!("_type"), string.clone(), descriptions::TYPE);
        match side {
            Side::Nodes => {
                let key = self.member(&name!("_key"), string, descriptions::KEY);
                let around = self.around();
                let neighbors = [around.clone(), self.list_arguments(&NODE, "relationship")].concat();
                let relationships = [around.clone(), self.list_arguments(&RELATIONSHIP, "node")].concat();
                let (nodes, all) = (non_null_list(&NODE), non_null_list(&RELATIONSHIP));
                let neighbors = self.field(&name!("neighbors"), neighbors, nodes, descriptions::NEIGHBORS);
                let text = descriptions::RELATIONSHIPS_OF_NODE;
                let relationships = self.field(&name!("relationships"), relationships, all, text);
                let mut fields = vec![id, type_name, key, neighbors, relationships];
                if self.grants.can_count_relationships() {
                    let count = non_null(&name!("Int"));
                    fields.push(self.field(&name!("degree"), around, count, descriptions::DEGREE));
                }
                fields
            }
            Side::Relationships => {
                let ends = [
                    (name!("from"), descriptions::FROM),
                    (name!("to"), descriptions::TO),
                    (name!("node"), descriptions::OTHER_END),
                ];
                let ends = ends.map(|(name, text)| self.member(&name, named(&NODE), text));
                [id, type_name].into_iter().chain(ends).collect()
            }
        }
    }

    /// Which relationships of a node are meant.
    fn around(&mut self) -> Vec<Node<InputValueDefinition>> {
        let pool = &mut self.pool;
        let direction = named(&name!("GraphDirection"));
        let mut arguments =
            vec![pool.described_input(&name!("direction"), direction, descriptions::DIRECTION)];
        if self.grants.selected(Side::Relationships).next().is_some() {
            let types = list(&name!("GraphRelationshipType"));
            arguments.push(pool.described_input(&name!("types"), types, descriptions::TYPES));
        }
        arguments
    }

    /// `where`, `sort`, `limit` and `offset` of a list of the type; `other` filters by what is at the other side.
    fn list_arguments(&mut self, of: &Name, other: &str) -> Vec<Node<InputValueDefinition>> {
        let pool = &mut self.pool;
        let mut arguments = vec![filter_argument(pool, &valid(&format!("{of}Clauses")))];
        let filter = match other {
            "node" => Some((name!("node"), name!("GraphNodeClauses"), descriptions::BY_NODE)),
            "relationship" => {
                let filter = name!("GraphRelationshipClauses");
                Some((name!("relationship"), filter, descriptions::BY_RELATIONSHIP))
            }
            _ => None,
        };
        arguments
            .extend(filter.map(|(name, filter, text)| pool.described_input(&name, named(&filter), text)));
        arguments.push(sort_argument(pool, &valid(&format!("{of}Sort"))));
        arguments.extend(page_arguments(pool));
        arguments
    }

    fn object(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let mut fields = self.own_fields.clone();
        let grants = self.grants;
        for property in grants.properties(side, id, PropertyUse::Read) {
            self.see(property.kind);
            let (name, ty) = (valid(&property.field), value_type(property.kind));
            fields.push(self.pool.described_field(&name, ty, &of_property(property)));
        }
        // A property of the same name hides one of them, and so does what is joined.
        fields.extend(self.typed_neighbours.iter().filter(|field| is_free(of, &field.name)).cloned());
        let interface = match side {
            Side::Nodes => NODE,
            Side::Relationships => RELATIONSHIP,
        };
        let definition = ObjectType {
            description: Some(of_one(side, of).into()),
            name: valid(&of.type_name),
            implements_interfaces: [ComponentName::from(interface)].into_iter().collect(),
            directives: DirectiveList::default(),
            fields: by_name(fields),
        };
        self.contribution.types.push((definition.name.clone(), ExtendedType::Object(Node::new(definition))));
    }

    /// Lists and aggregates of neighbours of one type, under the name of the type's list.
    fn typed_neighbours(&mut self) -> Vec<Node<FieldDefinition>> {
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
            let (name, ty) = (valid(&target.list_name), non_null_list(&row));
            fields.push(self.field(&name, arguments, ty, &of_neighbours(target)));
            if grants.can(Side::Nodes, id, Grant::Aggregate) {
                let name = valid(&format!("{}_aggregate", target.list_name));
                let output = non_null(&derived(target, "Aggregate"));
                fields.push(self.field(&name, aggregated, output, AGGREGATE));
            }
        }
        fields
    }

    fn aggregate(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let grants = self.grants;
        let mut fields = Vec::new();
        if side == Side::Nodes {
            let ty = named(&name!("String"));
            fields.push(self.pool.described_field(&name!("_key"), ty, descriptions::KEYS));
        }
        let aggregated = grants.properties(side, id, PropertyUse::Aggregate);
        for property in aggregated.filter(|property| is_aggregated(property.kind)) {
            // A sum of integers may have more than 64 bits, and their average is none.
            let output = match property.kind {
                Kind::Integer => name!("Float"),
                kind => scalar_name(kind),
            };
            let (name, text) = (valid(&property.field), of_given_property(property));
            fields.push(self.pool.described_field(&name, named(&output), &text));
        }
        let values = derived(of, "Fields");
        let members = aggregate_members(&mut self.pool, (!fields.is_empty()).then_some(&values));
        if !fields.is_empty() {
            let text = self.pool.description(descriptions::VALUES);
            self.contribution.summaries.push(values.clone());
            self.contribution.types.push(object(&values, Some(text), fields));
        }
        let name = derived(of, "Aggregate");
        let text = self.pool.description(AGGREGATE);
        self.contribution.types.push(object(&name, Some(text), members));
        self.contribution.summaries.push(name);
    }

    fn queries(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let row = valid(&of.type_name);
        let arguments = self.list_arguments(&row, "");
        let aggregated = vec![arguments[0].clone()];
        let list = field_with_arguments(&valid(&of.list_name), arguments, non_null_list(&row));
        self.contribution.query.push(described_field(list, of_list(side, of)));
        if self.grants.can(side, id, Grant::Aggregate) {
            let name = valid(&format!("{}_aggregate", of.list_name));
            let output = non_null(&derived(of, "Aggregate"));
            let aggregate = self.field(&name, aggregated, output, AGGREGATE);
            self.contribution.query.push(aggregate);
        }
        if side == Side::Nodes {
            let (key, id) = (named(&name!("String")), named(&name!("BigInt")));
            let arguments = vec![
                self.pool.described_input(&name!("_key"), key, descriptions::GIVEN_KEY),
                self.pool.described_input(&name!("_id"), id, of_side(side).given_id),
            ];
            let one = self.field(&valid(&of.single_name), arguments, named(&row), descriptions::ONE);
            self.contribution.query.push(one);
        }
    }

    fn roots_of_all(&mut self) {
        let roots = [
            (Side::Nodes, name!("graph_node"), name!("graph_nodes"), NODE),
            (Side::Relationships, name!("graph_relationship"), name!("graph_relationships"), RELATIONSHIP),
        ];
        for (side, one, all, of) in roots {
            let texts = of_side(side);
            let id = self.pool.described_input(&name!("_id"), non_null(&name!("BigInt")), texts.given_id);
            let one = self.field(&one, vec![id], named(&of), texts.any_by_id);
            let arguments = self.list_arguments(&of, "");
            let all = self.field(&all, arguments, non_null_list(&of), texts.of_all_types);
            self.contribution.query.extend([one, all]);
        }
    }

    /// Types that belong to no type of the graph.
    fn shared(&mut self) {
        let directions = [name!("all"), name!("in"), name!("out")];
        let text = self.pool.description(descriptions::DIRECTIONS);
        self.contribution.types.push(enumeration(&name!("GraphDirection"), Some(text), directions));
        let names: Vec<Name> =
            self.grants.selected(Side::Relationships).map(|(_, of)| valid(&of.type_name)).collect();
        if !names.is_empty() {
            let text = self.pool.description(descriptions::RELATIONSHIP_TYPES);
            self.contribution.types.push(enumeration(&name!("GraphRelationshipType"), Some(text), names));
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
