//! A disk that is really full: the test runs itself again where a small file system of its own is mounted. Where that is
//! not allowed it says so; `disk_full.rs` has the same with a limit on the length of files, everywhere.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]
#![allow(clippy::print_stderr, reason = "that it could not be tried must be seen")]

use prony_graph_store::{Around, Durability, Options, Ref, Side, Store, WriteError};
use std::fs;
use std::path::Path;
use std::process::Command;

const MOUNTED: &str = "PRONY_SMALL_DISK";
const DISK_BYTES: usize = 4 << 20;
/// Of a test that has failed.
const FAILED: i32 = 101;

#[test]
fn a_disk_without_room_refuses_writes_and_snapshots_and_heals() {
    if let Some(directory) = std::env::var_os(MOUNTED) {
        let directory = Path::new(&directory);
        in_mid_write(&directory.join("write"));
        fs::remove_dir_all(directory.join("write")).unwrap();
        in_mid_snapshot(&directory.join("snapshot"));
        fs::remove_dir_all(directory.join("snapshot")).unwrap();
        got_out_of(&directory.join("out"));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={DISK_BYTES} none \"$0\" || exit 1; exec \"$@\"");
    let run = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_disk_without_room_refuses_writes_and_snapshots_and_heals", "--nocapture"])
        .env(MOUNTED, directory.path())
        .output();
    let Ok(output) = run else { return eprintln!("not tried: there is no `unshare`") };
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_ne!(output.status.code(), Some(FAILED), "{said}");
    if !output.status.success() {
        eprintln!("not tried: no file system can be mounted here: {said}");
    }
}

fn open(directory: &Path) -> Store {
    Store::open(directory, Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Sync) }).unwrap()
}

/// Nodes with long keys, each with a relationship from the first one, until one is refused or there are enough.
fn fill(store: &Store, first: Ref, at_most: u64) -> (u64, Option<WriteError>) {
    fill_type(store, first, at_most, "Long")
}

fn fill_type(store: &Store, first: Ref, at_most: u64, type_name: &str) -> (u64, Option<WriteError>) {
    let long = "x".repeat(30_000);
    for made in 0..at_most {
        let key = format!("{made}{long}");
        let written = store.write_and_wait(|write| {
            let node = write.create_node(type_name, &key, &[])?;
            write.create_relationship("R", first, node, &[])
        });
        if let Err(error) = written {
            return (made, Some(error));
        }
    }
    (at_most, None)
}

fn count(store: &Store, first: Ref) -> (u64, u64) {
    let read = store.read();
    (read.count(Side::Nodes, None), read.degree(first, Around::default()))
}

fn in_mid_write(directory: &Path) {
    let store = open(directory);
    let first = store.write_and_wait(|write| write.create_node("N", "first", &[])).unwrap();
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![1; DISK_BYTES / 2]).unwrap();
    let (made, error) = fill(&store, first, u64::MAX);
    assert!(error.unwrap().is_disk_full() && made > 10);
    assert_eq!(count(&store, first), (1 + made, made), "what was refused was taken back, and reads go on");
    assert!(store.health().log_failure.unwrap().0.is_disk_full());
    assert!(fill(&store, first, 1).1.is_some());
    fs::remove_file(ballast).unwrap();
    store.write_and_wait(|write| write.create_node("N", "after", &[])).unwrap();
    assert!(store.health().log_failure.is_none());
    drop(store);
    let store = open(directory);
    assert_eq!(count(&store, first), (2 + made, made));
    assert_eq!((store.recovery().torn_bytes, store.check().problems), (0, vec![]));
}

fn in_mid_snapshot(directory: &Path) {
    let store = open(directory);
    let first = store.write_and_wait(|write| write.create_node("N", "first", &[])).unwrap();
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![1; DISK_BYTES / 3]).unwrap();
    // 1.5 MB of log; a snapshot would be as long again.
    let (made, error) = fill(&store, first, 50);
    assert!(error.is_none(), "{error:?}");
    let error = store.snapshot().unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    assert!(store.health().snapshots.failure.unwrap().error.is_disk_full());
    assert!(!directory.join("snapshot.part").exists(), "it leaves the room to the log");
    store.write_and_wait(|write| write.create_node("N", "meanwhile", &[])).unwrap();
    fs::remove_file(ballast).unwrap();
    store.snapshot().unwrap();
    assert!(store.health().snapshots.failure.is_none());
    drop(store);
    let store = open(directory);
    assert_eq!(count(&store, first), (2 + made, made));
    assert_eq!((store.recovery().frames, store.check().problems), (0, vec![]));
}

/// As it was found on a disk of 64 MB: a snapshot and a log that fill it, deletions refused, and no room for a snapshot.
fn got_out_of(directory: &Path) {
    let store = open(directory);
    let first = store.write_and_wait(|write| write.create_node("N", "first", &[])).unwrap();
    let (of_snapshot, error) = fill(&store, first, 30);
    assert!(error.is_none(), "{error:?}");
    store.snapshot().unwrap();
    let loops: Vec<Ref> = (0..20)
        .map(|_| store.write_and_wait(|write| write.create_relationship("LOOP", first, first, &[])).unwrap())
        .collect();
    let (made, error) = fill_type(&store, first, u64::MAX, "Log");
    assert!(error.unwrap().is_disk_full() && made > 10);
    // To the last byte.
    let small =
        |number: u32| store.write_and_wait(|write| write.create_node("N", &format!("small {number}"), &[]));
    let smalls = (0..10_000).find(|number| small(*number).is_err()).unwrap();
    // What adds is refused; what removes is done, again and again.
    for at in loops {
        assert!(small(smalls).unwrap_err().is_disk_full());
        store.write_and_wait(|write| write.delete_relationship(at)).unwrap();
    }
    assert!(store.read().find("N", &format!("small {smalls}")).is_none());
    // Its snapshot is larger than all the room that is kept, and nothing that adds takes that in the meantime.
    assert!(store.snapshot().unwrap_err().is_disk_full());
    assert!(store.health().log_failure.unwrap().0.is_disk_full());
    assert!(fill_type(&store, first, 1, "More").1.unwrap().is_disk_full());
    // Many deletions, and a start in between, as of somebody who has only the command line.
    let delete = |store: &Store, numbers: std::ops::Range<u64>| {
        let long = "x".repeat(30_000);
        for number in numbers {
            let key = format!("{number}{long}");
            let at = store.read().find("Log", &key).unwrap().at;
            store.write_and_wait(|write| write.delete_node(at)).unwrap();
        }
    };
    delete(&store, 0..made / 2);
    drop(store);
    let store = open(directory);
    assert_eq!(count(&store, first).1, of_snapshot + made - made / 2);
    delete(&store, made / 2..made);
    for number in 0..of_snapshot - 5 {
        let at = store.read().find("Long", &format!("{number}{}", "x".repeat(30_000))).unwrap().at;
        store.write_and_wait(|write| write.delete_node(at)).unwrap();
    }
    // Now what is left has room, and there is room again for everything.
    store.snapshot().unwrap();
    assert!(fs::metadata(directory.join("reserve")).unwrap().len() > 0, "the room is kept again");
    store.write_and_wait(|write| write.create_node("N", "after", &[])).unwrap();
    assert!(store.health().log_failure.is_none());
    let nodes = count(&store, first).0;
    drop(store);
    let store = open(directory);
    assert_eq!(count(&store, first).0, nodes);
    assert_eq!((store.recovery().torn_bytes, store.check().problems), (0, vec![]));
}
