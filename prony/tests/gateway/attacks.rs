//! Data that does not suit a gateway: upstreams that stretch HTTP and JSON, types that stand beside each other, values that no number
//! of ours holds.

use std::{fmt::Write as _, fs, process::Command, time::Duration};

use prony_testkit::peer::{ScriptedPeer, Step};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Subscriber, before, directory, failure, ok, server::Server};

/// A connection that its peer has closed is no fault: the request is sent over another.
const CALM: &str = "retries = 1\nbreaker_failures = 1000";

fn serving(response: &[u8]) -> ScriptedPeer {
    ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Write(response.to_vec())]])
}

#[test]
fn bodies_are_read_wherever_they_are_cut() {
    let body = r#"{"data":{"one":12345678901234567890123}}"#;
    let mut chunks = String::new();
    for chunk in body.as_bytes().chunks(3) {
        let text = String::from_utf8_lossy(chunk);
        write!(chunks, "{:x};a=b\r\n{text}\r\n", chunk.len()).expect("writing to a string cannot fail");
    }
    let response = format!(
        "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         {chunks}0\r\nlast: x\r\n\r\n"
    );
    for piece in [1, 2, 7, 64] {
        let pieces = Step::WritePieces {
            bytes: response.clone().into_bytes(),
            piece,
            pause: Duration::from_micros(200),
        };
        let (directory, peer) = (directory(), ScriptedPeer::start(vec![vec![Step::ReadRequest, pieces]]));
        let gateway = before(&peer, &directory, CALM);
        for query in ["{ one }", "{ __typename one }"] {
            let received = gateway.ask("POST /graphql", &json!({ "query": query }).to_string()).1;
            assert!(received.contains("\"one\":12345678901234567890123"), "{piece}: {received}");
        }
    }
}

