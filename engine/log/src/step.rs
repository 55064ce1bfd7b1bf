//! What can be done to the files of a store.

use std::path::Path;

/// What is done to a disk.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "power-loss"), expect(dead_code, reason = "only tests look at what is done"))]
pub(crate) enum Step<'a> {
    MakeDirectory(&'a Path),
    /// Without any bytes, also where there was one with some.
    Create(&'a Path),
    Write {
        path: &'a Path,
        at: u64,
        bytes: &'a [u8],
    },
    SetLength {
        path: &'a Path,
        bytes: u64,
    },
    Sync(&'a Path),
    Rename {
        from: &'a Path,
        to: &'a Path,
    },
    Remove(&'a Path),
    /// A file is opened to be read, or a part of it is read.
    Read(&'a Path),
    /// The names in it, not what stands in the files.
    SyncDirectory(&'a Path),
}

#[cfg(feature = "power-loss")]
impl<'a> Step<'a> {
    /// What it is done to; of a new name, what is renamed.
    pub(crate) const fn path(self) -> &'a Path {
        match self {
            Self::MakeDirectory(path)
            | Self::Create(path)
            | Self::Write { path, .. }
            | Self::SetLength { path, .. }
            | Self::Sync(path)
            | Self::Rename { from: path, .. }
            | Self::Remove(path)
            | Self::Read(path)
            | Self::SyncDirectory(path) => path,
        }
    }
}
