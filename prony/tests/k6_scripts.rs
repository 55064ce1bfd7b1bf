//! Scripts of every kind that k6's documentation shows, written anew: what `prony run` counts, checks and ends with, and,
//! where k6 is installed (`K6`, or `k6` in `PATH`), that k6 counts, checks and ends the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

#[path = "k6_grpc/server.rs"]
#[allow(dead_code, reason = "each test uses its part of this module")]
mod grpc;
#[path = "k6/shop.rs"]
mod shop;

use expect_test::expect_file;
use prony_testkit::RedisServer;
use serde_json::Value;
use shop::Shop;
use std::collections::BTreeMap;
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
const TIMES: [&str; 7] = [
    "http_req_",
    "iteration_duration",
    "group_duration",
    "ws_connecting",
    "ws_session_duration",
    "ws_ping",
    "grpc_req_duration",
];

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
    methods: "methods.js", Counts;
    system_tags: "system_tags.js", Counts;
    no_system_tags: "no_system_tags.js", Counts;
    groups: "groups.js", Counts;
    counter_thresholds: "counter_thresholds.js", Counts;
    gauge_thresholds: "gauge_thresholds.js", Counts;
    rate_thresholds: "rate_thresholds.js", Counts;
    trend_thresholds: "trend_thresholds.js", Counts;
    abort_on_fail: "abort_on_fail.js", Verdicts;
    shared_iterations: "shared_iterations.js", Counts;
    per_vu_iterations: "per_vu_iterations.js", Counts;
    constant_vus: "constant_vus.js", Verdicts;
    cut_iterations: "cut_iterations.js", Verdicts;
    ramping_vus: "ramping_vus.js", Verdicts;
    stages: "stages.js", Verdicts;
    constant_arrivals: "constant_arrivals.js", Verdicts;
    dropped_arrivals: "dropped_arrivals.js", Verdicts;
    ramping_arrivals: "ramping_arrivals.js", Verdicts;
    scenarios: "scenarios.js", Counts;
    kept_cookies: "kept_cookies.js", Counts;
    redirects: "redirects.js", Counts;
    streams: "streams.js", Counts;
    csv_module: "csv_module.js", Counts;
    files: "files.js", Counts;
    secrets: "secrets.js", Counts;
    encodings: "encodings.js", Counts;
    hashes: "hashes.js", Counts;
    webcrypto_aes: "webcrypto_aes.js", Counts;
    webcrypto_pairs: "webcrypto_pairs.js", Counts;
    timers: "timers.js", Counts;
    thrown_values: "thrown_values.js", Counts;
    rejections: "rejections.js", Counts;
    setup_throws: "setup_throws.js", Counts;
    setup_timeout: "setup_timeout.js", Counts;
    teardown_throws: "teardown_throws.js", Counts;
    init_throws: "init_throws.js", Counts;
    no_function: "no_function.js", Counts;
    marked_failed: "marked_failed.js", Counts;
    abort_in_setup: "abort_in_setup.js", Counts;
    discarded_bodies: "discarded_bodies.js", Counts;
    json_paths: "json_paths.js", Counts;
    multipart: "multipart.js", Counts;
    names_of_urls: "names_of_urls.js", Counts;
    expected_statuses: "expected_statuses.js", Counts;
    transport_errors: "transport_errors.js", Counts;
    tls: "tls.js", Counts;
    shortest_iteration: "shortest_iteration.js", Counts;
    own_tags: "own_tags.js", Counts;
    required: "required.js", Counts;
    async_requests: "async_requests.js", Counts;
    websocket_tags: "websocket_tags.js", Counts;
    who_runs: "who_runs.js", Counts;
    grpc_refused: "grpc_refused.js", Counts;
    grpc_calls: "grpc_calls.js", Counts;
    grpc_streams: "grpc_streams.js", Counts;
    grpc_reflection: "grpc_reflection.js", Counts;
    redis_commands: "redis_commands.js", Counts;
    certificates: "certificates.js", Counts;
}

fn visit(file: &str, compared: Compared) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/k6");
    let script = directory.join("scripts").join(file);
    let servers = Servers::of(&script);
    let facts = |program: &Path| facts(program, &script, &servers, compared);
    let expected = expect_file![directory.join("expected").join(file).with_extension("txt")];
    for _ in 0..rounds() {
        expected.assert_eq(&facts(Path::new(env!("CARGO_BIN_EXE_prony"))));
        if let Some(k6) = k6().filter(|_| compared != Offline) {
            expected.assert_eq(&facts(&k6));
        }
    }
}

/// What scripts visit.
struct Servers {
    shop: Shop,
    grpc: Option<GrpcServer>,
    redis: Option<RedisServer>,
}

struct GrpcServer {
    server: grpc::Server,
    /// With the files of its service.
    folder: tempfile::TempDir,
}

impl Servers {
    /// Those that a script names in its text.
    fn of(script: &Path) -> Self {
        let text = fs::read_to_string(script).unwrap();
        let grpc = text.contains("__ENV.GRPC").then(|| {
            let folder = tempfile::tempdir().unwrap();
            grpc::write_protos(folder.path());
            let reflection = Some("grpc.reflection.v1.ServerReflection");
            let settings = grpc::Settings { reflection, ..grpc::Settings::default() };
            GrpcServer { server: grpc::Server::start(folder.path(), settings), folder }
        });
        let redis = text.contains("__ENV.REDIS").then(|| RedisServer::start(&[]));
        Self { shop: Shop::open(), grpc, redis }
    }

