//! Queries: shapes, pages, periods, places, and what is wrong with parameters.

use std::{fmt::Write as _, fs, os::unix::fs::FileExt as _};

use expect_test::expect;

use super::harness::Harness;
use crate::{
    query::{
        parameters::Parameters,
        result::{self, Asked, Purpose, Scope},
    },
    settings::SeriesSettings,
};

/// Two rooms and a street, one row an hour.
fn filled() -> Harness {
    let harness = Harness::new();
    for hour in 0..4 {
        let at = format!("2024-01-0{}T{:02}:30:00Z", 1 + hour / 2, hour % 2);
        let room = |id: &str, temperature: f64, pressure: i64| {
            format!(
                r#"{{"id":"{id}","type":"Room","TimeInstant":{{"type":"DateTime","value":"{at}"}},"temperature":{{"type":"Number","value":{temperature}}},"pressure":{{"type":"Integer","value":{pressure}}}}}"#
            )
        };
        let (one, other) =
            (room("Room:1", 20.0 + f64::from(hour), 700 + i64::from(hour)), room("Room:2", 10.5, 600));
        let street = format!(
            r#"{{"id":"Street:1","type":"Street","TimeInstant":{{"type":"DateTime","value":"{at}"}},"Temperature":{{"type":"Number","value":{hour}}},"state":{{"type":"Text","value":"wet"}},"location":{{"type":"geo:point","value":"{},2"}}}}"#,
            40 + hour
        );
        harness.notify(&format!("[{one},{street}]"), &[]);
        if hour == 2 {
            harness.notify(&format!("[{other}]"), &[]);
        }
    }
    harness
}

fn table(harness: &Harness, targets: &[&str]) -> String {
    let mut table = String::new();
    for target in targets {
        writeln!(table, "{target}\n  {}", harness.get(target)).unwrap();
    }
    table.replace("\"TimeInstant\"", "\"TI\"")
}

