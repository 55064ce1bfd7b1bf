//! Entities, rows, points and summaries.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use prony_source::{ReservedNames, Source as _};

use crate::{settings::SeriesSettings, tests::harness::Harness};

/// Two rooms, one of them under two service paths, with values of all kinds.
pub(super) fn rooms() -> Harness {
    let harness = Harness::new();
    fill(&harness);
    harness
}

fn fill(harness: &Harness) {
    let room = |id: &str, minute: u32, temperature: &str| {
        format!(
            r#"[{{"id":"{id}","type":"Room","TimeInstant":{{"type":"DateTime","value":"2024-05-06T07:{minute:02}:00Z"}},
                "temperature":{{"type":"Number","value":{temperature}}},"pressure":{{"type":"Integer","value":{}}},
                "open":{{"type":"Boolean","value":true}},"name":{{"type":"Text","value":"\"{id}\" {minute}"}},
                "built":{{"type":"DateTime","value":"1999-01-02T03:04:05Z"}},"size":{{"type":"StructuredValue","value":{{"x":[1,2]}}}},
                "location":{{"type":"geo:point","value":"40,2"}}}}]"#,
            700 + minute
        )
    };
    for minute in [0, 1, 30, 2] {
        harness.notify(&room("Room:1", minute, &format!("2{minute}.5")), &[]);
    }
    harness.notify(&room("Room:2", 5, "null"), &["fiware-servicepath: /a/b"]);
    harness.notify(&room("Room:2", 6, "1e300"), &["fiware-servicepath: /c"]);
    harness.notify(
        r#"[{"id":"Room:1","type":"Room","observedAt":"2024-05-06T08:00:00Z","other":{"type":"Number","value":3}}]"#,
        &[],
    );
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check(harness: &Harness, queries: &[&str], expected: Expect) {
    let mut text = String::new();
    for query in queries {
        writeln!(text, "{query}\n  {}", harness.ask(query)).unwrap();
    }
    expected.assert_eq(&text);
}

/// They were no JSON.
#[test]
fn objects_of_which_everything_is_left_out_are_empty() {
    let harness = rooms();
    assert_eq!(
        harness.ask("{ rooms(limit: 1) { id @skip(if: true) } seriesTypes { name @include(if: false) } }"),
        r#"{"data":{"rooms":[{}],"seriesTypes":[{}]}}"#
    );
    let lists = r#"{ room(id: "Room:2", servicePath: "/c") {
        rows { time @skip(if: true) } temperature { time @skip(if: true) } temperature_aggregate { min @skip(if: true) }
    } }"#;
    assert_eq!(
        harness.ask(lists),
        r#"{"data":{"room":{"rows":[{}],"temperature":[{}],"temperature_aggregate":[{}]}}}"#
    );
}

