//! What npm does for stages: it installs by the lock file, and runs scripts that check something.

use std::path::Path;

use anyhow::Result;

use crate::{
    counts::Counts,
    stages::{Ran, run_command},
};

/// Installs what the folder's lock file names.
pub(crate) fn install(directory: &Path) -> Result<Ran> {
    run_command(directory, &["npm", "ci", "--no-audit", "--no-fund"])
}

/// Runs scripts of the folder's package, each to its end. One that counts nothing is one test.
pub(crate) fn run_scripts(directory: &Path, scripts: &[&str]) -> Result<Ran> {
    let mut total = Ran::passed();
    for script in scripts {
        let mut ran = run_command(directory, &["npm", "run", script])?;
        if ran.counts == Counts::default() {
            ran.counts.passed = u64::from(ran.succeeded);
            ran.counts.failed = u64::from(!ran.succeeded);
        }
        total += ran;
    }
    Ok(total)
}
