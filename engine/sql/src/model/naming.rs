//! Names of types and root fields: inflected table names, the user's overrides, and what becomes of names
//! that are already taken. The same catalog always gets the same names.

use prony_source::dialect::names;
use std::{borrow::Cow, collections::HashSet};

use crate::catalog::{Catalog, CatalogTable, TableKind};
use crate::model::{EnumType, Table, enums, faults::Faults, served::ServedTable};

/// Types of one table are its row type's name with these behind it.
pub(super) const TYPE_SUFFIXES: [&str; 7] =
    ["", "Clauses", "Sort", "Aggregate", "Fields", "Pks", "PkColumns"];

/// Types that belong to GraphQL or to all tables together.
const RESERVED_TYPES: &[&str] = &[
    "BigInt",
    "BigIntWhere",
    "BoolWhere",
    "Boolean",
    "Bytes",
    "BytesWhere",
    "ChangeOperation",
    "Decimal",
    "DecimalWhere",
    "Float",
    "FloatWhere",
    "ID",
    "Int",
    "IntWhere",
    "JSON",
    "ListWhere",
    "JsonWhere",
    "Mutation",
    "NullWhere",
    "Query",
    "Result",
    "SortOperator",
    "StrWhere",
    "String",
    "Subscription",
    "UUID",
    "UuidWhere",
];

/// `table `name`` or `view `schema.name``, for messages.
pub(super) fn described(table: &CatalogTable) -> String {
    let kind = match table.kind {
        TableKind::Table => "table",
        TableKind::View => "view",
    };
    match &table.schema {
        Some(schema) => format!("{kind} `{schema}.{}`", table.name),
        None => format!("{kind} `{}`", table.name),
    }
}

