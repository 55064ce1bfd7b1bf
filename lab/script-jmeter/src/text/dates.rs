//! Functions of dates, written and read by the patterns of Java's `SimpleDateFormat` and `DateTimeFormatter`.

use super::expression::FunctionCall;
use crate::run::context::Context;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use rand::RngExt as _;
use std::fmt::Write as _;

/// JMeter's own names for patterns.
fn pattern_of(name: &str) -> &str {
    match name {
        "YMD" => "yyyyMMdd",
        "HMS" => "HHmmss",
        "YMDHMS" => "yyyyMMdd-HHmmss",
        other => other,
    }
}

pub(super) fn time(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let now_ms = context.shared.clock.now_ms();
    let value = match call.given(0, context) {
        None => now_ms.to_string(),
        // `/1000`: seconds, as plans write it.
        Some(format) if format.starts_with('/') => {
            format[1..].parse::<i64>().map_or_else(|_| String::new(), |by| (now_ms / by.max(1)).to_string())
        }
        Some(format) => write(&zoned(now_ms), pattern_of(&format)),
    };
    call.keep(1, &value, context);
    value
}

/// Format, date, shift (ISO 8601), locale, variable.
pub(super) fn time_shift(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let format = call.given(0, context);
    let now = zoned(context.shared.clock.now_ms());
    let date = match (call.given(1, context), &format) {
        (None, _) => now,
        // As in JMeter, what cannot be read is told, and now is moved.
        (Some(text), Some(format)) => read(&text, format).unwrap_or_else(|| {
            fault(context, "__timeShift", &text, format);
            now
        }),
        (Some(text), None) => text.trim().parse::<i64>().map_or_else(
            |_| {
                fault(context, "__timeShift", &text, "milliseconds");
                now
            },
            zoned,
        ),
    };
    let shift = call.argument(2, context);
    // As in JMeter, a shift that cannot be read is told and moves nothing.
    let date = shifted(&date, shift.trim()).unwrap_or_else(|| {
        fault(context, "__timeShift", &shift, "a duration such as P1D or -PT2H");
        date
    });
    let value = match format {
        Some(format) => write(&date, &format),
        None => date.timestamp().as_millisecond().to_string(),
    };
    call.keep(4, &value, context);
    value
}

/// Format, first day, last day (which is left out), locale, variable.
pub(super) fn random_date(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let format = call.given(0, context).unwrap_or_else(|| "yyyy-MM-dd".to_owned());
    let (from, to) = (call.given(1, context), call.argument(2, context));
    let now = zoned(context.shared.clock.now_ms());
    let from = match from {
        None => now.date(),
        Some(text) => match read(&text, &format) {
            Some(date) => date.date(),
            None => return fault(context, "__RandomDate", &text, &format),
        },
    };
    let Some(to) = read(&to, &format).map(|date| date.date()) else {
        return fault(context, "__RandomDate", &to, &format);
    };
    let days = from.until(to).map_or(0, |span| span.get_days());
    let day = if days > 0 { context.thread.random.random_range(0..days) } else { 0 };
    let date = from.saturating_add(SignedDuration::from_hours(24 * i64::from(day)));
    let value =
        date.to_zoned(TimeZone::system()).map_or_else(|_| String::new(), |date| write(&date, &format));
    call.keep(4, &value, context);
    value
}

/// Date, its format, the format wanted, variable.
pub(super) fn convert(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let (text, from, to) = (call.argument(0, context), call.argument(1, context), call.argument(2, context));
    let date = match text.trim().parse() {
        Ok(milliseconds) if from.is_empty() => Some(zoned(milliseconds)),
        _ => read(&text, &from),
    };
    let Some(date) = date else { return fault(context, "__dateTimeConvert", &text, &from) };
    let value = write(&date, &to);
    call.keep(3, &value, context);
    value
}

fn fault(context: &Context<'_>, function: &str, text: &str, expected: &str) -> String {
    context.shared.log(&format!("{function}: `{text}` is not written as {expected}"));
    String::new()
}

