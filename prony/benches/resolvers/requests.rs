//! What wrk asks, and one run of it against a server whose processor time is measured.

use crate::process::cpu_seconds;
use crate::tool::{self, closed_flags, wrk};
use crate::{CONNECTIONS, SECONDS};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

/// One request, sent again and again.
pub(crate) struct Request {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    /// The body of a POST; a GET has none.
    pub(crate) body: Option<String>,
}

/// One run: requests a second, and the processor time of the server and of wrk for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) per_s: f64,
    pub(crate) server_us: f64,
    pub(crate) tool_us: f64,
}

impl Request {
    pub(crate) fn get(name: &'static str, path: &'static str) -> Self {
        Self { name, path, body: None }
    }

    pub(crate) fn graphql(name: &'static str, query: &str, variables: &str) -> Self {
        let query = serde_json::Value::from(query);
        let body = format!("{{\"query\":{query},\"variables\":{variables}}}");
        Self { name, path: "/graphql", body: Some(body) }
    }

    /// The body of one answer, asked outside of any load.
    pub(crate) fn answer(&self, url: &str) -> String {
        let address = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let body = self.body.as_deref().unwrap_or_default();
        let (method, length) = if self.body.is_some() { ("POST", body.len()) } else { ("GET", 0) };
        write!(
            stream,
            "{method} {} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}",
            self.path
        )
        .expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        assert!(head.starts_with("HTTP/1.1 200") && !body.contains("\"errors\""), "{}: {answer}", self.name);
        body.to_owned()
    }

    /// wrk renders it once, so that Lua costs a request nothing.
    fn script(&self, folder: &tempfile::TempDir) -> PathBuf {
        let body = self.body.as_ref().map_or_else(String::new, |body| {
            format!("wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\nwrk.headers[\"Content-Type\"] = \"application/json\"\n")
        });
        let path = folder.path().join("request.lua");
        std::fs::write(&path, body).expect("the temporary folder is writable");
        path
    }

    /// One run of [`SECONDS`] against a server.
    pub(crate) fn run(&self, url: &str, process: u32) -> Run {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut flags = closed_flags(CONNECTIONS, &format!("{url}{}", self.path));
        flags.extend(["-s".to_owned(), self.script(&folder).display().to_string()]);
        let before = cpu_seconds(process);
        let tool::Outcome { requests_per_s, cpu_us } = wrk(&flags);
        let used = cpu_seconds(process) - before;
        Run {
            per_s: requests_per_s,
            server_us: used * 1e6 / (requests_per_s * f64::from(SECONDS)),
            tool_us: cpu_us,
        }
    }
}

/// One figure of each run.
pub(crate) fn column(runs: &[Run], pick: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(pick).collect()
}
