//! k6's REST API, `--paused` and `--linger`. With a k6 in the variable `K6`, the same has to hold of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

const SCRIPT: &str = r#"
    import { check, group, sleep } from "k6";
    import { Counter, Gauge, Rate, Trend } from "k6/metrics";
    const counter = new Counter("my_counter"), trend = new Trend("my_trend", true);
    const rate = new Rate("my_rate"), gauge = new Gauge("my_gauge");
    export const options = {
        vus: 2, duration: "60s",
        thresholds: { my_counter: ["count<5"], "my_trend{a:b}": ["p(95)<9"] },
    };
    export function setup() { return { a: 1 }; }
    export default function (data) {
        group("outer", () => group("inner", () => check(data.a, { "is one": (a) => a === 1, "is two": (a) => a === 2 })));
        counter.add(1); trend.add(5, { a: "b" }); rate.add(true); gauge.add(3);
        sleep(0.1);
    }
"#;

/// A run with the API at a port.
struct Run {
    child: Child,
    port: u16,
}

impl Run {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, SCRIPT, arguments)
    }

    fn start_with(folder: &Path, script: &str, arguments: &[&str]) -> Self {
        let port = prony_testkit::free_port();
        fs::write(folder.join("script.js"), script).unwrap();
        let program = std::env::var_os("K6").unwrap_or_else(|| env!("CARGO_BIN_EXE_prony").into());
        let address = format!("127.0.0.1:{port}");
        let mut command = Command::new(program);
        command.current_dir(folder).env("XDG_CONFIG_HOME", folder).args(["run", "-q", "-a", &address]);
        let child = command.args(arguments).arg("script.js").stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = Self { child: child.spawn().unwrap(), port };
        until("the API is there", || TcpStream::connect(("127.0.0.1", run.port)).is_ok());
        run
    }

    /// The status and the body of a response.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn json(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, body) = self.ask(method, path, body);
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}")))
    }

    /// The attributes of what is at a path.
    fn attributes(&self, path: &str) -> Value {
        let (status, body) = self.json("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        body["data"]["attributes"].clone()
    }

    /// Asks for a change of the status.
    fn change(&self, attributes: &Value) -> (u16, Value) {
        let asked = json!({"data": {"type": "status", "id": "default", "attributes": attributes}});
        self.json("PATCH", "/v1/status", &asked.to_string())
    }

    fn until_status(&self, status: u64) {
        until(&format!("the status is {status}"), || self.attributes("/v1/status")["status"] == status);
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// The exit code, and all that was said.
    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "it does not come to be that {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

const PAUSED: u64 = 4;
const RUNNING: u64 = 7;

#[test]
fn a_paused_run_is_resumed_looked_at_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), &["--paused"]);
    run.until_status(PAUSED);
    let paused = json!({"status": 4, "paused": true, "vus": 0, "vus-max": 2, "stopped": false, "running": false, "tainted": false});
    assert_eq!(run.attributes("/v1/status"), paused);
    assert_eq!(run.attributes("/v1/setup"), json!({}));
    assert_eq!(run.change(&json!({"paused": true})).1["errors"][0]["detail"], "execution is already paused");
    assert_eq!(run.change(&json!({"paused": false})).1["data"]["attributes"]["paused"], false);
    run.until_status(RUNNING);
    assert_eq!(run.attributes("/v1/setup"), json!({"data": {"a": 1}}));
    until("a threshold was judged", || run.attributes("/v1/status")["tainted"] == true);
    let status = run.attributes("/v1/status");
    assert_eq!((&status["vus"], &status["running"]), (&json!(2), &json!(true)), "{status}");

    let (status, metrics) = run.json("GET", "/v1/metrics", "");
    let all = metrics["data"].as_array().unwrap();
    assert_eq!(status, 200);
    for (name, kind, contains, tainted, figures) in [
        ("my_counter", "counter", "default", json!(true), "count rate"),
        ("my_trend", "trend", "time", json!(null), "avg max med min p(90) p(95)"),
        ("my_trend{a:b}", "trend", "time", json!(false), "avg max med min p(90) p(95)"),
        ("my_rate", "rate", "default", json!(null), "rate"),
        ("my_gauge", "gauge", "default", json!(null), "value"),
        ("vus", "gauge", "default", json!(null), "value"),
    ] {
        let metric =
            all.iter().find(|metric| metric["id"] == name).unwrap_or_else(|| panic!("{name}: {metrics}"));
        let attributes = &metric["attributes"];
        assert_eq!(
            (&metric["type"], &attributes["type"], &attributes["contains"], &attributes["tainted"]),
            (&json!("metrics"), &json!(kind), &json!(contains), &tainted),
            "{metric}"
        );
        let mut names: Vec<&str> =
            attributes["sample"].as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), figures, "{metric}");
    }
    assert_eq!(run.attributes("/v1/metrics/my_trend")["sample"]["p(95)"], 5);
    assert!(run.attributes("/v1/metrics/iterations")["sample"]["rate"].as_f64().unwrap() > 0.0);

    let (_, groups) = run.json("GET", "/v1/groups", "");
    let paths: Vec<_> =
        groups["data"].as_array().unwrap().iter().map(|group| &group["attributes"]["path"]).collect();
    assert_eq!(paths, ["", "::outer", "::outer::inner"]);
    let [root, outer, inner] = [0, 1, 2].map(|index| &groups["data"][index]);
    assert_eq!(root["attributes"]["checks"], Value::Null);
    assert_eq!(outer["relationships"]["groups"]["data"], json!([{"type": "groups", "id": inner["id"]}]));
    assert_eq!(outer["relationships"]["parent"]["data"], json!({"type": "groups", "id": root["id"]}));
    let two = &inner["attributes"]["checks"][1];
    assert_eq!((&two["path"], &two["passes"]), (&json!("::outer::inner::is two"), &json!(0)));
    assert_eq!(run.attributes(&format!("/v1/groups/{}", root["id"].as_str().unwrap()))["path"], "");

    run.change(&json!({"stopped": true}));
    let (code, said) = run.end();
    assert!(matches!(code, Some(99 | 103 | 105)), "{code:?} {said}");
    assert!(said.contains("my_counter"), "{said}");
}

