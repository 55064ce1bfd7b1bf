//! A result in wrk's words, and with a constant rate in wrk2's, so that programs which read those keep working.
//!
//! Lines, units and widths are theirs; the figures are ours, and the last lines say what differs.

use crate::describe;
use crate::page::distribution::ranges;
use crate::spectrum::spectrum;
use crate::summary::{push_finding, push_observed, push_table, weight};
use crate::tables;
use crate::text::{StyledText, TextLooks, Tone};
use prony_model::measurement::figures::Figures;
use prony_model::measurement::histogram::Latencies;
use prony_model::measurement::statistics::{Statistics, WrkTotals};
use prony_model::result::{ResultFile, RunState};
use prony_model::units::percent;
use std::fmt::Write as _;

/// wrk's four, and two more.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
/// wrk2's eight, and one more.
const PERCENTILES_OF_RATE: [f64; 9] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// The observer of the lab itself, which is always there.
const LAB: &str = "lab";
/// What wrk and a URL without a plan take for good.
const EXPECTED: &str = "status 200 to 399";
/// A histogram of fewer samples shows chance.
const HISTOGRAM_SAMPLES_MIN: u64 = 100;
const HISTOGRAM_RANGES: usize = 10;
const HISTOGRAM_WIDTH: usize = 30;
/// What stands before its bars.
const HISTOGRAM_NAMES_COLUMNS: usize = 30;
const RULE: &str = "----------------------------------------------------------";

/// What the command line asked to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrkShown {
    pub url: String,
    /// With a rate: also the spectrum of percentiles.
    pub latency: bool,
    /// With a rate: also the times from when requests were sent, not from when they were due.
    pub uncorrected: bool,
}

/// The whole text, each line ended.
pub fn wrk(result: &ResultFile, shown: &WrkShown, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    for finding in &result.findings {
        push_finding(&mut text, finding, &weight(finding));
        text.push("\n");
    }
    let whole = result.windows.last().expect("a result always holds the whole run");
    push_statistics(&mut text, result, &whole.all, &shown.url);
    push_times(&mut text, result, &whole.all, shown);
    push_totals(&mut text, &WrkTotals::of(result));
    if whole.all.requests > 0 {
        push_table(&mut text, &tables::outcomes(whole, EXPECTED));
    }
    text.push(&notes(result));
    for observer in result.observers.iter().filter(|observer| observer.name != LAB) {
        push_observed(&mut text, observer);
    }
    if let Some(verdict) = describe::verdict(result) {
        text.push_verdict(&verdict);
    }
    text.into_string()
}

/// What was run, and how latencies and rates are spread.
fn push_statistics(text: &mut StyledText, result: &ResultFile, all: &Figures, url: &str) {
    let duration = result.plan.scenarios.iter().map(|scenario| scenario.load.duration()).max();
    let duration = duration.unwrap_or_default().as_secs_f64();
    text.push_as(Tone::Name, &format!("Running {} test @ {url}", Units::SECONDS.format(duration, 0)));
    let _ = writeln!(text, "\n  {} threads and {} connections", result.lab.threads, result.plan.users());
    push_name(text, "Thread Stats   Avg      Stdev     Max   +/- Stdev");
    let response = Statistics::of_response(all).unwrap_or_default();
    text.push(&statistics_row("Latency", (response.count() > 0).then_some(&response), format_us));
    let rates = Statistics::of_rates(result);
    text.push(&statistics_row("Req/Sec", (rates.count() > 0).then_some(&rates), format_count));
}

/// From when requests were due, and where it is asked for also from when they were sent.
fn push_times(text: &mut StyledText, result: &ResultFile, all: &Figures, shown: &WrkShown) {
    let is_open = result.plan.is_open();
    let times = Latencies::from_base64(&all.histograms.response).unwrap_or_default();
    match (times.is_empty(), is_open) {
        (true, _) => push_distribution_of_failures(text, all),
        (false, true) => {
            push_recorded(text, "Recorded Latency", &times, shown.latency);
            // An empty line before and after, where programs that read wrk2's tables look for the end of one.
            if push_histogram(text, &times) {
                text.push("\n");
            }
        }
        (false, false) => push_distribution(text, "Latency Distribution", &times),
    }
    if is_open && shown.uncorrected {
        let times = Latencies::from_base64(&all.histograms.service).unwrap_or_default();
        let title = "Uncorrected Latency (measured without taking delayed starts into account)";
        push_recorded(text, title, &times, shown.latency);
    }
}

/// A name of lines below it.
fn push_name(text: &mut StyledText, name: &str) {
    text.push("  ");
    text.push_as(Tone::Name, name);
    text.push("\n");
}

