//! An open database file: checked, its catalog read, shared by all cores.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use prony_source::{Metric, NotReady, Sample};
use prony_sql::{
    catalog::Catalog, changes::Feed, database::StatementPlan, follow::CatalogVersion,
    settings::RelationalSettings,
};

use crate::{
    OpenError,
    error::unavailable,
    file::{
        catalog_reader::{self, SqliteCatalogReader},
        open::{Opener, Writing, open},
    },
    read::{
        pool::{Pool, PoolState},
        reader::Reader,
        slot::{Role, Slot},
    },
    write::writer::{Mutations, Writer},
};

/// How long a lock of another program is waited for, where waiting holds up no core.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// An open database file: shared by all cores.
#[derive(Debug)]
pub struct SqliteDatabase {
    opener: Arc<Opener>,
    settings: Arc<RelationalSettings>,
    changes: Arc<Feed>,
    pool: Arc<Pool>,
    /// Of the catalog that was read when it was opened.
    version: CatalogVersion,
    /// The reason where nothing can be written.
    writer: Result<Writer, String>,
}

impl SqliteDatabase {
    /// Opens a file that exists, switches it to WAL where it can be written, and reads its catalog, which is the caller's: of
    /// many tables it is large.
    ///
    /// # Errors
    /// When the file is missing, locked, no database, or cannot be read.
    pub fn open(path: &Path, settings: &RelationalSettings) -> Result<(Self, Catalog), OpenError> {
        Self::open_waiting(path, settings, BUSY_TIMEOUT)
    }

    pub(crate) fn open_waiting(
        path: &Path,
        settings: &RelationalSettings,
        busy_timeout: Duration,
    ) -> Result<(Self, Catalog), OpenError> {
        let found = open(path, busy_timeout, Writing::of(settings))?;
        let (version, catalog) = catalog_reader::read_opened(&found.connection, path)
            .map_err(|source| OpenError::Discover { path: path.to_owned(), source })?;
        let (opener, settings) = (Arc::new(found.opener), Arc::new(settings.clone()));
        let threads = |source| OpenError::Threads { path: path.to_owned(), source };
        let changes = Feed::new();
        let pool = Arc::new(Pool::start(&opener, &settings).map_err(threads)?);
        let writer = match found.read_only {
            Some(reason) => {
                tracing::info!(path = %path.display(), reason, "the database is served for reading only");
                Err(reason)
            }
            None => Ok(Writer::start(&opener, &settings, &changes).map_err(threads)?),
        };
        Ok((Self { opener, settings, changes, pool, version, writer }, catalog))
    }

    /// What looks at its tables from now on, and the version of those that were found when it was opened.
    pub(crate) fn follow(&self) -> (SqliteCatalogReader, CatalogVersion) {
        (SqliteCatalogReader::new(&self.opener), self.version)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.opener.path
    }

    /// What mutations change.
    pub fn changes(&self) -> &Arc<Feed> {
        &self.changes
    }

    pub(crate) fn settings(&self) -> &RelationalSettings {
        &self.settings
    }

    /// For `/metrics`.
    pub(crate) fn metrics(&self, name: &str) -> Vec<Metric> {
        let PoolState { threads, busy, waiting, refused } = self.pool.state();
        let (waiting_writes, refused_writes) = self.writer.as_ref().map_or((0, 0), Writer::state);
        let sample = |value| vec![Sample::labelled("source", name, value)];
        vec![
            Metric::gauge(
                "prony_sqlite_readers",
                "Threads for reads of a database that would hold up a core",
                sample(threads as f64),
            ),
            Metric::gauge(
                "prony_sqlite_readers_busy",
                "Threads that are at such a read",
                sample(busy as f64),
            ),
            Metric::gauge(
                "prony_sqlite_waiting",
                "Reads of a database that wait for such a thread",
                sample(waiting as f64),
            ),
            Metric::gauge(
                "prony_sqlite_waiting_writes",
                "Requests whose mutations of a database are not committed yet",
                sample(waiting_writes as f64),
            ),
            Metric::counter(
                "prony_sqlite_overloads",
                "Reads and mutations that were refused because too many waited for a database's threads",
                sample((refused + refused_writes) as f64),
            ),
        ]
    }

    /// Opens this core's reader; call it on the core's thread.
    pub(crate) fn reader(&self) -> Reader {
        let slot = Slot::new(Arc::clone(&self.opener), Role::Inline);
        let database = self.path().display().to_string().into();
        Reader::new(slot, Arc::clone(&self.pool), database, Arc::clone(&self.settings))
    }

    /// Runs the mutations of one request in order and in one transaction: all or nothing. One result for each.
    pub(crate) async fn mutate(&self, mutations: Mutations, variables: Variables) -> Vec<FieldResult> {
        match &self.writer {
            Ok(writer) => writer.mutate(mutations, variables).await,
            Err(reason) => {
                let message = format!("the database is served for reading only: {reason}");
                mutations.all_failed(&unavailable(&message))
            }
        }
    }

    /// Reads something from the file, as [`Self::health`], where that is no matter of how much there is to do.
    pub(crate) async fn readiness(&self) -> Result<(), NotReady> {
        match self.pool.health().await {
            Err(error) if error.code != ErrorCode::Timeout && !self.pool.is_full() => {
                Err(NotReady::Unreachable)
            }
            _ => Ok(()),
        }
    }

    /// The directory of the file, where that is written.
    pub(crate) fn written_directory(&self) -> Option<PathBuf> {
        let directory = self.opener.path.parent().filter(|_| self.writer.is_ok())?;
        // Of a plain name it is empty.
        Some(if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory.to_owned() })
    }

    /// How SQLite would run a statement; its parameters have no values.
    pub(crate) async fn plan(&self, sql: &str) -> Result<StatementPlan, GraphqlError> {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        self.pool.run(move |session, settings| session.plan(&sql, settings)).await
    }

    /// Reads something from the file.
    ///
    /// # Errors
    /// What a request would get now: the file is gone, locked or damaged.
    pub async fn health(&self) -> Result<(), GraphqlError> {
        self.pool.health().await
    }
}
