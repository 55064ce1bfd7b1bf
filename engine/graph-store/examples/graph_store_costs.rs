//! What the graph store costs on this machine, as a library: memory, time to start, operations a second on one thread and
//! on two, one sync of the disk. Prints one line a figure.
//!
//! `cargo run --release -p prony-graph-store --example graph_store_costs -- [NODES [DIRECTORY]]` (3,000,000 nodes, twice
//! as many relationships, and one node with 10,000,000; in the system's temporary directory).

#![allow(unsafe_code, reason = "the C library is asked for the heap's size")]
#![allow(clippy::print_stdout, reason = "it is there to print")]
#![allow(clippy::unwrap_used, reason = "an error ends it")]

use prony_graph_store::{Around, Durability, Options, Ref, Store, Ticket};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const NODES: u32 = 3_000_000;
const RELATIONSHIPS_A_NODE: u32 = 2;
const LOOKS: u32 = 2_000_000;
const TYPES: [&str; 9] =
    ["TYPE_1", "TYPE_2", "TYPE_3", "TYPE_4", "TYPE_5", "TYPE_6", "TYPE_7", "TYPE_8", "TYPE_9"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(NODES, |count| count.parse().unwrap());
    let parent = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let directory = tempfile::tempdir_in(parent).unwrap();
    one_sync(directory.path());
    let graph = directory.path().join("graph");
    fill(&graph, nodes);
    start(&graph, nodes);
    for durability in [Durability::Sync, Durability::Interval(Duration::from_millis(100)), Durability::Off] {
        writes(&directory.path().join(format!("{durability:?}")), durability);
    }
    looks(&graph, nodes);
    hub(&directory.path().join("hub"), nodes / 3 * 10);
}

fn open(directory: &Path, durability: Durability) -> Store {
    Store::open(directory, Options { snapshot_at_log_bytes: None, ..Options::new(durability) }).unwrap()
}

/// Bytes of memory that this process has, without what it has given back.
fn memory() -> u64 {
    // SAFETY: it frees only what is not in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
    let pages: u64 = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse().ok())
        .unwrap_or_default();
    pages * 4096
}

fn chance(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u32
}

/// The time on the clock, and the time of processors that all threads took together.
struct Begun(Instant, Duration);

impl Begun {
    fn now() -> Self {
        Self(Instant::now(), processor_time())
    }

    fn print(&self, what: &str) {
        let (time, processors) = (self.0.elapsed(), processor_time().saturating_sub(self.1));
        println!("{what}: {time:.2?}, {processors:.2?} of processors");
    }

    fn print_rate(&self, what: &str, count: u32) {
        let (time, processors) = (self.0.elapsed(), processor_time().saturating_sub(self.1));
        let rate = f64::from(count) / time.as_secs_f64();
        let each = |time: Duration| time.as_nanos() / u128::from(count);
        println!("{what}: {rate:.0} a second, {} ns each, {} ns of processors", each(time), each(processors));
    }
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

fn one_sync(directory: &Path) {
    let mut file = fs::File::create(directory.join("sync")).unwrap();
    let mut times: Vec<_> = (0..1000)
        .map(|_| {
            file.write_all(&[1; 100]).unwrap();
            let begun = Instant::now();
            file.sync_data().unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("one fdatasync after 100 bytes: p50 {:?}, p99 {:?}", times[500], times[990]);
}

fn fill(directory: &Path, nodes: u32) {
    let store = open(directory, Durability::Off);
    let (begun, before) = (Begun::now(), memory());
    let all: Vec<Ref> = (0..nodes)
        .map(|key| store.write(|write| write.create_node("Node", &key.to_string(), &[]), drop).unwrap())
        .collect();
    begun.print_rate("create node, not durable", nodes);
    store.snapshot().unwrap();
    let per_node = (memory() - before) / u64::from(nodes) - size_of::<Ref>() as u64;
    println!("memory for an empty node with a short key: {per_node} bytes");
    let (begun, before, mut state) = (Begun::now(), memory(), 1);
    let relationships = nodes * RELATIONSHIPS_A_NODE;
    for _ in 0..relationships {
        let [from, to, of] = [nodes, nodes, 9].map(|limit| (chance(&mut state) % limit) as usize);
        store.write(|write| write.create_relationship(TYPES[of], all[from], all[to], &[]), drop).unwrap();
    }
    begun.print_rate("create relationship, not durable", relationships);
    store.snapshot().unwrap();
    let each = (memory() - before) / u64::from(relationships);
    println!("memory for a relationship: {each} bytes");
    let begun = Begun::now();
    let report = store.snapshot().unwrap();
    let (nodes, relationships, bytes) = (report.nodes, report.relationships, report.bytes);
    begun.print(&format!("snapshot of {nodes} nodes and {relationships} relationships in {bytes} bytes"));
}

fn start(directory: &Path, nodes: u32) {
    let (begun, before) = (Begun::now(), memory());
    let store = open(directory, Durability::Off);
    begun.print(&format!("start with {nodes} nodes and {} relationships", nodes * RELATIONSHIPS_A_NODE));
    println!("memory after it: {} MiB more", (memory().saturating_sub(before)) >> 20);
    drop(store);
}

fn looks(directory: &Path, nodes: u32) {
    let store = open(directory, Durability::Off);
    for threads in [1, 2] {
        on_threads("get node by key", threads, |state| {
            let key = (chance(state) % nodes).to_string();
            store.read().find("Node", &key).map_or(0, |node| node.key.len())
        });
        on_threads("get relationships of a node", threads, |state| {
            let key = (chance(state) % nodes).to_string();
            let read = store.read();
            let node = read.find("Node", &key).unwrap();
            read.around(node.at, Around::default()).len()
        });
        on_threads("mixed: three looks, then a new relationship", threads, |state| {
            let key = (chance(state) % nodes).to_string();
            let read = store.read();
            let node = read.find("Node", &key).unwrap();
            if chance(state).is_multiple_of(4) {
                let (from, of) = (node.at, TYPES[(chance(state) % 9) as usize]);
                store.write(|write| write.create_relationship(of, from, from, &[]), drop).unwrap();
                return 1;
            }
            read.around(node.at, Around::default()).len()
        });
    }
}

fn on_threads(what: &str, threads: u64, look: impl Fn(&mut u64) -> usize + Sync) {
    let begun = Begun::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let look = &look;
            scope.spawn(move || {
                let mut state = thread + 1;
                let found: usize = (0..LOOKS).map(|_| look(&mut state)).sum();
                assert!(found > 0);
            });
        }
    });
    begun.print_rate(&format!("{what}, {threads} threads"), LOOKS * threads as u32);
}

