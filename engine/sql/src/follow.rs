//! Keeps what is offered of a database in step with its tables: looks whether they may have become others, reads the catalog where they
//! may, and offers what is made of it. What cannot be offered is told, and looked at again.

use std::{
    fmt::Debug,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use prony_source::{Metric, Sample};
use tokio::sync::{Notify, Semaphore};

use crate::catalog::Catalog;

/// One catalog of the process is read at a time: of many tables it is large.
static READING: Semaphore = Semaphore::const_new(1);

/// Two looks are at least so far apart, however many statements fail.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
/// Looks that nobody has asked for take no more than this share of the time.
const SHARE_OF_TIME: u32 = 20;
/// Of which the quickest says how long a look takes: the others had to wait for something else.
const LOOKS: usize = 4;
/// How often it is looked where the database tells of changes by itself: what it tells may be lost with a connection.
const PAUSE_WHERE_TOLD: Duration = Duration::from_secs(60);
/// How soon a database that could not be asked is asked again, and after how many failures it is no sooner.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LAST: Duration = Duration::from_secs(15);

/// What clients are told whose operation was planned by tables that are not so any more.
pub const SCHEMA_CHANGED: &str = "the tables of the database are not as the operation expects them: a table or column is gone, or holds something \
     else; ask again, by the schema of now";

/// Another one once the tables may have become others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogVersion(pub u64);

/// How a driver looks at the tables while they are served. One task has it.
pub trait CatalogReader: Debug + Send + 'static {
    /// The version of now, as cheaply as it can be had.
    fn version(&mut self) -> impl Future<Output = Result<CatalogVersion, String>> + Send;

    /// The catalog of now with its version: from one snapshot, or with a version from before it.
    fn read(&mut self) -> impl Future<Output = Result<(CatalogVersion, Catalog), String>> + Send;

    /// Returns when the database has told that its tables have changed, if it ever does. Dropping the future loses nothing.
    fn told(&mut self) -> impl Future<Output = ()> + Send;

    /// Whether the database tells of changes by itself.
    fn is_told(&self) -> bool;
}

/// What became of a catalog.
#[derive(Debug)]
pub(crate) enum CatalogOutcome {
    /// What is offered is as it was.
    Same,
    /// Something else is offered.
    Offered,
}

/// What is shared between the task that looks, and those who want to know or have it look.
#[derive(Debug, Default)]
pub(crate) struct Following {
    wake: Notify,
    is_reload: AtomicBool,
    /// Counts what was offered; the second is of what was asked for last.
    offered: AtomicU64,
    asked: AtomicU64,
    changed: Notify,
    fault: Mutex<Option<String>>,
    reads: AtomicU64,
    failures: AtomicU64,
    /// Held from before a catalog is read until what is made of it is offered.
    pub(crate) offering: Arc<tokio::sync::Mutex<()>>,
}

impl Following {
    /// A statement has failed as it does where the tables are others.
    pub(crate) fn doubt(&self) {
        self.wake.notify_one();
    }

    /// Has the catalog read, whatever its version.
    pub(crate) fn reload(&self) {
        self.is_reload.store(true, SeqCst);
        self.wake.notify_one();
    }

    /// What is offered is about to be asked for.
    pub(crate) fn ask(&self) {
        self.asked.store(self.offered.load(SeqCst), SeqCst);
    }

    /// Tells that something else is offered.
    fn offer(&self) {
        self.offered.fetch_add(1, SeqCst);
        self.changed.notify_waiters();
    }

