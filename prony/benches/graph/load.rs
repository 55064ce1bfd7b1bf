//! Runs of our load against a server whose processor time is measured: the engine on a graph, or nginx.

use crate::nginx::Nginx;
use crate::process::cpu_seconds;
use crate::statistics::median;
use crate::subject::Subject;
use crate::tool::prony_result;
use crate::{CONNECTIONS, SECONDS, TARGET_CORE};
use prony_model::{ResultFile, WindowKind};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// What is asked, apart from whom.
#[derive(Debug, Clone)]
pub(crate) enum Requests {
    /// Variables and requests of a plan.
    Plan(String),
    /// The example script's arguments.
    Script(Vec<String>),
}

/// One run: successes a second and the server's processor time for each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) per_s: f64,
    pub(crate) server_us: f64,
}

impl Requests {
    /// GET of random nodes among this many.
    pub(crate) fn get_nodes(nodes: u32) -> Self {
        Self::Plan(format!("{}[[requests]]\npath = \"/db/rage/node/Node/${{key}}\"\n", range("key", nodes)))
    }

    /// GET of all relationships of random nodes.
    pub(crate) fn get_relationships(nodes: u32) -> Self {
        let path = "/db/rage/node/Node/${key}/relationships";
        Self::Plan(format!("{}[[requests]]\npath = \"{path}\"\n", range("key", nodes)))
    }

    /// Between random nodes.
    pub(crate) fn create_relationships(nodes: u32) -> Self {
        let variables = format!("{}type = {{ range = [1, 9] }}\n", range("key", nodes) + &other(nodes));
        let path = "/db/rage/node/Node/${key}/relationship/Node/${other}/TYPE_${type}";
        Self::Plan(format!(
            "{variables}[[requests]]\nmethod = \"POST\"\npath = \"{path}\"\nexpect_status = 201\n"
        ))
    }

    /// With new keys from this one on.
    pub(crate) fn create_nodes(first: u32) -> Self {
        Self::Script(vec!["create".to_owned(), first.to_string()])
    }

    /// One run against an address.
    pub(crate) fn run(&self, url: &str) -> ResultFile {
        match self {
            Self::Plan(text) => run_plan(&format!(
                "target = \"{url}\"\nusers = {CONNECTIONS}\nduration = \"{SECONDS}s\"\n{text}"
            )),
            Self::Script(arguments) => {
                let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/wrk/graph.lua");
                let (connections, seconds) = (format!("-c{CONNECTIONS}"), format!("-d{SECONDS}s"));
                let flags = ["-t1", &connections, &seconds, "-s", script, url];
                let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
                flags.push("--".to_owned());
                flags.extend_from_slice(arguments);
                result(&flags)
            }
        }
    }

    /// One run, with what it took of a server's processor.
    pub(crate) fn measure(&self, url: &str, process: u32) -> Run {
        let before = cpu_seconds(process);
        let result = self.run(url);
        let used = cpu_seconds(process) - before;
        let whole = &result.window(WindowKind::Whole).expect("a result always holds the whole run").all;
        Run { per_s: whole.rate_per_s, server_us: used * 1e6 / whole.requests as f64 }
    }
}

fn range(name: &str, nodes: u32) -> String {
    format!("[variables]\n{name} = {{ range = [0, {}] }}\n", nodes - 1)
}

fn other(nodes: u32) -> String {
    format!("other = {{ range = [0, {}] }}\n", nodes - 1)
}

/// Runs the text of a plan.
pub(crate) fn run_plan(text: &str) -> ResultFile {
    let plan = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
    std::fs::write(plan.path(), text).expect("room for a small file");
    result(&[plan.path().display().to_string()])
}

/// A rate with failures in it compares with nothing.
fn result(flags: &[String]) -> ResultFile {
    let (result, _) = prony_result(flags);
    let whole = &result.window(WindowKind::Whole).expect("a result always holds the whole run").all;
    assert_eq!(whole.successes, whole.requests, "{flags:?}: {:?}", whole.outcomes);
    result
}

/// The engine on its processor.
pub(crate) fn serve(directory: &Path, durability: &str) -> Subject {
    let source = format!("graph:{}", directory.display());
    Subject::start(&source, &["--cpus", "1", "--durability", durability], Some(TARGET_CORE))
}

/// The body of one answer, asked outside of any load.
pub(crate) fn body_of(url: &str, method: &str, path: &str) -> String {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
    body.to_owned()
}

/// nginx with this answer, and what it is called in tables.
pub(crate) fn ceiling(status: u16, body: &str) -> Nginx {
    Nginx::start_answering(status, body)
}

/// The middle of one figure of several runs.
pub(crate) fn middle(runs: &[Run], pick: impl Fn(&Run) -> f64) -> f64 {
    median(&runs.iter().map(pick).collect::<Vec<_>>())
}
