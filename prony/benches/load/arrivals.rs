//! Arrival rates of k6 scripts, in k6 and in Prony: how near the starts come to what is asked where users are just
//! enough. By Little's law a rate of starts and the time of an iteration keep rate x time users busy; a fifth more are given.
//!
//! Needs k6: the variable `K6` names it where it is not on the path.

use crate::scripts::{Delays, ROUNDS, Script, Tool, figure};
use crate::statistics::{median, print_table};
use serde_json::Value;

/// Starts a second, and how long the target takes for each.
const LOADS: [(u32, u32); 5] = [(50, 100), (200, 50), (500, 40), (1_000, 20), (2_000, 10)];
const SECONDS: u32 = 10;
/// More users than Little's law asks for.
const MORE: f64 = 1.2;

pub(crate) fn rates() {
    let delays = Delays::start();
    let columns = ["asked/s, ms", "users", "tool", "reached/asked", "worst round", "dropped, worst round"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for (rate, delay_ms) in LOADS {
        let users = (f64::from(rate) * f64::from(delay_ms) / 1e3 * MORE).ceil();
        let script = Script::new(&[("main.js", &text(&delays, rate, delay_ms, users))]);
        // In turns, so that a slow moment of the machine is not one tool's alone.
        let runs: Vec<[Value; 2]> =
            (0..ROUNDS).map(|_| [Tool::K6, Tool::Prony].map(|tool| tool.run(&script, &[]))).collect();
        for (place, tool) in [Tool::K6, Tool::Prony].into_iter().enumerate() {
            let asked = f64::from(rate * SECONDS);
            let of = |key: &str| runs.iter().map(|run| count(&run[place], key)).collect::<Vec<_>>();
            let shares: Vec<f64> = of("iterations").iter().map(|started| started / asked).collect();
            let worst = shares.iter().copied().max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
            rows.push(vec![
                format!("{rate}, {delay_ms}"),
                format!("{users:.0}"),
                format!("{tool:?}"),
                format!("{:.4}", median(&shares)),
                format!("{:.4}", worst.unwrap_or(f64::NAN)),
                format!("{:.0}", of("dropped_iterations").into_iter().fold(0.0, f64::max)),
            ]);
        }
    }
    print_table(&rows);
}

fn text(delays: &Delays, rate: u32, delay_ms: u32, users: f64) -> String {
    format!(
        "import http from 'k6/http';
export const options = {{ scenarios: {{ a: {{ executor: 'constant-arrival-rate', rate: {rate}, duration: '{SECONDS}s',
  preAllocatedVUs: {users}, maxVUs: {users} }} }} }};
export default function () {{ http.get('http://{}/{delay_ms}'); }}
",
        delays.address
    )
}

/// A counter of the summary; one that nothing was added to is not there.
fn count(summary: &Value, metric: &str) -> f64 {
    if summary["metrics"][metric].is_null() { 0.0 } else { figure(summary, &format!("{metric}.count")) }
}
