//! Calls of programs that wait: parallel ones, connections that are kept and lost, time-outs, faults, and how they are
//! counted.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod waiting;

use expect_test::{Expect, expect};
use prony_model::Nanos;
use prony_model::WindowKind;
use prony_model::plan::wire::TlsOptions;
use prony_model::result::ResultFile;
use prony_testkit::certificates::Certificates;
use prony_testkit::peer::{ScriptedPeer, Step};
use prony_testkit::secure_peer::{Http2Reply, Listen, SecurePeer, SecurePeerOptions, ServerTls, Speaks};
use std::net::TcpListener;
use waiting::{Act, Get, Walk, get, heard, iterations, plan, run_plan};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn check(acts: Vec<Act>, expected: &Expect) {
    expected.assert_eq(&heard(acts));
}

fn call(get: Get) -> Act {
    Act::Calls(vec![get])
}

fn keeping() -> Vec<Step> {
    vec![Step::ReadRequest, Step::Write(OK.to_vec()), Step::Repeat]
}

fn requests(result: &ResultFile) -> (u64, u64, Vec<String>) {
    let whole = result.window(WindowKind::Whole).unwrap();
    let named = |figures: &prony_model::result::NamedFigures| {
        (figures.figures.requests > 0).then(|| format!("{} {}", figures.name, figures.figures.requests))
    };
    (whole.all.requests, whole.all.successes, whole.by_request.iter().filter_map(named).collect())
}

