//! One cluster: a data directory in a temporary directory and the server process that runs on it.

use std::{
    fs, io,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::{PostgresError, binaries, io_error, sql};
use crate::{port::free_port, watchdog::Watchdog};

/// A server that needs longer than this to start or stop is broken; 2 busy cores take about 2 s.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// Tries with another port, when somebody took the free one before the server did.
const PORT_TRIES: usize = 5;

/// What durability costs is no test's business, and a crash of the machine ends the test anyway.
const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "shared_buffers=64MB",
    "autovacuum=off",
    "timezone=UTC",
];

/// `$1` is the cluster's directory. The server ends at once (SIGQUIT) and its files go with it.
const CLEAN_UP: &str = r#"
    pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
    if [ -n "$pid" ]; then
        kill -QUIT "$pid" 2>/dev/null
        for try in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
        kill -KILL "$pid" 2>/dev/null
    fi
    rm -rf "$1"
"#;

/// A PostgreSQL of its own, with superuser `postgres` and no password. Stopped and removed on drop, and when
/// this process ends in any other way.
#[derive(Debug)]
pub struct Cluster {
    binaries: PathBuf,
    owner: Option<Owner>,
    port: u16,
    server: Mutex<Option<Child>>,
    // Dropped before the directory: it ends the server.
    _watchdog: Watchdog,
    directory: TempDir,
}

/// The user that the server runs as when we are root, which it refuses to be.
#[derive(Debug, Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

impl Cluster {
    /// Makes a cluster and starts it.
    pub fn start_new() -> Result<Self, PostgresError> {
        Self::start_made(Self::initialise)
    }

    /// A standby of this server on another port, which streams from it until it is [promoted](Self::promote).
    pub fn start_standby(&self) -> Result<Self, PostgresError> {
        Self::start_made(|standby| {
            let mut command = standby.command("pg_basebackup");
            command.args([
                "--host=127.0.0.1",
                "--username=postgres",
                "--checkpoint=fast",
                "--write-recovery-conf",
            ]);
            command.arg(format!("--port={}", self.port)).arg("--pgdata").arg(standby.data_path());
            run("pg_basebackup", command)
        })
    }

    /// Makes a standby the server that takes writes, and returns when it is.
    pub fn promote(&self) -> Result<(), PostgresError> {
        let mut command = self.command("pg_ctl");
        command.args(["promote", "--wait", "--pgdata"]).arg(self.data_path());
        run("pg_ctl", command)
    }

