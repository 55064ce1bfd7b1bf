//! Logs go to standard error, as text, in colours where a terminal shows it and `NO_COLOR` is not set, or as one JSON object a line.

use std::io::IsTerminal;

use anyhow::Context;
use prony_server::config::LogFormat;
use tracing_subscriber::{EnvFilter, fmt};

use crate::terminal::is_set;

/// Starts logging for the whole process; `level` is a level or a filter by module.
pub(crate) fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("`{level}` is no log level; write error, warn, info, debug or trace"))?;
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let has_colors = std::io::stderr().is_terminal() && !is_set("NO_COLOR");
    let outcome = match format {
        LogFormat::Text => builder.with_ansi(has_colors).with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    outcome.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}
