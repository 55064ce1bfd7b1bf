//! Ctrl-C and SIGTERM during a measurement: it ends early, and what was measured is kept and shown. A second
//! signal ends the program at once.

use std::thread;

use anyhow::Context;
use prony_load::StopFlag;
use tokio::signal::unix::{SignalKind, signal};

/// What a shell reports for a program that Ctrl-C ended: 128 and SIGINT's number.
const INTERRUPTED: i32 = 130;

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
            for is_first in [true, false] {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
                if is_first {
                    handed.stop();
                }
            }
            std::process::exit(code);
        });
    });
    Ok(flag)
}
