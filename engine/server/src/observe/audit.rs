//! The audit log: a line of JSON for each mutation and each refusal. Lines wait in a bounded queue for a thread that writes them, so
//! that no core ever waits for the disk; what does not fit, and what the disk refuses, is counted and reported.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::family::{Family, single};
use crate::config::OperationLimits;

/// Lines that wait, and their bytes.
const MAX_LINES: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;
/// Lines are written together up to about this.
const PIECE_BYTES: usize = 64 << 10;
/// The disk's refusals are reported at most so often.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// The log; without a file it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    queue: Option<AuditQueue>,
    with_values: bool,
}

#[derive(Debug)]
struct AuditQueue {
    lines: SyncSender<Line>,
    shared: Arc<AuditState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct AuditState {
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

/// What is written of one operation.
#[derive(Debug, Serialize)]
pub(crate) struct AuditEntry<'a> {
    pub(crate) outcome: AuditOutcome,
    /// Of the user or the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'a str>,
    /// How they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) way: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'a str>,
    /// Root fields, by their response keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<AuditField<'a>>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct AuditField<'a> {
    pub(crate) field: &'a str,
    /// That are in the response; none of what was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Map<String, Json>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditOutcome {
    /// A mutation that was executed.
    Executed,
    /// A mutation of which a field has failed.
    Failed,
    /// Nothing was executed.
    Refused,
}

impl<'a> AuditEntry<'a> {
    /// Of a request of which nothing but the refusal is known.
    pub(crate) fn of_request(reason: &'a str) -> Self {
        Self {
            outcome: AuditOutcome::Refused,
            user: None,
            way: None,
            role: None,
            address: None,
            operation: None,
            fields: Vec::new(),
            reason: Some(reason),
        }
    }
}

#[derive(Serialize)]
struct Written<'e, 'a> {
    time: &'e str,
    #[serde(flatten)]
    entry: &'e AuditEntry<'a>,
}

impl Audit {
    /// A file that cannot be opened is reported, and tried again with each line.
    pub(crate) fn start(settings: &OperationLimits) -> Self {
        let path = settings.audit_log.clone();
        if path.as_os_str().is_empty() {
            return Self::default();
        }
        let (lines, received) = sync_channel(MAX_LINES);
        let shared = Arc::new(AuditState::default());
        let at = Arc::clone(&shared);
        let spawned = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || Writer::new(path, at).run(&received));
        let thread = match spawned {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::error!(%error, "there is no audit log: its thread cannot be started");
                None
            }
        };
        let queue = thread.map(|thread| AuditQueue { lines, shared, thread: Mutex::new(Some(thread)) });
        Self { queue, with_values: settings.audit_values }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether entries are to have arguments.
    pub(crate) fn has_values(&self) -> bool {
        self.with_values
    }

    /// Writes an entry some time later, or counts it as lost; never waits.
    pub(crate) fn note(&self, entry: &AuditEntry<'_>) {
        let Some(queue) = &self.queue else { return };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let written = Written { time: &rfc3339(since), entry };
        let mut line = serde_json::to_vec(&written).expect("plain values are JSON");
        line.push(b'\n');
        queue.push(line);
    }

    /// Has the file opened anew, for those who have moved it away.
    pub(crate) fn reopen(&self) {
        if let Some(queue) = &self.queue {
            queue.shared.is_to_reopen.store(true, Relaxed);
            // Where there is no room the thread looks with the next line.
            let _ = queue.lines.try_send(Line::Look);
        }
    }

    /// Writes what waits, and ends.
    pub(crate) fn finish(&self) {
        let Some(queue) = &self.queue else { return };
        let thread = queue.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = queue.lines.send(Line::End);
            let _ = thread.join();
        }
    }

    /// For `/metrics`.
    pub(super) fn counters(&self) -> Vec<Family<f64>> {
        let Some(AuditQueue { shared, .. }) = &self.queue else { return Vec::new() };
        let count = |count: &AtomicU64| count.load(Relaxed) as f64;
        vec![
            single("prony_audit_lines", "Lines of the audit log that were written", count(&shared.written)),
            single("prony_audit_lost", "Lines for which its queue had no room", count(&shared.lost)),
            single("prony_audit_failed", "Lines that the disk has refused", count(&shared.failed)),
        ]
    }
}

