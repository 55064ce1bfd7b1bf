//! Moments as outputs write them, in UTC.

use std::io::Write as _;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// How the CSV output writes moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeFormat {
    #[default]
    Unix,
    UnixMilli,
    UnixMicro,
    UnixNano,
    Rfc3339,
    Rfc3339Nano,
}

impl TimeFormat {
    /// The default first.
    pub const NAMES: [&'static str; 6] =
        ["unix", "unix_milli", "unix_micro", "unix_nano", "rfc3339", "rfc3339_nano"];

    pub fn from_name(name: &str) -> Option<Self> {
        let all =
            [Self::Unix, Self::UnixMilli, Self::UnixMicro, Self::UnixNano, Self::Rfc3339, Self::Rfc3339Nano];
        Self::NAMES.iter().position(|known| *known == name.to_lowercase()).map(|at| all[at])
    }

    pub fn write(self, unix_ns: u128, out: &mut Vec<u8>) {
        let written = match self {
            Self::Unix => write!(out, "{}", unix_ns / NANOS_PER_SECOND),
            Self::UnixMilli => write!(out, "{}", unix_ns / 1_000_000),
            Self::UnixMicro => write!(out, "{}", unix_ns / 1_000),
            Self::UnixNano => write!(out, "{unix_ns}"),
            Self::Rfc3339 => {
                write_rfc3339(unix_ns / NANOS_PER_SECOND * NANOS_PER_SECOND, out);
                Ok(())
            }
            Self::Rfc3339Nano => {
                write_rfc3339(unix_ns, out);
                Ok(())
            }
        };
        written.expect("memory can be written");
    }
}

/// `2026-11-21T08:06:33.25Z`, the fraction without zeros at its end.
pub(super) fn write_rfc3339(unix_ns: u128, out: &mut Vec<u8>) {
    let seconds = (unix_ns / NANOS_PER_SECOND) as u64;
    let (year, month, day) = date_of(seconds / SECONDS_PER_DAY);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let written = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    written.expect("memory can be written");
    let fraction = (unix_ns % NANOS_PER_SECOND) as u32;
    if fraction > 0 {
        write!(out, ".{fraction:09}").expect("memory can be written");
        out.truncate(out.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1));
    }
    out.push(b'Z');
}

/// Year, month and day of a day counted from 1970-01-01; after Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
fn date_of(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_each_format() {
        let check = |unix_ns: u128, name: &str, expected: &str| {
            let mut out = Vec::new();
            TimeFormat::from_name(name).expect("a known format").write(unix_ns, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        };
        let moment = 1_795_248_393_250_000_700;
        check(moment, "unix", "1795248393");
        check(moment, "unix_milli", "1795248393250");
        check(moment, "unix_micro", "1795248393250000");
        check(moment, "unix_nano", "1795248393250000700");
        check(moment, "RFC3339", "2026-11-21T08:06:33Z");
        check(moment, "rfc3339_nano", "2026-11-21T08:06:33.2500007Z");
        check(0, "rfc3339_nano", "1970-01-01T00:00:00Z");
        check(951_782_400_000_000_000, "rfc3339", "2000-02-29T00:00:00Z");
        check(4_107_542_399_000_000_000, "rfc3339", "2100-02-28T23:59:59Z");
        assert_eq!(TimeFormat::from_name("local"), None);
    }
}
