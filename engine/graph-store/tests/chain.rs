//! Chains of backups: the graph as it was after any frame that they have, and what is said where something of them is missing, damaged, or
//! of another graph.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{
    CHAIN_MANIFEST, ChainError, Durability, Kind, Options, Restored, Side, Store, Taken, Until, Value,
    backup, restore, take_backup,
};
use prony_log::frames::{HEAD_BYTES, LAST, now_ms, seal_timed};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn open(directory: &Path) -> Store {
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Sync) };
    Store::open(directory, options).unwrap()
}

/// All that is in a graph, ids and declared properties included.
fn shown(store: &Store) -> String {
    let read = store.read();
    let mut lines: Vec<String> = read
        .nodes(None)
        .map(|node| {
            format!("{:?} {} {} {:?}", node.at, node.of.name, node.key, node.properties().collect::<Vec<_>>())
        })
        .collect();
    lines.extend(read.relationships(None).map(|one| {
        format!(
            "{:?} {} {:?} {:?} {:?}",
            one.at,
            one.of.name,
            one.from,
            one.to,
            one.properties().collect::<Vec<_>>()
        )
    }));
    for side in [Side::Nodes, Side::Relationships] {
        for (number, of) in read.schema().side(side).all() {
            lines.push(format!("{side:?} {number} {} {:?}", of.name, of.properties.keys()));
        }
    }
    lines.join("\n")
}

/// One write of its own frame, of all kinds in turn.
fn write(store: &Store, number: u64) {
    let key = |number: u64| format!("ключ {number} {}", "x".repeat((number * 733 % 300) as usize));
    let written = store.write_and_wait(|write| {
        if number == 0 {
            write.make_type(Side::Nodes, "N")?;
            write.declare(Side::Nodes, "N", "n", Kind::Integer)?;
        }
        let n = [("n", Value::Integer(number.cast_signed()))];
        match number % 5 {
            3 => match write.find("N", &key(number - 3)) {
                Some(at) => write.delete_node(at),
                None => Ok(()),
            },
            4 => write.make_type(Side::Nodes, &format!("T{number}")).map(drop),
            _ => {
                let at = write.create_node("N", &key(number), &n)?;
                match number.checked_sub(1).and_then(|before| write.find("N", &key(before))) {
                    Some(before) => write.create_relationship("NEXT", before, at, &[]).map(drop),
                    None => Ok(()),
                }
            }
        }
    });
    written.unwrap();
}

/// A frame that is the last of a backup or is in one, its time, and the graph after it.
struct Point {
    sequence: u64,
    time_ms: u64,
    shown: String,
    /// It can be restored: it is the end of a whole copy, or in an increment.
    is_there: bool,
}

/// A chain of a whole copy and five increments or whole copies, with compactions between them.
fn chain(directory: &Path, chain: &Path) -> Vec<Point> {
    let store = open(directory);
    let (mut points, mut number, mut sequence) = (Vec::<Point>::new(), 0, 0);
    for round in 0..6 {
        for place in 0..7 {
            write(&store, number);
            number += 1;
            sequence += 1;
            let time_ms = now_ms();
            points.push(Point { sequence, time_ms, shown: shown(&store), is_there: false });
            // So that each has a time of its own.
            thread::sleep(Duration::from_millis(3));
            // What is compacted before it is backed up is there as a whole only.
            if round == 2 && place == 4 {
                store.snapshot().unwrap();
            }
        }
        let taken = take_backup(directory, chain).unwrap();
        let Taken::Link { link, gap, .. } = taken else { panic!("something was written") };
        assert_eq!(link.next, sequence + 1, "round {round}");
        let is_whole = round == 0 || round == 2;
        assert_eq!(link.from, if is_whole { link.next } else { sequence - 6 }, "round {round}");
        assert_eq!(gap, (round == 2).then_some((15, 19)), "round {round}");
        for point in points.iter_mut().filter(|point| point.sequence + 1 >= link.from) {
            point.is_there = true;
        }
        // Where all of it is backed up already, a compaction changes nothing of what can be restored.
        if round == 3 {
            store.snapshot().unwrap();
            assert_eq!(take_backup(directory, chain).unwrap(), Taken::Nothing { next: sequence + 1 });
        }
    }
    points
}

