//! Torn and flipped bytes at every place of a small log and snapshot: a clear error, or what was acknowledged before.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, FileFault, OpenError, Options, Read, Side, Store, check};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const OPTIONS: Options = Options::new(Durability::Sync);
const RECOVER: Options = Options { recover: true, ..Options::new(Durability::Sync) };
const NODES: u32 = 5;
const HEAD_BYTES: usize = 24;
/// Of the frame that ends a log, which is a frame's head alone.
const MARK_BYTES: usize = 16;
const LOG: &str = "log-000000000001";
const STATE: &str = "log-state";

/// A log and the file beside it that says how far it is sure, as a process has left them.
struct Left {
    directory: PathBuf,
    log: Vec<u8>,
    state: Vec<u8>,
}

impl Left {
    fn read(directory: &Path) -> Self {
        let read = |name: &str| fs::read(directory.join(name)).unwrap();
        Self { directory: directory.to_owned(), log: read(LOG), state: read(STATE) }
    }

    /// Puts both files there, the log as it is given.
    fn put(&self, log: &[u8]) {
        fs::write(self.directory.join(LOG), log).unwrap();
        fs::write(self.directory.join(STATE), &self.state).unwrap();
    }
}

/// As [`written`], with each write on the disk.
fn chain(directory: &Path) -> [Left; 2] {
    let [closed, crashed] = written(directory, OPTIONS);
    let frames = closed.log.len() - MARK_BYTES;
    assert_eq!(crashed.log[..frames], closed.log[..frames]);
    assert!(crashed.log.len() > frames && crashed.log[frames..].iter().all(|byte| *byte == 0));
    [closed, crashed]
}

/// A graph of a few nodes in a chain, each written and acknowledged by itself; as it was left, and as a crash would have left it.
fn written(directory: &Path, options: Options) -> [Left; 2] {
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
    let crashed = Left::read(directory);
    drop(store);
    [Left::read(directory), crashed]
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

/// Whether a start is refused because of damage that it finds, at or before a byte of the log, and leaves the file as it is.
fn assert_refused(left: &Left, log: &[u8], at: usize) {
    left.put(log);
    match Store::open(&left.directory, OPTIONS) {
        Err(OpenError::File { path, fault }) => {
            assert_eq!(path, left.directory.join(LOG));
            if let FileFault::Damaged { offset, .. } = fault {
                assert!(offset <= at, "byte {at} was damaged, and {offset} is said to be");
            }
            assert_eq!(fs::read(path).unwrap(), log, "a refused file is left as it is");
        }
        other => panic!("byte {at}: {other:?}"),
    }
    assert!(check(&left.directory).is_err());
}

#[test]
fn a_log_cut_anywhere_after_a_crash_keeps_the_whole_frames_before() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let [closed, crashed] = chain(directory);
    let frames = closed.log.len() - MARK_BYTES;
    let whole = &crashed.log;
    let mut seen = Vec::new();
    for length in places(whole, frames).chain([whole.len()]) {
        crashed.put(&whole[..length]);
        if length < HEAD_BYTES {
            // It had its head before there was a frame.
            assert!(Store::open(directory, OPTIONS).is_err(), "{length} bytes");
            continue;
        }
        let checked = check(directory).unwrap();
        assert_eq!(
            (checked.problems, fs::read(directory.join(LOG)).unwrap().len()),
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
fn a_log_that_was_closed_is_refused_where_anything_of_it_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let [closed, _] = chain(directory.path());
    let frames = closed.log.len() - MARK_BYTES;
    for length in 0..frames {
        assert_refused(&closed, &closed.log[..length], length);
    }
    // The mark itself is nothing that was written.
    for length in frames..=closed.log.len() {
        closed.put(&closed.log[..length]);
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        assert_eq!(length_of(&store.read()), u64::from(NODES));
    }
    // A disk that has lost a write gives zeros.
    let mut zeros = closed.log.clone();
    zeros[frames - 40..].fill(0);
    assert_refused(&closed, &zeros, frames);
}

/// After an orderly end, a flipped bit in the last frame had it cut off as if it had not been acknowledged.
#[test]
fn a_flipped_bit_anywhere_is_found_and_nothing_is_lost_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    let [closed, crashed] = chain(directory.path());
    let frames = closed.log.len() - MARK_BYTES;
    let flipped = |left: &Left, at: usize| {
        let mut bytes = left.log.clone();
        flip(&mut bytes, at);
        bytes
    };
    let last_frame = |log: &[u8]| {
        let next = |at: &usize| at + MARK_BYTES + u32_at(log, *at) as usize;
        std::iter::successors(Some(HEAD_BYTES), |at| Some(next(at)))
            .take_while(|at| *at < frames)
            .last()
            .unwrap()
    };
    let last = last_frame(&crashed.log);
    for at in 0..closed.log.len() {
        if at < frames {
            assert_refused(&closed, &flipped(&closed, at), at);
        } else {
            closed.put(&flipped(&closed, at));
            assert_eq!(length_of(&Store::open(directory.path(), OPTIONS).unwrap().read()), u64::from(NODES));
        }
    }
    for at in places(&crashed.log, frames) {
        if at < last {
            assert_refused(&crashed, &flipped(&crashed, at), at);
            continue;
        }
        // Only the last frame cannot be told from one that was being written.
        crashed.put(&flipped(&crashed, at));
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        assert_eq!(length_of(&store.read()), u64::from(NODES) - u64::from(at < frames), "byte {at}");
        assert!(store.recovery().torn_bytes > 0);
    }
}

/// A second start that is killed has found the log whole: from then on damage to its last frame is known to be damage.
#[test]
fn what_a_start_has_read_is_sure_even_if_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let [_, crashed] = chain(directory.path());
    crashed.put(&crashed.log);
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    let killed = Left::read(directory.path());
    drop(store);
    let mut bytes = killed.log.clone();
    let last = bytes.len() - 1;
    flip(&mut bytes, last);
    assert_refused(&killed, &bytes, last);
}

