//! A graph as it was at its last backup, at a time, or after one of its frames, made of a chain in a new directory.

use crate::backup::backup;
use crate::chain::error::ChainError;
use crate::chain::files::FrameFile;
use crate::chain::manifest::{ChainFile, ChainLink, ChainLinkKind, Manifest};
use crate::chain::moment::Moment;
use crate::format::{INCREMENT, LOG, SNAPSHOT, is_store};
use crate::snapshot::check::{CheckReport, check_files};
use prony_log::backup::{BackupError, copy, make_whole};
use prony_log::disk::sync_directory;
use prony_log::error::{FileFault, OpenError};
use prony_log::frame_reader::{Frame, Frames};
use prony_log::frames::{FileKind, LAST};
use prony_log::log_state::{LogState, Sure};
use prony_log::recover::numbers;
use std::fs::File;
use std::io;
use std::path::Path;

/// Up to where a graph is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All that there is.
    End,
    /// Up to the first frame that was written after this time, in milliseconds since 1970, as the clock was then.
    Time(u64),
    /// Up to this frame and with it.
    Sequence(u64),
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub report: CheckReport,
    /// Of the last frame that is in it; none where there is no frame.
    pub sequence: Option<u64>,
    /// When that was written, in milliseconds since 1970; none where that is not known.
    pub time_ms: Option<u64>,
    /// Frames behind it in the chain have an earlier time than the one that was asked for, as the clock was set back: they are not in it.
    pub earlier_behind: u64,
}

/// Makes the graph of a backup, or of a chain of them, in `target`, which must be empty or not exist. All of it is checked.
///
/// # Errors
/// There is no graph then.
pub fn restore(from: &Path, target: &Path, until: Until) -> Result<Restored, ChainError> {
    let Some(manifest) = Manifest::read(from)? else { return restore_whole(from, target, until) };
    let plan = Plan::new(from, &manifest, until)?;
    make_whole(target, &[LOG, SNAPSHOT], |part| plan.make(part))
}

/// A backup that is no chain.
fn restore_whole(from: &Path, target: &Path, until: Until) -> Result<Restored, ChainError> {
    if !is_store(from) {
        return Err(ChainError::NoBackup { path: from.to_owned() });
    }
    if until != Until::End {
        return Err(ChainError::NoMoments { path: from.to_owned() });
    }
    let report = backup(from, target)?.report;
    Ok(Restored { report, sequence: None, time_ms: None, earlier_behind: 0 })
}

/// What of a chain is taken.
struct Plan<'a> {
    chain: &'a Path,
    base: &'a ChainLink,
    increments: Vec<(u64, &'a ChainLink)>,
    until: Until,
}

impl<'a> Plan<'a> {
    fn new(chain: &'a Path, manifest: &'a Manifest, until: Until) -> Result<Self, ChainError> {
        let mut plan: Option<Self> = None;
        // What is wanted stands before this whole copy, and behind all before it.
        let mut beyond = None;
        for (number, link) in (1..).zip(&manifest.links) {
            let is_wanted = match until {
                Until::Time(time) if link.kind == ChainLinkKind::Base => link.most_ms <= time,
                Until::Sequence(last) if link.kind == ChainLinkKind::Base => {
                    link.next <= last.saturating_add(1)
                }
                // It ends within it, where it does.
                Until::End | Until::Time(_) | Until::Sequence(_) => true,
            };
            match (link.kind, &mut plan) {
                (ChainLinkKind::Base, _) if is_wanted => {
                    plan = Some(Self { chain, base: link, increments: Vec::new(), until });
                }
                (ChainLinkKind::Base, _) => {
                    beyond = Some(link);
                    break;
                }
                (ChainLinkKind::Increment, Some(plan)) => plan.increments.push((number, link)),
                (ChainLinkKind::Increment, None) => {}
            }
        }
        let not_there = |what| ChainError::NotThere { chain: chain.to_owned(), wanted: wanted(until), what };
        let Some(plan) = plan else {
            let what = match manifest.links.first() {
                Some(first) => format!(
                    "it begins with frame {} of {}",
                    first.next.saturating_sub(1),
                    Moment(first.most_ms)
                ),
                None => "it has no backup".to_owned(),
            };
            return Err(not_there(what));
        };
        let (next, most_ms) = plan.end();
        let is_short = match until {
            Until::End => false,
            Until::Sequence(last) => last >= next,
            // A copy that follows without a gap says that nothing was written between.
            Until::Time(time) => time > most_ms && beyond.is_some_and(|base| base.next > next),
        };
        if is_short {
            let behind = beyond.map_or_else(String::new, |base| {
                let next = base.next.saturating_sub(1);
                format!(", and goes on with a whole copy up to frame {next}, {}", Moment(base.most_ms))
            });
            let last = next.saturating_sub(1);
            return Err(not_there(format!(
                "it has frames up to {last}, {}{behind}; restore one of these with --until-sequence",
                Moment(most_ms)
            )));
        }
        Ok(plan)
    }

