//! The checks of the pages: types, audits and a browser against a server, which the checks start, and made-up reports.

use std::path::Path;

use anyhow::Result;

use crate::{
    npm,
    stages::{Ran, run_command},
};

const CHECKS: [&str; 9] = [
    "check",
    "test:audit",
    "test:browser",
    "test:console",
    "test:live",
    "test:live-run",
    "test:report",
    "test:series",
    "test:site",
];
/// Of the program; which one it is does not matter.
const A_TEST: &str = "selftest";
/// Where documents find pictures, from `web/`.
const PICTURES: &str = "../docs/images";

pub(crate) fn check(root: &Path) -> Result<Ran> {
    let directory = root.join("web");
    let installed = npm::install(&directory)?;
    if !installed.succeeded {
        return Ok(installed);
    }
    let documented = build(root)?;
    if !documented.succeeded {
        return Ok(documented);
    }
    npm::run_scripts(&directory, &CHECKS)
}

/// Pictures of the pages and of the terminal's screen, for the documents that show them; of those that are named, or all.
pub(crate) fn picture(root: &Path, names: &[String]) -> Result<bool> {
    let directory = root.join("web");
    for step in [npm::install(&directory)?, build(root)?] {
        if !step.succeeded {
            return Ok(false);
        }
    }
    let mut words = vec!["npm", "run", "screenshots", "--", PICTURES];
    words.extend(names.iter().map(String::as_str));
    Ok(run_command(&directory, &words)?.succeeded)
}

/// The program with the documentation, which only release builds have otherwise. A test beside it makes Cargo choose features as for all
/// tests, which have been built.
fn build(root: &Path) -> Result<Ran> {
    let words =
        ["env", "PRONY_DOCS=on", "cargo", "build", "--workspace", "--bins", "--test", A_TEST, "--locked"];
    run_command(root, &words)
}
