//! Scripts of every kind that k6's documentation shows, written anew: what `prony run` counts, checks and ends with, and,
//! where k6 is installed (`K6`, or `k6` in `PATH`), that k6 counts, checks and ends the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

#[path = "k6/shop.rs"]
mod shop;

use expect_test::expect_file;
use serde_json::Value;
use shop::Shop;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What of a run is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Everything that is counted.
    Counts,
    /// What does not depend on how fast the machine is: the thresholds and the end.
    Verdicts,
    /// Everything, without k6: the script imports from a URL, which k6 would fetch.
    Offline,
}
use Compared::{Counts, Offline, Verdicts};

/// Metrics whose values are the wire's and the machine's.
const NOT_COUNTED: [&str; 4] = ["data_sent", "data_received", "vus", "vus_max"];
/// Prefixes of trends of k6 itself: only how many values they have is compared.
const TIMES: [&str; 6] =
    ["http_req_", "iteration_duration", "group_duration", "ws_connecting", "ws_session_duration", "ws_ping"];

macro_rules! scripts {
    ($($name:ident: $file:literal, $compared:ident;)*) => {
        $(#[test]
        fn $name() {
            visit($file, $compared);
        })*
    };
}

scripts! {
    checks: "checks.js", Counts;
    custom_metrics: "custom_metrics.js", Counts;
    executors: "executors.js", Verdicts;
    tags_and_thresholds: "tagged_thresholds.js", Counts;
    batch: "batch.js", Counts;
    cookies: "cookies.js", Counts;
    forms: "forms.js", Counts;
    requests: "requests.js", Counts;
    shared_arrays: "shared_array.js", Counts;
    crypto: "crypto.js", Counts;
    life: "life.js", Counts;
    ramping_with_abort: "ramping_abort.js", Verdicts;
    an_abort_of_the_script: "script_abort.js", Counts;
    typescript: "typed.ts", Counts;
    html: "html.js", Counts;
    summary: "summary.js", Counts;
    websockets: "websockets.js", Counts;
    websocket_errors: "websocket_errors.js", Counts;
    websockets_of_browsers: "browser_websockets.js", Counts;
    promises: "promises.js", Counts;
    graphql: "graphql.js", Counts;
    libraries: "libraries.js", Offline;
    rows_of_papaparse: "csv_rows.js", Offline;
    text_summary: "text_summary.js", Offline;
    exceptions: "errors.js", Counts;
    failures_that_throw: "throwing.js", Counts;
}

fn visit(file: &str, compared: Compared) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/k6");
    let shop = Shop::open();
    let facts = |program: &Path| facts(program, &directory.join("scripts").join(file), &shop, compared);
    let expected = expect_file![directory.join("expected").join(file).with_extension("txt")];
    expected.assert_eq(&facts(Path::new(env!("CARGO_BIN_EXE_prony"))));
    if let Some(k6) = k6().filter(|_| compared != Offline) {
        expected.assert_eq(&facts(&k6));
    }
}

/// k6, where it is installed.
fn k6() -> Option<PathBuf> {
    let named = env::var_os("K6").map(PathBuf::from);
    let paths = env::var_os("PATH").unwrap_or_default();
    named.or_else(|| env::split_paths(&paths).map(|path| path.join("k6")).find(|path| path.is_file()))
}

/// Runs a script, and says what came of it: the end, the checks, the metrics, a file that it wrote.
fn facts(program: &Path, script: &Path, shop: &Shop, compared: Compared) -> String {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let output = Command::new(program)
        .current_dir(directory)
        .env("XDG_CONFIG_HOME", directory)
        .args(["run", "--quiet", "--summary-export", "export.json"])
        .args(["--summary-trend-stats", "count,min,avg,med,max,p(90)"])
        .args(["-e", &format!("SHOP={}", shop.host()), "-e", &format!("SECURE_SHOP={}", shop.secure_host())])
        .arg(script)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let export = fs::read(directory.join("export.json"))
        .unwrap_or_else(|_| panic!("{} wrote no summary:\n{told}", program.display()));
    let export: Value = serde_json::from_slice(&export).unwrap();
    let mut facts = format!("ends with {}\n", output.status.code().unwrap());
    tell_group(&export["root_group"], &mut facts);
    let mut metrics: Vec<(&String, &Value)> = export["metrics"].as_object().unwrap().iter().collect();
    metrics.sort_by_key(|(name, _)| *name);
    for (name, metric) in metrics {
        tell_metric(name, metric, compared, &mut facts);
    }
    if let Ok(shape) = fs::read_to_string(directory.join("shape.json")) {
        let shape: Value = serde_json::from_str(&shape).unwrap();
        let _ = writeln!(facts, "{}", serde_json::to_string_pretty(&shape).unwrap());
    }
    let hosts = [(shop.host(), "SHOP"), (shop.secure_host(), "SECURE_SHOP")];
    hosts.iter().fold(facts, |facts, (host, name)| facts.replace(host, name))
}

fn tell_group(group: &Value, facts: &mut String) {
    let mut checks: Vec<&Value> = group["checks"].as_object().unwrap().values().collect();
    // Users meet them in an order of their own.
    checks.sort_by_key(|check| check["path"].as_str());
    for check in checks {
        let (path, passes, fails) = (check["path"].as_str().unwrap(), &check["passes"], &check["fails"]);
        let _ = writeln!(facts, "check {path}: {passes} hold, {fails} do not");
    }
    for group in group["groups"].as_object().into_iter().flat_map(|groups| groups.values()) {
        tell_group(group, facts);
    }
}

/// The last digit of a fraction depends on who has read it.
fn rounded(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) if number.fract() != 0.0 => Value::from((number * 1e6).round() / 1e6),
        _ => value.clone(),
    }
}

fn tell_metric(name: &str, metric: &Value, compared: Compared, facts: &mut String) {
    let base = name.split('{').next().unwrap_or(name);
    let mut line = format!("{name}:");
    if compared != Verdicts && !NOT_COUNTED.contains(&base) {
        let is_time = TIMES.iter().any(|prefix| base.starts_with(prefix)) && base != "http_req_failed";
        let mut values: Vec<(&String, &Value)> = metric.as_object().unwrap().iter().collect();
        values.sort_by_key(|(name, _)| *name);
        for (key, value) in values {
            // A counter's rate is by time.
            let is_rate = key == "rate" && metric.get("count").is_some();
            if key != "thresholds" && !is_rate && (!is_time || key == "count") {
                let _ = write!(line, " {key}={}", rounded(value));
            }
        }
    }
    let mut thresholds: Vec<(&String, &Value)> =
        metric["thresholds"].as_object().into_iter().flatten().collect();
    thresholds.sort_by_key(|(expression, _)| *expression);
    for (threshold, is_crossed) in thresholds {
        let verdict = if is_crossed == &Value::Bool(true) { "crossed" } else { "holds" };
        let _ = write!(line, " [{threshold} {verdict}]");
    }
    if !line.ends_with(':') {
        facts.push_str(&line);
        facts.push('\n');
    }
}