#[test]
fn what_cannot_be_done_is_refused_in_k6s_words() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), &[]);
    run.until_status(RUNNING);
    for (method, path, body, status, expected) in [
        ("GET", "/", "", 200, "ok"),
        ("GET", "/ping", "", 200, "ok"),
        ("GET", "/v1/nothing", "", 404, "404 page not found\n"),
        ("POST", "/v1/status", "{}", 405, ""),
        ("DELETE", "/v1/metrics", "", 405, ""),
        (
            "GET",
            "/v1/metrics/none",
            "",
            404,
            r#"{"errors":[{"status":"404","title":"Not Found","detail":"No metric with that ID was found"}]}"#,
        ),
    ] {
        let (found, text) = run.ask(method, path, body);
        let same = match (serde_json::from_str::<Value>(&text), serde_json::from_str::<Value>(expected)) {
            (Ok(found), Ok(expected)) => found == expected,
            _ => text == expected,
        };
        assert!(found == status && same, "{method} {path}: {found} {text}");
    }
    let error = |attributes: &Value| run.change(attributes).1["errors"][0].clone();
    let detail =
        "constant-vus executor 'default' doesn't support pause and resume operations after its start";
    assert_eq!(
        error(&json!({"paused": true})),
        json!({"status": "500", "title": "Pause error", "detail": detail})
    );
    let detail = "an externally-controlled executor needs to be configured for live configuration updates";
    let refused = json!({"status": "500", "title": "Execution config error", "detail": detail});
    assert_eq!(error(&json!({"vus": 5})), refused);
    let (status, invalid) = run.json("PATCH", "/v1/status", "nonsense");
    assert_eq!((status, &invalid["errors"][0]["title"]), (400, &json!("Invalid data")));
    run.interrupt();
    assert_ne!(run.end().0, Some(0));
}

