//! The page of one or several results: one HTML file that holds all it needs and asks no network for anything.
//!
//! The page itself (`web/report/`) is made by the build script; the data goes into it as JSON. Where it could not be
//! made, a plain page of our own with the same tables takes its place and says so.

mod annotations;
pub(crate) mod data;
pub(crate) mod distribution;
pub(crate) mod live;
mod many;
mod over_time;
mod plain;
mod run;
pub(crate) mod samples;
mod series;

use crate::read::{NamedDocument, labelled_runs};
use crate::tables;
use data::{PageData, StudyData};
use prony_model::result::over_time::INTERVALS_MAX;

/// The page as Vite makes it, or nothing and why.
const TEMPLATE: Result<&str, &str> = include!(concat!(env!("OUT_DIR"), "/template.rs"));
/// What the template holds in the place of the data and of the plain tables, which show where scripts do not run.
const DATA_PLACE: &str = "\"prony:data\"";
const PLAIN_PLACE: &str = "<!--prony:plain-->";
const TITLE_PLACE: &str = "<title>Prony</title>";

/// Points of one line, for a page of one run; more could not be told apart on a screen.
const POINTS_MAX: usize = 1_000;
/// Points of one line over all runs of a page, and the fewest for each.
const POINTS_OF_ALL: usize = 12_000;
const POINTS_MIN: usize = 300;
/// Intervals over all runs of a page, and the fewest for each.
const INTERVALS_OF_ALL: usize = 1_440;
const INTERVALS_MIN: usize = 30;

/// How a page shows its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageForm<'a> {
    /// With plots; plain where the program was built without what draws them.
    Plots,
    /// Tables alone, with a sentence on why that is so.
    Plain(&'a str),
}

/// One page for all documents.
pub fn html(documents: &[NamedDocument], form: PageForm<'_>) -> String {
    shown(&page_data(documents), form)
}

/// The page of an experiment: what it found, and the runs of which that was made.
pub fn study_html(study: StudyData, documents: &[NamedDocument], form: PageForm<'_>) -> String {
    let title = study.title.clone();
    let conclusions = Vec::new();
    let data =
        PageData { title, study: Some(study), side_by_side: None, conclusions, ..page_data(documents) };
    shown(&data, form)
}

/// Whether results become the page, and not the plain one.
pub fn has_pages() -> bool {
    TEMPLATE.is_ok()
}

fn shown(data: &PageData, form: PageForm<'_>) -> String {
    match (form, TEMPLATE) {
        (PageForm::Plots, Ok(template)) => fill(template, data),
        (PageForm::Plots, Err(missing)) | (PageForm::Plain(missing), _) => plain::page(data, missing),
    }
}

fn fill(template: &str, data: &PageData) -> String {
    let json = serde_json::to_string(data).expect("page data has only texts as keys");
    // Within a script element nothing is an escape but its own end, and `<!--`; JSON may write `<` otherwise.
    let json = json.replace('<', "\\u003c");
    let title = format!("<title>{}</title>", plain::escaped(&data.title));
    // In this order: what is put in may hold the text of a place.
    let (head, rest) = template.split_once(TITLE_PLACE).expect("the template has a title");
    let (before_plain, rest) =
        rest.split_once(PLAIN_PLACE).expect("the template has a place for plain tables");
    let (before_data, end) = rest.split_once(DATA_PLACE).expect("the template has a place for data");
    [head, &title, before_plain, &plain::tables(data), before_data, &json, end].concat()
}

fn page_data(documents: &[NamedDocument]) -> PageData {
    let runs = labelled_runs(documents);
    let points = (POINTS_OF_ALL / runs.len().max(1)).clamp(POINTS_MIN, POINTS_MAX);
    let intervals = (INTERVALS_OF_ALL / runs.len().max(1)).clamp(INTERVALS_MIN, INTERVALS_MAX);
    let labelled: Vec<_> = runs.iter().map(|run| (run.label.clone(), run.result)).collect();
    let side_by_side = (runs.len() > 1).then(|| data::TableData {
        title: "Side by side".to_owned(),
        note: "the steady state of each run, or the whole of those that have none".to_owned(),
        ..tables::side_by_side(&labelled)
    });
    let only = if let [one] = documents { Some(&one.document) } else { None };
    PageData {
        title: title(documents),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        study: None,
        verdict: only.and_then(many::verdict),
        conclusions: if only.is_some() {
            Vec::new()
        } else {
            documents.iter().filter_map(|named| many::conclusion(&named.document)).collect()
        },
        runs: runs.iter().map(|run| run::run_data(run, points, intervals)).collect(),
        side_by_side,
        search: only.and_then(many::search_data),
        comparison: only.and_then(many::comparison_data),
        samples: None,
        live: None,
    }
}

fn title(documents: &[NamedDocument]) -> String {
    match documents {
        [one] => one.document.title(),
        several => format!("{} results", several.len()),
    }
}

/// Rounded to so many significant digits: a plot shows no more, and JSON is shorter.
fn digits(value: f64, count: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = count - 1 - value.abs().log10().floor() as i32;
    if places >= 0 {
        let factor = 10_f64.powi(places);
        (value * factor).round() / factor
    } else {
        let factor = 10_f64.powi(-places);
        (value / factor).round() * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_leading_digits() {
        let shown = [digits(0.001_234_567, 4), digits(123_456.7, 4), digits(0.0, 4), digits(-12.345_6, 4)];
        assert_eq!(shown.map(|value| value.to_string()), ["0.001235", "123500", "0", "-12.35"]);
    }
}
