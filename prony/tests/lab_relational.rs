//! `prony lab` from outside: tiny runs of the relational experiment with the real program, which starts itself
//! as the engine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use prony_testkit::{PronyProcess, TestDatabase, process::Signal};

const TINY: &[&str] =
    &["lab", "relational", "--rows", "300", "--limits", "10", "--ramp", "200ms", "--steps", "1"];

fn start(directory: &Path, arguments: &[&str]) -> PronyProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(TINY).args(arguments).current_dir(directory);
    PronyProcess::start_command(command)
}

/// Runs to the end and returns the standard output.
fn run(directory: &Path, arguments: &[&str]) -> String {
    let finished = start(directory, arguments).wait();
    // Whether anything of so short a run can be believed depends on the machine.
    assert!(matches!(finished.status.code(), Some(0 | 3)), "{}{}", finished.stdout, finished.stderr);
    finished.stdout
}

/// The run's own directory, beside the kept data.
fn results(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory.join("results")).expect("results were written");
    let mut found = entries.flatten().map(|entry| entry.path()).filter(|path| !path.ends_with("cache"));
    found.next().expect("the run has a directory")
}

#[test]
fn the_experiments_are_listed() {
    let finished = PronyProcess::start(env!("CARGO_BIN_EXE_prony"), ["lab"]).wait();
    assert!(finished.stdout.starts_with("relational "), "{}", finished.stdout);
}

#[test]
fn sqlite_is_served_loaded_and_printed() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["--hold", "300ms", "--queries", "two-nests,create"]);
    for text in ["| 2 nests | Prony", "| Create | Prony", "| Phrag 0.4.6", "| per-nest", "| bucket"] {
        assert!(output.contains(text), "{text}\n{output}");
    }
    let results = results(directory.path());
    assert!(output.contains(&fs::read_to_string(results.join("table.md")).unwrap()));
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(results.join("relational.json")).unwrap()).unwrap();
    assert_eq!(json["dataset"]["rows"], 300);
    let step = &json["cells"][0]["steps"][0];
    // Whether so many users are served depends on the machine; that they asked and were answered does not.
    assert!(step["whole"]["requests"].as_u64().unwrap() > 0, "{step}");
    assert_eq!(step["whole"]["error_share"], 0.0);
    assert!(results.join(step["file"].as_str().unwrap()).is_file());
    assert!(!results.join("meetup.sqlite").exists(), "the engine's copy is removed");
}

#[test]
fn scripts_ask_instead_of_plans_and_stay_beside_the_results() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        run(directory.path(), &["--hold", "1s", "--queries", "create", "--no-resolvers", "--script"]);
    assert!(output.contains("| Create |") && output.contains("The users are k6 scripts"), "{output}");
    let results = results(directory.path());
    assert!(results.join("scripts/create.js").is_file() && results.join("scripts/study.js").is_file());
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(results.join("relational.json")).unwrap()).unwrap();
    assert_eq!(json["stopped"], false, "a threshold's end is not the user's");
    let step = &json["cells"][0]["steps"][0];
    assert_eq!(step["whole"]["error_share"], 0.0, "{step}");
    let name = step["file"].as_str().unwrap().trim_end_matches(".prony.json");
    let summary = fs::read_to_string(results.join(format!("{name}.summary.txt"))).unwrap();
    assert!(summary.contains("http_req_duration"), "{summary}");
    assert!(results.join(format!("{name}.summary.json")).is_file());
}

#[test]
fn postgresql_is_served_too() {
    let directory = tempfile::tempdir().unwrap();
    let database = TestDatabase::create();
    let output = run(
        directory.path(),
        &["--hold", "300ms", "--queries", "one-nest,create", "--no-resolvers", "--database", &database.url()],
    );
    assert!(output.contains("serving from PostgreSQL"), "{output}");
    assert!(!output.contains("## Resolver models"), "{output}");
    assert_eq!(database.query("SELECT count(*) FROM members"), [[Some("300".to_owned())]]);
}

/// With these the mutation would not be there, and another file would be read.
#[test]
fn options_in_the_environment_are_not_those_of_the_measured_engine() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(TINY).args(["--queries", "create", "--hold", "300ms", "--no-resolvers"]);
    command.env("PRONY_SOURCE_READ_ONLY", "true").env("PRONY_CONFIG", "missing.toml");
    command.current_dir(directory.path());
    let finished = PronyProcess::start_command(command).wait();
    assert!(matches!(finished.status.code(), Some(0 | 3)), "{}{}", finished.stdout, finished.stderr);
}

#[test]
fn an_interrupted_run_prints_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), &["--queries", "no-nest", "--hold", "10m"]);
    child.wait_for_text("data: ");
    let steps_begin = || {
        fs::read_dir(directory.path().join("results")).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let files = fs::read_dir(entry.path()).into_iter().flatten().flatten();
                files
                    .into_iter()
                    .any(|file| file.file_name().to_string_lossy().starts_with("no-nest-10-1cpu"))
            })
        })
    };
    while !steps_begin() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.signal(Signal::INT);
    let finished = child.wait();
    assert!(finished.stdout.contains("The run was stopped"), "{}{}", finished.stdout, finished.stderr);
}
