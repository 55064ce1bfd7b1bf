//! What is served of a graph's types, and under which GraphQL names.
//!
//! A type keeps its own name where GraphQL can take it and nothing else has it; the list field is the plural in
//! snake_case, as for tables. What is the same for all types begins with `Graph`, and what a node has that is no property
//! with `_`, so that ordinary names stay free.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use prony_graph_store::{Kind, Schema, Side};

use crate::schema::naming::{Names, NamingNotes, PropertyFields, change_field};
use prony_source::ReservedNames;

/// Which of the types of its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeId(pub u16);

/// The served types. Names of root fields and of types are unique in it.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub nodes: SideModel,
    pub relationships: SideModel,
    /// For the log: names that GraphQL cannot take, and those that collided in the graph.
    pub notes: Vec<String>,
    /// Types that have given way to names of other sources.
    pub collisions: Vec<String>,
}

/// All types of nodes, or of relationships.
#[derive(Debug, Default)]
pub(crate) struct SideModel {
    pub types: Vec<TypeModel>,
    /// Properties that can be asked for of nodes whatever their type: each that all types which have it declare alike.
    pub common: Vec<PropertyModel>,
    by_name: HashMap<Arc<str>, TypeId>,
}

/// A type of nodes or of relationships.
#[derive(Debug)]
pub(crate) struct TypeModel {
    /// The name in the store.
    pub name: Arc<str>,
    /// The number that it had in the store.
    number: u16,
    /// The object type; other type names are derived from it.
    pub type_name: Box<str>,
    /// `users`; `likes_relationships`.
    pub list_name: Box<str>,
    /// The root field of one node; empty for relationships.
    pub single_name: Box<str>,
    /// Behind `create`, `update`, `replace` and `delete`.
    pub mutation_stem: Box<str>,
    /// Sorted by name.
    pub properties: Vec<PropertyModel>,
    /// Fields that the configuration joins to it: their names are theirs.
    pub joined: Vec<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PropertyModel {
    /// The name in the store.
    pub name: Arc<str>,
    /// The GraphQL field: the same for all types of its side that have the property, but where a field of that name is joined to one.
    pub field: Box<str>,
    pub kind: Kind,
}

impl Model {
    /// Of what is declared now, beside what other sources have.
    pub(crate) fn new(schema: &Schema, taken: &ReservedNames) -> Self {
        let mut names = Names::beside(taken);
        let mut naming = NamingNotes::default();
        let of_nodes = SideModel::new(schema, Side::Nodes, &mut names, &mut naming);
        let relationships = SideModel::new(schema, Side::Relationships, &mut names, &mut naming);
        let NamingNotes { notes, collisions } = naming;
        Self { nodes: of_nodes, relationships, notes, collisions }
    }

    pub(crate) fn side(&self, side: Side) -> &SideModel {
        match side {
            Side::Nodes => &self.nodes,
            Side::Relationships => &self.relationships,
        }
    }

    /// The type that permissions name: by its name in GraphQL or, where none has it, by that in the store, where one type alone
    /// is called so.
    pub(crate) fn named(&self, name: &str) -> Option<(Side, TypeId)> {
        const SIDES: [Side; 2] = [Side::Nodes, Side::Relationships];
        let served = SIDES.into_iter().find_map(|side| Some((side, self.side(side).by_type_name(name)?)));
        let stored = || {
            let found = SIDES.map(|side| self.side(side).by_name(name));
            match found {
                [Some(of), None] => Some((Side::Nodes, of)),
                [None, Some(of)] => Some((Side::Relationships, of)),
                _ => None,
            }
        };
        served.or_else(stored)
    }

    /// Whether it was made of the same types and properties.
    pub(crate) fn is_of(&self, schema: &Schema) -> bool {
        [Side::Nodes, Side::Relationships].into_iter().all(|side| {
            let types = &self.side(side).types;
            let declared = schema.side(side);
            declared.all().count() == types.len()
                && declared.all().zip(types).all(|((number, of), known)| {
                    let same = |((name, property), known): ((&Arc<str>, _), &PropertyModel)| {
                        let property: &prony_graph_store::Property = property;
                        *name == known.name && property.kind == known.kind
                    };
                    number == known.number
                        && of.name == known.name
                        && of.properties.len() == known.properties.len()
                        && of.properties.iter().zip(&known.properties).all(same)
                })
        })
    }
}

impl SideModel {
    fn new(schema: &Schema, side: Side, names: &mut Names<'_>, naming: &mut NamingNotes) -> Self {
        let declared: Vec<_> = schema.side(side).all().collect();
        let own_names =
            names.name_types(side, &declared.iter().map(|(_, of)| &*of.name).collect::<Vec<_>>(), naming);
        let properties = declared.iter().flat_map(|(_, of)| of.properties.keys());
        let mut fields = PropertyFields::new(side, properties, &mut naming.notes);
        let mut types = Vec::with_capacity(declared.len());
        let mut by_name = HashMap::with_capacity(declared.len());
        for ((number, of), own) in declared.into_iter().zip(own_names) {
            by_name.insert(Arc::clone(&of.name), TypeId(types.len() as u16));
            let joined = names.joined_to(&own.type_name);
            let property = |(name, property): (&Arc<str>, &prony_graph_store::Property)| PropertyModel {
                name: Arc::clone(name),
                field: fields.beside(&joined, name),
                kind: property.kind,
            };
            let properties: Vec<_> = of.properties.iter().map(property).collect();
            naming.collisions.extend(given_way(&own.type_name, &properties, &fields));
            types.push(TypeModel {
                name: Arc::clone(&of.name),
                number,
                type_name: own.type_name,
                list_name: own.list_name,
                single_name: own.single_name,
                mutation_stem: own.mutation_stem,
                properties,
                joined: joined.into_iter().map(Box::from).collect(),
            });
        }
        let common = common(side, &types, &fields, &mut naming.notes);
        Self { types, common, by_name }
    }

