//! What every engine must do: what a list of rows would do, whatever is written in which order and deleted, and whatever the engine does
//! beside that. Engines bring it their stores ([`EngineUnderTest`]); the oracle is a list in memory.

#![allow(clippy::unwrap_used, reason = "these are tests, which other crates run too")]

use crate::calendar::{Period, Periods};
use crate::catalog::Catalog;
use crate::engine::{Engine, SeriesRows};
use crate::error::{Refusal, WriteError};
use crate::ids::{AttributeId, SeriesId, TimeMs, TimeRange};
use crate::options::{Aggregates, Retention};
use crate::page::Page;
use crate::removal::Removal;
use crate::rows::OnDuplicate;
use crate::summary::Summary;
use crate::value::{Kind, Value};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// An engine that tests have to themselves.
pub trait EngineUnderTest {
    fn engine(&self) -> &dyn Engine;

    /// Times of rows that it can keep; others must be refused.
    fn times(&self) -> TimeRange {
        TimeRange::ALL
    }

    /// Removes what is too old at a moment by [`retention`] and [`aggregates`], with which it was opened. False where it keeps no
    /// aggregates, and has done nothing.
    fn remove_old(&mut self, _now_ms: TimeMs) -> bool {
        false
    }

    /// Does one of the things that must change nothing that is seen: `which` says which. It may be opened anew.
    fn upkeep(&mut self, which: u8);
}

/// Names that are not easy on a database: with quotes, and such as its own.
const TENANTS: [&str; 2] = ["", "Tenänt's"];
const TYPES: [&str; 2] = ["Room", "room \"1\", x"];
const ENTITIES: [&str; 3] = ["a", "'a'", "it's"];
const PATHS: [&str; 2] = ["/", "/x'y"];
const ATTRIBUTES: [(&str, Kind); 4] =
    [("temperature", Kind::Double), ("xmin", Kind::Integer), ("a.b", Kind::Boolean), ("time", Kind::Text)];

/// How long the engines that are tested keep rows. The moments at which they are removed are chosen so that this is a part of them.
pub fn retention() -> Vec<Retention> {
    let of = |name: Option<&str>, keep| Retention { type_name: name.map(str::to_owned), keep };
    vec![of(Some("Room"), KEEP), of(None, 2 * KEEP)]
}

/// Which aggregates they keep, and how long.
pub fn aggregates() -> Vec<Aggregates> {
    vec![
        Aggregates { type_name: None, period: Period::Hour, keep: None },
        Aggregates {
            type_name: Some("Room".to_owned()),
            period: Period::Minute,
            keep: Some(KEEP_AGGREGATES),
        },
    ]
}

/// Rows are removed in steps of a minute.
const KEEP: Duration = Duration::from_secs(1200);
/// In steps of ten minutes.
const KEEP_AGGREGATES: Duration = Duration::from_secs(60_000);

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
    /// What is too old at a moment is removed.
    Remove(i64),
    Upkeep(u8),
}

fn owner() -> impl Strategy<Value = Owner> {
    (0..TENANTS.len(), 0..TYPES.len(), 0..ENTITIES.len(), 0..PATHS.len())
}

/// Few, so that some are equal; and some that are far away.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..40_i64, 2 => (0..40_i64).prop_map(|minute| minute * 60_000), 1 => -3_000_000_000_000..3_000_000_000_000_i64, 1 => Just(253_402_300_799_999)]
}

/// When rows, or aggregates too, are too old of whom some may be there.
fn moment() -> impl Strategy<Value = i64> {
    let (keep, keep_aggregates) = (KEEP.as_millis() as i64, KEEP_AGGREGATES.as_millis() as i64);
    let kept = prop_oneof![4 => Just(keep), 2 => Just(2 * keep), 1 => Just(keep_aggregates)];
    (time(), kept).prop_map(|(time, kept)| time.min(4_000_000_000_000) + kept + 60_000)
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
        2 => moment().prop_map(Step::Remove),
        5 => any::<u8>().prop_map(Step::Upkeep),
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
struct Model(BTreeMap<Owner, Vec<(i64, Cells)>>, Kept);

/// Aggregates of rows that were removed.
type Kept = BTreeMap<Owner, Vec<KeptAggregate>>;

/// Of rows from the one time to the other, for each attribute.
#[derive(Debug, Clone, Copy)]
struct KeptAggregate {
    first_ms: i64,
    last_ms: i64,
    summaries: [Summary; ATTRIBUTES.len()],
}

impl KeptAggregate {
    fn add(&mut self, time_ms: i64, cells: &Cells) {
        self.last_ms = time_ms;
        for (place, (of, cell)) in self.summaries.iter_mut().zip(cells).enumerate() {
            let Some(number) = cell else { continue };
            of.add_all(&Summary::of_value(value(place, *number)));
        }
    }
}

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
        for (_, kept) in self.1.iter_mut().filter(|(owner, _)| is_of(owner)) {
            kept.retain(|of| !range.meets(of.first_ms, of.last_ms));
        }
    }

    fn remove_old(&mut self, now_ms: i64, policy: OnDuplicate) {
        for owner in self.0.keys().copied().collect::<Vec<_>>() {
            let removal = Removal::of(&retention(), &aggregates(), TYPES[owner.1], now_ms).unwrap();
            let mut kept: Vec<KeptAggregate> = Vec::new();
            let mut open_end = None;
            for (time, cells) in self.rows(owner, removal.rows(), policy) {
                let end = removal.period.unwrap().around(time).1;
                if open_end.replace(end) != Some(end) {
                    let summaries = [Summary::default(); ATTRIBUTES.len()];
                    kept.push(KeptAggregate { first_ms: time, last_ms: time, summaries });
                }
                kept.last_mut().unwrap().add(time, &cells);
            }
            self.0.entry(owner).or_default().retain(|(time, _)| *time >= removal.rows_before);
            let all = self.1.entry(owner).or_default();
            all.extend(kept);
            all.retain(|of| removal.aggregates_before.is_none_or(|before| of.last_ms >= before));
        }
    }
}

