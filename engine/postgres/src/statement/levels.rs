//! The levels of the per-nest and bucket models as statements: one level's rows for a list of keys, in the
//! order of the keys, with limits for each key on its own.

use std::sync::Arc;

use prony_graphql::budget::ResponseMeter;
use tokio_postgres::Row;

use crate::{
    connect::link::Answer,
    error::{Failure, FailureKind},
    run::rows::{Form, RowShape},
    statement::{
        dialect::{Postgres, cast_name},
        keys::{KeyWire, comes_apart, read_key},
        select::{Equalities, SelectWriter},
        text::Statement,
    },
};
use prony_sql::{
    builder::{Dialect as _, Parameter, SelectList, collate_clause, column_operand},
    database::{Statements, WrittenStatement},
    levels::{LevelRows, LevelSelect},
    model::{ColumnId, Model, Table},
    plan::RowsPlan,
    settings::RelationalSettings,
};

/// The statement of one level.
#[derive(Debug)]
pub struct LevelRead {
    pub(crate) statement: Arc<Statement>,
    pub(crate) shape: Arc<LevelShape>,
    /// How the keys travel, part by part; empty for the root.
    pub(crate) key_wires: Vec<KeyWire>,
}

/// How the result's rows become [`LevelRows`].
#[derive(Debug)]
pub(crate) struct LevelShape {
    /// Column 0 is the number of the key, from 1; absent for the root.
    has_key_number: bool,
    /// One more than there are children: the text around their values.
    pieces: Vec<RowShape>,
    /// For each child, the columns that hold its key.
    keys: Vec<Vec<(usize, KeyWire)>>,
}

impl LevelRead {
    pub(crate) fn new(model: &Model, settings: &RelationalSettings, level: &LevelSelect<'_>) -> Self {
        let mut writer = SelectWriter::of_level(model, settings);
        let table = model.table(level.rows.table());
        let key_wires: Vec<KeyWire> =
            level.key_columns.iter().map(|column| KeyWire::of(table.column(*column))).collect();
        let (keys_sql, tied) = keys(&mut writer, table, level, &key_wires);
        let has_key_number = !key_wires.is_empty();

        let mut select = SelectList::default();
        if has_key_number {
            select.position("k.n".to_owned());
        }
        let pieces = match level.rows {
            RowsPlan::Aggregate(_) => {
                vec![RowShape::of_column(select.position("d.o".to_owned()), Form::Json)]
            }
            RowsPlan::List(_) | RowsPlan::One(_) => {
                writer.pieces(table, "d", level.rows.outputs(), &mut select)
            }
        };
        let keys = level.child_keys.iter().map(|columns| child_key(table, columns, &mut select)).collect();
        let rows_sql = writer.rows(level.rows, &tied);
        let columns = select.to_sql("NULL");
        let sql = if has_key_number {
            format!("SELECT {columns} FROM {keys_sql} CROSS JOIN LATERAL ({rows_sql}) AS d")
        } else {
            format!("SELECT {columns} FROM ({rows_sql}) AS d")
        };
        let key_types = key_wires.iter().map(|wire| wire.array_type());
        let statement = Statement::of_rows(model, sql, writer.builder, key_types);
        Self { statement, shape: Arc::new(LevelShape { has_key_number, pieces, keys }), key_wires }
    }
}

impl Statements for LevelRead {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        vec![self.statement.written()]
    }

    fn weight_bytes(&self) -> usize {
        let pieces = self.shape.pieces.iter().map(RowShape::weight_bytes).sum::<usize>();
        self.statement.weight_bytes() + pieces + self.shape.keys.len() * 64 + 512
    }
}

/// `unnest($1::…[], …) WITH ORDINALITY AS k(k0, …, n)`, and what the level's columns must equal.
fn keys(
    writer: &mut SelectWriter<'_>,
    table: &Table,
    level: &LevelSelect<'_>,
    wires: &[KeyWire],
) -> (String, Equalities) {
    let mut arrays = Vec::new();
    let mut names = Vec::new();
    let mut tied = Equalities::new();
    let columns = level.key_columns.iter().zip(&level.key_collations);
    for (part, ((&id, &collation), wire)) in columns.zip(wires).enumerate() {
        let number = writer.builder.parameter(Parameter::Parent(part));
        let column = table.column(id);
        let (array, key) = match wire {
            KeyWire::Integer => (format!("${number}"), format!("k.k{part}")),
            KeyWire::Text if comes_apart(column) => {
                (format!("${number}"), format!("k.k{part}::{}", cast_name(column)))
            }
            KeyWire::Text => (format!("{}[]", wire.placeholder(number, column)), format!("k.k{part}")),
        };
        arrays.push(array);
        names.push(format!("k{part}"));
        let operator = Postgres.operator("=", column);
        tied.push((id, format!("{operator}{key}{}", collate_clause(collation))));
    }
    let sql = format!("unnest({}) WITH ORDINALITY AS k({},n)", arrays.join(","), names.join(","));
    (sql, tied)
}

/// The columns that hold the key of a level below.
fn child_key(table: &Table, columns: &[ColumnId], select: &mut SelectList) -> Vec<(usize, KeyWire)> {
    let parts = columns.iter().map(|&id| {
        let column = table.column(id);
        let wire = KeyWire::of(column);
        (select.position(wire.read(&column_operand("d", column))), wire)
    });
    parts.collect()
}

/// Collects the rows of a level.
pub(crate) struct LevelAnswer<S> {
    shape: S,
    pub(crate) rows: LevelRows,
    last_key: usize,
    meter: ResponseMeter,
}

impl<S: AsRef<LevelShape>> LevelAnswer<S> {
    pub(crate) fn new(shape: S, meter: ResponseMeter) -> Self {
        let children = shape.as_ref().keys.len();
        Self { shape, rows: LevelRows::new(children), last_key: 0, meter }
    }

    pub(crate) fn finish(self) -> LevelRows {
        self.rows
    }
}

impl<S: AsRef<LevelShape> + 'static> Answer for LevelAnswer<S> {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        let shape = self.shape.as_ref();
        let key = if shape.has_key_number { row.try_get::<_, i64>(0)? as usize - 1 } else { 0 };
        if key < self.last_key {
            return Err(Failure::new(FailureKind::Failed, "rows came in another order than their keys"));
        }
        self.last_key = key;
        self.rows.begin_row(key);
        for piece in &shape.pieces {
            piece.write(self.rows.text_mut(), row)?;
            self.rows.end_segment(self.rows.text_bytes());
        }
        for parts in &shape.keys {
            self.rows.push_key(read_key(row, parts)?);
        }
        Ok(self.meter.check(self.rows.text_bytes())?)
    }
}
