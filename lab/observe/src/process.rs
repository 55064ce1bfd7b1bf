//! Watches processes: one, all of a name (each and together), or the lab itself. Children are processes of their
//! own and are not counted in; `name:` finds those that share their parent's name.

use crate::book::Notes;
use crate::clock::RunClock;
use crate::error::Problem;
use crate::observer::{INTERVAL_MIN, Observer};
use crate::usage::{StorageBytes, Switches, Usage, descriptors, name_of, processes_named};
use prony_model::Nanos;
use prony_model::measurement::observation::ObservedUnit::{
    Bytes, BytesPerSecond, Count, PerSecond, Processors,
};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

/// Processes of one name that have series of their own; further ones are in the sum only.
const SINGLE_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct ProcessObserver {
    /// Looked for again at each look.
    name: Option<String>,
    tracked: BTreeMap<u32, Tracked>,
    sum: ProcessTotals,
    /// How many processes have had series of their own.
    singles: usize,
}

/// A process that is watched.
#[derive(Debug)]
struct Tracked {
    label: Option<String>,
    started_after_boot: Duration,
    last: ProcessReading,
    switches: Switches,
    totals: ProcessTotals,
}

#[derive(Debug, Clone, Copy)]
struct ProcessReading {
    at: Nanos,
    usage: Usage,
    voluntary: u64,
    involuntary: u64,
    descriptors: Option<u64>,
    storage: Option<StorageBytes>,
}

/// What is drawn at one moment: levels, and rates since the look before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Row {
    processes: f64,
    /// Of processor time a second.
    user: f64,
    system: f64,
    resident: f64,
    threads: f64,
    voluntary: f64,
    involuntary: f64,
    descriptors: Option<f64>,
    read: Option<f64>,
    written: Option<f64>,
}

/// Over the whole run, as far as it was watched.
#[derive(Debug, Clone, Copy, Default)]
struct ProcessTotals {
    processor_time: f64,
    watched_s: f64,
    resident_peak: f64,
}

impl ProcessObserver {
    pub(crate) fn own() -> Self {
        let own = std::process::id();
        // Without /proc there is nothing to see; the first look says so.
        let tracked = Tracked::first(own, Some("lab".to_owned())).ok();
        Self::with(None, tracked.map(|tracked| (own, tracked)).into_iter().collect())
    }

    pub(crate) fn of(process: u32) -> Result<Self, Problem> {
        let label = label(process);
        let tracked = Tracked::first(process, Some(label)).map_err(|_| Problem::NoSuchProcess(process))?;
        Ok(Self::with(None, [(process, tracked)].into()))
    }

    pub(crate) fn named(name: &str) -> Result<Self, Problem> {
        let mut observer = Self::with(Some(name.to_owned()), BTreeMap::new());
        observer.find_new();
        if observer.tracked.is_empty() {
            return Err(Problem::NoProcessNamed(name.to_owned()));
        }
        Ok(observer)
    }

    fn with(name: Option<String>, tracked: BTreeMap<u32, Tracked>) -> Self {
        Self { name, tracked, sum: ProcessTotals::default(), singles: 0 }
    }

    fn find_new(&mut self) {
        let Some(name) = &self.name else { return };
        for process in processes_named(name) {
            // Prony and its observers are the lab, whatever they are called.
            if self.tracked.contains_key(&process) || process == std::process::id() {
                continue;
            }
            let label = (self.singles < SINGLE_MAX).then(|| label(process));
            // It may have ended since it was found.
            if let Ok(tracked) = Tracked::first(process, label) {
                self.singles += 1;
                self.tracked.insert(process, tracked);
            }
        }
    }

    /// How the sum is called, where there is one.
    fn sum_label(&self) -> Option<String> {
        self.name.as_ref().map(|name| format!("processes {name} (all)"))
    }
}

fn label(process: u32) -> String {
    let name = name_of(process).unwrap_or_else(|| "of unknown name".to_owned());
    format!("process {name} ({process})")
}

impl Observer for ProcessObserver {
    fn look(&mut self, clock: &RunClock, notes: &mut Notes) {
        let sum_label = self.sum_label();
        let (mut sum, mut interval_s) = (Row::default(), 0.0_f64);
        self.tracked.retain(|process, tracked| {
            match tracked.look(*process, clock.now()) {
                Ok(None) => {}
                Ok(Some((at, seconds, row))) => {
                    sum += row;
                    interval_s = interval_s.max(seconds);
                    tracked.totals.add(&row, seconds);
                    if let Some(label) = &tracked.label {
                        row.note(label, at, notes);
                        tracked.totals.note(label, notes);
                    }
                }
                Err(ended) => {
                    let label = tracked.label.as_ref().or(sum_label.as_ref());
                    notes.fault(label.map_or("lab", |label| label), clock.now(), ended);
                    return false;
                }
            }
            true
        });
        if let Some(label) = &sum_label
            && interval_s > 0.0
        {
            self.sum.add(&sum, interval_s);
            sum.note(label, clock.now(), notes);
            notes.sample(label, "processes", Count, clock.now(), sum.processes);
            self.sum.note(label, notes);
        }
        let before = self.tracked.len();
        self.find_new();
        if self.singles > SINGLE_MAX && self.tracked.len() > before {
            let text = format!("processes after the first {SINGLE_MAX} are in the sum only");
            notes.fault(sum_label.as_deref().unwrap_or_default(), clock.now(), text);
        }
    }
}

