//! What is asked of one table.

use crate::freshness::query;
use crate::names::{entity_in, entity_is, literal};
use crate::shared::Shared;
use prony_series_database::Column;
use prony_series_store::{AttributeId, ReadError, TimeMs, TimeRange};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use tokio_postgres::Row;

/// The times that QuestDB has for rows.
pub(crate) const TIMES: TimeRange = TimeRange { from_ms: 0, to_ms: 253_402_300_799_999 };
/// Of the entities that one statement names: a statement of QuestDB has 1 MB.
const NAMED_BYTES_MAX: usize = 200_000;

/// An entity with its service path.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) entity: Box<str>,
    pub(super) path: Box<str>,
}

/// Series of one type, and what is asked for of them.
#[derive(Debug)]
pub(super) struct Asked {
    shared: Arc<Shared>,
    /// None where nothing was ever written.
    pub(super) table: Option<String>,
    pub(super) subjects: Vec<Subject>,
    /// They are all that the table has.
    pub(super) is_all: bool,
    pub(super) columns: Vec<(AttributeId, Column)>,
    pub(super) range: TimeRange,
    /// How many series were asked for.
    pub(super) count: usize,
}

/// A condition for the time.
pub(crate) fn within(range: TimeRange) -> String {
    let from = range.from_ms.clamp(TIMES.from_ms, TIMES.to_ms + 1);
    let to = range.to_ms.clamp(TIMES.from_ms - 1, TIMES.to_ms);
    format!("time >= {} and time <= {}", micros(from), micros(to))
}

/// A time, as a literal.
pub(super) fn micros(time_ms: TimeMs) -> String {
    format!("cast({} as timestamp)", time_ms.saturating_mul(1000))
}

impl Asked {
    pub(super) fn nothing(shared: Arc<Shared>, count: usize, range: TimeRange) -> Self {
        let (subjects, columns) = (Vec::new(), Vec::new());
        Self { shared, table: None, subjects, is_all: false, columns, range, count }
    }

    /// Runs a statement on a table.
    pub(super) fn query(&self, table: &str, sql: &str) -> Result<Vec<Row>, ReadError> {
        let Shared { database, freshness, longest, .. } = &*self.shared;
        let rows = database.wait(query(database, freshness, (table, sql), *longest));
        rows.map_err(|fault| fault.of_read(&database.description))
    }

    /// What is wrong with a row that was read.
    pub(super) fn unreadable(&self, error: &tokio_postgres::Error) -> ReadError {
        let database = Arc::clone(&self.shared.database.description);
        ReadError::Database { database, why: error.to_string().into(), is_gone: false }
    }

    /// The table, and the condition of one series.
    pub(super) fn of_one(&self, subject: usize) -> Option<(String, String)> {
        let (table, subject) = (self.table.clone()?, self.subjects.get(subject)?);
        let (is_entity, path) = (entity_is(&subject.entity), literal(&subject.path));
        let within = within(self.range);
        Some((table, format!("not deleted and {within} and {is_entity} and path = {path}")))
    }

    /// The table, and conditions of statements which together have all rows: one, where not too many entities are named.
    pub(super) fn of_all(&self) -> Option<(String, Vec<String>)> {
        let table = self.table.clone()?;
        let base = format!("not deleted and {}", within(self.range));
        if self.is_all {
            return Some((table, vec![base]));
        }
        let conditions = self.named_parts().into_iter().map(|part| format!("{base} and ({part})"));
        Some((table, conditions.collect()))
    }

    /// Conditions that name all series, each of a length that a statement can have.
    fn named_parts(&self) -> Vec<String> {
        let mut by_path: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for subject in &self.subjects {
            by_path.entry(&subject.path).or_default().push(&subject.entity);
        }
        let (mut parts, mut open) = (Vec::new(), String::new());
        for (path, entities) in by_path {
            let path = literal(path);
            let mut rest = entities.into_iter().peekable();
            while rest.peek().is_some() {
                let (mut some, mut bytes) = (Vec::new(), open.len());
                while let Some(entity) = rest.next_if(|_| some.is_empty() || bytes < NAMED_BYTES_MAX) {
                    bytes += "'',".len() + entity.len();
                    some.push(entity);
                }
                let or = if open.is_empty() { "" } else { " or " };
                // Writing to a string cannot fail.
                let _ = write!(open, "{or}(path = {path} and {})", entity_in(&some));
                if open.len() >= NAMED_BYTES_MAX {
                    parts.push(std::mem::take(&mut open));
                }
            }
        }
        parts.extend((!open.is_empty()).then_some(open));
        parts
    }

    /// The place of each series, by its entity and its path.
    pub(super) fn places(&self) -> HashMap<(&str, &str), usize> {
        self.subjects.iter().enumerate().map(|(place, of)| ((&*of.entity, &*of.path), place)).collect()
    }

    pub(super) fn column_refs(&self) -> Vec<(AttributeId, &Column)> {
        self.columns.iter().map(|(id, column)| (*id, column)).collect()
    }

    /// The attribute's column, where it is one of those that were asked for.
    pub(super) fn column(&self, attribute: AttributeId) -> Option<&Column> {
        self.columns.iter().find(|(id, _)| *id == attribute).map(|(_, column)| column)
    }
}
