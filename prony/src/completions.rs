//! `prony completions`: what a shell needs to complete the program's commands and options.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArguments {
    /// Whose completions are printed.
    shell: Shell,
}

pub(crate) fn execute(arguments: &CompletionsArguments) -> anyhow::Result<ExitCode> {
    let mut command = crate::CommandLine::command();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "prony", &mut text);
    crate::print(&String::from_utf8(text)?)?;
    Ok(ExitCode::SUCCESS)
}
