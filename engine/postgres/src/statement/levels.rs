//! The levels of the per-nest and bucket models as statements: one level's rows for a list of keys, in the
//! order of the keys, with limits for each key on its own.

use std::rc::Rc;

use prony_graphql::error::GraphqlError;
use tokio_postgres::Row;

use crate::{
    connect::link::Answer,
    error::{Failure, FailureKind},
    run::rows::{Form, RowShape},
    statement::{
        bound::Bound,
        dialect::{Wire, cast_name},
        select::{Equalities, Rows, SelectList, SelectWriter, column_list, first_of},
    },
};
use prony_sql::{
    builder::{Parameter, column_operand},
    catalog::ColumnKind,
    model::{Column, ColumnId, Model, Table, TableId},
    nest::{Child, Key, KeyPart, Level, LevelOutput, LevelOutputKind, LevelRows, LevelSource},
    plan::Filter,
    settings::RelationalSettings,
};

/// The statement of one level.
#[derive(Debug)]
pub(crate) struct LevelSelect {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
    /// How the keys travel, part by part; empty for the root.
    pub(crate) key_wires: Vec<KeyWire>,
    pub(crate) shape: LevelShape,
}

/// How one part of the keys travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyWire {
    Integer,
    Text,
}

impl KeyWire {
    pub(crate) fn of(column: &Column) -> Self {
        match column.kind {
            ColumnKind::Int | ColumnKind::BigInt => Self::Integer,
            _ => Self::Text,
        }
    }

    pub(crate) fn scalar_type(self) -> tokio_postgres::types::Type {
        match self {
            Self::Integer => Wire::Int8.scalar_type(),
            Self::Text => Wire::Text.scalar_type(),
        }
    }

    /// The operand as [`read_key`] reads it.
    pub(crate) fn read(self, operand: &str) -> String {
        match self {
            Self::Integer => format!("{operand}::int8"),
            Self::Text => format!("{operand}::text"),
        }
    }

    /// What the column is compared with where the parameter holds [`Self::bind`]'s value.
    pub(crate) fn placeholder(self, number: usize, column: &Column) -> String {
        match self {
            Self::Integer => format!("${number}"),
            Self::Text => format!("${number}::{}", cast_name(column)),
        }
    }

    /// A part of a key as a parameter. Null finds no row.
    pub(crate) fn bind(self, part: &KeyPart) -> Bound {
        match self {
            Self::Integer => integer(part).map_or(Bound::Null, Bound::Int8),
            Self::Text => text(part).map_or(Bound::Null, Bound::Text),
        }
    }

    pub(crate) fn array_type(self) -> tokio_postgres::types::Type {
        match self {
            Self::Integer => Wire::Int8.array_type(),
            Self::Text => Wire::Text.array_type(),
        }
    }
}

/// How the result's rows become [`LevelRows`].
#[derive(Debug, Default)]
pub(crate) struct LevelShape {
    /// Column 0 is the number of the key, from 1; absent for the root.
    has_key_number: bool,
    /// One more than there are children: the text around their values.
    pieces: Vec<RowShape>,
    /// For each child, the columns that hold its key.
    keys: Vec<Vec<(usize, KeyWire)>>,
}

/// Writes the statement of one level.
pub(crate) fn level_select(
    model: &Model,
    settings: &RelationalSettings,
    level: &Level,
) -> Result<LevelSelect, GraphqlError> {
    let mut writer = SelectWriter::new(model, settings);
    let table = model.table(level.table);
    let key_wires: Vec<KeyWire> =
        level.key_columns.iter().map(|column| KeyWire::of(table.column(*column))).collect();
    let (keys_sql, tied) = keys(&mut writer, table, &level.key_columns, &key_wires);
    let is_root = key_wires.is_empty();

    let mut select = SelectList::default();
    let mut shape = LevelShape { has_key_number: !is_root, ..LevelShape::default() };
    if !is_root {
        select.position("k.n".to_owned());
    }
    let rows_sql = match &level.source {
        LevelSource::Aggregate(plan) => {
            let mut piece = RowShape::default();
            piece.column(select.position("d.o".to_owned()), Form::Json);
            shape.pieces.push(piece);
            format!("({})", writer.aggregate_over(plan, &tied))
        }
        LevelSource::List { outputs, filter, order, limit, offset } => {
            shape.outputs(table, outputs, &level.children, &mut select);
            let rows =
                Rows { table: level.table, filter, order, limit: limit.as_ref(), offset: offset.as_ref() };
            writer.rows(&rows, needed_columns(outputs, &level.children), &tied)?
        }
        LevelSource::One { outputs, filter } => {
            shape.outputs(table, outputs, &level.children, &mut select);
            one_row(&mut writer, (level.table, filter), needed_columns(outputs, &level.children), &tied)
        }
    };
    let columns = select.into_sql();
    let sql = if is_root {
        format!("SELECT {columns} FROM {rows_sql} AS d")
    } else {
        format!("SELECT {columns} FROM {keys_sql} CROSS JOIN LATERAL {rows_sql} AS d")
    };
    Ok(LevelSelect { sql, parameters: writer.builder.parameters, key_wires, shape })
}