#[test]
fn statuses_and_lengths_that_lie_are_no_responses() {
    let good = ok(r#"{"data":{"one":1}}"#);
    let interim = |count: usize| [b"HTTP/1.1 100 Continue\r\n\r\n".repeat(count), good.clone()].concat();
    let head = |line: &str, fields: &str| {
        format!("HTTP/1.1 {line}\r\ncontent-type: application/json\r\n{fields}\r\n").into_bytes()
    };
    let short = [head("200 OK", "content-length: 5\r\n"), br#"{"data":{"one":1}}"#.to_vec()].concat();
    for (what, response, is_good) in [
        ("interim responses", interim(8), true),
        ("interim responses without end", interim(9), false),
        ("another protocol", head("101 Switching Protocols", "upgrade: x\r\n"), false),
        ("no content", head("204 No Content", ""), false),
        ("not modified", head("304 Not Modified", "content-length: 18\r\n"), false),
        ("a redirect", head("307 Temporary Redirect", "location: /other\r\ncontent-length: 0\r\n"), false),
        ("a length that is too short", short, false),
    ] {
        let (directory, peer) = (directory(), serving(&response));
        let gateway = before(&peer, &directory, CALM);
        for query in ["{ one }", "{ __typename one }"] {
            let response = gateway.graphql(query);
            if is_good {
                assert_eq!(response["data"]["one"], 1, "{what}: {response}");
            } else {
                let refused = failure(&response);
                assert!(refused.contains("did not respond as a GraphQL server does"), "{what}: {refused}");
            }
        }
    }
}

#[test]
fn responses_of_odd_shapes_are_taken_as_they_are_meant() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let deep = format!(r#"{{"data":{{"a":{deep}}}}}"#);
    for (body, expected) in [
        // Errors first, as servers of some languages write them.
        (
            r#"{"errors":[{"message":"no","path":["a",3,"x",0]}],"data":{"a":null}}"#,
            Ok(json!({"data": {"a": null}, "path": ["a", 3, "x", 0]})),
        ),
        (r#"{"errors":null,"data":{"a":1},"more":{"data":2}}"#, Ok(json!({"data": {"a": 1}}))),
        (r#"{"errors":[],"data":{"other":2,"a":1}}"#, Ok(json!({"data": {"a": 1}}))),
        (r#"{"data":{"\u0061":1}}"#, Ok(json!({"data": {"a": 1}}))),
        (r#"{"data":{"b":1}}"#, Err("left it out")),
        (r#"{"data":{"a":1},"data":{"a":2}}"#, Err("did not respond as a GraphQL server does")),
        (r#"{"data":[1]}"#, Err("did not respond as a GraphQL server does")),
        (r#"{"data":{"a":1}}{"data":{"a":2}}"#, Err("did not respond as a GraphQL server does")),
        (r#"{"errors":[{"message":"no","path":[["a"]]}],"data":null}"#, Err("no")),
        (r#"{"errors":"no"}"#, Err("did not respond as a GraphQL server does")),
        (deep.as_str(), Ok(Value::Null)),
    ] {
        let (directory, peer) = (directory(), serving(&ok(body)));
        let gateway = before(&peer, &directory, CALM);
        let shown = &body[..body.len().min(80)];
        let text = gateway.ask("POST /graphql", r#"{"query":"{ __typename a: one }"}"#).1;
        match expected {
            // Deeper than tests read it.
            Ok(Value::Null) => assert!(text.ends_with("]]]}}"), "{shown}"),
            Ok(expected) => {
                let response: Value = serde_json::from_str(&text).expect("it is JSON");
                assert_eq!(response["data"]["a"], expected["data"]["a"], "{shown}: {response}");
                assert_eq!(response["errors"][0]["path"], expected["path"], "{shown}: {response}");
            }
            Err(expected) => {
                let response: Value = serde_json::from_str(&text).expect("it is JSON");
                assert!(failure(&response).contains(expected), "{shown}: {response}");
            }
        }
    }
}

/// Over HTTP it is one client's, and is passed on unread; within a message it could end that, or name another operation.
#[test]
fn what_is_no_json_gets_into_no_message() {
    for body in [r#"{"data":{"one":1}},"id":"2","more":{"a":{}}"#, r#"{"data":{"one":,"more":{}}}"#] {
        let (directory, peer) = (directory(), serving(&ok(body)));
        let gateway = before(&peer, &directory, CALM);
        let mut subscriber = Subscriber::new(&gateway, "{ one }");
        subscriber.wait_for("event: complete");
        assert!(subscriber.read.contains("is no JSON"), "{body}: {}", subscriber.read);
        assert!(!subscriber.read.contains("more"), "{body}: {}", subscriber.read);
    }
    let (directory, peer) = (directory(), serving(&ok("{\"data\":{\"one\":1}}\n")));
    let gateway = before(&peer, &directory, CALM);
    Subscriber::new(&gateway, "{ one }").wait_for("{\"data\":{\"one\":1}}");
}

/// A null where the upstream's own schema has none takes the parent with it.
#[test]
fn nulls_that_may_not_be_are_passed_up() {
    let directory = directory();
    let peer = serving(&ok(r#"{"data":{"one":null}}"#));
    let gateway = before(&peer, &directory, CALM);
    fs::write(directory.path().join("schema.graphql"), "type Query { one: Int! }")
        .expect("it can be written");
    gateway.process.signal(prony_testkit::process::Signal::HUP);
    gateway.wait_until("data is null", |gateway| {
        let response = gateway.graphql("{ __typename one }");
        response["data"].is_null() && failure(&response).contains("left it out")
    });
}

#[test]
fn fields_of_two_upstreams_stand_beside_each_other_under_aliases() {
    let directory = directory();
    let one = serving(&ok(r#"{"data":{"a":1,"c":3}}"#));
    let two = serving(&ok(r#"{"errors":[{"message":"half","path":["b"]}],"data":{"b":null,"d":"x"}}"#));
    let text = |name: &str, peer: &ScriptedPeer, sdl: &str| {
        let schema = directory.path().join(format!("{name}.graphql"));
        fs::write(&schema, sdl).expect("it can be written");
        format!(
            "[[source]]\nname = \"{name}\"\nupstream = \"{}/\"\nschema_file = {:?}\n{CALM}\n",
            peer.url(),
            schema.display()
        )
    };
    // Equal types are shared.
    let first = text("first", &one, "type Query { one(at: [Int!]): Int } type Same { id: ID! }");
    let second = text(
        "second",
        &two,
        "schema { query: Root } type Root { two(at: [Int]!): String same: Same } type Same { id: ID! }",
    );
    let gateway = Server::configured(&directory, &[first, second].concat());
    let response = gateway.graphql_with(
        "query ($at: [Int!]!, $on: Boolean!) { a: one(at: $at) ...F c: one } fragment F on Query { b: two(at: $at) d: two(at: [1]) @skip(if: $on) ...G @include(if: $on) } fragment G on Query { same { id } }",
        &json!({"at": [1, 2], "on": false}),
    );
    assert_eq!(response["data"], json!({"a": 1, "b": null, "d": "x", "c": 3}), "{response}");
    assert_eq!(response["errors"][0]["path"], json!(["b"]), "{response}");
    let received = |peer: &ScriptedPeer| String::from_utf8_lossy(&peer.received(0)).into_owned();
    let request = received(&one);
    assert!(
        request.ends_with(r#"{"query":"query($v0:[Int!]){a:one(at:$v0 ) c:one }","variables":{"v0":[1,2]}}"#),
        "{request}"
    );
    let request = received(&two);
    assert!(!request.contains("same") && request.contains("($v0:[Int]!)"), "{request}");
    // The upstream knows its root type by another name.
    let response = gateway.graphql("query { ...F } fragment F on Query { b: two(at: []) d: two(at: [1]) }");
    assert_eq!(response["data"]["d"], "x", "{response}");
    let last = String::from_utf8_lossy(&two.received(two.connections() - 1)).into_owned();
    assert!(!last.contains("on Query"), "{last}");
}

/// The sources of two upstreams whose schemas are in files.
fn beside(directory: &TempDir, peers: &[ScriptedPeer; 2], schemas: [&str; 2]) -> String {
    let mut text = String::new();
    for (number, (peer, sdl)) in peers.iter().zip(schemas).enumerate() {
        let schema = directory.path().join(format!("{number}.graphql"));
        fs::write(&schema, sdl).expect("it can be written");
        let _ = write!(
            text,
            "[[source]]\nname = \"of{number}\"\nupstream = \"{}/\"\nschema_file = {:?}\n{CALM}\n",
            peer.url(),
            schema.display().to_string()
        );
    }
    text
}

fn last_request(peer: &ScriptedPeer) -> String {
    String::from_utf8_lossy(&peer.received(peer.connections() - 1)).into_owned()
}

/// An interface that two have is one, and objects of each have it; directives of both may be written anywhere.
#[test]
fn types_and_directives_of_another_upstream_are_not_forwarded() {
    let directory = directory();
    let peers = [serving(&ok(r#"{"data":{"one":1,"nodes":[{}]}}"#)), serving(&ok("{}"))];
    let schemas = [
        "interface Node { id: ID! } type User implements Node { id: ID! name: String } \
            directive @live(n: Int) on FIELD | QUERY type Query { nodes: [Node] one: Int }",
        "interface Node { id: ID! } type Thing implements Node { id: ID! title: String } \
            directive @cold on FIELD | QUERY | FRAGMENT_SPREAD | INLINE_FRAGMENT type Query { things: [Node] }",
    ];
    let gateway = Server::configured(&directory, &beside(&directory, &peers, schemas));
    for (query, expected) in [
        (
            "{ one nodes { id ... on Thing { title } ... on User { name } } }",
            "query{one nodes{id ...on User{name }}}",
        ),
        ("{ one nodes { ... on Thing { title } } }", "query{one nodes{__typename@skip(if:true)}}"),
        ("{ one nodes { ...F } } fragment F on Thing { id }", "query{one nodes{__typename@skip(if:true)}}"),
        ("{ one @cold nodes { id } }", "query{one nodes{id }}"),
        ("query @cold { one nodes { id } }", "query{one nodes{id }}"),
        ("{ one nodes { ... @cold { id } } }", "query{one nodes{id }}"),
        ("{ __typename one @live(n: 1) nodes { id @cold } }", "query{one@live(n:1 ) nodes{id }}"),
        ("{ one @live(n: 1) nodes { id } }", "{ one @live(n: 1) nodes { id } }"),
    ] {
        let response = gateway.graphql(query);
        assert_eq!(response["data"]["one"], 1, "{query}: {response}");
        let request = last_request(&peers[0]);
        assert!(request.ends_with(&format!("{{\"query\":\"{expected}\"}}")), "{query}: {request}");
    }
    assert_eq!(peers[1].connections(), 0);
}

/// One of them was served, and the other was nowhere.
#[test]
fn names_that_become_the_same_are_told_at_the_start() {
    for (renames, told) in [
        ("\"Query.b\" = \"x_a\"", "several of its fields would be called `Query.x_a`"),
        ("B = \"XA\"", "several of its types would be called `XA`"),
    ] {
        let directory = directory();
        let schema = directory.path().join("schema.graphql");
        fs::write(&schema, "type Query { a: A b: B } type A { one: Int } type B { two: Int }")
            .expect("it can be written");
        let text = format!(
            "[[source]]\nname = \"one\"\nupstream = \"http://127.0.0.1:1/\"\nschema_file = {:?}\n\
             type_prefix = \"X\"\nfield_prefix = \"x_\"\n[source.rename]\n{renames}\n",
            schema.display().to_string()
        );
        let path = directory.path().join("prony.toml");
        fs::write(&path, text).expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&path);
        let ended = command.output().expect("it can be started");
        let written = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && written.contains(told), "{written}");
    }
}

/// An upstream validates also what is left out, and does not know what is another's.
#[test]
fn what_is_left_out_of_another_upstream_is_not_forwarded() {
    let directory = directory();
    let peers =
        [serving(&ok(r#"{"data":{"one":1,"same":null}}"#)), serving(&ok(r#"{"data":{"two":{"id":"x"}}}"#))];
    let sources = [
        "type Query { one: Int same: Same } type Same { id: ID! }",
        "type Query { two(by: By): Other } input By { n: Int } type Other { id: ID! }",
    ];
    let gateway = Server::configured(&directory, &beside(&directory, &peers, sources));
    let last = || last_request(&peers[0]);
    for query in [
        "query ($on: Boolean!) { one two @include(if: $on) { id } same { id } }",
        "query ($on: Boolean!) { one ... @include(if: $on) { two { id } } same { id } }",
        "query ($on: Boolean!) { one ...F @include(if: $on) same { id } } fragment F on Query { two { ...G } } \
            fragment G on Other { id }",
        "query ($on: Boolean!, $by: By) { one two(by: $by) @include(if: $on) { id } same { id } }",
    ] {
        let response = gateway.graphql_with(query, &json!({"on": false}));
        assert_eq!(response["data"], json!({"one": 1, "same": null}), "{query}: {response}");
        assert!(last().ends_with(r#"{"query":"query{one same{id }}"}"#), "{query}: {}", last());
    }
    // What is its own is left out there.
    let query =
        "query ($on: Boolean!) { one same @include(if: $on) { ...F } } fragment F on Same { __typename id }";
    let response = gateway.graphql_with(query, &json!({"on": false}));
    assert_eq!(response["data"]["one"], 1, "{response}");
    assert!(last().contains("@include(if: $on) { ...F }"), "{}", last());
    assert_eq!(peers[1].connections(), 0);
}

/// Types of a union, each joined by a key of another type.
#[test]
fn joins_below_unions_keep_what_they_do_not_touch() {
    let directory = directory();
    let path = directory.path().join("shop.db");
    let database = rusqlite::Connection::open(&path).expect("the database can be made");
    let script = "create table orders (id integer primary key, person_id text, total integer not null);
        insert into orders (person_id, total) values ('p1', 20);
        create table tickets (id integer primary key, film_id integer);
        insert into tickets (film_id) values (7);";
    database.execute_batch(script).expect("the tables can be made");
    let found = r#"[{"name":"Ann","prony_key_1_Person_id":"p1"},{"prony_key_1_Film_id":7,"big":12345678901234567890123,"far":1e400},null,{"prony_key_1_Person_id":null,"name":"\u0000"}]"#;
    let peer = serving(&ok(&format!(r#"{{"data":{{"search":{found}}}}}"#)));
    let schema = directory.path().join("schema.graphql");
    let sdl = "union Found = Person | Film type Person { id: ID name: String } type Film { id: Int! big: Big far: Big } \
               scalar Big type Query { search: [Found] }";
    fs::write(&schema, sdl).expect("it can be written");
    let text = format!(
        "[[source]]\nname = \"found\"\nupstream = \"{}/\"\nschema_file = {:?}\n{CALM}\n[[source]]\nname = \"shop\"\nurl = \"sqlite:{}\"\n\
         [[join]]\nfield = \"Person.orders\"\nkey = \"id\"\nto = \"Query.orders\"\nargument = \"where.person_id.in\"\nmatch = \"person_id\"\nmany = true\n\
         [[join]]\nfield = \"Film.tickets\"\nkey = \"id\"\nto = \"Query.tickets\"\nargument = \"where.film_id.in\"\nmatch = \"film_id\"\nmany = true\n",
        peer.url(),
        schema.display(),
        path.display()
    );
    let gateway = Server::configured(&directory, &text);
    let query =
        "{ search { ... on Person { orders { total } name } ... on Film { far big tickets { id } } } }";
    let received = gateway.ask("POST /graphql", &json!({ "query": query }).to_string()).1;
    let expected = r#"{"data":{"search":[{"orders":[{"total":20}],"name":"Ann"},{"far":1e400,"big":12345678901234567890123,"tickets":[{"id":1}]},null,{"orders":[],"name":"\u0000"}]}}"#;
    assert_eq!(received, expected);
}

/// Where what is joined cannot be had, nothing says that there is none.
#[test]
fn what_is_joined_from_a_service_that_fails_is_null() {
    let directory = directory();
    let path = directory.path().join("shop.db");
    let database = rusqlite::Connection::open(&path).expect("the database can be made");
    database
        .execute_batch("create table orders (id integer primary key, total integer); insert into orders (total) values (20);")
        .expect("the table can be made");
    let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Reset]]);
    let schema = directory.path().join("schema.graphql");
    let sdl = "type Query { reviewsBy(orders: [Int!]!): [Review!] } type Review { by: Int! text: String }";
    fs::write(&schema, sdl).expect("it can be written");
    let text = format!(
        "[[source]]\nname = \"reviews\"\nupstream = \"{}/\"\nschema_file = {:?}\n{CALM}\n[[source]]\nname = \"shop\"\nurl = \"sqlite:{}\"\n\
         [[join]]\nfield = \"Order.reviews\"\nkey = \"id\"\nto = \"Query.reviewsBy\"\nargument = \"orders\"\nmatch = \"by\"\nmany = true\n",
        peer.url(),
        schema.display(),
        path.display()
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql("{ orders { total reviews { text } } }");
    assert_eq!(response["data"], json!({"orders": [{"total": 20, "reviews": null}]}), "{response}");
    assert!(failure(&response).starts_with("SOURCE_UNAVAILABLE"), "{response}");
    assert_eq!(response["errors"][0]["path"], json!(["orders", 0, "reviews"]), "{response}");
}
