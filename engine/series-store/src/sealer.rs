//! Takes rows from the log and the memory into segments, and puts segments together: when asked, and by itself on a thread of its own,
//! which also has retention remove what is too old. Readers and writers go on.

use crate::error::SealError;
use crate::format::{LOG, SEGMENT};
use crate::ids::{SeriesId, TableId, TimeMs, TimeRange};
use crate::listen::Events;
use crate::manifest::{Segments, names, publish};
use crate::memory::{Frozen, reading, writing};
use crate::op::{Deleted, Op, OpNumber};
use crate::options::Options;
use crate::read::StoredRows;
use crate::removal::Removal;
use crate::segment::{Segment, SegmentWriter};
use crate::state::{SeriesState, Shared};
use crate::tombstones::{Tombstone, Tombstones};
use prony_log::disk::{self, sync_directory};
use prony_log::file::NextFile;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After one that failed, the next is tried when the log has grown by this part of what makes one due.
const RETRY_PART: u64 = 8;
/// How often is looked for rows that are too old.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// So many segments of about the same size, or more, become one.
const TOGETHER: usize = 4;
/// What only the system does when nothing else is to be done (`setpriority(2)`).
const LOWEST_PRIORITY: i32 = 19;

/// What has become of the segments of an open store.
#[derive(Debug, Clone, Default)]
pub struct SealState {
    /// When rows last went into a segment since the store was opened, and how long that took.
    pub last: Option<(SystemTime, Duration)>,
    /// What became of the last try, where it failed, and when. The log and the memory grow meanwhile.
    pub failure: Option<(SealError, SystemTime)>,
}

#[derive(Debug)]
pub(crate) struct Sealer {
    pub(crate) shared: Arc<Shared>,
    directory: PathBuf,
    pub(crate) options: Options,
    /// Held while segments are written.
    pub(crate) files: Mutex<Files>,
    /// What was removed last of each type.
    pub(crate) removed: Mutex<HashMap<TableId, Removal>>,
    state: Mutex<SealState>,
    /// Why files could not be removed that the newest manifest has made needless, and when.
    unremoved: Mutex<Option<(SealError, SystemTime)>>,
    /// Bytes of the log that segments have made needless.
    bytes_needless: AtomicU64,
    /// The last time that something was too old, it could not be removed.
    removal_failed: AtomicBool,
    is_closing: AtomicBool,
}

/// What a manifest changes.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) segments: Segments,
    /// What is removed of types.
    pub(crate) removed: Vec<(TableId, Tombstone)>,
    /// The frozen head is in a segment.
    pub(crate) has_frozen: bool,
}