/// `unnest($1::…[], …) WITH ORDINALITY AS k(k0, …, n)`, and what the level's columns must equal.
fn keys(
    writer: &mut SelectWriter<'_>,
    table: &Table,
    columns: &[ColumnId],
    wires: &[KeyWire],
) -> (String, Equalities) {
    let mut arrays = Vec::new();
    let mut names = Vec::new();
    let mut tied = Equalities::new();
    for (part, (&id, wire)) in columns.iter().zip(wires).enumerate() {
        let number = writer.builder.parameter(Parameter::Parent(part));
        arrays.push(match wire {
            KeyWire::Integer => format!("${number}"),
            KeyWire::Text => format!("{}[]", KeyWire::Text.placeholder(number, table.column(id))),
        });
        names.push(format!("k{part}"));
        tied.push((id, format!("k.k{part}")));
    }
    let sql = format!("unnest({}) WITH ORDINALITY AS k({},n)", arrays.join(","), names.join(","));
    (sql, tied)
}

/// At most one row. The limit also keeps the planner from joining in another order than that of the keys.
fn one_row(
    writer: &mut SelectWriter<'_>,
    (id, filter): (TableId, &Filter),
    columns: Vec<ColumnId>,
    tied: &Equalities,
) -> String {
    let table = writer.model().table(id);
    let alias = writer.builder.new_alias();
    let columns = column_list(table, &alias, columns);
    let from = writer.from(table, &alias);
    let condition = writer.condition(id, &alias, filter, tied);
    let first = first_of(table, &alias, tied);
    let first = if first.is_empty() { " LIMIT 1" } else { &first };
    format!("(SELECT {columns} FROM {from}{condition}{first})")
}

fn needed_columns(outputs: &[LevelOutput], children: &[Child]) -> Vec<ColumnId> {
    let shown = outputs.iter().filter_map(|output| match output.kind {
        LevelOutputKind::Column(id) => Some(id),
        LevelOutputKind::Typename(_) | LevelOutputKind::Child(_) => None,
    });
    let linking = children.iter().flat_map(|child| child.parent_columns.iter().copied());
    let mut needed: Vec<ColumnId> = shown.chain(linking).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

impl LevelShape {
    fn outputs(
        &mut self,
        table: &Table,
        outputs: &[LevelOutput],
        children: &[Child],
        select: &mut SelectList,
    ) {
        let mut piece = RowShape::default();
        for (index, output) in outputs.iter().enumerate() {
            piece.key(index, &output.response_key);
            match &output.kind {
                LevelOutputKind::Typename(name) => piece.string(name),
                LevelOutputKind::Column(id) => {
                    let column = table.column(*id);
                    let (form, sql) = Form::of(column, &column_operand("d", column));
                    piece.column(select.position(sql), form);
                }
                LevelOutputKind::Child(_) => self.pieces.push(std::mem::take(&mut piece)),
            }
        }
        piece.end(outputs.is_empty());
        self.pieces.push(piece);
        for child in children {
            let parts = child.parent_columns.iter().map(|&id| {
                let column = table.column(id);
                let operand = column_operand("d", column);
                let wire = KeyWire::of(column);
                (select.position(wire.read(&operand)), wire)
            });
            self.keys.push(parts.collect());
        }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        self.pieces.iter().map(RowShape::weight_bytes).sum::<usize>() + self.keys.len() * 64
    }
}

/// The keys of one fetch as parameters, part by part.
pub(crate) fn bind_keys(wires: &[KeyWire], keys: &[Key]) -> Vec<Bound> {
    let parts = wires.iter().enumerate();
    parts
        .map(|(part, wire)| match wire {
            KeyWire::Integer => Bound::Int8s(keys.iter().map(|key| integer(&key[part])).collect()),
            KeyWire::Text => Bound::Texts(keys.iter().map(|key| text(&key[part])).collect()),
        })
        .collect()
}

/// A text that is no integer equals none: null finds no row.
fn integer(part: &KeyPart) -> Option<i64> {
    match part {
        KeyPart::Integer(value) => Some(*value),
        KeyPart::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        KeyPart::Real(_) | KeyPart::Bytes(_) => None,
    }
}

fn text(part: &KeyPart) -> Option<Box<str>> {
    match part {
        KeyPart::Integer(value) => Some(value.to_string().into()),
        KeyPart::Text(text) => std::str::from_utf8(text).ok().map(Into::into),
        KeyPart::Real(_) | KeyPart::Bytes(_) => None,
    }
}

/// Collects the rows of a level.
pub(crate) struct LevelAnswer<S> {
    shape: S,
    pub(crate) rows: LevelRows,
    last_key: usize,
    max_bytes: usize,
}

impl<S: AsRef<LevelShape>> LevelAnswer<S> {
    pub(crate) fn new(shape: S, max_bytes: usize) -> Self {
        let children = shape.as_ref().keys.len();
        Self { shape, rows: LevelRows::new(children), last_key: 0, max_bytes }
    }

    pub(crate) fn finish(self) -> Rc<LevelRows> {
        Rc::new(self.rows)
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
            self.rows.end_segment();
        }
        for parts in &shape.keys {
            self.rows.push_key(read_key(row, parts)?);
        }
        if self.rows.text_bytes() > self.max_bytes {
            return Err(Failure::new(FailureKind::TooLarge, format!("more than {} bytes", self.max_bytes)));
        }
        Ok(())
    }
}

/// `None` where a part is null.
pub(crate) fn read_key(row: &Row, parts: &[(usize, KeyWire)]) -> Result<Option<Key>, Failure> {
    let mut key = Vec::with_capacity(parts.len());
    for &(column, wire) in parts {
        let part = match wire {
            KeyWire::Integer => row.try_get::<_, Option<i64>>(column)?.map(KeyPart::Integer),
            KeyWire::Text => {
                row.try_get::<_, Option<&str>>(column)?.map(|text| KeyPart::Text(text.as_bytes().into()))
            }
        };
        let Some(part) = part else { return Ok(None) };
        key.push(part);
    }
    Ok(Some(key.into()))
}