/// The log that nothing is written to says how far it is sure without being closed.
#[test]
fn a_log_that_rests_knows_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    store.write_and_wait(|write| write.create_node("User", "0", &[])).unwrap();
    let before = Left::read(directory.path());
    while fs::read(directory.path().join(STATE)).unwrap() == before.state {
        std::thread::sleep(Duration::from_millis(20));
    }
    let rested = Left::read(directory.path());
    drop(store);
    let frame_end = HEAD_BYTES + MARK_BYTES + u32_at(&rested.log, HEAD_BYTES) as usize;
    let mut bytes = rested.log.clone();
    flip(&mut bytes, frame_end - 1);
    assert_refused(&rested, &bytes, frame_end - 1);
}

#[test]
fn a_damaged_state_of_the_log_is_made_up_for_by_the_one_before_it_and_a_missing_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [closed, crashed] = chain(directory.path());
    for left in [&closed, &crashed] {
        for at in 0..left.state.len() {
            let mut state = left.state.clone();
            flip(&mut state, at);
            let has_other = state.chunks(4096).all(|place| place.iter().any(|byte| *byte != 0));
            if at % 4096 > 60 && at % 511 != 0 {
                continue;
            }
            left.put(&left.log);
            fs::write(directory.path().join(STATE), state).unwrap();
            match Store::open(directory.path(), OPTIONS) {
                Ok(store) => assert_eq!(length_of(&store.read()), u64::from(NODES)),
                Err(OpenError::NoState { .. } | OpenError::File { .. }) if !has_other || at % 4096 < 48 => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    crashed.put(&crashed.log);
    fs::remove_file(directory.path().join(STATE)).unwrap();
    let error = Store::open(directory.path(), OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::NoState { .. }), "{error}");
    assert!(error.to_string().contains("log-state"), "{error}");
    let store = Store::open(directory.path(), RECOVER).unwrap();
    assert_eq!(length_of(&store.read()), u64::from(NODES));
    // That files of the log may be missing behind those that are there was said to nobody.
    let [loss] = &store.recovery().lost[..] else { panic!("{:?}", store.recovery()) };
    assert!(loss.path.ends_with(STATE) && loss.why.contains("unknown"), "{loss:?}");
    drop(store);
    assert!(Store::open(directory.path(), OPTIONS).unwrap().recovery().lost.is_empty());
}

/// Written without `sync`, frames reach the disk in any order: what is not good among them is damage only where they are
/// known to have reached it.
#[test]
fn what_was_not_synced_is_cut_off_after_a_crash_and_damage_after_an_orderly_end() {
    let directory = tempfile::tempdir().unwrap();
    let hourly = Options::new(Durability::Interval(Duration::from_secs(3600)));
    let [closed, crashed] = written(directory.path(), hourly);
    let frames = crashed.log.len();
    assert_eq!(closed.log.len(), frames + MARK_BYTES);
    let first_frame_ends = HEAD_BYTES + MARK_BYTES + u32_at(&closed.log, HEAD_BYTES) as usize;
    for at in HEAD_BYTES..closed.log.len() {
        let mut bytes = closed.log.clone();
        flip(&mut bytes, at);
        if at < frames {
            assert_refused(&closed, &bytes, at);
            crashed.put(&bytes[..frames]);
            let store = Store::open(directory.path(), OPTIONS).unwrap();
            let (nodes, frames) = (length_of(&store.read()), store.recovery().torn_frames);
            // The lengths of frames are a part of them: one that is too long hides those that it covers.
            assert!(
                nodes < u64::from(NODES) && nodes + frames < u64::from(NODES),
                "byte {at}: {nodes}, {frames}"
            );
            assert_eq!(nodes > 0, at >= first_frame_ends, "byte {at}");
        } else {
            closed.put(&bytes);
            let store = Store::open(directory.path(), OPTIONS).unwrap();
            assert_eq!(length_of(&store.read()), u64::from(NODES), "byte {at}");
        }
    }
    closed.put(&closed.log);
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!((length_of(&store.read()), store.recovery().torn_bytes), (u64::from(NODES), 0));
}

#[test]
fn recover_keeps_what_stands_before_the_damage_and_says_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let [closed, _] = chain(directory.path());
    let log = directory.path().join(LOG);
    let kept = directory.path().join(format!("{LOG}.lost"));
    let mut bytes = closed.log.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    closed.put(&bytes);
    assert!(Store::open(directory.path(), OPTIONS).is_err() && !kept.exists());
    let store = Store::open(directory.path(), RECOVER).unwrap();
    let nodes = length_of(&store.read());
    assert!((1..u64::from(NODES)).contains(&nodes));
    let [loss] = &store.recovery().lost[..] else { panic!("{:?}", store.recovery()) };
    assert_eq!((&loss.path, &loss.kept), (&log, &Some(kept.clone())));
    assert_eq!(loss.offset + loss.bytes, bytes.len() as u64);
    assert_eq!(fs::read(&kept).unwrap(), bytes, "what is good behind the damage is not thrown away");
    drop(store);
    // It is whole again, and what was lost does not come back.
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    assert_eq!(length_of(&store.read()), nodes);
    drop(store);
    // What was set aside before is not written over.
    let mut again = fs::read(&log).unwrap();
    again[HEAD_BYTES + 30] ^= 0x10;
    fs::write(&log, &again).unwrap();
    let store = Store::open(directory.path(), RECOVER).unwrap();
    let second = store.recovery().lost[0].kept.clone().unwrap();
    assert_eq!((fs::read(second).unwrap(), fs::read(&kept).unwrap()), (again, bytes));
}