#[test]
pub(crate) fn every_path_has_its_shape() {
    let paths = [
        "/v2/entities",
        "/v2/entities?type=Street",
        "/v2/entities/Room:2?attrs=temperature,pressure",
        "/v2/entities/Room:2/value?attrs=temperature",
        "/v2/entities/Room:1/attrs/TEMPERATURE?lastN=2",
        "/v2/entities/Room:1/attrs/temperature/value?limit=1&offset=1",
        "/v2/types/Room?attrs=pressure",
        "/v2/types/Room/value?attrs=pressure&id=Room:2",
        "/v2/types/Room/attrs/temperature?lastN=2",
        "/v2/types/Room/attrs/temperature/value?limit=3",
        "/v2/attrs/temperature?lastN=1",
        "/v2/attrs/temperature/value?lastN=1&type=Street",
        "/v2/attrs?lastN=1&attrs=temperature,pressure",
        "/v2/attrs/value?lastN=1&attrs=pressure",
        "/v2/entities/None",
        "/v2/entities/Room:1/attrs/none",
        "/v2/types/None",
        "/v2/attrs/none",
        "/v2/types/Room?fromDate=2030-01-01",
        "/v2/",
        "/version",
    ];
    expect![[r#"
        /v2/entities
          200 [{"id":"Room:1","type":"Room","index":"2024-01-02T01:30:00.000+00:00"},{"id":"Street:1","type":"Street","index":"2024-01-02T01:30:00.000+00:00"},{"id":"Room:2","type":"Room","index":"2024-01-02T00:30:00.000+00:00"}]
        /v2/entities?type=Street
          200 [{"id":"Street:1","type":"Street","index":"2024-01-02T01:30:00.000+00:00"}]
        /v2/entities/Room:2?attrs=temperature,pressure
          200 {"id":"Room:2","type":"Room","index":["2024-01-02T00:30:00.000+00:00"],"attributes":[{"attrName":"pressure","values":[600]},{"attrName":"temperature","values":[10.5]}]}
        /v2/entities/Room:2/value?attrs=temperature
          200 {"index":["2024-01-02T00:30:00.000+00:00"],"attributes":[{"attrName":"temperature","values":[10.5]}]}
        /v2/entities/Room:1/attrs/TEMPERATURE?lastN=2
          200 {"id":"Room:1","type":"Room","attrName":"temperature","index":["2024-01-02T00:30:00.000+00:00","2024-01-02T01:30:00.000+00:00"],"values":[22.0,23.0]}
        /v2/entities/Room:1/attrs/temperature/value?limit=1&offset=1
          200 {"index":["2024-01-01T01:30:00.000+00:00"],"values":[21.0]}
        /v2/types/Room?attrs=pressure
          200 {"type":"Room","entities":[{"id":"Room:1","index":["2024-01-01T00:30:00.000+00:00","2024-01-01T01:30:00.000+00:00","2024-01-02T00:30:00.000+00:00","2024-01-02T01:30:00.000+00:00"],"attributes":[{"attrName":"pressure","values":[700,701,702,703]}]},{"id":"Room:2","index":["2024-01-02T00:30:00.000+00:00"],"attributes":[{"attrName":"pressure","values":[600]}]}]}
        /v2/types/Room/value?attrs=pressure&id=Room:2
          200 {"values":[{"id":"Room:2","index":["2024-01-02T00:30:00.000+00:00"],"attributes":[{"attrName":"pressure","values":[600]}]}]}
        /v2/types/Room/attrs/temperature?lastN=2
          200 {"type":"Room","attrName":"temperature","entities":[{"id":"Room:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[23.0]},{"id":"Room:2","index":["2024-01-02T00:30:00.000+00:00"],"values":[10.5]}]}
        /v2/types/Room/attrs/temperature/value?limit=3
          200 {"values":[{"id":"Room:1","index":["2024-01-01T00:30:00.000+00:00","2024-01-01T01:30:00.000+00:00","2024-01-02T00:30:00.000+00:00"],"values":[20.0,21.0,22.0]}]}
        /v2/attrs/temperature?lastN=1
          200 {"attrName":"temperature","types":[{"type":"Room","entities":[{"id":"Room:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[23.0]}]},{"type":"Street","entities":[{"id":"Street:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[3.0]}]}]}
        /v2/attrs/temperature/value?lastN=1&type=Street
          200 {"values":[{"type":"Street","entities":[{"id":"Street:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[3.0]}]}]}
        /v2/attrs?lastN=1&attrs=temperature,pressure
          200 {"attrs":[{"attrName":"Temperature","types":[{"type":"Street","entities":[{"id":"Street:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[3.0]}]}]},{"attrName":"pressure","types":[{"type":"Room","entities":[{"id":"Room:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[703]}]}]},{"attrName":"temperature","types":[{"type":"Room","entities":[{"id":"Room:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[23.0]}]}]}]}
        /v2/attrs/value?lastN=1&attrs=pressure
          200 {"values":[{"attrName":"pressure","types":[{"type":"Room","entities":[{"id":"Room:1","index":["2024-01-02T01:30:00.000+00:00"],"values":[703]}]}]}]}
        /v2/entities/None
          200 []
        /v2/entities/Room:1/attrs/none
          200 []
        /v2/types/None
          200 []
        /v2/attrs/none
          200 []
        /v2/types/Room?fromDate=2030-01-01
          200 []
        /v2/
          200 {"notify_url":"/v2/notify","entities_url":"/v2/entities","types_url":"/v2/types","attributes_url":"/v2/attrs","query_url":"/v2/op/query"}
        /version
          200 {"version":"1.0.1-dev"}
    "#]].assert_eq(&table(&filled(), &paths));
}

#[test]
pub(crate) fn values_are_put_together_by_period() {
    let paths = [
        "/v2/entities/Room:1/attrs/temperature?aggrMethod=avg",
        "/v2/entities/Room:1/attrs/temperature?aggrMethod=sum&aggrPeriod=day",
        "/v2/entities/Room:1/attrs/pressure?aggrMethod=sum&aggrPeriod=year",
        "/v2/entities/Room:1?attrs=temperature,pressure&aggrMethod=max&aggrPeriod=day&lastN=1",
        "/v2/types/Room/attrs/temperature?aggrMethod=min",
        "/v2/types/Room/attrs/temperature?aggrMethod=count&fromDate=2024-01-02&toDate=2024-01-02T00:30:00Z",
        "/v2/types/Room/attrs/temperature?aggrMethod=avg&aggrPeriod=day",
        "/v2/entities/Street:1/attrs/state?aggrMethod=count",
        "/v2/entities/Street:1/attrs/state?aggrMethod=avg",
        "/v2/entities/Street:1/attrs/TimeInstant?aggrMethod=max",
        "/v2/entities/Room:1?aggrMethod=avg",
        "/v2/entities/Room:1?attrs=temperature&aggrPeriod=day",
        "/v2/types/Room/attrs/temperature?aggrMethod=avg&aggrScope=global",
        "/v2/entities/Room:1/attrs/temperature?aggrMethod=median",
    ];
    expect![[r#"
        /v2/entities/Room:1/attrs/temperature?aggrMethod=avg
          200 {"id":"Room:1","type":"Room","attrName":"temperature","index":[],"values":[21.5]}
        /v2/entities/Room:1/attrs/temperature?aggrMethod=sum&aggrPeriod=day
          200 {"id":"Room:1","type":"Room","attrName":"temperature","index":["2024-01-01T00:00:00.000+00:00","2024-01-02T00:00:00.000+00:00"],"values":[41.0,45.0]}
        /v2/entities/Room:1/attrs/pressure?aggrMethod=sum&aggrPeriod=year
          200 {"id":"Room:1","type":"Room","attrName":"pressure","index":["2024-01-01T00:00:00.000+00:00"],"values":[2806]}
        /v2/entities/Room:1?attrs=temperature,pressure&aggrMethod=max&aggrPeriod=day&lastN=1
          200 {"id":"Room:1","type":"Room","index":["2024-01-02T00:00:00.000+00:00"],"attributes":[{"attrName":"pressure","values":[703]},{"attrName":"temperature","values":[23.0]}]}
        /v2/types/Room/attrs/temperature?aggrMethod=min
          200 {"type":"Room","attrName":"temperature","entities":[{"id":"Room:1","index":["",""],"values":[20.0]},{"id":"Room:2","index":["",""],"values":[10.5]}]}
        /v2/types/Room/attrs/temperature?aggrMethod=count&fromDate=2024-01-02&toDate=2024-01-02T00:30:00Z
          200 {"type":"Room","attrName":"temperature","entities":[{"id":"Room:1","index":["2024-01-02T00:00:00.000+00:00","2024-01-02T00:30:00.000+00:00"],"values":[1]},{"id":"Room:2","index":["2024-01-02T00:00:00.000+00:00","2024-01-02T00:30:00.000+00:00"],"values":[1]}]}
        /v2/types/Room/attrs/temperature?aggrMethod=avg&aggrPeriod=day
          200 {"type":"Room","attrName":"temperature","entities":[{"id":"Room:1","index":["2024-01-01T00:00:00.000+00:00","2024-01-02T00:00:00.000+00:00"],"values":[20.5,22.5]},{"id":"Room:2","index":["2024-01-02T00:00:00.000+00:00"],"values":[10.5]}]}
        /v2/entities/Street:1/attrs/state?aggrMethod=count
          404 {"error":"AggrMethod cannot be applied","description":"AggrMethod cannot be applied on type TEXT and BOOLEAN."}
        /v2/entities/Street:1/attrs/state?aggrMethod=avg
          404 {"error":"AggrMethod cannot be applied","description":"AggrMethod cannot be applied on type TEXT and BOOLEAN."}
        /v2/entities/Street:1/attrs/TimeInstant?aggrMethod=max
          200 {"id":"Street:1","type":"Street","attrName":"TI","index":[],"values":["2024-01-02T01:30:00.000+00:00"]}
        /v2/entities/Room:1?aggrMethod=avg
          400 {"error":"Bad parameters use","description":"Specified aggrMethod = avg but missing attrs parameter."}
        /v2/entities/Room:1?attrs=temperature&aggrPeriod=day
          400 {"error":"Bad parameters use","description":"aggrMethod is compulsory when using aggrPeriod."}
        /v2/types/Room/attrs/temperature?aggrMethod=avg&aggrScope=global
          501 {"error":"Not implemented option","description":"aggrScope and options are not yet implemented."}
        /v2/entities/Room:1/attrs/temperature?aggrMethod=median
          400 {"detail":"'median' is not one of ['count', 'sum', 'avg', 'min', 'max'] - 'aggrMethod'","status":400,"title":"Bad Request","type":"about:blank"}
    "#]].assert_eq(&table(&filled(), &paths));
}

#[test]
pub(crate) fn times_and_places_bound_what_is_found() {
    let paths = [
        "/v2/entities/Room:1/attrs/temperature/value?fromDate=2024-01-01T01:30:00Z&toDate=%222024-01-02T00:30:00%22",
        "/v2/entities/Room:1/attrs/temperature/value?fromDate=yesterday",
        "/v2/entities/Room:1/attrs/temperature/value?lastN=0",
        "/v2/entities/Room:1/attrs/temperature/value?limit=x",
        "/v2/entities/Room:1/attrs/temperature/value?offset=-1",
        "/v2/entities/Room:1/attrs/temperature/value?options=keyValues",
        "/v2/entities/Room:1/attrs/temperature/value?options=no",
        "/v2/types/Room/attrs/pressure?idPattern=room:2",
        "/v2/types/Room/attrs/pressure?idPattern=oom",
        "/v2/types/Room/attrs/pressure?idPattern=(",
        "/v2/types/Room/attrs/pressure?idPattern=(((a%7B100%7D)%7B100%7D)%7B100%7D)",
        "/v2/types/Street/attrs/Temperature/value?georel=near;maxDistance:1000&geometry=point&coords=41,2",
        "/v2/types/Street/attrs/Temperature/value?georel=coveredBy&geometry=box&coords=40.5,1;42.5,3&lastN=1",
        "/v2/types/Street/attrs/Temperature/value?georel=disjoint&geometry=box&coords=40.5,1;42.5,3&aggrMethod=count",
        "/v2/types/Street/attrs/Temperature?georel=equals&geometry=point&coords=1,2",
        "/v2/types/Street/attrs/Temperature?georel=near&geometry=point&coords=1,2",
        "/v2/types/Street/attrs/Temperature?geometry=point",
        "/v2/unknown",
        "/v2/notify",
    ];
    expect![[r#"
        /v2/entities/Room:1/attrs/temperature/value?fromDate=2024-01-01T01:30:00Z&toDate=%222024-01-02T00:30:00%22
          200 {"index":["2024-01-01T01:30:00.000+00:00","2024-01-02T00:30:00.000+00:00"],"values":[21.0,22.0]}
        /v2/entities/Room:1/attrs/temperature/value?fromDate=yesterday
          422 {"error":"<class 'exceptions.exceptions.InvalidParameterValue'>","description":"The parameter value 'yesterday' for parameter fromDate is not valid."}
        /v2/entities/Room:1/attrs/temperature/value?lastN=0
          400 {"detail":"0 is less than the minimum of 1 - 'lastN'","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/entities/Room:1/attrs/temperature/value?limit=x
          400 {"detail":"Wrong type, expected 'integer' for query parameter 'limit'","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/entities/Room:1/attrs/temperature/value?offset=-1
          400 {"detail":"-1 is less than the minimum of 0 - 'offset'","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/entities/Room:1/attrs/temperature/value?options=keyValues
          501 {"error":"Not implemented option","description":"aggrScope and options are not yet implemented."}
        /v2/entities/Room:1/attrs/temperature/value?options=no
          400 {"detail":"'no' is not one of ['keyValues', 'values', 'count', 'metadata', 'timeAttribute'] - 'options'","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/types/Room/attrs/pressure?idPattern=room:2
          200 {"type":"Room","attrName":"pressure","entities":[{"id":"Room:2","index":["2024-01-02T00:30:00.000+00:00"],"values":[600]}]}
        /v2/types/Room/attrs/pressure?idPattern=oom
          200 []
        /v2/types/Room/attrs/pressure?idPattern=(
          400 {"detail":"idPattern `(`: it is no regular expression, or has look-around or back references","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/types/Room/attrs/pressure?idPattern=(((a%7B100%7D)%7B100%7D)%7B100%7D)
          400 {"detail":"idPattern `(((a{100}){100}){100})`: it takes more than 1048576 bytes; repeat less in it","status":400,"title":"Bad Request","type":"about:blank"}
        /v2/types/Street/attrs/Temperature/value?georel=near;maxDistance:1000&geometry=point&coords=41,2
          200 {"values":[{"id":"Street:1","index":["2024-01-01T01:30:00.000+00:00"],"values":[1.0]}]}
        /v2/types/Street/attrs/Temperature/value?georel=coveredBy&geometry=box&coords=40.5,1;42.5,3&lastN=1
          200 {"values":[{"id":"Street:1","index":["2024-01-02T00:30:00.000+00:00"],"values":[2.0]}]}
        /v2/types/Street/attrs/Temperature/value?georel=disjoint&geometry=box&coords=40.5,1;42.5,3&aggrMethod=count
          200 {"values":[{"id":"Street:1","index":["",""],"values":[2]}]}
        /v2/types/Street/attrs/Temperature?georel=equals&geometry=point&coords=1,2
          422 {"error":"<class 'exceptions.exceptions.InvalidParameterValue'>","description":"The parameter value 'equals' for parameter georel is not valid."}
        /v2/types/Street/attrs/Temperature?georel=near&geometry=point&coords=1,2
          400 {"error":"ValueError","description":"Invalid geographical query parameters"}
        /v2/types/Street/attrs/Temperature?geometry=point
          400 {"error":"ValueError","description":"Invalid geographical query parameters"}
        /v2/unknown
          404 {"detail":"The requested URL was not found on the server. GET /v2 lists what there is.","status":404,"title":"Not Found","type":"about:blank"}
        /v2/notify
          405 {"detail":"The method is not allowed for the requested URL.","status":405,"title":"Method Not Allowed","type":"about:blank"}
    "#]].assert_eq(&table(&filled(), &paths));
}

#[test]
pub(crate) fn aggregates_of_entities_are_rows_of_a_page() {
    let harness = Harness::new();
    for (id, value) in [("b", 2), ("ä", 4), ("a", 1), ("c", 3)] {
        for hour in [1, 2] {
            harness.notify(
                &format!(r#"[{{"id":"{id}","type":"T","v":{{"type":"Number","value":{value}}},"observedAt":"2024-01-01T0{hour}:00:00Z"}}]"#),
                &[],
            );
        }
    }
    let values = |query: &str| {
        let body = harness.get(&format!("/v2/types/T/attrs/v/value?aggrMethod=sum&{query}"));
        let part = |text: &str| text.split_once("\"values\":[").map(|(_, rest)| rest.replace("]}", ""));
        let all = body.split("\"index\"").skip(1).filter_map(part);
        all.map(|text| text.split(',').next().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(values(""), "2.0 4.0 6.0 8.0");
    assert_eq!(values("limit=2"), "2.0 4.0");
    assert_eq!(values("limit=2&offset=1"), "4.0 6.0");
    assert_eq!(values("lastN=3"), "2.0 4.0 6.0");
    assert_eq!(values("lastN=3&limit=1"), "2.0");
    assert_eq!(values("limit=1&offset=4"), "");
    assert_eq!(values("lastN=1&lastNScope=entity"), "2.0 4.0 6.0 8.0");
}

/// Where no attributes are named, all of its own make a query long.
#[test]
fn a_wide_entity_is_more_than_one_that_is_not() {
    let harness = Harness::new();
    let mut wide = String::new();
    for place in 0..2_000 {
        write!(wide, r#","a{place}":{{"value":{place}}}"#).unwrap();
    }
    harness.notify(
        &format!(r#"[{{"id":"wide","type":"W"{wide}}},{{"id":"narrow","type":"N","a":{{"value":1}}}}]"#),
        &[],
    );
    let read = harness.store().read();
    let cost = |id: &str, query: &str| {
        let scope = Scope { tenant: String::new(), path: None, role: None, purpose: Purpose::Read };
        let parameters = Parameters::read(Some(query), None).ok().unwrap();
        result::cost(&read, &scope, Asked::Entity(id), &parameters)
    };
    let narrow = cost("narrow", "");
    assert!(cost("wide", "") > narrow * 20, "{narrow}");
    assert_eq!(cost("wide", "attrs=a1,a2"), narrow);
    assert_eq!(cost("none", ""), narrow);
}

#[test]
fn names_that_are_words_of_paths_are_names_too() {
    let harness = Harness::new();
    let entity = r#"[{"id":"value","type":"attrs","value":{"type":"Number","value":1.5},"observedAt":"2024-01-01T00:00:00Z"}]"#;
    harness.notify(entity, &[]);
    let mut table = String::new();
    for target in [
        "/v2/entities/value",
        "/v2/entities/value/attrs/value",
        "/v2/entities/value/attrs/value/value",
        "/v2/entities/attrs/value",
        "/v2/types/attrs/value",
        "/v2/types/attrs/attrs/value",
        "/v2/types/attrs/attrs/value/value",
        "/v2/attrs/value",
        "/v2/attrs/value/value",
    ] {
        writeln!(table, "{target}\n{}", harness.get(target)).unwrap();
    }
    expect![[r#"
        /v2/entities/value
        200 {"id":"value","type":"attrs","index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"value","values":[1.5]}]}
        /v2/entities/value/attrs/value
        200 {"id":"value","type":"attrs","attrName":"value","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}
        /v2/entities/value/attrs/value/value
        200 {"index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}
        /v2/entities/attrs/value
        200 []
        /v2/types/attrs/value
        200 {"values":[{"id":"value","index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"value","values":[1.5]}]}]}
        /v2/types/attrs/attrs/value
        200 {"type":"attrs","attrName":"value","entities":[{"id":"value","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}]}
        /v2/types/attrs/attrs/value/value
        200 {"values":[{"id":"value","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}]}
        /v2/attrs/value
        200 {"values":[{"attrName":"value","types":[{"type":"attrs","entities":[{"id":"value","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}]}]}]}
        /v2/attrs/value/value
        200 {"values":[{"type":"attrs","entities":[{"id":"value","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.5]}]}]}
    "#]]
    .assert_eq(&table);
}

#[test]
pub(crate) fn an_id_of_two_types_is_ambiguous() {
    let harness = Harness::new();
    harness.notify(r#"[{"id":"x","type":"A","a":{"value":1}},{"id":"x","type":"B","a":{"value":2}}]"#, &[]);
    expect![[r#"400 {"error":"<class 'exceptions.exceptions.AmbiguousNGSIIdError'>","description":"There are multiple entities with the given entity_id x. Please specify entity_type."}"#]].assert_eq(&harness.get("/v2/entities/x"));
    assert!(harness.get("/v2/entities/x/attrs/a/value?type=B").ends_with("\"values\":[2.0]}"));
    // A type that is named twice is one.
    assert!(harness.get("/v2/entities/x/attrs/a/value?type=B,B").ends_with("\"values\":[2.0]}"));
}

#[test]
pub(crate) fn an_id_whose_other_type_has_no_rows_any_more_is_not_ambiguous() {
    let harness = Harness::new();
    harness.notify(r#"[{"id":"x","type":"A","a":{"value":1}},{"id":"x","type":"B","a":{"value":2}}]"#, &[]);
    assert_eq!(harness.request("DELETE", "/v2/entities/x?type=A", &[], "").status.as_u16(), 204);
    assert!(harness.get("/v2/entities/x/attrs/a/value").ends_with("\"values\":[2.0]}"));
    // Both have rows again, one of them before the time that is named.
    harness.notify(r#"[{"id":"x","type":"A","a":{"value":3},"observedAt":"2001-01-01T00:00:00Z"}]"#, &[]);
    let refused = harness.request("DELETE", "/v2/entities/x?fromDate=2002-01-01T00:00:00Z", &[], "");
    assert_eq!(refused.status.as_u16(), 409, "{}", refused.body);
    assert!(harness.get("/v2/entities/x/attrs/a/value?type=B").ends_with("\"values\":[2.0]}"));
}

#[test]
pub(crate) fn last_values_are_queried_by_a_body() {
    let harness = filled();
    let mut table = String::new();
    for body in [
        r#"{"entities":[{"type":"Room","id":"Room:1"}],"attrs":["temperature","none"]}"#,
        r#"{"entities":[{"type":"Street","id":"Street:1"},{"type":"Room","id":"Room:2"}]}"#,
        r#"{"entities":[{"type":"Room","id":"Room:9"}],"attrs":[]}"#,
        r#"{"entities":[{"type":"Room"}]}"#,
        r#"{"entities":[{"id":"Room:1"}]}"#,
        r#"{"attrs":[]}"#,
        "x",
        r#"{"entities":[],"expression":{}}"#,
    ] {
        let responded = harness.request("POST", "/v2/op/query", &[], body);
        writeln!(table, "{} {}", responded.status.as_u16(), responded.body).unwrap();
    }
    expect![[r#"
        200 [{"id":"Room:1","type":"Room","temperature":{"type":"Number","value":23.0},"dateModified":{"type":"DateTime","value":"2024-01-02T01:30:00.000+00:00"}}]
        200 [{"id":"Street:1","type":"Street","Temperature":{"type":"Number","value":3.0},"TimeInstant":{"type":"DateTime","value":"2024-01-02T01:30:00.000+00:00"},"location":{"type":"geo:point","value":{"type":"Point","coordinates":[2.0,43.0]}},"location_centroid":{"type":"geo:point","value":"43.0, 2.0"},"state":{"type":"Text","value":"wet"},"dateModified":{"type":"DateTime","value":"2024-01-02T01:30:00.000+00:00"}},{"id":"Room:2","type":"Room","TimeInstant":{"type":"DateTime","value":"2024-01-02T00:30:00.000+00:00"},"pressure":{"type":"Integer","value":600},"temperature":{"type":"Number","value":10.5},"dateModified":{"type":"DateTime","value":"2024-01-02T00:30:00.000+00:00"}}]
        200 []
        400 "Entity id is required"
        400 "Entity type is required"
        400 {"detail":"'entities' is a required property","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"Request body is not valid JSON","status":400,"title":"Bad Request","type":"about:blank"}
        400 "expression is Not Supported"
    "#]].assert_eq(&table);
}

/// It was taken for a list of types.
#[test]
pub(crate) fn a_type_that_a_body_names_has_commas() {
    let harness = Harness::new();
    for type_name in ["a,b", "a"] {
        let entity = format!(
            r#"[{{"id":"e","type":"{type_name}","x":{{"type":"Text","value":"of {type_name}"}},
                "observedAt":"2024-05-06T07:00:00Z"}}]"#
        );
        harness.notify(&entity, &[]);
    }
    let ask = |type_name: &str| {
        let body = format!(r#"{{"entities":[{{"id":"e","type":"{type_name}"}}]}}"#);
        harness.request("POST", "/v2/op/query", &[], &body).body
    };
    assert!(ask("a,b").contains(r#""type":"a,b","x":{"type":"Text","value":"of a,b"}"#), "{}", ask("a,b"));
    assert_eq!(ask("b,a"), "[]");
    let whole = harness.get("/v2/entities/e/attrs/x/value?type=a,b");
    assert!(whole.ends_with(r#""values":["of a,b"]}"#), "{whole}");
}

#[test]
pub(crate) fn last_values_have_no_two_members_of_one_name() {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"x","type":"T","dateModified":{"type":"DateTime","value":"2023-01-01T00:00:00Z"},"dateModified_":{"type":"Number","value":1},
        "TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00Z"}}]"#,
        &[],
    );
    // Fields of lines may have any name.
    let body = "L,id=y type=\"rain\" 1704067200000";
    let written = harness.request("POST", "/write?precision=ms", &[], body);
    assert_eq!(written.status.as_u16(), 204, "{}", written.body);
    let body = r#"{"entities":[{"type":"T","id":"x"},{"type":"L","id":"y"}]}"#;
    expect![[r#"[{"id":"x","type":"T","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00.000+00:00"},"dateModified__":{"type":"DateTime","value":"2023-01-01T00:00:00.000+00:00"},"dateModified_":{"type":"Number","value":1.0},"dateModified":{"type":"DateTime","value":"2024-01-01T00:00:00.000+00:00"}},{"id":"y","type":"L","type_":{"type":"Text","value":"rain"},"dateModified":{"type":"DateTime","value":"2024-01-01T00:00:00.000+00:00"}}]"#]]
    .assert_eq(&harness.request("POST", "/v2/op/query", &[], body).body);
    assert_eq!(
        harness.get("/ngsi-ld/v1/temporal/entities/y?options=temporalValues"),
        r#"200 {"id":"y","type":"L","type_":{"type":"Property","values":[["rain","2024-01-01T00:00:00Z"]]}}"#
    );
    assert_eq!(
        harness.get("/ngsi-ld/v1/temporal/entities/y?aggrMethods=totalCount&timerel=after&timeAt=2024-01-01T00:00:00Z&aggrPeriodDuration=P1D"),
        r#"200 {"id":"y","type":"L","type_":{"type":"Property","totalCount":[[1,"2024-01-01T00:00:00Z","2024-01-02T00:00:00Z"]]}}"#
    );
}

#[test]
pub(crate) fn rows_of_two_service_paths_are_one_entity() {
    let harness = Harness::new();
    for (path, hour) in [("/a", 3), ("/b", 1), ("/a", 2), ("/b", 4)] {
        let entity = format!(
            r#"[{{"id":"x","type":"T","n":{{"type":"Integer","value":{hour}}},"observedAt":"2024-01-01T0{hour}:00:00Z"}}]"#
        );
        harness.notify(&entity, &[&format!("fiware-servicepath: {path}")]);
    }
    let found = harness.get("/v2/entities/x/attrs/n/value?lastN=3");
    assert!(found.ends_with("\"values\":[2,3,4]}"), "{found}");
    let summed = harness.get("/v2/entities/x/attrs/n/value?aggrMethod=sum&aggrPeriod=day");
    assert!(summed.ends_with("\"values\":[10]}"), "{summed}");
}

#[test]
pub(crate) fn a_long_result_is_written_in_parts() {
    let harness = Harness::new();
    for part in 0..4 {
        let entities: Vec<String> = (0..5000)
            .map(|at| {
                let at = part * 5000 + at;
                format!(r#"{{"id":"x","type":"T","n":{{"type":"Integer","value":{at}}},"TimeInstant":{{"value":"{}"}}}}"#, crate::ngsi::time::text(at * 1000))
            })
            .collect();
        harness.notify(&format!("[{}]", entities.join(",")), &[]);
    }
    let short = harness.request("GET", "/v2/entities/x/attrs/n/value", &[], "");
    assert_eq!(short.body.matches("+00:00").count(), 10_000, "the limit by default");
    for target in ["/v2/entities/x/attrs/n/value?limit=1000000", "/v2/entities/x/attrs/n/value?limit=2000000"]
    {
        let long = harness.request("GET", target, &[], "");
        assert_eq!(long.body.matches("+00:00").count(), 20_000);
        assert!(long.body.ends_with(",19998,19999]}"));
    }
    let many = harness.request("GET", "/v2/entities/x?attrs=n&limit=200000", &[], "");
    assert!(
        many.is_long && many.body.ends_with(",19998,19999]}]}"),
        "{}",
        &many.body[many.body.len() - 60..]
    );
}

/// All other requests waited for them.
#[test]
pub(crate) fn last_values_of_many_entities_are_written_in_parts() {
    let harness = Harness::new();
    harness.notify(r#"[{"id":"e","type":"T","x":{"type":"Text","value":"y"}}]"#, &[]);
    let ask = |count: usize| {
        let entities = vec![r#"{"id":"e","type":"T"}"#; count].join(",");
        harness.request("POST", "/v2/op/query", &[], &format!(r#"{{"entities":[{entities}]}}"#))
    };
    let (one, many) = (ask(1), ask(600));
    assert!(many.is_long && many.status.is_success(), "{}", many.body);
    let entity = &one.body[1..one.body.len() - 1];
    assert!(entity.starts_with(r#"{"id":"e","type":"T","x":"#), "{entity}");
    assert_eq!(many.body, format!("[{}]", vec![entity; 600].join(",")));
    let faulty = format!(r#"{{"entities":[{}{{"id":"e"}}]}}"#, r#"{"id":"e","type":"T"},"#.repeat(600));
    let refused = harness.request("POST", "/v2/op/query", &[], &faulty);
    assert_eq!((refused.status.as_u16(), &*refused.body), (400, "\"Entity type is required\""));
}

#[test]
pub(crate) fn many_entities_are_listed_in_parts() {
    let harness = Harness::new();
    let entity = |number: i32| {
        format!(
            r#"{{"id":"urn:ngsi-ld:Größe:{number:05}","type":"T","n":{{"type":"Number","value":1}},"TimeInstant":{{"type":"DateTime","value":"2024-01-01T00:00:{:02}Z"}}}}"#,
            number % 60
        )
    };
    let entities: Vec<String> = (0..5_000).map(entity).collect();
    harness.notify(&format!("[{}]", entities.join(",")), &[]);
    let responded = harness.request("GET", "/v2/entities?options=count", &[], "");
    assert!(responded.is_long);
    assert!(responded.headers.contains(&("fiware-total-count".to_owned(), "5000".to_owned())));
    let all: serde_json::Value = serde_json::from_str(&responded.body).unwrap();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 5_000);
    assert_eq!(all[0]["index"], "2024-01-01T00:00:59.000+00:00");
    assert!(all.is_sorted_by(|one, next| one["index"].as_str() >= next["index"].as_str()));
    assert_eq!(
        harness.request("GET", "/v2/entities?limit=7&offset=4998", &[], "").body.matches("\"id\"").count(),
        2
    );
}

/// It ended as if that were all, which a client of CSV could not see.
#[test]
fn a_response_that_cannot_be_read_to_its_end_does_not_look_whole() {
    let directory = tempfile::tempdir().unwrap();
    let harness = Harness::open(directory.path(), SeriesSettings::default());
    let line = |second: u64| {
        let (number, text) = (second * 7919 % 10_007, second * 104_729 % 1_000_003);
        format!("T,id=a n={number}i,s=\"{text}\" {second}")
    };
    let lines: Vec<String> = (0..40_000).map(line).collect();
    let written = harness.request("POST", "/write?precision=s", &[], &lines.join("\n"));
    assert_eq!(written.status.as_u16(), 204, "{}", written.body);
    harness.store().seal().unwrap();
    let mut files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
    let segment = files.find(|file| file.file_name().to_string_lossy().starts_with("segment-")).unwrap();
    let file = fs::File::options().write(true).open(segment.path()).unwrap();
    file.write_all_at(&[0xff; 64], file.metadata().unwrap().len() / 4 * 3).unwrap();
    let (responded, body) = harness.request_part("/v2/types/T?limit=1000000", &["accept: text/csv"]);
    assert!(responded.status.is_success() && responded.is_cut);
    assert!(body.starts_with(b"id,type,time") && body.len() > 100_000, "{}", body.len());
}
