//! Runs against targets that follow a script: what each bad day is counted as. Counts only, never timings.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_client::ClientError;
use prony_load::{Output, RunError, RunOptions, StopFlag, run};
use prony_model::plan::wire::Connections;
use prony_model::result::RunState;
use prony_model::{
    LoadModel, Nanos, PlanDraft, RequestDraft, ResultFile, Target, ThinkTime, Variable, WindowKind,
};
use prony_testkit::peer::{ScriptedPeer, Step};
use std::num::NonZeroUsize;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn draft(peer: &ScriptedPeer, users: u32, millis: u64) -> PlanDraft {
    let target = Target::parse(&peer.url()).unwrap();
    let mut draft = PlanDraft::new("wire", target, LoadModel::constant(users, Nanos::from_millis(millis)));
    draft.requests = vec![RequestDraft::graphql("q", "/graphql", "{ a }", serde_json::Map::new())];
    draft.timeout = Nanos::from_secs(20);
    draft
}

fn options() -> RunOptions {
    RunOptions { threads: NonZeroUsize::new(2).unwrap(), ..RunOptions::default() }
}

fn run_draft(draft: PlanDraft) -> ResultFile {
    run(&draft.check().unwrap(), options()).unwrap()
}

/// The kinds of outcome that occurred, on a target whose every connection follows the script.
fn check(script: Vec<Step>, expected: &Expect) {
    let stalls = script.iter().any(|step| matches!(step, Step::Stall));
    let peer = ScriptedPeer::start(vec![script]);
    let mut draft = draft(&peer, 2, 150);
    if stalls {
        draft.timeout = Nanos::from_millis(100);
    }
    let result = run_draft(draft);
    let whole = result.window(WindowKind::Whole).unwrap();
    let kinds: Vec<_> = whole.all.outcomes.keys().map(|kind| kind.label()).collect();
    expected.assert_eq(&kinds.join(", "));
    assert_eq!(whole.all.requests, whole.all.outcomes.values().sum::<u64>());
    assert_eq!(whole.all.requests, result.series.iter().map(|row| row.started).sum::<u64>());
}

fn write(bytes: &[u8]) -> Step {
    Step::Write(bytes.to_vec())
}

#[test]
fn every_kind_of_answer_has_one_outcome() {
    let pieces =
        |bytes: &[u8]| Step::WritePieces { bytes: bytes.to_vec(), piece: 3, pause: Duration::from_millis(1) };
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let read = || Step::ReadRequest;
    check(vec![read(), write(OK), Step::Repeat], &expect!["success"]);
    check(vec![read(), pieces(OK), Step::Repeat], &expect!["success"]);
    check(vec![read(), pieces(chunked), Step::Repeat], &expect!["success"]);
    check(vec![read(), write(b"HTTP/1.0 200 OK\r\n\r\n{}")], &expect!["success"]);
    check(vec![read(), write(OK)], &expect!["success, connection lost while reading"]);
    check(
        vec![read(), write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), Step::Repeat],
        &expect!["unexpected status"],
    );
    let errors = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"errors\":[{}]}";
    check(vec![read(), write(errors), Step::Repeat], &expect!["GraphQL errors"]);
    check(vec![read(), write(b"220 smtp ready\r\n"), Step::ReadToEnd], &expect!["answer not HTTP"]);
    check(
        vec![read(), write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")],
        &expect!["connection lost while reading"],
    );
    check(vec![read()], &expect!["connection lost while reading"]);
    check(vec![read(), Step::Reset], &expect!["connection lost while reading"]);
    check(vec![read(), Step::Stall], &expect!["timeout"]);
    check(vec![read(), write(&OK[..20]), Step::Stall], &expect!["timeout"]);
}

#[test]
fn a_target_that_is_gone_in_mid_run_is_counted_as_connect_failures() {
    let peer = ScriptedPeer::answering(OK);
    let plan = draft(&peer, 2, 1_500).check().unwrap();
    let mut peer = Some(peer);
    let mut options = options();
    options.progress = Box::new(move |_| drop(peer.take()));
    let result = run(&plan, options).unwrap();
    let outcomes = &result.window(WindowKind::Whole).unwrap().all.outcomes;
    assert!(outcomes.keys().any(|kind| kind.label() == "connect failed"), "{outcomes:?}");
    assert!(result.lab.connections.refused > 0);
}

