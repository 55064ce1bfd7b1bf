//! What a process has used, from /proc (proc(5)): processor time, memory, descriptors, context switches, storage.

use std::{collections::HashMap, fs, io, time::Duration};

/// A reading of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// User and system time of all threads since the process began.
    pub processor_time: Duration,
    /// The part of it that the system worked for the process.
    pub system_time: Duration,
    /// When the process began, counted from the machine's start: tells it from a later one with the same id.
    pub started_after_boot: Duration,
    pub threads: u64,
    pub resident_bytes: u64,
    /// The most that was resident at any time.
    pub resident_bytes_max: u64,
}

impl Usage {
    /// Reads `/proc/PID`.
    pub fn of(process: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let ticks = rustix::param::clock_ticks_per_second();
        parse(&stat, &status, ticks).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads this process.
    pub fn own() -> io::Result<Self> {
        Self::of(std::process::id())
    }
}

/// Time that these processors worked for any process, or that the hypervisor kept from them. Interrupts are left
/// out: they are the network's work for whoever is measured.
pub fn busy_time(processors: &[usize]) -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    parse_busy(&stat, processors, rustix::param::clock_ticks_per_second())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse_busy(stat: &str, processors: &[usize], ticks_per_second: u64) -> Option<Duration> {
    let mut ticks = 0;
    for processor in processors {
        let name = format!("cpu{processor} ");
        let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
        // user, nice, system, idle, iowait, irq, softirq, steal
        let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        ticks += fields.get(..3)?.iter().sum::<u64>() + fields.get(7)?;
    }
    Some(Duration::from_secs_f64(ticks as f64 / ticks_per_second as f64))
}

fn parse(stat: &str, status: &str, ticks_per_second: u64) -> Option<Usage> {
    // The program's name stands in parentheses and may hold spaces and parentheses itself.
    let (_, fields) = stat.rsplit_once(')')?;
    // From the state on, which is the third field.
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |index: usize| -> Option<u64> { fields.get(index - 3)?.parse().ok() };
    let time = |ticks: u64| Duration::from_secs_f64(ticks as f64 / ticks_per_second as f64);
    let (user, system) = (number(14)?, number(15)?);
    Some(Usage {
        processor_time: time(user + system),
        system_time: time(system),
        threads: number(20)?,
        started_after_boot: time(number(22)?),
        resident_bytes: field(status, "VmRSS:")? * 1024,
        resident_bytes_max: field(status, "VmHWM:")? * 1024,
    })
}

/// The number behind a name at the beginning of a line, without its unit.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Open descriptors; none where the process belongs to somebody else.
pub(crate) fn descriptors(process: u32) -> Option<u64> {
    Some(fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64)
}

/// Bytes that went to and came from storage, not from the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StorageBytes {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl StorageBytes {
    /// None where the process belongs to somebody else.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
        Some(Self { read: field(&text, "read_bytes:")?, written: field(&text, "write_bytes:")? })
    }
}

/// Threads whose context switches are counted. Reading one costs about 15 µs, so this many cost 15 ms a second.
const THREADS_MAX: usize = 1_000;

/// Context switches of a process: the system counts them by thread, and forgets those of threads that have ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switches {
    by_thread: HashMap<u32, (u64, u64)>,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

impl Switches {
    /// Adds what has come since the last call; what a thread did between that and its end is lost.
    pub(crate) fn update(&mut self, process: u32) {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let ids = threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut seen = HashMap::new();
        for id in ids.take(THREADS_MAX) {
            let status = fs::read_to_string(format!("/proc/{process}/task/{id}/status"));
            if let Some(counts) = status.ok().as_deref().and_then(switches) {
                seen.insert(id, counts);
            }
        }
        self.take(seen);
    }

    fn take(&mut self, seen: HashMap<u32, (u64, u64)>) {
        for (id, (voluntary, involuntary)) in &seen {
            let before = self.by_thread.get(id).copied().unwrap_or_default();
            self.voluntary += voluntary.saturating_sub(before.0);
            self.involuntary += involuntary.saturating_sub(before.1);
        }
        self.by_thread = seen;
    }
}

fn switches(status: &str) -> Option<(u64, u64)> {
    Some((field(status, "voluntary_ctxt_switches:")?, field(status, "nonvoluntary_ctxt_switches:")?))
}

/// Ids of processes with this name: as the system knows it (cut after 15 bytes), or the file name of the program.
pub(crate) fn processes_named(name: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = ids.filter(|id| is_named(*id, name)).collect();
    found.sort_unstable();
    found
}

fn is_named(process: u32, name: &str) -> bool {
    const COMM_LENGTH: usize = 15;
    let comm = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    let comm = comm.trim_ascii_end();
    if name.len() <= COMM_LENGTH {
        return comm == name.as_bytes();
    }
    let program = || fs::read_link(format!("/proc/{process}/exe")).ok();
    comm == &name.as_bytes()[..COMM_LENGTH]
        && program().is_none_or(|path| path.file_name().is_some_and(|file| file == name))
}

/// What the system calls a process.
pub(crate) fn name_of(process: u32) -> Option<String> {
    let comm = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(comm.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_texts_are_read() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 3 0 100 1000 500 0";
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let usage = parse(stat, status, 100).unwrap();
        assert_eq!(usage.processor_time, Duration::from_secs(4));
        assert_eq!((usage.system_time, usage.threads), (Duration::from_millis(1_500), 3));
        assert_eq!(usage.started_after_boot, Duration::from_secs(1));
        assert_eq!((usage.resident_bytes, usage.resident_bytes_max), (1 << 20, 2 << 20));
        assert_eq!(parse("", status, 100), None);
    }

    #[test]
    fn busy_time_is_that_of_the_named_processors() {
        let stat =
            "cpu  0 0 0 0\ncpu0 100 20 30 999 5 6 7 50 0 0\ncpu1 1 1 1 1 1 1 1 1\ncpu10 9 9 9 9 9 9 9 9\n";
        assert_eq!(parse_busy(stat, &[0], 100), Some(Duration::from_secs(2)));
        assert_eq!(parse_busy(stat, &[0, 1], 100), Some(Duration::from_millis(2_040)));
        assert_eq!(parse_busy(stat, &[2], 100), None);
    }

    #[test]
    fn the_own_process_can_be_read() {
        assert!(Usage::own().unwrap().resident_bytes > 0);
    }

    #[test]
    fn switches_of_ended_threads_stay_counted() {
        let mut switches = Switches::default();
        switches.take([(1, (5, 1)), (2, (10, 2))].into());
        switches.take([(1, (6, 1))].into());
        // A new thread may have the id of an ended one.
        switches.take([(1, (8, 1)), (2, (1, 4))].into());
        assert_eq!((switches.voluntary, switches.involuntary), (5 + 10 + 1 + 2 + 1, 1 + 2 + 4));
    }

    #[test]
    fn the_own_process_is_found_by_its_name() {
        let own = std::process::id();
        let program = std::env::current_exe().unwrap();
        let name = program.file_name().unwrap().to_str().unwrap();
        assert!(processes_named(name).contains(&own), "{name}");
        assert!(descriptors(own).unwrap() > 0);
        assert!(StorageBytes::of(own).is_some());
        assert!(processes_named("no-such-program-anywhere").is_empty());
    }
}