#[test]
fn recover_sets_a_file_without_a_head_and_a_damaged_snapshot_aside() {
    let directory = tempfile::tempdir().unwrap();
    chain(directory.path());
    Store::open(directory.path(), OPTIONS).unwrap().snapshot().unwrap();
    for (name, at) in [("snapshot-000000000002", 40), ("snapshot-000000000002", 3), ("log-000000000002", 20)]
    {
        let copy = copy_without(directory.path(), &[]);
        let mut bytes = fs::read(copy.path().join(name)).unwrap();
        // Longer than a head that was being written.
        bytes.resize(bytes.len() + 1, 0);
        bytes[at] ^= 0x10;
        fs::write(copy.path().join(name), &bytes).unwrap();
        assert!(Store::open(copy.path(), OPTIONS).is_err(), "{name} {at}");
        let store = Store::open(copy.path(), RECOVER).unwrap();
        assert_eq!(fs::read(copy.path().join(format!("{name}.lost"))).unwrap(), bytes, "{name} {at}");
        store.write_and_wait(|write| write.create_node("User", "later", &[])).unwrap();
        drop(store);
        let store = Store::open(copy.path(), OPTIONS).unwrap();
        assert!(store.read().find("User", "later").is_some(), "it goes on without");
    }
}

/// A node of a type of its own, which a log brings with it.
fn add(store: &Store, name: &str) {
    store.write_and_wait(|write| write.create_node(name, "x", &[])).unwrap();
}

