//! `prony from-openapi`: a first plan of an OpenAPI description.

use std::{path::PathBuf, process::ExitCode};

use prony_drafts::{OpenApiOptions, from_openapi};

use crate::draft::{Destination, command_of};

#[derive(Debug, clap::Args)]
pub(crate) struct OpenApiArguments {
    /// An OpenAPI description, version 3, in JSON or YAML.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the API is, instead of the description's first server.
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Take operations that change something too.
    #[arg(long)]
    writes: bool,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn execute(arguments: &OpenApiArguments) -> anyhow::Result<ExitCode> {
    let options = OpenApiOptions { target: arguments.target.clone(), writes: arguments.writes };
    let draft = from_openapi(&arguments.file, &options)?;
    arguments.destination.write(draft, &command_of("from-openapi", &arguments.file))
}
