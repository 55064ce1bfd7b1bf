//! The command line: reads arguments, hands over to one module a command, and turns the outcome into an exit
//! code. Everything else is in the libraries.
//!
//! Exit codes: 0 passed, 1 failed, 3 void, by the rule of `prony_model::verdict::rule`; 2 could not run.

mod compare;
mod completions;
mod docs;
mod draft;
mod example;
mod find;
mod flags;
mod from_curl;
mod from_har;
mod from_openapi;
mod graph;
mod health;
mod init;
mod interrupt;
mod key;
mod kinds;
mod lab;
mod logs;
mod man;
mod many;
mod micro;
mod nats;
mod permissions;
mod report;
mod run;
mod run_names;
mod schema;
mod selftest;
mod series;
mod serve;
mod summaries;
mod sweep;
mod terminal;
mod triggers;
mod version;
mod worker;

use anyhow::Context as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use prony_server::observe::allocations::CountingAllocator;

/// Serves the data you have as a fast API, and measures any HTTP API honestly.
#[derive(Debug, Parser)]
#[command(name = "prony", version = version::VERSION.as_str(), max_term_width = 100)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve databases as GraphQL.
    Serve(serve::ServeArguments),
    /// Look at a source and write a first configuration.
    Init(init::InitArguments),
    /// Serve an example of an API written in Rust.
    Example(example::ExampleArguments),
    /// Ask a running server whether requests should be sent to it.
    Health(health::HealthArguments),
    /// Print the GraphQL schema of a source.
    Schema(schema::SchemaArguments),
    /// Import, export and look after a graph.
    Graph(graph::GraphArguments),
    /// Check and compact series.
    Series(series::SeriesArguments),
    /// Make API keys for those who ask a server.
    Key(key::KeyArguments),
    /// Test what roles may see and do.
    Permissions(Box<permissions::PermissionsArguments>),
    /// Have a PostgreSQL database tell of changes made by others.
    Triggers(triggers::TriggersArguments),
    /// Run a load test.
    Run(Box<run::RunArguments>),
    /// Wait for a share of load tests that run on several machines.
    Worker(Box<worker::WorkerArguments>),
    /// Show saved results in the terminal, as a page, or as files.
    Report(report::ReportArguments),
    /// Find the largest load that keeps its objectives.
    Find(find::FindArguments),
    /// Measure every combination of users, message sizes and settings.
    Sweep(Box<sweep::SweepArguments>),
    /// Compare two targets or plans, run in turns, or saved results.
    Compare(compare::CompareArguments),
    /// Draft a plan of a command of curl.
    FromCurl(from_curl::CurlArguments),
    /// Draft a plan of what a browser recorded.
    FromHar(from_har::HarArguments),
    /// Draft a plan of an OpenAPI description.
    #[command(name = "from-openapi")]
    FromOpenApi(from_openapi::OpenApiArguments),
    /// Show on this machine that the lab reports what happens.
    Selftest(selftest::SelftestArguments),
    /// The self-test's target; ends with its standard input.
    #[command(name = prony_experiments::selftest::TARGET_COMMAND, hide = true)]
    SelftestTarget,
    /// Read the documentation in a browser.
    Docs(docs::DocsArguments),
    /// Print completions for a shell.
    Completions(completions::CompletionsArguments),
    /// Write manual pages.
    Man(man::ManArguments),
    /// List the experiments, or run one.
    Lab(lab::LabArguments),
    /// The engine's micro-benchmarks, as JSON for `prony lab resolvers`.
    #[command(name = prony_experiments::resolvers::MICRO_COMMAND, hide = true)]
    MicroBenchmarks(micro::MicroArguments),
}

const COULD_NOT_RUN: u8 = 2;

/// Counts for the micro-benchmarks, and nowhere else.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let given = run::live::joined(std::env::args_os().collect());
    // A script has k6's flags, some of which are wrk's in another meaning.
    if let Some(read) = run::k6::K6Arguments::read(&given) {
        return read.map_or_else(|error| explain(&error), |arguments| run::k6::execute(&arguments));
    }
    // A JMeter plan has JMeter's.
    if let Some(read) = run::jmeter::JmeterArguments::read(&given) {
        return read
            .map_or_else(|error| explain(&error), |arguments| finished(run::jmeter::execute(&arguments)));
    }
    if let Some(refusal) = run::folder::refusal(&given) {
        return finished(Err(anyhow::Error::msg(refusal)));
    }
    let line = match CommandLine::try_parse_from(&given) {
        Ok(line) => line,
        Err(error) => return explain(&error),
    };
    let outcome = match line.command {
        Command::Serve(arguments) => serve::execute(arguments),
        Command::Init(arguments) => init::execute(&arguments),
        Command::Example(arguments) => example::execute(arguments),
        Command::Health(arguments) => health::execute(&arguments),
        Command::Schema(arguments) => schema::execute(arguments),
        Command::Graph(arguments) => graph::execute(arguments),
        Command::Series(arguments) => series::execute(&arguments),
        Command::Key(arguments) => key::execute(&arguments),
        Command::Permissions(arguments) => permissions::execute(*arguments),
        Command::Triggers(arguments) => triggers::execute(arguments),
        Command::Run(arguments) => run::execute(&arguments),
        Command::Worker(arguments) => worker::execute(*arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Find(arguments) => find::execute(&arguments),
        Command::Sweep(arguments) => sweep::execute(&arguments),
        Command::Compare(arguments) => compare::execute(&arguments),
        Command::FromCurl(arguments) => from_curl::execute(&arguments),
        Command::FromHar(arguments) => from_har::execute(&arguments),
        Command::FromOpenApi(arguments) => from_openapi::execute(&arguments),
        Command::Selftest(arguments) => selftest::execute(&arguments),
        Command::SelftestTarget => selftest::execute_target(),
        Command::Docs(arguments) => docs::execute(&arguments),
        Command::Completions(arguments) => completions::execute(&arguments),
        Command::Man(arguments) => man::execute(&arguments),
        Command::Lab(arguments) => lab::execute(arguments),
        Command::MicroBenchmarks(arguments) => micro::execute(&arguments),
    };
    finished(outcome)
}

fn finished(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        say(&error);
        ExitCode::from(COULD_NOT_RUN)
    })
}

/// What is wrong with the command line, or its help.
fn explain(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { COULD_NOT_RUN } else { 0 };
    let _ = error.print();
    ExitCode::from(code)
}

/// As results keep it: without the passwords of addresses.
fn command_line() -> Vec<String> {
    std::env::args().map(|argument| prony_runs::observe::without_password(&argument)).collect()
}

/// The one place where an error reaches the terminal; causes follow on the same line.
fn say(error: &anyhow::Error) {
    prony_report::close_screen();
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Many errors name their cause themselves.
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    // Where standard error is closed nobody reads.
    let _ = print_error(&format!("error: {text}\n"));
}

/// To standard output. The exit code is the command's own, also where nobody reads any more.
fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    write_out(std::io::stdout(), text.as_ref()).context("cannot print")
}

/// To standard error.
fn print_error(text: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    write_out(std::io::stderr(), text.as_ref()).context("cannot print to standard error")
}

/// All of it, at once: what other streams show later stands behind it, also where it ends within a line.
fn write_out(mut out: impl std::io::Write, text: &[u8]) -> std::io::Result<()> {
    match out.write_all(text).and_then(|()| out.flush()) {
        // Whoever reads has seen enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod command_reference;
