//! What servers of the same database tell each other by notifications: that somebody wants to hear of writes, and what a group of writes has
//! changed. Only where rows are is told, in a text of bounded length; who hears of it reads them.

use prony_series_store::TimeMs;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The channel of all.
pub(crate) const CHANNEL: &str = "prony_series";
/// `PostgreSQL` takes 7,999 bytes; some are for what stands before.
const CHANGES_BYTES_MAX: usize = 7_000;
const LISTENING: &str = "listening";
const WRITTEN: &str = "written";
/// There are more changes than can be told.
const ANY: &str = "any";
const DELETED: &str = "deleted";

/// One thing that is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Who says it.
    pub(crate) server: String,
    pub(crate) told: Told,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Somebody wants to hear of writes.
    Listening,
    /// A transaction has written; none where its changes are too many to be told.
    Written { version: i64, transaction: u32, changes: Option<Vec<Change>> },
}

/// What has changed of one type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) type_id: i32,
    /// Rows that were written; none where rows were deleted.
    pub(crate) rows: Option<Written>,
}

/// Where the rows are that were written, and maybe others of earlier transactions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) from_ms: TimeMs,
    pub(crate) to_ms: TimeMs,
    /// Numbers of entities, both ends included.
    pub(crate) series: Vec<(i32, i32)>,
}

/// What a transaction has changed, until it is told.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    rows: BTreeMap<i32, ChangedRows>,
    deleted: BTreeSet<i32>,
}

#[derive(Debug)]
struct ChangedRows {
    from_ms: TimeMs,
    to_ms: TimeMs,
    series: BTreeSet<i32>,
}

impl Changes {
    /// Rows of a type: each has an entity and a time.
    pub(crate) fn add_rows(&mut self, type_id: i32, rows: impl Iterator<Item = (i32, TimeMs)>) {
        for (series, time_ms) in rows {
            let of = self.rows.entry(type_id).or_insert_with(|| ChangedRows {
                from_ms: time_ms,
                to_ms: time_ms,
                series: BTreeSet::new(),
            });
            of.from_ms = of.from_ms.min(time_ms);
            of.to_ms = of.to_ms.max(time_ms);
            of.series.insert(series);
        }
    }

