//! `prony from-curl`: a first plan of a command of curl.

use std::{io::Read as _, process::ExitCode};

use anyhow::{Context as _, bail};
use prony_drafts::from_curl;

use crate::draft::Destination;

/// Longer ones are no command that anybody wrote.
const LONGEST_COMMAND: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct CurlArguments {
    /// A command of curl in quotes, its words behind --, or - for standard input; a browser's "Copy as cURL (bash)" is one.
    #[arg(value_name = "COMMAND", required = true)]
    command: Vec<String>,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn execute(arguments: &CurlArguments) -> anyhow::Result<ExitCode> {
    let command = match arguments.command.as_slice() {
        [only] if only == "-" => {
            let mut text = String::new();
            let mut input = std::io::stdin().lock().take(LONGEST_COMMAND + 1);
            input.read_to_string(&mut text).context("cannot read the command from standard input")?;
            if text.len() as u64 > LONGEST_COMMAND {
                bail!("standard input has more than {LONGEST_COMMAND} bytes, which is no command of curl");
            }
            vec![text]
        }
        words => words.to_vec(),
    };
    arguments.destination.write(from_curl(&command)?, "prony from-curl")
}
