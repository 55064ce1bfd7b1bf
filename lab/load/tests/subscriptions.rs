//! Subscribers against a server that errs on purpose: each error is counted, exactly once, and by its name.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod publisher;

use expect_test::{Expect, expect};
use prony_load::{PlanError, RunOptions, RunStart, StopFlag, explain, read_plan, run};
use prony_model::measurement::snapshot::{IntervalSnapshot, RequestNames};
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::program::RunShare;
use prony_model::result::RunState;
use prony_model::subscription::figures::SubscriberGroup;
use prony_model::subscription::tally::{EventCounts, LinkCounts};
use prony_model::verdict::Judgement;
use prony_model::verdict::finding::FindingKind;
use prony_model::{Nanos, Plan, ResultFile, WindowKind};
use prony_testkit::certificates::Certificates;
use prony_testkit::secure_peer::{Http2Reply, Listen, SecurePeer, SecurePeerOptions, ServerTls, Speaks};
use publisher::{Done, Fault, Publisher};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Six subscriptions: two for each of three keys.
const SUBSCRIPTIONS: u64 = 6;

/// `load` and further keys of the group; mutations choose one of three keys.
fn plan_text(url: &str, load: &str, group: &str) -> String {
    format!(
        r#"
target = "{url}"
{load}
seed = 7
timeout = "5s"

[variables]
key = {{ list = [1, 2, 3], order = "sequential" }}
token = {{ token = "t-" }}

[[requests]]
name = "set"
graphql = {{ query = "mutation($id: Int, $name: String) {{ set(id: $id, name: $name) }}", variables = {{ id = "${{key}}", name = "${{token}}" }} }}

[[subscriptions]]
name = "sets"
clients = 3
per_client = 2
settle = "0s"
query = "subscription($id: Int) {{ onSet(id: $id) {{ name }} }}"
variables = {{ id = "${{key}}" }}
{group}
[subscriptions.fan_out]
request = "set"
token = "/data/onSet/name"
key = "${{key}}"
wait_max = "400ms"
"#
    )
}

fn measured(publisher: &Publisher, load: &str, group: &str) -> ResultFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, plan_text(&publisher.url, load, group)).unwrap();
    let plan = read_plan(&path).unwrap();
    run(&plan, RunOptions { threads: NonZeroUsize::new(2).unwrap(), ..RunOptions::default() }).unwrap()
}

fn group(result: &ResultFile) -> &SubscriberGroup {
    &result.subscribers.groups[0]
}

fn counts(result: &ResultFile) -> EventCounts {
    group(result).whole().unwrap().counts
}

fn delivered(result: &ResultFile) -> u64 {
    group(result).whole().unwrap().fan_out_latency.count
}

const PROTOCOLS: [&str; 4] = ["graphql-transport-ws", "graphql-ws", "sse", "sse-single"];

#[test]
fn over_every_protocol_each_event_is_counted_once() {
    for protocol in PROTOCOLS {
        let publisher = Publisher::start(Fault::None);
        let load = "users = 3\niterations = 30\nthresholds = [\"missed == 0, duplicated == 0, fan_out_latency p50{name:sets} < 10s, lost == 0\"]";
        let result = measured(&publisher, load, &format!("protocol = \"{protocol}\""));
        let (done, counts) = (publisher.done(), counts(&result));
        assert_eq!((done.mutations, done.owed), (90, 180), "{protocol}");
        assert_eq!(counts.events, 180, "{protocol}");
        assert_eq!((counts.published, counts.acknowledged, counts.due), (90, 90, 180), "{protocol}");
        let wrong =
            counts.missed + counts.duplicated + counts.out_of_order + counts.unexpected + counts.not_due;
        assert_eq!((delivered(&result), wrong, counts.cut_off), (180, 0, 0), "{protocol}: {counts:?}");
        let links = &group(&result).links;
        let connections = if protocol == "sse" { SUBSCRIPTIONS } else { 3 };
        assert_eq!((links.attempted, links.made, links.asked), (connections, connections, SUBSCRIPTIONS));
        assert_eq!((links.subscribed, links.refused_count(), links.lost_count()), (SUBSCRIPTIONS, 0, 0));
        assert!(
            result.thresholds.iter().all(|verdict| verdict.judgement == Judgement::Kept),
            "{:?}",
            result.thresholds
        );
        let troubles = [FindingKind::SubscribersMissing, FindingKind::SubscribersLate];
        assert!(!result.findings.iter().any(|finding| troubles.contains(&finding.kind)), "{protocol}");
        let seconds: Vec<_> = result.subscribers.series.iter().map(|row| row.second).collect();
        assert!(seconds.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seconds:?}");
    }
}

