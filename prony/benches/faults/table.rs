//! What is printed of each fault, and what the whole comes to.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    process::ExitCode,
    time::Duration,
};

use crate::{
    clients::{Acknowledged, client_of},
    injection::{Seen, Sign},
};

/// In which nobody was told of a success, at least, to be an interruption; and how much longer than before the fault it must be.
const INTERRUPTION: Duration = Duration::from_millis(100);
const TIMES_BEFORE: u32 = 2;

/// Of one fault.
pub(crate) struct Row {
    fault: &'static str,
    clients: u64,
    /// From the injection until the cause was gone.
    lasted: Duration,
    acknowledged: usize,
    /// What clients were told instead, and how often.
    refused: BTreeMap<String, usize>,
    unknown: BTreeMap<String, usize>,
    /// From the injection until a write succeeded again; none where there was always one that did.
    recovery: Option<Duration>,
    /// From the injection until each client was told of a success behind the interruption.
    all_again: Duration,
    lost: usize,
    /// Acknowledged, not there, and named by a start.
    given_up: usize,
    refused_and_there: usize,
    in_part: usize,
    /// Why this fault is none of which all is well.
    faults: Vec<String>,
}

/// The longest time without a success behind the injection.
struct Interruption {
    end: Duration,
    length: Duration,
}

impl Row {
    pub(crate) fn of(seen: &Seen) -> Self {
        let (begin, written) = (seen.begin, &seen.written);
        let interruption = interruption(&written.acknowledged, begin);
        let again = interruption.as_ref().map_or(begin, |interruption| interruption.end);
        let first = first_of_each(&written.acknowledged, again);
        let told: HashSet<u64> = written
            .acknowledged
            .iter()
            .map(|write| write.key)
            .chain(written.failures.iter().filter_map(|failure| failure.unknown))
            .collect();
        let missing = written.acknowledged.iter().filter(|write| !seen.found.keys.contains(&write.key));
        let (given_up, lost): (Vec<&Acknowledged>, Vec<&Acknowledged>) =
            missing.partition(|write| seen.found.given_up.contains(&write.key));
        let [mut refused, mut unknown] = [BTreeMap::new(), BTreeMap::new()];
        for failure in &written.failures {
            let counts = if failure.unknown.is_some() { &mut unknown } else { &mut refused };
            *counts.entry(failure.what.clone()).or_default() += 1;
        }
        let mut row = Self {
            fault: seen.fault,
            clients: seen.clients,
            lasted: seen.end.saturating_sub(begin),
            acknowledged: written.acknowledged.len(),
            refused,
            unknown,
            recovery: interruption.as_ref().map(|interruption| interruption.end.saturating_sub(begin)),
            all_again: first.values().max().map_or(Duration::ZERO, |at| at.saturating_sub(begin)),
            lost: lost.len(),
            given_up: given_up.len(),
            refused_and_there: seen.found.keys.difference(&told).count(),
            in_part: seen.found.in_part,
            faults: Vec::new(),
        };
        row.faults = row.judge(seen, interruption.as_ref(), first.len());
        row
    }

    fn judge(&self, seen: &Seen, interruption: Option<&Interruption>, served: usize) -> Vec<String> {
        let failures = &seen.written.failures;
        let early = failures.iter().filter(|failure| failure.at < seen.begin).count();
        let is_felt = match seen.sign {
            Sign::Failures => failures.len() > early,
            Sign::Interruption(least) => interruption.is_some_and(|longest| longest.length >= least),
            Sign::Success | Sign::None => true,
        };
        let unserved = seen.unserved.max((self.clients as usize).saturating_sub(served));
        let refused = if matches!(seen.sign, Sign::Success) { failures.len() } else { 0 };
        let faults = [
            (self.lost > 0, format!("{} acknowledged writes are lost", self.lost)),
            (self.refused_and_there > 0, format!("{} refused writes are there", self.refused_and_there)),
            (self.in_part > 0, format!("{} writes are there in part", self.in_part)),
            (early > 0, format!("{early} writes failed before the fault")),
            (!is_felt, format!("the fault was not felt ({:?})", seen.sign)),
            (refused > 0, format!("{refused} writes failed that this fault does not concern")),
            (unserved > 0, format!("{unserved} clients are not served again")),
        ];
        let faults = faults.into_iter().filter_map(|(is_so, what)| is_so.then_some(what));
        faults.chain(seen.found.problems.iter().cloned()).collect()
    }

