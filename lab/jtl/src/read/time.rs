//! Times as files have them: milliseconds since 1970, or a date and a time of day as older versions of JMeter wrote them.

/// Milliseconds since 1970. A date has no zone: it is taken for UTC, and only distances between samples count.
pub(super) fn milliseconds(cell: &[u8]) -> Option<i64> {
    whole(cell).or_else(|| date(cell))
}

/// A number that may be negative; its digits may not be more than a time has.
pub(super) fn whole(cell: &[u8]) -> Option<i64> {
    let (sign, digits) = match cell.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, cell),
    };
    let value = digits.iter().try_fold(0_i64, |value, byte| {
        byte.is_ascii_digit().then(|| value.wrapping_mul(10).wrapping_add(i64::from(byte - b'0')))
    });
    value.filter(|_| !digits.is_empty()).map(|value| sign * value)
}

/// `2026/11/23 08:05:07.123`, also with `-` in the date, `T` between both, `,` before the milliseconds, or without these.
fn date(cell: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(cell).ok()?;
    let (day, time) = text.split_once([' ', 'T'])?;
    let [year, month, day] = numbers(day, ['/', '-'])?;
    let (time, fraction) = time.split_once(['.', ',']).unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, [':', ':'])?;
    let is_fraction = (1..=3).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_fraction || !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let milliseconds: i64 = format!("{fraction:0<3}").parse().ok()?;
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute;
    Some((minutes * 60 + second) * 1_000 + milliseconds)
}

fn numbers(text: &str, between: [char; 2]) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(|part| {
        let is_number = !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Days since 1970 in the Gregorian calendar, by the formula of <https://howardhinnant.github.io/date_algorithms.html>.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn numbers_and_dates_are_times_and_nothing_else_is() {
        let known = [
            ("1700000000123", 1_700_000_000_123),
            ("-5", -5),
            ("2023/11/14 22:13:20.123", 1_700_000_000_123),
            ("2023-11-14T22:13:20,1", 1_700_000_000_100),
            ("2000/02/29 00:00:00", 951_782_400_000),
            ("1969-12-31 23:59:59", -1_000),
        ];
        for (text, expected) in known {
            assert_eq!(milliseconds(text.as_bytes()), Some(expected), "{text}");
        }
        for text in
            ["", "-", "2026/01/01", "12:00:00", "2026/13/01 00:00:00", "2026/01/01 24:00:00", "1e3", "a b"]
        {
            assert_eq!(milliseconds(text.as_bytes()), None, "{text}");
        }
    }
}
