//! Steps the statements of a root field and writes their rows as JSON: the `subquery` model. Nulls rise to
//! the nearest nullable member (GraphQL specification, section 6.4.4).

use std::sync::atomic::Ordering::Relaxed;

use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment},
    response::FieldResult,
};

use crate::{
    file::raw::{SqliteError, Statement, Stored},
    read::watch::Watch,
    rows::value,
    statement::program::{ColumnPiece, Inner, Nested, Node, NodeKind, Piece, Presence, RowsProgram},
};
use prony_sql::nest::response_too_large;

/// Errors beyond this many say nothing new.
const MAX_ERRORS: usize = 100;

/// Rows between two looks at the clock; a power of two.
const ROWS_PER_CHECK: u32 = 64;

/// Bytes that an answer is given before it needs them.
const MAX_CAPACITY: usize = 64 << 10;

/// Why no value could be written.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A non-null value is missing; the error is noted.
    Null,
    /// The field fails as a whole.
    Failed(GraphqlError),
    /// SQLite reports an error; an interruption is explained by the watch.
    Sqlite(SqliteError),
    /// The watch has expired between rows.
    Interrupted,
}

impl From<SqliteError> for Stop {
    fn from(error: SqliteError) -> Self {
        Self::Sqlite(error)
    }
}

enum Frame<'p> {
    Key(&'p str),
    Index(usize),
}

struct RowWriter<'p> {
    out: Vec<u8>,
    path: Vec<Frame<'p>>,
    errors: Vec<GraphqlError>,
    rows: u32,
    watch: &'p Watch,
    max_response_bytes: usize,
}

/// Writes a root field; its statements are bound. `Err` is never [`Stop::Null`].
pub(crate) fn write(
    program: &RowsProgram,
    response_key: &str,
    statements: &mut [Statement],
    watch: &Watch,
    max_response_bytes: usize,
) -> Result<FieldResult, Stop> {
    let mut writer = RowWriter {
        out: Vec::with_capacity(capacity(program)),
        path: vec![Frame::Key(response_key)],
        errors: Vec::new(),
        rows: 0,
        watch,
        max_response_bytes,
    };
    match writer.node(&program.root, statements) {
        Ok(()) => {
            program.answer_bytes.store(writer.out.len(), Relaxed);
            Ok(FieldResult { data: Some(writer.out), errors: writer.errors })
        }
        Err(Stop::Null) => Ok(FieldResult { data: None, errors: writer.errors }),
        Err(stop) => Err(stop),
    }
}

/// Room for an answer like the last one, within bounds.
fn capacity(program: &RowsProgram) -> usize {
    let last = program.answer_bytes.load(Relaxed);
    (last + last / 8).clamp(256, MAX_CAPACITY)
}

/// Writes the object of one row, such as the key of a created one.
pub(crate) fn write_object(
    pieces: &[Piece],
    response_key: &str,
    statement: &Statement,
    watch: &Watch,
) -> Result<FieldResult, Stop> {
    let mut writer = RowWriter {
        out: Vec::new(),
        path: vec![Frame::Key(response_key)],
        errors: Vec::new(),
        rows: 0,
        watch,
        max_response_bytes: usize::MAX,
    };
    match writer.pieces(pieces, statement, &mut []) {
        Ok(()) => Ok(FieldResult { data: Some(writer.out), errors: writer.errors }),
        Err(Stop::Null) => Ok(FieldResult { data: None, errors: writer.errors }),
        Err(stop) => Err(stop),
    }
}

impl<'p> RowWriter<'p> {
    /// The value of a node, whose own statement is the first.
    fn node(&mut self, node: &'p Node, statements: &mut [Statement]) -> Result<(), Stop> {
        let (own, below) = statements.split_first_mut().expect("each node has a statement");
        let written = match node.kind {
            NodeKind::Many => self.rows(node, own, below),
            NodeKind::One => self.first_row(node, own, below),
            NodeKind::Aggregate => self.only_row(node, own, below),
        };
        own.reset();
        written
    }

    fn rows(&mut self, node: &'p Node, own: &mut Statement, below: &mut [Statement]) -> Result<(), Stop> {
        self.out.push(b'[');
        let mut index = 0;
        while own.step()? {
            if index > 0 {
                self.out.push(b',');
            }
            self.path.push(Frame::Index(index));
            self.row(node, own, below)?;
            self.path.pop();
            index += 1;
        }
        self.out.push(b']');
        Ok(())
    }

