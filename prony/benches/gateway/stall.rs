//! What the gateway adds to the latencies of a backend that stands still for a second in each five, at a rate of starts that does not
//! wait for it: latencies count from when each start was due, directly and through the gateway, in turn.

use std::{fs, time::Duration};

use crate::{
    ROUNDS, backend,
    gateway::{Gateway, percentile_ms, run},
    statistics::{median, print_table},
};

const PERIOD: Duration = Duration::from_secs(5);
const STALL: Duration = Duration::from_secs(1);
const PER_SECOND: u32 = 500;
/// More than come in a stall.
const USERS: u32 = 1_000;
/// Of each run: whole periods.
const RUN_SECONDS: u32 = 20;
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];

pub(crate) fn beside_the_backend() {
    let direct = format!("http://{}", backend::start(PERIOD, STALL));
    let schema = tempfile::Builder::new().suffix(".graphql").tempfile().expect("a temporary file");
    fs::write(schema.path(), backend::SDL).expect("room for a small file");
    let more = format!(
        "schema_file = {:?}\nmax_upstream_connections = {USERS}\nqueue_timeout_ms = 10000",
        schema.path().display()
    );
    let gateway = Gateway::before(&direct, &more);
    let load = format!("users = {USERS}\nrate = {PER_SECOND}\nduration = \"{RUN_SECONDS}s\"");
    let mut rounds: Vec<[Vec<f64>; 2]> = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([&direct, &gateway.subject.url].map(|url| {
            let result = run(url, "{ one }", &load);
            PERCENTILES.map(|percentile| percentile_ms(&result, percentile)).to_vec()
        }));
    }
    let mut rows = vec![["", "backend alone", "through the gateway", "more"].map(str::to_owned).to_vec()];
    for (at, percentile) in PERCENTILES.iter().enumerate() {
        let of = |side: usize| rounds.iter().map(|round| round[side][at]).collect::<Vec<_>>();
        let more: Vec<f64> = of(1).iter().zip(of(0)).map(|(through, alone)| through - alone).collect();
        rows.push(vec![
            format!("p{percentile}"),
            format!("{:.2} ms", median(&of(0))),
            format!("{:.2} ms", median(&of(1))),
            format!("{:+.2} ms", median(&more)),
        ]);
    }
    println!(
        "{PER_SECOND} starts a second for {RUN_SECONDS} s; the backend stands still for {} of each {} s; medians of {ROUNDS}\n",
        STALL.as_secs(),
        PERIOD.as_secs()
    );
    print_table(&rows);
}
