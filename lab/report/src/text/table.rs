//! Columns of text: the first to the left, the others to the right. Where a terminal is too narrow for all of them a table loses
//! the least important ones and the middle of its names, stands in several parts, or is turned: a block for each row.

use super::columns::{shortened, told_apart, width};
use super::{StyledText, Tone};
use crate::page::data::TableData;

/// Before each line.
const INDENT: usize = 2;
/// Between two columns.
const GAP: usize = 2;
/// A name in fewer columns is hard to tell from others: rather than that, other columns go.
const NAME_COLUMNS_MIN: usize = 16;
/// Of a column that is one of several subjects, where they do not all have room: three times beside each other.
const SUBJECT_COLUMNS_MAX: usize = 24;
/// Before the lines of a block.
const BLOCK_INDENT: usize = 4;

/// Of a cell, by its row and column.
type CellTone = fn(&[String], usize) -> Tone;

/// What a table does where it is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Narrowing {
    /// It loses these columns, the least important first, and is turned where that is not enough.
    Loses(&'static [usize]),
    /// Each column is of one subject, of which none is less important: they stand in several tables beneath each other.
    Parts,
}

/// Rows as a terminal shows them.
#[derive(Debug, Clone)]
pub(crate) struct TextTable<'a> {
    /// Empty where no column has a name.
    head: &'a [String],
    rows: &'a [Vec<String>],
    tone: CellTone,
    narrowing: Narrowing,
}

/// How a table has room.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TableLayout {
    /// One or several tables beneath each other.
    Parts(Vec<TablePart>),
    /// A block for each row.
    Turned,
}

/// Columns that stand beside each other, each with its width.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TablePart(Vec<(usize, usize)>);

/// A table whose heads and names have room, and can be told apart.
#[derive(Debug)]
struct ShortTable<'a> {
    table: &'a TextTable<'a>,
    /// By column.
    heads: Vec<String>,
    /// By row.
    names: Vec<String>,
}

impl<'a> TextTable<'a> {
    /// The first row is the head.
    pub(crate) fn with_head(rows: &'a [Vec<String>]) -> Self {
        let (head, rows) = rows.split_first().map_or((&[][..], rows), |(head, rows)| (head.as_slice(), rows));
        Self { head, ..Self::without_head(rows) }
    }

    pub(crate) fn without_head(rows: &'a [Vec<String>]) -> Self {
        Self { head: &[], rows, tone: |_, _| Tone::Plain, narrowing: Narrowing::Loses(&[]) }
    }

    pub(crate) fn of(table: &'a TableData) -> Self {
        let is_named = table.head.iter().any(|cell| !cell.is_empty());
        let head = if is_named { table.head.as_slice() } else { &[] };
        Self { head, rows: &table.rows, tone: tone_of(table.id), narrowing: narrowing_of(table.id) }
    }

    pub(crate) fn with_tone(self, tone: CellTone) -> Self {
        Self { tone, ..self }
    }

    /// What it loses where it is too wide, the least important column first; the first column, of names, stays.
    pub(crate) fn losing(self, columns: &'static [usize]) -> Self {
        Self { narrowing: Narrowing::Loses(columns), ..self }
    }

