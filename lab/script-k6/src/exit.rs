//! How a run of a script ends, as k6 tells it to whoever started it.

/// The exit codes of k6: <https://grafana.com/docs/k6/latest/misc/exit-codes/>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    /// A threshold does not hold.
    Thresholds = 99,
    SetupTimeout = 100,
    TeardownTimeout = 101,
    Timeout = 102,
    /// The options make no sense.
    Configuration = 104,
    /// The user, or a signal, ended it.
    Interrupted = 105,
    /// An exception outside of iterations, where k6 cannot go on.
    Exception = 107,
    /// The script called `exec.test.abort`.
    Aborted = 108,
    /// The script called `exec.test.fail`.
    MarkedFailed = 110,
    /// What k6 has no code for.
    Other = 255,
}

impl Exit {
    pub const fn code(self) -> u8 {
        self as u8
    }
}
