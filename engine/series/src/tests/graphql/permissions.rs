//! What a role sees and writes, by GraphQL and by the calls.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use prony_graphql::variables::Variables;
use prony_source::{
    ReservedNames, Source as _,
    permissions::{
        Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
        TablePermissions, UpdatePermission,
    },
};
use serde_json::{Value as Json, json};

use super::queries::rooms;
use crate::{
    settings::SeriesSettings,
    tests::harness::{Harness, LIMITS},
};

fn columns(names: &[&str]) -> Columns {
    Columns::Only(names.iter().map(|&name| name.to_owned()).collect())
}

/// Temperatures of the session's room alone, and what it writes itself; all of another tenant's.
fn granted() -> Permissions {
    let mut names = SessionNames::default();
    let mut condition = |written: Json| names.condition(&written).unwrap();
    let own = condition(json!({"id": {"eq": "$room"}}));
    let rooms = TablePermissions {
        select: Some(SelectPermission {
            columns: columns(&["Temperature", "name"]),
            aggregate: Some(columns(&["pressure"])),
            limit: Some(3),
            ..SelectPermission::of_rows(own.clone())
        }),
        insert: Some(InsertPermission {
            columns: columns(&["temperature"]),
            ..InsertPermission::checked(own.clone())
        }),
        delete: Some(DeletePermission { rows: own }),
        update: None,
    };
    let all = SelectPermission::of_rows(condition(json!({})));
    let factory = TablePermissions {
        select: Some(SelectPermission { aggregates: false, ..all }),
        ..TablePermissions::default()
    };
    let mut permissions = Permissions::default();
    permissions.tables.insert("Room".to_owned(), rooms.into());
    permissions.tables.insert("factory/Room".to_owned(), factory.into());
    permissions
}

