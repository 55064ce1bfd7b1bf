//! Upstreams in trouble: certificates of both sides, health checks, and traces of requests that are forwarded.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{
    Certificates, SecurePeer, SecurePeerOptions,
    certificates::Validity,
    peer::{ScriptedPeer, Step},
    secure_peer::{Http2Reply, Listen, ServerTls, Speaks},
};
use tempfile::TempDir;

use crate::{SDL, before, directory, failure, ok, server::Server};

fn one() -> Http2Reply {
    Http2Reply::Answer {
        status: 200,
        headers: vec![("content-type", "application/json")],
        body: br#"{"data":{"one":1}}"#.to_vec(),
        piece: usize::MAX,
    }
}

fn http2() -> Speaks {
    Speaks::Http2 { replies: vec![one()], streams_max: 10 }
}

fn secure(tls: ServerTls, speaks: Speaks) -> SecurePeer {
    let listen = Listen::Tcp(Ipv4Addr::LOCALHOST.into());
    SecurePeer::start(SecurePeerOptions { listen, tls: Some(tls), speaks })
}

fn before_secure(peer: &SecurePeer, authority: &Path, directory: &TempDir, more: &str) -> Server {
    let schema = directory.path().join("schema.graphql");
    fs::write(&schema, SDL).expect("the file can be written");
    let text = format!(
        "[[source]]\nname = \"peer\"\nupstream = \"{}/graphql\"\nca_file = {:?}\nschema_file = {:?}\n{more}\n",
        peer.url(),
        authority.display(),
        schema.display()
    );
    Server::configured(directory, &text)
}

#[test]
fn upstreams_that_ask_for_a_certificate_are_shown_ours() {
    let (ours, others) = (Certificates::new(), Certificates::new());
    let shown = |certificates: &Certificates| {
        let (certificate, key) = certificates.client();
        format!("client_certificate = {:?}\nclient_key = {:?}", certificate.display(), key.display())
    };
    for (more, is_taken) in [(shown(&ours), true), (String::new(), false), (shown(&others), false)] {
        let directory = directory();
        let tls = ServerTls { client_authority: Some(ours.ca()), ..ServerTls::of(&ours, &["h2"]) };
        let peer = secure(tls, http2());
        let gateway = before_secure(&peer, &ours.ca_path(), &directory, &more);
        let response = gateway.graphql("{ one }");
        if is_taken {
            assert_eq!(response["data"]["one"], 1, "{response}");
            let seen = peer.seen();
            assert!(seen.handshakes.iter().all(|handshake| handshake.has_client_certificate));
        } else {
            assert!(failure(&response).starts_with("SOURCE_UNAVAILABLE"), "{more}: {response}");
            assert!(peer.seen().requests.is_empty(), "{more}");
        }
    }
}