/// wrk's percentiles, and a histogram where there are samples enough for one.
fn push_distribution(text: &mut StyledText, title: &str, times: &Latencies) {
    push_name(text, title);
    let rows = percentile_rows(times, &PERCENTILES, 7, None);
    text.push(if rows.is_empty() { "    too few responses for a percentile\n" } else { &rows });
    push_histogram(text, times);
}

/// Nothing succeeded, so that these are the only times that there are.
fn push_distribution_of_failures(text: &mut StyledText, all: &Figures) {
    let times = Latencies::from_base64(&all.histograms.errors).unwrap_or_default();
    if !times.is_empty() {
        push_distribution(
            text,
            &format!("Latency Distribution of the {} that failed", times.count()),
            &times,
        );
    }
}

/// False where there are too few samples for one.
fn push_histogram(text: &mut StyledText, times: &Latencies) -> bool {
    let Some(ranges) = ranges(times, HISTOGRAM_RANGES).filter(|_| times.count() >= HISTOGRAM_SAMPLES_MIN)
    else {
        return false;
    };
    let highest = ranges.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let room = text
        .looks()
        .columns
        .map_or(HISTOGRAM_WIDTH, |columns| columns.saturating_sub(HISTOGRAM_NAMES_COLUMNS));
    let width = room.min(HISTOGRAM_WIDTH) as f64;
    push_name(text, "Latency Histogram");
    for (bound, count) in ranges.bounds_ns.iter().skip(1).zip(&ranges.counts) {
        let share = *count as f64 / times.count() as f64;
        let bar = "█".repeat((*count as f64 / highest * width).round() as usize);
        let bound = in_column(&format_us(bound / 1e3), 10);
        let line = format!("    up to{bound}{:>9}  {bar}", percent(share));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    true
}

/// Dashes where there is nothing to take statistics of.
fn statistics_row(name: &str, statistics: Option<&Statistics>, format: fn(f64) -> String) -> String {
    let Some(statistics) = statistics else {
        let [mean, deviation, max] = [8, 10, 9].map(|width| in_column("-", width));
        return format!("    {name:<10}{mean}{deviation}{max}{:>9}\n", "-");
    };
    let mean = in_column(&format(statistics.mean()), 8);
    let deviation = in_column(&format(statistics.deviation()), 10);
    let max = in_column(&format(statistics.max() as f64), 9);
    let within = statistics.within_deviation_percent();
    format!("    {name:<10}{mean}{deviation}{max}{within:8.2}%\n")
}

/// wrk2's table, and the spectrum where it is asked for.
fn push_recorded(text: &mut StyledText, title: &str, times: &Latencies, with_spectrum: bool) {
    push_name(text, &format!("Latency Distribution (HdrHistogram - {title})"));
    text.push(&percentile_rows(times, &PERCENTILES_OF_RATE, 7, Some(3)));
    text.push("\n");
    if with_spectrum {
        push_name(text, "Detailed Percentile spectrum:");
        text.push(&spectrum(times));
        text.push_as(Tone::Rule, RULE);
        text.push("\n");
    }
}

/// Percentiles with too few samples beyond them are left out. As many decimals as there are, unless it is said.
fn percentile_rows(times: &Latencies, percentiles: &[f64], width: usize, decimals: Option<usize>) -> String {
    let rows = percentiles.iter().filter_map(|percentile| {
        let time = times.percentile(*percentile)?;
        let time = in_column(&format_us(time.0 as f64 / 1e3), 10);
        Some(match decimals {
            Some(decimals) => format!("{percentile:width$.decimals$}%{time}\n"),
            None => format!("{percentile:width$}%{time}\n"),
        })
    });
    rows.collect()
}

fn push_totals(text: &mut StyledText, totals: &WrkTotals) {
    let seconds = totals.duration_us as f64 / 1e6;
    let a_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let (time, read) = (format_us(totals.duration_us as f64), format_bytes(totals.bytes as f64));
    let _ = writeln!(text, "  {} requests in {time}, {read}B read", totals.requests);
    let mut push_failed = |failed: &str| {
        text.push("  ");
        text.push_as(Tone::Failed, failed);
        text.push("\n");
    };
    if totals.socket_errors() > 0 {
        let WrkTotals { connect_errors, read_errors, write_errors, timeouts, .. } = totals;
        push_failed(&format!(
            "Socket errors: connect {connect_errors}, read {read_errors}, write {write_errors}, timeout {timeouts}"
        ));
    }
    if totals.status_errors > 0 {
        push_failed(&format!("Non-2xx or 3xx responses: {}", totals.status_errors));
    }
    let _ = writeln!(text, "Requests/sec: {:9.2}", a_second(totals.requests));
    let _ = writeln!(text, "Transfer/sec: {:>10}B", format_bytes(a_second(totals.bytes)));
}

/// What a reader who knows wrk would take for granted, and should not.
fn notes(result: &ResultFile) -> String {
    let whole = result.windows.last().expect("a result always holds the whole run");
    let mut text = if result.plan.is_open() {
        "\ndiffers from wrk2: requests are sent when they are due, where wrk2 waits for the next whole millisecond \
         (about 0.5 ms of its figures); latencies are of successes\n"
    } else {
        "\ndiffers from wrk: latencies are those that were measured, where wrk adds back-filled estimates; they are of \
         successes\n"
    }
    .to_owned();
    if let Some(spoken) = describe::spoken(result) {
        let _ = writeln!(text, "spoken: {spoken}");
    }
    if result.state == RunState::Stopped {
        text.push_str("stopped early: the figures are of what ran until then\n");
    }
    let dropped: u64 = whole.by_scenario.iter().map(|scenario| scenario.starts.dropped).sum();
    if dropped > 0 {
        let _ = writeln!(text, "{dropped} starts were dropped: no connection became free in time");
    }
    if !result.plan.is_open() {
        let silence = result.lab.longest_silence_ns;
        let _ = writeln!(
            text,
            "a closed loop asks less while it waits, which hides stalls (-R does not); the longest wait without any \
             answer was {silence}"
        );
    }
    text
}

/// Numbers with a unit, as wrk scales them: up as soon as 85 % of the next unit is reached.
#[derive(Debug, Clone, Copy)]
struct Units {
    scale: f64,
    names: &'static [&'static str],
}

