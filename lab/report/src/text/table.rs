//! Columns of text: the first to the left, the others to the right.

use super::{StyledText, Tone};
use crate::page::data::TableData;

/// Of a cell, by its row and column.
type CellTone = fn(&[String], usize) -> Tone;

/// Rows as a terminal shows them.
#[derive(Debug, Clone)]
pub(crate) struct TextTable<'a> {
    /// Empty where no column has a name.
    head: &'a [String],
    rows: &'a [Vec<String>],
    tone: CellTone,
}

impl<'a> TextTable<'a> {
    /// The first row is the head.
    pub(crate) fn with_head(rows: &'a [Vec<String>]) -> Self {
        let (head, rows) = rows.split_first().map_or((&[][..], rows), |(head, rows)| (head.as_slice(), rows));
        Self { head, rows, tone: |_, _| Tone::Plain }
    }

    pub(crate) fn without_head(rows: &'a [Vec<String>]) -> Self {
        Self { head: &[], rows, tone: |_, _| Tone::Plain }
    }

    pub(crate) fn of(table: &'a TableData) -> Self {
        let is_named = table.head.iter().any(|cell| !cell.is_empty());
        let head = if is_named { table.head.as_slice() } else { &[] };
        Self { head, rows: &table.rows, tone: tone_of(table.id) }
    }

    pub(crate) const fn with_tone(self, tone: CellTone) -> Self {
        Self { tone, ..self }
    }

    /// Each line indented by two; nothing without rows.
    pub(crate) fn write(&self, text: &mut StyledText) {
        let lines = || {
            [self.head].into_iter().filter(|head| !head.is_empty()).chain(self.rows.iter().map(Vec::as_slice))
        };
        let columns = lines().map(<[String]>::len).max().unwrap_or(0);
        let width = |column: usize| {
            lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        if !self.head.is_empty() {
            write_line(text, self.head, &widths, |_, _| Tone::Name);
        }
        for row in self.rows {
            write_line(text, row, &widths, self.tone);
        }
    }
}

/// The cells of one column begin with the word of a verdict.
pub(crate) fn judged<const COLUMN: usize>(row: &[String], column: usize) -> Tone {
    if column == COLUMN { Tone::of_judgement(&row[column]) } else { Tone::Plain }
}

/// Blanks at the end of a line are left out.
fn write_line(text: &mut StyledText, row: &[String], widths: &[usize], tone: CellTone) {
    let mut blanks = 0;
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let pad = width - cell.chars().count();
        let (before, behind) = if column == 0 { (0, pad) } else { (pad, 0) };
        blanks += 2 + before;
        if cell.trim_end().is_empty() {
            blanks += cell.chars().count() + behind;
        } else {
            text.push(&" ".repeat(blanks));
            text.push_as(tone(row, column), cell);
            blanks = behind;
        }
    }
    text.push("\n");
}

/// What of a table that pages have too is a failure or a verdict.
fn tone_of(id: &str) -> CellTone {
    match id {
        "failures" | "subscriber-failures" => {
            |_, column| if column == 0 { Tone::Failed } else { Tone::Plain }
        }
        "outcomes" => |row, column| if column == 0 && !is_good(&row[0]) { Tone::Failed } else { Tone::Plain },
        "figures" => |row, column| match row[0].as_str() {
            "verdict" if column > 0 => Tone::of_judgement(&row[column]),
            "findings" if column > 0 && row[column] != "-" => Tone::Doubtful,
            _ => Tone::Plain,
        },
        _ => |_, _| Tone::Plain,
    }
}

/// `status 204`, as against `status 503` and `timeout`.
fn is_good(outcome: &str) -> bool {
    outcome.strip_prefix("status ").is_some_and(|status| status.starts_with(['1', '2', '3']))
}
