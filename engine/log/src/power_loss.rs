//! What a loss of power leaves of a disk, for tests: steps are written down as they are taken, and a disk is made of them
//! on which all stands that was synced, and of the rest whatever chance chooses.
//!
//! Of a file that was written and not synced any of its sectors may be old or new, and its length too; sectors that are
//! part of the file and were never written are zeros or hold anything. Of a directory that was not synced any names may be old or new.
//!
//! That is all that is assumed of a disk: what was synced stays, also beside what is written later into the same sector. How long sectors are, and
//! whether one that was being written may be old in a part and new in another, is said by [`Sectors`].

use crate::faults::{Fault, Faults};
use crate::step::Step;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::holds::Holds;
pub use crate::holds::{Held, is_called};
use crate::mutex::lock;

/// What a disk writes as one, and what it leaves of that where the power goes meanwhile. Bytes that a write does not change are what they were
/// in any case, as SQLite expects of disks with "powersafe overwrite".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sectors {
    pub bytes: usize,
    /// What was written to a sector may be there in a part only; else all of it or nothing is.
    pub are_torn: bool,
}

impl Sectors {
    pub const ALL: [Self; 4] = [
        Self { bytes: 512, are_torn: false },
        Self { bytes: 4096, are_torn: false },
        Self { bytes: 512, are_torn: true },
        Self { bytes: 4096, are_torn: true },
    ];

    /// Each kind in turn.
    pub const fn of(number: u64) -> Self {
        Self::ALL[(number % Self::ALL.len() as u64) as usize]
    }
}

static JOURNALS: Mutex<Vec<Arc<Journal>>> = Mutex::new(Vec::new());

/// Takes a step, and writes it down where somebody wants to know.
pub(crate) fn perform<T>(step: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let journal = lock(&JOURNALS).iter().find(|journal| journal.below(step.path()).is_some()).map(Arc::clone);
    let Some(journal) = journal else { return act() };
    if journal.holds.wait(step) {
        return Err(journal.strike(Fault::Full, step));
    }
    if let Some(fault) = journal.next_fault(step) {
        return if fault == Fault::Rot { rot(step, act) } else { Err(journal.strike(fault, step)) };
    }
    let Some(done) = journal.done(step) else { return act() };
    // Held meanwhile, so that the order is the true one.
    let mut events = lock(&journal.events);
    let result = act()?;
    events.push(DiskEvent::Done(done));
    Ok(result)
}

/// Does a step, and changes a bit of what it has written.
fn rot<T>(step: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let done = act()?;
    if let Step::Write { path, at, bytes } = step {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        let file = fs::OpenOptions::new().write(true).open(path);
        let written = file.and_then(|file| file.write_all_at(&bytes, at));
        written.expect("the directory for tests can be written to");
    }
    Ok(done)
}

/// What is done below one directory as long as it stands here, and what the writers say.
#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    events: Mutex<Vec<DiskEvent>>,
    faults: Mutex<Failing>,
    holds: Arc<Holds>,
}

/// How many steps there were, which fail, and what those that failed were.
#[derive(Debug, Default)]
struct Failing {
    steps: u64,
    faults: Option<Faults>,
    /// A write to a file whose name begins so.
    full_once: Option<&'static str>,
    /// A sync of such a file.
    sync_once: Option<&'static str>,
    failed: Vec<String>,
}

#[derive(Debug)]
pub enum DiskEvent {
    Done(Done),
    /// The write with this number is being made.
    Begun(u64),
    Acknowledged(u64),
}

/// A [`Step`]; paths begin below the root.
#[derive(Debug)]
pub enum Done {
    MakeDirectory(PathBuf),
    Create(PathBuf),
    Change(PathBuf, DiskChange),
    Sync(PathBuf),
    /// The system forgets that what was written is not on the disk: a later sync does not write it.
    FailedSync(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    SyncDirectory(PathBuf),
}

/// Of what stands in a file.
#[derive(Debug, Clone)]
pub enum DiskChange {
    Write { at: usize, bytes: Vec<u8> },
    SetLength(usize),
}

impl Journal {
    pub fn begin(root: &Path) -> Arc<Self> {
        Self::begin_with(root, None)
    }

    /// As [`Self::begin`], on a disk that fails.
    pub fn begin_failing(root: &Path, faults: Faults) -> Arc<Self> {
        Self::begin_with(root, Some(faults))
    }

    fn begin_with(root: &Path, faults: Option<Faults>) -> Arc<Self> {
        let faults = Mutex::new(Failing { faults, ..Failing::default() });
        let (root, events, holds) = (root.to_owned(), Mutex::default(), Arc::default());
        let journal = Arc::new(Self { root, events, faults, holds });
        lock(&JOURNALS).push(Arc::clone(&journal));
        journal
    }

