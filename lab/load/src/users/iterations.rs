//! What a user does next: its iterations under its load model and pacing, and the steps of its program within one.

use super::{Action, Alarm, AskReason, UserIndex, UserMachine};
use crate::recorder::Recorder;
use crate::users::user::State;
use prony_model::program::{Step, UserPlace};
use prony_model::{Nanos, TransportError};
use std::sync::atomic::Ordering;

/// An iteration that sent nothing is followed by the next one after this time: it must not spin.
const IDLE_PAUSE: Nanos = Nanos::from_millis(1);
/// A user that could not connect waits this long: trying again at once would only burn processors.
const CONNECT_RETRY_PAUSE: Nanos = Nanos::from_millis(100);

impl UserMachine<'_> {
    // ---- activity

    /// Sets the user's next iteration at `at`, or in its next activity where none holds `at`.
    pub(super) fn plan_activity(&mut self, user: UserIndex, at: Nanos, now: Nanos) {
        match self.activity_at(user, at) {
            None => self.depart(user, now),
            Some((start, stop)) => {
                let entry = self.user(user);
                (entry.active_from, entry.active_until) = (start, stop);
                self.wait_for_iteration(user, at.max(start));
            }
        }
    }

    /// The span of the user's activity that holds `at`, or the first after it.
    pub(super) fn activity_at(&self, user: UserIndex, at: Nanos) -> Option<(Nanos, Nanos)> {
        let place = self.place_of(user);
        let scenario = &self.plan.scenarios()[place.scenario];
        let activities = scenario.load.activities_of(self.number_of(place)).into_iter();
        activities
            .map(|activity| (scenario.start.plus(activity.start), scenario.start.plus(activity.stop)))
            .find(|(_, stop)| at < *stop)
    }

    /// The user's number among those of its scenario, from 0.
    pub(super) fn number_of(&self, place: UserPlace) -> u32 {
        let before = &self.plan.scenarios()[..place.scenario];
        place.number - before.iter().map(|before| before.load.users_max()).sum::<u32>()
    }

    fn wait_for_iteration(&mut self, user: UserIndex, due: Nanos) {
        let entry = self.user(user);
        entry.state = State::Waiting;
        entry.iteration_due = due;
        self.timers.set(due, (Alarm::Act, user));
    }

    /// The user makes no more iterations, and leaves when its scenario's time is over: windows last as long as the plan
    /// says.
    fn depart(&mut self, user: UserIndex, now: Nanos) {
        let end = self.plan.scenarios()[self.place_of(user).scenario].end();
        if now >= end {
            return self.leave(user);
        }
        self.user(user).state = State::Departing;
        self.timers.set(end, (Alarm::Act, user));
    }

    /// The user makes no more iterations.
    pub(super) fn leave(&mut self, user: UserIndex) {
        self.abandon(user);
        self.actions.push_back(Action::Leave { user });
        let entry = self.user(user);
        entry.state = State::Gone;
        let scenario = entry.place.scenario;
        self.alive -= 1;
        if self.arrivals[scenario].is_open() {
            self.exchange.user_left(scenario);
        }
    }

    /// The iteration is over: what its user has open is dropped.
    pub(super) fn abandon(&mut self, user: UserIndex) {
        self.stop_listening(user);
        if std::mem::take(&mut self.user(user).has_open) {
            self.actions.push_back(Action::Abandon { user });
        }
    }

    /// An alarm of a user that was waiting for this moment.
    pub(super) fn act(&mut self, user: UserIndex, at: Nanos, now: Nanos, recorder: &mut Recorder<'_>) {
        match self.user(user).state {
            State::Waiting => {
                recorder.late(now.since(at));
                self.begin_iteration(user, at, now, recorder);
            }
            State::Paused => {
                recorder.late(now.since(at));
                self.ask(user, AskReason::Paused, at, now);
            }
            State::Resting => {
                recorder.late(now.since(at));
                if now >= self.end || self.is_stopping {
                    self.leave(user);
                } else {
                    self.end_iteration(user, now, recorder);
                }
            }
            State::Failed(error) => self.ask(user, AskReason::Failed(error), now, now),
            State::Departing => self.leave(user),
            State::Free | State::Requesting { .. } | State::Listening | State::Gone => {}
        }
    }

    // ---- begin

    pub(super) fn begin_iteration(
        &mut self,
        user: UserIndex,
        due: Nanos,
        now: Nanos,
        recorder: &mut Recorder<'_>,
    ) {
        if self.enter_iteration(user, due, now, recorder) {
            self.actions.push_back(Action::Ask { user, reason: AskReason::Begin, due, now });
        } else {
            self.leave(user);
        }
    }

    /// False where the run or the load model has no iteration left. A start of an open model was due before its end and
    /// begins after it too, where the thread was kept from it: late, not unseen.
    fn enter_iteration(
        &mut self,
        user: UserIndex,
        due: Nanos,
        now: Nanos,
        recorder: &mut Recorder<'_>,
    ) -> bool {
        let scenario = self.place_of(user).scenario;
        let is_open = self.arrivals[scenario].is_open();
        let is_too_late = now >= self.end && !is_open;
        if is_too_late || self.is_stopping || !self.take_from_budget(scenario) {
            return false;
        }
        let entry = self.user(user);
        (entry.iteration_due, entry.iteration_began, entry.has_sent) = (due, now, false);
        let counts = recorder.starts_at(due, scenario);
        counts.started += 1;
        if is_open {
            entry.start_lag = now.since(due);
        } else {
            counts.due += 1;
        }
        self.bound_iteration(user);
        true
    }

    fn take_from_budget(&self, scenario: usize) -> bool {
        if self.plan.scenarios()[scenario].load.budget.shared().is_none() {
            return true;
        }
        let budget = &self.budgets[scenario];
        budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    // ---- within

    /// Has the program asked for the user's next step, unless the run is over.
    fn ask(&mut self, user: UserIndex, reason: AskReason, due: Nanos, now: Nanos) {
        if now >= self.end || self.is_stopping {
            return self.leave(user);
        }
        self.actions.push_back(Action::Ask { user, reason, due, now });
    }

    /// What the program wants of its user; `requests`: how many it sends.
    pub(crate) fn on_step(
        &mut self,
        user: UserIndex,
        step: Step,
        requests: u32,
        now: Nanos,
        recorder: &mut Recorder<'_>,
    ) {
        match step {
            Step::Send => {
                self.stop_listening(user);
                let entry = self.user(user);
                entry.has_sent = true;
                entry.state = State::Requesting { open: requests, failure: None };
            }
            Step::Pause(time) => {
                self.stop_listening(user);
                self.user(user).state = State::Paused;
                self.timers.set(now.plus(time), (Alarm::Act, user));
            }
            Step::Wait(time) => self.listen(user, time, now),
            Step::EndIteration => self.end_or_rest(user, now, recorder),
            Step::EndInterrupted => self.end_interrupted(user, now),
            Step::Leave => self.leave(user),
            Step::StopThread => {
                self.is_stopping = true;
                self.leave(user);
                self.leave_exchange(now, recorder);
            }
        }
    }

    /// One of the requests of the last step has come to its end. The program goes on once all have: after a failure to
    /// connect only after a pause.
    pub(crate) fn on_request_end(&mut self, user: UserIndex, error: Option<TransportError>, now: Nanos) {
        let entry = self.user(user);
        let State::Requesting { open, failure } = &mut entry.state else { return };
        *open -= 1;
        *failure = error.or(*failure);
        if *open > 0 {
            return;
        }
        match *failure {
            None => {
                entry.state = State::Free;
                self.ask(user, AskReason::Answered, now, now);
            }
            Some(error @ (TransportError::Connect | TransportError::Tls)) => {
                entry.state = State::Failed(error);
                self.timers.set(now.plus(CONNECT_RETRY_PAUSE), (Alarm::Act, user));
            }
            Some(error) => {
                entry.state = State::Free;
                self.ask(user, AskReason::Failed(error), now, now);
            }
        }
    }

    // ---- end

    /// Ends the iteration, not before it has lasted as long as its scenario says.
    fn end_or_rest(&mut self, user: UserIndex, now: Nanos, recorder: &mut Recorder<'_>) {
        let entry = &self.users[user.0 as usize];
        let until = entry.iteration_began.plus(self.plan.scenarios()[entry.place.scenario].iteration_min);
        if until <= now {
            return self.end_iteration(user, now, recorder);
        }
        self.abandon(user);
        self.user(user).state = State::Resting;
        self.timers.set(until, (Alarm::Act, user));
    }

    /// Ends the iteration; where the next one is due at once, it begins.
    fn end_iteration(&mut self, user: UserIndex, now: Nanos, recorder: &mut Recorder<'_>) {
        self.abandon(user);
        let entry = self.user(user);
        let (scenario, iteration_due) = (entry.place.scenario, entry.iteration_due);
        let took = now.since(entry.iteration_began);
        entry.iterations_left = entry.iterations_left.saturating_sub(1);
        let is_last = entry.iterations_left == 0;
        let counts = recorder.starts_at(iteration_due, scenario);
        counts.completed += 1;
        counts.users_busy_ns = counts.users_busy_ns.plus(took);
        let due = if self.arrivals[scenario].is_open() {
            self.take_waiting(user, now, recorder)
        } else if is_last {
            self.leave(user);
            None
        } else {
            self.paced_due(user, now)
        };
        if let Some(due) = due {
            self.begin_iteration(user, due, now, recorder);
        }
    }

    /// When the next iteration of a user with a rhythm of its own is due; nothing where it has to wait for that.
    fn paced_due(&mut self, user: UserIndex, now: Nanos) -> Option<Nanos> {
        let entry = &mut self.users[user.0 as usize];
        let scenario = &self.plan.scenarios()[entry.place.scenario];
        let due = scenario.pacing.next_due(entry.iteration_due, now, &mut entry.random);
        // A script computes, so it need not rest; but others have their turn before its next iteration.
        let pause = if scenario.is_script() { Nanos::ZERO } else { IDLE_PAUSE };
        let is_idle = !entry.has_sent;
        let due = if is_idle { due.max(now.plus(pause)) } else { due };
        if due >= entry.active_until {
            self.plan_activity(user, due, now);
            return None;
        }
        if due > now || is_idle {
            self.wait_for_iteration(user, due);
            return None;
        }
        Some(due)
    }
}