    /// The frame that comes next where all of it is taken, and the latest time.
    fn end(&self) -> (u64, u64) {
        let last = self.increments.last().map_or(self.base, |(_, link)| link);
        let most = self.increments.iter().map(|(_, link)| link.most_ms).fold(self.base.most_ms, u64::max);
        (last.next, most)
    }

    fn make(&self, part: &Path) -> Result<Restored, ChainError> {
        for file in &self.base.files {
            self.check_file(self.base, file, self.base.next)?;
            let from = self.chain.join(&file.name);
            let name = from.file_name().unwrap_or_default();
            let open = File::open(&from).map_err(|cause| OpenError::Read { path: from.clone(), cause })?;
            copy(&open, &from, &part.join(name))?;
        }
        let last = numbers(part, LOG)?.last().copied().unwrap_or_default();
        let mut taking = Taking {
            part,
            // A log without frames is not gone on with in another file.
            number: if self.base.last_frame.is_some() { last + 1 } else { last.max(1) },
            log: None,
            until: self.until,
            next: self.base.next,
            last_ms: (self.base.last_frame.is_some()).then_some(self.base.time_ms),
            is_over: false,
            earlier_behind: 0,
        };
        for (of, link) in &self.increments {
            self.take_increment(*of, link, &mut taking)?;
        }
        let Taking { log, number, next, last_ms, earlier_behind, .. } = taking;
        if let Some(log) = log {
            let length = log.close().map_err(|cause| write(part, cause))?;
            // It says where its log ends, so that a part that is lost later is missed.
            LogState::open(part, LOG, Sure { number, length, sequence: next })?;
        }
        sync_directory(part).map_err(|cause| write(part, cause))?;
        let report = check_files(part)?;
        if let Some(what) = report.problems.first() {
            return Err(BackupError::Damaged { what: what.clone() }.into());
        }
        Ok(Restored {
            report,
            sequence: next.checked_sub(1).filter(|last| *last > 0),
            time_ms: last_ms,
            earlier_behind,
        })
    }

    fn take_increment(
        &self,
        number: u64,
        link: &ChainLink,
        taking: &mut Taking<'_>,
    ) -> Result<(), ChainError> {
        if matches!(self.until, Until::Sequence(last) if taking.next > last) {
            return Ok(());
        }
        if taking.is_over {
            // Nothing of it is taken; it need not be good.
            taking.earlier_behind += self.earlier_in(number, link);
            return Ok(());
        }
        let good = link.from;
        let [file] = &link.files[..] else { return Err(self.not_in_row(link, taking.next)) };
        if link.from != taking.next {
            return Err(self.not_in_row(link, taking.next));
        }
        self.check_file(link, file, good)?;
        let path = self.chain.join(&file.name);
        let mut frames = Frames::open(&path, INCREMENT, number)?;
        let mut wanted = link.from;
        while let Some(frame) = frames.next_frame()? {
            if frame.sequence == LAST {
                break;
            }
            if frame.sequence != wanted {
                let what = format!("frame {} stands where {wanted} is due", frame.sequence);
                return Err(damaged(&path, frame.offset, what, hint(good)));
            }
            wanted += 1;
            taking.take(&frame)?;
        }
        if wanted == link.next {
            return Ok(());
        }
        let what = format!("it ends before frame {wanted}, and should have those up to {}", link.next - 1);
        Err(damaged(&path, file.bytes as usize, what, hint(good)))
    }

    /// How many of its frames are not later than the time that is wanted, as far as it can be read.
    fn earlier_in(&self, number: u64, link: &ChainLink) -> u64 {
        let Until::Time(until) = self.until else { return 0 };
        let Ok(mut frames) = Frames::open(&self.chain.join(&link.name), INCREMENT, number) else { return 0 };
        let mut count = 0;
        while let Ok(Some(frame)) = frames.next_frame() {
            count += u64::from(frame.sequence != LAST && frame.time_ms.is_some_and(|time| time <= until));
        }
        count
    }

