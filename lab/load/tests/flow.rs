//! Plans carried out against targets that follow a script: values taken from answers, checks, rows that run out.
//! One user and counted iterations, so that every request is known.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use expect_test::{Expect, expect};
use prony_load::{PlanError, RunOptions, read_plan, run};
use prony_model::verdict::Judgement;
use prony_model::{ResultFile, WindowKind};
use prony_testkit::peer::{ScriptedPeer, Step};
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;

struct Ran {
    result: ResultFile,
    /// The request lines and bodies that the target got, without its headers but `Authorization`.
    requests: String,
}

fn answer(head: &str, body: &str) -> Step {
    Step::Write(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

/// The target answers the requests of the user's connection with these, in turn, over and over.
fn run_plan(plan: &str, files: &[(&str, &str)], answers: Vec<Step>) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let mut script: Vec<_> = answers.into_iter().flat_map(|answer| [Step::ReadRequest, answer]).collect();
    script.push(Step::Repeat);
    // The first connection is the one that tries whether the target is there.
    let peer = ScriptedPeer::start(vec![vec![Step::ReadToEnd], script]);
    let path = directory.path().join("plan.toml");
    fs::write(&path, format!("target = \"{}\"\n{plan}", peer.url())).unwrap();
    let plan = read_plan(&path).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { threads: NonZeroUsize::new(1).unwrap(), ..RunOptions::default() };
    let result = run(&plan, options).unwrap();
    let text: String =
        (1..peer.connections()).map(|at| String::from_utf8(peer.received(at)).unwrap() + "\n").collect();
    let is_shown = |line: &&str| {
        !line.is_empty()
            && ["Host:", "User-Agent:", "Content-", "Accept:"].iter().all(|name| !line.starts_with(name))
    };
    let requests: Vec<_> = text.lines().map(str::trim_end).filter(is_shown).collect();
    Ran { result, requests: requests.join("\n") }
}

fn check(ran: &Ran, expected: &Expect) {
    let all = &ran.result.window(WindowKind::Whole).unwrap().all;
    let mut text = ran.requests.replace(" HTTP/1.1", "") + "\n--\n";
    for (kind, count) in &all.outcomes {
        writeln!(text, "{count} {}", kind.label()).unwrap();
    }
    let counted = &ran.result.counted;
    for check in &counted.checks {
        let count = check.count;
        writeln!(text, "{} / {}: {} kept, {} failed", check.request, check.name, count.passed, count.failed)
            .unwrap();
    }
    for feeder in &counted.feeders {
        let count = feeder.count;
        writeln!(
            text,
            "{} of {} rows: {} taken, {} users stopped",
            feeder.name, feeder.rows, count.rows_taken, count.users_stopped
        )
        .unwrap();
    }
    writeln!(text, "{} iterations cut", counted.iterations_cut).unwrap();
    expected.assert_eq(&text);
}

const LOGIN_THEN_BROWSE: &str = r#"
[[scenarios]]
name = "shop"
users = 1
iterations = 2
steps = ["login", { request = "browse", think_time = "1ms" }, "leave"]

[variables]
user = { csv = "users.csv", order = "sequential" }

[[requests]]
name = "login"
path = "/login"
json = { id = "${user.id}", name = "${user.name}" }
captures = { token = { json = "/token" }, page = { header = "location", matches = "^/p/(.*)$" }, n = { matches = 'n=(\d+)', default = 7 } }

[[requests]]
name = "browse"
path = "/p/${page}?user=${user.id}"
headers = { Authorization = "Bearer ${token}" }
checks = [
  { json = "/id", equals = "${user.id}" },
  { contains = "item", name = "has an item" },
  { json = "/error", exists = false },
]

[[requests]]
name = "leave"
method = "POST"
path = "/leave/${n}"
body = "${token}"
"#;

const USERS: (&str, &str) = ("users.csv", "id,name\n1,Ann\n2,Bob\n");

#[test]
fn values_of_answers_and_rows_hold_for_an_iteration() {
    let ran = run_plan(
        LOGIN_THEN_BROWSE,
        &[USERS],
        vec![
            answer("200 OK\r\nLocation: /p/a b", r#"{"token":"t\"1"}"#),
            answer("200 OK", r#"{"id":1,"item":0}"#),
            answer("200 OK", ""),
            answer("201 Created\r\nLocation: /p/z", r#"{"token":8, "x":"n=55"}"#),
            answer("200 OK", r#"{"id":2,"items":[]}"#),
            answer("204 No Content", ""),
        ],
    );
    check(
        &ran,
        &expect![[r#"
            POST /login
            {"id":1,"name":"Ann"}GET /p/a%20b?user=1
            Authorization: Bearer t"1
            POST /leave/7
            t"1POST /login
            {"id":2,"name":"Bob"}GET /p/z?user=2
            Authorization: Bearer 8
            POST /leave/55
            8
            --
            6 success
            login / captures token: 2 kept, 0 failed
            login / captures page: 2 kept, 0 failed
            browse / json /id equals "${user.id}": 2 kept, 0 failed
            browse / has an item: 2 kept, 0 failed
            browse / json /error does not exist: 2 kept, 0 failed
            user of 2 rows: 2 taken, 0 users stopped
            0 iterations cut
        "#]],
    );
    assert!(ran.result.findings.iter().all(|finding| finding.kind.name() != "feeder-exhausted"));
}

#[test]
fn an_answer_without_the_value_or_against_a_check_fails_and_ends_the_iteration() {
    let ran = run_plan(
        LOGIN_THEN_BROWSE,
        &[USERS],
        vec![
            answer("200 OK\r\nLocation: /p/a", "<html>no JSON</html>"),
            answer("200 OK\r\nLocation: /p/a", r#"{"token":"t"}"#),
            answer("200 OK", r#"{"id":1,"item":0}"#),
        ],
    );
    check(
        &ran,
        &expect![[r#"
            POST /login
            {"id":1,"name":"Ann"}POST /login
            {"id":2,"name":"Bob"}GET /p/a?user=2
            Authorization: Bearer t
            --
            1 success
            2 failed check
            login / captures token: 1 kept, 1 failed
            login / captures page: 2 kept, 0 failed
            browse / json /id equals "${user.id}": 0 kept, 1 failed
            browse / has an item: 1 kept, 0 failed
            browse / json /error does not exist: 1 kept, 0 failed
            user of 2 rows: 2 taken, 0 users stopped
            2 iterations cut
        "#]],
    );
}

#[test]
fn users_that_go_on_after_a_failure_stop_where_a_value_is_missing() {
    let plan = format!(
        "after_failure = \"continue\"\n{}",
        LOGIN_THEN_BROWSE.replace("iterations = 2", "iterations = 1")
    );
    let ran = run_plan(
        &plan,
        &[USERS],
        vec![answer("200 OK\r\nLocation: /p/a", "{}"), answer("500 Oops", "{}"), answer("200 OK", "")],
    );
    check(
        &ran,
        &expect![[r#"
        POST /login
        {"id":1,"name":"Ann"}
        --
        1 failed check
        login / captures token: 0 kept, 1 failed
        login / captures page: 1 kept, 0 failed
        browse / json /id equals "${user.id}": 0 kept, 0 failed
        browse / has an item: 0 kept, 0 failed
        browse / json /error does not exist: 0 kept, 0 failed
        user of 2 rows: 1 taken, 0 users stopped
        1 iterations cut
    "#]],
    );
    let ran = run_plan(
        &plan,
        &[USERS],
        vec![
            answer("200 OK\r\nLocation: /p/a", "{\"token\":1}"),
            answer("500 Oops", "{}"),
            answer("200 OK", ""),
        ],
    );
    assert!(ran.requests.contains("POST /leave/7"), "{}", ran.requests);
    assert_eq!(ran.result.counted.iterations_cut, 0);
}

#[test]
fn a_user_that_finds_no_row_left_stops_and_the_run_says_so() {
    let ran = run_plan(
        r#"
users = 1
duration = "1h"
[variables]
user = { csv = "users.csv", order = "unique" }
[[requests]]
path = "/${user.name}"
"#,
        &[USERS],
        vec![answer("200 OK", "")],
    );
    check(
        &ran,
        &expect![[r#"
        GET /Ann
        GET /Bob
        --
        2 success
        user of 2 rows: 2 taken, 1 users stopped
        0 iterations cut
    "#]],
    );
    let findings: Vec<_> = ran.result.findings.iter().map(|finding| finding.seen.as_str()).collect();
    assert!(
        findings.contains(&"1 users stopped because none of the 2 rows of `user` (users.csv) was left"),
        "{findings:?}"
    );
}

#[test]
fn starts_at_a_rate_end_when_nobody_has_a_row_left() {
    let ran = run_plan(
        r#"
rate_stages = [{ duration = "0s", rate = 0.0 }, { duration = "1h", rate = 2000 }]
users = 1
[variables]
user = { jsonl = "users.jsonl", order = "sequential", take = "once" }
pick = { list = ["x", "y"], order = "unique", share = "each_user" }
[[requests]]
path = "/${user}/${pick}"
"#,
        &[("users.jsonl", "\"Ann\"\n\"Bob\"\n")],
        vec![answer("200 OK", "")],
    );
    check(
        &ran,
        &expect![[r#"
        GET /Ann/x
        GET /Ann/y
        --
        2 success
        user of 2 rows: 1 taken, 0 users stopped
        pick of 2 rows: 2 taken, 1 users stopped
        0 iterations cut
    "#]],
    );
}

#[test]
fn graphql_errors_are_found_where_values_are_captured_too() {
    let plan = r#"
users = 1
iterations = 1
thresholds = ["errors{group:account}<1%", "errors{kind:read}>=100%", "requests{name:who}>0"]
[[requests]]
graphql = { query = "query who { me { id } }" }
captures = { id = { json = "/data/me/id", default = 0 } }
group = "account"
tags = { kind = "read" }
"#;
    let errors = r#"{"data":{"me":{"id":1}},"errors":[{"message":"x"}]}"#;
    let ran = run_plan(plan, &[], vec![answer("200 OK", errors)]);
    check(
        &ran,
        &expect![[r#"
        POST /graphql
        {"query":"query who { me { id } }"}
        --
        1 GraphQL errors
        0 iterations cut
    "#]],
    );
    let whole = ran.result.window(WindowKind::Whole).unwrap();
    assert_eq!(whole.by_request[0].name, "who");
    assert_eq!((whole.by_group[0].name.as_str(), whole.by_group[0].figures.failures), ("account", 1));
    let judged: Vec<_> = ran.result.thresholds.iter().map(|verdict| verdict.judgement).collect();
    assert_eq!(judged, [Judgement::Failed, Judgement::Kept, Judgement::Kept]);
    assert_eq!((whole.by_tag[0].value.as_str(), whole.by_tag[0].figures.failures), ("read", 1));
}

/// Whoever runs what a run has left wants to see it.
#[test]
fn a_result_that_is_taken_for_a_plan_is_called_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let said = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        read_plan(&path).expect_err("it is no plan").to_string()
    };
    assert!(said("a.prony.json", "{}").ends_with("a.prony.json is a result, and no plan; `prony report` shows it, `prony compare` holds it against another one"));
    assert!(said("a.jtl", "timeStamp,elapsed\n1,2\n").contains("`prony report` counts them"));
    assert!(said("a.toml", "timeStamp,elapsed\n").contains("a.toml:1:"), "a plan has its mistakes named");
}

#[test]
fn a_unique_feeder_with_too_few_rows_is_refused_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(USERS.0), USERS.1).unwrap();
    let path = directory.path().join("plan.toml");
    let plan = "target = 'http://a'\nusers = 3\niterations = 4\nrequests = [{ path = '/${u.id}' }]\n\
                variables.u = { csv = 'users.csv', order = 'unique' }\n";
    fs::write(&path, plan).unwrap();
    let Err(PlanError::Mistakes(mistakes)) = read_plan(&path) else { panic!("the plan asks for too much") };
    assert_eq!(
        mistakes.list[0].message,
        "`u` has 2 rows and gives none twice, but the load can ask for 12; add rows, or write `order = \"sequential\"`"
    );
    fs::write(&path, plan.replace("'unique'", "'unique', take = 'once'")).unwrap();
    let Err(PlanError::Mistakes(mistakes)) = read_plan(&path) else { panic!("the plan asks for too much") };
    assert!(mistakes.list[0].message.contains("the load can ask for 3;"), "{mistakes}");
}