    /// The next write to a file whose name begins so finds no room.
    pub fn fail_next_write(&self, begin: &'static str) {
        lock(&self.faults).full_once = Some(begin);
    }

    /// The next sync of a file whose name begins so fails: whether it has what was written is not known.
    pub fn fail_next_sync(&self, begin: &'static str) {
        lock(&self.faults).sync_once = Some(begin);
    }

    /// Holds up all that is done to files of this name, until what is returned is dropped.
    pub fn hold(&self, name: &'static str) -> Held {
        self.holds.begin(name);
        Held(Arc::clone(&self.holds))
    }

    /// How many steps there were, those that read included.
    pub fn steps(&self) -> u64 {
        lock(&self.faults).steps
    }

    /// The steps that have failed, in words.
    pub fn failed(&self) -> Vec<String> {
        lock(&self.faults).failed.clone()
    }

    fn next_fault(&self, step: Step<'_>) -> Option<Fault> {
        let mut failing = lock(&self.faults);
        failing.steps += 1;
        let number = failing.steps - 1;
        let written = if let Step::Write { path, .. } = step { Some(path) } else { None };
        let is_full = |begin: &mut &str| written.is_some_and(|path| is_called(path, begin));
        let synced = if let Step::Sync(path) = step { Some(path) } else { None };
        let is_unsynced = |begin: &mut &str| synced.is_some_and(|path| is_called(path, begin));
        let once = failing.full_once.take_if(is_full).map(|_| Fault::Full);
        let once = once.or_else(|| failing.sync_once.take_if(is_unsynced).map(|_| Fault::Device));
        let fault = match once {
            Some(fault) => fault,
            None => failing.faults.filter(|faults| faults.hits(number))?.fault,
        };
        let step = match step {
            Step::Write { path, at, bytes } => {
                format!("write {} bytes at {at} of {}", bytes.len(), path.display())
            }
            step => format!("{step:?}"),
        };
        failing.failed.push(format!("{number}: {step}"));
        Some(fault)
    }

    /// Does of a step what is done although it fails.
    fn strike(&self, fault: Fault, step: Step<'_>) -> io::Error {
        let below = |path: &Path| self.below(path).expect("only steps below the root fail");
        match step {
            Step::Write { path, at, bytes } if fault == Fault::Short => {
                let half = &bytes[..bytes.len() / 2];
                let file = fs::OpenOptions::new().write(true).open(path);
                let written = file.and_then(|file| file.write_all_at(half, at));
                written.expect("the directory for tests can be written to");
                let change = DiskChange::Write { at: at as usize, bytes: half.to_vec() };
                self.note(DiskEvent::Done(Done::Change(below(path), change)));
            }
            Step::Sync(path) => self.note(DiskEvent::Done(Done::FailedSync(below(path)))),
            _ => {}
        }
        let error = if fault == Fault::Full { rustix::io::Errno::NOSPC } else { rustix::io::Errno::IO };
        error.into()
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    pub fn note(&self, event: DiskEvent) {
        lock(&self.events).push(event);
    }

    pub fn end(&self) -> Vec<DiskEvent> {
        lock(&JOURNALS).retain(|journal| journal.root != self.root);
        std::mem::take(&mut lock(&self.events))
    }

    /// None for what is done elsewhere.
    fn done(&self, step: Step<'_>) -> Option<Done> {
        let below = |path: &Path| self.below(path);
        Some(match step {
            Step::MakeDirectory(path) => Done::MakeDirectory(below(path)?),
            Step::Create(path) => Done::Create(below(path)?),
            Step::Write { path, at, bytes } => {
                Done::Change(below(path)?, DiskChange::Write { at: at as usize, bytes: bytes.to_vec() })
            }
            Step::SetLength { path, bytes } => {
                Done::Change(below(path)?, DiskChange::SetLength(bytes as usize))
            }
            Step::Sync(path) => Done::Sync(below(path)?),
            Step::Rename { from, to } => Done::Rename { from: below(from)?, to: below(to)? },
            Step::Remove(path) => Done::Remove(below(path)?),
            // It leaves nothing behind.
            Step::Read(_) => return None,
            Step::SyncDirectory(path) => Done::SyncDirectory(below(path)?),
        })
    }
}

/// What a disk says is done and is not, as if the store had left it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// Of files whose names begin so.
    Sync(&'static str),
    DirectorySync,
}

impl Lie {
    fn swallows(self, done: &Done) -> bool {
        match (self, done) {
            (Self::Sync(begin), Done::Sync(path)) => is_called(path, begin),
            (Self::DirectorySync, Done::SyncDirectory(_)) => true,
            _ => false,
        }
    }
}

/// The number of a file; none for a directory.
type Entry = Option<usize>;
type Names = BTreeMap<PathBuf, Entry>;

/// As processes see it, and what of that is sure.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    names: Names,
    sure_names: Names,
    unsure_names: Vec<NameChange>,
    /// By number, also those that have no name any more.
    files: Vec<FileState>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Put(PathBuf, Entry),
    Rename { from: PathBuf, to: PathBuf, entry: Entry },
    Remove(PathBuf),
}

impl NameChange {
    fn directory(&self) -> Option<&Path> {
        let (Self::Put(path, _) | Self::Rename { to: path, .. } | Self::Remove(path)) = self;
        path.parent()
    }

