//! Texts that mark one sending of one request, to be found again in the events that come of it.
//!
//! `PREFIX RUN - PUBLISHER - SEQUENCE`: the run's mark keeps events of earlier runs and of other labs apart, the publisher is
//! the number of the user that sent it, and the sequence counts that user's sendings from 0. All of it is ASCII that JSON
//! does not escape, unless the prefix says otherwise.

use memchr::memmem::Finder;
use std::io::Write as _;

/// Digits of a run's mark.
const RUN_DIGITS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The same for all of a run.
    pub run: u32,
    pub publisher: u32,
    pub sequence: u32,
}

impl Token {
    pub fn write(self, prefix: &str, out: &mut Vec<u8>) {
        let Self { run, publisher, sequence } = self;
        write!(out, "{prefix}{run:0RUN_DIGITS$x}-{publisher}-{sequence}")
            .expect("writing into memory does not fail");
    }
}

/// Finds the tokens of one run and prefix.
#[derive(Debug, Clone)]
pub struct TokenFinder {
    start: Finder<'static>,
    run: u32,
}

impl TokenFinder {
    pub fn new(prefix: &str, run: u32) -> Self {
        let start = format!("{prefix}{run:0RUN_DIGITS$x}-");
        Self { start: Finder::new(start.as_bytes()).into_owned(), run }
    }

    /// The first token in this text.
    pub fn find(&self, text: &[u8]) -> Option<Token> {
        let mut rest = text;
        loop {
            let at = self.start.find(rest)? + self.start.needle().len();
            rest = &rest[at..];
            let Some((publisher, length)) = number(rest) else { continue };
            if rest.get(length) != Some(&b'-') {
                continue;
            }
            if let Some((sequence, _)) = number(&rest[length + 1..]) {
                return Some(Token { run: self.run, publisher, sequence });
            }
        }
    }
}

/// The number at the beginning of a text and the count of its digits.
fn number(text: &[u8]) -> Option<(u32, usize)> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = std::str::from_utf8(&text[..length]).ok()?;
    Some((digits.parse().ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_tokens_of_this_run_are_found() {
        let finder = TokenFinder::new("d-", 0xab);
        let found = |text: &str| finder.find(text.as_bytes()).map(|token| (token.publisher, token.sequence));
        assert_eq!(found(r#"{"name":"d-000000ab-17-3","x":"d-000000ab-1-1"}"#), Some((17, 3)));
        assert_eq!(found("d-000000ac-17-3"), None, "of another run");
        assert_eq!(found("d-000000ab-17"), None);
        for before in ["d-000000ab-1x", "d-000000ab-", "d-000000ab-99999999999-1", "d-000000ab-7-"] {
            assert_eq!(
                found(&format!("{before} d-000000ab-2-5")),
                Some((2, 5)),
                "after {before}, which is none"
            );
        }
        assert_eq!(found("d-000000ab-99999999999-1"), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_found(run: u32, publisher: u32, sequence: u32, before in ".{0,9}") {
            let token = Token { run, publisher, sequence };
            let mut text = before.into_bytes();
            token.write("t", &mut text);
            text.extend_from_slice(b"\"}");
            prop_assert_eq!(TokenFinder::new("t", run).find(&text), Some(token));
        }
    }
}
