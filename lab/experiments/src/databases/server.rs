//! A database server as a process of its own: on a free port, awaited until it responds, ended when it is dropped, and its directory with it.

use std::{
    fs::File,
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::error::DatabaseError;
use crate::engine::{detach, tail_of};

/// A server takes about 2 s on a busy machine; recovery of an empty one is shorter.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// Then it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// Tries with another port, where somebody took the free one before the server did.
const PORT_TRIES: usize = 5;

/// Ended on drop, with its directory.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    /// What ends it.
    signal: Signal,
    pub(super) port: u16,
    // Dropped behind the process, which writes into it.
    _directory: TempDir,
}

/// How a server is started.
pub(super) struct ServerCommand<'a> {
    /// Its name, for people.
    pub program: &'static str,
    /// With all arguments but the port's.
    pub command: &'a dyn Fn(u16) -> Command,
    pub is_ready: &'a dyn Fn(u16) -> bool,
    pub signal: Signal,
    /// Its output is appended here.
    pub log: PathBuf,
}

impl ServerCommand<'_> {
    pub(super) fn start(&self, directory: TempDir) -> Result<Server, DatabaseError> {
        for _ in 0..PORT_TRIES {
            let port = free_port().map_err(DatabaseError::io("find a free port"))?;
            if let Some(child) = self.start_on(port).or_else(|error| match error {
                DatabaseError::Ended { ref log, .. } if is_taken(log) => Ok(None),
                error => Err(error),
            })? {
                return Ok(Server { child, signal: self.signal, port, _directory: directory });
            }
        }
        let why = "every port that was free was taken before it was used".to_owned();
        Err(DatabaseError::Refused { what: format!("`{}`", self.program), why })
    }

    fn start_on(&self, port: u16) -> Result<Option<Child>, DatabaseError> {
        let log = open_log(&self.log)?;
        let output = log.try_clone().map_err(DatabaseError::io("open a server's log"))?;
        let mut command = (self.command)(port);
        command.stdin(Stdio::null()).stdout(output).stderr(log);
        detach(&mut command);
        let child = command.spawn().map_err(DatabaseError::io(format!("run `{}`", self.program)))?;
        self.wait_until_ready(child, port).map(Some)
    }

    fn wait_until_ready(&self, mut child: Child, port: u16) -> Result<Child, DatabaseError> {
        let started = Instant::now();
        loop {
            let ended =
                child.try_wait().map_err(DatabaseError::io(format!("wait for `{}`", self.program)))?;
            if let Some(status) = ended {
                return Err(DatabaseError::Ended { program: self.program, status, log: tail_of(&self.log) });
            }
            if (self.is_ready)(port) {
                return Ok(child);
            }
            if started.elapsed() > START_PATIENCE {
                // It cannot be killed where it is gone already.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = START_PATIENCE.as_secs();
                return Err(DatabaseError::NotReady {
                    program: self.program,
                    seconds,
                    log: tail_of(&self.log),
                });
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let asked = Instant::now();
        if kill_process(Pid::from_child(&self.child), self.signal).is_ok() {
            while asked.elapsed() < STOP_PATIENCE {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                thread::sleep(POLL);
            }
        }
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn open_log(path: &Path) -> Result<File, DatabaseError> {
    let log = File::options().create(true).append(true).open(path);
    log.map_err(DatabaseError::io(format!("write to {}", path.display())))
}

pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// As PostgreSQL, Redis and QuestDB say it.
fn is_taken(log: &str) -> bool {
    let log = log.to_lowercase();
    log.contains("could not bind") || log.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the place of its directory.
    fn start(script: &str, is_ready: bool) -> Result<(Server, PathBuf), DatabaseError> {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_owned();
        let log = directory.path().join("log");
        let command = |port: u16| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script, "sh", &port.to_string()]);
            command
        };
        let start = ServerCommand {
            program: "sh",
            command: &command,
            is_ready: &|_| is_ready,
            signal: Signal::TERM,
            log,
        };
        Ok((start.start(directory)?, place))
    }

    #[test]
    fn it_ends_with_its_directory_when_it_is_dropped() {
        let (server, directory) = start("exec sleep 100", true).unwrap();
        let process = server.child.id();
        assert!(directory.exists() && server.port > 0);
        drop(server);
        assert!(!directory.exists());
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }

    #[test]
    fn an_early_end_is_told_with_the_log() {
        let error = start("echo no such file >&2; exit 2", false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh` ended with exit status: 2 before it was ready; its log ends with: no such file"
        );
    }

    #[test]
    fn another_port_is_tried_where_the_first_is_taken() {
        let error = start("echo could not bind >&2; exit 1", false).unwrap_err();
        assert!(error.to_string().contains("every port that was free was taken"), "{error}");
    }
}
