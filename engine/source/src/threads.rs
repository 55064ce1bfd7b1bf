//! Threads beside those of the cores: what takes long is done by them, and must not keep a processor from what is quick.

use std::time::Duration;

/// So much above that of the cores' threads: where both want one processor, a core has three quarters of it (`sched(7)`).
#[cfg(target_os = "linux")]
const NICENESS_MORE: i32 = 5;
#[cfg(target_os = "linux")]
const NICENESS_MAX: i32 = 19;

/// From now on, the calling thread gives way to threads that answer what is quick. Called by those that do what takes long: they are as
/// fast as before where processors are free.
///
/// On Linux niceness is a thread's own (`sched(7)`); elsewhere it would be the whole process', which stays as it is.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        // The whole program may have been started with less priority than usual.
        let lowered = getpriority_process(None)
            .and_then(|own| setpriority_process(None, (own + NICENESS_MORE).min(NICENESS_MAX)));
        if let Err(error) = lowered {
            tracing::debug!(%error, "a thread for what takes long is as urgent as those of the cores");
        }
    }
}

/// How long work on such a thread goes on until it [lets others go first](yield_processor): the system itself would have others of the
/// processor wait for milliseconds.
pub const YIELD_EVERY: Duration = Duration::from_micros(250);

/// Leaves the processor to a core that wants it; goes on at once where none does (`sched_yield(2)`).
pub fn yield_processor() {
    std::thread::yield_now();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).expect("a thread may ask for its own")
    }

    #[test]
    fn it_is_of_the_calling_thread_alone() {
        let before = niceness();
        let lowered = std::thread::spawn(|| {
            lower_priority();
            niceness()
        });
        assert_eq!(lowered.join().expect("it ends"), (before + NICENESS_MORE).min(NICENESS_MAX));
        assert_eq!(niceness(), before);
    }
}
