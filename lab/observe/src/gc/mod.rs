//! Watches a JVM through its garbage-collection log, unified (JDK 9 and later) or legacy (JDK 8), while it grows.

mod account;
mod event;
mod follow;
mod legacy;
mod lines;
mod unified;

use crate::book::Notes;
use crate::clock::RunClock;
use crate::error::Problem;
use crate::observer::Observer;
use account::{Account, Uptime};
use event::{Event, Reading};
use follow::Follower;
use lines::Lines;
use prony_model::measurement::observation::ObservedUnit::Count;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct GcLogObserver {
    label: String,
    follower: Follower,
    lines: Lines,
    uptime: Uptime,
    account: Account,
    broken: u64,
    /// A log that nothing is written to says nothing of pauses.
    is_growing: bool,
}

impl GcLogObserver {
    pub(crate) fn open(path: &str) -> Result<Self, Problem> {
        let of_file = |cause| Problem::NoLog(format!("`{path}` cannot be read: {cause}"));
        let (follower, probe) = Follower::open(Path::new(path)).map_err(of_file)?;
        if !lines::is_log(&probe.head) && !lines::is_log(&probe.tail) {
            return Err(Problem::NoLog(format!("`{path}` is not a log of garbage collections")));
        }
        let mut lines = Lines::default();
        let earlier: Vec<Reading> = probe.tail.lines().map(|line| lines.read(line)).collect();
        let mut uptime = Uptime::default();
        for event in earlier.iter().filter_map(event_of) {
            uptime.learn(event, probe.written_at_ns);
        }
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let label = format!("collector {name}");
        let account = Account::default();
        Ok(Self { label, follower, lines, uptime, account, broken: 0, is_growing: false })
    }

    fn take(&mut self, readings: &[Reading], written_at_ns: Option<i128>, clock: &RunClock) {
        for event in readings.iter().filter_map(event_of) {
            if let Some(written_at_ns) = written_at_ns {
                self.uptime.learn(event, written_at_ns);
            }
        }
        for reading in readings {
            match reading {
                Reading::Event(event) => self.account.enter(event, clock, &self.uptime),
                Reading::Broken => self.broken += 1,
                Reading::Nothing => {}
            }
        }
    }
}

fn event_of(reading: &Reading) -> Option<&Event> {
    match reading {
        Reading::Event(event) => Some(event),
        Reading::Nothing | Reading::Broken => None,
    }
}

impl Observer for GcLogObserver {
    fn look(&mut self, clock: &RunClock, notes: &mut Notes) {
        let (lines, is_growing) = (&mut self.lines, &mut self.is_growing);
        let mut readings = Vec::new();
        let looked = self.follower.look(&mut |line| {
            *is_growing = true;
            let reading = line.map_or(Reading::Broken, |line| lines.read(line));
            if reading != Reading::Nothing {
                readings.push(reading);
            }
        });
        self.take(&readings, looked.as_ref().ok().copied(), clock);
        if let Err(cause) = looked {
            notes.fault(
                &self.label,
                clock.now(),
                format!("it cannot be read: {cause}; it is looked for each second"),
            );
        }
        if self.is_growing {
            self.account.note(&self.label, clock.now(), notes);
        }
        if self.broken > 0 {
            notes.figure(&self.label, "broken lines", Count, self.broken as f64);
            notes.fault(&self.label, clock.now(), "lines that cannot be read are left out and counted");
        }
    }
}

#[cfg(test)]
mod tests;