    /// With what a start has said to be lost.
    fn lost_text(&self) -> String {
        match self.given_up {
            0 => self.lost.to_string(),
            given_up => format!("{} (said: {given_up})", self.lost),
        }
    }

    fn print(&self, kind: &str) {
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        println!(
            "| {kind} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.fault,
            seconds(self.lasted),
            self.acknowledged,
            by_status(&self.refused),
            by_status(&self.unknown),
            self.lost_text(),
            self.refused_and_there + self.in_part,
            self.recovery.map_or_else(|| "no pause".to_owned(), seconds),
            seconds(self.all_again),
        );
    }
}

/// Where it is longer than what is usual.
fn interruption(acknowledged: &[Acknowledged], begin: Duration) -> Option<Interruption> {
    let behind = acknowledged.partition_point(|write| write.at < begin);
    let longest = |writes: &[Acknowledged]| {
        let pauses = writes.windows(2).map(|pair| (pair[1].at.saturating_sub(pair[0].at), pair[1].at));
        pauses.max().unwrap_or_default()
    };
    // The second half of what was before: in the first one not all clients wrote yet.
    let (usual, _) = longest(&acknowledged[behind / 2..behind]);
    let (length, end) = longest(&acknowledged[behind.saturating_sub(1)..]);
    (length > INTERRUPTION.max(usual * TIMES_BEFORE)).then_some(Interruption { end, length })
}

/// When each client was first told of a success, from a moment on.
fn first_of_each(acknowledged: &[Acknowledged], from: Duration) -> HashMap<u64, Duration> {
    let mut first = HashMap::new();
    let behind = acknowledged.partition_point(|write| write.at < from);
    for write in &acknowledged[behind..] {
        first.entry(client_of(write.key)).or_insert(write.at);
    }
    first
}

/// The texts up to their colons.
fn by_status(counts: &BTreeMap<String, usize>) -> String {
    let mut together = BTreeMap::<&str, usize>::new();
    for (what, count) in counts {
        let status = what.split_once(':').map_or(what.as_str(), |(status, _)| status);
        *together.entry(status).or_default() += count;
    }
    let texts: Vec<String> = together.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// The rows, as they come.
#[derive(Default)]
pub(crate) struct Table {
    texts: BTreeMap<String, usize>,
    /// What is not well.
    faults: Vec<String>,
    rows: usize,
}

impl Table {
    pub(crate) fn begin(clients: u64) -> Self {
        println!("{clients} clients\n");
        println!(
            "| on | fault | lasted | acknowledged | refused | unknown | lost | refused or in part, and there | first success after | \
             every client again after |"
        );
        println!("|---|---|---:|---:|---|---|---:|---:|---:|---:|");
        Self::default()
    }

    pub(crate) fn add(&mut self, kind: &str, row: Row) {
        row.print(kind);
        self.rows += 1;
        self.faults.extend(row.faults.iter().map(|what| format!("{}: {what}", row.fault)));
        for (what, count) in row.refused.into_iter().chain(row.unknown) {
            *self.texts.entry(what).or_default() += count;
        }
    }

    /// What clients were told, whole, and what is not well.
    pub(crate) fn end(self) -> ExitCode {
        println!("\nWhat clients were told:\n");
        self.texts.iter().for_each(|(what, count)| println!("* {what} ({count} times)"));
        println!();
        self.faults.iter().for_each(|what| println!("NOT WELL: {what}"));
        if self.rows == 0 {
            println!("no fault and no group has this name");
        }
        if self.faults.is_empty() && self.rows > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
