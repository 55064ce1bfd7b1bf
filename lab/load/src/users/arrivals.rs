//! Starts of open models, and which user takes them: one that is free when a start is due, else the first that becomes free,
//! or none in time. Nothing else decides it.

use super::{UserIndex, UserMachine};
use crate::recorder::Recorder;
use crate::users::user::State;
use prony_model::plan::scenario::Scenario;
use prony_model::program::ThreadPlace;
use prony_model::{LoadModel, Nanos, Starts};
use std::collections::VecDeque;

/// The starts of one scenario that one thread serves.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Due times are counted from here.
    begin: Nanos,
    /// Of its time; zero where it has no starts at all.
    end: Nanos,
    wait_max: Nanos,
    starts: Option<Starts>,
    next: Option<Nanos>,
    /// Users without a start, the longest idle first: all connections stay in use.
    free: VecDeque<UserIndex>,
    /// Due times of starts that found no user free. Those that have waited too long are dropped, so it holds no more
    /// than come in that time.
    waiting: VecDeque<Nanos>,
}

impl Arrivals {
    pub(super) fn new(scenario: &Scenario, index: usize, seed: u64, thread: ThreadPlace) -> Self {
        let (starts, wait_max) = match &scenario.load {
            LoadModel::Open { wait_max_ns, .. } => {
                // Scenarios do not share their chance: two of the same rate would start in step.
                let seed = seed.wrapping_add(index as u64);
                (Some(Starts::new(&scenario.load, seed, thread.number, thread.threads)), *wait_max_ns)
            }
            _ => (None, Nanos::ZERO),
        };
        let mut arrivals = Self {
            begin: scenario.start,
            end: if starts.is_some() { scenario.end() } else { Nanos::ZERO },
            wait_max,
            starts,
            next: None,
            free: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        arrivals.advance();
        arrivals
    }

    pub(super) fn is_open(&self) -> bool {
        self.starts.is_some()
    }

    /// True where no start is left and the time for them is over, or (while no user is busy) nobody to serve one.
    pub(super) fn is_done(&self, now: Nanos) -> bool {
        let is_over = self.next.is_none() && self.waiting.is_empty() && now >= self.end;
        is_over || self.is_open() && self.free.is_empty()
    }

    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.next
    }

    /// The next start that is due, if one is.
    fn take_due(&mut self, now: Nanos) -> Option<Nanos> {
        let due = self.next.filter(|due| *due <= now)?;
        self.advance();
        Some(due)
    }

    /// No further start is served.
    fn stop(&mut self) {
        self.next = None;
    }

    fn advance(&mut self) {
        let next = self.starts.as_mut().and_then(Iterator::next);
        self.next = next.map(|(_, due)| self.begin.plus(due));
    }

    /// The user that takes a start now; without one the start waits, as long as it may.
    fn assign(&mut self, due: Nanos) -> Assigned {
        match self.free.pop_front() {
            Some(user) => Assigned::To(user),
            None if self.wait_max == Nanos::ZERO => Assigned::Never,
            None => {
                self.waiting.push_back(due);
                Assigned::Later
            }
        }
    }

    /// The start that a user takes which has just become free; without one the user waits.
    fn assign_to(&mut self, user: UserIndex) -> Option<Nanos> {
        let due = self.waiting.pop_front();
        if due.is_none() {
            self.release(user);
        }
        due
    }

    /// The user is free.
    pub(super) fn release(&mut self, user: UserIndex) {
        self.free.push_back(user);
    }

    /// The next start that has waited for longer than it may.
    fn take_expired(&mut self, now: Nanos) -> Option<Nanos> {
        self.waiting.front().filter(|due| now.since(**due) > self.wait_max)?;
        self.waiting.pop_front()
    }
}

enum Assigned {
    To(UserIndex),
    Later,
    Never,
}

impl UserMachine<'_> {
    /// Serves the next start that is due; without one, drops those that have waited too long.
    pub(super) fn serve_start(&mut self, now: Nanos, recorder: &mut Recorder<'_>) -> bool {
        for scenario in 0..self.arrivals.len() {
            if self.is_stopping {
                self.arrivals[scenario].stop();
            }
            let Some(due) = self.arrivals[scenario].take_due(now) else {
                self.drop_expired(scenario, now, recorder);
                continue;
            };
            recorder.starts_at(due, scenario).due += 1;
            match self.arrivals[scenario].assign(due) {
                Assigned::To(user) => {
                    recorder.late(now.since(due));
                    self.alive += 1;
                    self.begin_iteration(user, due, now, recorder);
                }
                Assigned::Later => {}
                Assigned::Never => recorder.dropped(due, scenario),
            }
            return true;
        }
        false
    }

    fn drop_expired(&mut self, scenario: usize, now: Nanos, recorder: &mut Recorder<'_>) {
        while let Some(due) = self.arrivals[scenario].take_expired(now) {
            recorder.dropped(due, scenario);
        }
    }

    /// The run is over: what has waited until now is not started any more.
    pub(super) fn drop_waiting(&mut self, recorder: &mut Recorder<'_>) {
        for (scenario, arrivals) in self.arrivals.iter_mut().enumerate() {
            for due in arrivals.waiting.drain(..) {
                recorder.dropped(due, scenario);
            }
        }
    }

    /// A start that has waited for a user, if any has and the run is not over; else the user is free.
    pub(super) fn take_waiting(
        &mut self,
        user: UserIndex,
        now: Nanos,
        recorder: &mut Recorder<'_>,
    ) -> Option<Nanos> {
        let scenario = self.user(user).place.scenario;
        self.drop_expired(scenario, now, recorder);
        let arrivals = &mut self.arrivals[scenario];
        if now >= self.end || self.is_stopping {
            arrivals.release(user);
        } else if let Some(due) = arrivals.assign_to(user) {
            recorder.starts_at(due, scenario).waited += 1;
            return Some(due);
        }
        self.user(user).state = State::Free;
        self.alive -= 1;
        None
    }
}