fn restored(chain: &Path, until: Until) -> Result<(String, Restored), ChainError> {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("größer/restored");
    fs::create_dir(target.parent().unwrap()).unwrap();
    let made = restore(chain, &target, until)?;
    let store = open(&target);
    assert_eq!(store.check().problems, Vec::<String>::new());
    let shown = shown(&store);
    // It can be gone on with.
    write(&store, 1_000_000);
    drop(store);
    drop(open(&target));
    Ok((shown, made))
}

#[test]
fn the_graph_is_restored_as_it_was_at_each_moment() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let points = chain(directory.path(), &path);
    let last = points.last().unwrap();
    let (all, made) = restored(&path, Until::End).unwrap();
    assert_eq!((&all, made.sequence), (&last.shown, Some(last.sequence)));
    for point in &points {
        let sequence = restored(&path, Until::Sequence(point.sequence));
        let time = restored(&path, Until::Time(point.time_ms));
        if !point.is_there {
            for refused in [sequence.map(drop), time.map(drop)] {
                let error = refused.unwrap_err();
                assert!(matches!(error, ChainError::NotThere { .. }), "{}: {error}", point.sequence);
            }
            continue;
        }
        // What was written before the gap that follows frame 14 cannot be told from what was written in it.
        let time = if point.sequence == 14 {
            // Unless it was written in the very millisecond that is asked for.
            assert!(time.is_err() || time.unwrap().0 == point.shown);
            None
        } else {
            Some(time.unwrap())
        };
        for (shown, made) in [Some(sequence.unwrap()), time].into_iter().flatten() {
            assert_eq!(shown, point.shown, "frame {}", point.sequence);
            assert_eq!((made.sequence, made.earlier_behind), (Some(point.sequence), 0));
            assert!(made.time_ms.unwrap() <= point.time_ms);
        }
    }
    let beyond = restored(&path, Until::Sequence(last.sequence + 1)).unwrap_err().to_string();
    assert!(beyond.contains(&format!("frames up to {}", last.sequence)), "{beyond}");
    assert_eq!(restored(&path, Until::Time(u64::MAX)).unwrap().0, last.shown);
    let before = restored(&path, Until::Time(1000)).unwrap_err().to_string();
    assert!(
        before.contains("1970-01-01T00:00:01.000Z") && before.contains("it begins with frame 7"),
        "{before}"
    );
}

/// Files of a chain that are needed for its end, the manifest included.
fn files(chain: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(chain).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            all.push(path);
        }
    }
    all.retain(|path| path.file_name().unwrap() != "lock");
    all.sort();
    all
}

#[test]
fn damage_is_named_with_file_and_place_and_nothing_is_made() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let points = chain(directory.path(), &path);
    let target = chains.path().join("restored");
    let mut damaged = 0;
    for file in files(&path) {
        // Another whole copy follows.
        let is_needed = !file.to_string_lossy().contains("base-000000000001")
            && !file.to_string_lossy().ends_with("increment-000000000002");
        let bytes = fs::read(&file).unwrap();
        for place in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            fs::write(&file, &changed).unwrap();
            let outcome = restore(&path, &target, Until::End);
            if !is_needed {
                outcome.unwrap();
                fs::remove_dir_all(&target).unwrap();
                continue;
            }
            let error = outcome.unwrap_err().to_string();
            let name = file.file_name().unwrap().to_string_lossy();
            assert!(error.contains(&*name), "{name}: {error}");
            if name != CHAIN_MANIFEST {
                assert!(error.contains("is damaged at byte "), "{error}");
            }
            assert!(!target.exists() && !chains.path().join("restored.part").exists(), "{error}");
            damaged += 1;
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(restore(&path, &target, Until::End).is_err(), is_needed, "{}", file.display());
        let _ = fs::remove_dir_all(&target);
        fs::write(&file, &bytes).unwrap();
    }
    assert!(damaged >= 15, "{damaged}");
    // An increment in the middle that is gone: what stands before it can be restored.
    let missing = path.join("increment-000000000005");
    let bytes = fs::read(&missing).unwrap();
    fs::remove_file(&missing).unwrap();
    let error = restore(&path, &target, Until::End).unwrap_err().to_string();
    assert!(
        error.contains("increment-000000000005 is missing, which has the frames from 29 to 35"),
        "{error}"
    );
    assert!(error.contains("--until-sequence 28"), "{error}");
    assert_eq!(restored(&path, Until::Sequence(28)).unwrap().0, points[27].shown);
    fs::write(&missing, bytes).unwrap();
    assert_eq!(restored(&path, Until::End).unwrap().0, points[41].shown);
    // Nothing is written over.
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "x").unwrap();
    let error = restore(&path, &target, Until::End).unwrap_err().to_string();
    assert!(error.contains("is there already"), "{error}");
    assert_eq!(fs::read(target.join("mine")).unwrap(), b"x");
}

