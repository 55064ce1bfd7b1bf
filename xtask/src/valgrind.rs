//! `cargo xtask valgrind`: unsafe code under Valgrind's memcheck. The machine of k6 scripts runs as `prony run` of the development build, on the scripts
//! beside its tests; the stacks of its users and the slices of the graph's store run as their own tests.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Valgrind's, where it has found something: none of the program's, and none of k6's.
const FOUND: i32 = 42;
/// Of a run whose figures are void: under Valgrind the load itself is late.
const VOID: i32 = 3;
const SCRIPTS: &str = "lab/script-k6/tests/memcheck";
const SUPPRESSIONS: &str = "xtask/valgrind.supp";
/// A development build needs some seconds to listen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tests of a package's library whose names begin so.
struct Tests {
    package: &'static str,
    begin: &'static str,
    /// Those that look at what Valgrind changes.
    skipped: &'static [&'static str],
}

const TESTS: [Tests; 2] = [
    Tests { package: "prony-graph-store", begin: "memory::cell::", skipped: &[] },
    Tests {
        package: "prony-script-k6",
        begin: "vm::fiber::",
        // The first reads guards through the system, which memcheck reports; the second counts maps.
        skipped: &["what_is_beneath_a_stack_cannot_be_touched", "many_stacks_take_few_memory_maps"],
    },
];

/// A server to send requests to, outside of Valgrind.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended by itself needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `Ok(true)` when nothing was found and all ran.
pub(crate) fn run(root: &Path) -> Result<bool> {
    if !Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success())
    {
        bail!("valgrind is needed: `apt-get install valgrind`");
    }
    let mut lines = Vec::new();
    let mut is_sound = true;
    let mut judge = |name: String, is_right: bool, code: Option<i32>| {
        is_sound &= is_right;
        lines.push(format!("{name}: {}", verdict(is_right, code)));
    };
    let program = built(root, &["build", "--package", "prony"])?;
    let server = serve(&program)?;
    for script in scripts(root)? {
        println!("\n=== {}", script.display());
        let mut command = memcheck(root, &program);
        command.args(["run", "--no-result"]).arg(&script).env("TARGET", &server.url);
        let code = command.status().context("cannot run valgrind")?.code();
        judge(script.display().to_string(), matches!(code, Some(0 | VOID)), code);
    }
    for tests in &TESTS {
        println!("\n=== {} {}", tests.package, tests.begin);
        let program = built(root, &["test", "--no-run", "--lib", "--package", tests.package])?;
        let mut command = memcheck(root, &program);
        command.arg(tests.begin).args(tests.skipped.iter().flat_map(|name| ["--skip", *name]));
        let code = command.status().context("cannot run valgrind")?.code();
        judge(format!("{} {}", tests.package, tests.begin), code == Some(0), code);
    }
    println!("\n=== summary\n{}", lines.join("\n"));
    Ok(is_sound)
}

fn verdict(is_right: bool, code: Option<i32>) -> String {
    match code {
        _ if is_right => "nothing found".to_owned(),
        Some(FOUND) => "FAULT: Valgrind has found something".to_owned(),
        Some(code) => format!("FAULT: it ended with {code}"),
        None => "FAULT: a signal has ended it".to_owned(),
    }
}

fn memcheck(root: &Path, program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=memcheck", "--quiet", "--leak-check=no", "--fair-sched=yes", "--num-callers=30"])
        .arg(format!("--error-exitcode={FOUND}"))
        .arg(format!("--suppressions={}", root.join(SUPPRESSIONS).display()))
        .arg(program)
        .current_dir(root);
    command
}

/// In the order of their names.
fn scripts(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(SCRIPTS);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut scripts: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    scripts.sort();
    Ok(scripts)
}

/// Runs Cargo; gives the program that it has made.
fn built(root: &Path, arguments: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new("cargo");
    command.args(arguments).args(["--locked", "--message-format=json-render-diagnostics"]).current_dir(root);
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", output.status);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    program_of(&said).with_context(|| format!("{command:?} has made no program"))
}

/// The last program that Cargo's messages name.
fn program_of(said: &str) -> Option<PathBuf> {
    let mut programs = said.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    programs.next_back()
}

fn serve(program: &Path) -> Result<Server> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let address = free.context("no port is free")?;
    let mut command = Command::new(program);
    command.args(["example", "donuts", "--listen", &address.to_string()]);
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start a server")?;
    let server = Server { child, url: format!("http://{address}") };
    let begin = Instant::now();
    while TcpStream::connect(address).is_err() {
        if begin.elapsed() > PATIENCE {
            bail!("{command:?} does not listen");
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_last_that_cargo_names() {
        let said = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                    {\"reason\":\"compiler-artifact\",\"executable\":\"/target/debug/prony\"}\n\
                    {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(program_of(said), Some(PathBuf::from("/target/debug/prony")));
        assert_eq!(program_of("no JSON\n"), None);
    }

    #[test]
    fn what_was_found_is_told_apart_from_what_did_not_run() {
        assert_eq!(verdict(true, Some(VOID)), "nothing found");
        assert!(verdict(false, Some(FOUND)).contains("Valgrind has found"));
        assert!(verdict(false, Some(2)).ends_with("ended with 2"));
        assert!(verdict(false, None).contains("signal"));
    }

    #[test]
    fn there_are_scripts_to_run() {
        let scripts = scripts(&crate::root()).unwrap();
        assert!(scripts.len() >= 3, "{scripts:?}");
        assert!(scripts.iter().all(|path| path.extension().is_some_and(|end| end == "js")), "{scripts:?}");
    }
}
