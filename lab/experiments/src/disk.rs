//! The disk under the data: what one sync takes, the least time that a write with durability `sync` can take; and how much lies there.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

/// As a log is written: appended and synced, this often.
const SYNCS: usize = 51;
const BYTES: usize = 4_096;

/// The median time of `fdatasync` after 4 kB were appended to a file in this directory. The file is removed.
pub fn sync_cost(directory: &Path) -> io::Result<Duration> {
    let mut file = tempfile::tempfile_in(directory)?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        file.write_all(&[0x55; BYTES])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[SYNCS / 2])
}

/// Of all files in a directory and those below it. What cannot be read counts nothing: files come and go.
pub(crate) fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_in(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        assert!(sync_cost(directory.path()).unwrap() > Duration::ZERO);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
