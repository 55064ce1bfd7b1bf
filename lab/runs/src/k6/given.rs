//! What a k6 script is run with: its text, `__ENV`, and options from `config.json`, variables and flags.

use prony_script_k6::{
    Exit, GivenOptions, LogSettings, LogSettingsError, Main, Notes, OPTIONS, ScriptFile, SecretSourceError,
    SecretSources, SourceError, Tier,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The name of standard input, and that of results of a script from there.
pub(crate) const STANDARD_INPUT: &str = "-";
const STANDARD_INPUT_NAME: &str = "stdin";
/// Endings of files that are scripts.
const EXTENSIONS: [&str; 5] = ["js", "mjs", "cjs", "ts", "mts"];

/// True for what is a script by its name, or standard input.
pub fn is_named(text: &str) -> bool {
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    let is_file = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    text == STANDARD_INPUT
        || is_file && !text.contains("://") && !text.contains('=') && !text.starts_with('-')
}

/// A script as a command line gives it.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// A file, or `-` for standard input.
    pub script: String,
    /// `NAME=VALUE` of `__ENV`.
    pub environment: Vec<String>,
    /// Whether `__ENV` has the system's variables; k6's variable decides where it is not given, and else it has them.
    pub include_system_env_vars: Option<bool>,
    /// A file of options in JSON; k6's own where it is not given.
    pub configuration: Option<PathBuf>,
    /// Bytes of memory that scripts may take, where not the default: of all users together, and of each.
    pub memory_limit_bytes: Option<usize>,
    pub user_memory_limit_bytes: Option<usize>,
    /// Where `k6/secrets` finds values, as `--secret-source` names it; k6's variable counts where there is none.
    pub secret_sources: Vec<String>,
    pub log: LogFlags,
    /// Flags of options, by the options' names.
    pub options: Vec<(&'static str, Vec<String>)>,
}

/// As k6's flags have them.
#[derive(Debug, Clone, Default)]
pub struct LogFlags {
    pub is_verbose: bool,
    pub output: Option<String>,
    pub format: Option<String>,
    pub console_output: Option<PathBuf>,
}

impl LogFlags {
    /// k6's variables count where a flag is not given.
    fn settings(&self) -> Result<LogSettings, LogSettingsError> {
        let output = self.output.clone().or_else(|| variable("K6_LOG_OUTPUT"));
        let format = self.format.clone().or_else(|| variable("K6_LOG_FORMAT"));
        let console = self.console_output.clone();
        let console = console.or_else(|| variable("K6_CONSOLE_OUTPUT").map(PathBuf::from));
        LogSettings::parse(self.is_verbose, output.as_deref(), format.as_deref(), console.as_deref())
    }
}

/// Why a script cannot be run with what it was given.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    #[error("cannot find the working folder: {0}")]
    Folder(io::Error),
    #[error("cannot read the script from standard input: {0}")]
    StandardInput(io::Error),
    #[error("--env {given}: `{name}` is no name of a variable; use letters, digits and `_`")]
    Variable { given: String, name: String },
    #[error("cannot read {path}: {cause}")]
    Unreadable { path: String, cause: io::Error },
    #[error("{path} is no JSON: {cause}")]
    NoJson { path: String, cause: serde_json::Error },
    #[error(transparent)]
    Log(#[from] LogSettingsError),
    #[error(transparent)]
    Secrets(#[from] SecretSourceError),
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl GivenError {
    /// The code that k6 has for it.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Source(_) => Exit::Exception,
            _ => Exit::Configuration,
        }
    }
}

impl Given {
    pub fn file(&self) -> Result<ScriptFile, GivenError> {
        let (name, main) = self.main()?;
        let mut file = ScriptFile::load(&name, main, self.all_variables()?)?;
        let limits = &mut file.limits;
        limits.memory_bytes = self.memory_limit_bytes.unwrap_or(limits.memory_bytes);
        limits.user_memory_bytes = self.user_memory_limit_bytes.unwrap_or(limits.user_memory_bytes);
        file.log = self.log.settings()?;
        file.secrets = SecretSources::parse(&self.all_secret_sources())?;
        Ok(file)
    }

    /// The script's name and its text.
    pub fn main(&self) -> Result<(String, Main), GivenError> {
        let folder = env::current_dir().map_err(GivenError::Folder)?;
        if self.script == STANDARD_INPUT {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(GivenError::StandardInput)?;
            return Ok((STANDARD_INPUT_NAME.to_owned(), Main::standard_input(text, &folder)));
        }
        let path = Path::new(&self.script);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, Main::read(path, &folder)?))
    }

    /// Those of flags, or else the one that k6's variable says.
    fn all_secret_sources(&self) -> Vec<String> {
        if !self.secret_sources.is_empty() {
            return self.secret_sources.clone();
        }
        variable("K6_SECRET_SOURCE").into_iter().collect()
    }

    /// `__ENV`: the system's variables, where they are asked for, and those of flags.
    fn all_variables(&self) -> Result<BTreeMap<String, String>, GivenError> {
        let from_variable = || is_true_variable("K6_INCLUDE_SYSTEM_ENV_VARS");
        let with_system = self.include_system_env_vars.or_else(from_variable).unwrap_or(true);
        let mut all = if with_system { variables() } else { BTreeMap::new() };
        for given in &self.environment {
            let (name, value) = given.split_once('=').unwrap_or((given, ""));
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_word)
            {
                return Err(GivenError::Variable { given: given.clone(), name: name.to_owned() });
            }
            all.insert(name.to_owned(), value.to_owned());
        }
        Ok(all)
    }

    pub fn options(&self) -> Result<GivenOptions, GivenError> {
        let mut notes = Notes::default();
        let configuration = self.configuration(&mut notes)?;
        let all = variables();
        let variables =
            Tier::of_variables(all.iter().map(|(name, text)| (name.as_str(), text.as_str())), &mut notes);
        let flags = Tier::of_flags(self.options.iter().cloned(), &mut notes);
        Ok(GivenOptions { configuration, variables, flags, notes })
    }

    /// The script's file; one from standard input has none.
    pub(super) fn script_path(&self) -> Option<PathBuf> {
        (self.script != STANDARD_INPUT).then(|| PathBuf::from(&self.script))
    }

    fn configuration(&self, notes: &mut Notes) -> Result<Tier, GivenError> {
        let file = self.configuration_file()?;
        Ok(file.map(|(shown, json)| Tier::of_configuration(&shown, &json, notes)).unwrap_or_default())
    }

    /// The file that was named, or k6's own where there is one, with its contents.
    pub(super) fn configuration_file(&self) -> Result<Option<(String, Value)>, GivenError> {
        let named = self.configuration.clone().or_else(|| variable("K6_CONFIG").map(PathBuf::from));
        let Some(path) = named.or_else(|| default_configuration().filter(|path| path.is_file())) else {
            return Ok(None);
        };
        let shown = path.display().to_string();
        let unreadable = |cause| GivenError::Unreadable { path: shown.clone(), cause };
        let text = fs::read_to_string(&path).map_err(unreadable)?;
        let no_json = |cause| GivenError::NoJson { path: shown.clone(), cause };
        let json = serde_json::from_str(&text).map_err(no_json)?;
        Ok(Some((shown, json)))
    }
}

/// Variables of the system that set options.
pub(super) fn option_variables() -> BTreeMap<String, String> {
    let is_option = |name: &String| OPTIONS.iter().any(|row| row.variable == Some(name.as_str()));
    variables().into_iter().filter(|(name, _)| is_option(name)).collect()
}

/// Those that are text.
fn variables() -> BTreeMap<String, String> {
    let texts = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.collect()
}

/// What a variable of the environment says: an empty one nothing, as in k6.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

/// Whether a variable of k6's has one of the words that k6 takes for true (`strconv.ParseBool` of Go); nothing where it is not set.
pub fn is_true_variable(name: &str) -> Option<bool> {
    variable(name).map(|text| ["1", "t", "T", "true", "TRUE", "True"].contains(&text.as_str()))
}

fn default_configuration() -> Option<PathBuf> {
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(folder.join("k6/config.json"))
}
