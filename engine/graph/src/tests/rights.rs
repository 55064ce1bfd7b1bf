//! What roles are granted of types more finely than whole: properties by their uses, limits, presets, and which mutations there
//! are. What is not granted is not in the schema of the role.

use std::collections::BTreeMap;

use expect_test::{Expect, expect, expect_file};
use prony_graph_store::{Kind, Side};
use prony_source::{
    ReservedNames, Source as _,
    permissions::{
        Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
        TablePermissions, UpdatePermission,
    },
};
use serde_json::json;

use crate::tests::harness::{Offered, Served, friends};

fn only(names: &[&str]) -> Columns {
    Columns::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Users by name and score, of whom nobody knows the age; products to be made; likes that are not counted.
fn granted() -> Permissions {
    let mut names = SessionNames::default();
    let mut condition = |written| names.condition(&written).unwrap();
    let everything = condition(json!({}));
    let user = TablePermissions {
        select: Some(SelectPermission {
            columns: only(&["name", "score"]),
            filter: Some(only(&["name"])),
            sort: Some(only(&["score"])),
            aggregate: Some(only(&["score"])),
            limit: Some(2),
            ..SelectPermission::of_rows(condition(json!({"_key": {"ne": "Helene"}})))
        }),
        update: Some(UpdatePermission {
            columns: only(&["score"]),
            set: BTreeMap::from([("name".to_owned(), condition(json!("$name")))]),
            ..UpdatePermission::of_rows(everything.clone(), everything.clone())
        }),
        ..TablePermissions::default()
    };
    let likes = TablePermissions {
        select: Some(SelectPermission { aggregates: false, ..SelectPermission::of_rows(everything.clone()) }),
        ..TablePermissions::default()
    };
    let product = TablePermissions {
        insert: Some(InsertPermission {
            columns: only(&["name"]),
            set: BTreeMap::from([("price".to_owned(), condition(json!(5)))]),
            ..InsertPermission::checked(everything.clone())
        }),
        delete: Some(DeletePermission { rows: everything }),
        ..TablePermissions::default()
    };
    let tables = [("User", user), ("LIKES", likes), ("Product", product)];
    Permissions {
        tables: tables.into_iter().map(|(name, granted)| (name.to_owned(), granted.into())).collect(),
        ..Permissions::default()
    }
}

#[track_caller]
fn check(served: &Served, requests: &[&str], expected: &Expect) {
    let offered = served.offered_to(&granted(), &[json!("renamed")]);
    let answers = requests
        .iter()
        .map(|request| format!("{request}\n  {}\n", served.answer_by(&offered, request, "{}")));
    expected.assert_eq(&answers.collect::<String>());
}

#[test]
fn the_schema_has_what_is_granted_and_nothing_else() {
    let sdl = friends().offered_to(&granted(), &[]).schema.sdl();
    let lines = sdl.lines().filter(|line| !line.trim_start().starts_with(['"', '#']));
    let sdl = lines.collect::<Vec<_>>().join("\n");
    for hidden in
        ["FRIEND", "friend", "since", "age", "active", "tags", "products", "ProductClauses", "degree"]
    {
        let shown: Vec<&str> =
            sdl.lines().filter(|line| line.contains(hidden) && !line.contains("aggregate")).collect();
        assert!(shown.is_empty(), "{hidden}: {shown:?}");
    }
    let root = |name: &str| {
        let from = sdl.find(&format!("type {name} ")).expect("there is the type");
        sdl[from..from + sdl[from..].find("\n}").expect("it ends")].to_owned()
    };
    let shown = ["Query", "Mutation", "User", "UserFields", "Product"].map(root).join("\n") + "\n";
    expect_file!["rights.graphql"].assert_eq(&shown);
}

#[test]
fn properties_that_are_not_granted_are_guessed_by_no_way() {
    check(
        &friends(),
        &[
            "{ users { _key name score } graph_nodes { _type _key } }",
            "{ users { age } }",
            "{ users(where: {age: {gt: 1}}) { _key } }",
            "{ users(where: {score: {gt: 1}}) { _key } }",
            "{ graph_nodes(where: {age: {gt: 1}}) { _key } }",
            "{ users(sort: {name: asc}) { _key } }",
            "{ users(sort: {score: desc}) { _key } }",
            "{ users_aggregate { count max { score } } }",
            "{ users_aggregate { max { age } } }",
            "{ likes_relationships { stars from { _key } to { _key } } }",
            "{ likes_relationships(where: {from: {age: {gt: 1}}}) { stars } }",
            "{ likes_relationships_aggregate { count } }",
            "{ users { neighbors { _key } relationships { _type } } }",
            "{ friend_relationships { since } }",
            "{ products { _key } }",
            "{ graph_nodes { ... on Product { price } } }",
            "subscription { onProductChanged { operation } }",
        ],
        &expect![[r#"
            { users { _key name score } graph_nodes { _type _key } }
              {"data":{"users":[{"_key":"Bob","name":null,"score":null},{"_key":"Max","name":"max","score":1.5}],"graph_nodes":[{"_type":"User","_key":"Bob"},{"_type":"User","_key":"Max"}]}}
            { users { age } }
              {"errors":[{"message":"type `User` does not have a field `age`","locations":[{"line":1,"column":11}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { users(where: {age: {gt: 1}}) { _key } }
              {"errors":[{"message":"field `age` does not exist on `UserClauses`","locations":[{"line":1,"column":22}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { users(where: {score: {gt: 1}}) { _key } }
              {"errors":[{"message":"field `score` does not exist on `UserClauses`","locations":[{"line":1,"column":24}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { graph_nodes(where: {age: {gt: 1}}) { _key } }
              {"errors":[{"message":"field `age` does not exist on `GraphNodeClauses`","locations":[{"line":1,"column":28}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { users(sort: {name: asc}) { _key } }
              {"errors":[{"message":"field `name` does not exist on `UserSort`","locations":[{"line":1,"column":22}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { users(sort: {score: desc}) { _key } }
              {"data":{"users":[{"_key":"Bob"},{"_key":"Ada"}]}}
            { users_aggregate { count max { score } } }
              {"data":{"users_aggregate":{"count":3,"max":{"score":230}}}}
            { users_aggregate { max { age } } }
              {"errors":[{"message":"type `UserFields` does not have a field `age`","locations":[{"line":1,"column":27}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { likes_relationships { stars from { _key } to { _key } } }
              {"data":{"likes_relationships":[]}}
            { likes_relationships(where: {from: {age: {gt: 1}}}) { stars } }
              {"errors":[{"message":"field `age` does not exist on `GraphNodeClauses`","locations":[{"line":1,"column":43}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { likes_relationships_aggregate { count } }
              {"errors":[{"message":"type `Query` does not have a field `likes_relationships_aggregate`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { users { neighbors { _key } relationships { _type } } }
              {"data":{"users":[{"neighbors":[],"relationships":[]},{"neighbors":[],"relationships":[]}]}}
            { friend_relationships { since } }
              {"errors":[{"message":"type `Query` does not have a field `friend_relationships`; did you mean `likes_relationships`?","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { products { _key } }
              {"errors":[{"message":"type `Query` does not have a field `products`","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            { graph_nodes { ... on Product { price } } }
              {"errors":[{"message":"type `Product` does not have a field `price`","locations":[{"line":1,"column":34}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            subscription { onProductChanged { operation } }
              {"errors":[{"message":"type `Subscription` does not have a field `onProductChanged`","locations":[{"line":1,"column":16}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        "#]],
    );
}

#[test]
fn lists_are_as_long_as_is_granted() {
    check(
        &friends(),
        &[
            "{ users { _key } }",
            "{ users(limit: 3) { _key } }",
            "{ graph_nodes(limit: 3) { _key } }",
            "{ users(limit: 1, offset: 1) { _key } }",
        ],
        &expect![[r#"
            { users { _key } }
              {"data":{"users":[{"_key":"Bob"},{"_key":"Max"}]}}
            { users(limit: 3) { _key } }
              {"data":null,"errors":[{"message":"`limit` is 3, above the highest of 2 (of your role): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["users"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
            { graph_nodes(limit: 3) { _key } }
              {"data":null,"errors":[{"message":"`limit` is 3, above the highest of 2 (of your role): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["graph_nodes"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}
            { users(limit: 1, offset: 1) { _key } }
              {"data":{"users":[{"_key":"Max"}]}}
        "#]],
    );
}

#[test]
fn what_is_preset_is_written_and_cannot_be_given() {
    let served = friends();
    check(
        &served,
        &[
            r#"mutation { createProduct(_key: "p9", name: "Cup") { _key } }"#,
            r#"mutation { createProduct(_key: "p8", price: 1) { _key } }"#,
            r#"mutation { updateProduct(pk_columns: {_key: "p1"}, name: "x") { result } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Max"}, score: 7) { result } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Ada"}) { result } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Max"}, age: 7) { result } }"#,
            r#"mutation { replaceUser(pk_columns: {_key: "Max"}, score: 7) { result } }"#,
            r#"mutation { createUser(_key: "Eve") { _key } }"#,
            r#"mutation { deleteProduct(pk_columns: {_key: "p2"}) { result } }"#,
        ],
        &expect![[r#"
            mutation { createProduct(_key: "p9", name: "Cup") { _key } }
              {"data":{"createProduct":null}}
            mutation { createProduct(_key: "p8", price: 1) { _key } }
              {"errors":[{"message":"the argument `price` is not supported by `Mutation.createProduct`","locations":[{"line":1,"column":38}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            mutation { updateProduct(pk_columns: {_key: "p1"}, name: "x") { result } }
              {"errors":[{"message":"type `Mutation` does not have a field `updateProduct`; did you mean `createProduct`?","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            mutation { updateUser(pk_columns: {_key: "Max"}, score: 7) { result } }
              {"data":{"updateUser":{"result":true}}}
            mutation { updateUser(pk_columns: {_key: "Ada"}) { result } }
              {"data":{"updateUser":{"result":true}}}
            mutation { updateUser(pk_columns: {_key: "Max"}, age: 7) { result } }
              {"errors":[{"message":"the argument `age` is not supported by `Mutation.updateUser`","locations":[{"line":1,"column":50}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            mutation { replaceUser(pk_columns: {_key: "Max"}, score: 7) { result } }
              {"errors":[{"message":"type `Mutation` does not have a field `replaceUser`","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            mutation { createUser(_key: "Eve") { _key } }
              {"errors":[{"message":"type `Mutation` does not have a field `createUser`; did you mean `updateUser`?","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            mutation { deleteProduct(pk_columns: {_key: "p2"}) { result } }
              {"data":{"deleteProduct":{"result":true}}}
        "#]],
    );
    let all = served.answer("{ users { _key name score } products { _key name price } }", "{}");
    expect![[r#"{"data":{"users":[{"_key":"Bob","name":null,"score":null},{"_key":"Helene","name":"helene","score":null},{"_key":"Max","name":"renamed","score":7},{"_key":"Ada","name":"Ada","score":230}],"products":[{"_key":"p3","name":"Pen","price":2},{"_key":"p1","name":"Lamp","price":20},{"_key":"p9","name":"Cup","price":5}]}}"#]].assert_eq(&all);
    for session in [&[][..], &[json!(7)]] {
        let offered = served.offered_to(&granted(), session);
        let update = r#"mutation { updateUser(pk_columns: {_key: "Max"}, score: 8) { result } }"#;
        let answer = served.answer_by(&offered, update, "{}");
        assert!(answer.contains("FORBIDDEN"), "{answer}");
    }
}

/// A condition or a list of properties that could be a mistake is one.
#[test]
fn mistakes_are_told() {
    let served = friends();
    let faults = |granted: &dyn Fn(&mut SessionNames) -> TablePermissions| {
        let granted = granted(&mut SessionNames::default());
        let tables = BTreeMap::from([("User".to_owned(), granted.into())]);
        let permissions = Permissions { tables, ..Permissions::default() };
        let refused = served.source.schema_for(&ReservedNames::default(), &permissions);
        let faults = refused.err().unwrap_or_default();
        faults.iter().map(|fault| fault.to_string() + "\n").collect::<String>()
    };
    let of_rows = |written: serde_json::Value| {
        faults(&move |names: &mut SessionNames| TablePermissions {
            select: Some(SelectPermission::of_rows(names.condition(&written).unwrap())),
            ..TablePermissions::default()
        })
    };
    let mut told = String::new();
    for written in [
        json!({"name": "x"}),
        json!({"name": {}}),
        json!({"nam": {"eq": "x"}}),
        json!({"name": {"equals": "x"}}),
        json!({"or": {"name": {"eq": "x"}}}),
        json!({"name": {"in": "x"}}),
        json!({"name": {"eq": 5}}),
        json!({"age": {"in": [1, "x"]}}),
        json!({"_key": {"gt": 1}}),
        json!({"from": {"name": {"eq": "x"}}}),
        json!("x"),
    ] {
        told.push_str(&of_rows(written));
    }
    told.push_str(&faults(&|names: &mut SessionNames| {
        let everything = names.condition(&json!({})).unwrap();
        let set = BTreeMap::from([
            ("agee".to_owned(), names.condition(&json!(1)).unwrap()),
            ("age".to_owned(), names.condition(&json!("x")).unwrap()),
        ]);
        TablePermissions {
            select: Some(SelectPermission {
                columns: only(&["nam", "age"]),
                ..SelectPermission::of_rows(everything.clone())
            }),
            insert: Some(InsertPermission { columns: only(&["scor"]), set, check: everything }),
            ..TablePermissions::default()
        }
    }));
    expect![[r#"
        `User`: `rows` of `select`: `name` is compared by operators, as in `name = { eq = … }`, not with a single value
        `User`: `rows` of `select`: `name` is compared with nothing; write an operator, as in `name = { eq = … }`
        `User`: `rows` of `select`: there is no property `nam`; did you mean `name`?
        `User`: `rows` of `select`: `name` has no operator `equals`; did you mean `eq`?
        `User`: `rows` of `select`: `or` is a list of conditions, not a table
        `User`: `rows` of `select`: `in` of `name` is a list, not a single value
        `User`: `rows` of `select`: `eq` of `name` takes a value of type string
        `User`: `rows` of `select`: `in` of `age` takes a value of type integer
        `User`: `rows` of `select`: `gt` of `_key` takes a value of type string
        `User`: `rows` of `select`: there is no property `from`
        `User`: `rows` of `select`: a condition is a table of properties, not a single value
        `User`: `columns` of `select`: there is no property `nam`; did you mean `name`?
        `User`: `set` of `insert`: property `age` does not take this value
        `User`: `set` of `insert`: there is no property `agee`; did you mean `age`?
        `User`: `columns` of `insert`: there is no property `scor`; did you mean `score`?
    "#]].assert_eq(&told);
}

/// A type whose name is none of GraphQL's was not seen by roles that had it under that name, and nothing said so.
#[test]
fn types_are_named_as_in_graphql_or_as_in_the_graph() {
    let served = Served::empty();
    served.write(|write| {
        write.make_type(Side::Nodes, "Odd type")?;
        write.declare(Side::Nodes, "Odd type", "first name", Kind::String)?;
        write.make_type(Side::Relationships, "to/from")
    });
    let mut names = SessionNames::default();
    let mut select = |columns: &[&str]| {
        let rows = SelectPermission::of_rows(names.condition(&json!({})).unwrap());
        let select = Some(SelectPermission { columns: only(columns), ..rows });
        TablePermissions { select, ..TablePermissions::default() }
    };
    let mut granted = |tables: &[(&str, &[&str])]| {
        let tables = tables.iter().map(|(name, columns)| ((*name).to_owned(), select(columns).into()));
        Permissions { tables: tables.collect(), ..Permissions::default() }
    };
    let expected = served.offered().schema.sdl();
    assert!(expected.contains("type Odd_type ") && expected.contains("type to_from "), "{expected}");
    for tables in [
        [("Odd type", &["first name"][..]), ("to/from", &[][..])],
        [("Odd_type", &["first_name"][..]), ("to_from", &[][..])],
    ] {
        let sdl = served.offered_to(&granted(&tables), &[]).schema.sdl();
        assert!(sdl.contains("type Odd_type ") && sdl.contains("first_name: String"), "{sdl}");
        assert!(sdl.contains("type to_from "), "{sdl}");
    }
    let twice = granted(&[("Odd type", &[][..]), ("Odd_type", &[][..])]);
    let faults = served.source.schema_for(&ReservedNames::default(), &twice).err().unwrap_or_default();
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, ["`Odd_type`: it is the type `Odd_type`, which has permissions under another name"]);
}

/// A property that is served by another name in one type, because a field is joined to it, is the same property to filters over all types.
#[test]
fn filters_over_all_types_know_properties_beside_joined_fields() {
    let served = Served::empty();
    served.write(|write| {
        for of in ["Patient", "Room"] {
            write.make_type(Side::Nodes, of)?;
            write.declare(Side::Nodes, of, "ward", Kind::String)?;
        }
        Ok(())
    });
    let mut names = SessionNames::default();
    let mut all = || SelectPermission::of_rows(names.condition(&json!({})).unwrap());
    let unfiltered = SelectPermission { filter: Some(only(&[])), sort: Some(only(&[])), ..all() };
    let mut taken = ReservedNames::default();
    taken.add_field("Patient", "ward");
    for (patient, is_there) in [(unfiltered, false), (all(), true)] {
        let select = |select| TablePermissions { select: Some(select), ..TablePermissions::default() };
        let tables = [("Patient", select(patient)), ("Room", select(all()))];
        let granted = Permissions {
            tables: tables.into_iter().map(|(name, granted)| (name.to_owned(), granted.into())).collect(),
            ..Permissions::default()
        };
        let offered = Offered::new(served.source.schema_for(&taken, &granted).unwrap(), &[]);
        let sdl = offered.schema.sdl();
        let clauses =
            sdl.split("input GraphNodeClauses").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
        assert_eq!(clauses.contains("ward"), is_there, "{clauses}");
        assert!(sdl.contains("ward_property: String"), "{sdl}");
    }
}

/// Conditions and orders took it for the key, which relationships do not have.
#[test]
fn a_property_of_relationships_may_be_called_as_the_key_of_nodes() {
    let served = friends();
    served.write(|write| write.declare(Side::Relationships, "LIKES", "_key", Kind::String));
    let change = r#"mutation { max: updateLIKES(pk_columns: {_id: 2051}, _key: "b") { result }
                               ada: updateLIKES(pk_columns: {_id: 67110915}, _key: "a") { result } }"#;
    let query = r#"{ likes_relationships(where: {_key: {gte: "a"}}, sort: {_key: asc}) { _key stars }
                     likes_relationships_aggregate { max { _key } }
                     graph_relationships(where: {_key: {eq: "b"}}) { ... on LIKES { stars } } }"#;
    let mut names = SessionNames::default();
    let mut rows = |written| SelectPermission::of_rows(names.condition(&written).unwrap());
    let likes = SelectPermission { columns: only(&["_key"]), ..rows(json!({"_key": {"eq": "b"}})) };
    let tables = [("User", rows(json!({}))), ("Product", rows(json!({}))), ("LIKES", likes)];
    let select = |select| TablePermissions { select: Some(select), ..TablePermissions::default() };
    let granted = Permissions {
        tables: tables.into_iter().map(|(name, of)| (name.to_owned(), select(of).into())).collect(),
        ..Permissions::default()
    };
    let answers = [
        served.answer(change, "{}"),
        served.answer(query, "{}"),
        served.answer_by(&served.offered_to(&granted, &[]), "{ likes_relationships { _key } }", "{}"),
    ];
    expect![[r#"
        {"data":{"max":{"result":true},"ada":{"result":true}}}
        {"data":{"likes_relationships":[{"_key":"a","stars":1},{"_key":"b","stars":5}],"likes_relationships_aggregate":{"max":{"_key":"b"}},"graph_relationships":[{"stars":5}]}}
        {"data":{"likes_relationships":[{"_key":"b"}]}}"#]]
    .assert_eq(&answers.join("\n"));
}

/// What a console says of a graph names nothing that the role does not see.
#[test]
fn examples_are_of_what_is_granted() {
    let served = friends();
    let offered = served.offered_to(&granted(), &[]);
    let of_role = served.source.schema_for(&ReservedNames::default(), &granted()).unwrap();
    expect![[r#"
        1 node type, 1 relationship type
        ["users"]
        query Example {
          users(limit: 2) {
            _key
            name
            score
            neighbors(limit: 2) {
              _type
              _key
            }
          }
        }
    "#]]
    .assert_eq(&format!(
        "{}\n{:?}\n{}",
        of_role.contents(),
        of_role.list_fields(),
        of_role.example().unwrap()
    ));
    let answer = served.answer_by(&offered, &of_role.example().unwrap(), "{}");
    assert!(answer.starts_with("{\"data\":{\"users\":[{\"_key\""), "{answer}");
    let of_nobody = served.source.schema_for(&ReservedNames::default(), &Permissions::default()).unwrap();
    assert_eq!(
        (of_nobody.contents().as_str(), of_nobody.example()),
        ("0 node types, 0 relationship types", None)
    );
}
