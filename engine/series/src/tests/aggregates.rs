//! Queries for aggregates give the same when the rows are gone of which there are aggregates.

use std::fmt::Write as _;

use expect_test::expect;
use prony_series_store::TimeMs;

use super::harness::Harness;
use crate::settings::{SeriesSettings, aggregates, retention};

/// 2024-01-01T05:30:00Z: rows before 04:00 go.
const NOW_MS: TimeMs = 1_704_087_000_000;
const ROOM: &str = "/v2/entities/urn:room:Gr%C3%B6%C3%9Fe-7";

fn harness() -> Harness {
    let settings = SeriesSettings {
        retention: vec![retention("*=1h").unwrap()],
        aggregates: vec![aggregates("Room=hour").unwrap()],
        ..SeriesSettings::default()
    };
    let harness = Harness::with(settings);
    for hour in 0..6 {
        for (number, minute) in [(0, 5), (1, 20), (2, 50)] {
            let quarters: i32 = (hour * 7 + number * 11) % 40 - 12;
            for (id, path) in [("urn:room:Größe-7", "/"), ("urn:room:Größe-7", "/b"), ("9", "/")] {
                let pressure = format!(r#""pressure":{{"type":"Integer","value":{}}},"#, 700 + quarters);
                let room = format!(
                    r#"[{{"id":"{id}","type":"Room","temperature":{{"type":"Number","value":{}}},{}"state":{{"type":"Text","value":"on"}},"observedAt":"2024-01-01T0{hour}:{minute:02}:00Z"}},
                        {{"id":"s","type":"Street","n":{{"type":"Number","value":1}},"observedAt":"2024-01-01T0{hour}:{minute:02}:00Z"}}]"#,
                    f64::from(quarters) / 4.0,
                    if minute == 20 { "" } else { &pressure },
                );
                harness.notify(&room, &[&format!("fiware-servicepath: {path},/")]);
            }
        }
    }
    harness
}

fn responses(harness: &Harness, targets: &[&str]) -> String {
    let mut all = String::new();
    for target in targets {
        let responded = harness.request("GET", target, &[], "");
        assert_eq!(responded.status.as_u16(), 200, "{target}: {}", responded.body);
        writeln!(all, "{target}\n{}", responded.body).unwrap();
    }
    all
}

