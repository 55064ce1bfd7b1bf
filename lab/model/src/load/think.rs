//! How long users wait between an answer and their next iteration.

use crate::units::Nanos;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Draws outside of the allowed range are drawn again this often; one in 10^8 series of them is that unlucky.
const NORMAL_TRIES_MAX: u32 = 16;
/// A lognormal time is cut at so many times its mean. That lowers a mean by at most 1.1 %, at the largest deviation.
const LOGNORMAL_CUT: f64 = 100.0;
const LOGNORMAL_DEVIATION_MAX: u64 = 3;

/// How long a user waits between an answer and its next request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum ThinkTime {
    None,
    Constant {
        time_ns: Nanos,
    },
    Uniform {
        min_ns: Nanos,
        max_ns: Nanos,
    },
    Exponential {
        mean_ns: Nanos,
    },
    /// Within 0 and twice the mean: cut on both sides alike, the mean stays what it is called. The deviation is that
    /// of the uncut distribution and at most the mean.
    Normal {
        mean_ns: Nanos,
        deviation_ns: Nanos,
    },
    /// Mostly short with some long ones, as people's are. The deviation is at most three times the mean.
    #[serde(rename = "lognormal")]
    LogNormal {
        mean_ns: Nanos,
        deviation_ns: Nanos,
    },
}

impl ThinkTime {
    pub const fn constant(time: Nanos) -> Self {
        Self::Constant { time_ns: time }
    }

    /// One draw. The exponential one is cut at ten times its mean (one draw in 22,000).
    pub fn draw(&self, random: &mut impl Rng) -> Nanos {
        match *self {
            Self::None => Nanos::ZERO,
            Self::Constant { time_ns } => time_ns,
            Self::Uniform { min_ns, max_ns } => Nanos(random.random_range(min_ns.0..=max_ns.0)),
            Self::Exponential { mean_ns } => {
                let uniform: f64 = random.random();
                let factor = (-(1.0 - uniform).ln()).min(10.0);
                Nanos::from_secs_f64(mean_ns.as_secs_f64() * factor)
            }
            Self::Normal { mean_ns, deviation_ns } => normal(mean_ns, deviation_ns, random),
            Self::LogNormal { mean_ns, deviation_ns } => lognormal(mean_ns, deviation_ns, random),
        }
    }

    pub fn mean(&self) -> Nanos {
        match *self {
            Self::None => Nanos::ZERO,
            Self::Constant { time_ns } => time_ns,
            Self::Uniform { min_ns, max_ns } => Nanos(min_ns.0 / 2 + max_ns.0 / 2),
            Self::Exponential { mean_ns }
            | Self::Normal { mean_ns, .. }
            | Self::LogNormal { mean_ns, .. } => mean_ns,
        }
    }

    /// What makes it no distribution, for people.
    pub fn fault(&self) -> Option<String> {
        match *self {
            Self::Uniform { min_ns, max_ns } if min_ns > max_ns => {
                Some(format!("think time is empty: {min_ns} is above {max_ns}"))
            }
            Self::Normal { mean_ns, deviation_ns } if deviation_ns > mean_ns => Some(format!(
                "the deviation {deviation_ns} of a think time is above its mean {mean_ns}; \
                 for times that differ more, add `distribution = \"lognormal\"`"
            )),
            Self::LogNormal { mean_ns, deviation_ns }
                if deviation_ns.0 > mean_ns.0.saturating_mul(LOGNORMAL_DEVIATION_MAX) =>
            {
                Some(format!(
                    "the deviation {deviation_ns} of a think time is above {LOGNORMAL_DEVIATION_MAX} times its mean \
                     {mean_ns}; lower it"
                ))
            }
            _ => None,
        }
    }
}

