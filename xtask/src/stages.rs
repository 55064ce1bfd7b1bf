//! Runs one stage's command: its output goes on as it comes, and what it counts is added up.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{counts::Counts, target};

/// How one stage ended.
#[derive(Debug)]
pub(crate) struct StageOutcome {
    pub(crate) name: &'static str,
    pub(crate) succeeded: bool,
    pub(crate) counts: Counts,
    pub(crate) duration: Duration,
}

/// Runs `words` in `directory`. An error means that the command could not be run at all.
pub(crate) fn run_command(directory: &Path, words: &[&str]) -> Result<(bool, Counts)> {
    println!("$ {}", words.join(" "));
    run_into(&mut std::io::stdout().lock(), directory, words)
}

fn run_into(terminal: &mut impl Write, directory: &Path, words: &[&str]) -> Result<(bool, Counts)> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped());
    if target::is_built_once() {
        command.envs(target::BUILT_ONCE);
    }
    let mut child = command.spawn().with_context(|| format!("cannot run {}", words[0]))?;
    let mut counts = Counts::default();
    let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).context("cannot read the stage's output")? > 0 {
        terminal.write_all(&line).context("cannot write to the terminal")?;
        if let Some(found) = Counts::from_line(&String::from_utf8_lossy(&line)) {
            counts += found;
        }
        line.clear();
    }
    let status = child.wait().context("cannot wait for the stage")?;
    Ok((status.success(), counts))
}

/// Runs a stage's work under its heading and times it. A command that cannot be run is a failed stage.
pub(crate) fn run_stage(name: &'static str, work: impl FnOnce() -> Result<(bool, Counts)>) -> StageOutcome {
    println!("\n=== {name}");
    let started = Instant::now();
    let (succeeded, counts) = work().unwrap_or_else(|error| {
        eprintln!("{name}: {error:#}");
        (false, Counts::default())
    });
    StageOutcome { name, succeeded, counts, duration: started.elapsed() }
}

/// The closing lines: each stage's verdict and time, then the sum of the tests. A stage that failed without a
/// failed test counts as one.
pub(crate) fn summary(outcomes: &[StageOutcome]) -> String {
    let mut lines = vec!["\n=== summary".to_owned()];
    let mut sum = Counts::default();
    let mut duration = Duration::ZERO;
    for outcome in outcomes {
        let mut counts = outcome.counts;
        if !outcome.succeeded {
            counts.failed = counts.failed.max(1);
        }
        let verdict = if outcome.succeeded { "ok" } else { "FAILED" };
        let seconds = outcome.duration.as_secs_f64();
        lines.push(format!("{:<14} {verdict:<6} {seconds:>7.1} s", outcome.name));
        sum += counts;
        duration += outcome.duration;
    }
    lines.push(format!("{:<21} {:>7.1} s\n{sum}", "total", duration.as_secs_f64()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn outcome(name: &'static str, succeeded: bool, passed: u64, failed: u64) -> StageOutcome {
        let counts = Counts { passed, failed, skipped: 0 };
        StageOutcome { name, succeeded, counts, duration: Duration::from_millis(1250) }
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
        .assert_eq(&summary(&outcomes));
    }

    #[test]
    fn a_command_reports_its_success_and_its_counts() {
        let here = Path::new(".");
        let mut terminal = Vec::new();
        let script = "echo '2 passed, 1 failed'; exit 1";
        let (succeeded, counts) = run_into(&mut terminal, here, &["sh", "-c", script]).unwrap();
        assert!(!succeeded);
        assert_eq!((counts.passed, counts.failed), (2, 1));
        assert_eq!(terminal, b"2 passed, 1 failed\n");
        assert!(run_into(&mut terminal, here, &["no-such-program-anywhere"]).is_err());
    }
}
