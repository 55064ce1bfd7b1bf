//! Regular expressions over bytes, with errors that say where in the pattern they are.

use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;

/// A compiled pattern; a larger one is refused.
const PATTERN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The syntax is that of the `regex` crate; bytes that are no UTF-8 are matched as bytes.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no regular expression: {reason}")]
pub struct PatternError {
    pub text: String,
    pub reason: String,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let compiled = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
        compiled.map(Self).map_err(|error| {
            // The library draws the place beneath the pattern; the last line says what is wrong there.
            let drawn = error.to_string();
            let reason = drawn.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let column = drawn.lines().find_map(|line| line.find('^').map(|at| at.saturating_sub(4) + 1));
            let place =
                column.filter(|_| !text.contains('\n')).map(|column| format!(" at character {column}"));
            PatternError { text: text.to_owned(), reason: format!("{reason}{}", place.unwrap_or_default()) }
        })
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }

    /// Where the first group stands, or the whole match where the pattern has no group.
    pub fn first_group(&self, text: &[u8]) -> Option<Range<usize>> {
        if self.0.captures_len() == 1 {
            return self.0.find(text).map(|found| found.range());
        }
        self.0.captures(text)?.get(1).map(|group| group.range())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pattern_says_where() {
        for (text, reason) in [
            ("a(b", "unclosed group at character 2"),
            ("[z-a]", "invalid character class range, the start must be <= the end at character 2"),
            ("*", "repetition operator missing expression at character 1"),
            ("a{100}{100}{100}", "Compiled regex exceeds size limit of 4194304 bytes."),
        ] {
            assert_eq!(Pattern::parse(text).unwrap_err().reason, reason, "{text}");
        }
    }
}
