//! Rows as NDJSON and CSV, with names and values that are not easy on either.

use bytes::Bytes;
use expect_test::expect;
use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    schema::types::ColumnDescPtr,
};

use super::harness::Harness;

fn filled() -> Harness {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"urn:Zähler:1","type":"Größe","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00Z"},
            "a.b":{"type":"Number","value":1.5},"@type":{"type":"Text","value":"say \"x\", y\nz"},"time":{"type":"Integer","value":7},
            "list":{"type":"StructuredValue","value":["a",1]},"empty":{"type":"Text","value":""}},
           {"id":"a/b?c=d e%20","type":"Other","TimeInstant":{"type":"DateTime","value":"2023-01-01T00:00:00Z"},
            "A.B":{"type":"Text","value":"text"},"flag":{"type":"Boolean","value":true}}]"#,
        &[],
    );
    harness.notify(
        r#"[{"id":"urn:Zähler:1","type":"Größe","TimeInstant":{"type":"DateTime","value":"2023-01-01T00:00:00Z"},"a.b":{"type":"Text","value":"no number"}}]"#,
        &[],
    );
    harness.notify(
        r#"[{"id":"urn:Zähler:1","type":"Größe","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00Z"},"secret":{"type":"Number","value":9}}]"#,
        &["Fiware-Service: other"],
    );
    harness
}

fn get(harness: &Harness, target: &str, accept: &str) -> String {
    harness.request("GET", target, &[&format!("Accept: {accept}")], "").body
}

