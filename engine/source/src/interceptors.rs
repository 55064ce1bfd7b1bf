//! Interceptors: functions that an operator writes, which are called before and after fields that read or write the rows of a
//! table. What runs them is given to the server; here is what the two know of each other. Values go between them as JSON text.

use std::{
    fmt::{self, Debug},
    io,
    path::Path,
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use crate::config::{Faults, Origin};

/// What a field does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowOperation {
    /// Rows, or one row.
    Select,
    /// Their number, their sums and the like.
    Aggregate,
    /// Changes of rows, as subscriptions deliver them.
    Event,
    Insert,
    Update,
    Delete,
}

impl RowOperation {
    pub const ALL: [Self; 6] =
        [Self::Select, Self::Aggregate, Self::Event, Self::Insert, Self::Update, Self::Delete];

    /// Its key in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Aggregate => "aggregate",
            Self::Event => "event",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for RowOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What a field does, and with the rows of which table or type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAccess {
    /// As [`SourceSchema::table_name`](crate::SourceSchema::table_name) returns it.
    pub table: Box<str>,
    pub operation: RowOperation,
}

/// A query for one row: its one root field is the row or null, or a list of at most one.
#[derive(Debug, Clone, PartialEq)]
pub struct RowQuery {
    /// The same for all rows of a table or type.
    pub text: String,
    pub variables: Map<String, Json>,
}

/// A module among those that were loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

/// What a module has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterceptorModule {
    pub id: ModuleId,
    pub has_before: bool,
    pub has_after: bool,
}

/// Which function of a module is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterceptorPhase {
    Before,
    After,
}

impl InterceptorPhase {
    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Calls of one function, one for each value, with the same context.
#[derive(Debug, Clone)]
pub struct InterceptorCall {
    pub module: ModuleId,
    pub phase: InterceptorPhase,
    /// JSON text of a list: the first arguments.
    pub values: Vec<u8>,
    /// JSON text of an object: the second argument of all of them.
    pub context: Vec<u8>,
}

/// Why calls have no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterceptorError {
    /// The function refuses the operation, in words for the client.
    #[error("{message}")]
    Refused { message: String, code: Option<String> },
    /// Too many calls wait already.
    #[error("more than {limit} calls of interceptors wait")]
    Overloaded { limit: usize },
    /// The function has failed; the text is for the log and begins with the file and, where it is known, the line.
    #[error("{0}")]
    Failed(String),
}

/// What all functions may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterceptorLimits {
    /// Of one call, or of the calls for all lists of one place in a response.
    pub timeout: Duration,
    /// Of one module on one thread.
    pub memory_bytes: usize,
    /// How many calls run at a time.
    pub threads: usize,
    /// How many calls wait for a thread.
    pub queue: usize,
}

impl Default for InterceptorLimits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { timeout: Duration::from_millis(100), memory_bytes: 32 << 20, threads, queue: 256 }
    }
}

/// A module that is asked for: its path as it was written, and where that was.
#[derive(Debug, Clone)]
pub struct RequestedModule<'a> {
    pub path: &'a str,
    pub origin: &'a Origin,
}

/// What reads modules.
pub trait InterceptorLoader: Debug + Send + Sync {
    /// Reads and checks all modules, each of which has another path. Files are read by `read`, by their paths as they are
    /// written. All that is wrong goes to `faults`; none is returned then.
    fn load(
        &self,
        modules: &[RequestedModule<'_>],
        limits: &InterceptorLimits,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
        faults: &mut Faults,
    ) -> Option<Box<dyn Interceptors>>;
}

/// What a call comes to: JSON text of a list with as many values as there were.
pub type InterceptorResult = Result<Vec<u8>, InterceptorError>;

/// Modules that have been loaded together. Calls run on other threads than the caller's.
pub trait Interceptors: Debug + Send + Sync {
    /// The module of this path.
    fn module(&self, path: &str) -> Option<InterceptorModule>;

    /// Dropping the future drops the call where it has not begun.
    fn call(&self, call: InterceptorCall) -> BoxFuture<'static, InterceptorResult>;
}
