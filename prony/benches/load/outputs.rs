//! What an output costs: the closed loop with and without it, in alternating runs.

use crate::closed;
use crate::nginx::Nginx;
use crate::statistics::print_table;
use crate::tool::{closed_flags, prony};
use prony_testkit::peer::{ScriptedPeer, Step};
use std::net::UdpSocket;

const CONNECTIONS: u32 = 64;
/// What receivers of `prometheus`, `otlp` and `influxdb` answer.
const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

pub(crate) fn cost() {
    let nginx = Nginx::start();
    let http = ScriptedPeer::answering(TAKEN);
    let tcp = ScriptedPeer::start(vec![vec![Step::ReadToEnd]]);
    // Nobody reads: what does not fit into the socket is lost, as with a StatsD that is busy.
    let udp = UdpSocket::bind("127.0.0.1:0").expect("the loopback has a free port");
    let (http, tcp) = (http.address(), tcp.address());
    let udp = udp.local_addr().expect("a bound socket has an address");
    let targets = [
        ("Prometheus", format!("prometheus:http://{http}")),
        ("OpenTelemetry", format!("otlp:http://{http}")),
        ("InfluxDB", format!("influxdb:http://{http}/load")),
        ("StatsD", format!("statsd:{udp}")),
        ("Graphite", format!("graphite:{tcp}")),
    ];
    let without = closed_flags(CONNECTIONS, &nginx.url("/42"));
    let mut rows = vec![closed::head("output (theirs: none)")];
    for (name, target) in &targets {
        rows.push(closed::compare(name, || (prony(&without), prony(&with(&without, [target])))));
    }
    let all = with(&without, targets.iter().map(|(_, target)| target));
    rows.push(closed::compare("all five at once", || (prony(&without), prony(&all))));
    print_table(&rows);
}

fn with<'a>(flags: &[String], targets: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let outputs = targets.into_iter().flat_map(|target| ["--out".to_owned(), target.clone()]);
    outputs.chain(flags.iter().cloned()).collect()
}
