//! What tenants and roles see and write.

use std::fmt::Write as _;

use expect_test::expect;
use prony_graphql::variables::Variables;
use prony_source::{
    ReservedNames, Source as _,
    permissions::{Columns, InsertPermission, Permissions, SelectPermission, SessionNames, TablePermissions},
};
use serde_json::json;

use super::{PREFIX, filled, shown};
use crate::tests::harness::{Harness, LIMITS, Responded};

#[test]
pub(crate) fn tenants_do_not_see_each_other() {
    let harness = filled();
    for tenant in ["ngsild-tenant: factory", "fiware-service: factory"] {
        let list = harness.request(
            "GET",
            &format!("{PREFIX}/entities?type=Room,Vehicle&options=temporalValues"),
            &[tenant],
            "",
        );
        expect![[r#"[{"id":"Room:1","type":"Room","TimeInstant":{"type":"Property","values":[[{"@type":"DateTime","@value":"2025-01-01T00:00:00Z"},"2025-01-01T00:00:00Z"]]},"secret":{"type":"Property","values":[[9.0,"2025-01-01T00:00:00Z"]]}}]"#]]
            .assert_eq(&list.body);
    }
    let other = harness.request(
        "GET",
        &format!("{PREFIX}/entities/urn:ngsi-ld:Vehicle:A"),
        &["ngsild-tenant: factory"],
        "",
    );
    assert_eq!(other.status.as_u16(), 404);
    let body = r#"{"id":"x","type":"T","n":{"value":1,"observedAt":"2024-01-01T00:00:00Z"}}"#;
    let made = harness.request(
        "POST",
        &format!("{PREFIX}/entities"),
        &["ngsild-tenant: new", "fiware-servicepath: /a"],
        body,
    );
    assert_eq!(made.status.as_u16(), 201);
    assert_eq!(harness.request("GET", &format!("{PREFIX}/entities/x"), &[], "").status.as_u16(), 404);
    for (path, status) in [("/a", 200), ("/", 200), ("/b", 404)] {
        let header = format!("fiware-servicepath: {path}");
        let found =
            harness.request("GET", &format!("{PREFIX}/entities/x"), &["ngsild-tenant: new", &header], "");
        assert_eq!(found.status.as_u16(), status, "{path}");
    }
}

/// Speeds of vehicles whose ids are given, two rows of each response; fuel levels are only summed up.
pub(super) fn granted(limit: Option<u64>) -> Permissions {
    let mut names = SessionNames::default();
    let own = names.condition(&json!({"id": {"like": "urn:ngsi-ld:Vehicle:A%"}})).unwrap();
    let columns = |name: &str| Columns::Only([name.to_owned()].into());
    let vehicles = TablePermissions {
        select: Some(SelectPermission {
            columns: columns("speed"),
            aggregate: Some(columns("fuelLevel")),
            limit,
            ..SelectPermission::of_rows(own.clone())
        }),
        insert: Some(InsertPermission { columns: columns("speed"), ..InsertPermission::checked(own) }),
        ..TablePermissions::default()
    };
    let mut permissions = Permissions::default();
    permissions.tables.insert("Vehicle".to_owned(), vehicles.into());
    permissions
}

/// A request by a role.
pub(super) fn by_role(
    harness: &Harness,
    permissions: &Permissions,
    method: &str,
    target: &str,
    body: &str,
) -> Responded {
    let schema = harness.source.schema_for(&ReservedNames::default(), permissions).unwrap();
    let connection = schema.api_connection(Variables::default(), LIMITS).unwrap();
    let target = format!("{PREFIX}{target}");
    let (mut responded, whole) = harness.send_over(connection, method, &target, &[], body.as_bytes());
    responded.body = String::from_utf8(whole).unwrap();
    responded
}

#[test]
pub(crate) fn a_role_sees_and_writes_what_is_granted() {
    let harness = filled();
    let granted = granted(None);
    let mut text = String::new();
    let write = |id: &str, name: &str| {
        format!(
            r#"{{"id":"{id}","type":"Vehicle","{name}":[{{"value":1,"observedAt":"2024-01-01T00:00:00Z"}}]}}"#
        )
    };
    let (own, hidden, others) = (
        write("urn:ngsi-ld:Vehicle:A2", "speed"),
        write("urn:ngsi-ld:Vehicle:A", "fuelLevel"),
        write("other", "speed"),
    );
    for (method, target, body) in [
        ("GET", "/entities?type=Vehicle,Room,Floor&options=temporalValues,count", ""),
        ("GET", "/entities/urn:ngsi-ld:Vehicle:A?attrs=fuelLevel", ""),
        ("GET", "/entities/urn:ngsi-ld:Vehicle:A?aggrMethods=max", ""),
        ("GET", "/entities/urn:ngsi-ld:Vehicle:B%20c%2Fd", ""),
        ("GET", "/entities/Room:1?type=Room", ""),
        // What cannot be seen cannot be asked about.
        ("GET", "/entities?type=Vehicle&q=fuelLevel>1&attrs=speed", ""),
        ("GET", "/entities?type=Vehicle&q=!fuelLevel&attrs=speed&options=temporalValues", ""),
        (
            "GET",
            "/entities?type=Vehicle&georel=near;maxDistance==10&geometry=Point&coordinates=[2.5,41.5]&attrs=speed",
            "",
        ),
        ("POST", "/entities", &own),
        ("POST", "/entities", &hidden),
        ("POST", "/entities", &others),
    ] {
        let responded = by_role(&harness, &granted, method, target, body);
        writeln!(text, "{method} {target}{body}\n  {}", shown(&responded)).unwrap();
    }
    expect![[r#"
        GET /entities?type=Vehicle,Room,Floor&options=temporalValues,count
          200 ngsild-results-count: 1 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}]
        GET /entities/urn:ngsi-ld:Vehicle:A?attrs=fuelLevel
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"the entity `urn:ngsi-ld:Vehicle:A` has none of the attributes fuelLevel","status":404}
        GET /entities/urn:ngsi-ld:Vehicle:A?aggrMethods=max
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":{"type":"Property","max":[[67.0,"2020-08-01T12:03:00Z","2020-08-01T14:07:00Z"]]}}
        GET /entities/urn:ngsi-ld:Vehicle:B%20c%2Fd
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"there is no entity `urn:ngsi-ld:Vehicle:B c/d`","status":404}
        GET /entities/Room:1?type=Room
          404 {"type":"…/ResourceNotFound","title":"Resource not found","detail":"there is no entity `Room:1`","status":404}
        GET /entities?type=Vehicle&q=fuelLevel>1&attrs=speed
          200 []
        GET /entities?type=Vehicle&q=!fuelLevel&attrs=speed&options=temporalValues
          200 [{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}]
        GET /entities?type=Vehicle&georel=near;maxDistance==10&geometry=Point&coordinates=[2.5,41.5]&attrs=speed
          200 []
        POST /entities{"id":"urn:ngsi-ld:Vehicle:A2","type":"Vehicle","speed":[{"value":1,"observedAt":"2024-01-01T00:00:00Z"}]}
          201 location: /ngsi-ld/v1/temporal/entities/urn:ngsi-ld:Vehicle:A2 
        POST /entities{"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","fuelLevel":[{"value":1,"observedAt":"2024-01-01T00:00:00Z"}]}
          403 {"type":"about:blank","title":"Forbidden","detail":"your role may not write these attributes of the entity urn:ngsi-ld:Vehicle:A of type Vehicle; nothing was written","status":403}
        POST /entities{"id":"other","type":"Vehicle","speed":[{"value":1,"observedAt":"2024-01-01T00:00:00Z"}]}
          403 {"type":"about:blank","title":"Forbidden","detail":"your role may not write these attributes of the entity other of type Vehicle; nothing was written","status":403}
    "#]].assert_eq(&text);
}

