//! `prony init`: looks at what is to be served and writes a first configuration with remarks, for its user to go on with.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use prony_server::{
    config::{self, CommandLine, KEY_RANDOM_BYTES, ListedOption, Section, new_key},
    graphql::{Engine, SourceOutline},
};
use tokio::task::LocalSet;

use crate::{kinds::KINDS, logs, serve::variable};

/// In the order in which somebody who begins wants to know of them.
const SHOWN: &[(Section, &[&str])] = &[
    (Section::Server, &["listen", "hosts", "cors_origins", "console", "max_connections"]),
    (Section::Graphql, &["introspection", "max_depth", "max_operation_bytes"]),
    (Section::Log, &["format", "access_log", "request_ids"]),
];
const SHOWN_OF_SOURCES: &[&str] = &[
    "default_limit",
    "max_limit",
    "statement_timeout_ms",
    "read_only",
    "subscriptions",
    "exclude_tables",
    "durability",
];
/// Root fields that the remarks name.
const NAMED_FIELDS: usize = 12;
/// Remarks on a source that are shown; `prony serve` logs them all.
const SHOWN_NOTES: usize = 6;
/// The role and the name of the key that `--key` makes.
const OWNER: &str = "owner";

#[derive(Debug, clap::Args)]
pub(crate) struct InitArguments {
    /// What to serve, as `prony serve` takes it; asked for where it is left out
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "prony.toml")]
    output: PathBuf,
    /// Make an API key, and let nobody in without one
    #[arg(long)]
    key: bool,
    /// Replace the file
    #[arg(long)]
    force: bool,
}

