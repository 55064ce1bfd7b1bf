//! Objectives such as `p95<500ms, errors<1%, p99{name:login}<1s`: reading them, and judging figures by them.

use crate::measurement::histogram::Latencies;
use crate::units::{Nanos, grouped, per_second, percent};
use std::fmt;

/// Before a figure of times: those from a mutation to its receipts.
const FAN_OUT: &str = "fan_out_latency ";

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// A percentile of the response time of successes, from 0 to 100.
    Percentile(f64),
    Min,
    Mean,
    Max,
    /// The share of requests that failed in any way.
    Errors,
    /// The share of answered requests whose answer was as expected.
    Checks,
    /// Successes a second.
    Rate,
    /// The reached share of the asked rate; exists only where the load model asks for a rate.
    RateReached,
    /// How many requests there were.
    Requests,
    /// Of the time from a mutation to each receipt of its event.
    FanOut(TimeFigure),
    /// Events that did not come, came twice, or came after a later one.
    Missed,
    Duplicated,
    OutOfOrder,
    /// Events a second.
    Events,
    /// Connections of subscribers that were refused, and that were lost.
    Refused,
    Lost,
}

/// A figure of a distribution of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeFigure {
    /// From 0 to 100.
    Percentile(f64),
    Min,
    Mean,
    Max,
}

impl TimeFigure {
    /// Absent where there are too few samples to stand behind it.
    pub fn of(self, times: &Latencies) -> Option<Nanos> {
        match self {
            Self::Percentile(percentile) => times.percentile(percentile),
            Self::Min => times.min(),
            Self::Mean => times.mean(),
            Self::Max => times.max(),
        }
    }
}

/// Decimals of a figure at most: of a time in milliseconds, those of a microsecond's thousandth.
const FIGURE_DECIMALS_MAX: usize = 6;

/// What signs of comparison begin with.
const SIGNS: [char; 3] = ['<', '>', '='];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

/// The bound in the metric's own unit: nanoseconds, a share from 0 to 1, a second, or a count.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    pub text: String,
    pub metric: Metric,
    pub scope: Scope,
    pub comparison: Comparator,
    pub bound: f64,
}

/// All requests, or those with one name, group or tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    Request(String),
    Group(String),
    /// Key and value.
    Tag(String, String),
}

/// A threshold that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("threshold `{text}`: {reason}")]
pub struct ThresholdError {
    pub text: String,
    pub reason: String,
}

