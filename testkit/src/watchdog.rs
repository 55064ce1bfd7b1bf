//! Cleans up after a test process however it ends, also by SIGKILL or a debugger's stop: a shell that waits
//! for the end of its standard input, which only the test process holds open.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
};

/// Runs its shell script once, when dropped or when this process ends, whichever comes first.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    /// Closed to run the script.
    lifeline: Option<ChildStdin>,
}

impl Watchdog {
    /// `script` sees `arguments` as `$1`, `$2`, …
    pub(crate) fn start(script: &str, arguments: &[&str]) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &format!("cat >/dev/null; {script}"), "watchdog"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of the terminal's process group: Ctrl-C must end the tests, not their cleaner.
            .process_group(0)
            .spawn()?;
        let lifeline = shell.stdin.take();
        Ok(Self { shell, lifeline })
    }

    /// Ends it without running the script.
    pub(crate) fn disarm(mut self) {
        // When it cannot be killed it is gone already; dropping waits for it.
        let _ = self.shell.kill();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // The script has bounded waits of its own; a failure to wait leaves it to finish alone.
        let _ = self.shell.wait();
    }
}
