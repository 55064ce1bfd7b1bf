//! `prony serve`: serves sources until a signal stops it.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use prony_interceptors::JavaScriptLoader;
use prony_server::{
    config::{self, CommandLine, Program, Reload, Settings},
    graphql::Engine,
    runtime,
};

use crate::{flags::OptionFlags, kinds::KINDS, logs};

/// Addresses of sources, with blanks between them.
const SOURCES: &str = "PRONY_SOURCES";

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArguments {
    /// Print what this role may do, and the schema that it is served, instead of serving
    #[arg(long, value_name = "ROLE")]
    explain_role: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingsArguments,
}

fn sources_help() -> String {
    let addresses: Vec<&str> = KINDS.iter().map(|kind| kind.address().whole).collect();
    let addresses = config::alternatives(&addresses);
    format!("What to serve: {addresses}; ${{NAME}} in it stands for a variable of the environment")
}

/// Where settings come from; `prony schema` takes the same.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SettingsArguments {
    #[arg(help = sources_help())]
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// Read settings from a TOML file; variables of the environment win over it, and flags over both.
    #[arg(long, value_name = "FILE", env = "PRONY_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: OptionFlags,
}

impl SettingsArguments {
    /// Reads the file and resolves everything.
    pub(crate) fn resolve(self) -> anyhow::Result<Settings> {
        let again = self.clone();
        let reload = again.config.clone().map(|path| {
            let stamp = move || config::changed_at(&path);
            let read = move || again.clone().read().map_err(|error| format!("{error:#}"));
            Reload::new(read, stamp)
        });
        let settings = self.read()?;
        Ok(Settings { reload, ..settings })
    }

    fn read(self) -> anyhow::Result<Settings> {
        let text = self.config.as_deref().map(text_of).transpose()?;
        let sources = if self.sources.is_empty() { sources_of_environment() } else { self.sources };
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let line = CommandLine { sources, flags: self.options.0, variables };
        let program = Program { kinds: KINDS, interceptors: Some(&JavaScriptLoader) };
        Ok(config::load_for(program, self.config.as_deref().zip(text.as_deref()), line, &variable)?)
    }
}

/// The text of the configuration; where it is none, the place of that.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let bytes =
        std::fs::read(path).with_context(|| format!("cannot read the configuration {}", path.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let beside = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let column = String::from_utf8_lossy(beside).chars().count() + 1;
        anyhow::anyhow!("{}:{line}:{column}: it is no UTF-8; convert the file", path.display())
    })
}

/// In place of those that the command line and the file name.
fn sources_of_environment() -> Vec<String> {
    variable(SOURCES).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// A variable of the environment, or of the file that another one names; a file that cannot be read is told.
pub(crate) fn variable(name: &str) -> Option<String> {
    config::process_variable(name).unwrap_or_else(|fault| {
        crate::say(&fault.into());
        None
    })
}

pub(crate) fn execute(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings.resolve()?;
    if let Some(role) = arguments.explain_role {
        return explain(settings, &role);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    runtime::serve(settings)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what a role may do.
fn explain(mut settings: Settings, role: &str) -> anyhow::Result<ExitCode> {
    settings.only_look();
    if settings.log_level == "info" {
        "warn".clone_into(&mut settings.log_level);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = tokio::task::LocalSet::new().block_on(&runtime, Engine::open(&settings))?;
    crate::print(&engine.explain_role(&settings.access, role)?)?;
    Ok(ExitCode::SUCCESS)
}
