//! Users of programs that wait: what they hear, when they are woken, and what is dropped when an iteration ends.

use super::{Worker, WorkerError};
use crate::timers::Alarm;
use crate::user::State;
use prony_load_model::Nanos;
use prony_load_model::call::News;
use prony_load_model::program::Event;

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
            entry.wake_alarm.set(&mut self.timers, entry.wake_at, Alarm::Wake, user);
        }
    }

    pub(super) fn wake(&mut self, user: u32, at: Nanos, now: Nanos) -> Result<(), WorkerError> {
        let entry = &mut self.users[user as usize];
        if !entry.wake_alarm.rings(at) || !matches!(entry.state, State::Listening) {
            return Ok(());
        }
        if entry.wake_at > now {
            if entry.wake_at < Nanos::MAX {
                entry.wake_alarm.set(&mut self.timers, entry.wake_at, Alarm::Wake, user);
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
    }
}