#[test]
fn a_connection_serves_one_call_after_the_other() {
    let peer = ScriptedPeer::start(vec![keeping()]);
    let url = peer.url();
    let walk =
        Walk::new(vec![call(get(&url, "/a")), Act::Sleep(Nanos::from_millis(1)), call(get(&url, "/b"))]);
    let result = run_plan(&walk, plan(iterations(2))).unwrap();
    expect![[r#"
        0: /a 200 {} (new connection)
        0: /b 200 {}
        0: /a 200 {}
        0: /b 200 {}"#]]
    .assert_eq(&walk.heard().join("\n"));
    assert_eq!(requests(&result), (4, 4, vec!["/a 2".to_owned(), "/b 2".to_owned()]));
    assert_eq!(result.plan.targets, [url]);
    assert_eq!(result.lab.connections.opened, 1);
}

#[test]
fn calls_of_one_step_go_at_the_same_time() {
    // No connection gets an answer before all four have asked.
    let peer = ScriptedPeer::start(vec![keeping()]);
    let paths = ["/1", "/2", "/3", "/4"];
    let acts = vec![
        Act::Calls(paths.map(|path| get(&peer.url(), path)).to_vec()),
        Act::Calls(paths.map(|path| get(&peer.url(), path)).to_vec()),
    ];
    let walk = Walk::new(acts);
    run_plan(&walk, plan(iterations(1))).unwrap();
    assert_eq!(peer.connections(), 4);
    let mut lines = walk.heard();
    lines.sort();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines.iter().filter(|line| line.ends_with("(new connection)")).count(), 4);
}

#[test]
fn a_fresh_call_has_a_connection_of_its_own() {
    let peer = ScriptedPeer::start(vec![keeping()]);
    let fresh = || Get { is_fresh: true, ..get(&peer.url(), "/fresh") };
    let acts = vec![call(get(&peer.url(), "/a")), call(fresh()), call(fresh()), call(get(&peer.url(), "/b"))];
    check(
        acts,
        &expect![[r#"
            0: /a 200 {} (new connection)
            0: /fresh 200 {} (new connection)
            0: /fresh 200 {} (new connection)
            0: /b 200 {}"#]],
    );
    assert_eq!(peer.connections(), 3);
}

#[test]
fn kept_connections_are_closed_on_demand() {
    let peer = ScriptedPeer::start(vec![keeping()]);
    let a = || call(get(&peer.url(), "/a"));
    check(
        vec![a(), Act::CloseConnections, a()],
        &expect![[r#"
            0: /a 200 {} (new connection)
            0: /a 200 {} (new connection)"#]],
    );
}

#[test]
fn a_connection_that_the_peer_closed_meanwhile_is_replaced() {
    let once = vec![Step::ReadRequest, Step::Write(OK.to_vec())];
    let peer = ScriptedPeer::start(vec![once, keeping()]);
    let acts = vec![
        call(get(&peer.url(), "/a")),
        Act::Sleep(Nanos::from_millis(50)),
        call(Get { method: "POST", ..get(&peer.url(), "/b") }),
    ];
    check(
        acts,
        &expect![[r#"
            0: /a 200 {} (new connection)
            0: /b 200 {} (new connection)"#]],
    );
}

#[test]
fn what_may_be_repeated_is_repeated_where_a_kept_connection_turns_out_to_be_dead() {
    // The peer takes the second request and closes without an answer.
    let dies = vec![Step::ReadRequest, Step::Write(OK.to_vec()), Step::ReadRequest];
    for (method, expected) in [
        (
            "GET",
            expect![[r#"
                0: /a 200 {} (new connection)
                0: /b 200 {} (new connection)"#]],
        ),
        (
            "POST",
            expect![[r#"
                0: /a 200 {} (new connection)
                0: /b Read"#]],
        ),
    ] {
        let peer = ScriptedPeer::start(vec![dies.clone(), keeping()]);
        check(vec![call(get(&peer.url(), "/a")), call(Get { method, ..get(&peer.url(), "/b") })], &expected);
    }
}

#[test]
fn faults_are_told_by_kind() {
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = format!("http://{}", refusing.local_addr().unwrap());
    drop(refusing);
    let script = |steps: &[Step]| ScriptedPeer::start(vec![steps.to_vec()]);
    let half = Step::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf".to_vec());
    let reset = script(&[
        Step::ReadRequest,
        half.clone(),
        Step::Pause(std::time::Duration::from_millis(20)),
        Step::Reset,
    ]);
    let cut = script(&[Step::ReadRequest, half]);
    let silent = script(&[Step::ReadRequest, Step::Stall]);
    let noise = script(&[Step::ReadRequest, Step::Write(b"SSH-2.0-x\r\n".to_vec())]);
    let timeout = Nanos::from_millis(50);
    check(
        vec![
            call(get(&refused, "/refused")),
            call(get(&reset.url(), "/reset")),
            call(get(&cut.url(), "/cut")),
            call(Get { timeout, ..get(&silent.url(), "/silent") }),
            call(get(&noise.url(), "/noise")),
            call(get("http://no..such.host", "/unknown")),
            call(get("http://no..such.host", "/still-unknown")),
            call(get("http://unix:/no/such.sock", "/unix")),
        ],
        &expect![[r#"
            0: /refused Refused (new connection)
            0: /reset Reset (new connection)
            0: /cut Read (new connection)
            0: /silent Timeout (new connection)
            0: /noise Protocol (new connection)
            0: /unknown Resolve
            0: /still-unknown Resolve
            0: /unix Connect (new connection)"#]],
    );
}

#[test]
fn an_answer_in_slow_pieces_is_whole_and_one_without_a_length_ends_with_its_connection() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_vec();
    let pause = std::time::Duration::from_millis(1);
    let slow = ScriptedPeer::start(vec![vec![
        Step::ReadRequest,
        Step::WritePieces { bytes, piece: 3, pause },
        Step::Repeat,
    ]]);
    let closing = ScriptedPeer::start(vec![vec![
        Step::ReadRequest,
        Step::Write(b"HTTP/1.1 404 No\r\n\r\nuntil the end".to_vec()),
    ]]);
    check(
        vec![
            call(get(&slow.url(), "/slow")),
            call(get(&slow.url(), "/slow")),
            call(get(&closing.url(), "/end")),
        ],
        &expect![[r#"
            0: /slow 200 hello (new connection)
            0: /slow 200 hello
            0: /end 404 until the end (new connection)"#]],
    );
}

#[test]
fn a_dropped_call_is_heard_of_no_more() {
    let silent = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    let peer = ScriptedPeer::start(vec![keeping()]);
    let acts = vec![
        Act::CallsFor(Nanos::from_millis(30), vec![get(&silent.url(), "/silent")]),
        call(get(&peer.url(), "/a")),
    ];
    check(
        acts,
        &expect![[r#"
            0: /silent dropped
            0: /a 200 {} (new connection)"#]],
    );
}

#[test]
fn a_body_that_the_system_does_not_take_at_once_is_sent_whole() {
    let body = "x".repeat(8 << 20);
    let peer = ScriptedPeer::start(vec![keeping()]);
    let post = Get { method: "POST", body, ..get(&peer.url(), "/large") };
    check(vec![call(post)], &expect!["0: /large 200 {} (new connection)"]);
}

#[test]
fn names_may_have_an_address_of_their_own() {
    let peer = ScriptedPeer::start(vec![keeping()]);
    let mut walk = Walk::new(vec![call(get("http://shop.test", "/a"))]);
    let address = prony_model::plan::hosts::HostAddress {
        address: peer.address().ip(),
        port: Some(peer.address().port()),
    };
    walk.hosts.insert("shop.test", address);
    run_plan(&walk, plan(iterations(1))).unwrap();
    assert_eq!(walk.heard(), ["0: /a 200 {} (new connection)"]);
    assert!(peer.received(0).windows(16).any(|part| part == b"Host: shop.test\r"));
}

// ---- TLS and HTTP/2

fn secure_peer(certificates: &Certificates, alpn: &[&'static str], speaks: Speaks) -> SecurePeer {
    SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(std::net::Ipv4Addr::LOCALHOST.into()),
        tls: Some(ServerTls::of(certificates, alpn)),
        speaks,
    })
}

fn heard_securely(certificates: &Certificates, acts: Vec<Act>) -> Vec<String> {
    let walk = Walk::new(acts);
    let mut draft = plan(iterations(1));
    draft.wire.tls = TlsOptions { ca: vec![certificates.ca_path()], ..TlsOptions::default() };
    run_plan(&walk, draft).unwrap();
    walk.heard()
}

fn http2(replies: Vec<Http2Reply>) -> Speaks {
    Speaks::Http2 { replies, streams_max: 100 }
}

#[test]
fn targets_with_tls_choose_the_protocol_and_http2_calls_share_a_connection() {
    let certificates = Certificates::new();
    let plain = secure_peer(&certificates, &["http/1.1"], Speaks::Http1(OK.to_vec()));
    let peer = secure_peer(&certificates, &["h2", "http/1.1"], http2(vec![Http2Reply::ok("two")]));
    let post = Get { method: "POST", body: "abc".to_owned(), ..get(&peer.url(), "/c") };
    let acts = vec![
        call(get(&plain.url(), "/plain")),
        call(get(&peer.url(), "/a")),
        Act::Calls(vec![get(&peer.url(), "/b"), get(&peer.url(), "/b"), post]),
    ];
    let mut lines = heard_securely(&certificates, acts);
    lines[2..].sort();
    expect![[r#"
        0: /plain 200 {} (new connection)
        0: /a 200 two (new connection)
        0: /b 200 two
        0: /b 200 two
        0: /c 200 two"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(peer.seen().connections, 1);
    let seen = peer.seen().requests.join("\n");
    assert!(seen.contains("/c content-length=3"), "{seen}");
}

#[test]
fn http2_streams_that_fail_leave_the_others_alone_and_what_was_not_looked_at_is_sent_again() {
    let certificates = Certificates::new();
    let peer = secure_peer(
        &certificates,
        &["h2"],
        http2(vec![Http2Reply::ok("a"), Http2Reply::Reset { after_head: true }, Http2Reply::ok("c")]),
    );
    let one = |path| call(get(&peer.url(), path));
    let lines = heard_securely(&certificates, vec![one("/a"), one("/b"), one("/c")]);
    expect![[r#"
        0: /a 200 a (new connection)
        0: /b StreamReset(2)
        0: /c 200 c"#]]
    .assert_eq(&lines.join("\n"));
    let leaving = secure_peer(&certificates, &["h2"], http2(vec![Http2Reply::AnswerAndGoAway]));
    let lines =
        heard_securely(&certificates, vec![call(get(&leaving.url(), "/a")), call(get(&leaving.url(), "/b"))]);
    assert!(lines.iter().all(|line| line.contains(" 200 ")), "{lines:?}");
    let silent = secure_peer(&certificates, &["h2"], http2(vec![Http2Reply::ok("a"), Http2Reply::Stall]));
    let hasty = Get { timeout: Nanos::from_millis(50), ..get(&silent.url(), "/b") };
    let lines = heard_securely(&certificates, vec![call(get(&silent.url(), "/a")), call(hasty)]);
    assert_eq!(lines[1], "0: /b Timeout");
}

#[test]
fn faults_of_certificates_are_told_apart() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let untrusted = secure_peer(&others, &[], Speaks::Http1(OK.to_vec()));
    let identity = certificates.server(&["shop.test"], prony_testkit::certificates::Validity::Now);
    let other_name = SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp(std::net::Ipv4Addr::LOCALHOST.into()),
        tls: Some(ServerTls { identity, client_authority: None, alpn: Vec::new() }),
        speaks: Speaks::Http1(OK.to_vec()),
    });
    let no_tls =
        ScriptedPeer::start(vec![vec![Step::ReadBytes(1), Step::Write(OK.to_vec()), Step::ReadToEnd]]);
    let acts = vec![
        call(get(&untrusted.url(), "/authority")),
        call(get(&other_name.url(), "/name")),
        call(get(&no_tls.url().replace("http:", "https:"), "/plain")),
    ];
    expect![[r#"
        0: /authority TlsAuthority (new connection)
        0: /name TlsHostname (new connection)
        0: /plain Tls (new connection)"#]]
    .assert_eq(&heard_securely(&certificates, acts).join("\n"));
}
