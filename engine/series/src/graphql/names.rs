//! Names of types, root fields and attributes, and what becomes of those that GraphQL cannot take or that are taken. The same types
//! always get the same names.

use std::collections::HashSet;

use prony_series_store::{AttributeId, Kind, Table};
use prony_source::{
    ReservedNames,
    dialect::{
        filter_names,
        names::{self, NextNumbers, capitalised, first_free},
        scalar_names,
    },
};

use crate::hidden;

/// Types of one entity type are its own name with these behind it.
const TYPE_SUFFIXES: [&str; 2] = ["", "Row"];

/// Types of GraphQL, and those that belong to all series.
const RESERVED_TYPES: [&str; 20] = [
    "Boolean",
    "ChangeOperation",
    "Float",
    "ID",
    "Int",
    "Mutation",
    "Query",
    "Result",
    "SeriesAttribute",
    "SeriesBigIntPoint",
    "SeriesBooleanPoint",
    "SeriesFloatPoint",
    "SeriesJSONPoint",
    "SeriesPeriod",
    "SeriesStringPoint",
    "SeriesSummary",
    "SeriesTimeSummary",
    "SeriesType",
    "SeriesWhere",
    "SortOperator",
];

/// Further types of GraphQL.
const RESERVED_BUILT_IN: [&str; 2] = ["String", "Subscription"];

/// Root fields for all types.
const RESERVED_ROOTS: [&str; 1] = ["seriesTypes"];

/// Fields of entities and of rows that are no attributes.
const OWN_FIELDS: [&str; 7] = ["firstTime", "id", "lastTime", "rows", "servicePath", "time", "type"];

/// An attribute of an entity type, with its fields.
#[derive(Debug, Clone)]
pub(super) struct ServedAttribute {
    pub(super) id: AttributeId,
    /// As it was first notified.
    pub(super) name: Box<str>,
    pub(super) kind: Kind,
    pub(super) field: Box<str>,
    /// Whether its values can be read; its summaries may be all that can.
    pub(super) is_readable: bool,
    /// The field of its summaries, where it has any.
    pub(super) aggregate: Option<Box<str>>,
    /// Where its metadata are, if there are any.
    pub(super) metadata: Option<AttributeId>,
}

/// Names in use.
#[derive(Debug)]
pub(super) struct Names<'t> {
    types: HashSet<String>,
    root_fields: HashSet<String>,
    next_types: NextNumbers,
    next_fields: NextNumbers,
    /// Of other sources, which keep theirs: a type is made by whoever may notify.
    pub(super) taken: &'t ReservedNames,
    /// Whether a name was refused because another source has it.
    has_given_way: bool,
}

/// The names of one entity type.
#[derive(Debug)]
pub(super) struct TypeNames {
    pub(super) type_name: String,
    pub(super) list_name: String,
    pub(super) single_name: String,
    pub(super) event_name: String,
    pub(super) has_given_way: bool,
}

/// What an entity type is called before collisions: types of other tenants than the default one begin with the tenant's name.
pub(super) fn wanted_name(tenant: &str, name: &str) -> String {
    if tenant.is_empty() { name.to_owned() } else { format!("{tenant}_{name}") }
}

impl<'t> Names<'t> {
    pub(super) fn beside(taken: &'t ReservedNames) -> Self {
        Self {
            types: HashSet::new(),
            root_fields: HashSet::new(),
            next_types: NextNumbers::new(),
            next_fields: NextNumbers::new(),
            taken,
            has_given_way: false,
        }
    }

    /// The names of a type that is wanted to be called so.
    pub(super) fn name_type(&mut self, wanted: &str) -> TypeNames {
        self.has_given_way = false;
        let wanted = names::graphql_name(wanted);
        let mut next = std::mem::take(&mut self.next_types);
        let others = [format!("{wanted}Entity")];
        let type_name = first_free(&wanted, &others, &mut next, |name| self.claim_type(name));
        self.next_types = next;
        let single = names::singular_snake(&type_name);
        TypeNames {
            list_name: self.claim_field(&names::list_name(&type_name), &[]),
            single_name: self.claim_field(&single, &[format!("{single}_by_id")]),
            event_name: self.claim_field(&format!("on{}Row", capitalised(&type_name)), &[]),
            has_given_way: self.has_given_way,
            type_name,
        }
    }