    /// Variables of scripts: names and addresses.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let shop = [("SHOP", self.shop.host()), ("SECURE_SHOP", self.shop.secure_host())];
        let grpc = self.grpc.as_ref().map(|grpc| {
            let protos = grpc.folder.path().join("protos").display().to_string();
            [("GRPC", grpc.server.address.to_string()), ("PROTOS", protos)]
        });
        let redis = self.redis.as_ref().map(|redis| ("REDIS", format!("127.0.0.1:{}", redis.port())));
        shop.into_iter().chain(grpc.into_iter().flatten()).chain(redis).collect()
    }
}

/// How often each script is run: what the variable `ROUNDS` says, or once.
fn rounds() -> u32 {
    env::var("ROUNDS").map_or(1, |rounds| rounds.parse().expect("ROUNDS is a number"))
}

/// k6, where it is installed.
fn k6() -> Option<PathBuf> {
    let named = env::var_os("K6").map(PathBuf::from);
    let paths = env::var_os("PATH").unwrap_or_default();
    named.or_else(|| env::split_paths(&paths).map(|path| path.join("k6")).find(|path| path.is_file()))
}

/// What stands behind `// with: ` in a script's first line.
fn arguments_of(script: &Path) -> Vec<String> {
    let text = fs::read_to_string(script).unwrap();
    let first = text.lines().next().and_then(|line| line.strip_prefix("// with: ")).unwrap_or_default();
    first.split_whitespace().map(str::to_owned).collect()
}

/// Runs a script, and says what came of it: the end, the checks, the metrics, the tags of samples, a file that it wrote.
fn facts(program: &Path, script: &Path, servers: &Servers, compared: Compared) -> String {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let output = Command::new(program)
        .current_dir(directory)
        .env("XDG_CONFIG_HOME", directory)
        .args(["run", "--quiet", "--summary-export", "export.json"])
        .args(["--summary-trend-stats", "count,min,avg,med,max,p(90)"])
        .args(
            servers.variables().iter().flat_map(|(name, value)| ["-e".to_owned(), format!("{name}={value}")]),
        )
        .args(["--out", "json=samples.json"])
        .args(arguments_of(script))
        .arg(script)
        .output()
        .unwrap();
    let mut facts = format!("ends with {}\n", output.status.code().unwrap());
    let Ok(export) = fs::read(directory.join("export.json")) else { return facts + "without a summary\n" };
    let export: Value = serde_json::from_slice(&export).unwrap();
    tell_group(&export["root_group"], &mut facts);
    let mut metrics: Vec<(&String, &Value)> = export["metrics"].as_object().unwrap().iter().collect();
    metrics.sort_by_key(|(name, _)| *name);
    for (name, metric) in metrics {
        tell_metric(name, metric, compared, &mut facts);
    }
    tell_tags(&fs::read_to_string(directory.join("samples.json")).unwrap(), compared, &mut facts);
    if let Ok(shape) = fs::read_to_string(directory.join("shape.json")) {
        let shape: Value = serde_json::from_str(&shape).unwrap();
        let _ = writeln!(facts, "{}", serde_json::to_string_pretty(&shape).unwrap());
    }
    servers.variables().iter().fold(facts, |facts, (name, value)| facts.replace(value, name))
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

/// The tag sets of the samples of each metric, and where everything is counted how many samples have them. Metrics with the same
/// share a line.
fn tell_tags(samples: &str, compared: Compared, facts: &mut String) {
    let mut by_metric: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let samples = samples.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for sample in samples.filter(|sample| sample["type"] == "Point") {
        let metric = sample["metric"].as_str().unwrap().to_owned();
        // k6 tells them after a second for the first time.
        if metric.starts_with("vus") {
            continue;
        }
        let data = &sample["data"];
        let set = format!("{}{}", pairs(&data["tags"]), pairs(&data["metadata"]));
        *by_metric.entry(metric).or_default().entry(set).or_default() += 1;
    }
    let mut metrics_of: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (metric, sets) in by_metric {
        let is_counted = compared != Verdicts && !NOT_COUNTED.contains(&&*metric);
        let line = |(set, count): (String, usize)| {
            if is_counted { format!("  {count} {set}") } else { format!("  {set}") }
        };
        metrics_of.entry(sets.into_iter().map(line).collect()).or_default().push(metric);
    }
    let mut lines: Vec<_> = metrics_of.into_iter().map(|(sets, metrics)| (metrics.join(" "), sets)).collect();
    lines.sort();
    for (metrics, sets) in lines {
        let _ = writeln!(facts, "tags of {metrics}\n{}", sets.join("\n"));
    }
}

/// Names and values by name, `{a=1, b=2}`; nothing where there are none.
fn pairs(of: &Value) -> String {
    let sorted: BTreeMap<_, _> = of.as_object().into_iter().flatten().collect();
    let shown: Vec<_> =
        sorted.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect();
    if shown.is_empty() { String::new() } else { format!("{{{}}}", shown.join(", ")) }
}
