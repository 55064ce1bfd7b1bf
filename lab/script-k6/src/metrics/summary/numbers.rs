//! How the summary writes numbers: as k6 does, which is as JavaScript does.

use prony_metrics::{Contains, Kind};

const BYTE_UNITS: [&str; 9] = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
/// Digits enough to see whether a number lies exactly between two shorter ones.
const TIE_DIGITS: usize = 40;

/// A time unit that the user asks for all times to be shown in (option `summaryTimeUnit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Milliseconds),
            "us" => Some(Self::Microseconds),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
        }
    }

    fn show(self, millis: f64) -> String {
        let (factor, sign) = match self {
            Self::Seconds => (0.001, "s"),
            Self::Milliseconds => (1.0, "ms"),
            Self::Microseconds => (1000.0, "µs"),
        };
        format!("{}{sign}", to_fixed(millis * factor, 2))
    }
}

/// A figure of a metric: `12.34ms`, `5.1 kB`, `99.50%`, `0.25`.
pub(crate) fn humanize(value: f64, kind: Kind, contains: Contains, unit: Option<TimeUnit>) -> String {
    match (kind, contains) {
        // Cut, not rounded: 99.999 per cent are not all.
        (Kind::Rate, _) => format!("{}%", to_fixed((value * 10_000.0).trunc() / 100.0, 2)),
        (_, Contains::Data) => humanize_bytes(value),
        (_, Contains::Time) => unit.map_or_else(|| humanize_millis(value), |unit| unit.show(value)),
        (_, Contains::Default) => trimmed(value, 6),
    }
}

fn humanize_bytes(bytes: f64) -> String {
    if bytes.is_nan() || bytes < 10.0 {
        return format!("{} B", js_number(bytes));
    }
    let power = (bytes.ln() / 1000_f64.ln()).floor().min((BYTE_UNITS.len() - 1) as f64);
    let value = (bytes / 1000_f64.powf(power) * 10.0 + 0.5).floor() / 10.0;
    format!("{} {}", to_fixed(value, usize::from(value < 10.0)), BYTE_UNITS[power as usize])
}

fn humanize_millis(millis: f64) -> String {
    if millis == 0.0 {
        "0s".to_owned()
    } else if millis < 0.001 {
        format!("{}ns", js_number((millis * 1e6).trunc()))
    } else if millis < 1.0 {
        format!("{}µs", cut(millis * 1000.0, 2))
    } else if millis < 1000.0 {
        format!("{}ms", cut(millis, 2))
    } else {
        humanize_long(millis)
    }
}

/// `1.5s`, `2m3s`, `1h0m7s`
fn humanize_long(millis: f64) -> String {
    let seconds = cut(millis % 60_000.0 / 1000.0, if millis > 60_000.0 { 0 } else { 2 });
    let minutes = (millis / 60_000.0).trunc();
    if minutes < 1.0 {
        return format!("{seconds}s");
    }
    let hours = (minutes / 60.0).trunc();
    let minutes = js_number(minutes % 60.0);
    if hours < 1.0 {
        format!("{minutes}m{seconds}s")
    } else {
        format!("{}h{minutes}m{seconds}s", js_number(hours))
    }
}

/// Cut after some digits; without zeros at the end.
fn cut(value: f64, digits: i32) -> String {
    let factor = 10_f64.powi(digits);
    trimmed((value * factor).trunc() / factor, digits as usize)
}

/// Rounded to some digits; without zeros at the end.
fn trimmed(value: f64, digits: usize) -> String {
    to_fixed(value, digits).parse().map_or_else(|_| js_number(value), js_number)
}

/// A number as JavaScript writes it.
pub(crate) fn js_number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e21).contains(&value.abs()) {
        format!("{value}")
    } else {
        let text = format!("{value:e}");
        if text.contains("e-") { text } else { text.replace('e', "e+") }
    }
}

/// As JavaScript's `toFixed`: rounds what lies exactly in the middle away from zero.
pub(crate) fn to_fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e21 {
        return js_number(value);
    }
    let exact = format!("{:.*}", digits + TIE_DIGITS, value.abs());
    let rest = &exact[exact.len() - TIE_DIGITS..];
    let is_tie = rest.starts_with('5') && rest[1..].bytes().all(|digit| digit == b'0');
    let above = if is_tie { value.abs().next_up() } else { value.abs() };
    let text = format!("{above:.digits$}");
    // A negative number that rounds to zero keeps its sign.
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        let fixed = |value, digits| to_fixed(value, digits);
        assert_eq!(fixed(0.125, 2), "0.13");
        assert_eq!(fixed(1.005, 2), "1.00");
        assert_eq!(fixed(2.5, 0), "3");
        assert_eq!(fixed(-2.5, 0), "-3");
        assert_eq!(fixed(-0.001, 2), "-0.00");
        assert_eq!(fixed(1e21, 2), "1e+21");
        assert_eq!(fixed(f64::INFINITY, 2), "Infinity");
        assert_eq!(js_number(1e-7), "1e-7");
        assert_eq!(js_number(0.000_001), "0.000001");
        assert_eq!(js_number(-12.5), "-12.5");
        assert_eq!(js_number(123_456_789.0), "123456789");
    }

    #[test]
    fn figures_are_shown_with_their_units() {
        let mut lines = Vec::new();
        let mut show = |values: &[f64], kind, contains, unit| {
            let texts: Vec<String> =
                values.iter().map(|&value| humanize(value, kind, contains, unit)).collect();
            lines.push(texts.join(" | "));
        };
        let times = [
            0.0,
            0.000_123,
            0.5,
            0.038_57,
            12.345_6,
            999.999,
            1_234.567_8,
            59_999.9,
            60_000.0,
            61_500.0,
            3_725_000.0,
        ];
        show(&times, Kind::Trend, Contains::Time, None);
        show(&[12.345_6, 0.0], Kind::Trend, Contains::Time, Some(TimeUnit::Seconds));
        show(&[12.345_6, 0.0], Kind::Trend, Contains::Time, Some(TimeUnit::Milliseconds));
        show(&[12.345_6, 0.0], Kind::Trend, Contains::Time, Some(TimeUnit::Microseconds));
        let bytes = [0.0, 9.5, 10.0, 717.0, 999.96, 1000.0, 2506.88, 99_950.0, 1.5e6, 2e9];
        show(&bytes, Kind::Counter, Contains::Data, None);
        show(&[1.0, 0.999_999, 0.666_666, 0.0], Kind::Rate, Contains::Default, None);
        show(&[20.123_456_789, 36.711_676_4, -4.0, 1e-9, 3.0], Kind::Gauge, Contains::Default, None);
        expect![[r#"
            0s | 123ns | 500µs | 38.57µs | 12.34ms | 999.99ms | 1.23s | 59.99s | 1m0s | 1m1s | 1h2m5s
            0.01s | 0.00s
            12.35ms | 0.00ms
            12345.60µs | 0.00µs
            0 B | 9.5 B | 10 B | 717 B | 1000 B | 1.0 kB | 2.5 kB | 100 kB | 1.5 MB | 2.0 GB
            100.00% | 99.99% | 66.66% | 0.00%
            20.123457 | 36.711676 | -4 | 0 | 3
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
    }
}
