//! `prony run SCRIPT.js` as someone meets it who knows k6: the process, its lines, its files, its exit codes.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::certificates::Certificates;
use prony_testkit::peer::ScriptedPeer;
use prony_testkit::secure_peer::{Listen, SecurePeer, SecurePeerOptions, ServerTls, Speaks};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
    check("Promise.reject(new Error('left')); export default function () {}", &[], 255, &["Error: left"]);
    check("export const one = 1;", &[], 255, &["export default function"]);
    check("export const options = { vus: 1.5 }; export default function () {}", &[], 104, &["whole number"]);
    check(NOTHING, &["-i", "3", "-s", "1s:3"], 104, &["`iterations` and `stages` contradict each other"]);
    check(NOTHING, &["--duration", "10"], 104, &["--duration must be a duration with a unit"]);
    check("export default function () { throw new Error('in an iteration'); }", &[], 0, &["in an iteration"]);
    let unknown =
        r#"export const options = { thresholds: { nope: ["count>5"] } }; export default function () {}"#;
    check(unknown, &[], 104, &["nope"]);
    let unset = "export const options = { thresholds: { iterations: null } }; export default function () {}";
    check(unset, &[], 0, &[]);
    let marked = r#"
        import exec from "k6/execution";
        export const options = { thresholds: { iterations: ["count>5"] } };
        export default function () { exec.test.fail(); }"#;
    let told = "the script marked the run as failed; crossed thresholds on iterations";
    check(marked, &[], 110, &[told]);
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
fn an_abort_is_told_as_one_wherever_the_script_calls_it() {
    let with =
        |part: &str| format!("import exec from 'k6/execution'; {part}\nexport default function () {{}}");
    let told = "export function handleSummary() { return { stdout: 'summary was told' }; }";
    let aborted = "test aborted: enough at ";
    check(&with("exec.test.abort('enough');"), &[], 108, &["error: test aborted: enough at "]);
    check(&with("try { exec.test.abort('enough'); } catch { /* Goes on. */ }"), &[], 108, &[aborted]);
    let users = format!(
        "export const options = {{ vus: 3, duration: '20s' }}; {told}\nif (__VU > 1) exec.test.abort('enough');"
    );
    check(&with(&users), &[], 108, &[aborted, "summary was told"]);
    let teardown = format!("{told}\nexport function teardown() {{ exec.test.abort('enough'); }}");
    check(&with(&teardown), &[], 108, &[aborted, "summary was told"]);
    check(&with("export function handleSummary() { exec.test.abort('enough'); }"), &[], 0, &[aborted]);
}

#[test]
fn what_setup_does_not_return_is_undefined() {
    let script = |setup: &str| {
        format!(
            "{setup} export default function (...given) {{ console.log('users', given.length, typeof given[0], given[0]); }}
            export function teardown(...given) {{ console.log('teardown', given.length, typeof given[0], given[0]); }}"
        )
    };
    for setup in ["", "export function setup() {}", "export async function setup() {}"] {
        check(&script(setup), &[], 0, &["users 1 undefined undefined", "teardown 1 undefined undefined"]);
    }
    let null = "export function setup() { return null; }";
    check(&script(null), &[], 0, &["users 1 object null", "teardown 1 object null"]);
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
fn secrets_are_read_neither_in_warnings_nor_in_what_ends_the_run() {
    let script = "import secrets from 'k6/secrets';\nimport http from 'k6/http';\nexport default function () {}\n\
        export async function setup() {\n  const key = await secrets.get('key');\n  \
        http.get(`http://127.0.0.1:1/?key=${key}`);\n  throw new Error(`bad ${key}`);\n}";
    let ran = run(script, &["--secret-source", "mock=key=hidden"]);
    assert_eq!(ran.code, Some(255), "{}", ran.error);
    for part in ["/?key=***SECRET_REDACTED***", "Error: bad ***SECRET_REDACTED***"] {
        assert!(ran.error.contains(part), "{part} is missing in:\n{}", ran.error);
    }
    assert!(!ran.error.contains("hidden"), "{}", ran.error);
}

#[test]
fn what_a_module_lacks_is_told_once() {
    let ran = run("import { nothing } from 'k6';\nexport default function () {}", &[]);
    assert_eq!(ran.error.matches("k6 has no `nothing`").count(), 1, "{}", ran.error);
}

#[test]
fn sockets_of_browsers_have_their_experimental_name_too() {
    let script = r#"
        import { WebSocket, Blob } from "k6/experimental/websockets";
        import all from "k6/experimental/websockets";
        import * as now from "k6/websockets";
        export default function () {
            console.log("same:", WebSocket === now.WebSocket, WebSocket === all.WebSocket, Blob === now.Blob);
        }
    "#;
    let ran = run(script, &[]);
    assert!(ran.error.contains("same: true true true"), "{}", ran.error);
    assert!(!ran.error.contains("has no `"), "{}", ran.error);
}

#[test]
fn variables_that_say_nothing_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let script = "export default function () { if (__ENV.SEEN === '1') console.log('ran'); }";
    fs::write(directory.path().join("script.js"), script).unwrap();
    let names = ["K6_OUT", "K6_CONSOLE_OUTPUT", "K6_CONFIG", "K6_INCLUDE_SYSTEM_ENV_VARS", "K6_CSV_FILENAME"];
    let mut command = command(directory.path(), &["--quiet", "script.js"]);
    let output = command.envs(names.map(|name| (name, ""))).env("SEEN", "1").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("msg=ran"), "{error}");
}

