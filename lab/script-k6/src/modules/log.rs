//! Lines of the log, as k6 writes them to standard error, without keeping whoever logs waiting: a thread writes them,
//! and lines that come faster than it can are counted, not kept. Where a person watches, so are lines that repeat others.

use prony_model::program::log_repeats::{LineFate, LogRepeats, RepeatedLine};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use super::log_level::Level;

/// Lines that wait for being written: some seconds of a slow terminal, a few MB of memory.
const WAITING_LINES_MAX: usize = 16_384;
/// Longer messages are cut, and say so: a script that logs bodies would otherwise fill the memory through the waiting lines.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// How often it is looked whether repeats are to be said.
const LOOK_FOR_REPEATS: Duration = Duration::from_millis(500);

/// What k6 writes in the place of a secret.
const REDACTED: &str = "***SECRET_REDACTED***";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `INFO[0001] text  source=console`, for terminals.
    Coloured,
    /// `time="…" level=info msg=text source=console`
    Plain,
    /// An object of JSON a line.
    Json,
    /// The message alone.
    Raw,
}

impl Style {
    /// What suits standard error.
    pub fn of_errors() -> Self {
        if io::stderr().is_terminal() { Self::Coloured } else { Self::Plain }
    }

    /// A line with its end.
    fn line(self, since_begin: Duration, level: Level, message: &str, fields: &[(&str, &str)]) -> String {
        match self {
            Self::Coloured => coloured(since_begin, level, message, fields),
            Self::Plain => plain(since_epoch(), level, message, fields),
            Self::Json => json(since_epoch(), level, message, fields),
            Self::Raw => format!("{}\n", message.strip_suffix('\n').unwrap_or(message)),
        }
    }

    fn repeated(self, since_begin: Duration, repeated: &RepeatedLine<LineKey>) -> String {
        let LineKey { level, fields } = &repeated.key;
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.line(since_begin, *level, &repeated.message, &fields.collect::<Vec<_>>())
    }
}

/// What a line has beside its message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineKey {
    level: Level,
    fields: Vec<(String, String)>,
}

impl LineKey {
    fn of(level: Level, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { level, fields: fields.collect() }
    }

    fn is(&self, level: Level, fields: &[(&str, &str)]) -> bool {
        let own = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.level == level && own.eq(fields.iter().copied())
    }
}

/// The log of a run, shared by its threads.
pub struct Log {
    begun: Instant,
    is_verbose: AtomicBool,
    /// Lines of less weight are left out: a [`Level`] as a number.
    least: AtomicU8,
    lost: AtomicU64,
    /// Secrets, which are not to be read in it.
    redacted: Mutex<Vec<String>>,
    /// Where lines of `console` go, if not here.
    console: OnceLock<Box<Log>>,
    state: Mutex<LogState>,
}

struct LogState {
    style: Style,
    output: Output,
    /// Where a person watches; shared with the thread that writes.
    repeats: Option<Arc<Mutex<LogRepeats<LineKey>>>>,
}

/// Who reads a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Each line is written.
    Any,
    /// A person at a terminal: lines that repeat others are counted.
    Person,
}

impl Reader {
    /// Of a stream such as standard error.
    pub fn of(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Person } else { Self::Any }
    }

    fn repeats(self) -> Option<Arc<Mutex<LogRepeats<LineKey>>>> {
        (self == Self::Person).then(Arc::default)
    }
}

enum Output {
    /// Nothing was written yet; where it will go, standard error where nothing is said.
    Idle(Option<Box<dyn Write + Send>>),
    Writing(SyncSender<String>, JoinHandle<Box<dyn Write + Send>>),
}

impl Default for Log {
    fn default() -> Self {
        Self::new(Style::of_errors(), None, Reader::of(&io::stderr()))
    }
}

impl Log {
    /// Each line is written there.
    pub fn to(output: Box<dyn Write + Send>, style: Style) -> Self {
        Self::new(style, Some(output), Reader::Any)
    }

