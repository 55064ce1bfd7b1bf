//! A temporary QuestDB: its program comes from Maven Central, once, and runs with the machine's Java on free ports of the loopback. One is
//! shared by the tests of a process; each test has tables of its own by a prefix.

use crate::port::free_port;
use crate::watchdog::Watchdog;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};
use tempfile::TempDir;
use thiserror::Error;

/// Runs with Java 17 and later.
const VERSION: &str = "9.3.1";
/// The environment variable that names the program's file, where it is not to be fetched.
const PROGRAM_VARIABLE: &str = "PRONY_QUESTDB_JAR";
/// Tests have many small tables, whose files QuestDB makes 16 MB long by itself.
const SMALL_FILES: [&str; 4] = [
    "QDB_CAIRO_WRITER_DATA_APPEND_PAGE_SIZE",
    "QDB_CAIRO_WRITER_DATA_INDEX_KEY_APPEND_PAGE_SIZE",
    "QDB_CAIRO_WRITER_DATA_INDEX_VALUE_APPEND_PAGE_SIZE",
    "QDB_CAIRO_WAL_WRITER_DATA_APPEND_PAGE_SIZE",
];
const PATIENCE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);

/// Why there is no temporary QuestDB.
#[derive(Debug, Error)]
pub enum QuestError {
    #[error(
        "cannot start {program} ({source}), which QuestDB needs; `apt-get install {package}` brings it (`cargo xtask test` does that by \
         itself when it may)"
    )]
    ProgramMissing { program: &'static str, package: &'static str, source: io::Error },
    #[error(
        "Maven could not fetch org.questdb:questdb:{VERSION}; fetch it by hand and set PRONY_QUESTDB_JAR to its file. Maven says:\n{output}"
    )]
    NotFetched { output: String },
    #[error("cannot {action}: {source}")]
    Io { action: &'static str, source: io::Error },
    #[error("QuestDB was not ready after {} s; it needs Java 17 or later. Its output:\n{log}", PATIENCE.as_secs())]
    NotReady { log: String },
}

/// A QuestDB, stopped when it is dropped, and when the test process ends in any other way.
#[derive(Debug)]
pub struct QuestServer {
    program: PathBuf,
    directory: TempDir,
    pg_port: u16,
    http_port: u16,
    /// For tests: little memory and small files.
    is_small: bool,
    running: Mutex<Option<(Child, Watchdog)>>,
}

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> QuestError {
    move |source| QuestError::Io { action, source }
}

/// The program's file, fetched where it is not there yet: by one process at a time, as Maven wants it.
///
/// # Errors
/// Maven is missing, or cannot fetch it.
pub fn questdb_program() -> Result<PathBuf, QuestError> {
    if let Some(given) = env::var_os(PROGRAM_VARIABLE) {
        return Ok(given.into());
    }
    let home = env::var_os("HOME").map_or_else(env::temp_dir, PathBuf::from);
    let directory = home.join(".m2/repository/org/questdb/questdb").join(VERSION);
    let program = directory.join(format!("questdb-{VERSION}.jar"));
    if program.is_file() {
        return Ok(program);
    }
    let lock = File::create(env::temp_dir().join("prony-questdb.lock")).map_err(failed("make a lock"))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed("lock a file")(error.into()))?;
    if program.is_file() {
        return Ok(program);
    }
    let output = Command::new("mvn")
        .args(["--batch-mode", "--quiet", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"])
        .arg(format!("-Dartifact=org.questdb:questdb:{VERSION}"))
        .arg("-Dtransitive=false")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| QuestError::ProgramMissing { program: "mvn", package: "maven", source })?;
    if output.status.success() && program.is_file() {
        return Ok(program);
    }
    let output = [output.stdout, output.stderr].concat();
    Err(QuestError::NotFetched { output: String::from_utf8_lossy(&output).into_owned() })
}

impl QuestServer {
    /// # Errors
    /// Java or Maven is missing, the program cannot be fetched, or it does not start.
    pub fn start_new() -> Result<Self, QuestError> {
        Self::make(true)
    }

    /// One with the memory, the threads and the files that it has by itself.
    ///
    /// # Errors
    /// As [`Self::start_new`].
    pub fn start_with_defaults() -> Result<Self, QuestError> {
        Self::make(false)
    }

    fn make(is_small: bool) -> Result<Self, QuestError> {
        let server = Self {
            is_small,
            program: questdb_program()?,
            directory: tempfile::tempdir().map_err(failed("make a temporary directory"))?,
            pg_port: free_port(),
            http_port: free_port(),
            running: Mutex::default(),
        };
        server.start()?;
        Ok(server)
    }

