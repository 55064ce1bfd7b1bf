//! k6 scripts on several workers: what users see of the whole run, what of it runs once, and what merged figures decide.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::peer::ScriptedPeer;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

const LIFE: &str = r#"
import http from 'k6/http';
import exec from 'k6/execution';
import { check, group } from 'k6';
import { SharedArray } from 'k6/data';
import { Counter, Trend, Gauge } from 'k6/metrics';
import { pathOf } from '../common/paths.js';

const rows = new SharedArray('rows', () => open('../data/zeilen größer.txt').trim().split('\n'));
const orders = new Counter('orders_of_all_users');
const sizes = new Trend('sizes');
const level = new Gauge('level');

export const options = {
  scenarios: {
    readers: { executor: 'shared-iterations', vus: 5, iterations: 23, exec: 'read' },
    writers: { executor: 'per-vu-iterations', vus: 4, iterations: 3, exec: 'write' },
  },
  thresholds: {
    'orders_of_all_users{kind:even}': ['count==12'],
    orders_of_all_users: ['count==23'],
    checks: ['rate==1'],
    sizes: ['max==22', 'min==0', 'med==11'],
  },
};

export function setup() {
  http.get(`${__ENV.BASE}/setup`);
  return { token: 'größe-7', base: __ENV.BASE };
}

export function read(data) {
  const iteration = exec.scenario.iterationInTest;
  http.get(`${data.base}${pathOf('read', iteration, rows[iteration])}?vu=${exec.vu.idInTest}`, { tags: { name: 'read' } });
  orders.add(1, { kind: iteration % 2 === 0 ? 'even' : 'odd' });
  sizes.add(iteration);
  group('inner', () => check(data, { 'has the token': (data) => data.token === 'größe-7' }));
}

export function write(data) {
  const { vu } = exec;
  http.get(`${data.base}/write/${vu.idInTest}/${vu.idInInstance}/${__VU}/${vu.iterationInScenario}`, { tags: { name: 'write' } });
  level.add(5);
}

export function teardown(data) {
  http.get(`${data.base}/teardown/${encodeURIComponent(data.token)}`);
}

export function handleSummary(data) {
  return { 'summary.json': JSON.stringify(data), stdout: 'told once\n' };
}
"#;

fn prony(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let server = prony_testkit::nats::program().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.current_dir(directory).arg("run").args(arguments);
    command.args(["--nats-server", &server, "--quiet"]);
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The paths that were asked for.
fn paths(peer: &ScriptedPeer) -> Vec<String> {
    let seen: Vec<u8> = (0..peer.connections()).flat_map(|index| peer.received(index)).collect();
    let seen = String::from_utf8(seen).unwrap();
    let lines = seen.lines().filter_map(|line| line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1"));
    lines.map(str::to_owned).collect()
}

fn write_life(folder: &Path) {
    for name in ["tests", "common", "data"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(folder.join("tests/life.js"), LIFE).unwrap();
    let paths = "export const pathOf = (...parts) => '/' + parts.map(encodeURIComponent).join('/');\n";
    fs::write(folder.join("common/paths.js"), paths).unwrap();
    let rows: Vec<_> = (0..23).map(|row| format!("kunde-{:x}", row * 7919 + 13)).collect();
    fs::write(folder.join("data/zeilen größer.txt"), rows.join("\n")).unwrap();
}

fn result(folder: &Path) -> Value {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("results")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "workers left nothing: {files:?}");
    serde_json::from_str(&fs::read_to_string(files.remove(0)).unwrap()).unwrap()
}

#[test]
fn a_life_on_three_workers_is_that_of_one_machine() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    write_life(folder.path());
    let base = format!("BASE={}", peer.url());
    let (code, printed, told) = prony(folder.path(), &["tests/life.js", "-e", &base, "--workers", "local:3"]);
    assert_eq!((code, printed.as_str()), (Some(0), "told once\n"), "{told}");
    let paths = paths(&peer);
    let count = |begin: &str| paths.iter().filter(|path| path.starts_with(begin)).count();
    assert_eq!(
        (count("/setup"), count("/teardown/gr%C3%B6%C3%9Fe-7"), count("/teardown")),
        (1, 1, 1),
        "{paths:?}"
    );

    // Each row once, by the number of the iteration in the whole test.
    let read: BTreeSet<_> =
        paths.iter().filter_map(|path| path.strip_prefix("/read/")?.split('?').next()).collect();
    let expected: BTreeSet<_> = (0..23).map(|row| format!("{row}/kunde-{:x}", row * 7919 + 13)).collect();
    assert_eq!(read, expected.iter().map(String::as_str).collect());
    assert_eq!(count("/read/"), 23);

    // Users of the second scenario have the numbers after the first one's, and each iterates three times.
    let mut write: Vec<_> = paths.iter().filter_map(|path| path.strip_prefix("/write/")).collect();
    write.sort_unstable();
    let user =
        |user: u32| (0..3).map(move |iteration| format!("{user}/{}/{user}/{iteration}", (user - 1) / 3 + 1));
    assert_eq!(write, (6..10).flat_map(user).collect::<Vec<_>>());

    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("summary.json")).unwrap()).unwrap();
    let metric = |name: &str| &summary["metrics"][name]["values"];
    assert_eq!(metric("iterations")["count"], 35);
    assert_eq!(metric("http_reqs")["count"], 37, "setup and teardown among them");
    assert_eq!(metric("orders_of_all_users")["count"], 23);
    assert_eq!((&metric("checks")["passes"], &metric("checks")["fails"]), (&23.into(), &0.into()));
    assert_eq!(metric("level")["value"], 5);
    assert_eq!(metric("vus_max")["value"], 9);
    assert_eq!(summary["root_group"]["groups"][0]["checks"][0]["passes"], 23);
    assert_eq!(summary["setup_data"]["token"], "größe-7");

    let result = result(folder.path());
    let users = result["workers"].as_array().unwrap().iter().map(|worker| worker["users"].as_u64().unwrap());
    assert_eq!(users.collect::<Vec<_>>(), [3, 3, 3]);
    let whole = result["windows"].as_array().unwrap().last().unwrap();
    assert_eq!(whole["all"]["successes"], 35, "the load's own requests");
    let names: BTreeSet<_> =
        whole["by_request"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["read", "write"]), "each has the name of its tag, as on one machine");
}

