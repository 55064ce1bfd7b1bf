//! A file of what has been counted, so that it is still counted after a crash: one line a count, written and synced on a
//! thread of its own, several with one sync.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Counter, Counters, lock};

/// Counts that may wait for the disk at a time.
const WAITING_MAX: usize = 64;

/// What has become of a count, or why it is not on the disk: the counter, which is none where it cannot hold so much.
pub(super) type CountOutcome = Result<Option<Counter>, Arc<io::Error>>;

#[derive(Debug)]
pub(super) struct Journal {
    counts: Sender<JournalCount>,
    room: Arc<Semaphore>,
    /// Held while a batch is written.
    writing: Arc<Mutex<()>>,
}

/// One count on its way to the disk.
#[derive(Debug)]
struct JournalCount {
    counters: Counters,
    name: String,
    by: i64,
    outcome: oneshot::Sender<CountOutcome>,
    _room: OwnedSemaphorePermit,
}

impl Journal {
    /// Opens or makes the file; what is in it is counted by `count`.
    pub(super) fn open(path: &Path, mut count: impl FnMut(&str, i64)) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
        for line in io::read_to_string(&file)?.lines() {
            let (by, name) = line.split_once(' ').unwrap_or(("", line));
            let by = by.parse().map_err(|_| io::Error::other(format!("`{line}` is no count")))?;
            count(name, by);
        }
        let (counts, received) = mpsc::channel();
        let writing = Arc::new(Mutex::new(()));
        let held = Arc::clone(&writing);
        thread::Builder::new().name("counters".to_owned()).spawn(move || run(file, &received, &held))?;
        Ok(Self { counts, room: Arc::new(Semaphore::new(WAITING_MAX)), writing })
    }

    /// Sends a count to the disk; none where too many are on their way. The receiver is told what has become of it.
    pub(super) fn count(
        &self,
        counters: &Counters,
        name: &str,
        by: i64,
    ) -> Option<oneshot::Receiver<CountOutcome>> {
        let room = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let (outcome, receiver) = oneshot::channel();
        let count =
            JournalCount { counters: counters.clone(), name: name.to_owned(), by, outcome, _room: room };
        self.counts.send(count).expect("the thread runs as long as there is a journal");
        Some(receiver)
    }

    /// Returns when there is room for one more count, which others may take.
    pub(super) fn room(&self) -> impl Future<Output = ()> + use<> {
        let room = Arc::clone(&self.room);
        async move { drop(room.acquire().await) }
    }

    /// Has nothing more written as long as it is held.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.writing)
    }
}

/// Ends with the journal.
fn run(mut file: File, received: &Receiver<JournalCount>, writing: &Mutex<()>) {
    while let Ok(first) = received.recv() {
        let _held = lock(writing);
        let batch: Vec<JournalCount> = [first].into_iter().chain(received.try_iter()).collect();
        let lines: Vec<String> = batch.iter().map(|count| format!("{} {}\n", count.by, count.name)).collect();
        let written = file.write_all(lines.concat().as_bytes()).and_then(|()| file.sync_data());
        let written = written.map_err(Arc::new);
        for JournalCount { counters, name, by, outcome, .. } in batch {
            let counted = written.as_ref().map(|()| counters.add(&name, by)).map_err(Arc::clone);
            // The client may have gone; it is counted all the same.
            let _ = outcome.send(counted);
        }
    }
}
