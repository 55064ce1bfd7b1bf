//! Figures of this process from `/proc/self` (`proc(5)`); elsewhere there are none.

use std::fs;

/// What the kernel says of the process just now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProcessFigures {
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
    pub(super) open_descriptors: u64,
    pub(super) max_descriptors: u64,
    pub(super) threads: u64,
}

pub(super) fn read() -> ProcessFigures {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let page_bytes = rustix::param::page_size() as u64;
    let mut figures = parse(&stat, ticks_per_second, page_bytes).unwrap_or_default();
    figures.open_descriptors = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    figures.max_descriptors =
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or_default();
    figures
}

/// Fields of `/proc/PID/stat` behind the name, which may hold anything but is closed by the last bracket.
fn parse(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Option<ProcessFigures> {
    const UTIME: usize = 11;
    const STIME: usize = 12;
    const THREADS: usize = 17;
    const RSS: usize = 21;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessFigures {
        cpu_seconds: (number(UTIME)? + number(STIME)?) as f64 / ticks_per_second as f64,
        resident_bytes: number(RSS)? * page_bytes,
        threads: number(THREADS)?,
        ..ProcessFigures::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 100 1000000 2048 18446744073709551615";
        let figures = parse(stat, 100, 4096).unwrap();
        assert_eq!((figures.cpu_seconds, figures.threads, figures.resident_bytes), (3.0, 9, 2048 * 4096));
    }
}
