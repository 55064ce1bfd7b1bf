//! What a script is run with: its text, `__ENV`, and options from `config.json`, variables and flags.

use super::Stopped;
use super::flags::K6Arguments;
use anyhow::{Context as _, anyhow};
use prony_experiments::k6::ScriptSubject;
use prony_script_k6::{
    Check, Exit, GivenOptions, Main, MeasureSettings, Notes, ScriptFile, Session, Tier, builtins,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The name of standard input, and that of results of a script from there.
const STANDARD_INPUT: &str = "-";
const STANDARD_INPUT_NAME: &str = "stdin";

pub(super) fn session(arguments: &K6Arguments, settings: &MeasureSettings) -> Result<Session, Stopped> {
    let given = given_options(arguments)?;
    let file = file(arguments)?;
    Session::open(&file, given, settings).map_err(|error| Stopped::new(error.exit(), error))
}

/// A script as what `find` and `compare` run again and again.
pub(crate) fn subject(script: &str, environment: &[String]) -> anyhow::Result<ScriptSubject> {
    let arguments = K6Arguments::plain(script, environment);
    let given = given_options(&arguments)?;
    let file = file(&arguments).map_err(|stopped| stopped.error)?;
    Ok(ScriptSubject::open(file, given)?)
}

/// What the script needs, without running it.
pub(super) fn check(arguments: &K6Arguments) -> Result<Check, Stopped> {
    let (_, main) = main_file(arguments)?;
    Ok(Check::of(main, &builtins()))
}

fn file(arguments: &K6Arguments) -> Result<ScriptFile, Stopped> {
    let (name, main) = main_file(arguments)?;
    let environment = environment(arguments)?;
    ScriptFile::load(&name, main, environment).map_err(|error| Stopped::new(Exit::Exception, error))
}

/// The script's name and its text.
fn main_file(arguments: &K6Arguments) -> Result<(String, Main), Stopped> {
    let folder = std::env::current_dir().context("cannot find the working folder")?;
    let path = Path::new(&arguments.script);
    if arguments.script == STANDARD_INPUT {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read the script from standard input")?;
        Ok((STANDARD_INPUT_NAME.to_owned(), Main::standard_input(text, &folder)))
    } else {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let main = Main::read(path, &folder).map_err(|error| Stopped::new(Exit::Exception, error))?;
        Ok((name, main))
    }
}

/// The system's variables, where they are asked for, and those of flags.
fn environment(arguments: &K6Arguments) -> anyhow::Result<BTreeMap<String, String>> {
    let from_variable = || variable("K6_INCLUDE_SYSTEM_ENV_VARS").map(|text| text == "true" || text == "1");
    let with_system = arguments.include_system_env_vars.or_else(from_variable).unwrap_or(true);
    let mut all: BTreeMap<String, String> = if with_system { variables() } else { BTreeMap::new() };
    for given in &arguments.environment {
        let (name, value) = given.split_once('=').unwrap_or((given, ""));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
            return Err(anyhow!(
                "--env {given}: `{name}` is no name of a variable; use letters, digits and `_`"
            ));
        }
        all.insert(name.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// Those that are text.
fn variables() -> BTreeMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn given_options(arguments: &K6Arguments) -> anyhow::Result<GivenOptions> {
    let mut notes = Notes::default();
    let configuration = configuration(arguments.config.as_deref(), &mut notes)?;
    let all = variables();
    let variables =
        Tier::of_variables(all.iter().map(|(name, text)| (name.as_str(), text.as_str())), &mut notes);
    let flags = Tier::of_flags(arguments.options.iter().cloned(), &mut notes);
    Ok(GivenOptions { configuration, variables, flags, notes })
}

/// The file that was named, or k6's own where there is one.
fn configuration(named: Option<&Path>, notes: &mut Notes) -> anyhow::Result<Tier> {
    let named = named.map(Path::to_owned).or_else(|| variable("K6_CONFIG").map(PathBuf::from));
    let path = match named {
        Some(path) => path,
        None => match default_configuration() {
            Some(path) if path.is_file() => path,
            _ => return Ok(Tier::default()),
        },
    };
    let shown = path.display().to_string();
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let json = serde_json::from_str(&text).with_context(|| format!("{shown} is no JSON"))?;
    Ok(Tier::of_configuration(&shown, &json, notes))
}

fn default_configuration() -> Option<PathBuf> {
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(folder.join("k6/config.json"))
}
