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
    let (out, error, code) = run(&[&url, "-c", "2", "-t1", "-d", "1s", "-L", "-H", "X-Test: yes"]);
    assert_eq!((error.as_str(), code), ("", Some(0)));
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
    assert_eq!(code, Some(0));
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
    let (_, _, code) = run(&[&peer.url(), "-c1", "-d1", "--body", "a=1"]);
    assert_eq!(code, Some(0));
    let sent = received(&peer);
    assert!(sent.starts_with("POST / HTTP/1.1\r\n") && sent.contains("\r\n\r\na=1POST /"), "{sent:.300}");
}

#[test]
fn what_cannot_be_loaded_is_exit_2_and_said() {
    for (arguments, part) in [
        (&["http://a/", "-c", "1", "-t", "2"][..], "each thread needs at least one"),
        (&["http://a/", "-c", "many"], "`many` is not a number"),
        (&["http://a/", "-d", "10 parsecs"], "is not a duration"),
        (&["http://a/", "-H", "nonsense"], "has no colon"),
        (&["http://a:port/"], "has a port that is not a number"),
        (&["ftp://a/"], "must start with `http://` or `https://`"),
        (&["http://does-not-exist.invalid/"], "does-not-exist.invalid"),
        (&["plan.toml", "-c", "2"], "--connections belongs to a URL"),
    ] {
        let (_, error, code) = run(arguments);
        assert!(error.contains(part) && code == Some(2), "{arguments:?}: {code:?} {error}");
    }
}
