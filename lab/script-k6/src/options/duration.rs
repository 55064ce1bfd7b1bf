//! Durations as k6 takes and writes them: `"1m30s"`, `"2d"`, `"-5s"`, and numbers, which are milliseconds.

use prony_model::Nanos;
use std::fmt;

const SECOND_NS: f64 = 1e9;
const MILLISECOND_NS: f64 = 1e6;
const DAY_NS: i64 = 86_400_000_000_000;
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", MILLISECOND_NS),
    ("s", SECOND_NS),
    ("m", 60.0 * SECOND_NS),
    ("h", 3_600.0 * SECOND_NS),
];

/// A span of time as options say it, in nanoseconds. It may be negative, which each option refuses by its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub i64);

impl Span {
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    pub fn from_millis(millis: f64) -> Self {
        Self((millis * MILLISECOND_NS) as i64)
    }

    /// None where it is negative.
    pub fn nanos(self) -> Option<Nanos> {
        u64::try_from(self.0).ok().map(Nanos)
    }

    /// As in options and variables: a bare number is milliseconds.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse::<f64>() {
            Ok(millis) if millis.is_finite() => Some(Self::from_millis(millis)),
            _ => Self::parse_with_unit(text),
        }
    }

    /// As on the command line: `0`, or numbers with units.
    pub fn parse_with_unit(text: &str) -> Option<Self> {
        let Some((days, rest)) = text.split_once('d') else { return go_duration(text) };
        let days: i64 = days.parse().ok()?;
        let rest = if rest.is_empty() { Self(0) } else { go_duration(rest).filter(|rest| rest.0 >= 0)? };
        let rest = if days < 0 { -rest.0 } else { rest.0 };
        Some(Self(days.checked_mul(DAY_NS)?.checked_add(rest)?))
    }
}

/// <https://pkg.go.dev/time#ParseDuration>
fn go_duration(text: &str) -> Option<Span> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Span(0));
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(unit_at);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let factor = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        total += number.parse::<f64>().ok()? * factor;
        rest = next;
    }
    (total < i64::MAX as f64).then_some(Span((sign * total).round() as i64))
}

impl fmt::Display for Span {
    /// <https://pkg.go.dev/time#Duration.String>: `1h0m0s`, `1.5s`, `250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match ns {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{ns}ns"),
            1_000..1_000_000 => write!(f, "{}µs", ns as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{}ms", ns as f64 / MILLISECOND_NS),
            _ => {
                let minutes = ns / 60_000_000_000;
                let seconds = (ns % 60_000_000_000) as f64 / SECOND_NS;
                match (minutes / 60, minutes % 60) {
                    (0, 0) => write!(f, "{seconds}s"),
                    (0, minutes) => write!(f, "{minutes}m{seconds}s"),
                    (hours, minutes) => write!(f, "{hours}h{minutes}m{seconds}s"),
                }
            }
        }
    }
}

impl From<Nanos> for Span {
    fn from(nanos: Nanos) -> Self {
        Self(i64::try_from(nanos.0).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left what is read, right how it is written; checked against k6 v1.8.1's `inspect`.
    #[test]
    fn durations_in_all_forms() {
        let forms = [
            ("10s", "10s"),
            ("1m30s", "1m30s"),
            ("5000", "5s"),
            ("1.5", "1.5ms"),
            ("-5s", "-5s"),
            ("90m", "1h30m0s"),
            ("1h", "1h0m0s"),
            ("2d", "48h0m0s"),
            ("1d12h", "36h0m0s"),
            ("-1d1h", "-25h0m0s"),
            ("250us", "250µs"),
            ("1.5s", "1.5s"),
            ("0", "0s"),
            ("100ns", "100ns"),
        ];
        for (text, shown) in forms {
            assert_eq!(Span::parse(text).map(|span| span.to_string()).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "abc", "10 s", "5x", "s", "1.2.3s", "NaN", "inf", "1d-2h", "d", "9999999h"] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
        assert_eq!(Span::parse_with_unit("10"), None);
        assert_eq!(Span::parse_with_unit("10s"), Some(Span::from_secs(10)));
    }
}
