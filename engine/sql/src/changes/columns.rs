//! Which columns of a changed row a subscription needs, and the row as another model of the source has it: the tables may have become
//! others since the subscription was planned.

use std::collections::BTreeSet;

use crate::{
    changes::{RowChange, RowValues, asked::is_same_kind},
    model::{Column, ColumnId, Model, Table, TableId},
    plan::{Filter, Output, OutputKind},
};

/// Columns of one table.
#[derive(Debug, Default)]
pub(super) struct NeededColumns(pub(super) BTreeSet<ColumnId>);

impl NeededColumns {
    /// Those of a filter, and those by which changes are told apart.
    pub(super) fn of(table: &Table, filter: &Filter) -> Self {
        let mut needed = Self(table.primary_key.iter().copied().collect());
        needed.add_filter(table, filter);
        needed
    }

    pub(super) fn add_outputs(&mut self, table: &Table, outputs: &[Output]) {
        for output in outputs {
            match &output.kind {
                OutputKind::Typename(_) => {}
                OutputKind::Column(column) => {
                    self.0.insert(*column);
                }
                OutputKind::Related(relation, _) => {
                    self.0.extend(table.relation(*relation).pairs.iter().map(|(own, _)| *own));
                }
            }
        }
    }

    pub(super) fn add_filter(&mut self, table: &Table, filter: &Filter) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                for part in parts {
                    self.add_filter(table, part);
                }
            }
            Filter::Not(part) => self.add_filter(table, part),
            Filter::Compare { column, .. } => {
                self.0.insert(*column);
            }
            Filter::Exists { relation, .. } => {
                self.0.extend(table.relation(*relation).pairs.iter().map(|(own, _)| *own));
            }
        }
    }
}

/// Where each column of a table is in another model's table of the same number.
#[derive(Debug)]
pub(super) struct ColumnPlaces {
    /// By column; none where it is not there any more, or holds something else.
    columns: Box<[Option<usize>]>,
    /// By place in the primary key; none where the key is another.
    key: Option<Box<[usize]>>,
}

impl ColumnPlaces {
    /// From the table of one model to that of another, of which changes are told; none where what is needed is not there.
    pub(super) fn find(model: &Model, theirs: &Model, id: TableId, needed: &[ColumnId]) -> Option<Self> {
        let (own, other) = (model.table(id), theirs.find_table(id)?);
        let columns: Box<[Option<usize>]> = own
            .columns
            .iter()
            .map(|column| other.columns.iter().position(|other| is_same((model, column), (theirs, other))))
            .collect();
        let is_there = |id: &ColumnId| columns[usize::from(id.0)].is_some();
        if !needed.iter().all(is_there) {
            return None;
        }
        let place_in_key = |id: &ColumnId| {
            let name = &own.column(*id).name;
            other.primary_key.iter().position(|place| other.column(*place).name == *name)
        };
        let key = own.primary_key.iter().map(place_in_key).collect::<Option<Box<[usize]>>>();
        Some(Self { columns, key })
    }

    /// The change with the values of the own table's columns; null stands where there is none, which nobody needs.
    pub(super) fn translate(&self, change: &RowChange) -> RowChange {
        let row = |values: &RowValues| {
            let value = |place: &Option<usize>| {
                place.and_then(|place| values.0.get(place).cloned()).unwrap_or_else(|| "null".into())
            };
            RowValues(self.columns.iter().map(value).collect())
        };
        let key = |values: &RowValues| {
            let places = self.key.as_ref()?;
            places.iter().map(|place| values.0.get(*place).cloned()).collect::<Option<_>>().map(RowValues)
        };
        RowChange {
            table: change.table,
            operation: change.operation,
            row: change.row.as_ref().map(row),
            previous_key: change.previous_key.as_ref().and_then(key),
            previous: change.previous.as_ref().map(row),
        }
    }
}

/// Whether values of one model's column are those of the other's.
fn is_same((model, column): (&Model, &Column), (theirs, other): (&Model, &Column)) -> bool {
    other.name == column.name
        && other.database_type == column.database_type
        && is_same_kind((model, &column.kind), (theirs, &other.kind))
}

/// What is wrong with a subscription to a table's changes in another model, in words; none where it goes on.
pub(super) fn missing(model: &Model, now: &Model, id: TableId, needed: &[ColumnId]) -> Option<String> {
    let own = model.table(id);
    let name = own.qualified_name();
    let Some(theirs) = now.find_table(id) else {
        return Some(format!("the table `{name}` is not served any more"));
    };
    let column = needed
        .iter()
        .map(|id| own.column(*id))
        .find(|&column| !theirs.columns.iter().any(|other| is_same((model, column), (now, other))))?;
    Some(format!("the column `{}` of `{name}` is gone or holds something else", column.name))
}
