//! The rows of a screen: what each says, and how important it is.

use super::rates::RateHistory;
use super::state::{ScreenState, StepHead, StepsDone};
use crate::fit::Ranked;
use crate::progress_line::rate;
use crate::table::grouped;
use prony_model::Nanos;
use prony_model::measurement::coarse_histogram::CoarseHistogram;
use prony_model::result::Progress;
use prony_model::subscription::figures::SubscriberRow;
use prony_model::units::{counted, percent};
use ratatui::text::Span;

/// The most that stand below each other; further ones are counted.
const FINDINGS_MAX: usize = 3;
/// Kinds of failures in their row; rarer ones are in the summary.
const FAILURES_MAX: usize = 8;
/// Of the words at the beginning of rows.
const LABEL_COLUMNS: usize = 8;
/// Of times below each other.
const TIME_COLUMNS: usize = 7;
/// Parts behind this rank are left out first; the words at the beginning of rows are among them.
const LABEL: u8 = 5;

/// What a row is about, the most important first: a low terminal has no room for the last ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Importance {
    Clock,
    Rate,
    Requests,
    Step,
    Whole,
    LastSecond,
    Finding,
    Events,
    Failures,
    SoFar,
    Known,
    Warning,
    Histogram,
}

/// A row, or several where there is room.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) importance: Importance,
    pub(crate) content: Content<'a>,
}

#[derive(Debug)]
pub(crate) enum Content<'a> {
    Line(Vec<Part>),
    /// A bar in the room behind the parts.
    Bar(Vec<Part>, f64),
    /// The rates over time in the room behind the parts.
    Rates(Vec<Part>, &'a RateHistory),
    Histogram(&'a CoarseHistogram),
}

/// A few words of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    rank: u8,
    pub(crate) text: String,
    pub(crate) emphasis: Emphasis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emphasis {
    None,
    Label,
    Strong,
    Warning,
    Bad,
}

impl Part {
    fn new(rank: u8, text: impl Into<String>) -> Self {
        Self { rank, text: text.into(), emphasis: Emphasis::None }
    }

    pub(crate) fn plain(text: String) -> Self {
        Self::new(0, text)
    }

    fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis, ..self }
    }
}

impl Ranked for Part {
    fn rank(&self) -> u8 {
        self.rank
    }

    fn columns(&self) -> usize {
        Span::raw(self.text.as_str()).width()
    }
}

pub(crate) fn label(text: &str) -> Part {
    Part::new(LABEL, format!("{text:<LABEL_COLUMNS$}")).with(Emphasis::Label)
}

/// All rows, as if there were room for them, in the order in which they stand.
pub(crate) fn sections(state: &ScreenState) -> Vec<Section<'_>> {
    let mut rows = Rows::default();
    if state.head.is_none() && state.progress.is_none() {
        // Nothing runs yet: what the program prints first stands where it would without a screen.
        return rows.0;
    }
    rows.line(Importance::Step, step(state));
    if let Some((parts, share)) = whole(state) {
        rows.add(Importance::Whole, Content::Bar(parts, share));
    }
    if !state.known.is_empty() {
        rows.line(Importance::Known, known(&state.known));
    }
    if let Some(progress) = &state.progress {
        rows.progress(state, progress);
    }
    if let Some(warning) = &state.warning {
        rows.line(Importance::Warning, vec![Part::new(0, warning).with(Emphasis::Warning)]);
    }
    rows.0
}

#[derive(Default)]
struct Rows<'a>(Vec<Section<'a>>);

impl<'a> Rows<'a> {
    fn add(&mut self, importance: Importance, content: Content<'a>) {
        self.0.push(Section { importance, content });
    }

    fn line(&mut self, importance: Importance, parts: Vec<Part>) {
        self.add(importance, Content::Line(parts));
    }

    fn progress(&mut self, state: &'a ScreenState, progress: &'a Progress) {
        self.add(Importance::Clock, Content::Bar(clock(progress), progress.share_done()));
        self.add(Importance::Rate, Content::Rates(rates(progress), &state.rates));
        self.line(Importance::Requests, requests(progress));
        if !progress.failures_of.is_empty() {
            self.line(Importance::Failures, failures(progress));
        }
        let (last, all) = (&progress.last, &progress.times);
        let now = [last.p50_ns, last.p95_ns, last.p99_ns, last.max_ns];
        self.line(Importance::LastSecond, percentiles("now", now));
        self.line(Importance::SoFar, percentiles("so far", [all.p50, all.p95, all.p99, all.max]));
        if all.histogram.bounds().is_some() {
            self.add(Importance::Histogram, Content::Histogram(&all.histogram));
        }
        if let Some(row) = &progress.subscribers {
            self.line(Importance::Events, events(row));
        }
        let findings = &progress.findings;
        for (index, finding) in findings.iter().take(FINDINGS_MAX).enumerate() {
            let more = findings.len() - FINDINGS_MAX.min(findings.len());
            let more =
                if index + 1 == FINDINGS_MAX && more > 0 { format!(" (+{more})") } else { String::new() };
            let text = format!("! {}{more}: {}", finding.kind.name(), finding.seen);
            let emphasis = if finding.voids_claim { Emphasis::Bad } else { Emphasis::Warning };
            self.line(Importance::Finding, vec![Part::new(0, text).with(emphasis)]);
        }
    }
}

