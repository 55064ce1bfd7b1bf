//! What every engine must do with integers that no double holds: sums, the least and the greatest have every digit.

#![allow(clippy::unwrap_used, reason = "these are tests, which other crates run too")]

use crate::calendar::{Period, Periods};
use crate::catalog::Catalog;
use crate::engine::Engine;
use crate::engine_tests::EngineUnderTest;
use crate::ids::TimeRange;
use crate::rows::OnDuplicate;
use crate::summary::ExactFigures;
use crate::value::{Kind, Value};

/// Writes integers that no double holds, and sums them up before and after what must change nothing.
///
/// # Panics
/// A digit is another.
pub fn integers_are_exact<E: EngineUnderTest>(open: impl Fn(OnDuplicate) -> E) {
    const LARGE: i64 = 9_007_199_254_740_993;
    const MINUTE_MS: i64 = 60_000;
    let values = [LARGE, -LARGE, 3 * LARGE, i64::MAX, i64::MAX, 5, i64::MIN + 1, -7];
    let mut under_test = open(OnDuplicate::Append);
    let write = under_test.engine().write_and_wait(|write| {
        let table = write.table("", "Meter")?;
        let series = write.series(table, "a", "/")?;
        let attribute = write.attribute(table, "count", "", || Kind::Integer)?.0;
        for (place, value) in (0..).zip(&values) {
            // Two in each minute.
            write.row(series, place * MINUTE_MS / 2, &[(attribute, Value::Integer(*value))])?;
        }
        Ok(())
    });
    write.unwrap();
    for which in 0..10 {
        sums_of(under_test.engine(), &values);
        under_test.upkeep(which);
    }
    sums_of(under_test.engine(), &values);
}

fn sums_of(store: &dyn Engine, values: &[i64]) {
    let exact = |values: &[i64]| ExactFigures {
        sum: values.iter().map(|value| i128::from(*value)).sum(),
        min: values.iter().min().copied().unwrap(),
        max: values.iter().max().copied().unwrap(),
    };
    let (series, attribute) = store
        .with_catalog(|catalog: &Catalog| {
            let table = catalog.find_table("", "Meter")?;
            let series = catalog.find_series(table, "a", "/")?;
            Some((series, catalog.table(table).attribute("count")?.0))
        })
        .unwrap();
    for (period, at_a_time) in
        [(None, values.len()), (Some(Period::Minute), 2), (Some(Period::Day), values.len())]
    {
        let read = store.read().unwrap();
        let mut found = Vec::new();
        for mut rows in read.series_of_type(&[series], TimeRange::ALL, &[attribute]) {
            rows.summarize(attribute, Periods::from(period), |_, of| {
                found.push((of.count, of.exact));
                true
            })
            .unwrap();
        }
        let wanted: Vec<_> =
            values.chunks(at_a_time).map(|some| (some.len() as u64, Some(exact(some)))).collect();
        assert_eq!(found, wanted, "{period:?}");
    }
}
