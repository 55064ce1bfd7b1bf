//! Rates as they are written, and what a rate limit makes of them: the generic cell rate algorithm (ITU-T I.371), in which one
//! time stamp says everything of a key.

use std::{fmt, str::FromStr};

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;
/// A thousandth of the time between two requests is a nanosecond then, so that rounding it does not count.
const MAX_PER_SECOND: u64 = 1_000_000;

/// So many in a time, such as `50/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    count: u64,
    per_s: u64,
}

/// What is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a rate such as 50/s, 1000/min, 10/h or 5/d, of at most 1000000/s")]
pub struct BadRate;

/// A rate, and how many may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub rate: Rate,
    /// At least one.
    pub burst: u64,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// With the state from now on, and how many more could come at once.
    Conforms { state_ns: u64, remaining: u64 },
    /// With the time until it would conform.
    Exceeds { retry_after_ns: u64 },
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let (count, unit) = text.split_once('/').ok_or(BadRate)?;
        let per_s = match unit.trim() {
            "s" => 1,
            "min" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return Err(BadRate),
        };
        let count: u64 = count.trim().parse().map_err(|_| BadRate)?;
        if count == 0 || count > MAX_PER_SECOND * per_s {
            return Err(BadRate);
        }
        Ok(Self { count, per_s })
    }
}

impl Rate {
    /// In its unit of time.
    pub(crate) fn count(self) -> u64 {
        self.count
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per_s {
            1 => "s",
            60 => "min",
            3_600 => "h",
            _ => "d",
        };
        write!(formatter, "{}/{unit}", self.count)
    }
}

impl RateLimit {
    /// The highest burst: what it allows at once stays below a year's time.
    pub(crate) fn max_burst(rate: Rate) -> u64 {
        const YEAR_NS: u64 = 365 * 86_400 * NANOSECONDS_A_SECOND;
        (YEAR_NS / Self { rate, burst: 1 }.interval_ns()).max(1)
    }

    /// Between two requests at this rate.
    pub fn interval_ns(self) -> u64 {
        (self.rate.per_s * NANOSECONDS_A_SECOND + self.rate.count / 2) / self.rate.count
    }

    /// The seconds in which the whole burst comes back, for `RateLimit-Policy`.
    pub fn window_s(self) -> u64 {
        (self.interval_ns() * self.burst).div_ceil(NANOSECONDS_A_SECOND)
    }

    /// Judges a request of this cost by the state of its key: the time at which all requests so far would have come at the rate.
    /// A cost over the burst never conforms.
    pub(super) fn judge(self, state_ns: u64, cost: u64, now_ns: u64) -> Cell {
        let interval_ns = self.interval_ns();
        let tolerance_ns = interval_ns * self.burst;
        let next_ns = state_ns.max(now_ns).saturating_add(interval_ns.saturating_mul(cost));
        let conforms_at_ns = next_ns.saturating_sub(tolerance_ns);
        if conforms_at_ns > now_ns {
            return Cell::Exceeds { retry_after_ns: conforms_at_ns - now_ns };
        }
        Cell::Conforms { state_ns: next_ns, remaining: (tolerance_ns - (next_ns - now_ns)) / interval_ns }
    }

    /// The state without a request that was counted and then not let in.
    pub(super) fn without(self, state_ns: u64, cost: u64) -> u64 {
        state_ns.saturating_sub(self.interval_ns().saturating_mul(cost))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        for text in ["50/s", "1000/min", "10/h", "5/d", "1000000/s", "1/d"] {
            let rate: Rate = text.parse().expect("it is a rate");
            assert_eq!(rate.to_string(), text);
        }
        for text in
            ["", "5", "/s", "0/s", "-1/s", "1000001/s", "5/year", "5/S", "1.5/s", "99999999999999999999/s"]
        {
            assert_eq!(text.parse::<Rate>(), Err(BadRate), "{text}");
        }
    }

    fn limit(count: u64, burst: u64) -> RateLimit {
        RateLimit { rate: Rate { count, per_s: 1 }, burst }
    }

    #[test]
    fn a_burst_comes_at_once_and_then_the_rate_holds() {
        let limit = limit(10, 3);
        let mut state = 0;
        let mut judged = Vec::new();
        for at_ms in [5_000, 5_000, 5_000, 5_000, 5_099, 5_100, 5_100, 5_400, 5_400, 5_400, 5_400] {
            judged.push(match limit.judge(state, 1, at_ms * 1_000_000) {
                Cell::Conforms { state_ns, remaining } => {
                    state = state_ns;
                    format!("{remaining}")
                }
                Cell::Exceeds { retry_after_ns } => format!("wait {}", retry_after_ns / 1_000_000),
            });
        }
        assert_eq!(judged, ["2", "1", "0", "wait 100", "wait 1", "0", "wait 100", "2", "1", "0", "wait 100"]);
    }

    proptest! {
        /// In any time, no more conform than the burst and what the rate gives; and where requests come without a pause, no fewer.
        #[test]
        fn the_rate_is_exact(
            count in 1_u64..100_000,
            burst in 1_u64..50,
            gaps_ns in prop::collection::vec(0_u64..2_000_000_000, 1..400),
            begin_ns in 0_u64..1_000_000_000_000,
        ) {
            let limit = limit(count, burst);
            let (mut now, mut state) = (begin_ns, 0);
            let mut conforming = Vec::new();
            for gap in gaps_ns {
                now += gap / count;
                match limit.judge(state, 1, now) {
                    Cell::Conforms { state_ns, .. } => {
                        state = state_ns;
                        conforming.push(now);
                    }
                    Cell::Exceeds { retry_after_ns } => {
                        let later = limit.judge(state, 1, now + retry_after_ns);
                        prop_assert!(matches!(later, Cell::Conforms { .. }), "the time that is given is enough");
                        let before = limit.judge(state, 1, now + retry_after_ns - 1);
                        prop_assert!(matches!(before, Cell::Exceeds { .. }), "and not before");
                    }
                }
            }
            for (index, begin) in conforming.iter().enumerate() {
                for (more, end) in conforming[index..].iter().enumerate() {
                    let most = burst as f64 + (end - begin) as f64 * count as f64 / 1e9;
                    prop_assert!((more + 1) as f64 <= most * 1.001 + 1e-6, "{} in {} ns", more + 1, end - begin);
                }
            }
        }

        #[test]
        fn a_constant_offer_is_let_in_at_the_rate(count in 1_u64..100_000, times in 2_u64..20) {
            let limit = limit(count, 1);
            let gap_ns = 1_000_000_000 / count / times;
            prop_assume!(gap_ns > 0);
            let (mut state, mut conforming) = (0, 0);
            let offered = 200 * times;
            for index in 0..offered {
                if let Cell::Conforms { state_ns, .. } = limit.judge(state, 1, 1 + index * gap_ns) {
                    state = state_ns;
                    conforming += 1;
                }
            }
            let expected = (offered * gap_ns) as f64 * count as f64 / 1e9;
            // Requests come on a grid, so that each one waits for its next point.
            let on_grid = expected * times as f64 / (times + 1) as f64;
            prop_assert!(f64::from(conforming) >= on_grid * 0.99 - 1.0, "{conforming} of {expected}");
            prop_assert!(f64::from(conforming) <= expected * 1.01 + 1.0, "{conforming} of {expected}");
        }
    }
}
