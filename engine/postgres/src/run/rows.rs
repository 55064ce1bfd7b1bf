//! Rows of a statement as JSON: the cheap types are written here from PostgreSQL's binary form, everything
//! else comes as JSON text and is spliced.

use prony_graphql::{
    budget::ResponseMeter,
    json::{self, ObjectText},
};
use tokio_postgres::{
    Column, Row,
    types::{FromSql, Type},
};

use crate::{
    connect::link::Answer,
    error::{Failure, FailureKind},
    statement::json_sql,
};
use prony_sql::{catalog::ColumnKind, model};

/// In which form a column of the result comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Int2,
    Int4,
    Int8,
    Boolean,
    Text,
    /// JSON text; SQL null stands for `null`.
    Json,
}

impl Form {
    /// The form for a column and the expression that gives it.
    pub(crate) fn of(column: &model::Column, operand: &str) -> (Self, String) {
        let cast = |form, name: &str| (form, format!("{operand}::{name}"));
        let plain = |form| (form, operand.to_owned());
        let database_type = &*column.database_type;
        match (&column.kind, database_type) {
            (ColumnKind::Int, "smallint") => plain(Self::Int2),
            (ColumnKind::Int, "integer") => plain(Self::Int4),
            (ColumnKind::Int, _) => cast(Self::Int4, "int4"),
            (ColumnKind::BigInt, "bigint") => plain(Self::Int8),
            (ColumnKind::BigInt, _) => cast(Self::Int8, "int8"),
            (ColumnKind::Boolean, "boolean") => plain(Self::Boolean),
            (ColumnKind::Text, "text") => plain(Self::Text),
            (
                ColumnKind::Text
                | ColumnKind::Uuid
                | ColumnKind::Enum(_)
                | ColumnKind::OtherText
                | ColumnKind::OrderedText
                | ColumnKind::UnorderedText,
                _,
            ) => cast(Self::Text, "text"),
            _ => (Self::Json, json_sql::column(column, operand)),
        }
    }
}

/// The bytes of a value, whatever its type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// One object of the response as a sequence of known text and columns.
#[derive(Debug, Default)]
pub(crate) struct RowShape {
    segments: Vec<Segment>,
    /// Text after the last column.
    suffix: Vec<u8>,
}

#[derive(Debug)]
struct Segment {
    prefix: Box<[u8]>,
    column: usize,
    form: Form,
}

/// A [`RowShape`] under construction.
#[derive(Debug, Default)]
pub(crate) struct ShapeBuilder {
    segments: Vec<Segment>,
    /// What is known behind the last column.
    pub(crate) text: ObjectText,
}

impl ShapeBuilder {
    pub(crate) fn column(&mut self, column: usize, form: Form) {
        let prefix = self.text.take().into_boxed_slice();
        self.segments.push(Segment { prefix, column, form });
    }

    /// The shape up to here, where a value from elsewhere belongs; the next one goes on behind it.
    pub(crate) fn cut(&mut self) -> RowShape {
        RowShape { segments: std::mem::take(&mut self.segments), suffix: self.text.take() }
    }

    pub(crate) fn end(self) -> RowShape {
        RowShape { segments: self.segments, suffix: self.text.end() }
    }
}

impl RowShape {
    /// A column that is the whole value.
    pub(crate) fn of_column(column: usize, form: Form) -> Self {
        Self { segments: vec![Segment { prefix: Box::default(), column, form }], suffix: Vec::new() }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(|segment| segment.prefix.len() + 48).sum();
        segments + self.suffix.len()
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>, row: &Row) -> Result<(), Failure> {
        for segment in &self.segments {
            out.extend_from_slice(&segment.prefix);
            segment.form.check(row, segment.column)?;
            match row.try_get::<_, Option<Raw<'_>>>(segment.column)? {
                None => out.extend_from_slice(b"null"),
                Some(Raw(raw)) => segment.form.write(out, raw)?,
            }
        }
        out.extend_from_slice(&self.suffix);
        Ok(())
    }
}

