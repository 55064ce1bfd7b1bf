//! A store does what a list of rows would do: the same rows, counts, pages and summaries, whatever is written in which order, deleted,
//! sealed, put together and opened again.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::{
    AttributeId, Durability, Kind, OnDuplicate, Options, Page, SeriesId, SeriesRows, Store, TimeRange, Value,
    backup, calendar::Period, check, select,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const TENANTS: [&str; 2] = ["", "other"];
const TYPES: [&str; 2] = ["Room", "Street"];
const ENTITIES: [&str; 3] = ["a", "b", "c"];
const PATHS: [&str; 2] = ["/", "/x"];
const ATTRIBUTES: [(&str, Kind); 4] =
    [("temperature", Kind::Double), ("count", Kind::Integer), ("open", Kind::Boolean), ("state", Kind::Text)];

/// Who a row belongs to, as places in the lists above: tenant, type, entity, path.
type Owner = (usize, usize, usize, usize);
/// A value for each attribute.
type Cells = [Option<i32>; ATTRIBUTES.len()];

#[derive(Debug, Clone)]
enum Step {
    /// Rows of one write.
    Write(Vec<(Owner, i64, Cells)>),
    /// Many rows of one entity, so that there are blocks.
    Many(Owner, i64, i64),
    Delete(Owner, i64, i64),
    DeleteType(usize, usize, i64, i64),
    Drop(usize, usize),
    Seal,
    Compact,
    Reopen,
    /// Goes on with a backup that was made while the store was open.
    Restore,
}

fn owner() -> impl Strategy<Value = Owner> {
    (0..TENANTS.len(), 0..TYPES.len(), 0..ENTITIES.len(), 0..PATHS.len())
}

/// Few, so that some are equal; and some that are far away.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..40_i64, 2 => (0..40_i64).prop_map(|minute| minute * 60_000), 1 => -3_000_000_000_000..3_000_000_000_000_i64, 1 => Just(253_402_300_799_999)]
}

fn cells() -> impl Strategy<Value = Cells> {
    prop::array::uniform4(prop::option::weighted(0.6, -500..500_i32))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec((owner(), time(), cells()), 0..6).prop_map(Step::Write),
        2 => (owner(), time(), 900..2500_i64).prop_map(|(owner, from, count)| Step::Many(owner, from, count)),
        1 => (owner(), time(), time()).prop_map(|(owner, from, to)| Step::Delete(owner, from, to)),
        1 => (0..2_usize, 0..2_usize, time(), time()).prop_map(|(tenant, of, from, to)| Step::DeleteType(tenant, of, from, to)),
        1 => (0..2_usize, 0..2_usize).prop_map(|(tenant, of)| Step::Drop(tenant, of)),
        2 => Just(Step::Seal),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Restore),
    ]
}

fn policy() -> impl Strategy<Value = OnDuplicate> {
    prop_oneof![Just(OnDuplicate::Append), Just(OnDuplicate::Keep), Just(OnDuplicate::Replace)]
}

const STATES: [&str; 3] = ["on", "off", "grün"];

fn value(attribute: usize, number: i32) -> Value<'static> {
    match ATTRIBUTES[attribute].1 {
        Kind::Double => Value::Double(f64::from(number) / 100.0),
        Kind::Integer => Value::Integer(i64::from(number)),
        Kind::Boolean => Value::Boolean(number % 2 == 0),
        _ => Value::Text(STATES[number.unsigned_abs() as usize % STATES.len()]),
    }
}

/// Rows in the order in which they were written.
#[derive(Debug, Default)]
struct Model(BTreeMap<Owner, Vec<(i64, Cells)>>);

impl Model {
    /// What can be seen of an entity, in the order of time.
    fn rows(&self, owner: Owner, range: TimeRange, policy: OnDuplicate) -> Vec<(i64, Cells)> {
        let mut rows: Vec<_> = self.0.get(&owner).into_iter().flatten().copied().collect();
        rows.retain(|(time, _)| range.contains(*time));
        rows.sort_by_key(|(time, _)| *time);
        if policy == OnDuplicate::Append {
            return rows;
        }
        let mut merged: Vec<(i64, Cells)> = Vec::new();
        for (time, cells) in rows {
            match merged.last_mut() {
                Some((last, have)) if *last == time => {
                    for (have, new) in have.iter_mut().zip(cells) {
                        let is_taken = policy == OnDuplicate::Replace || have.is_none();
                        if is_taken && new.is_some() {
                            *have = new;
                        }
                    }
                }
                _ => merged.push((time, cells)),
            }
        }
        merged
    }

