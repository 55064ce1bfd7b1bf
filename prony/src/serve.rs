//! `prony serve`: serves sources until a signal stops it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use prony_server::{
    config::{self, CommandLine, Settings},
    runtime,
};

use crate::{flags::OptionFlags, kinds::KINDS, logs};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) settings: SettingsArguments,
}

fn sources_help() -> String {
    let addresses: Vec<&str> = KINDS.iter().map(|kind| kind.address().whole).collect();
    let addresses = config::alternatives(&addresses);
    format!("What to serve: {addresses}; ${{NAME}} in it stands for a variable of the environment")
}

/// Where settings come from; `prony schema` takes the same.
#[derive(Debug, clap::Args)]
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
        let text = match &self.config {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the configuration {}", path.display()))?,
            ),
            None => None,
        };
        let line = CommandLine { sources: self.sources, flags: self.options.0 };
        let variable = |name: &str| std::env::var(name).ok();
        Ok(config::load(KINDS, self.config.as_deref().zip(text.as_deref()), line, &variable)?)
    }
}

pub(crate) fn execute(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings.resolve()?;
    logs::start(&settings.log_level, settings.log_format)?;
    runtime::serve(settings)?;
    Ok(ExitCode::SUCCESS)
}
