//! What the process was started with, as far as it says where a database is. Tests make their own.

use std::{collections::BTreeMap, env, path::PathBuf};

/// Variables of the environment, and what is found by them.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

/// The values may hold a password.
impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// That of this process; variables that are no text are left out.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: env::vars_os().filter_map(text).collect() }
    }

    /// Of these variables alone.
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { variables: variables.iter().map(owned).collect() }
    }

    /// As libpq has it, an empty variable is one that is set: it hides what comes behind it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// `~/NAME`.
    pub(crate) fn in_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.path("HOME")?.join(name))
    }

    /// Who runs the process.
    pub(crate) fn user(&self) -> Option<&str> {
        ["USER", "LOGNAME"].into_iter().find_map(|name| self.get(name).filter(|value| !value.is_empty()))
    }

    /// The directory of the system's service file.
    pub(crate) fn system_directory(&self) -> PathBuf {
        self.path("PGSYSCONFDIR").unwrap_or_else(|| PathBuf::from("/etc/postgresql-common"))
    }
}
