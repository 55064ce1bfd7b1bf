//! `--out KIND:TARGET` of every kind of run: what arrives is what the result says, and targets that are down or hang stop nothing.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"data\":{}}";

/// A Graphite that takes all lines of one connection.
fn graphite() -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    (address, reader)
}

/// Requests of all names and outcomes.
fn requests_in(lines: &str) -> u64 {
    let of_requests =
        lines.lines().filter(|line| line.contains(".requests.") && !line.contains("response_time"));
    let outcomes = of_requests.filter(|line| !line.contains(".bytes_"));
    outcomes.map(|line| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).sum()
}

struct Ran {
    /// What was said of outputs.
    said: Vec<String>,
    /// The whole standard error.
    error: String,
    code: Option<i32>,
    /// The file of the result.
    result: String,
}

impl Ran {
    fn requests(&self) -> u64 {
        let result: Value = serde_json::from_str(&self.result).unwrap();
        result["windows"].as_array().unwrap().last().unwrap()["all"]["requests"].as_u64().unwrap()
    }
}

fn run(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).env("XDG_CONFIG_HOME", directory);
    let output = command.args(["run", "--quiet"]).args(arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let said = error.lines().filter(|line| line.contains("--out ")).map(str::to_owned).collect();
    let results = fs::read_dir(directory.join("results")).into_iter().flatten();
    let files: Vec<_> = results.map(|entry| entry.unwrap().path()).collect();
    let result = files.last().map(|file| fs::read_to_string(file).unwrap()).unwrap_or_default();
    Ran { said, error, code: output.status.code(), result }
}

fn jmx(port: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Kauf">
<elementProp name="TestPlan.user_defined_variables" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</TestPlan><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Käufer">
<stringProp name="ThreadGroup.num_threads">2</stringProp><stringProp name="ThreadGroup.ramp_time">0</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<stringProp name="LoopController.loops">7</stringProp><boolProp name="LoopController.continue_forever">false</boolProp></elementProp>
</ThreadGroup><hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="GET /größe">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">{port}</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/a</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp><boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
"#
    )
}

fn plan(url: &str) -> String {
    format!(
        "target = \"{url}\"\nusers = 2\nduration = \"2s\"\nthink_time = \"20ms\"\n[[requests]]\nname = \"größe.b\"\npath = \"/a\"\n"
    )
}

/// Beside a target that works one that is down: said once, and at the end with all that it lacks.
#[test]
fn every_kind_of_run_sends_its_seconds() {
    let peer = ScriptedPeer::answering(OK);
    let url = format!("{}/a", peer.url());
    let script = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6';\n\
         export const options = {{ vus: 2, iterations: 30 }};\n\
         export default () => {{ http.get('{url}', {{ tags: {{ name: 'größe b' }} }}); sleep(0.05); }}\n"
    );
    let files = [
        ("plan.toml", plan(&peer.url())),
        ("w.lua", "wrk.method = 'PUT'\n".to_owned()),
        ("script.js", script),
        ("plan.jmx", jmx(peer.url().rsplit_once(':').unwrap().1)),
    ];
    let kinds: [&[&str]; 5] = [
        &["plan.toml"],
        &["-c2", "-t1", "-d1s", &url],
        &["-c2", "-t1", "-d1s", "w.lua", &url],
        &["script.js"],
        &["plan.jmx"],
    ];
    for arguments in kinds {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in &files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let (address, lines) = graphite();
        let gone = prony_testkit::free_port();
        let (up, down) = (format!("graphite:{address}"), format!("otlp=http://bob:geheim@127.0.0.1:{gone}"));
        let ran = run(
            directory.path(),
            &[&["--out", &up, "--out", &down, "--out", "json:a=b.json"], arguments].concat(),
        );
        // On a busy machine a run at full speed can be void.
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments:?}: {:?} {}", ran.code, ran.error);
        let (requests, lines) = (ran.requests(), lines.join().unwrap());
        assert!(requests > 0, "{arguments:?}");
        assert_eq!(requests_in(&lines), requests, "{arguments:?}: {lines}");
        let samples = fs::read_to_string(directory.path().join("a=b.json")).unwrap();
        let is_request =
            |line: &&str| line.contains("\"metric\":\"http_reqs\"") && line.contains("\"type\":\"Point\"");
        assert_eq!(samples.lines().filter(is_request).count() as u64, requests, "{arguments:?}");
        let name = format!("warning: --out otlp=http://127.0.0.1:{gone}: ");
        let [first, end] = ran.said.as_slice() else { panic!("{arguments:?}: {}", ran.error) };
        assert!(first.starts_with(&name) && first.contains("Connection refused"), "{first}");
        assert!(
            end.starts_with(&name) && end.contains(&format!(" with {requests} requests are missing")),
            "{end}"
        );
        assert!(!ran.error.contains("geheim") && !ran.result.contains("geheim"), "{}", ran.error);
    }
}

