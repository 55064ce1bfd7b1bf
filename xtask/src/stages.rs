//! Runs one stage's command: its output goes on as it comes, what it counts is added up, and what failed is kept for the end.

use std::{
    io::{BufRead, BufReader, IsTerminal, Read, Write},
    ops::AddAssign,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{counts::Counts, failures::Failures, target};

/// What a command, or several, came to.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) succeeded: bool,
    pub(crate) counts: Counts,
    /// What the tests that failed said, each with its name first.
    pub(crate) failures: Vec<String>,
}

impl Ran {
    /// Nothing that could fail or be counted.
    pub(crate) fn passed() -> Self {
        Self { succeeded: true, ..Self::default() }
    }
}

impl AddAssign for Ran {
    fn add_assign(&mut self, other: Self) {
        self.succeeded &= other.succeeded;
        self.counts += other.counts;
        self.failures.extend(other.failures);
    }
}

/// How one stage ended.
#[derive(Debug)]
pub(crate) struct StageOutcome {
    pub(crate) name: &'static str,
    pub(crate) ran: Ran,
    pub(crate) duration: Duration,
}

/// Runs `words` in `directory`. An error means that the command could not be run at all.
pub(crate) fn run_command(directory: &Path, words: &[&str]) -> Result<Ran> {
    println!("$ {}", words.join(" "));
    run_into(&mut std::io::stdout(), directory, words)
}

/// As `run_command`, and what it says comes together when it has ended: for what runs beside something else.
pub(crate) fn run_command_aside(directory: &Path, words: &[&str]) -> (Result<Ran>, Vec<u8>) {
    let mut said = format!("$ {}\n", words.join(" ")).into_bytes();
    let ran = run_with_output(&mut said, command(directory, words));
    (ran, said)
}

fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(directory);
    if target::is_built_once() {
        command.envs(target::BUILT_ONCE);
    }
    command
}

fn run_into(terminal: &mut impl Write, directory: &Path, words: &[&str]) -> Result<Ran> {
    let mut command = command(directory, words);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    // Somebody at a terminal sees it, and in colours.
    let is_read = !std::io::stderr().is_terminal();
    if is_read {
        command.stderr(Stdio::piped());
    }
    let mut child = command.spawn().with_context(|| format!("cannot run {}", words[0]))?;
    let errors = child.stderr.take().map(|errors| thread::spawn(move || pass_errors_on(errors)));
    let mut ran = read_output(terminal, child.stdout.take().expect("stdout is piped"))?;
    ran.succeeded = child.wait().context("cannot wait for the stage")?.success();
    ran.failures.extend(errors.and_then(|errors| errors.join().ok()).into_iter().flatten());
    Ok(ran)
}

/// Runs a command whose output and errors go into `said` in the order in which they come.
pub(crate) fn run_with_output(said: &mut Vec<u8>, mut command: Command) -> Result<Ran> {
    let program = command.get_program().to_owned();
    let cannot = || format!("cannot run {}", program.display());
    let (output, both) = std::io::pipe().with_context(cannot)?;
    command.stdin(Stdio::null()).stdout(both.try_clone().with_context(cannot)?).stderr(both);
    let mut child = command.spawn().with_context(cannot)?;
    // It holds the ends that are written to, and without it the child alone has them.
    drop(command);
    let mut ran = read_output(said, output)?;
    ran.succeeded = child.wait().with_context(cannot)?.success();
    Ok(ran)
}

/// What is counted and what has failed in an output, which goes on to `terminal`.
fn read_output(terminal: &mut impl Write, output: impl Read) -> Result<Ran> {
    let mut counts = Counts::default();
    let mut failures = Failures::default();
    pass_on(terminal, output, |line| {
        failures.read(line);
        if let Some(found) = Counts::from_line(line) {
            counts += found;
        }
    })
    .context("cannot pass on the stage's output")?;
    Ok(Ran { counts, failures: failures.into_excerpts(), ..Ran::default() })
}

/// Cargo's errors among what a command says on its standard error, all of which goes on to ours.
fn pass_errors_on(errors: impl Read) -> Vec<String> {
    let mut failures = Failures::default();
    // What cannot be passed on any more is not worth a failed stage.
    let _ = pass_on(&mut std::io::stderr(), errors, |line| failures.read_error(line));
    failures.into_excerpts()
}

