//! One thread of subscribers: wires what they wait for and have ([`machine`]) and what is sent for them
//! ([`prony_client::Client`]), and reads the clock for both.
//!
//! [`connections`] opens connections and takes what the client tells of them, [`orders`] starts and stops operations beside a
//! shared stream.

mod connections;
mod machine;
mod orders;
mod slot;

use super::publications::{Notice, PublicationQueue};
use crate::error::WorkerError;
use crate::seconds::{Seconds, ThreadInterval};
use machine::{Share, SubscriberMachine};
use prony_client::targets::Targets;
use prony_client::{Client, ClientSettings, Pooling};
use prony_model::program::{RunShare, StopFlag};
use prony_model::{Nanos, Plan, Windows};
use slot::RequestContext;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

/// How often the flag to stop is read when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// A wait for events that took longer was a sleep: what woke it came at its end.
const SLEEP_MIN: Nanos = Nanos::from_micros(20);

/// What all threads of subscribers share with those of users.
pub(crate) struct SubscribersShared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) targets: &'a Targets,
    pub(crate) publications: &'a PublicationQueue,
    pub(crate) stop: &'a StopFlag,
    /// Threads of users that have not ended.
    pub(crate) users_running: &'a AtomicU32,
    /// Which part of the run this is: users and connections by their numbers.
    pub(crate) share: RunShare,
    pub(crate) threads: u32,
}

pub(crate) struct Subscribers<'a> {
    shared: &'a SubscribersShared<'a>,
    /// Among the threads of subscribers.
    index: u32,
    machine: SubscriberMachine<'a>,
    client: Client<'a, RequestContext>,
    epoch: Instant,
    seconds: Seconds,
    /// The load has ended: only what is still expected is waited for.
    ended: Option<Nanos>,
    notices: Vec<Notice>,
    /// What is sent, used again.
    out: Vec<u8>,
}

impl<'a> Subscribers<'a> {
    /// `number` counts all threads of the run, `index` those of subscribers.
    pub(crate) fn new(
        shared: &'a SubscribersShared<'a>,
        number: u32,
        index: u32,
        hand_over: SyncSender<ThreadInterval>,
    ) -> Result<Self, WorkerError> {
        let share = Share { index, place: shared.share.thread(index, shared.threads) };
        let settings = ClientSettings { pooling: Pooling::ByUser, keeps_connections: true, address: None };
        Ok(Self {
            shared,
            index,
            machine: SubscriberMachine::new(shared.plan, shared.windows, shared.publications.run, share),
            client: Client::new(shared.targets, None, settings)?,
            epoch: Instant::now(),
            seconds: Seconds::new(number, hand_over),
            ended: None,
            notices: Vec::new(),
            out: Vec::new(),
        })
    }

    pub(crate) fn run(mut self, epoch: Instant) -> Result<(), WorkerError> {
        self.epoch = epoch;
        self.client.start(epoch);
        self.seconds.begin(Nanos::ZERO);
        // What is ready when nobody slept has waited since this moment at most.
        let mut polled = Nanos::ZERO;
        loop {
            let now = self.client.now();
            self.hand_over_seconds(now);
            self.connect_due(now)?;
            self.handle_alarms(now);
            self.machine.settle(now);
            if self.is_over(now) {
                self.finish(now);
                return Ok(());
            }
            let before = self.client.now();
            self.client.wait(before, self.next_moment(before))?;
            let woken = self.client.now();
            let has_slept = woken.since(before) >= SLEEP_MIN;
            let since = if has_slept { woken } else { polled };
            polled = woken;
            while let Some(event) = self.client.next_event()? {
                self.on_client_event(event, since);
            }
            self.take_notices();
        }
    }

    fn next_moment(&self, now: Nanos) -> Nanos {
        let own = self.machine.next_moment(self.ended.is_some());
        now.plus(STOP_CHECK).min(own).min(self.seconds.end())
    }

    /// Users have ended, or where there are none the plan's time has; and nothing that is expected can still come. Of a part of a run the
    /// plan's time has ended too, because users of others go on when its own have ended.
    fn is_over(&mut self, now: Nanos) -> bool {
        let plan = self.shared.plan;
        let have_users_ended = self.shared.users_running.load(Ordering::Acquire) == 0;
        let are_all_here = self.shared.share == RunShare::WHOLE && plan.users() > 0;
        let has_time_ended = are_all_here || now >= plan.duration();
        if !(self.shared.stop.is_stopped() || have_users_ended && has_time_ended) {
            return false;
        }
        let ended = *self.ended.get_or_insert(now);
        self.take_notices();
        if !have_users_ended {
            return false;
        }
        // Users that were stopped leave their last mutations without a response, of which no event is expected.
        self.machine.end_responses();
        self.machine.settle_all(now);
        let longest = plan.subscriptions().iter().filter_map(|group| group.fan_out.as_ref());
        let longest = longest.map(|fan_out| fan_out.wait_max).max().unwrap_or(Nanos::ZERO);
        now >= ended.plus(longest) || !self.machine.is_waiting()
    }

    /// Takes what users have published since this was last called.
    fn take_notices(&mut self) {
        self.shared.publications.take(self.index, &mut self.notices);
        let epoch = self.epoch;
        let moment = |at: Instant| Nanos(at.saturating_duration_since(epoch).as_nanos() as u64);
        self.machine.take_notices(&mut self.notices, moment);
    }

    fn finish(&mut self, now: Nanos) {
        self.machine.close();
        for index in 0..self.machine.slots.len() {
            if let Some(mut live) = self.machine.slots[index].live.take() {
                self.leave(index, &mut live);
            }
        }
        self.hand_over_seconds(now);
        self.hand_over_second(true);
    }

    fn hand_over_seconds(&mut self, now: Nanos) {
        while now >= self.seconds.end() {
            self.hand_over_second(false);
        }
    }

    fn hand_over_second(&mut self, is_last: bool) {
        self.seconds.hand_over(self.machine.take_tally(), self.client.now(), is_last);
    }
}
