//! Times as text: read leniently, as `dateutil` does, and written in one form.

use prony_series_store::{
    TimeMs,
    calendar::{DAY_MS, Date, date_of_days, days_of_date},
};

/// Months by the first three letters of their names.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Reads a time: ISO 8601 in its usual forms (`2024-05-06T07:08:09.123Z`, `20240506T070809`, `2024-05-06`, `2024-05`), also with a space
/// for the `T`, with slashes, in quotes, with a month's name (`6 May 2024 07:08`), or with the month first (`05/06/2024`, and the day where the
/// first number is no month); the year may have two digits, and the time `am` or `pm`. The time may stand before the date or in it, as in
/// `Mon May  6 07:08:09 2024`. What says no zone is UTC; what is below a millisecond is cut.
pub(crate) fn parse(text: &str) -> Option<TimeMs> {
    if let Some(time) = parse_usual(text.as_bytes()) {
        return Some(time);
    }
    let text = text.trim().trim_matches(['"', '\'']).trim();
    parse_date_first(text).or_else(|| parse_date_first(&with_clock_last(text)?))
}

/// The same with the time at its end, where there is one elsewhere.
fn with_clock_last(text: &str) -> Option<String> {
    /// No time is written in more.
    const BYTES_MAX: usize = 100;
    const BEHIND_CLOCKS: [&str; 7] = ["UTC", "GMT", "Z", "am", "pm", "a.m.", "p.m."];
    if text.len() > BYTES_MAX {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_clock = |word: &&str| word.contains(':') && word.starts_with(|char: char| char.is_ascii_digit());
    let is_behind = |word: &&&str| {
        word.starts_with(['+', '-']) || BEHIND_CLOCKS.iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    let begin = words.iter().position(is_clock)?;
    let end = begin + 1 + words[begin + 1..].iter().take_while(is_behind).count();
    let in_order = [&words[..begin], &words[end..], &words[begin..end]].concat();
    (end < words.len()).then(|| in_order.join(" "))
}

fn parse_date_first(text: &str) -> Option<TimeMs> {
    let (day, rest) = date(text)?;
    let rest = rest.trim_start_matches(['T', 't', ' ', ',']);
    let (in_day, offset) = if rest.is_empty() { (0, 0) } else { clock(rest)? };
    let days = days_of_date(day);
    days.checked_mul(DAY_MS)?.checked_add(in_day)?.checked_sub(offset)
}

/// The form that nearly all have: `2024-05-06T07:08:09Z`, with milliseconds or without.
fn parse_usual(text: &[u8]) -> Option<TimeMs> {
    let (moment, rest) = text.split_first_chunk::<19>()?;
    let &[y0, y1, y2, y3, b'-', mo0, mo1, b'-', d0, d1, b'T', h0, h1, b':', mi0, mi1, b':', s0, s1] = moment
    else {
        return None;
    };
    let milliseconds = match rest {
        b"Z" => 0,
        [b'.', digits @ .., b'Z'] if digits.len() == 3 => decimal(digits)?,
        _ => return None,
    };
    let day = checked((i64::from(decimal(&[y0, y1, y2, y3])?), decimal(&[mo0, mo1])?, decimal(&[d0, d1])?))?;
    let [hour, minute, second] = [decimal(&[h0, h1])?, decimal(&[mi0, mi1])?, decimal(&[s0, s1])?];
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = hour * 3600 + minute * 60 + second;
    Some(days_of_date(day) * DAY_MS + i64::from(seconds) * 1000 + i64::from(milliseconds))
}

fn decimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + u32::from(digit))
    })
}

/// Reads a `DateTime` of NGSI-LD (ETSI GS CIM 009, clause 4.6.3): a date and a time with a `T` between them. What has another zone than UTC
/// is converted.
pub(crate) fn parse_date_time(text: &str) -> Option<TimeMs> {
    let has_both = text.starts_with(|char: char| char.is_ascii_digit()) && text.contains('T');
    if has_both { parse(text) } else { None }
}

/// As `1970-01-01T00:00:00.000+00:00`.
pub(crate) fn write(out: &mut Vec<u8>, time_ms: TimeMs) {
    write_moment(out, time_ms, true);
    out.extend_from_slice(b"+00:00");
}

/// As `1970-01-01T00:00:00Z`, with milliseconds where there are some.
pub(crate) fn write_utc(out: &mut Vec<u8>, time_ms: TimeMs) {
    write_moment(out, time_ms, time_ms.rem_euclid(1000) != 0);
    out.push(b'Z');
}

