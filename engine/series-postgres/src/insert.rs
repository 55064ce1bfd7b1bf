//! Rows of a group of writes, as one statement for each table.

use crate::columns::{ColumnValues, array_type};
use crate::mapping::TableMap;
use prony_series_database::{Moment, NewRow};
use prony_series_store::{AttributeId, OnDuplicate, SeriesId, TimeMs, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// One statement that has many rows of one table.
#[derive(Debug)]
pub(crate) struct Insert<'f> {
    pub(crate) sql: String,
    pub(crate) series: Vec<i32>,
    pub(crate) times: Vec<Moment>,
    pub(crate) columns: Vec<ColumnValues<'f>>,
}

impl<'f> Insert<'f> {
    /// None where a name has no place in the database.
    pub(crate) fn new(
        table: &TableMap,
        rows: &[NewRow<'f>],
        series_of: impl Fn(SeriesId) -> Option<i32>,
        policy: OnDuplicate,
    ) -> Option<Self> {
        let (mut series, mut times) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        let mut columns: BTreeMap<AttributeId, ColumnValues<'f>> = BTreeMap::new();
        let mut places: HashMap<(i32, TimeMs), usize> = HashMap::new();
        for row in rows {
            let owner = series_of(row.series)?;
            let new = series.len();
            let place = match policy {
                OnDuplicate::Append => new,
                OnDuplicate::Keep | OnDuplicate::Replace => {
                    *places.entry((owner, row.time_ms)).or_insert(new)
                }
            };
            if place == new {
                series.push(owner);
                times.push(Moment(row.time_ms));
            }
            let mut has_all = true;
            let read = row.values.each(|attribute, value| {
                let Some(column) = table.column(attribute) else {
                    has_all = false;
                    return Ok(());
                };
                let values = columns.entry(attribute).or_insert_with(|| ColumnValues::new(column.kind));
                let is_taken = policy != OnDuplicate::Keep || !values.has(place);
                if value != Value::Null && is_taken {
                    values.put(place, value);
                }
                Ok(())
            });
            read.expect("what a write has put into a frame can be read");
            if !has_all {
                return None;
            }
        }
        for values in columns.values_mut() {
            values.fill(series.len());
        }
        let named: Vec<AttributeId> = columns.keys().copied().collect();
        let sql = insert_sql(table, &named, policy);
        Some(Self { sql, series, times, columns: columns.into_values().collect() })
    }
}

fn insert_sql(table: &TableMap, attributes: &[AttributeId], policy: OnDuplicate) -> String {
    let columns: Vec<_> = attributes.iter().filter_map(|id| table.column(*id)).collect();
    let (mut names, mut arrays) = (String::new(), "$1::integer[], $2::timestamptz[]".to_owned());
    let (mut taken, mut merged) = (String::new(), String::new());
    for (place, column) in columns.iter().enumerate() {
        let name = &column.name;
        // Writing to a string cannot fail.
        let _ = write!(names, ", {name}");
        let _ = write!(arrays, ", ${}::{}", place + 3, array_type(column.kind));
        let _ = write!(taken, ", c{place}");
        let (first, second) = match policy {
            OnDuplicate::Replace => ("excluded", "earlier"),
            OnDuplicate::Append | OnDuplicate::Keep => ("earlier", "excluded"),
        };
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(merged, "{comma}{name} = coalesce({first}.{name}, {second}.{name})");
    }
    let target = &table.name;
    if policy == OnDuplicate::Append {
        return format!("insert into {target} (series, time{names}) select * from unnest({arrays})");
    }
    let conflict = if merged.is_empty() { "nothing".to_owned() } else { format!("update set {merged}") };
    format!(
        "insert into {target} as earlier (series, time, seq{names}) select series, time, 0{taken} \
         from unnest({arrays}) as r(series, time{taken}) on conflict (series, time, seq) do {conflict}"
    )
}
