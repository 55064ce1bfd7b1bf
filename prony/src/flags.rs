//! The server's options as flags: one for each line of the table that the configuration file is read by.

use std::ffi::OsStr;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use prony_server::config::{self, ListedOption, ValueKind};

use crate::kinds::KINDS;

/// The flags that were given, each with its values.
#[derive(Debug, Clone, Default)]
pub(crate) struct OptionFlags(pub(crate) Vec<(ListedOption, Vec<String>)>);

/// Any text; a shell offers these words. What is none of them is told with all other faults, and so not here.
#[derive(Debug, Clone)]
struct Words(&'static [&'static str]);

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}

fn with_flags() -> impl Iterator<Item = (ListedOption, &'static str)> {
    let options = config::options(KINDS).into_iter();
    options.filter_map(|listed| listed.spec().flag.map(|flag| (listed, flag)))
}

fn argument(listed: &ListedOption, flag: &'static str) -> Arg {
    let option = listed.spec();
    let default = if option.default == "[]" { "none" } else { option.default };
    let argument = Arg::new(flag)
        .long(flag)
        .value_name(option.kind.placeholder())
        .help(format!("{} [default: {}]", listed.help, default.trim_matches(['[', ']']).replace('"', "")))
        .action(ArgAction::Append);
    match option.kind {
        // `--flag` alone means true.
        ValueKind::Boolean => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        // The text of the help names them.
        ValueKind::Word(words) => argument.value_parser(Words(words)).hide_possible_values(true),
        _ => argument,
    }
}

impl Args for OptionFlags {
    fn augment_args(command: Command) -> Command {
        with_flags().fold(command, |command, (option, flag)| command.arg(argument(&option, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |(option, flag): (ListedOption, &'static str)| {
            Some((option, matches.get_many::<String>(flag)?.cloned().collect()))
        };
        Ok(Self(with_flags().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_offers_the_words_of_an_option() {
        let (listed, flag) = with_flags().find(|(_, flag)| *flag == "journal").expect("there is one");
        let argument = argument(&listed, flag);
        let offered = argument.get_possible_values();
        let offered: Vec<&str> = offered.iter().map(PossibleValue::get_name).collect();
        assert_eq!(offered, ["wal", "keep"]);
    }
}
