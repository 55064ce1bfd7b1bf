//! A temporary PostgreSQL from the machine's own binaries: one shared cluster per test process with a fresh
//! database per test, and clusters of their own for tests that stop or restart the server.

mod binaries;
mod cluster;
mod pgbouncer;
mod sql;
mod tls;

use std::{
    io,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

pub use cluster::Cluster;
pub use pgbouncer::PgBouncer;
use thiserror::Error;
pub use tls::ClusterTls;

/// Why there is no temporary PostgreSQL.
#[derive(Debug, Error)]
pub enum PostgresError {
    #[error(
        "no PostgreSQL server binaries in {searched}; `apt-get install postgresql` brings them \
         (`cargo xtask test` does that by itself when it may), or set PRONY_PG_BIN to their directory"
    )]
    BinariesMissing { searched: String },
    #[error("cannot {action}: {source}")]
    Io { action: String, source: io::Error },
    #[error("{program} failed:\n{output}")]
    ProgramFailed { program: &'static str, output: String },
    #[error("PostgreSQL was not ready after {seconds} s; its log:\n{log}")]
    NotReady { seconds: u64, log: String },
    #[error("statement failed at database {database}: {message}")]
    StatementFailed { database: String, message: String },
}

/// Attaches what was being done to an input or output error.
fn io_error(action: impl Into<String>) -> impl FnOnce(io::Error) -> PostgresError {
    let action = action.into();
    move |source| PostgresError::Io { action, source }
}

/// A fresh database of the shared cluster. It stays until the test process ends.
#[derive(Debug)]
pub struct TestDatabase {
    cluster: &'static Cluster,
    name: String,
}

impl TestDatabase {
    /// # Panics
    /// With instructions when PostgreSQL is missing, with the server's log when it does not start.
    pub fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let cluster = shared_cluster();
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        cluster
            .execute("postgres", &format!("CREATE DATABASE {name}"))
            .unwrap_or_else(|error| panic!("{error}"));
        Self { cluster, name }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `postgres://postgres@127.0.0.1:PORT/NAME`.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// The cluster that all tests of this process share: read its log, but do not stop it.
    pub fn cluster(&self) -> &'static Cluster {
        self.cluster
    }

    /// Runs one or more statements, from inside or outside an async runtime.
    ///
    /// # Panics
    /// With PostgreSQL's message when a statement fails.
    pub fn execute(&self, statements: &str) {
        self.cluster.execute(&self.name, statements).unwrap_or_else(|error| panic!("{error}"));
    }

    /// The rows of a query as text, NULL as `None`.
    ///
    /// # Panics
    /// With PostgreSQL's message when the query fails.
    pub fn query(&self, query: &str) -> Vec<Vec<Option<String>>> {
        self.cluster.query(&self.name, query).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn shared_cluster() -> &'static Cluster {
    // Statics are never dropped: the cluster's watchdog removes it when the process ends.
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(|| Cluster::start_new().unwrap_or_else(|error| panic!("{error}")))
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;

    fn gone(path: &Path) -> bool {
        (0..200).any(|_| {
            if !path.exists() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
            false
        })
    }

    #[test]
    fn databases_are_fresh_and_apart() {
        let one = TestDatabase::create();
        let two = TestDatabase::create();
        one.execute("CREATE TABLE things (id int); INSERT INTO things VALUES (1), (NULL)");
        two.execute("CREATE TABLE things (id int)");
        assert_eq!(one.query("SELECT id FROM things ORDER BY id"), [[Some("1".to_owned())], [None]]);
        assert!(two.query("SELECT id FROM things").is_empty());
    }

    #[tokio::test]
    async fn works_inside_a_runtime() {
        let database = TestDatabase::create();
        let (client, connection) =
            tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let row = client.query_one("SELECT current_database()::text", &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), database.name());
    }

    #[test]
    fn a_cluster_of_its_own_stops_and_returns_with_its_data_on_its_port() {
        let cluster = Cluster::start_new().unwrap();
        cluster.execute("postgres", "CREATE TABLE kept AS SELECT 7 AS value").unwrap();
        let port = cluster.port();
        cluster.stop().unwrap();
        assert!(cluster.execute("postgres", "SELECT 1").is_err());
        cluster.start().unwrap();
        cluster.restart().unwrap();
        cluster.kill().unwrap();
        cluster.start().unwrap();
        assert_eq!(cluster.port(), port);
        assert_eq!(cluster.query("postgres", "SELECT value FROM kept").unwrap(), [[Some("7".to_owned())]]);
    }

    #[test]
    fn nothing_is_left_when_a_test_panics() {
        let (send, receive) = std::sync::mpsc::channel();
        let outcome = std::thread::spawn(move || {
            let cluster = Cluster::start_new().unwrap();
            send.send((cluster.directory().to_path_buf(), cluster.url("postgres"))).unwrap();
            panic!("a test failed");
        })
        .join();
        assert!(outcome.is_err());
        let (directory, url) = receive.recv().unwrap();
        assert!(gone(&directory));
        assert!(sql::execute(&url, "postgres", "SELECT 1").is_err());
    }

    #[test]
    fn failed_statements_say_what_postgresql_said() {
        let cluster = TestDatabase::create().cluster();
        let error = cluster.execute("postgres", "SELECT * FROM nowhere").unwrap_err();
        assert_eq!(
            error.to_string(),
            "statement failed at database postgres: relation \"nowhere\" does not exist"
        );
    }
}
