//! QuestDB behind an engine: one of the lab's own, which the machine's Java runs, or the user's at an address. Each row of a table has tables
//! of its own, by a prefix.

use std::{
    cell::Cell,
    env, fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    error::DatabaseError,
    programs,
    scratch::{fresh_name, sql},
    server::{Server, ServerCommand, free_port},
};

const FLAG: &str = "--questdb";
const SCHEME: &str = "questdb://";
/// Its first user.
const USER: &str = "admin:quest";
/// Where Maven keeps the program, below the user's directory.
const IN_MAVEN: &str = ".m2/repository/org/questdb/questdb";
const PATIENCE: Duration = Duration::from_secs(2);

/// A QuestDB that responds.
#[derive(Debug)]
pub(crate) struct QuestPlace {
    /// `questdb://127.0.0.1:8812?http=127.0.0.1:9000`
    url: String,
    /// `9.3.1`
    pub(crate) version: String,
    /// Whether the lab has started it.
    pub(crate) is_own: bool,
    _server: Option<Server>,
}

/// Tables of one row, dropped when it goes.
#[derive(Debug)]
pub(crate) struct ScratchTables {
    url: String,
    prefix: String,
}

/// The one at an address, or else one of the lab's own: of the program that is named, or of the newest that Maven has fetched. Its files are
/// in `directory`, its log is `log`.
pub(crate) fn provide(
    given: Option<&str>,
    directory: &Path,
    log: &Path,
) -> Result<QuestPlace, DatabaseError> {
    match given {
        Some(url) if url.starts_with(SCHEME) => {
            let version = version(url)?;
            Ok(QuestPlace { url: url.to_owned(), version, is_own: false, _server: None })
        }
        Some(program) if Path::new(program).is_file() => start(Path::new(program), directory, log),
        Some(neither) => Err(DatabaseError::Refused {
            what: format!("{FLAG} {neither}"),
            why:
                "it is neither an address (questdb://HOST:PORT?http=HOST:PORT) nor a file (questdb-9.3.1.jar)"
                    .to_owned(),
        }),
        None => {
            let home = env::var_os("HOME").map_or_else(env::temp_dir, PathBuf::from);
            let program = newest(&home.join(IN_MAVEN))
                .ok_or_else(|| DatabaseError::NoQuestDb { searched: format!("~/{IN_MAVEN}"), flag: FLAG })?;
            start(&program, directory, log)
        }
    }
}

/// `9.3.1/questdb-9.3.1.jar` of the highest version.
fn newest(directory: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(directory).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let program = entry.path().join(format!("questdb-{name}.jar"));
        let numbers: Vec<u32> = name.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        program.is_file().then_some((numbers, program))
    });
    versions.max().map(|(_, program)| program)
}

fn start(program: &Path, directory: &Path, log: &Path) -> Result<QuestPlace, DatabaseError> {
    let java = programs::find(&["java"]).ok_or_else(|| DatabaseError::NotInstalled {
        program: "java",
        searched: "PATH".to_owned(),
        package: "default-jre-headless",
        flag: FLAG,
    })?;
    let program = program.canonicalize().map_err(DatabaseError::io(format!("find {}", program.display())))?;
    let directory = directory.canonicalize().map_err(DatabaseError::io("find the results' directory"))?;
    let home = tempfile::Builder::new().prefix("data-questdb-").tempdir_in(directory);
    let home = home.map_err(DatabaseError::io("make a directory for QuestDB"))?;
    let place = home.path().to_owned();
    let http_port = Cell::new(0);
    let command = |port: u16| {
        // Where there is none, QuestDB says so itself.
        http_port.set(free_port().unwrap_or_default());
        let mut command = Command::new(java.join("java"));
        // Its own library is unpacked there at each start.
        command.arg(format!("-Djava.io.tmpdir={}", place.display())).arg("-p").arg(&program);
        command.args(["-m", "io.questdb/io.questdb.ServerMain", "-d"]).arg(&place);
        command.env("QDB_PG_NET_BIND_TO", format!("127.0.0.1:{port}"));
        command.env("QDB_HTTP_BIND_TO", format!("127.0.0.1:{}", http_port.get()));
        for name in ["QDB_LINE_TCP_ENABLED", "QDB_HTTP_MIN_ENABLED", "QDB_TELEMETRY_ENABLED"] {
            command.env(name, "false");
        }
        command
    };
    let url = |port: u16| format!("{SCHEME}127.0.0.1:{port}?http=127.0.0.1:{}", http_port.get());
    let server = ServerCommand {
        program: "java",
        command: &command,
        is_ready: &|port| responds(http_port.get()) && version(&url(port)).is_ok(),
        signal: Signal::TERM,
        log: log.to_owned(),
    };
    let server = server.start(home)?;
    let url = url(server.port);
    let version = version(&url)?;
    Ok(QuestPlace { url, version, is_own: true, _server: Some(server) })
}

fn responds(http_port: u16) -> bool {
    let ask = || {
        let mut socket = TcpStream::connect(("127.0.0.1", http_port))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        socket.read_exact(&mut [0])
    };
    ask().is_ok()
}

