//! Shows results to people and to programs: terminal text, a screen or lines while a run goes, one HTML page, JSON, CSV.
//!
//! Takes results as values and returns text; opens no sockets and no files, and reads no clock. What is shown while a run goes it
//! draws on standard error itself, of which a process has one.

mod comparison;
mod csv_text;
mod describe;
mod downsample;
mod fit;
mod page;
mod progress;
mod progress_line;
mod read;
mod run_line;
mod samples_text;
mod screen;
mod search;
mod sparkline;
mod spectrum;
mod standard_error;
mod subscribers;
mod summaries;
mod summary;
mod sweep;
mod table;
mod tables;
mod text;
mod wrk;

pub use comparison::comparison_summary;
pub use csv_text::{figures_csv, series_csv};
pub use page::{
    PageForm,
    data::{BarData, BarGroupData, BarsData, StudyData, StudyLineData, StudyPlotData, TableData, Unit},
    has_pages, html,
    live::{LiveMoment, LivePage},
    samples::{SampleCounts, samples_html},
    study_html,
};
pub use progress::ProgressDisplay;
pub use read::{Document, LabelledRun, NamedDocument, ReadError, labelled_runs, read, read_document};
pub use run_line::{run_line, run_word, step_verdict};
pub use samples_text::samples_table;
pub use screen::{ScreenLooks, StepHead, StepsDone};
pub use search::search_summary;
pub use spectrum::spectrum;
pub use standard_error::{
    ErrorLines, OutputLines, allow_screen, close_screen, leave_screen, output_columns, refresh_screen,
};
pub use summaries::{SUMMARY_FORMATS, SummaryFormat};
pub use summary::{findings, side_by_side, summary, verdict};
pub use sweep::{SweepReport, SweepRun};
pub use text::TextLooks;
pub use wrk::{WrkShown, wrk};

use prony_model::ResultFile;
use prony_model::measurement::histogram::{HistogramError, Latencies};

/// The percentile spectra of a run's steady state as `.hgrm` files, each with what it is of: `response`, `service`.
pub fn spectra(result: &ResultFile) -> Result<Vec<(&'static str, String)>, HistogramError> {
    let histograms = &result.headline().all.histograms;
    let kinds = [("response", &histograms.response), ("service", &histograms.service)];
    // A closed loop has no service time of its own.
    let kept = kinds.into_iter().filter(|(kind, text)| *kind == "response" || !text.is_empty());
    kept.map(|(kind, text)| Ok((kind, spectrum(&Latencies::from_base64(text)?)))).collect()
}

/// The result as one JSON document, for programs.
pub fn json(result: &ResultFile) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(result)
}
