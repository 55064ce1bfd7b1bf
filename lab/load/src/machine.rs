//! What this machine is, and whether the target's process runs on it beside the lab.

use prony_client::targets::{Listener, Targets};
use prony_model::Nanos;
use prony_model::measurement::clock::ClockSample;
use prony_model::result::Machine;
use prony_model::verdict::findings::TargetPlace;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Clocks that were read over a longer time than this were not read at the same moment.
const CLOCKS_READ_MAX: Duration = Duration::from_millis(10);

/// The machine that this runs on, as results keep it.
pub fn describe() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let memory = read("/proc/meminfo");
    Machine {
        host_name: read("/proc/sys/kernel/hostname").trim().to_owned(),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        processor: field(&cpu, "model name").unwrap_or("unknown").to_owned(),
        processors: thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: kilobytes(&memory, "MemTotal"),
    }
}

/// The clocks now; nothing where this thread lost its processor between them.
pub(crate) fn clocks(epoch: Instant) -> Option<ClockSample> {
    let nanos = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let before = epoch.elapsed();
    let (wall_ns, boot_ns) = (nanos(ClockId::Realtime), nanos(ClockId::Boottime));
    let at = Nanos(before.as_nanos() as u64);
    (epoch.elapsed().saturating_sub(before) < CLOCKS_READ_MAX).then_some(ClockSample { at, wall_ns, boot_ns })
}

/// The most memory that this process ever had resident; 0 where the system does not say.
pub(crate) fn memory_peak_bytes() -> u64 {
    kilobytes(&fs::read_to_string("/proc/self/status").unwrap_or_default(), "VmHWM")
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn kilobytes(text: &str, name: &str) -> u64 {
    let value = field(text, name).and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or(0) * 1024
}

/// Looks up which process listens at the target's port, and which processors it may use.
pub(crate) fn place_of(network: &Targets) -> TargetPlace {
    let listener = network.listener();
    if listener == Listener::OtherMachine {
        return TargetPlace::OtherMachine;
    }
    let Ok(ours) = sched_getaffinity(None) else {
        return TargetPlace::SameProcessors { process: None, processors: 0 };
    };
    let Some(pid) = listening_process(&listener) else {
        return TargetPlace::SameProcessors { process: None, processors: ours.count() };
    };
    let theirs = sched_getaffinity(Some(pid)).unwrap_or(ours);
    let shared = (0..CpuSet::MAX_CPU).filter(|cpu| ours.is_set(*cpu) && theirs.is_set(*cpu)).count();
    if shared == 0 {
        return TargetPlace::OtherProcessors;
    }
    let number = pid.as_raw_nonzero();
    let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    let process = Some(format!("the target ({}, process {number})", name.trim()));
    TargetPlace::SameProcessors { process, processors: shared as u32 }
}

fn listening_process(listener: &Listener) -> Option<Pid> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let inode = match listener {
        Listener::OtherMachine => None,
        Listener::Port(port) => {
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(read);
            let mut lines = tables.iter().flat_map(|table| table.lines());
            lines.find_map(|line| listening_inode(line, *port).map(str::to_owned))
        }
        Listener::Socket(path) => {
            let table = read("/proc/net/unix");
            table.lines().find_map(|line| listening_unix_inode(line, path).map(str::to_owned))
        }
    }?;
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.find(|id| holds(&format!("/proc/{id}/fd"), &socket)).and_then(Pid::from_raw)
}

/// A line of `/proc/net/tcp` (`Documentation/networking/proc_net_tcp.rst`): the inode where it listens at the port.
fn listening_inode(line: &str, port: u16) -> Option<&str> {
    const LISTENS: &str = "0A";
    let columns: Vec<_> = line.split_whitespace().collect();
    let (_, hex) = columns.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(hex, 16) == Ok(port) && columns.get(3) == Some(&LISTENS);
    is_it.then(|| columns.get(9).copied()).flatten()
}

/// A line of `/proc/net/unix`: the inode of the socket that accepts connections at this path.
fn listening_unix_inode<'a>(line: &'a str, path: &Path) -> Option<&'a str> {
    const ACCEPTS: &str = "00010000";
    let columns: Vec<_> = line.split_whitespace().collect();
    let is_it =
        columns.get(3) == Some(&ACCEPTS) && columns.get(7).is_some_and(|column| Path::new(column) == path);
    is_it.then(|| columns.get(6).copied()).flatten()
}

fn holds(directory: &str, socket: &str) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries
        .filter_map(Result::ok)
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link == Path::new(socket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listener_is_found_by_its_port() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100";
        assert_eq!(listening_inode(line, 8080), Some("4242"));
        assert_eq!(listening_inode(line, 8081), None);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(
            listening_process(&Listener::Port(port)).map(|pid| pid.as_raw_nonzero().get()),
            Some(std::process::id().cast_signed())
        );
    }

    #[test]
    fn the_listener_is_found_by_its_socket() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let found = listening_process(&Listener::Socket(path));
        drop(listener);
        assert_eq!(found.map(|pid| pid.as_raw_nonzero().get()), Some(std::process::id().cast_signed()));
    }
}
