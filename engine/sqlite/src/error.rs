//! SQLite's errors as clients see them. Its own text goes to the log only; names of columns that a constraint
//! is about are in the schema anyway and help the client.

use prony_graphql::error::{ErrorCode, GraphqlError};
use rusqlite::ffi;

use crate::{file::raw::SqliteError, read::watch::Interruption};
use prony_source::dialect::PatternTooLong;
use prony_sql::{database::DISK_FULL, follow::SCHEMA_CHANGED, settings::RelationalSettings};

/// Why a program was not run to its end.
#[derive(Debug)]
pub(super) enum Stop {
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

impl From<GraphqlError> for Stop {
    fn from(error: GraphqlError) -> Self {
        Self::Failed(error)
    }
}

/// The extended result code of a `like` pattern that is refused; SQLite has none of its own for `SQLITE_TOOBIG`.
pub(super) const PATTERN_TOO_LONG: i32 = ffi::SQLITE_TOOBIG | 1 << 8;

pub(super) fn unavailable(message: &str) -> GraphqlError {
    GraphqlError::new(ErrorCode::SourceUnavailable, message)
}

/// What a constraint that refuses a row looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LooksAt {
    /// That row alone, or what a trigger says.
    Row,
    /// Rows of the same table that have the same key.
    Alike,
    /// Rows that are referred to, or refer to it.
    Referred,
}

impl LooksAt {
    /// None where no constraint is violated.
    pub(super) fn of(error: &SqliteError) -> Option<Self> {
        let is_constraint = error.code() == ffi::SQLITE_CONSTRAINT;
        is_constraint.then_some(match error.extended_code {
            ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_ROWID => Self::Alike,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Self::Referred,
            _ => Self::Row,
        })
    }
}

/// The error of a statement that SQLite refused or gave up.
pub(super) fn of_sqlite(error: &SqliteError) -> GraphqlError {
    of_statement(error, None)
}

/// The same for a client that knows these columns (`table.column`) and no others.
pub(super) fn of_restricted(error: &SqliteError, columns: &[Box<str>]) -> GraphqlError {
    of_statement(error, Some(columns))
}

fn of_statement(error: &SqliteError, known_columns: Option<&[Box<str>]>) -> GraphqlError {
    let (code, message) = match error.code() {
        ffi::SQLITE_CONSTRAINT => (ErrorCode::ConstraintViolation, constraint(error, known_columns)),
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
            (ErrorCode::SourceUnavailable, "the database is locked by another program: try again".to_owned())
        }
        ffi::SQLITE_READONLY => (
            ErrorCode::SourceFailed,
            "the database can only be read: its file or disk is read-only".to_owned(),
        ),
        ffi::SQLITE_FULL => (ErrorCode::SourceUnavailable, DISK_FULL.to_owned()),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => {
            (ErrorCode::SourceFailed, "the database file is damaged or no longer a database".to_owned())
        }
        ffi::SQLITE_IOERR if error.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
            (ErrorCode::SourceUnavailable, DISK_FULL.to_owned())
        }
        ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN => {
            (ErrorCode::SourceUnavailable, "the database file cannot be read".to_owned())
        }
        ffi::SQLITE_TOOBIG if error.extended_code == PATTERN_TOO_LONG => {
            (ErrorCode::LimitExceeded, PatternTooLong.to_string())
        }
        ffi::SQLITE_TOOBIG => {
            (ErrorCode::LimitExceeded, "a value or statement is larger than SQLite allows".to_owned())
        }
        ffi::SQLITE_ERROR if is_too_complex(&error.text) => (
            ErrorCode::LimitExceeded,
            "the field asks for more than one statement can hold; ask for less".to_owned(),
        ),
        // What is wanted of a rowid (<https://sqlite.org/rescode.html#mismatch>): `Int` and `BigInt` leave null alone.
        ffi::SQLITE_MISMATCH => (
            ErrorCode::ConstraintViolation,
            "a primary key that is the number of the row must be a whole number (not null)".to_owned(),
        ),
        ffi::SQLITE_ERROR | ffi::SQLITE_SCHEMA if is_unknown_name(&error.text) => {
            (ErrorCode::SchemaChanged, SCHEMA_CHANGED.to_owned())
        }
        _ => (ErrorCode::SourceFailed, "the database refused the statement".to_owned()),
    };
    GraphqlError::new(code, message).with_detail(error.to_string())
}

/// Bounds of the parser, which have no code of their own.
fn is_too_complex(text: &str) -> bool {
    text.starts_with("Expression tree is too large")
        || text.starts_with("too many SQL variables")
        || text.contains("parser stack overflow")
}

/// SQLite has no code of its own for names that are gone; only the wording of a message hangs on this.
fn is_unknown_name(text: &str) -> bool {
    text.starts_with("no such") || text.contains("has no column")
}

fn constraint(error: &SqliteError, known_columns: Option<&[Box<str>]>) -> String {
    let about =
        error.text.split_once("failed: ").map(|(_, columns)| columns).filter(|_| names_columns(error));
    let is_known =
        |column: &str| known_columns.is_none_or(|known| known.iter().any(|known| **known == *column));
    let about = about.filter(|columns| columns.split(", ").all(is_known));
    let columns = about.map(|columns| {
        columns.split(", ").map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ")
    });
    let columns = columns.as_deref();
    match error.extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE => {
            format!("another row has the same value in {}", columns.unwrap_or("a unique column"))
        }
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            format!("another row has the same primary key ({})", columns.unwrap_or("rowid"))
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            format!("{} must have a value (not null)", columns.unwrap_or("a column"))
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
            "a foreign key does not fit: the row it refers to is missing, or other rows refer to this one"
                .into()
        }
        ffi::SQLITE_CONSTRAINT_CHECK => "a check constraint refuses the values".into(),
        ffi::SQLITE_CONSTRAINT_DATATYPE => "a value does not fit the type of its column".into(),
        ffi::SQLITE_CONSTRAINT_TRIGGER => "a trigger of the database refuses the change".into(),
        _ => "a constraint of the database refuses the change".into(),
    }
}

/// Whether the text ends in names of columns, and not in a constraint's or index's name or expression.
fn names_columns(error: &SqliteError) -> bool {
    let code = error.extended_code;
    [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_NOTNULL]
        .contains(&code)
        && !error.text.contains("index '")
}

/// The error of a statement that the watch ended.
pub(super) fn of_interruption(reason: Interruption, settings: &RelationalSettings) -> GraphqlError {
    match reason {
        Interruption::Timeout => GraphqlError::new(
            ErrorCode::Timeout,
            format!(
                "the statement took longer than {} ms (statement_timeout_ms) and was cancelled: ask for fewer \
                 rows, or filter by an indexed column",
                settings.common.statement_timeout_ms
            ),
        ),
        Interruption::Cancelled | Interruption::Budget => {
            GraphqlError::new(ErrorCode::SourceUnavailable, "the statement was cancelled")
        }
    }
}
