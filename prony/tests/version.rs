//! What the program says of its version, and how its build finds the commit.

#[path = "../build/commit.rs"]
mod commit;

use std::{fs, path::Path, process::Command};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"]).args(arguments);
    let output = command.current_dir(folder).output().expect("git is installed");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text").trim().to_owned()
}

/// A checkout with a commit.
fn checkout(folder: &Path) {
    git(folder, &["init", "--quiet"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "--message", "one"]);
}

#[test]
fn the_version_says_what_is_built_in() {
    for flag in ["--version", "-V"] {
        let output = Command::new(env!("CARGO_BIN_EXE_prony")).arg(flag).output().expect("prony runs");
        let said = String::from_utf8(output.stdout).expect("it is text");
        let line = said.strip_suffix('\n').expect("it is a line");
        let start = format!("prony {} (", env!("CARGO_PKG_VERSION"));
        let parts = line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(')')).expect(line);
        let (commit, parts) = parts.split_once("; ").unwrap_or(("", parts));
        assert!(commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{line}");
        let (pages, documentation) = parts.split_once(", ").expect(line);
        assert!(["pages", "no pages"].contains(&pages), "{line}");
        assert_eq!(documentation == "documentation", prony_site::pages().is_ok(), "{line}");
    }
}

#[test]
fn the_commit_of_a_checkout_is_found_and_what_changes_with_it_watched() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let root = folder.path();
    checkout(root);
    let found = commit::of_checkout(root).expect("it is a checkout");
    assert_eq!(found.commit, git(root, &["rev-parse", "--short=12", "HEAD"]));
    assert_eq!(found.commit.len(), 12);
    let contents = |found: &commit::Checkout| {
        found.changes_with.iter().map(|file| fs::read(file).expect("it is there")).collect::<Vec<_>>()
    };
    let before = contents(&found);
    git(root, &["commit", "--quiet", "--allow-empty", "--message", "two"]);
    assert_ne!(contents(&found), before, "none of {:?} changes with a commit", found.changes_with);
    assert_ne!(commit::of_checkout(root).expect("it is a checkout").commit, found.commit);
}

#[test]
fn a_worktree_and_a_commit_without_a_branch_are_known_too() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let root = folder.path().join("main");
    fs::create_dir(&root).expect("it is made");
    checkout(&root);
    git(&root, &["worktree", "add", "--quiet", "--detach", "../other"]);
    let other = folder.path().join("other");
    assert!(other.join(".git").is_file(), "a worktree has a file");
    let found = commit::of_checkout(&other).expect("it is a checkout");
    assert_eq!(found.commit, git(&root, &["rev-parse", "--short=12", "HEAD"]));
    assert!(found.changes_with.iter().any(|file| file.ends_with("HEAD")), "{found:?}");
}

#[test]
fn a_source_within_another_project_has_no_commit_of_it() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let inside = folder.path().join("unpacked");
    fs::create_dir(&inside).expect("it is made");
    assert!(commit::of_checkout(&inside).is_none(), "there is no git");
    checkout(folder.path());
    assert!(commit::of_checkout(&inside).is_none(), "it is the other's commit");
}
