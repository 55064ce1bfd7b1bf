//! Graphs to measure on, made with the store as a library, whole in a snapshot.

use prony_graph_store::{Durability, Options, Ref, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Those of the study.
pub(crate) const NODES: u32 = 3_000_000;
/// An average degree of 4: a relationship counts at both of its ends.
pub(crate) const RELATIONSHIPS: u32 = 6_000_000;
const RELATIONSHIP_TYPES: u64 = 9;
/// Written at once: enough to cost nothing, few enough to take no memory.
const BATCH: u32 = 10_000;

/// `NODES` nodes with keys from 0 and this many relationships between random ones. Kept; do not write to it.
pub(crate) fn kept(relationships: u32) -> PathBuf {
    let directory =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph").join(format!("{NODES}-{relationships}"));
    if !directory.exists() {
        let part = directory.with_extension("part");
        // What an earlier run did not end.
        let _ = fs::remove_dir_all(&part);
        make(&part, NODES, relationships);
        fs::rename(&part, &directory).expect("both are in the same folder");
    }
    directory
}

/// A graph source with one database, made anew.
pub(crate) fn make(directory: &Path, nodes: u32, relationships: u32) {
    let database = directory.join("rage");
    fs::create_dir_all(&database).expect("the target's folder can be written to");
    let store = Store::open_for_snapshot(&database, false).expect("a new store opens");
    let made = make_nodes(&store, nodes);
    make_relationships(&store, &made, relationships);
    store.snapshot().expect("there is room for a snapshot");
}

fn make_nodes(store: &Store, nodes: u32) -> Vec<Ref> {
    let mut made = Vec::with_capacity(nodes as usize);
    for from in (0..nodes).step_by(BATCH as usize) {
        let batch = store.write_and_wait(|write| {
            let keys = from..nodes.min(from + BATCH);
            keys.map(|key| write.create_node("Node", &key.to_string(), &[])).collect::<Result<Vec<_>, _>>()
        });
        made.extend(batch.expect("new keys can be created"));
    }
    made
}

fn make_relationships(store: &Store, nodes: &[Ref], relationships: u32) {
    let mut random = Random::default();
    for from in (0..relationships).step_by(BATCH as usize) {
        make_batch(store, nodes, relationships.min(from + BATCH) - from, &mut random);
    }
}

fn make_batch(store: &Store, nodes: &[Ref], relationships: u32, random: &mut Random) {
    let batch = store.write_and_wait(|write| {
        for _ in 0..relationships {
            let mut any = || nodes[random.below(nodes.len() as u64) as usize];
            let (start, end) = (any(), any());
            let name = format!("TYPE_{}", 1 + random.below(RELATIONSHIP_TYPES));
            write.create_relationship(&name, start, end, &[])?;
        }
        Ok(())
    });
    batch.expect("both nodes are there");
}

/// A graph source of [`NODES`] nodes that has no snapshot yet and a log of this many bytes or a little more; gives how many
/// relationships that took.
pub(crate) fn make_with_log(directory: &Path, log_bytes: u64) -> u64 {
    let database = directory.join("rage");
    fs::create_dir_all(&database).expect("the target's folder can be written to");
    let durability = Durability::Interval(Duration::from_millis(100));
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(durability) };
    let store = Store::open(&database, options).expect("a new store opens");
    let made = make_nodes(&store, NODES);
    let (mut random, mut relationships) = (Random::default(), 0);
    while store.log_bytes() < log_bytes {
        make_batch(&store, &made, BATCH / 10, &mut random);
        relationships += u64::from(BATCH / 10);
    }
    relationships
}

/// Knuth's MMIX generator: the same graph each time.
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(1)
    }
}

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