fn put(store: &dyn Engine, rows: &[(Owner, i64, Cells)]) -> Result<(), WriteError> {
    store.write_and_wait(|write| {
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
    })
}

fn named(
    store: &dyn Engine,
    (tenant, of, entity, path): Owner,
) -> Option<(SeriesId, Vec<Option<AttributeId>>)> {
    store.with_catalog(|catalog: &Catalog| {
        let table = catalog.find_table(TENANTS[tenant], TYPES[of])?;
        let series = catalog.find_series(table, ENTITIES[entity], PATHS[path])?;
        let find = |(name, _): &(&str, Kind)| catalog.table(table).attribute(name).map(|(id, _)| id);
        Some((series, ATTRIBUTES.iter().map(find).collect()))
    })
}

fn take(store: &dyn Engine, times: TimeRange, model: &mut Model, step: &Step) {
    match step {
        Step::Write(rows) => {
            let (kept, far): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, time, _)| times.contains(*time));
            for row in far.iter().take(2) {
                let refused = put(store, &[*row]).unwrap_err();
                assert!(matches!(refused, WriteError::Refused(Refusal::FarTime { .. })), "{refused}");
            }
            put(store, &kept).unwrap();
            for (owner, time, cells) in &kept {
                model.0.entry(*owner).or_default().push((*time, *cells));
            }
        }
        Step::Many(owner, from, count) => {
            let cells = |at: i64| {
                [Some(at as i32 % 700), (at % 3 > 0).then_some(at as i32 % 9), None, Some(at as i32 / 50)]
            };
            let rows: Vec<_> = (0..*count).map(|at| (*owner, from + at * 1000 + at % 2, cells(at))).collect();
            take(store, times, model, &Step::Write(rows));
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
            let table = store.with_catalog(|catalog| catalog.find_table(TENANTS[*tenant], TYPES[*of]));
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
            let table = store.with_catalog(|catalog| catalog.find_table(TENANTS[*tenant], TYPES[*of]));
            if let Some(table) = table {
                store
                    .write_and_wait(|write| {
                        write.drop_table(table);
                        Ok(())
                    })
                    .unwrap();
            }
            model.0.retain(|owner, _| (owner.0, owner.1) != (*tenant, *of));
            model.1.retain(|owner, _| (owner.0, owner.1) != (*tenant, *of));
        }
        Step::Remove(_) | Step::Upkeep(_) => {}
    }
}

