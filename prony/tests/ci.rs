//! The example of `docs/ci.md` as it stands there, with shorter runs and free ports; and a saved baseline.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_testkit::{PronyProcess, free_port, peer::ScriptedPeer, process::Finished};
use std::fs;
use std::path::Path;
use std::process::Command;

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// The block of code that begins with a line, without the fences.
fn block(begin: &str) -> String {
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ci.md")).unwrap();
    let lines =
        document.lines().skip_while(|line| !line.starts_with(begin)).take_while(|line| *line != "```");
    let lines: Vec<_> = lines.collect();
    assert!(!lines.is_empty(), "no block begins with {begin}");
    lines.join("\n") + "\n"
}

fn run(folder: &Path, mut command: Command) -> Finished {
    let binaries = Path::new(PRONY).parent().unwrap().to_string_lossy();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
    command.current_dir(folder).env("PATH", path).env_remove("GITHUB_STEP_SUMMARY");
    PronyProcess::start_command(command).wait()
}

fn prony(folder: &Path, arguments: &[&str]) -> Finished {
    let mut command = Command::new(PRONY);
    command.args(arguments);
    run(folder, command)
}

/// What a runner that is busy may make of a gate whose target is well: passed, or void, which `--strict` makes a failure.
fn is_measured(finished: &Finished) -> bool {
    matches!(finished.status.code(), Some(0 | 1 | 3))
}

#[test]
fn the_gate_of_the_document_gates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let shop = rusqlite::Connection::open(folder.join("shop.db")).unwrap();
    shop.execute_batch(
        "create table customers (id integer primary key, name text); insert into customers values (1, 'Ada')",
    )
    .unwrap();
    let ports = [free_port(), free_port()].map(|port| port.to_string());
    let with_ports = |text: String| text.replace("8081", &ports[0]).replace("8082", &ports[1]);
    let plan = with_ports(block("# load.toml"))
        .replace("\"10s\"", "\"2s\"")
        .replace("\"2s\"\nthink", "\"500ms\"\nthink");
    let gate = with_ports(block("# gate.sh")).replace("--duration 5s", "--duration 1s --runs 3");
    fs::write(folder.join("load.toml"), plan).unwrap();
    fs::write(folder.join("gate.sh"), gate).unwrap();

    let mut command = Command::new("sh");
    command.args(["gate.sh", "prony", "prony"]);
    let finished = run(folder, command);
    assert!(is_measured(&finished), "{}\n{}", finished.stdout, finished.stderr);
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).unwrap();
    assert!(
        read("load.xml").contains("<testcase classname=\"prony.run.shop\" name=\"p95&lt;50ms\""),
        "{}",
        read("load.xml")
    );
    assert!(read("load.md").contains(": run shop\n"), "{}", read("load.md"));
    assert!(read("compare.xml").contains("name=\"p95 worse than 20%\""), "{}", read("compare.xml"));
    assert!(read("compare.md").contains("| asked | found |"), "{}", read("compare.md"));

    // The page of the job.
    let page = folder.join("page.md");
    fs::write(&page, "others\n").unwrap();
    let mut command = Command::new(PRONY);
    command.args(["report", "results", "--summary", "github"]).env("GITHUB_STEP_SUMMARY", &page);
    let reported = PronyProcess::start_command({
        command.current_dir(folder);
        command
    });
    assert_eq!(reported.wait().status.code(), Some(0));
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.starts_with("others\n## ") && page.contains(": comparison load.toml against before.toml"),
        "{page}"
    );
}

#[test]
fn a_saved_baseline_is_compared_and_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let plan = format!(
        "name = \"shop\"\ntarget = \"{}\"\nusers = 2\nduration = \"1s\"\nthink_time = \"10ms\"\n[[requests]]\nname = \"all\"\npath = \"/\"\n",
        peer.url()
    );
    fs::write(folder.join("plan.toml"), plan).unwrap();
    for output in ["baseline", "baseline", "baseline", "now", "now", "now"] {
        let finished = prony(folder, &["run", "plan.toml", "--quiet", "--output", output]);
        assert!(is_measured(&finished), "{}", finished.stderr);
    }
    let conditions = ["--fail-if", "throughput worse than 90%"];
    let summaries = ["--summary", "junit=compare.xml", "--summary", "markdown=compare.md"];
    let finished =
        prony(folder, &[&["compare", "baseline", "now"], &conditions[..], &summaries[..]].concat());
    assert!(is_measured(&finished), "{}", finished.stderr);
    let xml = fs::read_to_string(folder.join("compare.xml")).unwrap();
    assert!(xml.contains("tests=\"2\"") && xml.contains("name=\"throughput worse than 90%\""), "{xml}");
    let markdown = fs::read_to_string(folder.join("compare.md")).unwrap();
    assert!(markdown.contains("comparison now against baseline"), "{markdown}");
}

#[test]
fn a_summary_that_is_wrong_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for (wrong, told) in [
        ("html=a", "`html` is no format of summaries; write markdown=FILE, junit=FILE or github"),
        ("junit", "write junit=FILE"),
        ("junit=x.prony.json", "is named as a result, which is not written over"),
        ("github", "GITHUB_STEP_SUMMARY is not set"),
    ] {
        let finished = prony(folder.path(), &["report", "x.prony.json", "--summary", wrong]);
        assert_eq!(finished.status.code(), Some(2));
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
}