    fn make(&self, names: &mut Names) {
        match self {
            Self::Put(path, entry) => drop(names.insert(path.clone(), *entry)),
            Self::Rename { from, to, entry } => {
                names.remove(from);
                names.insert(to.clone(), *entry);
            }
            Self::Remove(path) => drop(names.remove(path)),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct FileState {
    sure: Vec<u8>,
    /// Since the last sync, in order.
    unsure: Vec<DiskChange>,
    /// As processes see it.
    seen: Vec<u8>,
}

impl DiskChange {
    fn make(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes: new } => {
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
            Self::SetLength(length) => bytes.resize(*length, 0),
        }
    }
}

impl FileState {
    fn change(&mut self, change: DiskChange) {
        change.make(&mut self.seen);
        self.unsure.push(change);
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsure) {
            change.make(&mut self.sure);
        }
    }

    fn after_loss(&self, sectors: Sectors, chance: &mut ChaCha8Rng) -> Vec<u8> {
        let states = self.unsure.len() + 1;
        let (is_in_order, last) = (chance.random_bool(0.3), chance.random_range(0..states));
        let longest = self.unsure.iter().fold(self.sure.len(), |longest, change| match change {
            DiskChange::Write { at, bytes } => longest.max(at + bytes.len()),
            DiskChange::SetLength(length) => longest.max(*length),
        });
        // After how many of the changes each part was written last.
        let picks: Vec<(Range<usize>, usize)> = parts(longest, sectors, chance)
            .into_iter()
            .map(|part| (part, if is_in_order { last } else { chance.random_range(0..states) }))
            .collect();
        let (mut left, mut now, mut length) = (vec![0; longest], self.sure.clone(), self.sure.len());
        if chance.random_bool(0.25) {
            chance.fill(&mut left[..]);
        }
        for state in 0..states {
            if state > 0 {
                self.unsure[state - 1].make(&mut now);
            }
            if state == last {
                length = now.len();
            }
            for part in picks.iter().filter(|pick| pick.1 == state).map(|pick| &pick.0) {
                let to = part.end.min(now.len());
                if part.start < to {
                    left[part.start..to].copy_from_slice(&now[part.start..to]);
                    left[to..part.end].fill(0);
                }
            }
        }
        left.truncate(length);
        left
    }
}

/// What of a file of this length is written as one: its sectors, of which one that is torn is two parts.
fn parts(length: usize, sectors: Sectors, chance: &mut ChaCha8Rng) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    for from in (0..length).step_by(sectors.bytes) {
        let end = (from + sectors.bytes).min(length);
        let is_torn = sectors.are_torn && chance.random_bool(0.5);
        let middle = if is_torn { chance.random_range(from..end) } else { end };
        parts.extend([from..middle, middle..end].into_iter().filter(|part| !part.is_empty()));
    }
    parts
}

impl Disk {
    /// With what was done to it, but for what the disk leaves out.
    #[must_use]
    pub fn after(mut self, events: &[DiskEvent], lie: Lie) -> Self {
        for event in events {
            match event {
                DiskEvent::Done(done) if !lie.swallows(done) => self.make(done),
                DiskEvent::Done(_) | DiskEvent::Begun(_) | DiskEvent::Acknowledged(_) => {}
            }
        }
        self
    }

