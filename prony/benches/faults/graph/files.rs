//! What stands in the files of a graph, as `docs/graph-files.md` describes them. Nothing of the store is used here: a mistake of its own would
//! hide itself.

use std::{
    collections::HashSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

const HEAD_BYTES: usize = 24;
/// Where a file's head says what it is, and what it says of a log.
const KIND_AT: usize = 12;
const KIND_LOG: u8 = 1;
const FRAME_HEAD_BYTES: usize = 16;
/// Before what a frame of a log has of changes.
const TIME_BYTES: usize = 8;
const DIGITS: usize = 12;

/// Nodes and relationships that are gone have this as their first byte.
pub(super) const RELATIONSHIP_GONE: u8 = 6 << 1 | 1;
const NODE_PUT: u8 = 5 << 1;

/// The files of a kind, `log-` or `snapshot-`, by their numbers.
pub(super) fn numbered(directory: &Path, kind: &str) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(directory).expect("a graph has a directory").flatten();
    let numbered = entries.filter_map(|entry| {
        let name = entry.file_name();
        let digits = name.to_str()?.strip_prefix(kind).filter(|digits| digits.len() == DIGITS)?;
        Some((digits.parse().ok()?, entry.path()))
    });
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort_unstable();
    numbered
}

/// Where frames stand, as far as their lengths tell: up to zeros, the last frame of a snapshot or the mark of a log that was closed.
pub(super) fn frames(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut frames, mut at) = (Vec::new(), HEAD_BYTES);
    while let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let length = u32::from_le_bytes(*length) as usize;
        let end = at + FRAME_HEAD_BYTES + length;
        if length == 0 || end > bytes.len() {
            break;
        }
        frames.push(at..end);
        at = end;
    }
    frames
}

/// Keys of nodes that are put by the frames of a file from a byte on; those that are numbers.
pub(super) fn keys(path: &Path, from: usize) -> HashSet<u64> {
    let mut keys = HashSet::new();
    see_changes(path, from, |_, key| {
        keys.extend(std::str::from_utf8(key).ok().and_then(|key| key.parse::<u64>().ok()));
    });
    keys
}

/// How many changes in a file begin with this byte.
pub(super) fn count(path: &Path, first: u8) -> usize {
    let mut count = 0;
    see_changes(path, 0, |found, _| count += usize::from(found == first));
    count
}

/// Calls `see` with the first byte of each change in the frames of a file from a byte on, and with the key, where a node is put.
fn see_changes(path: &Path, from: usize, mut see: impl FnMut(u8, &[u8])) {
    let bytes = fs::read(path).expect("a file of the graph can be read");
    let is_log = bytes.get(KIND_AT) == Some(&KIND_LOG);
    let before = FRAME_HEAD_BYTES + if is_log { TIME_BYTES } else { 0 };
    for frame in frames(&bytes).into_iter().filter(|frame| frame.start >= from) {
        let payload = bytes.get(frame.start + before..frame.end).unwrap_or_default();
        for (first, key) in Payload(payload) {
            see(first, key);
        }
    }
}

/// The changes of a frame that were not looked at yet.
struct Payload<'b>(&'b [u8]);

impl<'b> Iterator for Payload<'b> {
    type Item = (u8, &'b [u8]);

    /// None where there are no more, and where the rest of a frame was not written.
    fn next(&mut self) -> Option<Self::Item> {
        let first = self.take(1)?[0];
        let (bytes, texts) = match (first >> 1, first & 1) {
            (1, _) => (2, 1),
            (2, _) => (2, 0),
            (3, _) => (5, 1),
            (4 | 8 | 9, _) => (4, 0),
            (5, 0) => (7, 2),
            (5, _) => (21, 1),
            (6, _) => (7, 0),
            (7, _) => (0, 0),
            _ => return None,
        };
        self.take(bytes)?;
        let text = if texts > 0 { self.text()? } else { &[] };
        if texts > 1 {
            self.text()?;
        }
        let key = if first == NODE_PUT { text } else { &[] };
        Some((first, key))
    }
}

impl<'b> Payload<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// With its length before it: seven bits a byte, the lowest first.
    fn text(&mut self) -> Option<&'b [u8]> {
        let (mut length, mut bits) = (0_usize, 0);
        loop {
            let byte = self.take(1)?[0];
            length |= usize::from(byte & 0x7f).checked_shl(bits)?;
            bits += 7;
            if byte & 0x80 == 0 {
                return self.take(length);
            }
        }
    }
}