    pub(crate) fn get(&self, id: TypeId) -> &TypeModel {
        &self.types[usize::from(id.0)]
    }

    /// With their ids, in order of creation.
    pub(crate) fn all(&self) -> impl Iterator<Item = (TypeId, &TypeModel)> {
        self.types.iter().enumerate().map(|(index, of)| (TypeId(index as u16), of))
    }

    /// The type that the store knows under a number and name; none where it was declared later than the model was made.
    pub(crate) fn find(&self, number: u16, name: &Arc<str>) -> Option<TypeId> {
        // Numbers begin at 1, and are those of the model where no type was ever dropped.
        let guess = usize::from(number).wrapping_sub(1);
        match self.types.get(guess) {
            Some(of) if Arc::ptr_eq(&of.name, name) => Some(TypeId(guess as u16)),
            _ => self.by_name.get(name).copied(),
        }
    }

    /// By its name in the store.
    pub(crate) fn by_name(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn by_type_name(&self, type_name: &str) -> Option<TypeId> {
        self.all().find(|(_, of)| *of.type_name == *type_name).map(|(id, _)| id)
    }
}

impl TypeModel {
    /// The root field of subscriptions to its changes.
    pub(crate) fn change_field(&self) -> String {
        change_field(&self.mutation_stem)
    }

    /// Whether it has a property of this name in the store.
    pub(crate) fn has(&self, property: &str) -> bool {
        self.properties.iter().any(|known| *known.name == *property)
    }

    pub(crate) fn property(&self, field: &str) -> Option<&PropertyModel> {
        self.properties.iter().find(|property| *property.field == *field)
    }
}

/// For people: which properties of a type have given way to fields that are joined to it.
fn given_way(
    type_name: &str,
    properties: &[PropertyModel],
    fields: &PropertyFields,
) -> impl Iterator<Item = String> {
    let moved = properties.iter().filter_map(|property| Some((property, fields.get(&property.name)?)));
    moved.filter(|(property, usual)| *property.field != **usual).map(move |(property, usual)| {
        format!(
            "property `{}` of `{type_name}` is served as `{}`, because `{usual}` is joined to the type",
            property.name, property.field
        )
    })
}

/// The properties that every type which declares them declares alike; a double takes integers in.
fn common(
    side: Side,
    types: &[TypeModel],
    fields: &PropertyFields,
    notes: &mut Vec<String>,
) -> Vec<PropertyModel> {
    let mut found: BTreeMap<&Arc<str>, Option<PropertyModel>> = BTreeMap::new();
    for property in types.iter().flat_map(|of| &of.properties) {
        let known = found.entry(&property.name).or_insert_with(|| {
            let field = fields.get(&property.name).unwrap_or(&property.field);
            Some(PropertyModel { field: field.into(), ..property.clone() })
        });
        let kind = known.as_ref().and_then(|known| both(known.kind, property.kind));
        match (known.as_mut(), kind) {
            (Some(known), Some(kind)) => known.kind = kind,
            _ => *known = None,
        }
    }
    for (name, _) in found.iter().filter(|(_, property)| property.is_none()) {
        let what = if side == Side::Nodes { "nodes" } else { "relationships" };
        notes.push(format!(
            "types of {what} declare property `{name}` differently: it can be asked for and filtered by in each type, \
             not in Graph{}Clauses",
            if side == Side::Nodes { "Node" } else { "Relationship" },
        ));
    }
    found.into_values().flatten().collect()
}

/// The kind of values of either kind.
fn both(a: Kind, b: Kind) -> Option<Kind> {
    match (a, b) {
        (Kind::Integer, Kind::Double) | (Kind::Double, Kind::Integer) => Some(Kind::Double),
        (Kind::IntegerList, Kind::DoubleList) | (Kind::DoubleList, Kind::IntegerList) => {
            Some(Kind::DoubleList)
        }
        (a, b) => (a == b).then_some(a),
    }
}
