//! `prony serve graph:DIR` as these tests start it.

use prony_testkit::PronyProcess;
use std::path::Path;
use std::process::Command;

/// A server on a free port, and its address.
pub(crate) struct Server {
    pub(crate) process: PronyProcess,
    pub(crate) url: String,
}

pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.arg("serve").arg(format!("graph:{}", directory.display())).args(["--listen", "127.0.0.1:0"]);
    command
}

pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Server {
    let mut command = command(directory);
    command.args(arguments);
    start_command(command)
}

/// Waits until it listens.
pub(crate) fn start_command(command: Command) -> Server {
    let mut process = PronyProcess::start_command(command);
    let url = process.wait_for_url();
    Server { process, url }
}