impl Threshold {
    /// Reads one or several, separated by commas.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Vec<ThresholdError>> {
        let (mut thresholds, mut errors) = (Vec::new(), Vec::new());
        for part in parts(text).map(str::trim) {
            match Self::parse(part) {
                Ok(threshold) => thresholds.push(threshold),
                Err(reason) => errors.push(ThresholdError { text: part.to_owned(), reason }),
            }
        }
        if errors.is_empty() { Ok(thresholds) } else { Err(errors) }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let at = comparison_at(text).ok_or("has no comparison; write for example `p95<500ms`")?;
        let (left, right) = text.split_at(at);
        let (comparison, bound) =
            split_comparison(right).ok_or("has no comparison; write `<`, `<=`, `>`, `>=` or `==`")?;
        let (metric, scope) = parse_left(left.trim())?;
        let bound = bound.trim();
        let metric =
            if metric == Metric::Rate && bound.ends_with('%') { Metric::RateReached } else { metric };
        let bound = parse_bound(metric, bound)?;
        Ok(Self { text: text.to_owned(), metric, scope, comparison, bound })
    }

    /// True where the figure keeps the threshold.
    pub fn is_kept_by(&self, figure: f64) -> bool {
        match self.comparison {
            Comparator::Less => figure < self.bound,
            Comparator::LessOrEqual => figure <= self.bound,
            Comparator::Greater => figure > self.bound,
            Comparator::GreaterOrEqual => figure >= self.bound,
            Comparator::Equal => (figure - self.bound).abs() < f64::EPSILON,
        }
    }

    /// A figure of this threshold's metric, with its unit; with more digits where it would look like the bound and is not.
    pub fn show(&self, figure: f64) -> String {
        let rounded = self.rounded(figure);
        if rounded != self.rounded(self.bound) {
            return rounded;
        }
        let (scale, unit) = self.metric.unit().written();
        let digits = |value: f64, decimals: usize| format!("{:.decimals$}{unit}", value * scale);
        let distinct = (1..=FIGURE_DECIMALS_MAX)
            .find(|decimals| digits(figure, *decimals) != digits(self.bound, *decimals));
        distinct.map_or(rounded, |decimals| digits(figure, decimals))
    }

    fn rounded(&self, figure: f64) -> String {
        match self.metric.unit() {
            Unit::Time => Nanos(figure.max(0.0) as u64).to_string(),
            Unit::Share => percent(figure),
            Unit::PerSecond => per_second(figure),
            Unit::Count => grouped(figure.max(0.0).round() as u64),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time,
    Share,
    PerSecond,
    Count,
}

impl Unit {
    /// What a figure is multiplied by where it is written with decimals, and the unit that it has then.
    const fn written(self) -> (f64, &'static str) {
        match self {
            Self::Time => (1e-6, " ms"),
            Self::Share => (1e2, " %"),
            Self::PerSecond => (1.0, "/s"),
            Self::Count => (1.0, ""),
        }
    }
}

impl Metric {
    fn parse(name: &str) -> Option<Self> {
        if let Some(figure) = name.strip_prefix(FAN_OUT) {
            return Some(Self::FanOut(match Self::parse(figure.trim_start())? {
                Self::Percentile(percentile) => TimeFigure::Percentile(percentile),
                Self::Min => TimeFigure::Min,
                Self::Mean => TimeFigure::Mean,
                Self::Max => TimeFigure::Max,
                _ => return None,
            }));
        }
        Some(match name {
            "missed" => Self::Missed,
            "duplicated" => Self::Duplicated,
            "out_of_order" => Self::OutOfOrder,
            "events" => Self::Events,
            "refused" => Self::Refused,
            "lost" => Self::Lost,
            "min" => Self::Min,
            "mean" | "avg" => Self::Mean,
            "max" => Self::Max,
            "errors" => Self::Errors,
            "checks" => Self::Checks,
            "rate" => Self::Rate,
            "requests" => Self::Requests,
            _ => {
                let percentile: f64 = name.strip_prefix('p')?.parse().ok()?;
                (0.0..=100.0).contains(&percentile).then_some(Self::Percentile(percentile))?
            }
        })
    }

    /// True of what subscribers see, and not of requests.
    pub const fn is_of_subscribers(self) -> bool {
        matches!(
            self,
            Self::FanOut(_)
                | Self::Missed
                | Self::Duplicated
                | Self::OutOfOrder
                | Self::Events
                | Self::Refused
                | Self::Lost
        )
    }

    fn unit(self) -> Unit {
        match self {
            Self::Percentile(_) | Self::Min | Self::Mean | Self::Max | Self::FanOut(_) => Unit::Time,
            Self::Errors | Self::Checks | Self::RateReached => Unit::Share,
            Self::Rate | Self::Events => Unit::PerSecond,
            Self::Requests
            | Self::Missed
            | Self::Duplicated
            | Self::OutOfOrder
            | Self::Refused
            | Self::Lost => Unit::Count,
        }
    }
}

/// Where a threshold's sign of comparison begins. What is in braces is a name, which may hold such signs: `p99{name:GET /items?id=1}<1s`.
fn comparison_at(text: &str) -> Option<usize> {
    let from = scope_end(text).unwrap_or(0);
    text[from..].find(SIGNS).map(|at| from + at)
}

/// The end of the braces, which is the first closing one that a comparison follows; none where the text begins without braces, or does not close them.
fn scope_end(text: &str) -> Option<usize> {
    let open = text.find(['{', '<', '>', '=', ',']).filter(|at| text[*at..].starts_with('{'))?;
    let closes = text[open..].match_indices('}').map(|(at, _)| open + at + 1);
    closes.into_iter().find(|end| split_comparison(text[*end..].trim_start()).is_some())
}

/// A list's thresholds, between commas that are in no braces.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let from = scope_end(text).unwrap_or(0);
        let Some(comma) = text[from..].find(',') else { return rest.take() };
        rest = Some(&text[from + comma + 1..]);
        Some(&text[..from + comma])
    })
}

