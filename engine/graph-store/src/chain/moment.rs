//! How times of frames are written.

use jiff::Timestamp;
use std::fmt;

/// Milliseconds since 1970, written as RFC 3339 has it, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub u64);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = i64::try_from(self.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        match time {
            Some(time) => write!(f, "{time:.3}"),
            None => write!(f, "{} ms after 1970", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_a_text() {
        assert_eq!(Moment(1_795_521_600_001).to_string(), "2026-11-24T12:00:00.001Z");
        assert_eq!(Moment(u64::MAX).to_string(), "18446744073709551615 ms after 1970");
    }
}