fn filled() -> Harness {
    let harness = rooms();
    let secret = r#"[{"id":"Secret:1","type":"Secret","n":{"type":"Number","value":1}}]"#;
    harness.notify(secret, &[]);
    harness.notify(secret, &["fiware-service: factory"]);
    harness.notify(r#"[{"id":"Hall","type":"Room","n":{"type":"Number","value":1},"TimeInstant":{"type":"DateTime","value":"2024"}}]"#, &["fiware-service: factory"]);
    harness
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check(harness: &Harness, session: &[Json], queries: &[&str], expected: Expect) {
    let offered = harness.offered_to(&granted(), session);
    let mut text = String::new();
    for query in queries {
        writeln!(text, "{query}\n  {}", harness.ask_by(&offered, query, "{}")).unwrap();
    }
    expected.assert_eq(&text);
}

#[test]
pub(crate) fn what_is_hidden_is_not_there() {
    let harness = filled();
    check(
        &harness,
        &[json!("Room:2")],
        &[
            "{ rooms { id servicePath temperature { value } rows { name } pressure_aggregate { max } } }",
            r#"{ room(id: "Room:1") { id } mine: room(id: "Room:2", servicePath: "/c") { id } not: rooms(where: {not: {id: {eq: "Room:2"}}}) { id } }"#,
            "{ rooms(limit: 4) { id } }",
            "{ rooms { rows(last: 4) { time } } }",
            "{ factory_rooms { id n { value } } }",
            "{ rooms { pressure { value } temperature_aggregate { max } } secrets { id } factory_secrets { id } seriesTypes { name } factory_rooms { n_aggregate { max } } }",
        ],
        expect![[r#"
            { rooms { id servicePath temperature { value } rows { name } pressure_aggregate { max } } }
              {"data":{"rooms":[{"id":"Room:2","servicePath":"/a/b","temperature":[{"value":null}],"rows":[{"name":"\"Room:2\" 5"}],"pressure_aggregate":[{"max":705}]},{"id":"Room:2","servicePath":"/c","temperature":[{"value":1e+300}],"rows":[{"name":"\"Room:2\" 6"}],"pressure_aggregate":[{"max":706}]}]}}
            { room(id: "Room:1") { id } mine: room(id: "Room:2", servicePath: "/c") { id } not: rooms(where: {not: {id: {eq: "Room:2"}}}) { id } }
              {"data":{"room":null,"mine":{"id":"Room:2"},"not":[]}}
            { rooms(limit: 4) { id } }
              {"data":null,"errors":[{"message":"`limit` is 4, above the highest of 3 (of your role): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["rooms"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
            { rooms { rows(last: 4) { time } } }
              {"data":null,"errors":[{"message":"`last` is 4, above the highest of 3 (of your role): page with `offset` or a filter on the key","locations":[{"line":1,"column":11}],"path":["rooms"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
            { factory_rooms { id n { value } } }
              {"data":{"factory_rooms":[{"id":"Hall","n":[{"value":1.0}]}]}}
            { rooms { pressure { value } temperature_aggregate { max } } secrets { id } factory_secrets { id } seriesTypes { name } factory_rooms { n_aggregate { max } } }
              {"errors":[{"message":"type `Room` does not have a field `pressure`","locations":[{"line":1,"column":11}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `Room` does not have a field `temperature_aggregate`; did you mean `pressure_aggregate`?","locations":[{"line":1,"column":30}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `Query` does not have a field `secrets`","locations":[{"line":1,"column":62}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `Query` does not have a field `factory_secrets`","locations":[{"line":1,"column":77}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `Query` does not have a field `seriesTypes`","locations":[{"line":1,"column":100}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `factory_Room` does not have a field `n_aggregate`","locations":[{"line":1,"column":137}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        "#]],
    );
    check(
        &harness,
        &[],
        &[r#"{ rooms { id } not: rooms(where: {not: {id: {eq: "x"}}}) { id } factory_rooms { id } }"#],
        expect![[r#"
            { rooms { id } not: rooms(where: {not: {id: {eq: "x"}}}) { id } factory_rooms { id } }
              {"data":{"rooms":[],"not":[],"factory_rooms":[{"id":"Hall"}]}}
        "#]],
    );
}

/// It was told as a value of the request (`BAD_USER_INPUT`).
#[test]
fn what_is_known_of_a_session_and_is_no_text_is_forbidden() {
    let harness = filled();
    for known in [json!(5), json!(["Room:2"]), json!({})] {
        let offered = harness.offered_to(&granted(), std::slice::from_ref(&known));
        let answer = harness.ask_by(&offered, "{ rooms { id } }", "{}");
        assert!(answer.contains("FORBIDDEN"), "{known}: {answer}");
    }
}

#[test]
pub(crate) fn events_are_of_what_can_be_seen() {
    let harness = filled();
    let offered = harness.offered_to(&granted(), &[json!("Room:2")]);
    let mut events = harness.subscribe(&offered, "subscription { onRoomRow { id temperature } }");
    for id in ["Room:1", "Room:2", "Room:3"] {
        harness.notify(
            &format!(r#"[{{"id":"{id}","type":"Room","temperature":{{"type":"Number","value":1}}}}]"#),
            &[],
        );
    }
    expect![[r#"
        {"data":{"onRoomRow":{"id":"Room:2","temperature":1.0}}}
    "#]]
    .assert_eq(&events.so_far(&harness));
}

/// A method, a path, headers and a body.
type Call<'a> = (&'a str, &'a str, &'a [&'a str], &'a str);

/// What is responded to the role of `Room:2`, call by call.
#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check_calls(harness: &Harness, calls: &[Call<'_>], expected: Expect) {
    let schema = harness.source.schema_for(&ReservedNames::default(), &granted()).unwrap();
    let mut text = String::new();
    for (method, target, headers, body) in calls {
        let variables = Variables::default().with_session([json!("Room:2")].into());
        let connection = schema.api_connection(variables, LIMITS).unwrap();
        let (responded, whole) = harness.send_over(connection, method, target, headers, body.as_bytes());
        let shown = String::from_utf8(whole).unwrap();
        let call = [&[*method, *target], *headers].concat().join(" ");
        writeln!(text, "{call}\n  {} {shown}", responded.status.as_u16()).unwrap();
    }
    expected.assert_eq(&text);
}

const FACTORY: &[&str] = &["fiware-service: factory"];

#[test]
pub(crate) fn the_calls_show_what_is_granted() {
    let calls = [
        ("GET", "/v2/entities", &[][..], ""),
        ("GET", "/v2/entities", FACTORY, ""),
        ("GET", "/v2/entities/Room:1", &[], ""),
        ("GET", "/v2/entities/Room:2", &[], ""),
        ("GET", "/v2/types/Room/attrs/pressure", &[], ""),
        ("GET", "/v2/types/Room/attrs/pressure?aggrMethod=max", &[], ""),
        ("GET", "/v2/types/Room/attrs/temperature?aggrMethod=max", &[], ""),
        ("GET", "/v2/types/Secret", &[], ""),
        ("GET", "/v2/attrs/n", &[], ""),
        ("GET", "/v2/attrs/n", FACTORY, ""),
        ("GET", "/v2/types/Room?georel=near;maxDistance:10&geometry=point&coords=40,2", &[], ""),
        (
            "POST",
            "/v2/op/query",
            &[],
            r#"{"entities":[{"id":"Room:1","type":"Room"},{"id":"Room:2","type":"Room"},{"id":"Secret:1","type":"Secret"}]}"#,
        ),
    ];
    check_calls(
        &filled(),
        &calls,
        expect![[r#"
        GET /v2/entities
          200 [{"id":"Room:2","type":"Room","index":"2024-05-06T07:06:00.000+00:00"}]
        GET /v2/entities fiware-service: factory
          200 [{"id":"Hall","type":"Room","index":"2024-01-01T00:00:00.000+00:00"}]
        GET /v2/entities/Room:1
          200 []
        GET /v2/entities/Room:2
          200 {"id":"Room:2","type":"Room","index":["2024-05-06T07:05:00.000+00:00","2024-05-06T07:06:00.000+00:00"],"attributes":[{"attrName":"name","values":["\"Room:2\" 5","\"Room:2\" 6"]},{"attrName":"temperature","values":[null,1e+300]}]}
        GET /v2/types/Room/attrs/pressure
          200 []
        GET /v2/types/Room/attrs/pressure?aggrMethod=max
          200 {"type":"Room","attrName":"pressure","entities":[{"id":"Room:2","index":["",""],"values":[706]}]}
        GET /v2/types/Room/attrs/temperature?aggrMethod=max
          200 []
        GET /v2/types/Secret
          200 []
        GET /v2/attrs/n
          200 []
        GET /v2/attrs/n fiware-service: factory
          200 {"attrName":"n","types":[{"type":"Room","entities":[{"id":"Hall","index":["2024-01-01T00:00:00.000+00:00"],"values":[1.0]}]}]}
        GET /v2/types/Room?georel=near;maxDistance:10&geometry=point&coords=40,2
          200 []
        POST /v2/op/query
          200 [{"id":"Room:2","type":"Room","name":{"type":"Text","value":"\"Room:2\" 6"},"temperature":{"type":"Number","value":1e+300},"dateModified":{"type":"DateTime","value":"2024-05-06T07:06:00.000+00:00"}}]
    "#]],
    );
}

fn notification(rows: &[(&str, &str)]) -> String {
    let row = |(id, attribute): &(&str, &str)| {
        format!(
            r#"{{"id":"{id}","type":"Room","{attribute}":{{"type":"Number","value":9}},"observedAt":"2026-01-01"}}"#
        )
    };
    format!("{{\"data\":[{}]}}", rows.iter().map(row).collect::<Vec<_>>().join(","))
}

#[test]
pub(crate) fn the_calls_write_what_is_granted() {
    let harness = filled();
    let own = notification(&[("Room:2", "temperature")]);
    let others = notification(&[("Room:2", "temperature"), ("Room:1", "temperature")]);
    let hidden = notification(&[("Room:2", "pressure")]);
    let new_type = r#"{"data":[{"id":"x","type":"New"}]}"#;
    let calls = [
        ("POST", "/v2/notify", &[][..], &*own),
        ("POST", "/v2/notify", &[], &others),
        ("POST", "/v2/notify", &[], &hidden),
        ("POST", "/v2/notify", FACTORY, &own),
        ("POST", "/v2/notify", &[], new_type),
        ("POST", "/write", &[], "Room,id=Room:2 temperature=3 1767225600000000000"),
        ("POST", "/write", &[], "Room temperature=3 1767225600000000000"),
        ("GET", "/v2/entities/Room:2/attrs/temperature?lastN=1", &[], ""),
        ("DELETE", "/v2/entities/Room:1", &[], ""),
        ("DELETE", "/v2/types/Secret", &[], ""),
        ("DELETE", "/v2/types/Secret?dropTable=true", &[], ""),
        ("DELETE", "/v2/types/Room?dropTable=true", &[], ""),
        ("DELETE", "/v2/types/Room?dropTable=true", FACTORY, ""),
        ("DELETE", "/v2/types/Room", FACTORY, ""),
        ("DELETE", "/v2/types/Room", &[], ""),
        ("GET", "/v2/entities/Room:2", &[], ""),
    ];
    check_calls(
        &harness,
        &calls,
        expect![[r#"
        POST /v2/notify
          200 "Notification successfully processed"
        POST /v2/notify
          403 {"detail":"your role may not write these attributes of the entity Room:1 of type Room; nothing was written","status":403,"title":"Forbidden","type":"about:blank"}
        POST /v2/notify
          403 {"detail":"your role may not write these attributes of the entity Room:2 of type Room; nothing was written","status":403,"title":"Forbidden","type":"about:blank"}
        POST /v2/notify fiware-service: factory
          403 {"detail":"your role may not write these attributes of the entity Room:2 of type Room; nothing was written","status":403,"title":"Forbidden","type":"about:blank"}
        POST /v2/notify
          403 {"detail":"your role may not write these attributes of the entity x of type New; nothing was written","status":403,"title":"Forbidden","type":"about:blank"}
        POST /write
          204 
        POST /write
          403 {"detail":"your role may not write these attributes of the entity - of type Room; nothing was written","status":403,"title":"Forbidden","type":"about:blank"}
        GET /v2/entities/Room:2/attrs/temperature?lastN=1
          200 {"id":"Room:2","type":"Room","attrName":"temperature","index":["2026-01-01T00:00:00.000+00:00"],"values":[3.0]}
        DELETE /v2/entities/Room:1
          200 []
        DELETE /v2/types/Secret
          200 []
        DELETE /v2/types/Secret?dropTable=true
          200 []
        DELETE /v2/types/Room?dropTable=true
          403 {"detail":"your role deletes rows of some entities of this type alone","status":403,"title":"Forbidden","type":"about:blank"}
        DELETE /v2/types/Room?dropTable=true fiware-service: factory
          200 []
        DELETE /v2/types/Room fiware-service: factory
          200 []
        DELETE /v2/types/Room
          204 
        GET /v2/entities/Room:2
          200 []
    "#]],
    );
    assert!(harness.get("/v2/entities/Room:1/attrs/pressure").starts_with("200 {"));
    assert!(harness.get("/v2/entities?type=Room").contains("Room:1"), "others' rows stay");
    assert!(harness.get("/v2/entities?type=Secret").contains("Secret:1"));
}

/// Metadata are there with their attribute; what gave the time names attributes, and is for those who may see all.
#[test]
fn what_is_kept_beside_values_is_of_what_can_be_seen() {
    let settings =
        SeriesSettings { keep_metadata: true, keep_time_attribute: true, ..SeriesSettings::default() };
    let harness = Harness::with(settings);
    let room = r#"[{"id":"Room:2","type":"Room","secret":{"type":"DateTime","value":"2024-05-06T07:00:00Z","metadata":{"m":{"value":"hidden"}}},
        "temperature":{"type":"Number","value":1,"metadata":{"m":{"value":"seen"}}}}]"#;
    for headers in [
        &["fiware-timeindex-attribute: secret"][..],
        &["fiware-timeindex-attribute: secret", "fiware-service: factory"],
    ] {
        harness.notify(room, headers);
    }
    let query = "{ rooms { temperature { metadata } } factory_rooms { secret { metadata timeAttribute } } }";
    check(
        &harness,
        &[json!("Room:2")],
        &[
            query,
            "{ rooms { temperature { metadata value } } factory_rooms { temperature { timeAttribute } } }",
        ],
        expect![[r#"
            { rooms { temperature { metadata } } factory_rooms { secret { metadata timeAttribute } } }
              {"data":{"rooms":[{"temperature":[{"metadata":{"m":{"value":"seen"}}}]}],"factory_rooms":[{"secret":[{"metadata":{"m":{"value":"hidden"}},"timeAttribute":"secret"}]}]}}
            { rooms { temperature { metadata value } } factory_rooms { temperature { timeAttribute } } }
              {"data":{"rooms":[{"temperature":[{"metadata":{"m":{"value":"seen"}},"value":1.0}]}],"factory_rooms":[{"temperature":[{"timeAttribute":"secret"}]}]}}
        "#]],
    );
    check_calls(
        &harness,
        &[
            ("GET", "/v2/types/Room?options=metadata,timeAttribute", &[], ""),
            ("GET", "/v2/types/Room?options=metadata,timeAttribute", FACTORY, ""),
            ("GET", "/v2/types/Room?options=metadata,timeAttribute&format=rows", &[], ""),
        ],
        expect![[r#"
            GET /v2/types/Room?options=metadata,timeAttribute
              200 {"type":"Room","entities":[{"id":"Room:2","index":["2024-05-06T07:00:00.000+00:00"],"timeAttribute":[null],"attributes":[{"attrName":"temperature","values":[1.0],"metadata":[{"m":{"value":"seen"}}]}]}]}
            GET /v2/types/Room?options=metadata,timeAttribute fiware-service: factory
              200 {"type":"Room","entities":[{"id":"Room:2","index":["2024-05-06T07:00:00.000+00:00"],"timeAttribute":["secret"],"attributes":[{"attrName":"secret","values":["2024-05-06T07:00:00.000+00:00"],"metadata":[{"m":{"value":"hidden"}}]},{"attrName":"temperature","values":[1.0],"metadata":[{"m":{"value":"seen"}}]}]}]}
            GET /v2/types/Room?options=metadata,timeAttribute&format=rows
              200 [{"id":"Room:2","type":"Room","time":"2024-05-06T07:00:00.000+00:00","values":{"temperature":1.0},"metadata":{"temperature":{"m":{"value":"seen"}}}}]
        "#]],
    );
}

#[test]
fn permissions_that_series_do_not_know_are_told() {
    let harness = Harness::new();
    let mut names = SessionNames::default();
    let mut select = |written: Json| Some(SelectPermission::of_rows(names.condition(&written).unwrap()));
    let of = |select| TablePermissions { select, ..TablePermissions::default() };
    let conditions = [
        json!({"name": {"eq": "x"}}),
        json!({"id": "x"}),
        json!({"id": {}}),
        json!({"id": {"eq": 1}}),
        json!({"id": {"eq": null}}),
        json!({"id": {"in": "x"}}),
        json!({"id": {"near": "x"}}),
        json!({"or": {"id": {"eq": "x"}}}),
        json!({"not": {"and": [{"servicePath": {"like": "/a%"}}, {"id": null}]}}),
    ];
    let mut permissions = Permissions::default();
    for (place, written) in conditions.into_iter().enumerate() {
        permissions.tables.insert(format!("T{place}"), of(select(written)).into());
    }
    let nothing = || prony_graphql::selection::Value::Object(Vec::new());
    let mut more =
        of(select(json!({"or": [{"id": {"in": ["a", "$b"]}}, {"servicePath": {"is_null": false}}]})));
    permissions.tables.insert("fits".to_owned(), more.clone().into());
    more.update = Some(UpdatePermission::of_rows(nothing(), nothing()));
    more.insert = Some(InsertPermission {
        set: [("a".to_owned(), nothing())].into(),
        ..InsertPermission::checked(nothing())
    });
    more.select.as_mut().unwrap().filter = Some(Columns::All);
    permissions.tables.insert("U".to_owned(), more.into());
    let faults = harness.source.schema_for(&ReservedNames::default(), &permissions).unwrap_err();
    let text = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    expect![[r#"
        `T0`: `rows` of `select`: there is no `name`; write `id`, `servicePath`, `and`, `or` or `not`
        `T1`: `rows` of `select`: `id` is compared by operators, as in `id = { eq = … }`
        `T2`: `rows` of `select`: `id` is compared by operators, as in `id = { eq = … }`
        `T3`: `rows` of `select`: ids and service paths are compared with texts
        `T4`: `rows` of `select`: ids and service paths are compared with texts
        `T5`: `rows` of `select`: `in` of `id` is a list
        `T6`: `rows` of `select`: there is no operator `near` with this value
        `T7`: `rows` of `select`: `or` is a list of conditions
        `T8`: `rows` of `select`: `id` is compared by operators, as in `id = { eq = … }`
        `U`: rows of series are not updated; grant `insert`
        `U`: entities are filtered by id and service path alone; leave `filter` and `sort` of `select` out
        `U`: values of notifications cannot be `set`
    "#]]
    .assert_eq(&text);
}
