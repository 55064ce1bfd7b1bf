//! Writes made-up results and their pages, with plots and plain ones, into a folder, for the tests in a browser and for whoever changes the page:
//! `cargo run -p prony-report --example pages -- FOLDER`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{
    closed, day, hostile, named, named_comparison, named_search, open, samples, statuses, study,
    subscribed_alone, void,
};
use prony_report::{NamedDocument, PageForm, SampleCounts, html, labelled_runs, samples_html, study_html};
use std::{env, error::Error, fs, path::PathBuf};

/// What the names of pages end with, by how they show their data.
const FORMS: [(&str, PageForm<'_>); 2] =
    [("", PageForm::Plots), ("-plain", PageForm::Plain("they were left out for a test"))];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args().nth(1).ok_or("name a folder")?);
    fs::create_dir_all(&folder)?;
    let pages: [(&str, Vec<NamedDocument>); 11] = [
        ("closed", vec![named("closed.prony.json", closed())]),
        ("open", vec![named("open.prony.json", open())]),
        ("subscribers", vec![named("subscribers.prony.json", subscribed_alone())]),
        ("day", vec![named("day.prony.json", day())]),
        ("hostile", vec![named("hostile.prony.json", hostile())]),
        ("search", vec![named_search()]),
        ("comparison", vec![named_comparison()]),
        ("void", vec![named("void.prony.json", void())]),
        (
            "several",
            vec![
                named("a.prony.json", open()),
                named("b.prony.json", closed()),
                named("c.prony.json", closed()),
            ],
        ),
        ("two", vec![named("a.prony.json", closed()), named("b.prony.json", open())]),
        ("statuses", vec![named("statuses.prony.json", statuses())]),
    ];
    for (name, documents) in &pages {
        for (ending, form) in FORMS {
            fs::write(folder.join(format!("{name}{ending}.html")), html(documents, form))?;
        }
        for result in labelled_runs(documents) {
            let file = folder.join(format!("{name}-{}", result.file));
            fs::write(file, serde_json::to_string(result.result)?)?;
        }
    }
    let (statistics, timeline) = samples();
    let counts = SampleCounts {
        names: vec!["<img src=x onerror=alert(1)>.jtl".to_owned()],
        notices: vec!["it ends before its end, as that of a run that was killed".to_owned()],
        statistics: &statistics,
        timeline: &timeline,
    };
    let runs = &pages[8].1;
    for (ending, form) in FORMS {
        fs::write(folder.join(format!("samples{ending}.html")), samples_html(&counts, form))?;
        fs::write(folder.join(format!("study{ending}.html")), study_html(study(), runs, form))?;
    }
    Ok(())
}
