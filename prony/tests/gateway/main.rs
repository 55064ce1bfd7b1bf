//! Upstreams from outside: a second `prony` behind the first, and scripted peers that do what servers must not do.

mod attacks;
mod codings;
mod exchange;
mod guards;
mod joins;
mod large;
mod restarts;
mod roles;
mod scalars;
mod server;
mod sockets;
mod trouble;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use prony_testkit::{
    PronyProcess,
    peer::{ScriptedPeer, Step},
    process::Signal,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::server::{PATIENCE, Server};

const SDL: &str = "type Query { one: Int two(id: ID!): Thing } type Mutation { add(by: Int!): Int } \
    type Thing { id: ID! name: String }";

/// A response with a body of JSON.
fn ok(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A gateway before a scripted peer whose schema is in a file, with more lines for its source.
fn before(peer: &ScriptedPeer, directory: &TempDir, more: &str) -> Server {
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nupstream = \"{}/graphql\"\nname = \"peer\"\nschema_file = {:?}\n{more}\n",
        peer.url(),
        schema.display()
    );
    Server::configured(directory, &text)
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

/// The message of the only error, and its code.
fn failure(response: &Value) -> String {
    let errors = response["errors"].as_array().unwrap_or_else(|| panic!("no errors: {response}"));
    assert_eq!(errors.len(), 1, "{response}");
    format!(
        "{}: {}",
        errors[0]["extensions"]["code"].as_str().unwrap_or("-"),
        errors[0]["message"].as_str().unwrap_or("-")
    )
}

#[test]
fn a_gateway_responds_as_its_upstream_does() {
    let upstream = Server::example();
    let gateway = Server::start(&["serve", &upstream.url()]);
    for name in ["q1", "q2", "q3"] {
        let path = format!("{}/../examples/gateway/{name}.graphql", env!("CARGO_MANIFEST_DIR"));
        let query = fs::read_to_string(path).expect("the example is there");
        let response = gateway.graphql(&query);
        assert_eq!(response, upstream.graphql(&query), "{name}");
        assert!(response["errors"].is_null(), "{response}");
    }
    let query = "query A($id: ID!, $with: Boolean = true) { person(id: $id) { name homeworld @include(if: $with) { name } } }";
    let expected = json!({"data": {"person": {"name": "Han Solo", "homeworld": {"name": "Hoth"}}}});
    assert_eq!(gateway.graphql_with(query, &json!({"id": "3"})), expected);
    // What the schema says of itself is said here, and the rest is forwarded in parts.
    let parts =
        gateway.graphql("{ __typename a: person(id: 1) { __typename name } b: planets(first: 1) { name } }");
    let expected = json!({"data": {"__typename": "Query", "a": {"__typename": "Person", "name": "Luke Skywalker"},
        "b": [{"name": "Tatooine"}]}});
    assert_eq!(parts, expected);
    let refused = gateway.graphql("{ person(id: 1) { age } }");
    assert!(failure(&refused).starts_with("GRAPHQL_VALIDATION_FAILED"), "{refused}");
    let metrics = gateway.get("/metrics").1;
    assert!(
        metrics.contains("prony_upstream_operations_total{source=\"graphql\",how=\"parts\"} 1"),
        "{metrics}"
    );
    assert_eq!(gateway.process.stop().status.code(), Some(0));
}

#[test]
fn names_are_changed_by_the_configuration_and_back_again() {
    let (upstream, directory) = (Server::example(), directory());
    let text = format!(
        "[[source]]\nurl = \"{url}\"\nname = \"one\"\ntype_prefix = \"Sw\"\nfield_prefix = \"sw_\"\n\
         [source.rename]\nPerson = \"Hero\"\n\"Query.person\" = \"hero\"\n\
         [[source]]\nurl = \"{url}\"\nname = \"two\"\n",
        url = upstream.url()
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql(
        "{ hero(id: 1) { __typename kind: __typename homeworld { __typename ...P } } person(id: 2) { __typename name } \
         sw_films(first: 1) { characters { __typename } } } fragment P on SwPlanet { name }",
    );
    assert_eq!(response["data"]["hero"]["__typename"], "Hero");
    assert_eq!(response["data"]["hero"]["kind"], "Hero");
    assert_eq!(response["data"]["hero"]["homeworld"], json!({"__typename": "SwPlanet", "name": "Tatooine"}));
    assert_eq!(response["data"]["person"], json!({"__typename": "Person", "name": "Leia Organa"}));
    assert_eq!(response["data"]["sw_films"][0]["characters"][0]["__typename"], "Hero");
}

#[test]
fn an_upstream_that_is_down_at_the_start_is_served_when_it_comes() {
    let directory = directory();
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let database = prony_testkit::chinook::sqlite_copy();
    let cache = directory.path().join("schema.graphql");
    let text = format!(
        "[[source]]\nurl = \"http://{address}/graphql\"\nname = \"late\"\nschema_cache = {:?}\n\
         [[source]]\nurl = \"sqlite:{}\"\n",
        cache.display(),
        database.path().display()
    );
    let gateway = Server::configured(&directory, &text);
    assert!(gateway.graphql("{ artists(limit: 1) { Name } }")["errors"].is_null(), "the others are served");
    let (head, health) = gateway.get("/health");
    assert!(head.starts_with("HTTP/1.1 503") && health.contains("\"name\":\"late\""), "{head} {health}");
    let listen = address.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "starwars", "--listen", &listen, "--cpus", "1"]);
    let mut upstream = PronyProcess::start_command(command);
    upstream.wait_for_url();
    let person = "{ person(id: 1) { name } }";
    gateway.wait_until("the schema is served when it comes", |gateway| {
        gateway.graphql(person)["data"]["person"]["name"] == "Luke Skywalker"
    });
    assert!(gateway.get("/health").0.starts_with("HTTP/1.1 200"));
    // And the next time it is known before the upstream responds.
    assert_eq!(upstream.stop().status.code(), Some(0));
    drop(gateway);
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql(person);
    assert_eq!(
        failure(&response),
        "SOURCE_UNAVAILABLE: the service behind this field cannot be reached; try again later"
    );
}

#[test]
fn an_upstream_that_hangs_at_the_start_holds_up_no_other() {
    let (directory, peer) = (directory(), ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]));
    let text = format!("[[source]]\nupstream = \"{}/graphql\"\n", peer.url());
    let begun = Instant::now();
    let gateway = Server::configured(&directory, &text);
    assert!(begun.elapsed() < Duration::from_secs(9), "less than the upstream is given for its first byte");
    assert!(gateway.get("/health").0.starts_with("HTTP/1.1 503"));
    assert_eq!(gateway.graphql("{ no_queries }"), json!({"data": {"no_queries": null}}));
}

