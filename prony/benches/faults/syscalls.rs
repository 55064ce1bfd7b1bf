//! System calls of other processes that fail or wait, by strace(1).

use std::{
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

/// From its begin to its end the system calls go as it was told.
pub(crate) struct Injection {
    tracer: Child,
    log: NamedTempFile,
}

impl Injection {
    /// In these threads, and those that they start, these system calls go as strace is told with `--inject`; those alone that are about
    /// `path`, where there is one.
    pub(crate) fn begin(threads: &[u32], calls: &str, how: &str, path: Option<&Path>) -> Self {
        let log = NamedTempFile::new().expect("a temporary file");
        let mut tracer = Command::new("strace");
        tracer.args(["-q", "-e", &format!("trace={calls}"), "-e", &format!("inject={calls}:{how}"), "-o"]);
        tracer.arg(log.path()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(path) = path {
            tracer.arg("-P").arg(path);
        }
        for thread in threads {
            tracer.args(["-p", &thread.to_string()]);
        }
        let tracer = tracer.spawn().expect("strace is needed (Debian: strace)");
        let injection = Self { tracer, log };
        injection.wait();
        injection
    }

    /// Until the first of the system calls has come.
    ///
    /// # Panics
    /// Where none comes.
    fn wait(&self) {
        let begin = Instant::now();
        loop {
            let text = fs::read_to_string(self.log.path()).expect("strace's output is text");
            if text.contains("(INJECTED)") || text.contains("(DELAYED)") {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "no system call was injected; strace saw:\n{text}");
            thread::sleep(POLL);
        }
    }

    pub(crate) fn end(mut self) {
        // It lets go of the threads; it may have ended with them.
        let _ = kill_process(Pid::from_child(&self.tracer), Signal::TERM);
        let _ = self.tracer.wait();
    }
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
