//! `cargo xtask test`: every check and every test, one stage after the other, each to its end.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{
    deploy, prerequisites, prose,
    stages::{Ran, StageOutcome, run_command, run_stage, summary},
    target, web,
};

const STAGES: &[&str] = &["prerequisites", "format", "lints", "build", "tests", "deploy", "web", "prose"];

/// Runs the named stages, or all. `Ok(true)` when everything passed.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool> {
    if let Some(unknown) = names.iter().find(|name| !STAGES.contains(&name.as_str())) {
        bail!("no stage is called {unknown:?}; there are {}", STAGES.join(", "));
    }
    let mut outcomes: Vec<StageOutcome> = Vec::new();
    for stage in STAGES.iter().filter(|stage| names.is_empty() || names.iter().any(|name| name == *stage)) {
        outcomes.push(run_stage(stage, || work(root, stage)));
        if outcomes.iter().any(|outcome| outcome.name == "prerequisites" && !outcome.ran.succeeded) {
            break;
        }
    }
    println!("{}", summary(&outcomes));
    Ok(outcomes.iter().all(|outcome| outcome.ran.succeeded))
}

fn work(root: &Path, stage: &str) -> Result<Ran> {
    match stage {
        "prerequisites" => {
            target::warn_of_little_room(root);
            prerequisites::provide().map(|()| Ran::passed())
        }
        "format" => run_command(root, &["cargo", "fmt", "--all", "--check"]),
        "lints" => run_command(
            root,
            &["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        ),
        // As the tests need it: another choice of targets would have other features, and all crates twice. The program is among it.
        "build" => run_command(root, &["cargo", "test", "--workspace", "--locked", "--no-run"]),
        "tests" => run_command(root, &["cargo", "test", "--workspace", "--locked", "--no-fail-fast"]),
        "deploy" => deploy::check(root),
        "web" => web::check(root),
        "prose" => prose::check(root),
        _ => bail!("stage {stage} has no work"),
    }
}
