//! What the page draws, as `web/report/data.ts` reads it. Texts are ready to be shown; numbers are in the unit that
//! stands beside them.

use prony_model::Conclusion;
use prony_model::search::Trial;
use prony_model::verdict::Judgement;
use serde::Serialize;

/// One page: runs, and what was made of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PageData {
    pub title: String,
    /// Of the program that wrote the page.
    pub version: String,
    /// What an experiment found; absent on pages of results alone.
    pub study: Option<StudyData>,
    /// Of a search or comparison as a whole; absent on pages of runs, each of which has its own.
    pub verdict: Option<VerdictData>,
    /// Of each search and comparison of a page of several results; absent on other pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<VerdictData>,
    pub runs: Vec<RunData>,
    /// All runs side by side; absent for one, and where an experiment has its own tables.
    pub side_by_side: Option<TableData>,
    pub search: Option<SearchData>,
    pub comparison: Option<ComparisonData>,
    /// JMeter's samples, on pages of nothing else.
    pub samples: Option<SamplesData>,
    /// How far the run is, on a page that is served meanwhile; absent on pages at rest.
    pub live: Option<LiveData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LiveData {
    pub elapsed_s: f64,
    /// How long requests are started for.
    pub duration_s: f64,
    /// Which of many runs it is; absent where there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The run is over: where its result is.
    pub end: Option<String>,
}

/// What was counted of JMeter's samples, by any program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SamplesData {
    /// One sentence.
    pub summary: String,
    pub started_at_unix_ms: u64,
    /// What must be known before any figure, in sentences.
    pub notices: Vec<String>,
    pub tables: Vec<TableData>,
    pub plots: Vec<PlotData>,
    /// Each named by its label.
    pub spectra: Vec<SpectrumData>,
    pub histograms: Vec<HistogramData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunData {
    /// Short, and different from those of the other runs.
    pub label: String,
    /// Where it was read from.
    pub file: String,
    /// What a reader must know before all figures: that the run had not ended, or was stopped.
    pub notice: Option<String>,
    pub started_at_unix_ms: u64,
    /// Terms and what they were.
    pub facts: Vec<(String, String)>,
    pub findings: Vec<FindingData>,
    /// What it comes to; absent where nothing was asked of it and nothing is wrong.
    pub verdict: Option<VerdictData>,
    pub thresholds: Vec<ThresholdData>,
    /// The claim of the run in large type; empty where a finding voids it.
    pub claims: Vec<ClaimData>,
    pub tables: Vec<TableData>,
    pub windows: Vec<WindowData>,
    pub plots: Vec<PlotData>,
    /// Absent of results of older versions, and of subscribers alone.
    pub over_time: Option<OverTimeData>,
    pub annotations: Vec<AnnotationData>,
    pub objectives: Vec<ObjectiveData>,
    pub spectra: Vec<SpectrumData>,
    pub histograms: Vec<HistogramData>,
    pub observers: ObserversData,
}

/// Counts by interval from the start of the run; the last may be shorter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OverTimeData {
    pub interval_s: f64,
    /// When the last one ends.
    pub end_s: f64,
    /// Of successes: the first bucket of `prony_model::result::over_time`, then the counts from there.
    pub latencies: Vec<Vec<u64>>,
    pub failures: Vec<u64>,
    pub requests: Vec<RequestOverTimeData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RequestOverTimeData {
    pub name: String,
    pub ended: Vec<u64>,
    pub failures: Vec<u64>,
    pub p95_ms: Vec<Option<f64>>,
}

/// Something that happened at a moment of a run, or was so for a part of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AnnotationData {
    pub at_s: f64,
    /// Of a part of the run; absent of a moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// `stage`, `pause`, `compaction`, `fault`, `clock`, `worker` or `finding`.
    pub kind: &'static str,
    pub text: String,
}

