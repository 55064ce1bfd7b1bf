//! Whatever was written and deleted, in memory or in segments, responses have what a plain list of rows has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::{ngsi::time, tests::harness::Harness};

const TENANTS: [&str; 2] = ["", "factory"];
const TYPES: [&str; 2] = ["Room", "ro om"];
const IDS: [&str; 3] = ["a", "b \"é\"", "c,d"];
const PATHS: [&str; 2] = ["/", "/x"];
const HOUR_MS: i64 = 3_600_000;

/// One thing that is done: indexes of tenant and type come first.
#[derive(Debug, Clone)]
enum Step {
    /// Entity, path, hour and value; declared as text or as a number; a second attribute.
    Notify {
        of: (usize, usize),
        id: usize,
        path: usize,
        hour: i64,
        value: Option<i64>,
        is_text: bool,
        other: bool,
    },
    /// Rows of an entity from one hour to another.
    Delete {
        of: (usize, usize),
        id: usize,
        hours: (i64, i64),
    },
    Drop {
        of: (usize, usize),
    },
    Seal,
}

/// A row: its time, the value, the second attribute.
type ModelRow = (i64, Json, Json);

/// A type: whether its value is a text, whether it has the second attribute, and rows by entity in the order of their writes.
#[derive(Debug, Default)]
struct ModelType {
    is_text: Option<bool>,
    has_other: bool,
    /// In the order in which they came.
    entities: Vec<((usize, usize), Vec<ModelRow>)>,
}

type Series = BTreeMap<(usize, usize), ModelType>;

fn step() -> impl Strategy<Value = Step> {
    let of = || (0..TENANTS.len(), 0..TYPES.len());
    let value = prop_oneof![Just(None), (-5_i64..1000).prop_map(Some), Just(Some(i64::MAX / 2048))];
    prop_oneof![
        12 => (of(), 0..IDS.len(), 0..PATHS.len(), -20_i64..40, value, any::<bool>(), any::<bool>()).prop_map(
            |(of, id, path, hour, value, is_text, other)| Step::Notify { of, id, path, hour, value, is_text, other }
        ),
        2 => (of(), 0..IDS.len(), (-20_i64..40, -20_i64..40)).prop_map(|(of, id, hours)| Step::Delete { of, id, hours }),
        1 => of().prop_map(|of| Step::Drop { of }),
        1 => Just(Step::Seal),
    ]
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        write!(encoded, "%{byte:02X}").unwrap();
        encoded
    })
}

fn moment(hour: i64) -> String {
    time::text(hour * HOUR_MS)
}

fn notify(harness: &Harness, series: &mut Series, step: &Step) {
    let Step::Notify { of, id, path, hour, value, is_text, other } = step else { return };
    let declared = if *is_text { "Text" } else { "Number" };
    let mut entity = json!({
        "id": IDS[*id], "type": TYPES[of.1], "TimeInstant": {"type": "DateTime", "value": moment(*hour)},
        "n": {"type": declared, "value": value},
    });
    if *other {
        entity["other"] = json!({"type": "Integer", "value": hour});
    }
    let tenant = format!("fiware-service: {}", TENANTS[of.0]);
    let path_header = format!("fiware-servicepath: {}", PATHS[*path]);
    let headers: &[&str] = if of.0 == 0 { &[&path_header] } else { &[&path_header, &tenant] };
    harness.notify(&format!("[{entity}]"), headers);
    let model = series.entry(*of).or_default();
    let as_text = *model.is_text.get_or_insert(*is_text);
    model.has_other |= *other;
    let value = match value {
        None => Json::Null,
        Some(value) if as_text => json!(value.to_string()),
        Some(value) => json!(*value as f64),
    };
    let row = (hour * HOUR_MS, value, if *other { json!(hour) } else { Json::Null });
    match model.entities.iter_mut().find(|(of, _)| *of == (*id, *path)) {
        Some((_, rows)) => rows.push(row),
        None => model.entities.push(((*id, *path), vec![row])),
    }
}

fn make(harness: &Harness, series: &mut Series, step: &Step) {
    match step {
        Step::Notify { .. } => notify(harness, series, step),
        Step::Delete { of, id, hours } => {
            let target = format!(
                "/v2/entities/{}?type={}&fromDate={}&toDate={}",
                encoded(IDS[*id]),
                encoded(TYPES[of.1]),
                encoded(&moment(hours.0)),
                encoded(&moment(hours.1))
            );
            request(harness, of.0, &target);
            let Some(model) = series.get_mut(of) else { return };
            for (_, rows) in model.entities.iter_mut().filter(|((of, _), _)| of == id) {
                rows.retain(|(time, ..)| !(hours.0 * HOUR_MS..=hours.1 * HOUR_MS).contains(time));
            }
        }
        Step::Drop { of } => {
            request(harness, of.0, &format!("/v2/types/{}?dropTable=true", encoded(TYPES[of.1])));
            series.remove(of);
        }
        Step::Seal => harness.store().seal().unwrap(),
    }
}

fn request(harness: &Harness, tenant: usize, target: &str) {
    let header = format!("fiware-service: {}", TENANTS[tenant]);
    let headers: &[&str] = if tenant == 0 { &[] } else { &[&header] };
    let responded = harness.request("DELETE", target, headers, "");
    assert!(responded.status.is_success(), "{target}");
}

