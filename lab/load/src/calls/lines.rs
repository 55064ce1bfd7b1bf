//! The connections of waiting users: each carries one call at a time, or is kept for the next.

use crate::connection::Connection;
use prony_client::http2::connection::Http2Connection;
use prony_client::timers::LazyAlarm;
use prony_client::websocket::Socket;
use prony_model::Nanos;
use prony_model::program::call::Peer;

/// Tells these connections' events from those of plans, whose generations never grow so far.
pub(crate) const LINE_BIT: u64 = 1 << 62;
const GENERATION_MASK: u32 = u32::MAX >> 2;

/// A place for one connection at a time.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) connection: Option<Connection>,
    /// Counts connections, so that late events of an old one are told from those of the present one.
    pub(super) generation: u32,
    pub(crate) user: u32,
    pub(crate) target: u32,
    /// The call that it serves, also while it is being opened.
    pub(crate) carries: Option<u32>,
    /// It is among those that its user keeps.
    pub(super) is_idle: bool,
    pub(crate) peer: Peer,
    /// It speaks HTTP/2, and carries any number of calls.
    pub(crate) http2: Option<Box<Http2Connection>>,
    /// Calls that were given to it since it was last driven.
    pub(crate) sending: Vec<u32>,
    /// It is among those that have something to do.
    pub(super) is_dirty: bool,
    /// It is a WebSocket, and carries no calls any more.
    pub(crate) socket: Option<Box<Socket>>,
    /// When a closing socket's peer has had its time.
    pub(crate) close_by: Nanos,
    pub(crate) alarm: LazyAlarm,
    is_taken: bool,
}

impl Line {
    pub(super) fn begin(&mut self, user: u32, target: u32) -> u32 {
        self.generation = self.generation.wrapping_add(1) & GENERATION_MASK;
        (self.user, self.target, self.is_taken) = (user, target, true);
        (self.carries, self.is_idle, self.peer) = (None, false, Peer::default());
        self.generation
    }

    /// False where the place was free already.
    pub(super) fn end(&mut self) -> bool {
        (self.connection, self.socket, self.http2) = (None, None, None);
        self.sending.clear();
        (self.carries, self.is_idle) = (None, false);
        self.generation = self.generation.wrapping_add(1) & GENERATION_MASK;
        std::mem::take(&mut self.is_taken)
    }
}

pub(super) fn token(line: u32, generation: u32) -> u64 {
    LINE_BIT | u64::from(generation) << 32 | u64::from(line)
}

pub(super) fn of_token(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32 & GENERATION_MASK)
}
