//! What a script is run with, and where it is ended.

use super::error::ScriptError;
use super::watch::Patience;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lua cuts the names of longer sources short in its messages.
const NAME_LENGTH_MAX: usize = 50;

/// What a script is run with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For messages, and for files that the script requires beside itself.
    pub path: PathBuf,
    pub source: Vec<u8>,
    pub url: WrkUrl,
    /// Of the command line.
    pub headers: Vec<(String, String)>,
    pub method: String,
    pub body: Option<Vec<u8>>,
    /// For `init`, without the URL.
    pub arguments: Vec<String>,
    pub threads: u32,
    /// Of `wrk.connect`.
    pub connect_timeout: Duration,
    pub limits: Limits,
}

/// The parts of the URL as scripts see them in `wrk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrkUrl {
    /// As typed; `init` gets it as argument 0.
    pub text: String,
    pub scheme: String,
    /// Without brackets.
    pub host: String,
    /// Where the URL names one.
    pub port: Option<String>,
    /// With the query.
    pub path: String,
}

/// Beyond these a script is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one call of `delay`, `request` or `response`: all users of a thread wait for it.
    pub running: Duration,
    /// For one call of `setup`, `init` or `done`, and for loading.
    pub preparing: Duration,
    /// Of one state.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let (running, preparing) = (Duration::from_secs(10), Duration::from_secs(60));
        Self { running, preparing, memory_bytes: 1 << 30 }
    }
}

impl Limits {
    pub(super) fn patience(self) -> Patience {
        Patience { running: self.running, preparing: self.preparing }
    }
}

impl Settings {
    pub fn read_source(path: &Path) -> Result<Vec<u8>, ScriptError> {
        std::fs::read(path).map_err(|cause| ScriptError::Read { path: path.display().to_string(), cause })
    }

    /// The path, or the file's name alone where the path is long.
    pub(super) fn script_name(&self) -> String {
        let path = self.path.display().to_string();
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        if path.len() > NAME_LENGTH_MAX { name.unwrap_or(path) } else { path }
    }
}
