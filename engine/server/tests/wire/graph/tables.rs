//! Properties, schema, lists, finds and databases: the rest of the table of calls.

use expect_test::expect;

use super::{Client, Graph};
use crate::support::give_options;

#[test]
#[expect(clippy::too_many_lines, reason = "one transcript, in which each request builds on those before")]
fn properties_are_set_merged_and_removed() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/age/integer
          201
        POST /schema/nodes/User/properties/weight/double
          201
        POST /schema/nodes/User/properties/awesome/boolean
          201
        POST /schema/nodes/User/properties/tags/string_list
          201
        POST /node/User/Max { "name" : "max", "age" : 42 }
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}
        GET /node/User/Max/properties
          200 {"age": 42, "name": "max"}
        GET /node/1027/properties
          200 {"age": 42, "name": "max"}
        PUT /node/1027/properties {"awesome": true, "age": 43, "other": [[]]}
          204
        GET /node/1027/properties
          200 {"age": 43, "awesome": true, "name": "max"}
        PUT /node/1027/properties {"age": "old"}
          304
        PUT /node/1027/properties [1]
          400 "Invalid JSON"
        POST /node/User/Max/properties {"awesome": false, "tags": ["a", "b"], "weight": 230}
          204
        GET /node/User/Max/properties
          200 {"awesome": false, "tags": ["a", "b"], "weight": 230}
        POST /node/User/Max/properties {"weight": 1.0, "age": 1.0}
          304
        POST /node/User/Max/properties {"tags": []}
          204
        POST /node/User/Max/properties {"tags": [{}]}
          304
        GET /node/User/Max/properties
          200 {"tags": []}
        PUT /node/User/Max/property/name "roger"
          204
        GET /node/User/Max/property/name
          200 {"name": "roger"}
        PUT /node/1027/property/name 5
          304
        PUT /node/1027/property/name null
          400 "Invalid JSON"
        PUT /node/1027/property/tags [1, "a"]
          304
        PUT /node/1027/property/tags {}
          304
        PUT /node/1027/property/other 5
          304
        PUT /node/1027/property/name
          400 "Invalid JSON"
        GET /node/1027/property/age
          200 {"age": null}
        GET /node/1027/property/other
          200 {"other": null}
        DELETE /node/1027/property/name
          204
        DELETE /node/1027/property/name
          304
        DELETE /node/User/Max/property/other
          304
        DELETE /node/User/Max/properties
          204
        GET /node/User/Max/properties
          200 {}
        GET /node/User/Nobody/properties
          200 {}
        GET /node/User/Nobody/property/name
          200 {"name": null}
        PUT /node/User/Nobody/property/name "x"
          304
        POST /node/User/Nobody/properties {}
          304
        DELETE /node/User/Nobody/properties
          304
        GET /node/x/properties
          400 "Invalid id"
        POST /schema/relationships/KNOWS/properties/since/integer
          201
        POST /node/1027/relationship/1027/KNOWS {"since": 1999}
          201 {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {"since": 1999}}
        GET /relationship/1027/properties
          200 {"since": 1999}
        PUT /relationship/1027/properties {"since": 2000}
          204
        PUT /relationship/1027/property/since 2001
          204
        GET /relationship/1027/property/since
          200 {"since": 2001}
        DELETE /relationship/1027/property/since
          204
        POST /relationship/1027/properties {"since": 2002}
          204
        DELETE /relationship/1027/properties
          204
        GET /relationship/1027
          200 {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {}}
        GET /relationship/1026/properties
          200 {}
        PUT /relationship/1026/property/since 1
          304
        GET /relationship/x/properties
          400 "Invalid id"
    "#]]);
}

