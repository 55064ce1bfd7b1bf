//! A store on a disk that fails at any of its steps: nothing that was acknowledged is lost, nothing is there that was refused, and what
//! failed is named. `PRONY_GRAPH_FAULTS` for more of them.

use crate::losses::{count, directory, make, options};
use crate::{Durability, LogError, OpenError, Store, WriteError};
use prony_log::faults::{Fault, Faults};
use prony_log::power_loss::{Disk, DiskEvent, Journal, Lie};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::time::Duration;

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
            disk.write_after_loss(lost.path(), &mut chance);
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

#[test]
fn with_sync_a_disk_that_fails_at_any_step_loses_and_invents_nothing() {
    fail_everywhere(SYNC, 1);
}

#[test]
fn with_an_interval_a_disk_that_fails_at_any_step_loses_and_invents_nothing() {
    fail_everywhere(INTERVAL, 2);
}