#[test]
fn whatever_is_thrown_is_told_with_its_place() {
    let script = r#"function fail(what) {
          throw what;
        }
        export const options = { iterations: 3 };
        export default function () {
          try { fail("not this"); } catch (e) { /* Taken. */ }
          fail(["a text", 7, { toString() { return "an object"; } }][__ITER]);
        }"#;
    let places = ["script.js:2:17", "script.js:7:"];
    for what in ["a text", "7", "an object"] {
        check(script, &[], 0, &[what, places[0], places[1], "at fail ("]);
    }
    let setup = "export function setup() {\n  let n = 0;\n  for (;;) {\n    n += Math.sqrt(n);\n  }\n}\n\
        export const options = { setupTimeout: '200ms' };\nexport default function () {}";
    check(setup, &[], 100, &["setup() did not end within 0.2 s; it was at file:///", "script.js:4:"]);
    let abort = "import exec from 'k6/execution';\nfunction leave() {\n  exec.test.abort('enough');\n}\n\
        export default function () { leave(); }";
    check(abort, &[], 108, &["test aborted: enough at leave (file:///", "script.js:3:13)"]);
    let rejected = "export async function setup() {\n  await null;\n  throw 'a reason';\n}\nexport default function () {}";
    check(rejected, &[], 255, &["Uncaught (in promise) a reason", "script.js:3:9"]);
}

#[test]
fn bundles_are_told_by_their_sources() {
    let map = r#"{"version":3,"sources":["src/main.ts"],"names":[],"mappings":"AAUE"}"#;
    let bundle = "export default function () { throw new Error('in a bundle'); }\n//# sourceMappingURL=script.js.map\n";
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("script.js.map"), map).unwrap();
    let ran = run_in(directory.path(), bundle, &[]);
    assert!(ran.error.contains("/src/main.ts:11:3"), "{}", ran.error);
}

/// What esbuild and webpack have made of `tests/k6/bundles/src`; the `README.md` there says how.
#[test]
fn bundles_are_told_by_the_files_of_their_author() {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/k6/bundles/dist");
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("dist")).unwrap();
    let names = fs::read_dir(&made).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.collect();
    for name in &names {
        fs::copy(made.join(name), directory.path().join("dist").join(name)).unwrap();
    }
    let bundles = names
        .iter()
        .filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "js"))
        .map(|name| format!("dist/{name}"));
    let (lacking, throwing): (Vec<_>, Vec<_>) = bundles.partition(|name| name.contains("lacking-"));
    assert_eq!((lacking.len(), throwing.len()), (3, 6), "{names:?}");
    let run = |arguments: &[&str]| {
        let output = command(directory.path(), arguments).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for bundle in throwing {
        let said = run(&["--quiet", &bundle]);
        for (part, place) in [
            ("no price for 𝒳 b", "src/shop.ts:11:78"),
            ("a text about 𝒳 b", "src/shop.ts:12:42"),
            // esbuild makes one `throw` of two when it minifies.
            ("an object about 𝒳 b", "src/shop.ts:1"),
        ] {
            let line = said.lines().find(|line| line.contains(part));
            let line = line.unwrap_or_else(|| panic!("{bundle}: {part} is missing in:\n{said}"));
            assert!(line.contains(place) && line.contains("src/main.ts:10:41"), "{bundle}: {line}");
            assert!(!line.contains(&bundle), "{bundle}: {line}");
        }
    }
    for bundle in lacking {
        let said = run(&["--check", &bundle]);
        // What webpack makes of an import hides its members.
        let member = (!bundle.contains("webpack")).then_some("src/lacking.ts:7:8: k6/http has no `gett`");
        let file = "src/lacking.ts:4:29: open() finds no file ./absent.txt";
        for part in [Some(file), member].into_iter().flatten() {
            assert!(said.contains(part), "{bundle}: {part} is missing in:\n{said}");
        }
    }
}

#[test]
fn imports_without_an_extension_and_of_folders_are_found_and_said() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("lib")).unwrap();
    fs::write(directory.path().join("lib/index.js"), "export { one } from './one';").unwrap();
    fs::write(directory.path().join("lib/one.ts"), "export const one: number = 1;").unwrap();
    let script = "import { one } from './lib';\nexport default function () { if (one !== 1) throw new Error('not one'); }";
    let ran = run_in(directory.path(), script, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.error);
    let notes = [
        "script.js:1:21: './lib' is taken for lib/index.js; k6 would refuse it and wants the whole name",
        "lib/index.js:1:21: './one' is taken for lib/one.ts",
    ];
    for note in notes {
        assert!(ran.error.contains(note), "{note} is missing in:\n{}", ran.error);
    }
    check("import './lib/nothing'; export default function () {}", &[], 107, &["cannot find ./lib/nothing"]);
}

#[test]
fn a_third_argument_of_get_is_told_once() {
    let script = "import http from 'k6/http';\nexport const options = { iterations: 3 };\nexport default function () {\n\
        http.get('http://127.0.0.1:1/', null, { tags: {} });\n}";
    let ran = run(script, &[]);
    let told = ran.error.matches("http.get() takes a URL and parameters").count();
    assert_eq!((told, ran.error.contains("script.js:4:")), (1, true), "{}", ran.error);
}

#[test]
fn two_signals_at_once_are_one() {
    let script = "import { sleep } from 'k6';\nexport default function () { console.log('began'); sleep(60); }\n\
        export function handleSummary() { return { stdout: 'summary was told' }; }";
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("script.js"), script).unwrap();
    let mut child = command(directory.path(), &["-q", "-i", "1", "script.js"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 64];
    let count = child.stderr.as_mut().unwrap().read(&mut said).unwrap();
    assert!(count > 0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(50));
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(105));
    assert!(String::from_utf8(output.stdout).unwrap().contains("summary was told"));
}

