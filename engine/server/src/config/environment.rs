//! Options from variables of the environment: `PRONY_`, the section and the option in capitals, as in `PRONY_SERVER_LISTEN`. With `_FILE` behind
//! it the variable names a file that has the value, as platforms for containers hand secrets over.

use std::path::Path;

use prony_source::config::{Faults, GivenValue, Origin, suggestion};

use super::{
    options::{ListedOption, Section},
    typed::Given,
};

const PREFIX: &str = "PRONY_";
/// Behind a variable's name: it names a file that has the value.
pub const FILE_SUFFIX: &str = "_FILE";

/// What the option is called in the environment.
fn variable_of(option: &ListedOption) -> String {
    format!("{PREFIX}{}_{}", option.section.key(), option.spec().key).to_ascii_uppercase()
}

/// The values that variables give to options, in the order of the variables. One that begins as an option of a section does and is
/// none is a fault, for it may be misspelt; so is a file that cannot be read. Empty ones are as good as not set.
pub(super) fn values(
    options: &[ListedOption],
    variables: Vec<(String, String)>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
    faults: &mut Faults,
) -> Vec<Given> {
    let named = |name: &str| options.iter().find(|option| variable_of(option) == name);
    let mut given = Vec::new();
    for (name, text) in variables.into_iter().filter(|(_, text)| !text.is_empty()) {
        let in_file = || named(name.strip_suffix(FILE_SUFFIX)?);
        let origin = Origin::Variable(name.as_str().into());
        let (option, text) = match (named(&name), in_file()) {
            (Some(option), _) => (option, text),
            (None, Some(option)) => match read(Path::new(&text)) {
                Ok(content) => (option, content.trim_end_matches(['\r', '\n']).to_owned()),
                Err(error) => {
                    faults.push(origin, format!("cannot read {text}: {error}"));
                    continue;
                }
            },
            (None, None) => {
                if is_of_a_section(&name) {
                    let known: Vec<String> = options.iter().map(variable_of).collect();
                    let near = suggestion(&name, known.iter().map(String::as_str));
                    faults.push(origin, format!("there is no such option{near}"));
                }
                continue;
            }
        };
        match GivenValue::read(option.option, origin, &[text]).and_then(|value| value.check().map(|()| value))
        {
            Ok(value) => given.push(Given { section: option.section, value }),
            Err(fault) => faults.0.push(fault),
        }
    }
    given
}

/// Other variables of ours are for other things: for builds, for tests.
fn is_of_a_section(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    let section = rest.split_once('_').map_or("", |(section, _)| section).to_ascii_lowercase();
    Section::OF_SERVER.into_iter().chain([Section::Source]).any(|known| known.key() == section)
}
