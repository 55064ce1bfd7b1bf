//! One user: what it is doing, and its own stream of random numbers for its waits.

use prony_client::http1::sink::Sink;
use prony_client::timers::LazyAlarm;
use prony_model::program::{Sent, UserPlace};
use prony_model::{Nanos, TransportError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::collections::VecDeque;

/// About 700 bytes with its connection; the socket's buffers are the kernel's.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) place: UserPlace,
    pub(crate) state: State,
    /// Within the span in which its load model has it.
    pub(crate) active_from: Nanos,
    /// No iteration begins at this moment or later.
    pub(crate) active_until: Nanos,
    /// Where the load model counts each user's own.
    pub(crate) iterations_left: u64,
    /// When the present iteration was due.
    pub(crate) iteration_due: Nanos,
    /// The present iteration has sent something; one that never does must not spin.
    pub(crate) has_sent: bool,
    pub(crate) timeout_is_set: bool,
    /// How late an iteration of an open model began, until its first call takes that into account.
    pub(crate) start_lag: Nanos,
    /// When a listening user is woken if nothing else comes.
    pub(crate) wake_at: Nanos,
    pub(crate) wake_alarm: LazyAlarm,
    pub(crate) interrupt_alarm: LazyAlarm,
    /// For waits; what is sent has a generator of its own.
    pub(crate) random: ChaCha8Rng,
}

#[derive(Debug)]
pub(crate) enum State {
    /// Ready to serve a start of an open model.
    Free,
    /// Its next iteration is among the timers.
    Waiting,
    /// Within an iteration, in a pause that its program asked for; among the timers.
    Paused,
    /// Could not connect; its program hears of it when the alarm comes.
    Failed(TransportError),
    Exchanging(Exchange),
    /// Within an iteration of a program that waits for news.
    Listening,
    /// It has nothing left to do but to leave when its scenario's time is over; among the timers.
    Departing,
    /// It has nothing left to do.
    Gone,
}

/// Requests that were sent together, from their start to the last answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The connection that carries it.
    pub(crate) slot: u32,
    /// The one whose answer is awaited.
    pub(crate) present: Sent,
    /// Those pipelined behind it.
    pub(crate) following: VecDeque<Sent>,
    pub(crate) scheduled: Nanos,
    pub(crate) started: Nanos,
    pub(crate) deadline: Nanos,
    /// Of the present answer.
    pub(crate) first_byte: Option<Nanos>,
    pub(crate) bytes_received: u64,
    /// Where the text of the request before the present one ended.
    pub(crate) text_begin: usize,
    pub(crate) sink: Sink,
}

impl User {
    /// The same seed and number give the same waits, however many threads there are.
    pub(crate) fn new(seed: u64, place: UserPlace) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(place.number));
        Self {
            place,
            state: State::Waiting,
            active_from: Nanos::ZERO,
            active_until: Nanos::MAX,
            iterations_left: u64::MAX,
            iteration_due: Nanos::ZERO,
            has_sent: false,
            timeout_is_set: false,
            start_lag: Nanos::ZERO,
            wake_at: Nanos::MAX,
            wake_alarm: LazyAlarm::default(),
            interrupt_alarm: LazyAlarm::default(),
            random,
        }
    }
}

impl Exchange {
    pub(crate) fn bytes_sent(&self) -> u64 {
        (self.present.text_end - self.text_begin) as u64
    }

    /// Awaits the next of the pipelined answers; false where that was the last.
    pub(crate) fn turn_to_next(&mut self) -> bool {
        let Some(next) = self.following.pop_front() else { return false };
        self.text_begin = self.present.text_end;
        self.present = next;
        self.first_byte = None;
        self.bytes_received = 0;
        true
    }
}
