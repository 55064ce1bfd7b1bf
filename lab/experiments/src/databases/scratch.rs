//! A database of its own for each row of a table, so that none finds what another has left; dropped when it goes.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prony_observe::without_password;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage, config::Host};

use super::error::DatabaseError;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const PRODUCT: &str = "PostgreSQL";
/// Numbers those of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Dropped when it goes, with what is in it.
#[derive(Debug)]
pub(crate) struct ScratchDatabase {
    server_url: String,
    name: String,
    url: String,
}

impl ScratchDatabase {
    /// On the server of `server_url`, with `pg_stat_statements` where it can have that.
    pub(crate) fn create(server_url: &str) -> Result<Self, DatabaseError> {
        let name = fresh_name("prony_lab");
        sql(PRODUCT, server_url, &format!("create database {name}"))?;
        let url = with_database(server_url, &name);
        let database = Self { server_url: server_url.to_owned(), name, url };
        // Without it the observer says that statements are not counted, and why.
        let _ = sql(PRODUCT, &database.url, "create extension if not exists pg_stat_statements");
        Ok(database)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `host:port/database`, as engines name it.
    pub(crate) fn description(&self) -> String {
        let Ok(config) = self.url.parse::<Config>() else { return self.name.clone() };
        let port = |place: usize| config.get_ports().get(place).or(config.get_ports().first()).copied();
        let hosts = config.get_hosts().iter().enumerate().map(|(place, host)| {
            let port = port(place).unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        });
        format!("{}/{}", hosts.collect::<Vec<_>>().join(","), self.name)
    }

    /// The rows of a query as text; nulls are empty.
    pub(crate) fn ask(&self, query: &str) -> Result<Vec<Vec<String>>, DatabaseError> {
        sql(PRODUCT, &self.url, query)
    }
}

impl Drop for ScratchDatabase {
    fn drop(&mut self) {
        // A server that is gone has taken it along, or says so at the next row.
        let _ =
            sql(PRODUCT, &self.server_url, &format!("drop database if exists {} with (force)", self.name));
    }
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url.split_at(url.find('?').unwrap_or(url.len()));
    let host = address.find("://").map_or(0, |at| at + "://".len());
    let end = address[host..].find('/').map_or(address.len(), |at| host + at);
    format!("{}/{name}{parameters}", &address[..end])
}

/// A name that nothing has.
pub(super) fn fresh_name(begin: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{begin}_{now}_{}_{number}", process::id())
}

/// Runs one statement over a connection of its own, in the protocol of PostgreSQL.
pub(super) fn sql(product: &str, url: &str, statement: &str) -> Result<Vec<Vec<String>>, DatabaseError> {
    let refused = |error: tokio_postgres::Error| DatabaseError::Refused {
        what: format!("{product} at {}", without_password(url)),
        why: why(&error),
    };
    let mut config: Config = url.parse().map_err(refused)?;
    config.connect_timeout(CONNECT_PATIENCE);
    if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
        config.password(password);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(DatabaseError::io("start a runtime"))?;
    runtime.block_on(async {
        let (client, connection) = config.connect(NoTls).await.map_err(refused)?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(statement).await.map_err(refused)?;
        drop(client);
        // Its own end is of no interest: what the client was told counts.
        let _ = connection.await;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let text = |row: &tokio_postgres::SimpleQueryRow| {
            (0..row.len()).map(|place| row.get(place).unwrap_or_default().to_owned()).collect()
        };
        Ok(rows.map(text).collect())
    })
}

/// PostgreSQL's own words where there are some.
fn why(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(refusal), _) => refusal.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_an_address_changes() {
        for (url, expected) in [
            ("postgres://bob:x@db:5433/shop", "postgres://bob:x@db:5433/new"),
            ("postgres://db", "postgres://db/new"),
            ("postgres://db?sslmode=disable", "postgres://db/new?sslmode=disable"),
            (
                "postgresql://bob@%2Frun%2Fpostgresql/shop?a=/b",
                "postgresql://bob@%2Frun%2Fpostgresql/new?a=/b",
            ),
        ] {
            assert_eq!(with_database(url, "new"), expected);
        }
    }
}
