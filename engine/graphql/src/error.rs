//! Errors as GraphQL clients see them (GraphQL specification, section 7.1.2), and what stays in the log.

use std::fmt;

use serde_json::{Map, Value as Json};

/// A place in the request's text; both count from 1 (GraphQL specification, section 7.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// One step of a response path: a response key or a list index that counts from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    Key(Box<str>),
    Index(usize),
}

/// One line a code, so that none is left out of the list.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)*) => {
        /// What went wrong, to match on; [`ErrorCode::as_str`] is what `extensions.code` carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All that there are; `docs/errors.md` tells of each.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The upper-case word that clients match on.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

error_codes! {
    /// The text is no GraphQL document.
    ParseFailed => "GRAPHQL_PARSE_FAILED",
    /// The document does not fit the schema.
    ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
    /// Variables or arguments have values that their types or limits refuse.
    BadUserInput => "BAD_USER_INPUT",
    /// A limit of the server was reached (depth, aliases, tokens, …).
    LimitExceeded => "LIMIT_EXCEEDED",
    /// No persisted document has the name that the request gives.
    DocumentNotFound => "PERSISTED_QUERY_NOT_FOUND",
    /// Documents cannot be registered by clients here.
    DocumentsNotSupported => "PERSISTED_QUERY_NOT_SUPPORTED",
    /// The source cannot be reached; another try may succeed.
    SourceUnavailable => "SOURCE_UNAVAILABLE",
    /// Whether a mutation was made is not known to the server either: look before it is repeated.
    OutcomeUnknown => "OUTCOME_UNKNOWN",
    /// The source is asked for more than it has room for; another try later may succeed.
    Overloaded => "OVERLOADED",
    /// The statement ran out of time and was cancelled.
    Timeout => "TIMEOUT",
    /// A constraint of the database refused a mutation (unique, foreign key, not null, check).
    ConstraintViolation => "CONSTRAINT_VIOLATION",
    /// It is not known who asks.
    Unauthenticated => "UNAUTHENTICATED",
    /// Who asks may not do it.
    Forbidden => "FORBIDDEN",
    /// Who asks has reached a limit of requests.
    TooManyRequests => "TOO_MANY_REQUESTS",
    /// A stored value does not fit its GraphQL type.
    ValueOutOfRange => "VALUE_OUT_OF_RANGE",
    /// Events came faster than they could be told, or nobody knows which there were; the subscription goes on without them.
    EventsLost => "EVENTS_LOST",
    /// What the subscription was about is gone; nothing more comes.
    SubscriptionEnded => "SUBSCRIPTION_ENDED",
    /// A function of the operator's that is called around the field has failed; what it is about is in the log only.
    InterceptorFailed => "INTERCEPTOR_FAILED",
    /// The tables are not as the operation expects them; the schema of now may have another.
    SchemaChanged => "SCHEMA_CHANGED",
    /// Anything else the source reported; details are in the log only.
    SourceFailed => "SOURCE_FAILED",
}

/// An error of a request or of one field of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphqlError {
    /// For the client: names the thing, the value and the limit; no text of a database.
    pub message: String,
    pub code: ErrorCode,
    /// Empty where the error has no place in the request's text.
    pub positions: Vec<Position>,
    /// From the root's response key downwards; empty for errors of the whole request.
    pub path: Vec<PathSegment>,
    /// For the log (and for the client only when configured): the source's own text.
    pub detail: Option<String>,
    /// For clients: what the author of a resolver adds beside the code or, as `code`, in its place, and what
    /// [`GraphqlError::refer`] adds. Boxed, because most errors have none.
    pub extensions: Option<Box<Map<String, Json>>>,
}

impl GraphqlError {
    /// An error without place, path and detail.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code,
            positions: Vec::new(),
            path: Vec::new(),
            detail: None,
            extensions: None,
        }
    }

    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.positions.push(position);
        self
    }

    #[must_use]
    pub fn with_path(mut self, path: Vec<PathSegment>) -> Self {
        self.path = path;
        self
    }

    /// As an error of a root field: its path, which starts below it so far, and its place where it has none of its own.
    #[must_use]
    pub fn of_field(mut self, response_key: &str, position: Position) -> Self {
        self.path.insert(0, PathSegment::Key(response_key.into()));
        if self.positions.is_empty() {
            self.positions.push(position);
        }
        self
    }

    /// Joins the client's error and the log's line; the server does so when there is a `detail`.
    pub fn refer(&mut self, reference: &str) {
        self.extensions.get_or_insert_default().insert("reference".into(), reference.into());
    }

    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl fmt::Display for GraphqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for GraphqlError {}

/// A text of the client, cut for a message.
pub(crate) fn abridged(text: &str) -> &str {
    const MAX_CHARACTERS: usize = 60;
    text.char_indices().nth(MAX_CHARACTERS).map_or(text, |(end, _)| &text[..end])
}