#[test]
fn what_a_server_drops_doubles_and_swaps_is_what_is_counted() {
    for protocol in PROTOCOLS {
        let publisher = Publisher::start(Fault::Events);
        let result =
            measured(&publisher, "users = 2\niterations = 120", &format!("protocol = \"{protocol}\""));
        let (done, counts) = (publisher.done(), counts(&result));
        let found = Done {
            mutations: counts.acknowledged,
            owed: counts.due,
            dropped: counts.missed,
            doubled: counts.duplicated,
            swapped: counts.out_of_order,
            strange: counts.unexpected,
        };
        assert_eq!(found, done, "{protocol}");
        assert!(done.dropped > 20 && done.doubled > 20 && done.swapped > 10, "{done:?}");
        assert_eq!(delivered(&result), done.owed - done.dropped);
    }
}

#[test]
fn what_comes_too_late_was_missed_and_is_late() {
    let publisher = Publisher::start(Fault::Stall);
    let result = measured(&publisher, "users = 1\niterations = 12\npacing = \"150ms\"", "");
    let counts = counts(&result);
    assert_eq!((counts.due, counts.missed, counts.late, delivered(&result)), (24, 2, 2, 24), "{counts:?}");
}

/// What the server drops is waited for until after the time at which the plan would have ended.
#[test]
fn a_run_that_is_stopped_has_not_completed_however_long_events_are_waited_for() {
    let publisher = Publisher::start(Fault::Events);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let load = "users = 2\nduration = \"4s\"\nthink_time = \"5ms\"";
    let text = plan_text(&publisher.url, load, "").replace("wait_max = \"400ms\"", "wait_max = \"4s\"");
    fs::write(&path, text).unwrap();
    let (plan, stop) = (read_plan(&path).unwrap(), StopFlag::default());
    let mut options = RunOptions { stop: stop.clone(), ..RunOptions::default() };
    options.progress = Box::new(move |_| stop.stop());
    let result = run(&plan, options).unwrap();
    assert!(counts(&result).missed > 0, "{:?}", counts(&result));
    let whole = result.window(WindowKind::Whole).unwrap().window;
    assert_eq!(result.state, RunState::Stopped);
    assert!(whole.to_ns < plan.duration(), "its rates are those of the time before: {whole:?}");
}

#[test]
fn what_was_meant_for_others_is_unexpected() {
    let publisher = Publisher::start(Fault::Everybody);
    let result = measured(&publisher, "users = 1\niterations = 30", "");
    let counts = counts(&result);
    assert_eq!((counts.unexpected, counts.events, counts.missed), (publisher.done().strange, 180, 0));
}

#[test]
fn a_server_that_dies_cuts_off_what_it_owed() {
    for protocol in ["graphql-transport-ws", "sse-single"] {
        check_death(&format!("protocol = \"{protocol}\""));
    }
}

/// Of the streams or sockets, while a user mutates.
fn check_death(protocol: &str) {
    let publisher = Publisher::start(Fault::Die);
    let result = measured(&publisher, "users = 1\niterations = 12", protocol);
    let counts = counts(&result);
    let links = &group(&result).links;
    assert_eq!((links.made, links.lost_count(), counts.missed), (3, 3, 0), "{links:?} {counts:?}");
    assert_eq!(delivered(&result), 10);
    assert!(counts.cut_off >= 2 && counts.due == 10 + counts.cut_off, "{counts:?}");
    assert!(result.findings.iter().any(|finding| finding.kind == FindingKind::SubscribersMissing));
}