#[test]
fn the_schema_is_declared_and_taken_back() {
    Graph::start().check(expect![[r#"
        GET /schema/nodes
          200 []
        POST /schema/nodes/User
          201
        POST /schema/nodes/User
          201
        POST /schema/nodes/Animal
          201
        GET /schema/nodes
          200 ["Animal", "User"]
        GET /schema/nodes/User
          200 {}
        GET /schema/nodes/Nothing
          200 {}
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/name/integer
          304
        POST /schema/nodes/User/properties/ages/integer_list
          201
        POST /schema/nodes/User/properties/size/float
          400 "Allowed data types: \"boolean\", \"integer\", \"double\", \"string\", \"boolean_list\", \"integer_list\", \"double_list\", \"string_list\""
        POST /schema/nodes/Place/properties/at/double_list
          201
        GET /schema/nodes
          200 ["Animal", "Place", "User"]
        GET /schema/nodes/User
          200 {"ages": "integer_list", "name": "string"}
        GET /schema/nodes/User/properties/name
          200 {"name": "string"}
        GET /schema/nodes/User/properties/other
          200 {"other": ""}
        DELETE /schema/nodes/User/properties/name
          204
        DELETE /schema/nodes/User/properties/name
          304
        GET /schema/nodes/User
          200 {"ages": "integer_list"}
        POST /node/User/Max
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
        DELETE /schema/nodes/User
          304
        DELETE /node/User/Max
          204
        DELETE /schema/nodes/User
          204
        DELETE /schema/nodes/User
          304
        GET /schema/nodes
          200 ["Animal", "Place"]
        POST /schema/relationships/KNOWS
          201
        GET /schema/relationships
          200 ["KNOWS"]
        GET /schema/relationships/KNOWS
          200 {}
        DELETE /schema/relationships/KNOWS
          204
        GET /schema/relationships
          200 []
        PUT /schema/nodes/User
          404 {"message": "Not found", "code": 404}
        GET /schema
          404 {"message": "Not found", "code": 404}
        POST /node/User/Max
          201 {"id": 4099, "type": "User", "key": "Max", "properties": {}}
        DELETE /schema
          202
        GET /nodes
          200 []
        GET /schema/nodes
          200 []
        POST /node/User/Max
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
    "#]]);
}

#[test]
fn lists_have_limit_and_skip() {
    Graph::start().check(expect![[r#"
        GET /nodes
          200 []
        GET /nodes/User
          200 []
        POST /node/User/Max
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
        POST /node/User/Helene
          201 {"id": 1026, "type": "User", "key": "Helene", "properties": {}}
        POST /node/Animal/Rex
          201 {"id": 2051, "type": "Animal", "key": "Rex", "properties": {}}
        POST /node/User/Gabi
          201 {"id": 1024, "type": "User", "key": "Gabi", "properties": {}}
        POST /node/User/Alex
          201 {"id": 67109890, "type": "User", "key": "Alex", "properties": {}}
        POST /node/Animal/Tom
          201 {"id": 67110915, "type": "Animal", "key": "Tom", "properties": {}}
        GET /nodes
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {}}, {"id": 1026, "type": "User", "key": "Helene", "properties": {}}, {"id": 67109890, "type": "User", "key": "Alex", "properties": {}}, {"id": 1027, "type": "User", "key": "Max", "properties": {}}, {"id": 2051, "type": "Animal", "key": "Rex", "properties": {}}, {"id": 67110915, "type": "Animal", "key": "Tom", "properties": {}}]
        GET /nodes/User?limit=2
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {}}, {"id": 1026, "type": "User", "key": "Helene", "properties": {}}]
        GET /nodes/User?limit=2&skip=1
          200 [{"id": 1026, "type": "User", "key": "Helene", "properties": {}}, {"id": 67109890, "type": "User", "key": "Alex", "properties": {}}]
        GET /nodes?skip=4&limit=10
          200 [{"id": 2051, "type": "Animal", "key": "Rex", "properties": {}}, {"id": 67110915, "type": "Animal", "key": "Tom", "properties": {}}]
        GET /nodes?skip=5
          200 [{"id": 67110915, "type": "Animal", "key": "Tom", "properties": {}}]
        GET /nodes?limit=0
          200 []
        GET /nodes?limit=&skip=
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {}}, {"id": 1026, "type": "User", "key": "Helene", "properties": {}}, {"id": 67109890, "type": "User", "key": "Alex", "properties": {}}, {"id": 1027, "type": "User", "key": "Max", "properties": {}}, {"id": 2051, "type": "Animal", "key": "Rex", "properties": {}}, {"id": 67110915, "type": "Animal", "key": "Tom", "properties": {}}]
        GET /nodes?limit=18446744073709551615&skip=18446744073709551615
          200 []
        GET /nodes?limit=x
          400 "Invalid limit parameter"
        GET /nodes?limit=-1
          400 "Invalid limit parameter"
        GET /nodes?limit=18446744073709551616
          400 "Invalid limit parameter"
        GET /nodes?skip=1.5
          400 "Invalid skip parameter"
        GET /nodes/Nothing?limit=x
          400 "Invalid limit parameter"
        GET /relationships
          200 []
        POST /node/User/Max/relationship/User/Helene/KNOWS
          201 {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}
        POST /node/User/Helene/relationship/User/Max/LOVES
          201 {"id": 2050, "type": "LOVES", "from": 1026, "to": 1027, "properties": {}}
        POST /node/User/Helene/relationship/User/Max/KNOWS
          201 {"id": 1026, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {}}
        GET /relationships
          200 [{"id": 1026, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {}}, {"id": 2050, "type": "LOVES", "from": 1026, "to": 1027, "properties": {}}, {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
        GET /relationships/KNOWS
          200 [{"id": 1026, "type": "KNOWS", "from": 1026, "to": 1027, "properties": {}}, {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
        GET /relationships/LOVES?limit=1
          200 [{"id": 2050, "type": "LOVES", "from": 1026, "to": 1027, "properties": {}}]
        GET /relationships/FEARS
          200 []
        GET /relationships?limit=x
          400 "Invalid limit parameter"
    "#]]);
}

/// The double that is made of it is another number, which was not found by what had been written.
#[test]
fn an_integer_is_compared_with_doubles_as_the_one_that_it_becomes() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/User/properties/weight/double
          201
        POST /node/User/Max {"weight": 9007199254740993}
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"weight": 9007199254740992}}
        POST /nodes/User/weight/EQ 9007199254740993
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"weight": 9007199254740992}}]
        POST /nodes/User/weight/LT 9007199254740993
          200 []
    "#]]);
}

