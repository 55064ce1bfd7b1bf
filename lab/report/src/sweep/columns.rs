//! The columns of `summary.csv`, as the scripts of published gateway studies write them: names, units, and what is in a cell.

use super::runs::{SweepReport, SweepRun};
use prony_model::measurement::figures::Figures;
use prony_model::measurement::observation::{Observation, ObservedUnit};
use prony_model::measurement::statistics::Statistics;
use prony_model::result::{ResultFile, WindowResult};
use prony_model::sweep::{DELAY_SETTING, HEAP_SETTING};
use prony_model::verdict::littles_law::average_users;
use prony_model::verdict::threshold::Metric;
use prony_model::{Nanos, units};

/// What has no value in a combination, as those scripts write it.
pub(super) const NOTHING: &str = "N/A";
/// Of the row that sums up the requests of a combination.
const TOTAL: &str = "Total";
pub(super) const PERCENTILES: [f64; 6] = [75.0, 90.0, 95.0, 98.0, 99.0, 99.9];
const KIBI: f64 = 1024.0;
const MEBI: f64 = 1024.0 * 1024.0;

/// The columns that every row has of its requests, up to those of servers.
const OF_REQUESTS: [&str; 18] = [
    "Label",
    "# Samples",
    "Error Count",
    "Error %",
    "Throughput (Requests/sec)",
    "Average Response Time (ms)",
    "Average Users in the System",
    "Standard Deviation of Response Time (ms)",
    "Minimum Response Time (ms)",
    "Maximum Response Time (ms)",
    "75th Percentile of Response Time (ms)",
    "90th Percentile of Response Time (ms)",
    "95th Percentile of Response Time (ms)",
    "98th Percentile of Response Time (ms)",
    "99th Percentile of Response Time (ms)",
    "99.9th Percentile of Response Time (ms)",
    "Received (KB/sec)",
    "Sent (KB/sec)",
];

/// What is watched of a machine: the end of the column's name, the series, and the unit of the cell.
const OF_MACHINES: [(&str, &str, CellUnit); 16] = [
    ("System Load Average - Last 1 minute", "load average, 1 minute", CellUnit::Plain),
    ("System Load Average - Last 5 minutes", "load average, 5 minutes", CellUnit::Plain),
    ("System Load Average - Last 15 minutes", "load average, 15 minutes", CellUnit::Plain),
    ("CPU - User (%)", "processor share, user", CellUnit::Percent),
    ("CPU - System (%)", "processor share, system", CellUnit::Percent),
    ("CPU - I/O Wait (%)", "processor share, waiting for storage", CellUnit::Percent),
    ("CPU - Steal (%)", "processor share, stolen", CellUnit::Percent),
    ("CPU - Idle (%)", "processor share, idle", CellUnit::Percent),
    ("Memory - Available (kB)", "memory available", CellUnit::Kibi),
    ("Memory - Used (kB)", "memory used", CellUnit::Kibi),
    ("Memory - Used (%)", MEMORY_SHARE, CellUnit::Percent),
    ("Block Device - Read TPS (kB/s)", "read from disk a second", CellUnit::Kibi),
    ("Block Device - Write TPS (kB/s)", "written to disk a second", CellUnit::Kibi),
    ("Context switches per second", "context switches", CellUnit::Plain),
    ("Network - Received kB/s", "received a second", CellUnit::Kibi),
    ("Network - Transmitted kB/s", "sent a second", CellUnit::Kibi),
];
/// Made of two series.
const MEMORY_SHARE: &str = "memory used, share";

#[derive(Debug, Clone, Copy)]
enum CellUnit {
    Plain,
    Percent,
    Kibi,
}