/// Begins a further file of the log, as a snapshot does that cannot be written.
fn fail_snapshot(store: &Store, directory: &Path) {
    fs::create_dir(directory.join("snapshot.part")).unwrap();
    store.snapshot().unwrap_err();
    fs::remove_dir(directory.join("snapshot.part")).unwrap();
}

/// A copy of a directory without these files.
fn copy_without(directory: &Path, gone: &[&str]) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(directory).unwrap() {
        let file = file.unwrap();
        if !gone.contains(&file.file_name().to_str().unwrap()) {
            fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
    }
    copy
}

fn damage(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn assert_has(store: &Store, names: &[&str]) {
    let read = store.read();
    let missing: Vec<_> = names.iter().filter(|name| read.find(name, "x").is_none()).collect();
    assert!(missing.is_empty(), "{missing:?} are missing: {:?}", store.recovery());
    assert_eq!(read.count(Side::Nodes, None), names.len() as u64);
}

/// They were removed as needless, and the graph was empty, although the log had all of it.
#[test]
fn recover_reads_the_files_that_a_damaged_snapshot_was_to_replace() {
    let [directory, kept] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let path = |name: &str| directory.path().join(name);
    let keep = |name: &str| fs::hard_link(path(name), kept.path().join(name)).unwrap();
    // A process that ends before they are removed leaves them beside the snapshot.
    let put_back = |name: &str| fs::rename(kept.path().join(name), path(name)).unwrap();
    let recover = |snapshot: &str, names: &[&str]| {
        assert!(Store::open(directory.path(), OPTIONS).is_err());
        let store = Store::open(directory.path(), RECOVER).unwrap();
        assert_has(&store, names);
        let [loss] = &store.recovery().lost[..] else { panic!("{:?}", store.recovery()) };
        assert_eq!(loss.path, path(snapshot));
        assert!(loss.kept.as_ref().is_some_and(|kept| kept.exists()) && loss.why.contains("in its place"));
        drop(store);
        let store = Store::open(directory.path(), OPTIONS).unwrap();
        assert_has(&store, names);
        store
    };
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    add(&store, "first");
    keep(LOG);
    store.snapshot().unwrap();
    add(&store, "second");
    drop(store);
    put_back(LOG);
    damage(&path("snapshot-000000000002"), 3);
    let store = recover("snapshot-000000000002", &["first", "second"]);
    let number = store.snapshot().unwrap().number;
    add(&store, "third");
    let before = [format!("snapshot-{number:012}"), format!("log-{number:012}")];
    for name in &before {
        keep(name);
    }
    let number = store.snapshot().unwrap().number;
    add(&store, "fourth");
    drop(store);
    for name in &before {
        put_back(name);
    }
    let snapshot = format!("snapshot-{number:012}");
    damage(&path(&snapshot), 40);
    recover(&snapshot, &["first", "second", "third", "fourth"]);
}

/// All but the first file of the log were put aside, though they can be read.
#[test]
fn recover_reads_the_whole_log_behind_a_damaged_snapshot_and_before_a_missing_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    add(&store, "0");
    store.snapshot().unwrap();
    for key in ["in 2", "in 3", "in 4"] {
        add(&store, key);
        fail_snapshot(&store, directory.path());
    }
    add(&store, "in 5");
    // Without its type it cannot be kept: the next type would get the number.
    store.write_and_wait(|write| write.create_node("0", "y", &[])).unwrap();
    drop(store);
    let cases: [(&str, &[&str]); 2] = [
        ("snapshot-000000000002", &["in 2", "in 3", "in 4", "in 5"]),
        ("log-000000000005", &["0", "in 2", "in 3", "in 4"]),
    ];
    for (name, names) in cases {
        let copy = copy_without(directory.path(), &[]);
        if name.starts_with("log") {
            fs::remove_file(copy.path().join(name)).unwrap();
        } else {
            damage(&copy.path().join(name), 3);
        }
        let store = Store::open(copy.path(), RECOVER).unwrap();
        assert_has(&store, names);
        drop(store);
        let store = Store::open(copy.path(), OPTIONS).unwrap();
        assert_has(&store, names);
        add(&store, "later");
        assert_has(&store, &[names, &["later"]].concat());
    }
}