pub(crate) fn execute(arguments: &InitArguments) -> anyhow::Result<ExitCode> {
    let path = &arguments.output;
    if path.exists() && !arguments.force {
        bail!(
            "{} is there already; replace it with --force, or name another file with --output",
            path.display()
        );
    }
    let sources = if arguments.sources.is_empty() { vec![ask()?] } else { arguments.sources.clone() };
    let line = CommandLine { sources, ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &variable)?;
    settings.only_look();
    logs::start("warn", settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = LocalSet::new().block_on(&runtime, Engine::open(&settings))?;
    let addresses: Vec<&str> = settings.sources.iter().map(|source| source.url.0.as_str()).collect();
    let (mut text, secrets) = configuration(&engine.outline(), &addresses);
    let key = arguments.key.then(|| make_key(&mut text)).transpose()?;
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).create_new(!arguments.force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    crate::print(&next_steps(&engine.outline(), path, &secrets, key.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks whoever sits at the terminal.
fn ask() -> anyhow::Result<String> {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.address().whole).collect();
    let known = config::alternatives(&known);
    if !std::io::stdin().is_terminal() {
        bail!("what is to be served? Write it behind `prony init`: {known}");
    }
    crate::print(&format!("What is to be served? A file of SQLite, a directory, or {known}\n> "))?;
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text)?;
    match text.trim() {
        "" => bail!("nothing was named; write a file of SQLite, a directory, or {known}"),
        source => Ok(source.to_owned()),
    }
}

/// The file, and the variables of the environment that it needs in place of passwords.
fn configuration(sources: &[SourceOutline], addresses: &[&str]) -> (String, Vec<String>) {
    let mut text = String::from(
        "# What `prony serve --config` serves with this file; `prony init` has written it. Lines without a # at their beginning count.\n\
         # All options: `prony docs`, Configuration.\n",
    );
    for (section, keys) in SHOWN {
        let _ = write!(text, "\n[{}]\n", section.key());
        add_options(&mut text, *section, keys.iter().copied());
    }
    let mut secrets = Vec::new();
    for (source, address) in sources.iter().zip(addresses) {
        let (address, variables) = without_passwords(address, secrets.len());
        let fields = named(&source.list_fields);
        let _ = write!(
            text,
            "\n[[source]]\n# {}{fields}\nname = {}\nurl = {}\n",
            source.contents,
            quoted(&source.name),
            quoted(&address)
        );
        let kind = KINDS.iter().find(|kind| kind.address().fits(&address));
        let options = kind.map(|kind| kind.options()).unwrap_or_default();
        let is_of_kind = |key: &&str| options.iter().any(|option| option.spec().key == *key);
        add_options(&mut text, Section::Source, SHOWN_OF_SOURCES.iter().copied().filter(is_of_kind));
        secrets.extend(variables);
    }
    (text, secrets)
}

/// Options as remarks: what each does, and its default.
fn add_options<'a>(text: &mut String, section: Section, keys: impl Iterator<Item = &'a str>) {
    let options = config::options(KINDS);
    for key in keys {
        let is_it = |option: &&ListedOption| option.section == section && option.spec().key == key;
        let option = options.iter().find(is_it).expect("the keys that are shown are options");
        let _ = write!(text, "# {}\n# {} = {}\n", option.help, option.spec().key, option.spec().default);
    }
}

fn named(fields: &[String]) -> String {
    match fields.len() {
        0 => String::new(),
        count if count > NAMED_FIELDS => format!(": {}, …", fields[..NAMED_FIELDS].join(", ")),
        _ => format!(": {}", fields.join(", ")),
    }
}

/// An address whose passwords are variables of the environment, and the variables' names; `before` are there already.
fn without_passwords(address: &str, before: usize) -> (String, Vec<String>) {
    let kind = KINDS.iter().find(|kind| kind.address().fits(address));
    let mut places = kind.map(|kind| kind.secrets(address)).unwrap_or_default();
    places.retain(|place| !address[place.clone()].starts_with("${"));
    let name = if address.starts_with("http") { "UPSTREAM_PASSWORD" } else { "PGPASSWORD" };
    let variable = |number| if number == 0 { name.to_owned() } else { format!("{name}_{}", number + 1) };
    let variables: Vec<String> = (before..before + places.len()).map(variable).collect();
    let mut text = address.to_owned();
    for (place, variable) in places.into_iter().zip(&variables).rev() {
        text.replace_range(place, &format!("${{{variable}}}"));
    }
    (text, variables)
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Adds a key and its role; gives the key.
fn make_key(text: &mut String) -> anyhow::Result<String> {
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system gives no random bytes")?;
    let key = new_key(&random);
    let record = key.record(OWNER, OWNER, None).replace("[[api_key]]", "[[auth.api_key]]");
    let _ = write!(
        text,
        "\n# Who may ask: nobody without a key. `prony key new` makes more of them, `prony docs` has tokens and other roles.\n[auth]\n\n{}\n\n\
         [roles.{OWNER}]\nunrestricted = true\n",
        record.trim_end()
    );
    Ok(key.printed)
}

fn next_steps(
    sources: &[SourceOutline],
    path: &std::path::Path,
    secrets: &[String],
    key: Option<&str>,
) -> String {
    let mut text = format!("wrote {}\n", path.display());
    for source in sources {
        let _ = writeln!(text, "  {}: {}{}", source.name, source.contents, named(&source.list_fields));
        for note in source.notes.iter().take(SHOWN_NOTES) {
            let _ = writeln!(text, "    {note}");
        }
        if source.notes.len() > SHOWN_NOTES {
            let _ = writeln!(
                text,
                "    … and {} more, which `prony serve` logs",
                source.notes.len() - SHOWN_NOTES
            );
        }
    }
    text.push_str("\nnext:\n");
    for variable in secrets {
        let _ = writeln!(
            text,
            "  export {variable}=…            # the password, as it stood in the address; it is not in the file"
        );
    }
    let _ = writeln!(text, "  prony serve --config {}", path.display());
    if let Some(key) = key {
        let _ = write!(text, "\nthe key, which is shown once and is nowhere kept:\n  X-Api-Key: {key}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_become_variables() {
        for (address, expected) in [
            ("postgres://ann:s3:cr@t@h/shop?x=1", "postgres://ann:${PGPASSWORD}@h/shop?x=1"),
            ("postgres://ann:s/cret@h/shop", "postgres://ann:${PGPASSWORD}@h/shop"),
            ("postgres://h/shop?user=ann&password=s", "postgres://h/shop?user=ann&password=${PGPASSWORD}"),
            (
                "postgres://ann:a@h/shop?password=b&sslmode=require",
                "postgres://ann:${PGPASSWORD}@h/shop?password=${PGPASSWORD_2}&sslmode=require",
            ),
            ("series+postgres://ann:s/cret@h/shop", "series+postgres://ann:${PGPASSWORD}@h/shop"),
            ("series+questdb://ann:s@h?http=h:9000", "series+questdb://ann:${PGPASSWORD}@h?http=h:9000"),
            ("https://ann:s@h/graphql", "https://ann:${UPSTREAM_PASSWORD}@h/graphql"),
        ] {
            assert_eq!(without_passwords(address, 0).0, expected);
        }
        for same in ["sqlite:a:b@c.db", "graph:a:b@c", "postgres://ann@h/d", "postgres://ann:${X}@h/d"] {
            assert_eq!(without_passwords(same, 0), (same.to_owned(), vec![]));
        }
        assert_eq!(without_passwords("postgres://a:b@h", 1).1, ["PGPASSWORD_2"]);
    }
}
