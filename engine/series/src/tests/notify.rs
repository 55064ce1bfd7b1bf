//! Notifications: what is taken, what is refused, what becomes of values and times.

use std::fmt::Write as _;

use expect_test::expect;

use super::harness::Harness;

#[test]
pub(crate) fn faulty_bodies_are_refused_whole() {
    let harness = Harness::new();
    let mut table = String::new();
    for body in [
        "{",
        "[]",
        "{}",
        r#"{"data":{}}"#,
        r#"{"data":[1]}"#,
        r#"{"data":[{"id":"x"}]}"#,
        r#"{"data":[{"type":"T","a":{"value":1}}]}"#,
        r#"{"data":[{"id":1,"type":"T"}]}"#,
        r#"{"data":[{"id":"x","type":"T","a":21}]}"#,
        r#"{"data":[{"id":"good","type":"T","a":{"value":1}},{"id":"bad"}]}"#,
    ] {
        let responded = harness.request("POST", "/v2/notify", &[], body);
        writeln!(table, "{} {}", responded.status.as_u16(), responded.body).unwrap();
    }
    expect![[r#"
        400 {"detail":"Request body is not valid JSON","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"[] is not of type 'object'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"'data' is a required property","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"{} is not of type 'array' - 'data'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"1 is not of type 'object' - 'data.0'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"'type' is a required property - 'data.0'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"'id' is a required property - 'data.0'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"1 is not of type 'string' - 'data.0.id'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"21 is not of type 'object' - 'data.0.a'","status":400,"title":"Bad Request","type":"about:blank"}
        400 {"detail":"'type' is a required property - 'data.1'","status":400,"title":"Bad Request","type":"about:blank"}
    "#]].assert_eq(&table);
    assert_eq!(harness.get("/v2/entities"), "200 []");
}

#[test]
pub(crate) fn the_first_type_of_an_attribute_wins() {
    let harness = Harness::new();
    let at = |hour: u32, attributes: &str| {
        let entity = format!(
            r#"[{{"id":"x","type":"T","TimeInstant":{{"type":"DateTime","value":"2024-01-01T{hour:02}:00:00Z"}},{attributes}}}]"#
        );
        harness.notify(&entity, &[]);
    };
    at(
        0,
        r#""n":{"type":"Number","value":1},"i":{"type":"Integer","value":1},"b":{"type":"Boolean","value":true},"t":{"type":"Text","value":"a"},"s":{"type":"StructuredValue","value":{"a":[1,null]}},"d":{"type":"DateTime","value":"2024-05-06T07:08:09.1Z"},"u":{"type":"Unit","value":7},"plain":{"value":2.5}"#,
    );
    at(
        1,
        r#""n":{"type":"Number","value":"1.5"},"i":{"type":"Integer","value":2.7},"b":{"type":"Boolean","value":"true"},"t":{"type":"Text","value":["a","b"]},"s":{"type":"StructuredValue","value":3},"d":{"type":"DateTime","value":"no"},"u":{"type":"Other","value":"x"},"plain":{"value":"3"}"#,
    );
    at(
        2,
        r#""N":{"type":"Text","value":true},"i":{"type":"Integer","value":null},"b":{"type":"Boolean","value":1},"t":{"type":"Text","value":true},"s":{"type":"StructuredValue","value":[]},"gone":{},"plain":{"value":""}"#,
    );
    expect![[r#"
        200 {"id":"x","type":"T","index":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00"],"attributes":[{"attrName":"TimeInstant","values":["2024-01-01T00:00:00.000+00:00","2024-01-01T01:00:00.000+00:00","2024-01-01T02:00:00.000+00:00"]},
        {"attrName":"b","values":[true,true,true]},
        {"attrName":"d","values":["2024-05-06T07:08:09.100+00:00",null,null]},
        {"attrName":"i","values":[1,2,null]},
        {"attrName":"n","values":[1.0,1.5,null]},
        {"attrName":"plain","values":[2.5,3.0,null]},
        {"attrName":"s","values":[{"a":[1,null]},null,[]]},
        {"attrName":"t","values":["a","['a', 'b']","True"]},
        {"attrName":"u","values":[7,null,null]}]}"#]].assert_eq(&harness.get("/v2/entities/x").replace("},{", "},\n{"));
    assert_eq!(harness.series.misfit_count(), 4);
}

#[test]
pub(crate) fn entities_without_anything_are_kept_and_emptied_ones_are_not() {
    let harness = Harness::new();
    harness.notify(r#"[{"id":"bare","type":"T","modifiedAt":"2024-01-01T00:00:00Z"}]"#, &[]);
    harness.notify(r#"[{"id":"emptied","type":"T","a":{},"b":{"value":null}}]"#, &[]);
    expect![[r#"200 [{"id":"bare","type":"T","index":"2024-01-01T00:00:00.000+00:00"}]"#]]
        .assert_eq(&harness.get("/v2/entities"));
}

#[test]
pub(crate) fn places_become_geojson_with_a_middle() {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"x","type":"T","observedAt":"2024-01-01T00:00:00Z","location":{"type":"geo:point","value":"41.5,2"}},
            {"id":"y","type":"T","observedAt":"2024-01-01T00:00:00Z","location":{"type":"GeoProperty","value":{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,2],[0,2],[0,0]]]}}}]"#,
        &[],
    );
    expect![[r#"200 {"type":"T","entities":[{"id":"x","index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"location","values":[{"type":"Point","coordinates":[2.0,41.5]}]},{"attrName":"location_centroid","values":["41.5, 2.0"]}]},{"id":"y","index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"location","values":[{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,2],[0,2],[0,0]]]}]},{"attrName":"location_centroid","values":["1.0, 2.0"]}]}]}"#]].assert_eq(&harness.get("/v2/types/T"));
}

#[test]
pub(crate) fn entities_of_ngsi_ld_are_taken() {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"urn:ngsi-ld:Room:1","type":"Room","@context":"https://example.org","temperature":{"type":"Property","value":21.5,"observedAt":"2024-01-01T00:00:00Z","unitCode":"CEL"},"in":{"type":"Relationship","object":"urn:ngsi-ld:House:1"}}]"#,
        &["ngsild-tenant: home"],
    );
    let responded = harness.request("GET", "/v2/entities/urn:ngsi-ld:Room:1", &["fiware-service: home"], "");
    expect![[r#"{"id":"urn:ngsi-ld:Room:1","type":"Room","index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"in","values":["urn:ngsi-ld:House:1"]},{"attrName":"temperature","values":[21.5]}]}"#]].assert_eq(&responded.body);
    assert_eq!(harness.get("/v2/entities"), "200 []", "another tenant sees nothing");
}

/// Where a whole number came first, those behind it lost their fractions.
#[test]
fn numbers_of_properties_of_ngsi_ld_keep_their_fractions() {
    let harness = Harness::new();
    for (minute, value) in ["20", "20.5", "-0.25"].into_iter().enumerate() {
        harness.notify(
            &format!(
                r#"[{{"id":"r","type":"Room","t":{{"type":"Property","value":{value},"observedAt":"2024-01-01T00:0{minute}:00Z"}},"n":{{"type":"Property","value":9007199254740993}}}}]"#
            ),
            &[],
        );
    }
    let found = harness.get("/v2/entities/r/attrs/t/value");
    assert!(found.ends_with(r#""values":[20.0,20.5,-0.25]}"#), "{found}");
    let found = harness.get("/v2/entities/r/attrs/n/value?limit=1");
    assert!(found.ends_with(r#""values":[9007199254740993]}"#), "{found}");
}

/// They were cut off without a word, as of the type `Integer`.
#[test]
fn fractions_behind_a_whole_number_of_an_unknown_type_are_misfits() {
    let harness = Harness::new();
    for (minute, value) in ["20", "20.5", "\"21.0\"", "\"-0.25\"", "22"].into_iter().enumerate() {
        harness.notify(
            &format!(
                r#"[{{"id":"r","type":"Room","t":{{"type":"Temperature","value":{value},"observedAt":"2024-01-01T00:0{minute}:00Z"}},"i":{{"type":"Integer","value":{value}}}}}]"#
            ),
            &[],
        );
    }
    let found = harness.get("/v2/entities/r/attrs/t/value");
    assert!(found.ends_with(r#""values":[20,null,21,null,22]}"#), "{found}");
    let found = harness.get("/v2/entities/r/attrs/i/value");
    assert!(found.ends_with(r#""values":[20,20,21,0,22]}"#), "{found}");
    assert_eq!(harness.series.misfit_count(), 2);
}

#[test]
pub(crate) fn service_paths_are_one_or_one_each() {
    let harness = Harness::new();
    let two = r#"[{"id":"x","type":"T","a":{"value":1}},{"id":"y","type":"T","a":{"value":2}}]"#;
    harness.notify(two, &["fiware-servicepath: /a,/b/c"]);
    for (path, found) in [("/a", "x"), ("/b", "y"), ("/b/c", "y")] {
        let header = format!("fiware-servicepath: {path}");
        let responded = harness.request("GET", "/v2/types/T/attrs/a/value", &[&header], "");
        assert!(responded.body.contains(&format!("\"id\":\"{found}\"")), "{path}: {}", responded.body);
        assert_eq!(responded.body.matches("\"id\"").count(), 1, "{path}");
    }
    let of_beginning = harness.request("GET", "/v2/types/T", &["fiware-servicepath: /b/"], "");
    assert_eq!(of_beginning.body.matches("\"id\"").count(), 1);
    assert_eq!(harness.request("GET", "/v2/types/T", &["fiware-servicepath: /bc"], "").body, "[]");
    let three = harness.request(
        "POST",
        "/v2/notify",
        &["fiware-servicepath: /a,/b,/c"],
        &format!("{{\"data\":{two}}}"),
    );
    expect![[r#"400 "Notification not processed or not updated: The header value '/a,/b,/c' for header Fiware-ServicePath is not valid. Multiple servicePath are allowed only if their number match the number of entities""#]].assert_eq(&format!("{} {}", three.status.as_u16(), three.body));
}

/// They were left out without a word, for members of NGSI-LD are called so.
#[test]
fn attributes_may_be_called_as_members_of_ngsi_ld() {
    let harness = Harness::new();
    harness.notify(
        r#"[{"id":"v2","type":"T","scope":{"type":"Text","value":"all"},"createdAt":{"type":"Number","value":1},
            "observedAt":{"type":"DateTime","value":"2024-01-01T00:00:00Z"}},
            {"id":"ld","type":"T","scope":["/a"],"createdAt":"2023-01-01T00:00:00Z","observedAt":"2024-01-01T00:00:00Z",
            "@context":{"value":1},"n":{"type":"Property","value":1}}]"#,
        &[],
    );
    expect![[r#"200 {"index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"createdAt","values":[1.0]},{"attrName":"n","values":[null]},{"attrName":"observedAt","values":["2024-01-01T00:00:00.000+00:00"]},{"attrName":"scope","values":["all"]}]}"#]]
        .assert_eq(&harness.get("/v2/entities/v2/value"));
    expect![[r#"200 {"index":["2024-01-01T00:00:00.000+00:00"],"attributes":[{"attrName":"createdAt","values":[null]},{"attrName":"n","values":[1.0]},{"attrName":"observedAt","values":[null]},{"attrName":"scope","values":[null]}]}"#]]
        .assert_eq(&harness.get("/v2/entities/ld/value"));
}

#[test]
fn bounds_name_the_thing_the_value_and_the_limit() {
    let harness = Harness::new();
    let long = "x".repeat(5000);
    let body = format!(r#"{{"data":[{{"id":"{long}","type":"T","a":{{"value":1}}}}]}}"#);
    let responded = harness.request("POST", "/v2/notify", &[], &body);
    assert_eq!(responded.status.as_u16(), 400);
    assert!(responded.body.contains("of 5000 bytes is longer than the limit of 4096"), "{}", responded.body);
    let attributes: Vec<String> = (0..6000).map(|at| format!(r#""a{at}":{{"value":1}}"#)).collect();
    let body = format!(r#"{{"data":[{{"id":"x","type":"Wide",{}}}]}}"#, attributes.join(","));
    let responded = harness.request("POST", "/v2/notify", &[], &body);
    assert_eq!(responded.status.as_u16(), 400);
    assert!(responded.body.contains("number 5001, and the limit is 5000"), "{}", responded.body);
    assert_eq!(harness.get("/v2/entities"), "200 []");
}

#[test]
pub(crate) fn a_long_body_is_taken_by_a_thread_of_its_own() {
    let harness = Harness::new();
    let entities: Vec<String> = (0..6000)
        .map(|at| format!(r#"{{"id":"e{at:05}","type":"T","a":{{"type":"Number","value":{at}}},"s":{{"type":"Text","value":"{}"}}}}"#, "y".repeat(40)))
        .collect();
    let responded =
        harness.request("POST", "/v2/notify", &[], &format!("{{\"data\":[{}]}}", entities.join(",")));
    assert!(responded.is_long && responded.status.is_success(), "{}", responded.body);
    let found = harness.request("GET", "/v2/types/T/attrs/a?options=count", &[], "");
    assert!(found.is_long);
    assert_eq!(found.headers[0], ("fiware-total-count".to_owned(), "6000".to_owned()));
    assert_eq!(found.body.matches("\"id\"").count(), 6000);
    let listed = harness.request("GET", "/v2/entities?limit=3", &[], "");
    assert!(listed.is_long && listed.body.matches("\"id\"").count() == 3);
}
