//! How a limit stands, and how that is said over HTTP.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

/// How a limit stands for whoever asks, for `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitState {
    /// What it is of, by whom: `Query.orders by user`.
    pub name: Arc<str>,
    /// So many in the window; at a time, where there is none.
    pub quota: u64,
    pub window_s: Option<u64>,
    pub remaining: u64,
    /// After so many seconds there is more.
    pub reset_s: u64,
    /// What was asked for at once: so many root fields of an operation are of its rule.
    pub cost: u64,
}

impl LimitState {
    /// The value of `RateLimit-Policy`.
    pub fn policy(&self) -> String {
        match self.window_s {
            Some(window_s) => format!("{};q={};w={window_s}", quoted(&self.name), self.quota),
            None => format!("{};q={};qu=\"concurrent-requests\"", quoted(&self.name), self.quota),
        }
    }

    /// What is told where it refuses: when there is more, or that there is never so much at once.
    pub fn refusal(&self) -> String {
        if self.cost > self.quota {
            let Self { cost, quota, name, .. } = self;
            return format!(
                "{cost} at once are more than the limit of {quota} for {name}: ask for fewer in one operation"
            );
        }
        format!("{self}; there is more in {} s", self.reset_s)
    }

    /// The value of `RateLimit`.
    pub fn rate_limit(&self) -> String {
        format!("{};r={};t={}", quoted(&self.name), self.remaining, self.reset_s)
    }
}

/// As a string of a structured field (RFC 9651, section 3.3.3), which has ASCII alone; other bytes are written as in an address.
fn quoted(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push('"');
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "%{byte:02X}");
            }
        }
    }
    quoted.push('"');
    quoted
}

impl fmt::Display for LimitState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the limit of {} for {} is reached", self.quota, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that is not ASCII cannot be sent: such responses had none.
    #[test]
    fn fields_are_ascii_whatever_a_limit_is_of() {
        let of = |name: &str| {
            let name = name.into();
            LimitState { name, quota: 5, window_s: Some(60), remaining: 0, reset_s: 7, cost: 1 }
        };
        for (name, expected) in [
            ("Query.orders by user", "\"Query.orders by user\""),
            ("* by claim:/größe", "\"* by claim:/gr%C3%B6%C3%9Fe\""),
            ("* by claim:/a\"b\\c\t", "\"* by claim:/a\\\"b\\\\c%09\""),
        ] {
            assert_eq!(of(name).policy(), format!("{expected};q=5;w=60"));
            assert_eq!(of(name).rate_limit(), format!("{expected};r=0;t=7"));
        }
    }

    /// Whoever waited for the time that was told was refused again, without end.
    #[test]
    fn what_is_never_let_in_is_told_no_time() {
        let of = |cost| {
            let name = "Query.orders by user".into();
            LimitState { name, quota: 5, window_s: Some(60), remaining: 0, reset_s: 7, cost }.refusal()
        };
        assert_eq!(of(5), "the limit of 5 for Query.orders by user is reached; there is more in 7 s");
        assert_eq!(
            of(6),
            "6 at once are more than the limit of 5 for Query.orders by user: ask for fewer in one operation"
        );
    }
}
