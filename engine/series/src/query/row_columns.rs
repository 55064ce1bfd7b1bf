//! Which columns rows have beside id, type and time: attributes, with their metadata and what gave the time where that is asked for.

use std::collections::{HashMap, HashSet};

use prony_series_store::{AttributeId, Kind, small_letters};

use super::{
    cell::COLUMNS,
    entity::{AskedAttribute, TypeResult},
    parameters::ShownBeside,
};

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Value,
    Metadata,
    TimeAttribute,
}

/// A column of a type's rows.
#[derive(Debug, Clone)]
pub(super) struct RowColumn {
    pub(super) id: AttributeId,
    pub(super) kind: Kind,
    pub(super) role: Role,
    /// Whose value or metadata it has.
    pub(super) attribute: String,
    /// What it is called.
    pub(super) column: String,
    /// The attribute in small letters.
    small: String,
}

/// What columns of several types have in common that are one.
pub(super) type ColumnKey<'c> = (Role, &'c str);

/// The columns of each type. Those of attributes have their places; what is shown beside them has a name that no attribute has.
pub(super) fn tables(results: &[TypeResult], shown: ShownBeside) -> Vec<Vec<RowColumn>> {
    let attributes = || results.iter().flat_map(|of| &of.attributes).map(|of| &*of.name);
    let attribute_names: HashSet<String> = attributes().map(small_letters).collect();
    let column_of = |name: &str| column_of(name, &attribute_names);
    let names: HashSet<String> = attributes().map(|name| small_letters(&column_of(name))).collect();
    let free = |wanted: String| {
        let mut name = wanted;
        while names.contains(&small_letters(&name)) {
            name.push('_');
        }
        name
    };
    let of_type = |of: &TypeResult| {
        let mut columns = Vec::with_capacity(of.attributes.len());
        if let Some(id) = of.time_attribute {
            let column = free("timeAttribute".to_owned());
            columns.push(RowColumn::new(id, Kind::Text, Role::TimeAttribute, ("", column)));
        }
        for AskedAttribute { id, name, kind, metadata, .. } in &of.attributes {
            columns.push(RowColumn::new(*id, *kind, Role::Value, (name.as_str(), column_of(name))));
            if let Some(id) = metadata.filter(|_| shown.metadata) {
                let column = free(format!("{name}_metadata"));
                columns.push(RowColumn::new(id, Kind::Structured, Role::Metadata, (name.as_str(), column)));
            }
        }
        columns
    };
    results.iter().map(of_type).collect()
}

/// The name of an attribute's column, which no other attribute has.
fn column_of(name: &str, attributes: &HashSet<String>) -> String {
    let mut column = name.to_owned();
    while COLUMNS.contains(&&*column) || column != name && attributes.contains(&small_letters(&column)) {
        column.push('_');
    }
    column
}

/// The columns of all types, each once in any case of letters.
pub(super) fn columns(tables: &[Vec<RowColumn>]) -> Vec<&RowColumn> {
    let mut known = HashSet::new();
    tables.iter().flatten().filter(|column| known.insert(column.key())).collect()
}

/// The names and kinds of columns; text where those of different types differ.
pub(super) fn kinds(
    tables: &[Vec<RowColumn>],
    columns: &[&RowColumn],
    kind: impl Fn(&RowColumn) -> Kind,
) -> Vec<(String, Kind)> {
    let mut kinds: HashMap<ColumnKey<'_>, Kind> = HashMap::new();
    for column in tables.iter().flatten() {
        let kind = kind(column);
        let known = kinds.entry(column.key()).or_insert(kind);
        if *known != kind {
            *known = Kind::Text;
        }
    }
    let kind_of = |column: &RowColumn| kinds.get(&column.key()).copied().unwrap_or(Kind::Text);
    columns.iter().map(|column| (column.column.clone(), kind_of(column))).collect()
}

impl RowColumn {
    /// Of what is called `column`.
    fn new(id: AttributeId, kind: Kind, role: Role, (attribute, column): (&str, String)) -> Self {
        Self { id, kind, role, attribute: attribute.to_owned(), column, small: small_letters(attribute) }
    }

    /// A column of another type is the same one where it has the same key.
    pub(super) fn key(&self) -> ColumnKey<'_> {
        (self.role, self.small.as_str())
    }
}
