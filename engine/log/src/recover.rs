//! From the files of a log to what was written: reads their frames in order, and what to do where they are damaged.

use crate::Durability;
use crate::disk;
use crate::error::{FileFault, OpenError};
use crate::file::{LogFile, NextFile};
use crate::frame_reader::{End, Frames};
use crate::frames::{FileKind, HEAD_BYTES, LAST};
use crate::log_state::{self, LOG_STATE, Sure};
use crate::set_aside::{set_aside, unused_name};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Why the files of a log behind a loss are left out: they may speak of what was lost.
const FOLLOWS_LOSS: &str = "it follows what was lost";
/// What else can be done about a file that is missing.
const OR_RECOVER: &str = ", or go on without it with --recover, which says what is lost";

/// What opening a store has found and mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The snapshot that was read, if there was one.
    pub snapshot: Option<u64>,
    pub snapshot_bytes: u64,
    /// Frames of the log behind it.
    pub frames: u64,
    /// Good bytes of the log behind it.
    pub log_bytes: u64,
    /// Bytes at the log's end that were cut off: they are not known to have been on the disk. In most cases they were being written when the
    /// process or the machine died; the last frame that was acknowledged cannot be told from that where it is damaged after a death.
    pub torn_bytes: u64,
    /// Whole frames among them, written without [`Durability::Sync`]: the machine died when not all before them was on the
    /// disk.
    pub torn_frames: u64,
    /// What was left out because it was damaged; only where that was asked for.
    pub lost: Vec<Loss>,
}

/// A part of a file that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub path: PathBuf,
    /// From here to the end of the file.
    pub offset: u64,
    pub bytes: u64,
    pub why: String,
    /// Where the file is kept as it was.
    pub kept: Option<PathBuf>,
}

/// Where the log goes on.
#[derive(Debug, Clone, Copy)]
pub struct Tail {
    number: u64,
    /// Good bytes of the file; 0 where not even its head was whole.
    length: u64,
    /// Of the next frame.
    sequence: u64,
    version: u32,
    /// Up to where the log was known to be on the disk before.
    known: Option<Sure>,
}

/// What is known of a log before its files are read.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// What the state says, perhaps of a file that a snapshot has taken the place of.
    said: Option<Sure>,
    /// The same, where it is of one of the files that are read.
    known: Option<Sure>,
    /// Of the next frame, where one has been read.
    sequence: Option<u64>,
    is_last: bool,
}

/// Takes the payload of one frame; in words, what is wrong with it.
pub type TakeFrame<'a> = dyn FnMut(&[u8]) -> Result<(), String> + 'a;

/// A start that only looks reads files so often: one that another process removes or writes at that moment looks missing or damaged, and
/// what is so stays so.
const LOOKS_MAX: u32 = 5;
/// Between two of them.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// Calls `load` for files that another process may be changing, until it can read them.
///
/// # Errors
/// Those of the last time.
pub fn look<T>(mut load: impl FnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
    for _ in 1..LOOKS_MAX {
        if let Ok(loaded) = load() {
            return Ok(loaded);
        }
        thread::sleep(LOOK_PAUSE);
    }
    load()
}

/// The files of a store while they are read.
#[derive(Debug)]
pub struct Recovering {
    pub recovery: Recovery,
    /// Whether to go on without what is damaged, and to say what that was.
    pub recover: bool,
}

