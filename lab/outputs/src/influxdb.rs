//! `InfluxDB`'s line protocol over HTTP, of versions 1 and 2 (docs.influxdata.com, line protocol reference).

use crate::http::{AUTHORIZATION, Post, url};
use crate::second::{Second, unix_ns};
use crate::sender::Sender;
use percent_encoding::percent_decode_str;
use prony_model::Nanos;
use prony_model::measurement::tally::TallyCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use url::Url;

/// A token of version 2 and later, by the name that `InfluxDB`'s own client has for it.
const TOKEN_VARIABLE: &str = "INFLUX_TOKEN";
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0)];

#[derive(Debug)]
struct InfluxDb(Post);

/// `http://HOST:8086/DATABASE`, or the whole URL of a `write` with its query.
pub(crate) fn open(target: &str) -> Result<Box<dyn Sender>, String> {
    let mut url = url(target, "/")?;
    // Command lines are kept in results, without what stands before the host.
    if url.query_pairs().any(|(name, _)| name == "p") {
        return Err("its URL has a password in the query; it belongs before the host, as in http://USER:PASSWORD@HOST".to_owned());
    }
    if !url.path().ends_with("/write") {
        let database = percent_decode_str(url.path().trim_matches('/')).decode_utf8_lossy().into_owned();
        if database.is_empty() || database.contains('/') {
            return Err("its URL names no database".to_owned());
        }
        url.set_path("/write");
        url.query_pairs_mut().append_pair("db", &database);
    }
    take_precision(&mut url);
    let mut headers = vec![("content-type", "text/plain; charset=utf-8".to_owned())];
    if let Ok(token) = std::env::var(TOKEN_VARIABLE) {
        headers.push((AUTHORIZATION, format!("Token {token}")));
    }
    Ok(Box::new(InfluxDb(Post::new(url, headers)?)))
}

/// A `precision` says in what the times of lines are: without it in nanoseconds, as ours.
fn take_precision(url: &mut Url) {
    let all = url.query_pairs().into_owned();
    let others: Vec<(String, String)> = all.filter(|(name, _)| name != "precision").collect();
    if others.len() < url.query_pairs().count() {
        url.query_pairs_mut().clear().extend_pairs(others);
    }
}

impl Sender for InfluxDb {
    fn send(&mut self, second: &Second) -> Result<(), String> {
        self.0.send(lines(second).as_bytes())
    }
}

/// Of requests that ended in the second, and of users. Times are in milliseconds, absent with too few samples.
fn lines(second: &Second) -> String {
    let (run, time) = (tag(&second.run), unix_ns(second.ended));
    let mut text = String::new();
    let (users, dropped) = (second.users, second.dropped);
    let _ = writeln!(text, "prony_users,run={run} users={users}i,dropped_starts={dropped}i {time}");
    // Of two lines with the same tags and the same time the server would keep the last.
    let mut cells: BTreeMap<String, TallyCell> = BTreeMap::new();
    for (name, request) in second.requests.iter().filter(|(_, request)| request.cell.requests() > 0) {
        cells.entry(tag(name)).or_default().merge(&request.cell);
    }
    for (name, cell) in &cells {
        let _ = write!(
            text,
            "prony_requests,name={name},run={run} requests={}i,successes={}i,failures={}i,bytes_sent={}i,bytes_received={}i",
            cell.requests(),
            cell.successes(),
            cell.failures(),
            cell.bytes_sent,
            cell.bytes_received
        );
        let times = &cell.response;
        let known = [("min", times.min()), ("mean", times.mean()), ("max", times.max())];
        let percentiles = PERCENTILES.map(|(field, percentile)| (field, times.percentile(percentile)));
        for (field, value) in known.into_iter().chain(percentiles) {
            if let Some(value) = value.map(Nanos::as_millis_f64) {
                let _ = write!(text, ",{field}={value}");
            }
        }
        let _ = writeln!(text, " {time}");
    }
    text
}

/// Commas, spaces and equals signs stand behind a backslash; line breaks cannot be written.
fn tag(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ',' | ' ' | '=' => {
                safe.push('\\');
                safe.push(c);
            }
            // One at the end would take the comma behind it with it.
            '\\' => safe.push('/'),
            c if c.is_control() => safe.push_str("\\ "),
            c => safe.push(c),
        }
    }
    if safe.is_empty() { "-".to_owned() } else { safe }
}
