//! The engine as a process of its own: started on its processors, awaited until it listens, stopped. The lab
//! knows it only by its command line, its log, its address and its process.

#![allow(unsafe_code, reason = "what a child does between fork and exec is unsafe to give")]

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::processors;
use prony_observe::usage::Usage;

const READY: &str = "listening on ";
const SCHEMES: [&str; 2] = ["http://", "https://"];
/// Preparing a large schema takes about a second; a debug build on a busy machine ten times that.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// Answers in flight are finished first; after this time the engine is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
/// How variables begin that are options of an engine.
const OPTION_PREFIXES: [&[u8]; 2] = [b"PRONY_", b"OTEL_"];
/// How much of the log's end goes into an error.
const LOG_TAIL_LINES: usize = 20;
/// More descriptors than this are asked for only where the limit is higher already.
const DESCRIPTORS_WANTED: u64 = 1 << 18;

/// Why the engine does not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
    #[error("the engine ended with {status} before it listened; its log ends with:\n{log}")]
    Ended { status: std::process::ExitStatus, log: String },
    #[error("`{command}` ended with {status}; its log ends with:\n{log}")]
    Failed { command: String, status: std::process::ExitStatus, log: String },
    #[error("the engine did not listen within {} s; its log ends with:\n{log}", START_PATIENCE.as_secs())]
    NotReady { log: String },
}

fn io_error(action: impl Into<String>) -> impl FnOnce(io::Error) -> EngineError {
    let action = action.into();
    move |source| EngineError::Io { action, source }
}

/// How to start an engine.
#[derive(Debug)]
pub struct EngineCommand<'a> {
    /// The `prony` program.
    pub program: &'a Path,
    /// From `serve` on; the address to listen on is added.
    pub arguments: Vec<String>,
    pub processors: &'a [usize],
    /// What the caller's thread goes back to.
    pub lab_processors: &'a [usize],
    /// Output of the engine is appended here.
    pub log: PathBuf,
}

impl EngineCommand<'_> {
    /// The child inherits the processors of the thread that starts it, and no options of whoever runs the lab: what is
    /// measured is what the arguments say.
    fn spawn(&self, process: &mut Command) -> Result<Child, EngineError> {
        detach(process);
        for (name, _) in env::vars_os().filter(|(name, _)| is_option(name)) {
            process.env_remove(name);
        }
        processors::bind_thread(self.processors).map_err(io_error("bind the engine to its processors"))?;
        let child = process.spawn();
        processors::bind_thread(self.lab_processors).map_err(io_error("bind the lab to its processors"))?;
        child.map_err(io_error(format!("start {}", self.program.display())))
    }

    fn open_log(&self) -> Result<File, EngineError> {
        let log = File::options().create(true).append(true).open(&self.log);
        log.map_err(io_error(format!("write to {}", self.log.display())))
    }

    /// Runs to the end, with no address, and returns what was printed, which must be short. `None` where `is_stopped`
    /// said so before.
    pub(crate) fn output(&self, is_stopped: impl Fn() -> bool) -> Result<Option<Vec<u8>>, EngineError> {
        let mut process = Command::new(self.program);
        process.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.open_log()?);
        let child = self.spawn(&mut process)?;
        let mut engine = Engine { child, address: String::new() };
        let status = loop {
            if is_stopped() {
                return Ok(None);
            }
            if let Some(status) = engine.child.try_wait().map_err(io_error("wait for the engine"))? {
                break status;
            }
            thread::sleep(POLL);
        };
        if !status.success() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let command = self.arguments.join(" ");
            return Err(EngineError::Failed { command, status, log: tail(&log) });
        }
        let mut printed = Vec::new();
        let output = engine.child.stdout.as_mut().map(|output| output.read_to_end(&mut printed));
        output.transpose().map_err(io_error("read what the engine printed"))?;
        Ok(Some(printed))
    }
}

/// A running engine; killed on drop.
#[derive(Debug)]
pub struct Engine {
    child: Child,
    /// `127.0.0.1:PORT`.
    address: String,
}

impl Engine {
    /// Returns when the engine listens.
    pub fn start(command: &EngineCommand<'_>) -> Result<Self, EngineError> {
        let log = command.open_log()?;
        let earlier_bytes = log.metadata().map_err(io_error("read the engine's log"))?.len() as usize;
        let mut process = Command::new(command.program);
        process.args(&command.arguments).args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null());
        process.stdout(log.try_clone().map_err(io_error("open the engine's log"))?).stderr(log);
        let child = command.spawn(&mut process)?;
        let mut engine = Self { child, address: String::new() };
        engine.address = engine.wait_until_ready(&command.log, earlier_bytes)?;
        Ok(engine)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn usage(&self) -> io::Result<Usage> {
        Usage::of(self.child.id())
    }

