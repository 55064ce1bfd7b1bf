//! Reads that are told only once what they have seen is durable, on a disk that is slow and fails, and beside writes that are refused.

use crate::faults::{LOG, PATIENCE};
use crate::losses::options;
use crate::{Durability, LogError, Read, ReadFence, Refusal, Store};
use prony_log::losses::directory;
use prony_log::power_loss::{Held, Journal};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A store on a disk that does as the test likes.
struct OnSlowDisk {
    store: Store,
    journal: Arc<Journal>,
    _root: TempDir,
}

impl OnSlowDisk {
    fn new(durability: Durability) -> Self {
        let root = directory();
        let store = Store::open(&root.path().join("graph"), options(durability)).unwrap();
        store.write_and_wait(|write| write.create_node("Stadt", "Köln", &[])).unwrap();
        Self { store, journal: Journal::begin(root.path()), _root: root }
    }

    /// Makes a node, of which the log is held up.
    fn write_held(&self, key: &str) -> Held {
        let held = self.journal.hold(LOG);
        self.store.write(|write| write.create_node("Stadt", key, &[]), drop).unwrap();
        assert!(held.is_waited_for(PATIENCE), "nobody writes the log");
        held
    }

    fn is_there(&self, key: &str) -> (bool, ReadFence) {
        self.store.read_fenced(|read| has(read, key))
    }

    /// What has become of it in the end.
    fn settled(&self, fence: ReadFence) -> Result<(), LogError> {
        let (sender, receiver) = sync_channel(16);
        let _watching = self.store.watch(move |_| {
            // Who waits is told already where there is no room.
            let _ = sender.try_send(());
        });
        loop {
            if let Some(outcome) = self.store.outcome(fence) {
                return outcome;
            }
            receiver.recv_timeout(PATIENCE).expect("the log's thread goes on");
        }
    }
}

impl Drop for OnSlowDisk {
    fn drop(&mut self) {
        self.journal.end();
    }
}

fn has(read: &Read, key: &str) -> bool {
    read.find("Stadt", key).is_some()
}

#[test]
fn what_is_not_durable_is_seen_and_told_when_it_is() {
    for durability in [Durability::Sync, Durability::Interval(Duration::from_millis(7))] {
        let disk = OnSlowDisk::new(durability);
        let (_, before) = disk.is_there("Köln");
        let held = disk.write_held("Zürich");
        let (is_there, fence) = disk.is_there("Zürich");
        assert!(is_there && disk.store.outcome(fence).is_none());
        // Others have seen nothing of it.
        assert!(matches!(disk.store.outcome(before), Some(Ok(()))));
        drop(held);
        disk.settled(fence).unwrap();
        let (is_there, fence) = disk.is_there("Zürich");
        assert!(is_there && matches!(disk.store.outcome(fence), Some(Ok(()))));
    }
}

#[test]
fn what_is_acknowledged_at_once_is_told_at_once() {
    let disk = OnSlowDisk::new(Durability::Off);
    let held = disk.write_held("Zürich");
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(is_there && matches!(disk.store.outcome(fence), Some(Ok(()))));
    drop(held);
}

#[test]
fn what_could_not_be_synced_is_told_as_an_error() {
    let disk = OnSlowDisk::new(Durability::Sync);
    disk.journal.fail_next_sync(LOG);
    let held = disk.write_held("Zürich");
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(is_there && disk.store.outcome(fence).is_none());
    let both = disk.is_there("Köln").1.and(fence);
    drop(held);
    for fence in [fence, both] {
        let outcome = disk.settled(fence);
        assert!(matches!(outcome, Err(LogError::Unknown { .. })), "{outcome:?}");
    }
    let (is_there, fence) = disk.is_there("Zürich");
    assert!(!is_there && matches!(disk.store.outcome(fence), Some(Ok(()))), "{:?}", disk.journal.failed());
}

