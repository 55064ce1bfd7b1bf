//! The checks of the pages: types, audits and a browser against a server, which the checks start, and made-up reports.

use std::path::Path;

use anyhow::Result;

use crate::{counts::Counts, npm, stages::run_command};

const CHECKS: [&str; 8] = [
    "check",
    "test:audit",
    "test:browser",
    "test:live",
    "test:live-run",
    "test:report",
    "test:series",
    "test:site",
];

/// Needs the `prony` program of the build stage.
pub(crate) fn check(root: &Path) -> Result<(bool, Counts)> {
    let directory = root.join("web");
    let installed = npm::install(&directory)?;
    if !installed.0 {
        return Ok(installed);
    }
    // Only release builds have the documentation otherwise.
    let documented =
        run_command(root, &["env", "PRONY_DOCS=on", "cargo", "build", "--package", "prony", "--locked"])?;
    if !documented.0 {
        return Ok(documented);
    }
    npm::run_scripts(&directory, &CHECKS)
}