    /// The one that all tests of this process share: do not stop it.
    ///
    /// # Panics
    /// With instructions when Java or Maven is missing, with its output when it does not start.
    pub fn shared() -> &'static Self {
        // Statics are never dropped: the watchdog stops it when the process ends.
        static SHARED: OnceLock<QuestServer> = OnceLock::new();
        SHARED.get_or_init(|| Self::start_new().unwrap_or_else(|error| panic!("{error}")))
    }

    /// `questdb://127.0.0.1:PORT?http=127.0.0.1:PORT`, with tables that nobody else has.
    pub fn fresh_url(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        format!("{}&prefix=test_{}", self.url(), COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// `questdb://127.0.0.1:PORT?http=127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("questdb://127.0.0.1:{}?http=127.0.0.1:{}", self.pg_port, self.http_port)
    }

    /// `postgres://…`, for statements of one's own.
    pub fn pg_url(&self) -> String {
        format!("postgres://admin:quest@127.0.0.1:{}/qdb", self.pg_port)
    }

    /// Of its process.
    ///
    /// # Panics
    /// When it is stopped.
    pub fn pid(&self) -> u32 {
        self.running().as_ref().expect("QuestDB runs").0.id()
    }

    pub const fn http_port(&self) -> u16 {
        self.http_port
    }

    fn running(&self) -> MutexGuard<'_, Option<(Child, Watchdog)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it, on its ports and with what it had.
    ///
    /// # Errors
    /// As [`Self::start_new`].
    pub fn start(&self) -> Result<(), QuestError> {
        let log = self.directory.path().join("output");
        let output = File::create(&log).map_err(failed("make QuestDB's log"))?;
        let errors = output.try_clone().map_err(failed("make QuestDB's log"))?;
        let mut command = Command::new("java");
        // Its own library is unpacked there at each start, and stays.
        let temporary = format!("-Djava.io.tmpdir={}", self.directory.path().display());
        if self.is_small {
            command.args(["-Xms64m", "-Xmx768m"]).env("QDB_SHARED_WORKER_COUNT", "2");
            for name in SMALL_FILES {
                command.env(name, "65536");
            }
        }
        command.args([&temporary, "-p"]).arg(&self.program);
        command.args(["-m", "io.questdb/io.questdb.ServerMain", "-d"]).arg(self.directory.path());
        let bind = |port: u16| format!("127.0.0.1:{port}");
        command.env("QDB_PG_NET_BIND_TO", bind(self.pg_port)).env("QDB_HTTP_BIND_TO", bind(self.http_port));
        for name in ["QDB_LINE_TCP_ENABLED", "QDB_HTTP_MIN_ENABLED", "QDB_TELEMETRY_ENABLED"] {
            command.env(name, "false");
        }
        let mut child =
            command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().map_err(|source| {
                QuestError::ProgramMissing { program: "java", package: "default-jre-headless", source }
            })?;
        let (id, directory) = (child.id().to_string(), self.directory.path().to_string_lossy().into_owned());
        let watchdog = Watchdog::start("kill -KILL \"$1\"; sleep 1; rm -rf \"$2\"", &[&id, &directory]);
        let watchdog = watchdog.map_err(failed("start /bin/sh"))?;
        let is_ready = self.wait(&mut child);
        *self.running() = Some((child, watchdog));
        if is_ready {
            return Ok(());
        }
        Err(QuestError::NotReady { log: tail(&log) })
    }

    /// It responds over HTTP, which it does last.
    fn wait(&self, child: &mut Child) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let responds = TcpStream::connect(("127.0.0.1", self.http_port)).and_then(|mut socket| {
                socket.set_read_timeout(Some(PATIENCE))?;
                socket.write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
                socket.read_exact(&mut [0])
            });
            if responds.is_ok() && TcpStream::connect(("127.0.0.1", self.pg_port)).is_ok() {
                return true;
            }
            thread::sleep(POLL);
        }
        false
    }

    /// Kills it; what it has acknowledged is there after [`Self::start`].
    pub fn kill(&self) {
        if let Some((mut child, watchdog)) = self.running().take() {
            watchdog.disarm();
            // When it cannot be killed it is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for QuestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn tail(log: &Path) -> String {
    const LINES: usize = 30;
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_there_as_long_as_it_is_held() {
        let server = QuestServer::start_new().unwrap();
        let port = server.http_port();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        server.kill();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
        server.start().unwrap();
        drop(server);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