    fn delete(&mut self, is_of: impl Fn(&Owner) -> bool, range: TimeRange) {
        for (_, rows) in self.0.iter_mut().filter(|(owner, _)| is_of(owner)) {
            rows.retain(|(time, _)| !range.contains(*time));
        }
    }
}

fn put(store: &Store, rows: &[(Owner, i64, Cells)]) {
    let written = store.write_and_wait(|write| {
        for ((tenant, of, entity, path), time, cells) in rows {
            let table = write.table(TENANTS[*tenant], TYPES[*of])?;
            let series = write.series(table, ENTITIES[*entity], PATHS[*path])?;
            let mut values = Vec::new();
            for (place, cell) in cells.iter().enumerate() {
                let (name, kind) = ATTRIBUTES[place];
                if let Some(number) = cell {
                    // In any case of letters.
                    let name = if number % 3 == 0 { name.to_uppercase() } else { name.to_owned() };
                    values.push((write.attribute(table, &name, "", || kind)?.0, value(place, *number)));
                }
            }
            write.row(series, *time, &values)?;
        }
        Ok(())
    });
    written.unwrap();
}

fn named(store: &Store, (tenant, of, entity, path): Owner) -> Option<(SeriesId, Vec<Option<AttributeId>>)> {
    store.read().with_catalog(|catalog| {
        let table = catalog.find_table(TENANTS[tenant], TYPES[of])?;
        let series = catalog.find_series(table, ENTITIES[entity], PATHS[path])?;
        let find = |(name, _): &(&str, Kind)| catalog.table(table).attribute(name).map(|(id, _)| id);
        Some((series, ATTRIBUTES.iter().map(find).collect()))
    })
}

fn take(store: &Store, model: &mut Model, step: &Step) {
    match step {
        Step::Write(rows) => {
            put(store, rows);
            for (owner, time, cells) in rows {
                model.0.entry(*owner).or_default().push((*time, *cells));
            }
        }
        Step::Many(owner, from, count) => {
            let cells = |at: i64| {
                [Some(at as i32 % 700), (at % 3 > 0).then_some(at as i32 % 9), None, Some(at as i32 / 50)]
            };
            let rows: Vec<_> = (0..*count).map(|at| (*owner, from + at * 1000 + at % 2, cells(at))).collect();
            take(store, model, &Step::Write(rows));
        }
        Step::Delete(owner, from, to) => {
            let range = TimeRange { from_ms: *from, to_ms: *to };
            if let Some((series, _)) = named(store, *owner) {
                store
                    .write_and_wait(|write| {
                        write.delete(series, range);
                        Ok(())
                    })
                    .unwrap();
            }
            model.delete(|of| of == owner, range);
        }
        Step::DeleteType(tenant, of, from, to) => {
            let range = TimeRange { from_ms: *from, to_ms: *to };
            let table = store.read().with_catalog(|catalog| catalog.find_table(TENANTS[*tenant], TYPES[*of]));
            if let Some(table) = table {
                store
                    .write_and_wait(|write| {
                        write.delete_all(table, range);
                        Ok(())
                    })
                    .unwrap();
            }
            model.delete(|owner| (owner.0, owner.1) == (*tenant, *of), range);
        }
        Step::Drop(tenant, of) => {
            let table = store.read().with_catalog(|catalog| catalog.find_table(TENANTS[*tenant], TYPES[*of]));
            if let Some(table) = table {
                store
                    .write_and_wait(|write| {
                        write.drop_table(table);
                        Ok(())
                    })
                    .unwrap();
            }
            model.0.retain(|owner, _| (owner.0, owner.1) != (*tenant, *of));
        }
        Step::Seal => store.seal().unwrap(),
        Step::Compact => store.compact().unwrap(),
        Step::Reopen | Step::Restore => {}
    }
}

fn read_rows(
    rows: &mut SeriesRows,
    ids: &[Option<AttributeId>],
    places: std::ops::Range<u64>,
) -> Vec<(i64, Vec<String>)> {
    let wanted: Vec<AttributeId> = ids.iter().flatten().copied().collect();
    let mut found = Vec::new();
    rows.visit(places, &wanted, |part, range| {
        for row in range {
            let values = ids.iter().map(|id| format!("{:?}", id.map_or(Value::Null, |id| part.get(row, id))));
            found.push((part.times[row], values.collect()));
        }
        true
    })
    .unwrap();
    found
}

fn shown(rows: &[(i64, Cells)]) -> Vec<(i64, Vec<String>)> {
    let show = |(place, cell): (usize, &Option<i32>)| {
        format!("{:?}", cell.map_or(Value::Null, |number| value(place, number)))
    };
    rows.iter().map(|(time, cells)| (*time, cells.iter().enumerate().map(show).collect())).collect()
}

