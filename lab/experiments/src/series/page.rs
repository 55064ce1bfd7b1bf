//! The page of the experiment: response times of the study's script as bars, the tables, and the runs of the script over time.

use prony_report::{BarData, BarGroupData, BarsData, StudyData};

use super::{
    outcome::SeriesOutcome,
    published::CONDITIONS,
    tables::{
        has_writes, ingest_table, notes, others_table, published_steps, reads_table, setting, study_table,
        writes_table,
    },
};
use crate::markdown::{Table, milliseconds};

pub(super) const TITLE: &str = "Time series over NGSI: how many notifications, how fast queries?";
pub(super) const OTHERS: &str = "Other stores, one query at a time, of 10 million rows of 1,000 entities, on a machine with two processors, without \
    HTTP (medians in milliseconds, ±25 %).";

pub(super) fn study(outcome: &SeriesOutcome) -> StudyData {
    let study = if has_writes(outcome) { study_table(outcome) } else { Table::default() };
    let reads = if outcome.reads.is_empty() { Table::default() } else { others_table() };
    let tables = [
        ("The study's script", "statements: the most in a second, seen at the database", study),
        ("Notifications as fast as they are taken", "", writes_table(outcome)),
        ("The large table", "written in notifications of 1,000 rows", ingest_table(&outcome.ingests)),
        ("Queries of the large table", "", reads_table(outcome)),
        ("Other stores", OTHERS, reads),
    ];
    let tables = tables.into_iter().filter(|(.., table)| !table.is_empty());
    StudyData {
        title: TITLE.to_owned(),
        setting: setting(outcome).replace('`', ""),
        differs: format!("What differs from the study: {CONDITIONS}."),
        users: Vec::new(),
        plots: Vec::new(),
        bars: bars(outcome).into_iter().collect(),
        tables: tables.map(|(title, note, table)| table.into_data(title, note)).collect(),
        notes: notes(outcome),
    }
}

fn bars(outcome: &SeriesOutcome) -> Option<BarsData> {
    let groups = published_steps(outcome).map(|step| {
        let bar = |name, ms| BarData { name, ms };
        let of = &step.statistics;
        BarGroupData {
            name: step.setting.name(),
            bars: vec![bar("p50", of.p50_ms), bar("p95", of.p95_ms), bar("p99", of.p99_ms)],
        }
    });
    let groups: Vec<_> = groups.collect();
    let published = published_steps(outcome).filter_map(|step| {
        let mean_ms = step.setting.published()?.mean_ms?;
        Some(format!("{} with {}", milliseconds(mean_ms.into()), step.setting.name()))
    });
    let published: Vec<String> = published.collect();
    let note = if published.is_empty() {
        "by settings".to_owned()
    } else {
        format!("by settings; published means: {}", published.join(", "))
    };
    (!groups.is_empty()).then(|| BarsData { title: "The study's script".to_owned(), note, groups })
}