#[test]
fn finds_take_all_operations() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/age/integer
          201
        POST /schema/nodes/User/properties/weight/double
          201
        POST /node/User/Max {"name": "max", "age": 42, "weight": 230}
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}
        POST /node/User/Helene {"name": "helene", "age": 41}
          201 {"id": 1026, "type": "User", "key": "Helene", "properties": {"age": 41, "name": "helene"}}
        DELETE /node/User/Helene
          204
        POST /node/User/Alex {"name": "alex", "age": 41, "weight": 0.5}
          201 {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}
        POST /node/User/Gabi {"name": "gabi", "age": 41}
          201 {"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}
        POST /node/User/Penny {"name": "penny"}
          201 {"id": 67109890, "type": "User", "key": "Penny", "properties": {"name": "penny"}}
        POST /nodes/User/age/IS_NULL
          200 [{"id": 67109890, "type": "User", "key": "Penny", "properties": {"name": "penny"}}]
        POST /nodes/User/age/NOT_IS_NULL
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}, {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}, {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/EQ 41
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}, {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}]
        POST /nodes/User/age/NOT_EQ 41
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/NEQ 41
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/GT 41
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/GTE 41?limit=1
          400 "Invalid JSON"
        POST /nodes/User/age/GTE?limit=1&skip=2 1
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/LT 42
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}, {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}]
        POST /nodes/User/age/LTE 41.5
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}, {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}]
        POST /nodes/User/age/EQ "41"
          200 []
        POST /nodes/User/weight/EQ 230
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/weight/NOT_LT 230
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/name/STARTS_WITH "ma"
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/name/NOT_STARTS_WITH "ma"
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}, {"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}, {"id": 67109890, "type": "User", "key": "Penny", "properties": {"name": "penny"}}]
        POST /nodes/User/name/CONTAINS "abi"
          200 [{"id": 1024, "type": "User", "key": "Gabi", "properties": {"age": 41, "name": "gabi"}}]
        POST /nodes/User/name/ENDS_WITH "x"
          200 [{"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}, {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/name/LIKE "x"
          400 "Invalid operation parameter"
        POST /nodes/User/name/eq "max"
          400 "Invalid operation parameter"
        POST /nodes/User/name/EQ
          400 "Invalid JSON"
        POST /nodes/User/name/EQ {"a": 1}
          400 "Invalid JSON"
        POST /nodes/User/name/EQ null
          200 []
        POST /nodes/User/age/EQ null
          200 [{"id": 67109890, "type": "User", "key": "Penny", "properties": {"name": "penny"}}]
        POST /nodes/User/age/NOT_NEQ null
          200 [{"id": 67109890, "type": "User", "key": "Penny", "properties": {"name": "penny"}}]
        POST /nodes/User/weight/NEQ null
          200 [{"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}, {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/age/GT null
          200 []
        POST /nodes/User/weight/NOT_LTE null
          200 [{"id": 1026, "type": "User", "key": "Alex", "properties": {"age": 41, "name": "alex", "weight": 0.5}}, {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max", "weight": 230}}]
        POST /nodes/User/name/EQ [null]
          400 "Invalid JSON"
        POST /nodes/User/other/EQ 1
          200 []
        POST /nodes/Nothing/name/EQ 1
          200 []
        POST /nodes/User/name/EQ?limit=x "max"
          400 "Invalid limit parameter"
        GET /nodes/User/name/EQ
          404 {"message": "Not found", "code": 404}
        POST /schema/relationships/KNOWS/properties/since/integer
          201
        POST /node/1027/relationship/1027/KNOWS {"since": 1999}
          201 {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {"since": 1999}}
        POST /node/1027/relationship/1027/KNOWS {"since": 2001}
          201 {"id": 67109891, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {"since": 2001}}
        POST /relationships/KNOWS/since/GT 2000
          200 [{"id": 67109891, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {"since": 2001}}]
        POST /relationships/KNOWS/since/OVER 2000
          400 "Invalid operation parameter"
    "#]]);
}

#[test]
fn indexes_are_made_listed_and_dropped() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/User/properties/age/integer
          201
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/tags/string_list
          201
        POST /node/User/Max {"age": 42, "name": "max"}
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}
        POST /schema/nodes/User/properties/age/index
          201
        POST /schema/nodes/User/properties/age/index
          201
        POST /schema/nodes/User/properties/tags/index
          304
        POST /schema/nodes/User/properties/other/index
          304
        POST /schema/nodes/Nothing/properties/age/index
          304
        GET /schema/nodes/User/indexes
          200 ["age"]
        GET /schema/nodes/indexes
          200 {"User": ["age"]}
        GET /schema/relationships/indexes
          200 {}
        GET /schema/nodes/Nothing/indexes
          200 []
        POST /node/User/Helene {"age": 41}
          201 {"id": 1026, "type": "User", "key": "Helene", "properties": {"age": 41}}
        POST /nodes/User/age/GTE 42
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}]
        POST /nodes/User/age/EQ 41
          200 [{"id": 1026, "type": "User", "key": "Helene", "properties": {"age": 41}}]
        DELETE /schema/nodes/User/properties/age/index
          204
        DELETE /schema/nodes/User/properties/age/index
          204
        POST /nodes/User/age/EQ 41
          200 [{"id": 1026, "type": "User", "key": "Helene", "properties": {"age": 41}}]
        GET /schema/nodes/indexes
          200 {}
    "#]]);
}

#[test]
fn databases_are_made_emptied_and_dropped() {
    let mut graph = Graph::start();
    graph.check(expect![[r#"
        GET //dbs
          200 ["rage"]
        GET //dbs/rage
          200 {"key": "rage", "nodes": [], "relationships": []}
        GET //dbs/other
          404
        POST //dbs/other
          200 {"key": "other", "nodes": [], "relationships": []}
        POST //dbs/other
          400 "Database already exists"
        POST //db/other/node/User/Max
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
        POST //db/other/node/1027/relationship/1027/KNOWS
          201 {"id": 1027, "type": "KNOWS", "from": 1027, "to": 1027, "properties": {}}
        GET /nodes
          200 []
        GET //db/other/nodes
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {}}]
        GET //dbs
          200 ["other", "rage"]
        GET //dbs/other
          200 {"key": "other", "nodes": ["User"], "relationships": ["KNOWS"]}
        POST //dbs/a%20b
          400 "Invalid key: a database's name has 1 to 64 letters, digits, _ or -, and begins with no -"
        POST //dbs/..
          400 "Invalid key: a database's name has 1 to 64 letters, digits, _ or -, and begins with no -"
        POST //dbs/
          400 "Invalid key: a database's name has 1 to 64 letters, digits, _ or -, and begins with no -"
        POST //dbs/-x
          400 "Invalid key: a database's name has 1 to 64 letters, digits, _ or -, and begins with no -"
        PUT //dbs/other
          200 {"key": "other", "nodes": [], "relationships": []}
        GET //db/other/nodes
          200 []
        PUT //dbs/missing
          400 "Database does not exist"
        DELETE //dbs/rage
          400 "Database rage stays: GraphQL serves it; DELETE /db/rage/schema empties it"
        GET //db/missing/nodes
          404 {"message": "Not found", "code": 404}
        POST //dbs
          404 {"message": "Not found", "code": 404}
        PATCH //dbs/other
          404 {"message": "Not found", "code": 404}
        POST //db/other/node/User/Kept
          201 {"id": 1024, "type": "User", "key": "Kept", "properties": {}}
    "#]]);
    graph.restart().check(expect![[r#"
        GET //db/other/nodes
          200 [{"id": 1024, "type": "User", "key": "Kept", "properties": {}}]
        DELETE //dbs/other
          204
        DELETE //dbs/other
          304
        GET //db/other/nodes
          404 {"message": "Not found", "code": 404}
        POST //dbs/other
          200 {"key": "other", "nodes": [], "relationships": []}
        GET //db/other/nodes
          200 []
        GET //dbs
          200 ["other", "rage"]
    "#]]);
}

#[test]
fn health_and_metrics_know_the_graph() {
    let mut graph = Graph::start();
    graph.ask("POST /node/User/Max");
    graph.ask("POST /node/1027/relationship/1027/KNOWS");
    let health = graph.ask("GET //health");
    for part in [
        r#"{"name":"rage","durability":"sync","nodes":1,"relationships":1,"log_bytes":"#,
        r#","waiting_writes":0}"#,
    ] {
        assert!(health.contains(part), "{part} is not in {health}");
    }
    let metrics = graph.ask("GET //metrics");
    for line in [
        "prony_graph_nodes{graph=\"rage\"} 1",
        "prony_graph_relationships{graph=\"rage\"} 1",
        "prony_graph_waiting_writes{graph=\"rage\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

/// Many connections write at the same time, and each is told of its own write.
#[test]
fn writes_of_many_connections_are_all_answered() {
    let mut graph = Graph::start();
    let address = graph.address();
    std::thread::scope(|scope| {
        for user in 0..16 {
            scope.spawn(move || {
                let mut own = Client::to(address);
                for key in 0..50 {
                    let made = own.ask(&format!("POST /node/User/{user}-{key}"));
                    assert!(made.starts_with("201 "), "{made}");
                }
            });
        }
    });
    let all = graph.ask("GET /nodes?limit=10000");
    assert_eq!(all.matches("\"id\"").count(), 16 * 50);
}

#[test]
fn indexes_that_the_settings_name_are_made_at_the_start() {
    let mut graph = Graph::with(|settings| give_options(settings, "indexes = [\"nodes/User/age/integer\"]"));
    graph.check(expect![[r#"
        GET /schema/nodes/User/indexes
          200 ["age"]
        GET /schema/nodes/User
          200 {"age": "integer"}
        POST /node/User/Max {"age": 7}
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 7}}
        POST /nodes/User/age/EQ 7
          200 [{"id": 1027, "type": "User", "key": "Max", "properties": {"age": 7}}]
    "#]]);
    let fault =
        graph.restart_with(|settings| give_options(settings, "indexes = [\"nodes/User/age/string\"]"));
    let fault = fault.expect_err("the property is an integer").to_string();
    let expected =
        "cannot make the index on `age` of `User` that `indexes` names: the property is declared as integer";
    assert!(fault.contains(expected), "{fault}");
}

/// All of it was deleted.
#[test]
fn a_deletion_with_parameters_is_refused() {
    Graph::start().check(expect![[r#"
        POST /node/User/Max {"name": "max"}
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
        DELETE /node/User/Max?name=helene
          400 "A deletion has no parameters: its path names all that is deleted"
        DELETE /node/User/Max/properties?name=age
          400 "A deletion has no parameters: its path names all that is deleted"
        DELETE /schema?type=User
          400 "A deletion has no parameters: its path names all that is deleted"
        DELETE //dbs/other?type=User
          400 "A deletion has no parameters: its path names all that is deleted"
        GET /node/User/Max?name=helene
          200 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
        DELETE /node/User/Max?
          204
    "#]]);
}
