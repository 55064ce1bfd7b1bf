//! Files that are not whole, and a directory that is in use: what the server says at its start, and what it does.

use crate::client::Client;
use crate::serve::{command, start};
use prony_testkit::PronyProcess;
use prony_testkit::process::Finished;
use std::fs;
use std::path::{Path, PathBuf};

const NODES: u32 = 20;

/// A served graph of a few nodes, stopped; its log.
fn graph(directory: &Path) -> PathBuf {
    let server = start(directory, &[]);
    let client = Client::new(&server.url);
    for number in 0..NODES {
        assert_eq!(client.ask("POST", &format!("/node/User/{number}"), None).0, 201);
    }
    let finished = server.process.stop();
    assert!(finished.status.success(), "{}", finished.stderr);
    let log = fs::read_dir(directory.join("rage")).unwrap().map(|entry| entry.unwrap().path());
    log.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-0")))
        .max()
        .unwrap()
}

fn nodes(url: &str) -> usize {
    Client::new(url).ask("GET", "/nodes?limit=1000", None).1.as_array().unwrap().len()
}

/// A start that fails.
fn refused(directory: &Path) -> Finished {
    let finished = PronyProcess::start_command(command(directory)).wait();
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    finished
}

#[test]
fn a_torn_tail_is_cut_and_its_bytes_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let log = graph(directory.path());
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend([0x5a; 37]);
    fs::write(&log, bytes).unwrap();
    let server = start(directory.path(), &[]);
    let said = server.process.stderr();
    assert!(said.contains("37"), "37 bytes were cut:\n{said}");
    assert_eq!(nodes(&server.url), NODES as usize);
    server.process.stop();
    let server = start(directory.path(), &[]);
    assert!(!server.process.stderr().contains("37 "), "{}", server.process.stderr());
}

#[test]
fn damage_in_the_middle_stops_the_start_and_recover_says_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let log = graph(directory.path());
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&log, &bytes).unwrap();
    let said = refused(directory.path()).stderr;
    for text in ["log-", "damaged at byte ", "--recover"] {
        assert!(said.contains(text), "{text} is not in\n{said}");
    }
    assert_eq!(fs::read(&log).unwrap(), bytes, "a refused file is left as it is");
    let server = start(directory.path(), &["--recover"]);
    let said = server.process.stderr();
    assert!(said.contains("lost") && said.contains("log-"), "{said}");
    let left = nodes(&server.url);
    assert!((1..NODES as usize).contains(&left), "{left} nodes are left of {NODES}");
    server.process.stop();
    let server = start(directory.path(), &[]);
    assert_eq!(nodes(&server.url), left, "it is whole again");
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let first = start(directory.path(), &[]);
    let said = refused(directory.path()).stderr;
    assert!(said.contains("has the graph in") && said.contains("open"), "{said}");
    assert_eq!(nodes(&first.url), 0, "the first one is served as before");
}