    /// Nothing without rows.
    pub(crate) fn write(&self, text: &mut StyledText) {
        let room = text.looks().columns;
        match self.layout(room) {
            TableLayout::Turned => self.write_turned(text, room.unwrap_or(usize::MAX)),
            TableLayout::Parts(parts) => {
                let short = self.short(&parts);
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        text.push("\n");
                    }
                    short.write_part(text, part);
                }
                self.write_lost(text, &parts);
            }
        }
    }

    // ---- what has room

    fn layout(&self, room: Option<usize>) -> TableLayout {
        let widths = self.widths();
        let total: usize = INDENT + widths.iter().map(|width| width + GAP).sum::<usize>();
        let Some(room) = room.filter(|room| total.saturating_sub(GAP) > *room) else {
            return TableLayout::Parts(vec![TablePart(widths.into_iter().enumerate().collect())]);
        };
        match self.narrowing {
            Narrowing::Loses(columns) => without_columns(&widths, columns, room),
            Narrowing::Parts => TableLayout::Parts(in_parts(&self.widths_of_subjects(), room)),
        }
    }

    /// Of all columns, as wide as their widest cell.
    fn widths(&self) -> Vec<usize> {
        let mut widths = self.widths_of_rows();
        widths.resize(widths.len().max(self.head.len()), 0);
        for (widest, name) in widths.iter_mut().zip(self.head) {
            *widest = width(name).max(*widest);
        }
        widths
    }

    fn widths_of_rows(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        widths
    }

    /// The same where the names of columns are shortened rather than put below each other.
    fn widths_of_subjects(&self) -> Vec<usize> {
        let whole = self.widths();
        let rows = self.widths_of_rows().into_iter().chain(std::iter::repeat(0));
        whole.iter().zip(rows).map(|(whole, rows)| (*whole).min(rows.max(NAME_COLUMNS_MIN))).collect()
    }

    // ---- what is written

    /// With heads and names as they have room.
    fn short(&self, parts: &[TablePart]) -> ShortTable<'_> {
        let mut heads = self.head.to_vec();
        let placed: Vec<_> =
            parts.iter().flat_map(|part| &part.0).filter(|(column, _)| *column > 0).collect();
        let given: Vec<_> = placed
            .iter()
            .filter_map(|(column, columns)| Some((self.head.get(*column)?.as_str(), *columns)))
            .collect();
        for ((column, _), name) in placed.iter().zip(told_apart(&given)) {
            heads[*column] = name;
        }
        let room = parts.first().and_then(|part| part.0.first()).map_or(0, |(_, columns)| *columns);
        let names = self.rows.iter().map(|row| (row.first().map_or("", String::as_str), room));
        ShortTable { table: self, heads, names: told_apart(&names.collect::<Vec<_>>()) }
    }

    /// Which columns are in none of the parts.
    fn write_lost(&self, text: &mut StyledText, parts: &[TablePart]) {
        let is_shown =
            |index: usize| parts.iter().any(|part| part.0.iter().any(|(column, _)| *column == index));
        let lost = self.head.iter().enumerate().filter(|(index, _)| !is_shown(*index));
        let lost: Vec<_> = lost.map(|(_, name)| name.as_str()).collect();
        if let Some(room) = text.looks().columns.filter(|_| !lost.is_empty()) {
            let line = format!("not in {room} columns: {}", lost.join(", "));
            text.push(&" ".repeat(INDENT));
            text.push_as(Tone::Rule, &shortened(&line, room.saturating_sub(INDENT)));
            text.push("\n");
        }
    }

    fn write_turned(&self, text: &mut StyledText, room: usize) {
        let heads = self.head.iter().skip(1).map(|head| width(head)).max().unwrap_or(0);
        let heads = heads.min(room.saturating_sub(BLOCK_INDENT) / 2);
        let taken = if heads == 0 { BLOCK_INDENT } else { BLOCK_INDENT + heads + GAP };
        for row in self.rows {
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let tone = (self.tone)(row, column);
                if column == 0 {
                    let tone = if tone == Tone::Plain { Tone::Name } else { tone };
                    text.push(&" ".repeat(INDENT));
                    text.push_as(tone, &shortened(cell, room.saturating_sub(INDENT)));
                } else {
                    let head = self.head.get(column).map_or("", String::as_str);
                    let head = shortened(head, heads);
                    let blanks = taken - BLOCK_INDENT - width(&head);
                    text.push(&format!("{}{head}{}", " ".repeat(BLOCK_INDENT), " ".repeat(blanks)));
                    text.push_as(tone, &shortened(cell, room.saturating_sub(taken)));
                }
                text.push("\n");
            }
        }
    }
}

impl ShortTable<'_> {
    fn write_part(&self, text: &mut StyledText, part: &TablePart) {
        if !self.heads.is_empty() {
            write_line(text, part, |column| (self.heads.get(column).map_or("", String::as_str), Tone::Name));
        }
        for (row, name) in self.table.rows.iter().zip(&self.names) {
            write_line(text, part, |column| match row.get(column) {
                Some(_) if column == 0 => (name.as_str(), (self.table.tone)(row, column)),
                Some(cell) => (cell.as_str(), (self.table.tone)(row, column)),
                None => ("", Tone::Plain),
            });
        }
    }
}

