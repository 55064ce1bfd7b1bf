//! Errors of scripts: what was thrown, and the places in the author's source that led there.

pub(super) mod thrown;

use std::fmt;

/// Where in a script's life an error came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Init,
    Setup,
    Iteration,
    Teardown,
    Summary,
}

/// What went wrong, for whoever has to choose an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The script threw.
    Thrown,
    /// A promise of the script was rejected, and nobody handles it.
    Rejected,
    /// It wanted more memory than there is for scripts.
    Memory,
    /// The load model gave it no more time, or the run was stopped.
    Interrupted,
    /// It ended itself, and with it the run.
    Aborted,
    /// Not the script's fault: memory or stacks that the system refuses.
    System,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    pub phase: Phase,
    pub fault: Fault,
    /// As JavaScript writes it: `TypeError: x is not a function`.
    pub message: String,
    /// The innermost first; empty where something else than an error was thrown.
    pub stack: Vec<Frame>,
}

/// One call on the way to an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub function: String,
    pub place: Option<Place>,
}

/// From 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl ScriptError {
    pub fn system(phase: Phase, message: impl Into<String>) -> Self {
        Self { phase, fault: Fault::System, message: message.into(), stack: Vec::new() }
    }

    pub fn thrown(phase: Phase, message: impl Into<String>) -> Self {
        Self { phase, fault: Fault::Thrown, message: message.into(), stack: Vec::new() }
    }

    /// Where it came up.
    pub fn place(&self) -> Option<&Place> {
        self.stack.iter().find_map(|frame| frame.place.as_ref())
    }
}

impl std::error::Error for ScriptError {}

/// The message, and a line for each frame as k6 writes them: `\tat name (file:line:column)`.
impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.stack.iter().try_for_each(|frame| write!(f, "\n\tat {frame}"))
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            None => write!(f, "{} (native)", self.function),
            Some(place) if self.function.is_empty() => write!(f, "{place}"),
            Some(place) => write!(f, "{} ({place})", self.function),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Reads the `stack` of an error of QuickJS: lines such as `    at name (file:line:column)`. Lines of another shape,
/// which a script may have written itself, are passed over.
pub(super) fn frames(stack: &str) -> Vec<Frame> {
    stack.lines().filter_map(frame).collect()
}

fn frame(line: &str) -> Option<Frame> {
    let call = line.trim_start().strip_prefix("at ")?;
    let Some((function, rest)) = call.split_once(" (") else {
        return Some(Frame { function: String::new(), place: Some(place(call)?) });
    };
    let inner = rest.strip_suffix(')')?;
    let function = function.to_owned();
    match inner {
        "native" | "missing" => Some(Frame { function, place: None }),
        _ => Some(Frame { function, place: Some(place(inner)?) }),
    }
}

fn place(text: &str) -> Option<Place> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Place { file: file.to_owned(), line: line.parse().ok()?, column: column.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn stacks_are_read_and_written_as_k6_writes_them() {
        let stack = "    at f (file:///srv/a b.js:3:9)\n    at forEach (native)\n    at <anonymous> (file:///x.js:1:1)\n    at file:///y.js:7:2\n  and prose\n";
        let error = ScriptError {
            phase: Phase::Iteration,
            fault: Fault::Thrown,
            message: "Error: boom".to_owned(),
            stack: frames(stack),
        };
        expect![[r#"
            Error: boom
            	at f (file:///srv/a b.js:3:9)
            	at forEach (native)
            	at <anonymous> (file:///x.js:1:1)
            	at file:///y.js:7:2"#]]
        .assert_eq(&error.to_string());
        assert_eq!(error.place().map(|place| (place.line, place.column)), Some((3, 9)));
    }
}
