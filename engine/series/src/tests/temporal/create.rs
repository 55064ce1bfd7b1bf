//! Temporal entities that are written: what is taken, what is refused, what is there afterwards.

use std::fmt::Write as _;

use expect_test::expect;

use super::{PREFIX, create, filled, shown, table};
use crate::tests::harness::Harness;

#[test]
pub(crate) fn an_entity_is_created_and_then_extended() {
    let harness = Harness::new();
    let body = |value: u32, minute: u32| {
        format!(
            r#"{{"id":"a b:ä/1","type":"T","n":[{{"type":"Property","value":{value},"observedAt":"2024-01-01T00:0{minute}:00Z"}}]}}"#
        )
    };
    let mut text = String::new();
    for (value, minute) in [(1, 1), (2, 2), (3, 0)] {
        writeln!(text, "{}", shown(&create(&harness, &body(value, minute)))).unwrap();
    }
    text += &table(&harness, &["/entities/a%20b:%C3%A4%2F1?options=temporalValues"]);
    expect![[r#"
        201 location: /ngsi-ld/v1/temporal/entities/a%20b:%C3%A4%2F1 
        204 
        204 
        /entities/a%20b:%C3%A4%2F1?options=temporalValues
          200 {"id":"a b:ä/1","type":"T","n":{"type":"Property","values":[[3.0,"2024-01-01T00:00:00Z"],[1.0,"2024-01-01T00:01:00Z"],[2.0,"2024-01-01T00:02:00Z"]]}}
    "#]].assert_eq(&text);
    // Once its rows are gone it is created again.
    let deleted = harness.request("DELETE", "/v2/entities/a%20b:%C3%A4%2F1", &[], "");
    assert_eq!(deleted.status.as_u16(), 204);
    assert_eq!(
        harness.request("GET", &format!("{PREFIX}/entities/a%20b:%C3%A4%2F1"), &[], "").status.as_u16(),
        404
    );
    assert_eq!(create(&harness, &body(4, 4)).status.as_u16(), 201);
}

#[test]
pub(crate) fn instances_of_one_moment_are_in_different_rows_and_none_is_lost() {
    let harness = Harness::new();
    let created = create(
        &harness,
        r#"{"id":"x","type":"T","n":[{"value":1,"observedAt":"2024-01-01T00:00:00Z"},{"value":2,"observedAt":"2024-01-01T00:00:00Z"}],
            "m":[{"value":"a","observedAt":"2024-01-01T00:00:00Z"}]}"#,
    );
    assert_eq!(created.status.as_u16(), 201);
    expect![[r#"
        /entities/x?options=temporalValues
          200 {"id":"x","type":"T","m":{"type":"Property","values":[["a","2024-01-01T00:00:00Z"]]},"n":{"type":"Property","values":[[1.0,"2024-01-01T00:00:00Z"],[2.0,"2024-01-01T00:00:00Z"]]}}
        200 {"id":"x","type":"T","index":["2024-01-01T00:00:00.000+00:00","2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"m","values":["a",null]},{"attrName":"n","values":[1.0,2.0]}]}
    "#]].assert_eq(
        &(table(&harness, &["/entities/x?options=temporalValues"]) + &harness.get("/v2/entities/x") + "\n"),
    );
}

/// Of two names of one attribute the instance of the first was lost.
#[test]
fn instances_under_names_that_are_one_attribute_are_not_lost() {
    let harness = Harness::new();
    let body = r#"{"id":"x","type":"T","n":{"value":1,"observedAt":"2024-01-01T00:00:00Z"},"N":{"value":2,"observedAt":"2024-01-01T00:00:00Z"}}"#;
    assert_eq!(create(&harness, body).status.as_u16(), 201);
    let values = harness.get("/v2/entities/x/attrs/n/value");
    assert!(values.ends_with(r#""values":[1.0,2.0]}"#), "{values}");
}

#[test]
pub(crate) fn faulty_entities_are_refused_whole() {
    let harness = Harness::new();
    let instance = |instance: &str| {
        format!(r#"{{"id":"x","type":"T","good":{{"value":1}},"n":[{{"value":1}},{instance}]}}"#)
    };
    let mut text = String::new();
    for body in [
        "{".to_owned(),
        "[]".to_owned(),
        r#"{"type":"T","n":{"value":1}}"#.to_owned(),
        r#"{"id":"x","n":{"value":1}}"#.to_owned(),
        r#"{"id":"x","type":["A","B"],"n":{"value":1}}"#.to_owned(),
        r#"{"id":"x","type":"T"}"#.to_owned(),
        r#"{"id":"x","type":"T","n":[]}"#.to_owned(),
        instance("1"),
        instance(r#"{"type":"Number","value":1}"#),
        instance(r#"{"type":"Property"}"#),
        instance(r#"{"type":"Property","value":null}"#),
        instance(r#"{"type":"Relationship","object":["a","b"]}"#),
        instance(r#"{"value":1,"datasetId":"urn:ngsi-ld:Dataset:1"}"#),
        instance(r#"{"value":1,"observedAt":"yesterday"}"#),
        instance(r#"{"value":1,"observedAt":"2024-01-01"}"#),
        format!(r#"{{"id":"{}","type":"T","n":{{"value":1}}}}"#, "x".repeat(5000)),
    ] {
        writeln!(text, "{}\n  {}", body.get(..60).unwrap_or(&body), shown(&create(&harness, &body))).unwrap();
    }
    let body = r#"{"id":"x","type":"T","n":{"value":1}}"#;
    let refused = harness.request("POST", &format!("{PREFIX}/entities"), &["content-type: text/plain"], body);
    writeln!(text, "text/plain\n  {}", shown(&refused)).unwrap();
    for (method, path) in
        [("DELETE", "/entities/x"), ("POST", "/entities/x"), ("GET", "/entityOperations/query"), ("GET", "")]
    {
        let refused = harness.request(method, &format!("{PREFIX}{path}"), &[], "");
        writeln!(text, "{method} {path}\n  {}", shown(&refused)).unwrap();
    }
    expect![[r#"
        {
          400 {"type":"…/InvalidRequest","title":"Invalid request","detail":"the body is no JSON: EOF while parsing an object at line 1 column 1","status":400}
        []
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the body is to be an object","status":400}
        {"type":"T","n":{"value":1}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"`id` is to be the id of an entity","status":400}
        {"id":"x","n":{"value":1}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"`type` is to be the type of the entity; it can have one","status":400}
        {"id":"x","type":["A","B"],"n":{"value":1}}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"`type` is to be the type of the entity; it can have one","status":400}
        {"id":"x","type":"T"}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the entity has no instance of an attribute","status":400}
        {"id":"x","type":"T","n":[]}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the entity has no instance of an attribute","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},1]}
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] is no object","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"t
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has no type of an attribute: Property, Relationship, GeoProperty …","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"t
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has no value","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"t
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has no value","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"t
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has an object that is no text; write a ListRelationship","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"v
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has datasetId: an attribute has one series; give another one another name","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"v
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has observedAt \"yesterday\", and no time as 2024-05-06T07:08:09Z","status":400}
        {"id":"x","type":"T","good":{"value":1},"n":[{"value":1},{"v
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"n[1] has observedAt \"2024-01-01\", and no time as 2024-05-06T07:08:09Z","status":400}
        {"id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          400 {"type":"…/BadRequestData","title":"Bad request data","detail":"the entity `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` of 5000 bytes is longer than the limit of 4096; give it a shorter name","status":400}
        text/plain
          415 {"type":"about:blank","title":"Unsupported Media Type","detail":"`content-type` is application/json or application/ld+json","status":415}
        DELETE /entities/x
          405 {"type":"about:blank","title":"Method Not Allowed","detail":"entities are read with GET and written with POST; DELETE /v2/entities/{id} deletes their rows","status":405}
        POST /entities/x
          405 {"type":"about:blank","title":"Method Not Allowed","detail":"entities are read with GET and written with POST; DELETE /v2/entities/{id} deletes their rows","status":405}
        GET /entityOperations/query
          405 {"type":"about:blank","title":"Method Not Allowed","detail":"entities are read with GET and written with POST; DELETE /v2/entities/{id} deletes their rows","status":405}
        GET 
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"there are /ngsi-ld/v1/temporal/entities, entities/{id} and entityOperations/query","status":404}
    "#]].assert_eq(&text);
    assert_eq!(harness.get("/v2/entities"), "200 []");
}

#[test]
fn a_long_entity_is_written_by_a_thread_of_its_own() {
    let harness = Harness::new();
    let instances: Vec<String> = (0..12_000)
        .map(|at| {
            format!(
                r#"{{"type":"Property","value":{at},"observedAt":"2024-01-{:02}T{:02}:{:02}:00Z"}}"#,
                1 + at / 1440,
                at / 60 % 24,
                at % 60
            )
        })
        .collect();
    let body = format!(r#"{{"id":"x","type":"T","n":[{}]}}"#, instances.join(","));
    assert!(body.len() > 512 << 10);
    let created = create(&harness, &body);
    assert_eq!((created.status.as_u16(), created.is_long), (201, true), "{}", created.body);
    expect![[r#"
        /entities/x?aggrMethods=totalCount,sum,distinctCount
          200 {"id":"x","type":"T","n":{"type":"Property","totalCount":[[12000,"2024-01-01T00:00:00Z","2024-01-09T07:59:00Z"]],"sum":[[71994000.0,"2024-01-01T00:00:00Z","2024-01-09T07:59:00Z"]],"distinctCount":[[12000,"2024-01-01T00:00:00Z","2024-01-09T07:59:00Z"]]}}
        /entities/x?options=temporalValues&lastN=2
          200 {"id":"x","type":"T","n":{"type":"Property","values":[[11998.0,"2024-01-09T07:58:00Z"],[11999.0,"2024-01-09T07:59:00Z"]]}}
        /entities/x?timerel=after&timeAt=2024-01-09T07:58:00Z&options=temporalValues
          200 {"id":"x","type":"T","n":{"type":"Property","values":[[11998.0,"2024-01-09T07:58:00Z"],[11999.0,"2024-01-09T07:59:00Z"]]}}
    "#]].assert_eq(&table(
        &harness,
        &[
            "/entities/x?aggrMethods=totalCount,sum,distinctCount",
            "/entities/x?options=temporalValues&lastN=2",
            "/entities/x?timerel=after&timeAt=2024-01-09T07:58:00Z&options=temporalValues",
        ],
    ));
    // More than a response has: what is left out begins with the moment behind the range.
    let all = harness.request("GET", &format!("{PREFIX}/entities/x"), &[], "");
    let range =
        ("content-range".to_owned(), "date-time 2024-01-01T00:00:00Z-2024-01-07T22:39:00Z/*".to_owned());
    assert_eq!((all.status.as_u16(), &all.headers[..]), (206, &[range][..]));
    assert_eq!(all.body.matches("observedAt").count(), 10_000);
    let rest = "/entities/x?timerel=after&timeAt=2024-01-07T22:39:00.001Z&options=temporalValues";
    let rest = harness.request("GET", &format!("{PREFIX}{rest}"), &[], "");
    assert_eq!((rest.status.as_u16(), rest.body.matches("2024-").count()), (200, 2000));
    let last = harness.request("GET", &format!("{PREFIX}/entities/x?lastN=11000"), &[], "");
    let range =
        ("content-range".to_owned(), "date-time 2024-01-09T07:59:00Z-2024-01-02T09:20:00Z/11000".to_owned());
    assert_eq!((last.status.as_u16(), &last.headers[..]), (206, &[range][..]));
    assert_eq!(last.body.matches("observedAt").count(), 10_000);
}

#[test]
pub(crate) fn what_was_notified_and_what_was_created_are_one() {
    let harness = filled();
    let body = r#"{"id":"Room:1","type":"Room","temperature":[{"type":"Property","value":22.5,"observedAt":"2024-01-01T01:30:00Z"}],
        "count":[{"type":"Property","value":8.75,"observedAt":"2024-01-01T01:30:00Z"}]}"#;
    assert_eq!(create(&harness, body).status.as_u16(), 204);
    expect![[r#"
        200 {"type":"Room","entities":[{"id":"Room:1","index":["2024-01-01T00:30:00.000+00:00","2024-01-01T01:30:00.000+00:00"],"attributes":[{"attrName":"count","values":[7,8]},{"attrName":"temperature","values":[21.5,22.5]}]}]}
    "#]].assert_eq(&(harness.get("/v2/types/Room?attrs=temperature,count") + "\n"));
    harness.notify(
        r#"[{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","value":60,"observedAt":"2021-01-01T00:00:00Z"}}]"#,
        &[],
    );
    expect![[r#"
        /entities/urn:ngsi-ld:Vehicle:A?attrs=speed&lastN=1
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":[{"type":"Property","value":60.0,"observedAt":"2021-01-01T00:00:00Z"}]}
    "#]].assert_eq(&table(&harness, &["/entities/urn:ngsi-ld:Vehicle:A?attrs=speed&lastN=1"]));
}
