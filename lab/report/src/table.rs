//! Cells of tables: counts, rates, bytes and times as terminal, pages and files show them.

use prony_model::Nanos;

/// With a space between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    prony_model::units::grouped(number)
}

/// A rate without its unit, which stands in the head of its column or the name of its row.
pub(crate) fn decimal(rate: f64) -> String {
    prony_model::units::decimal(rate)
}

/// In the largest unit that is not below one; units of 1000, as networks count.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let amount = count as f64;
    let unit = UNITS.iter().find(|(_, size)| amount >= *size);
    unit.map_or(format!("{count} B"), |(name, size)| format!("{:.1} {name}", amount / size))
}

/// `-` where there is none.
pub(crate) fn time(time: Option<Nanos>) -> String {
    time.map_or("-".to_owned(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_bytes_scaled() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
        assert_eq!([0, 999, 1_000, 2_500_000].map(bytes), ["0 B", "999 B", "1.0 kB", "2.5 MB"]);
    }
}
