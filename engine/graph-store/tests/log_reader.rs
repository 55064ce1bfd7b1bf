//! What the reader of logs and snapshots does with files that nobody has written: a clear error or a sound graph, never a
//! panic, never memory for what a length only claims.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p prony-graph-store --test log_reader` looks for longer.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_graph_store::{Durability, Options, Side, Store, Value, check};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// A file as it was written, to be changed: name and bytes.
type Written = (&'static str, Vec<u8>);

static FILES: LazyLock<[Written; 2]> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
    fill(&store, 0, true);
    drop(store);
    let log = fs::read(directory.path().join("log-000000000001")).unwrap();
    let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
    store.snapshot().unwrap();
    let snapshot = fs::read(directory.path().join("snapshot-000000000002")).unwrap();
    [("log-000000000001", log), ("snapshot-000000000002", snapshot)]
});

fn fill(store: &Store, first: u32, is_sound: bool) {
    for number in first..first + 4 {
        let made = store.write(
            |write| {
                write.make_type(Side::Nodes, "N")?;
                write.declare(Side::Nodes, "N", "p", prony_graph_store::Kind::StringList)?;
                write.declare(Side::Nodes, "N", "i", prony_graph_store::Kind::Integer)?;
                write.index(Side::Nodes, "N", "i")?;
                let list = Value::StringList(vec!["a".into(), "b".into()]);
                let node = write.create_node(
                    "N",
                    &number.to_string(),
                    &[("p", list), ("i", Value::Integer(i64::from(number)))],
                )?;
                let relationship = write.create_relationship("R", node, node, &[])?;
                if number.is_multiple_of(2) { write.delete_relationship(relationship) } else { Ok(()) }
            },
            drop,
        );
        assert!(made.is_ok() || !is_sound, "{made:?}");
    }
}

/// One change of a file. Those of frames keep the checksum right, so that they are looked at.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    /// A piece of the file stands there once more.
    Repeat(usize, usize, usize),
    /// The payload of a frame is that of another one.
    Replace(usize, usize),
    Length(usize, u32),
    /// Bits of what a frame says.
    Says(usize, usize, u8),
    Sequence(usize, u64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<usize>;
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        1 => (place(), any::<u8>()).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        1 => place().prop_map(Mutation::Cut),
        1 => (place(), bytes()).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (place(), place(), place()).prop_map(|(from, length, to)| Mutation::Repeat(from, length, to)),
        4 => (place(), place()).prop_map(|(frame, other)| Mutation::Replace(frame, other)),
        1 => (place(), any::<u32>()).prop_map(|(frame, length)| Mutation::Length(frame, length)),
        4 => (place(), place(), any::<u8>()).prop_map(|(frame, at, bits)| Mutation::Says(frame, at, bits)),
        1 => (place(), prop_oneof![0..20_u64, any::<u64>()]).prop_map(|(frame, number)| Mutation::Sequence(frame, number)),
    ]
}

const FILE_HEAD: usize = 24;
const FRAME_HEAD: usize = 16;

/// Where frames begin, as far as their lengths tell.
fn frames(file: &[u8]) -> Vec<usize> {
    let mut frames = Vec::new();
    let mut at = FILE_HEAD;
    while let Some(head) = file.get(at..at + FRAME_HEAD) {
        frames.push(at);
        at += FRAME_HEAD + u32::from_le_bytes(head[..4].try_into().unwrap()) as usize;
    }
    frames
}

/// Makes the checksum of a frame right.
fn seal(file: &mut [u8], frame: usize) {
    let length = u32::from_le_bytes(file[frame..frame + 4].try_into().unwrap()) as usize;
    if let Some(checked) = file.get(frame + 8..frame + FRAME_HEAD + length) {
        let checksum = crc32c::crc32c(checked);
        file[frame + 4..frame + 8].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn mutate(file: &mut Vec<u8>, mutation: &Mutation) {
    let all = frames(file);
    let within = |at: usize| at % (file.len() + 1);
    let frame = |pick: usize| all.get(pick.checked_rem(all.len()).unwrap_or(0)).copied();
    match mutation {
        Mutation::Flip(at, bits) => {
            let at = within(*at);
            if let Some(byte) = file.get_mut(at) {
                *byte ^= bits;
            }
        }
        Mutation::Cut(at) => file.truncate(within(*at)),
        Mutation::Insert(at, bytes) => {
            let at = within(*at);
            file.splice(at..at, bytes.iter().copied());
        }
        Mutation::Repeat(from, length, to) => {
            let (from, to) = (within(*from), within(*to));
            let piece = file[from..file.len().min(from + length % 200)].to_vec();
            file.splice(to..to, piece);
        }
        Mutation::Replace(pick, other) => {
            let (Some(begin), Some(other)) = (frame(*pick), frame(*other)) else { return };
            let end_of = |begin: usize| {
                all.iter().copied().find(|next| *next > begin).unwrap_or(file.len()).min(file.len())
            };
            let payload = file[other + FRAME_HEAD..end_of(other)].to_vec();
            let end = end_of(begin);
            file[begin..begin + 4].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
            file.splice(begin + FRAME_HEAD..end, payload);
            seal(file, begin);
        }
        Mutation::Says(pick, at, bits) => {
            let Some(begin) = frame(*pick) else { return };
            let payload = file.get_mut(begin + FRAME_HEAD..).filter(|payload| !payload.is_empty());
            if let Some(payload) = payload {
                let at = at % payload.len();
                payload[at] ^= bits;
            }
            for frame in &all {
                seal(file, *frame);
            }
        }
        Mutation::Length(pick, length) => {
            if let Some(begin) = frame(*pick) {
                file[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
                seal(file, begin);
            }
        }
        Mutation::Sequence(pick, sequence) => {
            if let Some(begin) = frame(*pick) {
                file[begin + 8..begin + FRAME_HEAD].copy_from_slice(&sequence.to_le_bytes());
                seal(file, begin);
            }
        }
    }
}

fn read(directory: &Path, is_of_the_store: bool) {
    let checked = check(directory);
    for recover in [false, true] {
        // A start does what the check has said.
        let options = Options { recover, ..Options::new(Durability::Off) };
        let opened = Store::open(directory, options);
        if !recover {
            assert_eq!(opened.is_ok(), checked.is_ok(), "{opened:?} {checked:?}");
        }
        if let Ok(store) = opened {
            fill(&store, 1_000_000, is_of_the_store);
            // A store writes no frame twice and in no other order: then it may be a graph that none can be.
            let problems = store.check().problems;
            assert!(problems.is_empty() || !is_of_the_store, "{problems:?}");
            return;
        }
    }
}

proptest! {
    #[test]
    fn no_file_is_too_strange(
        is_snapshot in any::<bool>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let (name, bytes) = &FILES[usize::from(is_snapshot)];
        let mut bytes = bytes.clone();
        for mutation in &mutations {
            mutate(&mut bytes, mutation);
        }
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), &bytes).unwrap();
        let is_of_the_store =
            !mutations.iter().any(|of| matches!(of, Mutation::Replace(..) | Mutation::Sequence(..) | Mutation::Says(..)));
        read(directory.path(), is_of_the_store);
    }
}
