//! `prony man`: manual pages, one for the program and one for each of its commands.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::CommandFactory as _;

#[derive(Debug, clap::Args)]
pub(crate) struct ManArguments {
    /// The directory into which the pages are written; it is made where it is not there.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn execute(arguments: &ManArguments) -> anyhow::Result<ExitCode> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    clap_mangen::generate_to(crate::CommandLine::command(), directory)
        .with_context(|| format!("cannot write the pages into {}", directory.display()))?;
    crate::print(&format!("read one by: man {}\n", directory.join("prony.1").display()))?;
    Ok(ExitCode::SUCCESS)
}
