//! `prony lab series`: options and what is printed.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use prony_experiments::{
    Durability,
    series::{self, SeriesEngine, SeriesOptions, SeriesPace, SeriesPart},
};
use prony_model::Nanos;

use crate::interrupt;

#[derive(Debug, Args)]
pub(super) struct SeriesLabArguments {
    /// Take the study's 60 s a step, ten million rows, and 30 s a query, instead of a few seconds.
    #[arg(long)]
    full: bool,
    /// What to measure.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = SeriesPart::ALL)]
    parts: Vec<SeriesPart>,
    /// What keeps the rows.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = SeriesEngine::ALL)]
    engines: Vec<SeriesEngine>,
    /// Make the databases of the measured rows at this PostgreSQL server (`postgres://…`), and drop them, instead of starting one.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Cache metadata in this Redis (`redis://…`) instead of starting one.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Write to this QuestDB (`questdb://HOST:PORT?http=HOST:PORT`; tables whose names begin with `lab_`, dropped behind each row), or start
    /// this program (`questdb-9.3.1.jar`), instead of the newest that Maven has fetched.
    #[arg(long, value_name = "URL|FILE")]
    questdb: Option<String>,
    /// When the embedded engine acknowledges notifications; the study's script is run with the first.
    #[arg(long, value_name = "MODE,…", value_delimiter = ',', default_values_t = [Durability::Sync, Durability::Off])]
    durability: Vec<Durability>,
    /// Length of the study's script, instead of the quick or the full length.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    published: Option<Nanos>,
    /// Length of each other step of notifications.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    write: Option<Nanos>,
    /// Rows of the table that is queried.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    rows: Option<u32>,
    /// Length of each run of a query.
    #[arg(long, value_name = "DURATION", value_parser = super::length)]
    read: Option<Nanos>,
    /// Processors for the engine; the lab has the others.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cpus: usize,
    /// Makes requests repeatable.
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Results go into a directory of their own below this one, and the engine's data while it runs.
    #[arg(long, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

pub(super) fn run(arguments: SeriesLabArguments) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let options = SeriesOptions {
        program,
        pace: pace(&arguments),
        parts: arguments.parts,
        engines: arguments.engines,
        postgres: arguments.postgres,
        redis: arguments.redis,
        questdb: arguments.questdb,
        durabilities: arguments.durability,
        processors: arguments.cpus,
        seed: arguments.seed,
        output: arguments.output,
        command_line: crate::command_line(),
        stop: interrupt::stop_flag()?,
    };
    super::show(&series::run(&options)?)
}

fn pace(arguments: &SeriesLabArguments) -> SeriesPace {
    let preset = if arguments.full { SeriesPace::FULL } else { SeriesPace::QUICK };
    SeriesPace {
        published: arguments.published.unwrap_or(preset.published),
        write: arguments.write.unwrap_or(preset.write),
        rows: arguments.rows.unwrap_or(preset.rows),
        read: arguments.read.unwrap_or(preset.read),
        ..preset
    }
}
