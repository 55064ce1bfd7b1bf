//! Flags of k6 that ask for what cannot be done here: they are known by name, and refused with what to do instead.

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches};

/// A flag's long name, its short one, a value that asks for nothing, and what to say.
type Refused = (&'static str, Option<char>, &'static [&'static str], &'static str);

const REFUSED: [Refused; 2] = [
    ("traces-output", None, &["none"], "requests are not traced; set the header `traceparent` in the script"),
    ("upload-only", None, &["false"], "nothing is sent to a cloud"),
];

/// Hidden from the help.
pub(super) fn refused_flags() -> impl Iterator<Item = Arg> {
    REFUSED.iter().map(|(long, short, _, _)| {
        let arg = Arg::new(*long).long(*long).hide(true).action(ArgAction::Append).value_name("VALUE");
        let arg = if takes_value(long) {
            arg
        } else {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true")
        };
        match short {
            Some(short) => arg.short(*short),
            None => arg,
        }
    })
}

/// False for switches.
fn takes_value(long: &str) -> bool {
    long != "upload-only"
}

/// Why a command line cannot be run, where it asks for something that is not there; `kind` and `mode` are what its flags `--type`
/// and `--compatibility-mode` say.
pub(super) fn refusal(matches: &ArgMatches, kind: Option<&str>, mode: Option<&str>) -> Option<String> {
    let asked = REFUSED.iter().find_map(|(long, _, nothing, why)| {
        let mut values = matches.get_many::<String>(long)?;
        let value = values.find(|value| !nothing.contains(&value.as_str()))?;
        let shown = if takes_value(long) { format!(" {value}") } else { String::new() };
        Some(format!("--{long}{shown} is not supported: {why}"))
    });
    let kind = kind.filter(|kind| *kind != "js");
    let kind = kind.map(|kind| format!("--type {kind} is not supported: scripts are run, and no archives"));
    let modes = ["extended", "base", "experimental_enhanced"];
    let mode = mode.filter(|mode| !modes.contains(mode));
    let mode = mode.map(|mode| format!("--compatibility-mode `{mode}` is none of {}", modes.join(", ")));
    asked.or(kind).or(mode)
}
