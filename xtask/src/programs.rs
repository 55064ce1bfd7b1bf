//! The stage of tests: the programs that `cargo test` builds, some at a time. Most of them wait for servers, databases and clocks, and one
//! alone leaves half of two processors idle.

use std::{
    collections::VecDeque,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{
    stages::{Ran, run_command, run_with_output},
    target,
};

/// More of them make figures of time in tests void, on two processors.
const AT_A_TIME: usize = 2;

/// One program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// As `cargo test` takes it, for whoever runs it again.
    name: String,
    executable: PathBuf,
    /// The folder of its package, where Cargo runs it.
    package: PathBuf,
    is_integration: bool,
}

/// Cargo's message for something that it has built, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    profile: Profile,
}

#[derive(Debug, Default, Deserialize)]
struct Target {
    #[serde(default)]
    kind: Vec<String>,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Default, Deserialize)]
struct Profile {
    #[serde(default)]
    test: bool,
}

/// Runs all programs, then the examples of documentation.
pub(crate) fn run(root: &Path, programs: Vec<Program>) -> Result<Ran> {
    println!("{} programs of tests, {AT_A_TIME} at a time", programs.len());
    let mut ran = Ran::passed();
    for one in beside_each_other(programs, &show)? {
        ran += one;
    }
    ran += run_command(root, &["cargo", "test", "--workspace", "--locked", "--no-fail-fast", "--doc"])?;
    Ok(ran)
}

/// Those that Cargo has built, or builds now.
pub(crate) fn built(root: &Path) -> Result<Vec<Program>> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["test", "--workspace", "--locked", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if target::is_built_once() {
        cargo.envs(target::BUILT_ONCE);
    }
    let output = cargo.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the tests could not be built");
    }
    programs_of(&String::from_utf8_lossy(&output.stdout))
}

/// Of Cargo's messages, one a line. Tests of whole programs take the longest, and come first so that none of them is left at the end.
fn programs_of(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Message = serde_json::from_str(line).context("Cargo's message is not understood")?;
        let Some(executable) = message.executable.filter(|_| message.profile.test) else { continue };
        let package = message.manifest_path.parent().context("a manifest has no folder")?.to_path_buf();
        let folder = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = message.target.kind.first().map_or("lib", String::as_str);
        let name = format!("{folder}: {kind} {}", message.target.name);
        programs.push(Program { name, executable, package, is_integration: kind == "test" });
    }
    programs.sort_by_key(|program| !program.is_integration);
    Ok(programs)
}

/// What is said of a program comes whole, or it would stand among what another one says.
fn show(said: &[u8]) {
    // A terminal that is gone makes no failed stage.
    let _ = std::io::stdout().write_all(said);
}

/// In the order in which they ended.
fn beside_each_other(programs: Vec<Program>, show: &(impl Fn(&[u8]) + Sync)) -> Result<Vec<Ran>> {
    let left = Mutex::new(VecDeque::from(programs));
    let ended = Mutex::new(Vec::new());
    let next = || left.lock().ok()?.pop_front();
    let work = || -> Result<()> {
        while let Some(program) = next() {
            let ran = run_program(&program, show)?;
            if let Ok(mut ended) = ended.lock() {
                ended.push(ran);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().map_err(|_| anyhow::anyhow!("a thread that runs tests has panicked"))?
        })
    })?;
    ended.into_inner().context("a thread that runs tests has panicked")
}

/// What a program says stands together, under its name, when it has ended; that it runs is said before.
fn run_program(program: &Program, show: &impl Fn(&[u8])) -> Result<Ran> {
    show(format!("running {}\n", program.name).as_bytes());
    let started = Instant::now();
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.package).env("CARGO_MANIFEST_DIR", &program.package);
    let mut said = Vec::new();
    let mut ran = run_with_output(&mut said, command)?;
    let heading = format!("\n--- {} ({:.1} s)\n", program.name, started.elapsed().as_secs_f64());
    show(&[heading.as_bytes(), &said].concat());
    if !ran.succeeded && ran.failures.is_empty() {
        ran.failures
            .push(format!("{}\nit ended without a failed test; its last lines stand above", program.name));
    }
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_that_have_tests() {
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"/p/lib/Cargo.toml","target":{"kind":["lib"],"name":"a"},"profile":{"test":true},"executable":"/t/a-1"}
{"reason":"compiler-artifact","manifest_path":"/p/lib/Cargo.toml","target":{"kind":["bin"],"name":"b"},"profile":{"test":false},"executable":"/t/b"}
{"reason":"compiler-artifact","manifest_path":"/p/lib/Cargo.toml","target":{"kind":["test"],"name":"c"},"profile":{"test":true},"executable":"/t/c-2"}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"build-finished","success":true}"#;
        let programs = programs_of(messages).unwrap();
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["lib: test c", "lib: lib a"]);
        assert_eq!(programs[0].package, Path::new("/p/lib"));
        assert!(programs_of("no message").is_err());
    }

    fn program(folder: &Path, name: &str, script: &str) -> Program {
        let executable = folder.join(name);
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mut permissions = std::fs::metadata(&executable).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&executable, permissions).unwrap();
        Program { name: name.to_owned(), executable, package: folder.to_owned(), is_integration: true }
    }

    #[test]
    fn each_runs_in_its_folder_and_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let result = "test result: ok. 2 passed; 0 failed; 0 ignored";
        let whole = program(folder.path(), "whole", &format!("test -x whole && echo '{result}'"));
        let dying = program(folder.path(), "dying", "echo 'test a ... ' >&2; kill -9 $$");
        let shown = Mutex::new(Vec::new());
        let show = |said: &[u8]| shown.lock().unwrap().push(String::from_utf8_lossy(said).into_owned());
        let mut ended = beside_each_other(vec![whole, dying], &show).unwrap();
        ended.sort_by_key(|ran| ran.succeeded);
        let [dead, passed] = &ended[..] else { panic!("two programs ran") };
        assert!(passed.succeeded && !dead.succeeded);
        assert_eq!(passed.counts.passed, 2);
        assert!(dead.failures[0].starts_with("dying\n"), "{:?}", dead.failures);
        let shown = shown.into_inner().unwrap().concat();
        assert!(shown.contains(result) && shown.contains("test a ... "), "{shown}");
    }
}