/// Which columns there are: they follow from what was swept and what was watched.
pub(super) struct Columns<'a> {
    report: &'a SweepReport<'a>,
    /// Settings without a column of their own among the published ones.
    settings: Vec<String>,
    /// The most collectors that a run has; one at least, as the published tables have it.
    collectors: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn of(report: &'a SweepReport<'a>) -> Self {
        let mut settings: Vec<String> = Vec::new();
        let all = report.file.steps.iter().flat_map(|step| &step.combination.settings);
        for (name, _) in all.filter(|(name, _)| ![HEAP_SETTING, DELAY_SETTING].contains(&name.as_str())) {
            if !settings.contains(name) {
                settings.push(name.clone());
            }
        }
        let most = report.runs.iter().map(|run| collectors(run.result).count()).max();
        Self { report, settings, collectors: most.unwrap_or(0).max(1) }
    }

    /// The names of the columns, and the rows.
    pub(super) fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let rows = self.report.runs.iter().flat_map(|run| self.rows(*run)).collect();
        let machine = OF_MACHINES.iter().map(|(name, ..)| format!("{} - {name}", self.report.machine));
        let servers = (0..self.collectors).flat_map(|index| self.heads_of_collector(index));
        (self.heads_of_requests().into_iter().chain(servers).chain(machine).collect(), rows)
    }

    /// Without those of servers.
    pub(super) fn heads_of_requests(&self) -> Vec<String> {
        let swept = ["Scenario Name", "Heap Size", "Concurrent Users", "Message Size (Bytes)"];
        let swept = swept.into_iter().chain(["Back-end Service Delay (ms)"]).map(str::to_owned);
        swept.chain(self.settings.clone()).chain(OF_REQUESTS.map(str::to_owned)).collect()
    }

    pub(super) fn heads_of_collector(&self, index: usize) -> [String; 4] {
        let server = match self.collectors {
            1 => self.report.server.to_owned(),
            _ => format!("{} {}", self.report.server, index + 1),
        };
        [
            format!("{server} GC Throughput (%)"),
            format!("{server} Memory Footprint (M)"),
            format!("Average {server} Memory Footprint After Full GC (M)"),
            format!("Standard Deviation of {server} Memory Footprint After Full GC (M)"),
        ]
    }

    fn rows(&self, run: SweepRun<'_>) -> Vec<Vec<String>> {
        let collectors =
            (0..self.collectors).flat_map(|index| of_collector(collectors(run.result).nth(index)));
        let servers: Vec<String> = collectors.chain(of_machine(run.result)).collect();
        let rows = self.rows_of_requests(run).into_iter();
        rows.map(|row| row.into_iter().chain(servers.iter().cloned()).collect()).collect()
    }

    /// One for each request, and their total last where there are several.
    pub(super) fn rows_of_requests(&self, run: SweepRun<'_>) -> Vec<Vec<String>> {
        let swept = self.swept(run);
        let window = run.result.headline();
        let row = |label: &str, figures: &Figures| {
            swept.iter().cloned().chain(of_requests(label, figures, window)).collect()
        };
        let sent: Vec<_> = window.by_request.iter().filter(|named| named.figures.requests > 0).collect();
        match sent.as_slice() {
            [one] => vec![row(&one.name, &one.figures)],
            several => {
                let named = several.iter().map(|named| row(&named.name, &named.figures));
                named.chain([row(TOTAL, &window.all)]).collect()
            }
        }
    }

    fn swept(&self, SweepRun { step, result }: SweepRun<'_>) -> Vec<String> {
        let combination = &step.combination;
        let setting = |name: &str| combination.setting(name).unwrap_or(NOTHING).to_owned();
        let users = combination.users.unwrap_or_else(|| result.plan.users());
        let payload = combination.payload.as_ref();
        let payload = payload.map_or(NOTHING.to_owned(), |payload| payload.bytes.to_string());
        let scenario = self.report.scenario.to_owned();
        let begin = [scenario, setting(HEAP_SETTING), users.to_string(), payload, setting(DELAY_SETTING)];
        begin.into_iter().chain(self.settings.iter().map(|name| setting(name))).collect()
    }
}

fn of_requests(label: &str, figures: &Figures, window: &WindowResult) -> Vec<String> {
    let (times, length) = (&figures.response_time, window.window.length());
    let milliseconds = |time: Option<Nanos>| time.map_or(NOTHING.to_owned(), |time| ms(time.as_millis_f64()));
    let deviation = Statistics::of_response(figures).ok().filter(|statistics| statistics.count() > 1);
    let seconds = length.as_secs_f64();
    let rate =
        |bytes: u64| if seconds > 0.0 { two(bytes as f64 / KIBI / seconds) } else { NOTHING.to_owned() };
    let begin = [
        label.to_owned(),
        figures.requests.to_string(),
        figures.failures.to_string(),
        two(figures.error_share() * 100.0),
        two(figures.rate_per_s),
        milliseconds(times.mean_ns),
        average_users(figures, length).map_or(NOTHING.to_owned(), two),
        deviation.map_or(NOTHING.to_owned(), |statistics| ms(statistics.deviation() / 1e3)),
        milliseconds(times.min_ns),
        milliseconds(times.max_ns),
    ];
    let percentiles =
        PERCENTILES.map(|percentile| percentile_ms(figures, percentile).map_or(NOTHING.to_owned(), ms));
    let bytes = [rate(figures.bytes_received), rate(figures.bytes_sent)];
    begin.into_iter().chain(percentiles).chain(bytes).collect()
}

