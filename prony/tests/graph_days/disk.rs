//! A disk without room, in the middle of a write and of a snapshot: writes are refused and taken back, reads go on, and
//! writing resumes when there is room again.
//!
//! Two ways, neither of which needs rights: a limit on the size of files, which can be set and lifted from outside at any
//! moment, with `/dev/full` in the place of a snapshot; and, where the system lets users have mounts of their own, a disk of a few megabytes that is truly full.

use crate::client::Client;
use crate::serve::{configured, settings, start_command};
use rustix::fs::statvfs;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Long enough to fill a small disk in few calls.
const TEXT_BYTES: usize = 20_000;
/// So short that snapshots are due while there is no room.
const SNAPSHOT_AT_LOG_BYTES: u64 = 100_000;
/// That the small disk is left with.
const ROOM_BYTES: u64 = 1_000_000;
/// Writes that come together when there is room again.
const AT_ONCE: u32 = 4;
/// A disk is full long before.
const NODES_MAX: u32 = 2_000;

fn text(number: u32) -> String {
    format!("{number}{}", "x".repeat(TEXT_BYTES))
}

fn declare(client: &Client) {
    assert_eq!(client.ask("POST", "/schema/nodes/User/properties/text/string", None).0, 201);
}

fn create(client: &Client, number: u32) -> u16 {
    let path = format!("/node/User/{number}");
    let (status, body) = client.ask("POST", &path, Some(&json!({"text": text(number)})));
    match status {
        201 => {}
        507 => assert!(body.as_str().unwrap().starts_with("the disk is full"), "{body}"),
        _ => panic!("{status}: {body}"),
    }
    status
}

/// As a line of a body of many.
fn create_in_bulk(client: &Client, number: u32) -> u16 {
    let line = json!({"type": "User", "key": number.to_string(), "properties": {"text": text(number)}});
    let (status, report) = client.ask("POST", "/nodes", Some(&line));
    if report["created"] == 1 { 201 } else { status }
}

fn create_by_graphql(client: &Client, number: u32) -> u16 {
    let mutation =
        format!("mutation($text: String) {{ createUser(_key: \"{number}\", text: $text) {{ _id }} }}");
    let response = client.graphql(&json!({"query": mutation, "variables": {"text": text(number)}}));
    let Some(error) = response.get("errors") else { return 201 };
    assert!(error[0]["message"].as_str().unwrap().contains("the disk of the graph is full"), "{error}");
    507
}

/// Writes until the disk is full; how many nodes were acknowledged.
fn fill(client: &Client, from: u32) -> u32 {
    let full = (from..from + NODES_MAX).find(|number| create(client, *number) == 507);
    full.expect("the disk is never full")
}

/// All that were acknowledged are there, whole, and the next one is not.
fn check(client: &Client, nodes: u32) {
    for number in 0..nodes {
        let (status, node) = client.ask("GET", &format!("/node/User/{number}"), None);
        assert_eq!(
            (status, &node["properties"]["text"]),
            (200, &json!(text(number))),
            "node {number} of {nodes}"
        );
    }
    assert_eq!(client.ask("GET", &format!("/node/User/{nodes}"), None).0, 404);
}

/// Full and with room again, as often as there are ways to find that out.
fn full_and_again(client: &Client, take_room: impl Fn(), make_room: impl Fn()) {
    let mut nodes = 0;
    for create_first in [create, create_in_bulk, create_by_graphql] {
        take_room();
        // A snapshot that finds no room gives back what it took, once.
        for _ in 0..3 {
            nodes = fill(client, nodes);
        }
        check(client, nodes);
        make_room();
        // Whoever comes first looks for the room alone, and the others have to wait for it.
        let first = nodes..nodes + AT_ONCE;
        thread::scope(|scope| {
            for number in first.clone() {
                scope.spawn(move || {
                    assert_eq!(create_first(client, number), 201, "the first writes find the room");
                });
            }
        });
        nodes = first.end;
        for _ in 0..10 {
            assert_eq!(create(client, nodes), 201, "there is room again");
            nodes += 1;
        }
        check(client, nodes);
    }
}

