//! Directories whose maker was killed, and then the power was lost: who goes on with them makes their names sure.

use prony_log::disk::make_directory;
use prony_log::power_loss::{Disk, DiskEvent, Journal, Lie, Sectors};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::path::Path;

const DEEP: &str = "a/b/c";

fn make(root: &Path) -> Vec<DiskEvent> {
    let journal = Journal::begin(root);
    make_directory(&root.join(DEEP)).expect("the directory for tests can be written to");
    journal.end()
}

#[test]
fn names_that_a_killed_process_has_left_are_made_sure_by_the_next() {
    let first = tempfile::tempdir().unwrap();
    let events = make(first.path());
    assert!(events.len() > 3, "{events:?}");
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    for killed_at in 0..=events.len() {
        let left = Disk::default().after(&events[..killed_at], Lie::None);
        let second = tempfile::tempdir().unwrap();
        left.write_seen(second.path());
        let disk = left.after(&make(second.path()), Lie::None);
        for number in 0..20 {
            let lost = tempfile::tempdir().unwrap();
            disk.write_after_loss(lost.path(), Sectors::of(number), &mut chance);
            assert!(lost.path().join(DEEP).is_dir(), "killed after {killed_at} of {events:?}");
        }
    }
}

#[test]
fn a_file_in_the_way_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    std::fs::write(&file, "").unwrap();
    for directory in [file.clone(), file.join("below")] {
        let message = make_directory(&directory).unwrap_err().to_string();
        assert_eq!(message, format!("{} is a file, and no directory", file.display()));
    }
}
