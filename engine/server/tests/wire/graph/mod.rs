//! The calls on a graph: requests and their answers as transcripts, on a graph of each test's own.

mod bulk;
mod events;
mod fast_path;
mod graphql;

mod long;
mod lua;
mod names;
mod nodes;
mod read_only;
mod tables;

use std::{fmt::Write as _, net::SocketAddr, path::Path};

use expect_test::Expect;
use prony_server::{
    config::{self, CommandLine, CoreChoice, Settings},
    runtime::{self, Running, StartError},
};
use tempfile::TempDir;

use crate::support::{KINDS, Wire};

/// A connection to a graph.
#[derive(Debug)]
pub(crate) struct Client(Wire);

/// A server of a graph and one connection to it.
#[derive(Debug)]
pub(crate) struct Graph {
    client: Client,
    running: Running,
    directory: TempDir,
}

impl Graph {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let running = runtime::start(settings(directory.path(), change)).expect("the server starts");
        Self { client: Client::to(running.addresses()[0]), running, directory }
    }

    /// Stops the server and starts one on the same directory.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(|_| {}).expect("the server starts again")
    }

    pub(crate) fn restart_with(self, change: impl FnOnce(&mut Settings)) -> Result<Self, StartError> {
        let Self { running, directory, .. } = self;
        running.stop();
        let running = runtime::start(settings(directory.path(), change))?;
        Ok(Self { client: Client::to(running.addresses()[0]), running, directory })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    /// As [`Client::ask`].
    pub(crate) fn ask(&mut self, request: &str) -> String {
        self.client.ask(request)
    }

    /// A transcript: each line that begins with a method is asked, and its answer is expected on the line below.
    #[expect(clippy::needless_pass_by_value, reason = "reads like the transcript beside it")]
    pub(crate) fn check(&mut self, transcript: Expect) {
        let is_request = |line: &&str| line.starts_with(|first: char| first.is_ascii_uppercase());
        let mut actual = String::new();
        for request in transcript.data().lines().map(str::trim).filter(is_request) {
            let answer = self.ask(request);
            // Writing to a string cannot fail.
            let _ = writeln!(actual, "{request}\n  {answer}");
        }
        transcript.assert_eq(&actual);
    }
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self(Wire::to(address))
    }

    /// One request, as `POST /node/User/Max {"age": 1}`; a path that begins with `//` is taken from the root, others
    /// follow `/db/rage`. The answer is its status, headers that are not the usual ones, and its body.
    pub(crate) fn ask(&mut self, request: &str) -> String {
        let mut parts = request.splitn(3, ' ');
        let method = parts.next().unwrap_or_default();
        let path = parts.next().unwrap_or_default();
        let body = parts.next().unwrap_or_default();
        let path = path
            .strip_prefix('/')
            .filter(|rest| rest.starts_with('/'))
            .map_or_else(|| format!("/db/rage{path}"), str::to_owned);
        let length =
            if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        self.0.send(format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{length}\r\n{body}"));
        shown(&self.0.response())
    }
}

fn settings(directory: &Path, change: impl FnOnce(&mut Settings)) -> Settings {
    let line =
        CommandLine { sources: vec![format!("graph:{}", directory.display())], ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &|_| None).expect("the source is right");
    settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    settings.cores = CoreChoice::Count(2);
    change(&mut settings);
    settings
}

fn shown(response: &str) -> String {
    let mut lines = response.lines();
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).unwrap_or_default();
    let mut shown = status.split(' ').next().unwrap_or_default().to_owned();
    let mut is_json = false;
    for line in lines {
        if line == "content-type: application/json" {
            is_json = true;
        } else if is_json || line.is_empty() || !line.contains(": ") {
            shown.push(' ');
            shown.push_str(line);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(shown, " [{line}]");
        }
    }
    shown.trim_end().to_owned()
}
