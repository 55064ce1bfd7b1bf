//! What mutations change, all of one operation or nothing.

use expect_test::{Expect, expect};

use crate::tests::harness::friends;

/// Requests one after the other on one graph.
#[track_caller]
fn check(requests: &[&str], expected: &Expect) {
    let served = friends();
    let answers = requests.iter().map(|request| served.answer(request, "{}") + "\n");
    expected.assert_eq(&answers.collect::<String>());
}

#[test]
fn nodes_are_created_changed_and_deleted() {
    check(
        &[
            r#"mutation { createUser(_key: "Eve", name: "eve", age: 19, tags: ["x"], score: 3) { _key __typename age score degree } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Eve"}, age: 20, name: null) { result __typename } }"#,
            r#"{ user(_key: "Eve") { name age tags score } }"#,
            r#"mutation { replaceUser(pk_columns: {_key: "Eve"}, name: "Eva") { result } }"#,
            r#"{ user(_key: "Eve") { name age tags score } }"#,
            r#"mutation { a: deleteUser(pk_columns: {_key: "Eve"}) { result } b: deleteUser(pk_columns: {_key: "Eve"}) { result } }"#,
            r#"mutation { updateUser(pk_columns: {_id: 1027}, age: 43) { result } updateProduct(pk_columns: {_id: 1027}, price: 1) { result } }"#,
            r#"{ user(_id: 1027) { age } }"#,
        ],
        &expect![[r#"
            {"data":{"createUser":{"_key":"Eve","__typename":"User","age":19,"score":3,"degree":0}}}
            {"data":{"updateUser":{"result":true,"__typename":"Result"}}}
            {"data":{"user":{"name":null,"age":20,"tags":["x"],"score":3}}}
            {"data":{"replaceUser":{"result":true}}}
            {"data":{"user":{"name":"Eva","age":null,"tags":null,"score":null}}}
            {"data":{"a":{"result":true},"b":{"result":false}}}
            {"data":{"updateUser":{"result":true},"updateProduct":{"result":false}}}
            {"data":{"user":{"age":43}}}
        "#]],
    );
}

#[test]
fn relationships_are_created_changed_and_deleted() {
    check(
        &[
            r#"mutation { createLIKES(from: {_type: "User", _key: "Bob"}, to: {_type: "Product", _key: "p2"}, stars: 2) { _id stars from { _key } node { _key } } }"#,
            r#"mutation { updateLIKES(pk_columns: {_id: 2049}, stars: 3) { result } }"#,
            r#"{ user(_key: "Bob") { relationships(types: LIKES) { _id ... on LIKES { stars } } } }"#,
            r#"mutation { wrong: deleteFRIEND(pk_columns: {_id: 2049}) { result } deleteLIKES(pk_columns: {_id: 2049}) { result } }"#,
            r#"mutation { deleteUser(pk_columns: {_key: "Max"}) { result } }"#,
            r#"{ friend_relationships { from { _key } to { _key } } }"#,
        ],
        &expect![[r#"
            {"data":{"createLIKES":{"_id":2049,"stars":2,"from":{"_key":"Bob"},"node":{"_key":"p2"}}}}
            {"data":{"updateLIKES":{"result":true}}}
            {"data":{"user":{"relationships":[{"_id":2049,"stars":3}]}}}
            {"data":{"wrong":{"result":false},"deleteLIKES":{"result":true}}}
            {"data":{"deleteUser":{"result":true}}}
            {"data":{"friend_relationships":[{"from":{"_key":"Bob"},"to":{"_key":"Bob"}},{"from":{"_key":"Helene"},"to":{"_key":"Ada"}}]}}
        "#]],
    );
}

#[test]
fn all_of_an_operation_or_nothing() {
    check(
        &[
            r#"mutation { one: createUser(_key: "Eve") { _key } two: createUser(_key: "Max") { _key } }"#,
            r#"{ user(_key: "Eve") { _key } users_aggregate { count } }"#,
            r#"mutation { createUser(_key: "Eve") { _key } createFRIEND(from: {_type: "User", _key: "Eve"}, to: {_type: "User", _key: "Nobody"}) { _id } }"#,
            r#"mutation { createFRIEND(from: {_id: 1027}, to: {_id: 5000000000}) { _id } }"#,
            r#"{ user(_key: "Eve") { _key } friend_relationships_aggregate { count } }"#,
            // Later fields see what earlier ones did.
            r#"mutation { createUser(_key: "Eve") { _key degree } createFRIEND(from: {_type: "User", _key: "Eve"}, to: {_id: 1027}, since: 2026) { from { _key ... on User { degree } } } }"#,
        ],
        &expect![[r#"
            {"data":{"one":null,"two":null},"errors":[{"message":"nothing was changed: `two` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["one"],"extensions":{"code":"CONSTRAINT_VIOLATION"}},{"message":"a node of type `User` with this key exists","locations":[{"line":1,"column":50}],"path":["two"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"user":null,"users_aggregate":{"count":4}}}
            {"data":{"createUser":null,"createFRIEND":null},"errors":[{"message":"nothing was changed: `createFRIEND` failed, and a request's mutations of one source are all done or none","locations":[{"line":1,"column":12}],"path":["createUser"],"extensions":{"code":"CONSTRAINT_VIOLATION"}},{"message":"`to` names a node that is not there","locations":[{"line":1,"column":45}],"path":["createFRIEND"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"createFRIEND":null},"errors":[{"message":"`to` names a node that is not there","locations":[{"line":1,"column":12}],"path":["createFRIEND"],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}
            {"data":{"user":null,"friend_relationships_aggregate":{"count":4}}}
            {"data":{"createUser":{"_key":"Eve","degree":1},"createFRIEND":{"from":{"_key":"Eve","degree":1}}}}
        "#]],
    );
}

#[test]
fn what_is_written_wrongly_is_refused() {
    check(
        &[
            r#"mutation { updateUser(pk_columns: {}, age: 1) { result } }"#,
            r#"mutation { updateUser(pk_columns: {_key: "Max", _id: 1027}, age: 1) { result } }"#,
            r#"mutation { createFRIEND(from: {_key: "Max"}, to: {_id: 1027}) { _id } }"#,
            r#"mutation { createUser(_key: "Eve", age: "old") { _key } }"#,
            r#"mutation { createUser(age: 1) { _key } }"#,
            r#"mutation { createUser(_key: "Eve", tags: ["a", null]) { _key } }"#,
        ],
        &expect![[r#"
            {"errors":[{"message":"`pk_columns` of `updateUser` needs either `_key` or `_id`","locations":[{"line":1,"column":12}],"extensions":{"code":"BAD_USER_INPUT"}}]}
            {"errors":[{"message":"`pk_columns` of `updateUser` needs either `_key` or `_id`","locations":[{"line":1,"column":12}],"extensions":{"code":"BAD_USER_INPUT"}}]}
            {"errors":[{"message":"`from` of `createFRIEND` needs either `_id`, or `_type` and `_key`","locations":[{"line":1,"column":12}],"extensions":{"code":"BAD_USER_INPUT"}}]}
            {"errors":[{"message":"argument \"age\": expected a BigInt (an integer of 64 bits, or a string of its digits), found the string \"old\"","locations":[{"line":1,"column":41}],"extensions":{"code":"BAD_USER_INPUT"}}]}
            {"errors":[{"message":"the required argument `Mutation.createUser(_key:)` is not provided","locations":[{"line":1,"column":12}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            {"errors":[{"message":"expected value of type String!, found null","locations":[{"line":1,"column":48}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
        "#]],
    );
}

/// What was created first was answered with what had its id in the end.
#[test]
fn what_a_later_mutation_deletes_is_null_though_another_has_its_id() {
    check(
        &[
            r#"mutation { one: createUser(_key: "Eve", age: 1) { _key age }
                          two: createFRIEND(from: {_type: "User", _key: "Eve"}, to: {_type: "User", _key: "Max"}, since: 1) { since }
                          gone: deleteUser(pk_columns: {_key: "Eve"}) { result }
                          three: createUser(_key: "Eve", age: 3) { _key age }
                          four: createFRIEND(from: {_type: "User", _key: "Eve"}, to: {_type: "User", _key: "Max"}, since: 4) { since } }"#,
            r#"mutation { one: createUser(_key: "Zoe") { _key } gone: deleteUser(pk_columns: {_key: "Zoe"}) { result } }"#,
        ],
        &expect![[r#"
            {"data":{"one":null,"two":null,"gone":{"result":true},"three":{"_key":"Eve","age":3},"four":{"since":4}}}
            {"data":{"one":null,"gone":{"result":true}}}
        "#]],
    );
}
