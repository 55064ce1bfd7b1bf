//! The word that lets a page stop its run.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io;

/// As many as nobody guesses.
const BYTES: usize = 16;

/// Random, in hexadecimal digits.
pub(crate) fn fresh() -> io::Result<String> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().fold(String::with_capacity(2 * BYTES), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Takes as long whichever letter differs.
pub(crate) fn is_same(given: &str, token: &str) -> bool {
    let differs = given.bytes().zip(token.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    black_box(differs) == 0 && given.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_new_each_time_and_only_it_is_the_same() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert!(one.len() == 32 && one != other);
        assert!(is_same(&one, &one));
        for wrong in [&other, &one[..31], &format!("{one}0"), ""] {
            assert!(!is_same(wrong, &one), "{wrong}");
        }
    }
}
