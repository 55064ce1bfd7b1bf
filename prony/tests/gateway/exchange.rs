//! Tokens of clients that become tokens for an upstream, by token servers of all sorts.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    thread,
    time::Duration,
};

use prony_testkit::peer::{ScriptedPeer, Step};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, client::IntoClientRequest as _};

use super::{before, directory, failure, ok, server::Server};

/// A gateway before an upstream that gives a number, with tokens from a token server.
fn gateway(upstream: &ScriptedPeer, endpoint: &str, directory: &TempDir, more: &str) -> Server {
    let section = format!(
        "retries = 0\nbreaker_failures = 1000\n[source.token_exchange]\nendpoint = \"{endpoint}\"\nclient_id = \"gate way\"\n\
         client_secret = \"s:ecret\"\naudience = \"https://films\"\nscope = \"read all\"\n{more}"
    );
    before(upstream, directory, &section)
}

fn ask(gateway: &Server, token: &str) -> Value {
    serde_json::from_str(&body(gateway, token, "application/json", "{ one }")).expect("it is JSON")
}

/// The body of the response to an operation of a client with this token.
fn body(gateway: &Server, token: &str, accept: &str, query: &str) -> String {
    let body = json!({ "query": query }).to_string();
    let authorization =
        if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
    write!(
        stream,
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{authorization}connection: close\r\ncontent-type: application/json\r\n\
         accept: {accept}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it responds");
    response.split_once("\r\n\r\n").expect("a head ends").1.to_owned()
}

fn issued(token: &str, lifetime_s: u32) -> Vec<u8> {
    ok(&format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{lifetime_s}}}"#))
}

fn status(line: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {line}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn once(response: Vec<u8>) -> Vec<Step> {
    vec![Step::ReadRequest, Step::Write(response)]
}

fn upstream() -> ScriptedPeer {
    ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#))
}

fn one() -> Value {
    json!({"data": {"one": 1}})
}

#[test]
fn tokens_of_clients_become_others_for_the_upstream() {
    let (directory, upstream) = (directory(), upstream());
    let tokens = ScriptedPeer::start(vec![once(issued("first", 600)), once(issued("second", 600))]);
    let gateway = gateway(&upstream, &format!("{}/token", tokens.url()), &directory, "");
    for _ in 0..3 {
        assert_eq!(ask(&gateway, "theirs+1"), one());
    }
    assert_eq!(tokens.connections(), 1, "it is kept");
    assert_eq!(ask(&gateway, "theirs2"), one());
    assert_eq!(ask(&gateway, ""), one());
    assert_eq!(tokens.connections(), 2, "each token is exchanged, and none where there is none");
    let request = String::from_utf8(tokens.received(0)).expect("it is text");
    for part in [
        "POST /token HTTP/1.1\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        // gate+way:s%3Aecret
        "authorization: Basic Z2F0ZSt3YXk6cyUzQWVjcmV0\r\n",
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&",
        "audience=https%3A%2F%2Ffilms&scope=read+all&",
        "subject_token=theirs%2B1",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
    let asked: String = (0..upstream.connections())
        .map(|at| String::from_utf8_lossy(&upstream.received(at)).into_owned())
        .collect();
    let count = |text: &str| asked.matches(text).count();
    assert_eq!(count("authorization: Bearer first\r\n"), 3, "{asked}");
    assert_eq!(count("authorization: Bearer second\r\n"), 1, "{asked}");
    assert_eq!((count("authorization"), count("theirs")), (4, 0), "{asked}");
    let metrics = gateway.get("/metrics").1;
    assert!(metrics.contains("prony_upstream_token_exchanges_total{source=\"peer\"} 2"), "{metrics}");
}

#[test]
fn a_token_is_exchanged_once_for_all_who_wait_for_it() {
    let (directory, upstream) = (directory(), upstream());
    let slow =
        vec![Step::ReadRequest, Step::Pause(Duration::from_millis(500)), Step::Write(issued("slow", 60))];
    let tokens = ScriptedPeer::start(vec![slow]);
    let gateway = gateway(&upstream, &tokens.url(), &directory, "");
    thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| ask(&gateway, "theirs"))).collect();
        for asked in asking {
            assert_eq!(asked.join().expect("it is asked"), one());
        }
    });
    assert_eq!(tokens.connections(), 1);
}