#[test]
fn versions_and_cipher_suites_of_tls_are_those_of_the_options() {
    let certificates = Certificates::new();
    let peer = SecurePeer::start(SecurePeerOptions {
        tls: Some(ServerTls::of(&certificates, &["http/1.1"])),
        listen: Listen::Tcp([127, 0, 0, 1].into()),
        speaks: Speaks::Http1(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()),
    });
    let script = |options: &str| {
        format!(
            r#"
            import http from "k6/http";
            export const options = {{ insecureSkipTLSVerify: true, {options} }};
            export default function () {{
                const r = http.get("{}/");
                console.log(`met ${{r.tls_version}} ${{r.tls_cipher_suite}}.`);
            }}"#,
            peer.url()
        )
    };
    check(&script(""), &[], 0, &["met tls1.3 "]);
    check(&script("tlsVersion: 'tls1.2'"), &[], 0, &["met tls1.2 "]);
    check(&script("tlsVersion: { min: 'tls1.3' }"), &[], 0, &["met tls1.3 "]);
    check(&script("tlsVersion: { min: 'tls1.0', max: 'tls1.2' }"), &[], 0, &["met tls1.2 "]);
    for suite in ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"]
    {
        let rsa = suite.replace("ECDSA", "RSA");
        let suites = format!("tlsVersion: 'tls1.2', tlsCipherSuites: ['{suite}', '{rsa}']");
        let ran = run(&script(&suites), &[]);
        let met = |suite: &str| ran.error.contains(&format!("met tls1.2 {suite}."));
        assert!(met(suite) || met(&rsa), "{}", ran.error);
    }
    check(&script("tlsVersion: 'tls1.1'"), &[], 104, &["allows neither tls1.2 nor tls1.3"]);
    check(&script("tlsVersion: 'tls2'"), &[], 104, &["must be one of ssl3.0"]);
    let old = script("tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA']");
    check(
        &old,
        &[],
        104,
        &["there is no cipher suite `TLS_RSA_WITH_RC4_128_SHA`", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
    );
}

/// Each of these once took all memory of the machine and exited with 0.
#[test]
fn memory_without_end_ends_the_run_with_its_place_and_size() {
    let user = "all of the 64 MiB of memory that one user may have";
    let user_flag = ["--user-memory-limit", "64MiB"];
    let grows = "const kept = [];\nfunction fill() {\n  for (;;) { kept.push({ n: kept.length }); }\n}";
    let default = format!("{grows}\nexport default function () {{ fill(); }}");
    check(
        &default,
        &user_flag,
        107,
        &[user, "user 1 has taken", "script.js:3:", "--user-memory-limit", "iterations"],
    );
    let kept = "const kept = [];\nexport const options = { vus: 3, iterations: 10000 };\n\
        export default function () {\n  kept.push(new Uint8Array(5 << 20).fill(1));\n}";
    check(kept, &user_flag, 107, &[user, "script.js:4:"]);
    let buffers = "import encoding from 'k6/encoding';\nconst kept = [];\n\
        export const options = { iterations: 10000 };\n\
        export default function () {\n  kept.push(encoding.b64decode('A'.repeat(4 << 20)));\n}";
    check(buffers, &user_flag, 107, &[user]);
    let setup = format!("{grows}\nexport function setup() {{ fill(); }}\nexport default function () {{}}");
    check(&setup, &user_flag, 107, &["setup() has taken", user, "script.js:3:"]);
    let teardown =
        format!("{grows}\nexport function teardown() {{ fill(); }}\nexport default function () {{}}");
    check(&teardown, &user_flag, 107, &["teardown() has taken", user, "script.js:3:"]);
    let init = format!("{grows}\nfill();\nexport default function () {{}}");
    check(&init, &user_flag, 107, &["the init code has taken", user, "script.js:3:"]);
    let many = format!(
        "export const options = {{ vus: 20, iterations: 20000 }};\n{kept}",
        kept = kept.replace("export const options", "const other")
    );
    let all = "all of the 100 MiB of memory that there is for all of them together";
    check(&many, &["--memory-limit", "100MiB"], 107, &[all, "--memory-limit", "script.js:5:"]);
}

#[test]
fn memory_that_is_garbage_is_no_users() {
    let script = "export const options = { vus: 7, iterations: 400 };
        export default function () {
            for (let i = 0; i < 20; i++) { const a = { data: new Uint8Array(1 << 18).fill(1) }; a.self = a; }
        }";
    check(script, &["--user-memory-limit", "16MiB"], 0, &["iterations"]);
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
    let wrong = [
        ("{ 'a.txt': 'text', 'b.json': { a: 1 } }", "neither text nor bytes for `b.json`"),
        ("{ 'a.txt': 5 }", "neither text nor bytes for `a.txt`"),
        ("['a']", "must return an object"),
        ("'a'", "must return an object"),
        ("5", "must return an object"),
    ];
    for (returned, told) in wrong {
        let script = format!("{NOTHING} export function handleSummary() {{ return {returned}; }}");
        let ran = run_in(directory.path(), &script, &[]);
        assert!(ran.code == Some(0) && ran.error.contains(told), "{returned}: {:?} {}", ran.code, ran.error);
        assert!(ran.out.contains("iterations...........: 1"), "{returned}: {}", ran.out);
        let exists = |name: &str| directory.path().join(name).exists();
        assert!(!exists("a.txt") && !exists("b.json") && !exists("0"), "{returned}");
    }
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

/// They were passed over: whoever had them in a pipeline got no file.
#[test]
fn flags_that_are_no_options_have_k6s_variables() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"
        import exec from "k6/execution";
        import secrets from "k6/secrets";
        export default async function () {
            let secret = "";
            try { secret = await secrets.get("key"); } catch (error) { secret = String(error); }
            if (secret !== "hidden" || __ENV.SEEN !== "1") exec.test.abort(`${secret}, ${__ENV.SEEN}`);
        }"#;
    fs::write(directory.path().join("script.js"), script).unwrap();
    let ran = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = command(directory.path(), &["-q", "script.js"]);
        command.env("K6_SECRET_SOURCE", "mock=key=hidden").env("K6_INCLUDE_SYSTEM_ENV_VARS", "TRUE");
        command.env("SEEN", "1").envs(variables.iter().copied());
        let output = command.args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, error) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(0), "{variables:?} {arguments:?}: {out}{error}");
        (out, error)
    };
    let exports = |file: &str| {
        let text = fs::read_to_string(directory.path().join(file));
        text.is_ok_and(|text| text.contains("iterations"))
    };
    let export = ("K6_SUMMARY_EXPORT", "variable.json");
    ran(&[export], &["--summary-export", "flag.json"]);
    assert_eq!((exports("flag.json"), exports("variable.json")), (true, false));
    let (out, error) = ran(&[export], &[]);
    assert!(exports("variable.json"), "{out}{error}");
    assert!(out.contains("iterations") && !error.contains("K6_WEB_DASHBOARD"), "{out}{error}");
    assert_eq!(ran(&[("K6_NO_SUMMARY", "true")], &[]).0, "");
    let (_, error) = ran(&[("K6_WEB_DASHBOARD", "true")], &[]);
    assert!(error.contains("warning: K6_WEB_DASHBOARD has no effect: --live serves"), "{error}");
    let (_, error) = ran(&[("HTTPS_PROXY", "http://between.test:3128")], &[]);
    assert!(error.contains("warning: HTTPS_PROXY has no effect"), "{error}");
}

