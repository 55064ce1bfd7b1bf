//! Times and allocations of a function that answers requests, warm and cold. Peers are measured the same way: they
//! include this file.

use std::{hint::black_box, time::Instant};

use super::{allocations, cases::Case};

const ROUNDS: usize = 20_000;
/// A document that no cache has seen is parsed, validated and planned.
const COLD_ROUNDS: usize = 2_000;

/// Of many rounds.
pub(crate) struct Figures {
    pub(crate) median_ns: u64,
    pub(crate) p99_ns: u64,
    /// Of the usual round.
    pub(crate) allocations: usize,
}

/// A row of a table without its name: what is said of a case.
pub(crate) const COLUMNS: [&str; 6] =
    ["median, µs", "p99, µs", "allocations", "cold median, µs", "cold p99, µs", "cold allocations"];

/// By [`COLUMNS`].
pub(crate) fn row(warm: &Figures, cold: &Figures) -> [String; COLUMNS.len()] {
    let microseconds = |nanoseconds: u64| format!("{:.2}", nanoseconds as f64 / 1e3);
    [
        microseconds(warm.median_ns),
        microseconds(warm.p99_ns),
        warm.allocations.to_string(),
        microseconds(cold.median_ns),
        microseconds(cold.p99_ns),
        cold.allocations.to_string(),
    ]
}

/// The same request again and again.
pub(crate) fn warm(case: &Case, ask: &dyn Fn(&[u8]) -> Vec<u8>) -> Figures {
    let request = case.request(None);
    measure(ROUNDS, || drop(black_box(ask(black_box(&request)))))
}

/// Requests with documents that nobody has sent before.
pub(crate) fn cold(case: &Case, ask: &dyn Fn(&[u8]) -> Vec<u8>) -> Figures {
    let requests: Vec<Vec<u8>> = (0..COLD_ROUNDS).map(|number| case.request(Some(number))).collect();
    let mut next = requests.iter();
    measure(COLD_ROUNDS - 1, || drop(black_box(ask(next.next().expect("one for each round")))))
}

fn measure(rounds: usize, mut once: impl FnMut()) -> Figures {
    once();
    let mut times = Vec::with_capacity(rounds);
    let mut allocations = Vec::with_capacity(rounds);
    for _ in 1..rounds {
        let (before, begun) = (allocations::so_far(), Instant::now());
        once();
        times.push(begun.elapsed().as_nanos() as u64);
        allocations.push(allocations::so_far() - before);
    }
    times.sort_unstable();
    allocations.sort_unstable();
    Figures {
        median_ns: times[times.len() / 2],
        p99_ns: times[times.len() * 99 / 100],
        allocations: allocations[allocations.len() / 2],
    }
}
