//! Why a script has no result.

use crate::limits::SCRIPT_BYTES_MAX;

/// Why a script has no result. What it wrote before stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptFault {
    /// Nothing of it has run.
    #[error("the script cannot be read: {}{message}", at(*line))]
    Syntax { line: Option<u32>, message: String },
    #[error("the script has failed: {}{message}", at(*line))]
    Failed { line: Option<u32>, message: String },
    /// The graph has refused, or not made, a call of it.
    #[error("the script has failed: {}{message}", at(*line))]
    Call { status: u16, line: Option<u32>, message: String },
    #[error("the script was ended: {}{message}", at(*line))]
    Limit { line: Option<u32>, message: String },
    /// Nobody waits for its result any more.
    #[error("the script was ended: nobody waits for it any more")]
    Cancelled,
}

impl ScriptFault {
    /// Of a script with more bytes than [`SCRIPT_BYTES_MAX`].
    pub fn too_long() -> Self {
        let message = format!(
            "it is longer than {SCRIPT_BYTES_MAX} bytes; send data to the graph's bulk calls, or several scripts"
        );
        Self::Limit { line: None, message }
    }

    /// The status of the response (RFC 9110, section 15).
    pub fn status(&self) -> u16 {
        match self {
            // What the graph says of a request that is at fault is said of the script.
            Self::Call { status, .. } if *status == 403 || *status >= 500 => *status,
            _ => 400,
        }
    }
}

/// What a function of ours, or Lua, has raised.
pub(crate) fn innermost(error: &mlua::Error) -> &mlua::Error {
    let mut error = error;
    while let mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } = error {
        error = cause;
    }
    error
}

/// What is told of an error: without the traceback, and with the place where Lua has put it before the text.
pub(crate) fn told(error: &mlua::Error) -> String {
    let text = innermost(error).to_string();
    let text = text.strip_prefix("runtime error: ").unwrap_or(&text);
    text.split("\nstack traceback:").next().unwrap_or(text).to_owned()
}

fn at(line: Option<u32>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}
