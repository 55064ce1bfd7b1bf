//! Warnings beside a run, on standard error.

use std::io::Write as _;

pub(crate) fn warn(message: &str) {
    // A warning that cannot be shown is no reason to end.
    let _ = writeln!(std::io::stderr(), "warning: {message}");
}
