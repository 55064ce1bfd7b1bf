//! One kind of operation many times on one thread, to count what one costs:
//! `valgrind --tool=callgrind target/release/examples/graph_store_loop KIND COUNT` with two counts, whose difference is
//! that of the operations alone. Kinds: `node` and `relationship` make one each, `find` looks a node up by its key,
//! `around` its relationships (four in the mean). Nothing is synced.

#![allow(clippy::unwrap_used, reason = "an error ends it")]

use prony_graph_store::{Around, Durability, Options, Ref, Store};

const NODES: u32 = 20_000;
const TYPES: [&str; 9] =
    ["TYPE_1", "TYPE_2", "TYPE_3", "TYPE_4", "TYPE_5", "TYPE_6", "TYPE_7", "TYPE_8", "TYPE_9"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap();
    let count: u32 = arguments.next().unwrap().parse().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(Durability::Off) };
    let store = Store::open(directory.path(), options).unwrap();
    let mut state = 1;
    let make =
        |key: u32| store.write_ticket(|write| write.create_node("Node", &key.to_string(), &[])).unwrap().0;
    let nodes: Vec<Ref> = (0..NODES).map(make).collect();
    let relate = |state: &mut u64| {
        let [from, to, of] = [NODES, NODES, 9].map(|limit| (chance(state) % limit) as usize);
        store
            .write_ticket(|write| write.create_relationship(TYPES[of], nodes[from], nodes[to], &[]))
            .unwrap();
    };
    if kind != "relationship" && kind != "node" {
        (0..NODES * 2).for_each(|_| relate(&mut state));
    }
    let found: usize = match kind.as_str() {
        "node" => (NODES..NODES + count).map(|key| make(key).index() as usize).sum(),
        "relationship" => (0..count).map(|_| relate(&mut state)).count(),
        _ => {
            let look = |_| {
                let (read, key) = (store.read(), (chance(&mut state) % NODES).to_string());
                let node = read.find("Node", &key).unwrap();
                if kind == "around" { read.around(node.at, Around::default()).len() } else { 1 }
            };
            (0..count).map(look).sum()
        }
    };
    assert!(found > 0);
}

fn chance(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u32
}
