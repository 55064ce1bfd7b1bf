//! Load generators that others wrote: wrk for HTTP, pgbench for PostgreSQL. Our own load side does not judge
//! our own engine here.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs wrk with one thread and gives requests a second.
///
/// # Panics
/// When wrk is missing, fails, or counts an answer outside 2xx.
pub(crate) fn wrk(url: &str, script: &Path, connections: u32, seconds: u32) -> f64 {
    run_wrk(Command::new("wrk"), url, script, connections, seconds)
}

/// As [`wrk`], on one processor of its own.
pub(crate) fn wrk_on_core(core: &str, url: &str, script: &Path, connections: u32, seconds: u32) -> f64 {
    let mut command = Command::new("taskset");
    command.args(["-c", core, "wrk"]);
    run_wrk(command, url, script, connections, seconds)
}

fn run_wrk(mut command: Command, url: &str, script: &Path, connections: u32, seconds: u32) -> f64 {
    let output = command
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "-s"])
        .arg(script)
        .arg(url)
        .output()
        .expect("wrk is installed (apt-get install wrk)");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures:\n{text}");
    number_after(&text, "Requests/sec:")
}

/// Runs pgbench with prepared statements and the plan held, and gives transactions a second.
///
/// # Panics
/// When pgbench is missing or fails.
pub(crate) fn pgbench(program: &Path, url: &str, script: &Path, clients: u32, seconds: u32) -> f64 {
    let options = ["-c", &clients.to_string(), "-T", &seconds.to_string()];
    number_after(&run_pgbench(program, url, script, &options), "tps =")
}

/// Runs a script so often on one connection, and gives the mean milliseconds of a transaction.
///
/// # Panics
/// When pgbench is missing or fails.
pub(crate) fn pgbench_times(program: &Path, url: &str, script: &Path, count: u32) -> f64 {
    let options = ["-c", "1", "-t", &count.to_string()];
    number_after(&run_pgbench(program, url, script, &options), "latency average =")
}

fn run_pgbench(program: &Path, url: &str, script: &Path, options: &[&str]) -> String {
    let output = Command::new(program)
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
        .args(["-n", "-M", "prepared", "-j", "1"])
        .args(options)
        .arg("-f")
        .arg(script)
        .arg(url)
        .output()
        .expect("pgbench stands beside the PostgreSQL that testkit found");
    assert!(output.status.success(), "pgbench failed:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes a script into the folder and gives its path.
pub(crate) fn script_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("the temporary folder is writable");
    path
}

fn number_after(text: &str, label: &str) -> f64 {
    let rest = text.split(label).nth(1).unwrap_or_else(|| panic!("no `{label}` in:\n{text}"));
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN)
}
