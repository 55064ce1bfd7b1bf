//! Users of programs that wait: what they hear, when they are woken, and what is dropped when an iteration ends.

use super::{Worker, WorkerError};
use crate::alarm::Alarm;
use crate::user::State;
use prony_model::Nanos;
use prony_model::program::Event;
use prony_model::program::call::News;

impl Worker<'_> {
    /// The user's program goes on when something comes, or after this time.
    pub(super) fn listen(&mut self, user: u32, time: Option<Nanos>) {
        let now = self.now();
        let entry = &mut self.users[user as usize];
        if !matches!(entry.state, State::Listening) {
            entry.state = State::Listening;
            self.listening += 1;
        }
        entry.has_sent = true;
        entry.wake_at = time.map_or(Nanos::MAX, |time| now.plus(time));
        if entry.wake_at < Nanos::MAX {
            entry.wake_alarm.set(&mut self.timers, entry.wake_at, (Alarm::Wake, user));
        }
    }

    pub(super) fn wake(&mut self, user: u32, at: Nanos, now: Nanos) -> Result<(), WorkerError> {
        let entry = &mut self.users[user as usize];
        if !entry.wake_alarm.rings(at) || !matches!(entry.state, State::Listening) {
            return Ok(());
        }
        if entry.wake_at > now {
            if entry.wake_at < Nanos::MAX {
                entry.wake_alarm.set(&mut self.timers, entry.wake_at, (Alarm::Wake, user));
            }
            return Ok(());
        }
        self.tally.lateness.record(now.since(entry.wake_at));
        self.tell(user, News::Woken)
    }

    /// The user's program hears of something, and says what comes next.
    pub(super) fn tell(&mut self, user: u32, news: News<'_>) -> Result<(), WorkerError> {
        let entry = &mut self.users[user as usize];
        if !matches!(entry.state, State::Listening) {
            return Ok(());
        }
        entry.wake_at = Nanos::MAX;
        let (place, due) = (entry.place, entry.iteration_due);
        self.outgoing.clear();
        let step = self.program.hear(place, news, &mut self.outgoing)?;
        let now = self.now();
        match self.take_step(user, step, due, now)? {
            Some(due) => self.advance(user, Event::Begin, due, now),
            None => Ok(()),
        }
    }

    // ---- grace

    /// Sets the moment at which the iteration that now begins is interrupted at the latest.
    pub(super) fn bound_iteration(&mut self, user: u32) {
        let entry = &self.users[user as usize];
        if self.shared.plan.scenarios()[entry.place.scenario].is_script() {
            let at = self.grace_end(user);
            let entry = &mut self.users[user as usize];
            entry.interrupt_alarm.set(&mut self.timers, at, (Alarm::Interrupt, user));
        }
    }

    /// Until when the user's iteration may go on.
    fn grace_end(&self, user: u32) -> Nanos {
        let entry = &self.users[user as usize];
        let scenario = &self.shared.plan.scenarios()[entry.place.scenario];
        let by_scenario = scenario.end().plus(scenario.grace.stop);
        match scenario.grace.ramp_down {
            Some(grace) if entry.active_until < scenario.end() => {
                by_scenario.min(entry.active_until.plus(grace))
            }
            _ => by_scenario,
        }
    }

    pub(super) fn check_grace(&mut self, user: u32, at: Nanos, now: Nanos) -> Result<(), WorkerError> {
        let entry = &self.users[user as usize];
        let is_listening = matches!(entry.state, State::Listening);
        let is_closed = !self.open[entry.place.scenario].is_open();
        if !self.users[user as usize].interrupt_alarm.rings(at) || !is_listening {
            return Ok(());
        }
        // A ramp may have called the user back before its iteration was over.
        if is_closed && let Some((from, until)) = self.activity_at(user, now).filter(|(from, _)| *from <= now)
        {
            let entry = &mut self.users[user as usize];
            (entry.active_from, entry.active_until) = (from, until);
        }
        let end = self.grace_end(user);
        if end > now {
            let entry = &mut self.users[user as usize];
            entry.interrupt_alarm.set(&mut self.timers, end, (Alarm::Interrupt, user));
            return Ok(());
        }
        self.interrupt(user)?;
        if is_closed {
            self.plan_activity(user, now);
        } else {
            self.leave(user);
        }
        Ok(())
    }

    /// The user's program ends its iteration without waiting for anything. It does not count as completed.
    fn interrupt(&mut self, user: u32) -> Result<(), WorkerError> {
        self.outgoing.clear();
        let place = self.users[user as usize].place;
        self.program.hear(place, News::Interrupted, &mut self.outgoing)?;
        self.drop_asked(user);
        Ok(())
    }

    /// The run is over: whoever still waits hears of it.
    pub(super) fn interrupt_all(&mut self) -> Result<(), WorkerError> {
        for user in 0..self.users.len() as u32 {
            if matches!(self.users[user as usize].state, State::Listening) {
                self.interrupt(user)?;
                self.leave(user);
            }
        }
        Ok(())
    }

    // ---- drop

    pub(super) fn stop_listening(&mut self, user: u32) {
        let entry = &mut self.users[user as usize];
        if matches!(entry.state, State::Listening) {
            entry.state = State::Free;
            self.listening -= 1;
        }
    }

    /// The iteration is over: nothing is heard any more of what its user has open.
    pub(super) fn drop_asked(&mut self, user: u32) {
        self.stop_listening(user);
        while let Some(call) = self.calls.any_of(user) {
            self.drop_call(call);
        }
        self.drop_sockets(user);
    }
}