#[test]
fn what_an_upstream_must_not_respond_is_told_apart() {
    let unreadable = "SOURCE_FAILED: the service behind this field did not respond as a GraphQL server does";
    let gone = "SOURCE_UNAVAILABLE: the service behind this field was asked, and has gone without a response";
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{lines}\r\n\r\n");
    for (what, response, expected) in [
        (
            "html",
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>".to_vec(),
            unreadable,
        ),
        ("garbage", b"\x00\x01\x02 nothing of HTTP\r\n\r\n".to_vec(), unreadable),
        ("no JSON", ok("{\"data\":"), unreadable),
        ("a list", ok("[1]"), unreadable),
        ("nothing", ok("{}"), unreadable),
        ("half a body", format!("{}{{\"data\"", head("content-length: 50")).into_bytes(), gone),
        ("half a chunk", format!("{}a\r\n{{\"da", head("transfer-encoding: chunked")).into_bytes(), gone),
        (
            "two lengths",
            format!("{}{{}}", head("content-length: 2\r\ncontent-length: 9")).into_bytes(),
            unreadable,
        ),
        (
            "length and chunks",
            format!("{}0\r\n\r\n", head("content-length: 5\r\ntransfer-encoding: chunked")).into_bytes(),
            unreadable,
        ),
        (
            "10 GB",
            head("content-length: 10000000000").into_bytes(),
            "LIMIT_EXCEEDED: the response of the service behind this field is too large; ask for less",
        ),
        (
            "an error status",
            b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n".to_vec(),
            "SOURCE_UNAVAILABLE: the service behind this field did not respond as a GraphQL server does",
        ),
        ("errors", ok(r#"{"errors":[{"message":"no","extensions":{"code":"OWN"}}]}"#), "OWN: no"),
    ] {
        // The peer closes its connection, which is sometimes heard after the next request is sent.
        let (directory, more) = (directory(), "retries = 1\nbreaker_failures = 1000");
        let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Write(response)]]);
        let gateway = before(&peer, &directory, more);
        assert_eq!(failure(&gateway.graphql("{ one }")), expected, "{what}, whole");
        let in_parts = gateway.graphql("{ __typename one }");
        assert_eq!(failure(&in_parts), expected, "{what}, in parts");
        assert_eq!(in_parts["data"]["__typename"], "Query", "{what}: {in_parts}");
    }
}