#[test]
fn colours_are_forbidden_by_k6s_variable() {
    let directory = tempfile::tempdir().unwrap();
    let script = "export default function () {}
        export function handleSummary(data) { return { stdout: String(data.options.noColor) }; }";
    fs::write(directory.path().join("script.js"), script).unwrap();
    for (variable, expected) in [("", "false"), ("1", "true")] {
        let mut command = command(directory.path(), &["-q", "script.js"]);
        let output = command.env_remove("NO_COLOR").env("K6_NO_COLOR", variable).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{variable}");
    }
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

const COMPUTES: &str = r#"
    import { check } from "k6";
    export const options = { scenarios: { main: { executor: "constant-vus", vus: 2, duration: "1s", gracefulStop: "200ms" } } };
    export function setup() { if (__ENV.IN === "setup") for (;;); }
    export default function () { check(1, { began: () => true }); for (;;); }
    export function teardown() { if (__ENV.IN === "teardown") for (;;); }
    export function handleSummary(data) {
        const count = (name) => data.metrics[name] ? data.metrics[name].values.count : 0;
        return { stdout: `iterations ${count("iterations")}, checks ${data.metrics.checks ? data.metrics.checks.values.passes : 0}` };
    }"#;

#[test]
fn users_that_compute_end_with_their_scenario_and_its_grace() {
    let began = Instant::now();
    let ran = run(COMPUTES, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "iterations 0, checks 2"), "{}", ran.error);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn setup_and_teardown_that_compute_end_at_their_limits() {
    for (part, code) in [("setup", 100), ("teardown", 101)] {
        let options = r#"export const options = { setupTimeout: "300ms", teardownTimeout: "300ms","#;
        let script = COMPUTES.replace("export const options = {", options);
        let variable = format!("IN={part}");
        let message = format!("{part}() did not end within 0.3 s");
        check(&script, &["-e", &variable], code, &[&message]);
    }
}

#[test]
fn a_signal_ends_what_computes_within_a_moment() {
    let directory = tempfile::tempdir().unwrap();
    let script = COMPUTES.replace("1s", "30s");
    fs::write(directory.path().join("script.js"), script).unwrap();
    for part in ["setup", "iteration"] {
        let variable = format!("IN={part}");
        let mut child = command(directory.path(), &["--quiet", "-e", &variable, "script.js"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(1));
        let process = Pid::from_raw(child.id().cast_signed()).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "it ended too early in {part}");
        let signalled = Instant::now();
        kill_process(process, Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        // The processors of tests are shared.
        assert!(signalled.elapsed() < Duration::from_secs(2), "{:?} in {part}", signalled.elapsed());
        assert_eq!(output.status.code(), Some(105), "{part}");
        let checks = if part == "setup" { 0 } else { 2 };
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("iterations 0, checks {checks}"));
    }
}

#[test]
fn an_aborted_run_begins_no_iteration_any_more() {
    let script = r#"
        import exec from "k6/execution";
        export const options = { vus: 1, duration: "30s" };
        export default function () { if (exec.scenario.iterationInTest === 2) exec.test.abort(); }"#;
    // The iteration that ended the run counts, as in k6.
    check(script, &[], 108, &["iterations...........: 3 "]);
}

#[test]
fn users_are_counted_from_the_first_iteration_on() {
    let script = r#"
        import exec from "k6/execution";
        export const options = { vus: 3, iterations: 3 };
        export default function () { console.log("users", exec.instance.vusActive, exec.instance.vusInitialized); }"#;
    check(script, &[], 0, &["users 3 3"]);
}

#[test]
fn what_a_script_logs_stands_before_its_summary_and_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"
        export default function () {}
        export function teardown() { for (let line = 1; line <= 8000; line++) console.log(`line ${line} is told`); throw new Error("at the end"); }
        export function handleSummary() { return { stdout: "the summary is told" }; }"#;
    fs::write(directory.path().join("script.js"), script).unwrap();
    let both = format!("exec {} run -q script.js 2>&1", env!("CARGO_BIN_EXE_prony"));
    let output = Command::new("sh").current_dir(directory.path()).args(["-c", &both]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing"));
    assert!(at("line 8000 is told") < at("the summary is told"));
    assert!(at("the summary is told") < at("error: "));
}

#[test]
fn a_script_can_be_explained_and_its_result_be_json() {
    let script = r#"
        export const options = { scenarios: { visits: { executor: "per-vu-iterations", vus: 2, iterations: 3, exec: "visit" } } };
        export function visit() { console.log("visited"); }
        export function handleSummary() { return { stdout: "the summary is told" }; }"#;
    let explained = run(script, &["--explain"]);
    let line =
        "* visits: 3 iterations for each of 2 VUs (maxDuration: 10m0s, exec: visit, gracefulStop: 30s)";
    assert!(explained.out.contains(line) && explained.out.contains("--check"), "{}", explained.out);
    assert!(!explained.error.contains("visited") && explained.code == Some(0), "{}", explained.error);
    let result: serde_json::Value = serde_json::from_str(&run(script, &["--json"]).out).unwrap();
    assert_eq!(result["schema"], "prony-result");
    check(script, &["--check"], 0, &["Nothing is missing."]);
    check("import sql from 'k6/x/sql'; export default function () {}", &["--check"], 2, &["k6/x/sql"]);
}

#[test]
fn options_of_connections_are_followed() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let script = |options: &str| {
        format!(
            r#"
            import http from "k6/http";
            export const options = {{ iterations: 3, {options} }};
            export default function () {{ for (const path of ["a", "b"]) http.get(`${{__ENV.TARGET}}/${{path}}`); }}
            export function handleSummary(data) {{
                return {{ stdout: `failed ${{data.metrics.http_req_failed.values.passes}}` }}; }}"#
        )
    };
    let connections = |options: &str| {
        let peer = ScriptedPeer::answering(ANSWER);
        check(&script(options), &["-e", &format!("TARGET={}", peer.url())], 0, &["failed 0"]);
        peer.connections()
    };
    assert_eq!(connections(""), 1);
    assert_eq!(connections("noVUConnectionReuse: true"), 3);
    assert_eq!(connections("noConnectionReuse: true"), 6);
    let peer = ScriptedPeer::answering(ANSWER);
    let hosts = format!("hosts: {{ 'shop.invalid:81': '{}' }}", peer.address());
    check(&script(&hosts), &["-e", "TARGET=http://shop.invalid:81"], 0, &["failed 0"]);
    check(&script("hosts: { a: 'b' }"), &[], 104, &["`hosts` gives `a` the address `b`"]);
    check(NOTHING, &["--dns", "ttl=soon"], 104, &["`dns.ttl` must be"]);
}

