//! `prony run SCRIPT.js` as someone meets it who knows k6: the process, its lines, its files, its exit codes.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

struct Ran {
    out: String,
    error: String,
    code: Option<i32>,
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("run").args(arguments).env("XDG_CONFIG_HOME", directory);
    command
}

fn run_in(directory: &Path, script: &str, arguments: &[&str]) -> Ran {
    fs::write(directory.join("script.js"), script).unwrap();
    let output = command(directory, arguments).args(["--quiet", "script.js"]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { out: text(output.stdout), error: text(output.stderr), code: output.status.code() }
}

fn run(script: &str, arguments: &[&str]) -> Ran {
    run_in(tempfile::tempdir().unwrap().path(), script, arguments)
}

fn check(script: &str, arguments: &[&str], code: i32, parts: &[&str]) {
    let ran = run(script, arguments);
    let all = format!("{}{}", ran.out, ran.error);
    assert_eq!(ran.code, Some(code), "{script}\n{all}");
    for part in parts {
        assert!(all.contains(part), "{part} is missing in:\n{all}");
    }
}

const NOTHING: &str = "export default function () {}";

#[test]
fn a_script_ends_with_k6s_summary_and_a_result_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"
        import { sleep } from "k6";
        export const options = { vus: 2, iterations: 6, thresholds: { iterations: ["count==6"] } };
        export function setup() { return { by: "setup" }; }
        export default function (data) { if (data.by !== "setup") throw new Error("no data"); sleep(0.01); }
        export function teardown(data) { if (data.by !== "setup") throw new Error("no data"); }
    "#;
    let ran = run_in(directory.path(), script, &["--summary-export", "export.json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.error);
    for part in ["✓ 'count==6' count=6", "iterations...........: 6"] {
        assert!(ran.out.contains(part), "{part} is missing in:\n{}", ran.out);
    }
    let export: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join("export.json")).unwrap()).unwrap();
    assert_eq!(export["metrics"]["iterations"]["count"], 6);
    let mut results = fs::read_dir(directory.path().join("results")).unwrap();
    let name = results.next().unwrap().unwrap().file_name().into_string().unwrap();
    assert!(name.starts_with("script-") && name.ends_with(".prony.json"), "{name}");
}

#[test]
fn exit_codes_are_those_of_k6() {
    let crossed = r#"export const options = { thresholds: { iterations: ["count>5"] } }; export default function () {}"#;
    check(crossed, &[], 99, &["crossed thresholds on iterations"]);
    check(crossed, &["--no-thresholds"], 0, &[]);
    check("export default function () {", &[], 107, &["script.js:1:"]);
    check(
        "import x from './nope.js'; export default function () {}",
        &[],
        107,
        &["script.js:1:15", "nope.js"],
    );
    check(
        "throw new Error('in init'); export default function () {}",
        &[],
        107,
        &["in init", "script.js:1:"],
    );
    check("export const one = 1;", &[], 107, &["export default function"]);
    check("export const options = { vus: 1.5 }; export default function () {}", &[], 104, &["whole number"]);
    check(NOTHING, &["-i", "3", "-s", "1s:3"], 104, &["`iterations` and `stages` contradict each other"]);
    check(NOTHING, &["--duration", "10"], 104, &["--duration must be a duration with a unit"]);
    check("export default function () { throw new Error('in an iteration'); }", &[], 0, &["in an iteration"]);
    let unknown =
        r#"export const options = { thresholds: { nope: ["count>5"] } }; export default function () {}"#;
    check(unknown, &[], 104, &["nope"]);
}

#[test]
fn a_script_that_aborts_still_has_its_teardown_and_summary() {
    let script = r#"
        import exec from "k6/execution";
        export default function () { exec.test.abort("for a reason"); }
        export function teardown() { console.log("torn down"); }
        export function handleSummary() { return { stdout: "summary was told" }; }"#;
    check(script, &[], 108, &["test aborted: for a reason", "torn down", "summary was told"]);
    let failed = r#"import exec from "k6/execution"; export default function () { exec.test.fail("so"); }"#;
    check(failed, &[], 110, &["marked the run as failed"]);
}

