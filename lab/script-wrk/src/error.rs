//! What a script did wrong, with file and line, as one line of text.

use prony_model::program::ProgramError;
use std::fmt;
use std::io;

/// The part of a script that was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// The file outside of functions.
    Load,
    Setup,
    Init,
    Delay,
    Request,
    Response,
    Done,
}

impl Role {
    pub(super) const ALL: [Self; 7] =
        [Self::Load, Self::Setup, Self::Init, Self::Delay, Self::Request, Self::Response, Self::Done];

    /// The name of the function in scripts.
    pub const fn function(self) -> Option<&'static str> {
        match self {
            Self::Load => None,
            Self::Setup => Some("setup"),
            Self::Init => Some("init"),
            Self::Delay => Some("delay"),
            Self::Request => Some("request"),
            Self::Response => Some("response"),
            Self::Done => Some("done"),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function() {
            Some(function) => write!(f, "`{function}`"),
            None => f.write_str("its main part"),
        }
    }
}

/// A script that cannot be run, or not any further.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {path}: {cause}")]
    Read { path: String, cause: io::Error },
    /// `message` begins with file and line where Lua knows them.
    #[error("the script {script} failed in {role}: {message}")]
    Raised { script: String, role: Role, message: String },
    #[error(
        "the script {script} did not come back from {role} within {seconds} s; it loops, waits, or does work that belongs in `init`"
    )]
    Stuck { script: String, role: Role, seconds: f64 },
    #[error("cannot prepare Lua: {0}")]
    Lua(String),
}

impl ScriptError {
    /// `script` is the name that Lua's messages use.
    pub(super) fn raised(script: &str, role: Role, error: &mlua::Error) -> Self {
        Self::Raised { script: script.to_owned(), role, message: message(script, error) }
    }
}

impl From<ScriptError> for ProgramError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error.to_string())
    }
}

/// The first line of an error; where it names no place, the innermost one of the script that the traceback names.
fn message(script: &str, error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::MemoryError(_) => {
            return "not enough memory: the script keeps more than a state may hold; keep less, or make requests \
                    when they are asked for"
                .to_owned();
        }
        mlua::Error::CallbackError { traceback, cause } => format!("{}\n{traceback}", innermost(cause)),
        mlua::Error::RuntimeError(text) | mlua::Error::SyntaxError { message: text, .. } => text.clone(),
        other => other.to_string(),
    };
    let (first, traceback) = text.split_once("\nstack traceback:").unwrap_or((&text, ""));
    let first = without_own_place(first.split('\n').next().unwrap_or_default().trim());
    // A table's address says nothing to anyone.
    let first = if first.starts_with("table: ") { "an error that is a table and no text" } else { first };
    let place = format!("{script}:");
    if first.contains(&place) {
        return first.to_owned();
    }
    let frame = traceback.split('\n').find_map(|line| {
        let line = line.trim().strip_prefix(&place)?;
        line.split(':').next()
    });
    frame.map_or_else(|| first.to_owned(), |line| format!("{script}:{line}: {first}"))
}

/// Functions that fail where ours call them are said to fail in a line of ours.
fn without_own_place(text: &str) -> &str {
    let rest = text.strip_prefix("wrk:").and_then(|rest| rest.split_once(": "));
    rest.filter(|(line, _)| line.bytes().all(|byte| byte.is_ascii_digit())).map_or(text, |(_, rest)| rest)
}

fn innermost(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } | mlua::Error::BadArgument { cause, .. } => innermost(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    }
}