/// Numbers of the files of a kind, in order.
pub fn numbers(directory: &Path, kind: FileKind) -> Result<Vec<u64>, OpenError> {
    let read = |cause| OpenError::Read { path: directory.to_owned(), cause };
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        numbers.extend(kind.number_of(&name.to_string_lossy()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

impl Recovering {
    /// Reads the files of the log from number `first` on. Changes no file; copies those that it leaves something out of.
    pub fn logs(
        &mut self,
        directory: &Path,
        kind: FileKind,
        first: u64,
        take: &mut TakeFrame<'_>,
    ) -> Result<Option<Tail>, OpenError> {
        let mut numbers: Vec<u64> =
            numbers(directory, kind)?.into_iter().filter(|number| *number >= first).collect();
        // Where it could not be written when the log went on, it is of a file that is not needed any more, and nothing is known of the others.
        let said = log_state::read(directory, kind)?;
        let known = said.filter(|said| said.number >= first);
        let lost_before = self.recovery.lost.len();
        if let Some(known) = known.filter(|known| numbers.last().is_none_or(|last| *last < known.number)) {
            self.lose_file(directory, kind, known.number)?;
        }
        drop_unused(directory, kind, &mut numbers)?;
        // A loss before these files, or behind them, takes none of them away.
        let lost_elsewhere = self.recovery.lost.len();
        let mut tail: Option<Tail> = None;
        for (place, number) in numbers.iter().enumerate() {
            let wanted = first + place as u64;
            if *number != wanted {
                if tail.is_none() && self.recovery.snapshot.is_none() {
                    // Nothing stands before it that could be gone on with.
                    return Err(missing(directory, kind, wanted, ""));
                }
                self.lose_file(directory, kind, wanted)?;
                let sequence = said.map_or(1, |said| said.sequence);
                let none = Tail { number: first, length: 0, sequence, version: kind.version, known };
                self.leave_out(directory, kind, &numbers[place..], FOLLOWS_LOSS)?;
                return Ok(Some(tail.unwrap_or(none)));
            }
            let is_last = place + 1 == numbers.len();
            let expected = Expected { said, known, sequence: tail.map(|tail| tail.sequence), is_last };
            let found = self.log_file((directory, kind, *number), expected, take)?;
            self.recovery.log_bytes += found.length;
            tail = Some(found);
            if self.recovery.lost.len() > lost_elsewhere && !is_last {
                self.leave_out(directory, kind, &numbers[place + 1..], FOLLOWS_LOSS)?;
                return Ok(Some(found));
            }
        }
        if let (Some(known), Some(tail)) = (known, tail)
            && tail.sequence < known.sequence
            && self.recovery.lost.len() == lost_before
        {
            let path = kind.path(directory, tail.number);
            let what = format!("frame {} was on the disk, and is not there", known.sequence - 1);
            self.lose_rest(&path, tail.length as usize, tail.length as usize, what)?;
        }
        let is_timed = tail.is_some_and(|tail| kind.is_timed(tail.version));
        if self.recover && said.is_none() && is_timed && self.recovery.frames > 0 {
            self.lose_state(directory)?;
        }
        Ok(tail)
    }

    /// Notes that nothing tells whether files are missing behind those that were read.
    fn lose_state(&mut self, directory: &Path) -> Result<(), OpenError> {
        let path = directory.join(LOG_STATE);
        let (bytes, kept) = match fs::metadata(&path) {
            Ok(data) => (data.len(), Some(set_aside(&path)?)),
            Err(_) => (0, None),
        };
        let why =
            "it cannot be read, so that it is unknown whether newer files of the log are missing".to_owned();
        self.recovery.lost.push(Loss { path, offset: 0, bytes, why, kept });
        Ok(())
    }

    /// Notes that a file is missing where that was asked for, else it is an error.
    pub fn lose_file(&mut self, directory: &Path, kind: FileKind, number: u64) -> Result<(), OpenError> {
        if !self.recover {
            return Err(missing(directory, kind, number, OR_RECOVER));
        }
        let (path, why) = (kind.path(directory, number), "the file is missing".to_owned());
        self.recovery.lost.push(Loss { path, offset: 0, bytes: 0, why, kept: None });
        Ok(())
    }

    /// Puts files aside of which nothing is read, and notes them as losses.
    pub fn leave_out(
        &mut self,
        directory: &Path,
        kind: FileKind,
        numbers: &[u64],
        why: &str,
    ) -> Result<(), OpenError> {
        for number in numbers {
            let path = kind.path(directory, *number);
            let bytes = fs::metadata(&path).map_or(0, |data| data.len());
            let aside = unused_name(&path);
            disk::rename(&path, &aside).map_err(|cause| OpenError::Write { path: path.clone(), cause })?;
            self.recovery.lost.push(Loss { path, offset: 0, bytes, why: why.to_owned(), kept: Some(aside) });
        }
        Ok(())
    }

    fn log_file(
        &mut self,
        (directory, kind, number): (&Path, FileKind, u64),
        Expected { said, known, mut sequence, is_last }: Expected,
        take: &mut TakeFrame<'_>,
    ) -> Result<Tail, OpenError> {
        let path = kind.path(directory, number);
        // Of an empty log, what comes next is known from its state alone.
        let next = |sequence: Option<u64>| sequence.or(said.map(|said| said.sequence)).unwrap_or(1);
        let tail = |length: usize, sequence, version| Tail {
            number,
            length: length as u64,
            sequence,
            version,
            known,
        };
        let mut frames = match Frames::open(&path, kind, number) {
            Err(OpenError::File { fault: fault @ (FileFault::Head | FileFault::Foreign { .. }), .. })
                if self.recover =>
            {
                let bytes = fs::metadata(&path).map_or(0, |data| data.len());
                self.lose_rest(&path, bytes as usize, 0, fault.to_string())?;
                return Ok(tail(0, next(sequence), kind.version));
            }
            opened => opened?,
        };
        let version = frames.version();
        let mut closed_at = None;
        while let Some(frame) = frames.next_frame()? {
            let (offset, found) = (frame.offset, frame.sequence);
            if found == LAST {
                closed_at = Some(offset);
                break;
            }
            if sequence.is_some_and(|expected| expected != found) {
                self.lose(&frames, offset, format!("frame {found} stands where another is due"))?;
                return Ok(tail(offset, next(sequence), version));
            }
            if let Err(what) = take(frame.payload) {
                self.lose(&frames, offset, what)?;
                return Ok(tail(offset, found, version));
            }
            sequence = Some(found + 1);
            self.recovery.frames += 1;
        }
        let has_frames = sequence.is_some();
        if said.is_none() && has_frames && frames.is_timed() && !self.recover {
            return Err(OpenError::NoState { store: kind.store, directory: directory.to_owned() });
        }
        let sure = known.filter(|known| known.number == number).map_or(0, |known| known.length as usize);
        let length = self.good_bytes(&mut frames, sequence.map(|next| next - 1), (sure, is_last))?;
        Ok(tail(closed_at.unwrap_or(length), next(sequence), version))
    }

    /// Where a log's good frames end. All before `sure` was on the disk.
    fn good_bytes(
        &mut self,
        frames: &mut Frames,
        last: Option<u64>,
        (sure, is_last): (usize, bool),
    ) -> Result<usize, OpenError> {
        let file_bytes = frames.file_bytes();
        let (offset, what) = match frames.end(last)? {
            End::Clean if file_bytes >= sure => return Ok(file_bytes),
            End::Clean => (file_bytes, format!("it ends there, and had {sure} bytes")),
            End::Torn { offset, .. } if offset < sure => {
                (offset, format!("the checksum does not fit, and all up to byte {sure} was on the disk"))
            }
            End::Torn { offset, bytes, frames } if is_last => {
                (self.recovery.torn_bytes, self.recovery.torn_frames) = (bytes as u64, frames);
                return Ok(offset);
            }
            End::Torn { offset, .. } => {
                (offset, "it ends in the middle, and more of the log follows".to_owned())
            }
            End::Damaged { offset, next } => {
                (offset, format!("the checksum does not fit, and good frames follow at {next}"))
            }
        };
        self.lose(frames, offset, what)?;
        Ok(offset)
    }

    /// Notes a loss where that was asked for, else it is an error.
    pub fn lose(&mut self, frames: &Frames, offset: usize, what: String) -> Result<(), OpenError> {
        self.lose_rest(frames.path(), frames.file_bytes(), offset, what)
    }

    /// As [`Self::lose`], of a file with so many bytes.
    pub fn lose_rest(
        &mut self,
        path: &Path,
        file_bytes: usize,
        offset: usize,
        what: String,
    ) -> Result<(), OpenError> {
        let path = path.to_owned();
        if !self.recover {
            return Err(OpenError::File { path, fault: FileFault::Damaged { offset, what } });
        }
        let bytes = (file_bytes - offset.min(file_bytes)) as u64;
        // Before anything is cut off: what is good behind the damage may be had by other means.
        let kept = Some(set_aside(&path)?);
        self.recovery.lost.push(Loss { path, offset: offset as u64, bytes, why: what, kept });
        Ok(())
    }
}

fn missing(directory: &Path, kind: FileKind, number: u64, otherwise: &'static str) -> OpenError {
    let missing = kind.path(Path::new(""), number).display().to_string();
    OpenError::Missing { store: kind.store, directory: directory.to_owned(), missing, otherwise }
}

/// A file without frames is made ready before the one before it is whole on the disk.
fn drop_unused(directory: &Path, kind: FileKind, logs: &mut Vec<u64>) -> Result<(), OpenError> {
    while let [_, .., last] = logs[..] {
        let path = kind.path(directory, last);
        let bytes = fs::metadata(&path).map_err(|cause| OpenError::Read { path, cause })?.len();
        if bytes > HEAD_BYTES as u64 {
            break;
        }
        logs.pop();
    }
    Ok(())
}

/// Goes on behind what was read, or with file number `first` where nothing was.
pub fn resume(
    directory: &Path,
    kind: FileKind,
    (first, tail): (u64, Option<Tail>),
    durability: Durability,
) -> Result<LogFile, OpenError> {
    match tail {
        Some(Tail { number, length, sequence, version, known }) if length > 0 => {
            let sure = Sure { number, length, sequence };
            let resumed = LogFile::resume(directory, kind, sure, known, durability)?;
            if version == kind.version {
                return Ok(resumed);
            }
            go_on_in_this_version(directory, kind, resumed, durability)
        }
        other => {
            let (number, sequence) = other.map_or((first, 1), |tail| (tail.number, tail.sequence));
            LogFile::create(directory, (kind, number), sequence, durability)
        }
    }
}

/// What this version writes is not put behind what an earlier one has written.
fn go_on_in_this_version(
    directory: &Path,
    kind: FileKind,
    mut log: LogFile,
    durability: Durability,
) -> Result<LogFile, OpenError> {
    if log.is_empty() {
        let (number, sequence) = (log.number(), log.sequence());
        return LogFile::create(directory, (kind, number), sequence, durability);
    }
    let path = kind.path(directory, log.number() + 1);
    let rotated = NextFile::create(directory, kind, log.number() + 1).and_then(|next| log.rotate(next));
    rotated.map(|()| log).map_err(|cause| OpenError::Write { path, cause })
}
