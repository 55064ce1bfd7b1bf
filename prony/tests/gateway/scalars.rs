//! What is an upstream's own business: its scalars, whatever they are called, names of operations, and extensions.

use std::fs;

use prony_testkit::peer::ScriptedPeer;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{directory, failure, ok, server::Server};

const SDL: &str = "scalar Bytes scalar BigInt scalar UUID scalar Decimal scalar JSON \
    type Query { one(b: Bytes, n: BigInt, u: UUID, d: Decimal, in: Numbers, json: JSON, choice: Choice, id: ID): Int inner: Inner } \
    type Inner { a: Int } \
    input Numbers { n: [BigInt], i: Int } input Choice @oneOf { number: Int text: String }";

/// A gateway before a peer that has answered with the one field.
fn gateway(directory: &TempDir, peer: &ScriptedPeer, more: &str) -> Server {
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nname = \"peer\"\nupstream = \"{}/\"\nschema_file = {:?}\n{more}",
        peer.url(),
        schema.display()
    );
    Server::configured(directory, &text)
}

/// The body of the request that the peer has got last.
fn last_body(peer: &ScriptedPeer) -> Value {
    let received = peer.received(peer.connections() - 1);
    let text = String::from_utf8_lossy(&received).into_owned();
    let body = text.rsplit("\r\n\r\n").next().expect("a head ends");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const QUERY: &str = "query Own($b: Bytes, $n: BigInt, $u: UUID, $d: Decimal, $in: Numbers) { one(b: $b, n: $n, u: $u, d: $d, in: $in) }";

fn values() -> Value {
    json!({
        "b": "0xff",
        "n": "123456789012345678901234567890",
        "u": "123e4567e89b12d3a456426614174000",
        "d": 1.5,
        "in": {"n": ["1", 2], "i": 3}
    })
}

#[test]
fn values_of_an_upstreams_own_scalars_are_passed_on_as_they_are() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    // As a whole, and put together.
    for query in [QUERY.to_owned(), QUERY.replace("{ one(", "{ __typename one(")] {
        let response = gateway.graphql_with(&query, &values());
        assert_eq!(response["data"]["one"], 1, "{response}");
        let sent = last_body(&peer)["variables"].clone();
        let sent: Vec<&Value> = sent.as_object().expect("an object").values().collect();
        for value in ["0xff", "123456789012345678901234567890", "123e4567e89b12d3a456426614174000"] {
            assert!(sent.contains(&&json!(value)), "{value}: {sent:?}");
        }
        assert!(sent.contains(&&json!(1.5)), "{sent:?}");
    }
    // Literals too.
    let response =
        gateway.graphql(r#"{ __typename one(b: "0xff", n: "12", u: "x", d: 1.5, in: { n: "7" }) }"#);
    assert_eq!(response["data"]["one"], 1, "{response}");
    let sent = last_body(&peer)["query"].clone();
    assert_eq!(sent, r#"query{one(b:"0xff" n:"12" u:"x" d:1.5 in:{n:["7" ] } ) }"#);
    // What GraphQL specifies is checked as ever.
    let response = gateway.graphql_with(QUERY, &json!({"in": {"i": "3"}}));
    assert!(failure(&response).starts_with("BAD_USER_INPUT"), "{response}");
}

/// Within a scalar they were declared as texts, and in an input object that takes one field alone as what may be null.
#[test]
fn variables_within_literals_are_declared_as_their_places_take_them() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    let query =
        "query ($a: JSON, $i: Int) { __typename one(json: {a: $a, all: [$a, $i]}, choice: {number: $i}) }";
    let response = gateway.graphql_with(query, &json!({"a": {"b": [1.5, null]}, "i": 2}));
    assert_eq!(response["data"]["one"], 1, "{response}");
    let sent = last_body(&peer);
    let text = sent["query"].as_str().unwrap_or_default();
    assert!(text.contains("$v0:JSON") && text.contains("$v1:Int!") && !text.contains("String"), "{text}");
    assert_eq!(sent["variables"], json!({"v0": {"b": [1.5, null]}, "v1": 2}), "{text}");
    let response =
        gateway.graphql_with("query ($i: Int) { __typename one(in: {i: $i}) }", &json!({"i": null}));
    assert_eq!(response["data"]["one"], 1, "{response}");
    assert_eq!(last_body(&peer)["query"], "query{one(in:{i:null } ) }");
}

/// GraphQL specification, section 3.10 (Input Coercion), for what stands for an object.
#[test]
fn variables_without_a_value_are_no_entries_of_a_literal() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    let query = "query ($a: JSON, $i: Int) { __typename one(json: {a: $a, all: [$a], in: [{i: $i}]}) }";
    for (variables, expected) in [
        (json!({}), "query{one(json:{all:[null ] in:[{} ] } ) }"),
        (json!({"a": null, "i": null}), "query{one(json:{a:null all:[null ] in:[{i:null } ] } ) }"),
    ] {
        let response = gateway.graphql_with(query, &variables);
        assert_eq!(response["data"]["one"], 1, "{response}");
        assert_eq!(last_body(&peer)["query"], expected, "{variables}");
    }
}

