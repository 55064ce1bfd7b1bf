//! The target of a sweep, where commands start and stop it: once for each combination, with the settings of that one.

use prony_load::{StopFlag, reach};
use prony_model::Plan;
use prony_model::sweep::{Combination, TARGET_PREFIX};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at a target that is not ready, or not gone.
const POLL: Duration = Duration::from_millis(50);
/// A target that was asked to end and has not after this time is killed; longer than the grace of common servers.
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// Of what a target that did not start has printed, in messages.
const LOG_TAIL_LINES: usize = 10;

/// How the target is started and stopped; both are given to `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetCommands {
    /// `{NAME}` stands for the setting `target.NAME`.
    pub start: String,
    /// Without it the process that `start` began is asked to end (SIGTERM).
    pub stop: Option<String>,
    /// How long it may take until the target can be connected to.
    pub wait: Duration,
}

/// A target that is not there as it should be.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error(
        "{target} can be connected to before the target was started; stop what runs there, or leave --target-start out"
    )]
    AlreadyThere { target: String },
    #[error("cannot start `{command}`: {cause}")]
    NoStart { command: String, cause: io::Error },
    #[error("cannot write the target's log {}: {cause}", path.display())]
    NoLog { path: PathBuf, cause: io::Error },
    #[error(
        "`{command}` ended with {status} before the target could be connected to; the last it printed:\n{log}"
    )]
    Ended { command: String, status: ExitStatus, log: String },
    #[error(
        "`{command}` was started {seconds} s ago and the target cannot be connected to ({cause}); raise --target-wait, or see what it \
         printed:\n{log}"
    )]
    NotReady { command: String, seconds: u64, cause: String, log: String },
    #[error("`{command}` ended and left the target running; say with --target-stop what stops it")]
    LeftAlone { command: String },
    #[error("`{command}` ended with {status}, and the target has to be stopped before the next combination")]
    StopFailed { command: String, status: ExitStatus },
    #[error("{target} can still be connected to {seconds} s after the target was stopped")]
    StillThere { target: String, seconds: u64 },
    /// By the user, while the target was starting.
    #[error("stopped while the target was starting")]
    Stopped,
}

impl TargetCommands {
    /// With the settings of a combination.
    pub(super) fn filled(&self, combination: &Combination) -> Self {
        Self {
            start: filled(&self.start, combination),
            stop: self.stop.as_ref().map(|stop| filled(stop, combination)),
            wait: self.wait,
        }
    }
}

/// `{heap}` becomes the value of `target.heap`; other braces stay, as shells have them too.
pub(super) fn filled(text: &str, combination: &Combination) -> String {
    combination.settings.iter().fold(text.to_owned(), |text, (name, value)| {
        match name.strip_prefix(TARGET_PREFIX) {
            Some(place) => text.replace(&format!("{{{place}}}"), value),
            None => text,
        }
    })
}

/// A target that was started; it does not outlive this value.
#[derive(Debug)]
pub(super) struct Target {
    commands: TargetCommands,
    child: Child,
    /// Whom to ask whether it is gone.
    plan: Plan,
}

impl Target {
    /// Returns when it can be connected to. What it prints goes to `log`.
    pub(super) fn start(
        commands: &TargetCommands,
        log: &Path,
        plan: &Plan,
        stop: &StopFlag,
    ) -> Result<Self, TargetError> {
        if reach(plan).is_ok() {
            return Err(TargetError::AlreadyThere { target: name_of(plan) });
        }
        let no_log = |cause| TargetError::NoLog { path: log.to_owned(), cause };
        let file = File::create(log).map_err(no_log)?;
        let mut process = shell(&commands.start);
        process.stdout(file.try_clone().map_err(no_log)?).stderr(file);
        let child = process
            .spawn()
            .map_err(|cause| TargetError::NoStart { command: commands.start.clone(), cause })?;
        let mut target = Self { commands: commands.clone(), child, plan: plan.clone() };
        target.wait_until_ready(log, stop)?;
        Ok(target)
    }

    fn wait_until_ready(&mut self, log: &Path, stop: &StopFlag) -> Result<(), TargetError> {
        let (command, began) = (self.commands.start.clone(), Instant::now());
        loop {
            let ended = self.child.try_wait().ok().flatten();
            let cause = match reach(&self.plan) {
                Ok(()) if ended.is_some() && self.commands.stop.is_none() => {
                    return Err(TargetError::LeftAlone { command });
                }
                Ok(()) => return Ok(()),
                // The run says what of the machine is too small for its users.
                Err(cause) if cause.is_limit() => return Ok(()),
                Err(cause) => cause,
            };
            if let Some(status) = ended.filter(|status| !status.success() || self.commands.stop.is_none()) {
                return Err(TargetError::Ended { command, status, log: tail(log) });
            }
            if began.elapsed() >= self.commands.wait {
                let (seconds, cause) = (self.commands.wait.as_secs(), cause.to_string());
                return Err(TargetError::NotReady { command, seconds, cause, log: tail(log) });
            }
            if stop.is_stopped() {
                return Err(TargetError::Stopped);
            }
            thread::sleep(POLL);
        }
    }

    /// Returns when it cannot be connected to any more; says so where it had to be killed.
    pub(super) fn stop(mut self) -> Result<Option<String>, TargetError> {
        let asked = Instant::now();
        if let Some(command) = self.commands.stop.clone() {
            let status = shell(&command).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let status = status.map_err(|cause| TargetError::NoStart { command: command.clone(), cause })?;
            if !status.success() {
                return Err(TargetError::StopFailed { command, status });
            }
        } else {
            self.signal(Signal::TERM);
        }
        let mut warning = None;
        while matches!(self.child.try_wait(), Ok(None)) {
            if asked.elapsed() >= STOP_PATIENCE && warning.is_none() {
                self.signal(Signal::KILL);
                let seconds = STOP_PATIENCE.as_secs();
                warning = Some(format!("the target did not end within {seconds} s and was killed"));
            }
            thread::sleep(POLL);
        }
        while reach(&self.plan).is_ok() {
            if asked.elapsed() >= 2 * STOP_PATIENCE {
                let (target, seconds) = (name_of(&self.plan), asked.elapsed().as_secs());
                return Err(TargetError::StillThere { target, seconds });
            }
            thread::sleep(POLL);
        }
        Ok(warning)
    }

    /// To all that the command has started, as long as it stays in the command's group.
    fn signal(&self, signal: Signal) {
        // It may have ended already.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// In a group of its own: Ctrl-C at the terminal is for the sweep, which stops the target itself.
fn shell(command: &str) -> Command {
    let mut process = Command::new("sh");
    process.args(["-c", command]).stdin(Stdio::null()).process_group(0);
    process
}

fn name_of(plan: &Plan) -> String {
    plan.target().map(ToString::to_string).unwrap_or_default()
}

fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_fill_the_places_that_have_their_names() {
        let settings = [("target.heap", "512m"), ("target.gc", "G1"), ("users", "5")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let combination = Combination { settings, ..Combination::default() };
        let text = "java -Xmx{heap} -XX:+Use{gc}GC ${HOME} {users} {a,b} {heap}";
        assert_eq!(filled(text, &combination), "java -Xmx512m -XX:+UseG1GC ${HOME} {users} {a,b} 512m");
    }
}
