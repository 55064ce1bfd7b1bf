//! Steps the statement of one level and keeps its rows for splicing: the `per-nest` and `bucket` models.

use prony_graphql::budget::ResponseMeter;

use crate::{
    error::Stop,
    file::raw::{Statement, Stored},
    read::watch::Watch,
    rows::write_rows::RowWriter,
    statement::program::LevelProgram,
};
use prony_sql::{
    levels::{Key, KeyPart, LevelRows},
    writer::Unwritten,
};

/// Reads all rows; the statement is bound.
pub(crate) fn read(
    program: &LevelProgram,
    statement: &mut Statement,
    watch: &Watch,
    meter: ResponseMeter,
) -> Result<LevelRows, Stop> {
    let rows = read_rows(program, statement, watch, meter);
    statement.reset();
    rows
}

fn read_rows(
    program: &LevelProgram,
    statement: &mut Statement,
    watch: &Watch,
    meter: ResponseMeter,
) -> Result<LevelRows, Stop> {
    let mut rows = LevelRows::new(program.child_keys.len());
    let mut writer = RowWriter::new(0, watch, meter);
    while statement.step()? {
        let Stored::Integer(parent) = statement.column(0) else { continue };
        rows.begin_row(parent as usize);
        let written = writer.row(&program.pieces, statement, &mut []);
        let end = writer.field.out.len();
        let cuts = &writer.cuts;
        match written {
            Ok(()) => cuts.iter().map(|cut| cut.bytes).chain([end]).for_each(|end| rows.end_segment(end)),
            Err(Unwritten::Null) => rows.end_missing_row(cuts.len(), end),
            Err(Unwritten::Failed(stop)) => return Err(stop),
        }
        for (index, error) in writer.field.take_errors().into_iter().enumerate() {
            rows.push_error(cuts.partition_point(|cut| cut.errors <= index), error);
        }
        writer.cuts.clear();
        for columns in &program.child_keys {
            rows.push_key(key(statement, columns));
        }
    }
    *rows.text_mut() = writer.field.out;
    Ok(rows)
}

/// `None` where a part is null.
fn key(statement: &Statement, columns: &[usize]) -> Option<Key> {
    columns
        .iter()
        .map(|&column| match statement.column(column) {
            Stored::Null => None,
            Stored::Integer(number) => Some(KeyPart::Integer(number)),
            Stored::Real(number) => Some(KeyPart::Real(number.to_bits())),
            Stored::Text(text) => Some(KeyPart::Text(text.into())),
            Stored::Blob(bytes) => Some(KeyPart::Bytes(bytes.into())),
        })
        .collect()
}
