//! Graphite's plaintext protocol over TCP (graphite.readthedocs.io, feeding carbon): a line for each figure of a second.

use crate::second::{Second, outcome_word, unix_ns};
use crate::sender::{SEND_TIMEOUT, Sender};
use prony_model::Nanos;
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::tally::TallyCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};

const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0)];

#[derive(Debug)]
struct Graphite {
    target: String,
    connection: Option<TcpStream>,
}

pub(crate) fn open(target: &str) -> Result<Box<dyn Sender>, String> {
    Ok(Box::new(Graphite { target: address(target)?, connection: None }))
}

impl Sender for Graphite {
    /// A connection that the server has closed is opened anew. One that failed is not used again: a part of a line may stand in it.
    fn send(&mut self, second: &Second) -> Result<(), String> {
        let open = self.connection.take().filter(is_open);
        let connection = open.map_or_else(|| connect(&self.target), Ok);
        let mut connection = connection.map_err(|cause| in_words(&cause))?;
        connection.write_all(lines(second).as_bytes()).map_err(|cause| in_words(&cause))?;
        self.connection = Some(connection);
        Ok(())
    }
}

/// Graphite sends nothing, so that all there is to read is the end of the connection.
fn is_open(connection: &TcpStream) -> bool {
    let looked = connection.set_nonblocking(true).and_then(|()| connection.peek(&mut [0]));
    let is_waiting = matches!(&looked, Err(cause) if cause.kind() == ErrorKind::WouldBlock);
    is_waiting && connection.set_nonblocking(false).is_ok()
}

/// A limit of time is said by the system as if one should try again.
fn in_words(cause: &std::io::Error) -> String {
    match cause.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("nothing is taken within {} s", SEND_TIMEOUT.as_secs())
        }
        _ => cause.to_string(),
    }
}

fn connect(target: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in target.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, SEND_TIMEOUT) {
            Ok(connection) => {
                connection.set_write_timeout(Some(SEND_TIMEOUT))?;
                return Ok(connection);
            }
            Err(cause) => last = cause,
        }
    }
    Err(last)
}

/// Times are in milliseconds, absent with too few samples.
fn lines(second: &Second) -> String {
    let (run, time) = (format!("prony.{}", path(&second.run)), unix_ns(second.ended) / 1_000_000_000);
    let mut text =
        format!("{run}.users {} {time}\n{run}.dropped_starts {} {time}\n", second.users, second.dropped);
    // Of two lines with one path and one time the server would keep the last.
    let mut cells: BTreeMap<String, TallyCell> = BTreeMap::new();
    for (name, request) in second.requests.iter().filter(|(_, request)| request.cell.requests() > 0) {
        cells.entry(path(name)).or_default().merge(&request.cell);
    }
    for (name, cell) in &cells {
        let of = format!("{run}.requests.{name}");
        for kind in OutcomeKind::ALL.into_iter().filter(|kind| cell.outcome(*kind) > 0) {
            let _ = writeln!(text, "{of}.{} {} {time}", outcome_word(kind), cell.outcome(kind));
        }
        let (sent, received) = (cell.bytes_sent, cell.bytes_received);
        let _ = writeln!(text, "{of}.bytes_sent {sent} {time}\n{of}.bytes_received {received} {time}");
        let times = &cell.response;
        let known = [("min", times.min()), ("mean", times.mean()), ("max", times.max())];
        let percentiles = PERCENTILES.map(|(part, percentile)| (part, times.percentile(percentile)));
        for (part, value) in known.into_iter().chain(percentiles) {
            if let Some(value) = value.map(Nanos::as_millis_f64) {
                let _ = writeln!(text, "{of}.response_time.{part} {value} {time}");
            }
        }
    }
    text
}

/// `HOST:PORT`.
pub(crate) fn address(target: &str) -> Result<String, String> {
    let port =
        target.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(port)) if port > 0 => Ok(target.to_owned()),
        _ => Err("its target is no HOST:PORT".to_owned()),
    }
}

/// One part of a dotted name: what separates parts, or ends a name, becomes `_`.
pub(crate) fn path(text: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    let part: String = text.chars().map(safe).collect();
    if part.is_empty() { "_".to_owned() } else { part }
}
