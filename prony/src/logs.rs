//! Logs go to standard error, as text, in colours where a terminal shows it and `NO_COLOR` is not set, or as one JSON object a line.

use std::io::IsTerminal;

use anyhow::Context;
use prony_server::config::LogFormat;
use tracing_subscriber::{EnvFilter, fmt};

use crate::terminal::is_set;

/// What writes down each byte of requests that the server makes itself, and with them tokens and passwords.
const TELLS_SECRETS: &str = "ureq_proto=info";

/// Starts logging for the whole process; `level` is a level or a filter by module.
pub(crate) fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("`{level}` is no log level; write error, warn, info, debug or trace"))?;
    let filter =
        if is_traced(level) { filter.add_directive(TELLS_SECRETS.parse()?) } else { filter };
    // Whoever reads the log may go away: what cannot be written is lost, and nothing else. Told of on the same standard error it would
    // end the thread that wrote it.
    let builder =
        fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let has_colors = std::io::stderr().is_terminal() && !is_set("NO_COLOR");
    let outcome = match format {
        LogFormat::Text => builder.with_ansi(has_colors).with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    outcome.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// Whether anything is logged at this level. `5` is another name of it.
fn is_traced(level: &str) -> bool {
    let mut levels = level.split([',', '=']).map(str::trim);
    levels.any(|level| level.eq_ignore_ascii_case("trace") || level == "5")
}
