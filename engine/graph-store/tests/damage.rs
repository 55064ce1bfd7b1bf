//! Torn and flipped bytes at every place of a small log and snapshot: a clear error, or what was acknowledged before.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, FileFault, OpenError, Options, Read, Side, Store, check};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const OPTIONS: Options = Options::new(Durability::Sync);
const RECOVER: Options = Options { recover: true, ..Options::new(Durability::Sync) };
const NODES: u32 = 5;
const HEAD_BYTES: usize = 24;
/// Of the frame that ends a log, which is a frame's head alone.
const MARK_BYTES: usize = 16;

/// As [`written`], with each write on the disk.
fn chain(directory: &Path) -> (PathBuf, [Vec<u8>; 2]) {
    let (log, [closed, crashed]) = written(directory, OPTIONS);
    assert!(crashed.starts_with(&closed) && crashed.len() > closed.len(), "{} bytes", crashed.len());
    (log, [closed, crashed])
}

/// A graph of a few nodes in a chain, each written and acknowledged by itself; its log as it was left, and as a crash
/// would have left it.
fn written(directory: &Path, options: Options) -> (PathBuf, [Vec<u8>; 2]) {
    let log = directory.join("log-000000000001");
    let store = Store::open(directory, options).unwrap();
    let mut before = None;
    for number in 0..NODES {
        before = Some(
            store
                .write_and_wait(|write| {
                    let node = write.create_node("User", &number.to_string(), &[])?;
                    if let Some(before) = before {
                        write.create_relationship("NEXT", before, node, &[])?;
                    }
                    Ok(node)
                })
                .unwrap(),
        );
    }
    let crashed = fs::read(&log).unwrap();
    drop(store);
    let closed = fs::read(&log).unwrap();
    (log, [closed, crashed])
}

/// All places in the frames, and some in the zeros behind them.
fn places(log: &[u8], frames: usize) -> impl Iterator<Item = usize> {
    (0..log.len()).filter(move |at| *at < frames + 20 || (at - frames).is_multiple_of(16_381))
}

