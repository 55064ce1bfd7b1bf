//! Where the threads of a run wait for each other: none begins before all have made their programs, and none waits for
//! one that could not.

use crate::options::RunStart;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct StartBarrier {
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BarrierState {
    ready: u32,
    has_failed: bool,
    /// The start of the run, once all are ready.
    start: Option<RunStart>,
}

impl StartBarrier {
    /// A thread is ready: waits for the others and returns the start of the run; nothing where one has failed.
    pub(crate) fn enter(&self) -> Option<RunStart> {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        while state.start.is_none() && !state.has_failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.start
    }

    /// A thread will never be ready.
    pub(crate) fn fail(&self) {
        self.lock().has_failed = true;
        self.changed.notify_all();
    }

    /// Waits until so many threads are ready, asks `start` when the run is to begin, and lets them begin then; nothing where one
    /// has failed or there is no start. `begins` is told the start before any thread is.
    pub(crate) fn open(
        &self,
        threads: u32,
        start: impl FnOnce() -> Option<RunStart>,
        begins: impl FnOnce(Instant),
    ) -> Option<RunStart> {
        let mut state = self.lock();
        while state.ready < threads && !state.has_failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.has_failed {
            return None;
        }
        drop(state);
        let Some(start) = start() else {
            self.fail();
            return None;
        };
        thread::sleep(start.begin().saturating_duration_since(Instant::now()));
        begins(start.epoch);
        self.lock().start = Some(start);
        self.changed.notify_all();
        Some(start)
    }

    fn lock(&self) -> MutexGuard<'_, BarrierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Nanos;
    use std::time::Duration;

    #[test]
    fn all_begin_together_or_none_does() {
        for fails in [false, true] {
            let barrier = StartBarrier::default();
            let begun = thread::scope(|scope| {
                let threads: Vec<_> = (0..3)
                    .map(|number| {
                        let barrier = &barrier;
                        scope.spawn(move || {
                            if fails && number == 1 {
                                barrier.fail();
                                return None;
                            }
                            barrier.enter()
                        })
                    })
                    .collect();
                let mut told = None;
                let start = barrier.open(3, || Some(RunStart::now()), |epoch| told = Some(epoch));
                assert_eq!(start.map(|start| start.epoch), told);
                assert_eq!(start.is_none(), fails);
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(begun.len(), if fails { 0 } else { 3 });
            assert!(begun.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn a_run_begins_when_it_was_agreed_and_not_at_all_without_an_agreement() {
        let soon = Instant::now() + Duration::from_millis(30);
        // The second has begun without its users here.
        let joins = RunStart {
            epoch: soon.checked_sub(Duration::from_millis(20)).unwrap(),
            from: Nanos::from_millis(40),
        };
        for agreed in [Some(RunStart::at(soon)), Some(joins), None] {
            let barrier = StartBarrier::default();
            let begun = thread::scope(|scope| {
                let entered = scope.spawn(|| (barrier.enter(), Instant::now()));
                assert_eq!(barrier.open(1, || agreed, |_| {}), agreed);
                entered.join().unwrap()
            });
            assert_eq!(begun.0, agreed);
            assert!(agreed.is_none_or(|start| begun.1 >= start.begin()), "no thread begins earlier");
        }
    }
}
