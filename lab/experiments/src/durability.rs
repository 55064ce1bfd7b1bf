//! When an engine acknowledges a write: a setting of every experiment on one that writes.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

/// When the engine acknowledges a write, as its option `--durability` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    Sync,
    IntervalMs(u32),
    Off,
}

/// Not a durability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no durability; write `sync`, `interval=100` (milliseconds) or `off`")]
pub struct DurabilityError(String);

impl FromStr for Durability {
    type Err = DurabilityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let interval = text.strip_prefix("interval=").and_then(|ms| ms.parse().ok());
        match (text, interval) {
            ("sync", _) => Ok(Self::Sync),
            ("off", _) => Ok(Self::Off),
            (_, Some(ms)) if ms > 0 => Ok(Self::IntervalMs(ms)),
            _ => Err(DurabilityError(text.to_owned())),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync => f.write_str("sync"),
            Self::IntervalMs(ms) => write!(f, "interval={ms}"),
            Self::Off => f.write_str("off"),
        }
    }
}

impl Serialize for Durability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities_print_what_they_read() {
        for text in ["sync", "interval=100", "off"] {
            assert_eq!(text.parse::<Durability>().unwrap().to_string(), text);
        }
        for text in ["", "on", "interval", "interval=", "interval=0", "interval=1s"] {
            assert!(text.parse::<Durability>().is_err(), "{text}");
        }
    }
}
