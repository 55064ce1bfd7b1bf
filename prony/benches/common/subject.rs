//! The engine under measurement: `prony serve` on a source, or an example; its address and its process.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use prony_testkit::process::PronyProcess;

/// A running `prony serve` or `prony example`.
pub(crate) struct Subject {
    process: PronyProcess,
    pub(crate) url: String,
}

impl Subject {
    /// Starts the release binary on a free port of the loopback; `cores` pins it as `taskset` does.
    pub(crate) fn start(source: &str, flags: &[&str], cores: Option<&str>) -> Self {
        Self::run(["serve", source], flags, cores)
    }

    /// As [`start`](Self::start), for an example.
    pub(crate) fn example(name: &str, flags: &[&str], cores: Option<&str>) -> Self {
        Self::run(["example", name], flags, cores)
    }

    fn run(command: [&str; 2], flags: &[&str], cores: Option<&str>) -> Self {
        let binary = env!("CARGO_BIN_EXE_prony");
        let mut arguments: Vec<&str> = Vec::new();
        if let Some(cores) = cores {
            arguments.extend(["-c", cores, binary]);
        }
        arguments.extend(command);
        arguments.extend(["--listen", "127.0.0.1:0"]);
        arguments.extend(flags);
        let mut process = PronyProcess::start(if cores.is_some() { "taskset" } else { binary }, &arguments);
        let url = process.wait_for_url();
        Self { process, url }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn graphql_url(&self) -> String {
        format!("{}/graphql", self.url)
    }

    /// Posts one GraphQL request and gives head and body of the answer.
    pub(crate) fn post(&self, query: &str, variables: &str, headers: &str) -> String {
        let body = format!("{{\"query\":{},\"variables\":{variables}}}", json_string(query));
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the subject listens");
        write!(
            stream,
            "POST /graphql HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("the subject reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the subject answers in UTF-8");
        answer
    }
}

fn json_string(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