/// Each line as it comes, to `terminal` and then to `look`.
fn pass_on(terminal: &mut impl Write, from: impl Read, mut look: impl FnMut(&str)) -> std::io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        terminal.write_all(&line)?;
        look(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// Runs a stage's work under its heading and times it. A command that cannot be run is a failed stage.
pub(crate) fn run_stage(name: &'static str, work: impl FnOnce() -> Result<Ran>) -> StageOutcome {
    println!("\n=== {name}");
    let started = Instant::now();
    let ran = judged(name, work());
    StageOutcome { name, ran, duration: started.elapsed() }
}

/// Of a command that could not be run, a failure, which is said.
pub(crate) fn judged(name: &str, ran: Result<Ran>) -> Ran {
    ran.unwrap_or_else(|error| {
        eprintln!("{name}: {error:#}");
        Ran::default()
    })
}

/// The closing lines: what each failed test said, each stage's verdict and time, then the sum of the tests. A stage that failed without a
/// failed test counts as one. `took` is the time of all stages, of which some ran beside each other.
pub(crate) fn summary(outcomes: &[StageOutcome], took: Duration) -> String {
    let mut lines = Vec::new();
    let failures: Vec<&str> =
        outcomes.iter().flat_map(|outcome| &outcome.ran.failures).map(String::as_str).collect();
    if !failures.is_empty() {
        lines.push("\n=== failures".to_owned());
        lines.push(failures.join("\n\n"));
    }
    lines.push("\n=== summary".to_owned());
    let mut sum = Counts::default();
    for outcome in outcomes {
        let mut counts = outcome.ran.counts;
        if !outcome.ran.succeeded {
            counts.failed = counts.failed.max(1);
        }
        let verdict = if outcome.ran.succeeded { "ok" } else { "FAILED" };
        let seconds = outcome.duration.as_secs_f64();
        lines.push(format!("{:<14} {verdict:<6} {seconds:>7.1} s", outcome.name));
        sum += counts;
    }
    lines.push(format!("{:<21} {:>7.1} s\n{sum}", "total", took.as_secs_f64()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn outcome(name: &'static str, succeeded: bool, passed: u64, failed: u64) -> StageOutcome {
        let counts = Counts { passed, failed, skipped: 0 };
        let ran = Ran { succeeded, counts, ..Ran::default() };
        StageOutcome { name, ran, duration: Duration::from_millis(1250) }
    }

    #[test]
    fn the_summary_counts_failed_stages() {
        let outcomes =
            [outcome("format", false, 0, 0), outcome("tests", false, 10, 2), outcome("web", true, 3, 0)];
        expect![[r"

            === summary
            format         FAILED     1.2 s
            tests          FAILED     1.2 s
            web            ok         1.2 s
            total                     3.8 s
            13 passed, 3 failed"]]
        .assert_eq(&summary(&outcomes, Duration::from_millis(3750)));
    }

    #[test]
    fn what_failed_stands_before_the_summary() {
        let mut outcomes = [outcome("tests", false, 1, 2), outcome("web", true, 3, 0)];
        outcomes[0].ran.failures = vec!["a::b\nleft: 1".to_owned(), "c".to_owned()];
        expect![[r"

            === failures
            a::b
            left: 1

            c

            === summary
            tests          FAILED     1.2 s
            web            ok         1.2 s
            total                     2.5 s
            4 passed, 2 failed"]]
        .assert_eq(&summary(&outcomes, Duration::from_millis(2500)));
    }

    #[test]
    fn a_command_reports_its_success_and_its_counts() {
        let here = Path::new(".");
        let mut terminal = Vec::new();
        let script = "echo '2 passed, 1 failed'; exit 1";
        let ran = run_into(&mut terminal, here, &["sh", "-c", script]).unwrap();
        assert!(!ran.succeeded);
        assert_eq!((ran.counts.passed, ran.counts.failed), (2, 1));
        assert_eq!(terminal, b"2 passed, 1 failed\n");
        assert!(run_into(&mut terminal, here, &["no-such-program-anywhere"]).is_err());
    }

    #[test]
    fn a_command_aside_keeps_what_it_says() {
        let script = "echo one; echo two >&2; echo '1 passed, 0 failed'";
        let (ran, said) = run_command_aside(Path::new("."), &["sh", "-c", script]);
        let ran = ran.unwrap();
        assert_eq!((ran.succeeded, ran.counts.passed), (true, 1));
        let said = String::from_utf8(said).unwrap();
        assert!(said.ends_with("\none\ntwo\n1 passed, 0 failed\n"), "{said}");
        assert!(run_command_aside(Path::new("."), &["no-such-program-anywhere"]).0.is_err());
    }
}
