//! `prony lab gateway`: options and what is printed.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use prony_experiments::gateway::{self, GatewayOptions, GatewayPace, GatewayPart, Query};
use prony_model::Nanos;

use crate::interrupt;

#[derive(Debug, Args)]
pub(super) struct GatewayArguments {
    /// Take the study's durations, 15 minutes a step, instead of a few seconds.
    #[arg(long)]
    full: bool,
    /// What to measure; each is a table.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = GatewayPart::ALL)]
    parts: Vec<GatewayPart>,
    /// The study's operations that are asked.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = Query::ALL)]
    queries: Vec<Query>,
    /// Numbers of users, each a step [default: 50,100,200,500,1000]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: Vec<u32>,
    /// What is not counted at the beginning of each step, instead of the quick or the full length.
    #[arg(long, value_name = "DURATION", value_parser = super::length_or_none)]
    warm_up: Option<Nanos>,
    /// Length of each step behind that.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    hold: Option<Nanos>,
    /// Rounds in which the layers alternate; fewer than 3 give no ranges.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Length of each run of a layer.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    layer: Option<Nanos>,
    /// Processors for the gateway; the lab and the backend have the others.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cpus: usize,
    /// Makes requests repeatable.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Results go into a directory of their own below this one.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

pub(super) fn run(arguments: GatewayArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let options = GatewayOptions {
        program,
        pace: pace(&arguments),
        parts: arguments.parts,
        queries: arguments.queries,
        users: arguments.users,
        processors: arguments.cpus,
        seed: arguments.seed,
        output: arguments.output,
        command_line: crate::command_line(),
        stop: interrupt::stop_flag()?,
    };
    super::show(&gateway::run(&options)?)
}

fn pace(arguments: &GatewayArguments) -> GatewayPace {
    let preset = if arguments.full { GatewayPace::FULL } else { GatewayPace::QUICK };
    GatewayPace {
        warm_up: arguments.warm_up.unwrap_or(preset.warm_up),
        hold: arguments.hold.unwrap_or(preset.hold),
        rounds: arguments.rounds.unwrap_or(preset.rounds),
        layer: arguments.layer.unwrap_or(preset.layer),
        ..preset
    }
}