#[test]
fn another_graph_is_not_added_to_a_chain() {
    let (directories, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let points = chain(&directories.path().join("a"), &path);
    let manifest = fs::read(path.join(CHAIN_MANIFEST)).unwrap();
    let refused = |directory: &Path| {
        let error = take_backup(directory, &path).unwrap_err();
        assert!(matches!(error, ChainError::Foreign { .. }), "{error}");
        assert_eq!(fs::read(path.join(CHAIN_MANIFEST)).unwrap(), manifest);
        assert_eq!(restored(&path, Until::End).unwrap().0, points[41].shown);
        error.to_string()
    };
    // With fewer frames, with other frames of the same numbers, and with frames behind.
    for count in [3, 60] {
        let other = directories.path().join(format!("other {count}"));
        let store = open(&other);
        (0..count).for_each(|number| write(&store, number));
        refused(&other);
        store.snapshot().unwrap();
        write(&store, count);
        refused(&other);
    }
    // As it was earlier, and gone on with in another way.
    let earlier = directories.path().join("earlier");
    restore(&path, &earlier, Until::Sequence(30)).unwrap();
    let store = open(&earlier);
    write(&store, 2000);
    assert!(refused(&earlier).contains("restoration to an earlier moment"));
    (2001..2040).for_each(|number| write(&store, number));
    refused(&earlier);
    // What is no chain is no chain.
    let error = take_backup(&earlier, directories.path()).unwrap_err();
    assert!(matches!(error, ChainError::NoChain { .. }), "{error}");
    let error = restore(chains.path(), &directories.path().join("r"), Until::End).unwrap_err();
    assert!(matches!(error, ChainError::NoBackup { .. }), "{error}");
    let whole = chains.path().join("whole");
    backup(&earlier, &whole).unwrap();
    let error = restore(&whole, &directories.path().join("r"), Until::Sequence(3)).unwrap_err();
    assert!(matches!(error, ChainError::NoMoments { .. }), "{error}");
    restore(&whole, &directories.path().join("r"), Until::End).unwrap();
}

/// An empty graph, and one of which nothing was written but what was compacted away.
#[test]
fn a_chain_may_begin_with_nothing() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let store = open(directory.path());
    assert!(matches!(take_backup(directory.path(), &path).unwrap(), Taken::Link { .. }));
    assert_eq!(take_backup(directory.path(), &path).unwrap(), Taken::Nothing { next: 1 });
    for number in 0..3 {
        write(&store, number);
        let Taken::Link { link, gap, .. } = take_backup(directory.path(), &path).unwrap() else { panic!() };
        assert_eq!((link.from, link.next, gap), (number + 1, number + 2, None));
        assert_eq!(restored(&path, Until::End).unwrap().0, shown(&store));
    }
    // What a backup that was cut off has left does not count.
    fs::write(path.join("increment-000000000005"), "half").unwrap();
    fs::create_dir(path.join("base-000000000005.part")).unwrap();
    assert_eq!(take_backup(directory.path(), &path).unwrap(), Taken::Nothing { next: 4 });
    assert!(!path.join("base-000000000005.part").exists());
    assert_eq!(restored(&path, Until::Sequence(2)).unwrap().1.report.nodes, 2);
    assert_eq!(restored(&path, Until::Sequence(0)).unwrap().1.report.nodes, 0);
}

