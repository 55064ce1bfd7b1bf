//! Work that is to be done beside what matters: the system lets other threads run first.

/// The greatest politeness that there is (`nice`).
#[cfg(target_os = "linux")]
const NICEST: i32 = 19;

/// From now on for this thread. Where the system has no such thing, it goes on as before.
pub(crate) fn yield_to_others() {
    // On Linux this is a thread's own, elsewhere the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICEST);
}
