//! The starts of an open model that one thread serves, in order, each with its due time.

use super::open::START;
use super::{LoadModel, Rates, Spacing};
use crate::units::Nanos;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Apart from all streams of users, whose numbers are below 2^32.
const STREAM: u64 = u64::MAX;

/// Numbers and due times of the starts `thread`, `thread + threads`, … of an open model. Which starts there are and
/// when depends on the model and the seed alone. Empty for models whose users begin by themselves.
#[derive(Debug, Clone)]
pub struct Starts {
    rates: Rates,
    cursor: usize,
    /// The number of the next start of this thread.
    number: u64,
    threads: u64,
    spacing: Drawn,
}

#[derive(Debug, Clone)]
enum Drawn {
    Even,
    /// A process of rate one, drawn up to the sum of starts `position`; the rates bend its time (D. R. Cox and
    /// V. Isham, Point Processes, 4.2: the inverse of the summed rate makes it one of these rates). Each thread draws
    /// the whole process, which costs a skipped start under 20 ns.
    Poisson {
        random: Box<ChaCha8Rng>,
        drawn: u64,
        position: u128,
    },
}

impl Starts {
    /// # Panics
    /// Without threads.
    pub fn new(load: &LoadModel, seed: u64, thread: u32, threads: u32) -> Self {
        assert!(threads > 0, "starts are served by at least one thread");
        let (stages, spacing) = match load {
            LoadModel::Open { stages, spacing, .. } => (stages.as_slice(), *spacing),
            _ => (&[][..], Spacing::Even),
        };
        let spacing = match spacing {
            Spacing::Even => Drawn::Even,
            Spacing::Poisson => {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(STREAM);
                Drawn::Poisson { random: Box::new(random), drawn: 0, position: 0 }
            }
        };
        let (number, threads) = (u64::from(thread), u64::from(threads));
        Self { rates: Rates::of(stages), cursor: 0, number, threads, spacing }
    }
}

impl Iterator for Starts {
    type Item = (u64, Nanos);

    fn next(&mut self) -> Option<(u64, Nanos)> {
        let sum = match &mut self.spacing {
            Drawn::Even => u128::from(self.number) * START,
            Drawn::Poisson { random, drawn, position } => {
                while *drawn <= self.number {
                    let uniform: f64 = random.random();
                    *position += (-(1.0 - uniform).ln() * START as f64) as u128;
                    *drawn += 1;
                }
                *position
            }
        };
        let due = self.rates.time_of(sum, &mut self.cursor)?;
        let number = self.number;
        self.number += self.threads;
        Some((number, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::RateStage;
    use proptest::prelude::*;

    fn open(stages: &[(u64, f64)], spacing: Spacing) -> LoadModel {
        let stages = stages.iter().map(|(s, rate)| RateStage::new(Nanos::from_secs(*s), *rate)).collect();
        LoadModel::Open { stages, spacing, users: 10, wait_max_ns: Nanos::from_secs(1) }
    }

    fn all(load: &LoadModel, seed: u64) -> Vec<(u64, Nanos)> {
        Starts::new(load, seed, 0, 1).collect()
    }

    proptest! {
        #[test]
        fn threads_share_the_starts_of_one_whatever_their_number(
            seed: u64, threads in 1_u32..6, rates in prop::collection::vec((0_u64..5, 0.0_f64..200.0), 1..5),
            is_poisson: bool,
        ) {
            let load = open(&rates, if is_poisson { Spacing::Poisson } else { Spacing::Even });
            let mut shared: Vec<_> = (0..threads).flat_map(|t| Starts::new(&load, seed, t, threads)).collect();
            shared.sort_unstable();
            prop_assert!(shared.is_sorted_by_key(|(_, due)| *due));
            prop_assert_eq!(shared, all(&load, seed));
        }

        #[test]
        fn even_starts_are_due_when_the_closed_form_says(rates in prop::collection::vec((0_u64..5, 0.0_f64..200.0), 1..5)) {
            let load = open(&rates, Spacing::Even);
            let closed = load.rates().unwrap();
            let expected: Vec<_> = (0..closed.starts()).map(|k| (k, closed.due(k).unwrap())).collect();
            prop_assert_eq!(all(&load, 1), expected);
        }
    }

    /// Of a Poisson process, counts in a window have the summed rate as mean and as variance, and distances at a
    /// constant rate are exponential: a share of 1/e of them exceeds the mean.
    #[test]
    fn poisson_starts_have_the_counts_of_their_rate() {
        let load = open(&[(0, 50.0), (400, 50.0), (400, 150.0)], Spacing::Poisson);
        let starts = all(&load, 3);
        let seconds = |from: u64, to: u64| {
            let inside =
                |s: u64| starts.iter().filter(move |(_, due)| due.0 / 1_000_000_000 == s).count() as f64;
            (from..to).map(inside).collect::<Vec<_>>()
        };
        let first = seconds(0, 400);
        let mean = first.iter().sum::<f64>() / 400.0;
        let variance = first.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 399.0;
        assert!((48.0..52.0).contains(&mean), "{mean}");
        assert!((38.0..62.0).contains(&variance), "{variance}");
        let ramp: f64 = seconds(400, 800).iter().sum();
        assert!((39_000.0..41_000.0).contains(&ramp), "{ramp}");
        let distances: Vec<_> =
            starts[..20_000].windows(2).map(|pair| pair[1].1.since(pair[0].1).0).collect();
        let long = distances.iter().filter(|distance| **distance > 20_000_000).count() as f64 / 19_999.0;
        assert!((long - (-1.0_f64).exp()).abs() < 0.02, "{long}");
        assert_ne!(all(&load, 4)[..10], starts[..10]);
    }

    #[test]
    fn models_without_a_rate_have_no_starts() {
        assert!(all(&LoadModel::constant(5, Nanos::from_secs(1)), 1).is_empty());
    }
}
