//! Runs over HTTP/2: sharing connections, limits of streams, and each way in which a stream or connection ends.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_load::{RunError, RunOptions, run, run_workload};
use prony_model::plan::wire::{Connections, Protocol, Spoken};
use prony_model::program::{
    Answer, Event, Keep, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace, Workload,
};
use prony_model::{
    LoadModel, Nanos, Outcome, PlanDraft, RequestDraft, ResultFile, Target, ThinkTime, WindowKind,
};
use prony_testkit::certificates::Certificates;
use prony_testkit::peer::ScriptedPeer;
use prony_testkit::secure_peer::{Http2Reply, Listen, SecurePeer, SecurePeerOptions, ServerTls, Speaks};
use std::num::NonZeroUsize;

fn draft(peer: &SecurePeer, users: u32) -> PlanDraft {
    let load = LoadModel::constant(users, Nanos::from_millis(200));
    let mut draft = PlanDraft::new("http2", Target::parse(&peer.url()).unwrap(), load)
        .with_think_time(ThinkTime::constant(Nanos::from_millis(5)));
    draft.requests = vec![RequestDraft::graphql("q", "/graphql", "{ a }", serde_json::Map::new())];
    draft.wire.protocol = Protocol::Http2;
    draft.wire.streams = users;
    draft
}

fn run_draft(draft: PlanDraft) -> Result<ResultFile, RunError> {
    run(&draft.check().unwrap(), RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() })
}

fn outcomes(result: &ResultFile) -> String {
    let all = &result.window(WindowKind::Whole).unwrap().all;
    assert_eq!(all.requests, all.outcomes.values().sum::<u64>());
    all.outcomes.keys().map(|kind| kind.label()).collect::<Vec<_>>().join(", ")
}

/// The kinds of outcome that occur with a peer whose connections make these replies in turn, the last one for ever.
fn check(replies: Vec<Http2Reply>, expected: &Expect) {
    let stalls = replies.iter().any(|reply| matches!(reply, Http2Reply::Stall));
    let peer = SecurePeer::http2(replies, 100);
    let mut draft = draft(&peer, 4);
    if stalls {
        draft.timeout = Nanos::from_millis(100);
    }
    expected.assert_eq(&outcomes(&run_draft(draft).unwrap()));
}

#[test]
fn every_kind_of_answer_has_one_outcome() {
    let answer = |status, body: &str, piece| Http2Reply::Answer {
        status,
        headers: vec![("x-a", "b")],
        body: body.into(),
        piece,
    };
    let errors = r#"{"errors":[{}]}"#;
    check(vec![Http2Reply::ok("{}")], &expect!["success"]);
    check(vec![answer(200, "{}", 1)], &expect!["success"]);
    check(vec![answer(200, errors, 1000)], &expect!["GraphQL errors"]);
    check(vec![answer(200, errors, 2)], &expect!["GraphQL errors"]);
    check(vec![answer(503, "{}", 2)], &expect!["unexpected status"]);
    check(vec![Http2Reply::Reset { after_head: false }], &expect!["connection lost while reading"]);
    check(
        vec![Http2Reply::ok("{}"), Http2Reply::Reset { after_head: true }],
        &expect!["success, connection lost while reading"],
    );
    check(
        vec![Http2Reply::ok("{}"), Http2Reply::ok("{}"), Http2Reply::Cut],
        &expect!["success, connection lost while reading"],
    );
    check(vec![Http2Reply::Stall], &expect!["timeout"]);
    check(vec![Http2Reply::ok("{}"), Http2Reply::Stall], &expect!["success, timeout"]);
}

#[test]
fn users_share_connections() {
    let peer = SecurePeer::http2(vec![Http2Reply::ok("{}")], 100);
    let mut draft = draft(&peer, 10);
    draft.wire.streams = 4;
    let result = run_draft(draft).unwrap();
    assert_eq!(outcomes(&result), "success");
    assert_eq!(result.lab.connections.opened, 3);
    assert_eq!(result.lab.connections.reopened, 0);
    let seen = peer.seen();
    // One more has tried whether the target is there.
    assert_eq!(seen.connections, 4);
    let authority = peer.url().replace("http://", "");
    expect!["POST http://AUTHORITY/graphql content-length=17 user-agent=prony/0.1.0 content-type=application/json accept=application/graphql-response+json, application/json;q=0.9"].assert_eq(&seen.requests[0].replace(&authority, "AUTHORITY"));
}

#[test]
fn the_peers_limit_of_streams_is_kept() {
    // A stream more would be refused, and after some refusals its request would have failed.
    let peer = SecurePeer::http2(vec![Http2Reply::ok("{}")], 2);
    let mut draft = draft(&peer, 50);
    draft.scenarios[0].pacing = prony_model::Pacing::ThinkTime(ThinkTime::None);
    let result = run_draft(draft).unwrap();
    assert_eq!(outcomes(&result), "success");
    assert_eq!(result.lab.connections.opened, 1);
}

#[test]
fn a_connection_that_goes_away_is_replaced_without_a_failure() {
    let ok = || Http2Reply::ok("{}");
    let peer = SecurePeer::http2(vec![ok(), ok(), ok(), Http2Reply::AnswerAndGoAway], 100);
    let mut draft = draft(&peer, 8);
    draft.requests = vec![RequestDraft::get("get", "/")];
    let result = run_draft(draft).unwrap();
    assert_eq!(outcomes(&result), "success");
    assert!(result.lab.connections.reopened > 0);
}

