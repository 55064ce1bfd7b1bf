//! Deletions.

use super::harness::{Harness, Responded};
use expect_test::expect;

fn delete(harness: &Harness, target: &str, headers: &[&str]) -> String {
    let Responded { status, body, .. } = harness.request("DELETE", target, headers, "");
    format!("{} {body}", status.as_u16())
}

fn filled() -> Harness {
    let harness = Harness::new();
    for (id, of, path) in [("x", "A", "/"), ("x", "B", "/"), ("y", "A", "/p"), ("z", "A", "/p/q")] {
        for hour in 1..4 {
            let entity = format!(
                r#"[{{"id":"{id}","type":"{of}","n":{{"type":"Integer","value":{hour}}},"observedAt":"2024-01-01T0{hour}:00:00Z"}}]"#
            );
            harness.notify(&entity, &[&format!("fiware-servicepath: {path}")]);
        }
    }
    harness
}

fn counts(harness: &Harness) -> Vec<usize> {
    let rows =
        |id: &str, of: &str| harness.get(&format!("/v2/entities/{id}?type={of}")).matches("+00:00").count();
    vec![rows("x", "A"), rows("x", "B"), rows("y", "A"), rows("z", "A")]
}

#[test]
pub(crate) fn rows_of_an_entity_are_deleted() {
    let harness = filled();
    expect![[r#"409 {"error":"AmbiguousNGSIIdError","description":"There are multiple entities with the given entity_id x. Please specify entity_type."}"#]].assert_eq(&delete(&harness, "/v2/entities/x", &[]));
    assert_eq!(
        delete(
            &harness,
            "/v2/entities/x?type=A&fromDate=2024-01-01T02:00:00Z&toDate=2024-01-01T02:00:00Z",
            &[]
        ),
        "204 "
    );
    assert_eq!(counts(&harness), [2, 3, 3, 3]);
    assert_eq!(delete(&harness, "/v2/entities/x?type=A", &[]), "204 ");
    assert_eq!(counts(&harness), [0, 3, 3, 3]);
    assert_eq!(delete(&harness, "/v2/entities/x?type=A", &[]), "200 []");
    assert_eq!(delete(&harness, "/v2/entities/none", &[]), "200 []");
    assert_eq!(delete(&harness, "/v2/entities/y", &["fiware-servicepath: /other"]), "200 []");
    assert_eq!(delete(&harness, "/v2/entities/y", &["fiware-service: other"]), "200 []");
    assert_eq!(counts(&harness), [0, 3, 3, 3]);
}

#[test]
pub(crate) fn rows_of_a_type_are_deleted_by_service_path() {
    let harness = filled();
    assert_eq!(delete(&harness, "/v2/types/A", &["fiware-servicepath: /p"]), "204 ");
    assert_eq!(counts(&harness), [3, 3, 0, 0]);
    assert_eq!(delete(&harness, "/v2/types/A?toDate=2024-01-01T01:00:00Z", &[]), "204 ");
    assert_eq!(counts(&harness), [2, 3, 0, 0]);
    assert_eq!(delete(&harness, "/v2/types/None", &[]), "200 []");
}

/// All rows of the type went, where no service path was named.
#[test]
pub(crate) fn rows_of_the_entities_of_a_type_that_are_named_are_deleted() {
    let harness = filled();
    assert_eq!(delete(&harness, "/v2/types/A?id=x,none", &[]), "204 ");
    assert_eq!(counts(&harness), [0, 3, 3, 3]);
    assert_eq!(delete(&harness, "/v2/types/A?idPattern=Y", &[]), "204 ");
    assert_eq!(counts(&harness), [0, 3, 0, 3]);
    assert_eq!(delete(&harness, "/v2/types/A?id=none", &[]), "200 []");
    assert_eq!(delete(&harness, "/v2/types/A", &[]), "204 ");
    assert_eq!(counts(&harness), [0, 3, 0, 0]);
}

/// All rows of the type went where a place, a number of rows or an empty id was to narrow the deletion down.
#[test]
fn parameters_that_do_not_count_for_a_deletion_refuse_it() {
    let harness = filled();
    for target in [
        "/v2/types/A?georel=near;maxDistance:10&geometry=point&coords=1,1",
        "/v2/types/A?lastN=1",
        "/v2/types/A?attrs=n",
        "/v2/types/A?todate=2020-01-01",
        "/v2/types/A?id=",
        "/v2/types/A?id=,",
        "/v2/types/A?toDate",
        "/v2/types/A?id=none&id=x",
        "/v2/types/A?type=B",
        "/v2/types/A?dropTable=",
        "/v2/types/A?dropTable=1",
        "/v2/types/A?dropTable=true&id=none",
        "/v2/types/A?dropTable=true&toDate=2020-01-01",
        "/v2/types/A?dropTable=true&dropTable=false",
        "/v2/entities/x?type=A&georel=near;maxDistance:10&geometry=point&coords=1,1",
        "/v2/entities/x?type=A&limit=1",
        "/v2/entities/x?type=A&id=y",
        "/v2/entities/y?type=",
        "/v2/entities/y?dropTable=true",
        "/v2/entities/y?%ff=1",
    ] {
        let refused = delete(&harness, target, &[]);
        assert!(refused.starts_with("400 "), "{target}: {refused}");
    }
    assert_eq!(counts(&harness), [3, 3, 3, 3]);
    expect![[r#"400 {"error":"Bad parameters use","description":"This deletion has no parameter georel; it has type, idPattern, fromDate, toDate."}"#]]
        .assert_eq(&delete(&harness, "/v2/entities/y?georel=disjoint", &[]));
    assert_eq!(delete(&harness, "/v2/types/A?type=A&dropTable=False", &[]), "204 ");
    assert_eq!(delete(&harness, "/v2/types/B?type=B&dropTable=True", &[]), "204 ");
    assert_eq!(counts(&harness), [0, 0, 0, 0]);
}

/// The rows of the first of the types were deleted that are called as its parts.
#[test]
pub(crate) fn a_type_has_commas_in_its_name() {
    let harness = filled();
    harness.notify(r#"[{"id":"x","type":"A,B","n":{"type":"Integer","value":7}}]"#, &[]);
    let found = || harness.get("/v2/types/A%2CB/attrs/n/value");
    assert!(found().ends_with("\"values\":[7]}]}"), "{}", found());
    assert_eq!(delete(&harness, "/v2/types/A,B", &[]), "204 ");
    assert_eq!(found(), "200 []");
    assert_eq!(delete(&harness, "/v2/types/A,B", &[]), "200 []");
    assert_eq!(counts(&harness), [3, 3, 3, 3]);
}

#[test]
pub(crate) fn a_type_is_dropped_with_its_attributes() {
    let harness = filled();
    let refused = delete(&harness, "/v2/types/A?dropTable=true", &["fiware-servicepath: /p"]);
    assert!(refused.starts_with("422 "), "{refused}");
    assert_eq!(delete(&harness, "/v2/types/A?dropTable=true", &[]), "204 ");
    assert_eq!(delete(&harness, "/v2/types/A?dropTable=true", &[]), "200 []");
    assert_eq!(counts(&harness), [0, 3, 0, 0]);
    // Its attributes may have other types now.
    harness.notify(r#"[{"id":"x","type":"A","n":{"type":"Text","value":"t"}}]"#, &[]);
    assert!(harness.get("/v2/entities/x/attrs/n/value?type=A").ends_with("[\"t\"]}"));
}

/// All other requests waited for them.
#[test]
fn rows_of_many_entities_are_deleted_by_a_thread_of_its_own() {
    let harness = Harness::new();
    let entity = |number: usize| format!(r#"{{"id":"e{number}","type":"T","n":{{"value":{number}}}}}"#);
    let entities: Vec<String> = (0..600).map(entity).collect();
    harness.notify(&format!("[{}]", entities.join(",")), &[]);
    let one = harness.request("DELETE", "/v2/types/T?id=e7", &[], "");
    assert_eq!((one.status.as_u16(), one.is_long), (204, false));
    let all = harness.request("DELETE", "/v2/types/T", &[], "");
    assert_eq!((all.status.as_u16(), all.is_long), (204, true));
    let none = harness.request("DELETE", "/v2/types/T", &[], "");
    assert_eq!((none.status.as_u16(), &*none.body), (200, "[]"));
}
