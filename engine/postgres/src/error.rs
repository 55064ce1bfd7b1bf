//! What PostgreSQL and the way to it can answer instead of rows, sorted by SQLSTATE (PostgreSQL manual,
//! appendix A) and never by message texts, and how clients are told.

use prony_graphql::{
    budget::TooLarge,
    error::{ErrorCode, GraphqlError},
};
pub(super) use prony_postgres_connect::describe;
use prony_postgres_connect::{ConnectError, ConnectErrorKind};
use prony_source::dialect::row_refused;
use prony_sql::{database::DISK_FULL, follow::SCHEMA_CHANGED};
use tokio_postgres::error::{DbError, Severity};

use crate::discover::DiscoverError;

const OUTCOME_UNKNOWN: &str = "the connection to the database broke while the change was being committed: whether it was made is unknown; \
                               look before you repeat it";
const TOO_COMPLEX: &str = "the field asks for more than one statement can hold; ask for less";
const BEYOND_GRANT: &str = "nothing was changed: the field needs more than the database is set to grant, such as temporary files \
                            (temp_file_limit); ask for less";
const EXHAUSTED: &str =
    "nothing was changed: the database has run out of memory or connections; try again in a moment";
const LOCK_TIMEOUT: &str =
    "another transaction held a lock for longer than lock_timeout_ms; nothing was changed, try again";
const OUT_OF_RANGE: &str =
    "a number is beyond the range of its type: one that is stored, summed up or compared with";
const BAD_STORED_VALUE: &str =
    "a value that is stored, or that a view computes, is none of the type that its column is served as";
const BAD_PATTERN: &str = "a pattern of `like` must not end with a single `\\`, which escapes what follows";

/// Why a source could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the PostgreSQL database {target}: {reason}")]
pub struct OpenError {
    pub kind: OpenErrorKind,
    /// Host, port and database; never a password.
    pub target: String,
    reason: String,
    #[source]
    cause: Option<ConnectError>,
}

/// What kept the database from being opened, to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenErrorKind {
    /// The URL or key=value text cannot be used.
    Config,
    /// Refused, unknown host, no route, or no answer in time.
    Unreachable,
    /// TLS cannot be had, or the server's certificate is not trusted.
    Tls,
    /// Wrong password, unknown role, or a role that may not connect.
    Rejected,
    NoSuchDatabase,
    /// Starting up, shutting down, or no connection left.
    NotReady,
    /// Connected, and then a statement of discovery failed.
    Discovery,
}

impl OpenError {
    pub(super) fn new(kind: OpenErrorKind, target: &str, reason: impl Into<String>) -> Self {
        Self { kind, target: target.into(), reason: reason.into(), cause: None }
    }

    pub(super) fn discovery(target: &str, cause: &DiscoverError) -> Self {
        Self::new(OpenErrorKind::Discovery, target, cause.described())
    }
}

impl From<ConnectError> for OpenError {
    fn from(error: ConnectError) -> Self {
        let kind = match error.kind {
            ConnectErrorKind::Config => OpenErrorKind::Config,
            ConnectErrorKind::Unreachable => OpenErrorKind::Unreachable,
            ConnectErrorKind::Tls => OpenErrorKind::Tls,
            ConnectErrorKind::Rejected => OpenErrorKind::Rejected,
            ConnectErrorKind::NoSuchDatabase => OpenErrorKind::NoSuchDatabase,
            ConnectErrorKind::NotReady => OpenErrorKind::NotReady,
        };
        Self { kind, target: error.target.clone(), reason: error.reason.clone(), cause: Some(error) }
    }
}

/// What became of a statement that gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// No connection, and none within the bound.
    Unavailable,
    /// More statements wait than the bound allows.
    Overloaded,
    /// The connection broke while the statement was under way.
    ConnectionLost,
    /// The connection broke after COMMIT was sent, or in a statement that commits by itself.
    OutcomeUnknown,
    /// It ran longer than `statement_timeout_ms`.
    Timeout,
    /// Others held a lock for longer than `lock_timeout_ms`.
    LockTimeout,
    /// Cancelled by somebody else, such as an administrator.
    Cancelled,
    /// Hit by a cancel request of ours that was meant for another statement of the connection.
    Bystander,
    /// The prepared statement no longer fits the tables.
    StalePlan,
    /// A table, column or type is not as the statement expects it.
    SchemaChanged,
    /// A value that the type of its column refuses.
    BadValue,
    /// A number in a write that is beyond the range of its column.
    BadNumber,
    /// A stored value that cannot be read as what its column is served as: no text was given that could be meant.
    BadStoredValue,
    /// A pattern of LIKE that ends with its escape.
    BadPattern,
    /// A number beyond the range of its type: a stored one, a sum, or one that is compared with.
    OutOfRange,
    /// More than PostgreSQL takes in one statement: columns, arguments, nesting.
    TooComplex,
    /// More than the database is set to grant, such as temporary files (`temp_file_limit`).
    BeyondGrant,
    /// No room on its disk; nothing was written.
    DiskFull,
    /// It has no memory left, or no connection; nothing was written.
    Exhausted,
    Constraint(Constraint),
    /// A function of the database has raised an exception.
    Raised,
    /// One that ran for a change: a trigger, as a rule.
    RefusedByTrigger,
    /// Lost against a concurrent transaction; nothing was written.
    Conflict,
    ReadOnly,
    /// The database's own permissions do not allow it.
    Denied,
    /// The written row does not pass what rows must pass.
    RowRefused,
    /// The answer is larger than it may be.
    TooLarge(TooLarge),
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraint {
    Unique,
    ForeignKey,
    NotNull,
    Check,
    Exclusion,
}

