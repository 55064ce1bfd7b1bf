//! Starts of open models: served when they are due by a user that is free, else as soon as one becomes free, or dropped.

use super::{Worker, WorkerError};
use crate::user::State;
use prony_model::plan::scenario::Scenario;
use prony_model::program::ThreadPlace;
use prony_model::{LoadModel, Nanos, Starts};
use std::collections::VecDeque;

/// The starts of one scenario that one thread serves.
pub(super) struct OpenStarts {
    /// Due times are counted from here.
    begin: Nanos,
    /// Of its time; zero where it has no starts at all.
    end: Nanos,
    wait_max: Nanos,
    starts: Option<Starts>,
    next: Option<Nanos>,
    /// Users without a start, the longest idle first: all connections stay in use.
    pub(super) free: VecDeque<u32>,
    /// Due times of starts that found no user free. Those that have waited too long are dropped, so it holds no more
    /// than come in that time.
    waiting: VecDeque<Nanos>,
}

impl OpenStarts {
    pub(super) fn new(scenario: &Scenario, index: usize, seed: u64, thread: ThreadPlace) -> Self {
        let (starts, wait_max) = match &scenario.load {
            LoadModel::Open { wait_max_ns, .. } => {
                // Scenarios do not share their chance: two of the same rate would start in step.
                let seed = seed.wrapping_add(index as u64);
                (Some(Starts::new(&scenario.load, seed, thread.number, thread.threads)), *wait_max_ns)
            }
            _ => (None, Nanos::ZERO),
        };
        let mut starts = Self {
            begin: scenario.start,
            end: if starts.is_some() { scenario.end() } else { Nanos::ZERO },
            wait_max,
            starts,
            next: None,
            free: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        starts.advance();
        starts
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

    fn advance(&mut self) {
        let next = self.starts.as_mut().and_then(Iterator::next);
        self.next = next.map(|(_, due)| self.begin.plus(due));
    }
}

impl Worker<'_> {
    pub(super) fn serve_starts(&mut self, now: Nanos) -> Result<(), WorkerError> {
        for scenario in 0..self.open.len() {
            while let Some(due) = self.open[scenario].next.filter(|due| *due <= now) {
                if self.is_stopping {
                    self.open[scenario].next = None;
                    break;
                }
                self.open[scenario].advance();
                self.serve_start(scenario, due)?;
            }
            self.drop_late_starts(scenario, now);
        }
        Ok(())
    }

    fn serve_start(&mut self, scenario: usize, due: Nanos) -> Result<(), WorkerError> {
        self.tally.starts_at(self.shared.windows, due, scenario).due += 1;
        let open = &mut self.open[scenario];
        let Some(user) = open.free.pop_front() else {
            if open.wait_max == Nanos::ZERO {
                self.count_dropped(scenario, due);
            } else {
                open.waiting.push_back(due);
            }
            return Ok(());
        };
        let now = self.now();
        self.tally.lateness.record(now.since(due));
        self.alive += 1;
        self.begin_iteration(user, due, now)
    }

    fn drop_late_starts(&mut self, scenario: usize, now: Nanos) {
        let wait_max = self.open[scenario].wait_max;
        while let Some(due) = self.open[scenario].waiting.front().copied()
            && now.since(due) > wait_max
        {
            self.open[scenario].waiting.pop_front();
            self.count_dropped(scenario, due);
        }
    }

    /// The run is over: what has waited until now is not started any more.
    pub(super) fn drop_waiting_starts(&mut self) {
        for scenario in 0..self.open.len() {
            while let Some(due) = self.open[scenario].waiting.pop_front() {
                self.count_dropped(scenario, due);
            }
        }
    }

    fn count_dropped(&mut self, scenario: usize, due: Nanos) {
        self.tally.starts_at(self.shared.windows, due, scenario).dropped += 1;
        self.tally.interval_dropped += 1;
    }

    /// A start that has waited for a user, if any has and the run is not over; else the user is free.
    pub(super) fn take_waiting(&mut self, user: u32, now: Nanos) -> Option<Nanos> {
        let scenario = self.users[user as usize].place.scenario;
        self.drop_late_starts(scenario, now);
        let is_over = now >= self.end || self.is_stopping;
        if !is_over && let Some(due) = self.open[scenario].waiting.pop_front() {
            self.tally.starts_at(self.shared.windows, due, scenario).waited += 1;
            return Some(due);
        }
        self.users[user as usize].state = State::Free;
        self.open[scenario].free.push_back(user);
        self.alive -= 1;
        None
    }
}
