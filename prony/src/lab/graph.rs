//! `prony lab graph`: options and what is printed.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use prony_experiments::{
    Durability,
    graph::{self, GraphOptions, GraphPace},
};
use prony_model::Nanos;

use crate::interrupt;

#[derive(Debug, Args)]
pub(super) struct GraphLabArguments {
    /// Take the study's 3 000 000 nodes and durations, 60 s a step, instead of a few seconds.
    #[arg(long)]
    full: bool,
    /// Nodes that are created at most, instead of the quick or the full number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    nodes: Option<u32>,
    /// Length of each of the other steps and of the closed loop of reads.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    step: Option<Nanos>,
    /// Length of each step of the search for the rate that holds.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    hold: Option<Nanos>,
    /// Length of the constant rate in the end.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    sustained: Option<Nanos>,
    /// When writes are acknowledged; reads at a rate are measured with the first.
    #[arg(long, value_name = "MODE,…", value_delimiter = ',', default_values_t = [Durability::Sync, Durability::IntervalMs(100), Durability::Off])]
    durability: Vec<Durability>,
    /// Processors for the engine, each number a table of its own.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Leave out the closed loop of reads and the search for the rate that holds.
    #[arg(long)]
    no_rates: bool,
    /// Makes requests repeatable.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Results go into a directory of their own below this one, and the engine's data while it runs.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

pub(super) fn run(arguments: GraphLabArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let options = GraphOptions {
        program,
        pace: pace(&arguments),
        durabilities: arguments.durability,
        processors: arguments.cpus,
        rates: !arguments.no_rates,
        seed: arguments.seed,
        output: arguments.output,
        command_line: crate::command_line(),
        stop: interrupt::stop_flag()?,
    };
    super::show(&graph::run(&options)?)
}

fn pace(arguments: &GraphLabArguments) -> GraphPace {
    let preset = if arguments.full { GraphPace::FULL } else { GraphPace::QUICK };
    GraphPace {
        nodes: arguments.nodes.unwrap_or(preset.nodes),
        step: arguments.step.unwrap_or(preset.step),
        closed: arguments.step.unwrap_or(preset.closed),
        hold: arguments.hold.unwrap_or(preset.hold),
        sustained: arguments.sustained.unwrap_or(preset.sustained),
        ..preset
    }
}