    /// Asks it to stop and waits; kills it when that takes too long.
    pub fn stop(mut self) {
        if kill_process(Pid::from_child(&self.child), Signal::TERM).is_err() {
            return;
        }
        let asked = Instant::now();
        while asked.elapsed() < STOP_PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(POLL);
        }
    }

    fn wait_until_ready(&mut self, log: &Path, earlier_bytes: usize) -> Result<String, EngineError> {
        let started = Instant::now();
        loop {
            let ended = self.child.try_wait().map_err(io_error("wait for the engine"))?;
            let bytes = fs::read(log).map_err(io_error("read the engine's log"))?;
            let text = String::from_utf8_lossy(bytes.get(earlier_bytes..).unwrap_or_default());
            if let Some(address) = find_address(&text) {
                return Ok(address);
            }
            if let Some(status) = ended {
                return Err(EngineError::Ended { status, log: tail(&text) });
            }
            if started.elapsed() > START_PATIENCE {
                return Err(EngineError::NotReady { log: tail(&text) });
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_option(variable: &OsStr) -> bool {
    OPTION_PREFIXES.iter().any(|prefix| variable.as_encoded_bytes().starts_with(prefix))
}

/// Ctrl-C at the terminal is for the lab, which stops the engine when it has read what it needs; and the
/// engine does not outlive a lab that was killed.
pub(crate) fn detach(process: &mut Command) {
    use std::os::unix::process::CommandExt;
    process.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: between fork and exec only prctl(2) is called, which is a plain system call: no allocation, no
    // lock, no memory of the parent.
    unsafe {
        process.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

/// The address in the first whole line that says where the engine listens, as text or in JSON.
fn find_address(log: &str) -> Option<String> {
    let rest = &log[log.find(READY)? + READY.len()..];
    let rest = SCHEMES.iter().find_map(|scheme| rest.strip_prefix(scheme))?;
    let line = &rest[..rest.find('\n')?];
    let end = line.find(|c: char| c.is_whitespace() || "\"/\u{1b}".contains(c)).unwrap_or(line.len());
    Some(line[..end].to_owned())
}

/// The end of a log, for errors.
pub(crate) fn tail_of(log: &Path) -> String {
    tail(&String::from_utf8_lossy(&fs::read(log).unwrap_or_default()))
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

/// Raises the limit of open files as far as allowed, for this process and those it starts, and returns it: a
/// user is a connection here and one at the engine.
pub fn raise_descriptor_limit() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(u64::MAX);
    let wanted = hard.max(DESCRIPTORS_WANTED);
    // Only root may go above the hard limit; then the hard limit has to do.
    for limit in [wanted, hard] {
        if setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum: Some(limit) }).is_ok() {
            return limit;
        }
    }
    now.current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str, directory: &Path) -> Result<Engine, EngineError> {
        let all = processors::available().unwrap();
        Engine::start(&EngineCommand {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            processors: &all[..1],
            lab_processors: &all,
            log: directory.join("engine.log"),
        })
    }

    #[test]
    fn it_is_ready_when_it_says_so_and_stops_when_asked() {
        let directory = tempfile::tempdir().unwrap();
        for line in [
            "INFO listening on http://127.0.0.1:4321",
            "{\"message\":\"listening on http://127.0.0.1:4321/\"}",
        ] {
            let engine = start(&format!("echo '{line}' >&2; exec sleep 100"), directory.path()).unwrap();
            assert_eq!(engine.address(), "127.0.0.1:4321");
            assert!(engine.usage().unwrap().resident_bytes > 0);
            engine.stop();
        }
    }

    #[test]
    fn an_early_end_is_told_with_the_log() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(
            directory.path().join("engine.log"),
            "listening on http://127.0.0.1:1 (an earlier engine)\n",
        )
        .unwrap();
        let error = start("echo no such file >&2; exit 2", directory.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the engine ended with exit status: 2 before it listened; its log ends with:\nno such file"
        );
    }

    #[test]
    fn it_runs_on_its_processors_only() {
        let directory = tempfile::tempdir().unwrap();
        let engine = start("echo listening on http://127.0.0.1:1; exec sleep 100", directory.path()).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", engine.process())).unwrap();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        assert_eq!(allowed.trim(), processors::available().unwrap()[0].to_string());
    }

    #[test]
    fn what_runs_to_its_end_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let all = processors::available().unwrap();
        let output = |script: &str, is_stopped: bool| {
            let command = EngineCommand {
                program: Path::new("/bin/sh"),
                arguments: vec!["-c".into(), script.into()],
                processors: &all[..1],
                lab_processors: &all,
                log: directory.path().join("engine.log"),
            };
            command.output(|| is_stopped).map_err(|error| error.to_string())
        };
        assert_eq!(output("echo figures", false), Ok(Some(b"figures\n".to_vec())));
        assert_eq!(output("exec sleep 100", true), Ok(None));
        let error = output("echo why >&2; exit 3", false).unwrap_err();
        assert!(error.ends_with("ended with exit status: 3; its log ends with:\nwhy"), "{error}");
    }

    #[test]
    fn options_are_told_from_other_variables() {
        let is_option = |name: &str| is_option(OsStr::new(name));
        assert!(is_option("PRONY_SOURCE_READ_ONLY") && is_option("OTEL_EXPORTER_OTLP_ENDPOINT"));
        assert!(!is_option("PGPASSWORD") && !is_option("MY_PRONY_HOME") && !is_option(""));
    }

    #[test]
    fn half_a_line_is_not_taken() {
        assert_eq!(find_address("listening on http://127.0.0.1:43"), None);
        assert_eq!(find_address("x\nlistening on http://127.0.0.1:43\n").as_deref(), Some("127.0.0.1:43"));
        assert_eq!(find_address("listening on https://127.0.0.1:443\n").as_deref(), Some("127.0.0.1:443"));
    }
}
