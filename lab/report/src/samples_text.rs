//! The figures of JMeter's samples on a terminal: the columns of its dashboard, as many as have room.

use crate::text::table::TextTable;
use crate::text::{StyledText, TextLooks, Tone};
use prony_jtl::{Figures, Statistics};

const HEAD: [&str; 14] = [
    "Label",
    "# Samples",
    "KO",
    "Error %",
    "Average",
    "Min",
    "Max",
    "Median",
    "90th",
    "95th",
    "99th",
    "Samples/s",
    "KB/s in",
    "KB/s out",
];
const KO: usize = 2;
/// What is lost first: traffic, extremes, median, the 90th percentile, errors as a count, the 95th percentile, the mean, the rate,
/// samples.
const LOST: [usize; 11] = [13, 12, 5, 6, 7, 8, 2, 9, 4, 11, 1];

/// One row for each label. Where the text goes to a file or a pipe it is as JMeter's users know it.
pub fn samples_table(statistics: &Statistics, looks: TextLooks) -> String {
    if looks == TextLooks::PLAIN {
        return statistics.table();
    }
    let head = HEAD.map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(statistics.figures().iter().map(row)).collect();
    let mut text = StyledText::new(looks);
    TextTable::with_head(&rows).with_tone(tone).losing(&LOST).write(&mut text);
    text.into_string()
}

fn row(figures: &Figures) -> Vec<String> {
    vec![
        figures.transaction.clone(),
        figures.sample_count.to_string(),
        figures.error_count.to_string(),
        format!("{:.2}%", figures.error_pct),
        format!("{:.2}", figures.mean_res_time),
        figures.min_res_time.to_string(),
        figures.max_res_time.to_string(),
        format!("{:.2}", figures.median_res_time),
        format!("{:.2}", figures.pct1_res_time),
        format!("{:.2}", figures.pct2_res_time),
        format!("{:.2}", figures.pct3_res_time),
        format!("{:.2}", figures.throughput),
        format!("{:.2}", figures.received_k_bytes_per_sec),
        format!("{:.2}", figures.sent_k_bytes_per_sec),
    ]
}

fn tone(row: &[String], column: usize) -> Tone {
    if column == KO && row[KO] != "0" { Tone::Failed } else { Tone::Plain }
}
