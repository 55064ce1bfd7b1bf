//! k6 scripts beside k6 itself: requests a second and processor time, the memory of users that sleep, how long the
//! users' init code takes, and whether both report the same of a target with known delays.
//!
//! Needs k6: the variable `K6` names it where it is not on the path.

use crate::closed::{compare, head};
use crate::nginx::Nginx;
use crate::process::{resident_kib, waited_cpu_seconds};
use crate::statistics::{median, print_table};
use crate::tool::{Outcome, outcome};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const USERS: u32 = 64;
const SECONDS: u32 = 5;
const GET: &str = "import http from 'k6/http';
export default function () { http.get(`${__ENV.TARGET}/42`); }
";
const GRAPHQL: &str = "import http from 'k6/http';
import { check } from 'k6';
import { Rate } from 'k6/metrics';
const failed = new Rate('failed');
const query = `query Albums($first: Int!, $artist: String) {
  albums(first: $first, filter: { artist: $artist }) { id title artist { name } } }`;
export default function () {
  const variables = { first: 10, artist: 'artist ' + __VU };
  const body = JSON.stringify({ query: query, variables: variables });
  const r = http.post(`${__ENV.TARGET}/graphql`, body, { headers: { 'Content-Type': 'application/json' } });
  const answer = r.json();
  failed.add(answer.errors !== undefined);
  check(r, { 'status is 200': (r) => r.status === 200, 'has albums': () => answer.data.albums.length === 3 });
}
";
/// Users of [`GRAPHQL`] that sleep long after one request.
const SLEEPERS: [u32; 2] = [1_000, 4_000];
/// As many as open files allow on most machines.
const MOST_SLEEPERS: u32 = 19_500;
const INIT_USERS: u32 = 1_000;
/// Iterations of each of [`AGREEMENT_USERS`] users against the delays.
const AGREEMENT_ITERATIONS: u32 = 100;
const AGREEMENT_USERS: u32 = 10;
pub(crate) const ROUNDS: usize = 5;

pub(crate) fn beside_k6() {
    let nginx = Nginx::start_unpinned();
    let target = nginx.url("");
    let mut rows = vec![head("script, users")];
    for (name, text) in [("GET", GET), ("GraphQL", GRAPHQL)] {
        let script = Script::new(&[("main.js", text)]);
        let flags =
            [format!("--vus={USERS}"), format!("--duration={SECONDS}s"), format!("--env=TARGET={target}")];
        rows.push(compare(&format!("{name}, {USERS}"), || {
            (rate(Tool::K6, &script, &flags), rate(Tool::Prony, &script, &flags))
        }));
    }
    print_table(&rows);
}

pub(crate) fn memory_of_users() {
    let nginx = Nginx::start_unpinned();
    let script = Script::new(&[("main.js", &sleeping())]);
    let mut rows = vec![
        ["users", "k6, MB", "Prony, MB", "k6, KB a user", "Prony, KB a user", "ratio"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let base = [Tool::K6, Tool::Prony].map(|tool| settled_kib(tool, &script, 1, &nginx.url("")));
    for users in SLEEPERS {
        let [theirs, ours] =
            [Tool::K6, Tool::Prony].map(|tool| settled_kib(tool, &script, users, &nginx.url("")));
        let each = |total: u64, base: u64| total.saturating_sub(base) as f64 / f64::from(users);
        let (their_each, our_each) = (each(theirs, base[0]), each(ours, base[1]));
        rows.push(vec![
            users.to_string(),
            format!("{:.0}", theirs as f64 / 1e3),
            format!("{:.0}", ours as f64 / 1e3),
            format!("{their_each:.0}"),
            format!("{our_each:.0}"),
            format!("{:.2}", our_each / their_each),
        ]);
    }
    let most = settled_kib(Tool::Prony, &script, MOST_SLEEPERS, &nginx.url(""));
    let each = most.saturating_sub(base[1]) as f64 / f64::from(MOST_SLEEPERS);
    rows.push(vec![
        MOST_SLEEPERS.to_string(),
        "-".to_owned(),
        format!("{:.0}", most as f64 / 1e3),
        "-".to_owned(),
        format!("{each:.0}"),
        "-".to_owned(),
    ]);
    print_table(&rows);
}

pub(crate) fn init_of_users() {
    let module = |name: &str| {
        format!(
            "import {{ check }} from 'k6';\nexport const table = Array.from({{ length: 100 }}, (_, i) => ({{ id: i, name: '{name} ' + i }}));\nexport function {name}(x) {{ return check(x, {{ '{name}': (x) => x > 0 }}); }}\n"
        )
    };
    let main = "import http from 'k6/http';\nimport { one } from './one.js';\nimport { two } from './two.js';\nimport { three } from './three.js';\nexport default function () { one(1); two(2); three(3); }\n";
    let script = Script::new(&[
        ("main.js", main),
        ("one.js", &module("one")),
        ("two.js", &module("two")),
        ("three.js", &module("three")),
    ]);
    let seconds = |tool: Tool, users: u32| {
        let rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let begin = Instant::now();
                tool.run(&script, &[format!("--vus={users}"), format!("--iterations={users}")]);
                begin.elapsed().as_secs_f64()
            })
            .collect();
        median(&rounds)
    };
    let mut rows = vec![["users", "k6, s", "Prony, s"].map(str::to_owned).to_vec()];
    for users in [1, INIT_USERS] {
        let (theirs, ours) = (seconds(Tool::K6, users), seconds(Tool::Prony, users));
        rows.push(vec![users.to_string(), format!("{theirs:.2}"), format!("{ours:.2}")]);
    }
    print_table(&rows);
}

