//! Watches this machine as a whole, from /proc (proc(5)): load averages, processors, memory, disks, network, context switches.

use crate::book::Notes;
use crate::clock::RunClock;
use crate::counters::Counters;
use crate::error::Problem;
use crate::observer::Observer;
use prony_model::measurement::observation::ObservedUnit::{Bytes, BytesPerSecond, Count, PerSecond, Share};
use std::collections::BTreeMap;
use std::fs;

/// How results call it.
const LABEL: &str = "this machine";
const LOAD_AVERAGES: [&str; 3] =
    ["load average, 1 minute", "load average, 5 minutes", "load average, 15 minutes"];
/// Parts of the processors' time, each with the places of its columns in /proc/stat.
const PROCESSOR_PARTS: [(&str, &[usize]); 5] = [
    ("processor share, user", &[0, 1]),
    ("processor share, system", &[2, 5, 6]),
    ("processor share, idle", &[3]),
    ("processor share, waiting for storage", &[4]),
    ("processor share, stolen", &[7]),
];
const IDLE: &str = PROCESSOR_PARTS[2].0;
/// /proc/diskstats counts in sectors of this many bytes, whatever the disk's are.
const SECTOR_BYTES: f64 = 512.0;
/// What stands on other disks, and would be counted twice.
const LAYERED_DISKS: [&str; 5] = ["dm-", "loop", "md", "ram", "zram"];

/// Bytes that went to and came from disks and networks, and context switches.
const TRAFFIC: [&str; 4] =
    ["read from disk a second", "written to disk a second", "received a second", "sent a second"];
const SWITCHES: &str = "context switches";

#[derive(Debug, Default)]
pub(crate) struct HostObserver {
    processors: Counters,
    traffic: Counters,
    load_max: f64,
    busy: f64,
    watched_s: f64,
}

impl HostObserver {
    pub(crate) fn open() -> Result<Self, Problem> {
        match fs::read_to_string("/proc/loadavg").ok().as_deref().and_then(load_averages) {
            Some(_) => Ok(Self::default()),
            None => Err(Problem::NoHost("/proc/loadavg")),
        }
    }
}

impl Observer for HostObserver {
    fn look(&mut self, clock: &RunClock, notes: &mut Notes) {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let at = clock.now();
        if let Some(averages) = load_averages(&read("/proc/loadavg")) {
            for (name, value) in LOAD_AVERAGES.into_iter().zip(averages) {
                notes.sample(LABEL, name, Count, at, value);
            }
            self.load_max = self.load_max.max(averages[0]);
            notes.figure(LABEL, "load average of 1 minute, highest seen", Count, self.load_max);
        }
        for (name, bytes) in memory(&read("/proc/meminfo")).into_iter().flatten() {
            notes.sample(LABEL, name, Bytes, at, bytes);
        }
        let stat = read("/proc/stat");
        if let Some(added) = self.processors.look(at, processor_times(&stat)) {
            let all: f64 = PROCESSOR_PARTS.iter().filter_map(|(name, _)| added.count(name)).sum();
            for (name, _) in PROCESSOR_PARTS {
                if let Some(time) = added.count(name).filter(|_| all > 0.0) {
                    notes.sample(LABEL, name, Share, at, time / all);
                }
            }
            if let Some(idle) = added.count(IDLE).filter(|_| all > 0.0) {
                self.busy += (1.0 - idle / all) * added.seconds;
                self.watched_s += added.seconds;
                notes.figure(LABEL, "processor share, mean", Share, self.busy / self.watched_s);
            }
        }
        let is_whole = |name: &str| fs::exists(format!("/sys/block/{name}")).unwrap_or(false);
        let mut traffic = disk_bytes(&read("/proc/diskstats"), is_whole);
        traffic.extend(network_bytes(&read("/proc/net/dev")));
        traffic.extend(context_switches(&stat).map(|count| (SWITCHES.to_owned(), count)));
        if let Some(added) = self.traffic.look(at, traffic) {
            let units = TRAFFIC.map(|name| (name, BytesPerSecond)).into_iter().chain([(SWITCHES, PerSecond)]);
            for (name, unit) in units {
                if let Some(rate) = added.rate(name) {
                    notes.sample(LABEL, name, unit, at, rate);
                }
            }
        }
    }
}

/// Of 1, 5 and 15 minutes.
fn load_averages(text: &str) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// What is not available is used.
fn memory(text: &str) -> Option<[(&'static str, f64); 2]> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
    };
    let (total, available) = (bytes("MemTotal:")?, bytes("MemAvailable:")?);
    Some([("memory used", total - available), ("memory available", available)])
}