#[test]
fn a_read_during_which_the_log_fails_is_made_again() {
    let disk = OnSlowDisk::new(Durability::Sync);
    disk.journal.fail_next_sync(LOG);
    let mut held = Some(disk.write_held("Zürich"));
    let (_, pending) = disk.is_there("Zürich");
    let mut found = Vec::new();
    let ((), fence) = disk.store.read_fenced(|read| {
        found.push(has(read, "Zürich"));
        if let Some(held) = held.take() {
            drop(held);
            disk.settled(pending).unwrap_err();
        }
    });
    assert_eq!(found, [true, false]);
    assert!(matches!(disk.store.outcome(fence), Some(Ok(()))));
}

#[test]
fn what_a_refused_write_has_changed_is_told_to_nobody() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    let ((changed, is_changed), (seen, is_seen)) = (sync_channel(0), sync_channel(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            let refused = store.write(
                |write| {
                    write.create_node("Stadt", "Atlantis", &[])?;
                    changed.send(()).unwrap();
                    is_seen.recv().unwrap();
                    Err::<(), _>(Refusal::NoNode)
                },
                drop,
            );
            assert!(refused.is_err());
        });
        is_changed.recv_timeout(PATIENCE).expect("the write begins");
        let mut found = Vec::new();
        let ((), fence) = store.read_fenced(|read| {
            found.push(has(read, "Atlantis"));
            if found.len() == 1 {
                seen.send(()).unwrap();
            }
        });
        assert_eq!(found, [true, false]);
        assert!(matches!(store.outcome(fence), Some(Ok(()))));
    });
}

/// A part that is taken back inside of a write that is made.
#[test]
fn what_a_write_has_attempted_in_vain_is_told_to_nobody() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    let ((changed, is_changed), (seen, is_seen)) = (sync_channel(0), sync_channel(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            let written = store.write_and_wait(|write| {
                write.create_node("Stadt", "Zürich", &[])?;
                let attempted = write.attempt(|write| {
                    write.create_node("Stadt", "Atlantis", &[])?;
                    changed.send(()).unwrap();
                    is_seen.recv().unwrap();
                    Err::<(), _>(Refusal::NoNode)
                });
                assert!(attempted.is_err());
                Ok(())
            });
            written.unwrap();
        });
        is_changed.recv_timeout(PATIENCE).expect("the write begins");
        let mut found = Vec::new();
        let ((), fence) = store.read_fenced(|read| {
            found.push((has(read, "Zürich"), has(read, "Atlantis")));
            if found.len() == 1 {
                seen.send(()).unwrap();
            }
        });
        assert_eq!(found, [(true, true), (true, false)]);
        disk.settled(fence).unwrap();
    });
}

/// Many are refused while others read: a read comes to its end all the same, and tells of none.
#[test]
fn a_read_comes_to_its_end_beside_writes_that_are_refused() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let store = &disk.store;
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            for _ in 0..2_000 {
                let refused = store.write(
                    |write| {
                        write.create_node("Stadt", "Atlantis", &[])?;
                        Err::<(), _>(Refusal::NoNode)
                    },
                    drop,
                );
                assert!(refused.is_err());
            }
        });
        while !writing.is_finished() {
            let (is_there, _) = disk.is_there("Atlantis");
            assert!(!is_there);
        }
    });
}

#[test]
fn a_refusal_waits_for_what_it_is_because_of() {
    let disk = OnSlowDisk::new(Durability::Sync);
    let refuse = |key: &str| {
        let begun = disk.store.begin_read();
        let refused = disk.store.write(|write| write.create_node("Stadt", key, &[]), drop);
        assert!(matches!(refused, Err(Refusal::KeyExists { .. })));
        disk.store.end_refused(begun)
    };
    assert!(matches!(disk.store.outcome(refuse("Köln")), Some(Ok(()))));
    disk.journal.fail_next_sync(LOG);
    let held = disk.write_held("Zürich");
    let fence = refuse("Zürich");
    assert!(disk.store.outcome(fence).is_none());
    drop(held);
    assert!(matches!(disk.settled(fence), Err(LogError::Unknown { .. })));
}