#[test]
fn users_beyond_those_prepared_are_made_only_when_none_is_free() {
    let script = r#"
        import { Gauge } from "k6/metrics";
        const users = new Gauge("users");
        export const options = {
            scenarios: { even: { executor: "constant-arrival-rate", rate: 40, duration: "1s", preAllocatedVUs: 3, maxVUs: 30 } },
        };
        export default function () { users.add(__VU); }
        export function handleSummary({ metrics }) {
            return { stdout: `few ${metrics.users.values.max < 20}, all ${metrics.iterations.values.count}` };
        }"#;
    check(script, &[], 0, &["few true, all 40"]);
}

#[test]
fn rates_go_by_the_time_of_the_test_without_the_users_init_code() {
    // With its users' init code the run takes twice as long, and the rate would be under 30/s.
    let script = r#"
        import exec from "k6/execution";
        const begun = Date.now();
        while (Date.now() < begun + 600) {}
        export const options = {
            scenarios: { even: { executor: "constant-arrival-rate", rate: 50, duration: "1s", preAllocatedVUs: 2 } },
            thresholds: { iterations: ["rate>35", "rate<=50"] },
        };
        export default function () {
            if (exec.scenario.iterationInTest == 45) {
                const passed = exec.instance.currentTestRunDuration;
                console.log(`after ${passed >= 900 && passed < 1400}`);
                console.log(`started ${Date.now() - exec.scenario.startTime < 1400}, at ${exec.scenario.progress > 0.5}`);
            }
        }
        export function handleSummary({ metrics, state }) {
            return { stdout: `time ${state.testRunDurationMs >= 999 && state.testRunDurationMs < 1400}` };
        }"#;
    check(script, &[], 0, &["after true", "started true, at true", "time true"]);
}

#[test]
fn requests_begin_no_faster_than_the_option_says() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let peer = ScriptedPeer::answering(ANSWER);
    let script = r#"
        import http from "k6/http";
        export const options = { vus: 3, iterations: 3, rps: 20 };
        export default async function () {
            http.get(__ENV.TARGET);
            http.batch([__ENV.TARGET, __ENV.TARGET]);
            await http.asyncRequest("GET", __ENV.TARGET);
        }
        export function handleSummary({ metrics, state }) {
            return { stdout: `${metrics.http_reqs.values.count} in time: ${state.testRunDurationMs >= 550}` }; }"#;
    check(script, &["-e", &format!("TARGET={}", peer.url())], 0, &["12 in time: true"]);
}

#[test]
fn requests_and_answers_are_shown_where_that_is_wanted() {
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let script =
        r#"import http from "k6/http"; export default function () { http.post(__ENV.TARGET, "asked"); }"#;
    let target = format!("TARGET={}", peer.url());
    let ran = run(script, &["-e", &target, "--http-debug", "full"]);
    for part in
        ["Request:\\nPOST / HTTP/1.1", "asked", "Response:\\nHTTP/1.1 200 OK", "ok\\n", "source=http-debug"]
    {
        assert!(ran.error.contains(part), "{part} is missing in:\n{}", ran.error);
    }
    let ran = run(script, &["-e", &target, "--http-debug", "headers"]);
    assert!(ran.error.contains("Response:") && !ran.error.contains("asked"), "{}", ran.error);
}

