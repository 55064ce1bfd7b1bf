//! Restricted plans: what cannot be seen is absent on every way to it, and what may not be written is not.

use std::sync::Arc;

use expect_test::{Expect, expect};
use prony_graph_store::{Keep, Side, Value};
use prony_graphql::selection;
use prony_source::permissions::{
    DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames, TablePermissions,
    UpdatePermission,
};
use serde_json::{Value as Json, json};

use crate::tests::harness::{Served, friends};

/// Users but the one of the session's name; friendships since the session's year; all likes; cheap products.
fn granted() -> (SessionNames, Permissions) {
    let mut names = SessionNames::default();
    let mut permissions = Permissions::default();
    for (of, condition) in [
        ("User", json!({"or": [{"name": {"ne": "$name"}}, {"name": {"is_null": true}}]})),
        ("FRIEND", json!({"since": {"gt": "$since"}})),
        ("LIKES", json!({})),
        ("Product", json!({"price": {"lt": 100}})),
    ] {
        let granted = TablePermissions {
            select: Some(SelectPermission::of_rows(names.condition(&condition).unwrap())),
            insert: Some(InsertPermission::checked(names_nothing())),
            update: Some(UpdatePermission::of_rows(names_nothing(), names_nothing())),
            delete: Some(DeletePermission { rows: names_nothing() }),
        };
        permissions.tables.insert(of.to_owned(), granted.into());
    }
    (names, permissions)
}

fn names_nothing() -> selection::Value {
    selection::Value::Object(Vec::new())
}

/// Requests one after the other on one graph; helene is the hidden user.
#[track_caller]
fn check(served: &Served, permissions: &Permissions, requests: &[&str], expected: &Expect) {
    let offered = served.offered_to(permissions, &[json!("helene"), json!(2000)]);
    let answers = requests.iter().map(|request| served.answer_by(&offered, request, "{}") + "\n");
    expected.assert_eq(&answers.collect::<String>());
}

