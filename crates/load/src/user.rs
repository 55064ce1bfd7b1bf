//! One user: what it is doing, its connection, and its own stream of random numbers.

use crate::connection::Connection;
use crate::http::errors_scan::BodyWatch;
use prony_load_model::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// About 600 bytes with its connection; the socket's buffers are the kernel's.
#[derive(Debug)]
pub(crate) struct User {
    /// Over all threads, from 0.
    pub(crate) number: u32,
    pub(crate) state: State,
    pub(crate) active_until: Nanos,
    pub(crate) connection: Option<Connection>,
    /// Counts connections, so that late events of an old one are told from those of the present one.
    pub(crate) generation: u32,
    pub(crate) has_connected: bool,
    pub(crate) timeout_is_set: bool,
    pub(crate) random: ChaCha8Rng,
}

#[derive(Debug)]
pub(crate) enum State {
    /// Its next start is among the timers.
    Thinking,
    Waiting(InFlight),
    /// It has no activity left.
    Gone,
}

/// A request between its start and its end.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) request: usize,
    pub(crate) scheduled: Nanos,
    pub(crate) started: Nanos,
    pub(crate) deadline: Nanos,
    pub(crate) first_byte: Option<Nanos>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) is_sent: bool,
    pub(crate) watch: BodyWatch,
}

impl User {
    /// The same seed and number give the same choices and values, however many threads there are.
    pub(crate) fn new(seed: u64, number: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(number));
        Self {
            number,
            state: State::Thinking,
            active_until: Nanos::ZERO,
            connection: None,
            generation: 0,
            has_connected: false,
            timeout_is_set: false,
            random,
        }
    }

    /// Closes the connection and makes its remaining events strangers.
    pub(crate) fn drop_connection(&mut self) {
        self.connection = None;
        self.generation = self.generation.wrapping_add(1);
    }
}

impl InFlight {
    pub(crate) fn new(
        request: usize,
        scheduled: Nanos,
        started: Nanos,
        deadline: Nanos,
        watch: BodyWatch,
    ) -> Self {
        Self {
            request,
            scheduled,
            started,
            deadline,
            first_byte: None,
            bytes_sent: 0,
            bytes_received: 0,
            is_sent: false,
            watch,
        }
    }
}