/// A column of a row as JSON text.
pub(crate) fn column_text(row: &Row, column: usize, form: Form) -> Result<Box<str>, Failure> {
    let mut out = Vec::new();
    form.check(row, column)?;
    match row.try_get::<_, Option<Raw<'_>>>(column)? {
        None => out.extend_from_slice(b"null"),
        Some(Raw(raw)) => form.write(&mut out, raw)?,
    }
    utf8(&out).map(Into::into)
}

impl Form {
    /// Bytes of another type may look like a value of this one. What is written as JSON or text is cast by the statement.
    fn check(self, row: &Row, column: usize) -> Result<(), Failure> {
        let Some(found) = row.columns().get(column).map(Column::type_) else { return Ok(()) };
        let is_as_expected = match self {
            Self::Int2 => *found == Type::INT2,
            Self::Int4 => *found == Type::INT4,
            Self::Int8 => *found == Type::INT8,
            Self::Boolean => *found == Type::BOOL,
            Self::Text => [Type::TEXT, Type::VARCHAR, Type::BPCHAR].contains(found),
            Self::Json => true,
        };
        if is_as_expected {
            return Ok(());
        }
        Err(Failure::new(
            FailureKind::SchemaChanged,
            format!("a column that was read as {self:?} is {found}"),
        ))
    }

    fn write(self, out: &mut Vec<u8>, raw: &[u8]) -> Result<(), Failure> {
        let mut digits = itoa::Buffer::new();
        match self {
            Self::Int2 => out.extend_from_slice(digits.format(i16::from_be_bytes(fixed(raw)?)).as_bytes()),
            Self::Int4 => out.extend_from_slice(digits.format(i32::from_be_bytes(fixed(raw)?)).as_bytes()),
            Self::Int8 => out.extend_from_slice(digits.format(i64::from_be_bytes(fixed(raw)?)).as_bytes()),
            Self::Boolean => {
                let [value] = fixed(raw)?;
                out.extend_from_slice(if value == 0 { b"false" } else { b"true" });
            }
            Self::Text => json::write_string(out, utf8(raw)?),
            Self::Json => out.extend_from_slice(raw),
        }
        Ok(())
    }
}

/// A value whose length the type fixes; another length means that the column has another type by now.
fn fixed<const LENGTH: usize>(raw: &[u8]) -> Result<[u8; LENGTH], Failure> {
    raw.try_into().map_err(|_| {
        Failure::new(FailureKind::StalePlan, format!("a value of {} bytes instead of {LENGTH}", raw.len()))
    })
}

fn utf8(raw: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(raw).map_err(|error| Failure::new(FailureKind::Failed, error.to_string()))
}

/// Writes all rows as a list, or a single row as it is.
pub(crate) struct JsonRows<S> {
    shape: S,
    is_list: bool,
    meter: ResponseMeter,
    count: usize,
    out: Vec<u8>,
}

impl<S: AsRef<RowShape> + 'static> JsonRows<S> {
    pub(crate) fn list(shape: S, meter: ResponseMeter, capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'[');
        Self { shape, is_list: true, meter, count: 0, out }
    }

    pub(crate) fn single(shape: S, meter: ResponseMeter) -> Self {
        Self { shape, is_list: false, meter, count: 0, out: Vec::new() }
    }

    /// `null` where a single row was asked for and none came.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.is_list {
            self.out.push(b']');
        } else if self.count == 0 {
            self.out.extend_from_slice(b"null");
        }
        self.out
    }
}

impl<S: AsRef<RowShape> + 'static> Answer for JsonRows<S> {
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        if self.is_list && self.count > 0 {
            self.out.push(b',');
        }
        self.count += 1;
        self.shape.as_ref().write(&mut self.out, row)?;
        Ok(self.meter.check(self.out.len())?)
    }
}
