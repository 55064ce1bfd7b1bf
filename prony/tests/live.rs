//! `prony run --live` as a browser meets it: the page, its events, the stop and who may not, and the report afterwards.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const PATIENCE: Duration = Duration::from_secs(60);

/// A run with a page, ended when it is dropped.
struct Run {
    child: Child,
    address: String,
    token: String,
    /// Standard error after the line with the address.
    errors: BufReader<std::process::ChildStderr>,
}

impl Run {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = command(directory, arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).unwrap() > 0, "no address was said: {said}");
            if let Some(url) = line.trim().strip_prefix("live: http://") {
                break url.to_owned();
            }
            said.push_str(&line);
        };
        let (address, token) = url.split_once("/#").unwrap();
        Self { child, address: address.to_owned(), token: token.to_owned(), errors }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The status and all that follows.
    fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let mut fields = fields.to_vec();
        if !fields.iter().any(|(name, _)| *name == "Host") {
            fields.push(("Host", &self.address));
        }
        let mut stream = self.connect();
        write!(stream, "{method} {path} HTTP/1.1\r\n").unwrap();
        for (name, value) in fields {
            write!(stream, "{name}: {value}\r\n").unwrap();
        }
        stream.write_all(b"Connection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
    }

    fn events(&self) -> Events {
        let mut stream = self.connect();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let events = Events { stream: BufReader::new(stream), text: String::new() };
        events.after_head()
    }

    fn token_field(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// The exit code, and what was said on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).args(arguments).stdout(Stdio::null()).stdin(Stdio::null());
    command
}

/// Pages as they come.
struct Events {
    stream: BufReader<TcpStream>,
    /// What has come and is not whole.
    text: String,
}

impl Events {
    fn after_head(mut self) -> Self {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        self
    }

    /// Of the chunked body (RFC 9112, section 7.1); false at its end.
    fn read_chunk(&mut self) -> bool {
        let mut size = String::new();
        if self.stream.read_line(&mut size).unwrap() == 0 {
            return false;
        }
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(chunk.len() - 2);
        self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        !chunk.is_empty()
    }
}

impl Iterator for Events {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.strip_prefix("event: page\ndata: ").map(str::to_owned);
                self.text = rest.to_owned();
                if let Some(data) = data {
                    return Some(serde_json::from_str(&data).unwrap());
                }
            }
            if !self.read_chunk() {
                return None;
            }
        }
    }
}

fn has_figures(page: &Value) -> bool {
    page["runs"].as_array().is_some_and(|runs| !runs.is_empty())
}

fn plan(directory: &Path, url: &str, duration: &str) {
    let text = format!(
        "target = \"{url}\"\nusers = 2\nduration = \"{duration}\"\nthink_time = \"10ms\"\n\
         thresholds = [\"errors<1%\"]\n[[requests]]\nname = \"list\"\npath = \"/\"\n"
    );
    fs::write(directory.join("plan.toml"), text).unwrap();
}

/// What the report's page draws.
fn report(directory: &Path, file: &str) -> Option<Value> {
    let output = command(directory, &["report", file, "--html", "page.html"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(directory.join("page.html")).unwrap();
    // A program that was built without npm has plain pages.
    let (_, data) = page.split_once("id=\"data\">")?;
    Some(serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap())
}

#[test]
fn a_run_is_seen_stopped_by_its_token_alone_and_the_report_is_the_last_page() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer.url(), "10m");
    let run = Run::start(directory.path(), &["run", "plan.toml", "--live", "127.0.0.1:0", "--threads", "1"]);
    let (status, page) = run.ask("GET", "/", &[]);
    assert_eq!(status, 200);
    assert!(page.contains("text/html") && page.contains("frame-ancestors 'none'"), "{page}");
    assert!(!page.contains(&run.token), "the page itself gives the token away");
    let mut events = run.events();
    let pages: Vec<_> = events.by_ref().filter(has_figures).take(2).collect();
    let seconds: Vec<_> = pages.iter().map(|page| page["live"]["elapsed_s"].as_f64().unwrap()).collect();
    assert!(0.0 < seconds[0] && seconds[0] < seconds[1], "{seconds:?}");
    for page in &pages {
        assert_eq!(page["live"]["end"], Value::Null);
        assert_eq!(page["live"]["duration_s"], 600.0);
        assert_eq!(page["runs"][0]["verdict"], Value::Null, "a verdict before the end");
        assert_eq!(page["runs"][0]["thresholds"][0]["text"], "errors<1%");
    }

    let token = run.token_field();
    let own = format!("http://{}", run.address);
    let refused: [(u16, &[(&str, &str)]); 6] = [
        (401, &[]),
        (401, &[("Authorization", "Bearer 00000000000000000000000000000000")]),
        (401, &[("Origin", &own)]),
        (403, &[("Authorization", &token), ("Origin", "http://evil.example")]),
        (403, &[("Authorization", &token), ("Origin", "null")]),
        (403, &[("Authorization", &token), ("Host", "evil.example")]),
    ];
    for (expected, fields) in refused {
        assert_eq!(run.ask("POST", "/stop", fields).0, expected, "{fields:?}");
    }
    assert_eq!(run.ask("GET", "/stop", &[("Authorization", &token)]).0, 405);
    assert_eq!(run.ask("GET", "/", &[("Host", "evil.example")]).0, 403);
    assert_eq!(run.ask("GET", "/events", &[("Host", "evil.example")]).0, 403);
    assert_eq!(run.ask("GET", "/elsewhere", &[]).0, 404);
    assert!(events.next().is_some_and(|page| page["live"]["end"].is_null()), "it goes on");

    let stopped = run.ask("POST", "/stop", &[("Authorization", &token), ("Origin", &own)]);
    assert_eq!(stopped.0, 202, "{}", stopped.1);
    let last = events.last().unwrap();
    let (code, said) = run.end();
    assert!(code.is_some(), "{said}");
    let file = last["runs"][0]["file"].as_str().unwrap();
    assert!(last["live"]["end"].as_str().unwrap().contains(file), "{}", last["live"]);
    assert!(last["runs"][0]["notice"].as_str().unwrap().starts_with("stopped early"));
    if let Some(report) = report(directory.path(), file) {
        for part in ["title", "version", "verdict", "runs"] {
            assert_eq!(report[part], last[part], "{part}");
        }
        assert_eq!(report["live"], Value::Null);
    }
}