    /// Returns when something else is offered than was asked for.
    pub(crate) async fn changed(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.offered.load(SeqCst) != self.asked.load(SeqCst) {
                return;
            }
            changed.await;
        }
    }

    /// Why the tables of now cannot be offered.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The fault from now on; true where it is another one than before.
    pub(crate) fn set_fault(&self, fault: Option<String>) -> bool {
        let mut known = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *known != fault;
        *known = fault;
        is_other
    }

    pub(crate) fn metrics(&self, name: &str) -> [Metric; 2] {
        let count = |count: &AtomicU64| vec![Sample::labelled("source", name, count.load(SeqCst) as f64)];
        [
            Metric::counter(
                "prony_catalog_reads",
                "How often the tables of a database were read again because they may have changed",
                count(&self.reads),
            ),
            Metric::counter(
                "prony_catalog_failures",
                "How often a database could not be asked whether its tables have changed",
                count(&self.failures),
            ),
        ]
    }

    /// Looks again and again; never returns. `interval` is zero where only those who ask have it look. `take` makes an offer of a
    /// catalog, or says why it cannot.
    pub(crate) async fn follow(
        &self,
        mut reader: impl CatalogReader,
        (mut seen, interval): (CatalogVersion, Duration),
        what: &str,
        mut take: impl FnMut(&Catalog) -> Result<CatalogOutcome, String> + Send,
    ) {
        let (mut retry, mut is_unreachable) = (RETRY_FIRST, false);
        let mut took = [Duration::ZERO; LOOKS];
        loop {
            let looked = Instant::now();
            let pause = match interval {
                _ if is_unreachable => retry,
                Duration::ZERO => Duration::MAX,
                interval if reader.is_told() => interval.max(PAUSE_WHERE_TOLD),
                interval => rest(interval, took),
            };
            tokio::select! {
                () = self.wake.notified() => {}
                () = reader.told() => {}
                () = tokio::time::sleep(pause) => {}
            }
            tokio::time::sleep(LEAST_PAUSE.saturating_sub(looked.elapsed())).await;
            let is_forced = self.is_reload.swap(false, SeqCst) || self.fault().is_some();
            match self.look(&mut reader, &mut seen, is_forced, what, &mut take).await {
                Ok(worked) => {
                    took.rotate_right(1);
                    took[0] = worked;
                    (retry, is_unreachable) = (RETRY_FIRST, false);
                }
                Err(reason) => {
                    self.failures.fetch_add(1, SeqCst);
                    if !is_unreachable {
                        tracing::warn!(
                            database = what,
                            reason,
                            "it cannot be seen whether the tables have changed; trying again"
                        );
                    }
                    if is_forced {
                        self.is_reload.store(true, SeqCst);
                    }
                    retry = if is_unreachable { (retry * 2).min(RETRY_LAST) } else { RETRY_FIRST };
                    is_unreachable = true;
                }
            }
        }
    }

    /// Reads the catalog in its turn; with how long that took once it had come.
    pub(crate) async fn read(
        &self,
        reader: &mut impl CatalogReader,
    ) -> Result<(CatalogVersion, Catalog, Duration), String> {
        let one = READING.acquire().await;
        let started = Instant::now();
        let (version, catalog) = reader.read().await?;
        drop(one);
        self.reads.fetch_add(1, SeqCst);
        Ok((version, catalog, started.elapsed()))
    }

    /// Looks once; with how long that took of what is done at each look. Neither what a change makes to do nor what is waited for others
    /// makes the next pause longer.
    async fn look(
        &self,
        reader: &mut impl CatalogReader,
        seen: &mut CatalogVersion,
        is_forced: bool,
        what: &str,
        take: &mut (impl FnMut(&Catalog) -> Result<CatalogOutcome, String> + Send),
    ) -> Result<Duration, String> {
        let started = Instant::now();
        let is_same = !is_forced && reader.version().await? == *seen;
        let looked = started.elapsed();
        if is_same {
            return Ok(looked);
        }
        let _offering = self.offering.lock().await;
        let (version, catalog, took) = self.read(reader).await?;
        *seen = version;
        match take(&catalog) {
            Ok(taken) => {
                if self.set_fault(None) {
                    tracing::info!(database = what, "the tables can be served again as they are");
                }
                if matches!(taken, CatalogOutcome::Offered) {
                    self.offer();
                }
            }
            Err(fault) => {
                if self.set_fault(Some(fault.clone())) {
                    tracing::error!(
                        database = what,
                        fault,
                        "the tables have changed and cannot be served by the configuration; the schema of before is served on"
                    );
                }
            }
        }
        Ok(if is_forced { took } else { looked })
    }
}

/// How long it is until the next look that nobody has asked for, where the last ones took so long: those that something else held up say
/// nothing of those that follow.
fn rest(interval: Duration, took: [Duration; LOOKS]) -> Duration {
    interval.max(took.into_iter().min().unwrap_or_default() * SHARE_OF_TIME)
}

/// Tells catalogs from each other.
pub(crate) fn fingerprint(catalog: &Catalog) -> u64 {
    let mut hasher = DefaultHasher::new();
    catalog.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_looks_that_all_take_long_are_made_seldom() {
        let [quick, slow, interval] = [1, 2_000, 5_000].map(Duration::from_millis);
        assert_eq!(rest(interval, [quick; LOOKS]), interval);
        assert_eq!(rest(interval, [slow, slow, slow, quick]), interval, "they were held up");
        assert_eq!(rest(interval, [slow; LOOKS]), Duration::from_secs(40));
    }
}
