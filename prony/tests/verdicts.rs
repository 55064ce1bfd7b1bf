//! What passes, fails and is void, as a user meets it: targets that always fail, that fail now and then, that never
//! respond; runs that end within a second; and command lines that nearly say what was meant.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::{ScriptedPeer, Step};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const BROKEN: &str = "HTTP/1.1 500 Oh No\r\nContent-Length: 2\r\n\r\nno";

struct Ran {
    out: String,
    error: String,
    code: Option<i32>,
}

impl Ran {
    fn has(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "{part} is missing in:\n{}\n{}", self.out, self.error);
        }
    }
}

fn prony(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(folder).args(arguments).env("XDG_CONFIG_HOME", folder);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { out: text(output.stdout), error: text(output.stderr), code: output.status.code() }
}

/// Users who wait between requests, so that a busy machine voids nothing.
fn plan(folder: &Path, url: &str, duration: &str, thresholds: &str) {
    let thresholds =
        if thresholds.is_empty() { String::new() } else { format!("thresholds = [\"{thresholds}\"]\n") };
    let text = format!(
        "name = \"shop\"\ntarget = \"{url}\"\nusers = 4\nduration = \"{duration}\"\nthink_time = \"10ms\"\n{thresholds}\
         [[requests]]\nname = \"q\"\npath = \"/\"\n"
    );
    fs::write(folder.join("plan.toml"), text).unwrap();
}

/// Every second response is bad.
fn half_broken() -> ScriptedPeer {
    let steps = [Step::ReadRequest, Step::Write(OK.into()), Step::ReadRequest, Step::Write(BROKEN.into())];
    ScriptedPeer::start(vec![[&steps[..], &[Step::Repeat]].concat()])
}

/// A row of wrk's statistics says that there is nothing to take them of.
fn demand_dashes(out: &str, name: &str) {
    let mut lines = out.lines();
    let row = lines.find_map(|line| line.trim_start().strip_prefix(name)).unwrap_or_else(|| panic!("{out}"));
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["-"; 4], "{out}");
}

