//! Ctrl-C and SIGTERM during a measurement: it ends early, and what was measured is kept and shown. A second
//! signal ends the program at once, unless it comes so soon after the first that nobody can have meant it.

use std::thread;
use std::time::{Duration, Instant};

use crate::terminal;
use anyhow::Context;
use prony_load::StopFlag;
use tokio::signal::unix::{SignalKind, signal};

/// What a shell reports for a program that Ctrl-C ended: 128 and SIGINT's number.
const INTERRUPTED: i32 = 130;

/// A terminal and who started the program often pass on one signal each.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

const STOPPING: &str = "stopping; what was measured until now is shown, and a second Ctrl-C ends at once";

/// A flag that the first signal sets.
pub(crate) fn stop_flag() -> anyhow::Result<StopFlag> {
    stop_flag_or_exit(INTERRUPTED)
}

/// As [`stop_flag`]; the second signal ends the program with this code.
pub(crate) fn stop_flag_or_exit(code: i32) -> anyhow::Result<StopFlag> {
    let flag = StopFlag::default();
    let handed = flag.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the thread that waits for signals")?;
    let entered = runtime.enter();
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut terminations = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    drop(entered);
    thread::spawn(move || {
        runtime.block_on(async {
            let mut first = None;
            loop {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
                let first = *first.get_or_insert_with(Instant::now);
                if handed.is_stopped() && first.elapsed() >= ONE_SIGNAL {
                    terminal::leave();
                    std::process::exit(code);
                }
                if !handed.is_stopped() {
                    // Not by this thread: a terminal that takes nothing must not keep the second signal waiting.
                    thread::spawn(|| terminal::tell_whoever_watches(STOPPING));
                }
                handed.stop();
            }
        });
    });
    Ok(flag)
}
