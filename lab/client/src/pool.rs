//! Which connections a pool's requests may use: those without a request, and those of HTTP/2 that take any number.

use crate::ids::ConnectionId;
use crate::targets::TargetId;

/// Connections that a pool keeps without using them; a further one is closed.
pub(crate) const IDLE_MAX: usize = 100;

/// Whose connections: requests of one pool never use those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolId(pub u32);

/// How many connections a pool has to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// One, for requests that are sent one after another or as streams of HTTP/2. A further one replaces it.
    One,
    /// As many as there are requests at a time.
    Many,
    /// As many, and which of a target's addresses they go to is decided by their user alone.
    ByUser,
}

/// Few of each, so they are searched from one end to the other.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Without a request; the last used at the end.
    pub(crate) idle: Vec<(ConnectionId, TargetId)>,
    /// Of HTTP/2, those that take requests.
    pub(crate) shared: Vec<(ConnectionId, TargetId)>,
    /// How many connections it has had to a target.
    opened: Vec<(TargetId, u32)>,
}

impl Pool {
    /// The last used of those without a request.
    pub(crate) fn take_idle(&mut self, target: TargetId) -> Option<ConnectionId> {
        // Nearly always the last one, which leaves nothing to move.
        if let Some((connection, _)) = self.idle.pop_if(|(_, kept)| *kept == target) {
            return Some(connection);
        }
        let at = self.idle.iter().rposition(|(_, kept)| *kept == target)?;
        Some(self.idle.remove(at).0)
    }

    pub(crate) fn shared(&self, target: TargetId) -> Option<ConnectionId> {
        self.shared.iter().find(|(_, kept)| *kept == target).map(|(connection, _)| *connection)
    }

    /// Notes one more connection to the target; how many there were before.
    pub(crate) fn note_opened(&mut self, target: TargetId) -> u32 {
        if let Some((_, count)) = self.opened.iter_mut().find(|(kept, _)| *kept == target) {
            *count += 1;
            return *count - 1;
        }
        self.opened.push((target, 1));
        0
    }

    pub(crate) fn forget_shared(&mut self, connection: ConnectionId) {
        self.shared.retain(|(other, _)| *other != connection);
    }

    pub(crate) fn forget_idle(&mut self, connection: ConnectionId) {
        self.idle.retain(|(other, _)| *other != connection);
    }
}
