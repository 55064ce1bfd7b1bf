//! Redis behind an engine: one of the lab's own, which keeps nothing on the disk, or the user's at an address.

use std::{path::Path, process::Command, time::Duration};

use redis::{Client, Connection, RedisError, cmd};
use rustix::process::Signal;

use super::{
    error::DatabaseError,
    programs,
    server::{Server, ServerCommand},
};

const FLAG: &str = "--redis";
const PATIENCE: Duration = Duration::from_secs(2);

/// A Redis that responds.
#[derive(Debug)]
pub(crate) struct RedisPlace {
    pub(crate) url: String,
    /// `7.0.15`
    pub(crate) version: String,
    _server: Option<Server>,
}

impl RedisPlace {
    /// Removes keys, so that nothing is left in a Redis of the user's. One that does not respond any more keeps them.
    pub(crate) fn remove(&self, keys: &[String]) {
        if let Ok(mut connection) = connect(&self.url) {
            let _: Result<(), _> = cmd("DEL").arg(keys).query(&mut connection);
        }
    }
}

/// The one at an address, or else one of the lab's own, whose log is `log`.
pub(crate) fn provide(given: Option<&str>, log: &Path) -> Result<RedisPlace, DatabaseError> {
    match given {
        Some(url) => {
            let version = version(url).map_err(|error| DatabaseError::Refused {
                what: format!("Redis at {}", prony_observe::without_password(url)),
                why: error.to_string(),
            })?;
            Ok(RedisPlace { url: url.to_owned(), version, _server: None })
        }
        None => start(log),
    }
}

fn start(log: &Path) -> Result<RedisPlace, DatabaseError> {
    let programs = programs::find(&["redis-server"]).ok_or_else(|| DatabaseError::NotInstalled {
        program: "redis-server",
        searched: "PATH".to_owned(),
        package: "redis-server",
        flag: FLAG,
    })?;
    let directory = tempfile::tempdir().map_err(DatabaseError::io("make a directory for Redis"))?;
    let home = directory.path().to_owned();
    let command = |port: u16| {
        let mut command = Command::new(programs.join("redis-server"));
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        command.arg("--dir").arg(&home);
        command
    };
    let server = ServerCommand {
        program: "redis-server",
        command: &command,
        is_ready: &|port| version(&url(port)).is_ok(),
        signal: Signal::TERM,
        log: log.to_owned(),
    };
    let server = server.start(directory)?;
    let url = url(server.port);
    let version = version(&url).unwrap_or_default();
    Ok(RedisPlace { url, version, _server: Some(server) })
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

fn connect(url: &str) -> Result<Connection, RedisError> {
    let connection = Client::open(url)?.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    Ok(connection)
}

fn version(url: &str) -> Result<String, RedisError> {
    let told: String = cmd("INFO").arg("server").query(&mut connect(url)?)?;
    let line = told.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(line.unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_its_own_responds_and_forgets_what_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let place = provide(None, &directory.path().join("redis.log")).unwrap();
        assert!(place.version.contains('.'), "{place:?}");
        let mut connection = connect(&place.url).unwrap();
        let _: () = cmd("SET").arg("one").arg(1).query(&mut connection).unwrap();
        let given = provide(Some(&place.url), Path::new("/")).unwrap();
        given.remove(&["one".to_owned(), "two".to_owned()]);
        let left: Option<u32> = cmd("GET").arg("one").query(&mut connection).unwrap();
        assert_eq!(left, None);
        let url = place.url.clone();
        drop(place);
        assert!(connect(&url).is_err());
    }

    #[test]
    fn an_address_at_which_nobody_is_is_told_without_its_password() {
        let error = provide(Some("redis://:geheim@127.0.0.1:1"), Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:1") && !error.contains("geheim"), "{error}");
    }
}
