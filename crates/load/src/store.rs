//! Writes the result while the run goes: a killed run leaves what was measured, a full disk does not end it.

use crate::options::Output;
use prony_load_model::{Nanos, ResultFile};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Between two writings; what a killed run loses at most.
const INTERVAL: Nanos = Nanos::from_secs(5);

#[derive(Debug)]
pub(crate) struct Store {
    output: Output,
    next: Nanos,
}

impl Store {
    pub(crate) const fn new(output: Output) -> Self {
        Self { output, next: INTERVAL }
    }

    pub(crate) fn is_due(&self, elapsed: Nanos) -> bool {
        self.output != Output::Nowhere && elapsed >= self.next
    }

    /// Replaces the file by this result as a whole; on failure says what to do, and the old file stays.
    pub(crate) fn write(&mut self, result: &ResultFile, elapsed: Nanos) -> Option<String> {
        self.next = elapsed.plus(INTERVAL);
        let Output::File(path) = &self.output else { return None };
        replace(path, result).err().map(|cause| {
            let path = path.display();
            format!("cannot write the result to {path}: {cause}; the measurement goes on, free space or end it with Ctrl-C")
        })
    }
}

/// Writes the file beside its place first, so that what stands there is always whole.
pub(crate) fn replace(path: &Path, result: &impl Serialize) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let beside = PathBuf::from(format!("{}.part", path.display()));
    let written = write_all(&beside, result).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Best effort: on a full disk the rest of a half-written file is in the way.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_all(path: &Path, result: &impl Serialize) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(path)?);
    serde_json::to_writer(&mut writer, result)?;
    writer.write_all(b"\n")?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}