impl Units {
    const MICROSECONDS: Self = Self { scale: 1e3, names: &["us", "ms"] };
    const SECONDS: Self = Self { scale: 60.0, names: &["s", "m"] };
    const COUNT: Self = Self { scale: 1e3, names: &["", "k", "M", "G", "T"] };
    const BYTES: Self = Self { scale: 1024.0, names: &["", "K", "M", "G", "T"] };

    fn format(self, mut amount: f64, decimals: usize) -> String {
        let mut unit = 0;
        while unit + 1 < self.names.len() && amount >= 0.85 * self.scale {
            amount /= self.scale;
            unit += 1;
        }
        format!("{amount:.decimals$}{}", self.names[unit])
    }
}

fn format_us(time_us: f64) -> String {
    if time_us >= 1e6 {
        Units::SECONDS.format(time_us / 1e6, 2)
    } else {
        Units::MICROSECONDS.format(time_us, 2)
    }
}

fn format_count(count: f64) -> String {
    Units::COUNT.format(count, 2)
}

fn format_bytes(bytes: f64) -> String {
    Units::BYTES.format(bytes, 2)
}

/// Numbers end in the same column, their units of up to two letters behind it.
fn in_column(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).take_while(char::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    format!("{text:>width$}{:pad$}", "", width = width - pad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_as_wrk_scales_them() {
        let times =
            [0.0, 68.0, 838.33, 870.0, 20_090.0, 999_999.0, 1e6, 2_020_000.0, 51e6, 5.4e9].map(format_us);
        assert_eq!(
            times,
            [
                "0.00us",
                "68.00us",
                "838.33us",
                "0.87ms",
                "20.09ms",
                "1000.00ms",
                "1.00s",
                "2.02s",
                "0.85m",
                "90.00m"
            ]
        );
        assert_eq!(
            [0.0, 849.0, 850.0, 35_330.0, 2.5e6].map(format_count),
            ["0.00", "849.00", "0.85k", "35.33k", "2.50M"]
        );
        assert_eq!([0.0, 12_861.0, 25.71 * 1_048_576.0].map(format_bytes), ["0.00", "12.56K", "25.71M"]);
        assert_eq!(
            [10.0, 60.0, 7_200.0].map(|seconds| Units::SECONDS.format(seconds, 0)),
            ["10s", "1m", "120m"]
        );
    }

    #[test]
    fn columns_are_those_of_wrk() {
        let columns = [("1.05ms", 8), ("20.09ms", 9), ("67.56k", 9), ("0.00", 10), ("68.00us", 10)];
        let shown = columns.map(|(text, width)| format!("[{}]", in_column(text, width)));
        assert_eq!(shown, ["[  1.05ms]", "[  20.09ms]", "[  67.56k ]", "[    0.00  ]", "[   68.00us]"]);
    }
}