impl Tracked {
    fn first(process: u32, label: Option<String>) -> std::io::Result<Self> {
        let usage = Usage::of(process)?;
        let mut switches = Switches::default();
        switches.update(process);
        let last = ProcessReading::of(process, Nanos::ZERO, usage, &switches);
        let totals = ProcessTotals::default();
        Ok(Self { label, started_after_boot: usage.started_after_boot, last, switches, totals })
    }

    /// The time of the look, the seconds since the one before, and what happened in them; nothing where too little
    /// time has passed for a rate. The error says how the process went.
    fn look(&mut self, process: u32, now: Nanos) -> Result<Option<(Nanos, f64, Row)>, String> {
        let usage = Usage::of(process)
            .ok()
            .filter(|usage| usage.started_after_boot == self.started_after_boot)
            .ok_or_else(|| format!("process {process} has ended"))?;
        let is_first = self.last.at == Nanos::ZERO;
        let interval = now.since(self.last.at);
        if interval < INTERVAL_MIN && !is_first {
            return Ok(None);
        }
        self.switches.update(process);
        let reading = ProcessReading::of(process, now.max(Nanos(1)), usage, &self.switches);
        let last = std::mem::replace(&mut self.last, reading);
        Ok((!is_first).then(|| (now, interval.as_secs_f64(), Row::between(&last, &reading))))
    }
}

impl ProcessReading {
    fn of(process: u32, at: Nanos, usage: Usage, switches: &Switches) -> Self {
        let (voluntary, involuntary) = (switches.voluntary, switches.involuntary);
        let (descriptors, storage) = (descriptors(process), StorageBytes::of(process));
        Self { at, usage, voluntary, involuntary, descriptors, storage }
    }
}

impl Row {
    fn between(last: &ProcessReading, now: &ProcessReading) -> Self {
        let seconds = now.at.since(last.at).as_secs_f64();
        let rate = |last: u64, now: u64| now.saturating_sub(last) as f64 / seconds;
        let share = |last: Duration, now: Duration| now.saturating_sub(last).as_secs_f64() / seconds;
        let user = |usage: &Usage| usage.processor_time.saturating_sub(usage.system_time);
        let storage = last.storage.zip(now.storage);
        Self {
            processes: 1.0,
            user: share(user(&last.usage), user(&now.usage)),
            system: share(last.usage.system_time, now.usage.system_time),
            resident: now.usage.resident_bytes as f64,
            threads: now.usage.threads as f64,
            voluntary: rate(last.voluntary, now.voluntary),
            involuntary: rate(last.involuntary, now.involuntary),
            descriptors: now.descriptors.map(|count| count as f64),
            read: storage.map(|(last, now)| rate(last.read, now.read)),
            written: storage.map(|(last, now)| rate(last.written, now.written)),
        }
    }

    fn note(&self, label: &str, at: Nanos, notes: &mut Notes) {
        let always = [
            ("processor time, user", Processors, self.user),
            ("processor time, system", Processors, self.system),
            ("resident memory", Bytes, self.resident),
            ("threads", Count, self.threads),
            ("context switches, voluntary", PerSecond, self.voluntary),
            ("context switches, involuntary", PerSecond, self.involuntary),
        ];
        let permitted = [
            ("descriptors", Count, self.descriptors),
            ("read from storage a second", BytesPerSecond, self.read),
            ("written to storage a second", BytesPerSecond, self.written),
        ];
        for (name, unit, value) in always {
            notes.sample(label, name, unit, at, value);
        }
        for (name, unit, value) in permitted {
            if let Some(value) = value {
                notes.sample(label, name, unit, at, value);
            }
        }
    }
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        let both = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.processes += other.processes;
        self.user += other.user;
        self.system += other.system;
        self.resident += other.resident;
        self.threads += other.threads;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.descriptors = both(self.descriptors, other.descriptors);
        self.read = both(self.read, other.read);
        self.written = both(self.written, other.written);
    }
}

impl ProcessTotals {
    fn add(&mut self, row: &Row, seconds: f64) {
        self.processor_time += (row.user + row.system) * seconds;
        self.watched_s += seconds;
        self.resident_peak = self.resident_peak.max(row.resident);
    }

    fn note(&self, label: &str, notes: &mut Notes) {
        notes.figure(label, "processor time, mean", Processors, self.processor_time / self.watched_s);
        notes.figure(label, "resident memory, highest seen", Bytes, self.resident_peak);
    }
}