    fn first_row(
        &mut self,
        node: &'p Node,
        own: &mut Statement,
        below: &mut [Statement],
    ) -> Result<(), Stop> {
        if !own.step()? {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        self.or_null(|writer| writer.row(node, own, below))
    }

    fn only_row(&mut self, node: &'p Node, own: &mut Statement, below: &mut [Statement]) -> Result<(), Stop> {
        if own.step()? {
            return self.row(node, own, below);
        }
        let text = "an aggregate without GROUP BY gave no row".to_owned();
        Err(Stop::Sqlite(SqliteError { extended_code: rusqlite::ffi::SQLITE_ERROR, text }))
    }

    fn row(&mut self, node: &'p Node, own: &Statement, below: &mut [Statement]) -> Result<(), Stop> {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_CHECK) && self.watch.expired() {
            return Err(Stop::Interrupted);
        }
        self.pieces(&node.pieces, own, below)?;
        if self.out.len() > self.max_response_bytes {
            return Err(Stop::Failed(response_too_large(self.max_response_bytes)));
        }
        Ok(())
    }

    fn pieces(&mut self, pieces: &'p [Piece], own: &Statement, below: &mut [Statement]) -> Result<(), Stop> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.out.extend_from_slice(text),
                Piece::Column(column) => self.column(column, own.column(column.index))?,
                Piece::Inner(inner) => self.inner(inner, own, below)?,
                Piece::Nested(nested) => self.nested(nested, own, &mut below[nested.first_statement..])?,
                Piece::Cut => unreachable!("only levels of the nest models are cut"),
            }
        }
        Ok(())
    }

    fn column(&mut self, column: &'p ColumnPiece, value: Stored<'_>) -> Result<(), Stop> {
        match write_column(&mut self.out, column, value) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.note(error, &column.response_key);
                if !column.nullable {
                    return Err(Stop::Null);
                }
                self.out.extend_from_slice(b"null");
                Ok(())
            }
        }
    }

    fn inner(&mut self, inner: &'p Inner, own: &Statement, below: &mut [Statement]) -> Result<(), Stop> {
        if !is_present(inner.presence, own) {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        self.path.push(Frame::Key(&inner.response_key));
        self.or_null(|writer| writer.pieces(&inner.pieces, own, below))?;
        self.path.pop();
        Ok(())
    }

    fn nested(&mut self, nested: &'p Nested, own: &Statement, below: &mut [Statement]) -> Result<(), Stop> {
        let node = &nested.node;
        for &(number, column) in &node.links {
            if node.kind != NodeKind::Aggregate && own.is_null(column) {
                self.out.extend_from_slice(if node.kind == NodeKind::Many { b"[]" } else { b"null" });
                return Ok(());
            }
            below[0].bind_column(number, own, column)?;
        }
        self.path.push(Frame::Key(&nested.response_key));
        self.node(node, below)?;
        self.path.pop();
        Ok(())
    }

    /// Writes a nullable value: null where a member that must not be null is missing.
    fn or_null(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        let (start, depth) = (self.out.len(), self.path.len());
        match write(self) {
            Err(Stop::Null) => {
                self.out.truncate(start);
                self.path.truncate(depth);
                self.out.extend_from_slice(b"null");
                Ok(())
            }
            other => other,
        }
    }

    fn note(&mut self, mut error: GraphqlError, response_key: &str) {
        if self.errors.len() == MAX_ERRORS {
            return;
        }
        let frames = self.path.iter().map(|frame| match frame {
            Frame::Key(key) => PathSegment::Key((*key).into()),
            Frame::Index(index) => PathSegment::Index(*index),
        });
        error.path = frames.chain([PathSegment::Key(response_key.into())]).collect();
        self.errors.push(error);
    }
}

pub(crate) fn is_present(presence: Presence, own: &Statement) -> bool {
    match presence {
        Presence::NotNull(column) => !own.is_null(column),
        Presence::Positive(column) => matches!(own.column(column), Stored::Integer(count) if count > 0),
    }
}

/// A column's JSON; the error has no path yet, and nothing is written then.
pub(crate) fn write_column(
    out: &mut Vec<u8>,
    column: &ColumnPiece,
    value: Stored<'_>,
) -> Result<(), GraphqlError> {
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
