//! The connections of one thread, each in the slot of its user and target.

use prony_client::http1::scanner::Scanner;
use prony_client::transport::Transport;

/// One connection: its bytes, and the scanner that finds where answers end.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    pub(crate) scanner: Scanner,
    /// What is sent as soon as the connection is open.
    pub(crate) queued: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, scanner: Scanner::default(), queued: Vec::new() }
    }
}

/// Where a connection stands: in the slot of a user and target of a plan, or among those of waiting programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Slot(u32),
    Line(u32),
}

/// A place for one connection at a time.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Connection>,
    /// Counts connections, so that late events of an old one are told from those of the present one.
    generation: u32,
    has_connected: bool,
}

/// One slot for each user and target.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    targets: usize,
}

/// Which connection an event belongs to: 32 bits of generation, 32 of the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

impl Slots {
    pub(crate) fn new(users: usize, targets: usize) -> Self {
        Self { slots: (0..users * targets).map(|_| Slot::default()).collect(), targets }
    }

    pub(crate) const fn of(&self, user: u32, target: usize) -> u32 {
        (user as usize * self.targets + target) as u32
    }

    pub(crate) const fn user_of(&self, slot: u32) -> u32 {
        (slot as usize / self.targets) as u32
    }

    pub(crate) const fn target_of(&self, slot: u32) -> usize {
        slot as usize % self.targets
    }

    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots[slot as usize].connection.as_mut()
    }

    /// How many connections the slot has had.
    pub(crate) fn generation(&self, slot: u32) -> u32 {
        self.slots[slot as usize].generation
    }

    /// A new connection takes the slot; true where it is not the first there.
    pub(crate) fn begin(&mut self, slot: u32) -> (Token, bool) {
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let token = Token(u64::from(entry.generation) << 32 | u64::from(slot));
        (token, std::mem::replace(&mut entry.has_connected, true))
    }

    pub(crate) fn put(&mut self, slot: u32, connection: Connection) {
        self.slots[slot as usize].connection = Some(connection);
    }

    /// Closes the connection and makes its remaining events strangers.
    pub(crate) fn close(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        entry.connection = None;
        entry.generation = entry.generation.wrapping_add(1);
    }

    /// The slot of a present connection; nothing for one that was given up.
    pub(crate) fn present(&self, token: Token) -> Option<u32> {
        let (slot, generation) = (token.0 as u32, (token.0 >> 32) as u32);
        (self.slots[slot as usize].generation == generation).then_some(slot)
    }
}