    fn new(style: Style, output: Option<Box<dyn Write + Send>>, reader: Reader) -> Self {
        Self {
            begun: Instant::now(),
            is_verbose: AtomicBool::new(false),
            least: AtomicU8::new(Level::Debug as u8),
            lost: AtomicU64::new(0),
            redacted: Mutex::default(),
            console: OnceLock::new(),
            state: Mutex::new(LogState { style, output: Output::Idle(output), repeats: reader.repeats() }),
        }
    }

    /// Whether lines of [`Level::Debug`] are written.
    pub fn set_verbose(&self, is_verbose: bool) {
        self.is_verbose.store(is_verbose, Ordering::Relaxed);
    }

    /// Lines of less weight are left out from now on.
    pub(super) fn set_least(&self, least: Level) {
        self.least.store(least as u8, Ordering::Relaxed);
    }

    /// Where lines go from now on, how they look, and who reads them.
    pub fn set_output(&self, output: Box<dyn Write + Send>, style: Style, reader: Reader) {
        self.flush();
        let mut state = self.state();
        *state = LogState { style, output: Output::Idle(Some(output)), repeats: reader.repeats() };
    }

    /// Lines of `console` go to another log, from the first that is given.
    pub(super) fn set_console(&self, console: Self) {
        console.set_verbose(self.is_verbose.load(Ordering::Relaxed));
        let _ = self.console.set(Box::new(console));
    }

    /// Where lines of `console` go.
    pub(super) fn console(&self) -> &Self {
        self.console.get().map_or(self, |console| console)
    }

    /// True where lines of `console` go elsewhere.
    pub(super) fn has_own_console(&self) -> bool {
        self.console.get().is_some()
    }

    pub fn takes(&self, level: Level) -> bool {
        level as u8 >= self.least.load(Ordering::Relaxed)
            && (level != Level::Debug || self.is_verbose.load(Ordering::Relaxed))
    }

