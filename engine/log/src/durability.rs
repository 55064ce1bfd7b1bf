//! When a write counts as done, and how that is written in settings.

use std::time::Duration;

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once its log record is on the disk; writes that wait at the same time share one sync.
    Sync,
    /// Once the system has its log record, which reaches the disk within this time: a killed process loses nothing, a
    /// machine that loses power the last of it.
    Interval(Duration),
    /// At once; the log follows when it can.
    Off,
}

/// Reads `sync`, `interval=MS` or `off`.
///
/// # Errors
/// What to write instead.
pub fn durability(text: &str) -> Result<Durability, String> {
    const INTERVAL_MS_MAX: u64 = 3_600_000;
    let wrong = || {
        format!(
            "`{text}` is unknown; write sync, off, or interval=MS with 1 to {INTERVAL_MS_MAX} milliseconds"
        )
    };
    match text {
        "sync" => Ok(Durability::Sync),
        "off" => Ok(Durability::Off),
        _ => {
            let interval = text.strip_prefix("interval=").and_then(|number| number.parse().ok());
            let interval = interval.filter(|number| (1..=INTERVAL_MS_MAX).contains(number));
            interval.map(|number| Durability::Interval(Duration::from_millis(number))).ok_or_else(wrong)
        }
    }
}

/// As [`durability`] reads it.
pub fn durability_text(durability: Durability) -> String {
    match durability {
        Durability::Sync => "sync".to_owned(),
        Durability::Interval(interval) => format!("interval={}", interval.as_millis()),
        Durability::Off => "off".to_owned(),
    }
}