fn zoned(milliseconds: i64) -> Zoned {
    let at = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::system())
}

/// Moved by a duration as `java.time.Duration.parse` reads it; an empty one moves nothing.
fn shifted(date: &Zoned, shift: &str) -> Option<Zoned> {
    if shift.is_empty() {
        return Some(date.clone());
    }
    date.checked_add(duration(shift)?).ok()
}

/// Days of 24 hours, hours, minutes and seconds, in this order and each with a sign of its own: `P1D`, `-PT2H`, `P10DT-1H-5.5S`.
fn duration(text: &str) -> Option<SignedDuration> {
    let upper = text.to_ascii_uppercase();
    let (is_negative, rest) = signed(&upper);
    let (days, times) = match rest.strip_prefix('P')?.split_once('T') {
        // A `T` has something behind it.
        Some((_, "")) => return None,
        Some((days, times)) => (days, times),
        None => (rest.strip_prefix('P')?, ""),
    };
    if days.is_empty() && times.is_empty() {
        return None;
    }
    let (mut total, rest) = part(days, 'D', 86_400)?;
    if !rest.is_empty() {
        return None;
    }
    let mut rest = times;
    for (unit, seconds) in [('H', 3_600), ('M', 60), ('S', 1)] {
        let (of_unit, behind) = part(rest, unit, seconds)?;
        total = total.checked_add(of_unit)?;
        rest = behind;
    }
    if !rest.is_empty() {
        return None;
    }
    if is_negative { total.checked_neg() } else { Some(total) }
}

/// One number with its unit from the front, and what is behind it; zero where the text has none of this unit. Seconds may have a fraction.
fn part(text: &str, unit: char, seconds: i64) -> Option<(SignedDuration, &str)> {
    let Some((number, behind)) = text.split_once(unit) else { return Some((SignedDuration::ZERO, text)) };
    let (is_negative, digits) = signed(number);
    let (whole, fraction) = match digits.split_once(['.', ',']) {
        Some((whole, fraction)) if unit == 'S' && fraction.len() <= 9 => (whole, fraction),
        Some(_) => return None,
        None => (digits, ""),
    };
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nanoseconds = if fraction.is_empty() { 0 } else { format!("{fraction:0<9}").parse().ok()? };
    let value = SignedDuration::new(whole.parse::<i64>().ok()?.checked_mul(seconds)?, nanoseconds);
    Some((if is_negative { value.checked_neg()? } else { value }, behind))
}

/// True for a minus sign, and what is behind the sign.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The letters of a pattern in runs of the same one, and texts.
fn pieces(pattern: &str) -> Vec<(char, usize, String)> {
    let mut list: Vec<(char, usize, String)> = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\'' {
            let mut text = String::new();
            while let Some(next) = letters.next() {
                if next != '\'' {
                    text.push(next);
                } else if letters.next_if_eq(&'\'').is_some() {
                    text.push('\'');
                } else {
                    break;
                }
            }
            // Two quotes beside each other are one.
            list.push(('\'', 0, if text.is_empty() { "'".to_owned() } else { text }));
        } else if letter.is_ascii_alphabetic() {
            match list.last_mut() {
                Some((known, count, _)) if *known == letter => *count += 1,
                _ => list.push((letter, 1, String::new())),
            }
        } else {
            list.push(('\'', 0, letter.to_string()));
        }
    }
    list
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn write(date: &Zoned, pattern: &str) -> String {
    let mut out = String::new();
    for (letter, count, text) in pieces(pattern) {
        let mut number = |value: i64| {
            let _ = write!(out, "{value:0count$}");
        };
        match letter {
            'y' | 'u' | 'Y' => {
                let year = if letter == 'Y' { week_of(date).1 } else { i64::from(date.year()) };
                number(if letter != 'u' && count == 2 { year.rem_euclid(100) } else { year });
            }
            'w' => number(week_of(date).0),
            'W' => number((i64::from(date.day()) + 12 - weekday(date)) / 7),
            'Q' | 'q' if count <= 2 => number(i64::from(date.month() - 1) / 3 + 1),
            'e' if count <= 2 => number(weekday(date) + 1),
            'M' | 'L' if count <= 2 => number(i64::from(date.month())),
            'M' | 'L' => out.push_str(name(MONTHS[usize::from(date.month().cast_unsigned()) - 1], count)),
            'd' => number(i64::from(date.day())),
            'D' => number(i64::from(date.day_of_year())),
            'H' => number(i64::from(date.hour())),
            'k' => number(i64::from((date.hour() + 23) % 24 + 1)),
            'K' => number(i64::from(date.hour() % 12)),
            'h' => number(i64::from((date.hour() + 11) % 12 + 1)),
            'm' => number(i64::from(date.minute())),
            's' => number(i64::from(date.second())),
            'S' => number(i64::from(date.subsec_nanosecond() / 1_000_000)),
            'a' => out.push_str(if date.hour() < 12 { "AM" } else { "PM" }),
            'E' => {
                let day = date.weekday().to_monday_zero_offset().cast_unsigned();
                out.push_str(name(DAYS[usize::from(day)], count));
            }
            'Z' => offset(date, false, 2, &mut out),
            'X' | 'x' => offset(date, letter == 'X', count, &mut out),
            'z' => out.push_str(&date.strftime("%Z").to_string()),
            _ => out.push_str(&text),
        }
    }
    out
}