/// They were gone with the snapshot that is taken in the log's place, and nothing said so.
#[test]
fn recover_keeps_a_log_whose_types_were_lost_with_the_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    add(&store, "first");
    store.snapshot().unwrap();
    store.write_and_wait(|write| write.create_node("first", "y", &[])).unwrap();
    drop(store);
    let log = fs::read(path("log-000000000002")).unwrap();
    damage(&path("snapshot-000000000002"), 40);
    let store = Store::open(directory.path(), RECOVER).unwrap();
    let [of_snapshot, of_log] = &store.recovery().lost[..] else { panic!("{:?}", store.recovery()) };
    assert_eq!(of_snapshot.path, path("snapshot-000000000002"));
    assert_eq!(of_log.path, path("log-000000000002"));
    assert!(of_log.why.ends_with("left out: 1"), "{}", of_log.why);
    let kept = of_log.kept.clone().unwrap();
    drop(store);
    assert_eq!(fs::read(kept).unwrap(), log);
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
fn a_missing_file_is_named_whichever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    chain(directory.path());
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    store.snapshot().unwrap();
    store.write_and_wait(|write| write.create_node("User", "later", &[])).unwrap();
    // A second file of the log behind the snapshot.
    fail_snapshot(&store, directory.path());
    store.write_and_wait(|write| write.create_node("User", "last", &[])).unwrap();
    drop(store);
    let [two, three] = ["log-000000000002", "log-000000000003"];
    let gone: [(&[&str], &str); 5] = [
        (&["snapshot-000000000002"], LOG),
        (&[two], two),
        (&[three], three),
        (&[two, three], three),
        (&[two, three, STATE], two),
    ];
    for (gone, named) in gone {
        let copy = copy_without(directory.path(), gone);
        let error = Store::open(copy.path(), OPTIONS).unwrap_err();
        assert!(matches!(error, OpenError::Missing { .. }), "{gone:?}: {error}");
        assert!(error.to_string().contains(named), "{gone:?}: {error}");
        // Without the snapshot, nothing would be left that it could go on with.
        assert_eq!(error.to_string().contains("--recover"), named != LOG, "{gone:?}: {error}");
        assert!(!copy.path().join(named).exists() && check(copy.path()).is_err());
        let recovered = Store::open(copy.path(), RECOVER);
        if named == LOG {
            let error = recovered.unwrap_err();
            assert!(matches!(error, OpenError::Missing { .. }), "nothing would be left: {error}");
            continue;
        }
        let store = recovered.unwrap_or_else(|error| panic!("{gone:?}: {error}"));
        assert!(store.recovery().lost[0].why.contains("missing"), "{:?}", store.recovery());
        // The snapshot is there, and the graph goes on.
        store.write_and_wait(|write| write.create_node("User", "behind", &[])).unwrap();
        drop(store);
        let store = Store::open(copy.path(), OPTIONS).unwrap();
        let read = store.read();
        let is_there = |key: &str| read.find("User", key).is_some();
        assert!(is_there("0") && is_there("behind") && !is_there("last"), "{gone:?}");
    }
}

#[test]
fn a_second_store_on_the_same_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let _first = Store::open(directory.path(), OPTIONS).unwrap();
    let error = Store::open(directory.path(), OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(matches!(check(directory.path()), Err(OpenError::InUse { .. })));
}

/// The disk refuses it when the log goes on in another file, a snapshot takes the place of the file before, and the process is killed: a start was
/// refused although nothing is missing.
#[test]
fn a_state_of_a_file_that_a_snapshot_has_replaced_is_no_loss() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), OPTIONS).unwrap();
    let write = |key: &str| store.write_and_wait(|write| write.create_node("User", key, &[])).unwrap();
    write("before");
    let state = fs::read(directory.path().join(STATE)).unwrap();
    store.snapshot().unwrap();
    for frames in 0..3 {
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(directory.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        assert!(!copy.path().join(LOG).exists(), "the snapshot has taken its place");
        fs::write(copy.path().join(STATE), &state).unwrap();
        let opened = Store::open(copy.path(), OPTIONS).unwrap();
        let keys: Vec<String> = opened.read().nodes(None).map(|node| node.key.to_owned()).collect();
        assert_eq!(keys.len(), 1 + frames, "{keys:?}");
        opened.write_and_wait(|write| write.create_node("User", "behind", &[])).unwrap();
        drop(opened);
        assert_eq!(Store::open(copy.path(), OPTIONS).unwrap().read().nodes(None).count(), 2 + frames);
        write(&frames.to_string());
    }
}
