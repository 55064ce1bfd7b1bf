//! Nodes and relationships: made, looked at, found around each other, and deleted.

use expect_test::expect;

use super::Graph;

#[test]
fn nodes_are_made_and_found_by_key_and_id() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/User
          201
        POST /schema/nodes/User/properties/name/string
          201
        POST /schema/nodes/User/properties/age/integer
          201
        POST /schema/nodes/Person
          201
        POST /node/User/Max { "name" : "max", "age" : 42, "undeclared": {"a": [1]} }
          201 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}
        POST /node/User/Max
          400 "Invalid Request"
        POST /node/User/Helene
          201 {"id": 1026, "type": "User", "key": "Helene", "properties": {}}
        POST /node/Person/Helene
          201 {"id": 2050, "type": "Person", "key": "Helene", "properties": {}}
        GET /node/User/Max
          200 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}
        GET /node/1027
          200 {"id": 1027, "type": "User", "key": "Max", "properties": {"age": 42, "name": "max"}}
        GET /node/1026
          200 {"id": 1026, "type": "User", "key": "Helene", "properties": {}}
        GET /node/2050
          200 {"id": 2050, "type": "Person", "key": "Helene", "properties": {}}
        GET /node/User/Nobody
          404
        GET /node/Nothing/Max
          404
        GET /node/3074
          404
        POST /node/User/Broken {"name":
          400 "Invalid JSON"
        POST /node/User/Broken [1]
          400 "Invalid JSON"
        POST /node/User/Broken {"age": "many"}
          400 "Invalid Request"
        POST /node/User/Broken {"age": [1]}
          400 "Invalid Request"
        POST /node/User/Broken {"name": {"first": "x"}}
          400 "Invalid Request"
        POST /node/User/Broken {"age": null}
          201 {"id": 1024, "type": "User", "key": "Broken", "properties": {}}
        DELETE /node/User/Max
          204
        DELETE /node/User/Max
          304
        DELETE /node/1026
          204
        DELETE /node/1026
          304
        GET /node/1027
          404
    "#]]);
}

#[test]
fn relationships_are_made_and_found() {
    Graph::start().check(expect![[r#"
            POST /schema/relationships/LOVES/properties/weight/double
              201
            POST /schema/relationships/LOVES/properties/valid/boolean
              201
            POST /node/User/Max
              201 {"id": 1027, "type": "User", "key": "Max", "properties": {}}
            POST /node/User/Helene
              201 {"id": 1026, "type": "User", "key": "Helene", "properties": {}}
            POST /node/User/Helene/relationship/User/Max/LOVES {"weight": 1.5, "valid": true}
              201 {"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}
            POST /node/1027/relationship/1026/KNOWS
              201 {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}
            POST /node/1027/relationship/1026/KNOWS
              201 {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}
            POST /node/1027/relationship/1027/LOVES { "weight": 230 }
              201 {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}
            POST /node/User/Max/relationship/User/Nobody/KNOWS
              400 "Invalid Request"
            POST /node/1027/relationship/3074/FEARS
              400 "Invalid Request"
            POST /node/x/relationship/1026/KNOWS
              400 "Invalid id"
            POST /node/1027/relationship/y/KNOWS
              400 "Invalid id2"
            POST /node/1027/relationship/1026/LOVES {"weight": "much"}
              400 "Invalid Request"
            GET /relationship/1026
              200 {"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}
            GET /relationship/x
              400 "Invalid id"
            GET /relationship/77777
              404
            GET /node/1026/relationships
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}, {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
            GET /node/User/Max/relationships
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}, {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}, {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}]
            GET /node/1027/relationships/out
              200 [{"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}, {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
            GET /node/1027/relationships/IN/KNOWS&LOVES
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}, {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}]
            GET /node/1027/relationships/all/KNOWS%26LOVES
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}, {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}, {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 1027, "type": "LOVES", "from": 1027, "to": 1027, "properties": {"weight": 230}}]
            GET /node/1027/relationships/all/FEARS
              200 []
            GET /node/1027/relationships/both
              400 "Invalid direction parameter"
            GET /node/1027/relationships/all/KNOWS/more
              400 "Invalid request"
            GET /node/User/Nobody/relationships
              200 []
            GET /node/User/Helene/neighbors
              200 [{"id": 1027, "type": "User", "key": "Max", "properties": {}}, {"id": 1027, "type": "User", "key": "Max", "properties": {}}, {"id": 1027, "type": "User", "key": "Max", "properties": {}}]
            GET /node/User/Helene/neighbors/out/LOVES
              200 [{"id": 1027, "type": "User", "key": "Max", "properties": {}}]
            GET /node/User/Helene/degree
              200 {"degree": 3}
            GET /node/1027/degree/out
              200 {"degree": 3}
            GET /node/1027/degree/in/LOVES
              200 {"degree": 2}
            GET /node/9/degree
              200 {"degree": 0}
            GET /node/User/Helene/connected/User/Max
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}, {"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
            GET /node/1026/connected/1027/in
              200 [{"id": 2051, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}, {"id": 67110915, "type": "KNOWS", "from": 1027, "to": 1026, "properties": {}}]
            GET /node/1026/connected/1027/all/LOVES
              200 [{"id": 1026, "type": "LOVES", "from": 1026, "to": 1027, "properties": {"valid": true, "weight": 1.5}}]
            GET /node/1026/connected/z
              400 "Invalid id2"
            GET /schema/relationships
              200 ["KNOWS", "LOVES"]
            DELETE /relationship/1026
              204
            DELETE /relationship/1026
              304
            GET /node/1026/degree
              200 {"degree": 2}
            DELETE /node/User/Max
              204
            GET /node/1026/degree
              200 {"degree": 0}
            GET /relationships
              200 []
        "#]]);
}