#[test]
fn fresh_connections_carry_one_request() {
    let peer = SecurePeer::http2(vec![Http2Reply::ok("{}")], 100);
    let mut draft = draft(&peer, 1);
    draft.wire.connections = Connections::Fresh;
    let result = run_draft(draft).unwrap();
    let requests = result.window(WindowKind::Whole).unwrap().all.requests;
    assert_eq!(outcomes(&result), "success");
    assert_eq!(result.lab.connections.opened, requests);
}

#[test]
fn over_tls_the_target_chooses() {
    let certificates = Certificates::new();
    for (alpn, speaks) in [
        (vec!["h2", "http/1.1"], Speaks::Http2 { replies: vec![Http2Reply::ok("{}")], streams_max: 100 }),
        (vec!["http/1.1"], Speaks::Http1(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec())),
    ] {
        let is_http2 = alpn.len() == 2;
        let peer = SecurePeer::start(SecurePeerOptions {
            listen: Listen::Tcp([127, 0, 0, 1].into()),
            tls: Some(ServerTls::of(&certificates, &alpn)),
            speaks,
        });
        let mut draft = draft(&peer, 4);
        draft.requests = vec![RequestDraft::get("get", "/")];
        draft.wire.protocol = Protocol::Auto;
        draft.wire.tls.ca = vec![certificates.ca_path()];
        let result = run_draft(draft).unwrap();
        assert_eq!(outcomes(&result), "success");
        assert_eq!(result.lab.connections.opened, if is_http2 { 1 } else { 4 });
        assert_eq!(result.lab.spoken, [if is_http2 { Spoken::Http2 } else { Spoken::Http1 }]);
        let wanted = if is_http2 { "h2" } else { "http/1.1" };
        assert!(peer.seen().handshakes.iter().all(|seen| seen.alpn.as_deref() == Some(wanted)));
    }
}

#[test]
fn a_target_without_http2_is_said_before_the_run() {
    let peer = ScriptedPeer::answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let load = LoadModel::constant(1, Nanos::from_millis(100));
    let mut draft = PlanDraft::new("http2", Target::parse(&peer.url()).unwrap(), load);
    draft.requests = vec![RequestDraft::get("get", "/")];
    draft.wire.protocol = Protocol::Http2;
    let message = run_draft(draft).unwrap_err().to_string().replace(&peer.url(), "URL");
    expect![[r#"cannot speak HTTP/2 with the target URL: it answers HTTP/1.1; use `protocol = "http1"` (--protocol http1), or leave it to the target with "auto""#]].assert_eq(&message);
}

/// Sends three requests in each step, and keeps what the answers were.
struct Three(std::sync::Mutex<Vec<String>>);

impl Workload for Three {
    fn program(&self, _: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(self))
    }
}

impl Program for &Three {
    fn next(&mut self, _: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        if !matches!(event, Event::Begin) {
            return Ok(Step::Leave);
        }
        for (method, path) in [("GET", "/1"), ("HEAD", "/2"), ("GET", "/3")] {
            out.text
                .extend_from_slice(format!("{method} {path} HTTP/1.1\r\nHost: shop.test\r\n\r\n").as_bytes());
            out.end_request(0, 0, method == "HEAD", Keep::Whole);
        }
        Ok(Step::Send)
    }

    fn judge(&mut self, _: UserPlace, _: usize, answer: &Answer<'_>) -> Result<Outcome, ProgramError> {
        let text = [answer.head, answer.body].concat();
        self.0.lock().unwrap().push(String::from_utf8(text).unwrap());
        Ok(Outcome::Success)
    }
}

#[test]
fn programs_see_whole_answers_in_the_order_of_their_requests() {
    let answer = |body: &str| Http2Reply::Answer {
        status: 404,
        headers: vec![("x-a", "1"), ("x-a", "2")],
        body: body.into(),
        piece: 3,
    };
    let peer = SecurePeer::http2(vec![answer("first"), answer(""), answer("third")], 100);
    let three = Three(std::sync::Mutex::default());
    let plan = draft(&peer, 1).check().unwrap();
    run_workload(&plan, &three, RunOptions::default()).unwrap();
    let head = "HTTP/1.1 404 Not Found\r\nx-a: 1\r\nx-a: 2\r\n\r\n";
    let wanted = ["first", "", "third"].map(|body| format!("{head}{body}"));
    assert_eq!(*three.0.lock().unwrap(), wanted);
    let seen = peer.seen().requests.clone();
    assert_eq!(seen, ["GET http://shop.test/1", "HEAD http://shop.test/2", "GET http://shop.test/3"]);
}

#[test]
fn bodies_larger_than_all_windows_come_whole_both_ways() {
    const MEGABYTES: usize = 3;
    let body = "x".repeat(MEGABYTES << 20);
    let peer = SecurePeer::http2(vec![Http2Reply::ok(&body)], 100);
    let mut draft = draft(&peer, 2);
    let mut request = RequestDraft::get("post", "/");
    request.method = "POST".to_owned();
    request.body = prony_model::BodyDraft::Text(body);
    draft.requests = vec![request];
    let result = run_draft(draft).unwrap();
    assert_eq!(outcomes(&result), "success");
    let all = &result.window(WindowKind::Whole).unwrap().all;
    assert!(all.bytes_received >= all.requests * (MEGABYTES << 20) as u64);
}
