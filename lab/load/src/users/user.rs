//! One user: what it is doing, and its own stream of random numbers for its waits.

use prony_client::timers::LazyAlarm;
use prony_model::program::UserPlace;
use prony_model::{Nanos, TransportError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// A user among those of its thread, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UserIndex(pub(crate) u32);

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
    /// When it began; later than it was due where it had to wait.
    pub(crate) iteration_began: Nanos,
    /// The present iteration has sent something; one that never does must not spin.
    pub(crate) has_sent: bool,
    /// Its program may have asked for something that has not come to its end.
    pub(crate) has_open: bool,
    /// How late an iteration of an open model began, until its first call takes that into account.
    pub(crate) start_lag: Nanos,
    /// When a waiting user's program is woken if nothing else comes.
    pub(crate) wake_at: Nanos,
    pub(crate) wake_alarm: LazyAlarm,
    pub(crate) interrupt_alarm: LazyAlarm,
    /// For waits; what is sent has a generator of its own.
    pub(crate) random: ChaCha8Rng,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Ready to serve a start of an open model.
    Free,
    /// Its next iteration is among the timers.
    Waiting,
    /// Within an iteration, in a pause that its program asked for; among the timers.
    Paused,
    /// Its iteration has ended sooner than its scenario allows, and counts as going on until then; among the timers.
    Resting,
    /// Could not connect; its program hears of it when the alarm comes.
    Failed(TransportError),
    /// Within an iteration, until so many responses have come or failed.
    Requesting { open: u32, failure: Option<TransportError> },
    /// Within an iteration of a program that waits for events.
    Listening,
    /// It has nothing left to do but to leave when its scenario's time is over; among the timers.
    Departing,
    /// It has nothing left to do.
    Gone,
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
            iteration_began: Nanos::ZERO,
            has_sent: false,
            has_open: false,
            start_lag: Nanos::ZERO,
            wake_at: Nanos::MAX,
            wake_alarm: LazyAlarm::default(),
            interrupt_alarm: LazyAlarm::default(),
            random,
        }
    }
}
