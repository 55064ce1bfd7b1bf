//! What a process has used, from /proc (proc(5)): processor time and memory.

use std::{fs, io, time::Duration};

/// A reading of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// User and system time of all threads since the process began.
    pub processor_time: Duration,
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
    let mut fields = fields.split_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let processor_time = Duration::from_secs_f64((user + system) as f64 / ticks_per_second as f64);
    let kibibytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_end_matches("kB").trim().parse().ok()
    };
    let resident_bytes = kibibytes("VmRSS:")? * 1024;
    let resident_bytes_max = kibibytes("VmHWM:")? * 1024;
    Some(Usage { processor_time, resident_bytes, resident_bytes_max })
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
}
