//! What was found while options were read: faults, which forbid the run, and warnings; all of them, not the first alone.

use std::fmt;

/// Written names that are less alike (Jaro and Winkler) than this are no slips of it.
const SIMILARITY_MIN: f64 = 0.8;

/// Collects while options are read and checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    pub faults: Vec<String>,
    pub warnings: Vec<String>,
}

impl Notes {
    pub fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }
}

/// Everything that is wrong with a script's options; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct OptionsError {
    pub faults: Vec<String>,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [fault] = &self.faults[..] {
            return write!(f, "the options cannot be run: {fault}");
        }
        write!(f, "the options cannot be run, for {} reasons:", self.faults.len())?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  - {fault}"))
    }
}

/// ``; did you mean `NAME`?``, or nothing where no name is near.
pub(super) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> String {
    let lower = written.to_lowercase();
    let scored = known.map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name));
    let best = scored.filter(|(score, _)| *score >= SIMILARITY_MIN).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"))
}