/// What is on the disk beside the log.
#[derive(Debug)]
pub(crate) struct Files {
    /// Of the newest manifest.
    pub(crate) manifest: u64,
    /// Where the log goes on behind the frozen head, and all bytes before that.
    rotated: Option<(u64, u64)>,
    last_segment: u64,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn cannot_write(path: &Path) -> impl Fn(io::Error) -> SealError + use<> {
    let path = path.to_owned();
    move |cause| SealError::Write { path: path.clone(), cause: cause.into() }
}

impl Sealer {
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn new(shared: Arc<Shared>, directory: &Path, options: Options, manifest: u64) -> Self {
        let Segments { rows, aggregates } = Segments::of(&reading(&shared.state.memory));
        let numbers = rows.iter().chain(&aggregates).map(|segment| segment.entry.number);
        let last_segment = numbers.max().unwrap_or(0);
        Self {
            shared,
            directory: directory.to_owned(),
            options,
            files: Mutex::new(Files { manifest, rotated: None, last_segment }),
            removed: Mutex::default(),
            state: Mutex::default(),
            unremoved: Mutex::default(),
            bytes_needless: AtomicU64::new(0),
            removal_failed: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> SealState {
        let SealState { last, failure } = lock(&self.state).clone();
        SealState { last, failure: failure.or_else(|| lock(&self.unremoved).clone()) }
    }

    /// Notes whether the files could be removed that the newest manifest has made needless.
    pub(crate) fn note_removed(&self, removed: io::Result<()>) {
        let failure = removed.err().map(cannot_write(&self.directory));
        *lock(&self.unremoved) = failure.map(|error| (error, SystemTime::now()));
    }

    /// Of the log that is read at a start.
    pub(crate) fn log_bytes(&self) -> u64 {
        let all = self.shared.log_bytes.load(Ordering::Relaxed);
        all.saturating_sub(self.bytes_needless.load(Ordering::Relaxed))
    }

    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.shared.state.trigger.close();
    }

    /// Until the store is closed.
    pub(crate) fn run(&self) {
        // Where that is not allowed it has the priority of the others.
        let _ = rustix::process::setpriority_process(None, LOWEST_PRIORITY);
        let at = self.options.seal_at_log_bytes;
        let mut due = at.unwrap_or(u64::MAX);
        let look_every = if self.options.retention.is_empty() { Duration::MAX } else { LOOK_EVERY };
        loop {
            if !self.shared.state.trigger.wait_for(due, &self.shared.log_bytes, look_every) {
                return;
            }
            self.remove_what_is_old();
            let Some(at) = at else { continue };
            if self.shared.log_bytes.load(Ordering::Relaxed) < due {
                continue;
            }
            let is_done = self.seal().and_then(|()| self.compact_some()).is_ok();
            let bytes = self.shared.log_bytes.load(Ordering::Relaxed);
            due = if is_done { bytes - self.log_bytes() + at } else { bytes + (at / RETRY_PART).max(1) };
        }
    }

    /// What fails is tried again when it is looked for the next time.
    fn remove_what_is_old(&self) {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as TimeMs;
        let failure = self.remove_old(now_ms).err().map(|error| (error, SystemTime::now()));
        let has_failed = failure.is_some();
        if self.removal_failed.swap(has_failed, Ordering::Relaxed) || has_failed {
            lock(&self.state).failure = failure;
        }
    }

    /// All rows that are in memory go into a segment; the log before that is removed.
    pub(crate) fn seal(&self) -> Result<(), SealError> {
        let mut files = lock(&self.files);
        let begun = Instant::now();
        let sealed = self.try_to_seal(&mut files);
        let mut state = lock(&self.state);
        match &sealed {
            Ok(()) => *state = SealState { last: Some((SystemTime::now(), begun.elapsed())), failure: None },
            Err(error) => state.failure = Some((error.clone(), SystemTime::now())),
        }
        sealed
    }

    fn try_to_seal(&self, files: &mut Files) -> Result<(), SealError> {
        let (number, bytes_before) = match files.rotated {
            Some(rotated) => rotated,
            None => self.rotate()?,
        };
        files.rotated = Some((number, bytes_before));
        let (frozen, mut segments) = {
            let memory = reading(&self.shared.state.memory);
            (memory.frozen.clone(), Segments::of(&memory))
        };
        if frozen.is_none() && files.manifest == number {
            files.rotated = None;
            return Ok(());
        }
        if let Some(frozen) = &frozen {
            segments.rows.extend(self.write_segment(files, &[], Some(frozen))?);
        }
        let has_frozen = frozen.is_some();
        self.publish(number, Change { segments, removed: Vec::new(), has_frozen })?;
        (files.manifest, files.rotated) = (number, None);
        self.bytes_needless.store(bytes_before, Ordering::Relaxed);
        Ok(())
    }

    /// The log's thread, for which writes wait, only has to change over to a file that is ready.
    fn rotate(&self) -> Result<(u64, u64), SealError> {
        let number = self.shared.log_number.load(Ordering::Relaxed) + 1;
        let next = NextFile::create(&self.directory, LOG, number);
        next.and_then(|next| self.shared.rotate_log(next)).map_err(|cause| SealError::Rotate(cause.into()))
    }

    /// A manifest with these segments is on the disk; then readers have them too.
    pub(crate) fn publish(&self, number: u64, change: Change) -> Result<(), SealError> {
        let Change { mut segments, removed, has_frozen } = change;
        let mut tombstones = Arc::clone(&reading(&self.shared.state.memory).tombstones);
        if !removed.is_empty() {
            Arc::make_mut(&mut tombstones).add_removed(&removed);
        }
        segments.rows.retain(|segment| !is_hidden(segment, &tombstones, |series| self.table_of(series)));
        let write = cannot_write(&self.directory);
        // The names of the segments before that of the manifest.
        sync_directory(&self.directory).map_err(&write)?;
        let names = names(&self.shared.state.memory, &removed);
        // All names and deletions that the files know of must be in the log before they count.
        self.shared.sync_log().map_err(SealError::Log)?;
        let removed_files =
            publish(&self.directory, number, names, &segments, &self.is_closing).map_err(&write)?;
        // The manifest counts: what it does not name may be gone, and must not be named again.
        self.note_removed(removed_files);
        let mut memory = writing(&self.shared.state.memory);
        if !(memory.tombstones.is_empty() && removed.is_empty()) {
            let first = segments.rows.first().map(|segment| segment.entry.last_number);
            let of_aggregates = segments.aggregates.iter().map(|segment| segment.entry.last_number).min();
            let tombstones = Arc::make_mut(&mut memory.tombstones);
            tombstones.add_removed(&removed);
            tombstones.forget_before(first, of_aggregates);
        }
        memory.segments = Arc::new(segments.rows);
        memory.aggregates = Arc::new(segments.aggregates);
        if has_frozen {
            memory.frozen = None;
        }
        drop(memory);
        self.tell_removed(&removed);
        Ok(())
    }

    /// Who listens hears of what was removed as of a deletion.
    fn tell_removed(&self, removed: &[(TableId, Tombstone)]) {
        let SeriesState { memory, listeners, .. } = &self.shared.state;
        if removed.is_empty() || listeners.is_empty() {
            return;
        }
        let mut payload = Vec::new();
        for (table, Tombstone { number, range, .. }) in removed {
            Op::Delete { number: *number, of: Deleted::Table(*table), range: *range }.put(&mut payload);
        }
        listeners.each(|listener| listener(&Events::new(&payload, &**memory)));
    }

    pub(crate) fn table_of(&self, series: SeriesId) -> TableId {
        reading(&self.shared.state.memory).catalog.series(series).table
    }

    /// One segment of segments that follow one another, or of a head; none where nothing is left of them.
    fn write_segment(
        &self,
        files: &mut Files,
        segments: &[Arc<Segment>],
        frozen: Option<&Frozen>,
    ) -> Result<Option<Arc<Segment>>, SealError> {
        let last_of = segments.last().map(|segment| segment.entry.last_number);
        let last_number = frozen.map(|frozen| frozen.last_number).or(last_of).unwrap_or_default();
        self.create_segment(files, last_number, |writer| self.fill(writer, segments, frozen))
    }

    /// A segment of what `fill` puts into it; none where that is nothing.
    pub(crate) fn create_segment(
        &self,
        files: &mut Files,
        last_number: OpNumber,
        fill: impl FnOnce(&mut SegmentWriter<'_>) -> Result<(), SealError>,
    ) -> Result<Option<Arc<Segment>>, SealError> {
        files.last_segment += 1;
        let (number, policy) = (files.last_segment, self.options.on_duplicate);
        let path = SEGMENT.path(&self.directory, number);
        let write = cannot_write(&path);
        let mut writer =
            SegmentWriter::create(&self.directory, number, policy, &self.is_closing).map_err(&write)?;
        let filled = fill(&mut writer);
        let finished = filled.and_then(|()| writer.finish(last_number).map_err(&write));
        if !matches!(finished, Ok(Some(_))) {
            // What is there of it takes room that the log may need.
            let _ = disk::remove(&path);
        }
        finished.map(|segment| segment.map(Arc::new))
    }

    fn fill(
        &self,
        writer: &mut SegmentWriter<'_>,
        segments: &[Arc<Segment>],
        frozen: Option<&Frozen>,
    ) -> Result<(), SealError> {
        let write = cannot_write(writer.path());
        let tombstones = Arc::clone(&reading(&self.shared.state.memory).tombstones);
        let head = frozen.map(|frozen| reading(&frozen.head));
        let in_segments = segments.iter().flat_map(|segment| segment.blocks().iter().map(|of| of.series));
        let in_head = head.iter().flat_map(|head| head.all().map(|(series, _)| series));
        let mut all: Vec<SeriesId> = in_segments.chain(in_head).collect();
        all.sort_unstable();
        all.dedup();
        for series in all {
            let hidden = tombstones.of(self.table_of(series), series);
            let of_head = head.as_ref().and_then(|head| head.get(series));
            let policy = self.options.on_duplicate;
            let rows = StoredRows::of_sources(hidden, policy, segments, of_head, series, TimeRange::ALL);
            rows.each_group(|whole, load| {
                if let Some((block, bytes)) = whole
                    && writer.try_copy(block, bytes).map_err(&write)?
                {
                    return Ok(());
                }
                writer.rows(series, load()?).map_err(&write)
            })?;
            writer.end_series(series).map_err(&write)?;
        }
        Ok(())
    }

    /// All rows into one segment, without those that are deleted.
    pub(crate) fn compact(&self) -> Result<(), SealError> {
        self.seal()?;
        self.put_together(&mut lock(&self.files), |segments| {
            (!segments.is_empty()).then_some(0..segments.len())
        })?;
        self.compact_aggregates(true)
    }

    /// Segments that are many, or that are mostly deleted.
    fn compact_some(&self) -> Result<(), SealError> {
        let mut files = lock(&self.files);
        while self.put_together(&mut files, |segments| {
            let bytes: Vec<u64> = segments.iter().map(|segment| segment.bytes()).collect();
            together(&bytes)
        })? {}
        let tombstones = Arc::clone(&reading(&self.shared.state.memory).tombstones);
        while !tombstones.is_empty()
            && self.put_together(&mut files, |segments| {
                let is_worth = |segment: &Arc<Segment>| {
                    let hidden = hidden_blocks(segment, &tombstones, |series| self.table_of(series));
                    2 * hidden > segment.blocks().len()
                };
                segments.iter().position(is_worth).map(|at| at..at + 1)
            })?
        {}
        Ok(())
    }

    /// Those that are chosen become one; false where none are.
    fn put_together(
        &self,
        files: &mut Files,
        choose: impl Fn(&[Arc<Segment>]) -> Option<std::ops::Range<usize>>,
    ) -> Result<bool, SealError> {
        let mut segments = Segments::of(&reading(&self.shared.state.memory));
        let Some(chosen) = choose(&segments.rows) else { return Ok(false) };
        let one = self.write_segment(files, &segments.rows[chosen.clone()], None)?;
        segments.rows.splice(chosen, one);
        self.publish(files.manifest, Change { segments, removed: Vec::new(), has_frozen: false })?;
        Ok(true)
    }
}

/// The last segments that are together about as large as one before them: so a row is written anew only as often as the number of
/// segments doubles.
pub(crate) fn together(bytes: &[u64]) -> Option<std::ops::Range<usize>> {
    let mut behind = 0;
    let mut first = None;
    for (place, size) in bytes.iter().enumerate().rev() {
        if *size < 2 * behind {
            first = Some(place);
        }
        behind += size;
    }
    first.filter(|first| bytes.len() - first >= TOGETHER).map(|first| first..bytes.len())
}

fn hidden_blocks(
    segment: &Segment,
    tombstones: &Tombstones,
    table_of: impl Fn(SeriesId) -> TableId,
) -> usize {
    let is_hidden = |block: &&crate::block::BlockMeta| {
        let hidden = tombstones.of(table_of(block.series), block.series);
        hidden.hides_all(segment.entry.last_number, block.first_ms, block.last_ms)
    };
    segment.blocks().iter().filter(is_hidden).count()
}

/// Whether nothing of a segment is seen.
fn is_hidden(segment: &Segment, tombstones: &Tombstones, table_of: impl Fn(SeriesId) -> TableId) -> bool {
    !tombstones.is_empty() && hidden_blocks(segment, tombstones, table_of) == segment.blocks().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_segments_stay_and_many_of_a_size_become_one() {
        assert_eq!(together(&[]), None);
        assert_eq!(together(&[5, 5, 5]), None);
        assert_eq!(together(&[5, 5, 5, 5]), Some(0..4));
        assert_eq!(together(&[1000, 5, 5, 5]), None);
        assert_eq!(together(&[1000, 5, 5, 5, 5]), Some(1..5));
        assert_eq!(together(&[2000, 400, 90, 90, 90, 90]), Some(1..6));
    }
}
