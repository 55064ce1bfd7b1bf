//! How long others wait while a node with very many relationships is deleted, and while an index is made.
//!
//! `cargo run --release -p prony-graph-store --example graph_store_hub -- [RELATIONSHIPS [DURABILITY]]` (500,000; `sync` or `off`). A
//! thread makes one write after the other meanwhile, another one reads. Prints one line a figure.

#![allow(clippy::print_stdout, reason = "it is there to print")]
#![allow(clippy::unwrap_used, reason = "an error ends it")]

use prony_graph_store::{Around, Durability, Kind, Options, Ref, Side, Store, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const OTHERS: usize = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.first().map_or(500_000, |text| text.parse().unwrap());
    let is_off = arguments.get(1).is_some_and(|durability| durability == "off");
    let directory = tempfile::tempdir_in(std::env::var_os("PRONY_DIRECTORY").unwrap_or(".".into())).unwrap();
    let durability = if is_off { Durability::Off } else { Durability::Sync };
    let options = Options { snapshot_at_log_bytes: None, ..Options::new(durability) };
    let store = Store::open(directory.path(), options).unwrap();
    let (hub, others) = fill(&store, count);
    meanwhile("nothing", &store, others[0], || thread::sleep(Duration::from_secs(1)));
    meanwhile("the index", &store, others[0], || store.make_index(Side::Relationships, "R", "n").unwrap());
    meanwhile("the hub", &store, others[0], || {
        let begun = Instant::now();
        store.write_and_wait(|write| write.delete_node(hub)).unwrap();
        println!("the hub: deleted and durable after {:.2?}", begun.elapsed());
        while store.read().count(Side::Relationships, None) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

fn fill(store: &Store, count: usize) -> (Ref, Vec<Ref>) {
    let make = |key: &str| store.write(|write| write.create_node("N", key, &[]), drop).unwrap();
    let (hub, others) = (make("hub"), (0..OTHERS).map(|key| make(&key.to_string())).collect::<Vec<_>>());
    store
        .write_and_wait(|write| {
            write.make_type(Side::Relationships, "R")?;
            write.declare(Side::Relationships, "R", "n", Kind::Integer)
        })
        .unwrap();
    for number in 0..count {
        let given = [("n", Value::Integer(i64::try_from(number).unwrap()))];
        let other = others[number % OTHERS];
        store.write(|write| write.create_relationship("R", hub, other, &given), drop).unwrap();
    }
    store.write_and_wait(|write| write.create_node("N", "last", &[])).unwrap();
    (hub, others)
}

/// What others wait for while something is done.
fn meanwhile(what: &str, store: &Store, other: Ref, work: impl FnOnce()) {
    let (is_over, begun) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            longest(&is_over, || {
                store
                    .write(|write| write.set_node(other, &[], prony_graph_store::Keep::Others), drop)
                    .unwrap();
            })
        });
        let reading = scope.spawn(|| {
            longest(&is_over, || {
                std::hint::black_box(store.read().degree(other, Around::default()));
            })
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        let (writing, reading) = (writing.join().unwrap(), reading.join().unwrap());
        println!(
            "{what}: {:.2?} in all; the longest call of a writer {writing:.2?}, of a reader {reading:.2?}",
            begun.elapsed()
        );
    });
}

/// Of one call after the other, with a pause between them.
fn longest(is_over: &AtomicBool, call: impl Fn()) -> Duration {
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        call();
        longest = longest.max(begun.elapsed());
        thread::sleep(Duration::from_micros(200));
    }
    longest
}
