//! What is kept beside values: metadata of attributes, and what gave the time of a row.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use prony_series_store::OnDuplicate;

use super::harness::Harness;
use crate::settings::SeriesSettings;

fn keeping(on_duplicate: OnDuplicate) -> SeriesSettings {
    SeriesSettings {
        on_duplicate,
        keep_metadata: true,
        keep_time_attribute: true,
        ..SeriesSettings::default()
    }
}

/// Rooms of both versions of NGSI, some values with metadata and some without.
fn fill(harness: &Harness) {
    harness.notify(
        r#"[{"id":"Räume/1","type":"Room","TimeInstant":{"type":"DateTime","value":"2024-05-06T07:00:00Z"},
            "temperature":{"type":"Number","value":21.5,"metadata":{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}}},
            "temperature_metadata":{"type":"Text","value":"a client's own"},"pressure":{"type":"Integer","value":720}}]"#,
        &[],
    );
    harness.notify(
        r#"[{"id":"Räume/1","type":"Room","temperature":{"type":"Number","value":null,"metadata":{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}},
            "pressure":{"type":"Integer","value":721,"metadata":{}}}]"#,
        &[],
    );
    harness.notify(
        r#"[{"id":"urn:2","type":"Room","@context":"x","temperature":{"type":"Property","value":20,"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z",
            "by":{"type":"Relationship","object":"urn:device"}}}]"#,
        &[],
    );
    harness.request("POST", "/write?precision=s", &[], "Room,id=urn:2 temperature=19.5 1714979040");
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check(harness: &Harness, targets: &[&str], expected: Expect) {
    let mut text = String::new();
    for target in targets {
        writeln!(text, "{target}\n  {}", harness.get(target)).unwrap();
    }
    expected.assert_eq(&text);
}