    /// `make` fills the data directory.
    fn start_made(make: impl FnOnce(&Self) -> Result<(), PostgresError>) -> Result<Self, PostgresError> {
        let binaries = binaries::find()?;
        let owner = server_owner()?;
        let directory = tempfile::Builder::new()
            .prefix("prony-postgres-")
            .tempdir()
            .map_err(io_error("make a temporary directory"))?;
        if let Some(owner) = owner {
            chown(directory.path(), Some(owner.user), Some(owner.group))
                .map_err(io_error(format!("give {} to the server's user", directory.path().display())))?;
        }
        let watchdog = Watchdog::start(CLEAN_UP, &[&directory.path().to_string_lossy()])
            .map_err(io_error("start the watchdog"))?;
        let mut cluster =
            Self { binaries, owner, port: 0, server: Mutex::new(None), _watchdog: watchdog, directory };
        make(&cluster)?;
        cluster.start_on_free_port()?;
        Ok(cluster)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory of the server's files and of its Unix socket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// `postgres://postgres@127.0.0.1:PORT/DATABASE`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The same database through the Unix socket.
    pub fn socket_url(&self, database: &str) -> String {
        let directory = self.directory().to_string_lossy().replace('/', "%2F");
        format!("postgres://postgres@{directory}:{}/{database}", self.port)
    }

    /// The server's first process; its children are the sessions.
    ///
    /// # Panics
    /// When the server is stopped.
    pub fn pid(&self) -> u32 {
        self.lock().as_ref().expect("the server runs").id()
    }

    /// A client program that came with the server, such as `pgbench`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.binaries.join(name)
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs statements, from inside or outside an async runtime.
    pub fn execute(&self, database: &str, statements: &str) -> Result<(), PostgresError> {
        sql::execute(&self.url(database), database, statements)
    }

    /// The rows of a query as text, NULL as `None`.
    pub fn query(&self, database: &str, query: &str) -> Result<Vec<Vec<Option<String>>>, PostgresError> {
        sql::query(&self.url(database), database, query)
    }

    /// Starts the server again on the same port and returns when it accepts connections; does nothing when
    /// it runs.
    pub fn start(&self) -> Result<(), PostgresError> {
        let mut server = self.lock();
        if server.is_none() {
            *server = Some(self.launch()?);
        }
        Ok(())
    }

    /// Stops the server in an orderly way; clients are disconnected (PostgreSQL's fast shutdown).
    pub fn stop(&self) -> Result<(), PostgresError> {
        self.end(Signal::INT)
    }

    /// Ends the server as a crash would: no checkpoint, connections cut, recovery at the next start
    /// (PostgreSQL's immediate shutdown).
    pub fn kill(&self) -> Result<(), PostgresError> {
        self.end(Signal::QUIT)
    }

    pub fn restart(&self) -> Result<(), PostgresError> {
        self.stop()?;
        self.start()
    }

    /// User and group of the server, where they are not ours.
    pub(super) fn owner(&self) -> Option<(u32, u32)> {
        self.owner.map(|owner| (owner.user, owner.group))
    }

    /// A file beside the server's own, which only the server can read.
    pub(super) fn write_private(&self, name: &str, text: &str) -> Result<PathBuf, PostgresError> {
        let path = self.data_path().join(name);
        let action = || format!("write {}", path.display());
        fs::write(&path, text).map_err(io_error(action()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(io_error(action()))?;
        if let Some(owner) = self.owner {
            chown(&path, Some(owner.user), Some(owner.group)).map_err(io_error(action()))?;
        }
        Ok(path)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.server.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn log_path(&self) -> PathBuf {
        self.directory().join("log")
    }

    pub(super) fn data_path(&self) -> PathBuf {
        self.directory().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.current_dir(self.directory()).stdin(Stdio::null()).process_group(0);
        if let Some(owner) = self.owner {
            command.uid(owner.user).gid(owner.group);
        }
        command
    }

    fn initialise(&self) -> Result<(), PostgresError> {
        let mut command = self.command("initdb");
        command.args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]);
        command.arg("--pgdata").arg(self.data_path());
        run("initdb", command)
    }

    fn start_on_free_port(&mut self) -> Result<(), PostgresError> {
        let mut tries = 1;
        loop {
            self.port = free_port();
            match self.start() {
                Err(PostgresError::ProgramFailed { output, .. })
                    if tries < PORT_TRIES && output.contains("could not bind") =>
                {
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn launch(&self) -> Result<Child, PostgresError> {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .map_err(io_error("open the server's log"))?;
        let output = log.try_clone().map_err(io_error("open the server's log"))?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data_path()).arg("-k").arg(self.directory());
        command.arg("-p").arg(self.port.to_string()).stdout(output).stderr(log);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let child = command.spawn().map_err(io_error("run postgres"))?;
        self.wait_until_ready(child)
    }

    fn wait_until_ready(&self, mut child: Child) -> Result<Child, PostgresError> {
        let started = Instant::now();
        loop {
            if self.is_ready(&child) {
                return Ok(child);
            }
            if child.try_wait().map_err(io_error("wait for postgres"))?.is_some() {
                return Err(PostgresError::ProgramFailed { program: "postgres", output: self.log() });
            }
            if started.elapsed() > PATIENCE {
                let _ = child.kill();
                return Err(PostgresError::NotReady { seconds: PATIENCE.as_secs(), log: self.log() });
            }
            thread::sleep(POLL);
        }
    }

    /// The eighth line of `postmaster.pid` is the server's state (PostgreSQL, `miscadmin.h`,
    /// `LOCK_FILE_LINE_PM_STATUS`); the first is its process.
    fn is_ready(&self, child: &Child) -> bool {
        let Ok(text) = fs::read_to_string(self.data_path().join("postmaster.pid")) else { return false };
        let mut lines = text.lines();
        lines.next() == Some(child.id().to_string().as_str())
            && lines.nth(6).is_some_and(|state| state.trim() == "ready")
    }

    fn end(&self, signal: Signal) -> Result<(), PostgresError> {
        let mut server = self.lock();
        let Some(child) = server.as_mut() else { return Ok(()) };
        kill_process(Pid::from_child(child), signal)
            .map_err(|error| io_error("signal postgres")(io::Error::from(error)))?;
        let started = Instant::now();
        while child.try_wait().map_err(io_error("wait for postgres"))?.is_none() {
            if started.elapsed() > PATIENCE {
                return Err(PostgresError::NotReady { seconds: PATIENCE.as_secs(), log: self.log() });
            }
            thread::sleep(POLL);
        }
        *server = None;
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The watchdog, dropped next, takes whatever this leaves.
        let _ = self.kill();
    }
}

/// Runs a program to its end.
fn run(program: &'static str, mut command: Command) -> Result<(), PostgresError> {
    let output = command.output().map_err(io_error(format!("run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(PostgresError::ProgramFailed { program, output: String::from_utf8_lossy(&text).into_owned() })
}

fn server_owner() -> Result<Option<Owner>, PostgresError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let text = fs::read_to_string("/etc/passwd").map_err(io_error("read /etc/passwd"))?;
    let owner = ["postgres", "nobody"].iter().find_map(|name| find_user(&text, name));
    owner.map(Some).ok_or_else(|| {
        io_error("find user postgres or nobody in /etc/passwd")(io::ErrorKind::NotFound.into())
    })
}

/// `name:password:user:group:…` (passwd(5)).
fn find_user(passwd: &str, name: &str) -> Option<Owner> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        Some(Owner { user, group })
    })
}