#[test]
fn what_is_hidden_is_absent_on_every_way() {
    let served = friends();
    check(
        &served,
        &granted().1,
        &[
            "{ users { _key degree neighbors { _key } relationships { _type node { _key } } } }",
            "{ users(sort: {age: desc}) { _key } graph_nodes { _type _key } products { _key users { _key } } }",
            r#"{ user(_key: "Helene") { age } user2: user(_key: "Max") { age users_aggregate { count max { age } } } }"#,
            "{ users_aggregate { count max { age } } products_aggregate { count } friend_relationships_aggregate { count } likes_relationships_aggregate { count } }",
            "{ likes_relationships { stars from { _key } to { _key } } friend_relationships { since } }",
            r#"{ likes_relationships(where: {not: {from: {_key: {eq: "Max"}}}}) { from { _key } } }"#,
            "{ graph_relationships { _type _id } }",
        ],
        &expect![[r#"
            {"data":{"users":[{"_key":"Bob","degree":0,"neighbors":[],"relationships":[]},{"_key":"Max","degree":2,"neighbors":[{"_key":"p1"},{"_key":"Ada"}],"relationships":[{"_type":"LIKES","node":{"_key":"p1"}},{"_type":"FRIEND","node":{"_key":"Ada"}}]},{"_key":"Ada","degree":2,"neighbors":[{"_key":"Max"},{"_key":"p3"}],"relationships":[{"_type":"FRIEND","node":{"_key":"Max"}},{"_type":"LIKES","node":{"_key":"p3"}}]}]}}
            {"data":{"users":[{"_key":"Bob"},{"_key":"Max"},{"_key":"Ada"}],"graph_nodes":[{"_type":"User","_key":"Bob"},{"_type":"User","_key":"Max"},{"_type":"User","_key":"Ada"},{"_type":"Product","_key":"p3"},{"_type":"Product","_key":"p1"}],"products":[{"_key":"p3","users":[{"_key":"Ada"}]},{"_key":"p1","users":[{"_key":"Max"}]}]}}
            {"data":{"user":null,"user2":{"age":42,"users_aggregate":{"count":1,"max":{"age":28}}}}}
            {"data":{"users_aggregate":{"count":3,"max":{"age":42}},"products_aggregate":{"count":2},"friend_relationships_aggregate":{"count":1},"likes_relationships_aggregate":{"count":2}}}
            {"data":{"likes_relationships":[{"stars":5,"from":{"_key":"Max"},"to":{"_key":"p1"}},{"stars":1,"from":{"_key":"Ada"},"to":{"_key":"p3"}}],"friend_relationships":[{"since":2020}]}}
            {"data":{"likes_relationships":[{"from":{"_key":"Ada"}}]}}
            {"data":{"graph_relationships":[{"_type":"FRIEND","_id":67109891},{"_type":"LIKES","_id":2051},{"_type":"LIKES","_id":67110915}]}}
        "#]],
    );
}

/// A variable that the session does not have was left out of a list, so that `not_in` and `contains` let everything pass.
#[test]
fn a_list_with_a_variable_that_the_session_lacks_lets_nothing_more_pass() {
    let served = friends();
    let seen = |condition: Json, name: Json| {
        let mut names = SessionNames::default();
        let granted = TablePermissions {
            select: Some(SelectPermission::of_rows(names.condition(&condition).unwrap())),
            ..TablePermissions::default()
        };
        let mut permissions = Permissions::default();
        permissions.tables.insert("User".to_owned(), granted.into());
        let offered = served.offered_to(&permissions, &[name]);
        served.answer_by(&offered, "{ users { _key } }", "{}") + "\n"
    };
    let is_other = || json!({"name": {"not_in": ["$name"]}});
    let is_tagged = || json!({"tags": {"contains": ["$name"]}});
    let answers = [
        seen(is_other(), json!("helene")),
        seen(is_other(), Json::Null),
        seen(is_tagged(), json!("a")),
        seen(is_tagged(), Json::Null),
    ];
    expect![[r#"
        {"data":{"users":[{"_key":"Max"},{"_key":"Ada"}]}}
        {"data":{"users":[]}}
        {"data":{"users":[{"_key":"Bob"}]}}
        {"data":{"users":[]}}
    "#]]
    .assert_eq(&answers.concat());
}

/// Answers that are kept, and live queries, had relationships of nodes that the role does not see any more.
#[test]
fn answers_with_relationships_depend_on_the_nodes_at_their_ends() {
    let served = friends();
    let offered = served.offered_to(&granted().1, &[json!("helene"), json!(2000)]);
    let queries = [
        "{ likes_relationships_aggregate { count } }",
        "{ graph_relationships { _type } }",
        "{ products { degree } }",
    ];
    let of_role = queries.map(|query| served.version(&offered, query));
    let of_everybody = served.version(&served.offered(), queries[0]);
    let before = served.answer_by(&offered, queries[0], "{}");
    served.write(|write| {
        let max = write.find("User", "Max").unwrap();
        write.set_node(max, &[("name", Value::String("helene".into()))], Keep::Others)
    });
    // The log tells of a write before it acknowledges the next.
    served.write(|_| Ok(()));
    let answers = before + "\n" + &served.answer_by(&offered, queries[0], "{}");
    expect![[r#"
        {"data":{"likes_relationships_aggregate":{"count":2}}}
        {"data":{"likes_relationships_aggregate":{"count":1}}}"#]]
    .assert_eq(&answers);
    assert_eq!(of_role.map(|version| version.current()), [1; 3]);
    assert_eq!(of_everybody.current(), 0, "who sees everything sees the same");
}

/// Whatever id is asked for, hidden things are as those that are not there.
#[test]
fn ids_of_hidden_things_find_nothing() {
    let served = friends();
    let (_, permissions) = granted();
    let offered = served.offered_to(&permissions, &[json!("helene"), json!(2000)]);
    let read = served.store.read();
    let hidden = read.find("User", "Helene").unwrap().at.id();
    let desk = read.find("Product", "p2").unwrap().at.id();
    let links = read.relationships(None).filter(|of| of.from.id() == hidden || of.to.id() == hidden);
    let links: Vec<u64> = links.map(|of| of.at.id()).collect();
    assert_eq!(links.len(), 4);
    for node in [hidden, desk] {
        let query = format!("{{ graph_node(_id: {node}) {{ _key }} }}");
        assert_eq!(served.answer_by(&offered, &query, "{}"), r#"{"data":{"graph_node":null}}"#);
    }
    for link in links {
        let query = format!("{{ graph_relationship(_id: {link}) {{ _type }} }}");
        assert_eq!(served.answer_by(&offered, &query, "{}"), r#"{"data":{"graph_relationship":null}}"#);
    }
}

#[test]
fn types_without_permissions_and_sessions_without_variables_see_nothing() {
    let served = friends();
    let (_, mut permissions) = granted();
    let without_variables = served.offered_to(&permissions, &[]);
    let query = r#"{ users { _key } friend_relationships { since } products { _key }
                     denied: users(where: {not: {name: {eq: "x"}}}) { _key } }"#;
    expect![[r#"{"data":{"users":[{"_key":"Bob"}],"friend_relationships":[],"products":[{"_key":"p3"},{"_key":"p1"}],"denied":[]}}"#]].assert_eq(&served.answer_by(&without_variables, query, "{}"));
    permissions.tables.remove("Product");
    check(
        &served,
        &permissions,
        &[
            "{ products { _key } products_aggregate { count } likes_relationships { stars } graph_nodes { _key degree } }",
            r#"mutation { createProduct(_key: "p9", price: 1) { _key } }"#,
            r#"mutation { updateProduct(pk_columns: {_key: "p1"}, price: 1) { result } }"#,
        ],
        &expect![[r#"
            {"errors":[{"message":"type `Query` does not have a field `products`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},{"message":"type `Query` does not have a field `products_aggregate`","locations":[{"line":1,"column":21}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            {"errors":[{"message":"type `Mutation` does not have a field `createProduct`","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            {"errors":[{"message":"type `Mutation` does not have a field `updateProduct`","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        "#]],
    );
    assert!(served.store.read().find("Product", "p9").is_none());
}

/// A null in a list was left out: who had no such variable saw, and wrote, all that was not in the rest of the list.
#[test]
fn lists_with_variables_that_are_not_known_let_nothing_pass_that_they_do_not_name() {
    for (condition, seen) in [
        (json!({"_key": {"not_in": ["$name"]}}), json!([])),
        (json!({"_key": {"not_in": ["$name", "Ada"]}}), json!([])),
        (json!({"not": {"_key": {"in": ["$name", "Ada"]}}}), json!([])),
        (json!({"not": {"_key": {"not_in": ["$name", "Ada"]}}}), json!([{"_key": "Ada"}])),
        (json!({"_key": {"in": ["$name", "Ada"]}}), json!([{"_key": "Ada"}])),
        (json!({"age": {"not_in": ["$name"]}}), json!([])),
        (json!({"tags": {"ne": ["$name"]}}), json!([])),
        (json!({"not": {"tags": {"eq": ["a", "$name"]}}}), json!([])),
    ] {
        let served = friends();
        let permissions = change("User", |user, read| {
            let rows = read(condition.clone());
            user.select = Some(SelectPermission::of_rows(rows.clone()));
            user.insert = Some(InsertPermission::checked(rows));
        });
        for session in [Vec::new(), vec![json!(null)]] {
            let offered = served.offered_to(&permissions, &session);
            let answer = served.answer_by(&offered, "{ users { _key } }", "{}");
            let answer: Json = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["data"]["users"], seen, "{condition}");
            let create = r#"mutation { createUser(_key: "Eve", age: 1, tags: ["b"]) { _key } }"#;
            let answer = served.answer_by(&offered, create, "{}");
            assert!(answer.contains("FORBIDDEN"), "{condition}: {answer}");
        }
    }
}

/// What a client writes and what a session has are the same to a filter, and databases have it so, too.
#[test]
fn nulls_in_lists_of_clients_are_those_of_databases() {
    let served = friends();
    for (query, seen) in [
        ("{ users(where: {_key: {not_in: [null]}}) { _key } }", "[]"),
        (r#"query ($none: String) { users(where: {_key: {not_in: ["Ada", $none]}}) { _key } }"#, "[]"),
        (r#"{ users(where: {_key: {in: ["Ada", null]}}) { _key } }"#, r#"[{"_key":"Ada"}]"#),
    ] {
        assert_eq!(served.answer(query, "{}"), format!(r#"{{"data":{{"users":{seen}}}}}"#), "{query}");
    }
}

fn change(
    of: &str,
    change: impl FnOnce(&mut TablePermissions, &mut dyn FnMut(Json) -> selection::Value),
) -> Permissions {
    let (mut names, mut permissions) = granted();
    let mut condition = |written: Json| names.condition(&written).unwrap();
    change(Arc::make_mut(permissions.tables.get_mut(of).unwrap()), &mut condition);
    permissions
}

#[test]
fn updates_and_deletes_reach_what_passes() {
    let served = friends();
    let permissions = change("User", |user, condition| {
        let rows = condition(json!({"age": {"gt": 30}}));
        user.update = Some(UpdatePermission::of_rows(rows.clone(), names_nothing()));
        user.delete = Some(DeletePermission { rows });
    });
    check(
        &served,
        &permissions,
        &[
            r#"mutation { a: updateUser(pk_columns: {_key: "Max"}, score: 9) { result } b: updateUser(pk_columns: {_key: "Ada"}, score: 9) { result }
                          c: deleteUser(pk_columns: {_key: "Bob"}) { result } d: replaceUser(pk_columns: {_key: "Ada"}, name: "x") { result } }"#,
            "{ users { _key name score } }",
            r#"mutation { updateUser(pk_columns: {_key: "Max"}, age: 3) { result } deleteUser(pk_columns: {_key: "Max"}) { result } }"#,
        ],
        &expect![[r#"
            {"data":{"a":{"result":true},"b":{"result":false},"c":{"result":false},"d":{"result":false}}}
            {"data":{"users":[{"_key":"Bob","name":null,"score":null},{"_key":"Max","name":"max","score":9},{"_key":"Ada","name":"Ada","score":230}]}}
            {"data":{"updateUser":{"result":true},"deleteUser":{"result":false}}}
        "#]],
    );
}

#[test]
fn what_does_not_pass_its_check_takes_its_request_back() {
    let served = friends();
    let permissions = change("User", |user, condition| {
        let check = condition(json!({"age": {"lt": 100}}));
        user.insert = Some(InsertPermission::checked(check.clone()));
        user.update = Some(UpdatePermission::of_rows(names_nothing(), check));
    });
    check(
        &served,
        &permissions,
        &[
            r#"mutation { a: createUser(_key: "Eve", age: 20) { _key } b: createUser(_key: "Old", age: 100) { _key } }"#,
            r#"mutation { createUser(_key: "Unknown") { _key } }"#,
            r#"mutation { a: createProduct(_key: "p8", price: 7) { _key } b: updateUser(pk_columns: {_key: "Max"}, age: 101) { result } }"#,
            r#"mutation { replaceUser(pk_columns: {_key: "Max"}, name: "max") { result } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Max"}, age: 99) { result } }"#,
            "{ users { _key age } products { _key } }",
        ],
        &expect![[r#"
            {"data":{"a":null,"b":null},"errors":[{"message":"nothing was changed: `b` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}},{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":57}],"path":["b"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"createUser":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createUser"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"a":null,"b":null},"errors":[{"message":"nothing was changed: `b` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}},{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":60}],"path":["b"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"replaceUser":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["replaceUser"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"updateUser":{"result":true}}}
            {"data":{"users":[{"_key":"Bob","age":null},{"_key":"Max","age":99},{"_key":"Ada","age":28}],"products":[{"_key":"p3"},{"_key":"p1"}]}}
        "#]],
    );
}

/// A hidden node is no end of a relationship, by key or by id, and a relationship's check sees its ends.
#[test]
fn relationships_join_what_can_be_seen() {
    let served = friends();
    let hidden = served.store.read().find("User", "Helene").unwrap().at.id();
    let permissions = change("LIKES", |likes, condition| {
        likes.insert = Some(InsertPermission::checked(condition(
            json!({"from": {"_key": {"eq": "Max"}}, "stars": {"lte": 5}}),
        )));
    });
    let by_id = format!(
        r#"mutation {{ createLIKES(from: {{_id: {hidden}}}, to: {{_type: "Product", _key: "p1"}}, stars: 1) {{ stars }} }}"#
    );
    check(
        &served,
        &permissions,
        &[
            r#"mutation { createLIKES(from: {_type: "User", _key: "Helene"}, to: {_type: "Product", _key: "p1"}, stars: 1) { stars } }"#,
            &by_id,
            r#"mutation { createLIKES(from: {_type: "User", _key: "Max"}, to: {_type: "Product", _key: "p2"}, stars: 1) { stars } }"#,
            r#"mutation { createLIKES(from: {_type: "User", _key: "Ada"}, to: {_type: "Product", _key: "p1"}, stars: 1) { stars } }"#,
            r#"mutation { createLIKES(from: {_type: "User", _key: "Max"}, to: {_type: "Product", _key: "p1"}, stars: 6) { stars } }"#,
            r#"mutation { createLIKES(from: {_type: "User", _key: "Max"}, to: {_type: "Product", _key: "p3"}, stars: 2) { stars to { _key } } }"#,
        ],
        &expect![[r#"
            {"data":{"createLIKES":null},"errors":[{"message":"`from` names a node that is not there","locations":[{"line":1,"column":12}],"path":["createLIKES"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"createLIKES":null},"errors":[{"message":"`from` names a node that is not there","locations":[{"line":1,"column":12}],"path":["createLIKES"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"createLIKES":null},"errors":[{"message":"`to` names a node that is not there","locations":[{"line":1,"column":12}],"path":["createLIKES"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"createLIKES":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createLIKES"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"createLIKES":null},"errors":[{"message":"a row with these values may not be written; nothing was changed","locations":[{"line":1,"column":12}],"path":["createLIKES"],"extensions":{"code":"FORBIDDEN"}}]}
            {"data":{"createLIKES":{"stars":2,"to":{"_key":"p3"}}}}
        "#]],
    );
    assert_eq!(served.store.read().relationships(None).count(), 9);
}

/// A type that the write itself has made is checked as well.
#[test]
fn a_check_finds_what_a_new_type_got() {
    let served = Served::empty();
    served.write(|write| {
        write.make_type(Side::Nodes, "User")?;
        write.declare(Side::Nodes, "User", "age", prony_graph_store::Kind::Integer)?;
        write.create_node("User", "a", &[("age", Value::Integer(1))]).map(|_| ())
    });
    let mut permissions = Permissions::default();
    let mut names = SessionNames::default();
    let check = names.condition(&json!({"age": {"gt": 5}})).unwrap();
    permissions.tables.insert(
        "User".to_owned(),
        TablePermissions {
            select: Some(SelectPermission::of_rows(names_nothing())),
            insert: Some(InsertPermission::checked(check)),
            ..TablePermissions::default()
        }
        .into(),
    );
    let offered = served.offered_to(&permissions, &[]);
    served.write(|write| {
        write.clear();
        Ok(())
    });
    let answer = served.answer_by(&offered, r#"mutation { createUser(_key: "b", age: 1) { _key } }"#, "{}");
    assert!(answer.contains("FORBIDDEN"), "{answer}");
    assert_eq!(served.store.read().count(Side::Nodes, None), 0);
}