/// The highest number among files of a kind.
fn newest(graph: &Path, prefix: &str) -> u64 {
    let names = fs::read_dir(graph).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk_that_heals() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path(), &directory.path().join("graphs"), SNAPSHOT_AT_LOG_BYTES);
    let server = start_command(configured(Command::new(env!("CARGO_BIN_EXE_prony")), &settings));
    let client = Client::new(&server.url);
    declare(&client);
    let limit = |bytes: Option<u64>| {
        let process = Pid::from_raw(server.process.id().cast_signed());
        prlimit(process, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    };
    let graph = directory.path().join("graphs/rage");
    // Room for the log, and none for a snapshot; what there is of one that failed is removed.
    let part = graph.join("snapshot.part");
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    let mut nodes = 0;
    while part.is_symlink() {
        assert_eq!(create(&client, nodes), 201, "a snapshot that fails harms nobody");
        nodes += 1;
        assert!(nodes < NODES_MAX, "no snapshot was begun");
    }
    assert_eq!(newest(&graph, "snapshot-"), 0);
    check(&client, nodes);
    let failure = &client.health()["graphs"][0]["snapshot_failure"];
    let error = failure["error"].as_str().expect("health tells why there is no snapshot");
    assert!(
        error.contains("snapshot.part; the log is kept whole") && error.contains("No space left"),
        "{error}"
    );
    // None for the log either.
    limit(Some(30_000));
    nodes = fill(&client, nodes);
    assert_eq!(create(&client, nodes), 507, "it stays full");
    let failure = &client.health()["graphs"][0]["log_failure"];
    assert!(failure["error"].as_str().is_some_and(|error| error.contains("File too large")), "{failure}");
    check(&client, nodes);
    limit(None);
    for _ in 0..20 {
        assert_eq!(create(&client, nodes), 201, "there is room again");
        nodes += 1;
    }
    check(&client, nodes);
    assert!(client.health()["graphs"][0].get("log_failure").is_none(), "it has healed");
    let finished = server.process.stop();
    assert!(finished.status.success(), "{}", finished.stderr);
    let server = start_command(configured(Command::new(env!("CARGO_BIN_EXE_prony")), &settings));
    check(&Client::new(&server.url), nodes);
}

/// A shell that mounts a small disk at a directory and goes on as another program.
const MOUNT: &str = "mount -t tmpfs -o size=16m tmpfs \"$1\" && shift && exec \"$@\"";

fn on_a_small_disk(directory: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "/bin/sh", "-c", MOUNT, "sh"]).arg(directory);
    command
}

fn can_mount(directory: &Path) -> bool {
    let mut command = on_a_small_disk(directory);
    command.arg("/bin/true").output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_disk_that_is_truly_full_is_survived_and_heals() {
    let directory = tempfile::tempdir().unwrap();
    if !can_mount(directory.path()) {
        println!(
            "this system lets users have no mounts of their own; the limit on files is tested all the same"
        );
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let settings = settings(elsewhere.path(), &directory.path().join("graphs"), SNAPSHOT_AT_LOG_BYTES);
    let mut small = on_a_small_disk(directory.path());
    small.arg(env!("CARGO_BIN_EXE_prony"));
    let server = start_command(configured(small, &settings));
    let client = Client::new(&server.url);
    declare(&client);
    // The process's own view of the directory; ours is empty.
    let root = PathBuf::from(format!("/proc/{}/root", server.process.id()));
    let seen = root.join(directory.path().strip_prefix("/").unwrap());
    let filler = seen.join("filler");
    let take = || {
        fs::write(&filler, [])?;
        let disk = statvfs(&seen)?;
        fs::write(&filler, vec![0; (disk.f_bavail * disk.f_frsize).saturating_sub(ROOM_BYTES) as usize])
    };
    // A snapshot that is just being written wants the same room.
    let take_room = || while take().is_err_and(|error| error.kind() == ErrorKind::StorageFull) {};
    full_and_again(&client, take_room, || fs::remove_file(&filler).unwrap());
    let finished = server.process.stop();
    assert!(finished.status.success(), "{}", finished.stderr);
}
