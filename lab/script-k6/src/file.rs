//! A script as it was read: as many runnable scripts can be made of it as a search needs.

use super::builtins::builtins;
use super::modules::log::Log;
use super::modules::log_settings::LogSettings;
use super::modules::secrets::Secrets;
use super::modules::secrets::sources::SecretSources;
use super::source::{Main, SourceError, Sources};
use super::vm::{Limits, Script};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A script with all it imports, and its `__ENV`.
#[derive(Debug, Clone)]
pub struct ScriptFile {
    /// For results and their files.
    pub name: String,
    sources: Arc<Sources>,
    environment: BTreeMap<String, String>,
    pub limits: Limits,
    pub secrets: SecretSources,
    pub log: LogSettings,
}

impl ScriptFile {
    pub fn load(name: &str, main: Main, environment: BTreeMap<String, String>) -> Result<Self, SourceError> {
        let known = builtins();
        let sources = Sources::load(main, known.modules.iter().map(|module| module.specifier))?;
        Ok(Self {
            name: name.to_owned(),
            sources: Arc::new(sources),
            environment,
            limits: Limits::default(),
            secrets: SecretSources::default(),
            log: LogSettings::default(),
        })
    }

    /// What the author wrote, without its imports.
    pub fn text(&self) -> String {
        self.sources.main_text()
    }

    /// All files that another machine needs to run it, once its init code has run here.
    pub fn files(&self) -> Vec<PathBuf> {
        self.sources.files()
    }

    /// Where relative paths of a script from standard input begin, and paths are shown from.
    pub fn working_folder(&self) -> &Path {
        self.sources.working_folder()
    }

    /// `__ENV` as another machine needs it: what `given` names, and of the rest whatever the script's texts mention by name.
    pub fn environment_of(&self, given: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
        let all = self.environment.iter().filter(|(name, _)| given(name) || self.sources.mentions(name));
        all.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What should be said of its imports.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.sources.short_imports()
    }

    /// One that has not run yet and shares nothing with others but the texts.
    pub(super) fn script(&self) -> Script {
        let mut script = Script::new(self.sources.entry(), Arc::<Sources>::clone(&self.sources), builtins());
        script.environment.clone_from(&self.environment);
        script.limits = self.limits;
        self.log.apply(&script.shared::<Log>());
        let secrets = script.shared::<Secrets>().0.set(self.secrets.clone());
        assert!(secrets.is_ok(), "a new script has no secrets yet");
        script
    }
}