/// Without a zone.
fn write_moment(out: &mut Vec<u8>, time_ms: TimeMs, has_milliseconds: bool) {
    let (year, month, day) = date_of_days(time_ms.div_euclid(DAY_MS));
    let in_day = time_ms.rem_euclid(DAY_MS);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milliseconds) = (in_day / 1000 % 60, in_day % 1000);
    if (0..=9999).contains(&year) {
        digits(out, year as u64, 4);
    } else {
        let sign = if year < 0 { "-" } else { "+" };
        out.extend_from_slice(format!("{sign}{:06}", year.abs()).as_bytes());
    }
    let parts = [
        (b'-', u64::from(month), 2),
        (b'-', u64::from(day), 2),
        (b'T', hour as u64, 2),
        (b':', minute as u64, 2),
        (b':', second as u64, 2),
        (b'.', milliseconds as u64, 3),
    ];
    for (before, number, count) in &parts[..if has_milliseconds { 6 } else { 5 }] {
        out.push(*before);
        digits(out, *number, *count);
    }
}

#[cfg(test)]
pub(crate) fn text(time_ms: TimeMs) -> String {
    let mut out = Vec::with_capacity(29);
    write(&mut out, time_ms);
    String::from_utf8(out).expect("digits are UTF-8")
}

fn digits(out: &mut Vec<u8>, number: u64, count: u32) {
    for place in (0..count).rev() {
        out.push(b'0' + (number / 10_u64.pow(place) % 10) as u8);
    }
}

/// So many digits, and what follows.
fn number(text: &str, count: usize) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((digits.parse().ok()?, rest))
}

fn checked((year, month, day): Date) -> Option<Date> {
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    };
    ((1..=12).contains(&month) && (1..=last).contains(&day)).then_some((year, month, day))
}

fn date(text: &str) -> Option<(Date, &str)> {
    date_with_name(text).or_else(|| year_first(text)).or_else(|| date_with_separators(text))
}

fn year_first(text: &str) -> Option<(Date, &str)> {
    let (year, rest) = number(text, 4)?;
    let year = i64::from(year);
    if let Some(rest) = rest.strip_prefix(['-', '/']) {
        // More digits are no part of a time: 2024-127 is a day of a year, and not read.
        let is_whole = |rest: &str| !rest.starts_with(|char: char| char.is_ascii_digit());
        let (month, rest) = number(rest, 2).or_else(|| number(rest, 1))?;
        let Some(rest) = rest.strip_prefix(['-', '/']) else {
            return is_whole(rest).then_some((checked((year, month, 1))?, rest));
        };
        let (day, rest) = number(rest, 2).or_else(|| number(rest, 1))?;
        return is_whole(rest).then_some((checked((year, month, day))?, rest));
    }
    if rest.is_empty() {
        return Some(((year, 1, 1), rest));
    }
    let (month, rest) = number(rest, 2)?;
    let (day, rest) = number(rest, 2)?;
    // A time to the minute or to the second: other numbers are none, as seconds since 1970 are.
    let of_time = rest.bytes().take_while(u8::is_ascii_digit).count();
    [0, 4, 6].contains(&of_time).then_some(())?;
    Some((checked((year, month, day))?, rest))
}

/// `6 May 2024`, `May 6 2024`, `May 6, 2024`, `Mon, 06 May 2024`.
fn date_with_name(text: &str) -> Option<(Date, &str)> {
    const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let (mut day, mut month, mut year, mut rest) = (None, None, None, text);
    while day.is_none() || month.is_none() || year.is_none() {
        rest = rest.trim_start_matches([' ', ',', '.']);
        let end = rest.find([' ', ',', '.']).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let word = without_ordinal(word);
        let start = word.get(..3).map(str::to_ascii_lowercase);
        if let Some(place) = MONTHS.iter().position(|name| start.as_deref() == Some(*name)) {
            month = Some(place as u32 + 1);
        } else if word.len() == 4 && year.is_none() {
            year = Some(word.parse::<i64>().ok()?);
        } else if (1..=2).contains(&word.len()) && day.is_none() {
            day = Some(word.parse::<u32>().ok()?);
        } else if word.len() == 2 && year.is_none() {
            year = Some(year_of(word)?);
        } else if !start.as_deref().is_some_and(|start| WEEKDAYS.contains(&start)) {
            return None;
        }
        rest = behind;
    }
    Some((checked((year?, month?, day?))?, rest))
}

