//! `prony selftest`: shows on this machine that the lab reports what happens.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use prony_experiments::selftest::{SelftestOptions, selftest, serve_target};

use crate::interrupt;

const DOES_NOT_HOLD: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct SelftestArguments {
    /// Fewer seconds for each check.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn execute(arguments: &SelftestArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find the program that runs")?;
    let options =
        SelftestOptions { program: &program, is_quick: arguments.quick, stop: interrupt::stop_flag()? };
    let report = selftest(&options, |name| {
        // A line that cannot be shown is no reason to stop.
        let _ = writeln!(std::io::stderr(), "checking: {name}");
    })?;
    crate::print(&report.to_string())?;
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::from(DOES_NOT_HOLD) })
}

/// The target's own process.
pub(crate) fn execute_target() -> anyhow::Result<ExitCode> {
    serve_target().context("the self-test's target cannot serve")?;
    Ok(ExitCode::SUCCESS)
}