    fn claim_type(&mut self, name: &str) -> bool {
        let derived = type_names(name);
        let is_reserved = |name: &str| {
            RESERVED_TYPES.contains(&name)
                || RESERVED_BUILT_IN.contains(&name)
                || filter_names().chain(scalar_names()).any(|shared| *shared == *name)
        };
        if derived.iter().any(|name| self.types.contains(name) || is_reserved(name))
            || self.gives_way(derived.iter().any(|name| self.taken.has_type(name)))
        {
            return false;
        }
        self.types.extend(derived);
        true
    }

    fn claim_field(&mut self, wanted: &str, others: &[String]) -> String {
        let mut next = std::mem::take(&mut self.next_fields);
        let field = first_free(wanted, others, &mut next, |name| {
            let is_free = !RESERVED_ROOTS.contains(&name) && !self.root_fields.contains(name);
            let is_claimed = is_free && !self.gives_way(self.taken.has_field(name));
            is_claimed && self.root_fields.insert(name.to_owned())
        });
        self.next_fields = next;
        field
    }

    fn gives_way(&mut self, is_taken: bool) -> bool {
        self.has_given_way |= is_taken;
        is_taken
    }
}

/// All types of an entity type.
fn type_names(name: &str) -> [String; TYPE_SUFFIXES.len()] {
    TYPE_SUFFIXES.map(|suffix| format!("{name}{suffix}"))
}

/// The fields of so many attributes of a type that is served under these names, in the order in which they came. Names that GraphQL can
/// take come first, so that none of them is lost to one that was made up. What is joined to the type keeps its names.
pub(super) fn attributes(
    table: &Table,
    count: usize,
    type_name: &str,
    reserved: &ReservedNames,
) -> Vec<ServedAttribute> {
    let all: Vec<(AttributeId, &str, Kind)> =
        hidden::visible(table).take(count).map(|(id, of)| (id, &*of.name, of.kind)).collect();
    let mut taken: HashSet<String> = OWN_FIELDS.iter().map(|&name| name.to_owned()).collect();
    for name in type_names(type_name) {
        taken.extend(reserved.fields_of(&name).map(str::to_owned));
    }
    let mut next = NextNumbers::new();
    let mut claim = |wanted: &str, others: &[String]| -> Box<str> {
        first_free(wanted, others, &mut next, |name| taken.insert(name.to_owned())).into()
    };
    let mut fields: Vec<Option<Box<str>>> = all.iter().map(|_| None).collect();
    for wants_valid in [true, false] {
        for (place, (_, name, _)) in all.iter().enumerate() {
            if names::is_graphql_name(name) == wants_valid {
                let wanted = names::graphql_name(name);
                let other = format!("{}_attribute", wanted.trim_start_matches('_'));
                fields[place] = Some(claim(&wanted, &[other]));
            }
        }
    }
    let served = all.into_iter().zip(fields.into_iter().flatten());
    served
        .map(|((id, name, kind), field)| ServedAttribute {
            id,
            name: name.into(),
            kind,
            is_readable: true,
            metadata: hidden::metadata_of(table, name),
            aggregate: can_summarize(kind).then(|| claim(&aggregate_name(&field), &[])),
            field,
        })
        .collect()
}

/// `_` with `_aggregate` behind it would begin with `__`, which GraphQL reserves.
fn aggregate_name(field: &str) -> String {
    if field == "_" { "_aggregate".to_owned() } else { format!("{field}_aggregate") }
}

/// Whether values of a kind have a least and a greatest.
pub(super) const fn can_summarize(kind: Kind) -> bool {
    matches!(kind, Kind::Double | Kind::Integer | Kind::Time)
}
