//! `prony example`: servers of functions written in Rust, which show the engine as a library.

use std::process::ExitCode;

use prony_server::{
    config,
    examples::{donuts, music, starwars},
};

use crate::{flags::OptionFlags, logs};

#[derive(Debug, clap::Args)]
pub(crate) struct ExampleArguments {
    /// Which one: donuts (GraphQL and REST over one table, at port 3000), music (lists with batch functions, at
    /// port 3001) or starwars (what stands behind a gateway, at port 3002).
    name: Name,
    #[command(flatten)]
    options: OptionFlags,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    Donuts,
    Music,
    Starwars,
}

pub(crate) fn execute(arguments: ExampleArguments) -> anyhow::Result<ExitCode> {
    let says_where = arguments.options.0.iter().any(|(option, _)| option.spec().flag == Some("listen"));
    let mut settings = config::from_flags(arguments.options.0)?;
    if !says_where {
        settings.listen = vec![match arguments.name {
            Name::Donuts => donuts::LISTEN,
            Name::Music => music::LISTEN,
            Name::Starwars => starwars::LISTEN,
        }];
    }
    logs::start(&settings.log_level, settings.log_format)?;
    match arguments.name {
        Name::Donuts => donuts::server(settings),
        Name::Music => music::server(settings),
        Name::Starwars => starwars::server(settings),
    }
    .serve()?;
    Ok(ExitCode::SUCCESS)
}