/// Connections that are open go on; no other is opened, also where the peer would go on with a session of before.
#[test]
fn an_upstream_whose_certificate_expires_is_not_connected_with_any_more() {
    const LIFE: Duration = Duration::from_secs(6);
    let (certificates, directory) = (Certificates::new(), directory());
    let begun = Instant::now();
    let identity = certificates.server(&["127.0.0.1"], Validity::For(LIFE));
    let tls = ServerTls { identity, ..ServerTls::of(&certificates, &["http/1.1"]) };
    let peer = secure(tls, Speaks::Http1(ok(r#"{"data":{"one":1}}"#)));
    let more = "idle_timeout_ms = 1000\nretries = 0\nbreaker_failures = 1000";
    let gateway = before_secure(&peer, &certificates.ca_path(), &directory, more);
    assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
    // Used all the time, its connection is kept.
    while begun.elapsed() < LIFE + Duration::from_millis(1500) {
        assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1, "after {:?}", begun.elapsed());
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(peer.seen().connections, 1);
    thread::sleep(Duration::from_millis(2500));
    let response = gateway.graphql("{ one }");
    assert!(failure(&response).starts_with("SOURCE_UNAVAILABLE"), "{response} {:?}", peer.seen().handshakes);
    gateway.wait_until("the log says why", |gateway| gateway.process.stderr().contains("expired"));
}

/// As over HTTP/1.1: it is kept as long as it is used, and not for ever.
#[test]
fn a_shared_connection_that_nobody_uses_is_closed() {
    let (certificates, directory) = (Certificates::new(), directory());
    let peer = secure(ServerTls::of(&certificates, &["h2"]), http2());
    let gateway = before_secure(&peer, &certificates.ca_path(), &directory, "idle_timeout_ms = 1000");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(peer.seen().connections, 1);
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
    assert_eq!(peer.seen().connections, 2);
}

/// The server behind a connection may be gone without a word: one request waits in vain, and not all that come later.
#[test]
fn a_shared_connection_that_falls_silent_is_not_used_again() {
    let (certificates, directory) = (Certificates::new(), directory());
    let replies = vec![one(), Http2Reply::Stall];
    let peer = secure(ServerTls::of(&certificates, &["h2"]), Speaks::Http2 { replies, streams_max: 10 });
    let more = "first_byte_timeout_ms = 500\nretries = 0\nbreaker_failures = 1000";
    let gateway = before_secure(&peer, &certificates.ca_path(), &directory, more);
    for connection in 1..=3 {
        assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1, "connection {connection}");
        let response = gateway.graphql("{ one }");
        assert!(failure(&response).starts_with("TIMEOUT"), "{response}");
        assert_eq!(peer.seen().connections, connection);
    }
}

/// As servers do with connections that are old. What has not been sent over one goes over another, a mutation too.
#[test]
fn a_shared_connection_that_its_server_ends_is_not_used_again() {
    let (certificates, directory) = (Certificates::new(), directory());
    let replies = vec![Http2Reply::AnswerAndGoAway];
    let peer = secure(ServerTls::of(&certificates, &["h2"]), Speaks::Http2 { replies, streams_max: 10 });
    let gateway =
        before_secure(&peer, &certificates.ca_path(), &directory, "retries = 0\nbreaker_failures = 1000");
    for _ in 0..8 {
        // Its answers are empty.
        let told = failure(&gateway.graphql("mutation { add(by: 1) }"));
        assert!(told.starts_with("SOURCE_FAILED"), "{told}");
    }
    assert_eq!(peer.seen().requests.len(), 8);
}

/// As where a connection over HTTP/1.1 breaks.
#[test]
fn a_mutation_whose_stream_is_reset_may_have_been_made() {
    for after_head in [false, true] {
        let (certificates, directory) = (Certificates::new(), directory());
        let replies = vec![Http2Reply::Reset { after_head }];
        let peer = secure(ServerTls::of(&certificates, &["h2"]), Speaks::Http2 { replies, streams_max: 10 });
        let gateway =
            before_secure(&peer, &certificates.ca_path(), &directory, "retries = 0\nbreaker_failures = 1000");
        let mutation = failure(&gateway.graphql("mutation { add(by: 1) }"));
        assert!(mutation.starts_with("OUTCOME_UNKNOWN"), "{mutation}");
        let query = failure(&gateway.graphql("{ one }"));
        assert!(query.starts_with("SOURCE_UNAVAILABLE"), "{query}");
        assert_eq!(peer.seen().requests.len(), 2);
    }
}

/// No client has to ask before an address that fails is out of use, or one that has come back in use.
#[test]
fn health_checks_take_addresses_out_of_use_and_back() {
    let directory = directory();
    let bad = || vec![Step::ReadRequest, Step::Reset];
    let good = vec![Step::ReadRequest, Step::Write(ok(r#"{"data":{"one":1}}"#)), Step::Repeat];
    let mut scripts = vec![bad(); 6];
    scripts.push(good);
    let peer = ScriptedPeer::start(scripts);
    let more = "health_check_ms = 200\nbreaker_failures = 3\nbreaker_open_ms = 60000\nretries = 0";
    let gateway = before(&peer, &directory, more);
    let is_open = |gateway: &Server| gateway.metric("prony_upstream_breaker_open{") >= 1.0;
    gateway.wait_until("it is out of use", is_open);
    assert!(failure(&gateway.graphql("{ one }")).contains("cannot be reached"));
    gateway.wait_until("it is in use again, long before its time", |gateway| !is_open(gateway));
    assert_eq!(gateway.graphql("{ one }")["data"]["one"], 1);
    let received = String::from_utf8(peer.received(0)).expect("it is text");
    assert!(received.contains(r#"{"query":"{__typename}"}"#), "{received}");
}

#[test]
fn an_address_that_hangs_does_not_hold_up_the_checks_of_others() {
    let directory = directory();
    let hanging = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    let failing = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Reset]]);
    let more = format!(
        "addresses = [\"{}/graphql\"]\nhealth_check_ms = 100\nbreaker_failures = 3\nfirst_byte_timeout_ms = 60000\n\
         upstream_timeout_ms = 60000",
        failing.url()
    );
    let gateway = before(&hanging, &directory, &more);
    let is_ejected = |gateway: &Server| gateway.metric("prony_upstream_ejections_total{") >= 1.0;
    gateway.wait_until("the other is checked", is_ejected);
}

/// Of W3C Trace Context what a client sends goes on as it came, whole and in parts, and nothing is made up where it sends none: the
/// gateway has no spans of its own.
#[test]
fn traces_are_continued() {
    let directory = directory();
    let peer = ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#));
    let gateway = before(&peer, &directory, "");
    let mut read = 0;
    let mut sent = |query: &str, trace: &str| {
        let body = format!("{{\"query\":\"{query}\"}}");
        let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{trace}connection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        assert!(response.contains("\"one\":1"), "{response}");
        let all = String::from_utf8(peer.received(0)).expect("it is text");
        let new = all[read..].to_owned();
        read = all.len();
        new
    };
    let parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
    let state = "tracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE\r\n";
    for query in ["{ one }", "{ __typename one }"] {
        let request = sent(query, &format!("{parent}{state}"));
        assert!(request.contains(parent) && request.contains(state), "{request}");
        let request = sent(query, &parent.replace("traceparent", "TraceParent"));
        assert!(request.contains(parent) && !request.contains("tracestate"), "{request}");
        assert!(!sent(query, "").contains("trace"), "{query}");
    }
}

/// A response that is kept is given to whoever asks the same, whatever trace the request is a part of.
#[test]
fn traces_do_not_keep_responses_from_being_kept() {
    let directory = directory();
    let peer = ScriptedPeer::answering(ok(r#"{"data":{"one":1}}"#));
    let rules = "[auth]\nanonymous = \"guest\"\n[roles.guest]\nunrestricted = true\n\
        [[operation]]\nmatch = \"Query.one\"\ncache = { ttl = \"60s\", scope = \"shared\" }";
    let gateway = before(&peer, &directory, rules);
    let mut sent = Vec::new();
    for span in ["00f067aa0ba902b7", "00f067aa0ba902b8", "00f067aa0ba902b9"] {
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-{span}-01\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n{{\"query\":\"{{ one }}\"}}"
        );
        let mut stream = TcpStream::connect(&gateway.address).expect("it listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        assert!(response.contains("\"one\":1"), "{response}");
        assert!(!response.to_ascii_lowercase().contains("traceparent"), "{response}");
        sent.push(peer.received(0).len());
    }
    assert_eq!(sent[0], sent[2], "it was asked once");
}
