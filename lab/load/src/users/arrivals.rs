//! Starts of open models, and which user takes them: any that is free when a start is due, one of its own thread before those
//! of others; else the first that becomes free on any thread, or none in time. Nothing else decides it.
//!
//! Each thread has its share of the starts. A start for which it has no free user goes to a thread that has one, by the
//! [`super::StartExchange`]; the hand-over takes as long as it takes to wake that thread, and counts as the start's own lateness.

#[cfg(test)]
mod tests;

use super::exchange::{HandedStart, Readiness};
use super::{UserIndex, UserMachine};
use crate::recorder::Recorder;
use crate::users::user::State;
use prony_model::plan::scenario::Scenario;
use prony_model::program::ThreadPlace;
use prony_model::{Nanos, StartShare, Starts};
use std::collections::VecDeque;

/// The starts of one scenario that fall to one thread, and its users that are free to take some.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Due times are counted from here.
    begin: Nanos,
    /// Of its time; zero where it has no starts at all.
    end: Nanos,
    wait_max: Nanos,
    starts: Option<Starts>,
    next: Option<Nanos>,
    /// Users without a start, the longest idle first: all connections stay in use. As many as the exchange knows of, and
    /// those that were claimed for starts on their way from other threads.
    free: VecDeque<UserIndex>,
    /// Those that are not ready, as they are numbered.
    unready: VecDeque<UserIndex>,
    /// The number of the scenario's first user, in the whole run, that is not ready from the beginning.
    first_unready: u32,
}

impl Arrivals {
    /// `first_user`: the number of the scenario's first user.
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        seed: u64,
        thread: ThreadPlace,
        first_user: u32,
    ) -> Self {
        let (load, wait_max) = (&scenario.load, scenario.load.arrivals.as_ref().map(|open| open.wait_max));
        let starts = load.is_open().then(|| {
            // Scenarios do not share their chance: two of the same rate would start in step.
            let seed = seed.wrapping_add(index as u64);
            let share = StartShare::of_users(thread.number, thread.threads, first_user, load.users_max());
            Starts::new(load, seed, share)
        });
        let first_unready = first_user.saturating_add(scenario.users_ready);
        let end = if starts.is_some() { scenario.end() } else { Nanos::ZERO };
        let mut arrivals = Self {
            begin: scenario.start,
            end,
            wait_max: wait_max.unwrap_or_default(),
            starts,
            next: None,
            free: VecDeque::new(),
            unready: VecDeque::new(),
            first_unready,
        };
        arrivals.advance();
        arrivals
    }

    pub(super) fn is_open(&self) -> bool {
        self.starts.is_some()
    }

    /// Until then the thread may have users without a start, and starts may come from other threads.
    pub(super) fn end(&self) -> Nanos {
        self.end
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

    fn advance(&mut self) {
        let next = self.starts.as_mut().and_then(Iterator::next);
        self.next = next.map(|(_, due)| self.begin.plus(due));
    }
}