/// Nothing where there are too few samples.
pub(super) fn percentile_ms(figures: &Figures, percentile: f64) -> Option<f64> {
    Some(figures.metric(Metric::Percentile(percentile))? / 1e6)
}

/// What garbage collections were seen, in the order in which they were to be watched.
fn collectors(result: &ResultFile) -> impl Iterator<Item = &Observation> {
    result.observers.iter().filter(|observation| observation.name.starts_with("collector "))
}

/// The share of the run that its collections left to the program of the first collector, from 0 to 1.
pub(super) fn gc_throughput(result: &ResultFile) -> Option<f64> {
    figure(collectors(result).next()?, "GC throughput")
}

fn figure(observation: &Observation, name: &str) -> Option<f64> {
    observation.summary.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

fn of_collector(observation: Option<&Observation>) -> [String; 4] {
    let Some(observation) = observation else { return [NOTHING; 4].map(str::to_owned) };
    let series = observation.series.iter().find(|series| series.name == "heap after full collection");
    let heaps = series.into_iter().flat_map(|series| &series.points);
    let heaps = Statistics::of(heaps.map(|(_, bytes)| (*bytes as u64, 1)).collect());
    let of_heaps = |value: f64| if heaps.count() > 0 { two(value / MEBI) } else { NOTHING.to_owned() };
    let throughput = figure(observation, "GC throughput").map(|share| two(share * 100.0));
    let footprint = figure(observation, "heap committed, highest seen").map(|bytes| two(bytes / MEBI));
    let missing = || NOTHING.to_owned();
    [
        throughput.unwrap_or_else(missing),
        footprint.unwrap_or_else(missing),
        of_heaps(heaps.mean()),
        of_heaps(heaps.deviation()),
    ]
}

/// Means over the window that the other figures are of.
fn of_machine(result: &ResultFile) -> Vec<String> {
    let window = result.headline().window;
    let machine = result.observers.iter().find(|observation| observation.name == "this machine");
    let mean = |name: &str| {
        let series = machine?.series.iter().find(|series| series.name == name)?;
        debug_assert_ne!(series.unit, ObservedUnit::Nanoseconds, "nothing of a machine is a time");
        let within = |at: &Nanos| (window.from_ns..=window.to_ns).contains(at);
        let points = series.points.iter().filter(|(at, _)| within(at));
        let (count, sum) = points.fold((0_u32, 0.0), |(count, sum), (_, value)| (count + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    };
    let of = |name: &str| match name {
        MEMORY_SHARE => {
            let (used, available) = (mean("memory used")?, mean("memory available")?);
            Some(used / (used + available).max(1.0))
        }
        name => mean(name),
    };
    let cell = |(_, series, unit): &(&str, &str, CellUnit)| {
        let shown = of(series).map(|value| match unit {
            CellUnit::Plain => two(value),
            CellUnit::Percent => two(value * 100.0),
            CellUnit::Kibi => two(value / KIBI),
        });
        shown.unwrap_or_else(|| NOTHING.to_owned())
    };
    OF_MACHINES.iter().map(cell).collect()
}

/// At least three digits, and all before the point: `0.842`, `7.13`, `42.7`, `1069`.
pub(super) fn ms(milliseconds: f64) -> String {
    match milliseconds {
        small if small < 1.0 => format!("{small:.3}"),
        small if small < 10.0 => format!("{small:.2}"),
        medium if medium < 100.0 => format!("{medium:.1}"),
        large => format!("{large:.0}"),
    }
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}

/// A share for people.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), units::percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = [0.0, 0.042_4, 0.842_4, 7.126, 42.66, 427.4, 1_069.0, 12_345.6].map(ms);
        assert_eq!(shown, ["0.000", "0.042", "0.842", "7.13", "42.7", "427", "1069", "12346"]);
    }
}