#[test]
fn aggregates_of_rows_that_are_gone_are_as_before() {
    let harness = harness();
    let mut targets = Vec::new();
    for method in ["count", "sum", "avg", "min", "max"] {
        for period in ["&aggrPeriod=hour", "&aggrPeriod=day", "&aggrPeriod=year", ""] {
            targets.push(format!("{ROOM}/attrs/temperature?aggrMethod={method}{period}"));
            targets.push(format!("/v2/types/Room?attrs=temperature,pressure&aggrMethod={method}{period}"));
            targets.push(format!(
                "/v2/types/Room/attrs/pressure/value?aggrMethod={method}{period}&fromDate=2024-01-01T01:05:00Z&toDate=2024-01-01T02:59:59Z"
            ));
        }
        targets.push(format!("{ROOM}?attrs=pressure&aggrMethod={method}&aggrPeriod=hour&lastN=3"));
        targets.push(format!(
            "/v2/attrs/temperature?type=Room&aggrMethod={method}&aggrPeriod=hour&limit=4&offset=3"
        ));
    }
    let methods = "options=aggregatedValues&aggrMethods=totalCount,sum,avg,min,max";
    for time in [
        "after&timeAt=2024-01-01T00:00:00Z",
        "between&timeAt=2023-12-31T22:00:00Z&endTimeAt=2024-01-01T03:00:00Z",
    ] {
        for length in ["PT1H", "PT2H", "P1D", "PT0S"] {
            let rest = format!("{methods}&aggrPeriodDuration={length}&timerel={time}");
            targets
                .push(format!("/ngsi-ld/v1/temporal/entities?type=Room&attrs=temperature,pressure&{rest}"));
            targets.push(format!(
                "/ngsi-ld/v1/temporal/entities/9?attrs=temperature,pressure&{rest}&q=temperature%3C0"
            ));
        }
    }
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let responses = |harness: &Harness, targets: &[&str]| {
        let graphql = "{ rooms { id temperature_aggregate(period: HOUR, last: 3) { from count sum avg min max } pressure_aggregate { count sum } } }";
        responses(harness, targets) + &harness.ask(graphql)
    };
    let before = responses(&harness, &targets);
    let store = harness.store();
    store.remove_old(NOW_MS).unwrap();
    let first = |target: &str| harness.get(target)[..120].to_owned();
    expect![[r#"200 {"values":[{"id":"9","index":["2024-01-01T04:05:00.000+00:00"],"values":[4.0]},{"id":"urn:room:Größe-7","index":[""#]].assert_eq(&first("/v2/types/Room/attrs/temperature/value?limit=3"));
    assert_eq!(responses(&harness, &targets), before);
    // Again, later, and all in one segment.
    store.remove_old(NOW_MS + 7_200_000).unwrap();
    store.compact().unwrap();
    assert_eq!(responses(&harness, &targets), before);
    store.remove_old(NOW_MS + 90_000_000).unwrap();
    assert_eq!(harness.get(&format!("{ROOM}/attrs/temperature")), "200 []");
    assert_eq!(responses(&harness, &targets), before);
}

#[test]
fn what_aggregates_do_not_know_is_left_out() {
    let harness = harness();
    harness.store().remove_old(NOW_MS).unwrap();
    let room = format!("{ROOM}/attrs/temperature");
    let count = |rest: &str| harness.get(&format!("{room}?aggrMethod=count{rest}"));
    // Shorter periods and parts of a period are not known.
    expect!["200 []"].assert_eq(&count("&aggrPeriod=minute&toDate=2024-01-01T03:59:00Z"));
    expect![[r#"200 {"id":"urn:room:Größe-7","type":"Room","attrName":"temperature","index":["2024-01-01T02:00:00.000+00:00"],"values":[6]}"#]]
        .assert_eq(&count("&aggrPeriod=hour&fromDate=2024-01-01T01:06:00Z&toDate=2024-01-01T03:20:00Z"));
    // A type without aggregates has none.
    expect![[r#"200 {"values":[{"id":"s","index":["",""],"values":[12]}]}"#]]
        .assert_eq(&harness.get("/v2/types/Street/attrs/n/value?aggrMethod=count"));
    // Without a moment at which they begin, periods are those of the calendar.
    expect![[r#"200 {"id":"9","type":"Room","pressure":{"type":"Property","totalCount":[[4,"2024-01-01T04:00:00Z","2024-01-01T06:00:00Z"]],"stddev":[[11.15048578911848,"2024-01-01T04:00:00Z","2024-01-01T06:00:00Z"]]}}"#]].assert_eq(&harness.get(
        "/ngsi-ld/v1/temporal/entities/9?options=aggregatedValues&aggrMethods=totalCount,stddev&attrs=pressure&aggrPeriodDuration=PT2H",
    ));
}

#[test]
fn a_deletion_deletes_aggregates_that_it_touches() {
    let harness = harness();
    harness.store().remove_old(NOW_MS).unwrap();
    let delete = |target: &str| harness.request("DELETE", target, &[], "").status.as_u16();
    let counts = || harness.get(&format!("{ROOM}/attrs/temperature/value?aggrMethod=count&aggrPeriod=hour"));
    expect![[r#"200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[6,6,6,6,6,6]}"#]].assert_eq(&counts());
    assert_eq!(delete(&format!("{ROOM}?fromDate=2024-01-01T01:06:00Z&toDate=2024-01-01T01:07:00Z")), 204);
    expect![[r#"200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[6,6,6,6,6]}"#]].assert_eq(&counts());
    assert_eq!(delete("/v2/types/Room?toDate=2024-01-01T03:00:00Z"), 204);
    expect![[r#"200 {"index":["2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[6,6,6]}"#]].assert_eq(&counts());
    // What comes late is there until it is removed itself.
    harness.notify(
        r#"[{"id":"urn:room:Größe-7","type":"Room","temperature":{"type":"Number","value":1},"observedAt":"2024-01-01T03:01:00Z"}]"#,
        &[],
    );
    let late = counts();
    expect![[r#"200 {"index":["2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[7,6,6]}"#]].assert_eq(&late);
    harness.store().remove_old(NOW_MS).unwrap();
    assert_eq!(counts(), late);
    assert_eq!(delete(ROOM), 204);
    assert_eq!((delete(ROOM), &*counts()), (200, "200 []"));
}