#[test]
fn mutations_before_all_are_in_force_make_a_finding() {
    let publisher = Publisher::start(Fault::None);
    // The last of the three clients connects a second after the first, and users begin at once.
    let load =
        "scenarios = [{ name = \"early\", start = \"0s\", users = 1, iterations = 5, steps = [\"set\"] }]";
    let result = measured(&publisher, load, "rate = 2");
    let kinds: Vec<_> = result.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&FindingKind::SubscribersLate), "{kinds:?}");
    assert!(counts(&result).not_due > 0 && counts(&result).missed == 0, "{:?}", counts(&result));
}

const SHARED: &str = "protocol = \"sse-single\"";

#[test]
fn operations_on_a_shared_stream_are_stopped_at_the_end() {
    let publisher = Publisher::start(Fault::None);
    let result = measured(&publisher, "users = 1\niterations = 6", SHARED);
    assert_eq!(publisher.stopped(6), ["0", "0", "0", "1", "1", "1"]);
    let links = &group(&result).links;
    assert_eq!((links.attempted, links.made, links.asked, links.subscribed), (3, 3, 6, 6));
    assert_eq!(group(&result).subscribe_time.count, 6, "each operation has an answer of its own");
}

#[test]
fn orders_for_a_shared_stream_go_on_over_another_connection() {
    let publisher = Publisher::start(Fault::ClosesBetweenOrders);
    let result = measured(&publisher, "users = 1\niterations = 6", SHARED);
    let links = &group(&result).links;
    assert_eq!((links.subscribed, links.lost_count(), delivered(&result)), (6, 0, 12), "{links:?}");
}

#[test]
fn events_of_operations_that_nobody_asked_for_are_unexpected() {
    let publisher = Publisher::start(Fault::Strangers);
    let result = measured(&publisher, "users = 1\niterations = 6", SHARED);
    let counts = counts(&result);
    assert_eq!((counts.events, counts.unexpected, counts.missed, delivered(&result)), (12, 24, 0, 12));
}

#[test]
fn events_of_a_shared_stream_that_say_not_whose_they_are_end_it() {
    let publisher = Publisher::start(Fault::Unaddressed);
    let result = measured(&publisher, "users = 1\niterations = 3", SHARED);
    let links = &group(&result).links;
    assert_eq!((links.made, links.lost_count()), (3, 3), "{links:?}");
    let reason = links.lost.keys().next().unwrap();
    assert!(
        reason.starts_with("`{\"data\":{") && reason.contains("is no message of the protocol"),
        "{reason}"
    );
}

/// Of the plan: everything over HTTP/2, by prior knowledge.
const HTTP2: &str = "protocol = \"http2\"\n";
const SSE: &str = "protocol = \"sse\"";

/// Subscribers alone, for a second.
fn listened(keys: &str, group: &str) -> ResultFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let query = "query = \"subscription { onSet(id: 1) }\"";
    fs::write(&path, format!("duration = \"1s\"\n{keys}\n[[subscriptions]]\n{group}\n{query}\n")).unwrap();
    run(&read_plan(&path).unwrap(), RunOptions::default()).unwrap()
}

#[test]
fn over_http2_the_streams_of_a_client_share_its_connection() {
    let publisher = Publisher::start_http2(Fault::None);
    let result = measured(&publisher, &format!("{HTTP2}users = 3\niterations = 30"), SSE);
    let (done, counts) = (publisher.done(), counts(&result));
    assert_eq!((done.mutations, done.owed), (90, 180));
    assert_eq!((counts.events, counts.due, counts.missed, delivered(&result)), (180, 180, 0, 180));
    let links = &group(&result).links;
    assert_eq!((links.attempted, links.made, links.asked, links.subscribed), (3, 3, 6, 6));
    assert_eq!((links.refused_count(), links.lost_count(), links.rejected_count()), (0, 0, 0));
    assert_eq!(group(&result).subscribe_time.count, 6);
    assert!(counts.bytes > 180 * 50, "{counts:?}");
}

