//! Queries that QuantumLeap has not: what is made of values by reading them all, gaps between periods, the last rows of each entity, and
//! rows as objects.

use std::{collections::BTreeMap, fmt::Write as _};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::harness::Harness;
use crate::ngsi::time;

/// Two meters: one on change alone and under two service paths, with gaps and a null; one with one row.
fn filled() -> Harness {
    let harness = Harness::new();
    let meter = |id: &str, at: &str, level: &str, count: i64| {
        format!(
            r#"[{{"id":"{id}","type":"Zähler","TimeInstant":{{"type":"DateTime","value":"{at}"}},"level":{{"type":"Number","value":{level}}},
            "count":{{"type":"Integer","value":{count}}},"state":{{"type":"Text","value":"s"}}}}]"#
        )
    };
    let big = 9_007_199_254_740_993;
    for (path, at, level, count) in [
        ("/a", "2024-01-01T00:00:00Z", "10", 3),
        ("/b", "2024-01-01T00:45:00Z", "20.5", 1),
        ("/a", "2024-01-01T02:30:00Z", "-4", 8),
        ("/a", "2024-01-01T02:40:00Z", "null", 6),
        ("/b", "2024-01-01T02:50:00Z", "6", big),
        ("/b", "2024-01-01T05:00:00Z", "null", 2),
    ] {
        harness.notify(&meter("urn:m:é", at, level, count), &[&format!("fiware-servicepath: {path}")]);
    }
    harness.notify(&meter("x", "2024-01-01T04:59:59.999Z", "1e300", -7), &["fiware-servicepath: /a"]);
    harness
}

const OF_ONE: &str = "/v2/entities/urn:m:%C3%A9/attrs/";
const OF_ALL: &str = "/v2/types/Z%C3%A4hler/attrs/";

fn check(harness: &Harness, targets: &[String], expected: &Expect) {
    let mut table = String::new();
    for target in targets {
        writeln!(table, "{target}\n  {}", harness.get(target)).unwrap();
    }
    expected.assert_eq(&table);
}

/// What was in no page was not counted, and of aggregates it was rows that were.
#[test]
pub(crate) fn all_are_counted_whichever_page_is_asked_for() {
    let harness = filled();
    for (rest, total) in [
        ("", "7"),
        ("&limit=1", "7"),
        ("&offset=7", "7"),
        ("&lastN=1&offset=9", "7"),
        ("&aggrMethod=sum", "2"),
        ("&aggrMethod=sum&limit=1", "2"),
        ("&aggrMethod=p50&offset=2", "2"),
        ("&aggrMethod=sum&aggrPeriod=hour&lastN=1", "4"),
        ("&aggrMethod=sum&aggrPeriod=hour&fill=null&limit=2", "7"),
    ] {
        let responded = harness.request("GET", &format!("{OF_ALL}count?options=count{rest}"), &[], "");
        let counted = ("x-total-count".to_owned(), total.to_owned());
        assert!(responded.headers.contains(&counted), "{rest}: {responded:?}");
    }
}