/// Names are shortened before another column goes.
fn without_columns(widths: &[usize], columns: &[usize], room: usize) -> TableLayout {
    let Some((names, others)) = widths.split_first() else { return TableLayout::Turned };
    let mut kept: Vec<(usize, usize)> =
        others.iter().enumerate().map(|(index, width)| (index + 1, *width)).collect();
    let mut columns = columns.iter();
    loop {
        let taken: usize = INDENT + kept.iter().map(|(_, width)| GAP + width).sum::<usize>();
        let left = room.saturating_sub(taken).min(*names);
        if left >= NAME_COLUMNS_MIN.min(*names) {
            let names = std::iter::once((0, left));
            return TableLayout::Parts(vec![TablePart(names.chain(kept).collect())]);
        }
        let Some(lost) = columns.next() else { return TableLayout::Turned };
        kept.retain(|(index, _)| index != lost);
    }
}

/// Each part has the names; a subject that has no room of its own beside them is shortened.
fn in_parts(widths: &[usize], room: usize) -> Vec<TablePart> {
    let (names, subjects) = widths.split_first().expect("it is as wide as its names at least");
    let names = (*names).min(room.saturating_sub(INDENT) / 2);
    let widest = room.saturating_sub(INDENT + names + GAP).min(SUBJECT_COLUMNS_MAX);
    let mut parts: Vec<TablePart> = Vec::new();
    let mut left = 0;
    for (index, width) in subjects.iter().enumerate() {
        let width = (*width).min(widest);
        match parts.last_mut() {
            Some(part) if left >= GAP + width => part.0.push((index + 1, width)),
            _ => {
                parts.push(TablePart(vec![(0, names), (index + 1, width)]));
                left = room.saturating_sub(INDENT + names);
            }
        }
        left = left.saturating_sub(GAP + width);
    }
    parts
}

/// The cells of one column begin with the word of a verdict.
pub(crate) fn judged<const COLUMN: usize>(row: &[String], column: usize) -> Tone {
    if column == COLUMN { Tone::of_judgement(&row[column]) } else { Tone::Plain }
}

/// Blanks at the end of a line are left out.
fn write_line<'a>(text: &mut StyledText, part: &TablePart, cell: impl Fn(usize) -> (&'a str, Tone)) {
    let mut blanks = INDENT;
    for (column, columns) in &part.0 {
        let (cell, tone) = cell(*column);
        let cell = shortened(cell, *columns);
        let pad = columns - width(&cell);
        let (before, behind) = if *column == 0 { (0, pad) } else { (pad, 0) };
        blanks += before;
        if cell.is_empty() {
            blanks += behind + GAP;
        } else {
            text.push(&" ".repeat(blanks));
            text.push_as(tone, &cell);
            blanks = behind + GAP;
        }
    }
    text.push("\n");
}