#[test]
fn setup_and_teardown_have_exit_codes_of_their_own() {
    let told = r#"export function handleSummary() { return { stdout: "summary was told\n" }; } export default function () {}"#;
    let with = |part: &str| format!("import {{ sleep }} from 'k6'; {part}\n{told}");
    let told = "summary was told";
    check(&with("export function setup() { throw new Error('in setup'); }"), &[], 107, &["in setup", told]);
    check(&with("export function setup() { throw new Error('in setup'); }"), &["--no-setup"], 0, &[told]);
    check(
        &with("export function teardown() { throw new Error('in teardown'); }"),
        &[],
        107,
        &["in teardown", told],
    );
    check(
        &with("export function teardown() { throw new Error('in teardown'); }"),
        &["--no-teardown"],
        0,
        &[told],
    );
    let slow = "export const options = { setupTimeout: '50ms' }; export function setup() { sleep(60); }";
    check(&with(slow), &[], 100, &["setup() did not end within 0.05 s", told]);
    let slow =
        "export const options = { teardownTimeout: '50ms' }; export function teardown() { sleep(60); }";
    check(&with(slow), &[], 101, &["teardown() did not end within 0.05 s", told]);
}

#[test]
fn the_summary_is_the_scripts_where_it_has_one() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"
        export default function () {}
        export function handleSummary(data) {
            return { "count.txt": String(data.metrics.iterations.values.count), stdout: "to stdout", stderr: "to stderr",
                "bytes.bin": new Uint8Array([1, 2, 255]).buffer };
        }"#;
    let ran = run_in(directory.path(), script, &["-i", "3"]);
    assert_eq!((ran.out.as_str(), ran.error.as_str(), ran.code), ("to stdout", "to stderr", Some(0)));
    assert_eq!(fs::read_to_string(directory.path().join("count.txt")).unwrap(), "3");
    assert_eq!(fs::read(directory.path().join("bytes.bin")).unwrap(), [1, 2, 255]);
    let failing = "export default function () {} export function handleSummary() { throw new Error('in the summary'); }";
    check(failing, &[], 0, &["in the summary", "iterations...........: 1"]);
}

#[test]
fn options_come_from_file_script_variables_and_flags() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("options.json"), r#"{"iterations": 2, "vus": 2}"#).unwrap();
    let count = |script: &str, variables: &[(&str, &str)], arguments: &[&str]| {
        fs::write(directory.path().join("script.js"), script).unwrap();
        let mut command = command(directory.path(), &["-q", "script.js"]);
        let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("iterations.")).unwrap_or_default();
        line.split_whitespace().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(count(NOTHING, &[], &["--config", "options.json"]), "2");
    let script = "export const options = { iterations: 3 }; export default function () {}";
    assert_eq!(count(script, &[], &["--config", "options.json"]), "3");
    assert_eq!(count(script, &[("K6_ITERATIONS", "4")], &[]), "4");
    assert_eq!(count(script, &[("K6_ITERATIONS", "4")], &["-i", "5"]), "5");
}

#[test]
fn a_script_comes_from_standard_input_and_sees_its_variables() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = command(directory.path(), &["-q", "-e", "NAME=value", "--vus", "2", "-i", "2", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = "export default function () {} export function handleSummary() { return { stdout: `${__ENV.NAME}` }; }";
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()),
        (Some(0), "value")
    );
}

/// Sends SIGINT while a phase waits for an answer that does not come. The second one only where it is asked for.
fn interrupted_in(phase: &str, is_twice: bool) -> (Option<i32>, String) {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        r#"
        import http from "k6/http";
        const wait = (phase) => {{ if (phase === "{phase}") http.get("http://{}/"); }};
        export function setup() {{ wait("setup"); }}
        export default function () {{ wait("iteration"); }}
        export function teardown() {{ wait("teardown"); }}
        export function handleSummary() {{ wait("summary"); return {{ stdout: "summary was told" }}; }}"#,
        target.local_addr().unwrap()
    );
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("script.js"), script).unwrap();
    let arguments = ["-q", "-i", "1", "script.js"];
    let child = command(directory.path(), &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let (mut connection, _) = target.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    let process = Pid::from_child(&child);
    kill_process(process, Signal::INT).unwrap();
    if is_twice {
        // Signals of one number that wait are one signal: the second is sent until the process is gone.
        while kill_process(process, Signal::INT).is_ok() && !is_gone(&mut connection) {}
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Waits for a moment for the end of a connection.
fn is_gone(connection: &mut TcpStream) -> bool {
    connection.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut rest = [0; 4096];
    match connection.read(&mut rest) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

#[test]
fn a_signal_ends_what_goes_on_and_the_summary_still_comes() {
    for phase in ["setup", "iteration"] {
        assert_eq!(interrupted_in(phase, false), (Some(105), "summary was told".to_owned()), "in {phase}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for phase in ["teardown", "summary"] {
        assert_eq!(interrupted_in(phase, true), (Some(105), String::new()), "in {phase}");
    }
}
