//! The reference of the command line, `docs/command-line.md`: made of what reads the arguments, as manual pages and completions are, and
//! held by a test. What each exit code means is written here, beside the commands' names.

use std::{fmt::Write as _, fs, path::Path};

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::run::{jmeter::JmeterArguments, k6::K6Arguments};

/// Commands whose exit code is not only 0, or 2 where they could not do it.
const EXITS: &[(&str, &str)] = &[
    (
        "prony health",
        "0 where the status is 2xx, 1 where it is another or no response came, 2 where the address is none",
    ),
    ("prony graph check", "0 where nothing is damaged, 1 where something is, 2 where it could not be read"),
    (
        "prony series check",
        "0 where nothing is damaged, 1 where something is, 2 where they could not be read",
    ),
    (
        "prony permissions test",
        "0 where all came out as the file says, 1 where one has not, 2 where none could be made",
    ),
    ("prony run", VERDICT),
    ("prony run SCRIPT.js", "those of k6, which [its page](k6.md#exit-codes) lists"),
    ("prony run PLAN.jmx", VERDICT),
    (
        "prony worker",
        "0 where it has served and is told to stop, 2 where it could not; with `--take-up` the verdict's",
    ),
    ("prony find", VERDICT),
    ("prony sweep", VERDICT),
    ("prony compare", VERDICT),
    (
        "prony selftest",
        "0 where the lab can be believed on this machine, 1 where not, 2 where it could not be tried",
    ),
    ("prony lab relational", VERDICT),
    ("prony lab graph", VERDICT),
    ("prony lab gateway", VERDICT),
    ("prony lab series", VERDICT),
    ("prony lab resolvers", VERDICT),
];
const VERDICT: &str = "0 passed, 1 failed, 3 void, 2 nothing was measured ([verdicts](verdicts.md))";
/// Where a flag of a table of options says what holds without it.
const DEFAULT: &str = " [default: ";

/// A section for each command that help shows, in its order.
fn reference() -> String {
    let mut program = crate::CommandLine::command();
    program.build();
    let mut text = String::new();
    for command in listed(&program) {
        write_command(&mut text, &format!("prony {}", command.get_name()), command);
        if command.get_name() == "run" {
            // Their flags are read by themselves.
            let of_files =
                [("SCRIPT.js", K6Arguments::whole_command()), ("PLAN.jmx", JmeterArguments::command())];
            for (file, mut command) in of_files {
                command.build();
                write_command(&mut text, &format!("prony run {file}"), &command);
            }
        }
    }
    text.push('\n');
    text
}

fn listed(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn write_command(text: &mut String, name: &str, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    // Writing to a string cannot fail.
    let end = if about.ends_with(['.', '?', ')']) { "" } else { "." };
    let _ = write!(text, "\n## `{name}`\n\n{}{end}\n\nUsage: `{usage}`\n", marked(&about));
    if let Some((_, exits)) = EXITS.iter().find(|(of, _)| *of == name) {
        let _ = write!(text, "\nExit codes: {exits}.\n");
    }
    let shown = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in command.get_arguments().filter(shown) {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        let title = heading.map_or_else(String::new, |heading| format!("{heading}:\n\n"));
        let _ = write!(text, "\n{title}| argument | default | meaning |\n|---|---|---|\n");
        for arg in command.get_arguments().filter(shown).filter(|arg| arg.get_help_heading() == heading) {
            text.push_str(&row(arg));
        }
    }
    for inner in listed(command) {
        write_command(text, &format!("{name} {}", inner.get_name()), inner);
    }
}

/// A line of the table.
fn row(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut meaning, mut default) = match help.split_once(DEFAULT) {
        Some((meaning, default)) => (meaning.to_owned(), default.trim_end_matches(']').to_owned()),
        None => (help, String::new()),
    };
    let takes_values =
        !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
    if takes_values {
        let defaults: Vec<_> =
            arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        if !defaults.is_empty() {
            default = defaults.join(" ");
        }
        let values = arg.get_possible_values();
        let values: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
        if !values.is_empty() && !arg.is_hide_possible_values_set() {
            let values: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
            meaning = format!("{}: {}", meaning.trim_end_matches('.'), values.join(", "));
        }
    }
    if let Some(variable) = arg.get_env() {
        meaning = format!("{meaning} (`{}` in the environment)", variable.to_string_lossy());
    }
    let default = if default.is_empty() { default } else { format!("`{default}`") };
    format!("| {} | {} | {} |\n", forms(arg, takes_values), cell(&default), cell(&marked(&meaning)))
}

/// How it is typed: `-c`, `--connections COUNT`.
fn forms(arg: &Arg, takes_values: bool) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    if arg.is_positional() {
        return cell(&format!("`{names}`"));
    }
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    let value = match (takes_values, is_optional) {
        (false, _) => String::new(),
        (true, true) => format!("[={names}]"),
        (true, false) => format!(" {names}"),
    };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut forms: Vec<String> = short.into_iter().chain(long).collect();
    if let Some(last) = forms.last_mut() {
        last.push_str(&value);
    }
    cell(&forms.iter().map(|form| format!("`{form}`")).collect::<Vec<_>>().join(", "))
}

/// Bars end cells, also within code.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A text of help as Markdown: pages are links, and signs that Markdown and HTML would read stay signs.
fn marked(text: &str) -> String {
    let mut found = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(found, "`{part}`");
            continue;
        }
        let words: Vec<String> = part.split(' ').map(linked).collect();
        found.push_str(&words.join(" "));
    }
    found
}

/// A word, or the link to the page that it names.
fn linked(word: &str) -> String {
    if let Some(rest) = word.strip_prefix("docs/")
        && let Some((page, after)) = rest.split_once(".md")
    {
        return format!("[{page}.md]({page}.md){after}");
    }
    word.replace('<', "\\<").replace('*', "\\*")
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-line.md");
    let text = fs::read_to_string(&path).expect("the documentation is there");
    let (begin, end) = ("<!-- commands -->\n", "<!-- end of commands -->");
    let from = text.find(begin).expect("the commands begin") + begin.len();
    let to = text.find(end).expect("the commands end");
    let wanted = reference();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{}{wanted}{}", &text[..from], &text[to..])).expect("it can be written");
        return;
    }
    assert_eq!(&text[from..to], wanted, "run the test with UPDATE_EXPECT=1");
}

#[test]
fn exit_codes_are_of_commands_that_there_are() {
    let reference = reference();
    for (command, _) in EXITS {
        assert!(reference.contains(&format!("\n## `{command}`\n")), "there is no {command}");
    }
}

#[test]
fn help_is_written_as_markdown() {
    let text = "Write `a<b>` and <c> to json=FILE|csv=*; docs/outputs.md describes it.";
    assert_eq!(
        cell(&marked(text)),
        "Write `a<b>` and \\<c> to json=FILE\\|csv=\\*; [outputs.md](outputs.md) describes it."
    );
    let arg = Arg::new("linger").long("linger").short('l').num_args(0..=1).value_name("BOOL");
    let mut command = Command::new("a").arg(arg.help("Wait [default: false]"));
    command.build();
    let arg = command.get_arguments().next().expect("it has one");
    assert_eq!(row(arg), "| `-l`, `--linger[=BOOL]` | `false` | Wait |\n");
}
