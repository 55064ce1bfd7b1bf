//! TLS and HTTP/2 beside oha and h2load: requests a second and processor time of the tool.

use crate::SECONDS;
use crate::closed::{compare, head};
use crate::nginx::{Nginx, SIZES};
use crate::statistics::print_table;
use crate::tool::{Outcome, closed_flags, number_before, outcome, pinned, prony};

const CONNECTIONS: u32 = 64;
/// Connections and streams on each.
const SHAPES: [(u32, u32); 2] = [(8, 16), (64, 1)];

pub(crate) fn http1_over_tls() {
    let nginx = Nginx::start();
    let mut rows = vec![head("HTTP/1.1 over TLS 1.3")];
    for (path, size) in SIZES {
        let url = nginx.tls_url(path);
        let mut ours = closed_flags(CONNECTIONS, &url);
        ours.push("--insecure".to_owned());
        rows.push(compare(&format!("oha, {size} bytes"), || (oha(&url, CONNECTIONS, &[]), prony(&ours))));
    }
    print_table(&rows);
}

pub(crate) fn http2() {
    let nginx = Nginx::start();
    let path = SIZES[0].0;
    let mut rows = vec![head("HTTP/2, connections × streams")];
    for (connections, streams) in SHAPES {
        for (name, url) in [("plain", nginx.http2_url(path)), ("TLS", nginx.tls_url(path))] {
            let mut ours = closed_flags(connections * streams, &url);
            ours.extend(["--http2".to_owned(), format!("--streams={streams}")]);
            if name == "TLS" {
                ours.push("--insecure".to_owned());
            }
            let shape = format!("{connections} × {streams}, {name}");
            rows.push(compare(&format!("h2load, {shape}"), || {
                (h2load(&url, connections, streams), prony(&ours))
            }));
            if name == "plain" {
                continue;
            }
            let flags = ["--http2".to_owned(), "-p".to_owned(), streams.to_string()];
            rows.push(compare(&format!("oha, {shape}"), || (oha(&url, connections, &flags), prony(&ours))));
        }
    }
    print_table(&rows);
}

/// `oha` with one worker thread: its tokio runtime takes as many as it has processors.
fn oha(url: &str, connections: u32, more: &[String]) -> Outcome {
    let program = std::env::var("OHA").unwrap_or_else(|_| "oha".to_owned());
    let mut arguments = vec![format!("-z{SECONDS}s"), format!("-c{connections}"), "--insecure".to_owned()];
    arguments.extend(["--no-tui".to_owned(), "--output-format".to_owned(), "json".to_owned()]);
    arguments.extend_from_slice(more);
    arguments.push(url.to_owned());
    let (text, cpu) = pinned(&program, &arguments);
    let value: serde_json::Value = serde_json::from_str(&text).expect("oha prints JSON");
    let per_s = value["summary"]["requestsPerSec"].as_f64().expect("oha says its rate");
    outcome(per_s * f64::from(SECONDS), per_s, cpu)
}

fn h2load(url: &str, connections: u32, streams: u32) -> Outcome {
    let arguments = [
        format!("-D{SECONDS}"),
        "-t1".to_owned(),
        format!("-c{connections}"),
        format!("-m{streams}"),
        url.to_owned(),
    ];
    let (text, cpu) = pinned("h2load", &arguments);
    let line = text.lines().find(|line| line.starts_with("requests:")).unwrap_or_default();
    let done = number_before(line, " done");
    outcome(done, done / f64::from(SECONDS), cpu)
}
