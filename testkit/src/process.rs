//! The `prony` program as a child: started, awaited until it listens, stopped, and never left behind.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::watchdog::Watchdog;

/// A debug build on 2 busy cores starts within a few seconds; an experiment that measures twenty things there takes more than one minute.
const PATIENCE: Duration = Duration::from_secs(240);
const POLL: Duration = Duration::from_millis(10);
const READY: &str = "listening on http";

/// A running child whose output is collected.
#[derive(Debug)]
pub struct PronyProcess {
    child: Child,
    standard_output: Collector,
    standard_error: Collector,
    /// Ends the child when this process ends without dropping.
    watchdog: Option<Watchdog>,
}

/// How a child ended and all it wrote.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl PronyProcess {
    /// Starts `program` without waiting for anything.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start<Argument: AsRef<std::ffi::OsStr>>(
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Self {
        let mut command = Command::new(program.as_ref());
        command.args(arguments);
        Self::start_command(command)
    }

    /// As [`PronyProcess::start`], for a command with a directory or an environment of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_command(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let watchdog = Watchdog::start("kill -KILL \"$1\"", &[&child.id().to_string()]);
        let standard_output = Collector::start(child.stdout.take().expect("stdout is piped"));
        let standard_error = Collector::start(child.stderr.take().expect("stderr is piped"));
        let watchdog = Some(watchdog.expect("/bin/sh can be started"));
        Self { child, standard_output, standard_error, watchdog }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the line that tells where the server listens; the answer is `http://ADDRESS:PORT`, or the same with `https`.
    ///
    /// # Panics
    /// With all output when the child ends or takes four minutes without saying so.
    pub fn wait_for_url(&mut self) -> String {
        let url = self.try_wait_for_url();
        url.unwrap_or_else(|why| panic!("no line with \"{READY}…\": {why}\n{self}"))
    }

    /// As [`PronyProcess::wait_for_url`]; why there is none where the child ends or takes four minutes without saying so.
    pub fn try_wait_for_url(&mut self) -> Result<String, String> {
        self.wait_for(|output| {
            let (_, rest) = output.split_once(READY)?;
            let url = rest.split(|c: char| c.is_whitespace() || "\"',;\u{1b}".contains(c)).next()?;
            rest.contains('\n').then(|| format!("http{}", url.trim_end_matches('/')))
        })
    }

    /// Waits until the output (either stream) contains `text`.
    ///
    /// # Panics
    /// With all output when the child ends or takes four minutes without writing it.
    pub fn wait_for_text(&mut self, text: &str) {
        let found = self.wait_for(|output| output.contains(text).then_some(()));
        found.unwrap_or_else(|why| panic!("no {text:?} in the output: {why}\n{self}"));
    }

    pub fn stderr(&self) -> String {
        self.standard_error.text()
    }

    pub fn stdout(&self) -> String {
        self.standard_output.text()
    }

    /// Asks the child to stop (SIGTERM) and waits for its end.
    pub fn stop(self) -> Finished {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// # Panics
    /// When the child is gone.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the child can be signalled");
    }

    /// Waits for the child's own end.
    ///
    /// # Panics
    /// With all output when that takes more than four minutes.
    pub fn wait(mut self) -> Finished {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "the process did not end within {PATIENCE:?}\n{self}");
            thread::sleep(POLL);
        };
        Finished { status, stdout: self.standard_output.finish(), stderr: self.standard_error.finish() }
    }

    fn wait_for<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let started = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("a child can be waited for");
            if ended.is_some() {
                self.standard_output.join();
                self.standard_error.join();
            }
            if let Some(found) = find(&self.stderr()).or_else(|| find(&self.stdout())) {
                return Ok(found);
            }
            if let Some(status) = ended {
                return Err(format!("the process ended with {status}"));
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("not within {PATIENCE:?}"));
            }
            thread::sleep(POLL);
        }
    }
}

impl fmt::Display for PronyProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "--- stdout\n{}\n--- stderr\n{}", self.stdout(), self.stderr())
    }
}

impl Drop for PronyProcess {
    fn drop(&mut self) {
        // An id that has been waited for can belong to another process by now.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            self.watchdog.take().into_iter().for_each(Watchdog::disarm);
            return;
        }
        drop(self.watchdog.take());
        let _ = self.child.wait();
    }
}

/// Reads a stream to its end on a thread, so that the child never blocks on a full pipe.
#[derive(Debug)]
struct Collector {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Collector {
    fn start(stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let reader = {
            let text = Arc::clone(&text);
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let mut line = Vec::new();
                while stream.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                    lock(&text).push_str(&String::from_utf8_lossy(&line));
                    line.clear();
                }
            })
        };
        Self { text, reader: Some(reader) }
    }

    fn text(&self) -> String {
        lock(&self.text).clone()
    }

    /// Waits for the stream's end.
    fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
    }

    fn finish(&mut self) -> String {
        self.join();
        self.text()
    }
}

fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> PronyProcess {
        PronyProcess::start("/bin/sh", ["-c", script])
    }

    #[test]
    fn the_url_is_found_in_plain_and_json_lines() {
        for line in [
            "INFO listening on http://127.0.0.1:4321/",
            "{\"message\":\"listening on http://127.0.0.1:4321\"}",
        ] {
            let mut child = shell(&format!("echo '{line}' >&2; exec sleep 100"));
            assert_eq!(child.wait_for_url(), "http://127.0.0.1:4321");
        }
    }

    #[test]
    fn stopping_collects_the_output() {
        let mut child = shell("trap 'echo bye >&2; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
        child.wait_for_text("ready");
        let finished = child.stop();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("ready\n", "bye\n"));
    }

    #[test]
    fn an_early_end_can_be_waited_for() {
        let mut child = shell("echo cannot read >&2; exit 2");
        assert_eq!(child.try_wait_for_url(), Err("the process ended with exit status: 2".to_owned()));
        assert_eq!(child.wait().stderr, "cannot read\n");
    }

    #[test]
    #[should_panic(expected = "the process ended with exit status: 2")]
    fn an_early_end_is_told_with_its_output() {
        shell("echo no such file >&2; exit 2").wait_for_url();
    }
}