/// Runs to its end with a page that is open, and gives what came.
fn seen(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let run = Run::start(directory, arguments);
    let pages: Vec<_> = run.events().collect();
    let (code, said) = run.end();
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {said}");
    assert!(!pages.last().unwrap()["live"]["end"].is_null(), "the last page is not the last");
    let during = pages.iter().filter(|page| page["live"]["end"].is_null() && has_figures(page)).count();
    assert!(during > 0, "nothing was seen while it went");
    pages
}

#[test]
fn every_kind_of_run_has_a_page() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let (url, folder) = (peer.url(), directory.path());
    plan(folder, &url, "3s");
    let script = format!(
        "import http from 'k6/http';\nexport const options = {{ vus: 1, duration: '3s' }};\n\
         export default function () {{ http.get('{url}/'); }}\n"
    );
    fs::write(folder.join("script.js"), script).unwrap();
    fs::write(folder.join("script.lua"), "request = function() return wrk.format('GET', '/') end\n").unwrap();
    let pages = seen(folder, &["run", &url, "-d3s", "-c1", "-t1", "--live=127.0.0.1:0"]);
    assert_eq!(pages.last().unwrap()["runs"].as_array().unwrap().len(), 1);
    seen(folder, &["run", "--live", "127.0.0.1:0", "script.lua", &url, "-d3s", "-c1", "-t1"]);
    seen(folder, &["run", "script.js", "--quiet", "--live=127.0.0.1:0"]);
    let arguments =
        ["find", "plan.toml", "--slo", "errors<1%", "--max", "1", "--hold", "3s", "--live", "127.0.0.1:0"];
    let pages = seen(folder, &arguments);
    assert!(pages.last().unwrap()["search"].is_object(), "the last page is not the search");
}

const JMETER: &str = include_str!("live/plan.jmx");

#[test]
fn a_jmeter_plan_has_a_page() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let port = peer.url().rsplit(':').next().unwrap().to_owned();
    fs::write(directory.path().join("plan.jmx"), JMETER.replace("PORT", &port)).unwrap();
    let pages = seen(directory.path(), &["run", "plan.jmx", "--live=127.0.0.1:0"]);
    assert_eq!(pages.last().unwrap()["runs"][0]["file"].as_str().unwrap().split('/').next(), Some("results"));
}

#[test]
fn where_no_page_can_be_nothing_is_sent() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer.url(), "1s");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, part) in [
        (taken.as_str(), "choose another one"),
        ("nowhere", "write HOST:PORT"),
        ("127.0.0.1:99999", "write HOST:PORT"),
    ] {
        let live = format!("--live={address}");
        let output = command(directory.path(), &["run", "plan.toml", &live]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(address) && said.contains(part), "{said}");
    }
    assert!(!directory.path().join("results").exists());
}

#[test]
fn a_run_without_readers_ends_as_it_does_without_a_page() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    plan(directory.path(), &peer.url(), "1s");
    let run = Run::start(directory.path(), &["run", "plan.toml", "--quiet", "--live=127.0.0.1:0"]);
    assert_eq!(run.end(), (Some(0), String::new()));
}