#[test]
pub(crate) fn values_are_measured_by_period() {
    let harness = filled();
    let mut targets = Vec::new();
    for method in ["first", "last", "stddev", "p50", "p99.9", "timeWeightedAvg"] {
        targets.push(format!("{OF_ONE}level/value?aggrMethod={method}"));
        targets.push(format!("{OF_ONE}level/value?aggrMethod={method}&aggrPeriod=hour"));
    }
    for rest in [
        "count/value?aggrMethod=last&aggrPeriod=hour",
        "count/value?aggrMethod=p0",
        "level/value?aggrMethod=timeWeightedAvg&aggrPeriod=hour&toDate=2024-01-01T02:45:00Z",
        "level/value?aggrMethod=timeWeightedAvg&fromDate=2024-01-01T00:45:00Z&toDate=2024-01-01T06:00:00Z",
        "TimeInstant/value?aggrMethod=last&aggrPeriod=day",
        "TimeInstant/value?aggrMethod=p50",
        "state/value?aggrMethod=last",
        "level/value?aggrMethod=p100.5",
        "level/value?aggrMethod=percentile",
    ] {
        targets.push(format!("{OF_ONE}{rest}"));
    }
    targets.push(format!("{OF_ALL}level?aggrMethod=p90"));
    targets.push(format!("{OF_ALL}level/value?aggrMethod=stddev&aggrPeriod=day&lastN=1"));
    targets.push("/v2/entities/x?aggrMethod=p95".to_owned());
    targets.push("/v2/entities/x?aggrMethod=last&attrs=level,count".to_owned());
    check(
        &harness,
        &targets,
        &expect![[r#"
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=first
              200 {"index":[],"values":[10.0]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=first&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[10.0,-4.0,null]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=last
              200 {"index":[],"values":[6.0]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=last&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[20.5,6.0,null]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=stddev
              200 {"index":[],"values":[10.135539781712005]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=stddev&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[7.424621202458749,7.0710678118654755,null]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p50
              200 {"index":[],"values":[8.0]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p50&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,1.0,null]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p99.9
              200 {"index":[],"values":[20.4685]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p99.9&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[20.4895,5.99,null]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=timeWeightedAvg
              200 {"index":[],"values":[14.838235294117647]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=timeWeightedAvg&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[12.625,9.916666666666666,6.0]}
            /v2/entities/urn:m:%C3%A9/attrs/count/value?aggrMethod=last&aggrPeriod=hour
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[1,9007199254740993,2]}
            /v2/entities/urn:m:%C3%A9/attrs/count/value?aggrMethod=p0
              200 {"index":[],"values":[1.0]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=timeWeightedAvg&aggrPeriod=hour&toDate=2024-01-01T02:45:00Z
              200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T02:00:00.000+00:00"],"values":[12.625,12.333333333333334]}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=timeWeightedAvg&fromDate=2024-01-01T00:45:00Z&toDate=2024-01-01T06:00:00Z
              200 {"index":[],"values":[10.198412698412698]}
            /v2/entities/urn:m:%C3%A9/attrs/TimeInstant/value?aggrMethod=last&aggrPeriod=day
              200 {"index":["2024-01-01T00:00:00.000+00:00"],"values":["2024-01-01T05:00:00.000+00:00"]}
            /v2/entities/urn:m:%C3%A9/attrs/TimeInstant/value?aggrMethod=p50
              404 {"error":"AggrMethod cannot be applied","description":"AggrMethod cannot be applied on type TEXT and BOOLEAN."}
            /v2/entities/urn:m:%C3%A9/attrs/state/value?aggrMethod=last
              404 {"error":"AggrMethod cannot be applied","description":"AggrMethod cannot be applied on type TEXT and BOOLEAN."}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p100.5
              400 {"detail":"'p100.5' is no percentile from p0 to p100 with at most three digits behind its point, as p99.9 - 'aggrMethod'","status":400,"title":"Bad Request","type":"about:blank"}
            /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=percentile
              400 {"detail":"'percentile' is not one of ['count', 'sum', 'avg', 'min', 'max'] - 'aggrMethod'","status":400,"title":"Bad Request","type":"about:blank"}
            /v2/types/Z%C3%A4hler/attrs/level?aggrMethod=p90
              200 {"type":"Zähler","attrName":"level","entities":[{"id":"urn:m:é","index":["",""],"values":[17.35]},{"id":"x","index":["",""],"values":[1e+300]}]}
            /v2/types/Z%C3%A4hler/attrs/level/value?aggrMethod=stddev&aggrPeriod=day&lastN=1
              200 {"values":[{"id":"x","index":["2024-01-01T00:00:00.000+00:00"],"values":[null]}]}
            /v2/entities/x?aggrMethod=p95
              400 {"error":"Bad parameters use","description":"Specified aggrMethod = p95 but missing attrs parameter."}
            /v2/entities/x?aggrMethod=last&attrs=level,count
              200 {"id":"x","type":"Zähler","index":[],"attributes":[{"attrName":"count","values":[-7]},{"attrName":"level","values":[1e+300]}]}
        "#]],
    );
}

#[test]
pub(crate) fn gaps_are_filled() {
    let harness = filled();
    let mut targets = Vec::new();
    for fill in ["null", "previous", "linear", "0", "-1.5", "nothing"] {
        targets.push(format!("{OF_ONE}level/value?aggrMethod=avg&aggrPeriod=hour&fill={fill}"));
    }
    for rest in [
        "level/value?aggrMethod=p50&aggrPeriod=hour&fill=linear&fromDate=2023-12-31T23:00:00Z&toDate=2024-01-01T06:10:00Z",
        "level/value?aggrMethod=last&aggrPeriod=hour&fill=previous&fromDate=2023-12-31T23:00:00Z&toDate=2024-01-01T06:10:00Z&lastN=3",
        "count/value?aggrMethod=count&aggrPeriod=hour&fill=0",
        "count/value?aggrMethod=min&aggrPeriod=hour&fill=linear",
        "count/value?aggrMethod=min&aggrPeriod=hour&fill=0.5",
        "TimeInstant/value?aggrMethod=max&aggrPeriod=hour&fill=linear&limit=2",
        "TimeInstant/value?aggrMethod=max&aggrPeriod=hour&fill=0",
        "level/value?aggrMethod=avg&aggrPeriod=second&fill=0&fromDate=2023-01-01",
        "level/value?aggrMethod=avg&fill=0",
        "level/value?fill=0",
    ] {
        targets.push(format!("{OF_ONE}{rest}"));
    }
    targets
        .push(format!("{OF_ALL}level?aggrMethod=max&aggrPeriod=hour&fill=0&fromDate=2024-01-01T03:00:00Z"));
    check(
        &harness,
        &targets,
        &expect![[r#"
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=null
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,null,1.0,null,null,null]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=previous
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,15.25,1.0,1.0,1.0,1.0]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=linear
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,8.125,1.0,null,null,null]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=0
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,0.0,1.0,0.0,0.0,0.0]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=-1.5
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[15.25,-1.5,1.0,-1.5,-1.5,-1.5]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=hour&fill=nothing
          400 {"detail":"'nothing' is no number and not one of ['null', 'previous', 'linear'] - 'fill'","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=p50&aggrPeriod=hour&fill=linear&fromDate=2023-12-31T23:00:00Z&toDate=2024-01-01T06:10:00Z
          200 {"index":["2023-12-31T23:00:00.000+00:00","2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00","2024-01-01T06:00:00.000+00:00"],"values":[null,15.25,8.125,1.0,null,null,null,null]}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=last&aggrPeriod=hour&fill=previous&fromDate=2023-12-31T23:00:00Z&toDate=2024-01-01T06:10:00Z&lastN=3
          200 {"index":["2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00","2024-01-01T06:00:00.000+00:00"],"values":[6.0,6.0,6.0]}
        /v2/entities/urn:m:%C3%A9/attrs/count/value?aggrMethod=count&aggrPeriod=hour&fill=0
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[2,0,3,0,0,1]}
        /v2/entities/urn:m:%C3%A9/attrs/count/value?aggrMethod=min&aggrPeriod=hour&fill=linear
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00","2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[1,4,6,5,3,2]}
        /v2/entities/urn:m:%C3%A9/attrs/count/value?aggrMethod=min&aggrPeriod=hour&fill=0.5
          400 {"error":"Bad parameters use","description":"fill = 0.5 is not whole, as what aggrMethod makes of an attribute is; fill with a whole number."}
        /v2/entities/urn:m:%C3%A9/attrs/TimeInstant/value?aggrMethod=max&aggrPeriod=hour&fill=linear&limit=2
          200 {"index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00"],"values":["2024-01-01T00:45:00.000+00:00","2024-01-01T01:47:30.000+00:00"]}
        /v2/entities/urn:m:%C3%A9/attrs/TimeInstant/value?aggrMethod=max&aggrPeriod=hour&fill=0
          400 {"error":"Bad parameters use","description":"fill = 0 is no time, as what aggrMethod makes of an attribute is; fill with null, previous or linear."}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&aggrPeriod=second&fill=0&fromDate=2023-01-01
          413 "the gaps to be filled make more periods than the limit of 1000000; ask for less time, fewer entities or a longer aggrPeriod"
        /v2/entities/urn:m:%C3%A9/attrs/level/value?aggrMethod=avg&fill=0
          400 {"error":"Bad parameters use","description":"aggrMethod and aggrPeriod are compulsory when using fill."}
        /v2/entities/urn:m:%C3%A9/attrs/level/value?fill=0
          400 {"error":"Bad parameters use","description":"aggrMethod and aggrPeriod are compulsory when using fill."}
        /v2/types/Z%C3%A4hler/attrs/level?aggrMethod=max&aggrPeriod=hour&fill=0&fromDate=2024-01-01T03:00:00Z
          200 {"type":"Zähler","attrName":"level","entities":[{"id":"urn:m:é","index":["2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[0.0,0.0,0.0]},{"id":"x","index":["2024-01-01T03:00:00.000+00:00","2024-01-01T04:00:00.000+00:00"],"values":[0.0,1e+300]}]}
    "#]],
    );
    let table = harness.request(
        "GET",
        &format!("{OF_ALL}count?aggrMethod=count&aggrPeriod=hour&fill=null&limit=4"),
        &["accept: text/csv"],
        "",
    );
    expect![[r#"
        id,type,time,count↵
        urn:m:é,Zähler,2024-01-01T00:00:00.000+00:00,2↵
        urn:m:é,Zähler,2024-01-01T01:00:00.000+00:00,↵
        urn:m:é,Zähler,2024-01-01T02:00:00.000+00:00,3↵
        urn:m:é,Zähler,2024-01-01T03:00:00.000+00:00,↵
    "#]]
    .assert_eq(&table.body.replace("\r\n", "↵\n"));
}

#[test]
pub(crate) fn the_last_rows_of_each_entity_are_found() {
    let harness = filled();
    let targets = [
        format!("{OF_ALL}count?lastN=2"),
        format!("{OF_ALL}count?lastN=2&lastNScope=global"),
        format!("{OF_ALL}count?lastN=2&lastNScope=entity"),
        format!("{OF_ALL}count/value?lastN=2&lastNScope=entity&offset=1"),
        format!("{OF_ALL}count/value?lastN=5&lastNScope=entity&limit=1"),
        "/v2/types/Z%C3%A4hler?lastN=1&lastNScope=entity&attrs=count,level".to_owned(),
        "/v2/attrs/count?lastN=1&lastNScope=entity&type=Z%C3%A4hler".to_owned(),
        "/v2/attrs?lastN=1&lastNScope=entity&attrs=level".to_owned(),
        format!("{OF_ONE}count/value?lastN=2&lastNScope=entity"),
        format!("{OF_ALL}count/value?lastN=1&lastNScope=entity&aggrMethod=sum&aggrPeriod=hour"),
        format!("{OF_ALL}count/value?lastN=1&lastNScope=entity&toDate=2024-01-01T01:00:00Z"),
        format!("{OF_ALL}count?lastNScope=entity"),
        format!("{OF_ALL}count?lastN=2&lastNScope=each"),
    ];
    check(
        &harness,
        &targets,
        &expect![[r#"
        /v2/types/Z%C3%A4hler/attrs/count?lastN=2
          200 {"type":"Zähler","attrName":"count","entities":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[2]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[-7]}]}
        /v2/types/Z%C3%A4hler/attrs/count?lastN=2&lastNScope=global
          200 {"type":"Zähler","attrName":"count","entities":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[2]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[-7]}]}
        /v2/types/Z%C3%A4hler/attrs/count?lastN=2&lastNScope=entity
          200 {"type":"Zähler","attrName":"count","entities":[{"id":"urn:m:é","index":["2024-01-01T02:50:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[9007199254740993,2]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[-7]}]}
        /v2/types/Z%C3%A4hler/attrs/count/value?lastN=2&lastNScope=entity&offset=1
          200 {"values":[{"id":"urn:m:é","index":["2024-01-01T02:40:00.000+00:00","2024-01-01T02:50:00.000+00:00"],"values":[6,9007199254740993]}]}
        /v2/types/Z%C3%A4hler/attrs/count/value?lastN=5&lastNScope=entity&limit=1
          200 {"values":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[2]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[-7]}]}
        /v2/types/Z%C3%A4hler?lastN=1&lastNScope=entity&attrs=count,level
          200 {"type":"Zähler","entities":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"attributes":[{"attrName":"count","values":[2]},{"attrName":"level","values":[null]}]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"attributes":[{"attrName":"count","values":[-7]},{"attrName":"level","values":[1e+300]}]}]}
        /v2/attrs/count?lastN=1&lastNScope=entity&type=Z%C3%A4hler
          200 {"attrName":"count","types":[{"type":"Zähler","entities":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[2]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[-7]}]}]}
        /v2/attrs?lastN=1&lastNScope=entity&attrs=level
          200 {"attrs":[{"attrName":"level","types":[{"type":"Zähler","entities":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[null]},{"id":"x","index":["2024-01-01T04:59:59.999+00:00"],"values":[1e+300]}]}]}]}
        /v2/entities/urn:m:%C3%A9/attrs/count/value?lastN=2&lastNScope=entity
          200 {"index":["2024-01-01T02:50:00.000+00:00","2024-01-01T05:00:00.000+00:00"],"values":[9007199254740993,2]}
        /v2/types/Z%C3%A4hler/attrs/count/value?lastN=1&lastNScope=entity&aggrMethod=sum&aggrPeriod=hour
          200 {"values":[{"id":"urn:m:é","index":["2024-01-01T05:00:00.000+00:00"],"values":[2]},{"id":"x","index":["2024-01-01T04:00:00.000+00:00"],"values":[-7]}]}
        /v2/types/Z%C3%A4hler/attrs/count/value?lastN=1&lastNScope=entity&toDate=2024-01-01T01:00:00Z
          200 {"values":[{"id":"urn:m:é","index":["2024-01-01T00:45:00.000+00:00"],"values":[1]}]}
        /v2/types/Z%C3%A4hler/attrs/count?lastNScope=entity
          400 {"error":"Bad parameters use","description":"lastN is compulsory when using lastNScope."}
        /v2/types/Z%C3%A4hler/attrs/count?lastN=2&lastNScope=each
          400 {"detail":"'each' is not one of ['entity', 'global'] - 'lastNScope'","status":400,"title":"Bad Request","type":"about:blank"}
    "#]],
    );
    let counted =
        harness.request("GET", &format!("{OF_ALL}count?lastN=1&lastNScope=entity&options=count"), &[], "");
    assert!(counted.headers.contains(&("fiware-total-count".to_owned(), "7".to_owned())), "{counted:?}");
    let lines = harness.request(
        "GET",
        "/v2/types/Z%C3%A4hler?lastN=1&lastNScope=entity&attrs=count",
        &["accept: application/x-ndjson"],
        "",
    );
    expect![[r#"
        {"id":"urn:m:é","type":"Zähler","time":"2024-01-01T05:00:00.000+00:00","values":{"count":2}}
        {"id":"x","type":"Zähler","time":"2024-01-01T04:59:59.999+00:00","values":{"count":-7}}
    "#]]
    .assert_eq(&lines.body);
}

#[test]
pub(crate) fn last_rows_of_many_entities_are_streamed() {
    let harness = Harness::new();
    for round in 0..3 {
        let entity = |number: i32| {
            format!(
                r#"{{"id":"urn:ngsi-ld:Größe:{number:04}","type":"T","n":{{"type":"Integer","value":{}}},"TimeInstant":{{"type":"DateTime","value":"2024-01-01T00:{round:02}:00Z"}},
                "location":{{"type":"geo:point","value":"{},2"}}}}"#,
                number * 10 + round,
                40 + round
            )
        };
        let entities: Vec<String> = (0..1200).map(entity).collect();
        harness.notify(&format!("[{}]", entities.join(",")), &[]);
    }
    let responded = harness.request("GET", "/v2/types/T/attrs/n?lastN=2&lastNScope=entity", &[], "");
    assert!(responded.is_long);
    let all: Json = serde_json::from_str(&responded.body).unwrap();
    let entities = all["entities"].as_array().unwrap();
    assert_eq!(entities.len(), 1200);
    for (number, entity) in (0..).zip(entities) {
        assert_eq!(entity["values"], json!([number * 10 + 1, number * 10 + 2]));
    }
    // The last of those that lie there.
    let near = "/v2/types/T/attrs/n/value?lastN=1&lastNScope=entity&georel=near;maxDistance:100000&geometry=point&coords=40.5,2&limit=20000";
    let responded = harness.request("GET", near, &[], "");
    let all: Json = serde_json::from_str(&responded.body).unwrap();
    let entities = all["values"].as_array().unwrap();
    assert_eq!(entities.len(), 1200);
    for (number, entity) in (0..).zip(entities) {
        assert_eq!(entity["values"], json!([number * 10 + 1]));
    }
}

#[test]
pub(crate) fn rows_are_objects_one_after_the_other() {
    let harness = filled();
    let mut table = String::new();
    for (target, accept) in [
        ("/v2/entities/x?format=rows", "*/*"),
        ("/v2/types/Z%C3%A4hler?format=keyValues&attrs=level,state&limit=3", "application/json"),
        ("/v2/types/Z%C3%A4hler?format=keyValues&attrs=level,state&limit=3", "application/x-ndjson"),
        ("/v2/attrs/level/value?format=keyValues&aggrMethod=last&aggrPeriod=day", "application/json"),
        ("/v2/attrs/level/value?format=rows&aggrMethod=last", "application/json"),
        ("/v2/entities/x?format=keyValues&attrs=level", "text/csv"),
        ("/v2/entities/none?format=keyValues", "application/json"),
        ("/v2/entities/x?format=columns", "application/json"),
    ] {
        let responded = harness.request("GET", target, &[&format!("accept: {accept}")], "");
        writeln!(table, "{target}\n  {} {}", responded.status.as_u16(), responded.body).unwrap();
    }
    expect![[r#"
        /v2/entities/x?format=rows
          200 [{"id":"x","type":"Zähler","time":"2024-01-01T04:59:59.999+00:00","values":{"TimeInstant":"2024-01-01T04:59:59.999+00:00","count":-7,"level":1e+300,"state":"s"}}]
        /v2/types/Z%C3%A4hler?format=keyValues&attrs=level,state&limit=3
          200 [{"id":"urn:m:é","type":"Zähler","time":"2024-01-01T00:00:00.000+00:00","level":10.0,"state":"s"},{"id":"urn:m:é","type":"Zähler","time":"2024-01-01T00:45:00.000+00:00","level":20.5,"state":"s"},{"id":"urn:m:é","type":"Zähler","time":"2024-01-01T02:30:00.000+00:00","level":-4.0,"state":"s"}]
        /v2/types/Z%C3%A4hler?format=keyValues&attrs=level,state&limit=3
          200 {"id":"urn:m:é","type":"Zähler","time":"2024-01-01T00:00:00.000+00:00","level":10.0,"state":"s"}
        {"id":"urn:m:é","type":"Zähler","time":"2024-01-01T00:45:00.000+00:00","level":20.5,"state":"s"}
        {"id":"urn:m:é","type":"Zähler","time":"2024-01-01T02:30:00.000+00:00","level":-4.0,"state":"s"}

        /v2/attrs/level/value?format=keyValues&aggrMethod=last&aggrPeriod=day
          200 [{"id":"urn:m:é","type":"Zähler","time":"2024-01-01T00:00:00.000+00:00","level":6.0},{"id":"x","type":"Zähler","time":"2024-01-01T00:00:00.000+00:00","level":1e+300}]
        /v2/attrs/level/value?format=rows&aggrMethod=last
          200 [{"id":"urn:m:é","type":"Zähler","values":{"level":6.0}},{"id":"x","type":"Zähler","values":{"level":1e+300}}]
        /v2/entities/x?format=keyValues&attrs=level
          200 id,type,time,level↵
        x,Zähler,2024-01-01T04:59:59.999+00:00,1e+300↵

        /v2/entities/none?format=keyValues
          200 []
        /v2/entities/x?format=columns
          400 {"detail":"'columns' is not one of ['rows', 'keyValues'] - 'format'","status":400,"title":"Bad Request","type":"about:blank"}
    "#]].assert_eq(&table.replace("\r\n", "↵\n"));
}

/// What a plain list of rows says.
mod plain {
    use super::*;

    /// A time, and a value where the row has one.
    pub(super) type PlainRow = (i64, Option<i64>);

    fn number(value: f64) -> Json {
        json!(value)
    }

    pub(super) fn of(method: &str, rows: &[PlainRow], all: &[PlainRow], (begin, end): (i64, i64)) -> Json {
        let mut values: Vec<f64> =
            rows.iter().filter_map(|(_, value)| *value).map(|value| value as f64).collect();
        let count = values.len();
        let first = values.first().map_or(Json::Null, |value| number(*value));
        let last = values.last().map_or(Json::Null, |value| number(*value));
        match method {
            "first" => first,
            "last" => last,
            "stddev" if count > 1 => {
                let mean = values.iter().sum::<f64>() / count as f64;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                number((squares / (count - 1) as f64).sqrt())
            }
            "p25" if count > 0 => {
                values.sort_by(f64::total_cmp);
                let place = 0.25 * (count - 1) as f64;
                let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
                number(low + (high - low) * place.fract())
            }
            // Second by second, the value that holds there.
            "timeWeightedAvg" => {
                let held = |at: i64| {
                    all.iter().rfind(|(time, value)| *time <= at && value.is_some()).and_then(|of| of.1)
                };
                let held: Vec<f64> = (begin..end).filter_map(held).map(|value| value as f64).collect();
                if held.is_empty() {
                    Json::Null
                } else {
                    number(held.iter().sum::<f64>() / held.len() as f64)
                }
            }
            _ => Json::Null,
        }
    }
}

fn is_near(one: &Json, other: &Json) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
        _ => one == other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Rows of one or two service paths, late ones too, some in segments; times are seconds of three minutes.
    #[test]
    fn measured_values_are_those_of_a_plain_list(
        rows in proptest::collection::vec((0_i64..180, proptest::option::of(-50_i64..50), any::<bool>(), 0..6), 1..40),
        has_paths in any::<bool>(),
    ) {
        let harness = Harness::new();
        let mut by_path: [Vec<plain::PlainRow>; 2] = [Vec::new(), Vec::new()];
        for (second, value, is_other, seals) in &rows {
            let path = usize::from(has_paths && *is_other);
            let entity = json!([{"id": "é", "type": "T", "n": {"type": "Number", "value": value},
                "TimeInstant": {"type": "DateTime", "value": time::text(second * 1000)}}]);
            harness.notify(&entity.to_string(), &[["fiware-servicepath: /a", "fiware-servicepath: /b"][path]]);
            by_path[path].push((*second, *value));
            if *seals == 0 {
                harness.store().seal().unwrap();
            }
        }
        // Of one moment those come first whose entity came first under their path.
        if has_paths && rows[0].2 {
            by_path.reverse();
        }
        let mut all: Vec<plain::PlainRow> = by_path.concat();
        all.sort_by_key(|(second, _)| *second);
        let mut periods: BTreeMap<i64, Vec<plain::PlainRow>> = BTreeMap::new();
        for row in &all {
            periods.entry(row.0 / 60 * 60).or_default().push(*row);
        }
        for method in ["first", "last", "stddev", "p25", "timeWeightedAvg"] {
            let response = harness.get(&format!("/v2/entities/%C3%A9/attrs/n/value?aggrMethod={method}&aggrPeriod=minute"));
            let response: Json = serde_json::from_str(response.strip_prefix("200 ").unwrap()).unwrap();
            let index: Vec<Json> = periods.keys().map(|begin| json!(time::text(begin * 1000))).collect();
            prop_assert_eq!(response["index"].as_array().unwrap(), &index);
            for ((begin, of), value) in periods.iter().zip(response["values"].as_array().unwrap()) {
                let expected = plain::of(method, of, &all, (*begin, begin + 60));
                prop_assert!(is_near(value, &expected), "{} at {}: {} and not {}", method, begin, value, expected);
            }
        }
    }
}
