//! What is printed of each fault.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    clients::{CLIENTS, Written},
    statistics::median,
};

/// Rates are counted in windows of this length.
const WINDOW: Duration = Duration::from_millis(100);

/// What was seen of one fault.
pub(crate) struct Row {
    pub(crate) fault: &'static str,
    /// Acknowledged a second before the fault.
    before_per_s: f64,
    /// The longest time in which no client was told of a write.
    outage: Duration,
    /// From the fault's begin until a window had nine tenths of the rate of before. None where that has not come.
    recovered: Option<Duration>,
    acknowledged: usize,
    /// What clients were told, beside acknowledgements, and how often.
    others: BTreeMap<String, u64>,
    /// Acknowledged, and not there.
    pub(crate) lost: usize,
    /// There, and refused.
    pub(crate) invented: usize,
}

impl Row {
    /// `found` has the keys that are there afterwards; the fault came `begin` after the clients began.
    pub(crate) fn of(fault: &'static str, begin: Duration, written: &Written, found: &[u64]) -> Self {
        let found: std::collections::HashSet<u64> = found.iter().copied().collect();
        let lost = written.acknowledged.iter().filter(|(key, _)| !found.contains(key)).count();
        let told: std::collections::HashSet<u64> =
            written.acknowledged.iter().map(|(key, _)| *key).chain(written.unknown.iter().copied()).collect();
        let invented = found.difference(&told).count();
        let mut times: Vec<Duration> = written.acknowledged.iter().map(|(_, time)| *time).collect();
        times.sort_unstable();
        let window = |number: usize| {
            let (from, until) = (WINDOW * number as u32, WINDOW * (number as u32 + 1));
            times.partition_point(|time| *time < until) - times.partition_point(|time| *time < from)
        };
        let first = (begin.as_millis() / WINDOW.as_millis()) as usize;
        let last = (written.lasted.as_millis() / WINDOW.as_millis()) as usize;
        let before: Vec<f64> = (first / 2..first).map(|number| window(number) as f64).collect();
        let before = median(&before);
        // The fault shows some time after it has begun: what counts is the first good window behind the last bad one.
        let is_good = |number: &usize| window(*number) as f64 >= 0.9 * before;
        let dip = (first..last).find(|number| (window(*number) as f64) < 0.5 * before);
        let recovered = match dip {
            None => Some(Duration::ZERO),
            Some(dip) => {
                (dip..last).find(is_good).map(|number| (WINDOW * number as u32).saturating_sub(begin))
            }
        };
        let behind = times.partition_point(|time| *time < begin).saturating_sub(1);
        let outage = times[behind..].windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        Self {
            fault,
            before_per_s: before / WINDOW.as_secs_f64(),
            outage,
            recovered,
            acknowledged: written.acknowledged.len(),
            others: written.others.clone(),
            lost,
            invented,
        }
    }

    pub(crate) fn print(&self, kind: &str) {
        let recovered =
            self.recovered.map_or_else(|| "not".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
        let others: Vec<String> =
            self.others.iter().map(|(what, count)| format!("{what}: {count}")).collect();
        println!(
            "| {kind} | {} | {:.0} | {:.2} s | {recovered} | {} | {} | {} | {} |",
            self.fault,
            self.before_per_s,
            self.outage.as_secs_f64(),
            self.acknowledged,
            others.join("; "),
            self.lost,
            self.invented
        );
    }
}

pub(crate) fn print_head() {
    println!("{CLIENTS} clients");
    println!(
        "| on | fault | writes/s before | nobody served for | as before after | acknowledged | other answers | lost | refused and there |"
    );
    println!("|---|---|---:|---:|---:|---:|---|---:|---:|");
}