    fn make(&mut self, done: &Done) {
        match done {
            Done::MakeDirectory(path) => self.rename(NameChange::Put(path.clone(), None)),
            Done::Create(path) => {
                if let Some(Some(file)) = self.names.get(path) {
                    self.files[*file].change(DiskChange::SetLength(0));
                } else {
                    self.files.push(FileState::default());
                    self.rename(NameChange::Put(path.clone(), Some(self.files.len() - 1)));
                }
            }
            Done::Change(path, change) => self.file(path).change(change.clone()),
            Done::Sync(path) => self.file(path).sync(),
            // The worst that can be: nothing of it has reached the disk.
            Done::FailedSync(path) => self.file(path).unsure.clear(),
            Done::Rename { from, to } => {
                let entry = self.names[from];
                self.rename(NameChange::Rename { from: from.clone(), to: to.clone(), entry });
            }
            Done::Remove(path) => self.rename(NameChange::Remove(path.clone())),
            Done::SyncDirectory(directory) => {
                let (sure, unsure) = std::mem::take(&mut self.unsure_names)
                    .into_iter()
                    .partition::<Vec<_>, _>(|change| change.directory() == Some(directory));
                for change in sure {
                    change.make(&mut self.sure_names);
                }
                self.unsure_names = unsure;
            }
        }
    }

    fn rename(&mut self, change: NameChange) {
        change.make(&mut self.names);
        self.unsure_names.push(change);
    }

    fn file(&mut self, path: &Path) -> &mut FileState {
        let number = self.names[path].unwrap_or_else(|| panic!("{} is a directory", path.display()));
        &mut self.files[number]
    }

    /// Writes what every process sees now, as it is when one was killed.
    pub fn write_seen(&self, root: &Path) {
        write(root, &self.names, |file| self.files[file].seen.clone());
    }

    /// Writes what is left when the power goes now.
    pub fn write_after_loss(&self, root: &Path, sectors: Sectors, chance: &mut ChaCha8Rng) {
        let mut names = self.sure_names.clone();
        let (kind, last) = (chance.random_range(0..3), chance.random_range(0..=self.unsure_names.len()));
        for (number, change) in self.unsure_names.iter().enumerate() {
            if kind == 1 && number < last || kind == 2 && chance.random() {
                change.make(&mut names);
            }
        }
        write(root, &names, |file| self.files[file].after_loss(sectors, chance));
    }
}

fn write(root: &Path, names: &Names, mut content: impl FnMut(usize) -> Vec<u8>) {
    // A directory stands before what is in it. Without it, that is gone too.
    for (path, entry) in names {
        let at = root.join(path);
        if at.parent().is_some_and(Path::is_dir) {
            let made = entry.map_or_else(|| fs::create_dir(&at), |file| fs::write(&at, content(file)));
            made.expect("the directory for tests can be written to");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    const TAIL: usize = 100;
    const LENGTH: usize = 10_000;

    /// Of a file whose synced tail shares its sector with what is written behind it.
    fn left(sectors: Sectors) -> Vec<Vec<u8>> {
        let mut file = FileState { sure: vec![1; TAIL], seen: vec![1; TAIL], ..FileState::default() };
        file.change(DiskChange::SetLength(LENGTH));
        file.sync();
        file.change(DiskChange::Write { at: TAIL, bytes: vec![2; LENGTH - TAIL] });
        let mut chance = ChaCha8Rng::seed_from_u64(1);
        (0..200).map(|_| file.after_loss(sectors, &mut chance)).collect()
    }

    fn has(bytes: &[u8], value: u8) -> bool {
        bytes.contains(&value)
    }

    #[test]
    fn what_was_synced_stays_beside_what_is_written_into_its_sector() {
        for sectors in Sectors::ALL {
            let left = left(sectors);
            assert!(left.iter().all(|bytes| bytes[..TAIL].iter().all(|byte| *byte == 1)), "{sectors:?}");
            assert!(left.iter().any(|bytes| has(&bytes[TAIL..], 2)), "{sectors:?}");
            assert!(left.iter().any(|bytes| has(&bytes[TAIL..], 0)), "{sectors:?}");
        }
    }

    #[test]
    fn a_sector_is_old_or_new_where_it_is_not_torn() {
        for sectors in Sectors::ALL {
            let is_mixed = |bytes: &Vec<u8>| {
                let mut of_sectors = bytes.chunks(sectors.bytes);
                // Behind the tail, in the first one.
                let first = of_sectors.next().map(|first| &first[TAIL..]);
                first.into_iter().chain(of_sectors).any(|sector| has(sector, 0) && has(sector, 2))
            };
            let mixed = left(sectors).iter().filter(|bytes| is_mixed(bytes)).count();
            assert_eq!(mixed > 0, sectors.are_torn, "{sectors:?}: {mixed}");
        }
    }

    #[test]
    fn large_sectors_are_old_or_new_as_a_whole() {
        let is_split = |bytes: &Vec<u8>| bytes[512..1024].contains(&0) != bytes[1024..1536].contains(&0);
        assert!(left(Sectors::of(0)).iter().any(is_split));
        assert!(!left(Sectors::of(1)).iter().any(is_split));
    }
}