/// Gives every table its type and its list field, and every used enum its type (by the catalog's index).
/// Names that the user gave come first, then those of tables, of views, of enums.
pub(super) fn name_types(
    catalog: &Catalog,
    prefix: &str,
    served: &[ServedTable<'_>],
    tables: &mut [Table],
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Vec<Option<EnumType>> {
    let mut taken = Taken::new(tables.len(), prefix);
    for (table, served) in tables.iter_mut().zip(served) {
        taken.claim_given(table, served, faults);
    }
    for kind in [TableKind::Table, TableKind::View] {
        for (table, served) in tables.iter_mut().zip(served).filter(|(table, _)| table.kind == kind) {
            taken.claim_inflected(table, served, notes);
        }
    }
    let used = enums::used(catalog.enums.len(), tables);
    let named = catalog.enums.iter().zip(used).map(|(source, used)| {
        if !used {
            return None;
        }
        if !enums::has_graphql_labels(&source.labels) {
            notes
                .push(format!("enum `{}` has labels that are no GraphQL names: served as text", source.name));
            return None;
        }
        let name = taken.claim_enum(source.schema.as_deref(), &source.name);
        Some(EnumType { name, comment: source.comment.clone(), labels: source.labels.clone() })
    });
    named.collect()
}

/// Names that are in use.
struct Taken<'a> {
    /// Of those that are inflected.
    prefix: &'a str,
    types: HashSet<String>,
    root_fields: HashSet<String>,
}

impl<'a> Taken<'a> {
    fn new(tables: usize, prefix: &'a str) -> Self {
        let mut types = HashSet::with_capacity(tables * TYPE_SUFFIXES.len() + RESERVED_TYPES.len());
        types.extend(RESERVED_TYPES.iter().map(|&name| name.to_owned()));
        Self { prefix, types, root_fields: HashSet::with_capacity(tables * 2) }
    }

    fn prefixed<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.prefix.is_empty() { name.into() } else { format!("{}_{name}", self.prefix).into() }
    }

    fn claim_given(&mut self, table: &mut Table, served: &ServedTable<'_>, faults: &mut Faults) {
        let Some((key, settings)) = served.overrides else { return };
        if let Some(name) = &settings.type_name {
            let path = ["tables", key, "type_name"];
            if !names::is_graphql_name(name) {
                faults.add(&path, invalid_name(name));
            } else if !self.claim_type(name) {
                faults.add(&path, format!("the type name `{name}` is already in use"));
            }
            table.type_name = name.as_str().into();
        }
        if let Some(name) = &settings.list_name {
            let path = ["tables", key, "list_name"];
            if !names::is_list_name(name) {
                faults.add(&path, invalid_name(name));
            } else if !self.claim_list(name) {
                faults.add(&path, format!("the root field `{name}` is already in use"));
            }
            table.list_name = name.as_str().into();
        }
    }

    fn claim_inflected(&mut self, table: &mut Table, served: &ServedTable<'_>, notes: &mut Vec<String>) {
        let (schema, name) = (served.source.schema.as_deref(), &*self.prefixed(&served.source.name));
        if table.type_name.is_empty() {
            let wanted = names::type_name(name);
            let kind = match table.kind {
                TableKind::Table => "Table",
                TableKind::View => "View",
            };
            let others = || {
                let literal = names::pascal_case(&names::snake_case(name));
                let in_schema = schema.map(|schema| names::type_name(&format!("{schema}_{name}")));
                in_schema.into_iter().chain([literal, format!("{wanted}{kind}")])
            };
            table.type_name = first_free(&wanted, others, "", |name| self.claim_type(name));
            note_other_name(served, "type", &wanted, &table.type_name, notes);
        }
        if table.list_name.is_empty() {
            let wanted = names::list_name(name);
            let others = || {
                let in_schema = schema.map(|schema| names::list_name(&format!("{schema}_{name}")));
                in_schema.into_iter().chain([names::snake_case(name)])
            };
            table.list_name = first_free(&wanted, others, "_", |name| self.claim_list(name));
            note_other_name(served, "root field", &wanted, &table.list_name, notes);
        }
    }

    fn claim_enum(&mut self, schema: Option<&str>, name: &str) -> Box<str> {
        let name = &*self.prefixed(name);
        let wanted = names::pascal_case(&names::snake_case(name));
        let others = || {
            let in_schema =
                schema.map(|schema| names::pascal_case(&names::snake_case(&format!("{schema}_{name}"))));
            std::iter::once(format!("{wanted}Enum")).chain(in_schema)
        };
        first_free(&wanted, others, "", |name| self.claim_all(name, &["", "Where"]))
    }

    /// Takes the name and all that are derived from it, or none.
    fn claim_type(&mut self, name: &str) -> bool {
        self.claim_all(name, &TYPE_SUFFIXES)
    }

    fn claim_all(&mut self, name: &str, suffixes: &[&str]) -> bool {
        let derived = suffixes.iter().map(|suffix| format!("{name}{suffix}"));
        let derived: Vec<String> = derived.collect();
        if derived.iter().any(|name| self.types.contains(name)) {
            return false;
        }
        self.types.extend(derived);
        true
    }

    fn claim_list(&mut self, name: &str) -> bool {
        let aggregate = format!("{name}_aggregate");
        let in_use = self.root_fields.contains(name) || self.root_fields.contains(&aggregate);
        if in_use || !names::is_list_name(name) {
            return false;
        }
        self.root_fields.extend([name.to_owned(), aggregate]);
        true
    }
}

/// The first name that can be claimed: the wanted one, the others, the wanted one with a number from 2.
fn first_free<I: Iterator<Item = String>>(
    wanted: &str,
    others: impl FnOnce() -> I,
    before_number: &str,
    mut claim: impl FnMut(&str) -> bool,
) -> Box<str> {
    if claim(wanted) {
        return wanted.into();
    }
    let numbered = (2u32..).map(|number| format!("{wanted}{before_number}{number}"));
    others().chain(numbered).find(|name| claim(name)).expect("numbers do not run out").into()
}

pub(super) fn invalid_name(name: &str) -> String {
    format!(
        "`{name}` is no GraphQL name: letters, digits and `_`, no digit first, and not `__` first; \
         try `{}`",
        names::graphql_name(name)
    )
}

fn note_other_name(served: &ServedTable<'_>, what: &str, wanted: &str, got: &str, notes: &mut Vec<String>) {
    if wanted != got {
        notes.push(format!(
            "{} gets the {what} `{got}` because `{wanted}` is already in use",
            described(served.source)
        ));
    }
}
