//! Times of the configuration as Unix seconds, and lengths of time as milliseconds.

use prony_source::config::{Faults, FileEntry};
use toml::{
    de::DeValue,
    value::{Datetime, Offset},
};

use crate::calendar;

/// A time that is written as a date of TOML or as a text of that form. Without an offset it is in UTC; without a time it is
/// the beginning of the day.
pub(super) fn seconds(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<i64> {
    let time: Option<Datetime> = match entry.value().get_ref() {
        DeValue::Datetime(time) => Some(*time),
        DeValue::String(text) => text.parse().ok(),
        _ => None,
    };
    let seconds = time.as_ref().and_then(unix_seconds);
    if seconds.is_none() {
        let message = format!("`{}`: write a time such as 2030-01-31T12:00:00Z", entry.name());
        faults.push(entry.value_origin(), message);
    }
    seconds
}

/// A time that is written as `expires` of an API key is, in Unix seconds; none where it is no time.
pub fn unix_time(text: &str) -> Option<i64> {
    text.parse::<Datetime>().ok().and_then(|time| unix_seconds(&time))
}

fn unix_seconds(time: &Datetime) -> Option<i64> {
    let date = time.date?;
    let of_day = time.time.map_or(0, |time| {
        i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second.unwrap_or(0))
    });
    let offset_minutes = match time.offset {
        Some(Offset::Custom { minutes }) => i64::from(minutes),
        Some(Offset::Z) | None => 0,
    };
    let days = calendar::days_since_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    Some(days * calendar::DAY_S + of_day - offset_minutes * 60)
}

/// A length of time such as `500ms`, `5s`, `10min`, `2h` or `1d`, in milliseconds, between two.
pub(super) fn duration_ms(
    entry: FileEntry<'_, '_>,
    (least, most): (u64, u64),
    faults: &mut Faults,
) -> Option<u64> {
    let text = entry.text(faults)?;
    let length = milliseconds(&text).filter(|length| (least..=most).contains(length));
    if length.is_none() {
        let message = format!(
            "`{}`: write a time such as 500ms, 5s, 10min, 2h or 1d, from {least} ms to {} d",
            entry.name(),
            most / 86_400_000
        );
        faults.push(entry.value_origin(), message);
    }
    length
}

fn milliseconds(text: &str) -> Option<u64> {
    let unit_at = text.find(|character: char| !character.is_ascii_digit())?;
    let (count, unit) = text.split_at(unit_at);
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    count.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_unix_seconds() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01", 0),
            ("2000-02-29T12:30:15Z", 951_827_415),
            ("2001-09-09T01:46:40Z", 1_000_000_000),
            ("2001-09-09T03:46:40+02:00", 1_000_000_000),
            ("2038-01-19T03:14:08Z", 1 << 31),
            ("2100-03-01", 4_107_542_400),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            let time: Datetime = text.parse().expect("it is a time");
            assert_eq!(unix_seconds(&time), Some(seconds), "{text}");
        }
        for text in ["12:00:00", "tomorrow", "", "2027-13-01", "1_800_000_000"] {
            assert_eq!(unix_time(text), None, "{text}");
        }
        assert_eq!(unix_time("1970-01-02"), Some(86_400));
    }

    #[test]
    fn lengths_have_a_unit() {
        for (text, length) in [
            ("500ms", Some(500)),
            ("5s", Some(5_000)),
            ("10min", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("5", None),
            ("s", None),
            ("-5s", None),
            ("1.5s", None),
            ("5 s", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(milliseconds(text), length, "{text}");
        }
    }
}
