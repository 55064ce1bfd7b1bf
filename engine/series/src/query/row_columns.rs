//! Which columns rows have beside id, type and time: attributes, with their metadata and what gave the time where that is asked for.

use prony_series_store::{AttributeId, Kind};

use super::{
    cell::COLUMNS,
    entity::{AskedAttribute, TypeResult},
    parameters::ShownBeside,
};

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// The columns of each type. Those of attributes have their places; what is shown beside them has a name that no attribute has.
pub(super) fn tables(results: &[TypeResult], shown: ShownBeside) -> Vec<Vec<RowColumn>> {
    let attributes = || results.iter().flat_map(|of| &of.attributes).map(|of| &*of.name);
    let attribute_names: Vec<String> = attributes().map(str::to_lowercase).collect();
    let column_of = |name: &str| column_of(name, &attribute_names);
    let names: Vec<String> = attributes().map(|name| column_of(name).to_lowercase()).collect();
    let free = |wanted: String| {
        let mut name = wanted;
        while names.contains(&name.to_lowercase()) {
            name.push('_');
        }
        name
    };
    let of_type = |of: &TypeResult| {
        let mut columns = Vec::with_capacity(of.attributes.len());
        if let Some(id) = of.time_attribute {
            let (attribute, column) = (String::new(), free("timeAttribute".to_owned()));
            columns.push(RowColumn { id, kind: Kind::Text, role: Role::TimeAttribute, attribute, column });
        }
        for AskedAttribute { id, name, kind, metadata, .. } in &of.attributes {
            let (attribute, column) = (name.clone(), column_of(name));
            columns.push(RowColumn { id: *id, kind: *kind, role: Role::Value, attribute, column });
            if let Some(id) = metadata.filter(|_| shown.metadata) {
                let (attribute, column) = (name.clone(), free(format!("{name}_metadata")));
                columns.push(RowColumn {
                    id,
                    kind: Kind::Structured,
                    role: Role::Metadata,
                    attribute,
                    column,
                });
            }
        }
        columns
    };
    results.iter().map(of_type).collect()
}

/// The name of an attribute's column, which no other attribute has.
fn column_of(name: &str, attributes: &[String]) -> String {
    let mut column = name.to_owned();
    while COLUMNS.contains(&&*column) || column != name && attributes.contains(&column.to_lowercase()) {
        column.push('_');
    }
    column
}

/// The columns of all types, each once in any case of letters.
pub(super) fn columns(tables: &[Vec<RowColumn>]) -> Vec<&RowColumn> {
    let mut columns: Vec<&RowColumn> = Vec::new();
    for column in tables.iter().flatten() {
        if !columns.iter().any(|known| known.is_same(column)) {
            columns.push(column);
        }
    }
    columns
}

/// The names and kinds of columns; text where those of different types differ.
pub(super) fn kinds(
    tables: &[Vec<RowColumn>],
    columns: &[&RowColumn],
    kind: impl Fn(&RowColumn) -> Kind,
) -> Vec<(String, Kind)> {
    let of_column = |column: &&RowColumn| {
        let mut kinds = tables.iter().flatten().filter(|of| of.is_same(column)).map(&kind);
        let first = kinds.next().unwrap_or(Kind::Text);
        (column.column.clone(), if kinds.all(|other| other == first) { first } else { Kind::Text })
    };
    columns.iter().map(of_column).collect()
}

impl RowColumn {
    /// Whether a column of another type is the same one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (one, another) = (&self.attribute, &other.attribute);
        self.role == other.role && (one == another || one.to_lowercase() == another.to_lowercase())
    }
}
