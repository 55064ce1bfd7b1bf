//! A constant rate: how near the reached rate is to the asked one, and how late the lab sends, at shares of the
//! closed loop's maximum.

use crate::nginx::{Nginx, SIZES};
use crate::statistics::{median, print_table};
use crate::tool::{closed_flags, prony, prony_result};
use crate::{ROUNDS, SECONDS};
use prony_model::WindowKind;

const CONNECTIONS: u32 = 64;
const SHARES: [f64; 5] = [0.01, 0.1, 0.5, 0.8, 0.9];

pub(crate) fn kept() {
    let nginx = Nginx::start();
    let url = nginx.url(SIZES[0].0);
    let most = median(
        &(0..ROUNDS).map(|_| prony(&closed_flags(CONNECTIONS, &url)).requests_per_s).collect::<Vec<_>>(),
    );
    println!("closed loop, {CONNECTIONS} connections: {most:.0}/s\n");
    let columns = ["asked/s", "share", "reached/asked", "late p50, µs", "late p99, µs", "response p99, µs"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for share in SHARES {
        let asked = (most * share).round();
        let runs: Vec<[f64; 4]> = (0..ROUNDS).map(|_| run(&url, asked)).collect();
        let middle = |at: usize| median(&runs.iter().map(|run| run[at]).collect::<Vec<_>>());
        rows.push(vec![
            format!("{asked:.0}"),
            format!("{:.0} %", share * 100.0),
            format!("{:.4}", middle(0)),
            format!("{:.0}", middle(1)),
            format!("{:.0}", middle(2)),
            format!("{:.0}", middle(3)),
        ]);
    }
    print_table(&rows);
}

/// Reached over asked, lateness of sends (p50, p99) and response time (p99) in µs.
fn run(url: &str, asked: f64) -> [f64; 4] {
    let mut flags = closed_flags(CONNECTIONS, url);
    flags.extend([format!("-R{asked}"), format!("-d{}s", SECONDS * 2)]);
    let (result, _) = prony_result(&flags);
    let whole = &result.window(WindowKind::Whole).expect("a result always holds the whole run").all;
    let us = |time: Option<prony_model::Nanos>| time.map_or(f64::NAN, |time| time.0 as f64 / 1e3);
    [
        whole.rate_per_s / asked,
        us(result.lab.lateness.percentile(50.0)),
        us(result.lab.lateness.percentile(99.0)),
        us(whole.response_time.percentile(99.0)),
    ]
}
