//! `prony from-har`: a first plan of what a browser recorded.

use std::{path::PathBuf, process::ExitCode};

use prony_drafts::{HarOptions, from_har};

use crate::draft::{Destination, command_of};

#[derive(Debug, clap::Args)]
pub(crate) struct HarArguments {
    /// What a browser's network panel saves: "Save all as HAR".
    #[arg(value_name = "FILE.har")]
    file: PathBuf,
    /// A host whose requests are taken; by default the one that was asked most. Repeatable.
    #[arg(long, value_name = "HOST[:PORT]")]
    host: Vec<String>,
    /// Take images, styles, scripts and the like too.
    #[arg(long)]
    assets: bool,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn execute(arguments: &HarArguments) -> anyhow::Result<ExitCode> {
    let options = HarOptions { hosts: arguments.host.clone(), assets: arguments.assets };
    let draft = from_har(&arguments.file, &options)?;
    arguments.destination.write(draft, &command_of("from-har", &arguments.file))
}