#[test]
fn setup_and_teardown_run_when_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        import { Counter } from "k6/metrics";
        import { sleep } from "k6";
        const set_up = new Counter("set_up"), torn_down = new Counter("torn_down"), by_put = new Counter("by_put");
        let calls = 0;
        export const options = { vus: 2, duration: "60s", setupTimeout: "5s" };
        export function setup() { set_up.add(1); return { from: "setup", calls: ++calls }; }
        export default function (data) { if (data.from === "put") by_put.add(1); sleep(0.05); }
        export function teardown(data) { torn_down.add(1); if (data.from === "bad") throw new Error("no good"); }
    "#;
    let run = Run::start_with(folder.path(), script, &["--paused", "--no-setup", "--no-teardown"]);
    run.until_status(PAUSED);
    let attributes =
        |method: &str, body: &str| run.json(method, "/v1/setup", body).1["data"]["attributes"].clone();
    assert_eq!(attributes("GET", ""), json!({}));
    assert_eq!(attributes("POST", ""), json!({"data": {"from": "setup", "calls": 1}}));
    assert_eq!(attributes("POST", ""), json!({"data": {"from": "setup", "calls": 1}}), "a user of its own");
    assert_eq!(attributes("PUT", "null"), json!({"data": null}));
    assert_eq!(attributes("PUT", ""), json!({}));
    let (status, invalid) = run.json("PUT", "/v1/setup", "nonsense");
    assert_eq!((status, &invalid["errors"][0]["title"]), (400, &json!("Error parsing request body")));
    assert_eq!(attributes("PUT", r#"{"from": "put"}"#), json!({"data": {"from": "put"}}));
    run.change(&json!({"paused": false}));
    run.until_status(RUNNING);
    until("users have the data", || run.ask("GET", "/v1/metrics/by_put", "").0 == 200);
    // While the load goes on.
    assert_eq!(attributes("POST", "")["data"]["from"], "setup");
    assert_eq!(run.ask("POST", "/v1/teardown", ""), (200, String::new()));
    attributes("PUT", r#"{"from": "bad"}"#);
    let (status, failed) = run.json("POST", "/v1/teardown", "");
    assert_eq!((status, &failed["errors"][0]["title"]), (500, &json!("Error executing teardown")));
    assert!(failed["errors"][0]["detail"].as_str().unwrap().contains("no good"), "{failed}");
    // Nothing where no sample has come yet.
    let count = |name: &str| {
        let (_, metric) = run.json("GET", &format!("/v1/metrics/{name}"), "");
        metric["data"]["attributes"]["sample"]["count"].clone()
    };
    until("all samples are there", || count("torn_down") == 2);
    assert_eq!(count("set_up"), 3);
    run.change(&json!({"stopped": true}));
    let (code, said) = run.end();
    assert!(matches!(code, Some(103 | 105)), "{code:?} {said}");
    assert!(said.contains("no good"), "{said}");
}

#[test]
fn half_a_request_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), &[]);
    run.until_status(7);
    let mut stream = TcpStream::connect(("127.0.0.1", run.port)).unwrap();
    stream.write_all(b"PUT /v1/setup HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    assert_eq!(run.attributes("/v1/setup"), json!({"data": {"a": 1}}));
    run.interrupt();
    assert_eq!(run.end().0, Some(105));
}

#[test]
fn a_run_that_lingers_is_there_until_the_signal() {
    const ENDED: u64 = 9;
    let folder = tempfile::tempdir().unwrap();
    let run = Run::start(folder.path(), &["--linger", "-i", "6", "--no-thresholds"]);
    run.until_status(ENDED);
    thread::sleep(Duration::from_millis(600));
    let status = run.attributes("/v1/status");
    assert_eq!((&status["running"], &status["vus"]), (&json!(false), &json!(0)), "{status}");
    assert_eq!(run.attributes("/v1/metrics/iterations")["sample"]["count"], 6);
    run.interrupt();
    let (code, said) = run.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("iterations...........: 6"), "{said}");
}

#[test]
fn nobody_can_resume_a_run_without_an_address() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.js"), SCRIPT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    let output = command.current_dir(folder.path()).args(["run", "--paused", "script.js"]).output().unwrap();
    assert_eq!(output.status.code(), Some(104));
    assert!(String::from_utf8_lossy(&output.stderr).contains("give the REST API an --address"));
}

#[test]
fn an_address_that_is_taken_is_said_with_the_flag_that_chooses_another() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.js"), SCRIPT).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    let output =
        command.current_dir(folder.path()).args(["run", "-a", &address, "script.js"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let said = format!("error: cannot serve the REST API at {address}; choose another --address: ");
    assert_eq!(output.status.code(), Some(104), "{error}");
    assert!(error.contains(&said), "{error}");
}