#[test]
pub(crate) fn what_is_kept_is_shown_where_it_is_asked_for() {
    let harness = Harness::with(keeping(OnDuplicate::Append));
    fill(&harness);
    check(
        &harness,
        &[
            "/v2/entities/R%C3%A4ume%2F1?options=metadata,timeAttribute",
            "/v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata",
            "/v2/entities/urn:2/attrs/temperature/value?options=timeAttribute,metadata,count",
            "/v2/types/Room/attrs/temperature?options=metadata,timeAttribute&lastN=3",
            "/v2/attrs/pressure?options=metadata",
            "/v2/attrs?options=timeAttribute&attrs=pressure",
            "/v2/types/Room?format=rows&options=metadata,timeAttribute",
            "/v2/types/Room?format=keyValues&options=metadata,timeAttribute&attrs=temperature,temperature_metadata",
            "/v2/types/Room/attrs/temperature?options=metadata&aggrMethod=max",
            "/v2/types/Room?options=metadatas",
        ],
        expect![[r#"
            /v2/entities/R%C3%A4ume%2F1?options=metadata,timeAttribute
              200 {"id":"Räume/1","type":"Room","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"timeAttribute":["TimeInstant","temperature.TimeInstant"],"attributes":[{"attrName":"TimeInstant","values":["2024-05-06T07:00:00.000+00:00",null],"metadata":[null,null]},{"attrName":"pressure","values":[720,721],"metadata":[null,null]},{"attrName":"temperature","values":[21.5,null],"metadata":[{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}},{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}]},{"attrName":"temperature_metadata","values":["a client's own",null],"metadata":[null,null]}]}
            /v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata
              200 {"id":"Räume/1","type":"Room","attrName":"temperature","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"values":[21.5,null],"metadata":[{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}},{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}]}
            /v2/entities/urn:2/attrs/temperature/value?options=timeAttribute,metadata,count
              200 {"index":["2024-05-06T07:02:00.000+00:00","2024-05-06T07:04:00.000+00:00"],"timeAttribute":["temperature.observedAt",null],"values":[20.0,19.5],"metadata":[{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}},null]}
            /v2/types/Room/attrs/temperature?options=metadata,timeAttribute&lastN=3
              200 {"type":"Room","attrName":"temperature","entities":[{"id":"Räume/1","index":["2024-05-06T07:01:00.000+00:00"],"timeAttribute":["temperature.TimeInstant"],"values":[null],"metadata":[{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}]},{"id":"urn:2","index":["2024-05-06T07:02:00.000+00:00","2024-05-06T07:04:00.000+00:00"],"timeAttribute":["temperature.observedAt",null],"values":[20.0,19.5],"metadata":[{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}},null]}]}
            /v2/attrs/pressure?options=metadata
              200 {"attrName":"pressure","types":[{"type":"Room","entities":[{"id":"Räume/1","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"values":[720,721],"metadata":[null,null]},{"id":"urn:2","index":["2024-05-06T07:02:00.000+00:00","2024-05-06T07:04:00.000+00:00"],"values":[null,null],"metadata":[null,null]}]}]}
            /v2/attrs?options=timeAttribute&attrs=pressure
              200 {"attrs":[{"attrName":"pressure","types":[{"type":"Room","entities":[{"id":"Räume/1","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"timeAttribute":["TimeInstant","temperature.TimeInstant"],"values":[720,721]},{"id":"urn:2","index":["2024-05-06T07:02:00.000+00:00","2024-05-06T07:04:00.000+00:00"],"timeAttribute":["temperature.observedAt",null],"values":[null,null]}]}]}]}
            /v2/types/Room?format=rows&options=metadata,timeAttribute
              200 [{"id":"Räume/1","type":"Room","time":"2024-05-06T07:00:00.000+00:00","timeAttribute":"TimeInstant","values":{"TimeInstant":"2024-05-06T07:00:00.000+00:00","pressure":720,"temperature":21.5,"temperature_metadata":"a client's own"},"metadata":{"temperature":{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}}}},{"id":"Räume/1","type":"Room","time":"2024-05-06T07:01:00.000+00:00","timeAttribute":"temperature.TimeInstant","values":{"pressure":721},"metadata":{"temperature":{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}}},{"id":"urn:2","type":"Room","time":"2024-05-06T07:02:00.000+00:00","timeAttribute":"temperature.observedAt","values":{"temperature":20.0},"metadata":{"temperature":{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}}}},{"id":"urn:2","type":"Room","time":"2024-05-06T07:04:00.000+00:00","values":{"temperature":19.5},"metadata":{}}]
            /v2/types/Room?format=keyValues&options=metadata,timeAttribute&attrs=temperature,temperature_metadata
              200 [{"id":"Räume/1","type":"Room","time":"2024-05-06T07:00:00.000+00:00","timeAttribute":"TimeInstant","temperature":21.5,"temperature_metadata_":{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}},"temperature_metadata":"a client's own"},{"id":"Räume/1","type":"Room","time":"2024-05-06T07:01:00.000+00:00","timeAttribute":"temperature.TimeInstant","temperature_metadata_":{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}},{"id":"urn:2","type":"Room","time":"2024-05-06T07:02:00.000+00:00","timeAttribute":"temperature.observedAt","temperature":20.0,"temperature_metadata_":{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}}},{"id":"urn:2","type":"Room","time":"2024-05-06T07:04:00.000+00:00","temperature":19.5}]
            /v2/types/Room/attrs/temperature?options=metadata&aggrMethod=max
              400 {"error":"Bad parameters use","description":"options=metadata and options=timeAttribute cannot be used with aggrMethod."}
            /v2/types/Room?options=metadatas
              400 {"detail":"'metadatas' is not one of ['keyValues', 'values', 'count', 'metadata', 'timeAttribute'] - 'options'","status":400,"title":"Bad Request","type":"about:blank"}
        "#]],
    );
}

/// Clients that do not ask for it see nothing of it, in no shape, and cannot name it.
#[test]
pub(crate) fn what_is_kept_is_not_seen_by_others() {
    let (plain, keeping) = (Harness::new(), Harness::with(keeping(OnDuplicate::Append)));
    fill(&plain);
    fill(&keeping);
    for target in [
        "/v2/entities",
        "/v2/entities/R%C3%A4ume%2F1",
        "/v2/entities/R%C3%A4ume%2F1/value",
        "/v2/types/Room",
        "/v2/attrs",
        "/v2/attrs/temperature/value",
        "/v2/types/Room/attrs/temperature%1Fmetadata",
        "/v2/types/Room?attrs=temperature%1Fmetadata,%1FtimeAttribute",
        "/v2/types/Room?format=rows",
        "/v2/types/Room?attrs=temperature,pressure&aggrMethod=sum",
        "/ngsi-ld/v1/temporal/entities?type=Room",
    ] {
        assert_eq!(keeping.get(target), plain.get(target), "{target}");
    }
    let csv = |harness: &Harness| harness.request("GET", "/v2/attrs", &["Accept: text/csv"], "").body;
    assert_eq!(csv(&keeping), csv(&plain));
    // Where nothing is kept there is nothing to be shown.
    check(
        &plain,
        &["/v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata,timeAttribute"],
        expect![[r#"
            /v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata,timeAttribute
              200 {"id":"Räume/1","type":"Room","attrName":"temperature","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"timeAttribute":[null,null],"values":[21.5,null],"metadata":[null,null]}
        "#]],
    );
    assert!(
        csv(&plain).starts_with("id,type,time,TimeInstant,pressure,temperature,temperature_metadata\r\n")
    );
    let body =
        r#"{"data":[{"id":"a","type":"Room","temperature\u001fmetadata":{"type":"Number","value":1}}]}"#;
    for harness in [&plain, &keeping] {
        let refused = harness.request("POST", "/v2/notify", &[], body);
        assert_eq!(refused.status.as_u16(), 400);
        assert!(refused.body.contains("U+001F"), "{}", refused.body);
    }
}

#[test]
pub(crate) fn tables_have_columns_for_what_is_kept() {
    let harness = Harness::with(keeping(OnDuplicate::Append));
    fill(&harness);
    let csv = harness.request(
        "GET",
        "/v2/types/Room?options=metadata,timeAttribute&attrs=temperature,temperature_metadata,pressure",
        &["Accept: text/csv"],
        "",
    );
    expect![[r#"
        id,type,time,timeAttribute,pressure,temperature,temperature_metadata_,temperature_metadata↵
        Räume/1,Room,2024-05-06T07:00:00.000+00:00,TimeInstant,720,21.5,"{""unité"":{""type"":""Text"",""value"":""°C \""é\""""},""accuracy"":{""type"":""Number"",""value"":0.1}}",a client's own↵
        Räume/1,Room,2024-05-06T07:01:00.000+00:00,temperature.TimeInstant,721,,"{""TimeInstant"":{""type"":""DateTime"",""value"":""2024-05-06T07:01:00Z""}}",↵
        urn:2,Room,2024-05-06T07:02:00.000+00:00,temperature.observedAt,,20.0,"{""unitCode"":""CEL"",""observedAt"":""2024-05-06T07:02:00Z"",""by"":{""type"":""Relationship"",""object"":""urn:device""}}",↵
        urn:2,Room,2024-05-06T07:04:00.000+00:00,,,19.5,,↵
    "#]].assert_eq(&csv.body.replace("\r\n", "↵\n"));
    let lines = harness.request(
        "GET",
        "/v2/types/Room?options=metadata&attrs=temperature",
        &["Accept: application/x-ndjson"],
        "",
    );
    expect![[r#"
        {"id":"Räume/1","type":"Room","time":"2024-05-06T07:00:00.000+00:00","values":{"temperature":21.5},"metadata":{"temperature":{"unité":{"type":"Text","value":"°C \"é\""},"accuracy":{"type":"Number","value":0.1}}}}
        {"id":"Räume/1","type":"Room","time":"2024-05-06T07:01:00.000+00:00","values":{},"metadata":{"temperature":{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}}}
        {"id":"urn:2","type":"Room","time":"2024-05-06T07:02:00.000+00:00","values":{"temperature":20.0},"metadata":{"temperature":{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}}}}
        {"id":"urn:2","type":"Room","time":"2024-05-06T07:04:00.000+00:00","values":{"temperature":19.5},"metadata":{}}
    "#]].assert_eq(&lines.body);
    let (columns, rows) = super::row_formats::parquet(
        &harness,
        "/v2/types/Room?options=metadata,timeAttribute&attrs=temperature&lastN=2",
    );
    expect![[r#"
        id BYTE_ARRAY UTF8
        type BYTE_ARRAY UTF8
        time INT64 TIMESTAMP_MILLIS
        timeAttribute BYTE_ARRAY UTF8
        temperature DOUBLE NONE
        temperature_metadata BYTE_ARRAY JSON
        {id: "urn:2", type: "Room", time: 2024-05-06 07:02:00.000 +00:00, timeAttribute: "temperature.observedAt", temperature: 20.0, temperature_metadata: "{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}}"}
        {id: "urn:2", type: "Room", time: 2024-05-06 07:04:00.000 +00:00, timeAttribute: null, temperature: 19.5, temperature_metadata: null}
    "#]].assert_eq(&format!("{}\n{}\n", columns.join("\n"), rows.join("\n")));
}

#[test]
pub(crate) fn last_values_have_their_metadata() {
    let harness = Harness::with(keeping(OnDuplicate::Append));
    fill(&harness);
    let body = r#"{"entities":[{"id":"urn:2","type":"Room"},{"id":"Räume/1","type":"Room"}],"attrs":["temperature","pressure"]}"#;
    let ask = |target: &str| harness.request("POST", target, &[], body).body;
    expect![[r#"
        [{"id":"urn:2","type":"Room","pressure":{"type":"Integer","value":null},"temperature":{"type":"Number","value":19.5},"dateModified":{"type":"DateTime","value":"2024-05-06T07:04:00.000+00:00"}},{"id":"Räume/1","type":"Room","pressure":{"type":"Integer","value":721},"temperature":{"type":"Number","value":null},"dateModified":{"type":"DateTime","value":"2024-05-06T07:01:00.000+00:00"}}]
        [{"id":"urn:2","type":"Room","pressure":{"type":"Integer","value":null,"metadata":{}},"temperature":{"type":"Number","value":19.5,"metadata":{}},"dateModified":{"type":"DateTime","value":"2024-05-06T07:04:00.000+00:00"}},{"id":"Räume/1","type":"Room","pressure":{"type":"Integer","value":721,"metadata":{}},"temperature":{"type":"Number","value":null,"metadata":{"TimeInstant":{"type":"DateTime","value":"2024-05-06T07:01:00Z"}}},"dateModified":{"type":"DateTime","value":"2024-05-06T07:01:00.000+00:00"}}]
    "#]].assert_eq(&format!("{}\n{}\n", ask("/v2/op/query"), ask("/v2/op/query?options=metadata")));
}

/// Four notifications of one moment: with metadata, without, of no value, of another attribute.
fn notify_of_one_moment(harness: &Harness) {
    let at = |name: &str, attributes: &str| {
        let time = format!(r#""{name}":{{"type":"DateTime","value":"2024-05-06T07:00:00Z"}}"#);
        harness.notify(&format!(r#"[{{"id":"a","type":"T",{time},{attributes}}}]"#), &[]);
    };
    at(
        "TimeInstant",
        r#""n":{"type":"Number","value":1,"metadata":{"m":{"value":"one"}}},"o":{"type":"Number","value":1}"#,
    );
    at(
        "timestamp",
        r#""n":{"type":"Number","value":2},"o":{"type":"Number","value":2,"metadata":{"m":{"value":"two"}}}"#,
    );
    at("dateModified", r#""n":{"type":"Number","value":"none","metadata":{"m":{"value":"three"}}}"#);
    at("TimeInstant", r#""p":{"type":"Number","value":4,"metadata":{"m":{"value":"four"}}}"#);
}

#[test]
pub(crate) fn a_value_has_the_metadata_that_it_came_with() {
    let targets = [
        "/v2/entities/a/attrs/n?options=metadata,timeAttribute",
        "/v2/entities/a/attrs/o?options=metadata",
        "/v2/entities/a/attrs/p?options=metadata",
    ];
    let mut text = String::new();
    for on_duplicate in [OnDuplicate::Append, OnDuplicate::Keep, OnDuplicate::Replace] {
        let harness = Harness::with(keeping(on_duplicate));
        notify_of_one_moment(&harness);
        writeln!(text, "{on_duplicate:?}").unwrap();
        for target in targets {
            writeln!(text, "  {}", harness.get(target)).unwrap();
        }
    }
    expect![[r#"
        Append
          200 {"id":"a","type":"T","attrName":"n","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00"],"timeAttribute":["TimeInstant","timestamp","dateModified","TimeInstant"],"values":[1.0,2.0,null,null],"metadata":[{"m":{"value":"one"}},null,{"m":{"value":"three"}},null]}
          200 {"id":"a","type":"T","attrName":"o","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00"],"values":[1.0,2.0,null,null],"metadata":[null,{"m":{"value":"two"}},null,null]}
          200 {"id":"a","type":"T","attrName":"p","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00","2024-05-06T07:00:00.000+00:00"],"values":[null,null,null,4.0],"metadata":[null,null,null,{"m":{"value":"four"}}]}
        Keep
          200 {"id":"a","type":"T","attrName":"n","index":["2024-05-06T07:00:00.000+00:00"],"timeAttribute":["TimeInstant"],"values":[1.0],"metadata":[{"m":{"value":"one"}}]}
          200 {"id":"a","type":"T","attrName":"o","index":["2024-05-06T07:00:00.000+00:00"],"values":[1.0],"metadata":[null]}
          200 {"id":"a","type":"T","attrName":"p","index":["2024-05-06T07:00:00.000+00:00"],"values":[4.0],"metadata":[{"m":{"value":"four"}}]}
        Replace
          200 {"id":"a","type":"T","attrName":"n","index":["2024-05-06T07:00:00.000+00:00"],"timeAttribute":["TimeInstant"],"values":[2.0],"metadata":[null]}
          200 {"id":"a","type":"T","attrName":"o","index":["2024-05-06T07:00:00.000+00:00"],"values":[2.0],"metadata":[{"m":{"value":"two"}}]}
          200 {"id":"a","type":"T","attrName":"p","index":["2024-05-06T07:00:00.000+00:00"],"values":[4.0],"metadata":[{"m":{"value":"four"}}]}
    "#]].assert_eq(&text);
}

#[test]
pub(crate) fn what_is_kept_goes_with_its_rows() {
    let harness = Harness::with(keeping(OnDuplicate::Replace));
    fill(&harness);
    let deleted =
        harness.request("DELETE", "/v2/entities/R%C3%A4ume%2F1?toDate=2024-05-06T07:00:30Z", &[], "");
    assert_eq!(deleted.status.as_u16(), 204);
    // At the moment whose row is deleted, without metadata.
    harness.notify(
        r#"[{"id":"Räume/1","type":"Room","timestamp":{"type":"DateTime","value":"2024-05-06T07:00:00Z"},"temperature":{"type":"Number","value":5}}]"#,
        &[],
    );
    check(
        &harness,
        &[
            "/v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata,timeAttribute",
            "/v2/entities/urn:2/attrs/temperature?options=metadata,timeAttribute",
        ],
        expect![[r#"
            /v2/entities/R%C3%A4ume%2F1/attrs/temperature?options=metadata,timeAttribute
              200 {"id":"Räume/1","type":"Room","attrName":"temperature","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"timeAttribute":["timestamp","temperature.TimeInstant"],"values":[5.0,null],"metadata":[null,null]}
            /v2/entities/urn:2/attrs/temperature?options=metadata,timeAttribute
              200 {"id":"urn:2","type":"Room","attrName":"temperature","index":["2024-05-06T07:02:00.000+00:00","2024-05-06T07:04:00.000+00:00"],"timeAttribute":["temperature.observedAt",null],"values":[20.0,19.5],"metadata":[{"unitCode":"CEL","observedAt":"2024-05-06T07:02:00Z","by":{"type":"Relationship","object":"urn:device"}},null]}
        "#]],
    );
    let dropped = harness.request("DELETE", "/v2/types/Room?dropTable=true", &[], "");
    assert_eq!(dropped.status.as_u16(), 204);
    harness.notify(r#"[{"id":"a","type":"Room","n":{"type":"Number","value":1},"timestamp":{"type":"DateTime","value":"2024-05-06T07:00:00Z"}}]"#, &[]);
    check(
        &harness,
        &["/v2/types/Room?format=rows&options=metadata,timeAttribute"],
        expect![[r#"
        /v2/types/Room?format=rows&options=metadata,timeAttribute
          200 [{"id":"a","type":"Room","time":"2024-05-06T07:00:00.000+00:00","timeAttribute":"timestamp","values":{"n":1.0,"timestamp":"2024-05-06T07:00:00.000+00:00"},"metadata":{}}]
    "#]],
    );
}

#[test]
pub(crate) fn temporal_instances_have_their_metadata() {
    let harness = Harness::with(keeping(OnDuplicate::Append));
    fill(&harness);
    let body = r#"{"id":"urn:v","type":"Vehicle","speed":[{"type":"Property","value":120,"unitCode":"KMH","observedAt":"2024-05-06T07:00:00Z"},
        {"type":"Property","value":80,"observedAt":"2024-05-06T07:01:00Z"}]}"#;
    let created = harness.request("POST", "/ngsi-ld/v1/temporal/entities", &[], body);
    assert_eq!(created.status.as_u16(), 201);
    check(
        &harness,
        &[
            "/ngsi-ld/v1/temporal/entities/urn:v?options=metadata",
            "/ngsi-ld/v1/temporal/entities?type=Room&attrs=temperature&options=metadata",
            "/ngsi-ld/v1/temporal/entities?type=Room&options=metadata,temporalValues",
            "/v2/entities/urn:v?options=metadata,timeAttribute",
        ],
        expect![[r#"
            /ngsi-ld/v1/temporal/entities/urn:v?options=metadata
              200 {"id":"urn:v","type":"Vehicle","speed":[{"type":"Property","value":120.0,"observedAt":"2024-05-06T07:00:00Z","unitCode":"KMH"},{"type":"Property","value":80.0,"observedAt":"2024-05-06T07:01:00Z"}]}
            /ngsi-ld/v1/temporal/entities?type=Room&attrs=temperature&options=metadata
              200 [{"id":"Räume/1","type":"Room","temperature":[{"type":"Property","value":21.5,"observedAt":"2024-05-06T07:00:00Z","unité":{"type":"Property","value":"°C \"é\""},"accuracy":{"type":"Property","value":0.1}}]},{"id":"urn:2","type":"Room","temperature":[{"type":"Property","value":20.0,"observedAt":"2024-05-06T07:02:00Z","unitCode":"CEL","by":{"type":"Relationship","object":"urn:device"}},{"type":"Property","value":19.5,"observedAt":"2024-05-06T07:04:00Z"}]}]
            /ngsi-ld/v1/temporal/entities?type=Room&options=metadata,temporalValues
              400 {"type":"https://uri.etsi.org/ngsi-ld/errors/BadRequestData","title":"Bad request data","detail":"options=metadata goes with the normalized representation alone","status":400}
            /v2/entities/urn:v?options=metadata,timeAttribute
              200 {"id":"urn:v","type":"Vehicle","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00"],"timeAttribute":["speed.observedAt","speed.observedAt"],"attributes":[{"attrName":"speed","values":[120.0,80.0],"metadata":[{"unitCode":"KMH","observedAt":"2024-05-06T07:00:00Z"},{"observedAt":"2024-05-06T07:01:00Z"}]}]}
        "#]],
    );
}

/// A store of before the settings is opened with them, and without them again: what is kept stays, and nothing more is.
#[test]
fn the_settings_may_change() {
    let directory = tempfile::tempdir().unwrap();
    let row = |minute: u32| {
        format!(
            r#"[{{"id":"a","type":"T","n":{{"type":"Number","value":{minute},"metadata":{{"m":{{"value":{minute}}}}}}},"TimeInstant":{{"type":"DateTime","value":"2024-05-06T07:0{minute}:00Z"}}}}]"#
        )
    };
    let mut attributes = Vec::new();
    for (minute, settings) in
        (0..).zip([SeriesSettings::default(), keeping(OnDuplicate::Append), SeriesSettings::default()])
    {
        let harness = Harness::open(directory.path(), settings);
        harness.notify(&row(minute), &[]);
        let count = |catalog: &prony_series_store::Catalog| {
            let table = catalog.find_table("", "T").unwrap();
            catalog.table(table).attributes.len()
        };
        attributes.push(harness.series.store.with_catalog(count));
        harness.store().seal().unwrap();
    }
    assert_eq!(attributes, [2, 4, 4], "nothing is kept where nothing is to be");
    let harness = Harness::open(directory.path(), SeriesSettings::default());
    check(
        &harness,
        &["/v2/entities/a/attrs/n?options=metadata,timeAttribute"],
        expect![[r#"
        /v2/entities/a/attrs/n?options=metadata,timeAttribute
          200 {"id":"a","type":"T","attrName":"n","index":["2024-05-06T07:00:00.000+00:00","2024-05-06T07:01:00.000+00:00","2024-05-06T07:02:00.000+00:00"],"timeAttribute":[null,"TimeInstant",null],"values":[0.0,1.0,2.0],"metadata":[null,{"m":{"value":1}},null]}
    "#]],
    );
}
