//! A store on a disk that fails at any of its steps: nothing that was acknowledged is lost, nothing is there that was refused, and what
//! failed is named. `PRONY_GRAPH_FAULTS` for more of them.

use crate::losses::{count, make, options};
use crate::write::Write;
use crate::{
    Durability, LogError, OpenError, Ref, Refusal, Side, Store, Until, Unwritten, WriteError, restore,
    take_backup,
};
use prony_log::faults::{Fault, Faults};
use prony_log::losses::directory;
use prony_log::power_loss::{Disk, DiskEvent, Journal, Lie, Sectors};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WRITES: u64 = 24;
/// Of each durability.
const FAULTS: u64 = 60;
const SYNC: Durability = Durability::Sync;
const INTERVAL: Durability = Durability::Interval(Duration::from_micros(300));

/// What has become of a life on a failing disk.
#[derive(Debug)]
struct Outcome {
    /// Writes that were acknowledged, one after the other.
    acknowledged: u64,
    /// The next one may be there.
    is_next_unknown: bool,
    steps: u64,
    failed: Vec<String>,
    events: Vec<DiskEvent>,
}

/// Names the file that could not be used.
fn assert_named(error: &dyn std::error::Error, root: &Path) {
    let texts = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    let text = texts.collect::<Vec<_>>().join(": ");
    let is_named = text.contains(&*root.to_string_lossy()) || text.contains("new file of the log");
    assert!(is_named, "{text}");
}

