//! Tables as Markdown that also reads well in a terminal: columns padded, figures to the right.

use prony_model::Nanos;
use prony_report::TableData;

/// A table: a header and rows of as many cells.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    /// # Panics
    /// When the row has another number of cells than the header.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.header.len(), "a row has a cell for each column");
        self.rows.push(row);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As pages show it.
    pub(crate) fn into_data(self, title: &str, note: &str) -> TableData {
        let (title, note) = (title.to_owned(), note.to_owned());
        TableData { id: "study", title, note, head: self.header, rows: self.rows }
    }

    /// Lines that end with a line feed each.
    pub fn render(&self) -> String {
        let all = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let right: Vec<bool> = (0..self.header.len()).map(|column| self.is_numeric(column)).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let padding = " ".repeat(widths[column] - cell.chars().count());
                if right[column] { format!("{padding}{cell}") } else { format!("{cell}{padding}") }
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rules = widths.iter().zip(&right).map(|(width, right)| {
            let dashes = "-".repeat(width - 1);
            if *right { format!("{dashes}:") } else { format!("{dashes}-") }
        });
        let rule = format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "));
        let body: String = self.rows.iter().map(line).collect();
        line(&self.header) + &rule + &body
    }

    /// Every cell begins with a figure, or with a sign before one. The first column names the rows.
    fn is_numeric(&self, column: usize) -> bool {
        if column == 0 {
            return false;
        }
        let figure = |cell: &String| {
            let text = cell.trim_start_matches(['≥', '<', '≈', ' ']);
            text.is_empty() || text == "-" || text.starts_with(|c: char| c.is_ascii_digit())
        };
        self.rows.iter().all(|row| figure(&row[column]))
            && self.rows.iter().any(|row| !row[column].is_empty())
    }
}

/// 1234567 as `1 234 567`.
pub fn thousands(number: u64) -> String {
    prony_model::units::grouped(number)
}

/// Milliseconds with three digits or what stands before the point: `0.42 ms`, `7.1 ms`, `427 ms`, `1 069 ms`.
pub fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms => format!("{} ms", thousands(ms.round() as u64)),
    }
}

/// `0.4 MB`, `9.7 MB`, `123 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 {
        format!("{megabytes:.1} MB")
    } else {
        format!("{} MB", thousands(bytes / 1_000_000))
    }
}

/// `3 s`, `0.5 s`.
pub(crate) fn seconds(time: Nanos) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Paragraphs, tables and headings one below the other, and in the end what a reader must know before believing them.
pub(crate) fn document(mut parts: Vec<String>, notes: &[String]) -> String {
    if !notes.is_empty() {
        parts.push("## Limits of these figures".to_owned());
        let notes: Vec<String> = notes.iter().map(|note| format!("* {note}")).collect();
        parts.push(notes.join("\n"));
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_are_padded_and_figures_stand_right() {
        let mut table = Table::new(&["Query", "Max VUs", "p(95)"]);
        table.push(vec!["No nest".into(), "≥ 21 000".into(), "427 ms".into()]);
        table.push(vec!["1 nest".into(), "800".into(), String::new()]);
        expect![[r"
            | Query   |  Max VUs |  p(95) |
            | ------- | -------: | -----: |
            | No nest | ≥ 21 000 | 427 ms |
            | 1 nest  |      800 |        |
        "]]
        .assert_eq(&table.render());
    }

    #[test]
    fn figures_are_written_for_people() {
        let written: Vec<String> = [0, 999, 1_000, 27_510, 1_234_567].map(thousands).into();
        assert_eq!(written, ["0", "999", "1 000", "27 510", "1 234 567"]);
        let written: Vec<String> = [0.42, 7.14, 426.6, 1_069.0].map(milliseconds).into();
        assert_eq!(written, ["0.42 ms", "7.1 ms", "427 ms", "1 069 ms"]);
    }
}