fn read_rows(
    rows: &mut SeriesRows,
    ids: &[Option<AttributeId>],
    places: Range<u64>,
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

/// What is expected of a series.
type SeriesWithRows = (SeriesId, Vec<(i64, Cells)>);

fn compare(store: &dyn Engine, model: &Model, range: TimeRange, policy: OnDuplicate) {
    for tenant in 0..TENANTS.len() {
        for of in 0..TYPES.len() {
            let mut owners: Vec<SeriesWithRows> = Vec::new();
            let mut attributes = Vec::new();
            for entity in 0..ENTITIES.len() {
                for path in 0..PATHS.len() {
                    let owner = (tenant, of, entity, path);
                    let expected = model.rows(owner, range, policy);
                    let Some((id, ids)) = named(store, owner) else {
                        assert_eq!(expected, []);
                        continue;
                    };
                    let kept = model.1.get(&owner).map_or(&[][..], Vec::as_slice);
                    compare_one(store, (id, &ids), range, &expected, kept);
                    attributes = ids;
                    owners.push((id, expected));
                }
            }
            pages(store, &owners, range, &attributes);
            pages_of_each(store, &owners, range, &attributes);
        }
    }
}

fn compare_one(
    store: &dyn Engine,
    (id, ids): (SeriesId, &[Option<AttributeId>]),
    range: TimeRange,
    expected: &[(i64, Cells)],
    kept: &[KeptAggregate],
) {
    let wanted: Vec<AttributeId> = ids.iter().flatten().copied().collect();
    let read = store.read().unwrap();
    let mut rows = read.series(id, range, &wanted);
    assert_eq!(rows.count().unwrap(), expected.len() as u64);
    assert_eq!(rows.first_time().unwrap(), expected.first().map(|(time, _)| *time));
    assert_eq!(rows.last_time().unwrap(), expected.last().map(|(time, _)| *time));
    for moment in expected.iter().map(|(time, _)| *time).step_by(expected.len() / 3 + 1) {
        let before = expected.iter().filter(|(time, _)| *time < moment).count() as u64;
        assert_eq!(rows.count_before(moment).unwrap(), before, "before {moment}");
    }
    let mut rows = read.series(id, range, &wanted);
    assert_eq!(read_rows(&mut rows, ids, 0..u64::MAX), shown(expected));
    let some = (expected.len() as u64 / 3)..(expected.len() as u64 / 2);
    let of_some = shown(&expected[some.start as usize..some.end as usize]);
    assert_eq!(read_rows(&mut rows, ids, some), of_some);
    let kept: Vec<KeptAggregate> =
        kept.iter().filter(|of| range.covers(of.first_ms, of.last_ms)).copied().collect();
    let first = kept.iter().map(|of| of.first_ms).min();
    let last = kept.iter().map(|of| of.last_ms).max();
    let times = first.zip(last).map(|(from_ms, to_ms)| TimeRange { from_ms, to_ms });
    assert_eq!(read.series(id, range, &[]).aggregated(None).unwrap(), times);
    for (place, attribute) in ids.iter().enumerate() {
        if let Some(attribute) = attribute {
            summaries(read.series(id, range, &[*attribute]), (*attribute, place), expected, &kept);
        }
    }
}

fn summaries(
    mut rows: SeriesRows,
    (attribute, place): (AttributeId, usize),
    expected: &[(i64, Cells)],
    kept: &[KeptAggregate],
) {
    for (period, is_told) in
        [(Some(Period::Minute), true), (Some(Period::Month), true), (Some(Period::Hour), false), (None, true)]
    {
        let around = |time| period.map_or((i64::MIN, i64::MAX), |period| period.around(time));
        let end_of = |time| around(time).1;
        let periods = if is_told { Periods::from(period) } else { Periods::EndsAt(&end_of) };
        let mut found = Vec::new();
        rows.summarize(attribute, periods, |time, of| {
            found.push((around(time).0, *of));
            true
        })
        .unwrap();
        let mut wanted: BTreeMap<i64, KeptAggregate> = BTreeMap::new();
        let none = KeptAggregate { first_ms: 0, last_ms: 0, summaries: Default::default() };
        for (time, cells) in expected {
            wanted.entry(around(*time).0).or_insert(none).add(*time, cells);
        }
        // What of a period is known of longer ones only is not known of it.
        for of in kept.iter().filter(|of| of.last_ms < end_of(of.first_ms)) {
            let known = wanted.entry(around(of.first_ms).0).or_insert(none);
            known.summaries[place].add_all(&of.summaries[place]);
        }
        assert_eq!(found.len(), wanted.len(), "{period:?}: {found:?}, {wanted:?}");
        for ((begin, found), (wanted_begin, wanted)) in found.iter().zip(&wanted) {
            let wanted = wanted.summaries[place];
            let known = |of: &Summary| (of.count, of.min, of.max);
            assert_eq!((begin, known(found)), (wanted_begin, known(&wanted)), "{period:?}");
            if let (Some(found), Some(wanted)) = (found.exact, wanted.exact) {
                assert_eq!(found, wanted, "{period:?}");
            }
            let difference = (found.sum - wanted.sum).abs();
            assert!(difference <= 1e-9 * (1.0 + wanted.count as f64), "{found:?}, {wanted:?}");
        }
    }
}

/// For each page of all rows, which of them there are of each series.
fn pages(store: &dyn Engine, owners: &[SeriesWithRows], range: TimeRange, ids: &[Option<AttributeId>]) {
    let wanted: Vec<AttributeId> = ids.iter().flatten().copied().collect();
    let series: Vec<SeriesId> = owners.iter().map(|(id, _)| *id).collect();
    let of_owner = |(place, (_, rows)): (usize, &SeriesWithRows)| {
        rows.iter().map(|(time, _)| (*time, place)).collect::<Vec<_>>()
    };
    let mut all: Vec<(i64, usize)> = owners.iter().enumerate().flat_map(of_owner).collect();
    all.sort_unstable();
    let total = all.len() as u64;
    let read = store.read().unwrap();
    for (offset, limit) in
        [(0, 1), (1, 1), (0, 2), (0, 5), (3, 7), (total / 2, 10_000), (0, total), (total, 3), (0, 1 << 40)]
    {
        for page in [Page::First { offset, limit }, Page::Last { offset, limit }] {
            let taken = match page {
                Page::First { offset, limit } => offset.min(total)..(offset + limit).min(total),
                Page::Last { offset, limit } => {
                    (total - offset.min(total)).saturating_sub(limit)..total - offset.min(total)
                }
            };
            let before = |place: u64| {
                let mut counts = vec![0; owners.len()];
                all[..place as usize].iter().for_each(|(_, of)| counts[*of] += 1);
                counts
            };
            let expected: Vec<Range<usize>> =
                before(taken.start).into_iter().zip(before(taken.end)).map(|(from, to)| from..to).collect();
            for counts in [true, false] {
                let paged = read.page(&series, range, &wanted, page, counts).unwrap();
                assert!(!counts || paged.total == total, "{page:?}: {}, not {total}", paged.total);
                assert_eq!(paged.series.len(), owners.len());
                for (((mut rows, chosen), expected), (_, of)) in
                    paged.series.into_iter().zip(&expected).zip(owners)
                {
                    assert_eq!(read_rows(&mut rows, ids, chosen), shown(&of[expected.clone()]), "{page:?}");
                }
            }
        }
    }
}

/// Of each series its own page, and what all its values are together.
fn pages_of_each(
    store: &dyn Engine,
    owners: &[SeriesWithRows],
    range: TimeRange,
    ids: &[Option<AttributeId>],
) {
    let wanted: Vec<AttributeId> = ids.iter().flatten().copied().collect();
    let series: Vec<SeriesId> = owners.iter().map(|(id, _)| *id).collect();
    let read = store.read().unwrap();
    for (offset, limit) in [(0, 3), (2, 5), (0, 0), (1, 1 << 40)] {
        for page in [Page::First { offset, limit }, Page::Last { offset, limit }] {
            let found = read.page_of_each(&series, range, &wanted, page).unwrap();
            assert_eq!(found.len(), owners.len());
            for ((mut rows, chosen), (_, of)) in found.into_iter().zip(owners) {
                let (count, near) = (of.len() as u64, offset.min(of.len() as u64));
                let expected = match page {
                    Page::First { .. } => near..near.saturating_add(limit).min(count),
                    Page::Last { .. } => (count - near).saturating_sub(limit)..count - near,
                };
                let expected = &of[expected.start as usize..expected.end as usize];
                assert_eq!(read_rows(&mut rows, ids, chosen), shown(expected), "{page:?}");
            }
        }
    }
    let Some(first) = ids.first().copied().flatten() else { return };
    for (mut rows, (_, of)) in read.series_of_type(&series, range, &[first]).into_iter().zip(owners) {
        let (mut count, mut min, mut max) = (0, f64::INFINITY, f64::NEG_INFINITY);
        rows.leave_out_aggregates();
        rows.summarize(first, Periods::Whole, |_, part| {
            if part.count > 0 {
                (count, min, max) = (count + part.count, min.min(part.min), max.max(part.max));
            }
            true
        })
        .unwrap();
        let values = of.iter().filter_map(|(_, cells)| cells[0]).map(|number| f64::from(number) / 100.0);
        let (least, greatest) =
            values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), value| {
                (least.min(value), greatest.max(value))
            });
        assert_eq!((count, min, max), (values.count() as u64, least, greatest));
    }
}

/// Makes what comes by chance to many engines, which `open` opens empty, and compares each with a list of rows after each step.
///
/// # Panics
/// An engine is no list of rows; the least of the steps that show it are printed.
pub fn engines_are_lists_of_rows<E: EngineUnderTest>(cases: u32, open: impl Fn(OnDuplicate) -> E) {
    let steps = (prop::collection::vec(step(), 1..14), policy(), (time(), time()));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&steps, |(steps, policy, (from_ms, to_ms))| {
        let (mut under_test, mut model) = (open(policy), Model::default());
        for step in &steps {
            take(under_test.engine(), under_test.times(), &mut model, step);
            match step {
                Step::Upkeep(which) => under_test.upkeep(*which),
                Step::Remove(now_ms) if under_test.remove_old(*now_ms) => model.remove_old(*now_ms, policy),
                _ => {}
            }
            compare(under_test.engine(), &model, TimeRange::ALL, policy);
        }
        compare(under_test.engine(), &model, TimeRange { from_ms, to_ms }, policy);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