#[test]
fn a_script_shows_its_certificate_and_takes_any_where_it_says_so() {
    let certificates = Certificates::new();
    let (certificate, key) = certificates.client();
    let text = |path| fs::read_to_string(path).unwrap();
    let shown = format!("cert: `{}`, key: `{}`", text(certificate), text(key));
    let mut tls = ServerTls::of(&certificates, &["http/1.1"]);
    tls.client_authority = Some(certificates.ca());
    let peer = SecurePeer::start(SecurePeerOptions {
        tls: Some(tls),
        listen: Listen::Tcp([127, 0, 0, 1].into()),
        speaks: Speaks::Http1(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()),
    });
    let script = |options: &str| {
        format!(
            r#"
            import http from "k6/http";
            export const options = {{ {options} }};
            export default function () {{ console.log("status", http.get("{}/").status); }}
            export function handleSummary() {{}}"#,
            peer.url()
        )
    };
    let any = "insecureSkipTLSVerify: true";
    check(&script(&format!("tlsAuth: [{{ {shown} }}]")), &[], 0, &["status 0"]);
    check(&script(any), &[], 0, &["status 0"]);
    check(&script(&format!("tlsAuth: [{{ {shown} }}], {any}")), &[], 0, &["status 200"]);
    let two = format!("tlsAuth: [{{ {shown} }}, {{ cert: 'c', key: 'k' }}], {any}");
    check(&script(&two), &[], 0, &["status 200", "of the 2 certificates"]);
    check(&script("tlsAuth: [{ cert: 'c', key: 'k', password: 'p' }]"), &[], 104, &["openssl pkey"]);
}

#[test]
fn a_certificate_of_its_own_is_taken_where_the_environment_names_it() {
    let certificates = Certificates::new();
    let (identity, own) = certificates.self_signed(&["127.0.0.1"]);
    let peer = SecurePeer::start(SecurePeerOptions {
        tls: Some(ServerTls { identity, client_authority: None, alpn: Vec::new() }),
        listen: Listen::Tcp([127, 0, 0, 1].into()),
        speaks: Speaks::Http1(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()),
    });
    let script = format!(
        r#"
        import http from "k6/http";
        export default function () {{ console.log("status", http.get("{}/").status); }}"#,
        peer.url()
    );
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("script.js"), script).unwrap();
    for (authorities, expected) in [(own, "status 200"), (certificates.ca_path(), "status 0")] {
        let mut command = command(directory.path(), &["-q", "script.js"]);
        let output = command.env("SSL_CERT_FILE", authorities).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{expected} is missing in:\n{error}");
    }
}

#[test]
fn a_shared_array_is_made_once() {
    let script = r#"
        import { SharedArray } from "k6/data";
        const rows = new SharedArray("rows", () => { console.log("making them"); return [1, Math.random()]; });
        export const options = { vus: 2, iterations: rows.length, thresholds: { [`iterations{row:${rows[1]}}`]: [] } };
        export function setup() { return rows[1]; }
        export default function (row) { console.log(row === rows[1] ? "the same" : "another"); }
        export function handleSummary(data) { return { stdout: Object.keys(data.metrics).join() + rows[1] + ".\n" }; }"#;
    let ran = run(script, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.error);
    assert_eq!(ran.error.matches("making them").count(), 1, "{}", ran.error);
    assert_eq!(ran.error.matches("the same").count(), 2, "{}", ran.error);
    let row = ran.out.split("{row:").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    assert!(ran.out.contains(&format!("{row}.\n")), "{}", ran.out);
}

#[test]
fn dropped_iterations_belong_to_their_scenario() {
    let script = r#"
        import { sleep } from "k6";
        const arrivals = (rate) => ({ executor: "constant-arrival-rate", rate, duration: "1s", preAllocatedVUs: 1, gracefulStop: "0s" });
        export const options = { scenarios: { many: arrivals(100), few: arrivals(1) },
            thresholds: { "dropped_iterations{scenario:many}": ["count>50"], "dropped_iterations{scenario:few}": ["count<1"] } };
        export default function () { sleep(60); }"#;
    check(script, &[], 0, &["{ scenario:many }"]);
}

#[test]
fn an_option_to_throw_holds_for_metrics_and_colours_are_known_to_the_summary() {
    let script = r#"
        import { Counter } from "k6/metrics";
        const things = new Counter("things");
        export const options = { throw: true };
        export default function () { things.add(NaN); console.log("went on"); }
        export function handleSummary(data) { return { stdout: `noColor: ${data.options.noColor}` }; }"#;
    let ran = run(script, &["--no-color"]);
    assert!(ran.out == "noColor: true" && !ran.error.contains("went on"), "{}{}", ran.out, ran.error);
}

/// One that computed once held up all users of its thread until it was done.
#[test]
fn users_that_compute_give_way_to_others_of_their_thread() {
    let script = r#"
        import { sleep } from "k6";
        import { Counter } from "k6/metrics";
        const naps = new Counter("naps");
        export const options = { scenarios: {
            computing: { executor: "per-vu-iterations", vus: 2, iterations: 1, exec: "compute" },
            sleeping: { executor: "constant-vus", vus: 3, duration: "1500ms", exec: "nap" },
        }, thresholds: { naps: ["count>100"] } };
        function turns() { let n = 0; for (let i = 0; i < 2000; i++) n += i % 7 ? 0 : i; return n; }
        export function compute() {
            const until = Date.now() + 1500;
            const kept = [];
            while (Date.now() < until) {
                kept.push([3, 1, 2].sort((a, b) => a - b).join());
                if (turns() !== 285285 || kept[kept.length - 1] !== "1,2,3") throw new Error("not what was computed");
                if (kept.length > 1000) kept.length = 0;
            }
        }
        export function nap() { sleep(0.01); naps.add(1); }
    "#;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("script.js"), script).unwrap();
    let output = command(directory.path(), &["--threads", "1", "script.js"]).output().unwrap();
    let found = String::from_utf8(output.stderr).unwrap();
    for part in ["users-compute", "without a wait, at ", "/script.js:", "% of the lab's processor time"] {
        assert!(found.contains(part), "{part} is missing in:\n{found}");
    }
    check(script, &["--threads", "1"], 0, &["✓ 'count>100'", "iterations"]);
}

