//! Stores that lose power at any moment of what they do with a disk: what was acknowledged as durable is there then, nothing is half-made,
//! and they go on. What a store writes, and how it is looked through, its own tests say by [`PowerLossStore`].

use crate::Durability;
use crate::frames::HEAD_BYTES;
use crate::power_loss::{Disk, DiskChange, DiskEvent, Done, Journal, Lie, Sectors, is_called};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A store as tests of losses use it. Its writes have numbers from 0 on.
pub trait PowerLossStore: Sized {
    /// In a directory below the root, which may not be there.
    fn open_below(root: &Path, durability: Durability) -> Result<Self, String>;

    /// Makes writes from number `first` on, in groups that chance chooses, and notes when as many were begun and acknowledged.
    fn live(&self, first: u64, journal: &Arc<Journal>, chance: &mut ChaCha8Rng);

    /// How many writes it holds; an error where it does not hold exactly what they made.
    fn count_writes(&self) -> Result<u64, String>;

    /// Makes the write of this number, and whatever else is done to a store as it goes on.
    fn go_on(&self, number: u64) -> Result<(), String>;
}

/// What a process did with a disk.
#[derive(Debug)]
pub struct Life<S> {
    before: Disk,
    known: Bounds,
    events: Vec<DiskEvent>,
    store: PhantomData<S>,
}

/// How many writes were sure to be on the disk, whatever was promised, how many were acknowledged, and how many begun.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    sure: u64,
    acknowledged: u64,
    begun: u64,
}

/// In memory where that can be: what the true disk does is not the question.
pub fn directory() -> TempDir {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    directory.expect("a directory for tests can be made")
}

/// Lets a store live, and another one go on with what it has left when it was killed; each loses power so many times, on disks of all
/// kinds in turn.
///
/// # Errors
/// The store is not what it should be after a loss.
pub fn lose_power_in_two_lives<S: PowerLossStore>(
    durability: Durability,
    losses: u64,
    chance: &mut ChaCha8Rng,
) -> Result<(), String> {
    let first = Life::<S>::first(durability, chance);
    let second = first.second(durability, chance);
    for life in [&first, &second] {
        for sectors in (0..losses).map(Sectors::of) {
            let lost = life.lose_power(durability, (Lie::None, sectors), chance);
            lost.map_err(|fault| format!("{durability:?}, {sectors:?}: {fault}"))?;
        }
    }
    Ok(())
}

fn live<S: PowerLossStore>(root: &Path, durability: Durability, chance: &mut ChaCha8Rng) -> Vec<DiskEvent> {
    let journal = Journal::begin(root);
    let store = S::open_below(root, durability).expect("what a killed process leaves can be opened");
    let first = store.count_writes().expect("a killed process leaves whole writes");
    store.live(first, &journal, chance);
    drop(store);
    journal.end()
}

impl<S: PowerLossStore> Life<S> {
    pub fn first(durability: Durability, chance: &mut ChaCha8Rng) -> Self {
        Self::on(Disk::default(), Bounds::default(), durability, chance)
    }

    /// The process was killed at some moment; another goes on with what it has left, of which not all is on the disk.
    #[must_use]
    pub fn second(&self, durability: Durability, chance: &mut ChaCha8Rng) -> Self {
        // Names that no directory was synced with are rare, and the worst to go on with.
        let is_worst = |at: &usize| {
            matches!(self.events[at - 1], DiskEvent::Done(Done::Rename { .. } | Done::Create(_)))
        };
        let worst: Vec<usize> = (1..self.events.len()).filter(is_worst).collect();
        let at = if chance.random() {
            worst[chance.random_range(0..worst.len())]
        } else {
            chance.random_range(0..self.events.len())
        };
        let before = self.before.clone().after(&self.events[..at], Lie::None);
        Self::on(before, self.bounds(at), durability, chance)
    }

    fn on(before: Disk, known: Bounds, durability: Durability, chance: &mut ChaCha8Rng) -> Self {
        let root = directory();
        before.write_seen(root.path());
        let events = live::<S>(root.path(), durability, chance);
        Self { before, known, events, store: PhantomData }
    }

    /// Up to then. Once a write is acknowledged it stands in the log, and a sync of the file that was written last makes it
    /// sure.
    fn bounds(&self, at: usize) -> Bounds {
        let (mut bounds, mut written) = (self.known, None);
        for event in &self.events[..at] {
            match event {
                DiskEvent::Done(Done::Change(path, DiskChange::Write { at: HEAD_BYTES.., .. }))
                    if is_called(path, "log-") =>
                {
                    written = Some(path);
                }
                DiskEvent::Done(Done::Sync(path)) if written == Some(path) => {
                    bounds.sure = bounds.acknowledged;
                }
                DiskEvent::Acknowledged(number) => bounds.acknowledged = bounds.acknowledged.max(*number),
                DiskEvent::Begun(number) => bounds.begun = bounds.begun.max(*number),
                DiskEvent::Done(_) => {}
            }
        }
        bounds
    }

    /// The power goes at some moment.
    ///
    /// # Errors
    /// The store is not what it should be then.
    pub fn lose_power(
        &self,
        durability: Durability,
        (lie, sectors): (Lie, Sectors),
        chance: &mut ChaCha8Rng,
    ) -> Result<(), String> {
        let at = chance.random_range(0..=self.events.len());
        let disk = self.before.clone().after(&self.events[..at], lie);
        let root = directory();
        disk.write_after_loss(root.path(), sectors, chance);
        let open = || S::open_below(root.path(), durability).map_err(|error| format!("event {at}: {error}"));
        let store = open()?;
        let (found, Bounds { sure, acknowledged, begun }) = (store.count_writes()?, self.bounds(at));
        let least = match durability {
            Durability::Sync => acknowledged,
            Durability::Interval(_) => sure,
            Durability::Off => 0,
        };
        if !(least..=begun).contains(&found) {
            return Err(format!(
                "event {at}: {found} of {acknowledged} acknowledged and {begun} begun writes"
            ));
        }
        // It goes on as if nothing had been.
        store.go_on(found)?;
        drop(store);
        match open()?.count_writes()? {
            after if after == found + 1 => Ok(()),
            after => Err(format!("event {at}: {after} writes after {found} and one more")),
        }
    }
}
