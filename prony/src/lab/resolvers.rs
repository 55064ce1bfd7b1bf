//! `prony lab resolvers`: options and what is printed.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use prony_experiments::resolvers::{self, Part, ResolversOptions, ResolversPace};
use prony_model::Nanos;

use crate::interrupt;

#[derive(Debug, Args)]
pub(super) struct ResolversArguments {
    /// Take the study's numbers of requests instead of a few seconds a table.
    #[arg(long)]
    full: bool,
    /// What to measure; each is a table.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = Part::ALL)]
    parts: Vec<Part>,
    /// Executions of each micro-benchmark, instead of the quick or the full number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    executions: Option<u32>,
    /// Rounds in which GraphQL and REST alternate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Length of each run of GraphQL, of REST and of subscriptions.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    step: Option<Nanos>,
    /// Users who may join in the search for the maximum, 20 a second; 60 at least, for three seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(60..=100_000))]
    users_max: Option<u32>,
    /// Requests of each of the 15 users of the memory profile.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    requests: Option<u64>,
    /// Requests behind the memory profile, as fast as they are answered.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    soak: Option<u64>,
    /// Processors for the engine; the lab has the others.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cpus: usize,
    /// Makes requests repeatable.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Results go into a directory of their own below this one.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

pub(super) fn run(arguments: ResolversArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let options = ResolversOptions {
        program,
        pace: pace(&arguments),
        parts: arguments.parts,
        processors: arguments.cpus,
        seed: arguments.seed,
        output: arguments.output,
        command_line: crate::command_line(),
        stop: interrupt::stop_flag()?,
    };
    super::show(&resolvers::run(&options)?)
}

fn pace(arguments: &ResolversArguments) -> ResolversPace {
    let preset = if arguments.full { ResolversPace::FULL } else { ResolversPace::QUICK };
    ResolversPace {
        executions: arguments.executions.unwrap_or(preset.executions),
        rounds: arguments.rounds.unwrap_or(preset.rounds),
        thinking: arguments.step.unwrap_or(preset.thinking),
        saturated: arguments.step.unwrap_or(preset.saturated),
        subscriptions: arguments.step.unwrap_or(preset.subscriptions),
        users_max: arguments.users_max.unwrap_or(preset.users_max),
        memory_requests: arguments.requests.unwrap_or(preset.memory_requests),
        soak_requests: arguments.soak.unwrap_or(preset.soak_requests),
        ..preset
    }
}