/// A bit of it. Another one of the version's byte would make it an earlier version, which is read alike.
fn flip(bytes: &mut [u8], at: usize) {
    bytes[at] ^= 1 << ((at + 2) % 8);
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Nodes, of which each but the first has its relationship from the one before.
fn length_of(read: &Read) -> u64 {
    let nodes = read.count(Side::Nodes, None);
    assert_eq!(read.count(Side::Relationships, None), nodes.saturating_sub(1));
    for number in 0..nodes {
        assert!(read.find("User", &number.to_string()).is_some(), "node {number} of {nodes} is missing");
    }
    nodes
}

#[test]
fn a_log_cut_anywhere_keeps_the_whole_frames_before() {
    let directory = tempfile::tempdir().unwrap();
    let (log, wholes) = chain(directory.path());
    let frames = wholes[0].len();
    for whole in wholes {
        cut_anywhere(directory.path(), &log, &whole, frames);
    }
}

fn cut_anywhere(directory: &Path, log: &Path, whole: &[u8], frames: usize) {
    let mut seen = Vec::new();
    for length in places(whole, frames).chain([whole.len()]) {
        fs::write(log, &whole[..length]).unwrap();
        let checked = check(directory).unwrap();
        assert_eq!(
            (checked.problems, fs::read(log).unwrap().len()),
            (vec![], length),
            "a check changes nothing"
        );
        let store = Store::open(directory, OPTIONS).unwrap();
        let nodes = length_of(&store.read());
        assert!(seen.last().is_none_or(|last| *last <= nodes), "more was cut and more is there");
        if length == whole.len() {
            assert_eq!((nodes, store.recovery().torn_bytes), (u64::from(NODES), 0));
        }
        seen.push(nodes);
        // What is written behind a torn end is there the next time.
        store.write_and_wait(|write| write.create_node("Later", "x", &[])).unwrap();
        drop(store);
        let store = Store::open(directory, OPTIONS).unwrap();
        assert!(store.read().find("Later", "x").is_some());
    }
    seen.dedup();
    assert_eq!(seen, (0..=u64::from(NODES)).collect::<Vec<_>>());
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_nothing_is_lost_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    let (log, wholes) = chain(directory.path());
    let frames = wholes[0].len();
    for whole in wholes {
        flip_anywhere(directory.path(), &log, &whole, frames);
    }
}

fn flip_anywhere(directory: &Path, log: &Path, whole: &[u8], frames: usize) {
    let (mut errors, mut tried) = (0, 0);
    for at in places(whole, frames) {
        tried += usize::from(at < frames);
        let mut bytes = whole.to_vec();
        flip(&mut bytes, at);
        fs::write(log, &bytes).unwrap();
        match Store::open(directory, OPTIONS) {
            Err(OpenError::File { path, fault }) => {
                assert_eq!(path, log);
                if let FileFault::Damaged { offset, .. } = fault {
                    assert!(offset <= at, "byte {at} was damaged, and {offset} is said to be");
                }
                errors += 1;
                assert_eq!(fs::read(log).unwrap(), bytes, "a refused file is left as it is");
            }
            Err(other) => panic!("byte {at}: {other}"),
            // Only the last frame cannot be told from one that was being written.
            Ok(store) => {
                let is_in_zeros = at >= frames;
                assert_eq!(length_of(&store.read()), u64::from(NODES) - u64::from(!is_in_zeros), "byte {at}");
                assert!(store.recovery().torn_bytes > 0);
            }
        }
    }
    assert!(errors > tried * 4 / 5, "{errors} errors for {tried} bytes");
}

/// Written without `sync`, frames reach the disk in any order: what is not good among them is damage only where they are
/// known to have reached it.
#[test]
fn what_was_not_synced_is_cut_off_after_a_crash_and_damage_after_an_orderly_end() {
    let directory = tempfile::tempdir().unwrap();
    let hourly = Options::new(Durability::Interval(Duration::from_secs(3600)));
    let (log, [closed, crashed]) = written(directory.path(), hourly);
    assert_eq!(closed.len(), crashed.len() + MARK_BYTES);
    let first_frame_ends = HEAD_BYTES + MARK_BYTES + u32_at(&closed, HEAD_BYTES) as usize;
    for at in HEAD_BYTES..closed.len() {
        let mut bytes = closed.clone();
        flip(&mut bytes, at);
        fs::write(&log, &bytes).unwrap();
        let opened = Store::open(directory.path(), OPTIONS);
        if at < crashed.len() {
            assert!(matches!(opened, Err(OpenError::File { .. })), "byte {at}");
            bytes.truncate(crashed.len());
            fs::write(&log, &bytes).unwrap();
            let store = Store::open(directory.path(), OPTIONS).unwrap();
            let (nodes, frames) = (length_of(&store.read()), store.recovery().torn_frames);
            // The lengths of frames are a part of them: one that is too long hides those that it covers.
            assert!(
                nodes < u64::from(NODES) && nodes + frames < u64::from(NODES),
                "byte {at}: {nodes}, {frames}"
            );
            assert_eq!(nodes > 0, at >= first_frame_ends, "byte {at}");
        } else {
            assert_eq!(length_of(&opened.unwrap().read()), u64::from(NODES), "byte {at}");
        }
    }
    fs::write(&log, &closed).unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!((length_of(&store.read()), store.recovery().torn_bytes), (u64::from(NODES), 0));
}

#[test]
fn recover_keeps_what_stands_before_the_damage_and_says_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (log, [mut bytes, _]) = chain(directory.path());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&log, &bytes).unwrap();
    assert!(Store::open(directory.path(), OPTIONS).is_err());
    let store = Store::open(directory.path(), RECOVER).unwrap();
    let nodes = length_of(&store.read());
    assert!((1..u64::from(NODES)).contains(&nodes));
    let [loss] = &store.recovery().lost[..] else { panic!("{:?}", store.recovery()) };
    assert_eq!(loss.path, log);
    assert_eq!(loss.offset + loss.bytes, bytes.len() as u64);
    drop(store);
    // It is whole again, and what was lost does not come back.
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!(length_of(&store.read()), nodes);
}

#[test]
fn a_damaged_snapshot_is_an_error_at_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    chain(directory.path());
    Store::open(directory.path(), OPTIONS).unwrap().snapshot().unwrap();
    let snapshot = directory.path().join("snapshot-000000000002");
    let whole = fs::read(&snapshot).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        flip(&mut bytes, at);
        fs::write(&snapshot, &bytes).unwrap();
        assert!(Store::open(directory.path(), OPTIONS).is_err(), "byte {at} was flipped unseen");
        assert!(check(directory.path()).is_err(), "byte {at} was flipped unseen");
    }
    for length in 0..whole.len() {
        fs::write(&snapshot, &whole[..length]).unwrap();
        assert!(Store::open(directory.path(), OPTIONS).is_err(), "cut to {length} bytes unseen");
    }
    fs::write(&snapshot, &whole).unwrap();
    assert_eq!(length_of(&Store::open(directory.path(), OPTIONS).unwrap().read()), u64::from(NODES));
}

#[test]
fn a_missing_file_of_the_log_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = chain(directory.path());
    Store::open(directory.path(), OPTIONS).unwrap().snapshot().unwrap();
    fs::remove_file(directory.path().join("snapshot-000000000002")).unwrap();
    let error = Store::open(directory.path(), OPTIONS).unwrap_err().to_string();
    assert!(error.contains("log-000000000001"), "{error}");
    assert!(!log.exists());
}

#[test]
fn a_second_store_on_the_same_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let _first = Store::open(directory.path(), OPTIONS).unwrap();
    let error = Store::open(directory.path(), OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(matches!(check(directory.path()), Err(OpenError::InUse { .. })));
}
