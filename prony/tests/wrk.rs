//! `prony run URL` as someone meets it who knows wrk: the process, its lines, its exit code.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::{ScriptedPeer, Step};
use std::path::Path;
use std::process::{Command, Output};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn prony_run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("run").args(arguments).args(["--output", "results", "--quiet"]);
    command.output().unwrap()
}

fn run(arguments: &[&str]) -> (String, String, Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    let output = prony_run(directory.path(), arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// Measured without a fault. A lab that was too busy to be believed says so and exits with 3: whether it was depends on the
/// machine.
fn demand_done((out, error, code): (&str, &str, Option<i32>)) {
    let is_void = out.contains("! generator-bound (the figures are not about the target)");
    assert_eq!((error, code), ("", Some(if is_void { 3 } else { 0 })), "{out}");
}

/// What parsers of wrk's output look for.
fn number_before<'a>(text: &'a str, after: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.contains(after))?;
    line.split(after).next()?.split_whitespace().last()
}

/// All that was sent; the runner's first look whether the target is there sends nothing.
fn received(peer: &ScriptedPeer) -> String {
    let texts = (0..peer.connections()).map(|index| String::from_utf8(peer.received(index)).unwrap());
    texts.collect()
}

#[test]
fn a_url_is_loaded_and_reported_in_wrks_lines() {
    let peer = ScriptedPeer::answering(OK);
    let url = format!("{}/path?q=1", peer.url());
    let (out, error, code) =
        run(&[&url, "-c", "2", "-t1", "-d", "9s", "-d", "1s", "-L", "-H", "X-Test: yes"]);
    demand_done((&out, &error, code));
    for part in [
        format!(
            "Running 1s test @ {url}\n  1 threads and 2 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        ),
        "\n    Latency ".to_owned(),
        "\n    Req/Sec ".to_owned(),
        "\n  Latency Distribution\n     50%".to_owned(),
        " requests in 1.0".to_owned(),
        "\nRequests/sec: ".to_owned(),
        "\nTransfer/sec: ".to_owned(),
    ] {
        assert!(out.contains(&part), "{part} is missing in:\n{out}");
    }
    let sent = received(&peer);
    assert!(
        sent.starts_with("GET /path?q=1 HTTP/1.1\r\n") && sent.contains("X-Test: yes\r\n"),
        "{sent:.300}"
    );
    let count: usize = number_before(&out, " requests in").unwrap().parse().unwrap();
    let received = sent.matches("GET /path").count();
    assert!(received - count <= 2, "{received} were received and {count} are reported");
}

#[test]
fn bad_statuses_and_lost_connections_are_counted_apart() {
    let bad = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let script = vec![Step::ReadRequest, Step::Write(bad.into()), Step::ReadRequest, Step::Reset];
    let peer = ScriptedPeer::start(vec![script]);
    let (out, _, code) = run(&[&peer.url(), "-c1", "-d1"]);
    assert_eq!(code, Some(1), "nothing succeeded");
    assert!(
        out.contains("  Non-2xx or 3xx responses: ") && out.contains("  Socket errors: connect 0, read "),
        "{out}"
    );
    assert!(out.starts_with("! errors-dominate (the figures are not about the target)"), "{out}");
    let (_, _, code) = run(&[&peer.url(), "-c1", "-d1", "--strict"]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_body_is_posted() {
    let peer = ScriptedPeer::answering(OK);
    let (out, error, code) = run(&[&peer.url(), "-c1", "-d1", "--body", "a=1"]);
    demand_done((&out, &error, code));
    let sent = received(&peer);
    assert!(sent.starts_with("POST / HTTP/1.1\r\n") && sent.contains("\r\n\r\na=1POST /"), "{sent:.300}");
}

#[test]
fn a_body_may_begin_with_hyphens() {
    let peer = ScriptedPeer::answering(OK);
    let (out, error, code) = run(&[&peer.url(), "-n1", "--body", "--part"]);
    demand_done((&out, &error, code));
    assert!(received(&peer).ends_with("\r\n\r\n--part"), "{out}");
}

#[test]
fn so_many_requests_are_sent_and_no_more() {
    for flags in [&["-c5", "-t2"][..], &["-c3", "-R200"], &["-c8", "-t3", "-d1h"]] {
        let peer = ScriptedPeer::answering(OK);
        let (out, error, code) = run(&[&[&*peer.url(), "-n", "137"], flags].concat());
        demand_done((&out, &error, code));
        assert_eq!(number_before(&out, " requests in "), Some("137"), "{flags:?}: {out}");
        assert_eq!(received(&peer).matches("GET / HTTP/1.1\r\n").count(), 137, "{flags:?}");
    }
}

#[test]
fn a_script_sends_so_many_requests_too() {
    let (out, error, code) =
        script("function request() return wrk.format('PUT') end", &["-n", "41", "-c4", "-t2"]);
    demand_done((&out, &error, code));
    assert_eq!(number_before(&out, " requests in "), Some("41"), "{out}");
}

#[test]
fn what_cannot_be_loaded_is_exit_2_and_said() {
    for (arguments, part) in [
        (&["http://a/", "-c", "1", "-t", "2"][..], "each thread needs at least one"),
        (&["http://a/", "-c", "many"], "`many` is not a number"),
        (&["http://a/", "-c", "-1"], "`-1` is not a number"),
        (&["http://a/", "-R", "-5"], "`-5` is not a rate"),
        (&["http://a/", "-d", "10 parsecs"], "is not a duration"),
        (&["http://a/", "-H", "nonsense"], "has no colon"),
        (&["http://a:port/"], "has a port that is not a number"),
        (&["ftp://a/"], "must start with `http://` or `https://`"),
        (&["http://does-not-exist.invalid/"], "does-not-exist.invalid"),
        (&["plan.toml", "-c", "2"], "--connections belongs to a URL"),
        (&["http://a/", "-m", "PUT", "-z", "5s"], "write: prony run http://a/ --method PUT --duration 5s"),
        (&["http://a/", "-i", "100"], "for a URL write: prony run http://a/ --requests 100"),
        (&["http://a/", "-q", "100"], "--rate for requests a second"),
        (&["-k", "https://a/"], "--insecure to take any certificate"),
    ] {
        let (_, error, code) = run(arguments);
        assert!(error.contains(part) && code == Some(2), "{arguments:?}: {code:?} {error}");
    }
}

/// Runs one of the examples for a second with two threads.
fn example(name: &str, peer: &ScriptedPeer, flags: &[&str]) -> (String, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wrk").join(name);
    let url = peer.url();
    let arguments = [&[script.to_str().unwrap(), &url, "-c2", "-t2", "-d1"], flags].concat();
    let (out, error, code) = run(&arguments);
    demand_done((&out, &error, code));
    (out, received(peer))
}

fn requests(out: &str) -> usize {
    number_before(out, " requests in").unwrap().parse().unwrap()
}

#[test]
fn example_auth_sends_the_token_that_it_got() {
    let answer = "HTTP/1.1 200 OK\r\nX-Token: secret\r\nContent-Length: 0\r\n\r\n";
    let (out, sent) = example("auth.lua", &ScriptedPeer::answering(answer), &[]);
    assert_eq!(sent.matches("GET /authenticate ").count(), 2, "each thread logs in once");
    let later: Vec<_> = sent.split("GET ").filter(|request| request.starts_with("/resource ")).collect();
    assert!(later.len() + 4 >= requests(&out) && later.len() > 2);
    assert!(later.iter().all(|request| request.contains("X-Token: secret\r\n")));
}

#[test]
fn example_counter_counts_on_each_thread() {
    let (_, sent) = example("counter.lua", &ScriptedPeer::answering(OK), &[]);
    for number in [0, 1, 2, 3] {
        let path = format!("GET /{number} HTTP/1.1\r\n");
        assert_eq!(sent.matches(&path).count(), 2, "{path}");
    }
    assert!(sent.contains("X-Counter: 3\r\n"));
}

#[test]
fn example_delay_waits_before_each_request() {
    let (out, _) = example("delay.lua", &ScriptedPeer::answering(OK), &[]);
    // Two connections, each with a wait of 10 ms or more.
    assert!((1..=200).contains(&requests(&out)), "{out}");
}

#[test]
fn example_pipeline_sends_three_at_once() {
    let (out, sent) = example("pipeline.lua", &ScriptedPeer::answering(OK), &[]);
    let counts =
        ["red", "green", "blue"].map(|colour| sent.matches(&format!("GET /?colour={colour} ")).count());
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert!(requests(&out) > counts[0], "each of a batch is counted: {counts:?}\n{out}");
}

#[test]
fn example_post_sends_a_form() {
    let (_, sent) = example("post.lua", &ScriptedPeer::answering(OK), &[]);
    assert!(sent.starts_with("POST / HTTP/1.1\r\n"), "{sent:.300}");
    assert!(sent.contains("Content-Length: 20\r\n"), "{sent:.300}");
    assert!(sent.contains("Content-Type: application/x-www-form-urlencoded\r\n"), "{sent:.300}");
    assert!(sent.contains("\r\n\r\nname=prony&year=1821POST /"), "{sent:.300}");
}

#[test]
fn example_report_prints_after_the_summary() {
    let (out, _) = example("report.lua", &ScriptedPeer::answering(OK), &[]);
    let report = out.split("percentile,latency_ms\n").nth(1).unwrap();
    let names: Vec<_> = report.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["50", "90", "99", "99.9", "requests", "bad_statuses", "lost"]);
    assert!(report.contains(&format!("requests,{}\nbad_statuses,0\nlost,0\n", requests(&out))), "{out}");
}

#[test]
fn example_setup_reads_from_each_thread_at_the_end() {
    let (out, _) = example("setup.lua", &ScriptedPeer::answering(OK), &[]);
    let answers = |number: usize| -> usize {
        let line = out.lines().find(|line| line.starts_with(&format!("thread {number}: "))).unwrap();
        line.split_whitespace().rev().nth(1).unwrap().parse().unwrap()
    };
    assert!(answers(1) + answers(2) >= requests(&out), "{out}");
    assert!(!out.contains("thread 3"));
}

#[test]
fn example_stop_ends_each_thread_after_its_hundredth_answer() {
    let (out, _) = example("stop.lua", &ScriptedPeer::answering(OK), &[]);
    assert_eq!(requests(&out), 200);
}

#[test]
fn example_addr_sends_each_thread_to_an_address_that_answers() {
    let peer = ScriptedPeer::answering(OK);
    let (out, sent) = example("addr.lua", &peer, &[]);
    let line = format!("a thread sends to {}\n", peer.address());
    assert_eq!(out.matches(&line).count(), 2, "{out}");
    assert!(out.starts_with(&line), "what scripts print comes first: {out}");
    assert!(sent.starts_with("GET / HTTP/1.1\r\n"));
}

/// A script in a file, against a target that answers.
fn script(code: &str, flags: &[&str]) -> (String, String, Option<i32>) {
    let peer = ScriptedPeer::answering(OK);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.lua");
    std::fs::write(&path, code).unwrap();
    run(&[&["-s", path.to_str().unwrap(), &peer.url(), "-c2", "-t1", "-d1"], flags].concat())
}

#[test]
fn arguments_reach_init() {
    let (out, error, code) =
        script("function init(args) print(args[1] .. '+' .. args[2]) end", &["--", "-x", "two"]);
    demand_done((&out, &error, code));
    assert!(out.starts_with("-x+two\n"), "{out}");
}

#[test]
fn a_script_that_fails_is_exit_2_wherever_it_does() {
    for (code, function) in [
        ("\n\nx = = 1", "its main part"),
        ("function setup()\n\n error('no') end", "`setup`"),
        ("function init()\n\n error('no') end", "`init`"),
        ("function delay()\n\n error('no') end", "`delay`"),
        ("function request()\n\n error('no') end", "`request`"),
        ("function response()\n\n error('no') end", "`response`"),
        ("function done()\n\n error('no') end", "`done`"),
    ] {
        let (_, error, exit) = script(code, &[]);
        assert_eq!(exit, Some(2), "{function}: {error}");
        assert!(error.contains(function) && error.contains("test.lua:3: "), "{error}");
    }
}

#[test]
fn what_request_returns_is_looked_at() {
    let (_, error, exit) = script("function request() return 'hello' end", &[]);
    assert!(
        exit == Some(2) && error.contains("test.lua:1: request 1 of the text has no empty line"),
        "{error}"
    );
    let (_, error, exit) = script("function request() end", &[]);
    assert!(exit == Some(2) && error.contains("test.lua:1: it returned nothing"), "{error}");
}

#[test]
fn scripts_and_urls_that_do_not_fit_are_said() {
    for (arguments, part) in [
        (&["missing.lua", "http://a/"][..], "cannot read the script missing.lua: No such file"),
        (&["script.lua"], "the script `script.lua` needs a URL"),
        (&["a.lua", "http://a/", "-s", "b.lua"], "two scripts"),
        (&["http://a/", "http://b/"], "one argument too many"),
        (&["http://a/", "--", "x"], "there is no script"),
        (&["http://a/", "-s", "plan.toml"], "plan.toml is none by its name"),
    ] {
        let (_, error, code) = run(arguments);
        assert!(error.contains(part) && code == Some(2), "{arguments:?}: {code:?} {error}");
    }
}

#[test]
fn done_gets_all_that_wrk_gives_it() {
    let code = "function done(summary, latency, requests)
        local sum, before = 0, -1
        for i = 1, #latency do
            local value, count = latency(i)
            assert(value > before)
            sum, before = sum + count, value
        end
        assert(sum == summary.requests and summary.duration > 0 and summary.bytes > 0)
        assert(latency.min <= latency.mean and latency.mean <= latency.max and latency.stdev >= 0)
        assert(latency:percentile(50) <= latency:percentile(99.9) and latency:percentile(100) == latency.max)
        local value, count = latency(#latency + 1)
        assert(value == 0 and count == 0)
        assert(requests.min <= requests.max and requests.mean > 0)
        local errors = summary.errors
        assert(errors.connect + errors.read + errors.write + errors.status + errors.timeout == 0)
        print('all there')
    end";
    let (out, error, code) = script(code, &[]);
    demand_done((&out, &error, code));
    assert!(out.ends_with("all there\n"), "{out}");
}

/// A URL's and a script's samples are written like those of a k6 script, beside the same result.
#[test]
fn samples_are_written_one_by_one() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    std::fs::write(directory.path().join("w.lua"), "wrk.method = 'PUT'\n").unwrap();
    let url = format!("{}/path", peer.url());
    for first in [&["w.lua", url.as_str()][..], &[&url]] {
        let flags =
            ["-c2", "-t1", "-d1s", "--json", "--out", "json=samples.json", "--out", "csv=samples.csv"];
        let output = prony_run(directory.path(), &[first, &flags].concat());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let whole = result["windows"].as_array().unwrap().last().unwrap();
        let requests = whole["all"]["requests"].as_u64().unwrap();
        assert!(requests > 0);
        let samples = std::fs::read_to_string(directory.path().join("samples.json")).unwrap();
        let lines = samples.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let points: Vec<_> = lines.filter(|line| line["type"] == "Point").collect();
        let count = |metric: &str| points.iter().filter(|point| point["metric"] == metric).count() as u64;
        assert_eq!((count("http_reqs"), count("http_req_duration")), (requests, requests));
        assert!(count("vus") >= 1);
        let of_request = points.iter().find(|point| point["metric"] == "http_reqs").unwrap();
        assert_eq!(of_request["data"]["tags"]["expected_response"], "true");
        assert_eq!(of_request["data"]["tags"]["name"], "GET /path");
        let csv = std::fs::read_to_string(directory.path().join("samples.csv")).unwrap();
        let of_requests = csv.lines().filter(|line| line.starts_with("http_reqs,")).count() as u64;
        assert_eq!(of_requests, requests);
    }
    let (_, error, code) = run(&[&url, "--out", "influx=x"]);
    assert!(error.contains("'influx' is not an output that is supported"), "{error}");
    assert_eq!(code, Some(2));
}