    /// Fields are to be in the order of their names.
    pub fn write(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        if !self.takes(level) {
            return;
        }
        // A secret that is cut would not be known for one.
        let message = self.without_secrets(message);
        let message = &*cut(&message);
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| (*name, self.without_secrets(value))).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        let fields = &*fields;
        let mut state = self.state();
        let since_begin = self.begun.elapsed();
        let fate = state.repeats.as_ref().map(|repeats| {
            let (is, of) = (|key: &LineKey| key.is(level, fields), || LineKey::of(level, fields));
            lock(repeats).take(since_begin, message, is, of)
        });
        let before = match fate {
            Some(LineFate::Counted) => return,
            Some(LineFate::Written(before)) => before,
            None => Vec::new(),
        };
        let style = state.style;
        let line = style.line(since_begin, level, message, fields);
        let sender = state.sender(self.begun);
        for line in before.iter().map(|repeated| style.repeated(since_begin, repeated)).chain([line]) {
            match sender.try_send(line) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(_)) => {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Lines from now on have k6's mark in the place of this text.
    pub fn redact(&self, secret: &str) {
        if let Some(console) = self.console.get() {
            console.redact(secret);
        }
        let mut redacted = self.redacted.lock().unwrap_or_else(PoisonError::into_inner);
        if !secret.is_empty() && !redacted.iter().any(|known| known == secret) {
            // The longest first: one that holds another is replaced as a whole.
            let place = redacted.partition_point(|known| known.len() >= secret.len());
            redacted.insert(place, secret.to_owned());
        }
    }

    /// A text with k6's mark in the place of what is not to be read.
    pub fn without_secrets<'t>(&self, message: &'t str) -> Cow<'t, str> {
        let redacted = self.redacted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut message = Cow::Borrowed(message);
        for secret in redacted.iter().filter(|secret| message.contains(secret.as_str())).collect::<Vec<_>>() {
            message = Cow::Owned(message.replace(secret.as_str(), REDACTED));
        }
        message
    }

    /// Returns once all lines are written, and says how many were not kept.
    pub fn flush(&self) {
        if let Some(console) = self.console.get() {
            console.flush();
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            // There is room for one more: the writer is given what is there first.
            self.stop();
            self.write(
                Level::Warning,
                &format!("{lost} lines of the log came too fast and were not kept"),
                &[],
            );
        }
        self.stop();
    }

    fn stop(&self) {
        let mut state = self.state();
        state.say_repeats(self.begun);
        let output = match std::mem::replace(&mut state.output, Output::Idle(None)) {
            Output::Writing(sender, thread) => {
                drop(sender);
                thread.join().ok()
            }
            Output::Idle(output) => output,
        };
        state.output = Output::Idle(output);
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Ok(LogState { output: Output::Writing(..), .. }) = self.state.get_mut().map(|state| &*state) {
            self.flush();
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl LogState {
    /// Of the thread that writes, which is started where there is none yet.
    fn sender(&mut self, begun: Instant) -> &mut SyncSender<String> {
        if let Output::Idle(target) = &mut self.output {
            let target = target.take().unwrap_or_else(|| Box::new(io::stderr()));
            let (sender, lines) = sync_channel(WAITING_LINES_MAX);
            let writer = LogWriter { lines, target, style: self.style, begun, repeats: self.repeats.clone() };
            self.output = Output::Writing(sender, std::thread::spawn(move || writer.write()));
        }
        match &mut self.output {
            Output::Writing(sender, _) => sender,
            Output::Idle(_) => unreachable!("it was set above"),
        }
    }

    /// Says what was counted so far.
    fn say_repeats(&mut self, begun: Instant) {
        let Some(repeats) = &self.repeats else { return };
        let said = lock(repeats).end();
        let (style, now) = (self.style, begun.elapsed());
        for repeated in &said {
            // The writer takes them one by one, so there will be room. One that has gone has nobody to tell.
            let _ = self.sender(begun).send(style.repeated(now, repeated));
        }
    }
}

fn lock(repeats: &Mutex<LogRepeats<LineKey>>) -> MutexGuard<'_, LogRepeats<LineKey>> {
    repeats.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that writes the lines.
struct LogWriter {
    lines: Receiver<String>,
    target: Box<dyn Write + Send>,
    style: Style,
    begun: Instant,
    repeats: Option<Arc<Mutex<LogRepeats<LineKey>>>>,
}

impl LogWriter {
    /// Several lines at a time where several wait. A log that cannot be written ends nothing: there is nobody to tell.
    fn write(mut self) -> Box<dyn Write + Send> {
        let mut text = String::new();
        loop {
            text.clear();
            match self.next() {
                Ok(line) => text.push_str(&line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.target,
            }
            for line in self.lines.try_iter().take(1_000) {
                text.push_str(&line);
            }
            self.push_repeats(&mut text);
            if !text.is_empty() {
                let _ = self.target.write_all(text.as_bytes()).and_then(|()| self.target.flush());
            }
        }
    }

    fn next(&self) -> Result<String, RecvTimeoutError> {
        match self.repeats {
            Some(_) => self.lines.recv_timeout(LOOK_FOR_REPEATS),
            None => self.lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn push_repeats(&self, text: &mut String) {
        let Some(repeats) = &self.repeats else { return };
        let now = self.begun.elapsed();
        let due = lock(repeats).due(now);
        for repeated in &due {
            text.push_str(&self.style.repeated(now, repeated));
        }
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn coloured(since_begin: Duration, level: Level, message: &str, fields: &[(&str, &str)]) -> String {
    let (letters, colour) = level.short();
    let message = message.strip_suffix('\n').unwrap_or(message);
    let mut line = format!("\x1b[{colour}m{letters}\x1b[0m[{:04}] {message:<44} ", since_begin.as_secs());
    for (name, value) in fields {
        let _ = write!(line, " \x1b[{colour}m{name}\x1b[0m=");
        push_value(&mut line, value);
    }
    line.push('\n');
    line
}

fn plain(since_epoch: Duration, level: Level, message: &str, fields: &[(&str, &str)]) -> String {
    let mut line = format!("time=\"{}\" level={}", timestamp(since_epoch.as_secs()), level.name());
    if !message.is_empty() {
        line.push_str(" msg=");
        push_value(&mut line, message);
    }
    for (name, value) in fields {
        let _ = write!(line, " {name}=");
        push_value(&mut line, value);
    }
    line.push('\n');
    line
}

fn json(since_epoch: Duration, level: Level, message: &str, fields: &[(&str, &str)]) -> String {
    let time = timestamp(since_epoch.as_secs());
    let own = [("level", level.name()), ("msg", message), ("time", &time)];
    // In the order of their names, as k6 writes them.
    let members: BTreeMap<&str, &str> = fields.iter().copied().chain(own).collect();
    serde_json::to_string(&members).expect("texts are JSON") + "\n"
}

fn push_value(line: &mut String, value: &str) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/@^+".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_bare) {
        line.push_str(value);
        return;
    }
    line.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => line.extend(['\\', character]),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(line, "\\x{:02x}", control as u32);
            }
            other => line.push(other),
        }
    }
    line.push('"');
}

/// RFC 3339 in UTC. The calendar is computed as in Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn timestamp(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The message, or as much of it as is kept.
fn cut(message: &str) -> Cow<'_, str> {
    if message.len() <= MESSAGE_BYTES_MAX {
        return Cow::Borrowed(message);
    }
    let end = (0..=MESSAGE_BYTES_MAX).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
    Cow::Owned(format!("{}… (cut: {} bytes of {})", &message[..end], end, message.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::sync::mpsc;

    /// Keeps what is written; waits before the first write until it is let go.
    struct Kept(Arc<Mutex<Vec<u8>>>, Option<Receiver<()>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(gate) = self.1.take() {
                let _ = gate.recv();
            }
            self.0.lock().expect("one writer").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_look_as_in_k6() {
        let fields = [("executor", "per-vu-iterations"), ("source", "stack trace")];
        let epoch = Duration::from_secs(1_795_248_000);
        let lines = [
            plain(epoch, Level::Info, "plain", &[("source", "console")]),
            plain(epoch, Level::Warning, "a\nb \"q\" =\u{7} größer", &[]),
            plain(epoch, Level::Error, "", &fields),
            coloured(Duration::from_secs(71), Level::Info, "text", &[("source", "console")]),
        ];
        expect![[r#"
            time="2026-11-21T08:00:00Z" level=info msg=plain source=console
            time="2026-11-21T08:00:00Z" level=warning msg="a\nb \"q\" =\x07 größer"
            time="2026-11-21T08:00:00Z" level=error executor=per-vu-iterations source="stack trace"
            <36mINFO<0m[0071] text                                          <36msource<0m=console
        "#]]
        .assert_eq(&lines.concat().replace("\x1b[", "<"));
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let days = [0, 951_782_400, 951_868_800, 4_107_542_399].map(timestamp);
        assert_eq!(
            days,
            ["1970-01-01T00:00:00Z", "2000-02-29T00:00:00Z", "2000-03-01T00:00:00Z", "2100-02-28T23:59:59Z"]
        );
    }

    #[test]
    fn who_logs_faster_than_is_written_does_not_wait_and_is_told_how_much_is_lost() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::channel();
        let log = Log::to(Box::new(Kept(Arc::clone(&kept), Some(gate))), Style::Plain);
        let count = WAITING_LINES_MAX * 2;
        for _ in 0..count {
            log.write(Level::Info, "line", &[]);
        }
        log.write(Level::Debug, "not asked for", &[]);
        open.send(()).expect("the writer waits");
        log.flush();
        let text = String::from_utf8(kept.lock().expect("one writer").clone()).expect("lines are text");
        let written = text.lines().filter(|line| line.ends_with("msg=line")).count();
        assert!((WAITING_LINES_MAX..count).contains(&written), "{written}");
        let told = format!("msg=\"{} lines of the log came too fast and were not kept\"", count - written);
        assert!(text.lines().last().is_some_and(|line| line.ends_with(&told)), "{told}");
    }

    #[test]
    fn a_person_reads_once_what_is_said_a_thousand_times_and_a_file_keeps_it_all() {
        let written = |reader| {
            let kept = Arc::new(Mutex::new(Vec::new()));
            let log = Log::default();
            log.set_output(Box::new(Kept(Arc::clone(&kept), None)), Style::Raw, reader);
            for number in 0..1_000 {
                log.write(Level::Info, "same", &[]);
                log.write(Level::Info, if number < 500 { "early" } else { "late" }, &[]);
            }
            log.flush();
            log.write(Level::Info, "same", &[]);
            drop(log);
            String::from_utf8(kept.lock().expect("one writer").clone()).expect("lines are text")
        };
        let read = written(Reader::Person);
        let times = |read: &str, line: &str| -> u64 {
            let counts = read.lines().filter_map(|read| read.strip_prefix(line)).map(|rest| {
                let repeated = rest.strip_prefix(" (… repeated ").and_then(|rest| rest.split_once(" time"));
                repeated.map_or(1, |(count, _)| count.replace(' ', "").parse().expect("a number"))
            });
            counts.sum()
        };
        assert_eq!([times(&read, "same"), times(&read, "early"), times(&read, "late")], [1_001, 500, 500]);
        assert!(read.starts_with("same\nearly\n") && read.ends_with("\nsame\n"), "{read}");
        assert!(read.lines().count() < 100, "{read}");
        assert_eq!(written(Reader::Any).lines().count(), 2_001);
    }

    #[test]
    fn a_message_that_is_too_long_says_so_and_shows_no_part_of_a_secret() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let log = Log::to(Box::new(Kept(Arc::clone(&kept), None)), Style::Raw);
        log.redact("hidden");
        log.write(Level::Info, &format!("{}hidden", "x".repeat(MESSAGE_BYTES_MAX - 3)), &[]);
        log.write(Level::Info, &"ü".repeat(MESSAGE_BYTES_MAX), &[]);
        drop(log);
        let text = String::from_utf8(kept.lock().expect("one writer").clone()).expect("lines are text");
        let lines: Vec<_> = text.lines().map(|line| line.trim_start_matches(['x', 'ü'])).collect();
        assert_eq!(lines, ["***… (cut: 65536 bytes of 65554)", "… (cut: 65536 bytes of 131072)"]);
    }

    #[test]
    fn secrets_are_read_neither_in_messages_nor_beside_them() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let log = Log::to(Box::new(Kept(Arc::clone(&kept), None)), Style::Plain);
        log.redact("key");
        log.redact("key-2");
        log.write(Level::Warning, "with key-2 and key", &[("error", "Get http://h/?k=key-2")]);
        drop(log);
        let text = String::from_utf8(kept.lock().expect("one writer").clone()).expect("lines are text");
        assert!(!text.contains("key") && !text.contains(&format!("{REDACTED}-2")), "{text}");
        assert_eq!(text.matches(REDACTED).count(), 3, "{text}");
    }

    #[test]
    fn debugging_lines_are_written_where_asked_for() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let log = Log::to(Box::new(Kept(Arc::clone(&kept), None)), Style::Plain);
        log.set_verbose(true);
        log.flush();
        log.write(Level::Debug, "seen", &[]);
        drop(log);
        assert!(
            String::from_utf8_lossy(&kept.lock().expect("one writer")).ends_with("level=debug msg=seen\n")
        );
    }
}