#[test]
fn merged_figures_decide_and_one_abort_ends_all() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let run = |text: &str| {
        fs::write(folder.path().join("s.js"), text).unwrap();
        let base = format!("BASE={}", peer.url());
        prony(folder.path(), &["s.js", "-e", &base, "--workers", "local:2"])
    };
    let head = "import http from 'k6/http'; import exec from 'k6/execution'; import { sleep } from 'k6';\n";
    // No worker has more than 6 of them.
    let (code, _, told) = run(&format!(
        "{head}export const options = {{ vus: 4, iterations: 11, thresholds: {{ iterations: ['count<11'] }} }};\n\
         export default () => {{ http.get(__ENV.BASE); }}"
    ));
    assert_eq!(code, Some(99), "{told}");
    assert!(told.contains("crossed thresholds on iterations"), "{told}");

    let (code, _, told) = run(&format!(
        "{head}export const options = {{ vus: 4, duration: '60s', thresholds: {{ iterations: [{{ threshold: 'count<9', \
         abortOnFail: true }}] }} }};\nexport default () => {{ sleep(0.3); }}"
    ));
    assert_eq!(code, Some(99), "{told}");
    assert!(told.contains("so the run ends early"), "{told}");

    let (code, _, told) = run(&format!(
        "{head}export const options = {{ vus: 4, duration: '60s' }};\n\
         export default () => {{ sleep(0.1); if (exec.vu.idInTest === 4) exec.test.abort('größer als erlaubt'); }}"
    ));
    assert_eq!(code, Some(108), "{told}");
    assert!(told.contains("test aborted: größer als erlaubt"), "{told}");

    let (code, _, told) = run(&format!(
        "{head}export const options = {{ vus: 4, iterations: 4 }};\n\
         export default () => {{ if (exec.scenario.iterationInTest === 3) exec.test.fail('no'); }}"
    ));
    assert_eq!(code, Some(110), "{told}");
}

#[test]
fn what_a_script_needs_is_there_and_what_cannot_be_is_said() {
    let (peer, folder) = (ScriptedPeer::answering(OK), tempfile::tempdir().unwrap());
    let absolute = folder.path().join("absolute.txt");
    fs::write(&absolute, "from here").unwrap();
    let script = format!(
        "import http from 'k6/http';\nimport secrets from 'k6/secrets';\nconst text = open('{}');\n\
         export const options = {{ vus: 2, iterations: 2 }};\n\
         export default async function () {{\n  const secret = await secrets.get('token');\n  \
         http.get(`${{__ENV.BASE}}/${{encodeURIComponent(text)}}/${{secret.length}}/${{__ENV.NOBODY_NAMES}}`);\n}}\n",
        absolute.display()
    );
    fs::write(folder.path().join("s.js"), script).unwrap();
    let base = format!("BASE={}", peer.url());
    let arguments = ["s.js", "-e", &base, "--workers", "local:2", "--secret-source", "mock=token=12345"];
    let (code, _, told) = prony(folder.path(), &arguments);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(paths(&peer), ["/from%20here/5/undefined"; 2]);

    let refused = |arguments: &[&str], expected: i32, reason: &str| {
        let (code, _, told) = prony(folder.path(), arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {told}");
        assert!(told.contains(reason), "{arguments:?}: {told}");
    };
    refused(&["s.js", "--workers", "local:3"], 104, "3 workers cannot share 2 users");
    refused(&["s.js", "--workers", "2"], 104, "name it with --nats");
    refused(&["s.js", "--workers", "local:2", "--out", "json=x.json"], 104, "which stay on the workers");
    refused(&["s.js", "--workers", "local:2", "--threads", "2"], 104, "prony worker --threads");
    let throws = "export const options = { vus: 2, iterations: 2 };\n\
                  if (__VU === 2) throw new Error('größer');\nexport default () => {};\n";
    fs::write(folder.path().join("throws.js"), throws).unwrap();
    let (code, _, told) = prony(folder.path(), &["throws.js", "--workers", "local:2"]);
    assert!(
        code == Some(107) && told.contains("cannot run its share") && told.contains("größer"),
        "{code:?} {told}"
    );
    // Where the author has it, not where the worker has put it.
    let place = format!("file://{}:2:", folder.path().join("throws.js").display());
    assert!(told.contains(&place), "{told}");
}
