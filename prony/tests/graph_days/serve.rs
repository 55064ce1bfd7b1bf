//! `prony serve graph:DIR` as these tests start it.

use prony_testkit::PronyProcess;
use std::path::{Path, PathBuf};
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

/// A file of settings in `directory`, with which snapshots of the graph are frequent.
pub(crate) fn settings(directory: &Path, graph: &Path, snapshot_at_log_bytes: u64) -> PathBuf {
    let path = directory.join("prony.toml");
    let url = format!("graph:{}", graph.display());
    let text = format!("[[source]]\nurl = {url:?}\nsnapshot_at_log_bytes = {snapshot_at_log_bytes}\n");
    std::fs::write(&path, text).unwrap();
    path
}

/// A command that ends with the program, with the arguments to serve what the file says.
pub(crate) fn configured(mut command: Command, settings: &Path) -> Command {
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(settings);
    command
}
