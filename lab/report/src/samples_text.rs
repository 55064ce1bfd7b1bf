//! The figures of JMeter's samples on a terminal: the columns of its dashboard, as many as have room.

use crate::text::table::TextTable;
use crate::text::{StyledText, TextLooks, Tone};
use prony_jtl::{DASHBOARD_COLUMNS, Statistics};

const KO: usize = 2;
/// What is lost first: traffic, extremes, median, the 90th percentile, errors as a count, the 95th percentile, the mean, the rate,
/// samples.
const LOST: [usize; 11] = [13, 12, 5, 6, 7, 8, 2, 9, 4, 11, 1];

/// One row for each label. Where the text goes to a file or a pipe it is as JMeter's users know it.
pub fn samples_table(statistics: &Statistics, looks: TextLooks) -> String {
    if looks == TextLooks::PLAIN {
        return statistics.table();
    }
    let head = DASHBOARD_COLUMNS.map(str::to_owned);
    let rows = statistics.figures().into_iter().map(|figures| figures.cells());
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).map(Vec::from).collect();
    let mut text = StyledText::new(looks);
    TextTable::with_head(&rows).with_tone(tone).losing(&LOST).write(&mut text);
    text.into_string()
}

fn tone(row: &[String], column: usize) -> Tone {
    if column == KO && row[KO] != "0" { Tone::Failed } else { Tone::Plain }
}