/// Where a manifest was lost, the next backup removed the whole copies beside it, and in any directory what was called `base-…`.
#[test]
fn a_whole_copy_is_not_removed_where_its_manifest_is_lost() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let store = open(directory.path());
    write(&store, 0);
    take_backup(directory.path(), &path).unwrap();
    let manifest = path.join(CHAIN_MANIFEST);
    let kept = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    let error = take_backup(directory.path(), &path).unwrap_err();
    assert!(matches!(error, ChainError::Unnamed { .. }), "{error}");
    assert!(error.to_string().contains("base-000000000001 can be restored by itself"), "{error}");
    restore(&path.join("base-000000000001"), &chains.path().join("restored"), Until::End).unwrap();
    fs::write(&manifest, kept).unwrap();
    fs::create_dir(path.join("base-images")).unwrap();
    write(&store, 1);
    assert!(matches!(take_backup(directory.path(), &path).unwrap(), Taken::Link { .. }));
    assert!(path.join("base-images").exists());
    let others = chains.path().join("others");
    fs::create_dir_all(others.join("base-images")).unwrap();
    let error = take_backup(directory.path(), &others).unwrap_err();
    assert!(matches!(error, ChainError::NoChain { .. }), "{error}");
    assert!(others.join("base-images").exists());
}

/// Increments while others write and snapshots are taken: each is the graph after one of its frames.
#[test]
fn increments_are_taken_under_load() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = chains.path().join("chain");
    let options = Options { snapshot_at_log_bytes: Some(20_000), ..Options::new(Durability::Sync) };
    let store = Store::open(directory.path(), options).unwrap();
    let is_over = AtomicBool::new(false);
    let count = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                store.write_and_wait(|write| write.create_node("N", &count.to_string(), &[])).unwrap();
                count += 1;
            }
            count
        });
        for _ in 0..12 {
            take_backup(directory.path(), &path).unwrap();
            let (_, made) = restored(&path, Until::End).unwrap();
            // Each frame makes one node; the type comes with the first.
            assert_eq!(made.report.nodes, made.sequence.unwrap_or_default());
        }
        is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    take_backup(directory.path(), &path).unwrap();
    assert_eq!(restored(&path, Until::End).unwrap().1.report.nodes, count);
}

/// Gives the frames of a log other times.
fn set_times(log: &Path, times: &[u64]) {
    let mut bytes = fs::read(log).unwrap();
    let (mut at, mut times) = (HEAD_BYTES, times.iter());
    loop {
        let number = |from: usize, count: usize| {
            let mut eight = [0; 8];
            eight[..count].copy_from_slice(&bytes[at + from..at + from + count]);
            u64::from_le_bytes(eight)
        };
        let (length, sequence) = (number(0, 4) as usize, number(8, 8));
        if sequence == LAST {
            break;
        }
        let end = at + 16 + length;
        seal_timed(&mut bytes[at..end], sequence, *times.next().unwrap());
        at = end;
    }
    fs::write(log, bytes).unwrap();
}

#[test]
fn a_time_ends_before_the_first_later_frame_also_where_the_clock_was_set_back() {
    let (directory, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, log) = (chains.path().join("chain"), directory.path().join("log-000000000001"));
    let times = [1000, 2000, 9000, 3000, 4000, 10_000];
    let mut graphs = Vec::new();
    for number in 0..6_u64 {
        let store = open(directory.path());
        write(&store, number);
        graphs.push(shown(&store));
        drop(store);
        // One whole copy, one increment of three frames, one of two.
        if [0, 3, 5].contains(&number) {
            set_times(&log, &times[..=number as usize]);
            take_backup(directory.path(), &path).unwrap();
        }
    }
    let at = |time| restored(&path, Until::Time(time)).unwrap();
    for (time, frames, behind) in [
        (1000, 1, 0),
        (1999, 1, 0),
        (2000, 2, 0),
        (3500, 2, 1),
        (8999, 2, 2),
        (9000, 5, 0),
        (9999, 5, 0),
        (10_000, 6, 0),
    ] {
        let (shown, made) = at(time);
        assert_eq!((made.sequence, made.earlier_behind), (Some(frames), behind), "at {time}");
        assert_eq!(shown, graphs[frames as usize - 1], "at {time}");
    }
    // Frames behind such a one can be named by number.
    assert_eq!(restored(&path, Until::Sequence(4)).unwrap().0, graphs[3]);
}