/// Of a table that pages have too.
fn narrowing_of(id: &str) -> Narrowing {
    match id {
        "figures" | "subscribers" | "events" | "deliveries" => Narrowing::Parts,
        // p50, max, a second, p95, requests.
        "requests" | "groups" | "tags" => Narrowing::Loses(&[4, 7, 2, 5, 1]),
        // completed, due, started.
        "scenarios" => Narrowing::Loses(&[5, 1, 2]),
        // the share, passed.
        "checks" => Narrowing::Loses(&[3, 1]),
        // the share.
        "outcomes" | "status-codes" | "failures" => Narrowing::Loses(&[2]),
        _ => Narrowing::Loses(&[]),
    }
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

#[cfg(test)]
mod tests {
    use super::super::TextLooks;
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn cells(row: &str) -> Vec<String> {
        row.split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    fn table(id: &'static str, rows: &[&str]) -> TableData {
        let rows: Vec<_> = rows.iter().map(|row| cells(row)).collect();
        let (title, note) = (String::new(), String::new());
        TableData { id, title, note, head: rows[0].clone(), rows: rows[1..].to_vec() }
    }

    fn written(table: &TextTable<'_>, columns: Option<usize>) -> String {
        let mut text = StyledText::new(TextLooks { has_colors: false, columns });
        table.write(&mut text);
        text.into_string()
    }

    /// In terminals of several widths, none of whose lines is too wide.
    fn check(table: &TextTable<'_>, expected: &Expect) {
        let mut shown = String::new();
        for columns in [120, 80, 40] {
            let text = written(table, Some(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            let _ = write!(shown, "{columns}\n{text}");
        }
        expected.assert_eq(&shown);
    }

    const REQUESTS: [&str; 3] = [
        "|requests|a second|errors|p50|p95|p99|max",
        "GET /api/v1/tenants/{tenant}/donuts/{donut}/toppings|12 345|205.8|0.02 %|12.0 ms|48.0 ms|98.0 ms|302 ms",
        "商品一覧を検索して並べ替える|66|1.1|4.55 %|25.0 ms|-|-|50.0 ms",
    ];

    #[test]
    fn names_lose_their_middle_and_the_least_important_columns_go() {
        check(
            &TextTable::of(&table("requests", &REQUESTS)),
            &expect![[r#"
                120
                                                                        requests  a second  errors      p50      p95      p99      max
                  GET /api/v1/tenants/{tenant}/donuts/{donut}/toppings    12 345     205.8  0.02 %  12.0 ms  48.0 ms  98.0 ms   302 ms
                  商品一覧を検索して並べ替える                                66       1.1  4.55 %  25.0 ms        -        -  50.0 ms
                80
                                           requests  a second  errors      p95      p99      max
                  GET /api/v1…t}/toppings    12 345     205.8  0.02 %  48.0 ms  98.0 ms   302 ms
                  商品一覧を検…並べ替える        66       1.1  4.55 %        -        -  50.0 ms
                  not in 80 columns: p50
                40
                                         errors      p99
                  GET /api/v…}/toppings  0.02 %  98.0 ms
                  商品一覧を…並べ替える  4.55 %        -
                  not in 40 columns: …ond, p50, p95, max
            "#]],
        );
    }

    #[test]
    fn results_beside_each_other_stand_in_parts_and_their_files_are_told_apart() {
        let files = (0..10).map(|index| format!("results/shop-{}.prony.json", 1_795_239_889 + index));
        let head = [String::new()].into_iter().chain(files).collect::<Vec<_>>().join("|");
        let row = |name: &str, cell: &str| [name.to_owned(), [cell; 10].join("|")].join("|");
        let rows = [
            head,
            row("from, to", "10.0 s – 1m30s"),
            row("successes a second", "101.2"),
            row("findings", "too-few-samples, target-shares-cpu"),
        ];
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        let table = table("figures", &rows);
        for columns in [120, 80, 40] {
            let text = written(&TextTable::of(&table), Some(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            for index in 889..899 {
                assert_eq!(text.matches(&format!("…239{index}…")).count(), 1, "{columns}:\n{text}");
            }
            assert_eq!(text.matches("101.2").count(), 10, "{columns}:\n{text}");
        }
        expect![[r#"
            80
                                                  …239889…                  …239890…
              from, to                      10.0 s – 1m30s            10.0 s – 1m30s
              successes a second                     101.2                     101.2
              findings            too-few-samp…-shares-cpu  too-few-samp…-shares-cpu
        "#]]
        .assert_eq(&format!(
            "80\n{}\n",
            written(&TextTable::of(&table), Some(80)).split("\n\n").next().unwrap()
        ));
    }

    #[test]
    fn where_nothing_may_go_each_row_is_a_block() {
        let rows: Vec<_> = REQUESTS.iter().map(|row| cells(row)).collect();
        expect![[r#"
            40
              GET /api/v1/tenants…s/{donut}/toppings
                requests  12 345
                a second  205.8
                errors    0.02 %
                p50       12.0 ms
                p95       48.0 ms
                p99       98.0 ms
                max       302 ms
              商品一覧を検索して並べ替える
                requests  66
                a second  1.1
                errors    4.55 %
                p50       25.0 ms
                p95       -
                p99       -
                max       50.0 ms
        "#]]
        .assert_eq(&format!("40\n{}", written(&TextTable::with_head(&rows), Some(40))));
    }

    #[test]
    fn where_the_width_is_not_known_tables_are_as_wide_as_they_are() {
        let table = table("requests", &REQUESTS);
        let whole = written(&TextTable::of(&table), None);
        assert_eq!(whole, written(&TextTable::of(&table), Some(1_000)));
        assert!(whole.contains("GET /api/v1/tenants/{tenant}/donuts/{donut}/toppings"), "{whole}");
        let lengths: Vec<_> = whole.lines().map(width).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{whole}");
    }

    #[test]
    fn no_table_is_wider_than_any_terminal() {
        let rows: Vec<_> = REQUESTS.iter().map(|row| cells(row)).collect();
        let data = [table("requests", &REQUESTS), table("figures", &REQUESTS)];
        for table in data.iter().map(TextTable::of).chain([TextTable::without_head(&rows)]) {
            for columns in 8..200 {
                let text = written(&table, Some(columns));
                assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            }
        }
    }
}
