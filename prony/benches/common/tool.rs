//! One run of a load tool on its processor: requests a second and what it took of processor time.

use crate::process::waited_cpu_seconds;
use crate::{SECONDS, TOOL_CORE};
use prony_model::{ResultFile, WindowKind};
use std::process::Command;

/// What one run showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) requests_per_s: f64,
    pub(crate) cpu_us: f64,
}

/// Runs a tool pinned to its processor; gives its output and the processor seconds that it took.
pub(crate) fn pinned(program: &str, arguments: &[String]) -> (String, f64) {
    let before = waited_cpu_seconds();
    let text = output_of(program, Command::new("taskset").args(["-c", TOOL_CORE, program]).args(arguments));
    (text, waited_cpu_seconds() - before)
}

fn output_of(program: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("taskset and {program} are needed: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // On one processor the lab is the limit, which voids a run's claim: that is what is measured here.
    let is_void = program == PRONY && output.status.code() == Some(VOID);
    assert!(
        output.status.success() || is_void,
        "{command:?} failed:\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// `wrk`, whose summary names the number of requests and the rate.
pub(crate) fn wrk(arguments: &[String]) -> Outcome {
    let (text, cpu) = pinned("wrk", arguments);
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures:\n{text}");
    let requests = number_before(&text, " requests in");
    outcome(requests, number_after(&text, "Requests/sec:"), cpu)
}

/// `prony run`, whose whole result is printed. A rate with failures in it compares with nothing.
pub(crate) fn prony(arguments: &[String]) -> Outcome {
    let (result, cpu) = prony_result(arguments);
    let whole = result.window(WindowKind::Whole).expect("a result always holds the whole run");
    assert_eq!(whole.all.successes, whole.all.requests, "{arguments:?}: {:?}", whole.all.outcomes);
    outcome(whole.all.requests as f64, whole.all.rate_per_s, cpu)
}

/// As [`prony`]; the result with the processor seconds of the whole process.
pub(crate) fn prony_result(arguments: &[String]) -> (ResultFile, f64) {
    let (text, cpu) = in_a_folder(arguments, |all| pinned(PRONY, all));
    (result_of(&text), cpu)
}

/// `prony run` on all processors, beside whatever else runs there.
pub(crate) fn prony_result_beside(arguments: &[String]) -> ResultFile {
    result_of(&in_a_folder(arguments, |all| output_of(PRONY, Command::new(PRONY).args(all))))
}

const PRONY: &str = env!("CARGO_BIN_EXE_prony");
/// The exit code of a run whose figures cannot be believed.
const VOID: i32 = 3;

fn in_a_folder<T>(arguments: &[String], run: impl FnOnce(&[String]) -> T) -> T {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let folder_path = folder.path().display().to_string();
    // A script's own arguments stand last.
    let mut all = ["run", "--json", "--quiet", "--output", &folder_path].map(str::to_owned).to_vec();
    all.extend_from_slice(arguments);
    run(&all)
}

fn result_of(text: &str) -> ResultFile {
    serde_json::from_str(text).expect("prony prints its result")
}

pub(crate) fn outcome(requests: f64, requests_per_s: f64, cpu_seconds: f64) -> Outcome {
    Outcome { requests_per_s, cpu_us: cpu_seconds * 1e6 / requests }
}

/// wrk's flags for one thread, which `prony run` takes as well.
pub(crate) fn closed_flags(connections: u32, url: &str) -> Vec<String> {
    let seconds = format!("-d{SECONDS}s");
    vec!["-t1".to_owned(), format!("-c{connections}"), seconds, url.to_owned()]
}

pub(crate) fn number_before(text: &str, mark: &str) -> f64 {
    let before = text.split(mark).next().unwrap_or_default();
    let word = before.split_whitespace().last().unwrap_or_default();
    word.parse().unwrap_or_else(|_| panic!("no number before `{mark}` in\n{text}"))
}

pub(crate) fn number_after(text: &str, mark: &str) -> f64 {
    let word = text.split(mark).nth(1).and_then(|rest| rest.split_whitespace().next());
    let number = word.and_then(|word| word.trim_end_matches([',', 's', '%']).parse().ok());
    number.unwrap_or_else(|| panic!("no number after `{mark}` in\n{text}"))
}
