//! Logs go to standard error, as text, in colours where a terminal shows it and `NO_COLOR` is not set, or as one JSON object a line.

use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use anyhow::Context;
use prony_server::config::LogFormat;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
};
use tracing_subscriber::{EnvFilter, fmt};

use crate::terminal::is_set;

/// A reader that takes nothing for so long is not waited for again until it takes more.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// A pipe that takes anything takes so much: `PIPE_BUF` of pipe(7).
const PIECE_BYTES: usize = 4096;

/// Whether whoever reads the log has taken nothing for too long.
static STANDS_STILL: AtomicBool = AtomicBool::new(false);

/// What writes down each byte of requests that the server makes itself, and with them tokens and passwords.
const TELLS_SECRETS: &str = "ureq_proto=info";

/// Starts logging for the whole process; `level` is a level or a filter by module.
pub(crate) fn start(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("`{level}` is no log level; write error, warn, info, debug or trace"))?;
    let filter = if is_traced(level) { filter.add_directive(TELLS_SECRETS.parse()?) } else { filter };
    // Whoever reads the log may go away: what cannot be written is lost, and nothing else. Told of on the same standard error it would
    // end the thread that wrote it.
    let builder = fmt().with_env_filter(filter).with_writer(|| LogWriter).log_internal_errors(false);
    let has_colors = io::stderr().is_terminal() && !is_set("NO_COLOR");
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

/// Standard error, whose reader may stand still: it is waited for once, and lines are left out until it takes more. A server neither stands still
/// with it, nor cannot be stopped.
#[derive(Debug)]
struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    /// A line is not mixed with those of other threads.
    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        for piece in line.chunks(PIECE_BYTES) {
            if !is_taken(&stderr) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            stderr.write_all(piece)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether something can be written. What cannot be asked is tried.
fn is_taken(stderr: &impl AsFd) -> bool {
    let wait = if STANDS_STILL.load(Relaxed) { NO_WAIT } else { PATIENCE };
    let mut waited = [PollFd::new(stderr, PollFlags::OUT)];
    let is_taken = retry_on_intr(|| poll(&mut waited, Some(&wait))) != Ok(0);
    STANDS_STILL.store(!is_taken, Relaxed);
    is_taken
}
