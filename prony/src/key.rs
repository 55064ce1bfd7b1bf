//! `prony key`: makes API keys. A key is printed once; the configuration keeps only its hash.

use std::process::ExitCode;

use anyhow::Context as _;
use prony_server::config::{KEY_RANDOM_BYTES, new_key};

#[derive(Debug, clap::Args)]
pub(crate) struct KeyArguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeyCommand {
    /// Print a new key, and what the configuration keeps of it.
    New(NewArguments),
}

#[derive(Debug, clap::Args)]
struct NewArguments {
    /// The role of who brings it
    #[arg(long)]
    role: String,
    /// By which it is known in logs, and revoked; the role's where none is given
    #[arg(long)]
    name: Option<String>,
    /// When it ends, as a date or a time: 2027-01-01, 2027-01-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

pub(crate) fn execute(arguments: &KeyArguments) -> anyhow::Result<ExitCode> {
    let KeyCommand::New(arguments) = &arguments.command;
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system gives no random bytes")?;
    let key = new_key(&random);
    let name = arguments.name.as_deref().unwrap_or(&arguments.role);
    let record = key.record(name, &arguments.role, arguments.expires.as_deref());
    let record = record.replace("[[api_key]]", "[[auth.api_key]]");
    crate::print(&format!(
        "{}\n\n# The key above is shown once and is nowhere kept. For the configuration, which is read again at SIGHUP:\n{record}",
        key.printed
    ))?;
    Ok(ExitCode::SUCCESS)
}
