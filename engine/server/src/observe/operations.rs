//! Counts by the name of the operation. Clients choose names, so that there are labels for so many of them alone: for those that
//! rules name, and for the first others that were executed. All else is counted under one label.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::histogram::{Histogram, Total, add};

/// Of operations without a name, and of those that have no label of their own.
const UNNAMED: &str = "";
const OTHER: &str = "(other)";

/// Bytes of a name that has a label of its own.
const MAX_NAME_BYTES: usize = 128;

/// The place of a label, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationLabel(usize);

/// All labels, which are never given to another name.
pub(crate) struct OperationLabels {
    names: Mutex<Names>,
    max: usize,
}

#[derive(Default)]
struct Names {
    by_name: HashMap<Box<str>, OperationLabel>,
    /// By label.
    all: Vec<Box<str>>,
}

/// Why an operation was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    Scope,
    /// A rate limit or a quota.
    Limit,
    /// As many run and wait as may.
    Concurrency,
    /// Limits cannot be checked, because servers share their counts in a store that cannot be reached.
    Unreachable,
}

/// The label `reason`, by [`RefusalReason`].
const REASONS: [&str; 4] = ["scope", "limit", "concurrency", "unreachable"];

/// One core's counts, by label; only the core's thread writes them.
#[derive(Debug, Default)]
pub(crate) struct OperationCounts(Box<[Counts]>);

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    errors: AtomicU64,
    refusals: [AtomicU64; REASONS.len()],
    /// Of those that were executed; there once the first was, as there may be many more labels than are used.
    times: OnceLock<Box<Histogram>>,
    cost: AtomicU64,
}

/// What one label has counted on all cores.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OperationTotal {
    pub(super) name: Box<str>,
    pub(super) requests: u64,
    pub(super) errors: u64,
    /// With the label `reason` of each.
    pub(super) refusals: [(&'static str, u64); REASONS.len()],
    /// Of those that were executed.
    pub(super) times: Total,
    pub(super) cost: u64,
}

impl OperationLabels {
    /// For so many names beside these.
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>, others: usize) -> Self {
        let mut known = Names::default();
        for name in [UNNAMED, OTHER].into_iter().chain(names) {
            known.label(name);
        }
        let max = known.all.len() + others;
        Self { names: Mutex::new(known), max }
    }

    /// How many labels there may be.
    pub(crate) fn len(&self) -> usize {
        self.max
    }

    /// The label of an operation that is executed.
    pub(crate) fn label(&self, name: Option<&str>) -> OperationLabel {
        let Some(name) = name else { return OperationLabel(0) };
        let mut names = self.names();
        match names.by_name.get(name) {
            Some(label) => *label,
            None if names.all.len() < self.max && name.len() <= MAX_NAME_BYTES => names.label(name),
            None => OperationLabel(1),
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums over all cores, of labels that have counted something.
    pub(super) fn totals<'c>(&self, cores: impl Iterator<Item = &'c OperationCounts>) -> Vec<OperationTotal> {
        let cores: Vec<&OperationCounts> = cores.collect();
        let names = self.names();
        let totals = names.all.iter().enumerate().map(|(label, name)| {
            let sum = |read: &dyn Fn(&Counts) -> &AtomicU64| {
                cores.iter().map(|core| read(&core.0[label]).load(Relaxed)).fold(0, u64::wrapping_add)
            };
            let mut refusals = [("", 0); REASONS.len()];
            for (place, reason) in REASONS.into_iter().enumerate() {
                refusals[place] = (reason, sum(&|counts| &counts.refusals[place]));
            }
            let mut times = Total::default();
            for histogram in cores.iter().filter_map(|core| core.0[label].times.get()) {
                histogram.add_to(&mut times);
            }
            OperationTotal {
                name: name.clone(),
                requests: sum(&|counts| &counts.requests),
                errors: sum(&|counts| &counts.errors),
                refusals,
                times,
                cost: sum(&|counts| &counts.cost),
            }
        });
        totals.filter(|total| total.requests > 0).collect()
    }
}

impl Names {
    fn label(&mut self, name: &str) -> OperationLabel {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let label = OperationLabel(self.all.len());
        self.by_name.insert(name.into(), label);
        self.all.push(name.into());
        label
    }
}

impl OperationCounts {
    pub(super) fn new(labels: usize) -> Self {
        Self(std::iter::repeat_with(Counts::default).take(labels).collect())
    }

    /// One that was executed, or whose response was kept; without a time where none was measured.
    pub(crate) fn ended(&self, label: OperationLabel, errors: bool, time_ns: Option<u64>, cost: u64) {
        let Some(counts) = self.0.get(label.0) else { return };
        add(&counts.requests, 1);
        add(&counts.errors, u64::from(errors));
        if let Some(time_ns) = time_ns {
            counts.times.get_or_init(Box::default).record(time_ns);
        }
        add(&counts.cost, cost);
    }

    /// One that was not.
    pub(crate) fn refused(&self, label: OperationLabel, reason: RefusalReason) {
        let Some(counts) = self.0.get(label.0) else { return };
        add(&counts.requests, 1);
        add(&counts.refusals[reason as usize], 1);
    }
}

impl fmt::Debug for OperationLabels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(&self.names().all).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_clients_choose_have_so_many_labels() {
        let labels = OperationLabels::new(["Report", "Report"], 2);
        assert_eq!(labels.len(), 5);
        let label = |name: &str| labels.label(Some(name));
        assert_eq!(
            (label("Report"), label("A"), label("B")),
            (OperationLabel(2), OperationLabel(3), OperationLabel(4))
        );
        for number in 0..10_000 {
            assert_eq!(label(&format!("X{number}")), OperationLabel(1));
        }
        assert_eq!(
            (label("A"), labels.label(None), label("")),
            (OperationLabel(3), OperationLabel(0), OperationLabel(0))
        );
        assert_eq!(labels.names().all.len(), 5);
        let many = OperationLabels::new([], 10);
        assert_eq!(many.label(Some(&"x".repeat(MAX_NAME_BYTES + 1))), OperationLabel(1));
    }

    #[test]
    fn cores_are_summed_up() {
        let labels = OperationLabels::new([], 2);
        let cores = [OperationCounts::new(labels.len()), OperationCounts::new(labels.len())];
        let label = labels.label(Some("A"));
        let (times, mut expected) = (Histogram::default(), Total::default());
        for time_ns in [1_500_000_000, 500_000_000, 700] {
            times.record(time_ns);
        }
        times.add_to(&mut expected);
        cores[0].ended(label, false, Some(1_500_000_000), 7);
        cores[1].ended(label, true, Some(500_000_000), 3);
        cores[1].ended(label, false, Some(700), 0);
        cores[1].ended(label, false, None, 1);
        cores[1].refused(label, RefusalReason::Concurrency);
        let refusals = [("scope", 0), ("limit", 0), ("concurrency", 1), ("unreachable", 0)];
        let total =
            OperationTotal { name: "A".into(), requests: 5, errors: 1, refusals, times: expected, cost: 11 };
        assert_eq!(labels.totals(cores.iter()), [total]);
    }
}
