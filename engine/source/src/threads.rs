//! Threads beside those of the cores: what takes long is done by them, and must not keep a processor from what is quick.

use std::time::Duration;

/// Above that of the cores' threads: where both want one processor, a core has three quarters of it, and has it at once.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// From now on, the calling thread gives way to threads that answer what is quick. Called by those that do what takes long: they are as
/// fast as before where processors are free.
///
/// On Linux niceness is a thread's own (`sched(7)`); elsewhere it would be the whole process', which stays as it is.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "a thread for what takes long is as urgent as those of the cores");
    }
}

/// How long work on such a thread goes on until it [lets others go first](let_others): the system itself would have others of the
/// processor wait for milliseconds.
pub const COURTESY_EVERY: Duration = Duration::from_micros(250);

/// Leaves the processor to a core that wants it; goes on at once where none does. It takes half a microsecond (`sched_yield(2)`).
pub fn let_others() {
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
        let given_way = std::thread::spawn(|| {
            give_way();
            niceness()
        });
        assert_eq!(given_way.join().expect("it ends"), NICENESS.max(before));
        assert_eq!(niceness(), before);
    }
}
