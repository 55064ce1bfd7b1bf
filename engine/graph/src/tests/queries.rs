//! Answers to queries over a small graph.

use expect_test::{Expect, expect};

use crate::tests::harness::friends;

#[track_caller]
fn check(query: &str, expected: &Expect) {
    check_with(query, "{}", expected);
}

#[track_caller]
fn check_with(query: &str, variables: &str, expected: &Expect) {
    expected.assert_eq(&friends().answer(query, variables));
}

#[test]
fn one_node_by_key_or_id() {
    check(
        r#"{ user(_key: "Max") { _id _type _key __typename name age score active tags } }"#,
        &expect![[
            r#"{"data":{"user":{"_id":1027,"_type":"User","_key":"Max","__typename":"User","name":"max","age":42,"score":1.5,"active":null,"tags":null}}}"#
        ]],
    );
    check("{ user(_id: 1027) { _key } }", &expect![[r#"{"data":{"user":{"_key":"Max"}}}"#]]);
    check(
        r#"{ user(_id: 1027, _key: "Ada") { _key } product(_id: 1027) { _key } }"#,
        &expect![[r#"{"data":{"user":null,"product":null}}"#]],
    );
    check(
        r#"{ none: user(_key: "Nobody") { _key } far: user(_id: 9223372036854775807) { _key } }"#,
        &expect![[r#"{"data":{"none":null,"far":null}}"#]],
    );
    check(
        "{ user { _key } }",
        &expect![[
            r#"{"errors":[{"message":"`user` needs the `_key` or the `_id` of the node","locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}]}"#
        ]],
    );
    check_with(
        "query ($id: BigInt!) { graph_node(_id: $id) { __typename ... on User { name } ... on Product { price } } }",
        r#"{"id": "2048"}"#,
        &expect![[r#"{"data":{"graph_node":{"__typename":"Product","price":2}}}"#]],
    );
}

/// A null in the list of `in` or `not_in` was left out, so that `not_in` found what it cannot know to be different.
#[test]
fn a_null_among_values_leaves_it_open_what_is_none_of_them() {
    check(
        "{ in: users(where: {age: {in: [42, null]}}) { _key } nor: users(where: {not: {age: {in: [42, null]}}}) { _key } }",
        &expect![[r#"{"data":{"in":[{"_key":"Max"}],"nor":[]}}"#]],
    );
    check_with(
        "query ($ages: [BigInt]) { out: users(where: {age: {not_in: $ages}}) { _key } nor: users(where: {not: {age: {not_in: $ages}}}) { _key } }",
        r#"{"ages": [42, null]}"#,
        &expect![[r#"{"data":{"out":[],"nor":[{"_key":"Max"}]}}"#]],
    );
    check(
        r#"{ users(where: {_key: {in: ["Max", null, "Bob"]}, age: {not_in: []}}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Max"}]}}"#]],
    );
}

#[test]
fn lists_are_filtered_sorted_and_paged() {
    check(
        "{ users { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Helene"},{"_key":"Max"},{"_key":"Ada"}]}}"#]],
    );
    check(
        "{ users(limit: 2, offset: 1) { _key } far: users(offset: 2147483647) { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Helene"},{"_key":"Max"}],"far":[]}}"#]],
    );
    check(
        "{ users(sort: {age: desc}) { _key age } }",
        &expect![[
            r#"{"data":{"users":[{"_key":"Bob","age":null},{"_key":"Max","age":42},{"_key":"Helene","age":37},{"_key":"Ada","age":28}]}}"#
        ]],
    );
    check(
        "{ users(sort: [{score: asc}, {_key: desc}], limit: 2, offset: 1) { _key score } }",
        &expect![[r#"{"data":{"users":[{"_key":"Ada","score":230},{"_key":"Helene","score":null}]}}"#]],
    );
    check(
        "{ users(where: {age: {gt: 30, lt: 40}}) { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Helene"}]}}"#]],
    );
    check(
        "{ users(where: {not: {age: {gt: 30}}}) { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Ada"}]}}"#]],
    );
    // Neither is true of anything.
    check(
        "{ no: users(where: {age: {gt: null}}) { _key } nor: users(where: {not: {age: {gt: null}}}) { _key } }",
        &expect![[r#"{"data":{"no":[],"nor":[]}}"#]],
    );
    check(
        r#"{ users(where: {or: [{not: {name: {starts_with: null}}}, {_key: {eq: "Bob"}}]}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"}]}}"#]],
    );
    check(
        "{ users(where: {age: {is_null: true}}) { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Bob"}]}}"#]],
    );
    check(
        "{ users(where: {age: {eq: null}}) { _key } }",
        &expect![[r#"{"data":{"users":[{"_key":"Bob"}]}}"#]],
    );
    check(
        r#"{ users(where: {or: [{name: {starts_with: "m"}}, {_key: {eq: "Bob"}}]}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Max"}]}}"#]],
    );
    check(
        r#"{ users(where: {name: {ilike: "A%"}}) { name } }"#,
        &expect![[r#"{"data":{"users":[{"name":"Ada"}]}}"#]],
    );
    check(
        r#"{ users(where: {tags: {contains: ["b"]}}) { tags } }"#,
        &expect![[r#"{"data":{"users":[{"tags":["a","b"]}]}}"#]],
    );
    check(
        r#"{ users(where: {_key: {in: ["Max", "Bob"]}}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Max"}]}}"#]],
    );
    check("{ users(where: {age: {in: []}}) { _key } }", &expect![[r#"{"data":{"users":[]}}"#]]);
    check(
        "{ products(limit: 0) { _key } users_aggregate { count } }",
        &expect![[r#"{"data":{"products":[],"users_aggregate":{"count":4}}}"#]],
    );
    check(
        "{ graph_nodes(sort: {name: asc}, limit: 3) { _type _key } }",
        &expect![[
            r#"{"data":{"graph_nodes":[{"_type":"User","_key":"Ada"},{"_type":"Product","_key":"p2"},{"_type":"Product","_key":"p1"}]}}"#
        ]],
    );
    check(
        r#"{ graph_nodes(where: {_type: {eq: "Product"}}) { ... on Product { name price } } }"#,
        &expect![[
            r#"{"data":{"graph_nodes":[{"name":"Pen","price":2},{"name":"Desk","price":300},{"name":"Lamp","price":20}]}}"#
        ]],
    );
    check(
        "{ friend_relationships(where: {since: {gte: 2015}}) { _id since from { _key } to { _key } } }",
        &expect![[
            r#"{"data":{"friend_relationships":[{"_id":1026,"since":2015,"from":{"_key":"Helene"},"to":{"_key":"Ada"}},{"_id":67109891,"since":2020,"from":{"_key":"Ada"},"to":{"_key":"Max"}}]}}"#
        ]],
    );
    check(
        r#"{ likes_relationships(where: {from: {name: {eq: "max"}}}) { stars node { _key } } }"#,
        &expect![[r#"{"data":{"likes_relationships":[{"stars":5,"node":{"_key":"p1"}}]}}"#]],
    );
    check(
        "{ graph_relationships(sort: {_id: desc}, limit: 2) { __typename _type } }",
        &expect![[
            r#"{"data":{"graph_relationships":[{"__typename":"LIKES","_type":"LIKES"},{"__typename":"LIKES","_type":"LIKES"}]}}"#
        ]],
    );
}

#[test]
fn values_of_variables_are_filled_in() {
    check_with(
        "query ($min: BigInt, $keys: [String], $limit: Int) {
            users(where: {or: [{age: {gte: $min}}, {_key: {in: $keys}}]}, limit: $limit) { _key }
        }",
        r#"{"min": 40, "keys": ["Ada", "Bob"], "limit": 2}"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Max"}]}}"#]],
    );
    check_with(
        "query ($where: UserClauses, $sort: UserSort) { users(where: $where, sort: $sort) { _key age } }",
        r#"{"where": {"age": {"lt": 40}}, "sort": {"age": "asc"}}"#,
        &expect![[r#"{"data":{"users":[{"_key":"Ada","age":28},{"_key":"Helene","age":37}]}}"#]],
    );
}

#[test]
fn neighbours_of_any_type() {
    check(
        r#"{ user(_key: "Max") { neighbors { _type _key } degree } }"#,
        &expect![[
            r#"{"data":{"user":{"neighbors":[{"_type":"User","_key":"Helene"},{"_type":"Product","_key":"p1"},{"_type":"User","_key":"Ada"}],"degree":3}}}"#
        ]],
    );
    check(
        r#"{ user(_key: "Max") { neighbors(direction: out, types: [FRIEND]) { _key } degree(direction: out, types: FRIEND) } }"#,
        &expect![[r#"{"data":{"user":{"neighbors":[{"_key":"Helene"}],"degree":1}}}"#]],
    );
    check(
        r#"{ user(_key: "Max") { neighbors { __typename ... on User { age } ... on Product { price } ... on GraphNode { _key } } } }"#,
        &expect![[
            r#"{"data":{"user":{"neighbors":[{"__typename":"User","age":37,"_key":"Helene"},{"__typename":"Product","price":20,"_key":"p1"},{"__typename":"User","age":28,"_key":"Ada"}]}}}"#
        ]],
    );
    check(
        r#"{ user(_key: "Max") { neighbors(where: {name: {eq: "Lamp"}}) { _key } } }"#,
        &expect![[r#"{"data":{"user":{"neighbors":[{"_key":"p1"}]}}}"#]],
    );
    check(
        r#"{ user(_key: "Helene") { neighbors(relationship: {stars: {gt: 3}}, direction: out) { _key } } }"#,
        &expect![[r#"{"data":{"user":{"neighbors":[{"_key":"p2"}]}}}"#]],
    );
    check(
        r#"{ user(_key: "Helene") { neighbors(sort: {name: desc}, limit: 2, offset: 1) { _key } } }"#,
        &expect![[r#"{"data":{"user":{"neighbors":[{"_key":"p1"},{"_key":"p2"}]}}}"#]],
    );
    // A loop is there from both sides.
    check(
        r#"{ user(_key: "Bob") { neighbors { _key } out: neighbors(direction: out) { _key } degree } }"#,
        &expect![[
            r#"{"data":{"user":{"neighbors":[{"_key":"Bob"},{"_key":"Bob"}],"out":[{"_key":"Bob"}],"degree":2}}}"#
        ]],
    );
}

#[test]
fn neighbours_of_one_type() {
    check(
        r#"{ product(_key: "p1") { users(direction: in, types: [LIKES], sort: {age: asc}) { name age } } }"#,
        &expect![[r#"{"data":{"product":{"users":[{"name":"helene","age":37},{"name":"max","age":42}]}}}"#]],
    );
    check(
        r#"{ user(_key: "Helene") { products(where: {price: {gt: 100}}) { name } products_aggregate { count sum { price } } } }"#,
        &expect![[
            r#"{"data":{"user":{"products":[{"name":"Desk"}],"products_aggregate":{"count":2,"sum":{"price":320}}}}}"#
        ]],
    );
}

#[test]
fn relationships_around_a_node() {
    check(
        r#"{ user(_key: "Helene") { relationships { _type from { _key } to { _key } node { _key } ... on LIKES { stars } ... on FRIEND { since } } } }"#,
        &expect![[
            r#"{"data":{"user":{"relationships":[{"_type":"FRIEND","from":{"_key":"Helene"},"to":{"_key":"Ada"},"node":{"_key":"Ada"},"since":2015},{"_type":"LIKES","from":{"_key":"Helene"},"to":{"_key":"p2"},"node":{"_key":"p2"},"stars":4},{"_type":"LIKES","from":{"_key":"Helene"},"to":{"_key":"p1"},"node":{"_key":"p1"},"stars":3},{"_type":"FRIEND","from":{"_key":"Max"},"to":{"_key":"Helene"},"node":{"_key":"Max"},"since":2011}]}}}"#
        ]],
    );
    check(
        r#"{ user(_key: "Helene") { relationships(types: [LIKES], where: {stars: {lt: 4}}) { node { ... on Product { name } } } } }"#,
        &expect![[r#"{"data":{"user":{"relationships":[{"node":{"name":"Lamp"}}]}}}"#]],
    );
    check(
        r#"{ user(_key: "Helene") { relationships(node: {name: {eq: "Ada"}}, sort: {_id: asc}) { _type } } }"#,
        &expect![[r#"{"data":{"user":{"relationships":[{"_type":"FRIEND"}]}}}"#]],
    );
}

#[test]
fn three_levels_deep() {
    check(
        r#"{ user(_key: "Max") { name
            users(types: [FRIEND], direction: out) { name
                users(types: [FRIEND], direction: out) { name
                    neighbors(types: [LIKES]) { ... on Product { name price } } } } } }"#,
        &expect![[
            r#"{"data":{"user":{"name":"max","users":[{"name":"helene","users":[{"name":"Ada","neighbors":[{"name":"Pen","price":2}]}]}]}}}"#
        ]],
    );
}

#[test]
fn fragments_on_interfaces_and_types_are_merged() {
    check(
        r#"query { user(_key: "Max") { neighbors(direction: out) {
                neighbors(direction: in) { _key }
                ... on Product { neighbors(direction: in) { _type } name }
                ...Named
            } } }
            fragment Named on User { called: name neighbors(direction: in) { ... on User { age } } }"#,
        &expect![[
            r#"{"data":{"user":{"neighbors":[{"neighbors":[{"_key":"Max","age":42}],"called":"helene"},{"neighbors":[{"_key":"Helene","_type":"User"},{"_key":"Max","_type":"User"}],"name":"Lamp"}]}}}"#
        ]],
    );
}

#[test]
fn aggregates() {
    check(
        "{ users_aggregate { count sum { age score } avg { age score } max { age name _key } min { age name score active } } }",
        &expect![[
            r#"{"data":{"users_aggregate":{"count":4,"sum":{"age":107,"score":231.5},"avg":{"age":35.666666666666664,"score":115.75},"max":{"age":42,"name":"max","_key":"Max"},"min":{"age":28,"name":"Ada","score":1.5,"active":null}}}}"#
        ]],
    );
    check(
        "{ users_aggregate(where: {age: {gt: 100}}) { count sum { age } } }",
        &expect![[r#"{"data":{"users_aggregate":{"count":0,"sum":{"age":null}}}}"#]],
    );
    check(
        "{ friend_relationships_aggregate { __typename count max { since __typename } } }",
        &expect![[
            r#"{"data":{"friend_relationships_aggregate":{"__typename":"FRIENDAggregate","count":4,"max":{"since":2020,"__typename":"FRIENDFields"}}}}"#
        ]],
    );
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    check(
        "{ users(limit: -1) { _key } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`limit` is -1, it must be a whole number from 0","locations":[{"line":1,"column":3}],"path":["users"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#
        ]],
    );
    check(
        "{ users(limit: 10001) { _key } }",
        &expect![[
            r#"{"data":null,"errors":[{"message":"`limit` is 10001, above the highest of 10000 (max_limit): page with `offset` or a filter on the key","locations":[{"line":1,"column":3}],"path":["users"],"extensions":{"code":"LIMIT_EXCEEDED"}}]}"#
        ]],
    );
    check(
        "{ users { neighbors(types: [HATES]) { _key } } }",
        &expect![[
            r#"{"errors":[{"message":"value `HATES` does not exist on `GraphRelationshipType`","locations":[{"line":1,"column":29}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#
        ]],
    );
    check(
        "{ users { neighbors { name } } }",
        &expect![[
            r#"{"errors":[{"message":"type `GraphNode` does not have a field `name`","locations":[{"line":1,"column":23}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#
        ]],
    );
}

#[test]
fn keys_in_a_filter_are_looked_up_and_the_rest_of_it_is_held() {
    check(
        r#"{ users(where: {_key: {in: ["Max", "Ada", "Max", "Nobody"]}, age: {gt: 30}}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Max"}]}}"#]],
    );
    check(
        r#"{ users(where: {_key: {in: ["Max", "Ada", "Max", "Bob"]}}) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Max"},{"_key":"Ada"}]}}"#]],
    );
    check(
        r#"{ users(where: {not: {_key: {eq: "Max"}}}, limit: 2) { _key } }"#,
        &expect![[r#"{"data":{"users":[{"_key":"Bob"},{"_key":"Helene"}]}}"#]],
    );
}