/// What is asked of each entity.
#[derive(Debug, Clone)]
struct Asked {
    hours: (i64, i64),
    last: Option<usize>,
    limit: Option<usize>,
    offset: usize,
    period: (&'static str, i64),
}

fn asked() -> impl Strategy<Value = Asked> {
    let count = || proptest::option::of(0_usize..6);
    let period = prop_oneof![Just(("HOUR", HOUR_MS)), Just(("DAY", 24 * HOUR_MS))];
    ((-25_i64..45, -25_i64..45), count(), count(), 0_usize..4, period)
        .prop_map(|(hours, last, limit, offset, period)| Asked { hours, last, limit, offset, period })
}

impl Asked {
    fn arguments(&self) -> String {
        let mut text = format!(
            "from: \"{}\", to: \"{}\", offset: {}",
            moment(self.hours.0),
            moment(self.hours.1),
            self.offset
        );
        for (name, count) in [("last", self.last), ("limit", self.limit)] {
            if let Some(count) = count {
                write!(text, ", {name}: {count}").unwrap();
            }
        }
        text
    }

    fn page<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let limit = self.limit.unwrap_or(usize::MAX);
        match self.last {
            None => all.iter().skip(self.offset).take(limit).cloned().collect(),
            Some(last) => {
                let end = all.len().saturating_sub(self.offset);
                all[end.saturating_sub(last.min(limit))..end].to_vec()
            }
        }
    }

    fn query(&self, list: &str, model: &ModelType) -> String {
        let (arguments, period) = (self.arguments(), self.period.0);
        let summaries = if model.is_text == Some(true) {
            String::new()
        } else {
            format!("sums: n_aggregate({arguments}, period: {period}) {{ from count sum min max }}")
        };
        let other = if model.has_other { "other" } else { "" };
        format!(
            "{{ {list} {{ id servicePath firstTime lastTime rows({arguments}) {{ time n {other} }} n({arguments}) {{ time value }} {summaries} }} }}"
        )
    }

    fn expected(&self, model: &ModelType) -> Json {
        let mut entities: Vec<_> = model.entities.iter().filter(|(_, rows)| !rows.is_empty()).collect();
        // By id; those of one id in the order in which they came.
        entities.sort_by_key(|((id, _), _)| IDS[*id]);
        entities
            .into_iter()
            .map(|((id, path), rows)| self.entity(model, IDS[*id], PATHS[*path], rows))
            .collect()
    }

    fn entity(&self, model: &ModelType, id: &str, path: &str, rows: &[ModelRow]) -> Json {
        let mut sorted = rows.to_vec();
        sorted.sort_by_key(|(time, ..)| *time);
        let (first, last) = (sorted[0].0, sorted[sorted.len() - 1].0);
        let range = self.hours.0 * HOUR_MS..=self.hours.1 * HOUR_MS;
        sorted.retain(|(time, ..)| range.contains(time));
        let row = |(time, value, other): &ModelRow| {
            let mut row = json!({"time": time::text(*time), "n": value});
            if model.has_other {
                row["other"] = other.clone();
            }
            row
        };
        let point = |(time, value, _): &ModelRow| json!({"time": time::text(*time), "value": value});
        let page = self.page(&sorted);
        let mut entity = json!({
            "id": id, "servicePath": path, "firstTime": time::text(first), "lastTime": time::text(last),
            "rows": page.iter().map(row).collect::<Vec<_>>(), "n": page.iter().map(point).collect::<Vec<_>>(),
        });
        if model.is_text == Some(false) {
            entity["sums"] = self.page(&self.sums(&sorted)).into();
        }
        entity
    }

    fn sums(&self, rows: &[ModelRow]) -> Vec<Json> {
        let begin = |time: i64| time.div_euclid(self.period.1) * self.period.1;
        let periods: BTreeSet<i64> = rows.iter().map(|(time, ..)| begin(*time)).collect();
        let sum_of = |period: i64| {
            let of_period = rows.iter().filter(|(time, ..)| begin(*time) == period);
            let values: Vec<f64> = of_period.filter_map(|(_, value, _)| value.as_f64()).collect();
            let fold = |with: fn(f64, f64) -> f64| values.iter().copied().reduce(with);
            Some(json!({
                "from": time::text(period), "count": values.len(), "sum": values.iter().sum::<f64>(),
                "min": fold(f64::min)?, "max": fold(f64::max)?,
            }))
        };
        periods.into_iter().filter_map(sum_of).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn responses_are_those_of_a_plain_list(
        steps in proptest::collection::vec(step(), 1..40),
        asked in proptest::collection::vec(asked(), 1..4),
    ) {
        let (harness, mut series) = (Harness::new(), Series::new());
        for step in &steps {
            make(&harness, &mut series, step);
        }
        let offered = harness.offered();
        let names = [["rooms", "ro_oms"], ["factory_rooms", "factory_ro_oms"]];
        for (of, model) in &series {
            let list = names[of.0][of.1];
            for asked in &asked {
                let query = asked.query(list, model);
                let response: Json = serde_json::from_str(&harness.ask_by(&offered, &query, "{}")).unwrap();
                prop_assert_eq!(&response["data"][list], &asked.expected(model), "{} {}", query, response);
            }
        }
    }
}