impl AuditQueue {
    fn push(&self, line: Vec<u8>) {
        let bytes = line.len();
        let waiting = self.shared.waiting_bytes.fetch_add(bytes, Relaxed);
        let has_room = waiting + bytes <= MAX_BYTES && self.lines.try_send(Line::Text(line)).is_ok();
        if !has_room {
            self.shared.waiting_bytes.fetch_sub(bytes, Relaxed);
            self.shared.lost.fetch_add(1, Relaxed);
        }
    }
}

/// The thread that writes.
struct Writer {
    path: PathBuf,
    shared: Arc<AuditState>,
    file: Option<File>,
    /// Whether the last line may have been written in part.
    is_torn: bool,
    reported: Option<Instant>,
    lost_reported: u64,
}

impl Writer {
    fn new(path: PathBuf, shared: Arc<AuditState>) -> Self {
        let mut writer = Self { path, shared, file: None, is_torn: false, reported: None, lost_reported: 0 };
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
            tracing::error!(path = %self.path.display(), %error, failed, "the audit log cannot be written");
        }
    }

    fn report_lost(&mut self) {
        let lost = self.shared.lost.load(Relaxed);
        if lost > self.lost_reported {
            tracing::error!(
                lost = lost - self.lost_reported,
                "lines of the audit log are lost: its queue was full"
            );
            self.lost_reported = lost;
        }
    }
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

    fn entry(user: &str) -> AuditEntry<'_> {
        AuditEntry { outcome: AuditOutcome::Executed, user: Some(user), ..AuditEntry::of_request("none") }
    }

    fn settings(path: &Path) -> OperationLimits {
        OperationLimits { audit_log: path.to_owned(), ..OperationLimits::default() }
    }

    fn counts(audit: &Audit) -> [u64; 3] {
        let shared = &audit.queue.as_ref().expect("it is on").shared;
        [&shared.written, &shared.lost, &shared.failed].map(|count| count.load(Relaxed))
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_anew_when_asked() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.1"));
        let audit = Audit::start(&settings(&path));
        audit.note(&entry("ann"));
        while counts(&audit)[0] < 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::rename(&path, &moved).expect("it is ours");
        audit.reopen();
        audit.note(&entry("bob"));
        audit.finish();
        let users = |path: &Path| -> Vec<String> {
            let text = std::fs::read_to_string(path).expect("it is there");
            let user =
                |line: &str| serde_json::from_str::<Json>(line).expect("a line is JSON")["user"].to_string();
            text.lines().map(user).collect()
        };
        assert_eq!((users(&moved), users(&path)), (vec!["\"ann\"".to_owned()], vec!["\"bob\"".to_owned()]));
        assert_eq!(counts(&audit), [2, 0, 0]);
    }

    #[test]
    fn a_full_disk_is_counted_and_holds_nobody_up() {
        let audit = Audit::start(&settings(Path::new("/dev/full")));
        for _ in 0..100 {
            audit.note(&entry("ann"));
        }
        audit.finish();
        assert_eq!(counts(&audit), [0, 0, 100]);
        let audit = Audit::start(&settings(Path::new("/nowhere/audit.jsonl")));
        audit.note(&entry("ann"));
        audit.finish();
        assert_eq!(counts(&audit), [0, 0, 1]);
    }

    #[test]
    fn what_does_not_fit_the_queue_is_counted_and_not_waited_for() {
        let (lines, received) = sync_channel(2);
        let queue = AuditQueue { lines, shared: Arc::default(), thread: Mutex::new(None) };
        queue.push(vec![b'x'; MAX_BYTES + 1]);
        queue.push(vec![b'x'; MAX_BYTES]);
        queue.push(vec![b'x'; 1]);
        let count = || queue.shared.lost.load(Relaxed);
        assert_eq!(count(), 2, "so many bytes wait at most");
        drop(received.recv());
        queue.shared.waiting_bytes.store(0, Relaxed);
        (0..4).for_each(|_| queue.push(vec![b'x']));
        assert_eq!(count(), 4, "so many lines wait at most");
    }
}