/// A failed statement; names of table, column and constraint where PostgreSQL gives them.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// The database's own text, for the log.
    pub(super) detail: Option<String>,
    pub(super) column: Option<String>,
}

impl From<TooLarge> for Failure {
    fn from(error: TooLarge) -> Self {
        let (TooLarge::Field { max_bytes } | TooLarge::Together { max_bytes, .. }) = error;
        Self::new(FailureKind::TooLarge(error), format!("more than {max_bytes} bytes"))
    }
}

impl Failure {
    pub(super) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: Some(detail.into()), column: None }
    }

    /// Whether a read may be tried once more on another connection.
    pub(super) fn is_worth_another_try(&self) -> bool {
        matches!(self.kind, FailureKind::ConnectionLost | FailureKind::Bystander | FailureKind::StalePlan)
    }

    /// For the client. `values` names the columns one of which is meant, for bad values and numbers.
    pub(super) fn to_graphql(&self, values: &[Box<str>], statement_timeout_ms: u32) -> GraphqlError {
        let (code, message) = self.client_message(values, statement_timeout_ms);
        let error = GraphqlError::new(code, message);
        match &self.detail {
            Some(detail) => error.with_detail(detail.clone()),
            None => error,
        }
    }

    /// What clients match on.
    pub(super) fn code(&self) -> ErrorCode {
        self.client_message(&[], 0).0
    }

    fn client_message(&self, values: &[Box<str>], statement_timeout_ms: u32) -> (ErrorCode, String) {
        let (code, message) = match self.kind {
            FailureKind::Unavailable => {
                (ErrorCode::SourceUnavailable, "the database cannot be reached; try again in a moment")
            }
            FailureKind::Overloaded => {
                (ErrorCode::Overloaded, "too many statements wait for the database; try again in a moment")
            }
            FailureKind::ConnectionLost => {
                (ErrorCode::SourceUnavailable, "the connection to the database broke; nothing was changed")
            }
            FailureKind::OutcomeUnknown => (ErrorCode::OutcomeUnknown, OUTCOME_UNKNOWN),
            FailureKind::Timeout => {
                let message = format!(
                    "the statement ran longer than {statement_timeout_ms} ms and was cancelled; ask for fewer \
                     rows, or raise statement_timeout_ms"
                );
                return (ErrorCode::Timeout, message);
            }
            FailureKind::LockTimeout => (ErrorCode::Timeout, LOCK_TIMEOUT),
            FailureKind::Cancelled | FailureKind::Bystander => {
                (ErrorCode::Timeout, "the statement was cancelled at the database")
            }
            FailureKind::OutOfRange => (ErrorCode::ValueOutOfRange, OUT_OF_RANGE),
            FailureKind::TooComplex => (ErrorCode::LimitExceeded, TOO_COMPLEX),
            FailureKind::BeyondGrant => (ErrorCode::LimitExceeded, BEYOND_GRANT),
            FailureKind::DiskFull => (ErrorCode::SourceUnavailable, DISK_FULL),
            FailureKind::Exhausted => (ErrorCode::Overloaded, EXHAUSTED),
            FailureKind::BadValue | FailureKind::BadNumber => {
                return (ErrorCode::BadUserInput, bad_value_message(values));
            }
            FailureKind::BadStoredValue => (ErrorCode::ValueOutOfRange, BAD_STORED_VALUE),
            FailureKind::BadPattern => (ErrorCode::BadUserInput, BAD_PATTERN),
            FailureKind::Constraint(constraint) => {
                return (ErrorCode::ConstraintViolation, self.constraint_message(constraint));
            }
            FailureKind::RefusedByTrigger => {
                (ErrorCode::ConstraintViolation, "a trigger of the database refuses the change")
            }
            FailureKind::Conflict => (
                ErrorCode::SourceFailed,
                "a concurrent transaction got in the way; nothing was changed, try again",
            ),
            FailureKind::ReadOnly => {
                (ErrorCode::SourceFailed, "the database is read-only; nothing was changed")
            }
            FailureKind::Denied => (
                ErrorCode::Forbidden,
                "the database does not allow this to your session; nothing was changed",
            ),
            FailureKind::RowRefused => {
                let error = row_refused();
                return (error.code, error.message);
            }
            FailureKind::TooLarge(TooLarge::Field { .. }) => {
                (ErrorCode::LimitExceeded, "the answer is larger than max_response_bytes; ask for fewer rows")
            }
            FailureKind::TooLarge(together) => {
                let error = GraphqlError::from(together);
                return (error.code, error.message);
            }
            FailureKind::StalePlan | FailureKind::SchemaChanged => (ErrorCode::SchemaChanged, SCHEMA_CHANGED),
            FailureKind::Raised | FailureKind::Failed => {
                (ErrorCode::SourceFailed, "the database refused the statement")
            }
        };
        (code, message.to_owned())
    }

    fn constraint_message(&self, constraint: Constraint) -> String {
        match (constraint, &self.column) {
            (Constraint::Unique, _) => "a row with this value of a unique key exists already".into(),
            (Constraint::ForeignKey, _) => {
                "the row refers to a row that does not exist, or another row refers to it".into()
            }
            (Constraint::NotNull, Some(column)) => format!("column {column} must not be null"),
            (Constraint::NotNull, None) => "a column that must not be null has no value".into(),
            (Constraint::Check | Constraint::Exclusion, _) => "a check of the table refuses the row".into(),
        }
    }
}