/// A number without `st`, `nd`, `rd` or `th`; other words as they are.
fn without_ordinal(word: &str) -> &str {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end));
    number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or(word)
}

/// `05/06/2024`, `5-6-24`, `31.12.2024`, `2024.05.06`, `6-May-2024`, `2024-May-06`, `05/2024`: the month first, unless the first number is a year or no month.
fn date_with_separators(text: &str) -> Option<(Date, &str)> {
    let (first, rest) = digits_of(text)?;
    let separator = rest.chars().next().filter(|separator| ['-', '/', '.'].contains(separator))?;
    let rest = &rest[1..];
    let day_of = |digits: &str| digits.parse::<u32>().ok();
    let name = rest.split(separator).next().and_then(|name| name.get(..3)).map(str::to_ascii_lowercase);
    if let Some(month) = MONTHS.iter().position(|known| name.as_deref() == Some(*known)) {
        let (_, rest) = rest.split_once(separator)?;
        let (last, rest) = digits_of(rest)?;
        let (year, day) = if first.len() == 4 { (first, last) } else { (last, first) };
        return Some((checked((year_of(year)?, month as u32 + 1, day_of(day)?))?, rest));
    }
    let (second, rest) = digits_of(rest)?;
    let Some(rest) = rest.strip_prefix(separator) else {
        let is_of_month = separator != '.' && first.len() <= 2 && second.len() == 4;
        let month = is_of_month.then(|| (year_of(second), day_of(first)))?;
        return Some((checked((month.0?, month.1?, 1))?, rest));
    };
    let (third, rest) = digits_of(rest)?;
    let number = day_of(first)?;
    let (year, month, day) = if first.len() == 4 || number > 31 {
        (first, second, third)
    } else if number > 12 {
        (third, second, first)
    } else {
        (third, first, second)
    };
    Some((checked((year_of(year)?, day_of(month)?, day_of(day)?))?, rest))
}

/// One, two or four digits, and what follows.
fn digits_of(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    [1, 2, 4].contains(&end).then(|| text.split_at(end))
}

/// A year of four digits, or of fewer one that is near: the same text is always the same time, so that what is near does not move on with
/// the years as it does for `dateutil`.
fn year_of(digits: &str) -> Option<i64> {
    /// The first year that is near, as it was in 2026: fifty years before.
    const FIRST_NEAR: i64 = 1976;
    let year: i64 = digits.parse().ok()?;
    Some(match digits.len() {
        4 => year,
        _ if year >= FIRST_NEAR % 100 => 1900 + year,
        _ => 2000 + year,
    })
}

/// Hours to be added by what is said behind a time, and what follows; none where an hour does not go with it.
fn half_of_day(hour: u32, text: &str) -> Option<(i64, &str)> {
    let behind = text.trim_start();
    let halves = [("a.m.", false), ("p.m.", true), ("am", false), ("pm", true)];
    let said = halves.iter().find_map(|(word, is_after)| {
        let (start, rest) = behind.split_at_checked(word.len())?;
        let ends = !rest.starts_with(|char: char| char.is_alphanumeric());
        (start.eq_ignore_ascii_case(word) && ends).then_some((*is_after, rest))
    });
    let Some((is_after, rest)) = said else { return Some((0, text)) };
    let hours = match (hour, is_after) {
        (13.., _) => return None,
        (12, false) => -12,
        (0..12, true) => 12,
        _ => 0,
    };
    Some((hours, rest))
}

/// Milliseconds of the day, and of the zone's offset.
fn clock(text: &str) -> Option<(i64, i64)> {
    let (hour, mut rest) = number(text, 2).or_else(|| number(text, 1))?;
    let is_extended = rest.starts_with(':');
    let next = |rest: &mut &str| -> Option<Option<u32>> {
        let from = if is_extended {
            match rest.strip_prefix(':') {
                Some(from) => from,
                None => return Some(None),
            }
        } else {
            *rest
        };
        if !from.starts_with(|char: char| char.is_ascii_digit()) {
            return Some(None);
        }
        let (found, behind) = number(from, 2)?;
        *rest = behind;
        Some(Some(found))
    };
    let minute = next(&mut rest)?.unwrap_or(0);
    let second = next(&mut rest)?.unwrap_or(0);
    let mut milliseconds = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let end = fraction.find(|char: char| !char.is_ascii_digit()).unwrap_or(fraction.len());
        let digits = &fraction[..end.min(3)];
        milliseconds = digits.parse::<i64>().ok()? * 10_i64.pow(3 - digits.len() as u32);
        rest = &fraction[end..];
    }
    let (more_hours, rest) = half_of_day(hour, rest)?;
    let is_end_of_day = hour == 24 && minute == 0 && second == 0 && milliseconds == 0;
    if !(hour < 24 || is_end_of_day) || minute > 59 || second > 60 {
        return None;
    }
    let in_day =
        (i64::from(hour) + more_hours) * 3_600_000 + i64::from(minute) * 60_000 + i64::from(second) * 1000;
    Some((in_day + milliseconds, zone(rest.trim())?))
}

