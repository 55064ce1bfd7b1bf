//! Adds up what `cargo test` and other runners say at their ends.

use std::{fmt, ops::AddAssign};

/// Tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Reads one line of output: libtest's `test result: …`, node's `# pass 3`, or `3 passed, 0 failed`.
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("test result: ") {
            let (_, numbers) = rest.split_once(". ")?;
            return Some(Self::from_pairs(numbers.split("; ")));
        }
        if let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
            let (word, number) = rest.split_once(' ')?;
            let count = number.parse().ok()?;
            return match word {
                "pass" => Some(Self { passed: count, ..Self::default() }),
                "fail" => Some(Self { failed: count, ..Self::default() }),
                "skipped" | "todo" => Some(Self { skipped: count, ..Self::default() }),
                _ => None,
            };
        }
        let plain = line.split(", ").all(|pair| {
            pair.split_once(' ').is_some_and(|(number, word)| {
                number.parse::<u64>().is_ok() && ["passed", "failed", "skipped"].contains(&word)
            })
        });
        plain.then(|| Self::from_pairs(line.split(", ")))
    }

    fn from_pairs<'a>(pairs: impl Iterator<Item = &'a str>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            let Some((number, word)) = pair.split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            match word {
                "passed" => counts.passed = number,
                "failed" => counts.failed = number,
                "ignored" | "skipped" => counts.skipped = number,
                _ => {}
            }
        }
        counts
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(u64, u64, u64)>) {
        let expected = expected.map(|(passed, failed, skipped)| Counts { passed, failed, skipped });
        assert_eq!(Counts::from_line(line), expected, "{line}");
    }

    #[test]
    fn closing_lines_are_read() {
        check(
            "test result: ok. 19 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 1.69s",
            Some((19, 0, 1)),
        );
        check("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured", Some((2, 1, 0)));
        check("# pass 12", Some((12, 0, 0)));
        check("ℹ fail 2", Some((0, 2, 0)));
        check("8 passed, 1 failed", Some((8, 1, 0)));
    }

    #[test]
    fn other_lines_are_not() {
        for line in
            ["test tests::x ... ok", "running 19 tests", "# tests 12", "", "3 passed, all well", "# heading"]
        {
            check(line, None);
        }
    }

    #[test]
    fn the_sum_is_written_as_continuous_integration_reads_it() {
        let mut sum = Counts::default();
        sum += Counts { passed: 3, failed: 0, skipped: 0 };
        sum += Counts { passed: 4, failed: 1, skipped: 0 };
        assert_eq!(sum.to_string(), "7 passed, 1 failed");
        sum.skipped = 2;
        assert_eq!(sum.to_string(), "7 passed, 1 failed, 2 skipped");
    }
}