#[test]
fn a_target_that_is_not_there_is_an_error_and_not_a_result() {
    let port = prony_testkit::free_port();
    let mut draft = draft(&ScriptedPeer::answering(OK), 1, 100);
    draft.targets[0].target = Target::new("127.0.0.1", port);
    let error = run(&draft.clone().check().unwrap(), options()).unwrap_err();
    assert!(matches!(error, RunError::Client(ClientError::Unreachable { .. })), "{error}");
    draft.targets[0].target = Target::new("no-such-host.invalid", 80);
    let error = run(&draft.check().unwrap(), options()).unwrap_err();
    assert!(matches!(error, RunError::Client(ClientError::Resolve { .. })), "{error}");
}

#[test]
fn users_keep_their_connection_and_their_values_follow_the_seed() {
    let requests = |seed| {
        let peer = ScriptedPeer::answering(OK);
        let mut draft = draft(&peer, 1, 300);
        draft.seed = seed;
        draft = draft.with_think_time(ThinkTime::constant(Nanos::from_millis(10)));
        draft.variables = vec![Variable::range("n", 0, 1_000_000)];
        draft.requests = vec![RequestDraft::get("a", "/a?n=${n}"), RequestDraft::get("b", "/b?n=${n}")];
        let result = run_draft(draft);
        assert_eq!(result.lab.connections.opened, 1);
        // The first connection is the one that tried whether the target is there.
        assert_eq!(peer.connections(), 2);
        let text = String::from_utf8(peer.received(1)).unwrap();
        let lines: Vec<_> =
            text.lines().filter(|line| line.starts_with("GET")).take(5).map(str::to_owned).collect();
        assert_eq!(lines.len(), 5);
        lines
    };
    assert_eq!(requests(1), requests(1));
    assert_ne!(requests(1), requests(2));
}

#[test]
fn fresh_connections_are_one_a_request_and_no_churn() {
    let peer = ScriptedPeer::answering(OK);
    let mut draft = draft(&peer, 1, 200);
    draft.wire.connections = Connections::Fresh;
    let result = run_draft(draft);
    let requests = result.window(WindowKind::Whole).unwrap().all.requests;
    assert_eq!(result.lab.connections.opened, requests);
    assert!(result.findings.iter().all(|finding| finding.kind.name() != "connection-churn"));
}

#[test]
fn a_stopped_run_returns_what_was_measured_and_leaves_it_in_its_file() {
    let peer = ScriptedPeer::answering(OK);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results/wire.prony.json");
    let stop = StopFlag::default();
    let mut options = RunOptions { output: Output::File(path.clone()), stop: stop.clone(), ..options() };
    options.progress = Box::new(move |_| stop.stop());
    let result = run(&draft(&peer, 2, 60_000).check().unwrap(), options).unwrap();
    assert_eq!(result.state, RunState::Stopped);
    assert!(result.window(WindowKind::Whole).unwrap().all.successes > 0);
    let written: ResultFile = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(written.windows.len(), result.windows.len());
    assert_eq!(written.state, RunState::Stopped);
}

#[test]
fn a_result_that_cannot_be_written_is_said_and_the_run_goes_on() {
    let peer = ScriptedPeer::answering(OK);
    let warnings = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = std::rc::Rc::clone(&warnings);
    let mut options = RunOptions { output: Output::File("/dev/full/x.prony.json".into()), ..options() };
    options.progress = Box::new(move |progress| seen.borrow_mut().extend(progress.warning.clone()));
    let result = run(&draft(&peer, 2, 100).check().unwrap(), options).unwrap();
    assert!(result.window(WindowKind::Whole).unwrap().all.successes > 0);
    assert!(
        warnings.borrow()[0].starts_with("cannot write the result to /dev/full/x.prony.json"),
        "{warnings:?}"
    );
}

#[test]
fn sequential_rows_are_taken_in_turn() {
    let peer = ScriptedPeer::answering(OK);
    let mut draft = draft(&peer, 1, 100);
    let values = [serde_json::json!("x y"), serde_json::json!(2), serde_json::json!(true)];
    draft.variables = vec![Variable::list("v", &values, prony_model::data::variable::Order::Sequential)];
    draft.requests = vec![RequestDraft::get("a", "/a?v=${v}")];
    draft = draft.with_think_time(ThinkTime::constant(Nanos::from_millis(5)));
    run_draft(draft);
    let text = String::from_utf8(peer.received(1)).unwrap();
    let paths: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("GET ")).take(4).collect();
    let expected = ["/a?v=x%20y HTTP/1.1", "/a?v=2 HTTP/1.1", "/a?v=true HTTP/1.1", "/a?v=x%20y HTTP/1.1"];
    assert_eq!(paths, expected);
}