#[test]
fn secrets_come_from_their_sources_and_are_not_logged() {
    let script = r#"
        import secrets from "k6/secrets";
        import { get } from "k6/secrets";
        const early = await secrets.get("token");
        export default async () => {
            const disk = await secrets.source("disk");
            const values = [early, await get("token"), await disk.get("key")];
            console.log("lengths", values.map((value) => value.length).join());
            console.log(`the token is ${values[0]}, the key ${values[2]}`);
            for (const wrong of [() => get("none"), () => secrets.source("web")]) {
                try { await wrong(); } catch (e) { console.log("refused:", e.message); }
            }
        };"#;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("of.secret"), "key=on disk\n").unwrap();
    let ran = run_in(
        directory.path(),
        script,
        &[
            "--secret-source=mock=default,token=\"hush, hush\"",
            "--secret-source=file=name=disk,filename=of.secret",
        ],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.error);
    for part in [
        "lengths 10,10,7",
        "the token is ***SECRET_REDACTED***, the key ***SECRET_REDACTED***",
        "refused: no value",
        "no source with name \\\"web\\\"",
    ] {
        assert!(ran.error.contains(part), "{part} is missing in:\n{}", ran.error);
    }
    assert!(!ran.error.contains("hush"), "{}", ran.error);
    check(script, &[], 107, &["no secret sources are configured"]);
    check(script, &["--secret-source=vault=x"], 104, &["there is no source of this kind"]);
}

#[test]
fn files_and_records_are_read_piece_by_piece() {
    let script = r#"
        import { open, SeekMode } from "k6/experimental/fs";
        import csv from "k6/experimental/csv";
        const file = await open("users.csv");
        const all = await csv.parse(file, { skipFirstLine: true });
        const objects = await csv.parse(file, { asObjects: true });
        const parser = new csv.Parser(file, { fromLine: 1, toLine: 2 });
        export const options = { iterations: 2 };
        const text = (bytes, count) => String.fromCharCode(...bytes.slice(0, count));
        export default async function () {
            const { name, size } = await file.stat();
            const buffer = new Uint8Array(8);
            const read = [];
            await file.seek(0, SeekMode.Start);
            for (let count; (count = await file.read(buffer)) !== null;) read.push(text(buffer, count));
            console.log("file", name, size, read.join("|"), file.path.endsWith("/users.csv"));
            console.log("seek", await file.seek(-4, SeekMode.End), text(buffer, await file.read(buffer)));
            console.log("all", all.length, all[1].join("+"), objects[0].age);
            for (let n = await parser.next(); !n.done; n = await parser.next()) console.log("next", n.value.join("+"));
            for (const wrong of [() => open("users.csv"), () => file.seek(-1, SeekMode.Start), () => file.read([]), () => csv.parse(file)]) {
                try { await wrong(); } catch (e) { console.log("refused", e.name, e.message); }
            }
        }"#;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("users.csv"), "name,age\nAda,36\nLi,4\n").unwrap();
    let ran = run_in(directory.path(), script, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.error);
    for part in [
        r"file users.csv 21 name,age|\nAda,36\n|Li,4\n true",
        r"seek 17 i,4\n",
        "all 2 Li+4 36",
        "next Ada+36",
        "next Li+4",
        "refused ForbiddenError open() failed; reason: opening a file in the VU context is forbidden",
        "refused TypeError seek() failed; reason: the offset is before the start of the file",
        "refused TypeError read() failed; reason: the buffer argument must be a Uint8Array",
        "csv.parse() failed; reason: it must be called in the init context",
    ] {
        assert!(ran.error.contains(part), "{part} is missing in:\n{}", ran.error);
    }
    assert_eq!(ran.error.matches("next Ada").count(), 1, "a parser goes on where it was:\n{}", ran.error);
}

#[test]
fn one_time_passwords_are_those_of_the_rfc() {
    // RFC 6238, appendix B: the key is "12345678901234567890".
    let script = r#"
        import { TOTP } from "https://jslib.k6.io/totp/1.0.0/index.js";
        export default async function () {
            const totp = new TOTP("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", 8);
            console.log("passwords", await totp.gen(59000), await totp.gen(1111111109000), await totp.gen(20000000000000));
            console.log("kept", await totp.verify(await totp.gen()), await totp.verify("1"), (await new TOTP("GEZDGNBV").gen()).length);
        }"#;
    check(script, &[], 0, &["passwords 94287082 07081804 65353130", "kept true false 6"]);
}

