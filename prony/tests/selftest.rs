//! The self-test as its user starts it. What it counts must hold on any machine; what it times is for its user to read.

use std::process::Command;

#[test]
fn the_self_test_ends_with_a_verdict_and_its_counts_hold() {
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["selftest", "--quick"])
        .output()
        .expect("the program can be started");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(progress.contains("checking: a stall, at a constant rate"), "{progress}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{progress}{table}");
    for counted in ["dropped", "every fifth connection reset"] {
        let row = table.lines().find(|line| line.contains(counted)).unwrap_or_default();
        assert!(row.contains("| holds"), "{counted}: {table}");
    }
    let stalls = table.lines().filter(|line| line.contains("stall of 1 s in 5 s")).count();
    assert_eq!(stalls, 2, "{table}");
}

#[test]
fn the_target_ends_with_its_input() {
    let status = Command::new(env!("CARGO_BIN_EXE_prony"))
        .arg("selftest-target")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .status()
        .expect("the program can be started");
    assert!(status.success());
}