/// What a threshold asks of a line in a plot, in the plot's unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ObjectiveData {
    /// Its id.
    pub plot: &'static str,
    pub value: f64,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FindingData {
    pub kind: String,
    pub voids: bool,
    /// What it does to the figures; empty where they stand.
    pub weight: &'static str,
    pub seen: String,
    pub cause: String,
    pub try_next: String,
    /// Where it is marked in the plots; absent of what is true of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_s: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct VerdictData {
    pub conclusion: Conclusion,
    /// One sentence, as the terminal ends with it.
    pub text: String,
    /// The exit code and what it means; absent of runs, which may be of scripts with exit codes of their own.
    pub exit_code: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ThresholdData {
    pub text: String,
    pub judgement: Judgement,
    pub measured: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ClaimData {
    pub term: String,
    pub value: String,
    pub unit: String,
}

/// The first column holds names, the others numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableData {
    /// The kind of table, of which its style follows.
    pub id: &'static str,
    pub title: String,
    pub note: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WindowData {
    pub kind: &'static str,
    pub name: &'static str,
    pub from_s: f64,
    pub to_s: f64,
}

/// Lines over the run's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlotData {
    pub id: String,
    pub title: String,
    pub unit: Unit,
    pub note: String,
    /// A logarithmic axis makes sense.
    pub may_be_log: bool,
    /// What stands beside the axis, where it is neither that of the unit nor what the lines count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<&'static str>,
    /// Seconds from the start of the run, rising.
    pub times: Vec<f64>,
    pub lines: Vec<LineData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LineData {
    pub name: String,
    /// What the line is, from which its colour follows.
    pub role: &'static str,
    pub unit: Unit,
    /// As many as there are times.
    pub values: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    PerSecond,
    Milliseconds,
    Count,
    Bytes,
    BytesPerSecond,
    Processors,
    /// From 0 to 1.
    Share,
}

/// Time by percentile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SpectrumData {
    pub name: String,
    pub role: &'static str,
    pub samples: u64,
    /// Pairs of 1/(1 - quantile) and milliseconds, both rising.
    pub points: Vec<(f64, f64)>,
    /// Beyond this 1/(1 - quantile) there are too few samples to stand behind.
    pub known_to: f64,
}

/// Counts in ranges that grow by the same factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct HistogramData {
    pub name: String,
    pub role: &'static str,
    pub samples: u64,
    /// One more than there are counts.
    pub bounds_ms: Vec<f64>,
    pub counts: Vec<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ObserversData {
    pub figures: Option<TableData>,
    pub faults: Vec<String>,
    pub plots: Vec<PlotData>,
}

/// An experiment's own part of a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyData {
    /// Of the page.
    pub title: String,
    /// What was measured, on what.
    pub setting: String,
    /// One sentence on what differs from the study whose figures stand beside; empty where none do.
    pub differs: String,
    /// Numbers of users, rising: where the lines of all plots have their values.
    pub users: Vec<u32>,
    pub plots: Vec<StudyPlotData>,
    pub bars: Vec<BarsData>,
    pub tables: Vec<TableData>,
    /// What must be known to read the figures, in sentences.
    pub notes: Vec<String>,
}

/// Lines over numbers of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyPlotData {
    pub title: String,
    pub unit: Unit,
    pub lines: Vec<StudyLineData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyLineData {
    pub name: String,
    /// Lines of the same place have the same colour: what was measured, and what was published of it.
    pub place: usize,
    pub is_published: bool,
    /// As many as there are numbers of users.
    pub values: Vec<Option<f64>>,
}

/// Percentiles as bars, in groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarsData {
    pub title: String,
    pub note: String,
    pub groups: Vec<BarGroupData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarGroupData {
    pub name: String,
    pub bars: Vec<BarData>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarData {
    /// `p90`, `p95`, `p99`: the same in each group.
    pub name: &'static str,
    pub ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SearchData {
    /// The answer in one sentence, or why there is none.
    pub answer: String,
    pub is_void: bool,
    pub objective: String,
    /// `users` or `starts a second`.
    pub load_name: String,
    pub passes_at: Option<f64>,
    pub fails_at: Option<f64>,
    pub steps: Vec<StepData>,
    pub table: TableData,
}

/// One run of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StepData {
    pub load: f64,
    pub trial: Trial,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub rate_per_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ComparisonData {
    pub answer: String,
    pub is_void: bool,
    pub note: String,
    /// Figures that are compared as B over A; the others stand in the table alone.
    pub ratios: Vec<RatioData>,
    pub table: TableData,
}

/// B over A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RatioData {
    pub name: String,
    pub ratio: f64,
    pub interval: Option<(f64, f64)>,
    /// `better`, `worse`, `not_shown`, or `void` where the figure cannot be believed.
    pub judgement: &'static str,
    pub text: String,
}