/// From 0, which is Sunday.
fn weekday(date: &Zoned) -> i64 {
    date.weekday().to_sunday_zero_offset().into()
}

/// The week of a date and the year that this is counted in: weeks begin on Sunday, and the first one has the first of January.
fn week_of(date: &Zoned) -> (i64, i64) {
    let (year, day) = (i64::from(date.year()), i64::from(date.day_of_year()));
    // The Saturday of the week lies in the next year.
    if day + 6 - weekday(date) > i64::from(date.days_in_year()) {
        return (1, year + 1);
    }
    ((day + 12 - weekday(date)) / 7, year)
}

fn name(whole: &'static str, count: usize) -> &'static str {
    if count <= 3 { &whole[..3] } else { whole }
}

/// `+0100`; with three letters `+01:00`, with one `+01`.
fn offset(date: &Zoned, has_z: bool, count: usize, out: &mut String) {
    let seconds = date.offset().seconds();
    if has_z && seconds == 0 {
        return out.push('Z');
    }
    let (hours, minutes) = (seconds.abs() / 3_600, seconds.abs() / 60 % 60);
    let sign = if seconds < 0 { '-' } else { '+' };
    let _ = match count {
        1 => write!(out, "{sign}{hours:02}"),
        2 => write!(out, "{sign}{hours:02}{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}:{minutes:02}"),
    };
}

/// Reads a date by its pattern; what the pattern does not say is the beginning of 1970, as in Java.
fn read(text: &str, pattern: &str) -> Option<Zoned> {
    let mut rest = text.trim();
    let (mut year, mut month, mut day) = (1970_i16, 1_i8, 1_i8);
    let (mut hour, mut minute, mut second, mut millisecond) = (0_i8, 0_i8, 0_i8, 0_i32);
    let (mut is_afternoon, mut zone) = (false, None);
    for (letter, count, literal) in pieces(pattern) {
        match letter {
            '\'' => rest = rest.strip_prefix(literal.as_str())?,
            'y' | 'u' => year = number(&mut rest, if count == 2 { 2 } else { count.max(4) })?,
            'M' | 'L' if count > 2 => {
                let at = MONTHS.iter().position(|known| {
                    rest.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(&known[..3]))
                })?;
                let whole = MONTHS[at];
                let is_whole = rest.get(..whole.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(whole));
                rest = &rest[if is_whole { whole.len() } else { 3 }..];
                month = i8::try_from(at + 1).ok()?;
            }
            'M' | 'L' => month = number(&mut rest, 2)?,
            'd' => day = number(&mut rest, 2)?,
            'H' | 'k' | 'K' | 'h' => hour = number::<i8>(&mut rest, 2)? % if letter == 'h' { 12 } else { 24 },
            'm' => minute = number(&mut rest, 2)?,
            's' => second = number(&mut rest, 2)?,
            'S' => millisecond = number(&mut rest, count.max(3))?,
            'a' => {
                is_afternoon = rest.get(..2)?.eq_ignore_ascii_case("pm");
                rest = &rest[2..];
            }
            'E' => rest = rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()),
            'Z' | 'X' | 'x' => zone = Some(read_offset(&mut rest)?),
            _ => return None,
        }
    }
    if pattern.contains("yy") && !pattern.contains("yyy") && year < 100 {
        year += 2000;
    }
    let hour = if is_afternoon { hour + 12 } else { hour };
    let time = Time::new(hour, minute, second, millisecond * 1_000_000).ok()?;
    let at = DateTime::from_parts(Date::new(year, month, day).ok()?, time);
    at.to_zoned(zone.unwrap_or_else(TimeZone::system))
        .ok()
        .map(|date| date.with_time_zone(TimeZone::system()))
}

