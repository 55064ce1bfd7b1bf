//! Configuration: what the user typed, as `Typed`, and what was resolved from it, as [`Settings`]. All faults
//! are found at once, each with its place. It reads files and variables through its arguments only, and knows kinds of
//! sources by `SourceKind` alone.

mod complexity;
mod environment;
mod file;
mod options;
mod places;
mod redis;
mod reference;
mod reload;
mod resolve;
mod restart;
mod route;
mod settings;
mod source;
mod traces;
mod traces_environment;
mod typed;

use std::path::Path;

use prony_access::ConfigInputs;
use prony_source::interceptors::InterceptorLoader;

use self::typed::{Typed, from_line};

pub use prony_access::{AccessSettings, KEY_RANDOM_BYTES, NewKey, check_role_name, new_key, unix_time};
pub use prony_source::config::{
    ConfigOption, Fault, Faults, Kinds, OptionSpec, Origin, SourceUrl, TypedValue, ValueKind,
    process_variable,
};

pub use crate::{joins::JoinSettings, service_manager::ServiceManager, subscriptions::SubscriptionSettings};

pub use self::{
    options::{ListedOption, Section, options},
    places::SourcePlaces,
    redis::RedisSettings,
    reference::reference,
    reload::{Reload, Reloaded, changed_at},
    resolve::alternatives,
    restart::RestartOptions,
    route::Route,
    settings::{
        AccessLogForm, AccessLogSettings, CoreChoice, Functions, GivenSource, LogFormat, OperationLimits,
        Settings,
    },
    source::SourceSettings,
    traces::TracesSettings,
    typed::CommandLine,
};

/// From the file's path and text, the command line and the environment to settings, for a server that knows these kinds
/// of sources. All faults of all of them are reported at once.
pub fn load(
    kinds: Kinds<'_>,
    file: Option<(&Path, &str)>,
    line: CommandLine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Faults> {
    load_for(Program { kinds, interceptors: None }, file, line, variable)
}

/// What a program serves with.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub kinds: Kinds<'a>,
    /// What reads interceptors; none where it has none.
    pub interceptors: Option<&'a dyn InterceptorLoader>,
}

/// As [`load`], for a program that may run interceptors. Files that the configuration names are beside it.
pub fn load_for(
    program: Program<'_>,
    file: Option<(&Path, &str)>,
    mut line: CommandLine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Faults> {
    let directory = file.map(|(path, _)| path.parent().unwrap_or(Path::new("")).to_owned());
    let read = |path: &Path| std::fs::read(directory.as_deref().unwrap_or(Path::new("")).join(path));
    let inputs = ConfigInputs { variable, file: &read };
    let kinds = program.kinds;
    let (file, mut faults) =
        file.map_or_else(Default::default, |(path, text)| file::read(program, &inputs, path, text));
    let variables = std::mem::take(&mut line.variables);
    let read = |path: &Path| std::fs::read_to_string(path);
    let (of_environment, notes) = environment::values(&options(kinds), variables, &read, &mut faults);
    let mut line = from_line(line, &mut faults);
    // The later one wins.
    line.values.splice(..0, of_environment);
    let mut settings = resolve::resolve(kinds, file, line, variable, &mut faults);
    settings.notes = notes;
    match ServiceManager::from_environment(variable, std::process::id()) {
        Ok(manager) => settings.service_manager = manager,
        Err(fault) => faults.push(Origin::Argument, fault),
    }
    faults.sort();
    // A value that is no TOML is left out, and one fault for it is enough.
    faults.0.dedup_by(|next, kept| matches!(kept.origin, Origin::File { .. }) && next.origin == kept.origin);
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}

/// Settings from flags alone, for a program that serves functions of its own and no database.
pub fn from_flags(flags: Vec<(ListedOption, Vec<String>)>) -> Result<Settings, Faults> {
    let mut faults = Faults::default();
    let mut line = from_line(CommandLine { flags, ..CommandLine::default() }, &mut faults);
    line.names_sources = true;
    let settings = resolve::resolve(&[], Typed::default(), line, &|_| None, &mut faults);
    faults.sort();
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}
