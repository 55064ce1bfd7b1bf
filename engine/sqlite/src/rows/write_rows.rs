//! Steps the statements of a root field and writes their rows as JSON.

use std::sync::atomic::Ordering::Relaxed;

use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError, PathSegment},
    response::FieldResult,
};

use crate::{
    error::Stop,
    file::raw::{SqliteError, Statement, Stored},
    read::watch::Watch,
    rows::value,
    statement::program::{ColumnPiece, Inner, Nested, Node, Piece, Presence, RowsProgram},
};
use prony_sql::{
    plan::RowsKind,
    writer::{FieldWriter, Unwritten},
};

/// Rows between two looks at the clock; a power of two.
const ROWS_PER_CHECK: u32 = 64;

/// Bytes that an answer is given before it needs them.
const MAX_CAPACITY: usize = 64 << 10;

type Written = Result<(), Unwritten<Stop>>;

/// Writes rows of statements, whose texts are put together of pieces.
pub(crate) struct RowWriter<'p> {
    pub(crate) field: FieldWriter<'p>,
    pub(crate) cuts: Vec<Cut>,
    rows: u32,
    watch: &'p Watch,
}

/// Where the text of the current row is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Bytes of the text before it.
    pub(crate) bytes: usize,
    /// Errors of the row before it.
    pub(crate) errors: usize,
}

/// Writes a root field; its statements are bound.
pub(crate) fn write(
    program: &RowsProgram,
    statements: &mut [Statement],
    watch: &Watch,
    meter: ResponseMeter,
) -> Result<FieldResult, Stop> {
    let mut writer = RowWriter::new(capacity(program), watch, meter);
    let written = writer.node(&program.root, statements);
    if written.is_ok() {
        program.answer_bytes.store(writer.field.out.len(), Relaxed);
    }
    writer.field.finish(written)
}

/// Room for an answer like the last one, within bounds.
fn capacity(program: &RowsProgram) -> usize {
    let last = program.answer_bytes.load(Relaxed);
    (last + last / 8).clamp(256, MAX_CAPACITY)
}

/// Writes the object of one row, such as the key of a created one.
pub(crate) fn write_object(
    pieces: &[Piece],
    statement: &Statement,
    watch: &Watch,
) -> Result<FieldResult, Stop> {
    let mut writer = RowWriter::new(0, watch, ResponseMeter::new(usize::MAX, None));
    let written = writer.pieces(pieces, statement, &mut []);
    writer.field.finish(written)
}

impl<'p> RowWriter<'p> {
    pub(crate) fn new(capacity_bytes: usize, watch: &'p Watch, meter: ResponseMeter) -> Self {
        let field = FieldWriter::new(capacity_bytes, meter);
        Self { field, cuts: Vec::new(), rows: 0, watch }
    }

    /// The value of a node, whose own statement is the first.
    fn node(&mut self, node: &'p Node, statements: &mut [Statement]) -> Written {
        let (own, below) = statements.split_first_mut().expect("each node has a statement");
        let written = match node.kind {
            RowsKind::List => self.list(node, own, below),
            RowsKind::One => self.first_row(node, own, below),
            RowsKind::Aggregate => self.only_row(node, own, below),
        };
        own.reset();
        written
    }

    fn list(&mut self, node: &'p Node, own: &mut Statement, below: &mut [Statement]) -> Written {
        self.field.out.push(b'[');
        let mut index = 0;
        while step(own)? {
            if index > 0 {
                self.field.out.push(b',');
            }
            self.field.enter_item(index);
            self.row(&node.pieces, own, below)?;
            self.field.leave();
            index += 1;
        }
        self.field.out.push(b']');
        Ok(())
    }

    fn first_row(&mut self, node: &'p Node, own: &mut Statement, below: &mut [Statement]) -> Written {
        if !step(own)? {
            self.field.out.extend_from_slice(b"null");
            return Ok(());
        }
        let start = self.field.start();
        let written = self.row(&node.pieces, own, below);
        self.field.nullable(start, written)
    }

