//! How far two clocks are apart, from messages that went there and back.
//!
//! Of a message that was sent at `a`, read at `b` by the other clock and back at `c`, the other clock was read somewhere between `a`
//! and `c`: it is ahead by `b - (a + c) / 2`, right to `(c - a) / 2` (D. L. Mills, RFC 5905, section 8). The fastest of several
//! exchanges says it best.

use prony_model::Nanos;

/// One message there and back.
#[expect(clippy::struct_field_names, reason = "each says its unit")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// By the own monotonic clock.
    pub(crate) sent_ns: u64,
    pub(crate) back_ns: u64,
    /// By the own wall clock, in the middle between both.
    pub(crate) wall_ns: i64,
    pub(crate) other_monotonic_ns: u64,
    pub(crate) other_wall_ns: i64,
}

/// How far another machine's clocks are ahead of the own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockDifference {
    pub(crate) monotonic_ns: i64,
    pub(crate) wall_ns: i64,
    pub(crate) uncertainty: Nanos,
}

impl Exchange {
    const fn round_trip_ns(self) -> u64 {
        self.back_ns.saturating_sub(self.sent_ns)
    }

    fn difference(self) -> ClockDifference {
        let middle = self.sent_ns + self.round_trip_ns() / 2;
        ClockDifference {
            monotonic_ns: self.other_monotonic_ns.cast_signed() - middle.cast_signed(),
            wall_ns: self.other_wall_ns - self.wall_ns,
            uncertainty: Nanos(self.round_trip_ns().div_ceil(2)),
        }
    }
}

/// What the fastest exchange says; nothing without any.
pub(crate) fn difference(exchanges: &[Exchange]) -> Option<ClockDifference> {
    exchanges.iter().min_by_key(|exchange| exchange.round_trip_ns()).map(|exchange| exchange.difference())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_an_exchange_nothing_is_known() {
        assert_eq!(difference(&[]), None);
    }

    proptest! {
        /// Whatever the ways there and back take, the true difference lies within the uncertainty.
        #[test]
        fn the_difference_is_right_to_its_uncertainty(
            ahead in -1_000_000_000_i64..1_000_000_000, wall_ahead in -5_000_000_i64..5_000_000,
            ways in prop::collection::vec((0_u64..20_000_000, 0_u64..20_000_000), 1..9),
        ) {
            let begin = 5_000_000_000_u64;
            let exchange = |(number, (there, back)): (usize, &(u64, u64))| {
                let sent_ns = begin + number as u64 * 100_000_000;
                let (read, back_ns) = (sent_ns + there, sent_ns + there + back);
                Exchange {
                    sent_ns, back_ns, wall_ns: (sent_ns + (there + back) / 2).cast_signed(),
                    other_monotonic_ns: read.checked_add_signed(ahead).unwrap(),
                    other_wall_ns: read.cast_signed() + wall_ahead,
                }
            };
            let exchanges: Vec<_> = ways.iter().enumerate().map(exchange).collect();
            let found = difference(&exchanges).unwrap();
            prop_assert!((found.monotonic_ns - ahead).unsigned_abs() <= found.uncertainty.0 + 1);
            prop_assert!((found.wall_ns - wall_ahead).unsigned_abs() <= found.uncertainty.0 + 1);
            let fastest = ways.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(found.uncertainty, Nanos(fastest.div_ceil(2)));
        }
    }
}
