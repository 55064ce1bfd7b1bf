//! Users of programs that wait: when they are woken, and how long an iteration may go on.

use super::{Action, Alarm, UserIndex, UserMachine};
use crate::recorder::Recorder;
use crate::users::user::State;
use prony_model::Nanos;
use prony_model::program::UserPlace;

impl UserMachine<'_> {
    /// The user's program goes on when something comes, or after this time.
    pub(super) fn listen(&mut self, user: UserIndex, time: Option<Nanos>, now: Nanos) {
        let entry = &mut self.users[user.0 as usize];
        if entry.state != State::Listening {
            entry.state = State::Listening;
            self.listening += 1;
        }
        entry.has_sent = true;
        entry.wake_at = time.map_or(Nanos::MAX, |time| now.plus(time));
        if entry.wake_at < Nanos::MAX {
            entry.wake_alarm.set(&mut self.timers, entry.wake_at, (Alarm::Wake, user));
        }
    }

    pub(super) fn wake(&mut self, user: UserIndex, at: Nanos, now: Nanos, recorder: &mut Recorder<'_>) {
        let entry = &mut self.users[user.0 as usize];
        if !entry.wake_alarm.rings(at) || entry.state != State::Listening {
            return;
        }
        if entry.wake_at > now {
            if entry.wake_at < Nanos::MAX {
                entry.wake_alarm.set(&mut self.timers, entry.wake_at, (Alarm::Wake, user));
            }
            return;
        }
        recorder.late(now.since(entry.wake_at));
        self.actions.push_back(Action::Wake { user });
    }

    /// The user's program is about to hear of something: when its iteration was due; nothing where it does not wait.
    pub(crate) fn begin_event(&mut self, user: UserIndex) -> Option<Nanos> {
        let entry = self.user(user);
        if entry.state != State::Listening {
            return None;
        }
        entry.wake_at = Nanos::MAX;
        Some(entry.iteration_due)
    }

    pub(super) fn stop_listening(&mut self, user: UserIndex) {
        let entry = self.user(user);
        if entry.state == State::Listening {
            entry.state = State::Free;
            self.listening -= 1;
        }
    }

    /// As long as the iteration waited for its user, its first call has waited too.
    pub(crate) fn take_start_lag(&mut self, user: UserIndex) -> Nanos {
        let entry = self.user(user);
        entry.has_sent = true;
        std::mem::take(&mut entry.start_lag)
    }

    /// The user's program asks for something beside its step.
    pub(crate) fn note_open(&mut self, user: UserIndex) {
        self.user(user).has_open = true;
    }

    // ---- grace

    /// Sets the moment at which the iteration that now begins is interrupted at the latest.
    pub(super) fn bound_iteration(&mut self, user: UserIndex) {
        if self.has_scripts && self.plan.scenarios()[self.place_of(user).scenario].is_script() {
            let at = self.grace_end(user);
            self.set_interrupt(user, at);
        }
    }

    /// How long the iteration that the user now begins may take at most; none where nothing in it computes.
    pub(crate) fn time_left(&self, user: UserIndex, now: Nanos) -> Option<Nanos> {
        if !self.has_scripts {
            return None;
        }
        let entry = &self.users[user.0 as usize];
        let scenario = &self.plan.scenarios()[entry.place.scenario];
        if !scenario.is_script() {
            return None;
        }
        let by_scenario = scenario.end().plus(scenario.grace.stop);
        let mut end = self.grace_end(user);
        while end < by_scenario {
            // A ramp may call the user back before that.
            let Some((_, until)) = self.activity_at(user, end).filter(|(from, _)| *from <= end) else {
                break;
            };
            end = self.grace_after(entry.place, until);
        }
        Some(end.since(now))
    }

    fn set_interrupt(&mut self, user: UserIndex, at: Nanos) {
        let entry = &mut self.users[user.0 as usize];
        entry.interrupt_alarm.set(&mut self.timers, at, (Alarm::Interrupt, user));
    }

    /// Until when the user's iteration may go on.
    fn grace_end(&self, user: UserIndex) -> Nanos {
        let entry = &self.users[user.0 as usize];
        self.grace_after(entry.place, entry.active_until)
    }

    /// Until when an iteration may go on that began in an activity with this end.
    fn grace_after(&self, place: UserPlace, active_until: Nanos) -> Nanos {
        let scenario = &self.plan.scenarios()[place.scenario];
        let by_scenario = scenario.end().plus(scenario.grace.stop);
        // A ramp may take it away at the very end.
        let is_taken =
            || active_until < scenario.end() || self.number_of(place) >= scenario.load.users.last();
        match scenario.grace.ramp_down {
            Some(grace) if is_taken() => by_scenario.min(active_until.plus(grace)),
            _ => by_scenario,
        }
    }

    pub(super) fn check_grace(&mut self, user: UserIndex, at: Nanos, now: Nanos) {
        let entry = self.user(user);
        let (scenario, is_listening) = (entry.place.scenario, entry.state == State::Listening);
        if !entry.interrupt_alarm.rings(at) || !is_listening {
            return;
        }
        let is_closed = !self.arrivals[scenario].is_open();
        // A ramp may have called the user back before its iteration was over.
        if is_closed && let Some((from, until)) = self.activity_at(user, now).filter(|(from, _)| *from <= now)
        {
            let entry = self.user(user);
            (entry.active_from, entry.active_until) = (from, until);
        }
        let end = self.grace_end(user);
        if end > now {
            self.set_interrupt(user, end);
            return;
        }
        self.actions.push_back(Action::Interrupt { user });
        self.end_interrupted(user, now);
    }

    /// The user's iteration has had no more time, and does not count as completed.
    pub(super) fn end_interrupted(&mut self, user: UserIndex, now: Nanos) {
        if self.arrivals[self.place_of(user).scenario].is_open() {
            self.leave(user);
        } else {
            self.abandon(user);
            self.plan_activity(user, now, now);
        }
    }
}
