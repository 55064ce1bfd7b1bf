//! A served graph that is harmed, and what is left of it. Its faults are in the modules below, a group in each.

mod files;
mod log;
mod process;
mod rot;
mod snapshots;
mod starts;

use std::{
    collections::HashSet,
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use prony_testkit::{PronyProcess, free_port, process::Signal};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;
use ureq::Agent;

use crate::{
    PRONY, TARGET_CORE,
    clients::{Call, Fate},
    injection::{Fault, Found, LASTS, Site},
    syscalls::{Injection, threads_named},
};

/// Of a served graph: the thread that writes the log.
const LOG_THREAD: &str = "graph-log";
/// That which takes snapshots.
const SNAPSHOT_THREAD: &str = "graph-snapshot";
/// Where snapshots are to be frequent: some seconds' writes of clients.
const FREQUENT_BYTES: u64 = 4 << 20;
/// For so long at most a snapshot is waited for: each is due when the log has twice the length of the one before, and has a small part of a
/// processor that others need.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);
/// Nodes that are read at a time, and what their JSON may have.
const PAGE: usize = 50_000;
const PAGE_BYTES: u64 = 64 << 20;
/// What a program ends with that could not start.
const NOT_STARTED: i32 = 2;
/// How the system's errors are told.
const INPUT_OUTPUT: &str = "Input/output error";

pub(crate) struct Graph {
    directory: TempDir,
    address: SocketAddr,
    snapshots: Snapshots,
    process: Option<PronyProcess>,
    /// When the fault began, where that is later than when it was asked for.
    begun: Option<Instant>,
    /// Keys that a start has said to be lost, or of which it has said that it does not know.
    given_up: HashSet<u64>,
    /// What is not as it has to be.
    problems: Vec<String>,
}

/// How often there are some.
#[derive(Clone, Copy)]
pub(crate) enum Snapshots {
    /// None comes while clients write: all is in the log.
    Rare,
    Frequent,
}

pub(crate) const GROUPS: [(&str, &[Fault<Graph>]); 5] = [
    ("process", &process::FAULTS),
    ("log", &log::FAULTS),
    ("snapshots", &snapshots::FAULTS),
    ("starts", &starts::FAULTS),
    ("rot", &rot::FAULTS),
];

impl Site for Graph {
    type Setting = Snapshots;

    fn start(snapshots: Snapshots) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (given_up, problems) = (HashSet::new(), Vec::new());
        let mut graph =
            Self { directory, address, snapshots, process: None, begun: None, given_up, problems };
        graph.serve();
        graph.declare("User");
        graph
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn call() -> impl Call {
        CreateNode
    }

    fn begun(&self) -> Option<Instant> {
        self.begun
    }

    fn found(&mut self) -> Found {
        self.kill(Signal::KILL);
        self.check();
        self.serve();
        let mut found = Found::default();
        loop {
            let path = format!("nodes/User?skip={}&limit={PAGE}", found.keys.len());
            let nodes = self.get(&path);
            let nodes = nodes.as_array().expect("nodes are a list");
            for node in nodes {
                let key = node["key"].as_str().and_then(|key| key.parse().ok());
                let key: u64 = key.expect("keys are numbers here");
                assert!(found.keys.insert(key), "a key is there once");
                found.in_part += usize::from(node["properties"]["number"].as_u64() != Some(key));
            }
            if nodes.len() < PAGE {
                break;
            }
        }
        found.given_up = std::mem::take(&mut self.given_up);
        found.problems = std::mem::take(&mut self.problems);
        found
    }
}

impl Graph {
    /// What serves it, with `recover` also without what is damaged.
    fn command(&self, recover: bool) -> Command {
        let path = self.directory.path().join("prony.toml");
        let url = format!("graph:{}", self.databases().display());
        let snapshots = match self.snapshots {
            Snapshots::Rare => String::new(),
            Snapshots::Frequent => format!("snapshot_at_log_bytes = {FREQUENT_BYTES}\n"),
        };
        let text = format!("[[source]]\nurl = {url:?}\nrecover = {recover}\n{snapshots}");
        fs::write(&path, text).expect("room for a small file");
        let mut command = Command::new("taskset");
        command.args(["-c", TARGET_CORE, PRONY, "serve", "--config"]).arg(path);
        command.args(["--listen", &self.address.to_string(), "--cpus", "1", "--grace-ms", "2000"]);
        command
    }

    fn serve(&mut self) {
        self.serve_with(false);
    }

    /// Starts the server, once the one before has ended; what it has said until it listened.
    fn serve_with(&mut self, recover: bool) -> String {
        self.end();
        let mut process = PronyProcess::start_command(self.command(recover));
        process.wait_for_url();
        let said = process.stderr();
        self.process = Some(process);
        said
    }

    /// Starts a server that has to end with a message in which all of these texts stand.
    fn start_in_vain(&mut self, command: Command, says: &[&str]) {
        let mut process = PronyProcess::start_command(command);
        let listens = process.try_wait_for_url().is_ok();
        if listens {
            process.signal(Signal::TERM);
        }
        let ended = process.wait();
        if listens || ended.status.code() != Some(NOT_STARTED) {
            self.has_problem(format!("a start that has to fail ended with {}", ended.status));
        }
        for text in says.iter().filter(|text| !ended.stderr.contains(**text)) {
            self.has_problem(format!("a start does not say `{text}`: {}", ended.stderr));
        }
    }

    fn restart(&mut self, signal: Signal) {
        self.kill(signal);
        self.serve();
    }

    /// Signals it, and waits for its end.
    fn kill(&mut self, signal: Signal) {
        self.process().signal(signal);
        self.end();
    }

    /// Waits for the end of a server that was signalled.
    fn end(&mut self) {
        if let Some(process) = self.process.take() {
            process.wait();
        }
    }

    fn process(&self) -> &PronyProcess {
        self.process.as_ref().expect("it is served")
    }

    fn threads(&self, name: &str) -> Vec<u32> {
        threads_named(self.process().id(), name)
    }

    /// Where its databases are.
    fn databases(&self) -> PathBuf {
        self.directory.path().join("rage")
    }

    /// Where its files are.
    fn files(&self) -> PathBuf {
        self.databases().join("rage")
    }

    /// A snapshot that is being written.
    fn part(&self) -> PathBuf {
        self.files().join("snapshot.part")
    }

    /// The file of this kind with the highest number.
    fn newest(&self, kind: &str) -> PathBuf {
        self.find(kind).unwrap_or_else(|| panic!("there is no file {kind}…"))
    }

    fn find(&self, kind: &str) -> Option<PathBuf> {
        files::numbered(&self.files(), kind).pop().map(|(_, path)| path)
    }

    /// The fault begins at this moment, not when it was asked for.
    fn begins(&mut self, at: Instant) {
        self.begun = Some(at);
    }

    fn has_problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// What `prony graph check` says of files that no process has open.
    fn check(&mut self) {
        let mut command = Command::new(PRONY);
        let output = command.args(["graph", "check"]).arg(self.databases()).output();
        let output = output.expect("the program can be started");
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            self.has_problem(format!("`prony graph check` says: {}", String::from_utf8_lossy(&said)));
        }
    }

    /// How large files may grow, which the server meets as it meets a full disk.
    fn limit_files(&self, bytes: Option<u64>) {
        let pid = Pid::from_raw(self.process().id().cast_signed());
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(pid, Resource::Fsize, limit).expect("of our own process");
    }

    /// For the length of a fault system calls of the log's thread go as strace is told.
    fn while_injected(&self, calls: &str, how: &str) {
        let injection = Injection::begin(&self.threads(LOG_THREAD), calls, how, None);
        thread::sleep(LASTS);
        injection.end();
    }

    /// Waits until this is so of what `/health` says of it; none where it does not become so.
    fn wait_for_health(&self, is_so: impl Fn(&Value) -> bool) -> Option<Value> {
        let url = format!("http://{}/health", self.address);
        let begin = Instant::now();
        while begin.elapsed() < SNAPSHOT_PATIENCE {
            let (_, health) = ask("GET", &url, String::new()).expect("the server responds");
            let of_graph = &health["graphs"][0];
            if is_so(of_graph) {
                return Some(of_graph.clone());
            }
            thread::sleep(POLL);
        }
        None
    }

    /// Until one was taken since the start.
    fn wait_for_snapshot(&self) {
        let taken = self.wait_for_health(|health| health["last_snapshot"].is_object());
        assert!(taken.is_some(), "a snapshot is taken within {SNAPSHOT_PATIENCE:?}");
    }

    /// A property `number` of nodes.
    fn declare(&self, of: &str) {
        let path = format!("schema/nodes/{of}/properties/number/integer");
        let declared = self.call("POST", &path, String::new());
        assert_eq!(declared.map(|(status, _)| status), Some(201), "a property is declared");
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/db/rage/{path}", self.address)
    }

    fn call(&self, method: &str, path: &str, body: String) -> Option<(u16, Value)> {
        ask(method, &self.url(path), body)
    }

    fn get(&self, path: &str) -> Value {
        let (status, value) = self.call("GET", path, String::new()).expect("the server responds");
        assert_eq!(status, 200, "{path}: {value}");
        value
    }
}

/// Status and body of a response, null where it is no JSON; none where none comes.
fn ask(method: &str, url: &str, body: String) -> Option<(u16, Value)> {
    let config = Agent::config_builder().http_status_as_error(false).build();
    let request = http::Request::builder().method(method).uri(url).body(body);
    let request = request.expect("a request that HTTP can have");
    let mut response = Agent::new_with_config(config).run(request).ok()?;
    let text = response.body_mut().with_config().limit(PAGE_BYTES).read_to_string().ok()?;
    Some((response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default()))
}

struct CreateNode;

impl Call for CreateNode {
    fn request(&self, key: u64) -> Vec<u8> {
        let body = format!("{{\"number\":{key}}}");
        let head = format!("POST /db/rage/node/User/{key} HTTP/1.1\r\nhost: localhost");
        format!("{head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    }

    fn fate(&self, status: u16, body: &str) -> Fate {
        let what = format!("{status}: {}", body.trim_matches('"'));
        match status {
            201 => Fate::Acknowledged,
            _ if body.contains("unknown") => Fate::Unknown(what),
            _ => Fate::Refused(what),
        }
    }
}
