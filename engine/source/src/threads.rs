//! Threads beside those of the cores: what takes long is done by them, and must not take a processor from what is quick.

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
