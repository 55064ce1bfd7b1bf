//! `prony schema`: prints what a source would be served as.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn execute(_arguments: Arguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("this build is without `prony schema`")
}
