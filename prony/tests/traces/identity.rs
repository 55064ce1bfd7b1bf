//! What a trace says of those who are asked who asks: webhooks, and issuers whose keys are at an address.

use std::time::{Duration, Instant};

use prony_testkit::{
    chinook::sqlite_copy,
    peer::{ScriptedPeer, Step},
};
use serde_json::{Value, json};

use super::{
    Server, TRACE,
    collector::{Collector, PATIENCE, Span, named, tree},
    is_server, parent, with_database,
};

fn json_response(status: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// What a peer was told of traces with its requests, one after the other.
fn told(peer: &ScriptedPeer) -> Vec<Vec<String>> {
    let all: Vec<u8> = (0..peer.connections()).flat_map(|connection| peer.received(connection)).collect();
    let all = String::from_utf8(all).expect("heads are text").to_ascii_lowercase();
    let of_request =
        |head: &str| head.lines().filter(|line| line.starts_with("trace")).map(str::to_owned).collect();
    all.split("get ").skip(1).map(of_request).collect()
}

/// What a span of this trace tells others.
fn told_by(span: &Span, state: &str) -> Vec<String> {
    let mut lines = vec![format!("traceparent: 00-{}-{}-01", span.trace, span.id)];
    if !state.is_empty() {
        lines.push(format!("tracestate: {state}"));
    }
    lines
}

fn assert_is_get(span: &Span, url: &str, status: Option<&str>) {
    assert_eq!(span.kind, 3, "a client's: {span:?}");
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
    for (name, value) in [
        ("http.request.method", Some("GET")),
        ("url.full", Some(url)),
        ("server.address", Some("127.0.0.1")),
        ("server.port", port),
        ("http.response.status_code", status),
    ] {
        assert_eq!(span.attributes.get(name).map(String::as_str), value, "{name}");
    }
}

#[test]
fn a_webhook_is_a_client_span_and_is_told_of_it() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let admin = json_response("200 OK", &json!({"role": "admin"}));
    let refusal = json_response("401 Unauthorized", &json!({}));
    let peer = ScriptedPeer::start(vec![
        vec![Step::ReadRequest, Step::Write(admin.clone())],
        vec![Step::ReadRequest, Step::Write(refusal)],
        vec![Step::ReadRequest, Step::Reset],
        vec![Step::ReadRequest, Step::Write(admin)],
    ]);
    let access = format!(
        "[auth]\n[auth.webhook]\naddress = \"{}/who?key=geheim\"\nforward = [\"authorization\", \"traceparent\"]\n[roles.admin]\n\
         unrestricted = true\n",
        peer.url()
    );
    let server = Server::configured(&(with_database(&database, &collector, "", "") + &access));
    let url = format!("{}/who", peer.url());
    let header = format!("{}tracestate: rojo=1\r\nauthorization: Bearer geheim\r\n", parent("01"));
    let ask = || server.graphql(&header, "{ artists(limit: 1) { Name } }", &json!({}));
    let outcomes =
        [("200 OK", Some("200"), None), ("401", Some("401"), Some("401")), ("503", None, Some("broken"))];
    for (number, (response, status, error)) in outcomes.into_iter().enumerate() {
        let responded = ask();
        assert!(responded.starts_with(&format!("HTTP/1.1 {response}")), "{responded}");
        let spans = collector.trace_with("the request", |span| is_server(span) && span.trace == TRACE);
        collector.forget();
        let call = named(&spans, "GET");
        assert!(tree(&spans).contains(&"GET < POST /graphql".to_owned()), "{:#?}", tree(&spans));
        assert_is_get(call, &url, status);
        assert_eq!(call.attributes.get("error.type").map(String::as_str), error);
        assert_eq!(call.has_failed, error.is_some());
        assert_eq!(told(&peer)[number], told_by(call, "rojo=1"), "in place of what the client has sent");
    }
    // Of a request that is not traced it gets what the client has sent, where that is forwarded.
    let untraced = header.replace("-01\r\n", "-00\r\n");
    let responded = server.graphql(&untraced, "{ artists(limit: 1) { Name } }", &json!({}));
    assert!(responded.starts_with("HTTP/1.1 200"), "{responded}");
    assert_eq!(told(&peer)[3], [parent("00").trim_end()]);
    let finished = server.process.stop();
    let tells = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("geheim");
    assert!(!collector.exports().iter().any(|export| tells(&export.bytes)), "{}", finished.stderr);
}

/// Of `{"alg":"ES256","typ":"JWT","kid":"unknown"}`, for the issuer and audience of the test; nobody comes to look at its signature.
const TOKEN: &str = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InVua25vd24ifQ.\
     eyJpc3MiOiJodHRwczovL2xvZ2luLnRlc3QvIiwiYXVkIjoic2hvcCIsImV4cCI6NDAwMDAwMDAwMCwicm9sZSI6ImFkbWluIn0.\
     BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw";

#[test]
fn key_sets_are_fetched_in_traces_of_their_own_and_in_those_that_wait_for_them() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    // The key of RFC 7517, appendix A.1.
    let keys = json!({"keys": [{
        "kty": "EC", "crv": "P-256", "kid": "known",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    }]});
    let peer = ScriptedPeer::answering(json_response("200 OK", &keys));
    let access = format!(
        "[auth]\n[[auth.jwt]]\nissuer = \"https://login.test/\"\naudience = \"shop\"\njwks = \"{}/keys?tenant=geheim\"\n\
         algorithms = [\"ES256\"]\nunknown_key_s = 1\nclaims = {{ role = \"/role\" }}\n[roles.admin]\nunrestricted = true\n",
        peer.url()
    );
    let server = Server::configured(&(with_database(&database, &collector, "", "") + &access));
    let url = format!("{}/keys", peer.url());
    // At the start nobody waits for them.
    let spans = collector.trace_with("the start", |span| span.name == "refresh keys");
    assert_eq!(tree(&spans), ["refresh keys < -", "GET < refresh keys"]);
    assert_is_get(named(&spans, "GET"), &url, Some("200"));
    assert_eq!(told(&peer), [told_by(named(&spans, "GET"), "")]);
    // A key that is not among them has them fetched again, for the request; soon after that not.
    let deadline = Instant::now() + PATIENCE;
    let spans = loop {
        collector.forget();
        let header = format!("{}authorization: Bearer {TOKEN}\r\n", parent("01"));
        let refused = server.graphql(&header, "{ artists(limit: 1) { Name } }", &json!({}));
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
        let spans = collector.trace_with("the request", |span| is_server(span) && span.trace == TRACE);
        if spans.iter().any(|span| span.name == "GET") {
            break spans;
        }
        assert!(Instant::now() < deadline, "nothing is fetched for the request");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(tree(&spans), ["POST /graphql < -", "GET < POST /graphql"]);
    assert_is_get(named(&spans, "GET"), &url, Some("200"));
    assert_eq!(told(&peer)[1], told_by(named(&spans, "GET"), ""));
    server.process.stop();
    let tells = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("geheim");
    assert!(!collector.exports().iter().any(|export| tells(&export.bytes)));
}
