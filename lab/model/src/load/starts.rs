//! The starts of an open model that one thread serves, in order, each with its due time.

use super::arrivals::{START, Stripe};
use super::{LoadModel, Rates, Spacing};
use crate::units::Nanos;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Apart from all streams of users, whose numbers are below 2^32.
const STREAM: u64 = u64::MAX;

/// Which starts of a scenario are one thread's. Start *k* falls to user *k* modulo the number of users, and so to that user's
/// thread: each thread has a share of the starts like its share of the users, and none without users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartShare {
    /// The thread's first user among those of the scenario.
    first: u64,
    /// From one of its users to the next.
    step: u64,
    users: u64,
}

impl StartShare {
    /// All of them.
    pub const ALL: Self = Self { first: 0, step: 1, users: 1 };

    /// Of thread `thread`, where user `n` of a run lives on thread `n` modulo `threads`, and the scenario's users are
    /// `first_user` and those that follow it.
    ///
    /// # Panics
    /// Without threads.
    pub fn of_users(thread: u32, threads: u32, first_user: u32, users: u32) -> Self {
        assert!(threads > 0, "starts are served by at least one thread");
        let first = (thread + threads - first_user % threads) % threads;
        Self { first: u64::from(first), step: u64::from(threads), users: u64::from(users) }
    }

    const fn is_empty(self) -> bool {
        self.first >= self.users
    }

    /// The share's start that follows this one.
    const fn after(self, number: u64) -> u64 {
        let user = number % self.users;
        if user + self.step < self.users {
            number + self.step
        } else {
            number - user + self.users + self.first
        }
    }
}

/// Numbers and due times of one thread's share of the starts of an open model. Which starts there are and when depends on the
/// model and the seed alone. Empty for models whose users begin by themselves.
#[derive(Debug, Clone)]
pub struct Starts {
    rates: Rates,
    cursor: usize,
    share: StartShare,
    /// The number of the next start of this thread.
    number: u64,
    spacing: SpacingState,
    stripe: Option<Stripe>,
}

#[derive(Debug, Clone)]
enum SpacingState {
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
    pub fn new(load: &LoadModel, seed: u64, share: StartShare) -> Self {
        let arrivals = load.arrivals.as_ref().filter(|_| !share.is_empty());
        let (stages, spacing) =
            arrivals.map_or((&[][..], Spacing::Even), |arrivals| (&arrivals.stages, arrivals.spacing));
        let spacing = match spacing {
            Spacing::Even => SpacingState::Even,
            Spacing::Poisson => {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(STREAM);
                SpacingState::Poisson { random: Box::new(random), drawn: 0, position: 0 }
            }
        };
        let stripe = arrivals.and_then(|arrivals| arrivals.stripe.clone());
        Self { rates: Rates::of(stages), cursor: 0, share, number: share.first, spacing, stripe }
    }
}

impl Iterator for Starts {
    type Item = (u64, Nanos);

    fn next(&mut self) -> Option<(u64, Nanos)> {
        let sum = match &mut self.spacing {
            SpacingState::Even => match &self.stripe {
                None => u128::from(self.number) * START,
                Some(stripe) => stripe.position(self.number),
            },
            SpacingState::Poisson { random, drawn, position } => {
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
        self.number = self.share.after(number);
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
        LoadModel::arrivals(stages, spacing, 10, Nanos::from_secs(1))
    }

    fn all(load: &LoadModel, seed: u64) -> Vec<(u64, Nanos)> {
        Starts::new(load, seed, StartShare::ALL).collect()
    }

    #[test]
    fn shares_of_a_schedule_have_its_starts_at_its_times() {
        let whole: Vec<_> =
            all(&open(&[(0, 30.0), (2, 30.0)], Spacing::Even), 1).into_iter().map(|(_, due)| due).collect();
        let share = |numbers: &[u64]| {
            let mut load =
                open(&[(0, 10.0 * numbers.len() as f64), (2, 10.0 * numbers.len() as f64)], Spacing::Even);
            let arrivals = load.arrivals.as_mut().unwrap();
            arrivals.stripe = Some(Stripe { numbers: numbers.to_vec(), cycle: 3 });
            all(&load, 1).into_iter().map(|(_, due)| due).collect::<Vec<_>>()
        };
        let (one, two) = (share(&[1]), share(&[0, 2]));
        assert_eq!((one.len(), two.len()), (20, 40));
        let mut both = [one, two].concat();
        both.sort_unstable();
        let differs = |(ours, theirs): (&Nanos, &Nanos)| ours.0.abs_diff(theirs.0) > 1;
        assert!(!both.iter().zip(&whole).any(differs), "{both:?}");
    }

    proptest! {
        #[test]
        fn threads_share_the_starts_of_one_whatever_their_number(
            seed: u64, threads in 1_u32..6, rates in prop::collection::vec((0_u64..5, 0.0_f64..200.0), 1..5),
            is_poisson: bool, first_user in 0_u32..9, users in 1_u32..9,
        ) {
            let load = open(&rates, if is_poisson { Spacing::Poisson } else { Spacing::Even });
            let of_thread = |thread| {
                let starts = Starts::new(&load, seed, StartShare::of_users(thread, threads, first_user, users));
                let has_user = (first_user..first_user + users).any(|user| user % threads == thread);
                let starts: Vec<_> = starts.collect();
                assert!(has_user || starts.is_empty(), "a thread without users has no starts");
                let is_own = |number| (u64::from(first_user) + number % u64::from(users)) % u64::from(threads) == u64::from(thread);
                assert!(starts.iter().all(|(number, _)| is_own(*number)));
                starts
            };
            let mut shared: Vec<_> = (0..threads).flat_map(of_thread).collect();
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