    fn not_in_row(&self, link: &ChainLink, next: u64) -> ChainError {
        let what = format!("the frames from {next} to {}", link.from.saturating_sub(1));
        ChainError::Missing { path: self.chain.join(&link.name), what, hint: hint(next) }
    }

    /// It is as it was written. `good` is the frame behind those that can be restored without it.
    fn check_file(&self, link: &ChainLink, file: &ChainFile, good: u64) -> Result<(), ChainError> {
        let path = self.chain.join(&file.name);
        let hint = if link.kind == ChainLinkKind::Base {
            "put it back from a copy of the chain, or restore a moment of another whole copy in it, if there is one".to_owned()
        } else {
            hint(good)
        };
        let found = match super::files::measure(self.chain, file.name.clone()) {
            Ok(found) => found,
            Err(OpenError::Read { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                let what = match link.kind {
                    ChainLinkKind::Base => {
                        format!("a part of the graph up to frame {}", link.next.saturating_sub(1))
                    }
                    ChainLinkKind::Increment => format!("the frames from {} to {}", link.from, link.next - 1),
                };
                return Err(ChainError::Missing { path, what, hint });
            }
            Err(error) => return Err(error.into()),
        };
        if found == *file {
            return Ok(());
        }
        if found.bytes != file.bytes {
            let what = format!("it has {} bytes, and had {}", found.bytes, file.bytes);
            return Err(damaged(&path, found.bytes.min(file.bytes) as usize, what, hint));
        }
        let (offset, what) = first_bad(&path);
        Err(damaged(&path, offset, what, hint))
    }
}

/// Where the first frame stands that is not good, as nearly as that can be told.
fn first_bad(path: &Path) -> (usize, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kinds = [LOG, SNAPSHOT, INCREMENT];
    let kind = kinds.into_iter().find_map(|kind: FileKind| Some((kind, kind.number_of(&name)?)));
    let opened = kind.map(|(kind, number)| Frames::open(path, kind, number));
    let mut frames = match opened {
        Some(Ok(frames)) => frames,
        Some(Err(OpenError::File { fault, .. })) => return (0, head_fault(&fault)),
        _ => return (0, "its checksum does not fit".to_owned()),
    };
    let mut end = prony_log::frames::HEAD_BYTES;
    while let Ok(Some(frame)) = frames.next_frame() {
        end = frame.end;
    }
    (end, "the checksum does not fit".to_owned())
}

fn head_fault(fault: &FileFault) -> String {
    match fault {
        FileFault::Head => "its head is not that of the file that was written".to_owned(),
        other => other.to_string(),
    }
}

fn hint(good: u64) -> String {
    match good.saturating_sub(1) {
        0 => "put it back from a copy of the chain".to_owned(),
        last => format!(
            "put it back from a copy of the chain, or restore what stands before it with --until-sequence {last}"
        ),
    }
}

fn damaged(path: &Path, offset: usize, what: String, hint: String) -> ChainError {
    ChainError::Damaged { path: path.to_owned(), offset, what, hint }
}

fn write(path: &Path, cause: io::Error) -> OpenError {
    OpenError::Write { path: path.to_owned(), cause }
}

fn wanted(until: Until) -> String {
    match until {
        Until::End => "an end".to_owned(),
        Until::Time(time) => format!("the moment {}", Moment(time)),
        Until::Sequence(sequence) => format!("frame {sequence}"),
    }
}

/// A log that is being made of the frames of increments.
struct Taking<'a> {
    part: &'a Path,
    /// Of the file.
    number: u64,
    /// Made with the first frame.
    log: Option<FrameFile>,
    until: Until,
    next: u64,
    last_ms: Option<u64>,
    /// No frame is taken any more.
    is_over: bool,
    earlier_behind: u64,
}

impl Taking<'_> {
    fn take(&mut self, frame: &Frame<'_>) -> Result<(), ChainError> {
        let time = frame.time_ms.unwrap_or_default();
        let is_wanted = match self.until {
            Until::End => true,
            Until::Time(until) => time <= until,
            Until::Sequence(last) => frame.sequence <= last,
        };
        if self.is_over || !is_wanted {
            self.earlier_behind +=
                u64::from(self.is_over && is_wanted && matches!(self.until, Until::Time(_)));
            self.is_over = true;
            return Ok(());
        }
        self.add(frame).map_err(|cause| write(self.part, cause))?;
        self.next = frame.sequence + 1;
        self.last_ms = Some(time);
        Ok(())
    }

    fn add(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(FrameFile::create(&LOG.path(self.part, self.number), LOG, self.number)?),
        };
        log.add(frame)
    }
}
