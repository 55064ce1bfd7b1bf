//! Keeps a damaged file as it is, under a name that nobody reads, before a start goes on without a part of it.

use crate::disk::{DiskFile, ReadFile, sync_directory};
use crate::error::OpenError;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Copied at a time.
const PART_BYTES: usize = 1024 * 1024;

/// A name beside a file's own that is not used: with `.lost` behind it, or `.2.lost` and so on.
pub(crate) fn unused_name(path: &Path) -> PathBuf {
    let named = |end: String| {
        let mut name = OsString::from(path.as_os_str());
        name.push(end);
        PathBuf::from(name)
    };
    let further = (2_u64..).map(|number| named(format!(".{number}.lost")));
    let mut candidates = std::iter::once(named(".lost".to_owned())).chain(further);
    candidates.find(|name| !name.exists()).expect("names do not come to an end")
}

/// Copies a file; the copy and its name are on the disk on return.
pub fn set_aside(path: &Path) -> Result<PathBuf, OpenError> {
    let aside = unused_name(path);
    let copied = copy(path, &aside).and_then(|()| sync_directory(path.parent().unwrap_or(Path::new("."))));
    copied.map_err(|cause| OpenError::Write { path: aside.clone(), cause })?;
    Ok(aside)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (file, copy) = (ReadFile::open(from)?, DiskFile::create(to.to_owned())?);
    let mut part = vec![0; PART_BYTES];
    let mut at = 0;
    loop {
        let read = file.read_at(&mut part, at)?;
        if read == 0 {
            return copy.sync_all();
        }
        copy.write_all_at(&part[..read], at)?;
        at += read as u64;
    }
}