fn number<T: std::str::FromStr>(rest: &mut &str, digits_max: usize) -> Option<T> {
    let end = rest.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits.parse().ok()
}

fn read_offset(rest: &mut &str) -> Option<TimeZone> {
    if let Some(after) = rest.strip_prefix('Z') {
        *rest = after;
        return Some(TimeZone::UTC);
    }
    let sign = if rest.starts_with('-') { -1 } else { 1 };
    *rest = rest.strip_prefix(['+', '-'])?;
    let hours: i32 = number(rest, 2)?;
    *rest = rest.strip_prefix(':').unwrap_or(rest);
    let minutes: i32 = number(rest, 2).unwrap_or(0);
    let offset = jiff::tz::Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()?;
    Some(TimeZone::fixed(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Zoned {
        text.parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC)
    }

    #[test]
    fn dates_are_written_by_javas_patterns() {
        let date = at("2026-03-05T14:07:09.042Z");
        for (pattern, expected) in [
            ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2026-03-05T14:07:09.042Z"),
            ("dd/MM/yy h:m a", "05/03/26 2:7 PM"),
            ("EEE, d MMM yyyy HH:mm:ss Z", "Thu, 5 Mar 2026 14:07:09 +0000"),
            ("EEEE MMMM ''yy", "Thursday March '26"),
            ("D k K", "64 14 2"),
            ("Y w W Q e", "2026 10 1 1 5"),
        ] {
            assert_eq!(write(&date, pattern), expected, "{pattern}");
        }
        let weeks =
            [("2026-12-26", "2026-W52 26"), ("2026-12-28", "2027-W01 27"), ("2027-01-03", "2027-W02 27")];
        for (day, expected) in weeks {
            assert_eq!(write(&at(&format!("{day}T00:00:00Z")), "YYYY-'W'ww YY"), expected);
        }
    }

    #[test]
    fn dates_are_read_and_shifted() {
        let read_utc = |text, pattern| read(text, pattern).unwrap().timestamp().to_string();
        assert_eq!(read_utc("2026-03-05T14:07:09+0200", "yyyy-MM-dd'T'HH:mm:ssZ"), "2026-03-05T12:07:09Z");
        assert_eq!(read_utc("5 Mar 26 02:07 PM Z", "d MMM yy hh:mm a X"), "2026-03-05T14:07:00Z");
        assert!(read("nothing", "yyyy").is_none());
        let shift = |by| shifted(&at("2026-01-31T00:00:00Z"), by).map(|date| date.timestamp().to_string());
        assert_eq!(shift("P1D").as_deref(), Some("2026-02-01T00:00:00Z"));
        assert_eq!(shift("-PT90M").as_deref(), Some("2026-01-30T22:30:00Z"));
        assert_eq!(shift("tomorrow"), None);
    }
}
