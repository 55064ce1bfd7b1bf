//! `cargo xtask test`: every check and every test. One stage comes after the other, each to its end; only the lints, which wait for nothing,
//! take what the tests leave of the processors.

use std::{io::Write, path::Path, thread, time::Instant};

use anyhow::{Result, bail};

use crate::{
    deploy, prerequisites, programs, prose,
    stages::{Ran, StageOutcome, judged, run_command, run_command_aside, run_stage, summary},
    target, web,
};

const STAGES: &[&str] = &["prerequisites", "format", "build", "lints", "tests", "deploy", "web", "prose"];
const LINTS: [&str; 8] =
    ["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];

/// Runs the named stages, or all. `Ok(true)` when everything passed.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool> {
    if let Some(unknown) = names.iter().find(|name| !STAGES.contains(&name.as_str())) {
        bail!("no stage is called {unknown:?}; there are {}", STAGES.join(", "));
    }
    let is_asked = |stage: &&str| names.is_empty() || names.iter().any(|name| name == stage);
    let started = Instant::now();
    let mut outcomes: Vec<StageOutcome> = Vec::new();
    for stage in STAGES.iter().copied().filter(is_asked) {
        match stage {
            // They come with the tests.
            "lints" if is_asked(&"tests") => {}
            "tests" if is_asked(&"lints") => outcomes.extend(tests_and_lints(root)),
            stage => outcomes.push(run_stage(stage, || work(root, stage))),
        }
        if outcomes.iter().any(|outcome| outcome.name == "prerequisites" && !outcome.ran.succeeded) {
            break;
        }
    }
    println!("{}", summary(&outcomes, started.elapsed()));
    Ok(outcomes.iter().all(|outcome| outcome.ran.succeeded))
}

/// The lints have the lowest priority, and nothing that a test waits for is later for them.
fn tests_and_lints(root: &Path) -> [StageOutcome; 2] {
    // Before the lints begin: Cargo waits where another one has its folder.
    let built = programs::built(root);
    thread::scope(|scope| {
        let lints = scope.spawn(|| {
            let started = Instant::now();
            let words: Vec<&str> = ["nice", "-n", "19"].into_iter().chain(LINTS).collect();
            (run_command_aside(root, &words), started.elapsed())
        });
        let tests = run_stage("tests", || programs::run(root, built?));
        let ((ran, said), duration) = lints.join().expect("the thread of the lints does not panic");
        println!("\n=== lints, beside the tests");
        // A terminal that is gone makes no failed stage.
        let _ = std::io::stdout().write_all(&said);
        [StageOutcome { name: "lints", ran: judged("lints", ran), duration }, tests]
    })
}

fn work(root: &Path, stage: &str) -> Result<Ran> {
    match stage {
        "prerequisites" => {
            target::warn_of_little_room(root);
            prerequisites::provide().map(|()| Ran::passed())
        }
        "format" => run_command(root, &["cargo", "fmt", "--all", "--check"]),
        "lints" => run_command(root, &LINTS),
        // As the tests need it: another choice of targets would have other features, and all crates twice. The program is among it.
        "build" => run_command(root, &["cargo", "test", "--workspace", "--locked", "--no-run"]),
        "tests" => programs::run(root, programs::built(root)?),
        "deploy" => deploy::check(root),
        "web" => web::check(root),
        "prose" => prose::check(root),
        _ => bail!("stage {stage} has no work"),
    }
}