/// It takes connections and never responds. The run's other output has every second, and the result is whole.
#[test]
fn a_target_that_hangs_changes_nothing_of_the_run() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("plan.toml"), plan(&peer.url())).unwrap();
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let hung = format!("prometheus:http://{}/", hanging.local_addr().unwrap());
    let (address, lines) = graphite();
    let ran = run(directory.path(), &["plan.toml", "--out", &hung, "--out", &format!("graphite:{address}")]);
    assert_eq!(ran.code, Some(0), "{}", ran.error);
    let (requests, lines) = (ran.requests(), lines.join().unwrap());
    assert_eq!(requests_in(&lines), requests, "{lines}");
    let seconds = lines.lines().filter(|line| line.contains(".users ")).count();
    let [first, end] = ran.said.as_slice() else { panic!("{}", ran.error) };
    assert!(
        first.starts_with(&format!("warning: --out {hung}: no response within 5 s; the run goes on")),
        "{first}"
    );
    let missing =
        format!("warning: --out {hung}: {seconds} seconds with {requests} requests are missing there");
    assert!(end.starts_with(&missing), "{end} instead of {missing}");
}

/// A disk without room is no slow one.
#[test]
fn samples_that_a_full_disk_does_not_take_are_said_to_be_missing_for_that() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink("/dev/full", directory.path().join("samples.json")).unwrap();
    fs::write(directory.path().join("plan.toml"), plan(&peer.url())).unwrap();
    let ran = run(directory.path(), &["plan.toml", "--out", "json=samples.json"]);
    let missing: Vec<_> = ran.error.lines().filter(|line| line.contains("missing")).collect();
    assert_eq!(missing.len(), 1, "{}", ran.error);
    assert!(missing[0].contains("output json (samples.json): No space left on device"), "{}", ran.error);
    assert!(missing[0].ends_with("samples are missing after 0 lines"), "{}", ran.error);
}

#[test]
fn outputs_that_cannot_be_are_refused_before_the_run() {
    let (peer, directory) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let script = "export default () => {};";
    let files = [("plan.toml", plan(&peer.url())), ("script.js", script.to_owned()), ("plan.jmx", jmx("80"))];
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
        for (out, part) in [
            ("graphite:2003", "--out graphite:2003: its target is no HOST:PORT; write for example"),
            ("kafka=x", "for dashboards there are prometheus, otlp, influxdb, statsd, graphite"),
            (
                "experimental-prometheus-rw",
                "--out experimental-prometheus-rw: it is called prometheus here; write --out prometheus:URL",
            ),
            ("web-dashboard=export=a.html", "--out web-dashboard: --live serves a page while the run goes"),
        ] {
            let ran = run(directory.path(), &[name, "--out", out]);
            assert!(ran.error.contains(part), "{name} {out}: {}", ran.error);
            assert_ne!(ran.code, Some(0), "{name} {out}");
            assert_eq!(ran.result, "", "{name} {out}");
        }
    }
    assert!(peer.received(0).is_empty(), "nothing was sent");
}
