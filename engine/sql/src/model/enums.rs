//! Enumerated types of the database: GraphQL enums where their labels allow it and a column needs them, text
//! otherwise.

use crate::model::{EnumType, Table};
use prony_source::dialect::names::is_graphql_name;

use crate::catalog::ColumnKind;

/// Whether all labels may be values of a GraphQL enum (GraphQL specification, section 3.9).
pub(super) fn has_graphql_labels(labels: &[Box<str>]) -> bool {
    !labels.is_empty()
        && labels.iter().all(|label| is_graphql_name(label) && !["true", "false", "null"].contains(&&**label))
}

/// Columns refer to the catalog's enums before and to the returned ones after; `named` goes by the catalog's
/// index.
pub(super) fn settle(named: Vec<Option<EnumType>>, tables: &mut [Table]) -> Vec<EnumType> {
    let mut positions = Vec::with_capacity(named.len());
    let mut enums = Vec::new();
    for candidate in named {
        positions.push(candidate.map(|found| {
            enums.push(found);
            enums.len() - 1
        }));
    }
    for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
        settle_kind(&mut column.kind, &positions);
    }
    enums
}

fn settle_kind(kind: &mut ColumnKind, positions: &[Option<usize>]) {
    match kind {
        ColumnKind::Array(item) => settle_kind(item, positions),
        ColumnKind::Enum(index) => {
            *kind = positions[*index].map_or(ColumnKind::OtherText, ColumnKind::Enum);
        }
        _ => {}
    }
}

/// The catalog's enums that columns refer to.
pub(super) fn used(count: usize, tables: &[Table]) -> Vec<bool> {
    let mut used = vec![false; count];
    for column in tables.iter().flat_map(|table| &table.columns) {
        let mut kind = &column.kind;
        while let ColumnKind::Array(item) = kind {
            kind = item;
        }
        if let ColumnKind::Enum(index) = kind {
            used[*index] = true;
        }
    }
    used
}
