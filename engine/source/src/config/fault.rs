//! Faults of the configuration, each with the place where it was typed.

use std::{fmt, path::Path, sync::Arc};

/// Where something was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Line and column count from 1; a column counts characters.
    File { path: Arc<Path>, line: usize, column: usize },
    /// The flag's name without dashes.
    Flag(&'static str),
    /// A variable of the environment, by its name.
    Variable(Arc<str>),
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
            Self::Variable(name) => formatter.write_str(name),
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
    pub fn push(&mut self, origin: Origin, message: impl Into<String>) {
        self.0.push(Fault { origin, message: message.into() });
    }

    /// Brings the faults of one file into its order.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|fault| match fault.origin {
            Origin::File { line, column, .. } => (line, column),
            Origin::Flag(_) | Origin::Variable(_) | Origin::Argument => (0, 0),
        });
    }
}

/// `; did you mean …?` where a known name is close to the unknown one.
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const CLOSE: f64 = 0.75;
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), name))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}
