//! Whole numbers written by the patterns of Java's `DecimalFormat`.

/// One half of a pattern: what stands before and behind the digits, without its quotes.
#[derive(Debug, Default)]
struct Subpattern {
    prefix: String,
    /// Of `#`, `0`, `,` and `.`.
    digits: String,
    suffix: String,
    is_percent: bool,
}

impl Subpattern {
    /// Reads up to a semicolon, with what is behind it; none where Java reads no pattern.
    fn read(pattern: &str) -> Option<(Self, Option<&str>)> {
        let (mut read, mut is_quoted) = (Self::default(), false);
        let mut letters = pattern.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if letter == '\'' {
                // Two of them are one that is written.
                if letters.next_if(|(_, next)| *next == '\'').is_some() {
                    read.affix().push('\'');
                } else {
                    is_quoted = !is_quoted;
                }
            } else if letter == ';' && !is_quoted {
                return Some((read, Some(&pattern[at + 1..])));
            } else if matches!(letter, '#' | '0' | ',' | '.') && !is_quoted {
                if !read.suffix.is_empty() || letter == '.' && read.digits.contains('.') {
                    return None;
                }
                read.digits.push(letter);
            } else {
                read.is_percent |= letter == '%' && !is_quoted;
                read.affix().push(letter);
            }
        }
        Some((read, None))
    }

    fn affix(&mut self) -> &mut String {
        if self.digits.is_empty() { &mut self.prefix } else { &mut self.suffix }
    }

    /// The digits of a number without its sign.
    fn number(&self, value: u128) -> String {
        let (whole, fraction) = self.digits.split_once('.').unwrap_or((self.digits.as_str(), ""));
        let (width, decimals) = (whole.matches('0').count(), fraction.matches('0').count());
        let has_no_whole = value == 0 && width == 0 && decimals > 0;
        let digits = if has_no_whole { String::new() } else { format!("{value:0width$}") };
        let group = whole.rsplit_once(',').map_or(0, |(_, last)| last.len());
        let mut text = String::with_capacity(2 * digits.len() + decimals + 1);
        for (at, digit) in digits.char_indices() {
            if at > 0 && group > 0 && (digits.len() - at).is_multiple_of(group) {
                text.push(',');
            }
            text.push(digit);
        }
        if decimals > 0 || self.digits.ends_with('.') {
            text.push('.');
        }
        text + &"0".repeat(decimals)
    }
}

/// A pattern that Java cannot read, or an empty one, leaves the number as it is.
pub(crate) fn formatted(pattern: &str, value: i64) -> String {
    let Some((positive, behind)) = Subpattern::read(pattern).filter(|_| !pattern.is_empty()) else {
        return value.to_string();
    };
    let factor = if positive.is_percent { 100 } else { 1 };
    let number = positive.number(u128::from(value.unsigned_abs()) * factor);
    let Subpattern { prefix, suffix, .. } = &positive;
    if value >= 0 {
        return format!("{prefix}{number}{suffix}");
    }
    match behind.and_then(Subpattern::read) {
        Some((Subpattern { prefix, suffix, .. }, _)) => format!("{prefix}{number}{suffix}"),
        None => format!("-{prefix}{number}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_by_patterns() {
        for (pattern, value, expected) in [
            ("", 7, "7"),
            ("user-000", 7, "user-007"),
            ("000", -7, "-007"),
            ("u#v", 7, "u7v"),
            ("'a'0", -2, "-a2"),
            ("it''s '#'0", 5, "it's #5"),
            ("0;(0)", 3, "3"),
            ("0;(0)", -3, "(3)"),
            ("#,##0", 1_234_567, "1,234,567"),
            ("0.00", 2, "2.00"),
            ("#.00", 0, ".00"),
            ("#.#", 0, "0"),
            ("0.", 4, "4."),
            ("0%", 5, "500%"),
            ("%", -2, "-%200"),
            ("x", 7, "x7"),
            ("0-0", 7, "7"),
            ("0.0.0", 7, "7"),
            ("0", i64::MIN, "-9223372036854775808"),
        ] {
            assert_eq!(formatted(pattern, value), expected, "{pattern}");
        }
    }
}
