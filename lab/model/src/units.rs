//! Nanoseconds as a type of their own, and how durations are read and written (`500ms`, `1m30s`).

use serde::{Deserialize, Serialize};
use std::fmt;

const UNITS: [(&str, u64); 6] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];
const HOUR_NS: u64 = 3_600_000_000_000;

/// A span of time, or a moment counted from the start of the run, in nanoseconds.
/// Arithmetic saturates: a schedule never wraps around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1e9).round() as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The time from `earlier` to this moment; zero where that is negative.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Reads `250us`, `1.5s`, `1m30s`, `2h`. A bare number is refused: its unit would be a guess.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let fault = || DurationError { text: text.to_owned() };
        let mut rest = text.trim();
        let mut total = 0_u64;
        if rest.is_empty() {
            return Err(fault());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(fault)?;
            let number: f64 = rest[..digits].parse().map_err(|_| fault())?;
            let unit_end = rest[digits..]
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .map_or(rest.len(), |at| at + digits);
            let factor = unit_ns(rest[digits..unit_end].trim()).ok_or_else(fault)?;
            total = total.saturating_add((number * factor as f64).round() as u64);
            rest = &rest[unit_end..];
        }
        Ok(Self(total))
    }
}

fn unit_ns(unit: &str) -> Option<u64> {
    if unit == "h" {
        return Some(HOUR_NS);
    }
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// A duration that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`")]
pub struct DurationError {
    pub text: String,
}

impl fmt::Display for Nanos {
    /// Three significant digits in the largest unit that is not below one: `1.23 ms`, `45.0 s`, `2m05s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match ns {
            0 => f.write_str("0 s"),
            1..1_000 => write!(f, "{ns} ns"),
            1_000..999_500 => scaled(f, ns as f64 / 1e3, "µs"),
            999_500..999_500_000 => scaled(f, ns as f64 / 1e6, "ms"),
            999_500_000..60_000_000_000 => scaled(f, ns as f64 / 1e9, "s"),
            60_000_000_000..HOUR_NS => write!(f, "{}m{:02}s", ns / UNITS[5].1, ns / UNITS[4].1 % 60),
            _ => write!(f, "{}h{:02}m", ns / HOUR_NS, ns / UNITS[5].1 % 60),
        }
    }
}

fn scaled(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    write!(f, "{value:.decimals$} {unit}")
}

/// A rate without its unit: `1 234.5`.
pub fn decimal(number: f64) -> String {
    let tenths = (number.max(0.0) * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// A rate: `1 234.5/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", decimal(rate))
}

/// A share from 0 to 1 in per cent: `1.25 %`.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A number with what it counts, in the singular or the plural.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number with its digits in groups of three: `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, ns) in [
            ("250us", 250_000),
            ("500ms", 500_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 2 * HOUR_NS),
            ("0s", 0),
        ] {
            assert_eq!(Nanos::parse(text), Ok(Nanos(ns)), "{text}");
        }
        for text in ["", "30", "s", "1x", "-3s", "1.2.3s", "5 parsecs"] {
            assert!(Nanos::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_shares_have_one_form() {
        assert_eq!(
            [0.0, 9.46, 999.96, 1_234_567.89].map(per_second),
            ["0.0/s", "9.5/s", "1 000.0/s", "1 234 567.9/s"]
        );
        assert_eq!([0.0, 0.0125, 1.0].map(percent), ["0.00 %", "1.25 %", "100.00 %"]);
    }

    #[test]
    fn durations_print_with_three_digits() {
        for (ns, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (1_234, "1.23 µs"),
            (999_499, "999 µs"),
            (999_900, "1.00 ms"),
            (45_600_000, "45.6 ms"),
            (1_000_000_000, "1.00 s"),
            (125_000_000_000, "2m05s"),
            (2 * HOUR_NS, "2h00m"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }
}
