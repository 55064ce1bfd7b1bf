//! Numbers and times as wrk's command line writes them: `1k` connections, `30s`, `2m`; a time without a unit is in
//! seconds.

use prony_model::Nanos;

/// `10`, `1k`, `2M`, `1.5k`: whole once multiplied.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    let fault = || format!("`{text}` is not a number; write for example `100`, `10k` or `1M`");
    let (number, factor) = scaled(text).ok_or_else(fault)?;
    let value = number * factor;
    if value.fract() != 0.0 || !(1.0..=f64::from(u32::MAX)).contains(&value) {
        return Err(format!("`{text}` is not a whole number from 1 to {}", u32::MAX));
    }
    Ok(value as u32)
}

/// Requests a second, as [`count`], with decimals.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let fault = || format!("`{text}` is not a rate; write requests a second, for example `500` or `2k`");
    let (number, factor) = scaled(text.strip_suffix("/s").unwrap_or(text)).ok_or_else(fault)?;
    if number > 0.0 { Ok(number * factor) } else { Err(fault()) }
}

/// `30`, `30s`, `2m`, `1h`, `500ms`, `1m30s`; as in wrk units may be in capitals.
pub(crate) fn time(text: &str) -> Result<Nanos, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let time = if is_bare { Nanos::parse(&format!("{text}s")) } else { Nanos::parse(text) };
    match time.or_else(|fault| Nanos::parse(&text.to_ascii_lowercase()).map_err(|_| fault)) {
        Ok(Nanos::ZERO) => Err(format!("`{text}` is no time at all; write for example `30s`")),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

/// Bytes: `1048576`, `64MB`, `512MiB`, `1.5GiB`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let fault = || format!("`{text}` is not a size; write for example `512MiB` or `4GB`");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| fault())?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(fault()),
    };
    let bytes = (number * factor) as usize;
    if bytes == 0 { Err(format!("`{text}` is no memory at all")) } else { Ok(bytes) }
}

/// A number and what its suffix multiplies it by.
fn scaled(text: &str) -> Option<(f64, f64)> {
    let (number, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        (at, 'g' | 'G') => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then(|| number.parse().ok()).flatten().map(|number| (number, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_units_of_both_kinds() {
        let good =
            [("7", 7), ("64kb", 64_000), ("1.5KiB", 1_536), ("512MiB", 512 << 20), ("4G", 4_000_000_000)];
        for (text, number) in good {
            assert_eq!(bytes(text), Ok(number), "{text}");
        }
        for text in ["", "MiB", "-1", "0", "5 MB", "1e9", "inf", "1.5.5k", "3T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_take_suffixes() {
        let good = [("10", 10), ("1k", 1_000), ("1.5K", 1_500), ("2M", 2_000_000), ("4G", 4_000_000_000)];
        for (text, number) in good {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in ["", "k", "-1", "0", "1.5", "10x", "1e3", "5G", "inf"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_may_have_decimals() {
        assert_eq!((rate("2k"), rate("0.5"), rate("500/s")), (Ok(2_000.0), Ok(0.5), Ok(500.0)));
        for text in ["", "0", "-5", "fast", "NaN"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_without_a_unit_are_seconds() {
        assert_eq!((time("30"), time("2m")), (Ok(Nanos::from_secs(30)), Ok(Nanos::from_secs(120))));
        assert_eq!((time("500ms"), time("1H")), (Ok(Nanos::from_millis(500)), Ok(Nanos::from_secs(3_600))));
        for text in ["", "0", "0s", "1x", "-1s", "s"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
