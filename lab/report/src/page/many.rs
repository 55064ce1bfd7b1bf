//! Searches and comparisons as the page shows them.

use super::data::{ComparisonData, RatioData, SearchData, StepData, TableData, VerdictData};
use super::digits;
use crate::read::Document;
use crate::{comparison, describe, search};
use prony_model::Conclusion;
use prony_model::comparison::{Compared, ComparisonFile, Difference, Scale};
use prony_model::search::{SearchFile, SearchRun, Vary};
use prony_model::verdict::rule::Belief;

/// What a search or a comparison comes to, as it ended with it in the terminal.
pub(super) fn verdict(document: &Document) -> Option<VerdictData> {
    let (command, conclusion, text) = match document {
        Document::Run(_) => return None,
        Document::Search(file) => ("find", file.kept_verdict().conclusion, search::sentence(file)),
        Document::Comparison(file) => ("compare", file.kept_verdict().conclusion, comparison::sentence(file)),
    };
    let (code, meaning) = (conclusion.exit_code(), conclusion.meaning());
    let exit_code = Some(format!("prony {command} exits with {code}: {meaning}"));
    Some(VerdictData { conclusion, text, exit_code })
}

/// What a search or a comparison comes to, with its name, beside other results.
pub(super) fn conclusion(document: &Document) -> Option<VerdictData> {
    let (conclusion, text) = match document {
        Document::Run(_) => return None,
        Document::Search(file) => (file.kept_verdict().conclusion, search::answer(file)),
        Document::Comparison(file) => (file.kept_verdict().conclusion, comparison::sentence(file)),
    };
    Some(VerdictData { conclusion, text: format!("{}: {text}", document.title()), exit_code: None })
}

pub(super) fn search_data(document: &Document) -> Option<SearchData> {
    let Document::Search(file) = document else { return None };
    let steps = file.steps_by_load();
    let steps = steps.iter().flat_map(|step| step.runs.iter().map(|run| step_data(step.load, run)));
    Some(SearchData {
        answer: search::answer(file),
        is_void: file.kept_verdict().conclusion == Conclusion::Void,
        objective: file.objectives.join(", "),
        load_name: match file.vary {
            Vary::Users => "users".to_owned(),
            Vary::Rate => "starts a second".to_owned(),
        },
        passes_at: file.interval.passed.map(f64::from),
        fails_at: file.interval.failed.map(f64::from),
        steps: steps.collect(),
        table: steps_table(file),
    })
}

fn step_data(load: u32, run: &SearchRun) -> StepData {
    let all = &run.result.headline().all;
    let time =
        |percentile| all.response_time.percentile(percentile).map(|time| digits(time.as_millis_f64(), 5));
    StepData {
        load: f64::from(load),
        trial: run.trial,
        p50_ms: time(50.0),
        p95_ms: time(95.0),
        p99_ms: time(99.0),
        rate_per_s: digits(all.rate_per_s, 5),
    }
}

fn steps_table(file: &SearchFile) -> TableData {
    let rows = search::steps_table(file);
    table("steps", "Each load", "medians over its runs", rows)
}

/// The first row is the head.
fn table(id: &'static str, title: &str, note: &str, rows: Vec<Vec<String>>) -> TableData {
    let mut rows = rows.into_iter();
    let head = rows.next().unwrap_or_default();
    TableData { id, title: title.to_owned(), note: note.to_owned(), head, rows: rows.collect() }
}

pub(super) fn comparison_data(document: &Document) -> Option<ComparisonData> {
    let Document::Comparison(file) = document else { return None };
    let figures = &file.comparison.figures;
    let rows = [comparison::header()]
        .into_iter()
        .chain(figures.iter().map(|figure| comparison::row(figure, file.belief())))
        .collect();
    Some(ComparisonData {
        answer: comparison::headline(file),
        is_void: comparison::no_claim(file).is_some(),
        note: note(file),
        ratios: figures
            .iter()
            .filter(|figure| figure.scale == Scale::Ratio)
            .map(|figure| ratio(figure, file.belief()))
            .collect(),
        table: table("compared", "A and B", "means over the runs", rows),
    })
}

fn note(file: &ComparisonFile) -> String {
    let order = if file.interleaved { "made in turns (A B B A)" } else { "made at different times" };
    let confidence = file.comparison.confidence * 100.0;
    let pairs = file.comparison.pairs;
    let [a, b] = [&file.a, &file.b].map(describe::compared);
    format!(
        "A: {a}; B: {b}; {pairs} runs of each, {order}; all intervals hold together with {confidence:.0} % confidence"
    )
}

fn ratio(figure: &Compared, belief: Belief) -> RatioData {
    let change = |value| comparison::change(figure.scale, value);
    let interval = figure
        .interval
        .map_or(String::new(), |(low, high)| format!(" ({} to {})", change(low), change(high)));
    RatioData {
        name: figure.name.clone(),
        ratio: digits(figure.change, 5),
        interval: figure.interval.map(|(low, high)| (digits(low, 5), digits(high, 5))),
        judgement: match figure.difference {
            _ if comparison::is_void(figure, belief) => "void",
            Difference::NotShown => "not_shown",
            Difference::Better => "better",
            Difference::Worse => "worse",
        },
        text: format!("{}{interval}", change(figure.change)),
    }
}