/// Of mean 0 and deviation 1, by the method of G. E. P. Box and M. E. Muller, 1958.
fn standard_normal(random: &mut impl Rng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// Its logarithm is normal, with the mean and deviation that give the time's own.
fn lognormal(mean: Nanos, deviation: Nanos, random: &mut impl Rng) -> Nanos {
    let mean_s = mean.as_secs_f64();
    if mean_s == 0.0 {
        return Nanos::ZERO;
    }
    let variance = (1.0 + (deviation.as_secs_f64() / mean_s).powi(2)).ln();
    let factor = (variance.sqrt() * standard_normal(random) - variance / 2.0).exp();
    Nanos::from_secs_f64(mean_s * factor.min(LOGNORMAL_CUT))
}

fn normal(mean: Nanos, deviation: Nanos, random: &mut impl Rng) -> Nanos {
    let (mean_s, deviation_s) = (mean.as_secs_f64(), deviation.as_secs_f64());
    for _ in 0..NORMAL_TRIES_MAX {
        let drawn = mean_s + deviation_s * standard_normal(random);
        if (0.0..=2.0 * mean_s).contains(&drawn) {
            return Nanos::from_secs_f64(drawn);
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    proptest! {
        #[test]
        fn draws_stay_in_their_range_and_repeat_with_the_seed(seed: u64, low in 0_u64..1000, extra in 0_u64..1000) {
            let think = ThinkTime::Uniform { min_ns: Nanos(low), max_ns: Nanos(low + extra) };
            let draws = |mut random: ChaCha8Rng| (0..20).map(|_| think.draw(&mut random)).collect::<Vec<_>>();
            let first = draws(ChaCha8Rng::seed_from_u64(seed));
            prop_assert!(first.iter().all(|time| (low..=low + extra).contains(&time.0)));
            prop_assert_eq!(first, draws(ChaCha8Rng::seed_from_u64(seed)));
        }
    }

    #[test]
    fn draws_have_the_mean_that_is_named() {
        let millis = Nanos::from_millis;
        for think in [
            ThinkTime::constant(millis(100)),
            ThinkTime::Uniform { min_ns: millis(50), max_ns: millis(150) },
            ThinkTime::Exponential { mean_ns: millis(100) },
            ThinkTime::Normal { mean_ns: millis(100), deviation_ns: millis(10) },
            ThinkTime::Normal { mean_ns: millis(100), deviation_ns: millis(100) },
            ThinkTime::LogNormal { mean_ns: millis(100), deviation_ns: millis(150) },
            ThinkTime::LogNormal { mean_ns: millis(100), deviation_ns: Nanos::ZERO },
        ] {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let draws: Vec<_> = (0..20_000).map(|_| think.draw(&mut random).0).collect();
            let mean = draws.iter().sum::<u64>() / 20_000 / 1_000_000;
            assert!((97..103).contains(&mean), "{think:?} {mean}");
            assert_eq!(think.mean(), millis(100), "{think:?}");
            assert_eq!(think.fault(), None);
        }
    }

    /// Of a lognormal distribution the median is `mean² / √(mean² + deviation²)`.
    #[test]
    fn lognormal_times_are_mostly_short() {
        let think = ThinkTime::LogNormal { mean_ns: Nanos::from_secs(3), deviation_ns: Nanos::from_secs(4) };
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut draws: Vec<_> = (0..20_001).map(|_| think.draw(&mut random).as_secs_f64()).collect();
        draws.sort_by(f64::total_cmp);
        assert!((1.75..1.85).contains(&draws[10_000]), "{}", draws[10_000]);
        assert!(draws[20_000] > 20.0, "{}", draws[20_000]);
    }

    #[test]
    fn what_is_no_distribution_is_said() {
        let (one, two) = (Nanos::from_secs(1), Nanos::from_secs(2));
        let empty = ThinkTime::Uniform { min_ns: two, max_ns: one };
        let wide = ThinkTime::Normal { mean_ns: one, deviation_ns: two };
        assert!(empty.fault().unwrap().contains("2.00 s is above 1.00 s"));
        assert!(wide.fault().unwrap().contains("deviation 2.00 s"));
        let long = |deviation_ns| ThinkTime::LogNormal { mean_ns: one, deviation_ns }.fault();
        assert!(long(Nanos::from_secs(3)).is_none());
        assert!(long(Nanos::from_secs(4)).unwrap().contains("deviation 4.00 s"));
    }
}
