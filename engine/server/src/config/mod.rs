//! Configuration: what the user typed, as [`Typed`], and what was resolved from it, as [`Settings`]. All faults
//! are found at once, each with its place. It reads files and variables through its arguments only.

mod fault;
mod file;
mod options;
mod reference;
mod resolve;
mod settings;
mod tables;
mod value;

use std::{collections::BTreeMap, path::Path};

use prony_sql::settings::TableSettings;

pub use prony_graph::{GraphIndex, GraphSettings};

pub use crate::subscriptions::SubscriptionSettings;

pub use self::{
    fault::{Fault, Faults, Origin},
    options::{OPTIONS, OptionSpec, Section},
    reference::reference,
    settings::{CoreChoice, Functions, GivenSource, LogFormat, Settings, SourceSettings, SourceUrl},
    value::{Kind, TypedValue},
};

/// What the user typed, in a file or on the command line, checked for form but not for sense.
#[derive(Debug, Default)]
pub struct Typed {
    /// Values of options; the later one of the same option wins.
    pub values: Vec<Given>,
    pub sources: Vec<TypedSource>,
    /// Also when each of them was faulty.
    names_sources: bool,
}

/// One option as it was given.
#[derive(Debug, Clone)]
pub struct Given {
    pub option: &'static OptionSpec,
    pub value: TypedValue,
    pub origin: Origin,
}

/// One source as it was given.
#[derive(Debug)]
pub struct TypedSource {
    pub url: String,
    pub url_origin: Origin,
    pub name: Option<String>,
    /// Options of this source; flags win over them.
    pub values: Vec<Given>,
    pub tables: BTreeMap<String, TableSettings>,
}

/// What the command line says beside the file.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// Addresses; they come instead of the file's sources.
    pub sources: Vec<String>,
    /// Options with the values of their flag, in the order given.
    pub flags: Vec<(&'static OptionSpec, Vec<String>)>,
}

/// From the file's path and text, the command line and the environment to settings. All faults of all of them
/// are reported at once.
pub fn load(
    file: Option<(&Path, &str)>,
    line: CommandLine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Faults> {
    let (file, mut faults) = file.map_or_else(Default::default, |(path, text)| file::read(path, text));
    let line = from_line(line, &mut faults);
    let settings = resolve::resolve(file, line, variable, &mut faults);
    faults.sort();
    // A value that is no TOML is left out, and one fault for it is enough.
    faults.0.dedup_by(|next, kept| matches!(kept.origin, Origin::File { .. }) && next.origin == kept.origin);
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}

/// Settings from flags alone, for a program that serves functions of its own and no database.
pub fn from_flags(flags: Vec<(&'static OptionSpec, Vec<String>)>) -> Result<Settings, Faults> {
    let mut faults = Faults::default();
    let mut line = from_line(CommandLine { sources: Vec::new(), flags }, &mut faults);
    line.names_sources = true;
    let settings = resolve::resolve(Typed::default(), line, &|_| None, &mut faults);
    faults.sort();
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}

fn from_line(line: CommandLine, faults: &mut Faults) -> Typed {
    let mut typed = Typed { names_sources: !line.sources.is_empty(), ..Typed::default() };
    for (option, texts) in line.flags {
        let origin = Origin::Flag(option.flag.unwrap_or(option.key));
        match option.kind.read_texts(&texts) {
            Ok(value) => typed.values.push(Given { option, value, origin }),
            Err(message) => faults.push(origin, message),
        }
    }
    typed.sources = line.sources.into_iter().map(TypedSource::argument).collect();
    typed
}

impl TypedSource {
    fn argument(url: String) -> Self {
        Self { url, url_origin: Origin::Argument, name: None, values: Vec::new(), tables: BTreeMap::new() }
    }
}
