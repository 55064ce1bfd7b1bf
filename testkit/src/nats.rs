//! A NATS server of its own for a test, on a free port of the loopback. The program comes from the Go module proxy, once, and is kept
//! beside what Cargo builds.

use crate::port::free_port;
use crate::watchdog::Watchdog;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};
use tempfile::TempDir;

const MODULE: &str = "github.com/nats-io/nats-server/v2";
const VERSION: &str = "v2.12.0";
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// Killed when it is dropped, and when the test process ends in any other way.
#[derive(Debug)]
pub struct NatsServer {
    server: Child,
    port: u16,
    _directory: TempDir,
    _watchdog: Watchdog,
}

impl NatsServer {
    /// # Panics
    /// With instructions when Go is missing, and when the server does not start.
    pub fn start() -> Self {
        Self::start_at(free_port())
    }

    /// The same on a port of one that was there before.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_at(port: u16) -> Self {
        Self::start_with(port, "")
    }

    /// With a configuration, for accounts and TLS.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_with(port: u16, configuration: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let file = directory.path().join("server.conf");
        fs::write(&file, configuration).expect("the directory was just made");
        let server = Command::new(program())
            .args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--config"])
            .arg(&file)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program was built for this machine");
        let watchdog = Watchdog::start("kill -KILL \"$1\"", &[&server.id().to_string()]);
        let watchdog = watchdog.expect("/bin/sh can be started");
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < PATIENCE, "nats-server was not ready after {} s", PATIENCE.as_secs());
            thread::sleep(POLL);
        }
        Self { server, port, _directory: directory, _watchdog: watchdog }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        // When it cannot be killed it is gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// `nats-server`, built where it is not there yet.
///
/// # Panics
/// With instructions when it cannot be built.
pub fn program() -> PathBuf {
    let test = env::current_exe().expect("a test knows its program");
    // TARGET/PROFILE/deps/TEST
    let target = test.ancestors().nth(3).expect("tests are built beneath a target folder");
    let folder = target.join("go").join(format!("nats-server@{VERSION}"));
    let program = folder.join("nats-server");
    if !program.exists() {
        build(&folder);
    }
    program
}

/// Beside its place first: tests of several programs may want it at the same time.
fn build(folder: &Path) {
    fs::create_dir_all(folder.parent().expect("it has one")).expect("the target folder can be written");
    let own = folder.with_extension(format!("part-{}", std::process::id()));
    let built = Command::new("go")
        .args(["install", &format!("{MODULE}@{VERSION}")])
        .env("GOBIN", &own)
        .env("GOFLAGS", "")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot start go ({error}), which builds nats-server; install Go 1.24 or later")
        });
    assert!(
        built.status.success(),
        "go cannot build nats-server: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    // Another was first where this fails.
    if fs::rename(&own, folder).is_err() {
        let _ = fs::remove_dir_all(&own);
    }
}
