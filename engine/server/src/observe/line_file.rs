//! A file to which the server writes lines. They wait in a bounded queue for a thread that writes them, so that no core ever waits
//! for the disk; what does not fit, and what the disk refuses, is counted and reported.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::family::{Family, single};

/// Lines that wait, and their bytes.
const MAX_LINES: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;
/// Lines are written together up to about this.
const PIECE_BYTES: usize = 64 << 10;
/// The disk's refusals are reported at most so often.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long the end waits for what is not written yet. A pipe that nobody reads takes nothing, and must not keep the server from stopping.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Between two looks whether it is.
const LAST_PAUSE: Duration = Duration::from_millis(2);

/// Takes lines.
#[derive(Debug)]
pub(super) struct LineFile {
    /// For the log.
    what: &'static str,
    lines: SyncSender<Line>,
    shared: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    waiting_bytes: AtomicUsize,
    is_to_reopen: AtomicBool,
    written: AtomicU64,
    /// There was no room for them.
    lost: AtomicU64,
    /// The disk has refused them.
    failed: AtomicU64,
}

enum Line {
    Text(Vec<u8>),
    /// Has the thread look whether the file is to be opened anew.
    Look,
    End,
}

impl LineFile {
    /// None without a path. A file that cannot be opened is reported, and tried again with each line. `what` names it in the log.
    pub(super) fn start(what: &'static str, path: &Path) -> Option<Self> {
        if path.as_os_str().is_empty() {
            return None;
        }
        let (lines, received) = sync_channel(MAX_LINES);
        let shared = Arc::new(State::default());
        let (at, path) = (Arc::clone(&shared), path.to_owned());
        let spawned = std::thread::Builder::new()
            .name(what.to_owned())
            .spawn(move || Writer::new(what, path, at).run(&received));
        match spawned {
            Ok(thread) => Some(Self { what, lines, shared, thread: Mutex::new(Some(thread)) }),
            Err(error) => {
                tracing::error!(%error, "there is no {what}: its thread cannot be started");
                None
            }
        }
    }

    /// Writes a line, which has its end, some time later, or counts it as lost; never waits.
    pub(super) fn push(&self, line: Vec<u8>) {
        let bytes = line.len();
        let waiting = self.shared.waiting_bytes.fetch_add(bytes, Relaxed);
        let has_room = waiting + bytes <= MAX_BYTES && self.lines.try_send(Line::Text(line)).is_ok();
        if !has_room {
            self.shared.waiting_bytes.fetch_sub(bytes, Relaxed);
            self.shared.lost.fetch_add(1, Relaxed);
        }
    }

    /// Has the file opened anew, for those who have moved it away.
    pub(super) fn reopen(&self) {
        self.shared.is_to_reopen.store(true, Relaxed);
        // Where there is no room the thread looks with the next line.
        let _ = self.lines.try_send(Line::Look);
    }

    /// Writes what waits, and ends.
    pub(super) fn finish(&self) {
        self.finish_within(LAST_WAIT);
    }

    fn finish_within(&self, wait: Duration) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        let deadline = Instant::now() + wait;
        let mut is_told = false;
        while !thread.is_finished() && Instant::now() < deadline {
            // There may be no room for it yet.
            is_told = is_told || self.lines.try_send(Line::End).is_ok();
            std::thread::sleep(LAST_PAUSE);
        }
        if thread.is_finished() {
            let _ = thread.join();
        } else {
            let what = self.what;
            tracing::error!("the last lines of the {what} are lost: nobody takes them");
        }
    }

    /// For `/metrics`, by the names that the file's families have there.
    pub(super) fn counters(
        &self,
        (written, what): (&'static str, &'static str),
        lost: &'static str,
        failed: &'static str,
    ) -> Vec<Family<f64>> {
        let [lines, without_room, refused] = self.counts().map(|count| count as f64);
        vec![
            single(written, what, lines),
            single(lost, "Lines for which its queue had no room", without_room),
            single(failed, "Lines that the disk has refused", refused),
        ]
    }

    /// Lines written, lost for want of room, and refused by the disk.
    pub(super) fn counts(&self) -> [u64; 3] {
        [&self.shared.written, &self.shared.lost, &self.shared.failed].map(|count| count.load(Relaxed))
    }
}

/// The thread that writes.
struct Writer {
    /// For the log.
    what: &'static str,
    path: PathBuf,
    shared: Arc<State>,
    file: Option<File>,
    /// Whether the last line may have been written in part.
    is_torn: bool,
    reported: Option<Instant>,
    lost_reported: u64,
}

