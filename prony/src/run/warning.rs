//! Warnings beside a run, on standard error.

use crate::terminal::tell;

pub(crate) fn warn(message: &str) {
    tell(&format!("warning: {message}"));
}