#[test]
fn the_log_goes_where_the_flags_say() {
    let script = "import { fail } from 'k6';\nexport default function () {\n\
        console.log('said', 7); console.debug('a detail'); throw new Error('not well');\n}";
    let directory = tempfile::tempdir().unwrap();
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let with = |arguments: &[&str]| {
        let ran = run_in(directory.path(), script, arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.error);
        ran
    };
    let plain = with(&[]).error;
    assert!(plain.contains("said") && !plain.contains("a detail"), "{plain}");
    assert!(with(&["-v"]).error.contains("level=debug msg=\"a detail\""));
    let json = with(&["--log-format", "json"]).error;
    assert!(json.contains(r#"{"level":"info","msg":"said 7","source":"console","time":"2"#), "{json}");
    assert!(with(&["--log-format", "raw"]).error.starts_with("said 7\nError: not well\n"));
    let none = with(&["--log-output", "none"]).error;
    assert!(!none.contains("said") && !none.contains("not well"), "{none}");
    assert!(with(&["--log-output=stdout"]).out.contains("not well"));
    let error = with(&["--log-output", "file=run.log"]).error;
    assert!(
        !error.contains("said") && read("run.log").contains("msg=\"said 7\""),
        "{error}{}",
        read("run.log")
    );
    let error = with(&["--console-output", "console.log", "--log-format=raw"]).error;
    assert!(!error.contains("said") && error.contains("not well"), "{error}");
    assert_eq!(read("console.log"), "said 7\n");
    with(&["--console-output", "plain.log"]);
    assert!(read("plain.log").ends_with(" level=info msg=\"said 7\"\n"), "{}", read("plain.log"));
    check(script, &["--log-output", "loki=http://x"], 104, &["not sent to Loki"]);
    check(script, &["--log-format", "xml"], 104, &["none of text, json and raw"]);
    check(script, &["--traces-output", "jaeger"], 255, &["invalid traces output \"jaeger\""]);
    check(script, &["--traces-output", "otel"], 0, &["--traces-output has no effect"]);
}

#[test]
fn what_is_blocked_is_not_connected_to_and_connections_come_from_where_they_are_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sources = thread::spawn(move || {
        let accept = |listener: &TcpListener| {
            let (mut socket, peer) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 4096]).unwrap();
            socket.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
            peer.ip().to_string()
        };
        let mut seen = [accept(&listener), accept(&listener)];
        seen.sort_unstable();
        seen
    });
    let script = format!(
        r#"import http from "k6/http";
        export const options = {{ vus: 2, iterations: 2, blacklistIPs: ["127.0.0.4/32"], blockHostnames: ["*.example.com"] }};
        export default function () {{
            for (const host of ["127.0.0.1", "127.0.0.4", "api.EXAMPLE.com"]) {{
                const response = http.get(`http://${{host}}:{port}/`, {{ responseType: "none" }});
                console.log(`${{response.status}} ${{response.error_code}} ${{response.error}}`);
            }}
        }}"#
    );
    let parts = [
        "200 0 ",
        "0 1110 ip is blacklisted",
        "0 1111 hostname is blocked",
        "IP (127.0.0.4) is in a blacklisted range (127.0.0.4/32)",
        "hostname (api.EXAMPLE.com) is in a blocked pattern (*.example.com)",
    ];
    check(&script, &["--local-ips", "127.0.0.2-127.0.0.3", "--threads", "1"], 0, &parts);
    assert_eq!(sources.join().unwrap(), ["127.0.0.2", "127.0.0.3"]);
    check(NOTHING, &["--local-ips", "x"], 104, &["`x` is no valid IP, IP range or CIDR"]);
    check(NOTHING, &["--blacklist-ip", "x"], 104, &["`x` is no network"]);
    check(NOTHING, &["--block-hostnames", "a*b"], 104, &["write a host name"]);
}

#[test]
fn instances_with_segments_of_a_test_have_all_of_it_together() {
    let script = r#"
        export const options = { scenarios: {
            shared: { executor: "shared-iterations", vus: 3, iterations: 10 },
            rate: { executor: "constant-arrival-rate", rate: 20, duration: "1s", preAllocatedVUs: 5 } } };
        export default function () {}"#;
    let count = |segment: &str| {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--execution-segment", segment, "--execution-segment-sequence", "0,1/4,1/2,1"];
        let ran =
            run_in(folder.path(), script, &[&arguments[..], &["--summary-export", "export.json"]].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.error);
        let export: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.path().join("export.json")).unwrap()).unwrap();
        export["metrics"]["iterations"]["count"].as_u64().unwrap()
    };
    let counts = ["0:1/4", "1/4:1/2", "1/2:1"].map(count);
    assert_eq!(counts.iter().sum::<u64>(), 30, "{counts:?}");
    check(
        NOTHING,
        &["--execution-segment", "0:1/2", "--execution-segment-sequence", "0,1/3,1"],
        104,
        &["couldn't find segment 0:1/2"],
    );
}

#[test]
fn samples_of_setup_have_no_users_number() {
    let script = r#"
        import { Counter } from "k6/metrics";
        const seen = new Counter("seen");
        export const options = { systemTags: ["vu", "iter"] };
        export function setup() { seen.add(1, { at: "setup" }); }
        export default function () { seen.add(1, { at: "iteration" }); }
    "#;
    let directory = tempfile::tempdir().unwrap();
    let ran = run_in(directory.path(), script, &["--out", "json=points.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.error);
    let points = fs::read_to_string(directory.path().join("points.json")).unwrap();
    let metadata = |at: &str| {
        let mut points = points.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let point = points.find(|point| point["data"]["tags"]["at"] == at).unwrap();
        point["data"]["metadata"].clone()
    };
    assert_eq!(metadata("setup"), serde_json::json!({ "iter": "0" }));
    assert_eq!(metadata("iteration"), serde_json::json!({ "iter": "0", "vu": "1" }));
}

/// A run whose samples have tags of their own takes memory for each.
#[test]
fn many_sets_of_tags_are_warned_of() {
    let script = |count: u32| {
        format!(
            "import {{ Counter }} from \"k6/metrics\";\nconst seen = new Counter(\"seen\");\n\
             export default function () {{ for (let i = 0; i < {count}; i++) seen.add(1, {{ order: String(i) }}); }}"
        )
    };
    let [few, many] = [1_000, 100_001].map(|count| run(&script(count), &[]));
    assert_eq!((few.code, many.code), (Some(0), Some(0)), "{}{}", few.error, many.error);
    assert!(!few.error.contains("sets of tags"), "{}", few.error);
    assert!(many.error.contains("different sets of tags, each of which takes memory"), "{}", many.error);
}