#[test]
fn an_upstream_that_hangs_is_given_up() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{".to_vec();
    for (what, script, detail) in [
        (
            "in the head",
            vec![Step::ReadRequest, Step::Write(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Stall],
            "upstream_timeout_ms",
        ),
        ("in the body", vec![Step::ReadRequest, Step::Write(half), Step::Stall], "upstream_timeout_ms"),
        ("before all", vec![Step::ReadRequest, Step::Stall], "first_byte_timeout_ms"),
    ] {
        let (directory, peer) = (directory(), ScriptedPeer::start(vec![script]));
        let gateway =
            before(&peer, &directory, "retries = 0\nfirst_byte_timeout_ms = 200\nupstream_timeout_ms = 400");
        let response = gateway.graphql("{ one }");
        assert_eq!(failure(&response), "TIMEOUT: the service behind this field took too long", "{what}");
        let mutation = failure(&gateway.graphql("mutation { add(by: 1) }"));
        assert!(
            mutation.starts_with("TIMEOUT") && mutation.contains("look before you repeat it"),
            "{mutation}"
        );
        gateway.wait_until("the log says why", |gateway| gateway.process.stderr().contains(detail));
    }
}

#[test]
fn bytes_that_nobody_asked_for_are_nobodys_response() {
    let directory = directory();
    let twice = [ok(r#"{"data":{"one":1}}"#), ok(r#"{"data":{"one":666}}"#)].concat();
    let peer = ScriptedPeer::start(vec![
        vec![Step::ReadRequest, Step::Write(twice), Step::ReadToEnd],
        vec![Step::ReadRequest, Step::Write(ok(r#"{"data":{"one":2}}"#)), Step::Repeat],
    ]);
    let gateway = before(&peer, &directory, "");
    assert_eq!(gateway.graphql("{ one }"), json!({"data": {"one": 1}}));
    assert_eq!(gateway.graphql("{ one }"), json!({"data": {"one": 2}}));
    assert_eq!(peer.connections(), 2);
}

#[test]
fn queries_are_sent_again_and_mutations_never() {
    let (directory, good) = (directory(), ok(r#"{"data":{"one":1,"add":2}}"#));
    let peer = ScriptedPeer::start(vec![
        vec![Step::ReadRequest, Step::Reset],
        vec![Step::ReadRequest, Step::Write(good)],
        vec![Step::ReadRequest, Step::Reset],
    ]);
    let gateway = before(&peer, &directory, "breaker_failures = 1000");
    assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
    let mutation = gateway.graphql("mutation { add(by: 2) }");
    assert_eq!(
        failure(&mutation),
        "OUTCOME_UNKNOWN: the service behind this field was asked, and has gone without a response: whether the change was \
         made is unknown; look before you repeat it"
    );
    assert_eq!(peer.connections(), 3, "the mutation was sent once");
}

/// A server in front of the upstream says that it has waited long enough, and not what has become of the mutation.
#[test]
fn what_became_of_a_mutation_is_unknown_where_a_server_fails() {
    let respond = |status: u16, kind: &str, body: &str| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} So\r\nconnection: close\r\ncontent-type: {kind}\r\n");
        format!("{head}content-length: {length}\r\n\r\n{body}").into_bytes()
    };
    let (html, json) = ("text/html", "application/json");
    for (response, of_mutation, of_query) in [
        (respond(504, html, "<p>"), "OUTCOME_UNKNOWN", "SOURCE_UNAVAILABLE"),
        (respond(502, json, r#"{"message":"x"}"#), "OUTCOME_UNKNOWN", "SOURCE_UNAVAILABLE"),
        (respond(500, html, ""), "OUTCOME_UNKNOWN", "SOURCE_UNAVAILABLE"),
        (respond(503, html, "busy"), "SOURCE_UNAVAILABLE", "SOURCE_UNAVAILABLE"),
        (respond(404, html, "none"), "SOURCE_FAILED", "SOURCE_FAILED"),
        (respond(500, json, r#"{"errors":[{"message":"x"}]}"#), "SOURCE_FAILED", "SOURCE_FAILED"),
    ] {
        let (directory, peer) = (directory(), ScriptedPeer::answering(response));
        let gateway = before(&peer, &directory, "breaker_failures = 1000");
        for (query, code) in [
            ("mutation { add(by: 2) }", of_mutation),
            ("mutation { __typename add(by: 2) }", of_mutation),
            ("{ one }", of_query),
            ("{ __typename one }", of_query),
        ] {
            let told = failure(&gateway.graphql(query));
            assert!(told.starts_with(code), "{query}: {told}");
        }
    }
}

#[test]
fn an_address_that_fails_is_left_alone_and_asked_again_later() {
    let directory = directory();
    let bad = || vec![Step::ReadRequest, Step::Reset];
    let good = vec![Step::ReadRequest, Step::Write(ok(r#"{"data":{"one":1}}"#)), Step::Repeat];
    let peer = ScriptedPeer::start(vec![bad(), bad(), good]);
    let gateway = before(&peer, &directory, "retries = 0\nbreaker_failures = 2\nbreaker_open_ms = 500");
    for _ in 0..2 {
        assert!(failure(&gateway.graphql("{ one }")).starts_with("SOURCE_UNAVAILABLE"));
    }
    let begun = Instant::now();
    assert!(failure(&gateway.graphql("{ one }")).contains("cannot be reached"));
    if begun.elapsed() < Duration::from_millis(400) {
        assert_eq!(peer.connections(), 2, "it was not asked");
    }
    gateway.wait_until("it is asked again", |gateway| gateway.graphql("{ one }")["data"]["one"] == 1);
    let metrics = gateway.get("/metrics").1;
    assert!(metrics.contains("prony_upstream_ejections_total{source=\"peer\""), "{metrics}");
}

#[test]
fn another_address_is_asked_where_one_is_down() {
    let directory = directory();
    let bad = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Reset]]);
    let good = ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#));
    let more =
        format!("addresses = [\"{}/graphql\"]\nbalance = \"round-robin\"\nbreaker_failures = 1", good.url());
    let gateway = before(&bad, &directory, &more);
    for _ in 0..6 {
        assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
    }
    assert_eq!(bad.connections(), 1, "it was taken out of use");
}

/// Subscriptions are spread over all addresses, and go to another where one does not take them.
#[test]
fn subscriptions_use_every_address() {
    for (transport, balance) in [("websocket", "least-pending"), ("sse", "round-robin")] {
        let directory = directory();
        let upstreams = [(); 2].map(|()| Server::start(&["example", "donuts"]));
        let text = format!(
            "[[source]]\nname = \"donuts\"\nupstream = \"{}\"\naddresses = [\"{}\", \"http://127.0.0.1:1/graphql\"]\n\
             upstream_subscriptions = \"{transport}\"\nbalance = \"{balance}\"\n",
            upstreams[0].url(),
            upstreams[1].url()
        );
        let gateway = Server::configured(&directory, &text);
        // None of them asks what another does.
        let _subscribers: Vec<Subscriber> = (0..6)
            .map(|id| {
                Subscriber::new(
                    &gateway,
                    &format!("subscription {{ onDonutUpdated(id: \"{id}\") {{ name }} }}"),
                )
            })
            .collect();
        let open = |server: &Server| {
            let metrics = server.get("/metrics").1;
            let line = metrics.lines().find_map(|line| line.strip_prefix("prony_subscriptions{} "));
            line.and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0)
        };
        gateway.wait_until("all are open", |_| upstreams.iter().map(open).sum::<f64>() >= 6.0);
        let counts = [&upstreams[0], &upstreams[1]].map(open);
        assert!(counts.iter().all(|count| (2.0..=4.0).contains(count)), "{transport} {counts:?}");
    }
}

#[test]
fn requests_without_a_place_are_refused_with_a_status() {
    let directory = directory();
    let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    let gateway = before(&peer, &directory, "max_upstream_connections = 1\nmax_waiting = 0");
    let mut first = TcpStream::connect(&gateway.address).expect("it listens");
    let body = r#"{"query":"{ one }"}"#;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    write!(first, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    gateway.wait_until("the only place is taken", |_| peer.connections() == 1);
    let (head, body) = gateway.ask("POST /graphql", body);
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
    assert!(body.contains("OVERLOADED"), "{body}");
}

#[test]
fn headers_are_forwarded_by_a_list_and_credentials_come_from_the_configuration() {
    let (directory, peer) = (directory(), ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#)));
    let more = "forward_headers = [\"traceparent\", \"x-tenant\", \"x-hop\"]\n[source.headers]\nauthorization = \"Bearer own\"";
    let gateway = before(&peer, &directory, more);
    let body = r#"{"query":"{ one }"}"#;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer theirs\r\ncookie: a=b\r\n\
        X-Tenant: blue\r\ntraceparent: 00-1-2-01\r\nkeep-alive: x\r\n\
        x-hop: 1\r\nconnection: close, X-Hop\r\ncontent-type: application/json";
    let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it responds");
    let received = String::from_utf8(peer.received(0)).expect("it is text");
    for wanted in ["authorization: Bearer own\r\n", "x-tenant: blue\r\n", "traceparent: 00-1-2-01\r\n"] {
        assert!(received.contains(wanted), "{wanted} in {received}");
    }
    for unwanted in ["theirs", "cookie", "keep-alive", "connection: close", "x-hop"] {
        assert!(!received.contains(unwanted), "{unwanted} in {received}");
    }
}

#[test]
fn a_schema_that_changes_is_served_without_a_break() {
    let directory = directory();
    let peer = ScriptedPeer::answering(ok(r#"{"data":{"one":1,"three":3}}"#));
    let gateway = before(&peer, &directory, "");
    assert!(failure(&gateway.graphql("{ three }")).starts_with("GRAPHQL_VALIDATION_FAILED"));
    fs::write(directory.path().join("schema.graphql"), "type Query { one: Int three: Int }")
        .expect("it can be written");
    gateway.process.signal(Signal::HUP);
    gateway.wait_until("the new field is there", |gateway| {
        assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
        gateway.graphql("{ three }")["data"]["three"] == 3
    });
}

#[test]
fn roles_see_what_their_permissions_name_of_an_upstream() {
    let (directory, upstream) = (directory(), Server::example());
    let text = format!(
        "[[source]]\nurl = \"{}\"\nname = \"films\"\n[auth]\nanonymous = \"guest\"\n\
         [roles.guest.sources.films]\nfields = [\"Query.person\", \"Person.id\", \"Person.name\"]\n",
        upstream.url()
    );
    let gateway = Server::configured(&directory, &text);
    assert_eq!(gateway.graphql("{ person(id: 1) { id name } }")["data"]["person"]["name"], "Luke Skywalker");
    for hidden in
        ["{ person(id: 1) { eyeColor } }", "{ people { id } }", "{ person(id: 1) { homeworld { name } } }"]
    {
        let response = gateway.graphql(hidden);
        assert!(failure(&response).starts_with("GRAPHQL_VALIDATION_FAILED"), "{hidden}: {response}");
    }
    let fields = gateway.graphql("{ __type(name: \"Person\") { fields { name } } }");
    assert_eq!(fields["data"]["__type"]["fields"], json!([{"name": "id"}, {"name": "name"}]));
}

/// A table of orders beside the films, joined both ways.
#[test]
fn rows_and_objects_are_joined_in_both_directions_with_one_request_a_level() {
    let (directory, upstream) = (directory(), Server::example());
    let path = directory.path().join("shop.db");
    let database = rusqlite::Connection::open(&path).expect("the database can be made");
    let script = "create table orders (id integer primary key, person_id integer, total integer not null);
        insert into orders (person_id, total) values (1, 20), (3, 35), (1, 7), (99, 1), (null, 2);";
    database.execute_batch(script).expect("the table can be made");
    let text = format!(
        "[[source]]\nname = \"films\"\nupstream = \"{}\"\n[[source]]\nname = \"shop\"\nurl = \"sqlite:{}\"\n\
         [[join]]\nfield = \"Order.person\"\nkey = \"person_id\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\n\
         [[join]]\nfield = \"Person.orders\"\nkey = \"id\"\nto = \"Query.orders\"\nargument = \"where.person_id.in\"\n\
         match = \"person_id\"\nmany = true\narguments = {{ limit = 100 }}\n",
        upstream.url(),
        path.display()
    );
    let gateway = Server::configured(&directory, &text);
    let response = gateway.graphql(
        "{ orders(sort: { id: asc }) { total person { name homeworld { name } } id } films(first: 1) { title } }",
    );
    let order = |total: i64, person: Value, id: i64| json!({"total": total, "person": person, "id": id});
    let luke = || json!({"name": "Luke Skywalker", "homeworld": {"name": "Tatooine"}});
    let expected = json!([
        order(20, luke(), 1),
        order(35, json!({"name": "Han Solo", "homeworld": {"name": "Hoth"}}), 2),
        order(7, luke(), 3),
        order(1, Value::Null, 4),
        order(2, Value::Null, 5),
    ]);
    assert_eq!(response["data"]["orders"], expected, "{response}");
    assert!(response["errors"].is_null(), "{response}");
    let asked = |gateway: &Server| {
        let metrics = gateway.get("/metrics").1;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("prony_upstream_requests_total"))
            .expect("it is counted");
        line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok()).expect("it is a number")
    };
    let before = asked(&gateway);
    // From films to people, from people to orders, and back to people: a request for each level.
    let response = gateway
        .graphql("{ films(first: 2) { characters { prony_key_id: name orders { total person { id } } } } }");
    let first = &response["data"]["films"][0]["characters"][0];
    let back = json!([{"total": 20, "person": {"id": "1"}}, {"total": 7, "person": {"id": "1"}}]);
    assert_eq!(*first, json!({"prony_key_id": "Luke Skywalker", "orders": back}), "{response}");
    let characters = response["data"]["films"][0]["characters"].as_array().expect("a list");
    assert!(characters.len() > 2 && characters[1]["orders"].is_array(), "{response}");
    assert!((asked(&gateway) - before - 2.0).abs() < 0.5, "films, and the people of all orders");
    // What is left out stands in the text of an operation, and the service does not know it.
    for left_out in [
        "orders @skip(if: true) { id } films(first: 1) { id }",
        "people(first: 1) { id orders @skip(if: true) { id } }",
    ] {
        let response = gateway.graphql(&format!("{{ {left_out} }}"));
        assert!(response["errors"].is_null() && response["data"].is_object(), "{left_out}: {response}");
    }
    let events = gateway.graphql("subscription { orders { id person { name } } }");
    assert!(!events["errors"].is_null(), "{events}");
}

#[test]
fn a_join_that_does_not_fit_is_told_at_the_start() {
    let (directory, upstream) = (directory(), Server::example());
    let text = format!(
        "[[source]]\nname = \"films\"\nupstream = \"{}\"\n\
         [[join]]\nfield = \"Film.people\"\nkey = \"id\"\nto = \"Query.person\"\nargument = \"id\"\nmatch = \"id\"\n\
         [[join]]\nfield = \"Film.ship\"\nkey = \"shipId\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\n\
         [[join]]\nfield = \"Person.planet\"\nkey = \"homeworld\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\n\
         [[join]]\nfield = \"Film.crew\"\nkey = \"id\"\nto = \"Query.peopleByIds\"\nargument = \"ids\"\nmatch = \"id\"\narguments = {{ ids = [1] }}\n",
        upstream.url()
    );
    let path = directory.path().join("prony.toml");
    fs::write(&path, text).expect("the file can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&path);
    let ended = command.output().expect("it can be started");
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{told}");
    for fault in [
        "join `Film.people`: Query.person gives one, and must give a list of those that have the keys",
        "join `Film.ship`: Film has no field `shipId`",
        "join `Person.planet`: Person.homeworld is of type Planet, and must be a scalar or an enumeration",
        "join `Film.crew`: `ids` takes the keys, and is given in `arguments`",
    ] {
        assert!(told.contains(fault), "{told}");
    }
}

/// Reads a stream of events until it has a text.
struct Subscriber {
    stream: TcpStream,
    read: String,
}

impl Subscriber {
    fn new(gateway: &Server, query: &str) -> Self {
        let body = json!({ "query": query }).to_string();
        let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
        let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("it reads");
        Self { stream, read: String::new() }
    }

    fn wait_for(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        while !self.read.contains(text) {
            let count =
                self.stream.read(&mut buffer).unwrap_or_else(|error| panic!("{error}: {}", self.read));
            assert!(count > 0, "it has ended without {text}: {}", self.read);
            self.read.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
}

#[test]
fn subscriptions_are_passed_on_and_a_gap_is_told() {
    for transport in ["websocket", "sse"] {
        let directory = directory();
        let upstream = Server::start(&["example", "donuts"]);
        let text = format!(
            "[[source]]\nname = \"donuts\"\nupstream = \"{}\"\nupstream_subscriptions = \"{transport}\"\nschema_refresh_s = 0\n",
            upstream.url()
        );
        let gateway = Server::configured(&directory, &text);
        let mut subscribers = [(); 2].map(|()| {
            Subscriber::new(&gateway, "subscription { onDonutUpdated(id: \"7\") { name flavor } }")
        });
        let put = |server: &Server, name: &str| {
            let mutation = format!(
                "mutation {{ addOrUpdateDonut(donut: {{id: \"7\", name: \"{name}\", flavor: VANILLA}}) {{ id }} }}"
            );
            assert!(server.graphql(&mutation)["errors"].is_null());
        };
        // Until they are subscribed at the upstream nothing is heard.
        let subscribed = |server: &Server| server.get("/metrics").1.contains("prony_subscriptions{} 1.0");
        upstream.wait_until("one stream for both", subscribed);
        put(&gateway, "First");
        for subscriber in &mut subscribers {
            subscriber
                .wait_for("{\"data\":{\"onDonutUpdated\":{\"name\":\"First\",\"flavor\":\"VANILLA\"}}}");
        }
        let address = upstream.address.clone();
        upstream.process.signal(Signal::KILL);
        drop(upstream);
        for subscriber in &mut subscribers {
            subscriber.wait_for("EVENTS_LOST");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["example", "donuts", "--listen", &address, "--cpus", "1"]);
        let mut process = PronyProcess::start_command(command);
        process.wait_for_url();
        let upstream = Server { process, address };
        upstream.wait_until("it is opened again", subscribed);
        put(&upstream, "Second");
        for subscriber in &mut subscribers {
            subscriber.wait_for("Second");
        }
        let gone = Subscriber::new(&gateway, "subscription { onDonutUpdated(id: \"8\") { name } }");
        gone.stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    }
}

#[test]
fn unix_sockets_and_http2_reach_an_upstream() {
    use prony_testkit::{
        Certificates, SecurePeer, SecurePeerOptions,
        secure_peer::{Http2Reply, Listen, ServerTls, Speaks},
    };
    let directory = directory();
    let certificates = Certificates::new();
    let reply = Http2Reply::Answer {
        status: 200,
        headers: vec![("content-type", "application/json")],
        body: br#"{"data":{"one":1}}"#.to_vec(),
        piece: 5,
    };
    let peer = SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(std::net::Ipv4Addr::LOCALHOST.into()),
        tls: Some(ServerTls::of(&certificates, &["h2"])),
        speaks: Speaks::Http2 { replies: vec![reply], streams_max: 10 },
    });
    let ca = certificates.ca_path();
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nname = \"peer\"\nupstream = \"{}/graphql\"\nca_file = {:?}\nschema_file = {:?}\n",
        peer.url(),
        ca.display(),
        schema.display()
    );
    let gateway = Server::configured(&directory, &text);
    for _ in 0..3 {
        assert_eq!(gateway.graphql("{ one }"), json!({"data": {"one": 1}}));
    }
    assert_eq!(peer.seen().connections, 1);
    let socket = directory.path().join("api.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("the socket can be made");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut read = Vec::new();
            let mut buffer = [0; 1024];
            while !read.ends_with(b"}") {
                let count = stream.read(&mut buffer).unwrap_or(0);
                read.extend_from_slice(&buffer[..count]);
            }
            let _ = stream.write_all(&ok(r#"{"data":{"one":2}}"#));
        }
    });
    let text = format!(
        "[[source]]\nname = \"peer\"\nupstream = \"http://unix:{}:/graphql\"\nschema_file = {:?}\n",
        socket.display(),
        schema.display()
    );
    let gateway = Server::configured(&directory, &text);
    assert_eq!(gateway.graphql("{ one }"), json!({"data": {"one": 2}}));
}
