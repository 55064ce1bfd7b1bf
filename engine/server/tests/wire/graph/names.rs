//! Names that are hard to write in a path, numbers at their edges, JSON that is too much, and paths that are none.

use expect_test::expect;

use super::Graph;

#[test]
fn names_are_decoded_by_segment() {
    Graph::start().check(expect![[r#"
        POST /node/User/a%2Fb
          201 {"id": 1025, "type": "User", "key": "a/b", "properties": {}}
        GET /node/User/a%2fb
          200 {"id": 1025, "type": "User", "key": "a/b", "properties": {}}
        POST /node/User/100%25
          201 {"id": 1027, "type": "User", "key": "100%", "properties": {}}
        POST /node/User/100%2525
          201 {"id": 67109891, "type": "User", "key": "100%25", "properties": {}}
        POST /node/a%20b/c%20d
          201 {"id": 2050, "type": "a b", "key": "c d", "properties": {}}
        POST /node/User/
          201 {"id": 1024, "type": "User", "key": "", "properties": {}}
        GET /node/User/
          200 {"id": 1024, "type": "User", "key": "", "properties": {}}
        POST /node//
          201 {"id": 3073, "type": "", "key": "", "properties": {}}
        GET /node//
          200 {"id": 3073, "type": "", "key": "", "properties": {}}
        GET /nodes/
          200 [{"id": 3073, "type": "", "key": "", "properties": {}}]
        POST /node/User/a+b
          201 {"id": 134218755, "type": "User", "key": "a+b", "properties": {}}
        POST /node/Gr%C3%BC%C3%9Fe/%F0%9F%98%80
          201 {"id": 4098, "type": "Grüße", "key": "😀", "properties": {}}
        POST /node/User/%22quoted%22%0A
          201 {"id": 67109889, "type": "User", "key": "\"quoted\"\n", "properties": {}}
        GET /node/User/%ff
          400 "Invalid path: a segment is not UTF-8 in percent-encoding, such as %2F for a slash"
        GET /node/User/%zz
          400 "Invalid path: a segment is not UTF-8 in percent-encoding, such as %2F for a slash"
        GET /node/User/%4
          400 "Invalid path: a segment is not UTF-8 in percent-encoding, such as %2F for a slash"
        POST /node/User/propertie%73
          201 {"id": 201327619, "type": "User", "key": "properties", "properties": {}}
        GET /node/User/propertie%73
          200 {"id": 201327619, "type": "User", "key": "properties", "properties": {}}
        GET /node/User/properties
          400 "Invalid id"
        GET /node/User/properties/properties
          200 {}
        POST /node/User/a%2Fb/relationship/User//A%26B
          201 {"id": 1025, "type": "A&B", "from": 1025, "to": 1024, "properties": {}}
        GET /node/User/a%2Fb/relationships/all/A%26B
          200 []
        GET /node/User/a%2Fb/relationships
          200 [{"id": 1025, "type": "A&B", "from": 1025, "to": 1024, "properties": {}}]
        GET /node/User//degree
          200 {"degree": 1}
        GET /node/User/a%2Fb/relationships/all/
          200 []
        POST /schema/nodes/User/properties/a%2Fb/string
          201
        POST /node/User/x {"a/b": "c/d"}
          201 {"id": 1026, "type": "User", "key": "x", "properties": {"a/b": "c/d"}}
        GET /node/User/x/property/a%2Fb
          200 {"a/b": "c/d"}
        POST /node/12/34
          201 {"id": 5120, "type": "12", "key": "34", "properties": {}}
        GET /node/12/34
          200 {"id": 5120, "type": "12", "key": "34", "properties": {}}
        GET /node/12/degree
          200 {"degree": 0}
        GET /node/12/34/degree
          200 {"degree": 0}
    "#]]);
}

#[test]
fn numbers_keep_their_edges() {
    Graph::start().check(expect![[r#"
        POST /schema/nodes/N/properties/i/integer
          201
        POST /schema/nodes/N/properties/d/double
          201
        POST /schema/nodes/N/properties/is/integer_list
          201
        POST /schema/nodes/N/properties/ds/double_list
          201
        POST /node/N/a {"i": 9223372036854775807, "d": 9223372036854775808}
          201 {"id": 1024, "type": "N", "key": "a", "properties": {"d": 9.223372036854776e+18, "i": 9223372036854775807}}
        POST /node/N/b {"i": -9223372036854775808, "d": -0.0}
          201 {"id": 67109888, "type": "N", "key": "b", "properties": {"d": -0, "i": -9223372036854775808}}
        POST /node/N/c {"i": 9223372036854775808}
          400 "Invalid Request"
        POST /node/N/c {"i": 1.0}
          400 "Invalid Request"
        POST /node/N/c {"d": 1e308, "ds": [1, 0.1, 1e21, 1e-7, 5e-324]}
          201 {"id": 1027, "type": "N", "key": "c", "properties": {"d": 1e+308, "ds": [1, 0.1, 1e+21, 1e-7, 5e-324]}}
        POST /node/N/d {"d": 1e309}
          400 "Invalid JSON"
        POST /node/N/d {"d": NaN}
          400 "Invalid JSON"
        POST /node/N/d {"is": [9223372036854775807, 0, -1]}
          201 {"id": 134218752, "type": "N", "key": "d", "properties": {"is": [9223372036854775807, 0, -1]}}
        POST /node/N/e {"is": [9223372036854775808]}
          400 "Invalid Request"
        POST /nodes/N/i/GT 9223372036854775806
          200 [{"id": 1024, "type": "N", "key": "a", "properties": {"d": 9.223372036854776e+18, "i": 9223372036854775807}}]
        GET /node/0
          404
        GET /node/18446744073709551615
          404
        GET /node/18446744073709551616
          400 "Invalid id"
        GET /node/9223372036854775808
          404
        GET /node/-1
          400 "Invalid id"
        GET /node/+1
          400 "Invalid id"
        GET /node/1.5
          400 "Invalid id"
        GET /node/
          400 "Invalid id"
        GET /node/00001024
          200 {"id": 1024, "type": "N", "key": "a", "properties": {"d": 9.223372036854776e+18, "i": 9223372036854775807}}
        GET /relationship/18446744073709551616
          400 "Invalid id"
        DELETE /relationship/18446744073709551615
          304
        DELETE /node/99999999999999999999
          400 "Invalid id"
        POST /node/0/relationship/0/KNOWS
          400 "Invalid Request"
    "#]]);
}

#[test]
fn json_that_is_too_much_is_refused() {
    let mut graph = Graph::start();
    let deep = format!("POST /node/User/deep {{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
    assert_eq!(graph.ask(&deep), "400 \"Invalid JSON\"");
    let very_deep = format!("POST /node/User/deep {{\"a\": {}", "[".repeat(500_000));
    assert_eq!(graph.ask(&very_deep), "400 \"Invalid JSON\"");
    let wide = (0..50_000).map(|number| format!("\"p{number}\": {number}")).collect::<Vec<_>>().join(", ");
    assert_eq!(
        graph.ask(&format!("POST /node/User/wide {{{wide}}}")),
        r#"201 {"id": 1026, "type": "User", "key": "wide", "properties": {}}"#
    );
    let huge = format!("POST /node/User/huge \"{}\"", "x".repeat(2 << 20));
    assert_eq!(
        graph.ask(&huge),
        "413 connection: close \"the body is over the limit of 1048576 bytes (max_body_bytes)\""
    );
}

#[test]
fn long_names_are_taken_up_to_the_limits() {
    let mut graph = Graph::start();
    let key = "k".repeat(60_000);
    let made = graph.ask(&format!("POST /node/User/{key}"));
    assert!(made.starts_with("201 ") && made.contains(&key), "{made:.80}");
    assert_eq!(graph.ask(&format!("GET /node/User/{key}"))[4..], made[4..]);
    let mut narrow = Graph::with(|settings| settings.max_uri_bytes = 100);
    let refused = narrow.ask(&format!("GET /node/User/{}", "k".repeat(100)));
    assert!(refused.starts_with("414 "), "{refused}");
    assert!(refused.contains("over the limit of 100 bytes (max_uri_bytes)"), "{refused}");
}

#[test]
fn paths_that_are_none() {
    Graph::start().check(expect![[r#"
        GET //nothing
          404 {"message": "Not found", "code": 404}
        GET //db
          404 {"message": "Not found", "code": 404}
        GET //db/
          404 {"message": "Not found", "code": 404}
        GET //db/rage
          404 {"message": "Not found", "code": 404}
        GET //db/rage/
          404 {"message": "Not found", "code": 404}
        GET //db/rage/things
          404 {"message": "Not found", "code": 404}
        GET //db/rage/health_check
          200 ["Shard 0 is OK", "Shard 1 is OK", "Shard 2 is OK", "Shard 3 is OK"]
        GET //db/rage/health_check/more
          404 {"message": "Not found", "code": 404}
        POST //db/rage/health_check
          404 {"message": "Not found", "code": 404}
        GET /node
          404 {"message": "Not found", "code": 404}
        GET /node/User/Max/things
          404 {"message": "Not found", "code": 404}
        GET /node/User/Max/relationships/out/A/B/C/D/E/F
          400 "Invalid request"
        GET /nodes/User/name
          404 {"message": "Not found", "code": 404}
        POST /node/1027
          404 {"message": "Not found", "code": 404}
        PATCH /node/User/Max
          404 {"message": "Not found", "code": 404}
        PUT /node/User/Max
          404 {"message": "Not found", "code": 404}
        POST /nodes/User
          404 {"message": "Not found", "code": 404}
        DELETE /nodes
          404 {"message": "Not found", "code": 404}
        GET /schema/things
          404 {"message": "Not found", "code": 404}
        GET /relationship
          404 {"message": "Not found", "code": 404}
        GET /node/User/Max/relationship/User/Max/KNOWS
          404 {"message": "Not found", "code": 404}
        DELETE /db
          404 {"message": "Not found", "code": 404}
    "#]]);
}
