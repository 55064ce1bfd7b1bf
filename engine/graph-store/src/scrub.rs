//! Reads the files of a graph from the disk, also while it is open elsewhere, and sees that every frame of them is what was written.
//! Changes nothing, and holds nobody up.

use crate::backup::open;
use crate::format::SNAPSHOT;
use crate::types::change::Change;
use prony_log::backup::BackupError;
use prony_log::codec::Input;
use prony_log::error::OpenError;
use prony_log::frame_reader::{Frame, Frames};
use prony_log::frames::LAST;
use std::fs::File;
use std::path::Path;

/// What was read of the files, which are those of one moment, and what is wrong with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// The number of the snapshot that was read, where there is one.
    pub snapshot: Option<u64>,
    /// The last frame of the log that was read.
    pub sequence: Option<u64>,
    pub frames: u64,
    pub bytes: u64,
    /// With file and byte.
    pub problems: Vec<String>,
}

/// Reads the newest snapshot and the log behind it. `pace` is told of the bytes of each frame when it was read; it may sleep, and ends the work where it
/// returns false.
///
/// # Errors
/// Where the files cannot be found; what is wrong in them is in the report. None where it was ended.
pub fn scrub(
    directory: &Path,
    pace: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<ScrubReport>, BackupError> {
    let mut scrub = Scrub { report: ScrubReport::default(), pace, is_ended: false };
    let (snapshot, logs) = match open(directory) {
        // Also a file that is missing is a finding.
        Err(BackupError::Files(error @ (OpenError::Missing { .. } | OpenError::File { .. }))) => {
            scrub.report.problems.push(error.to_string());
            return Ok(Some(scrub.report));
        }
        opened => opened?,
    };
    if let Some((number, file)) = snapshot {
        scrub.report.snapshot = Some(number);
        scrub.snapshot(file, &SNAPSHOT.path(directory, number), number);
    }
    let read = logs.each_frame::<OpenError>(&mut |path, frame| {
        scrub.report.sequence = Some(frame.sequence);
        scrub.take(path, frame);
        Ok(())
    });
    if let Err(error) = read {
        scrub.report.problems.push(with_cause(&error));
    }
    Ok((!scrub.is_ended).then_some(scrub.report))
}

struct Scrub<'a> {
    report: ScrubReport,
    pace: &'a mut dyn FnMut(u64) -> bool,
    is_ended: bool,
}

impl Scrub<'_> {
    fn snapshot(&mut self, file: File, path: &Path, number: u64) {
        let mut frames = match Frames::of(file, path, SNAPSHOT, number) {
            Ok(frames) => frames,
            Err(error) => return self.report.problems.push(with_cause(&error)),
        };
        frames.forget_cached();
        let (mut wanted, mut end) = (0, 0);
        loop {
            match frames.next_frame() {
                Ok(Some(frame)) if frame.sequence == LAST => return,
                Ok(Some(frame)) if frame.sequence == wanted => {
                    (wanted, end) = (wanted + 1, frame.end);
                    self.take(path, &frame);
                    if self.is_ended {
                        return;
                    }
                }
                Ok(found) => {
                    let what = match found {
                        Some(frame) => format!("frame {} stands in the place of {wanted}", frame.sequence),
                        None => format!("frame {wanted} is not good"),
                    };
                    let end = end.max(prony_log::frames::HEAD_BYTES);
                    return self.report.problems.push(format!("{}: at byte {end}: {what}", path.display()));
                }
                Err(error) => return self.report.problems.push(with_cause(&error)),
            }
        }
    }

    fn take(&mut self, path: &Path, frame: &Frame<'_>) {
        if self.is_ended {
            return;
        }
        let bytes = (frame.end - frame.offset) as u64;
        self.report.frames += 1;
        self.report.bytes += bytes;
        let mut input = Input::new(frame.payload);
        while !input.is_empty() {
            if let Err(damage) = Change::read(&mut input) {
                let offset = frame.offset;
                self.report
                    .problems
                    .push(format!("{}: in the frame at byte {offset}: {damage}", path.display()));
                break;
            }
        }
        self.is_ended = !(self.pace)(bytes);
    }
}

fn with_cause(error: &OpenError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}