/// Ticks of all processors, by what they were spent on.
fn processor_times(stat: &str) -> BTreeMap<String, f64> {
    let Some(line) = stat.lines().find_map(|line| line.strip_prefix("cpu ")) else { return BTreeMap::new() };
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let sum = |places: &[usize]| places.iter().filter_map(|place| ticks.get(*place)).sum::<f64>();
    PROCESSOR_PARTS.iter().map(|(name, places)| ((*name).to_owned(), sum(places))).collect()
}

fn context_switches(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()
}

/// Over all disks that are no parts of others and stand on none.
fn disk_bytes(text: &str, is_whole: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
    let (mut read, mut written) = (0.0, 0.0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, name, _, _, sectors_read, _, _, _, sectors_written, ..] = fields.as_slice() else {
            continue;
        };
        if LAYERED_DISKS.iter().any(|start| name.starts_with(start)) || !is_whole(name) {
            continue;
        }
        read += sectors_read.parse().unwrap_or(0.0) * SECTOR_BYTES;
        written += sectors_written.parse().unwrap_or(0.0) * SECTOR_BYTES;
    }
    [(TRAFFIC[0].to_owned(), read), (TRAFFIC[1].to_owned(), written)].into()
}

/// Over all interfaces but the loopback.
fn network_bytes(text: &str) -> BTreeMap<String, f64> {
    let (mut received, mut sent) = (0.0, 0.0);
    for line in text.lines() {
        let Some((name, counts)) = line.split_once(':') else { continue };
        let counts: Vec<f64> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if name.trim() == "lo" {
            continue;
        }
        received += counts.first().copied().unwrap_or(0.0);
        sent += counts.get(8).copied().unwrap_or(0.0);
    }
    [(TRAFFIC[2].to_owned(), received), (TRAFFIC[3].to_owned(), sent)].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;
    use std::time::{Duration, Instant};

    #[test]
    fn proc_texts_are_read() {
        assert_eq!(load_averages("6.05 3.31 1.52 7/194 2258\n"), Some([6.05, 3.31, 1.52]));
        assert_eq!(load_averages("x"), None);
        let memory = memory("MemTotal:       2048 kB\nMemFree:  1 kB\nMemAvailable:   512 kB\n").unwrap();
        assert_eq!(memory.map(|(_, bytes)| bytes as u64), [1_536 * 1_024, 512 * 1_024]);
        let stat = "cpu  100 20 30 900 5 6 7 50 9 9\ncpu0 1 1 1 1 1 1 1 1\nctxt 4711\n";
        let times = processor_times(stat);
        let shown = PROCESSOR_PARTS.map(|(name, _)| times[name] as u64);
        assert_eq!(shown, [120, 43, 900, 5, 50]);
        assert_eq!(context_switches(stat), Some(4_711.0));
    }

    #[test]
    fn disks_and_networks_are_counted_once() {
        let disks = "   8 0 sda 1 0 10 0 2 0 20 0 0 0 0\n   8 1 sda1 1 0 10 0 2 0 20 0 0 0 0\n\
                     253 0 dm-0 1 0 10 0 2 0 20 0 0 0 0\n 259 0 nvme0n1 1 0 1 0 2 0 3 0 0 0 0\nbroken\n";
        let bytes = disk_bytes(disks, |name| name != "sda1");
        assert_eq!([bytes[TRAFFIC[0]] as u64, bytes[TRAFFIC[1]] as u64], [11 * 512, 23 * 512]);
        let network = "Inter-| Receive | Transmit\n face |bytes packets|bytes\n\
                       lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n  eth0:10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n\
                       wlan0: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";
        let bytes = network_bytes(network);
        assert_eq!([bytes[TRAFFIC[2]] as u64, bytes[TRAFFIC[3]] as u64], [11, 22]);
    }

    #[test]
    fn this_machine_is_seen() {
        let mut observer = HostObserver::open().unwrap();
        let mut book = Book::default();
        let now = Instant::now();
        // Two looks of which the second is a second of the run later, whatever the clock on the wall says.
        for elapsed_s in [0, 5] {
            let clock = RunClock::started_at(now.checked_sub(Duration::from_secs(elapsed_s)).unwrap());
            let mut notes = Notes::default();
            observer.look(&clock, &mut notes);
            book.write(notes);
        }
        let seen = book.observations();
        assert_eq!(seen.len(), 1);
        let names: Vec<_> = seen[0].series.iter().map(|series| series.name.as_str()).collect();
        for name in LOAD_AVERAGES.into_iter().chain(TRAFFIC).chain(["memory used", SWITCHES]) {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
    }
}