fn bad_value_message(values: &[Box<str>]) -> String {
    match values {
        [] => "a value does not fit the type of its column".into(),
        [only] => format!("the value of {only} does not fit the type of its column"),
        many => format!("the value of one of {} does not fit the type of its column", many.join(", ")),
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else {
            return Self::new(FailureKind::ConnectionLost, describe(&error));
        };
        Self {
            kind: kind_of(database),
            detail: Some(describe_database_error(database)),
            column: database.column().map(Into::into),
        }
    }
}

fn describe_database_error(error: &DbError) -> String {
    let mut text = format!("{} (SQLSTATE {})", error.message(), error.code().code());
    for (label, part) in
        [("detail", error.detail()), ("hint", error.hint()), ("constraint", error.constraint())]
    {
        if let Some(part) = part {
            text.push_str("; ");
            text.push_str(label);
            text.push_str(": ");
            text.push_str(part);
        }
    }
    text
}

/// Whether the server closes the connection behind this. What PANIC interrupts is found committed or not once it has started anew: also
/// where the code says that the disk is full, since that is the disk of the log, to which a commit may have been written before.
fn ends_session(error: &DbError) -> bool {
    match error.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        // Poolers leave out what is not translated.
        None => matches!(error.severity(), "FATAL" | "PANIC"),
    }
}

fn kind_of(error: &DbError) -> FailureKind {
    if ends_session(error) {
        return FailureKind::ConnectionLost;
    }
    let code = error.code().code();
    match code {
        "23505" => FailureKind::Constraint(Constraint::Unique),
        "23503" => FailureKind::Constraint(Constraint::ForeignKey),
        "23502" => FailureKind::Constraint(Constraint::NotNull),
        "23514" | "44000" => FailureKind::Constraint(Constraint::Check),
        "23P01" => FailureKind::Constraint(Constraint::Exclusion),
        "57014" => FailureKind::Cancelled,
        "55P03" => FailureKind::LockTimeout,
        // Feature not supported (cached plan must not change result type), no such prepared statement.
        "0A000" | "26000" => FailureKind::StalePlan,
        // Undefined schema, table, column, function or operator; what a value is assigned to or compared with has another type.
        "3F000" | "42P01" | "42703" | "42883" | "42804" | "42846" => FailureKind::SchemaChanged,
        "40001" | "40P01" => FailureKind::Conflict,
        // A syntax error or an invalid name without a place in the statement is that of a value: of `tsquery`, `jsonpath` and the like.
        "42601" | "42602" if error.position().is_none() => FailureKind::BadValue,
        "22003" => FailureKind::OutOfRange,
        "22025" => FailureKind::BadPattern,
        "25006" => FailureKind::ReadOnly,
        // Insufficient privilege: also what a policy of row-level security refuses to write.
        "42501" => FailureKind::Denied,
        "53100" => FailureKind::DiskFull,
        "53400" => FailureKind::BeyondGrant,
        // Admin shutdown, crash shutdown, database dropped, idle-session timeout.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => FailureKind::ConnectionLost,
        _ => match &code[..2] {
            "22" => FailureKind::BadValue,
            // Insufficient resources: out of memory, too many connections.
            "53" => FailureKind::Exhausted,
            "54" => FailureKind::TooComplex,
            "08" => FailureKind::ConnectionLost,
            class if is_of_functions(class) => FailureKind::Raised,
            _ => FailureKind::Failed,
        },
    }
}

/// Whether SQLSTATEs of a class are those of functions: of PL/pgSQL, such as `raise` and `assert`, or chosen by who wrote the function. The
/// standard leaves classes from `5` to `9` and from `I` on to others, and PostgreSQL has some of them; `45` is the other databases' own.
fn is_of_functions(class: &str) -> bool {
    const OF_POSTGRESQL: [&str; 7] = ["53", "54", "55", "57", "58", "72", "XX"];
    let is_free = class.starts_with(|first: char| matches!(first, '5'..='9' | 'I'..='Z'));
    class == "45" || (is_free && !OF_POSTGRESQL.contains(&class))
}
