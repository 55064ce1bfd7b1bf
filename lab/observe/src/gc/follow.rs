//! Follows a file that grows, is emptied, or is replaced by another of its name. What its lines mean is left to `lines`.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A longer line is no collector's; JDK 8's longest, with all details of many workers, have a few KiB.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Read in one look; the rest waits for the next. The most talkative JVMs write some 100 KiB a second.
const LOOK_BYTES_MAX: u64 = 8 << 20;
const CHUNK_BYTES: usize = 64 << 10;
/// How much of a log's beginning and end is read to learn its format and its time.
const PROBE_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(super) struct Follower {
    path: PathBuf,
    file: Option<Opened>,
    cut: LineCutter,
}

#[derive(Debug)]
struct Opened {
    file: File,
    position: u64,
}

/// The whole lines at the beginning and at the end of a log, when it was found.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) head: String,
    pub(super) tail: String,
    pub(super) written_at_ns: i128,
}

#[derive(Debug, Default)]
struct LineCutter {
    rest: Vec<u8>,
    /// The line has grown too long: what follows up to its end is passed over.
    is_skipping: bool,
}

impl Follower {
    /// From the end of the last whole line that the file has now.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Probe)> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        let length = metadata.len();
        let head = read_at(&mut file, 0, PROBE_BYTES.min(length))?;
        let tail_at = length.saturating_sub(PROBE_BYTES);
        let tail = read_at(&mut file, tail_at, length - tail_at)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let position = if whole == 0 { length } else { tail_at + whole as u64 };
        let probe = Probe {
            head: String::from_utf8_lossy(&head).into_owned(),
            tail: String::from_utf8_lossy(&tail[..whole]).into_owned(),
            written_at_ns: written_at_ns(&metadata),
        };
        let file = Some(Opened { file, position });
        Ok((Self { path: path.to_owned(), file, cut: LineCutter::default() }, probe))
    }

    /// Hands on each whole line that has come since the last look; nothing for one that is too long or no text.
    /// The time is when the file was last written to; the error is that there is no such file now.
    pub(super) fn look(&mut self, on_line: &mut dyn FnMut(Option<&str>)) -> io::Result<i128> {
        let mut budget = LOOK_BYTES_MAX;
        if let Some(opened) = &mut self.file {
            opened.read(&mut budget, &mut self.cut, on_line)?;
        }
        // Looked at after reading: what was written to the old file before it was replaced has been read.
        let now = std::fs::metadata(&self.path)?;
        let is_same = match &self.file {
            Some(opened) => {
                let before = opened.file.metadata()?;
                (before.dev(), before.ino()) == (now.dev(), now.ino())
            }
            None => false,
        };
        if !is_same {
            self.cut = LineCutter::default();
            self.file = None;
            let opened = self.file.insert(Opened { file: File::open(&self.path)?, position: 0 });
            opened.read(&mut budget, &mut self.cut, on_line)?;
        }
        Ok(written_at_ns(&now))
    }
}

impl Opened {
    fn read(
        &mut self,
        budget: &mut u64,
        cut: &mut LineCutter,
        on_line: &mut dyn FnMut(Option<&str>),
    ) -> io::Result<()> {
        if self.file.metadata()?.len() < self.position {
            *cut = LineCutter::default();
            self.position = 0;
        }
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut chunk = vec![0; CHUNK_BYTES];
        while *budget > 0 {
            let count = self.file.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            self.position += count as u64;
            *budget = budget.saturating_sub(count as u64);
            cut.feed(&chunk[..count], on_line);
        }
        Ok(())
    }
}

impl LineCutter {
    fn feed(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Option<&str>)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if !self.is_skipping {
                self.rest.extend_from_slice(part);
                self.is_skipping = self.rest.len() > LINE_BYTES_MAX;
            }
            if self.is_skipping {
                self.rest.clear();
            }
            if is_whole {
                let line = std::str::from_utf8(&self.rest).ok().filter(|_| !self.is_skipping);
                on_line(line);
                self.rest.clear();
                self.is_skipping = false;
            }
        }
    }
}

fn read_at(file: &mut File, position: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(position))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn written_at_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

    struct Followed {
        directory: tempfile::TempDir,
        follower: Follower,
    }

    impl Followed {
        fn new(text: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("gc.log"), text).unwrap();
            let (follower, _) = Follower::open(&directory.path().join("gc.log")).unwrap();
            Self { directory, follower }
        }

        fn append(&self, bytes: &[u8]) {
            let path = self.directory.path().join("gc.log");
            fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
        }

        fn rename(&self) {
            fs::rename(self.directory.path().join("gc.log"), self.directory.path().join("gc.log.0")).unwrap();
        }

        fn look(&mut self) -> Vec<String> {
            let mut lines = Vec::new();
            let mut take = |line: Option<&str>| lines.push(line.unwrap_or("(broken)\n").to_owned());
            if self.follower.look(&mut take).is_err() {
                lines.push("(gone)".to_owned());
            }
            lines
        }
    }

    #[test]
    fn only_whole_new_lines_are_handed_on() {
        let mut log = Followed::new("old\nhal");
        assert!(log.look().is_empty());
        log.append(b"f\nnew\nne");
        assert_eq!(log.look(), ["half\n", "new\n"]);
        log.append(b"xt\n");
        assert_eq!(log.look(), ["next\n"]);
    }

    #[test]
    fn a_replaced_log_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut log = Followed::new("old\n");
        log.append(b"last of the old\ncut of");
        log.rename();
        assert_eq!(log.look(), ["last of the old\n", "(gone)"]);
        log.append(b"first of the new\n");
        assert_eq!(log.look(), ["first of the new\n"]);
        log.append(b"a\n");
        log.rename();
        log.append(b"b\n");
        assert_eq!(log.look(), ["a\n", "b\n"]);
    }

    #[test]
    fn an_emptied_log_is_read_from_its_beginning() {
        let mut log = Followed::new("some old lines\nand a ha");
        fs::write(log.directory.path().join("gc.log"), "new\n").unwrap();
        assert_eq!(log.look(), ["new\n"]);
    }

    #[test]
    fn long_lines_and_other_bytes_are_broken_and_take_no_memory() {
        let mut log = Followed::new("");
        for _ in 0..8 {
            log.append(&vec![b'x'; LINE_BYTES_MAX]);
            assert!(log.look().is_empty());
            assert!(log.follower.cut.rest.capacity() <= 4 * LINE_BYTES_MAX);
        }
        log.append(b"\n\xff\xfe\nok\n");
        assert_eq!(log.look(), ["(broken)\n", "(broken)\n", "ok\n"]);
    }

    #[test]
    fn one_look_is_bounded() {
        let mut log = Followed::new("");
        let line = [b'y'; 1023].iter().chain(b"\n").copied().collect::<Vec<u8>>();
        let lines = usize::try_from(LOOK_BYTES_MAX).unwrap() / line.len() + 1;
        log.append(&line.repeat(lines));
        assert_eq!((log.look().len(), log.look().len()), (lines - 1, 1));
    }
}
