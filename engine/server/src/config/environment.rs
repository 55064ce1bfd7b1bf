//! Options from variables of the environment: `PRONY_`, the section and the option in capitals, as in `PRONY_SERVER_LISTEN`. With `_FILE` behind
//! it the variable names a file that has the value, as platforms for containers hand secrets over.

use std::path::Path;

use prony_source::config::{FILE_SUFFIX, Faults, GivenValue, Origin, suggestion};

use super::{
    options::{ListedOption, Section},
    typed::Given,
};

const PREFIX: &str = "PRONY_";

/// What the option is called in the environment.
fn variable_of(option: &ListedOption) -> String {
    format!("{PREFIX}{}_{}", option.section.key(), option.spec().key).to_ascii_uppercase()
}

/// The values that variables give to options, in the order of the variables. One that begins as an option of a section does and is
/// none is a fault, for it may be misspelt; so is a file that cannot be read. Empty ones are as good as not set. With them comes what is to be
/// said of variables that are passed over.
pub(super) fn values(
    options: &[ListedOption],
    variables: Vec<(String, String)>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
    faults: &mut Faults,
) -> (Vec<Given>, Vec<String>) {
    let named = |name: &str| options.iter().find(|option| variable_of(option) == name);
    let (mut given, mut notes, mut links) = (Vec::new(), Vec::new(), Vec::new());
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
                if is_service_link(&name, &text) {
                    links.extend(is_of_a_section(&name).then_some(name));
                } else if is_of_a_section(&name) {
                    let known: Vec<String> = options.iter().map(variable_of).collect();
                    let near = suggestion(&name, known.iter().map(String::as_str));
                    faults.push(origin, format!("there is no such option{near}"));
                } else {
                    notes.extend(passed_over(options, &name));
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
    notes.extend(of_links(&links));
    (given, notes)
}

/// Whether Kubernetes has set it for a Service of the pod's namespace
/// (<https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables>).
fn is_service_link(name: &str, text: &str) -> bool {
    const PROTOCOLS: [&str; 3] = ["tcp", "udp", "sctp"];
    let is_protocol = |word: &str| PROTOCOLS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    // As in `PRONY_SERVER_PORT_8080_TCP`, and with `_ADDR`, `_PORT` and `_PROTO` behind it.
    let is_of_a_port = |rest: &str| {
        let mut words = rest.split('_');
        words.next().is_some_and(is_number) && words.next().is_some_and(is_protocol)
    };
    let is_address = || text.split_once("://").is_some_and(|(scheme, _)| is_protocol(scheme));
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || (name.ends_with("_PORT") && is_address())
        || name.split("_PORT_").skip(1).any(is_of_a_port)
}

/// One note for all that look like options.
fn of_links(names: &[String]) -> Option<String> {
    let first = names.first()?;
    let all = match names.len() - 1 {
        0 => format!("{first} is"),
        others => format!("{first} and {others} more variables are"),
    };
    Some(format!(
        "{all} passed over: Kubernetes sets them for a Service of that name; with `enableServiceLinks: false` in the pod's spec it does not"
    ))
}

/// Tables of the file that have no variables, with those of their keys that somebody may try to set by one.
const OF_THE_FILE_ALONE: [(&str, &[&str]); 2] = [
    ("auth", &["anonymous", "hosts", "trusted_proxies", "max_token_bytes", "token_cache_bytes", "keys_file"]),
    ("interceptors", &["timeout_ms", "memory_bytes", "threads", "queue"]),
];

/// What is said of a variable without a section that seems to be meant for an option. All others may be anybody's, such as a password that
/// an address names.
fn passed_over(options: &[ListedOption], name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?.to_ascii_lowercase();
    let (section, key) = rest.split_once('_').unwrap_or_default();
    if OF_THE_FILE_ALONE.iter().any(|(table, keys)| *table == section && keys.contains(&key)) {
        return Some(format!(
            "{name} is passed over: `{key}` of [{section}] has no variable and is written into the file of --config"
        ));
    }
    let option = |key: &str| options.iter().find(|option| option.spec().key == key);
    let meant = option(&rest).or_else(|| option(key))?;
    Some(format!("{name} is passed over: there is no such option; did you mean `{}`?", variable_of(meant)))
}

/// Other variables of ours are for other things: for builds, for tests.
fn is_of_a_section(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    let section = rest.split_once('_').map_or("", |(section, _)| section).to_ascii_lowercase();
    Section::OF_SERVER.into_iter().chain([Section::Source]).any(|known| known.key() == section)
}
