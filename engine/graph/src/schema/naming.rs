//! Names of types, root fields and properties, and what becomes of those that GraphQL cannot take or that are taken. The
//! same declarations always get the same names.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use prony_graph_store::Side;

use prony_source::{
    ReservedNames,
    dialect::names::{self, NextNumbers, capitalised, first_free},
};

/// Types of one type of nodes or relationships are its own name with these behind it.
const TYPE_SUFFIXES: &[&str] = &["", "Clauses", "Sort", "Aggregate", "Fields", "PkColumns", "Change"];

/// Types of GraphQL, those that graphs share with tables, those that belong to all types of a graph, and what no value of an
/// enum may be.
const RESERVED_TYPES: &[&str] = &[
    "BigInt",
    "BigIntWhere",
    "BoolWhere",
    "Boolean",
    "ChangeOperation",
    "Float",
    "FloatWhere",
    "GraphBoolListWhere",
    "GraphBigIntListWhere",
    "GraphDirection",
    "GraphFloatListWhere",
    "GraphNode",
    "GraphNodeClauses",
    "GraphNodeKey",
    "GraphNodeSort",
    "GraphRelationship",
    "GraphRelationshipClauses",
    "GraphRelationshipSort",
    "GraphRelationshipType",
    "GraphStrListWhere",
    "GraphStrWhere",
    "ID",
    "Int",
    "Mutation",
    "Query",
    "Result",
    "SortOperator",
    "String",
    "Subscription",
    "false",
    "null",
    "true",
];

/// Root fields for all types.
const RESERVED_ROOTS: &[&str] = &["graph_node", "graph_nodes", "graph_relationship", "graph_relationships"];

/// Fields of nodes that are no properties.
pub(crate) const NODE_FIELDS: &[&str] = &["_id", "_key", "_type", "degree", "neighbors", "relationships"];
/// Fields of relationships that are no properties.
pub(crate) const RELATIONSHIP_FIELDS: &[&str] = &["_id", "_type", "from", "node", "to"];
/// Keys of filters that are no properties, and arguments of mutations.
const CLAUSE_KEYS: &[&str] = &["and", "not", "or", "pk_columns"];

/// What mutations of a type begin with.
const VERBS: &[&str] = &["create", "update", "replace", "delete"];

/// Where a name must be the only one of its form.
#[derive(Debug, Clone, Copy)]
enum Namespace {
    /// Object types, with all that is derived from them.
    Types,
    /// What follows the verbs of mutations.
    Stems,
    /// Root fields that have an aggregate beside them.
    Lists,
    /// Other root fields.
    Fields,
}

/// Names in use.
#[derive(Debug)]
pub(crate) struct Names<'t> {
    types: HashSet<String>,
    root_fields: HashSet<String>,
    stems: HashSet<String>,
    /// By [`Namespace`].
    next_numbers: [NextNumbers; 4],
    /// Of other sources, which keep theirs: a type of a graph is made by whoever may write to it.
    taken: &'t ReservedNames,
    /// Whether a name was refused because another source has it.
    has_given_way: bool,
}

/// The names of one type.
#[derive(Debug)]
pub(crate) struct TypeNames {
    pub(crate) type_name: Box<str>,
    pub(crate) list_name: Box<str>,
    pub(crate) single_name: Box<str>,
    pub(crate) mutation_stem: Box<str>,
}

/// What people should know of names.
#[derive(Debug, Default)]
pub(crate) struct NamingNotes {
    pub(crate) notes: Vec<String>,
    pub(crate) collisions: Vec<String>,
}

impl<'t> Names<'t> {
    pub(crate) fn beside(taken: &'t ReservedNames) -> Self {
        Self {
            types: HashSet::new(),
            root_fields: HashSet::new(),
            stems: HashSet::new(),
            next_numbers: Default::default(),
            taken,
            has_given_way: false,
        }
    }

