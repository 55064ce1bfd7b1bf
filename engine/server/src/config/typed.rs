//! What the user typed, before it is resolved.

use prony_access::AccessSettings;
use prony_graphql::document::weights::FieldWeights;
use prony_source::config::{Faults, GivenValue, Origin, SourceSection};

use super::options::{ListedOption, Section};
use crate::joins::JoinSettings;

/// What the user typed, in a file or on the command line, checked for form but not for sense.
#[derive(Debug, Default)]
pub(super) struct Typed<'t> {
    /// Values of options; the later one of the same option wins.
    pub(super) values: Vec<Given>,
    pub(super) sources: Vec<TypedSource<'t>>,
    /// Also when each of them was faulty, or the file is no TOML.
    pub(super) names_sources: bool,
    /// What the file says of who may ask.
    pub(super) access: Option<AccessSettings>,
    /// Fields from one source to another.
    pub(super) joins: Vec<JoinSettings>,
    /// Where the file gives roles and variables by certificates of clients.
    pub(super) client_certificates: Option<Origin>,
    /// What it says of the weights of fields.
    pub(super) weights: Option<FieldWeights>,
}

/// One option as it was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) section: Section,
    pub(super) value: GivenValue,
}

/// One source as it was given.
#[derive(Debug)]
pub(super) struct TypedSource<'t> {
    pub(super) url: String,
    pub(super) url_origin: Origin,
    pub(super) name: Option<String>,
    /// Options of this source; flags win over them.
    pub(super) values: Vec<GivenValue>,
    pub(super) sections: Vec<SourceSection<'t>>,
}

/// What the command line says beside the file.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// Addresses; they come instead of the file's sources.
    pub sources: Vec<String>,
    /// Options with the values of their flag, in the order given.
    pub flags: Vec<(ListedOption, Vec<String>)>,
    /// Variables of the environment, for options that no flag gives; those of other names are passed over.
    pub variables: Vec<(String, String)>,
}

/// Reads the flags.
pub(super) fn from_line(line: CommandLine, faults: &mut Faults) -> Typed<'static> {
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