fn step(state: &ScreenState) -> Vec<Part> {
    let mut parts = Vec::new();
    let Some(StepHead { step, position, range, .. }) = &state.head else {
        parts.push(Part::new(0, &state.title).with(Emphasis::Strong));
        return parts;
    };
    if !state.title.is_empty() {
        parts.push(Part::new(4, &state.title).with(Emphasis::Label));
    }
    if !position.is_empty() {
        parts.push(Part::new(2, position));
    }
    parts.push(Part::new(0, step).with(Emphasis::Strong));
    if !range.is_empty() {
        parts.push(Part::new(3, range));
    }
    parts
}

/// How much of all runs is done, by their time, once it is known how long the rest takes.
fn whole(state: &ScreenState) -> Option<(Vec<Part>, f64)> {
    let head = state.head.as_ref()?;
    let (spent, left) = (state.spent, head.left?);
    let mut parts = vec![label("whole")];
    if let Some(StepsDone { done, to_go }) = head.steps {
        parts.push(Part::new(2, format!("{done} done, {to_go} to go")));
    }
    parts.push(Part::new(0, format!("about {} left", whole_seconds(left.since(state.elapsed())))));
    let share =
        spent.plus(state.elapsed()).as_secs_f64() / spent.plus(left).as_secs_f64().max(f64::MIN_POSITIVE);
    Some((parts, share.min(1.0)))
}

/// The newest to the left, so that the oldest are left out.
fn known(steps: &[String]) -> Vec<Part> {
    let newest = steps.iter().rev().enumerate();
    let parts =
        newest.map(|(age, step)| Part::new((age as u8).saturating_add(u8::from(age > 0) * LABEL), step));
    std::iter::once(label("before")).chain(parts).collect()
}

fn clock(progress: &Progress) -> Vec<Part> {
    let of = match progress.iterations {
        // The time is a limit then, and not what is waited for.
        Some(iterations) => format!("{} of {} iterations", grouped(iterations.done), grouped(iterations.of)),
        None => format!("of {}", progress.duration),
    };
    let left = match progress.left() {
        Nanos::ZERO => "ending".to_owned(),
        left => format!("{} left", whole_seconds(left)),
    };
    let elapsed = Part::new(0, progress.elapsed.to_string()).with(Emphasis::Strong);
    vec![elapsed, Part::new(2, of), Part::new(1, left)]
}

/// Rounded up: what is nearly over is not over.
fn whole_seconds(time: Nanos) -> String {
    let seconds = time.0.div_ceil(1_000_000_000);
    if seconds < 60 { format!("{seconds} s") } else { Nanos::from_secs(seconds).to_string() }
}

fn rates(progress: &Progress) -> Vec<Part> {
    vec![
        label("rate"),
        Part::new(0, rate(progress)).with(Emphasis::Strong),
        Part::new(4, counted(progress.last.users.into(), "user", "users")),
    ]
}

fn requests(progress: &Progress) -> Vec<Part> {
    let failed = match progress.failures {
        0 => Part::new(3, "0 failed"),
        failures => {
            let share = percent(failures as f64 / progress.requests.max(1) as f64);
            Part::new(1, format!("{} failed ({share})", grouped(failures))).with(Emphasis::Bad)
        }
    };
    let mut parts =
        vec![label("total"), Part::new(0, counted(progress.requests, "request", "requests")), failed];
    if progress.asked_per_s.is_some() {
        parts.push(Part::new(4, format!("{} late", grouped(progress.waited))));
        let dropped = format!("{} dropped", grouped(progress.dropped));
        parts.push(match progress.dropped {
            0 => Part::new(4, dropped),
            _ => Part::new(2, dropped).with(Emphasis::Bad),
        });
    }
    match u64::from(progress.last.workers_missing) {
        0 => {}
        missing => parts
            .push(Part::new(1, counted(missing, "worker missing", "workers missing")).with(Emphasis::Bad)),
    }
    parts
}

fn failures(progress: &Progress) -> Vec<Part> {
    let kinds = progress.failures_of.iter().take(FAILURES_MAX).enumerate();
    let parts = kinds.map(|(index, failure)| {
        // The most frequent stays.
        let rank = if index == 0 { 0 } else { LABEL + index as u8 };
        Part::new(rank, format!("{} × {}", failure.label(), grouped(failure.count))).with(Emphasis::Bad)
    });
    std::iter::once(label("failed")).chain(parts).collect()
}

fn percentiles(name: &str, times: [Option<Nanos>; 4]) -> Vec<Part> {
    let names = [("p50", 4), ("p95", 3), ("p99", 0), ("max", 2)];
    let parts = names.into_iter().zip(times).map(|((name, rank), time)| {
        let time = time.map_or("-".to_owned(), |time| time.to_string());
        Part::new(rank, format!("{name} {time:<TIME_COLUMNS$}"))
    });
    // It tells two rows apart that say the same otherwise.
    let name = Part { rank: 1, ..label(name) };
    std::iter::once(name).chain(parts).collect()
}

fn events(row: &SubscriberRow) -> Vec<Part> {
    let mut parts = vec![
        label("events"),
        Part::new(0, format!("{}/s", grouped(row.events))).with(Emphasis::Strong),
        Part::new(2, counted(row.active, "subscription", "subscriptions")),
    ];
    parts.extend(row.p99_ns.map(|p99| Part::new(1, format!("fan-out p99 {p99}"))));
    parts
}