    fn only_row(&mut self, node: &'p Node, own: &mut Statement, below: &mut [Statement]) -> Written {
        if step(own)? {
            return self.row(&node.pieces, own, below);
        }
        let text = "an aggregate without GROUP BY gave no row".to_owned();
        let error = SqliteError { extended_code: rusqlite::ffi::SQLITE_ERROR, text };
        Err(Stop::Sqlite(error).into())
    }

    /// What stands for a statement's current row.
    pub(crate) fn row(&mut self, pieces: &'p [Piece], own: &Statement, below: &mut [Statement]) -> Written {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_CHECK) && self.watch.expired() {
            return Err(Stop::Interrupted.into());
        }
        self.pieces(pieces, own, below)?;
        Ok(self.field.check_size().map_err(Stop::Failed)?)
    }

    fn pieces(&mut self, pieces: &'p [Piece], own: &Statement, below: &mut [Statement]) -> Written {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.field.out.extend_from_slice(text),
                Piece::Column(column) => self.column(column, own.column(column.index))?,
                Piece::Inner(inner) => self.inner(inner, own, below)?,
                Piece::Nested(nested) => self.nested(nested, own, &mut below[nested.first_statement..])?,
                Piece::Cut => {
                    let cut = Cut { bytes: self.field.out.len(), errors: self.field.error_count() };
                    self.cuts.push(cut);
                }
            }
        }
        Ok(())
    }

    fn column(&mut self, column: &'p ColumnPiece, value: Stored<'_>) -> Written {
        match write_column(&mut self.field.out, column, value) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.field.note(error.with_path(vec![PathSegment::Key(column.response_key.clone())]));
                if !column.nullable {
                    return Err(Unwritten::Null);
                }
                self.field.out.extend_from_slice(b"null");
                Ok(())
            }
        }
    }

    fn inner(&mut self, inner: &'p Inner, own: &Statement, below: &mut [Statement]) -> Written {
        if !is_present(inner.presence, own) {
            self.field.out.extend_from_slice(b"null");
            return Ok(());
        }
        self.field.enter_member(&inner.response_key);
        let start = self.field.start();
        let written = self.pieces(&inner.pieces, own, below);
        self.field.nullable(start, written)?;
        self.field.leave();
        Ok(())
    }

    fn nested(&mut self, nested: &'p Nested, own: &Statement, below: &mut [Statement]) -> Written {
        let node = &nested.node;
        for &(number, column) in &node.links {
            if node.kind != RowsKind::Aggregate && own.is_null(column) {
                let nothing: &[u8] = if node.kind == RowsKind::List { b"[]" } else { b"null" };
                self.field.out.extend_from_slice(nothing);
                return Ok(());
            }
            below[0].bind_column(number, own, column).map_err(Stop::Sqlite)?;
        }
        self.field.enter_member(&nested.response_key);
        self.node(node, below)?;
        self.field.leave();
        Ok(())
    }
}

fn step(statement: &mut Statement) -> Result<bool, Stop> {
    Ok(statement.step()?)
}

fn is_present(presence: Presence, own: &Statement) -> bool {
    match presence {
        Presence::NotNull(column) => !own.is_null(column),
        Presence::Always => true,
    }
}

/// A column's JSON; the error has no path yet, and nothing is written then.
fn write_column(out: &mut Vec<u8>, column: &ColumnPiece, value: Stored<'_>) -> Result<(), GraphqlError> {
    let problem = match value {
        Stored::Null if column.nullable => {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        Stored::Null => "is null although the schema says that it never is".to_owned(),
        value => match value::write(out, &column.kind, value) {
            Ok(()) => return Ok(()),
            Err(value::Misfit(problem)) => problem,
        },
    };
    let message = format!("`{}` {problem}", column.name);
    Err(GraphqlError::new(ErrorCode::ValueOutOfRange, message).at(column.position))
}
