//! Each target over its seeds, and over a fixed number of random changes of them.

use prony_fuzz::{Mutator, TARGETS};

/// For each target; `cargo xtask fuzz` looks for longer.
const CHANGED: usize = 300;

#[test]
fn no_target_shows_a_fault() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        for seed in &seeds {
            (target.run)(seed);
        }
        let mut mutator = Mutator::new(seeds);
        for number in 0..CHANGED {
            let bytes = mutator.next_bytes();
            let run = std::panic::catch_unwind(|| (target.run)(&bytes));
            assert!(run.is_ok(), "{}, change {number}: {:?}", target.name, String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn names_of_targets_differ() {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
}
