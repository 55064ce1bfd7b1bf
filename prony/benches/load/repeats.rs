//! Whether answers repeat: the interval of `prony find` over invocations, and the verdicts of `prony compare` of a
//! server with itself and with a copy that is 5 % slower.

use crate::TARGET_CORE;
use crate::nginx::Nginx;
use crate::statistics::print_table;
use crate::tool::pinned;
use prony_model::comparison::{ComparisonFile, Difference};
use prony_model::search::{SearchAnswer, SearchFile};
use prony_testkit::process::PronyProcess;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

const INVOCATIONS: usize = 3;
const TRIES: usize = 20;
const SLO: &str = "p99<50ms,errors<1%,rate>=99%";

pub(crate) fn find() {
    let mut rows =
        vec![vec!["target".to_owned(), "highest that passes to lowest that fails, starts/s".to_owned()]];
    let nginx = Nginx::start();
    let zipped = plan(&nginx.url(""), "path = \"/zip\"\nheaders = { Accept-Encoding = \"gzip\" }");
    rows.push(vec!["nginx, 64 kB compressed for each request".to_owned(), intervals(&zipped, "200")]);
    drop(nginx);
    let (_engine, url, _folder) = engine();
    let query = "path = \"/graphql\"\n[requests.graphql]\nquery = \"{ customers(limit: 50) { id name orders { id total } } }\"";
    rows.push(vec![
        "prony serve, 50 customers and their orders".to_owned(),
        intervals(&plan(&url, query), "4000"),
    ]);
    print_table(&rows);
}

/// An open model whose rate the search sets.
fn plan(target: &str, request: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
    let text = format!(
        "target = \"{target}\"\nrate = 10\nduration = \"5s\"\nusers = 500\n[[requests]]\n{request}\n"
    );
    std::fs::write(file.path(), text).expect("room for a small file");
    file
}

/// The engine on a small database, on the target's processor.
fn engine() -> (PronyProcess, String, tempfile::TempDir) {
    const DATA: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), total REAL);
        CREATE INDEX orders_of ON orders (customer_id);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO customers SELECT i, 'customer ' || i FROM n;
        INSERT INTO orders SELECT NULL, id, id * 1.5 FROM customers, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3);";
    let folder = tempfile::tempdir().expect("a temporary directory");
    let database = folder.path().join("shop.db");
    rusqlite::Connection::open(&database)
        .and_then(|connection| connection.execute_batch(DATA))
        .expect("a small database");
    let source = format!("sqlite:{}", database.display());
    let binary = env!("CARGO_BIN_EXE_prony");
    let arguments = ["-c", TARGET_CORE, binary, "serve", &source, "--listen", "127.0.0.1:0"];
    let mut process = PronyProcess::start("taskset", arguments);
    let url = process.wait_for_url();
    (process, url, folder)
}

fn intervals(plan: &tempfile::NamedTempFile, from: &str) -> String {
    let path = plan.path().display().to_string();
    let flags = ["find", path.as_str(), "--vary", "rate", "--slo", SLO, "--from", from];
    let times = ["--ramp", "500ms", "--hold", "2s", "--threads", "1"];
    let found = (0..INVOCATIONS).map(|_| {
        let text = json(&[flags.as_slice(), &times].concat());
        let file: SearchFile = serde_json::from_str(&text).expect("prony prints its result");
        match file.answer {
            SearchAnswer::Between { passed, failed } => format!("{passed} to {failed}"),
            other => format!("{other:?}"),
        }
    });
    found.collect::<Vec<_>>().join("; ")
}

pub(crate) fn compare() {
    let target = DelayedTarget::start();
    let same = (0..TRIES).filter(|_| !differs(&target.url(20), &target.url(20))).count();
    let slower = (0..TRIES).filter(|_| differs(&target.url(20), &target.url(21))).count();
    println!("with itself: no difference shown in {same} of {TRIES}");
    println!("with a copy that is 5 % slower: shown in {slower} of {TRIES}");
}

fn differs(a: &str, b: &str) -> bool {
    let flags = ["compare", a, b, "--runs", "4", "--duration", "1s", "--users", "8", "--threads", "1"];
    let file: ComparisonFile = serde_json::from_str(&json(&flags)).expect("prony prints its result");
    file.comparison.figures.iter().any(|figure| figure.difference != Difference::NotShown)
}

/// What a command prints as JSON.
fn json(flags: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut arguments: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    arguments.extend(["--json", "--quiet", "--output"].map(str::to_owned));
    arguments.push(folder.path().display().to_string());
    let (text, _) = pinned(env!("CARGO_BIN_EXE_prony"), &arguments);
    text
}

/// The self-test's target, which answers after as many milliseconds as its path says.
struct DelayedTarget {
    process: Child,
    address: String,
}

impl DelayedTarget {
    fn start() -> Self {
        let mut process = Command::new("taskset")
            .args(["-c", TARGET_CORE, env!("CARGO_BIN_EXE_prony"), "selftest-target"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("taskset is installed");
        let mut line = String::new();
        let output = process.stdout.take().expect("it was piped");
        BufReader::new(output).read_line(&mut line).expect("the target says where it listens");
        let address = line.trim().trim_start_matches("listening on ").to_owned();
        Self { process, address }
    }

    fn url(&self, milliseconds: u32) -> String {
        format!("http://{}/fixed/{milliseconds}", self.address)
    }
}

impl Drop for DelayedTarget {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