    /// Names that GraphQL can take come first, so that none of them is lost to one that was made up.
    pub(crate) fn name_types(
        &mut self,
        side: Side,
        declared: &[&str],
        naming: &mut NamingNotes,
    ) -> Vec<TypeNames> {
        let mut found: Vec<Option<TypeNames>> = declared.iter().map(|_| None).collect();
        for wants_valid in [true, false] {
            for (place, &name) in declared.iter().enumerate() {
                if names::is_graphql_name(name) == wants_valid {
                    found[place] = Some(self.name_type(side, name, naming));
                }
            }
        }
        found.into_iter().flatten().collect()
    }

    fn name_type(&mut self, side: Side, name: &str, naming: &mut NamingNotes) -> TypeNames {
        self.has_given_way = false;
        let wanted = names::graphql_name(name);
        let what = if side == Side::Nodes { "Node" } else { "Relationship" };
        let type_name = self.first_free(Namespace::Types, &wanted, &[format!("{wanted}{what}")]);
        let stem = capitalised(&type_name);
        let mutation_stem = self.first_free(Namespace::Stems, &stem, std::slice::from_ref(&type_name));
        let (list_name, single_name) = match side {
            Side::Nodes => self.claim_fields(&type_name),
            Side::Relationships => (self.claim_relationships(&type_name), String::new()),
        };
        let side = if side == Side::Nodes { "nodes" } else { "relationships" };
        if self.has_given_way {
            naming.collisions.push(format!(
                "type `{name}` of {side} is served as `{type_name}`, its list as `{list_name}`, its mutations as \
                 `create{mutation_stem}` and so on, because another source has its names"
            ));
        } else if type_name != name {
            naming.notes.push(format!("type `{name}` of {side} is served as `{type_name}`"));
        }
        TypeNames {
            type_name: type_name.into(),
            list_name: list_name.into(),
            single_name: single_name.into(),
            mutation_stem: mutation_stem.into(),
        }
    }

    fn first_free(&mut self, namespace: Namespace, wanted: &str, others: &[String]) -> String {
        let mut next = std::mem::take(&mut self.next_numbers[namespace as usize]);
        let found = first_free(wanted, others, &mut next, |name| self.claim(namespace, name));
        self.next_numbers[namespace as usize] = next;
        found
    }

    fn claim(&mut self, namespace: Namespace, name: &str) -> bool {
        match namespace {
            Namespace::Types => self.claim_type(name),
            Namespace::Stems => self.claim_stem(name),
            Namespace::Lists => self.claim_list(name),
            Namespace::Fields => self.claim_root(&[name.to_owned()]),
        }
    }

    fn claim_type(&mut self, name: &str) -> bool {
        let derived: Vec<String> = TYPE_SUFFIXES.iter().map(|suffix| format!("{name}{suffix}")).collect();
        let is_taken = |name: &String| self.types.contains(name) || RESERVED_TYPES.contains(&name.as_str());
        if derived.iter().any(is_taken)
            || self.gives_way(derived.iter().any(|name| self.taken.has_type(name)))
        {
            return false;
        }
        self.types.extend(derived);
        true
    }

    fn claim_stem(&mut self, stem: &str) -> bool {
        let is_taken = VERBS.iter().any(|verb| self.taken.has_field(&format!("{verb}{stem}")))
            || self.taken.has_field(&change_field(stem));
        !self.gives_way(is_taken) && self.stems.insert(stem.to_owned())
    }

    fn gives_way(&mut self, is_taken: bool) -> bool {
        self.has_given_way |= is_taken;
        is_taken
    }

