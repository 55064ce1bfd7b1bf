//! A `prony` that tests ask.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use prony_testkit::PronyProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a loaded machine; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A `prony` with one processor.
pub(crate) struct Server {
    pub(crate) process: PronyProcess,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(arguments).args(["--listen", "127.0.0.1:0", "--cpus", "1"]);
        let mut process = PronyProcess::start_command(command);
        let address = process.wait_for_url().replace("http://", "");
        Self { process, address }
    }

    pub(crate) fn example() -> Self {
        Self::start(&["example", "starwars"])
    }

    /// With a configuration file.
    pub(crate) fn configured(directory: &TempDir, text: &str) -> Self {
        let path = directory.path().join("prony.toml");
        fs::write(&path, text).expect("the file can be written");
        Self::start(&["serve", "--config", path.to_str().expect("the path is text")])
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/graphql", self.address)
    }

    /// Head and body.
    pub(crate) fn ask(&self, head: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head ends");
        (head.to_owned(), body.to_owned())
    }

    pub(crate) fn graphql(&self, query: &str) -> Value {
        self.graphql_with(query, &json!({}))
    }

    pub(crate) fn graphql_with(&self, query: &str, variables: &Value) -> Value {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let (head, body) = self.ask("POST /graphql", &body);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {head}\n{body}"))
    }

    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!("GET {path}"), "")
    }

    /// The sum of a metric's samples; `name` is how their lines begin.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let metrics = self.get("/metrics").1;
        let lines = metrics.lines().filter(|line| line.starts_with(name));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }

    pub(crate) fn wait_until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}\n{}", self.process.stderr());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
