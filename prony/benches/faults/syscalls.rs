//! System calls of other processes that fail or wait, by strace(1).

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;

/// For how long a system call is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);
/// How strace shows data that begins with zeros.
const ZEROS: &str = "\"\\0\\0\\0\\0\\0\\0\\0\\0";

/// From its begin to its end the system calls go as it was told.
pub(crate) struct Injection {
    tracer: Child,
    log: NamedTempFile,
}

impl Injection {
    /// As [`Self::attach`]; returns once the first of the system calls has come.
    ///
    /// # Panics
    /// Where none comes.
    pub(crate) fn begin(threads: &[u32], calls: &str, how: &str, path: Option<&Path>) -> Self {
        let injection = Self::attach(threads, calls, how, path);
        injection.wait_for(PATIENCE, is_injected);
        injection
    }

    /// From now on, in these threads, these system calls go as strace is told with `--inject`; those alone that are about `path`, where there
    /// is one. Each is counted for itself where `how` says when.
    pub(crate) fn attach(threads: &[u32], calls: &str, how: &str, path: Option<&Path>) -> Self {
        let log = NamedTempFile::new().expect("a temporary file");
        let mut tracer = Command::new("strace");
        tracer.args(arguments(calls, how, log.path()));
        if let Some(path) = path {
            tracer.arg("-P").arg(path);
        }
        for thread in threads {
            tracer.args(["-p", &thread.to_string()]);
        }
        tracer.stdout(Stdio::null()).stderr(Stdio::null());
        let tracer = tracer.spawn().expect("strace is needed (Debian: strace)");
        let begin = Instant::now();
        while !threads.iter().all(|thread| is_traced(*thread)) {
            assert!(begin.elapsed() < PATIENCE, "strace does not trace the threads {threads:?}");
            thread::sleep(POLL);
        }
        Self { tracer, log }
    }

    /// Until this is so of what strace has written; a moment shortly before it was.
    ///
    /// # Panics
    /// Where it does not become so in this time.
    pub(crate) fn wait_for(&self, patience: Duration, is_so: impl Fn(&str) -> bool) -> Instant {
        let begin = Instant::now();
        let mut before = begin;
        loop {
            let now = Instant::now();
            let text = fs::read_to_string(self.log.path()).expect("strace's output is text");
            if is_so(&text) {
                return before;
            }
            assert!(begin.elapsed() < patience, "no system call was injected; strace saw:\n{text}");
            before = now;
            thread::sleep(POLL);
        }
    }

    pub(crate) fn end(mut self) {
        // It lets go of the threads; it may have ended with them.
        let _ = kill_process(Pid::from_child(&self.tracer), Signal::TERM);
        let _ = self.tracer.wait();
    }
}

/// Whether there was a system call that went as strace was told.
pub(crate) fn is_injected(text: &str) -> bool {
    text.contains("(INJECTED)") || text.contains("(DELAYED)")
}

/// What strace is told, but for the path and what it traces.
fn arguments(calls: &str, how: &str, log: &Path) -> Vec<OsString> {
    let (traced, injected) = (format!("trace={calls}"), format!("inject={calls}:{how}"));
    let mut arguments = Vec::from(["-q", "-e", &traced, "-e", &injected, "-o"].map(OsString::from));
    arguments.push(log.into());
    arguments
}

/// The command under strace: in all of its threads, from its begin on, system calls that are about `path` go as strace is told.
pub(crate) fn injected(command: &Command, calls: &str, how: &str, path: &Path) -> Command {
    let mut traced = Command::new("strace");
    traced.args(arguments(calls, how, Path::new("/dev/null"))).arg("-f").arg("-P").arg(path);
    traced.arg("--").arg(command.get_program()).args(command.get_args());
    traced
}

/// A `pwrite64` in what strace has written, once it is over.
struct WriteCall<'t> {
    bytes: u64,
    /// How many bytes it took, or how it failed; and whether it was injected.
    result: &'t str,
    is_of_zeros: bool,
}

impl<'t> WriteCall<'t> {
    /// `pwrite64(7, "…"..., 30011, 4096) = 812`.
    fn of(line: &'t str) -> Option<Self> {
        let (call, result) = line.strip_prefix("pwrite64(")?.rsplit_once(" = ")?;
        let call = call.trim_end().strip_suffix(')')?;
        let (_, data) = call.split_once(", ")?;
        let bytes = call.rsplit(", ").nth(1)?.parse().ok()?;
        Some(Self { bytes, result, is_of_zeros: data.starts_with(ZEROS) })
    }

    /// It took a part of its bytes. That of zeros is none of a frame.
    fn is_short(&self) -> bool {
        let taken = self.result.split(' ').next().and_then(|number| number.parse::<u64>().ok());
        !self.is_of_zeros && taken.is_some_and(|taken| taken < self.bytes)
    }
}

/// Whether a `pwrite64` took only some of its bytes.
pub(crate) fn has_short_write(text: &str) -> bool {
    text.lines().filter_map(WriteCall::of).any(|call| call.is_short())
}

/// What became of the write behind each that took only some of its bytes, which is that of its rest.
pub(crate) fn rests(text: &str) -> Vec<&str> {
    let calls: Vec<_> = text.lines().filter_map(WriteCall::of).collect();
    calls.windows(2).filter(|pair| pair[0].is_short()).map(|pair| pair[1].result).collect()
}

/// Whether strace has this thread, or it has ended.
fn is_traced(thread: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{thread}/status")) else { return true };
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// The threads of a process that have this name.
pub(crate) fn threads_named(process: u32, name: &str) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let is_named = |thread: &fs::DirEntry| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let named = threads.flatten().filter(is_named);
    named.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}
