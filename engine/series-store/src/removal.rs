//! What of a type is too old at a moment: which rows, and which aggregates of rows that were removed before.

use crate::calendar::Period;
use crate::ids::{TimeMs, TimeRange};
use crate::op::OpNumber;
use crate::options::{Aggregates, Retention};
use crate::tombstones::{Reach, Tombstone};
use std::time::Duration;

/// Rows go in steps of this part of the time for which they are kept, and of no less than a minute.
const RETENTION_STEPS: i64 = 100;

/// What is removed of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// The first moment whose rows are kept.
    pub rows_before: TimeMs,
    /// The periods of whose rows there are aggregates; none where rows go without them.
    pub period: Option<Period>,
    /// The first moment whose aggregates are kept; none where all are.
    pub aggregates_before: Option<TimeMs>,
}

/// The first moment that is kept.
fn oldest_kept(now_ms: TimeMs, keep: Duration) -> TimeMs {
    let keep_ms = TimeMs::try_from(keep.as_millis()).unwrap_or(TimeMs::MAX);
    let step_ms = (keep_ms / RETENTION_STEPS).max(60_000);
    now_ms.saturating_sub(keep_ms).div_euclid(step_ms).saturating_mul(step_ms)
}

impl Removal {
    /// None where rows of a type stay. Of a type with aggregates whole periods go.
    pub fn of(
        retention: &[Retention],
        aggregates: &[Aggregates],
        type_name: &str,
        now_ms: TimeMs,
    ) -> Option<Self> {
        let keep = Retention::of(retention, type_name)?;
        let aggregates = Aggregates::of(aggregates, type_name);
        let period = aggregates.map(|of| of.period);
        let oldest = |keep| {
            let oldest_ms = oldest_kept(now_ms, keep);
            period.map_or(oldest_ms, |period| period.around(oldest_ms).0)
        };
        let aggregates_before = aggregates.and_then(|of| of.keep).map(oldest);
        Some(Self { rows_before: oldest(keep), period, aggregates_before })
    }

    /// Of the rows that are removed.
    pub const fn rows(&self) -> TimeRange {
        TimeRange { from_ms: TimeMs::MIN, to_ms: self.rows_before.saturating_sub(1) }
    }

    /// What hides rows of writes before one, where there are any, and aggregates that were made before another.
    pub(crate) fn tombstones(&self, rows_number: Option<OpNumber>, number: OpNumber) -> Vec<Tombstone> {
        let of_rows = rows_number.map(|number| Tombstone { number, range: self.rows(), reach: Reach::Rows });
        let of_aggregates = self.aggregates_before.map(|before| Tombstone {
            number,
            range: TimeRange { from_ms: TimeMs::MIN, to_ms: before.saturating_sub(1) },
            reach: Reach::Aggregates,
        });
        of_rows.into_iter().chain(of_aggregates).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_in_steps() {
        let day = Duration::from_secs(86_400);
        let first = oldest_kept(1_000_000_000_000, day);
        assert_eq!(first, oldest_kept(1_000_000_000_000 - 1000, day));
        assert!(first <= 1_000_000_000_000 - 86_400_000 && first > 1_000_000_000_000 - 2 * 86_400_000);
    }

    #[test]
    fn rows_with_aggregates_go_in_whole_periods() {
        let keep = Duration::from_secs(10 * 86_400);
        let retention = [Retention { type_name: None, keep }];
        let (type_name, keep_aggregates) = (Some("Room".to_owned()), Some(30 * keep));
        let aggregates = [Aggregates { type_name, period: Period::Month, keep: keep_aggregates }];
        // 2024-05-06T07:03:20Z
        let now_ms = 1_714_979_000_000;
        let of = |name| Removal::of(&retention, &aggregates, name, now_ms).unwrap();
        let (april, july_2023) = (1_711_929_600_000, 1_688_169_600_000);
        let of_room =
            Removal { rows_before: april, period: Some(Period::Month), aggregates_before: Some(july_2023) };
        assert_eq!(of("Room"), of_room);
        let of_others =
            Removal { rows_before: oldest_kept(now_ms, keep), period: None, aggregates_before: None };
        assert_eq!(of("Street"), of_others);
    }
}
