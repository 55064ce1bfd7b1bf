//! Regular expressions that clients send: matched in linear time, and bounded in what they are compiled to.

use regex::{Regex, RegexBuilder};

/// Of an expression, and of what it is compiled to.
const PATTERN_BYTES_MAX: usize = 1000;
const PATTERN_COMPILED_BYTES_MAX: usize = 1 << 20;

/// Where an expression has to match, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matching {
    /// From the beginning on, in any case of letters.
    Beginning,
    /// Anywhere, as it is written.
    Anywhere,
}

/// Compiles what a client has sent under a name.
///
/// # Errors
/// What is wrong with it, and what to do.
pub(crate) fn compile(name: &str, text: &str, matching: Matching) -> Result<Regex, String> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "{name} has {} bytes, and the limit is {PATTERN_BYTES_MAX}; ask with a shorter one",
            text.len()
        ));
    }
    let whole = match matching {
        Matching::Beginning => format!("^(?:{text})"),
        Matching::Anywhere => text.to_owned(),
    };
    let built = RegexBuilder::new(&whole)
        .case_insensitive(matching == Matching::Beginning)
        .size_limit(PATTERN_COMPILED_BYTES_MAX)
        .build();
    built.map_err(|error| {
        let why = match error {
            regex::Error::CompiledTooBig(limit) => {
                format!("it takes more than {limit} bytes; repeat less in it")
            }
            _ => "it is no regular expression, or has look-around or back references".to_owned(),
        };
        format!("{name} `{text}`: {why}")
    })
}
