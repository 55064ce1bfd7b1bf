//! `prony lab`: lists the experiments, or re-runs a published study.

mod gateway;
mod graph;
mod resolvers;
mod series;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use prony_experiments::{
    Report,
    relational::{self, Database, Operation, RelationalOptions, RelationalPace, dataset::DatasetPlan},
};
use prony_model::Nanos;

use crate::interrupt;
use crate::terminal::{self, TerminalFlags};

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    #[command(flatten)]
    terminal: TerminalFlags,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    /// How many users does GraphQL over a relational database serve? (Phrag's performance study)
    Relational(RelationalArguments),
    #[command(
        about = "How many nodes and relationships a second does a property graph over HTTP make and read? (RageDB's study)"
    )]
    Graph(graph::GraphLabArguments),
    #[command(
        about = "What does a GraphQL gateway carry, and what does each of its layers cost? (an API gateway's study)"
    )]
    Gateway(gateway::GatewayArguments),
    #[command(
        about = "How many notifications a second does a store of time series take, and how fast does it read them? (QuantumLeap's study)"
    )]
    Series(series::SeriesLabArguments),
    #[command(
        about = "What does GraphQL by functions in process cost over REST, and what does it carry? (GraphQL ASP.NET's study)"
    )]
    Resolvers(resolvers::ResolversArguments),
}

#[derive(Debug, Args)]
struct RelationalArguments {
    /// Take the study's durations, 30 s of ramp and 30 s of hold a step, instead of a few seconds.
    #[arg(long)]
    full: bool,
    /// Length of each step's ramp, instead of the quick or the full one.
    #[arg(long, value_name = "DURATION", value_parser = length_or_none)]
    ramp: Option<Nanos>,
    /// Length of each step's hold, which the verdict is about.
    #[arg(long, value_name = "DURATION", value_parser = length)]
    hold: Option<Nanos>,
    /// Steps of each search at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    steps: Option<u32>,
    /// Processors for the engine, each number a table of its own.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Serve from this PostgreSQL database (`postgres://…`) instead of embedded SQLite.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// What to ask.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = QueryName::ALL)]
    queries: Vec<QueryName>,
    /// The queries' `limit`, each a table of its own.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [50, 100], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limits: Vec<u32>,
    /// How the engine resolves nested fields in the searches.
    #[arg(long, value_name = "MODEL", default_value = "subquery", value_parser = ["subquery", "per-nest", "bucket"])]
    resolver: String,
    /// Drive the searches with k6 scripts, which stand beside the results, instead of plans.
    #[arg(long)]
    script: bool,
    /// Leave out the comparison of the three resolver models.
    #[arg(long)]
    no_resolvers: bool,
    /// Rows in each table.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rows: u32,
    /// Makes data and requests repeatable.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Results go into a directory of their own below this one; the data is kept there too.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QueryName {
    NoNest,
    OneNest,
    TwoNests,
    Create,
}

impl QueryName {
    const ALL: [Self; 4] = [Self::NoNest, Self::OneNest, Self::TwoNests, Self::Create];

    fn operation(self) -> Operation {
        match self {
            Self::NoNest => Operation::NoNest,
            Self::OneNest => Operation::OneNest,
            Self::TwoNests => Operation::TwoNests,
            Self::Create => Operation::Create,
        }
    }
}

impl std::fmt::Display for QueryName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.operation().name())
    }
}

/// Of a part of a study, at most: the longest in any study is a quarter of an hour.
const LENGTH_MAX: Nanos = Nanos::from_secs(24 * 3_600);

/// `30s`: how long a part takes, at least a millisecond.
fn length(text: &str) -> Result<Nanos, String> {
    let length = length_or_none(text)?;
    if length < Nanos::from_millis(1) {
        return Err(format!("`{text}` is too short; write for example `5s`"));
    }
    Ok(length)
}

/// As [`length`], or `0s` for a part that is left out.
fn length_or_none(text: &str) -> Result<Nanos, String> {
    let length = Nanos::parse(text).map_err(|error| error.to_string())?;
    if length > LENGTH_MAX { Err(format!("`{text}` is longer than a day")) } else { Ok(length) }
}

pub(crate) fn execute(arguments: LabArguments) -> anyhow::Result<ExitCode> {
    terminal::settle(arguments.terminal.color);
    match arguments.experiment {
        None => list(),
        Some(Experiment::Relational(arguments)) => run_relational(arguments),
        Some(Experiment::Graph(arguments)) => graph::run(arguments),
        Some(Experiment::Gateway(arguments)) => gateway::run(arguments),
        Some(Experiment::Series(arguments)) => series::run(arguments),
        Some(Experiment::Resolvers(arguments)) => resolvers::run(arguments),
    }
}

fn list() -> anyhow::Result<ExitCode> {
    let lines = prony_experiments::EXPERIMENTS
        .iter()
        .map(|experiment| format!("{:<12} {}\n", experiment.name, experiment.summary));
    let last = "\nRun one with `prony lab NAME`; `prony lab NAME --help` tells its options.\n";
    crate::print(&(lines.collect::<String>() + last))?;
    Ok(ExitCode::SUCCESS)
}

fn run_relational(arguments: RelationalArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let pace = pace(&arguments);
    let options = RelationalOptions {
        program,
        database: arguments.database.map_or(Database::Sqlite, Database::Postgres),
        dataset: DatasetPlan { seed: arguments.seed, rows: arguments.rows },
        pace,
        processors: arguments.cpus,
        operations: arguments.queries.iter().map(|query| query.operation()).collect(),
        limits: arguments.limits,
        resolver: arguments.resolver,
        script: arguments.script,
        compare_resolvers: !arguments.no_resolvers,
        output: arguments.output,
        command_line: crate::command_line(),
        stop: interrupt::stop_flag()?,
    };
    show(&relational::run(&options)?)
}

/// The tables, and where all of it is.
fn show<O>(report: &Report<O>) -> anyhow::Result<ExitCode> {
    let Report { markdown, directory, json_name, page_name, conclusion, .. } = report;
    let page = page_name.map_or(String::new(), |name| format!(", {name}"));
    crate::print(&format!(
        "{markdown}\nWritten to {}: table.md, {json_name}{page} and a result file for each step.\n",
        directory.display()
    ))?;
    Ok(ExitCode::from(conclusion.exit_code()))
}

fn pace(arguments: &RelationalArguments) -> RelationalPace {
    let preset = if arguments.full { RelationalPace::FULL } else { RelationalPace::QUICK };
    RelationalPace {
        ramp: arguments.ramp.unwrap_or(preset.ramp),
        hold: arguments.hold.unwrap_or(preset.hold),
        steps_max: arguments.steps.unwrap_or(preset.steps_max),
        ..preset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_some_time_and_no_more_than_a_day() {
        assert_eq!((length("1ms"), length("24h")), (Ok(Nanos::from_millis(1)), Ok(LENGTH_MAX)));
        assert_eq!(length_or_none("0s"), Ok(Nanos::ZERO));
        let refused = ["0s", "999us", "24h1s", "5124095h", "5", "soon"].map(length);
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
        assert!(length_or_none("5124095h").is_err());
    }
}