/// The same place for the driver of PostgreSQL's protocol.
fn pg_url(url: &str) -> String {
    let place = url.strip_prefix(SCHEME).unwrap_or(url);
    let place = place.split_once('?').map_or(place, |(place, _)| place);
    let (user, place) = place.rsplit_once('@').unwrap_or((USER, place));
    let (place, database) = place.split_once('/').unwrap_or((place, "qdb"));
    let port = if place.ends_with(']') || !place.contains(':') { ":8812" } else { "" };
    format!("postgres://{user}@{place}{port}/{database}")
}

fn version(url: &str) -> Result<String, DatabaseError> {
    // `Build Information: QuestDB 9.3.1, JDK 17.0.9, …`
    let rows = sql("QuestDB", &pg_url(url), "select build()")?;
    let told = rows.into_iter().flatten().next().unwrap_or_default();
    let version = told.split_once("QuestDB ").and_then(|(_, rest)| rest.split(',').next());
    let why = || format!("it says that it is `{told}`");
    version
        .map(str::to_owned)
        .ok_or_else(|| DatabaseError::Refused { what: "QuestDB at this address".to_owned(), why: why() })
}

impl QuestPlace {
    /// A prefix that nobody has.
    pub(crate) fn scratch(&self) -> ScratchTables {
        ScratchTables { url: self.url.clone(), prefix: fresh_name("lab") }
    }
}

impl ScratchTables {
    /// With the prefix.
    pub(crate) fn url(&self) -> String {
        let behind = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{behind}prefix={}", self.url, self.prefix)
    }

    /// Names and bytes of the tables.
    fn tables(&self) -> Result<Vec<(String, u64)>, DatabaseError> {
        let rows = sql("QuestDB", &pg_url(&self.url), "select tableName, diskSize from table_storage()")?;
        let table = |row: Vec<String>| {
            let [name, bytes] = <[String; 2]>::try_from(row).ok()?;
            name.starts_with(&format!("{}_", self.prefix)).then(|| (name, bytes.parse().unwrap_or_default()))
        };
        Ok(rows.into_iter().filter_map(table).collect())
    }

    /// Of rows, names and indexes.
    pub(crate) fn bytes(&self) -> Result<u64, DatabaseError> {
        Ok(self.tables()?.iter().map(|(_, bytes)| bytes).sum())
    }
}

impl Drop for ScratchTables {
    fn drop(&mut self) {
        // A server that is gone has taken them along, or says so at the next row.
        for (name, _) in self.tables().unwrap_or_default() {
            let _ = sql("QuestDB", &pg_url(&self.url), &format!("drop table \"{name}\""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_given_the_place_with_what_is_left_out() {
        for (url, expected) in [
            ("questdb://db", "postgres://admin:quest@db:8812/qdb"),
            ("questdb://db:1?http=db:2", "postgres://admin:quest@db:1/qdb"),
            ("questdb://bob:a%40b@[::1]/x?prefix=y", "postgres://bob:a%40b@[::1]:8812/x"),
        ] {
            assert_eq!(pg_url(url), expected);
        }
    }

    #[test]
    fn the_newest_program_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        for (version, file) in
            [("9.3.1", "questdb-9.3.1.jar"), ("9.10.0", "questdb-9.10.0.jar"), ("10.0", "other.jar")]
        {
            fs::create_dir(directory.path().join(version)).unwrap();
            fs::write(directory.path().join(version).join(file), "").unwrap();
        }
        assert_eq!(newest(directory.path()), Some(directory.path().join("9.10.0/questdb-9.10.0.jar")));
        assert_eq!(newest(Path::new("/nowhere")), None);
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let told =
            |given: &str| provide(Some(given), Path::new("/"), Path::new("/")).unwrap_err().to_string();
        assert!(told("9000").contains("neither an address"), "{}", told("9000"));
        let refused = told("questdb://bob:geheim@127.0.0.1:1");
        assert!(refused.contains("127.0.0.1:1") && !refused.contains("geheim"), "{refused}");
    }

    #[test]
    fn tables_of_a_row_go_with_it() {
        let server = prony_testkit::QuestServer::shared();
        let place = provide(Some(&server.url()), Path::new("/"), Path::new("/")).unwrap();
        assert!(!place.is_own && place.version.starts_with(char::is_numeric), "{place:?}");
        let (mine, other) = (place.scratch(), place.scratch());
        let names = || -> Vec<String> {
            let rows = sql("QuestDB", &server.pg_url(), "select table_name from tables()").unwrap();
            rows.into_iter().flatten().collect()
        };
        for of in [&mine, &other] {
            assert!(of.url().ends_with(&format!("&prefix={}", of.prefix)), "{}", of.url());
            let make =
                format!("create table {}_x (time timestamp) timestamp(time) partition by day", of.prefix);
            sql("QuestDB", &server.pg_url(), &make).unwrap();
        }
        assert!(mine.bytes().unwrap() > 0);
        let (gone, left) = (format!("{}_x", mine.prefix), format!("{}_x", other.prefix));
        drop(mine);
        assert!(!names().contains(&gone) && names().contains(&left));
    }
}