    pub(crate) fn add_deletion(&mut self, type_id: i32) {
        self.deleted.insert(type_id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.deleted.is_empty()
    }

    /// As exactly as there is room for.
    fn text(&self) -> String {
        let exact = self.text_of(ranges);
        if exact.len() <= CHANGES_BYTES_MAX {
            return exact;
        }
        let hull = |numbers: &BTreeSet<i32>| {
            numbers.first().copied().zip(numbers.last().copied()).into_iter().collect()
        };
        let rough = self.text_of(hull);
        if rough.len() <= CHANGES_BYTES_MAX { rough } else { ANY.to_owned() }
    }

    fn text_of(&self, ranges: impl Fn(&BTreeSet<i32>) -> Vec<(i32, i32)>) -> String {
        let mut text = String::new();
        for (type_id, of) in &self.rows {
            // Writing to a string cannot fail.
            let _ = write!(text, "{type_id}:{}:{}:", of.from_ms, of.to_ms);
            for (place, (first, last)) in ranges(&of.series).into_iter().enumerate() {
                let comma = if place == 0 { "" } else { "," };
                let _ = if first == last {
                    write!(text, "{comma}{first}")
                } else {
                    write!(text, "{comma}{first}-{last}")
                };
            }
            text.push(' ');
        }
        for type_id in &self.deleted {
            let _ = write!(text, "{type_id}:{DELETED} ");
        }
        text
    }
}

/// Numbers that follow each other are one range.
fn ranges(numbers: &BTreeSet<i32>) -> Vec<(i32, i32)> {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    ranges
}

/// That a server wants to hear of writes.
pub(crate) fn listening(server: &str) -> String {
    format!("{server} {LISTENING}")
}

/// What stands before and behind the number of the transaction that has written.
pub(crate) fn written(server: &str, version: i64, changes: &Changes) -> (String, String) {
    (format!("{server} {WRITTEN} {version} "), format!(" {}", changes.text()))
}

/// None where it is of a later version.
pub(crate) fn read(text: &str) -> Option<Notice> {
    let mut words = text.split_ascii_whitespace();
    let (server, kind) = (words.next()?.to_owned(), words.next()?);
    let told = match kind {
        LISTENING => Told::Listening,
        WRITTEN => {
            let (version, transaction) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let words: Vec<&str> = words.collect();
            let changes = (words != [ANY]).then(|| words.into_iter().map(change).collect::<Option<Vec<_>>>());
            let changes = match changes {
                Some(read) => Some(read?),
                None => None,
            };
            Told::Written { version, transaction, changes }
        }
        _ => return None,
    };
    Some(Notice { server, told })
}

fn change(word: &str) -> Option<Change> {
    let parts: Vec<&str> = word.split(':').collect();
    match parts[..] {
        [type_id, DELETED] => Some(Change { type_id: type_id.parse().ok()?, rows: None }),
        [type_id, from_ms, to_ms, series] => {
            let range = |text: &str| match text.split_once('-') {
                Some((first, last)) => Some((first.parse().ok()?, last.parse().ok()?)),
                None => text.parse().ok().map(|number| (number, number)),
            };
            let series = series.split(',').map(range).collect::<Option<Vec<_>>>()?;
            let rows = Written { from_ms: from_ms.parse().ok()?, to_ms: to_ms.parse().ok()?, series };
            Some(Change { type_id: type_id.parse().ok()?, rows: Some(rows) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(changes: &Changes) -> Notice {
        let (before, behind) = written("s1", 7, changes);
        let text = format!("{before}4294967295{behind}");
        assert!(text.len() < 7_999, "{} bytes", text.len());
        read(&text).expect("what is written is read")
    }

    fn changes_of(notice: Notice) -> Option<Vec<Change>> {
        let Notice { server, told: Told::Written { version, transaction, changes } } = notice else {
            panic!("{notice:?}")
        };
        assert_eq!((&*server, version, transaction), ("s1", 7, u32::MAX));
        changes
    }

    #[test]
    fn what_is_told_is_read_again() {
        let mut changes = Changes::default();
        changes.add_rows(3, [(9, -5), (4, 70), (5, 60), (6, 65), (9, -5)].into_iter());
        changes.add_deletion(8);
        let rows = Written { from_ms: -5, to_ms: 70, series: vec![(4, 6), (9, 9)] };
        let expected = vec![Change { type_id: 3, rows: Some(rows) }, Change { type_id: 8, rows: None }];
        assert_eq!(changes_of(told(&changes)), Some(expected));
        assert_eq!(changes_of(told(&Changes::default())), Some(Vec::new()), "names alone");
        let notice = read(&listening("s2")).expect("it is read");
        assert_eq!(notice, Notice { server: "s2".to_owned(), told: Told::Listening });
    }

    #[test]
    fn many_are_told_less_exactly() {
        let mut changes = Changes::default();
        changes.add_rows(1, (0..50_000).map(|number| (number * 2, i64::from(number))));
        let rows = Written { from_ms: 0, to_ms: 49_999, series: vec![(0, 99_998)] };
        assert_eq!(changes_of(told(&changes)), Some(vec![Change { type_id: 1, rows: Some(rows) }]));
        (0..2_000).for_each(|type_id| changes.add_rows(type_id, [(1, 1_700_000_000_000)].into_iter()));
        assert_eq!(changes_of(told(&changes)), None);
    }

    #[test]
    fn what_is_of_a_later_version_is_left_out() {
        for text in [
            "",
            "s1",
            "s1 else",
            "s1 written",
            "s1 written 3 x",
            "s1 written 3 4 1:2",
            "s1 written 3 4 1:2:3:a-b",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