pub(crate) fn agreement() {
    let delays = Delays::start();
    let text = format!(
        "import http from 'k6/http';
import {{ check, sleep }} from 'k6';
export const options = {{ scenarios: {{ a: {{ executor: 'per-vu-iterations', vus: {AGREEMENT_USERS}, iterations: {AGREEMENT_ITERATIONS} }} }} }};
export default function () {{
  const delay = [5, 10, 20, 20, 40][__ITER % 5];
  const r = http.get(`http://{}/${{delay}}`, {{ tags: {{ name: 'delay' }} }});
  check(r, {{ 'is 200': (r) => r.status === 200, 'is quick': () => delay < 40 }});
  sleep(0.01);
}}
",
        delays.address
    );
    let script = Script::new(&[("main.js", &text)]);
    let keys = [
        "http_reqs.count",
        "checks.passes",
        "checks.fails",
        "http_req_duration.med",
        "http_req_duration.p(95)",
        "iteration_duration.med",
    ];
    let mut rows = vec![
        ["figure", "k6, first half of rounds", "k6, second half", "Prony", "Prony to k6"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let runs: Vec<(Value, Value)> =
        (0..2 * ROUNDS).map(|_| (Tool::K6.run(&script, &[]), Tool::Prony.run(&script, &[]))).collect();
    for key in keys {
        let value = |summary: &Value| figure(summary, key);
        let of = |half: &[(Value, Value)]| median(&half.iter().map(|run| value(&run.0)).collect::<Vec<_>>());
        let ours = median(&runs.iter().map(|run| value(&run.1)).collect::<Vec<_>>());
        let (first, second) = (of(&runs[..ROUNDS]), of(&runs[ROUNDS..]));
        rows.push(vec![
            key.to_owned(),
            format!("{first:.3}"),
            format!("{second:.3}"),
            format!("{ours:.3}"),
            format!("{:.4}", ours / f64::midpoint(first, second)),
        ]);
    }
    print_table(&rows);
}

/// [`GRAPHQL`] with a sleep behind it.
fn sleeping() -> String {
    let text = GRAPHQL.replace("import { check }", "import { check, sleep }");
    let end = text.rfind('}').expect("the script has a function");
    format!("{}  sleep(600);\n}}\n", &text[..end])
}

// ---- tools

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    K6,
    Prony,
}

impl Tool {
    fn command(self, script: &Script, flags: &[String]) -> Command {
        let mut command = match self {
            Self::K6 => Command::new(std::env::var("K6").unwrap_or_else(|_| "k6".to_owned())),
            Self::Prony => Command::new(env!("CARGO_BIN_EXE_prony")),
        };
        command.arg("run").args(flags).arg("--quiet");
        if self == Self::Prony {
            command.arg("--output").arg(script.folder());
        }
        command.arg(script.folder().join("main.js")).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// To its end; what `--summary-export` wrote.
    pub(crate) fn run(self, script: &Script, flags: &[String]) -> Value {
        let export = script.folder().join("summary.json");
        let mut flags = flags.to_vec();
        flags.push(format!("--summary-export={}", export.display()));
        let status = self.command(script, &flags).status().expect("k6 is installed, or named by K6");
        assert!(status.success(), "{self:?} failed: {status}");
        let text = fs::read_to_string(export).expect("the tool wrote its summary");
        serde_json::from_str(&text).expect("a summary is JSON")
    }
}

fn rate(tool: Tool, script: &Script, flags: &[String]) -> Outcome {
    let before = waited_cpu_seconds();
    let summary = tool.run(script, flags);
    let cpu = waited_cpu_seconds() - before;
    outcome(figure(&summary, "http_reqs.count"), figure(&summary, "http_reqs.rate"), cpu)
}

/// `METRIC.VALUE` of an exported summary.
pub(crate) fn figure(summary: &Value, key: &str) -> f64 {
    let (metric, value) = key.split_once('.').expect("a key has a metric and a value");
    let found = &summary["metrics"][metric][value];
    found.as_f64().unwrap_or_else(|| panic!("no {key} in {summary}"))
}

/// Resident memory once all users have made their request and sleep: when it has not grown for two seconds.
fn settled_kib(tool: Tool, script: &Script, users: u32, target: &str) -> u64 {
    const QUIET_ROUNDS: u32 = 8;
    let flags = [format!("--vus={users}"), "--duration=300s".to_owned(), format!("--env=TARGET={target}")];
    let mut child = tool.command(script, &flags).spawn().expect("k6 is installed, or named by K6");
    let (mut most, mut quiet) = (0, 0);
    let begin = Instant::now();
    while quiet < QUIET_ROUNDS || begin.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(250));
        let now = resident_kib(child.id());
        assert!(child.try_wait().expect("a child can be waited for").is_none(), "{tool:?} ended too early");
        quiet = if now > most + most / 100 { 0 } else { quiet + 1 };
        most = most.max(now);
    }
    let _ = child.kill();
    let _ = child.wait();
    most
}

/// A script with its modules in a folder of its own.
pub(crate) struct Script(tempfile::TempDir);

impl Script {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("room for small files");
        }
        Self(folder)
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }
}

// ---- a target with known delays

/// Answers `GET /MILLISECONDS` after that time, each connection on a thread of its own, until the process ends.
pub(crate) struct Delays {
    pub(crate) address: SocketAddr,
}

impl Delays {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a listener has an address");
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| drop(thread::spawn(|| serve(stream))));
        });
        Self { address }
    }
}

fn serve(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let delay = line.split(['/', ' ']).nth(2)?.parse().ok()?;
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        }
        thread::sleep(Duration::from_millis(delay));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}
