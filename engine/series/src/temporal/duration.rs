//! Durations (ISO 8601, `P3Y6M4DT12H30M5S` or `P2W`), and the periods of such a length that follow one another from a moment on.

use prony_series_store::{
    TimeMs,
    calendar::{DAY_MS, Date, date_of_days, days_of_date},
};

/// Of one part of a duration: more years than there are times.
const PART_MAX: i64 = 400_000_000_000;

/// A length of time; years and months are those of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeriodLength {
    months: i64,
    ms: i64,
}

impl PeriodLength {
    /// Reads a duration; none where it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('P')?;
        let (date, time) = match rest.split_once('T') {
            Some((_, "")) => return None,
            Some((date, time)) => (date, time),
            None => (rest, ""),
        };
        if date.is_empty() && time.is_empty() {
            return None;
        }
        let mut length = Self { months: 0, ms: 0 };
        if let Some(weeks) = date.strip_suffix('W').filter(|_| time.is_empty()) {
            length.ms = whole(weeks)?.checked_mul(7 * DAY_MS)?;
            return Some(length);
        }
        let mut add = |unit: char, count: i64, is_time: bool| {
            let (months, ms) = match (is_time, unit) {
                (false, 'Y') => (count.checked_mul(12)?, 0),
                (false, 'M') => (count, 0),
                (false, 'D') => (0, count.checked_mul(DAY_MS)?),
                (true, 'H') => (0, count.checked_mul(3_600_000)?),
                (true, 'M') => (0, count.checked_mul(60_000)?),
                (true, 'S') => (0, count.checked_mul(1000)?),
                _ => return None,
            };
            length.months = length.months.checked_add(months)?;
            length.ms = length.ms.checked_add(ms)?;
            Some(())
        };
        parts(date, "YMD", |unit, count| add(unit, count, false))?;
        parts(time, "HMS", |unit, count| add(unit, count, true))?;
        (length.months <= PART_MAX).then_some(length)
    }

    /// Zero: the whole time that is asked for.
    pub(crate) const fn is_zero(self) -> bool {
        self.months == 0 && self.ms == 0
    }

    /// Where the period with this number begins.
    fn begin(self, origin: TimeMs, number: i64) -> TimeMs {
        let moved =
            if self.months == 0 { origin } else { after_months(origin, self.months.saturating_mul(number)) };
        moved.saturating_add(self.ms.saturating_mul(number))
    }

    /// The first moment of the period that a moment is in, and the first one behind it. No moment is before the origin.
    pub(crate) fn around(self, origin: TimeMs, time_ms: TimeMs) -> (TimeMs, TimeMs) {
        if self.is_zero() {
            return (origin, TimeMs::MAX);
        }
        // A month has 28 to 31 days.
        let longest = self.months.saturating_mul(31 * DAY_MS).saturating_add(self.ms);
        let mut low = time_ms.saturating_sub(origin) / longest;
        let shortest = self.months.saturating_mul(28 * DAY_MS).saturating_add(self.ms);
        let mut high = time_ms.saturating_sub(origin) / shortest + 1;
        // The last period that does not begin later.
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.begin(origin, middle) <= time_ms {
                low = middle;
            } else {
                high = middle;
            }
        }
        (self.begin(origin, low), self.begin(origin, low + 1))
    }
}

fn whole(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= PART_MAX)
}

/// Numbers with units, which come in their order and each once.
fn parts(text: &str, units: &str, mut add: impl FnMut(char, i64) -> Option<()>) -> Option<()> {
    let (mut rest, mut left) = (text, units);
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit())?;
        let unit = rest[end..].chars().next()?;
        add(unit, whole(&rest[..end])?)?;
        left = &left[left.find(unit)? + 1..];
        rest = rest.get(end + 1..)?;
    }
    Some(())
}

