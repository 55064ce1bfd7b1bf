//! The calendar (proleptic Gregorian, UTC): dates of moments, and the periods that they are in.

use crate::ids::TimeMs;
use std::fmt;

pub const DAY_MS: i64 = 86_400_000;

/// Of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// Into which periods rows are put.
#[derive(Clone, Copy)]
pub enum Periods<'p> {
    /// One of all time.
    Whole,
    Calendar(Period),
    /// Says of a moment where its period ends: the first moment that is not in it.
    EndsAt(&'p dyn Fn(TimeMs) -> TimeMs),
}

impl fmt::Debug for Periods<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("Whole"),
            Self::Calendar(period) => f.debug_tuple("Calendar").field(period).finish(),
            Self::EndsAt(_) => f.write_str("EndsAt"),
        }
    }
}

impl Periods<'_> {
    /// The first moment behind the period that a moment is in.
    pub fn end_of(self, time_ms: TimeMs) -> TimeMs {
        match self {
            Self::Whole => TimeMs::MAX,
            Self::Calendar(period) => period.around(time_ms).1,
            Self::EndsAt(end_of) => end_of(time_ms),
        }
    }
}

impl From<Option<Period>> for Periods<'_> {
    fn from(period: Option<Period>) -> Self {
        period.map_or(Self::Whole, Self::Calendar)
    }
}

/// A day: year, month from 1 on, day of the month from 1 on.
pub type Date = (i64, u32, u32);

/// Days since 1970-01-01 (Hinnant, `chrono`-compatible low-level date algorithms, `days_from_civil`).
pub const fn days_of_date((year, month, day): Date) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month as i64 + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_of_date`] (`civil_from_days`).
pub const fn date_of_days(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

impl Period {
    /// The first moment of the period that a moment is in, and the first one behind it.
    pub fn around(self, time_ms: TimeMs) -> (TimeMs, TimeMs) {
        let fixed = match self {
            Self::Second => 1000,
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => DAY_MS,
            Self::Year | Self::Month => {
                let (year, month, _) = date_of_days(time_ms.div_euclid(DAY_MS));
                let (first, next) = match self {
                    Self::Year => ((year, 1, 1), (year + 1, 1, 1)),
                    _ if month == 12 => ((year, 12, 1), (year + 1, 1, 1)),
                    _ => ((year, month, 1), (year, month + 1, 1)),
                };
                let moment = |date| days_of_date(date).saturating_mul(DAY_MS);
                return (moment(first), moment(next));
            }
        };
        let first = time_ms.div_euclid(fixed).saturating_mul(fixed);
        (first, first.saturating_add(fixed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((1969, 12, 31), -1),
            ((9999, 12, 31), 2_932_896),
            ((1, 1, 1), -719_162),
        ] {
            assert_eq!(days_of_date(date), days, "{date:?}");
            assert_eq!(date_of_days(days), date);
        }
        for days in (-800_000..3_000_000).step_by(97) {
            assert_eq!(days_of_date(date_of_days(days)), days);
        }
    }

    #[test]
    fn periods_hold_their_moments() {
        let at = days_of_date((2024, 2, 29)) * DAY_MS + 3_723_004;
        let first = |date: Date| days_of_date(date) * DAY_MS;
        assert_eq!(Period::Year.around(at), (first((2024, 1, 1)), first((2025, 1, 1))));
        assert_eq!(Period::Month.around(at), (first((2024, 2, 1)), first((2024, 3, 1))));
        assert_eq!(Period::Day.around(at), (first((2024, 2, 29)), first((2024, 3, 1))));
        assert_eq!(Period::Hour.around(at).0, at - 123_004);
        assert_eq!(Period::Minute.around(at).0, at - 3004);
        assert_eq!(Period::Second.around(at), (at - 4, at + 996));
        assert_eq!(Period::Day.around(-1), (-DAY_MS, 0));
    }
}
