//! What a script is run with, and where it is ended.

use super::error::ScriptError;
use super::watch::Patience;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
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
    pub files: ScriptFiles,
}

/// Where the files are that a script reads.
#[derive(Debug, Clone, Default)]
pub enum ScriptFiles {
    /// Where their names say.
    #[default]
    AsNamed,
    /// The same; which are read is noted, for other machines.
    Noted(Arc<Mutex<BTreeSet<PathBuf>>>),
    /// They came from another machine: each is beneath this folder at the whole path that it has there.
    Beneath {
        root: PathBuf,
        /// From where relative names go there, as a whole path.
        working_folder: PathBuf,
    },
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

impl ScriptFiles {
    /// True where names are looked at before files are opened.
    pub(super) const fn is_asked(&self) -> bool {
        !matches!(self, Self::AsNamed)
    }

    /// Where a file is that a script opens to read it.
    pub(super) fn place(&self, name: &Path) -> PathBuf {
        match self {
            Self::AsNamed => name.to_owned(),
            Self::Noted(noted) => {
                noted.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
                name.to_owned()
            }
            // What is there already was found there, such as a module.
            Self::Beneath { root, .. } if name.starts_with(root) => name.to_owned(),
            Self::Beneath { root, working_folder } => {
                let whole = clean(&working_folder.join(name));
                root.join(whole.strip_prefix("/").unwrap_or(&whole))
            }
        }
    }

    /// Further places of modules, as `package.path` has them.
    pub(super) fn module_places(&self) -> Vec<PathBuf> {
        match self {
            Self::AsNamed | Self::Noted(_) => Vec::new(),
            Self::Beneath { .. } => vec![self.place(Path::new("?.lua")), self.place(Path::new("?/init.lua"))],
        }
    }
}

/// Without `..`, which folders that are not there could not be left by.
fn clean(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut clean, part| {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            part => clean.push(part),
        }
        clean
    })
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