/// Whole numbers are keys, also those that 64 bits do not hold, and in documents as they are written.
#[test]
fn keys_have_as_many_digits_as_they_are_written_with() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    for digits in ["7", "-3", "18446744073709551615", "123456789012345678901"] {
        let response = gateway.graphql(&format!("{{ __typename one(id: {digits}) }}"));
        assert_eq!(response["data"]["one"], 1, "{digits}: {response}");
        let sent = last_body(&peer)["query"].clone();
        assert_eq!(sent, json!(format!("query{{one(id:\"{digits}\" ) }}")), "{digits}");
    }
}

/// No server takes an object without a selection.
#[test]
fn an_object_of_which_everything_is_left_out_is_asked_for() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"inner":{}}}"#)));
    let gateway = gateway(&directory, &peer, "");
    let response = gateway.graphql("{ __typename inner { a @skip(if: true) } }");
    assert_eq!(response["data"]["inner"], json!({}), "{response}");
    assert_eq!(last_body(&peer)["query"], "query{inner{__typename@skip(if:true)}}");
}

/// Numbers that no double holds keep their digits where the operation is forwarded whole.
#[test]
fn long_numbers_keep_their_digits() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    let variables = r#"{"n":123456789012345678901234567890,"in":{"n":12345678901234567890123,"i":3.0}}"#;
    let body = format!("{{\"query\":{},\"variables\":{variables}}}", json!(QUERY));
    let (head, received) = gateway.ask("POST /graphql", &body);
    assert!(received.contains(r#""one":1"#), "{head}\n{received}");
    let sent = String::from_utf8_lossy(&peer.received(peer.connections() - 1)).into_owned();
    let expected =
        r#""variables":{"n":123456789012345678901234567890,"in":{"n":[12345678901234567890123],"i":3}}}"#;
    assert!(sent.ends_with(expected), "{sent}");
}

/// A table beside it has a scalar of ours, which is held against our rule.
#[test]
fn scalars_of_ours_are_checked_beside_an_upstream() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let path = directory.path().join("shop.db");
    let database = rusqlite::Connection::open(&path).expect("the database can be made");
    database
        .execute_batch("create table items (id integer primary key, code uuid);")
        .expect("the table can be made");
    let shop =
        format!("type_prefix = \"Peer\"\n[[source]]\nname = \"shop\"\nurl = \"sqlite:{}\"\n", path.display());
    let gateway = gateway(&directory, &peer, &shop);
    let response = gateway.graphql(r#"{ one(u: "x") }"#);
    assert_eq!(response["data"]["one"], 1, "{response}");
    let query = "query ($code: UUID) { items(where: { code: { eq: $code } }) { id } }";
    let response = gateway.graphql_with(query, &json!({"code": "x"}));
    assert!(failure(&response).starts_with("BAD_USER_INPUT"), "{response}");
}

/// Only where an operation is one upstream's as a whole; hashes of documents are between the client and the gateway.
#[test]
fn names_and_extensions_go_with_whole_operations() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let gateway = gateway(&directory, &peer, "");
    let ask = |query: &str, extensions: Value| {
        let body = json!({"query": query, "operationName": "Own", "extensions": extensions}).to_string();
        let (head, body) = gateway.ask("POST /graphql", &body);
        assert!(body.contains(r#""one":1"#), "{head}\n{body}");
        last_body(&peer)
    };
    let traced = json!({"trace": {"depth": 2}, "operationId": "a"});
    let sent = ask("query Own { one }", traced.clone());
    let expected =
        json!({"query": "query Own { one }", "operationName": "Own", "extensions": {"trace": {"depth": 2}}});
    assert_eq!(sent, expected);
    let sent = ask("query Own { one }", json!({}));
    assert_eq!(sent, json!({"query": "query Own { one }", "operationName": "Own"}));
    let sent = ask("query Own { __typename one }", traced);
    assert_eq!(sent["operationName"], Value::Null, "{sent}");
    assert_eq!(sent["extensions"], Value::Null, "{sent}");
}
