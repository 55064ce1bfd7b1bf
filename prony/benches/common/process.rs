//! What processes used, read from `/proc`: processor time of a whole tree and resident memory.

use std::fs;

/// Clock ticks a second, the unit of `/proc/PID/stat`; 100 on every Linux that Rust supports (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor seconds of a process, its living descendants, and those that it has waited for.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    let own = stat_seconds(&pid.to_string(), 11, 4);
    let children: f64 = children(pid).into_iter().map(cpu_seconds).sum();
    own + children
}

/// Processor seconds of the children that this process has waited for.
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
pub(crate) fn waited_cpu_seconds() -> f64 {
    stat_seconds("self", 13, 2)
}

/// Resident memory in KiB.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:")
}

/// Resident memory in MB of 10^6 bytes.
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
pub(crate) fn resident_mb(pid: u32) -> f64 {
    resident_kib(pid) as f64 * 1024.0 / 1e6
}

/// The most resident memory that a living process has had so far, in KiB.
#[allow(dead_code, reason = "each benchmark uses its part of this module")]
pub(crate) fn peak_resident_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

fn status_kib(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Times among the fields of `/proc/PID/stat` (proc(5)): from 11, counted behind the name, come user and system time of
/// the process, then of the children that it has waited for.
fn stat_seconds(pid: &str, first: usize, count: usize) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the name in parentheses and may hold spaces.
    let Some((_, rest)) = stat.rsplit_once(')') else { return 0.0 };
    let fields = rest.split_whitespace().skip(first).take(count);
    let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

/// Processes that a process has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