fn only_result(folder: &Path) -> Value {
    let mut files = fs::read_dir(folder.join("results")).unwrap();
    let path = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_run_without_one_success_is_a_failure_whatever_was_asked() {
    let (peer, folder) = (ScriptedPeer::answering(BROKEN), tempfile::tempdir().unwrap());
    plan(folder.path(), &peer.url(), "500ms", "");
    let ran = prony(folder.path(), &["run", "plan.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    ran.has(&["FAILED: not one of ", " requests succeeded, most of them: unexpected status 500\nresult: "]);
    let result = only_result(folder.path());
    assert_eq!(result["verdict"]["conclusion"], "failed");
    // A figure that is there and not the target's is no reason to call a threshold kept.
    plan(folder.path(), &peer.url(), "500ms", "p95<10s, rate>=0/s, errors<=100%");
    let ran = prony(folder.path(), &["run", "plan.toml", "--json", "--quiet"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let judged: Vec<_> =
        result["thresholds"].as_array().unwrap().iter().map(|one| one["judgement"].clone()).collect();
    assert_eq!((judged, ran.code), (vec!["undecided".into(), "void".into(), "kept".into()], Some(1)));
}

#[test]
fn what_cannot_be_believed_is_neither_kept_nor_failed() {
    let (peer, folder) = (half_broken(), tempfile::tempdir().unwrap());
    let check = |thresholds: &str, flags: &[&str], code: i32, parts: &[&str]| {
        plan(folder.path(), &peer.url(), "1s", thresholds);
        let ran = prony(folder.path(), &[&["run", "plan.toml", "--quiet"], flags].concat());
        assert_eq!(ran.code, Some(code), "{thresholds} {flags:?}\n{}", ran.out);
        ran.has(parts);
        assert!(!ran.out.contains("  kept  p"), "{}", ran.out);
    };
    let void = "VOID, neither passed nor failed: errors-dominate: ";
    check("", &[], 3, &[void]);
    check("p50<10s", &[], 3, &["  VOID  p50<10s", void]);
    check("p50<10s", &["--strict"], 1, &["  VOID  p50<10s"]);
    // How many failed can be believed.
    check("p50<10s, errors<1%", &[], 1, &["  VOID  p50<10s", "  FAILED  errors<1%", "\nFAILED: errors<1%: "]);
    check("errors<90%", &[], 3, &["  kept  errors<90%", void]);
}

#[test]
fn a_url_that_always_fails_is_reported_in_full() {
    let (peer, folder) = (ScriptedPeer::answering(BROKEN), tempfile::tempdir().unwrap());
    let ran = prony(folder.path(), &["run", &peer.url(), "-c2", "-t1", "-d1s"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    ran.has(&[
        "  Latency Distribution of the ",
        "\n     50%",
        "\n     99%",
        "\nresponses and errors\n",
        "\n  status 500 ",
        " 100.00 %",
        "FAILED: not one of ",
    ]);
    assert!(!ran.out.contains("status 200"), "{}", ran.out);
    demand_dashes(&ran.out, "Latency ");
}

#[test]
fn a_url_shows_percentiles_histogram_and_statuses_unasked() {
    let (peer, folder) = (half_broken(), tempfile::tempdir().unwrap());
    let ran = prony(folder.path(), &["run", &peer.url(), "-c2", "-t1", "-d1s"]);
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    ran.has(&["  Latency Distribution\n     50%", "  Latency Histogram\n    up to", "\n  status 200 "]);
    ran.has(&["\n  status 500 "]);
    let wide =
        ran.out.lines().filter(|line| line.starts_with("    up to")).map(|line| line.chars().count()).max();
    assert!(wide.unwrap() <= 80, "{}", ran.out);
}

#[test]
fn successes_are_counted_by_their_status() {
    let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let steps = [Step::ReadRequest, Step::Write(OK.into()), Step::ReadRequest, Step::Write(created.into())];
    let peer = ScriptedPeer::start(vec![[&steps[..], &[Step::Repeat]].concat()]);
    let folder = tempfile::tempdir().unwrap();
    let ran = prony(folder.path(), &["run", &peer.url(), "-c1", "-n4"]);
    ran.has(&["\n  status 200         2  50.00 %\n  status 201         2  50.00 %\n"]);
    let all = &only_result(folder.path())["windows"].as_array().unwrap().last().unwrap()["all"].clone();
    assert_eq!(all["responses"], serde_json::json!({"200": 2, "201": 2}), "{all}");
}

#[test]
fn a_rate_shows_the_same_as_a_closed_loop() {
    let (peer, folder) = (half_broken(), tempfile::tempdir().unwrap());
    let ran = prony(folder.path(), &["run", &peer.url(), "-c2", "-t1", "-d2s", "-R400"]);
    ran.has(&["Recorded Latency)\n 50.000%", "\n 95.000%", "\n\n  Latency Histogram\n    up to"]);
    ran.has(&["\n  status 200 ", "\n  status 500 "]);
}

/// The target takes the request and says nothing.
#[test]
fn where_no_request_came_to_its_end_nothing_has_passed() {
    let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Stall]]);
    let folder = tempfile::tempdir().unwrap();
    let ran = prony(folder.path(), &["run", &peer.url(), "-c1", "-d500ms", "-T200ms", "--quiet"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    ran.has(&["timeout", "FAILED: "]);
    assert!(!ran.out.contains("0.00us"), "a latency of nothing: {}", ran.out);
}

#[test]
fn one_request_is_enough_to_pass_and_to_fail() {
    for (response, code, part) in [
        (OK, 0, "! too-few-samples: 1 successes"),
        (BROKEN, 1, "FAILED: the only request failed: unexpected status 500"),
    ] {
        let (peer, folder) = (ScriptedPeer::answering(response), tempfile::tempdir().unwrap());
        let text = format!(
            "target = \"{}\"\nusers = 1\nshared_iterations = 1\n[[requests]]\npath = \"/\"\n",
            peer.url()
        );
        fs::write(folder.path().join("plan.toml"), text).unwrap();
        let ran = prony(folder.path(), &["run", "plan.toml", "--quiet"]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.error);
        ran.has(&[part]);
    }
}

#[test]
fn the_last_second_is_marked_where_it_did_not_end() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(folder.path(), &peer.url(), "2400ms", "");
    let ran = prony(folder.path(), &["run", "plan.toml", "--quiet", "--json"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let covered: Vec<u64> = serde_json::from_value(result["series"]["covered_ns"].clone()).unwrap();
    assert_eq!(covered[..3], [1_000_000_000, 1_000_000_000, 400_000_000], "{covered:?}");
    assert!(covered[3..].iter().all(|covered| *covered == 0), "{covered:?}");
    let users: Vec<u64> = serde_json::from_value(result["series"]["users"].clone()).unwrap();
    assert_eq!(users[..2], [4, 4], "users stay to the end of whole seconds");

    let csv = prony(folder.path(), &["report", "results", "--csv"]).out;
    let last: Vec<_> = csv.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(last[..4], ["covered_s", "1", "1", "0.4"], "{csv}");
    let page = prony(folder.path(), &["report", "results", "--html", "r.html"]);
    assert_eq!(page.code, Some(0));
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    // Where the page was built: two seconds are drawn, at their ends.
    if let Some((_, data)) = page.split_once("<script type=\"application/json\" id=\"data\">") {
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let plot = &data["runs"][0]["plots"][0];
        assert_eq!(plot["times"], serde_json::json!([1.0, 2.0]));
        assert!(
            plot["note"].as_str().unwrap().contains("ended after 2 s, in no whole second"),
            "{}",
            plot["note"]
        );
    }
}

#[test]
fn a_run_shorter_than_a_second_is_reported_without_plots() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(folder.path(), &peer.url(), "300ms", "errors<1%");
    let ran = prony(folder.path(), &["run", "plan.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    ran.has(&["  kept  errors<1%", "passed: every threshold was kept\nresult: "]);
    assert_eq!(prony(folder.path(), &["report", "results", "--html", "r.html"]).code, Some(0));
    let ran = prony(folder.path(), &["run", &peer.url(), "-c1", "-d300ms", "--quiet"]);
    demand_dashes(&ran.out, "Req/Sec ");
}

const SCRIPT: &str = "import http from 'k6/http';\nexport const options = { vus: 2, iterations: 20 };\n\
                      export default function () { http.get(__ENV.TARGET); }\n";

#[test]
fn a_k6_script_keeps_k6s_exit_code_and_the_verdict_is_said() {
    let (peer, folder) = (ScriptedPeer::answering(BROKEN), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("script.js"), SCRIPT).unwrap();
    let target = format!("TARGET={}", peer.url());
    let ran = prony(folder.path(), &["run", "script.js", "-e", &target]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.error);
    let said = "FAILED: not one of 20 requests succeeded, most of them: unexpected status 500\n\
                the exit code is k6's, 0; --strict makes it 1\n";
    assert!(ran.error.contains(said), "{}", ran.error);
    assert_eq!(only_result(folder.path())["verdict"]["conclusion"], "failed");
    let strict = prony(folder.path(), &["run", "script.js", "-e", &target, "--strict"]);
    assert_eq!(strict.code, Some(1), "{}", strict.error);
    assert!(!strict.error.contains("the exit code is k6's"), "{}", strict.error);
}

#[test]
fn what_k6_has_a_code_for_has_failed_in_the_result_too() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let script =
        SCRIPT.replace("iterations: 20", "iterations: 20, thresholds: { http_reqs: ['count>1000'] }");
    fs::write(folder.path().join("script.js"), script).unwrap();
    let target = format!("TARGET={}", peer.url());
    let ran = prony(folder.path(), &["run", "script.js", "-e", &target, "--strict"]);
    assert_eq!(ran.code, Some(99), "{}", ran.error);
    let verdict = only_result(folder.path())["verdict"].clone();
    assert_eq!(verdict["conclusion"], "failed");
    assert!(verdict["reasons"][0].as_str().unwrap().contains("http_reqs"), "{verdict}");
}

#[test]
fn a_script_that_asks_nothing_of_anybody_is_done() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.js"), "export default function () {}").unwrap();
    let ran = prony(folder.path(), &["run", "script.js", "--strict"]);
    assert!(!ran.error.contains("FAILED"), "{}", ran.error);
    assert_eq!(only_result(folder.path())["verdict"]["reasons"], serde_json::json!([]));
}

#[test]
fn a_search_of_a_target_that_always_fails_has_failed() {
    let (peer, folder) = (ScriptedPeer::answering(BROKEN), tempfile::tempdir().unwrap());
    let flags = ["--slo", "p95<10s", "--vary", "rate", "--from", "20", "--max", "40", "--repeats", "1"];
    let length = ["--ramp", "0s", "--hold", "300ms", "--threads=1"];
    let ran = prony(folder.path(), &[&["find", &peer.url()], &flags[..], &length].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    ran.has(&["no load that was tried kept the objectives", "not one of "]);
    assert!(!ran.error.contains("PASSED"), "{}", ran.error);
}

#[test]
fn a_comparison_begins_where_both_can_be_reached_and_not_before() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let gone = format!("http://127.0.0.1:{}", prony_testkit::free_port());
    let ran = prony(folder.path(), &["compare", &peer.url(), &gone, "--duration", "1s"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.error.contains("nothing was measured: B: cannot reach the target"), "{}", ran.error);
    let sent: usize = (0..peer.connections()).map(|index| peer.received(index).len()).sum();
    assert_eq!(sent, 0, "A was loaded");
    assert!(!folder.path().join("results").exists());
    let ran = prony(folder.path(), &["compare", &gone, &gone]);
    assert!(
        ran.error.contains("A: cannot reach") && ran.error.contains("; B: cannot reach"),
        "{}",
        ran.error
    );
}

#[test]
fn a_side_without_one_success_fails_the_comparison() {
    let (a, b) = (ScriptedPeer::answering(OK), ScriptedPeer::answering(BROKEN));
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--duration=200ms", "--users=2", "--runs", "3", "--threads=1", "--quiet"];
    let ran = prony(folder.path(), &[&["compare", &a.url(), &b.url()][..], &flags].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    ran.has(&["no claim is made: B failed: not one of "]);
    assert!(!ran.out.contains("  better\n"), "{}", ran.out);
}

#[test]
fn what_was_nearly_said_is_answered_with_the_line_to_type() {
    let folder = tempfile::tempdir().unwrap();
    for (line, typed) in [
        ("run localhost:8080", "write: prony run http://localhost:8080\n"),
        ("find 127.0.0.1:80/a --slo p95<1s", "write: prony find http://127.0.0.1:80/a\n"),
        ("compare localhost:1 http://b", "write: prony compare http://localhost:1 http://b\n"),
        ("compare http://a", "write: prony compare http://a http://OTHER\n"),
        ("compare a.js", "write: prony compare a.js OTHER.js\n"),
        ("run http://a/ --vus 10 -d 5s", "write: prony run http://a/ --connections 10 -d 5s\n"),
        ("run http://a/ --rps=10", "write: prony run http://a/ --rate 10\n"),
        ("run plan.toml --vus 10", "write `users` in it\n"),
    ] {
        let arguments: Vec<_> = line.split(' ').collect();
        let ran = prony(folder.path(), &arguments);
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.error);
        assert!(ran.error.ends_with(typed), "{line}: {}", ran.error);
    }
}
