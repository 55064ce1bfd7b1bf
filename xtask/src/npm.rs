//! What npm does for stages: it installs by the lock file, and runs scripts that check something.

use std::path::Path;

use anyhow::Result;

use crate::{counts::Counts, stages::run_command};

/// Installs what the folder's lock file names.
pub(crate) fn install(directory: &Path) -> Result<(bool, Counts)> {
    run_command(directory, &["npm", "ci", "--no-audit", "--no-fund"])
}

/// Runs scripts of the folder's package, each to its end. One that counts nothing is one test.
pub(crate) fn run_scripts(directory: &Path, scripts: &[&str]) -> Result<(bool, Counts)> {
    let mut total = (true, Counts::default());
    for script in scripts {
        let (succeeded, mut counts) = run_command(directory, &["npm", "run", script])?;
        if counts == Counts::default() {
            counts.passed = u64::from(succeeded);
            counts.failed = u64::from(!succeeded);
        }
        total.0 &= succeeded;
        total.1 += counts;
    }
    Ok(total)
}