/// One thread that has 192 writes waiting at a time, as a server's has.
fn writes(directory: &Path, durability: Durability) {
    const WAITING: usize = 192;
    let store = open(directory, durability);
    let (sender, receiver) = std::sync::mpsc::channel();
    let watching = store.watch(move |settled| {
        // Whoever waited may have gone.
        let _ = sender.send(settled.up_to);
    });
    let mut waiting = std::collections::VecDeque::new();
    let begun = Begun::now();
    let count = 100_000;
    let mut made = 0_u32;
    while made < count || !waiting.is_empty() {
        while made < count && waiting.len() < WAITING {
            let key = made.to_string();
            let ticket = store.write_ticket(|write| write.create_node("Node", &key, &[])).unwrap().1;
            waiting.extend(Some(ticket).filter(|ticket| *ticket > Ticket::SETTLED));
            made += 1;
        }
        if waiting.is_empty() {
            continue;
        }
        let up_to = receiver.recv().unwrap();
        while waiting.front().is_some_and(|ticket| *ticket <= up_to) {
            waiting.pop_front();
        }
    }
    begun.print_rate(&format!("create node, {durability:?}, 192 waiting"), count);
    drop((watching, store));
    let frames = open(directory, durability).recovery().frames;
    println!("writes a frame of the log: {}", u64::from(count) / frames);
}

fn hub(directory: &Path, relationships: u32) {
    let store = open(directory, Durability::Off);
    let others: Vec<Ref> = (0..1000)
        .map(|key| store.write(|write| write.create_node("Node", &key.to_string(), &[]), drop).unwrap())
        .collect();
    let (begun, before, hub) = (Begun::now(), memory(), others[0]);
    for number in 0..relationships {
        let other = others[1 + number as usize % 999];
        store.write(|write| write.create_relationship("TYPE_1", hub, other, &[]), drop).unwrap();
    }
    begun.print_rate(&format!("create relationship at a node with up to {relationships}"), relationships);
    store.snapshot().unwrap();
    println!("memory for each of them: {} bytes", memory().saturating_sub(before) / u64::from(relationships));
    let read = store.read();
    let begun = Begun::now();
    assert_eq!(read.degree(hub, Around::default()), u64::from(relationships));
    begun.print("its degree");
    let begun = Begun::now();
    let found = read.between(hub, others[7], Around::default()).len();
    begun.print(&format!("the {found} between it and a node with few"));
    let begun = Begun::now();
    let found = read.around(hub, Around::default()).len();
    begun.print(&format!("all {found} of it in order"));
    let all: Vec<Ref> = read.relationships(None).step_by(1000).map(|one| one.at).collect();
    drop(read);
    let begun = Begun::now();
    for at in &all {
        store.write(|write| write.delete_relationship(*at), drop).unwrap();
    }
    begun.print_rate("delete a relationship of it", all.len() as u32);
}
