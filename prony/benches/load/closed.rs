//! The closed loop beside wrk's: requests a second and processor time of the tool, by connections and size of answer,
//! and with a script that changes the path each time.

use crate::ROUNDS;
use crate::nginx::{Nginx, SIZES};
use crate::statistics::{median, median_ratio, print_table};
use crate::tool::{Outcome, closed_flags, prony, wrk};

const CONNECTIONS: [u32; 5] = [64, 1, 8, 512, 5_000];
const SIZED_CONNECTIONS: u32 = 64;
/// Each request has a path of its own.
const SCRIPT: &str = "local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, '/any/' .. n)
end
";

pub(crate) fn by_connections_and_size() {
    let nginx = Nginx::start();
    let mut rows = vec![head("connections, answer")];
    for connections in CONNECTIONS {
        let flags = closed_flags(connections, &nginx.url(SIZES[0].0));
        rows.push(compare(&format!("{connections}, {} bytes", SIZES[0].1), || (wrk(&flags), prony(&flags))));
    }
    for (path, size) in &SIZES[1..] {
        let flags = closed_flags(SIZED_CONNECTIONS, &nginx.url(path));
        rows.push(compare(&format!("{SIZED_CONNECTIONS}, {size} bytes"), || (wrk(&flags), prony(&flags))));
    }
    print_table(&rows);
}

pub(crate) fn with_a_script() {
    let nginx = Nginx::start();
    let script = tempfile::NamedTempFile::with_suffix(".lua").expect("a temporary file");
    std::fs::write(script.path(), SCRIPT).expect("room for a small file");
    let mut flags = vec!["-s".to_owned(), script.path().display().to_string()];
    flags.extend(closed_flags(SIZED_CONNECTIONS, &nginx.url("/any/0")));
    let row = compare("64, a path of its own each", || (wrk(&flags), prony(&flags)));
    print_table(&[head("connections, script"), row]);
}

pub(crate) fn head(first: &str) -> Vec<String> {
    let columns = [first, "theirs/s", "Prony/s", "ratio", "theirs, µs CPU", "Prony, µs CPU", "ratio"];
    columns.map(str::to_owned).to_vec()
}

/// Alternating rounds of two tools, theirs first.
pub(crate) fn compare(name: &str, round: impl Fn() -> (Outcome, Outcome)) -> Vec<String> {
    let rounds: Vec<(Outcome, Outcome)> = (0..ROUNDS).map(|_| round()).collect();
    let column = |pick: &dyn Fn(&(Outcome, Outcome)) -> f64| rounds.iter().map(pick).collect::<Vec<_>>();
    let (their_rate, our_rate) = (column(&|r| r.0.requests_per_s), column(&|r| r.1.requests_per_s));
    let (their_cpu, our_cpu) = (column(&|r| r.0.cpu_us), column(&|r| r.1.cpu_us));
    vec![
        name.to_owned(),
        format!("{:.0}", median(&their_rate)),
        format!("{:.0}", median(&our_rate)),
        format!("{:.2}", median_ratio(&our_rate, &their_rate)),
        format!("{:.2}", median(&their_cpu)),
        format!("{:.2}", median(&our_cpu)),
        format!("{:.2}", median_ratio(&our_cpu, &their_cpu)),
    ]
}
