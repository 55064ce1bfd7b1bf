//! Whatever was written, in memory or in segments, responses have what a plain list of instances has, also page by page.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{PREFIX, access, create};
use crate::{ngsi::time, tests::harness::Harness};

const IDS: [&str; 3] = ["urn:ngsi-ld:Vehicle:A", "urn:ngsi-ld:Vehicle:A b", "urn:ngsi-ld:Vehicle:A:c"];
const ATTRIBUTES: [&str; 2] = ["speed", "fuelLevel"];
const MINUTE_MS: i64 = 60_000;

/// An instance: entity, attribute, minute, value.
type Instance = (usize, usize, i64, i64);
/// Values with their times, by entity and attribute.
type Evolution = BTreeMap<(String, String), Vec<(i64, f64)>>;

fn moment(minute: i64) -> String {
    let mut text = Vec::new();
    time::write_utc(&mut text, minute * MINUTE_MS);
    String::from_utf8(text).unwrap()
}

fn instances() -> impl Strategy<Value = Vec<Instance>> {
    prop::collection::vec((0..IDS.len(), 0..ATTRIBUTES.len(), -20_i64..20, -9_i64..9), 1..60)
}

fn write(harness: &Harness, instances: &[Instance], seal_every: usize) -> Evolution {
    let mut model = Evolution::new();
    for (place, (id, attribute, minute, value)) in instances.iter().enumerate() {
        let body = json!({"id": IDS[*id], "type": "Vehicle", ATTRIBUTES[*attribute]:
            [{"type": "Property", "value": value, "observedAt": moment(*minute)}]});
        assert!(create(harness, &body.to_string()).status.is_success());
        let of = (IDS[*id].to_owned(), ATTRIBUTES[*attribute].to_owned());
        model.entry(of).or_default().push((*minute, *value as f64));
        if place % seal_every == 0 {
            harness.store().seal().unwrap();
        }
    }
    for instances in model.values_mut() {
        instances.sort_by_key(|(minute, _)| *minute);
    }
    model
}

/// What a response by values has.
fn read(body: &str) -> Evolution {
    let mut found = Evolution::new();
    let json: Json = serde_json::from_str(body).unwrap();
    for entity in json.as_array().unwrap() {
        for (name, attribute) in entity.as_object().unwrap().iter().filter(|(_, value)| value.is_object()) {
            let of = (entity["id"].as_str().unwrap().to_owned(), name.clone());
            let values = attribute["values"].as_array().unwrap().iter();
            let pair = |pair: &Json| {
                (time::parse(pair[1].as_str().unwrap()).unwrap() / MINUTE_MS, pair[0].as_f64().unwrap())
            };
            found.insert(of, values.map(pair).collect());
        }
    }
    found
}

fn filtered(model: &Evolution, keep: impl Fn(&[(i64, f64)]) -> Vec<(i64, f64)>) -> Evolution {
    let kept = model.iter().map(|(of, instances)| (of.clone(), keep(instances)));
    kept.filter(|(_, instances)| !instances.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn responses_have_what_a_plain_list_has(
        written in instances(), seal_every in 1_usize..40, from in -22_i64..22, minutes in 0_i64..30, last in 1_usize..8,
    ) {
        let harness = Harness::new();
        let model = write(&harness, &written, seal_every);
        let get = |query: String| {
            let target = format!("{PREFIX}/entities?type=Vehicle&options=temporalValues{query}");
            read(&harness.request("GET", &target, &[], "").body)
        };
        let (at, end) = (moment(from), moment(from + minutes));
        let within = |instances: &[(i64, f64)]| -> Vec<(i64, f64)> {
            instances.iter().copied().filter(|(minute, _)| (from..from + minutes).contains(minute)).collect()
        };
        prop_assert_eq!(get(String::new()), model.clone());
        prop_assert_eq!(get(format!("&timerel=between&timeAt={at}&endTimeAt={end}")), filtered(&model, within));
        let of_last = |instances: &[(i64, f64)]| {
            let instances = within(instances);
            instances[instances.len().saturating_sub(last)..].to_vec()
        };
        let shown = get(format!("&timerel=between&timeAt={at}&endTimeAt={end}&lastN={last}"));
        let expected = filtered(&model, of_last);
        // Of one moment any may be the last.
        prop_assert_eq!(shown.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (of, instances) in &expected {
            let minutes = |of: &[(i64, f64)]| of.iter().map(|(minute, _)| *minute).collect::<Vec<_>>();
            prop_assert_eq!(minutes(&shown[of]), minutes(instances));
        }
        let bound = from as f64 / 3.0;
        let found = get(format!("&q=speed>{bound}&attrs=speed"));
        let above = |instances: &[(i64, f64)]| instances.iter().any(|(_, value)| *value > bound);
        let expected = model.iter().filter(|((_, name), instances)| name == "speed" && above(instances));
        prop_assert_eq!(found, expected.map(|(of, instances)| (of.clone(), instances.clone())).collect::<Evolution>());
    }

    #[test]
    fn all_pages_together_have_everything_once(
        written in instances(), seal_every in 1_usize..40, limit in 1_u64..9, backwards in any::<bool>(),
    ) {
        let harness = Harness::new();
        let model = write(&harness, &written, seal_every);
        let granted = access::granted(Some(limit));
        let (mut all, mut time, mut pages) = (Evolution::new(), String::new(), 0);
        loop {
            let size = if backwards { "&lastN=1000" } else { "" };
            let target = format!("/entities?type=Vehicle&options=temporalValues{size}{time}");
            let responded = access::by_role(&harness, &granted, "GET", &target, "");
            for (of, instances) in read(&responded.body) {
                all.entry(of).or_default().extend(instances);
            }
            pages += 1;
            prop_assert!(pages < 100);
            if responded.status.as_u16() == 200 {
                break;
            }
            // A moment is never cut: what is left is before or behind the end of the range.
            let (_, range) = responded.headers.iter().find(|(name, _)| name == "content-range").unwrap();
            let end = &range[range.find("Z-").unwrap() + 2..range.find('/').unwrap()];
            let end = time::parse(end).unwrap();
            let mut next = Vec::new();
            time::write_utc(&mut next, if backwards { end } else { end + 1 });
            let next = String::from_utf8(next).unwrap();
            time = format!("&timerel={}&timeAt={next}", if backwards { "before" } else { "after" });
        }
        for instances in all.values_mut() {
            instances.sort_by(|one, other| one.partial_cmp(other).unwrap());
        }
        let mut expected = model.clone();
        expected.retain(|(_, name), _| name == "speed");
        for instances in expected.values_mut() {
            instances.sort_by(|one, other| one.partial_cmp(other).unwrap());
        }
        all.retain(|_, instances| !instances.is_empty());
        prop_assert_eq!(all, expected);
    }
}