/// A store that has something to read, and then fails at a step of its next life.
fn live(root: &Path, durability: Durability, faults: Option<Faults>) -> Outcome {
    let place = root.join("a/graph");
    let begin = || match faults {
        Some(faults) => Journal::begin_failing(root, faults),
        None => Journal::begin(root),
    };
    let journal = begin();
    let (mut acknowledged, mut is_next_unknown) = (0, false);
    // It is opened again after each failure, as somebody would who starts the server again.
    for _ in 0..4 {
        let store = match Store::open(&place, options(durability)) {
            Ok(store) => store,
            Err(error) => {
                assert!(matches!(error, OpenError::Read { .. } | OpenError::Write { .. }), "{error}");
                assert_named(&error, root);
                continue;
            }
        };
        let found = count(&store).unwrap();
        assert!((acknowledged..=acknowledged + u64::from(is_next_unknown)).contains(&found));
        (acknowledged, is_next_unknown) = (found, false);
        let mut refused = 0;
        while acknowledged < WRITES && refused < 4 {
            if acknowledged % 8 == 5
                && let Err(error) = store.snapshot()
            {
                assert_named(&error, root);
            }
            match store.write_and_wait(|write| make(write, &store, acknowledged)) {
                Ok(()) => {
                    assert!(!is_next_unknown, "nothing is written behind what is not known");
                    acknowledged += 1;
                }
                Err(WriteError::Log(error)) => {
                    assert_named(&error, root);
                    is_next_unknown |= matches!(error, LogError::Unknown { .. });
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(count(&store).unwrap(), acknowledged, "what is refused is not seen");
        }
    }
    let (steps, failed) = (journal.steps(), journal.failed());
    Outcome { acknowledged, is_next_unknown, steps, failed, events: journal.end() }
}

/// Opens what is left and holds it against what was told.
fn check(root: &Path, outcome: &Outcome) -> Result<(), String> {
    let place = root.join("a/graph");
    let store = Store::open(&place, options(SYNC)).map_err(|error| error.to_string())?;
    let found = count(&store)?;
    let most = outcome.acknowledged + u64::from(outcome.is_next_unknown);
    if !(outcome.acknowledged..=most).contains(&found) {
        return Err(format!("{found} of {} acknowledged and at most {most}", outcome.acknowledged));
    }
    store.write_and_wait(|write| make(write, &store, found)).map_err(|error| error.to_string())
}

fn fail_everywhere(durability: Durability, seed: u64) {
    let faults = std::env::var("PRONY_GRAPH_FAULTS").map_or(FAULTS, |text| text.parse().unwrap());
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let whole = directory();
    let steps = live(whole.path(), durability, None).steps;
    assert!(steps > 80, "{steps}");
    for number in 0..faults {
        // All steps in turn, where there are as many faults.
        let first = if faults >= 3 * steps { number % steps } else { chance.random_range(0..steps) };
        let fault = [Fault::Device, Fault::Full, Fault::Short][chance.random_range(0..3)];
        let count = [1, 2, 5, u64::MAX][chance.random_range(0..4)];
        let root = directory();
        let outcome = live(root.path(), durability, Some(Faults { first, count, fault }));
        let told = || format!("{fault:?} at {first} for {count} of seed {seed}: {:?}", outcome.failed);
        check(root.path(), &outcome).unwrap_or_else(|what| panic!("{what}: {}", told()));
        if durability == SYNC {
            let lost = directory();
            let disk = Disk::default().after(&outcome.events, Lie::None);
            disk.write_after_loss(lost.path(), Sectors::of(number), &mut chance);
            check(lost.path(), &outcome)
                .unwrap_or_else(|what| panic!("after a loss of power, {what}: {}", told()));
        }
    }
}

/// The only copy of the graph beside memory is not given up for one that cannot be read.
#[test]
fn a_snapshot_in_which_a_bit_has_changed_takes_no_place() {
    let take = |faults: Option<Faults>| {
        let root = directory();
        let place = root.path().join("a/graph");
        let store = Store::open(&place, options(SYNC)).unwrap();
        for number in 0..WRITES {
            store.write_and_wait(|write| make(write, &store, number)).unwrap();
        }
        let faults = faults.unwrap_or(Faults { first: u64::MAX, count: 1, fault: Fault::Rot });
        let journal = Journal::begin_failing(root.path(), faults);
        let taken = store.snapshot();
        let (steps, failed) = (journal.steps(), journal.failed());
        journal.end();
        drop(store);
        let store = Store::open(&place, options(SYNC));
        let is_of_snapshot =
            failed.iter().any(|step| step.contains("write") && step.contains("snapshot.part"));
        if is_of_snapshot {
            let error = taken.unwrap_err().to_string();
            assert!(error.contains("is not what was written"), "{failed:?}: {error}");
            assert_eq!(count(&store.unwrap()).unwrap(), WRITES, "{failed:?}");
            assert!(place.join("log-000000000001").exists() && !place.join("snapshot.part").exists());
        }
        (steps, is_of_snapshot)
    };
    let steps = take(None).0;
    let rotten =
        (0..steps).filter(|first| take(Some(Faults { first: *first, count: 1, fault: Fault::Rot })).1);
    assert!(rotten.count() >= 3, "the head, a frame and the end of {steps} steps");
}

/// A chain of a graph of two writes, one of whose backups was taken on a disk on which a step failed; how many steps there were.
fn take_failing(is_first: bool, first: u64) -> u64 {
    let root = directory();
    let (place, chain) = (root.path().join("a/graph"), root.path().join("chain"));
    for number in 0..2 {
        let store = Store::open(&place, options(SYNC)).unwrap();
        store.write_and_wait(|write| make(write, &store, number)).unwrap();
        drop(store);
        if number == 0 && !is_first {
            take_backup(&place, &chain).unwrap();
        }
    }
    let faults = Faults { first, count: 1, fault: Fault::Device };
    let journal = Journal::begin_failing(root.path(), faults);
    let taken = take_backup(&place, &chain);
    let (steps, failed) = (journal.steps(), journal.failed());
    journal.end();
    let told = || format!("{taken:?} where {failed:?} had failed");
    take_backup(&place, &chain).unwrap_or_else(|error| panic!("{error}: {}", told()));
    let made = restore(&chain, &root.path().join("restored"), Until::End);
    let made = made.unwrap_or_else(|error| panic!("{error}: {}", told()));
    assert_eq!((made.report.nodes, made.sequence), (2, Some(2)), "{}", told());
    steps
}

/// Where the directory could not be synced behind the manifest, what this named was removed.
#[test]
fn a_chain_has_what_its_manifest_names_whichever_step_fails() {
    for is_first in [true, false] {
        let steps = take_failing(is_first, u64::MAX);
        assert!(steps > 10, "{steps}");
        for first in 0..steps {
            take_failing(is_first, first);
        }
    }
}

/// Longer than anything takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Files of the log.
pub(crate) const LOG: &str = "log-0";

/// A store with nodes, of whose reserve a deletion has taken a part.
struct Short {
    root: TempDir,
    journal: Arc<Journal>,
    store: Store,
    /// Of the whole reserve.
    bytes: u64,
}

impl Short {
    fn new() -> Self {
        let root = directory();
        let store = Store::open(&root.path().join("a/graph"), options(SYNC)).unwrap();
        for number in 0..WRITES {
            store.write_and_wait(|write| make(write, &store, number)).unwrap();
        }
        let journal = Journal::begin(root.path());
        let mut short = Self { root, journal, store, bytes: 0 };
        short.bytes = short.reserve();
        short.journal.fail_next_write(LOG);
        short.delete("1").unwrap();
        assert!(short.reserve() < short.bytes, "{:?}", short.journal.failed());
        short
    }

    /// The same, where the disk has refused a write since.
    fn and_full() -> Self {
        let short = Self::new();
        short.journal.fail_next_write(LOG);
        let refused = short.store.write_and_wait(|write| write.make_type(Side::Nodes, "None"));
        assert!(refused.unwrap_err().is_disk_full());
        short
    }

    fn reserve(&self) -> u64 {
        std::fs::metadata(self.root.path().join("a/graph/reserve")).unwrap().len()
    }

    fn add(&self, key: &str) -> Result<Ref, WriteError> {
        self.store.write_and_wait(|write| write.create_node("N", key, &[]))
    }

    /// As servers do.
    fn write_at_once<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, WriteError> {
        let (sender, receiver) = sync_channel(1);
        match self.store.try_write(operate, move |outcome| drop(sender.send(outcome))) {
            Ok(done) => {
                receiver.recv_timeout(PATIENCE).expect("the log's thread goes on")?;
                Ok(done)
            }
            Err(Unwritten::Refused(refusal)) => Err(refusal.into()),
            Err(Unwritten::NoRoom(_)) => panic!("nothing is being written"),
        }
    }

    fn delete(&self, key: &str) -> Result<(), WriteError> {
        let at = self.store.read().find("N", key).unwrap().at;
        self.write_at_once(|write| write.delete_node(at))
    }

    fn is_there(&self, key: &str) -> bool {
        self.store.read().find("N", key).is_some()
    }

    /// Everything is as it was before the disk was full.
    fn check(self) {
        assert_eq!(self.reserve(), self.bytes);
        assert!(self.store.health().log_failure.is_none());
        self.journal.end();
        let Self { root, store, .. } = self;
        let nodes = store.read().count(Side::Nodes, None);
        drop(store);
        let store = Store::open(&root.path().join("a/graph"), options(SYNC)).unwrap();
        assert_eq!(store.read().count(Side::Nodes, None), nodes);
        assert_eq!(store.check().problems, Vec::<String>::new());
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park_timeout(PATIENCE);
    }
}

/// It was refused at once, though there was room, and so were all until the reserve was there again.
#[test]
fn a_write_waits_while_the_reserve_is_taken_again_and_deletions_go_on() {
    let short = Short::and_full();
    thread::scope(|scope| {
        let held = short.journal.hold("reserve");
        let add = scope.spawn(|| short.add("late"));
        assert!(held.is_waited_for(PATIENCE), "nobody takes the room again");
        let restored = scope.spawn(|| block_on(short.store.restored()));
        for key in ["3", "6", "8"] {
            short.delete(key).unwrap();
            assert!(!short.is_there(key));
            // Who does not wait is told that it may have to.
            let refused = short.write_at_once(|write| write.create_node("N", "early", &[]));
            assert!(refused.unwrap_err().is_disk_full() && short.store.lacks_room());
        }
        assert!(!add.is_finished() && !restored.is_finished());
        drop(held);
        add.join().unwrap().unwrap();
        assert!(restored.join().unwrap());
    });
    assert!(short.is_there("late") && !short.is_there("early") && !short.store.lacks_room());
    short.check();
}

#[test]
fn a_write_is_refused_where_there_is_no_room_for_the_reserve_and_deletions_go_on() {
    let short = Short::and_full();
    let before = short.reserve();
    thread::scope(|scope| {
        let held = short.journal.hold("reserve");
        let add = scope.spawn(|| short.add("late"));
        assert!(held.is_waited_for(PATIENCE), "nobody takes the room again");
        held.fail();
        let refused = add.join().unwrap().unwrap_err();
        assert!(matches!(refused, WriteError::Refused(Refusal::DiskFull)), "{refused}");
    });
    assert!(!short.is_there("late") && short.reserve() == before, "what was there of it is kept");
    for key in ["3", "6", "8"] {
        short.delete(key).unwrap();
    }
    assert!(short.store.health().log_failure.unwrap().0.is_disk_full());
    // Nothing fails any more: the first write that comes finds that out.
    short.add("late").unwrap();
    short.check();
}

#[test]
fn a_write_that_found_no_room_as_the_reserve_took_it_in_vain_is_made() {
    let short = Short::new();
    thread::scope(|scope| {
        let held = short.journal.hold("reserve");
        let snapshot = scope.spawn(|| short.store.snapshot());
        assert!(held.is_waited_for(PATIENCE), "nobody takes the room again");
        // The first write to a new file of the log has two ways to find room.
        short.add("before").unwrap();
        let failed = short.journal.failed().len();
        short.journal.fail_next_write(LOG);
        let add = scope.spawn(|| short.add("meanwhile"));
        let until = Instant::now() + PATIENCE;
        while short.journal.failed().len() == failed && Instant::now() < until {
            thread::yield_now();
        }
        assert!(!add.is_finished());
        held.fail();
        add.join().unwrap().unwrap();
        snapshot.join().unwrap().unwrap();
    });
    assert!(short.is_there("meanwhile") && !short.store.lacks_room());
    short.store.snapshot().unwrap();
    short.check();
}

/// A bug: the node stayed in the snapshot, and was there after the next start. The log said nothing of it.
#[test]
fn a_snapshot_has_nothing_of_what_a_full_disk_refuses_while_it_is_taken() {
    let short = Short::and_full();
    let part = short.root.path().join("a/graph/snapshot.part");
    let has_ghost = || std::fs::read(&part).is_ok_and(|bytes| bytes.windows(5).any(|text| text == b"ghost"));
    thread::scope(|scope| {
        let held = short.journal.hold("snapshot.part");
        let snapshot = scope.spawn(|| short.store.snapshot());
        assert!(held.is_waited_for(PATIENCE), "nobody writes the snapshot");
        let refused = short.write_at_once(|write| {
            write.create_node("N", "ghost", &[])?;
            drop(held);
            // Time for a snapshot that waits for no write. One that needs longer proves nothing here.
            let until = Instant::now() + Duration::from_millis(300);
            while !has_ghost() && Instant::now() < until {
                thread::yield_now();
            }
            Ok(())
        });
        assert!(refused.unwrap_err().is_disk_full());
        snapshot.join().unwrap().unwrap();
    });
    assert!(!short.is_there("ghost"));
    // A deletion does not write over what the snapshot may have too many.
    short.delete("3").unwrap();
    short.check();
}

/// Clients that are refused go on asking; the snapshot is what makes room again.
#[test]
fn a_snapshot_is_taken_though_writes_are_refused_all_the_while() {
    let short = Short::and_full();
    thread::scope(|scope| {
        let snapshot = scope.spawn(|| short.store.snapshot());
        let mut number = 0;
        while !snapshot.is_finished() {
            number += 1;
            // Taken once there is room.
            let _ =
                short.store.try_write(|write| write.create_node("N", &format!("more {number}"), &[]), drop);
        }
        snapshot.join().unwrap().unwrap();
    });
    short.add("late").unwrap();
    short.check();
}

/// It was written anew as long as writes failed.
#[test]
fn a_snapshot_is_taken_though_the_log_fails_again_and_again() {
    let root = directory();
    let place = root.path().join("a/graph");
    let store = Store::open(&place, options(SYNC)).unwrap();
    for number in 0..WRITES {
        store.write_and_wait(|write| make(write, &store, number)).unwrap();
    }
    let (is_over, writes_waited) = (AtomicBool::new(false), AtomicBool::new(false));
    let until = Instant::now() + PATIENCE;
    thread::scope(|scope| {
        // As if writes came all the while and the disk took none.
        scope.spawn(|| {
            while !is_over.load(Relaxed) && Instant::now() < until {
                if let Some(mut queue) = store.shared.try_lock_with_room() {
                    let ticket = store.shared.next_ticket(&mut queue);
                    store.shared.positions.fail(ticket);
                } else {
                    writes_waited.store(true, Relaxed);
                }
            }
        });
        // One that nothing failed beside says nothing.
        while !writes_waited.load(Relaxed) && Instant::now() < until {
            store.snapshot().unwrap();
        }
        is_over.store(true, Relaxed);
    });
    assert!(writes_waited.into_inner(), "no snapshot was taken while writes failed");
    store.write_and_wait(|write| make(write, &store, WRITES)).unwrap();
    drop(store);
    assert_eq!(count(&Store::open(&place, options(SYNC)).unwrap()), Ok(WRITES + 1));
}

/// Whoever opens the graph next has the file for itself.
#[test]
fn a_store_is_not_closed_while_its_reserve_is_being_taken() {
    let Short { root, journal, store, bytes } = Short::and_full();
    thread::scope(|scope| {
        let held = journal.hold("reserve");
        store.shared.state.reserve.ask();
        assert!(held.is_waited_for(PATIENCE), "nobody takes the room again");
        let closed = scope.spawn(|| drop(store));
        drop(held);
        closed.join().unwrap();
    });
    journal.end();
    assert_eq!(std::fs::metadata(root.path().join("a/graph/reserve")).unwrap().len(), bytes);
    Store::open(&root.path().join("a/graph"), options(SYNC)).unwrap();
}

#[test]
fn with_sync_a_disk_that_fails_at_any_step_loses_and_invents_nothing() {
    fail_everywhere(SYNC, 1);
}

#[test]
fn with_an_interval_a_disk_that_fails_at_any_step_loses_and_invents_nothing() {
    fail_everywhere(INTERVAL, 2);
}
