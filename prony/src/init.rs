//! `prony init`: looks at what is to be served and writes a first configuration with remarks, for its user to go on with. Where it is not told
//! what to serve, it asks for that and for what a first configuration decides.

mod choices;
mod file;

use std::{
    fmt::Write as _,
    fs,
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use prony_server::{
    config::{self, CommandLine, KEY_RANDOM_BYTES, ListedOption, NewKey, Section, new_key},
    graphql::{Engine, SourceOutline},
};
use tokio::task::LocalSet;

use self::{
    choices::{ChoiceArguments, Choices, Questions, WhoAsks},
    file::{OWNER, SCHEMAS, configuration, named},
};
use crate::{kinds::KINDS, logs, run::shell_word, serve::variable};

/// Remarks on a source that are shown; `prony serve` logs them all.
const SHOWN_NOTES: usize = 6;

#[derive(Debug, clap::Args)]
pub(crate) struct InitArguments {
    /// What to serve, as `prony serve` takes it; where it is left out, it and all that flags do not say is asked for
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "prony.toml")]
    output: PathBuf,
    /// A schema of PostgreSQL to serve, where it is not the current one; repeatable
    #[arg(long = "schema", value_name = "NAME")]
    schemas: Vec<String>,
    #[command(flatten)]
    choices: ChoiceArguments,
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
    let mut questions = Questions::new(std::io::stdin().lock());
    let is_asked = arguments.sources.is_empty();
    let sources = if is_asked { vec![source(&mut questions)?] } else { arguments.sources.clone() };
    let flags = schema_flag(&arguments.schemas);
    let line = CommandLine { sources, flags, ..CommandLine::default() };
    let mut settings = config::load(KINDS, None, line, &variable)?;
    settings.only_look();
    logs::start("warn", settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = LocalSet::new().block_on(&runtime, Engine::open(&settings))?;
    let (outline, default) = (engine.outline(), settings.listen[0]);
    let choices = if is_asked {
        Choices::asked(&arguments.choices, default, &mut questions)?
    } else {
        Choices::given(&arguments.choices, default)?
    };
    check_visitors(choices, &outline)?;
    let addresses: Vec<&str> = settings.sources.iter().map(|source| source.url.0.as_str()).collect();
    let key = choices.who.needs_key().then(make_key).transpose()?;
    let record = key.as_ref().map(record);
    let (text, secrets) = configuration(&outline, &addresses, &arguments.schemas, choices, record.as_deref());
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).create_new(!arguments.force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    let printed = key.as_ref().map(|key| key.printed.as_str());
    crate::print(&next_steps(&outline, path, &secrets, printed, choices.who))?;
    Ok(ExitCode::SUCCESS)
}

/// As `prony serve` has it.
fn schema_flag(schemas: &[String]) -> Vec<(ListedOption, Vec<String>)> {
    let mut options = config::options(KINDS).into_iter().filter(|_| !schemas.is_empty());
    let option = options.find(|option| option.section == Section::Source && option.spec().key == SCHEMAS);
    option.map(|option| (option, schemas.to_vec())).into_iter().collect()
}

/// Asks whoever sits at the terminal.
fn source(questions: &mut Questions<std::io::StdinLock<'_>>) -> anyhow::Result<String> {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.address().whole).collect();
    let known = config::alternatives(&known);
    if !std::io::stdin().is_terminal() {
        bail!("what is to be served? Write it behind `prony init`: {known}");
    }
    let prompt = format!("What is to be served? A file of SQLite, a directory, or {known}\n> ");
    match questions.line(&prompt)?.as_str() {
        "" => bail!("nothing was named; write a file of SQLite, a directory, or {known}"),
        source => Ok(source.to_owned()),
    }
}

/// Their role is made of tables.
fn check_visitors(choices: Choices, sources: &[SourceOutline]) -> anyhow::Result<()> {
    let has_tables = sources.iter().any(|source| !source.table_names.is_empty());
    if choices.who == WhoAsks::KeyAndVisitors && !has_tables {
        bail!(
            "visitors may read tables, and there are none; leave --visitors out and write the role into the file"
        );
    }
    Ok(())
}

fn make_key() -> anyhow::Result<NewKey> {
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system gives no random bytes")?;
    Ok(new_key(&random))
}

/// What a configuration keeps of a key.
fn record(key: &NewKey) -> String {
    key.record(OWNER, OWNER, None).replace("[[api_key]]", "[[auth.api_key]]")
}

fn next_steps(
    sources: &[SourceOutline],
    path: &Path,
    secrets: &[String],
    key: Option<&str>,
    who: WhoAsks,
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
    let _ = writeln!(text, "  prony serve --config {}", shell_word(&path.display().to_string()));
    if who == WhoAsks::KeyAndVisitors {
        text.push_str("\nvisitors, who have no key, read every table: take out of [roles.visitor…] what is not for them\n");
    }
    if let Some(key) = key {
        let _ = write!(text, "\nthe key, which is shown once and is nowhere kept:\n  X-Api-Key: {key}\n");
    }
    text
}
