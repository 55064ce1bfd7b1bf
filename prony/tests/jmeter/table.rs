//! Rows of a JTL as a table that can be compared: without times, ports and what clients draw by chance.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const COLUMNS: [&str; 8] =
    ["label", "responseCode", "responseMessage", "dataType", "success", "failureMessage", "bytes", "URL"];

/// The rows of each thread in their order; those of plans that draw by chance sorted.
pub(crate) fn table(jtl: &str, port: &str, folder: &Path, is_random: bool) -> String {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(jtl.as_bytes());
    let header = reader.headers().cloned().unwrap_or_default();
    let place = |name: &str| header.iter().position(|column| column == name);
    let places: Vec<_> = COLUMNS.iter().filter_map(|name| place(name)).collect();
    let thread = place("threadName");
    let mut threads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in reader.records().flatten() {
        let cell = |at: usize| {
            row.get(at)
                .unwrap_or_default()
                .replace(port, "PORT")
                .replace(&*folder.to_string_lossy(), "FOLDER")
        };
        let mut shown: Vec<_> = places.iter().map(|at| plain(&cell(*at))).collect();
        hide(&mut shown);
        threads.entry(thread.map(cell).unwrap_or_default()).or_default().push(shown.join(" | "));
    }
    let mut out = String::new();
    for (thread, mut rows) in threads {
        if is_random {
            rows.sort();
        }
        let _ = writeln!(out, "{thread}");
        for row in rows {
            let _ = writeln!(out, "  {}", row.trim_end());
        }
    }
    out
}

/// What is not compared: how long the text of an exception is, and what a sample that succeeded has to say of failures.
fn hide(cells: &mut [String]) {
    let [_, code, _, _, success, failure, bytes, _] = cells else { return };
    if code.starts_with("Non HTTP") {
        bytes.clear();
    }
    if success == "true" {
        failure.clear();
    }
}

/// On one line, without the milliseconds that an assertion measured.
fn plain(cell: &str) -> String {
    let cell = cell.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    let Some((before, rest)) = cell.split_once("It took ") else { return cell };
    let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{before}It took N{after}")
}
