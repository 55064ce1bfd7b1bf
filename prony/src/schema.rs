//! `prony schema`: prints what a source would be served as.

use std::process::ExitCode;

use prony_server::graphql::Engine;
use tokio::task::LocalSet;

use crate::{logs, serve::SettingsArguments};

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArguments {
    /// Print the result of the introspection query instead of the schema definition language.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

pub(crate) fn execute(arguments: SchemaArguments) -> anyhow::Result<ExitCode> {
    let mut settings = arguments.settings.resolve()?;
    settings.only_look();
    // Only what is wrong; the schema is what was asked for.
    if settings.log_level == "info" {
        "warn".clone_into(&mut settings.log_level);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = LocalSet::new().block_on(&runtime, Engine::open(&settings))?;
    let text = if arguments.json { engine.introspection_json()? } else { engine.sdl() };
    crate::print(&format!("{}\n", text.trim_end()))?;
    Ok(ExitCode::SUCCESS)
}
