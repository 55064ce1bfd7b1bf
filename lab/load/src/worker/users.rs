//! What a user does next: its iterations under its load model and pacing, and the steps of its program within one.

use super::{Worker, WorkerError};
use crate::alarm::Alarm;
use crate::user::{State, User};
use prony_model::program::{Event, Step};
use prony_model::{LoadModel, Nanos, TransportError};
use std::sync::atomic::Ordering;

/// An iteration that sent nothing is followed by the next one after this time: it must not spin.
const IDLE_PAUSE: Nanos = Nanos::from_millis(1);
/// A user that could not connect waits this long: trying again at once would only burn processors.
const CONNECT_RETRY_PAUSE: Nanos = Nanos::from_millis(100);

impl Worker<'_> {
    /// Users in an iteration or between two; of those that serve starts, the busy ones.
    pub(super) fn users_active(&self) -> u32 {
        let now = self.now();
        let is_active = |user: &&User| {
            !matches!(user.state, State::Gone | State::Departing | State::Free) && user.active_from <= now
        };
        self.users.iter().filter(is_active).count() as u32
    }

    /// Sets the user's next iteration at `at`, or in its next activity where none holds `at`.
    pub(super) fn plan_activity(&mut self, user: u32, at: Nanos) {
        match self.activity_at(user, at) {
            None => self.depart(user),
            Some((start, stop)) => {
                let entry = &mut self.users[user as usize];
                (entry.active_from, entry.active_until) = (start, stop);
                self.wait_for_iteration(user, at.max(start));
            }
        }
    }

    /// The span of the user's activity that holds `at`, or the first after it.
    pub(super) fn activity_at(&self, user: u32, at: Nanos) -> Option<(Nanos, Nanos)> {
        let place = self.users[user as usize].place;
        let scenario = &self.shared.plan.scenarios()[place.scenario];
        let first = self.first_user_of(place.scenario);
        let activities = scenario.load.activities_of(place.number - first).into_iter();
        activities
            .map(|activity| (scenario.start.plus(activity.start), scenario.start.plus(activity.stop)))
            .find(|(_, stop)| at < *stop)
    }

    fn first_user_of(&self, scenario: usize) -> u32 {
        self.shared.plan.scenarios()[..scenario].iter().map(|before| before.load.users_max()).sum()
    }

    fn wait_for_iteration(&mut self, user: u32, due: Nanos) {
        let entry = &mut self.users[user as usize];
        entry.state = State::Waiting;
        entry.iteration_due = due;
        self.timers.set(due, (Alarm::Act, user));
    }

    /// The user makes no more iterations, and leaves when its scenario's time is over: windows last as long as the plan
    /// says.
    fn depart(&mut self, user: u32) {
        let end = self.shared.plan.scenarios()[self.users[user as usize].place.scenario].end();
        if self.now() >= end {
            return self.leave(user);
        }
        self.users[user as usize].state = State::Departing;
        self.timers.set(end, (Alarm::Act, user));
    }

    /// The user makes no more iterations.
    pub(super) fn leave(&mut self, user: u32) {
        self.drop_asked(user);
        self.calls.close_idle(user);
        self.users[user as usize].state = State::Gone;
        self.alive -= 1;
    }

    /// An alarm of a user that was waiting for this moment.
    pub(super) fn act(&mut self, user: u32, at: Nanos) -> Result<(), WorkerError> {
        let now = self.now();
        match self.users[user as usize].state {
            State::Waiting => {
                self.tally.lateness.record(now.since(at));
                self.begin_iteration(user, at, now)
            }
            State::Paused => {
                self.tally.lateness.record(now.since(at));
                self.advance(user, Event::Paused, at, now)
            }
            State::Failed(error) => self.advance(user, Event::Failed(error), now, now),
            State::Departing => {
                self.leave(user);
                Ok(())
            }
            State::Free | State::Exchanging(_) | State::Listening | State::Gone => Ok(()),
        }
    }

    pub(super) fn begin_iteration(&mut self, user: u32, due: Nanos, now: Nanos) -> Result<(), WorkerError> {
        if self.enter_iteration(user, due, now) {
            return self.advance(user, Event::Begin, due, now);
        }
        self.leave(user);
        Ok(())
    }

    /// False where the run or the load model has no iteration left. A start of an open model was due before its end and
    /// begins after it too, where the thread was kept from it: late, not unseen.
    fn enter_iteration(&mut self, user: u32, due: Nanos, now: Nanos) -> bool {
        let scenario = self.users[user as usize].place.scenario;
        let is_too_late = now >= self.end && !self.open[scenario].is_open();
        if is_too_late || self.is_stopping || !self.take_from_pot(user) {
            return false;
        }
        let entry = &mut self.users[user as usize];
        entry.iteration_due = due;
        entry.has_sent = false;
        let counts = self.tally.starts_at(self.shared.windows, due, scenario);
        counts.started += 1;
        if self.open[scenario].is_open() {
            entry.start_lag = now.since(due);
        } else {
            counts.due += 1;
        }
        self.bound_iteration(user);
        true
    }

    fn take_from_pot(&self, user: u32) -> bool {
        let scenario = self.users[user as usize].place.scenario;
        if !matches!(self.shared.plan.scenarios()[scenario].load, LoadModel::SharedIterations { .. }) {
            return true;
        }
        let pot = &self.shared.pots[scenario];
        pot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Asks the program for the user's next steps until it has to wait for something.
    pub(super) fn advance(
        &mut self,
        user: u32,
        mut event: Event,
        mut due: Nanos,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        loop {
            if event != Event::Begin && (now >= self.end || self.is_stopping) {
                self.leave(user);
                return Ok(());
            }
            self.outgoing.clear();
            let place = self.users[user as usize].place;
            let step = self.program.next(place, event, &mut self.outgoing)?;
            match self.take_step(user, step, due, now)? {
                Some(next_due) => (event, due) = (Event::Begin, next_due),
                None => return Ok(()),
            }
        }
    }

    /// What the program wants of its user; when the next iteration is due, where that begins at once.
    pub(super) fn take_step(
        &mut self,
        user: u32,
        step: Step,
        due: Nanos,
        now: Nanos,
    ) -> Result<Option<Nanos>, WorkerError> {
        self.begin_asks(user, step)?;
        match step {
            Step::Send => {
                self.stop_listening(user);
                self.send(user, due, now)?;
            }
            Step::Pause(time) => {
                self.stop_listening(user);
                self.users[user as usize].state = State::Paused;
                self.timers.set(now.plus(time), (Alarm::Act, user));
            }
            Step::Wait(time) => self.listen(user, time),
            Step::EndIteration => return Ok(self.end_iteration(user, now)),
            Step::Leave => self.leave(user),
            Step::StopThread => {
                self.is_stopping = true;
                self.leave(user);
            }
        }
        Ok(None)
    }

    /// Ends the iteration; when the next one is due, where that begins at once.
    fn end_iteration(&mut self, user: u32, now: Nanos) -> Option<Nanos> {
        self.drop_asked(user);
        let entry = &mut self.users[user as usize];
        let (scenario, iteration_due) = (entry.place.scenario, entry.iteration_due);
        entry.iterations_left = entry.iterations_left.saturating_sub(1);
        let is_last = entry.iterations_left == 0;
        self.tally.starts_at(self.shared.windows, iteration_due, scenario).completed += 1;
        let due = if self.open[scenario].is_open() {
            self.take_waiting(user, now)?
        } else if is_last {
            self.leave(user);
            return None;
        } else {
            self.paced_due(user, now)?
        };
        if self.enter_iteration(user, due, now) {
            return Some(due);
        }
        self.leave(user);
        None
    }

    /// When the next iteration of a user with a rhythm of its own is due; nothing where it has to wait for that.
    fn paced_due(&mut self, user: u32, now: Nanos) -> Option<Nanos> {
        let entry = &mut self.users[user as usize];
        let scenario = &self.shared.plan.scenarios()[entry.place.scenario];
        let due = scenario.pacing.next_due(entry.iteration_due, now, &mut entry.random);
        // A script computes, so it need not rest; but others have their turn before its next iteration.
        let pause = if scenario.is_script() { Nanos::ZERO } else { IDLE_PAUSE };
        let is_idle = !entry.has_sent;
        let due = if is_idle { due.max(now.plus(pause)) } else { due };
        if due >= entry.active_until {
            self.plan_activity(user, due);
            return None;
        }
        if due > now || is_idle {
            self.wait_for_iteration(user, due);
            return None;
        }
        Some(due)
    }

    /// The user's program hears of the failure: at once, or after a pause where the target could not be reached.
    pub(super) fn after_failure(
        &mut self,
        user: u32,
        error: TransportError,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        if matches!(error, TransportError::Connect | TransportError::Tls) {
            self.users[user as usize].state = State::Failed(error);
            self.timers.set(now.plus(CONNECT_RETRY_PAUSE), (Alarm::Act, user));
            return Ok(());
        }
        self.advance(user, Event::Failed(error), now, now)
    }
}
