//! Lines that a plan logs, told while it runs: a thread takes them from its users, who do not wait.

use prony_model::program::log_repeats::{LineFate, LogRepeats};
use prony_model::units::counted;
use prony_script_jmeter::{Logged, SessionLog};
use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it is looked what was logged: a moment for people.
const LOOK: Duration = Duration::from_millis(100);

/// Where lines of a plan go.
pub struct PlanLog {
    tell: Box<dyn FnMut(&str) + Send>,
    repeats: Option<LogRepeats<()>>,
    lost: u64,
}

impl PlanLog {
    /// `has_watcher`: a person reads them, so that lines which repeat others are counted.
    pub fn new(tell: impl FnMut(&str) + Send + 'static, has_watcher: bool) -> Self {
        Self { tell: Box::new(tell), repeats: has_watcher.then(LogRepeats::default), lost: 0 }
    }

    fn take(&mut self, logged: &Logged, now: Duration) {
        self.lost += logged.lost;
        for line in &logged.lines {
            let fate = self.repeats.as_mut().map(|repeats| repeats.take(now, line, |()| true, || ()));
            let before = match fate {
                Some(LineFate::Counted) => continue,
                Some(LineFate::Written(before)) => before,
                None => Vec::new(),
            };
            for repeated in before {
                (self.tell)(&repeated.message);
            }
            (self.tell)(line);
        }
        let due = self.repeats.as_mut().map(|repeats| repeats.due(now)).unwrap_or_default();
        for repeated in due {
            (self.tell)(&repeated.message);
        }
    }

    /// Nothing more comes.
    fn end(mut self) {
        let unsaid = self.repeats.as_mut().map(LogRepeats::end).unwrap_or_default();
        for repeated in unsaid {
            (self.tell)(&repeated.message);
        }
        if self.lost > 0 {
            let lost = counted(self.lost, "line", "lines");
            (self.tell)(&format!("{lost} of the log came too fast and were not kept"));
        }
    }
}

impl fmt::Debug for PlanLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanLog").finish_non_exhaustive()
    }
}

/// Tells what is logged until it is dropped; then all of it is told.
#[derive(Debug)]
pub(super) struct LogTeller {
    /// Dropped before the thread is waited for, which ends it.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LogTeller {
    pub(super) fn start(session: SessionLog, mut log: PlanLog) -> Self {
        let (end, ended) = channel::<()>();
        let begun = Instant::now();
        let thread = std::thread::spawn(move || {
            loop {
                let is_over = ended.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
                log.take(&session.take(), begun.elapsed());
                if is_over {
                    return log.end();
                }
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for LogTeller {
    fn drop(&mut self) {
        drop(self.end.take());
        // One that has failed has told what it could.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn told(has_watcher: bool, batches: Vec<(u64, Logged)>) -> Vec<String> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&told);
        let mut log = PlanLog::new(move |line| own.lock().unwrap().push(line.to_owned()), has_watcher);
        for (at, logged) in batches {
            log.take(&logged, Duration::from_millis(at));
        }
        log.end();
        told.lock().unwrap().clone()
    }

    fn logged(lines: &[&str], lost: u64) -> Logged {
        Logged { lines: lines.iter().map(|line| (*line).to_owned()).collect(), lost }
    }

    #[test]
    fn a_person_reads_repeats_once_and_how_many_lines_are_lost() {
        let batches = || {
            let busy = logged(&["same", "other", "same"], 0);
            vec![
                (0, busy),
                (100, logged(&["same"; 40], 2)),
                (3_200, logged(&["late"], 3)),
                (3_300, logged(&["late"], 0)),
            ]
        };
        assert_eq!(
            told(true, batches()),
            [
                "same",
                "other",
                "same (… repeated 41 times)",
                "late",
                "late (… repeated 1 time)",
                "5 lines of the log came too fast and were not kept"
            ]
        );
        let all = told(false, batches());
        assert_eq!((all.len(), all.iter().filter(|line| *line == "same").count()), (46, 42));
    }
}