    /// What the configuration joins to a type, or to those that are derived from it.
    pub(crate) fn joined_to(&self, type_name: &str) -> Vec<&'t str> {
        let derived = TYPE_SUFFIXES.iter().map(|suffix| format!("{type_name}{suffix}"));
        derived.flat_map(|name| self.taken.fields_of(&name).collect::<Vec<_>>()).collect()
    }

    /// The list field and the field of one node.
    fn claim_fields(&mut self, type_name: &str) -> (String, String) {
        let list = self.first_free(Namespace::Lists, &names::list_name(type_name), &[]);
        let single = names::singular_snake(type_name);
        let others = [format!("{single}_by_key")];
        let single = self.first_free(Namespace::Fields, &single, &others);
        (list, single)
    }

    fn claim_relationships(&mut self, type_name: &str) -> String {
        let wanted = format!("{}_relationships", names::snake_case(type_name).trim_end_matches('_'));
        self.first_free(Namespace::Lists, &wanted, &[])
    }

    fn claim_list(&mut self, name: &str) -> bool {
        names::is_list_name(name) && self.claim_root(&[name.to_owned(), format!("{name}_aggregate")])
    }

    fn claim_root(&mut self, names: &[String]) -> bool {
        let is_free = |name: &String| {
            names::is_graphql_name(name)
                && !RESERVED_ROOTS.contains(&name.as_str())
                && !self.root_fields.contains(name)
        };
        let are_free =
            names.iter().all(is_free) && !self.gives_way(names.iter().any(|name| self.taken.has_field(name)));
        if are_free {
            self.root_fields.extend(names.iter().cloned());
        }
        are_free
    }
}

/// The root field of subscriptions to the changes of a type.
pub(crate) fn change_field(mutation_stem: &str) -> String {
    format!("on{mutation_stem}Changed")
}

/// The GraphQL fields of the properties of a side: the same for all types that have the property, but for those to which the
/// configuration joins a field of that name.
#[derive(Debug)]
pub(crate) struct PropertyFields {
    fields: HashMap<Arc<str>, Box<str>>,
    /// Beside a joined field of the usual name.
    beside_joined: HashMap<Arc<str>, Box<str>>,
    taken: HashSet<String>,
    next: NextNumbers,
}

impl PropertyFields {
    pub(crate) fn new<'a>(
        side: Side,
        properties: impl Iterator<Item = &'a Arc<str>>,
        notes: &mut Vec<String>,
    ) -> Self {
        let own = if side == Side::Nodes { NODE_FIELDS } else { RELATIONSHIP_FIELDS };
        let mut sorted: Vec<&Arc<str>> = properties.collect();
        sorted.sort();
        sorted.dedup();
        let taken: HashSet<String> = own.iter().chain(CLAUSE_KEYS).map(|&name| name.to_owned()).collect();
        let fields = HashMap::with_capacity(sorted.len());
        let mut found = Self { fields, beside_joined: HashMap::new(), taken, next: NextNumbers::new() };
        for wants_valid in [true, false] {
            for &name in sorted.iter().filter(|name| names::is_graphql_name(name) == wants_valid) {
                let field = found.first_free(name, &[]);
                if *field != **name {
                    notes.push(format!("property `{name}` is served as `{field}`"));
                }
                found.fields.insert(Arc::clone(name), field);
            }
        }
        found
    }

    /// None where the side has no such property.
    pub(crate) fn get(&self, property: &str) -> Option<&str> {
        self.fields.get(property).map(|field| &**field)
    }

    /// That of a property in a type to which the configuration joins `joined`; these keep their names, whoever declares
    /// properties.
    pub(crate) fn beside(&mut self, joined: &[&str], property: &Arc<str>) -> Box<str> {
        let known = [&self.fields, &self.beside_joined].into_iter().filter_map(|fields| fields.get(property));
        if let Some(field) = known.into_iter().find(|field| !joined.contains(&&***field)) {
            return field.clone();
        }
        let field = self.first_free(property, joined);
        self.beside_joined.insert(Arc::clone(property), field.clone());
        field
    }

    fn first_free(&mut self, property: &str, joined: &[&str]) -> Box<str> {
        let Self { taken, next, .. } = self;
        let wanted = names::graphql_name(property);
        let others = [format!("{}_property", wanted.trim_start_matches('_'))];
        let claim = |name: &str| !joined.contains(&name) && taken.insert(name.to_owned());
        first_free(&wanted, &others, next, claim).into_boxed_str()
    }
}
