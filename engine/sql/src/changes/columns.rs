//! Which columns of a changed row a subscription needs, and the row as another model of the source has it: the tables may have become
//! others since the subscription was planned.

use std::collections::BTreeSet;

use crate::{
    catalog::ColumnKind,
    changes::{RowChange, RowValues},
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
    /// From the table of one model to that of another, of which changes are told.
    ///
    /// # Errors
    /// What is needed and not there, in words.
    pub(super) fn find(
        model: &Model,
        theirs: &Model,
        id: TableId,
        needed: &[ColumnId],
    ) -> Result<Self, String> {
        let own = model.table(id);
        let other = table_now(own, theirs, id)?;
        let columns: Box<[Option<usize>]> = own
            .columns
            .iter()
            .map(|column| other.columns.iter().position(|other| is_same((model, column), (theirs, other))))
            .collect();
        if let Some(id) = needed.iter().find(|id| columns[usize::from(id.0)].is_none()) {
            let column = own.column(*id);
            column_now((model, own, column), (theirs, other))?;
            // Of the same kind, as GraphQL has it, and another type of the database.
            return Err(other_type(own, column));
        }
        let place_in_key = |id: &ColumnId| {
            let name = &own.column(*id).name;
            other.primary_key.iter().position(|place| other.column(*place).name == *name)
        };
        let key = own.primary_key.iter().map(place_in_key).collect::<Option<Box<[usize]>>>();
        Ok(Self { columns, key })
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

/// The table of the same number in another model.
///
/// # Errors
/// That there is none, in words.
pub(super) fn table_now<'n>(own: &Table, now: &'n Model, id: TableId) -> Result<&'n Table, String> {
    now.find_table(id).ok_or_else(|| format!("the table `{}` is not served any more", own.qualified_name()))
}

/// The column of the same name in another model's table, whose values are of the same kind.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn column_now<'n>(
    (model, own, column): (&Model, &Table, &Column),
    (now, theirs): (&Model, &'n Table),
) -> Result<&'n Column, String> {
    let Some(other) = theirs.columns.iter().find(|other| other.name == column.name) else {
        let table = own.qualified_name();
        return Err(format!("the column `{}` of `{table}` is not served any more", column.name));
    };
    if is_same_kind((model, &column.kind), (now, &other.kind)) {
        Ok(other)
    } else {
        Err(other_type(own, column))
    }
}

fn other_type(own: &Table, column: &Column) -> String {
    format!("the column `{}` of `{}` is served with another type now", column.name, own.qualified_name())
}

/// Whether a column of another model holds what this one does, as the database has it.
fn is_same((model, column): (&Model, &Column), (theirs, other): (&Model, &Column)) -> bool {
    other.name == column.name
        && other.database_type == column.database_type
        && is_same_kind((model, &column.kind), (theirs, &other.kind))
}

/// Whether values of one model's column are those of the other's. Enumerated types have other places in other models.
fn is_same_kind((model, own): (&Model, &ColumnKind), (now, theirs): (&Model, &ColumnKind)) -> bool {
    match (own, theirs) {
        (ColumnKind::Enum(own), ColumnKind::Enum(theirs)) => {
            model.enums[*own].name == now.enums[*theirs].name
        }
        (ColumnKind::Array(own), ColumnKind::Array(theirs)) => {
            is_same_kind((model, &**own), (now, &**theirs))
        }
        _ => own == theirs,
    }
}