fn split_comparison(text: &str) -> Option<(Comparator, &str)> {
    let operators = [
        ("==", Comparator::Equal),
        ("<=", Comparator::LessOrEqual),
        (">=", Comparator::GreaterOrEqual),
        ("<", Comparator::Less),
        (">", Comparator::Greater),
    ];
    operators.iter().find_map(|(sign, kind)| text.strip_prefix(sign).map(|rest| (*kind, rest)))
}

fn parse_left(text: &str) -> Result<(Metric, Scope), String> {
    let (name, scope) = match text.split_once('{') {
        None => (text, Scope::All),
        Some((name, tag)) => {
            let tag = tag.strip_suffix('}').ok_or("has no closing brace")?;
            let (key, value) =
                tag.split_once(':').ok_or("write the request as `{name:login}`, a tag as `{kind:guest}`")?;
            let value = value.trim().to_owned();
            let scope = match key.trim() {
                "name" => Scope::Request(value),
                "group" => Scope::Group(value),
                key => Scope::Tag(key.to_owned(), value),
            };
            (name, scope)
        }
    };
    let metric = Metric::parse(name.trim()).ok_or_else(|| {
        let name = name.trim();
        format!(
            "unknown figure `{name}`; known are p50 … p99.99, min, mean, max, errors, checks, rate, requests, \
             and of subscribers fan_out_latency p50 … max, missed, duplicated, out_of_order, events, refused, lost"
        )
    })?;
    Ok((metric, scope))
}

fn parse_bound(metric: Metric, text: &str) -> Result<f64, String> {
    match metric.unit() {
        Unit::Time => Nanos::parse(text).map(|time| time.0 as f64).map_err(|error| error.to_string()),
        Unit::Share => {
            let percent =
                text.strip_suffix('%').ok_or_else(|| format!("`{text}` must be in per cent, as in `1%`"))?;
            hundredth(percent)
        }
        Unit::PerSecond => number(text.strip_suffix("/s").unwrap_or(text)),
        Unit::Count => number(text),
    }
}

/// A hundredth of a number, rounded once: 0.7 % is the share of 7 in 1,000, of which a division of floats makes a little less.
fn hundredth(text: &str) -> Result<f64, String> {
    let percent = number(text)?;
    Ok(format!("{}e-2", text.trim()).parse().unwrap_or(percent / 100.0))
}

