//! One connection to PostgreSQL and what is asked over it, with limits of time. What the answers mean is left to
//! `reading`, and when to connect again to `postgres`.

use super::reading::{MARK, Row, statement};
use std::error::Error as _;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage, SimpleQueryRow};

/// Of one connection attempt at one address.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// The server gives a statement of ours up after this: what watches must not weigh.
const STATEMENT_MAX: Duration = Duration::from_secs(3);
/// Of a whole look, connecting again included; looks are a second apart.
pub(super) const LOOK_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    /// Ends with the client, or with what ended it.
    connection: JoinHandle<Result<(), Error>>,
    pub(super) database: String,
    /// What each look asks for.
    statement: String,
    /// Why statements are not told apart by kind.
    pub(super) without_statements: Option<String>,
}

pub(super) fn read_url(url: &str) -> Result<Config, String> {
    let mut config: Config = url.parse().map_err(|error| describe(&error))?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err("it is to be reached by TLS, which this observer does not speak; \
                    leave `sslmode=require` away where the server allows it"
            .to_owned());
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_MAX);
    }
    if config.get_application_name().is_none() {
        config.application_name("prony observer");
    }
    // As psql does: what stands in the environment is seen by fewer than what stands in a command line.
    if config.get_password().is_none()
        && let Ok(password) = std::env::var("PGPASSWORD")
    {
        config.password(password);
    }
    Ok(config)
}

/// Where it stands, for people.
pub(super) fn address(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map(ToString::to_string).unwrap_or_default(),
    };
    format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432))
}

/// One look within its limit of time, over a new connection where there is none; after an error there is none.
pub(super) async fn look(config: &Config, session: &mut Option<Session>) -> Result<Vec<Row>, String> {
    let limited = async {
        let mut open = match session.take() {
            Some(open) => open,
            None => Session::connect(config).await?,
        };
        match open.ask().await {
            Ok(rows) => {
                *session = Some(open);
                Ok(rows)
            }
            Err(error) => Err(open.cause_of(&error).await),
        }
    };
    timeout(LOOK_MAX, limited).await.unwrap_or_else(|_| Err(no_answer()))
}

/// First contact, within the same limit of time.
pub(super) async fn connect(config: &Config) -> Result<Session, String> {
    timeout(LOOK_MAX, Session::connect(config)).await.unwrap_or_else(|_| Err(no_answer()))
}

fn no_answer() -> String {
    format!("no answer within {} s", LOOK_MAX.as_secs())
}

impl Session {
    async fn connect(config: &Config) -> Result<Self, String> {
        let (client, connection) = config.connect(NoTls).await.map_err(|error| describe(&error))?;
        let connection = tokio::spawn(connection);
        let limit_ms = STATEMENT_MAX.as_millis();
        let prepare = format!(
            "set statement_timeout = {limit_ms}; set lock_timeout = {limit_ms};
             select {MARK} current_database(), (select quote_ident(nspname) from pg_extension
             join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_stat_statements')"
        );
        let answer = client.simple_query(&prepare).await.map_err(|error| describe(&error))?;
        let row = answer.iter().find_map(row).ok_or("the server does not name its database")?;
        let database = row.get(0).unwrap_or_default().to_owned();
        let mut session =
            Self { client, connection, database, statement: statement(None), without_statements: None };
        session.find_statements(row.get(1)).await.map_err(|error| describe(&error))?;
        Ok(session)
    }

    /// The extension can be there and yet not be readable: tried before it is relied upon.
    async fn find_statements(&mut self, schema: Option<&str>) -> Result<(), Error> {
        let Some(schema) = schema else {
            self.without_statements = Some("the extension is not installed in this database".to_owned());
            return Ok(());
        };
        let asked = statement(Some(schema));
        match self.client.simple_query(&asked).await {
            Ok(_) => self.statement = asked,
            Err(error) if is_refused(&error) => self.without_statements = Some(describe(&error)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<Vec<Row>, Error> {
        let answer = match self.client.simple_query(&self.statement).await {
            Err(error) if self.without_statements.is_none() && is_refused(&error) => {
                // The extension was dropped, or is too slow: the rest can still be seen.
                self.without_statements = Some(describe(&error));
                self.statement = statement(None);
                self.client.simple_query(&self.statement).await?
            }
            answer => answer?,
        };
        Ok(answer.iter().filter_map(row).map(read).collect())
    }

    /// Why the connection ended says more than that it did.
    async fn cause_of(self, error: &Error) -> String {
        drop(self.client);
        match self.connection.await {
            Ok(Err(cause)) if error.is_closed() => describe(&cause),
            _ => describe(error),
        }
    }
}

/// The server answered, with no: the connection goes on.
fn is_refused(error: &Error) -> bool {
    error.as_db_error().is_some_and(|refusal| !["FATAL", "PANIC"].contains(&refusal.severity()))
}

fn row(message: &SimpleQueryMessage) -> Option<&SimpleQueryRow> {
    if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None }
}

fn read(row: &SimpleQueryRow) -> Row {
    let text = |index| row.get(index).unwrap_or_default().to_owned();
    let value = row.get(2).and_then(|value| value.parse().ok()).unwrap_or_default();
    (text(0), text(1), value)
}

/// PostgreSQL's own words where there are some; never with the URL, which may hold a password.
fn describe(error: &Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return refusal.message().to_owned();
    }
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_who_asks() {
        for (url, shown) in [
            ("postgres://bob:geheim@db.example:6432/shop", "db.example:6432"),
            ("postgresql://bob@%2Frun%2Fpostgresql/shop", "/run/postgresql:5432"),
        ] {
            assert_eq!(address(&read_url(url).unwrap()), shown);
        }
    }

    #[test]
    fn tls_is_refused_by_its_name() {
        let error = read_url("postgres://bob@db/shop?sslmode=require").unwrap_err();
        assert!(error.contains("does not speak"), "{error}");
    }
}
