//! `prony permissions`: tests of what roles may see and do, against the sources of a configuration.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use prony_server::permission_tests::{self, PermissionTests};

use crate::{logs, serve::SettingsArguments};

#[derive(Debug, clap::Args)]
pub(crate) struct PermissionsArguments {
    #[command(subcommand)]
    command: PermissionsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PermissionsCommand {
    /// Make the requests of a file, and print which have come out as it says; exits 1 when one has not
    Test(TestArguments),
}

#[derive(Debug, clap::Args)]
struct TestArguments {
    /// A TOML file of [[test]]
    #[arg(value_name = "TESTS")]
    tests: PathBuf,
    #[command(flatten)]
    settings: SettingsArguments,
}

const FAILED: u8 = 1;

pub(crate) fn execute(arguments: PermissionsArguments) -> anyhow::Result<ExitCode> {
    let PermissionsCommand::Test(TestArguments { tests: path, settings }) = arguments.command;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let tests = PermissionTests::read(&text).with_context(|| path.display().to_string())?;
    let mut settings = settings.resolve()?;
    if settings.log_level == "info" {
        "error".clone_into(&mut settings.log_level);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = permission_tests::run(settings, &tests);
    let outcomes = tokio::task::LocalSet::new().block_on(&runtime, run)?;
    crate::print(&permission_tests::report(&outcomes))?;
    let has_failed = outcomes.iter().any(|outcome| !outcome.faults.is_empty());
    Ok(if has_failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