#[test]
pub(crate) fn rows_are_lines_of_json() {
    let harness = filled();
    expect![[r#"
        {"id":"urn:Zähler:1","type":"Größe","time":"2023-01-01T00:00:00.000+00:00","values":{"TimeInstant":"2023-01-01T00:00:00.000+00:00"}}
        {"id":"urn:Zähler:1","type":"Größe","time":"2024-01-01T00:00:00.000+00:00","values":{"@type":"say \"x\", y\nz","TimeInstant":"2024-01-01T00:00:00.000+00:00","a.b":1.5,"empty":"","list":["a",1],"time":7}}
        {"id":"a/b?c=d e%20","type":"Other","time":"2023-01-01T00:00:00.000+00:00","values":{"A.B":"text","TimeInstant":"2023-01-01T00:00:00.000+00:00","flag":true}}
    "#]].assert_eq(&get(&harness, "/v2/attrs", "application/x-ndjson"));
    // Of one entity, whose id has to be percent-encoded.
    expect![[r#"
        {"id":"a/b?c=d e%20","type":"Other","time":"2023-01-01T00:00:00.000+00:00","values":{"A.B":"text"}}
    "#]]
    .assert_eq(&get(&harness, "/v2/entities/a%2Fb%3Fc%3Dd%20e%2520/attrs/a.b", "application/x-ndjson"));
    let accept = "text/csv;q=0.5, application/x-ndjson, application/json;q=0.9";
    let preferred = get(&harness, "/v2/attrs", accept);
    assert!(preferred.starts_with("{\"id\""), "{preferred}");
}

/// A sigma at the end of a word was the same letter as another one, and one of the two attributes had no column.
#[test]
fn attributes_that_are_two_have_two_columns() {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"e","type":"T","ΑΣ":{"type":"Number","value":1},"ας":{"type":"Number","value":2}}]"#,
        &[],
    );
    let csv = get(&harness, "/v2/types/T", "text/csv");
    assert!(csv.starts_with("id,type,time,ΑΣ,ας\r\n") && csv.ends_with(",1.0,2.0\r\n"), "{csv}");
}

/// They came in the shape of QuantumLeap alone.
#[test]
fn last_values_are_rows_too() {
    let harness = filled();
    let body = r#"{"entities":[{"id":"urn:Zähler:1","type":"Größe"},{"id":"a/b?c=d e%20","type":"Other"},{"id":"none","type":"Other"}],"attrs":["time","flag"]}"#;
    let ask = |target: &str, accept: &str| harness.request("POST", target, &[accept], body).body;
    expect![[r#"
        id,type,time,time_,flag
        urn:Zähler:1,Größe,2024-01-01T00:00:00.000+00:00,7,
        a/b?c=d e%20,Other,2023-01-01T00:00:00.000+00:00,,true
    "#]]
    .assert_eq(&ask("/v2/op/query", "accept: text/csv").replace("\r\n", "\n"));
    assert_eq!(
        ask("/v2/op/query?format=keyValues", "accept: application/json"),
        r#"[{"id":"urn:Zähler:1","type":"Größe","time":"2024-01-01T00:00:00.000+00:00","time_":7},{"id":"a/b?c=d e%20","type":"Other","time":"2023-01-01T00:00:00.000+00:00","flag":true}]"#
    );
}

/// Two columns had one name where an attribute was called as the column of another.
#[test]
fn columns_have_names_of_their_own() {
    let harness = Harness::new();
    let time = r#""TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00Z"}"#;
    harness.notify(
        &format!(
            r#"[{{"id":"a","type":"T",{time},"time":{{"type":"Integer","value":1}},"time_":{{"type":"Integer","value":2}}}},
            {{"id":"b","type":"U",{time},"Time__":{{"type":"Integer","value":3}}}}]"#
        ),
        &[],
    );
    expect![[r#"
        id,type,time,TimeInstant,time___,time_,Time__
        a,T,2024-01-01T00:00:00.000+00:00,2024-01-01T00:00:00.000+00:00,1,2,
        b,U,2024-01-01T00:00:00.000+00:00,2024-01-01T00:00:00.000+00:00,,,3
    "#]]
    .assert_eq(&get(&harness, "/v2/attrs", "text/csv").replace("\r\n", "\n"));
}

#[test]
pub(crate) fn rows_are_records_of_csv() {
    let harness = filled();
    expect![[r#"
        id,type,time,@type,TimeInstant,a.b,empty,list,time_,flag↵
        urn:Zähler:1,Größe,2023-01-01T00:00:00.000+00:00,,2023-01-01T00:00:00.000+00:00,,,,,↵
        urn:Zähler:1,Größe,2024-01-01T00:00:00.000+00:00,"say ""x"", y
        z",2024-01-01T00:00:00.000+00:00,1.5,"","[""a"",1]",7,↵
        a/b?c=d e%20,Other,2023-01-01T00:00:00.000+00:00,,2023-01-01T00:00:00.000+00:00,text,,,,true↵
    "#]]
    .assert_eq(&get(&harness, "/v2/attrs", "text/html;q=0.9, text/csv").replace("\r\n", "↵\n"));
    let periods = "/v2/types/Gr%C3%B6%C3%9Fe/attrs/a.b?aggrMethod=max&aggrPeriod=year";
    expect![[r#"
        id,type,time,a.b↵
        urn:Zähler:1,Größe,2023-01-01T00:00:00.000+00:00,↵
        urn:Zähler:1,Größe,2024-01-01T00:00:00.000+00:00,1.5↵
    "#]]
    .assert_eq(&get(&harness, periods, "text/csv").replace("\r\n", "↵\n"));
    let whole = "/v2/types/Gr%C3%B6%C3%9Fe/attrs/a.b?aggrMethod=count";
    expect![[r#"
        id,type,time,a.b↵
        urn:Zähler:1,Größe,,1↵
    "#]]
    .assert_eq(&get(&harness, whole, "text/csv").replace("\r\n", "↵\n"));
    expect![[r#"
        id,type,time↵
    "#]]
    .assert_eq(&get(&harness, "/v2/types/None", "text/csv").replace("\r\n", "↵\n"));
}

/// They came as JSON, whatever was asked for.
#[test]
fn entities_are_rows_too() {
    let harness = filled();
    expect![[r#"
        id,type,time↵
        urn:Zähler:1,Größe,2024-01-01T00:00:00.000+00:00↵
        a/b?c=d e%20,Other,2023-01-01T00:00:00.000+00:00↵
    "#]]
    .assert_eq(&get(&harness, "/v2/entities", "text/csv").replace("\r\n", "↵\n"));
    expect![[r#"
        {"id":"a/b?c=d e%20","type":"Other","time":"2023-01-01T00:00:00.000+00:00"}
    "#]]
    .assert_eq(&get(&harness, "/v2/entities?offset=1&format=keyValues", "application/x-ndjson"));
    expect![[r#"[{"id":"urn:Zähler:1","type":"Größe","time":"2024-01-01T00:00:00.000+00:00","values":{}}]"#]]
        .assert_eq(&get(&harness, "/v2/entities?limit=1&format=rows", "application/json"));
    let (columns, rows) = parquet(&harness, "/v2/entities?type=Other");
    assert_eq!((columns.len(), rows.len()), (3, 1));
    assert!(rows[0].contains("a/b?c=d e%20"), "{}", rows[0]);
    expect![[r#"[{"id":"a/b?c=d e%20","type":"Other","index":"2023-01-01T00:00:00.000+00:00"}]"#]]
        .assert_eq(&get(&harness, "/v2/entities?type=Other", "*/*"));
}

#[test]
pub(crate) fn a_long_response_is_streamed() {
    let harness = Harness::new();
    let rows: Vec<String> = (0..2_000)
        .map(|second| {
            format!(
                r#"{{"id":"x","type":"T","n":{{"type":"Integer","value":{second}}},"TimeInstant":{{"type":"DateTime","value":"2024-01-01T{:02}:{:02}:{:02}Z"}}}}"#,
                second / 3600,
                second / 60 % 60,
                second % 60
            )
        })
        .collect();
    for _ in 0..80 {
        harness.notify(&format!("[{}]", rows.join(",")), &[]);
    }
    let response = harness.request(
        "GET",
        "/v2/entities/x?limit=200000",
        &["Accept: text/csv", "Fiware-Correlator: 1"],
        "",
    );
    assert!(response.is_long);
    assert_eq!(response.body.lines().count(), 1 + 160_000);
    assert!(
        response.body.ends_with("x,T,2024-01-01T00:33:19.000+00:00,2024-01-01T00:33:19.000+00:00,1999\r\n"),
        "{}",
        &response.body[response.body.len() - 200..]
    );
}

/// The columns' names and types, and the rows, as another reader of the format sees them.
pub(crate) fn parquet(harness: &Harness, target: &str) -> (Vec<String>, Vec<String>) {
    let headers = ["Accept: application/vnd.apache.parquet"];
    let file = harness.request_whole("GET", target, &headers).1;
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let column = |column: &ColumnDescPtr| {
        format!("{} {} {}", column.name(), column.physical_type(), column.converted_type())
    };
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
    (schema.columns().iter().map(column).collect(), rows.collect())
}

#[test]
pub(crate) fn rows_are_records_of_parquet() {
    let harness = filled();
    let (columns, rows) = parquet(&harness, "/v2/attrs");
    expect![[r#"
        id BYTE_ARRAY UTF8
        type BYTE_ARRAY UTF8
        time INT64 TIMESTAMP_MILLIS
        @type BYTE_ARRAY UTF8
        TimeInstant INT64 TIMESTAMP_MILLIS
        a.b BYTE_ARRAY UTF8
        empty BYTE_ARRAY UTF8
        list BYTE_ARRAY JSON
        time_ INT64 NONE
        flag BOOLEAN NONE"#]]
    .assert_eq(&columns.join("\n"));
    expect![[r#"
        {id: "urn:Zähler:1", type: "Größe", time: 2023-01-01 00:00:00.000 +00:00, @type: null, TimeInstant: 2023-01-01 00:00:00.000 +00:00, a.b: null, empty: null, list: null, time_: null, flag: null}
        {id: "urn:Zähler:1", type: "Größe", time: 2024-01-01 00:00:00.000 +00:00, @type: "say "x", y
        z", TimeInstant: 2024-01-01 00:00:00.000 +00:00, a.b: "1.5", empty: "", list: "["a",1]", time_: 7, flag: null}
        {id: "a/b?c=d e%20", type: "Other", time: 2023-01-01 00:00:00.000 +00:00, @type: null, TimeInstant: 2023-01-01 00:00:00.000 +00:00, a.b: "text", empty: null, list: null, time_: null, flag: true}"#]].assert_eq(&rows.join("\n"));
    let (columns, rows) =
        parquet(&harness, "/v2/types/Gr%C3%B6%C3%9Fe/attrs/time?aggrMethod=avg&aggrPeriod=year");
    expect![[r#"
        id BYTE_ARRAY UTF8
        type BYTE_ARRAY UTF8
        time INT64 TIMESTAMP_MILLIS
        time_ DOUBLE NONE"#]]
    .assert_eq(&columns.join("\n"));
    expect![[r#"
        {id: "urn:Zähler:1", type: "Größe", time: 2023-01-01 00:00:00.000 +00:00, time_: null}
        {id: "urn:Zähler:1", type: "Größe", time: 2024-01-01 00:00:00.000 +00:00, time_: 7.0}"#]]
    .assert_eq(&rows.join("\n"));
    let (columns, rows) = parquet(&harness, "/v2/types/None");
    assert_eq!((columns.len(), rows.len()), (3, 0));
}
