//! `prony serve`: serves sources until a signal stops it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use prony_interceptors::JavaScriptLoader;
use prony_server::{
    config::{self, CommandLine, Program, Reload, Settings},
    graphql::Engine,
    runtime,
};

use crate::{flags::OptionFlags, kinds::KINDS, logs};

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
    /// Read settings from a TOML file; flags win over it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: OptionFlags,
}

impl SettingsArguments {
    /// Reads the file and resolves everything.
    pub(crate) fn resolve(self) -> anyhow::Result<Settings> {
        let again = self.clone();
        let mut settings = self.read()?;
        settings.reload = again.config.clone().map(|path| {
            let stamp = move || std::fs::metadata(&path).and_then(|file| file.modified()).ok();
            let read = move || again.clone().read().map_err(|error| format!("{error:#}"));
            Reload::new(read, stamp)
        });
        Ok(settings)
    }

    fn read(self) -> anyhow::Result<Settings> {
        let text = match &self.config {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the configuration {}", path.display()))?,
            ),
            None => None,
        };
        let line = CommandLine { sources: self.sources, flags: self.options.0 };
        let variable = |name: &str| std::env::var(name).ok();
        let program = Program { kinds: KINDS, interceptors: Some(&JavaScriptLoader) };
        Ok(config::load_for(program, self.config.as_deref().zip(text.as_deref()), line, &variable)?)
    }
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
    if settings.log_level == "info" {
        "warn".clone_into(&mut settings.log_level);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = tokio::task::LocalSet::new().block_on(&runtime, Engine::open(&settings))?;
    crate::print(&engine.explain_role(&settings.access, role)?)?;
    Ok(ExitCode::SUCCESS)
}