impl Writer {
    fn new(what: &'static str, path: PathBuf, shared: Arc<State>) -> Self {
        let mut writer =
            Self { what, path, shared, file: None, is_torn: false, reported: None, lost_reported: 0 };
        if let Err(error) = writer.open() {
            writer.report(&error);
        }
        writer
    }

    fn run(mut self, lines: &Receiver<Line>) {
        while let Ok(first) = lines.recv() {
            let (mut piece, mut count, mut has_ended) = (Vec::new(), 0, false);
            let mut next = Some(first);
            while let Some(line) = next {
                match line {
                    Line::Text(text) => {
                        piece.extend_from_slice(&text);
                        count += 1;
                    }
                    Line::Look => {}
                    Line::End => has_ended = true,
                }
                next = if piece.len() < PIECE_BYTES { lines.try_recv().ok() } else { None };
            }
            self.shared.waiting_bytes.fetch_sub(piece.len(), Relaxed);
            if self.shared.is_to_reopen.swap(false, Relaxed) {
                self.file = None;
            }
            match self.write(&piece) {
                Ok(()) => {
                    self.shared.written.fetch_add(count, Relaxed);
                }
                Err(error) => {
                    self.shared.failed.fetch_add(count, Relaxed);
                    self.report(&error);
                }
            }
            self.report_lost();
            if has_ended {
                return;
            }
        }
    }

    fn open(&mut self) -> io::Result<&mut File> {
        let path: &Path = &self.path;
        match &mut self.file {
            Some(file) => Ok(file),
            file => Ok(file.insert(OpenOptions::new().create(true).append(true).open(path)?)),
        }
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let is_torn = std::mem::replace(&mut self.is_torn, !piece.is_empty());
        let file = self.open()?;
        if piece.is_empty() {
            return Ok(());
        }
        if is_torn {
            file.write_all(b"\n")?;
        }
        file.write_all(piece)?;
        self.is_torn = false;
        Ok(())
    }

    fn report(&mut self, error: &io::Error) {
        if self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_EVERY) {
            self.reported = Some(Instant::now());
            let failed = self.shared.failed.load(Relaxed);
            let what = self.what;
            tracing::error!(path = %self.path.display(), %error, failed, "the {what} cannot be written");
        }
    }

    fn report_lost(&mut self) {
        let lost = self.shared.lost.load(Relaxed);
        if lost > self.lost_reported {
            let (what, lost) = (self.what, lost - self.lost_reported);
            tracing::error!(lost, "lines of the {what} are lost: its queue was full");
            self.lost_reported += lost;
        }
    }
}

/// The time in UTC.
pub(super) fn rfc3339_now() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// `2026-01-31T12:00:00.123Z`, by the civil calendar (Howard Hinnant, `chrono`-compatible low-level date algorithms).
fn rfc3339(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let mut text = String::with_capacity(24);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        since_1970.subsec_millis()
    );
    text
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_415_250, "2000-02-29T12:30:15.250Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn what_does_not_fit_the_queue_is_counted_and_not_waited_for() {
        let (lines, received) = sync_channel(2);
        let file = LineFile { what: "access log", lines, shared: Arc::default(), thread: Mutex::new(None) };
        file.push(vec![b'x'; MAX_BYTES + 1]);
        file.push(vec![b'x'; MAX_BYTES]);
        file.push(vec![b'x'; 1]);
        assert_eq!(file.counts()[1], 2, "so many bytes wait at most");
        drop(received.recv());
        file.shared.waiting_bytes.store(0, Relaxed);
        (0..4).for_each(|_| file.push(vec![b'x']));
        assert_eq!(file.counts()[1], 4, "so many lines wait at most");
    }

    /// The server could not be stopped.
    #[test]
    fn a_pipe_that_nobody_reads_is_not_waited_for() {
        let (reader, writer) = io::pipe().expect("a pipe can be made");
        let path = format!("/dev/fd/{}", writer.as_raw_fd());
        let file = LineFile::start("access log", Path::new(&path)).expect("there is a path");
        file.push(vec![b'x'; 1 << 20]);
        file.finish_within(Duration::from_millis(100));
        assert_eq!(file.counts()[0], 0, "there is no room for so much");
        drop(reader);
    }

    #[test]
    fn the_end_waits_for_what_is_written() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let path = folder.path().join("access.log");
        let file = LineFile::start("access log", &path).expect("there is a path");
        (0..1000).for_each(|_| file.push(b"line\n".to_vec()));
        file.finish();
        let written = std::fs::read_to_string(&path).expect("it is there");
        assert_eq!(written.lines().count(), 1000);
    }
}