/// The same time of a day so many months later, or that of the last day of that month.
fn after_months(time_ms: TimeMs, months: i64) -> TimeMs {
    let (year, month, day) = date_of_days(time_ms.div_euclid(DAY_MS));
    let month = year.saturating_mul(12).saturating_add(i64::from(month) - 1).saturating_add(months);
    let of = |month: i64, day: u32| -> Date { (month.div_euclid(12), month.rem_euclid(12) as u32 + 1, day) };
    if month > PART_MAX {
        return TimeMs::MAX;
    }
    let first = days_of_date(of(month, 1));
    let days = days_of_date(of(month + 1, 1)) - first;
    let day = (i64::from(day) - 1).min(days - 1);
    (first + day).saturating_mul(DAY_MS).saturating_add(time_ms.rem_euclid(DAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ngsi::time;

    #[test]
    fn durations_are_read() {
        let of = |months, ms| Some(PeriodLength { months, ms });
        for (text, length) in [
            ("PT1H", of(0, 3_600_000)),
            ("P1D", of(0, DAY_MS)),
            ("P2W", of(0, 14 * DAY_MS)),
            ("P3Y6M4DT12H30M5S", of(42, 4 * DAY_MS + 45_005_000)),
            ("PT0S", of(0, 0)),
            ("P0D", of(0, 0)),
            ("P1M", of(1, 0)),
            ("PT1M", of(0, 60_000)),
            ("", None),
            ("P", None),
            ("PT", None),
            ("P1", None),
            ("1H", None),
            ("PT1D", None),
            ("P1H", None),
            ("PT1M1H", None),
            ("PT1H1H", None),
            ("PT1.5S", None),
            ("PT-1S", None),
            ("P1W1D", None),
            ("P1DT", None),
            ("pt1h", None),
            ("P1D2024-01-01", None),
            ("P99999999999999999999Y", None),
            ("P400000000000D", None),
            ("PT1é", None),
        ] {
            assert_eq!(PeriodLength::read(text), length, "{text}");
        }
    }

    #[test]
    fn periods_follow_one_another() {
        let at = |text: &str| time::parse(text).unwrap();
        for (length, origin, moment, from, to) in [
            (
                "PT1H",
                "2020-08-01T12:03:00Z",
                "2020-08-01T14:07:00Z",
                "2020-08-01T14:03:00Z",
                "2020-08-01T15:03:00Z",
            ),
            (
                "PT1H",
                "2020-08-01T12:03:00Z",
                "2020-08-01T12:03:00Z",
                "2020-08-01T12:03:00Z",
                "2020-08-01T13:03:00Z",
            ),
            (
                "P1M",
                "2024-01-31T00:00:00Z",
                "2024-02-28T23:00:00Z",
                "2024-01-31T00:00:00Z",
                "2024-02-29T00:00:00Z",
            ),
            (
                "P1M",
                "2024-01-31T00:00:00Z",
                "2024-03-30T00:00:00Z",
                "2024-02-29T00:00:00Z",
                "2024-03-31T00:00:00Z",
            ),
            ("P1Y", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "+10000"),
            (
                "P1Y1D",
                "1970-01-01T00:00:00Z",
                "1971-01-01T00:00:00Z",
                "1970-01-01T00:00:00Z",
                "1971-01-02T00:00:00Z",
            ),
            (
                "PT1S",
                "1969-12-31T23:59:59.500Z",
                "1970-01-01T00:00:00.499Z",
                "1969-12-31T23:59:59.500Z",
                "1970-01-01T00:00:00.500Z",
            ),
        ] {
            let around = PeriodLength::read(length).unwrap().around(at(origin), at(moment));
            let to = time::parse(to).unwrap_or_else(|| at("9999-12-31T00:00:00Z") + DAY_MS);
            assert_eq!(around, (at(from), to), "{length} {moment}");
        }
        // Nothing overflows, however long a period is.
        let longest = PeriodLength::read("P30000000000Y").unwrap();
        assert_eq!(longest.around(0, 5), (0, TimeMs::MAX));
        assert_eq!(PeriodLength::read("PT0S").unwrap().around(3, 5), (3, TimeMs::MAX));
    }
}
