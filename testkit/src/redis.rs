//! A temporary Redis from the machine's own binary, without files, on a free port of the loopback.

use crate::port::free_port;
use crate::watchdog::Watchdog;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// Stopped when it is dropped, and when the test process ends in any other way.
#[derive(Debug)]
pub struct RedisServer {
    server: Child,
    port: u16,
    _directory: TempDir,
    _watchdog: Watchdog,
}

impl RedisServer {
    /// `settings` are further words of its command line, such as `--requirepass`.
    ///
    /// # Panics
    /// With instructions when Redis is missing, and when it does not start.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_at(free_port(), settings)
    }

    /// The same on a port of one that was there before.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_at(port: u16, settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let server = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .arg("--dir")
            .arg(directory.path())
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start redis-server ({error}); `apt-get install redis-server` brings it (`cargo xtask test` does that by itself when it may)")
            });
        let watchdog = Watchdog::start("kill -KILL \"$1\"", &[&server.id().to_string()]);
        let watchdog = watchdog.expect("/bin/sh can be started");
        let redis = Self { server, port, _directory: directory, _watchdog: watchdog };
        redis.wait();
        redis
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// It hangs until it is [resumed](Self::resume), with its connections open.
    ///
    /// # Panics
    /// When it cannot be signalled.
    pub fn suspend(&self) {
        self.signal(Signal::STOP);
    }

    /// # Panics
    /// When it cannot be signalled.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw).expect("processes have ids");
        kill_process(id, signal).expect("the server runs");
    }

    /// What `redis-cli` prints for a command.
    ///
    /// # Panics
    /// When that fails.
    pub fn command(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        let output = command.args(["-p", &self.port.to_string(), "--no-auth-warning"]).args(words).output();
        let output = output.expect("redis-cli comes with redis-server");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("tests store texts")
    }

    /// It answers, even if only that it wants a password.
    fn wait(&self) {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let answers = TcpStream::connect(("127.0.0.1", self.port)).and_then(|mut socket| {
                socket.set_read_timeout(Some(POLL))?;
                socket.write_all(b"PING\r\n")?;
                socket.read_exact(&mut [0])
            });
            if answers.is_ok() {
                return;
            }
            thread::sleep(POLL);
        }
        panic!("redis-server was not ready after {} s", PATIENCE.as_secs());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // When it cannot be killed it is gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_there_as_long_as_it_is_held() {
        let redis = RedisServer::start(&[]);
        let port = redis.port();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        drop(redis);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
