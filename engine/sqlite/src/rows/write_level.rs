//! Steps the statement of one level and keeps its rows for splicing: the `per-nest` and `bucket` models.

use prony_graphql::error::{GraphqlError, PathSegment};

use crate::{
    file::raw::{Statement, Stored},
    read::watch::Watch,
    rows::write_rows::{Stop, is_present, write_column},
    statement::program::{LevelProgram, Piece},
};
use prony_sql::nest::{Key, KeyPart, LevelRows, response_too_large};

/// Rows between two looks at the clock; a power of two.
const ROWS_PER_CHECK: usize = 64;

/// Reads all rows; the statement is bound. `Err` is never [`Stop::Null`].
pub(crate) fn read(
    program: &LevelProgram,
    statement: &mut Statement,
    watch: &Watch,
    max_response_bytes: usize,
) -> Result<LevelRows, Stop> {
    let rows = read_rows(program, statement, watch, max_response_bytes);
    statement.reset();
    rows
}

fn read_rows(
    program: &LevelProgram,
    statement: &mut Statement,
    watch: &Watch,
    max_response_bytes: usize,
) -> Result<LevelRows, Stop> {
    let mut rows = LevelRows::new(program.child_keys.len());
    while statement.step()? {
        if rows.len().is_multiple_of(ROWS_PER_CHECK) && watch.expired() {
            return Err(Stop::Interrupted);
        }
        let Stored::Integer(parent) = statement.column(0) else { continue };
        rows.begin_row(parent as usize);
        write_pieces(&mut rows, &program.pieces, statement, &mut Vec::new());
        rows.end_segment();
        for columns in &program.child_keys {
            rows.push_key(key(statement, columns));
        }
        if rows.text_bytes() > max_response_bytes {
            return Err(Stop::Failed(response_too_large(max_response_bytes)));
        }
    }
    Ok(rows)
}

/// What cannot be written is null in the text; the noted error says whether the row lives on.
fn write_pieces<'p>(
    rows: &mut LevelRows,
    pieces: &'p [Piece],
    statement: &Statement,
    path: &mut Vec<&'p str>,
) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => rows.text_mut().extend_from_slice(text),
            Piece::Column(column) => {
                let value = statement.column(column.index);
                if let Err(error) = write_column(rows.text_mut(), column, value) {
                    path.push(&column.response_key);
                    rows.push_error(with_path(error, path), !column.nullable);
                    path.pop();
                    rows.text_mut().extend_from_slice(b"null");
                }
            }
            Piece::Inner(inner) if is_present(inner.presence, statement) => {
                path.push(&inner.response_key);
                write_pieces(rows, &inner.pieces, statement, path);
                path.pop();
            }
            Piece::Inner(_) => rows.text_mut().extend_from_slice(b"null"),
            Piece::Cut => rows.end_segment(),
            Piece::Nested(_) => unreachable!("levels are not nested in each other"),
        }
    }
}

fn with_path(mut error: GraphqlError, path: &[&str]) -> GraphqlError {
    error.path = path.iter().map(|&key| PathSegment::Key(key.into())).collect();
    error
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
