//! All that a run of the experiment found, as it is written to `relational.json`.

use serde::Serialize;

use super::{capacity::Capacity, dataset::DatasetPlan, resolvers::ResolverRow, study::RelationalPace};
use crate::{frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct RelationalOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub database: DatabaseKind,
    pub dataset: DatasetPlan,
    pub pace: RelationalPace,
    /// The resolver model of the searches.
    pub resolver: String,
    /// Users were k6 scripts.
    pub script: bool,
    pub assignments: Vec<Assignment>,
    /// Queries by processors, limit, nests, and the mutation.
    pub cells: Vec<Capacity>,
    pub resolvers: Vec<ResolverRow>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}

/// Which database the engine served from. The address of a server is not kept: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    Sqlite,
    Postgres,
}

impl DatabaseKind {
    pub fn label(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite inside the engine",
            Self::Postgres => "PostgreSQL",
        }
    }
}
