//! Rows that take the place of others with the same entity and time, or leave them theirs: QuestDB replaces a row as a whole, so what is there
//! is read first and put together here. A row behind all others of its entity has nothing to be put together with.

use crate::lines::Lines;
use crate::names::entity_in;
use prony_series_database::{Column, Fault, Moment, NewRow, list_of, push_row, quoted};
use prony_series_store::{AttributeId, OnDuplicate, Rows, SeriesId, TimeMs, Value};
use std::collections::{BTreeMap, HashMap};
use tokio_postgres::Row;

/// Times and entities of one statement.
const AT_A_TIME: usize = 500;

/// The time of the last row of entities, or of a later moment.
pub(crate) type LastTimes = HashMap<SeriesId, TimeMs>;

/// Entities and service paths of series.
pub(crate) type Owners<'f> = HashMap<SeriesId, (&'f str, &'f str)>;

/// Rows of one table by entity and time, with values that are not null.
#[derive(Debug, Default)]
pub(crate) struct Merged<'f> {
    rows: BTreeMap<(SeriesId, TimeMs), Vec<(AttributeId, Value<'f>)>>,
    /// What is there already, and where each row of it is.
    found: Rows,
    places: HashMap<(SeriesId, TimeMs), usize>,
}

fn put<'f>(
    into: &mut Vec<(AttributeId, Value<'f>)>,
    attribute: AttributeId,
    value: Value<'f>,
    policy: OnDuplicate,
) {
    match into.iter_mut().find(|(of, _)| *of == attribute) {
        Some((_, earlier)) if policy == OnDuplicate::Replace => *earlier = value,
        Some(_) => {}
        None => into.push((attribute, value)),
    }
}

impl<'f> Merged<'f> {
    pub(crate) fn new(rows: &[NewRow<'f>], policy: OnDuplicate) -> Self {
        let mut merged = Self::default();
        for row in rows {
            let into = merged.rows.entry((row.series, row.time_ms)).or_default();
            let read = row.values.each(|attribute, value| {
                if value != Value::Null {
                    put(into, attribute, value, policy);
                }
                Ok(())
            });
            read.expect("what a write has put into a frame can be read");
        }
        merged
    }

    /// Series of which it is not known when their last row is.
    pub(crate) fn unknown(&self, last: &LastTimes) -> Vec<SeriesId> {
        let mut unknown: Vec<SeriesId> = self.rows.keys().map(|(series, _)| *series).collect();
        unknown.dedup();
        unknown.retain(|series| !last.contains_key(series));
        unknown
    }

    /// Statements for the rows that may be there already: each has entity, path and time, and the columns.
    pub(crate) fn lookups(
        &self,
        last: &LastTimes,
        table: &str,
        owners: &Owners<'_>,
        columns: &[(AttributeId, &Column)],
    ) -> Vec<String> {
        let may_be =
            |(series, time_ms): &&(SeriesId, TimeMs)| last.get(series).is_none_or(|last| time_ms <= last);
        let keys: Vec<&(SeriesId, TimeMs)> = self.rows.keys().filter(may_be).collect();
        let statement = |keys: &[&(SeriesId, TimeMs)]| {
            let mut times: Vec<TimeMs> = keys.iter().map(|(_, time_ms)| *time_ms).collect();
            times.sort_unstable();
            times.dedup();
            let times: Vec<String> = times.iter().map(|time| format!("{}", time * 1000)).collect();
            let mut entities: Vec<&str> =
                keys.iter().filter_map(|(series, _)| Some(owners.get(series)?.0)).collect();
            entities.sort_unstable();
            entities.dedup();
            format!(
                "select entity, path, time{} from {} where time in ({}) and {} and seq = 0 and not deleted",
                list_of(columns, ""),
                quoted(table),
                times.join(","),
                entity_in(&entities)
            )
        };
        keys.chunks(AT_A_TIME).map(statement).collect()
    }

    /// Takes in what is there.
    pub(crate) fn find(
        &mut self,
        rows: &[Row],
        owners: &Owners<'_>,
        columns: &[(AttributeId, &Column)],
    ) -> Result<(), Fault> {
        let by_owner: HashMap<(&str, &str), SeriesId> =
            owners.iter().map(|(id, owner)| (*owner, *id)).collect();
        for row in rows {
            let (entity, path, time): (&str, &str, Moment) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let Some(series) = by_owner.get(&(entity, path)) else { continue };
            if self.rows.contains_key(&(*series, time.0)) {
                self.places.insert((*series, time.0), self.found.len());
                let read = push_row(&mut self.found, row, 2, 3, columns);
                read.map_err(|error| Fault::new(&error.to_string()))?;
            }
        }
        Ok(())
    }

    /// Writes all rows as they are to be.
    pub(crate) fn write(
        &self,
        lines: &mut Lines,
        table: &str,
        owners: &Owners<'_>,
        columns: &[(AttributeId, &Column)],
        policy: OnDuplicate,
    ) {
        for ((series, time_ms), values) in &self.rows {
            let Some((entity, path)) = owners.get(series) else { continue };
            lines.begin(table);
            lines.text("entity", entity);
            lines.text("path", path);
            lines.integer("seq", 0);
            let there = self.places.get(&(*series, *time_ms));
            for (attribute, column) in columns {
                let new =
                    values.iter().find(|(of, _)| of == attribute).map_or(Value::Null, |(_, value)| *value);
                let old = there.map_or(Value::Null, |place| self.found.get(*place, *attribute));
                let (first, second) = if policy == OnDuplicate::Replace { (new, old) } else { (old, new) };
                lines.value(column, if first == Value::Null { second } else { first });
            }
            lines.end(*time_ms);
        }
    }

    /// What is known of the last rows once these are there.
    pub(crate) fn note(&self, last: &mut LastTimes) {
        for (series, time_ms) in self.rows.keys() {
            let known = last.entry(*series).or_insert(*time_ms);
            *known = (*known).max(*time_ms);
        }
    }
}

/// Asks when the last rows of some entities are.
pub(crate) fn last_times(table: &str, series: &[SeriesId], owners: &Owners<'_>) -> Vec<String> {
    let statement = |some: &[SeriesId]| {
        let entities: Vec<&str> = some.iter().filter_map(|id| Some(owners.get(id)?.0)).collect();
        format!("select entity, path, max(time) from {} where {}", quoted(table), entity_in(&entities))
    };
    series.chunks(AT_A_TIME).map(statement).collect()
}
