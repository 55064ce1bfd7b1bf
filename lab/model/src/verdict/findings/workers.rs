//! What is found about the workers of a run that was made by several: lost ones, clocks, late starts, machines that differ.

use super::spans;
use crate::result::{ResultFile, WorkerFigures};
use crate::units::Nanos;
use crate::verdict::finding::{Finding, FindingKind};
use std::collections::BTreeSet;

/// Workers that begin further apart than this do not begin together, and neither do their clocks agree.
const APART_MAX: Nanos = Nanos::from_millis(5);

/// Figures are those of the plan's load where a share of it was missing for so much of the time only, and others made it again:
/// what a hundredth of the requests less does to them is less than they differ from run to run.
const MISSING_SHARE_MAX: f64 = 0.01;

pub(super) fn worker_lost(result: &ResultFile) -> Option<Finding> {
    let lost: Vec<_> = result.workers.iter().filter(|worker| worker.is_lost()).collect();
    let Some(first) = lost.iter().min_by_key(|worker| worker.lost_at_ns) else {
        return share_missing(result);
    };
    // Shares that were taken over, and lost once more, are among the users of who had them first.
    let is_first = |worker: &WorkerFigures| worker.takes_over.is_none();
    let of = result.workers.iter().filter(|worker| is_first(worker)).count();
    let first_lost: Vec<_> = lost.iter().filter(|worker| is_first(worker)).collect();
    let users: u32 = first_lost.iter().map(|worker| worker.users).sum();
    let count = first_lost.len();
    let (at, name, reason) = (first.lost_at_ns.unwrap_or_default(), &first.name, &first.reason);
    let seen = format!(
        "{count} of {of} workers were lost, with {users} of {} users, `{name}` first, at {at}: {reason}",
        result.plan.users()
    );
    let remedy = "see that machine and its way to the NATS server, and measure again; --on-worker-lost end ends such a run at once";
    let span = spans::seconds(result, |row| row.workers_missing > 0).unwrap_or_else(|| spans::moment(at));
    let missing = result.series.iter().filter(|row| row.workers_missing > 0).count();
    if lost.iter().all(|worker| worker.taken_over_from.is_some()) {
        let cause = format!(
            "others made its load again after {missing} of {} seconds without it; `workers_missing` says in which",
            result.series.len()
        );
        let finding = Finding::new(FindingKind::WorkerLost, seen, &cause, remedy).during(Some(span));
        return Some(Finding { voids_claim: finding.voids_claim && !is_small(result, missing), ..finding });
    }
    let cause = "from then on the load was less than the plan's; `workers_missing` says in which seconds";
    Some(Finding::new(FindingKind::WorkerLost, seen, cause, remedy).during(Some(span)))
}

/// Of a run that is put together from what its workers kept, where a share has no file: nobody says who had it.
fn share_missing(result: &ResultFile) -> Option<Finding> {
    let span = spans::seconds(result, |row| row.workers_missing > 0);
    let missing = result.series.iter().filter(|row| row.workers_missing > 0).count();
    if missing == 0 {
        return None;
    }
    let seen = format!("{missing} of {} seconds lack a share of the load, or more", result.series.len());
    let cause = "what a worker kept of it is not there; `workers_missing` says how many shares are missing in which seconds";
    let remedy = "name the files of all workers of the run";
    let finding = Finding::new(FindingKind::WorkerLost, seen, cause, remedy).during(span);
    Some(Finding { voids_claim: finding.voids_claim && !is_small(result, missing), ..finding })
}

/// So many seconds without a share are too few to change figures.
fn is_small(result: &ResultFile, missing: usize) -> bool {
    missing as f64 <= MISSING_SHARE_MAX * result.series.len() as f64
}

pub(super) fn workers_apart(result: &ResultFile) -> Option<Finding> {
    let uncertain = worst(result, |worker| worker.clock_uncertainty_ns);
    let offset = worst(result, |worker| Nanos(worker.clock_offset_ns.unsigned_abs()));
    let (seen, cause) = match (uncertain, offset) {
        (Some((worker, by)), _) => (
            format!("the clock of `{}` is known to {by} only", worker.name),
            "messages between it and the coordinator take that long, so it may have begun that much earlier or later than the others",
        ),
        (None, Some((worker, by))) => {
            let way = if worker.clock_offset_ns < 0 { "behind" } else { "ahead of" };
            (
                format!("the wall clock of `{}` is {by} {way} the coordinator's", worker.name),
                "the start was corrected for it, and so are all times of the run; times in that machine's logs are not",
            )
        }
        (None, None) => return None,
    };
    let remedy = "have all machines keep their clocks by one time service, and the NATS server near them";
    Some(Finding::new(FindingKind::WorkersApart, seen, cause, remedy))
}

pub(super) fn worker_late(result: &ResultFile) -> Option<Finding> {
    let (worker, by) = worst(result, |worker| worker.start_late_ns)?;
    let seen = format!("`{}` began {by} after the agreed start", worker.name);
    let cause =
        "what was due before then was made up for at once, and its latencies count from when it was due";
    let remedy = "measure again; a machine that is late has other work, or hears of the start too late";
    let span = spans::part(result, Nanos::ZERO, by);
    Some(Finding::new(FindingKind::WorkerLate, seen, cause, remedy).during(span))
}

/// The worker with the most of something, where that is more than workers may be apart.
fn worst(result: &ResultFile, of: impl Fn(&WorkerFigures) -> Nanos) -> Option<(&WorkerFigures, Nanos)> {
    let apart = result.workers.iter().map(|worker| (worker, of(worker))).filter(|(_, by)| *by > APART_MAX);
    apart.max_by_key(|(_, by)| *by)
}

/// What a worker has and others may have otherwise, for people.
type Property = fn(&WorkerFigures) -> String;

pub(super) fn workers_differ(result: &ResultFile) -> Option<Finding> {
    let properties: [(&str, Property); 4] = [
        ("kernels", |worker| worker.machine.kernel.clone()),
        ("processors", |worker| format!("{} x {}", worker.machine.processors, worker.machine.processor)),
        ("threads", |worker| worker.threads.to_string()),
        ("limits of open files", |worker| worker.descriptors_max.to_string()),
    ];
    let differing = properties.iter().filter_map(|(name, of)| {
        let values: BTreeSet<String> = result.workers.iter().map(of).collect();
        (values.len() > 1).then(|| format!("{name} ({})", values.into_iter().collect::<Vec<_>>().join(", ")))
    });
    let differing: Vec<_> = differing.collect();
    (!differing.is_empty()).then(|| {
        let seen = format!("workers have different {}", differing.join(" and "));
        let cause = "each has the same share of the users, whatever its machine can do";
        let remedy = "see which worker was busiest (`workers` of the result file); use machines of one kind";
        Finding::new(FindingKind::WorkersDiffer, seen, cause, remedy)
    })
}

/// What workers found of themselves, with their names; what concerns the figures is found in the merged ones.
pub(super) fn of_workers(result: &ResultFile) -> Vec<Finding> {
    let all =
        result.workers.iter().flat_map(|worker| worker.findings.iter().map(move |found| (worker, found)));
    all.map(|(worker, found)| Finding {
        seen: format!("worker `{}`: {}", worker.name, found.seen),
        ..found.clone()
    })
    .collect()
}
