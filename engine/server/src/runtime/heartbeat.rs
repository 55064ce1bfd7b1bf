//! Whether the thread of every core still runs its tasks, for the watchdog of a service manager: each core counts, a thread beside
//! them tells the manager as long as all counts rise.

use std::{
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use crate::service_manager::{LifeNotice, ServiceManager};

/// The manager is told so many times in the interval after which it acts; one notice that is late does no harm.
const NOTICES_AN_INTERVAL: u32 = 4;

/// The counts of all cores. Once no core has them any more nobody is told anything.
#[derive(Debug)]
pub(super) struct Heartbeats {
    counts: Box<[AtomicU64]>,
    /// How often a core counts: twice for each notice.
    every: Duration,
}

impl Heartbeats {
    /// None where the manager does not watch.
    pub(super) fn watched_by(manager: &ServiceManager, cores: usize) -> io::Result<Option<Arc<Self>>> {
        let Some(interval) = manager.watchdog_interval() else { return Ok(None) };
        let notices_every = interval / NOTICES_AN_INTERVAL;
        let counts = std::iter::repeat_with(AtomicU64::default).take(cores).collect();
        let heartbeats = Arc::new(Self { counts, every: notices_every / 2 });
        let (watched, manager) = (Arc::downgrade(&heartbeats), manager.clone());
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watch(&watched, notices_every, || manager.tell(LifeNotice::Watchdog)))?;
        Ok(Some(heartbeats))
    }

    /// Counts for a core, on its thread, until that ends.
    pub(super) async fn count(self: Arc<Self>, core: usize) {
        loop {
            self.counts[core].fetch_add(1, Relaxed);
            tokio::time::sleep(self.every).await;
        }
    }

    /// Whether every core has counted since `seen`, which then becomes what they have counted.
    fn have_all_counted(&self, seen: &mut Vec<u64>) -> bool {
        let now: Vec<u64> = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        seen.resize(now.len(), 0);
        let all = now.iter().zip(&*seen).all(|(now, seen)| now != seen);
        if all {
            *seen = now;
        }
        all
    }
}

fn watch(heartbeats: &Weak<Heartbeats>, every: Duration, tell: impl Fn()) {
    let mut seen = Vec::new();
    while let Some(heartbeats) = heartbeats.upgrade() {
        if heartbeats.have_all_counted(&mut seen) {
            tell();
        }
        drop(heartbeats);
        thread::sleep(every);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_that_stands_still_is_enough() {
        let counts = Box::new([AtomicU64::new(1), AtomicU64::new(1)]);
        let heartbeats = Heartbeats { counts, every: Duration::from_secs(1) };
        let mut seen = Vec::new();
        assert!(heartbeats.have_all_counted(&mut seen));
        heartbeats.counts[0].fetch_add(1, Relaxed);
        assert!(!heartbeats.have_all_counted(&mut seen));
        heartbeats.counts[0].fetch_add(1, Relaxed);
        assert!(!heartbeats.have_all_counted(&mut seen));
        heartbeats.counts[1].fetch_add(1, Relaxed);
        assert!(heartbeats.have_all_counted(&mut seen), "the first has counted since, too");
    }

    #[test]
    fn watching_ends_with_the_cores() {
        let heartbeats = Arc::new(Heartbeats { counts: Box::new([]), every: Duration::ZERO });
        let watched = Arc::downgrade(&heartbeats);
        let told = AtomicU64::new(0);
        let held = std::cell::Cell::new(Some(heartbeats));
        watch(&watched, Duration::ZERO, || {
            told.fetch_add(1, Relaxed);
            held.take();
        });
        assert_eq!(told.into_inner(), 1);
    }
}