fn number(text: &str) -> Result<f64, String> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("`{}` is not a number", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: &Expect) {
        let lines: Vec<_> = match Threshold::parse_list(text) {
            Ok(list) => {
                let line =
                    |t: &Threshold| format!("{:?} {:?} {:?} {}", t.metric, t.scope, t.comparison, t.bound);
                list.iter().map(line).collect()
            }
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        };
        let shown = lines.join("\n") + "\n";
        expected.assert_eq(&shown);
    }

    #[test]
    fn thresholds_are_read() {
        check(
            "p95<500ms, errors<1%,rate>=99.5/s , p99.9{name:log in}<=1s, p50{group:pay}<1s, p50{kind:guest}<1s, checks>99%, requests>1000, max < 2s, rate>=99%, fan_out_latency p99 < 10ms, fan_out_latency max{name:a b}<1s, missed == 0, events>=1000/s, lost==0",
            &expect![[r#"
            Percentile(95.0) All Less 500000000
            Errors All Less 0.01
            Rate All GreaterOrEqual 99.5
            Percentile(99.9) Request("log in") LessOrEqual 1000000000
            Percentile(50.0) Group("pay") Less 1000000000
            Percentile(50.0) Tag("kind", "guest") Less 1000000000
            Checks All Greater 0.99
            Requests All Greater 1000
            Max All Less 2000000000
            RateReached All GreaterOrEqual 0.99
            FanOut(Percentile(99.0)) All Less 10000000
            FanOut(Max) Request("a b") Less 1000000000
            Missed All Equal 0
            Events All GreaterOrEqual 1000
            Lost All Equal 0
        "#]],
        );
    }

    #[test]
    fn names_may_hold_signs_and_commas() {
        check(
            "p99{name:GET /items?id=1}<1s, max{name:list, then <b>page</b>}<=2s,errors{name:{id}=x, y} < 1%, rate>5",
            &expect![[r#"
            Percentile(99.0) Request("GET /items?id=1") Less 1000000000
            Max Request("list, then <b>page</b>") LessOrEqual 2000000000
            Errors Request("{id}=x, y") Less 0.01
            Rate All Greater 5
        "#]],
        );
    }

    #[test]
    fn mistakes_are_all_named() {
        check(
            "p95, p101<1s, errors<1, p95<500, p95{x}<1s, requests>many, missed=0, fan_out_latency errors<1s",
            &expect![[r"
            threshold `p95`: has no comparison; write for example `p95<500ms`
            threshold `p101<1s`: unknown figure `p101`; known are p50 … p99.99, min, mean, max, errors, checks, rate, requests, and of subscribers fan_out_latency p50 … max, missed, duplicated, out_of_order, events, refused, lost
            threshold `errors<1`: `1` must be in per cent, as in `1%`
            threshold `p95<500`: `500` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`
            threshold `p95{x}<1s`: write the request as `{name:login}`, a tag as `{kind:guest}`
            threshold `requests>many`: `many` is not a number
            threshold `missed=0`: has no comparison; write `<`, `<=`, `>`, `>=` or `==`
            threshold `fan_out_latency errors<1s`: unknown figure `fan_out_latency errors`; known are p50 … p99.99, min, mean, max, errors, checks, rate, requests, and of subscribers fan_out_latency p50 … max, missed, duplicated, out_of_order, events, refused, lost
        "]],
        );
    }

    #[test]
    fn the_bound_itself_keeps_only_the_inclusive_form() {
        let parse = |text| Threshold::parse_list(text).unwrap().remove(0);
        assert!(!parse("max<1s").is_kept_by(1e9));
        assert!(parse("max<=1s").is_kept_by(1e9));
        assert!(!parse("errors>1%").is_kept_by(0.01));
        assert!(parse("errors>=1%").is_kept_by(0.01));
    }

    #[test]
    fn shares_that_are_the_bound_keep_the_inclusive_form() {
        for tenths in 0..=1_000_u32 {
            let (figure, percent) = (f64::from(tenths) / 1_000.0, f64::from(tenths) / 10.0);
            let kept = |sign| {
                let list = Threshold::parse_list(&format!("checks{sign}{percent}%")).unwrap();
                list[0].is_kept_by(figure)
            };
            assert_eq!(["<=", ">=", "==", "<", ">"].map(kept), [true, true, true, false, false], "{percent}");
        }
        assert!(Threshold::parse_list("errors<=1e0%").unwrap()[0].is_kept_by(0.01));
    }

    #[test]
    fn figures_that_miss_the_bound_do_not_look_like_it() {
        let shown = |text, figure| Threshold::parse_list(text).unwrap()[0].show(figure);
        assert_eq!(shown("p95<500ms", 500_300_000.0), "500.3 ms");
        assert_eq!(shown("p95<500ms", 500_000_000.0), "500 ms");
        assert_eq!(shown("p95<500ms", 512_300_000.0), "512 ms");
        assert_eq!(shown("rate>=100/s", 99.97), "99.97/s");
        assert_eq!(shown("rate>=100/s", 100.0), "100.0/s");
        assert_eq!(shown("checks>99.99%", 0.999_88), "99.988 %");
        assert_eq!(shown("errors<=0%", 0.000_012), "0.001 %");
        assert_eq!(shown("mean<1us", 1_000.4), "1.00 µs");
        assert_eq!(shown("requests>1000", 1_000.0), "1 000");
    }
}