fn zone(text: &str) -> Option<i64> {
    if text.is_empty() || ["Z", "z", "UTC", "GMT"].contains(&text) {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        // In a query a plus that is not encoded is a space, which is trimmed.
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => (1, text),
    };
    let (hours, rest) =
        number(rest, 2).or_else(|| number(rest, 1).filter(|(_, behind)| behind.starts_with(':')))?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { number(rest, 2)? };
    (rest.is_empty() && hours < 24 && minutes < 60)
        .then_some(sign * (i64::from(hours) * 3_600_000 + i64::from(minutes) * 60_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_have_both_parts_and_are_written_with_a_zone() {
        for (written, read) in [
            ("2024-05-06T07:08:09Z", Some("2024-05-06T07:08:09Z")),
            ("2024-05-06T07:08:09.120Z", Some("2024-05-06T07:08:09.120Z")),
            ("2024-05-06T07:08:09.000+02:00", Some("2024-05-06T05:08:09Z")),
            ("1969-12-31T23:59:59.999Z", Some("1969-12-31T23:59:59.999Z")),
            ("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59Z")),
            ("2024-05-06", None),
            ("2024-05-06 07:08", None),
            ("Tue, 6 May 2024", None),
            ("T", None),
        ] {
            let mut out = Vec::new();
            let found = parse_date_time(written).map(|time| write_utc(&mut out, time));
            assert_eq!(found.map(|()| String::from_utf8(out).unwrap()).as_deref(), read, "{written}");
        }
    }

    #[test]
    fn the_usual_form_is_read_as_the_others_are() {
        let mut texts: Vec<String> =
            ["0000-02-29", "1969-12-31", "2023-02-29", "2024-02-30", "2024-00-10", "9999-12-31"]
                .iter()
                .flat_map(|day| {
                    ["00:00:00", "23:59:60", "24:00:00", "12:60:00", "07:08:09.001", "07:08:0x"]
                        .map(|clock| format!("{day}T{clock}Z"))
                })
                .collect();
        texts.extend(
            [
                "2024-05-06T07:08:09.1Z",
                "2024-05-06T07:08:09.Z",
                "2024-05-06t07:08:09Z",
                "2024-05-06T07:08:09",
            ]
            .map(str::to_owned),
        );
        for text in texts {
            // Quotes are let go by the lenient reading alone.
            assert_eq!(parse(&text), parse(&format!("\"{text}\"")), "{text}");
        }
    }

    #[test]
    fn times_are_read_leniently() {
        for (written, read) in [
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00.000+00:00")),
            ("2024-05-06T07:08:09.123456Z", Some("2024-05-06T07:08:09.123+00:00")),
            ("2024-05-06T07:08:09.1+02:00", Some("2024-05-06T05:08:09.100+00:00")),
            ("2024-05-06T07:08:09 02:00", Some("2024-05-06T05:08:09.000+00:00")),
            ("2024-05-06T07:08:09-0130", Some("2024-05-06T08:38:09.000+00:00")),
            ("2024-05-06 07:08", Some("2024-05-06T07:08:00.000+00:00")),
            ("20240506T070809Z", Some("2024-05-06T07:08:09.000+00:00")),
            ("202405060708", Some("2024-05-06T07:08:00.000+00:00")),
            ("20240506070809.5+0200", Some("2024-05-06T05:08:09.500+00:00")),
            ("20240506", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024-05-06", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024/5/6", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024-05", Some("2024-05-01T00:00:00.000+00:00")),
            ("2024", Some("2024-01-01T00:00:00.000+00:00")),
            ("\"2024-05-06T07\"", Some("2024-05-06T07:00:00.000+00:00")),
            ("6 May 2024 07:08", Some("2024-05-06T07:08:00.000+00:00")),
            ("Mon, 06 May 2024 07:08:09 GMT", Some("2024-05-06T07:08:09.000+00:00")),
            // As dateutil 2.9 reads them.
            ("05/06/2024", Some("2024-05-06T00:00:00.000+00:00")),
            ("13/06/2024", Some("2024-06-13T00:00:00.000+00:00")),
            ("5/6/24", Some("2024-05-06T00:00:00.000+00:00")),
            ("5/6/99", Some("1999-05-06T00:00:00.000+00:00")),
            ("5/6/68", Some("2068-05-06T00:00:00.000+00:00")),
            ("24/05/06", Some("2006-05-24T00:00:00.000+00:00")),
            ("99-12-31", Some("1999-12-31T00:00:00.000+00:00")),
            ("32/05/06", Some("2032-05-06T00:00:00.000+00:00")),
            ("12/13/11", Some("2011-12-13T00:00:00.000+00:00")),
            ("1/2/3", Some("2003-01-02T00:00:00.000+00:00")),
            ("05.06.2024", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024.05.06", Some("2024-05-06T00:00:00.000+00:00")),
            ("31-12-2024", Some("2024-12-31T00:00:00.000+00:00")),
            ("6-May-2024", Some("2024-05-06T00:00:00.000+00:00")),
            ("05/2024", Some("2024-05-01T00:00:00.000+00:00")),
            ("06 May 24", Some("2024-05-06T00:00:00.000+00:00")),
            ("May 6, 24", Some("2024-05-06T00:00:00.000+00:00")),
            ("05/06/24 07:08", Some("2024-05-06T07:08:00.000+00:00")),
            ("05/06/2024T07:08:09Z", Some("2024-05-06T07:08:09.000+00:00")),
            ("05/06/2024 07:08 PM", Some("2024-05-06T19:08:00.000+00:00")),
            ("2024-05-06 07:08PM", Some("2024-05-06T19:08:00.000+00:00")),
            ("2024-05-06T07:08:09 pm", Some("2024-05-06T19:08:09.000+00:00")),
            ("2024-05-06 7PM", Some("2024-05-06T19:00:00.000+00:00")),
            ("2024-05-06 12:00 AM", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024-05-06 12:30 PM", Some("2024-05-06T12:30:00.000+00:00")),
            ("May 6 2024 7:08:09.5 p.m.", Some("2024-05-06T19:08:09.500+00:00")),
            ("6 May 2024 7:08 PM +02:00", Some("2024-05-06T17:08:00.000+00:00")),
            ("12/25/24 11:59:59 PM", Some("2024-12-25T23:59:59.000+00:00")),
            ("Mon May  6 07:08:09 2024", Some("2024-05-06T07:08:09.000+00:00")),
            ("Mon May 6 07:08:09 UTC 2024", Some("2024-05-06T07:08:09.000+00:00")),
            ("07:08:09.5 2024-05-06", Some("2024-05-06T07:08:09.500+00:00")),
            ("7:08 PM +02:00 05/06/2024", Some("2024-05-06T17:08:00.000+00:00")),
            ("6th May 2024", Some("2024-05-06T00:00:00.000+00:00")),
            ("August 1st, 2024 07:08", Some("2024-08-01T07:08:00.000+00:00")),
            ("2024-May-06", Some("2024-05-06T00:00:00.000+00:00")),
            ("2024-05-06T07:08:09+2:00", Some("2024-05-06T05:08:09.000+00:00")),
            ("2024-127", None),
            ("2024-05-061", None),
            ("07:08:09", None),
            ("07:08:09 nonsense", None),
            ("2024-05-06T07:08:09 CET", None),
            ("2024-05-06 13:00 PM", None),
            ("30/02/2024", None),
            ("31/31/2024", None),
            ("00/06/2024", None),
            ("99/99/99", None),
            ("25/13/11", None),
            ("05/06/20245", None),
            ("9999-12-31T23:59:59.999Z", Some("9999-12-31T23:59:59.999+00:00")),
            ("2024-05-06T24:00:00Z", Some("2024-05-07T00:00:00.000+00:00")),
            ("1969-12-31T23:59:59.999Z", Some("1969-12-31T23:59:59.999+00:00")),
            ("", None),
            ("now", None),
            ("2024-13-01", None),
            ("2023-02-29", None),
            ("2024-05-06T25:00", None),
            ("2024-05-06T07:08:09+2", None),
            ("23.5", None),
            // Seconds, milliseconds and microseconds since 1970, which would be days of the year 1704.
            ("1704121200", None),
            ("1704121200000", None),
            ("1704121200000000", None),
        ] {
            assert_eq!(parse(written).map(text).as_deref(), read, "{written}");
        }
    }
}
