//! `prony selftest`: does the lab report what happens? A target with known faults runs as a process of its own and
//! keeps its own log; each check loads it and holds what the lab reports against that log.

mod checks;
mod log;
mod report;
mod target;

pub use report::{Check, SelftestReport};
pub use target::serve as serve_target;

use log::Entry;
use prony_load::{RunError, RunOptions, StopFlag, run};
use prony_model::{PlanFaults, ResultFile, Target};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The hidden subcommand of the program that runs [`serve_target`].
pub const TARGET_COMMAND: &str = "selftest-target";
const READY: &str = "listening on ";

/// Why the self-test could not be done; that a check does not hold is no error.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    #[error("cannot start the built-in target: {0}")]
    Start(io::Error),
    #[error("the built-in target ended before it listened")]
    Ended,
    #[error("cannot read the target's log: {0}")]
    Log(io::Error),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a check's plan makes no sense: {0}")]
    Plan(#[from] PlanFaults),
    #[error("stopped before its end")]
    Stopped,
}

/// How the self-test is done.
#[derive(Debug)]
pub struct SelftestOptions<'a> {
    /// The `prony` program, whose [`TARGET_COMMAND`] is the target.
    pub program: &'a Path,
    /// Fewer seconds for each check.
    pub is_quick: bool,
    pub stop: StopFlag,
}

/// Does all checks, in turn; `begin` hears the name of each.
pub fn selftest(
    options: &SelftestOptions<'_>,
    mut begin: impl FnMut(&str),
) -> Result<SelftestReport, SelftestError> {
    let bench = Bench { target: RunningTarget::start(options.program)?, stop: options.stop.clone() };
    let mut checks = Vec::new();
    for (name, check) in checks::ALL {
        begin(name);
        // What an earlier check left in the log is not this one's.
        bench.target.take_log()?;
        checks.extend(check(&bench, options.is_quick)?);
        if options.stop.is_stopped() {
            return Err(SelftestError::Stopped);
        }
    }
    Ok(SelftestReport { checks })
}

/// What a check works with.
struct Bench {
    target: RunningTarget,
    stop: StopFlag,
}

impl Bench {
    fn address(&self) -> Target {
        Target::parse(&format!("http://{}", self.target.address)).expect("the target has a plain address")
    }

    /// Runs a plan on one thread, so that requests leave in the order of their starts; the result and what the target
    /// saw meanwhile.
    fn run(&self, draft: prony_model::PlanDraft) -> Result<(ResultFile, Vec<Entry>), SelftestError> {
        let options =
            RunOptions { threads: NonZeroUsize::MIN, stop: self.stop.clone(), ..RunOptions::default() };
        let result = run(&draft.check()?, options)?;
        Ok((result, self.target.take_log()?))
    }
}

/// The target as a process; it ends when its input does, so also when this process is killed.
struct RunningTarget {
    child: Child,
    address: String,
}

impl RunningTarget {
    fn start(program: &Path) -> Result<Self, SelftestError> {
        let mut child = Command::new(program)
            .arg(TARGET_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(SelftestError::Start)?;
        let output = child.stdout.take().ok_or(SelftestError::Ended)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(SelftestError::Start)?;
        let address = line.trim().strip_prefix(READY).map(str::to_owned);
        let running = Self { child, address: address.clone().unwrap_or_default() };
        address.map(|_| running).ok_or(SelftestError::Ended)
    }

    /// Everything since it was last taken.
    fn take_log(&self) -> Result<Vec<Entry>, SelftestError> {
        let mut answer = String::new();
        let fetched = TcpStream::connect(&self.address).and_then(|mut stream| {
            write!(stream, "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", target::LOG_PATH, self.address)?;
            stream.read_to_string(&mut answer)
        });
        fetched.map_err(SelftestError::Log)?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        body.lines().map(|line| Entry::parse(line).ok_or_else(|| broken(line))).collect()
    }
}

fn broken(line: &str) -> SelftestError {
    SelftestError::Log(io::Error::new(io::ErrorKind::InvalidData, format!("broken line `{line}`")))
}

impl Drop for RunningTarget {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