#[test]
fn token_servers_that_give_none_are_told_apart() {
    let none = "SOURCE_UNAVAILABLE: there is no token for the service behind this field; try again later";
    for (what, script, expected) in [
        (
            "refuses the token",
            once(status("400 Bad Request", r#"{"error":"invalid_grant"}"#)),
            "FORBIDDEN: your token gives no access to the service behind this field",
        ),
        ("refuses us", once(status("401 Unauthorized", r#"{"error":"invalid_client"}"#)), none),
        ("redirects", once(status("302 Found\r\nlocation: http://127.0.0.1:1/", "")), none),
        ("nonsense", once(ok("<html>hello</html>")), none),
        ("another kind", once(ok(r#"{"access_token":"a","token_type":"mac"}"#)), none),
        ("a header", once(ok(r#"{"access_token":"a\r\nx: y","token_type":"Bearer"}"#)), none),
        ("half of it", once(b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{\"access".to_vec()), none),
        ("too much", once(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n".to_vec()), none),
        ("resets", vec![Step::ReadRequest, Step::Reset], none),
        (
            "stalls",
            vec![Step::ReadRequest, Step::Stall],
            "TIMEOUT: a token for the service behind this field took too long",
        ),
    ] {
        let (directory, upstream, tokens) = (directory(), upstream(), ScriptedPeer::start(vec![script]));
        let gateway = gateway(&upstream, &tokens.url(), &directory, "timeout_ms = 400");
        let response = ask(&gateway, "theirs");
        assert_eq!(failure(&response), expected, "{what}");
        assert_eq!(upstream.connections(), 0, "{what}: the upstream is not asked");
        assert!(!gateway.process.stderr().contains("theirs"), "{what}: no token is in the log");
    }
}

#[test]
fn tokens_and_refusals_are_kept_no_longer_than_they_hold() {
    let (directory, upstream) = (directory(), upstream());
    let refusal = status("400 Bad Request", r#"{"error":"invalid_request"}"#);
    let tokens = ScriptedPeer::start(vec![
        once(issued("now", 0)),
        once(issued("soon", 1)),
        once(issued("late", 600)),
        once(refusal),
        once(issued("again", 600)),
    ]);
    let gateway = gateway(&upstream, &tokens.url(), &directory, "");
    assert_eq!(ask(&gateway, "theirs"), one(), "one that expires at once is used once");
    assert_eq!(ask(&gateway, "theirs"), one());
    assert_eq!(tokens.connections(), 2);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(ask(&gateway, "theirs"), one());
    assert_eq!(tokens.connections(), 3, "it had expired");
    for _ in 0..3 {
        assert!(failure(&ask(&gateway, "other")).starts_with("FORBIDDEN"));
    }
    assert_eq!(tokens.connections(), 4, "who goes on asking does not have it asked each time");
    thread::sleep(Duration::from_secs(1));
    assert_eq!(ask(&gateway, "other"), one());
}

#[test]
fn a_token_that_the_upstream_refuses_is_exchanged_anew() {
    let directory = directory();
    let refusal = status("401 Unauthorized", r#"{"errors":[{"message":"expired"}]}"#);
    let upstream = ScriptedPeer::start(vec![once(refusal), once(ok(r#"{"data":{"one":1}}"#))]);
    let tokens = ScriptedPeer::answering(issued("revoked", 600));
    let gateway = gateway(&upstream, &tokens.url(), &directory, "");
    assert!(failure(&ask(&gateway, "theirs")).ends_with(": expired"));
    assert_eq!(ask(&gateway, "theirs"), one());
    assert_eq!(tokens.connections(), 2);
}

/// It was kept, and refused with each subscription, until it had expired.
#[test]
fn a_token_with_which_the_upstream_refuses_a_subscription_is_exchanged_anew() {
    for transport in ["websocket", "sse"] {
        let directory = directory();
        let upstream =
            ScriptedPeer::answering(status("401 Unauthorized", r#"{"errors":[{"message":"expired"}]}"#));
        let tokens = ScriptedPeer::answering(issued("revoked", 600));
        let schema = directory.path().join("schema.graphql");
        fs::write(&schema, "type Query { one: Int } type Subscription { ticks: Int }")
            .expect("it can be written");
        let text = format!(
            "[[source]]\nupstream = \"{}/graphql\"\nname = \"peer\"\nschema_file = {:?}\nupstream_subscriptions = \"{transport}\"\n\
             [source.token_exchange]\nendpoint = \"{}\"\n",
            upstream.url(),
            schema.display(),
            tokens.url()
        );
        let gateway = Server::configured(&directory, &text);
        for exchanges in 1..=2 {
            let events = body(&gateway, "theirs", "text/event-stream", "subscription { ticks }");
            assert!(events.contains("SOURCE_UNAVAILABLE"), "{transport}: {events}");
            assert_eq!(tokens.connections(), exchanges, "{transport}");
        }
    }
}

/// The token of a page stands in the payload of `connection_init` alone, and its operations reached the upstream without one.
#[test]
fn a_token_in_the_payload_of_a_websocket_is_exchanged() {
    let (directory, upstream) = (directory(), upstream());
    let tokens = ScriptedPeer::answering(issued("exchanged", 600));
    let gateway = gateway(&upstream, &tokens.url(), &directory, "");
    let url = format!("ws://{}/graphql", gateway.address);
    let mut request = url.into_client_request().expect("it is a request");
    let protocol = "graphql-transport-ws".parse().expect("it is a value");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let stream = TcpStream::connect(&gateway.address).expect("it listens");
    let (mut socket, _) = tungstenite::client(request, stream).expect("it is opened");
    for (message, expected) in [
        (json!({"type": "connection_init", "payload": {"Authorization": "Bearer page"}}), "connection_ack"),
        (json!({"id": "q", "type": "subscribe", "payload": {"query": "{ one }"}}), r#""one":1"#),
    ] {
        socket.send(Message::text(message.to_string())).expect("it reads");
        let response = socket.read().expect("it responds").to_string();
        assert!(response.contains(expected), "{response}");
    }
    let exchanged = String::from_utf8(tokens.received(0)).expect("it is text");
    assert!(exchanged.contains("subject_token=page"), "{exchanged}");
    let asked = String::from_utf8(upstream.received(0)).expect("it is text");
    assert!(asked.contains("authorization: Bearer exchanged\r\n"), "{asked}");
}

#[test]
fn credentials_of_two_kinds_are_told_at_the_start() {
    let directory = directory();
    let path = directory.path().join("prony.toml");
    for (more, expected) in [
        (
            "endpoint = \"http://a/\"\n[source.headers]\nauthorization = \"x\"",
            "`token_exchange` gives an upstream",
        ),
        ("endpoint = \"ftp://a/\"", "`endpoint` of token_exchange: an upstream begins with"),
        ("endpoint = \"http://a/\"\nclient_secret = \"s\"", "belongs to a `client_id`"),
        ("endpoint = \"http://a/\"\nsecret = \"s\"", "unknown field `secret`"),
        ("audience = \"a\"", "missing field `endpoint`"),
    ] {
        let text =
            format!("[[source]]\nupstream = \"http://127.0.0.1:1/\"\n[source.token_exchange]\n{more}\n");
        fs::write(&path, text).expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let ended = command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&path).output();
        let ended = ended.expect("it can be started");
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{expected} in {told}");
    }
}