impl UserMachine<'_> {
    /// Serves a start that was handed over, or the next that is due; without one, drops those that have waited too long.
    pub(super) fn serve_start(&mut self, now: Nanos, recorder: &mut Recorder<'_>) -> bool {
        if let Some(start) = self.exchange.take_handed(self.thread) {
            self.take_over(start, now, recorder);
            return true;
        }
        for open in 0..self.open.len() {
            let scenario = self.open[open];
            // Also while further ones are due: no more wait than come in the longest wait.
            self.drop_expired(scenario, now, recorder);
            if let Some(due) = self.arrivals[scenario].take_due(now) {
                recorder.starts_at(due, scenario).due += 1;
                self.assign(scenario, due, now, recorder);
                if self.arrivals[scenario].next.is_none() {
                    self.exchange.starts_over(scenario);
                }
                return true;
            }
        }
        false
    }

    /// Starts before this moment are made by others.
    pub(super) fn skip_starts(&mut self, from: Nanos) {
        for (scenario, arrivals) in self.arrivals.iter_mut().enumerate() {
            let had_some = arrivals.next.is_some();
            while arrivals.next.is_some_and(|due| due < from) {
                arrivals.advance();
            }
            if had_some && arrivals.next.is_none() {
                self.exchange.starts_over(scenario);
            }
        }
    }

    /// The thread's part in the starts of all scenarios begins.
    pub(super) fn enter_exchange(&self) {
        for (scenario, arrivals) in self.arrivals.iter().enumerate() {
            if arrivals.next.is_none() {
                self.exchange.starts_over(scenario);
            }
        }
    }

    /// No further start falls to this thread, and it takes none from others.
    pub(super) fn leave_exchange(&mut self, now: Nanos, recorder: &mut Recorder<'_>) {
        for scenario in 0..self.arrivals.len() {
            self.arrivals[scenario].free.clear();
            self.arrivals[scenario].unready.clear();
            if self.arrivals[scenario].next.take().is_some() {
                self.exchange.starts_over(scenario);
            }
        }
        for HandedStart { scenario, due, .. } in self.exchange.close(self.thread) {
            self.assign(scenario, due, now, recorder);
        }
    }

    /// True where nobody will take a start of this scenario any more.
    pub(super) fn is_done(&self, scenario: usize, now: Nanos) -> bool {
        let arrivals = &self.arrivals[scenario];
        let is_over = self.exchange.has_no_starts(scenario)
            && !self.exchange.has_waiting(scenario)
            && now >= arrivals.end();
        is_over || arrivals.is_open() && !self.exchange.has_users(scenario)
    }

    /// True where starts were due before the end that some thread was kept from: they are late, not unseen.
    pub(super) fn owes_starts(&self) -> bool {
        (0..self.arrivals.len()).any(|scenario| !self.exchange.has_no_starts(scenario))
    }

    // ---- who takes it

    /// Finds a user for a start of this thread.
    fn assign(&mut self, scenario: usize, due: Nanos, now: Nanos, recorder: &mut Recorder<'_>) {
        if self.exchange.has_waiting(scenario) {
            // It must not overtake those.
            self.wait_for_user(scenario, due, now, recorder);
        } else if !self.find_free(scenario, due, Readiness::Ready, now, recorder)
            && !self.find_free(scenario, due, Readiness::Unready, now, recorder)
        {
            if self.arrivals[scenario].wait_max == Nanos::ZERO {
                recorder.dropped(due, scenario);
                return;
            }
            self.wait_for_user(scenario, due, now, recorder);
        }
    }

    /// The start waits, where there is room for it.
    fn wait_for_user(&mut self, scenario: usize, due: Nanos, now: Nanos, recorder: &mut Recorder<'_>) {
        if !self.exchange.wait(scenario, due) {
            recorder.dropped(due, scenario);
        }
        // A user may have become free elsewhere in between.
        self.match_waiting(scenario, due, now, recorder);
    }

    /// Gives a start to a free user, first to one of this thread; false where none is.
    fn find_free(
        &mut self,
        scenario: usize,
        due: Nanos,
        readiness: Readiness,
        now: Nanos,
        recorder: &mut Recorder<'_>,
    ) -> bool {
        let start = HandedStart { scenario, due, has_waited: false, readiness };
        let is_own = self.exchange.claim(self.thread, scenario, readiness);
        if is_own {
            self.begin_claimed(start, now, recorder);
        }
        is_own || self.hand_over(start)
    }

    /// Gives starts that wait to users that are free; `newest` has only just begun to wait.
    fn match_waiting(&mut self, scenario: usize, newest: Nanos, now: Nanos, recorder: &mut Recorder<'_>) {
        while self.exchange.has_waiting(scenario) {
            let readiness = Readiness::Ready;
            let is_own = self.exchange.claim(self.thread, scenario, readiness);
            let thread = if is_own {
                self.thread
            } else {
                match self.exchange.claim_elsewhere(self.thread, scenario, readiness) {
                    Some(thread) => thread,
                    None => return,
                }
            };
            let Some(due) = self.exchange.take_waiting(scenario) else {
                self.exchange.release(thread, scenario, readiness);
                continue;
            };
            let has_waited = due != newest;
            let start = HandedStart { scenario, due, has_waited, readiness };
            if !is_own && !self.exchange.hand_over(thread, start) {
                self.exchange.wait_again(scenario, due);
                continue;
            }
            recorder.starts_at(due, scenario).waited += u64::from(has_waited);
            if is_own {
                self.begin_claimed(start, now, recorder);
            }
        }
    }

    /// Gives a start to a thread that has a free user; false where none has.
    fn hand_over(&self, start: HandedStart) -> bool {
        while let Some(thread) = self.exchange.claim_elsewhere(self.thread, start.scenario, start.readiness) {
            if self.exchange.hand_over(thread, start) {
                return true;
            }
        }
        false
    }

    /// A start has come from another thread, which has claimed a user here.
    fn take_over(&mut self, start: HandedStart, now: Nanos, recorder: &mut Recorder<'_>) {
        // The other thread's clock may have been read a moment later.
        self.begin_claimed(start, now.max(start.due), recorder);
    }

    /// Begins an iteration of a user that was claimed.
    fn begin_claimed(&mut self, start: HandedStart, now: Nanos, recorder: &mut Recorder<'_>) {
        let HandedStart { scenario, due, has_waited, readiness } = start;
        let arrivals = &mut self.arrivals[scenario];
        let free = match readiness {
            Readiness::Ready => &mut arrivals.free,
            Readiness::Unready => &mut arrivals.unready,
        };
        let user = free.pop_front().expect("a claimed user is free");
        if !has_waited {
            recorder.late(now.since(due));
        }
        self.alive += 1;
        self.begin_iteration(user, due, now, recorder);
    }

    /// The user is free for the first time.
    pub(super) fn admit_serving(&mut self, user: UserIndex) {
        let place = self.place_of(user);
        if place.number < self.arrivals[place.scenario].first_unready {
            return self.release(user);
        }
        self.user(user).state = State::Free;
        self.alive -= 1;
        self.arrivals[place.scenario].unready.push_back(user);
        self.exchange.release(self.thread, place.scenario, Readiness::Unready);
    }

    /// The user is free.
    fn release(&mut self, user: UserIndex) {
        let scenario = self.user(user).place.scenario;
        self.user(user).state = State::Free;
        self.alive -= 1;
        self.arrivals[scenario].free.push_back(user);
        self.exchange.release(self.thread, scenario, Readiness::Ready);
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
        if self.is_stopping {
            self.user(user).state = State::Free;
            self.alive -= 1;
            return None;
        }
        loop {
            if now < self.end
                && let Some(due) = self.exchange.take_waiting(scenario)
            {
                recorder.starts_at(due, scenario).waited += 1;
                return Some(due);
            }
            self.release(user);
            // A start may have begun to wait meanwhile and not have seen this user.
            if now >= self.end || !self.exchange.has_waiting(scenario) {
                return None;
            }
            if !self.exchange.claim(self.thread, scenario, Readiness::Ready) {
                return None;
            }
            // Whichever user was claimed for another start, it is another one.
            self.arrivals[scenario].free.pop_back();
            self.alive += 1;
        }
    }

    // ---- dropped

    fn drop_expired(&mut self, scenario: usize, now: Nanos, recorder: &mut Recorder<'_>) {
        let before = now.since(self.arrivals[scenario].wait_max);
        while let Some(due) = self.exchange.take_expired(scenario, before) {
            recorder.dropped(due, scenario);
        }
    }

    /// The run is over: what was due in its time, and the thread was kept from to the last moment, is dropped, not unseen.
    pub(super) fn drop_owed(&mut self, recorder: &mut Recorder<'_>) {
        for open in 0..self.open.len() {
            let scenario = self.open[open];
            let owes_some = self.arrivals[scenario].next.is_some();
            while let Some(due) = self.arrivals[scenario].take_due(Nanos::MAX) {
                recorder.starts_at(due, scenario).due += 1;
                recorder.dropped(due, scenario);
            }
            if owes_some {
                self.exchange.starts_over(scenario);
            }
        }
    }

    /// The run is over: what has waited until now is not started any more.
    pub(super) fn drop_waiting(&mut self, recorder: &mut Recorder<'_>) {
        for scenario in 0..self.arrivals.len() {
            while let Some(due) = self.exchange.take_waiting(scenario) {
                recorder.dropped(due, scenario);
            }
        }
    }
}
