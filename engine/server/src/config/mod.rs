//! Configuration: what the user typed, as [`Typed`], and what was resolved from it, as [`Settings`]. All faults
//! are found at once, each with its place. It reads files and variables through its arguments only, and knows kinds of
//! sources by [`SourceKind`] alone.

mod file;
mod options;
mod reference;
mod resolve;
mod settings;

use std::path::Path;

use prony_source::config::{GivenValue, SourceKind, SourceSection};

pub use prony_source::config::{
    ConfigOption, Fault, Faults, OptionSpec, Origin, SourceUrl, TypedValue, ValueKind,
};

pub use crate::subscriptions::SubscriptionSettings;

pub use self::{
    options::{ListedOption, Section, options},
    reference::reference,
    resolve::alternatives,
    settings::{CoreChoice, Functions, GivenSource, LogFormat, Settings, SourceSettings},
};

/// The kinds of sources that a program serves, in the order in which messages name them.
pub type Kinds<'a> = &'a [&'a dyn SourceKind];

/// What the user typed, in a file or on the command line, checked for form but not for sense.
#[derive(Debug, Default)]
struct Typed<'t> {
    /// Values of options; the later one of the same option wins.
    values: Vec<Given>,
    sources: Vec<TypedSource<'t>>,
    /// Also when each of them was faulty.
    names_sources: bool,
}

/// One option as it was given.
#[derive(Debug)]
struct Given {
    section: Section,
    value: GivenValue,
}

/// One source as it was given.
#[derive(Debug)]
struct TypedSource<'t> {
    url: String,
    url_origin: Origin,
    name: Option<String>,
    /// Options of this source; flags win over them.
    values: Vec<GivenValue>,
    sections: Vec<SourceSection<'t>>,
}

/// What the command line says beside the file.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// Addresses; they come instead of the file's sources.
    pub sources: Vec<String>,
    /// Options with the values of their flag, in the order given.
    pub flags: Vec<(ListedOption, Vec<String>)>,
}

/// From the file's path and text, the command line and the environment to settings, for a server that knows these kinds
/// of sources. All faults of all of them are reported at once.
pub fn load(
    kinds: Kinds<'_>,
    file: Option<(&Path, &str)>,
    line: CommandLine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Faults> {
    let (file, mut faults) = file.map_or_else(Default::default, |(path, text)| file::read(kinds, path, text));
    let line = from_line(line, &mut faults);
    let settings = resolve::resolve(kinds, file, line, variable, &mut faults);
    faults.sort();
    // A value that is no TOML is left out, and one fault for it is enough.
    faults.0.dedup_by(|next, kept| matches!(kept.origin, Origin::File { .. }) && next.origin == kept.origin);
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}

/// Settings from flags alone, for a program that serves functions of its own and no database.
pub fn from_flags(flags: Vec<(ListedOption, Vec<String>)>) -> Result<Settings, Faults> {
    let mut faults = Faults::default();
    let mut line = from_line(CommandLine { sources: Vec::new(), flags }, &mut faults);
    line.names_sources = true;
    let settings = resolve::resolve(&[], Typed::default(), line, &|_| None, &mut faults);
    faults.sort();
    if faults.0.is_empty() { Ok(settings) } else { Err(faults) }
}

fn from_line(line: CommandLine, faults: &mut Faults) -> Typed<'static> {
    let mut typed = Typed { names_sources: !line.sources.is_empty(), ..Typed::default() };
    for (ListedOption { section, option, .. }, texts) in line.flags {
        match GivenValue::from_flag(option, &texts) {
            Ok(value) => typed.values.push(Given { section, value }),
            Err(fault) => faults.0.push(fault),
        }
    }
    typed.values.retain(|given| given.value.check().map_err(|fault| faults.0.push(fault)).is_ok());
    typed.sources = line.sources.into_iter().map(TypedSource::argument).collect();
    typed
}

impl TypedSource<'_> {
    fn argument(url: String) -> Self {
        Self { url, url_origin: Origin::Argument, name: None, values: Vec::new(), sections: Vec::new() }
    }
}