#[test]
pub(crate) fn entities_have_their_values_over_time() {
    check(
        &rooms(),
        &[
            "{ rooms { id type servicePath firstTime lastTime __typename } }",
            r#"{ room(id: "Room:1") { temperature { time value } pressure(last: 1) { value __typename } } none: room(id: "x") { id } }"#,
            r#"{ rooms(where: {id: {eq: "Room:2"}, servicePath: {like: "/a%"}}) { rows { id servicePath time temperature pressure open name built size location location_centroid other __typename } } }"#,
            r#"{ room(id: "Room:2", servicePath: "/c") { temperature { value } open { value } name { value } built { value } size { value } location { value } } }"#,
            r#"{ rooms(where: {or: [{id: {in: ["Room:2", "y"]}}, {not: {id: {ilike: "room:%"}}}]}, limit: 1, offset: 1) { id servicePath } }"#,
            "{ rooms(where: {id: {is_null: true}}) { id } a: rooms(where: {id: null}, limit: 1) { id } b: rooms(limit: 0) { id } }",
        ],
        expect![[r#"
            { rooms { id type servicePath firstTime lastTime __typename } }
              {"data":{"rooms":[{"id":"Room:1","type":"Room","servicePath":"/","firstTime":"2024-05-06T07:00:00.000+00:00","lastTime":"2024-05-06T08:00:00.000+00:00","__typename":"Room"},{"id":"Room:2","type":"Room","servicePath":"/a/b","firstTime":"2024-05-06T07:05:00.000+00:00","lastTime":"2024-05-06T07:05:00.000+00:00","__typename":"Room"},{"id":"Room:2","type":"Room","servicePath":"/c","firstTime":"2024-05-06T07:06:00.000+00:00","lastTime":"2024-05-06T07:06:00.000+00:00","__typename":"Room"}]}}
            { room(id: "Room:1") { temperature { time value } pressure(last: 1) { value __typename } } none: room(id: "x") { id } }
              {"data":{"room":{"temperature":[{"time":"2024-05-06T07:00:00.000+00:00","value":20.5},{"time":"2024-05-06T07:01:00.000+00:00","value":21.5},{"time":"2024-05-06T07:02:00.000+00:00","value":22.5},{"time":"2024-05-06T07:30:00.000+00:00","value":230.5},{"time":"2024-05-06T08:00:00.000+00:00","value":null}],"pressure":[{"value":null,"__typename":"SeriesBigIntPoint"}]},"none":null}}
            { rooms(where: {id: {eq: "Room:2"}, servicePath: {like: "/a%"}}) { rows { id servicePath time temperature pressure open name built size location location_centroid other __typename } } }
              {"data":{"rooms":[{"rows":[{"id":"Room:2","servicePath":"/a/b","time":"2024-05-06T07:05:00.000+00:00","temperature":null,"pressure":705,"open":true,"name":"\"Room:2\" 5","built":"1999-01-02T03:04:05.000+00:00","size":{"x":[1,2]},"location":{"type":"Point","coordinates":[2.0,40.0]},"location_centroid":"40.0, 2.0","other":null,"__typename":"RoomRow"}]}]}}
            { room(id: "Room:2", servicePath: "/c") { temperature { value } open { value } name { value } built { value } size { value } location { value } } }
              {"data":{"room":{"temperature":[{"value":1e+300}],"open":[{"value":true}],"name":[{"value":"\"Room:2\" 6"}],"built":[{"value":"1999-01-02T03:04:05.000+00:00"}],"size":[{"value":{"x":[1,2]}}],"location":[{"value":{"type":"Point","coordinates":[2.0,40.0]}}]}}}
            { rooms(where: {or: [{id: {in: ["Room:2", "y"]}}, {not: {id: {ilike: "room:%"}}}]}, limit: 1, offset: 1) { id servicePath } }
              {"data":{"rooms":[{"id":"Room:2","servicePath":"/c"}]}}
            { rooms(where: {id: {is_null: true}}) { id } a: rooms(where: {id: null}, limit: 1) { id } b: rooms(limit: 0) { id } }
              {"data":{"rooms":[],"a":[{"id":"Room:1"}],"b":[]}}
        "#]],
    );
}

#[test]
pub(crate) fn lists_are_ranges_and_pages_of_them() {
    let of_room = |fields: &str| format!(r#"{{ room(id: "Room:1") {{ {fields} }} }}"#);
    let queries = [
        r#"rows(from: "2024-05-06T07:01:00Z", to: "2024-05-06T07:30:00Z") { time }"#,
        "rows(last: 2) { time other } a: rows(last: 2, offset: 1) { time } b: rows(limit: 2, offset: 3) { time } c: rows(last: 3, limit: 1) { time }",
        r#"rows(from: "2025") { time } a: rows(from: "2024-05-06T08:00", to: "2024") { time }"#,
        r#"rows(from: "yesterday") { time }"#,
        "rows(limit: 10001) { time }",
        "rows(limit: -1) { time }",
        "rows(last: -1) { time }",
        "temperature_aggregate { from count sum avg min max __typename } built_aggregate { from count min max }",
        "temperature_aggregate(period: MINUTE) { from avg } pressure_aggregate(period: HOUR) { from count sum avg min max }",
        "temperature_aggregate(period: MINUTE, last: 2) { from } a: temperature_aggregate(period: MINUTE, limit: 1, offset: 1) { from } b: temperature_aggregate(period: MINUTE, last: 2, offset: 1) { from }",
        r#"temperature_aggregate(from: "2024-05-06T07:01:00Z", period: YEAR) { from count } other_aggregate { count } a: other_aggregate(to: "2024-05-06T07:59:00Z") { count }"#,
    ]
    .map(of_room);
    check(
        &rooms(),
        &queries.each_ref().map(String::as_str),
        expect![[r#"
        { room(id: "Room:1") { rows(from: "2024-05-06T07:01:00Z", to: "2024-05-06T07:30:00Z") { time } } }
          {"data":{"room":{"rows":[{"time":"2024-05-06T07:01:00.000+00:00"},{"time":"2024-05-06T07:02:00.000+00:00"},{"time":"2024-05-06T07:30:00.000+00:00"}]}}}
        { room(id: "Room:1") { rows(last: 2) { time other } a: rows(last: 2, offset: 1) { time } b: rows(limit: 2, offset: 3) { time } c: rows(last: 3, limit: 1) { time } } }
          {"data":{"room":{"rows":[{"time":"2024-05-06T07:30:00.000+00:00","other":null},{"time":"2024-05-06T08:00:00.000+00:00","other":3.0}],"a":[{"time":"2024-05-06T07:02:00.000+00:00"},{"time":"2024-05-06T07:30:00.000+00:00"}],"b":[{"time":"2024-05-06T07:30:00.000+00:00"},{"time":"2024-05-06T08:00:00.000+00:00"}],"c":[{"time":"2024-05-06T08:00:00.000+00:00"}]}}}
        { room(id: "Room:1") { rows(from: "2025") { time } a: rows(from: "2024-05-06T08:00", to: "2024") { time } } }
          {"data":{"room":{"rows":[],"a":[]}}}
        { room(id: "Room:1") { rows(from: "yesterday") { time } } }
          {"data":{"room":null},"errors":[{"message":"`from` is \"yesterday\", and no time as \"2024-05-06T07:08:09Z\"","locations":[{"line":1,"column":24}],"path":["room"],"extensions":{"code":"BAD_USER_INPUT"}}]}
        { room(id: "Room:1") { rows(limit: 10001) { time } } }
          {"data":{"room":null},"errors":[{"message":"`limit` is 10001, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":24}],"path":["room"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
        { room(id: "Room:1") { rows(limit: -1) { time } } }
          {"data":{"room":null},"errors":[{"message":"`limit` is -1, it must be a whole number from 0","locations":[{"line":1,"column":24}],"path":["room"],"extensions":{"code":"BAD_USER_INPUT"}}]}
        { room(id: "Room:1") { rows(last: -1) { time } } }
          {"data":{"room":null},"errors":[{"message":"`last` is -1, it must be a whole number from 0","locations":[{"line":1,"column":24}],"path":["room"],"extensions":{"code":"BAD_USER_INPUT"}}]}
        { room(id: "Room:1") { temperature_aggregate { from count sum avg min max __typename } built_aggregate { from count min max } } }
          {"data":{"room":{"temperature_aggregate":[{"from":"2024-05-06T07:00:00.000+00:00","count":4,"sum":295.0,"avg":73.75,"min":20.5,"max":230.5,"__typename":"SeriesSummary"}],"built_aggregate":[{"from":"2024-05-06T07:00:00.000+00:00","count":4,"min":"1999-01-02T03:04:05.000+00:00","max":"1999-01-02T03:04:05.000+00:00"}]}}}
        { room(id: "Room:1") { temperature_aggregate(period: MINUTE) { from avg } pressure_aggregate(period: HOUR) { from count sum avg min max } } }
          {"data":{"room":{"temperature_aggregate":[{"from":"2024-05-06T07:00:00.000+00:00","avg":20.5},{"from":"2024-05-06T07:01:00.000+00:00","avg":21.5},{"from":"2024-05-06T07:02:00.000+00:00","avg":22.5},{"from":"2024-05-06T07:30:00.000+00:00","avg":230.5}],"pressure_aggregate":[{"from":"2024-05-06T07:00:00.000+00:00","count":4,"sum":2833,"avg":708.25,"min":700,"max":730}]}}}
        { room(id: "Room:1") { temperature_aggregate(period: MINUTE, last: 2) { from } a: temperature_aggregate(period: MINUTE, limit: 1, offset: 1) { from } b: temperature_aggregate(period: MINUTE, last: 2, offset: 1) { from } } }
          {"data":{"room":{"temperature_aggregate":[{"from":"2024-05-06T07:02:00.000+00:00"},{"from":"2024-05-06T07:30:00.000+00:00"}],"a":[{"from":"2024-05-06T07:01:00.000+00:00"}],"b":[{"from":"2024-05-06T07:01:00.000+00:00"},{"from":"2024-05-06T07:02:00.000+00:00"}]}}}
        { room(id: "Room:1") { temperature_aggregate(from: "2024-05-06T07:01:00Z", period: YEAR) { from count } other_aggregate { count } a: other_aggregate(to: "2024-05-06T07:59:00Z") { count } } }
          {"data":{"room":{"temperature_aggregate":[{"from":"2024-01-01T00:00:00.000+00:00","count":3}],"other_aggregate":[{"count":1}],"a":[]}}}
    "#]],
    );
}

#[test]
pub(crate) fn values_are_measured_by_reading_them() {
    let of_room = |fields: &str| format!(r#"{{ room(id: "Room:1") {{ {fields} }} }}"#);
    let queries = [
        "temperature_aggregate { count first last stddev p50 p90 p95 p99 timeWeightedAvg } built_aggregate { first last }",
        "pressure_aggregate(period: MINUTE, last: 2) { from last first count } a: pressure_aggregate(period: MINUTE, limit: 1, offset: 1) { last } b: pressure_aggregate(period: MINUTE, last: 1, offset: 1) { last }",
        r#"temperature_aggregate(period: HOUR, to: "2024-05-06T07:40:00Z") { timeWeightedAvg avg __typename } other_aggregate(period: MINUTE) { from stddev p50 }"#,
    ]
    .map(of_room);
    check(
        &rooms(),
        &queries.each_ref().map(String::as_str),
        expect![[r#"
            { room(id: "Room:1") { temperature_aggregate { count first last stddev p50 p90 p95 p99 timeWeightedAvg } built_aggregate { first last } } }
              {"data":{"room":{"temperature_aggregate":[{"count":4,"first":20.5,"last":230.5,"stddev":104.50318974398182,"p50":22.0,"p90":168.1,"p95":199.29999999999998,"p99":224.26,"timeWeightedAvg":22.4}],"built_aggregate":[{"first":"1999-01-02T03:04:05.000+00:00","last":"1999-01-02T03:04:05.000+00:00"}]}}}
            { room(id: "Room:1") { pressure_aggregate(period: MINUTE, last: 2) { from last first count } a: pressure_aggregate(period: MINUTE, limit: 1, offset: 1) { last } b: pressure_aggregate(period: MINUTE, last: 1, offset: 1) { last } } }
              {"data":{"room":{"pressure_aggregate":[{"from":"2024-05-06T07:02:00.000+00:00","last":702,"first":702,"count":1},{"from":"2024-05-06T07:30:00.000+00:00","last":730,"first":730,"count":1}],"a":[{"last":701}],"b":[{"last":702}]}}}
            { room(id: "Room:1") { temperature_aggregate(period: HOUR, to: "2024-05-06T07:40:00Z") { timeWeightedAvg avg __typename } other_aggregate(period: MINUTE) { from stddev p50 } } }
              {"data":{"room":{"temperature_aggregate":[{"timeWeightedAvg":74.425,"avg":73.75,"__typename":"SeriesSummary"}],"other_aggregate":[{"from":"2024-05-06T08:00:00.000+00:00","stddev":null,"p50":3.0}]}}}
        "#]],
    );
}

/// What is deleted is not there, and nothing is left of a type that was dropped, also by an older schema.
#[test]
pub(crate) fn what_is_deleted_is_not_there() {
    let harness = rooms();
    let before = harness.offered();
    harness.request("DELETE", "/v2/entities/Room:1?toDate=2024-05-06T07:30:00Z", &[], "");
    check(
        &harness,
        &[r#"{ room(id: "Room:1") { firstTime rows { time } } rooms { id } }"#],
        expect![[r#"
        { room(id: "Room:1") { firstTime rows { time } } rooms { id } }
          {"data":{"room":{"firstTime":"2024-05-06T08:00:00.000+00:00","rows":[{"time":"2024-05-06T08:00:00.000+00:00"}]},"rooms":[{"id":"Room:1"},{"id":"Room:2"},{"id":"Room:2"}]}}
    "#]],
    );
    harness.request("DELETE", "/v2/entities/Room:1", &[], "");
    check(
        &harness,
        &[r#"{ room(id: "Room:1") { firstTime } rooms { id } seriesTypes { name } }"#],
        expect![[r#"
            { room(id: "Room:1") { firstTime } rooms { id } seriesTypes { name } }
              {"data":{"room":null,"rooms":[{"id":"Room:2"},{"id":"Room:2"}],"seriesTypes":[{"name":"Room"}]}}
        "#]],
    );
    harness.request("DELETE", "/v2/types/Room?dropTable=true", &[], "");
    harness.notify(r#"[{"id":"Room:1","type":"Room","temperature":{"type":"Text","value":"warm"},"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:00:00Z"}}]"#, &[]);
    let query = "{ rooms { id temperature { value } } }";
    expect![[r#"{"data":{"rooms":[]}}"#]].assert_eq(&harness.ask_by(&before, query, "{}"));
    check(
        &harness,
        &[query],
        expect![[r#"
        { rooms { id temperature { value } } }
          {"data":{"rooms":[{"id":"Room:1","temperature":[{"value":"warm"}]}]}}
    "#]],
    );
}

/// A schema of the moment is kept until a type or an attribute comes.
#[test]
pub(crate) fn types_that_come_change_the_schema() {
    let harness = Harness::new();
    let taken = ReservedNames::default();
    let changed = || {
        use futures_util::FutureExt as _;
        harness.runtime.block_on(async { harness.source.changed().now_or_never() }).is_some()
    };
    assert!(!changed());
    fill(&harness);
    assert!(changed());
    let lists = harness.source.schema(&taken).list_fields().join(" ");
    assert_eq!(lists, "seriesTypes rooms");
    assert!(!changed());
    fill(&harness);
    assert!(!changed(), "rows bring no names");
    harness.notify(r#"[{"id":"x","type":"Room","new":{"type":"Text","value":"a"}}]"#, &[]);
    assert!(changed());
}

/// Fields for what is kept beside values are there where something is.
#[test]
pub(crate) fn points_have_their_metadata() {
    let settings =
        SeriesSettings { keep_metadata: true, keep_time_attribute: true, ..SeriesSettings::default() };
    let harness = Harness::with(settings);
    let query = "{ rooms { rows { time n m } n { at: timeAttribute value metadata again: metadata } m { metadata } } }";
    harness.notify(
        r#"[{"id":"a","type":"Room","n":{"type":"Number","value":0},"m":{"type":"Text","value":"x"}}]"#,
        &[],
    );
    assert!(harness.ask(query).contains("SeriesFloatPoint"), "{}", harness.ask(query));
    harness.request("DELETE", "/v2/types/Room", &[], "");
    harness.notify(
        r#"[{"id":"a","type":"Room","n":{"type":"Number","value":1,"metadata":{"unit":{"type":"Text","value":"\u00b0C"}}},"TimeInstant":{"type":"DateTime","value":"2024"}},
            {"id":"a","type":"Room","n":{"type":"Property","value":2,"observedAt":"2025-01-01T00:00:00Z"},"m":{"type":"Text","value":"y"}}]"#,
        &[],
    );
    check(
        &harness,
        &[query, "{ seriesTypes { attributes { name } } }"],
        expect![[r#"
        { rooms { rows { time n m } n { at: timeAttribute value metadata again: metadata } m { metadata } } }
          {"data":{"rooms":[{"rows":[{"time":"2024-01-01T00:00:00.000+00:00","n":1.0,"m":null},{"time":"2025-01-01T00:00:00.000+00:00","n":2.0,"m":"y"}],"n":[{"at":"TimeInstant","value":1.0,"metadata":{"unit":{"type":"Text","value":"°C"}},"again":{"unit":{"type":"Text","value":"°C"}}},{"at":"n.observedAt","value":2.0,"metadata":{"observedAt":"2025-01-01T00:00:00Z"},"again":{"observedAt":"2025-01-01T00:00:00Z"}}],"m":[{"metadata":null},{"metadata":null}]}]}}
        { seriesTypes { attributes { name } } }
          {"data":{"seriesTypes":[{"attributes":[{"name":"n"},{"name":"m"},{"name":"TimeInstant"}]}]}}
    "#]],
    );
}

/// Each of many entities is looked at on a thread, within its time and its bytes.
#[test]
fn long_responses_have_limits() {
    let mut settings = SeriesSettings::default();
    settings.common.max_response_bytes = 20_000;
    let harness = Harness::with(settings);
    for part in 0..6 {
        let entity = |number: u32| {
            format!(
                r#"{{"id":"E{number:05}","type":"Entity","n":{{"type":"Number","value":{number}}},"TimeInstant":{{"type":"DateTime","value":"2024"}}}}"#
            )
        };
        let all: Vec<String> = (0..1000).map(|number| entity(part * 1000 + number)).collect();
        harness.notify(&format!("[{}]", all.join(",")), &[]);
    }
    check(
        &harness,
        &[
            r#"{ entities(limit: 2, offset: 4321) { id n { value } } one: entity(id: "E05999") { id } }"#,
            "{ entities(limit: 6000) { id } }",
        ],
        expect![[r#"
            { entities(limit: 2, offset: 4321) { id n { value } } one: entity(id: "E05999") { id } }
              {"data":{"entities":[{"id":"E04321","n":[{"value":4321.0}]},{"id":"E04322","n":[{"value":4322.0}]}],"one":{"id":"E05999"}}}
            { entities(limit: 6000) { id } }
              {"data":null,"errors":[{"message":"the answer of this field is larger than 20000 bytes (max_response_bytes): ask for fewer rows or columns","locations":[{"line":1,"column":3}],"path":["entities"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
        "#]],
    );
}
