//! `PgBouncer` in front of a cluster, from the machine's own binary.

use std::{
    fs,
    net::TcpStream,
    os::unix::{fs::chown, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::Cluster;
use crate::{port::free_port, watchdog::Watchdog};

const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
const PLACES: [&str; 3] = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/// Stopped when it is dropped, and when the test process ends in any other way.
#[derive(Debug)]
pub struct PgBouncer {
    server: Child,
    port: u16,
    _directory: TempDir,
    _watchdog: Watchdog,
}

impl PgBouncer {
    /// `pool_mode` is `session` or `transaction`; with so many connections to the cluster.
    ///
    /// # Panics
    /// With instructions when `PgBouncer` is missing, and when it does not start.
    pub fn start(cluster: &Cluster, pool_mode: &str, pool_size: u32) -> Self {
        Self::start_at(cluster, pool_mode, pool_size, free_port())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The same on a port, such as that of one which has ended.
    ///
    /// # Panics
    /// As [`start`](Self::start) does.
    pub fn start_at(cluster: &Cluster, pool_mode: &str, pool_size: u32, port: u16) -> Self {
        let program = PLACES.iter().map(PathBuf::from).find(|place| place.is_file()).unwrap_or_else(|| {
            panic!("there is no pgbouncer; `apt-get install pgbouncer` brings it (`cargo xtask test` does that by itself when it may)")
        });
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let owner = cluster.owner();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {pool_mode}\n\
             default_pool_size = {pool_size}\nmax_client_conn = 500\n",
            cluster.port()
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).expect("the settings can be written");
        let mut command = Command::new(program);
        command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = owner {
            chown(directory.path(), Some(user), Some(group)).expect("the directory is ours");
            command.uid(user).gid(group);
        }
        let server = command.spawn().expect("pgbouncer can be started");
        let watchdog = Watchdog::start("kill -KILL \"$1\"", &[&server.id().to_string()]);
        let watchdog = watchdog.expect("/bin/sh can be started");
        let bouncer = Self { server, port, _directory: directory, _watchdog: watchdog };
        bouncer.wait();
        bouncer
    }

    /// `postgres://postgres@127.0.0.1:PORT/DATABASE`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn wait(&self) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "pgbouncer takes connections within {PATIENCE:?}");
            thread::sleep(POLL);
        }
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // Fails only where it is gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
