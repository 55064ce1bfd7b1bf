//! Reads the files of all databases from time to time, so that damage on the disk is found while the graph is still whole in memory, and
//! writes them anew where there is some.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use prony_graph_store::{ScrubReport, scrub};

use super::{Database, Databases, scrubbed::Scrubbed, with_causes};

/// Read at most, so that the log's syncs and other programs have the disk for themselves at most times.
const BYTES_PER_SECOND: u64 = 20 << 20;
/// Read in one go.
const TURN_BYTES: u64 = 1 << 20;
/// How often it is looked whether one is due.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Tells the reading that the server stops.
struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads the files of each database `every` so often, the first time so long after the start, which reads them too; never returns. One database at
/// a time.
pub(crate) async fn run(databases: &Databases, every: Option<Duration>) {
    let Some(every) = every else { return std::future::pending().await };
    let end = EndOnDrop(Arc::new(AtomicBool::new(false)));
    let opened = Instant::now();
    loop {
        tokio::time::sleep(LOOK_EVERY.min(every)).await;
        let all: Vec<_> = databases.all().values().cloned().collect();
        for database in all {
            let last = database.scrubbed_at().unwrap_or(opened);
            if last.elapsed() < every {
                continue;
            }
            let directory = databases.directory().join(&database.name);
            let is_over = Arc::clone(&end.0);
            let of = Arc::clone(&database);
            let read = tokio::task::spawn_blocking(move || read(&of, &directory, &is_over));
            if let Err(error) = read.await {
                tracing::error!(database = database.name, %error, "the files of a graph cannot be read");
            }
        }
    }
}

fn read(database: &Database, directory: &Path, is_over: &AtomicBool) {
    let begun = Instant::now();
    let (mut since, mut rested) = (0, Instant::now());
    let mut pace = |bytes: u64| {
        since += bytes;
        if since >= TURN_BYTES {
            let due = Duration::from_secs_f64(since as f64 / BYTES_PER_SECOND as f64);
            thread::sleep(due.saturating_sub(rested.elapsed()));
            (since, rested) = (0, Instant::now());
        }
        !is_over.load(Ordering::Relaxed)
    };
    let name = &database.name;
    match scrub(directory, &mut pace) {
        // The server stops.
        Ok(None) => {}
        Ok(Some(report)) => {
            let took = begun.elapsed();
            let is_rewritten = tell(database, &report, took);
            let before = database.scrubbed().map(|before| (before.damage, before.is_rewritten));
            let (damage, is_rewritten) = match before {
                Some(before) if report.problems.is_empty() => before,
                _ => (report.problems.clone(), is_rewritten),
            };
            database.set_scrubbed(Scrubbed { at: SystemTime::now(), took, report, damage, is_rewritten });
        }
        Err(error) => {
            let error = with_causes(&error);
            // One that was dropped has no files.
            if directory.exists() {
                tracing::error!(database = name, error, "the files of a graph cannot be read");
            }
            database.set_scrubbed_at();
        }
    }
}

/// True where the files were written anew.
fn tell(database: &Database, report: &ScrubReport, took: Duration) -> bool {
    let (name, bytes, frames) = (&database.name, report.bytes, report.frames);
    let milliseconds = took.as_millis() as u64;
    if report.problems.is_empty() {
        tracing::info!(
            database = name,
            bytes,
            frames,
            milliseconds,
            "the files of a graph are as they were written"
        );
        return false;
    }
    for problem in &report.problems {
        tracing::error!(
            database = name,
            problem,
            "a file of a graph is damaged; what is served is in memory, and whole"
        );
    }
    match database.store.snapshot() {
        Ok(report) => {
            let (nodes, relationships) = (report.nodes, report.relationships);
            tracing::warn!(
                database = name,
                nodes,
                relationships,
                "the graph was written anew, from memory; look at its disk"
            );
            true
        }
        Err(error) => {
            let error = with_causes(&error);
            tracing::error!(
                database = name,
                error,
                "the graph cannot be written anew: do not stop the server before that is done"
            );
            false
        }
    }
}
