//! What is written to the log and to manifests: names, rows, deletions.

use crate::ids::{AttributeId, SeriesId, TableId, TimeRange};
use crate::value::{Kind, Value};
use prony_log::codec::{Damage, Input, put_bytes, put_length, put_signed, put_unsigned};

/// A write's place in the order of all writes of a store; all that it does has the same.
pub(crate) type OpNumber = u64;

/// One thing that is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op<'a> {
    Table { id: TableId, tenant: &'a str, name: &'a str },
    Attribute { table: TableId, id: AttributeId, name: &'a str, declared: &'a str, kind: Kind },
    Series { id: SeriesId, table: TableId, entity: &'a str, path: &'a str },
    Row { number: OpNumber, series: SeriesId, time_ms: i64, values: Cells<'a> },
    Delete { number: OpNumber, of: Deleted, range: TimeRange },
    DropTable { number: OpNumber, table: TableId },
}

/// Whose rows are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    Table(TableId),
    Series(SeriesId),
}

/// Attributes and values of a row, as they stand in the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cells<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Cells<'a> {
    /// Calls `take` with each.
    pub fn each(
        &self,
        mut take: impl FnMut(AttributeId, Value<'a>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let mut input = Input::new(self.bytes);
        for _ in 0..self.count {
            take(AttributeId(input.u32()?), Value::read(&mut input)?)?;
        }
        Ok(())
    }
}

const TABLE: u8 = 1;
const ATTRIBUTE: u8 = 2;
const SERIES: u8 = 3;
const ROW: u8 = 4;
const DELETE: u8 = 5;
const DROP_TABLE: u8 = 6;

pub(crate) fn put_row(
    to: &mut Vec<u8>,
    number: OpNumber,
    series: SeriesId,
    time_ms: i64,
    values: &[(AttributeId, Value<'_>)],
) {
    to.push(ROW);
    put_unsigned(to, number);
    put_unsigned(to, u64::from(series.0));
    put_signed(to, time_ms);
    put_length(to, values.len());
    for (attribute, value) in values {
        put_unsigned(to, u64::from(attribute.0));
        value.write(to);
    }
}

impl<'a> Op<'a> {
    /// Writes it; rows are written by [`put_row`].
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Table { id, tenant, name } => {
                to.push(TABLE);
                put_unsigned(to, u64::from(id.0));
                put_bytes(to, tenant.as_bytes());
                put_bytes(to, name.as_bytes());
            }
            Self::Attribute { table, id, name, declared, kind } => {
                to.push(ATTRIBUTE);
                put_unsigned(to, u64::from(table.0));
                put_unsigned(to, u64::from(id.0));
                put_bytes(to, name.as_bytes());
                put_bytes(to, declared.as_bytes());
                to.push(kind.number());
            }
            Self::Series { id, table, entity, path } => {
                to.push(SERIES);
                put_unsigned(to, u64::from(id.0));
                put_unsigned(to, u64::from(table.0));
                put_bytes(to, entity.as_bytes());
                put_bytes(to, path.as_bytes());
            }
            Self::Row { number, series, time_ms, values } => {
                put_row(to, number, series, time_ms, &[]);
                to.pop();
                put_length(to, values.count);
                to.extend_from_slice(values.bytes);
            }
            Self::Delete { number, of, range } => {
                to.push(DELETE);
                put_unsigned(to, number);
                let (kind, id) = match of {
                    Deleted::Table(id) => (0, id.0),
                    Deleted::Series(id) => (1, id.0),
                };
                to.push(kind);
                put_unsigned(to, u64::from(id));
                put_signed(to, range.from_ms);
                put_signed(to, range.to_ms);
            }
            Self::DropTable { number, table } => {
                to.push(DROP_TABLE);
                put_unsigned(to, number);
                put_unsigned(to, u64::from(table.0));
            }
        }
    }

    pub(crate) fn take(input: &mut Input<'a>) -> Result<Self, Damage> {
        Ok(match input.byte()? {
            TABLE => Self::Table { id: TableId(input.u32()?), tenant: input.text()?, name: input.text()? },
            ATTRIBUTE => Self::Attribute {
                table: TableId(input.u32()?),
                id: AttributeId(input.u32()?),
                name: input.text()?,
                declared: input.text()?,
                kind: Kind::of_number(input.byte()?)?,
            },
            SERIES => Self::Series {
                id: SeriesId(input.u32()?),
                table: TableId(input.u32()?),
                entity: input.text()?,
                path: input.text()?,
            },
            ROW => {
                let (number, series) = (input.unsigned()?, SeriesId(input.u32()?));
                let (time_ms, count) = (input.signed()?, input.length()?);
                let mut rest = *input;
                let all = rest.rest();
                for _ in 0..count {
                    input.skip_number()?;
                    Value::skip(input)?;
                }
                let mut left = *input;
                let bytes = &all[..all.len() - left.rest().len()];
                Self::Row { number, series, time_ms, values: Cells { bytes, count } }
            }
            DELETE => {
                let number = input.unsigned()?;
                let of = match input.byte()? {
                    0 => Deleted::Table(TableId(input.u32()?)),
                    1 => Deleted::Series(SeriesId(input.u32()?)),
                    _ => return Err(Damage("something unknown is deleted")),
                };
                let range = TimeRange { from_ms: input.signed()?, to_ms: input.signed()? };
                Self::Delete { number, of, range }
            }
            DROP_TABLE => Self::DropTable { number: input.unsigned()?, table: TableId(input.u32()?) },
            _ => return Err(Damage("something unknown is done")),
        })
    }
}
