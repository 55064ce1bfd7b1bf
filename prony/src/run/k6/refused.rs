//! Flags of k6 that ask for what cannot be done here: they are known by name, and refused with what to do instead.

use crate::run::summary_afterwards;
use clap::builder::ArgAction;
use clap::{Arg, ArgMatches};

/// Switches, and what to say of each.
const REFUSED: [(&str, &str); 2] = [
    ("upload-only", "nothing is sent to a cloud"),
    ("profiling-enabled", "the REST API has no profiles; `perf record` takes one of the lab"),
];

/// Of other runs, with the format and the file that are asked for.
const SUMMARY: &str = "summary";

/// Hidden from the help.
pub(super) fn refused_flags() -> impl Iterator<Item = Arg> {
    let hidden = |long: &'static str| Arg::new(long).long(long).hide(true).action(ArgAction::Append);
    let switches = REFUSED.iter().map(move |(long, _)| {
        let arg = hidden(long).value_name("BOOL");
        arg.num_args(0..=1).require_equals(true).default_missing_value("true")
    });
    switches.chain([hidden(SUMMARY).value_name("FORMAT=FILE")])
}

/// Why a command line cannot be run, where it asks for something that is not there; `kind` and `mode` are what its flags `--type`
/// and `--compatibility-mode` say.
pub(super) fn refusal(matches: &ArgMatches, kind: Option<&str>, mode: Option<&str>) -> Option<String> {
    let asked = REFUSED.iter().find_map(|(long, why)| {
        let is_on = matches.get_many::<String>(long)?.any(|value| value != "false");
        is_on.then(|| format!("--{long} is not supported: {why}"))
    });
    let summary = matches.get_many::<String>(SUMMARY).and_then(|mut formats| formats.next());
    let summary = summary.map(|format| summary_afterwards(format));
    let kind = kind.filter(|kind| *kind != "js");
    let kind = kind.map(|kind| format!("--type {kind} is not supported: scripts are run, and no archives"));
    let modes = ["extended", "base", "experimental_enhanced"];
    let mode = mode.filter(|mode| !modes.contains(mode));
    let mode = mode.map(|mode| format!("--compatibility-mode `{mode}` is none of {}", modes.join(", ")));
    asked.or(summary).or(kind).or(mode)
}
