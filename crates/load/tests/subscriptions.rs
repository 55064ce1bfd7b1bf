//! Subscribers against a server that errs on purpose: each error is counted, exactly once, and by its name.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

mod publisher;

use expect_test::{Expect, expect};
use prony_load::{PlanError, RunOptions, explain, read_plan, run};
use prony_load_model::ResultFile;
use prony_load_model::findings::FindingKind;
use prony_load_model::subscription::figures::SubscriberGroup;
use prony_load_model::subscription::tally::EventCounts;
use prony_load_model::verdict::Judgement;
use publisher::{Done, Fault, Publisher};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

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
