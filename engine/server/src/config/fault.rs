//! Faults of the configuration, each with the place where it was typed.

use std::{fmt, ops::Range, path::Path, sync::Arc};

/// Where something was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Line and column count from 1; a column counts characters.
    File { path: Arc<Path>, line: usize, column: usize },
    /// The flag's name without dashes.
    Flag(&'static str),
    /// An argument without a flag.
    Argument,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub origin: Origin,
    pub message: String,
}

/// Everything that is wrong, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(formatter, "{}:{line}:{column}", path.display()),
            Self::Flag(name) => write!(formatter, "--{name}"),
            Self::Argument => formatter.write_str("source"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.origin, self.message)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => write!(formatter, "{only}"),
            all => {
                write!(formatter, "the configuration has {} faults", all.len())?;
                all.iter().try_for_each(|fault| write!(formatter, "\n  {fault}"))
            }
        }
    }
}

impl Faults {
    pub(super) fn push(&mut self, origin: Origin, message: impl Into<String>) {
        self.0.push(Fault { origin, message: message.into() });
    }

    /// Brings the faults of one file into its order.
    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|fault| match fault.origin {
            Origin::File { line, column, .. } => (line, column),
            Origin::Flag(_) | Origin::Argument => (0, 0),
        });
    }
}

/// A file's text, to turn byte offsets into places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) path: &'a Arc<Path>,
    pub(super) text: &'a str,
}

impl Text<'_> {
    pub(super) fn place(&self, span: &Range<usize>) -> Origin {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Origin::File {
            path: Arc::clone(self.path),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// `; did you mean …?` where a known name is close to the unknown one.
pub(super) fn suggestion<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    const CLOSE: f64 = 0.75;
    known
        .map(|name| (strsim::jaro_winkler(unknown, name), name))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}
