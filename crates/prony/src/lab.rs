//! `prony lab`: re-runs a published study.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn execute(_arguments: Arguments) -> anyhow::Result<ExitCode> {
    anyhow::bail!("this build is without `prony lab`")
}