#[test]
pub(crate) fn rows_of_a_role_are_limited_and_the_response_says_so() {
    let harness = filled();
    let granted = granted(Some(2));
    let mut text = String::new();
    for target in [
        "/entities/urn:ngsi-ld:Vehicle:A?options=temporalValues",
        "/entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&timerel=after&timeAt=2020-08-01T12:04:00Z",
        "/entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&lastN=1",
        "/entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&lastN=5",
    ] {
        writeln!(text, "{target}\n  {}", shown(&by_role(&harness, &granted, "GET", target, ""))).unwrap();
    }
    expect![[r#"
        /entities/urn:ngsi-ld:Vehicle:A?options=temporalValues
          206 content-range: date-time 2020-08-01T12:03:00Z-2020-08-01T12:05:00Z/* {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[120.0,"2020-08-01T12:03:00Z"],[80.0,"2020-08-01T12:05:00Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&timerel=after&timeAt=2020-08-01T12:04:00Z
          206 content-range: date-time 2020-08-01T12:04:00Z-2020-08-01T12:07:00.500Z/* {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[80.0,"2020-08-01T12:05:00Z"],[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&lastN=1
          200 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[[100.0,"2020-08-01T12:07:00.500Z"]]}}
        /entities/urn:ngsi-ld:Vehicle:A?options=temporalValues&lastN=5
          206 content-range: date-time 2020-08-01T14:07:00Z-2020-08-01T13:05:00Z/5 {"id":"urn:ngsi-ld:Vehicle:A","type":"Vehicle","speed":{"type":"Property","values":[]}}
    "#]].assert_eq(&text);
}