fn compare(store: &Store, model: &Model, range: TimeRange, policy: OnDuplicate) {
    for tenant in 0..TENANTS.len() {
        for of in 0..TYPES.len() {
            let mut all: Vec<(i64, usize)> = Vec::new();
            let mut series = Vec::new();
            for entity in 0..ENTITIES.len() {
                for path in 0..PATHS.len() {
                    let owner = (tenant, of, entity, path);
                    let expected = model.rows(owner, range, policy);
                    let Some((id, ids)) = named(store, owner) else {
                        assert_eq!(expected, []);
                        continue;
                    };
                    let wanted: Vec<AttributeId> = ids.iter().flatten().copied().collect();
                    let mut rows = store.read().series(id, range, &wanted);
                    assert_eq!(rows.count().unwrap(), expected.len() as u64, "{owner:?}");
                    let mut read = store.read().series(id, range, &wanted);
                    assert_eq!(read_rows(&mut read, &ids, 0..u64::MAX), shown(&expected), "{owner:?}");
                    if let Some(first) = ids[0] {
                        summaries(store.read().series(id, range, &[first]), first, &expected);
                    }
                    all.extend(expected.iter().map(|(time, _)| (*time, series.len())));
                    series.push(rows);
                }
            }
            pages(&mut series, &mut all);
        }
    }
}

fn summaries(mut rows: SeriesRows, attribute: AttributeId, expected: &[(i64, Cells)]) {
    for period in [Period::Minute, Period::Month] {
        let mut found = Vec::new();
        rows.summarize(
            attribute,
            |time| period.around(time).1,
            |time, of| {
                found.push((period.around(time).0, of.count, of.min, of.max));
                true
            },
        )
        .unwrap();
        let mut wanted: Vec<(i64, u64, f64, f64)> = Vec::new();
        for (time, cells) in expected {
            let begin = period.around(*time).0;
            if wanted.last().is_none_or(|(last, ..)| *last != begin) {
                wanted.push((begin, 0, 0.0, 0.0));
            }
            let (_, count, min, max) = wanted.last_mut().unwrap();
            if let Some(number) = cells[0] {
                let value = f64::from(number) / 100.0;
                (*min, *max) = if *count == 0 { (value, value) } else { (min.min(value), max.max(value)) };
                *count += 1;
            }
        }
        assert_eq!(found, wanted);
    }
}

fn pages(series: &mut [SeriesRows], all: &mut [(i64, usize)]) {
    all.sort_unstable();
    let total = all.len() as u64;
    for (offset, limit) in [(0, 5), (3, 7), (total / 2, 10_000), (0, total), (total, 3)] {
        for page in [Page::First { offset, limit }, Page::Last { offset, limit }] {
            let taken = match page {
                Page::First { offset, limit } => offset.min(total)..(offset + limit).min(total),
                Page::Last { offset, limit } => {
                    (total - offset.min(total)).saturating_sub(limit)..total - offset.min(total)
                }
            };
            let before = |place: u64| {
                let mut counts = vec![0; series.len()];
                all[..place as usize].iter().for_each(|(_, of)| counts[*of] += 1);
                counts
            };
            let expected: Vec<_> =
                before(taken.start).into_iter().zip(before(taken.end)).map(|(from, to)| from..to).collect();
            assert_eq!(select(series, page).unwrap(), expected, "{page:?}");
        }
    }
}

fn open(directory: &Path, on_duplicate: OnDuplicate) -> Store {
    let options = Options { on_duplicate, seal_at_log_bytes: None, ..Options::new(Durability::Off) };
    Store::open(directory, options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_store_is_a_list_of_rows(
        steps in prop::collection::vec(step(), 1..14),
        policy in policy(),
        (from_ms, to_ms) in (time(), time()),
    ) {
        let mut directory = tempfile::tempdir().unwrap();
        let (mut store, mut model) = (open(directory.path(), policy), Model::default());
        for step in &steps {
            take(&store, &mut model, step);
            if matches!(step, Step::Reopen) {
                drop(store);
                prop_assert!(check(directory.path()).unwrap().problems.is_empty());
                store = open(directory.path(), policy);
            }
            if matches!(step, Step::Restore) {
                let copy = tempfile::tempdir().unwrap();
                let made = backup(directory.path(), copy.path()).unwrap();
                prop_assert_eq!(made.report, check(copy.path()).unwrap());
                drop(store);
                (store, directory) = (open(copy.path(), policy), copy);
            }
            compare(&store, &model, TimeRange::ALL, policy);
        }
        compare(&store, &model, TimeRange { from_ms, to_ms }, policy);
        drop(store);
        compare(&open(directory.path(), policy), &model, TimeRange::ALL, policy);
    }
}