#[test]
fn what_is_dropped_doubled_and_swapped_over_http2_is_counted() {
    let publisher = Publisher::start_http2(Fault::Events);
    let result = measured(&publisher, &format!("{HTTP2}users = 2\niterations = 120"), SSE);
    let (done, counts) = (publisher.done(), counts(&result));
    assert_eq!(
        (counts.due, counts.missed, counts.duplicated, counts.out_of_order),
        (done.owed, done.dropped, done.doubled, done.swapped)
    );
    assert!(done.dropped > 20 && done.doubled > 20 && done.swapped > 10, "{done:?}");
}

#[test]
fn streams_and_connections_that_end_over_http2_are_told_apart() {
    let links = |fault| {
        let publisher = Publisher::start_http2(fault);
        let result = measured(&publisher, &format!("{HTTP2}users = 1\niterations = 12"), SSE);
        let links = &group(&result).links;
        assert!(result.findings.iter().any(|finding| finding.kind == FindingKind::SubscribersMissing));
        assert_eq!(counts(&result).missed, 0);
        format!(
            "made {}, refused {:?}, lost {:?}, rejected {:?}",
            links.made, links.refused, links.lost, links.rejected
        )
    };
    expect![[r#"made 3, refused {}, lost {"the connection ended": 3}, rejected {}"#]]
        .assert_eq(&links(Fault::Die));
    expect![[r#"made 3, refused {}, lost {}, rejected {"the target reset the stream": 6}"#]]
        .assert_eq(&links(Fault::ResetsStreams));
    expect![[r#"made 0, refused {}, lost {}, rejected {"status 503": 6}"#]]
        .assert_eq(&links(Fault::Status(503)));
}

#[test]
fn encrypted_streams_of_a_target_that_chooses_http2_are_read() {
    let certificates = Certificates::new();
    let body = "event: next\ndata: {\"data\":1}\n\nevent: next\ndata: {}\n\nevent: complete\n\n";
    let answer = Http2Reply::Answer {
        status: 200,
        headers: vec![("content-type", "text/event-stream")],
        body: body.into(),
        piece: 3,
    };
    let peer = SecurePeer::start(SecurePeerOptions {
        listen: Listen::Tcp([127, 0, 0, 1].into()),
        tls: Some(ServerTls::of(&certificates, &["h2"])),
        speaks: Speaks::Http2 { replies: vec![answer], streams_max: 100 },
    });
    let result = listened(
        &format!("{HTTP2}target = \"{}\"\ntls = {{ insecure = true }}", peer.url()),
        &format!("clients = 2\nper_client = 2\n{SSE}"),
    );
    let links = &group(&result).links;
    assert_eq!((links.made, links.completed, links.lost_count(), links.rejected_count()), (2, 4, 0, 0));
    assert_eq!(counts(&result).events, 8);
    assert!(peer.seen().handshakes.iter().all(|seen| seen.alpn.as_deref() == Some("h2")));
}

#[test]
fn streams_that_a_target_has_no_room_for_fail_their_connection_at_the_timeout() {
    let publisher = Publisher::start_http2(Fault::OneStream);
    let result = listened(
        &format!("{HTTP2}target = \"{}\"\ntimeout = \"300ms\"", publisher.url),
        &format!("clients = 1\nper_client = 2\nsettle = \"0s\"\n{SSE}"),
    );
    let links = &group(&result).links;
    let lost: Vec<_> = links.lost.iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
    assert_eq!(
        (links.made, lost.as_slice()),
        (1, &["no answer to an operation within 300 ms: 1".to_owned()][..])
    );
}

#[test]
fn what_subscriptions_cannot_do_over_http2_is_said_before_the_run() {
    let refused = |target: &str, wire: &str, protocol: &str| {
        mistakes(&format!(
            "target = \"{target}\"\nprotocol = \"{wire}\"\nduration = \"1s\"\n[[subscriptions]]\nclients = 1\n\
             query = \"subscription {{ a }}\"\nprotocol = \"{protocol}\"\n"
        ))
    };
    expect![[r#"4:1 WebSockets are spoken over HTTP/1.1 (RFC 8441 is not), and the plan's `protocol` asks for HTTP/2; subscribe over "sse", or write `protocol = "http1"`"#]].assert_eq(&refused("http://a", "http2", "graphql-transport-ws"));
    expect![[r#"4:1 single connection mode is spoken over HTTP/1.1, and the plan's `protocol` asks for HTTP/2, where the streams of a client share its connection anyway; subscribe over "sse", or write `protocol = "http1"`"#]].assert_eq(&refused("http://a", "http2", "sse-single"));
    expect![[r#"4:1 whether the streams of a client share its connection is known only when the target has chosen; write the plan's `protocol` as "http1" or "http2""#]].assert_eq(&refused("https://a", "auto", "sse"));
    for (target, wire, protocol) in [("http://a", "auto", "graphql-ws"), ("https://a", "http2", "sse")] {
        assert_eq!(refused(target, wire, protocol), "none");
    }
}

#[test]
fn pings_of_both_kinds_are_answered() {
    let publisher = Publisher::start(Fault::Pings);
    let result = measured(&publisher, "users = 1\niterations = 6", "");
    assert_eq!((group(&result).links.made, counts(&result).missed, delivered(&result)), (3, 0, 12));
}

/// Why connections were refused and operations rejected.
fn check_refusal(fault: Fault, group_keys: &str, expected: &Expect) {
    let publisher = Publisher::start(fault);
    let result = measured(&publisher, "users = 1\niterations = 2", group_keys);
    let links = &group(&result).links;
    assert!(result.findings.iter().any(|finding| finding.kind == FindingKind::SubscribersMissing));
    assert_eq!((counts(&result).due, counts(&result).missed), (0, 0));
    expected.assert_eq(&format!(
        "made {}, refused {:?}, lost {:?}, rejected {:?}",
        links.made, links.refused, links.lost, links.rejected
    ));
}

#[test]
fn refusals_are_told_by_their_reason() {
    for code in [4401, 4403, 4406, 4429] {
        check_refusal(
            Fault::Close(code),
            "",
            &expect_text(&format!(
                "made 0, refused {{\"closed {code} for a reason\": 3}}, lost {{}}, rejected {{}}"
            )),
        );
    }
    check_refusal(
        Fault::NoProtocol,
        "",
        &expect![[
            r#"made 0, refused {"the target does not choose the sub-protocol graphql-transport-ws, but ``": 3}, lost {}, rejected {}"#
        ]],
    );
    check_refusal(
        Fault::Status(503),
        "",
        &expect![[r#"made 0, refused {"status 503": 3}, lost {}, rejected {}"#]],
    );
    check_refusal(
        Fault::Status(503),
        "protocol = \"sse\"",
        &expect![[r#"made 0, refused {"status 503": 6}, lost {}, rejected {}"#]],
    );
    check_refusal(
        Fault::Status(503),
        SHARED,
        &expect![[r#"made 0, refused {"no stream is reserved: status 503": 3}, lost {}, rejected {}"#]],
    );
    check_refusal(
        Fault::NoToken,
        SHARED,
        &expect![[r#"made 0, refused {"`` is no token of a stream": 3}, lost {}, rejected {}"#]],
    );
    check_refusal(
        Fault::ForgetsToken,
        SHARED,
        &expect![[r#"made 0, refused {"status 404": 3}, lost {}, rejected {}"#]],
    );
    check_refusal(
        Fault::Reject,
        SHARED,
        &expect![[
            r#"made 3, refused {}, lost {}, rejected {"status 400 {\"errors\":[{\"message\":\"no such field\"}]}": 6}"#
        ]],
    );
    check_refusal(
        Fault::Reject,
        "",
        &expect![[r#"made 3, refused {}, lost {}, rejected {"[{\"message\":\"no such field\"}]": 6}"#]],
    );
}

/// An expectation that is computed.
fn expect_text(text: &str) -> Expect {
    Expect {
        position: expect![""].position,
        data: Box::leak(text.to_owned().into_boxed_str()),
        indent: false,
    }
}

#[test]
fn subscribers_alone_stay_for_the_duration() {
    let publisher = Publisher::start(Fault::None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let text = format!(
        "target = \"{}\"\nduration = \"2s\"\n[[subscriptions]]\nclients = 40\nrate = 400\nquery = \"subscription idle {{ onSet(id: 1) }}\"\nsettle = \"100ms\"\n",
        publisher.url
    );
    fs::write(&path, text).unwrap();
    let plan = read_plan(&path).unwrap();
    let result = run(&plan, RunOptions::default()).unwrap();
    let group = group(&result);
    assert_eq!((group.name.as_str(), group.links.subscribed, group.links.lost_count()), ("idle", 40, 0));
    let most = result.subscribers.series.iter().map(|row| row.active).max();
    assert_eq!(most, Some(40));
    let kinds: Vec<_> = result.findings.iter().map(|finding| finding.kind).collect();
    assert!(
        !kinds.contains(&FindingKind::TooFewSamples) && !kinds.contains(&FindingKind::RampInVerdict),
        "{kinds:?}"
    );
}

/// All mistakes of a plan.
/// Sixty changes at a rate, ten when these are over, and one of a user who stays. One of three machines has a user of the first only.
fn split_plan(url: &str, protocol: &str) -> Plan {
    let plan = plan_text(url, "", &format!("protocol = \"{protocol}\"\nrate = 20"));
    let (plan, _) = plan.split_once("[subscriptions.fan_out]").unwrap();
    let scenarios = "[[scenarios]]\nname = \"changes\"\nrate = 30\nusers = 2\nduration = \"2s\"\n\
                     [[scenarios]]\nname = \"late\"\nrate = 10\nusers = 1\nstart = \"3s\"\nduration = \"1s\"\n\
                     [[scenarios]]\nname = \"stay\"\nusers = 1\nthink_time = \"1h\"\nduration = \"5s\"\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), format!("{plan}{scenarios}")).unwrap();
    read_plan(&folder.path().join("plan.toml")).unwrap()
}

/// All parts at once; what they hand over each second, put together.
fn run_split(plan: &Plan, parts: u32) -> Tally {
    let epoch = Instant::now() + Duration::from_millis(300);
    let seconds: Arc<Mutex<Vec<IntervalSnapshot>>> = Arc::default();
    thread::scope(|scope| {
        for number in 0..parts {
            let seconds = Arc::clone(&seconds);
            scope.spawn(move || {
                let keep = move |second: &IntervalSnapshot| seconds.lock().unwrap().push(second.clone());
                let options = RunOptions {
                    threads: NonZeroUsize::new(2).unwrap(),
                    share: RunShare::new(number, parts).unwrap(),
                    start: Box::new(move || Some(RunStart { epoch, from: Nanos::ZERO })),
                    snapshots: vec![Box::new(keep)],
                    ..RunOptions::default()
                };
                run(plan, options).unwrap();
            });
        }
    });
    let (windows, names) = (plan.windows(), RequestNames { plan, found: None });
    let mut merged = Tally::new(&windows, TallyShape::of(plan));
    for second in seconds.lock().unwrap().drain(..) {
        merged.merge(&second.into_tally(&windows, names).unwrap());
    }
    merged
}

/// All that is not time, nor the length of a number.
fn heard(plan: &Plan, tally: &Tally) -> (u64, EventCounts, LinkCounts) {
    let windows: Vec<_> = (0..plan.windows().all().len()).collect();
    let answered = windows.iter().map(|window| tally.cell(*window, 0).successes()).sum();
    let events = EventCounts { bytes: 0, ..tally.subscribers.sum(0, &windows).counts };
    let links = tally.subscribers.links[0].counts.clone();
    let links = LinkCounts { first_attempt_ns: None, last_made_ns: None, last_subscribed_ns: None, ..links };
    (answered, events, links)
}

#[test]
fn subscribers_of_three_machines_hear_what_those_of_one_hear() {
    thread::scope(|scope| {
        for protocol in PROTOCOLS {
            scope.spawn(move || {
                let [one, three] = [1, 3].map(|parts| {
                    let publisher = Publisher::start(Fault::None);
                    let plan = split_plan(&publisher.url, protocol);
                    (publisher, heard(&plan, &run_split(&plan, parts)))
                });
                assert_eq!(one.1, three.1, "{protocol}");
                let (answered, events, links) = three.1;
                let done = three.0.done();
                assert_eq!(
                    (answered, done.mutations, events.events, done.owed),
                    (71, 71, 142, 142),
                    "{protocol}"
                );
                let connections = if protocol == "sse" { SUBSCRIPTIONS } else { 3 };
                assert_eq!(
                    (links.attempted, links.made, links.subscribed),
                    (connections, connections, SUBSCRIPTIONS)
                );
            });
        }
    });
}

fn mistakes(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("plan.toml");
    fs::write(&path, text).unwrap();
    match read_plan(&path) {
        Ok(_) => "none".to_owned(),
        Err(PlanError::Mistakes(mistakes)) => {
            let lines =
                mistakes.list.iter().map(|one| format!("{}:{} {}", one.line, one.column, one.message));
            lines.collect::<Vec<_>>().join("\n")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn all_mistakes_of_subscriptions_are_told_at_once() {
    expect![[r#"
        2:15 threshold is for `nobody`; groups of subscribers are: a, a
        8:9 the prefix `"` of `bad` must be plain ASCII without quotes, slashes, `<`, `>` and `&`: targets may write them otherwise, and it is looked for as it is
        20:8 two groups of subscribers are named `a`; results are kept by name
        21:11 there is nobody to subscribe; write at least one client with one subscription
        22:8 `rate` must be above 0: so many clients connect in a second
        24:13 `${token}` is a token, which only requests have; a subscriber takes another variable
        25:19 `connection_init` belongs to WebSockets; over SSE write `headers`
        27:11 unknown request `nothing`; requests are: set, plain"#]]
    .assert_eq(&mistakes(
        r#"target = "http://a"
thresholds = ["missed{name:nobody} == 0"]
users = 1
duration = "1s"
[variables]
token = { token = "t" }
other = { token = "u" }
bad   = { token = '"' }
[[requests]]
name = "set"
path = "/${token}"
[[requests]]
name = "plain"
path = "/"
[[subscriptions]]
name = "a"
clients = 1
query = "subscription { a }"
[[subscriptions]]
name = "a"
clients = 0
rate = 0
query = "subscription { a }"
variables = { id = "${token}" }
connection_init = { a = 1 }
protocol = "sse"
fan_out = { request = "nothing" }
"#,
    ));
    expect![[r#"
        9:11 the key takes `${k}`, which `plain` does not; write `request_key` with a variable that it does
        9:11 `plain` has no token by which its events could be known; add `variables.token = { token = "t-" }` and put `${token}` where the event shows it"#]]
    .assert_eq(&mistakes(
        r#"target = "http://a"
users = 1
duration = "1s"
variables.k = { range = [1, 2] }
requests = [{ name = "plain", path = "/" }]
[[subscriptions]]
clients = 1
query = "subscription { a }"
fan_out = { request = "plain", key = "${k}" }
"#,
    ));
}

#[test]
fn a_plan_with_subscribers_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, plan_text("http://localhost:1", "users = 2\nduration = \"10s\"", "")).unwrap();
    let text = explain(&read_plan(&path).unwrap());
    let group = text.split("\n\n").find(|part| part.starts_with("subscriptions sets")).unwrap();
    expect![[r#"
        subscriptions sets
          3 clients with 2 subscriptions each, over graphql-transport-ws
          connect from 0 s to 2.00 ms, 1000/s
          in force from 0 s after their operation was sent, the last at about 502 ms
          each `set` owes each subscription with its key one event, at most 400 ms after its acknowledgement
          for example:
            | {"query":"subscription($id: Int) { onSet(id: $id) { name } }","variables":{"id":1}}"#]]
    .assert_eq(group);
    assert!(text.contains("502 ms – 10.5 s: 2 users"), "{text}");
    assert!(text.contains("2 users, 2 connections, and 3 of subscribers"), "{text}");
}
