//! The HTTP/2 connections of one thread: which users share which, and those that are on their way out.

use super::connection::{Event, Http2Connection};
use super::io::{ReadBuffer, read_buffer};
use super::streams::Interest;
use super::translate::{TranslateError, Translated, Translator};
use crate::transport::Transport;
use std::collections::VecDeque;
use std::rc::Rc;

/// Tells these connections' events from those of HTTP/1.1, whose generations never grow so far.
pub const TOKEN_BIT: u64 = 1 << 63;
/// How often a request is sent again that peers have not looked at.
const RESENDS_MAX: u8 = 3;

/// A place for one connection at a time.
#[derive(Debug, Default)]
pub struct Entry {
    pub connection: Option<Http2Connection>,
    generation: u32,
    /// The users and target that it serves.
    home: usize,
    /// It is among those that have something to write.
    is_dirty: bool,
}

/// What HTTP/2 has to know of a user besides its exchange.
#[derive(Debug, Default)]
pub struct UserPart {
    /// Of the present answer, where its head says so.
    pub content_length: Option<u64>,
    /// The connection that carries the request.
    pub entry: Option<u32>,
    pub resends: u8,
    /// Requests of the same step: each is sent once the one before was answered.
    pub following: VecDeque<Rc<Translated>>,
}

#[derive(Debug)]
pub struct Http2Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The connection that takes requests, for each group of users and target.
    homes: Vec<Home>,
    targets: usize,
    /// How many users share a connection.
    streams: u32,
    translators: Vec<Translator>,
    /// Grows to the highest user that has sent something.
    users: Vec<UserPart>,
    buffer: ReadBuffer,
    dirty: Vec<u32>,
    /// Used again by each connection that is driven.
    pub events: Vec<Event>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Home {
    entry: Option<u32>,
    has_connected: bool,
}

/// A place was given to a new connection.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub entry: u32,
    pub token: u64,
    pub is_again: bool,
}

impl Http2Pool {
    pub fn new(users: usize, streams: u32, is_tls: impl Iterator<Item = bool>) -> Self {
        let translators: Vec<_> = is_tls.map(Translator::new).collect();
        let groups = users.div_ceil(streams.max(1) as usize);
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            homes: vec![Home::default(); groups * translators.len()],
            targets: translators.len(),
            streams: streams.max(1),
            translators,
            users: Vec::new(),
            buffer: read_buffer(),
            dirty: Vec::new(),
            events: Vec::new(),
        }
    }

    pub fn translate(&mut self, target: usize, text: &[u8]) -> Result<Rc<Translated>, TranslateError> {
        self.translators[target].translate(text)
    }

    pub fn user(&mut self, user: u32) -> &mut UserPart {
        let user = user as usize;
        if user >= self.users.len() {
            self.users.resize_with(user + 1, UserPart::default);
        }
        &mut self.users[user]
    }

    fn home_of(&self, user: u32, target: usize) -> usize {
        (user / self.streams) as usize * self.targets + target
    }

    /// The connection that takes the user's requests, where there is one.
    pub fn entry_of(&self, user: u32, target: usize) -> Option<u32> {
        self.homes[self.home_of(user, target)].entry
    }

    pub fn target_of(&self, entry: u32) -> usize {
        self.entries[entry as usize].home % self.targets
    }

    /// A place for a connection that is going to be opened.
    pub fn place(&mut self, user: u32, target: usize) -> Placed {
        let home = self.home_of(user, target);
        let entry = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as u32 - 1
        });
        let place = &mut self.entries[entry as usize];
        // 31 bits: the highest tells the protocol.
        place.generation = place.generation.wrapping_add(1) & (u32::MAX >> 1);
        place.home = home;
        let token = TOKEN_BIT | u64::from(place.generation) << 32 | u64::from(entry);
        let is_again = std::mem::replace(&mut self.homes[home].has_connected, true);
        Placed { entry, token, is_again }
    }

    /// No connection could be opened for it.
    pub fn give_back(&mut self, placed: Placed) {
        self.free.push(placed.entry);
    }

    pub fn put(&mut self, placed: Placed, transport: Transport) {
        let entry = &mut self.entries[placed.entry as usize];
        entry.connection = Some(Http2Connection::new(transport, Rc::clone(&self.buffer)));
        self.homes[entry.home].entry = Some(placed.entry);
    }

    /// The place of a present connection; nothing for one that was given up.
    pub fn present(&self, token: u64) -> Option<u32> {
        let (entry, generation) = (token as u32, (token >> 32) as u32 & (u32::MAX >> 1));
        let is_present = self.entries.get(entry as usize).is_some_and(|place| place.generation == generation);
        is_present.then_some(entry)
    }

    pub fn get(&mut self, entry: u32) -> Option<&mut Http2Connection> {
        self.entries[entry as usize].connection.as_mut()
    }

    pub fn send(&mut self, entry: u32, user: u32, request: Rc<Translated>, interest: Interest) {
        self.user(user).entry = Some(entry);
        if let Some(connection) = self.get(entry) {
            connection.send(user, request, interest);
        }
        self.mark_dirty(entry);
    }

    pub fn mark_dirty(&mut self, entry: u32) {
        if !std::mem::replace(&mut self.entries[entry as usize].is_dirty, true) {
            self.dirty.push(entry);
        }
    }

    pub fn take_dirty(&mut self) -> Option<u32> {
        let entry = self.dirty.pop()?;
        self.entries[entry as usize].is_dirty = false;
        Some(entry)
    }

    /// New requests go to another connection; streams that are open come to their end on this one.
    pub fn retire(&mut self, entry: u32) {
        let home = &mut self.homes[self.entries[entry as usize].home];
        if home.entry == Some(entry) {
            home.entry = None;
        }
    }

    /// Closes the connection and makes its remaining events strangers.
    pub fn close(&mut self, entry: u32) {
        self.retire(entry);
        let place = &mut self.entries[entry as usize];
        if place.connection.take().is_some() {
            place.generation = place.generation.wrapping_add(1) & (u32::MAX >> 1);
            self.free.push(entry);
        }
    }

    /// Gives up what the user has asked. A connection on which nobody else waits is closed: it may be dead.
    pub fn cancel(&mut self, user: u32) {
        let part = self.user(user);
        part.following.clear();
        part.resends = 0;
        let Some(entry) = part.entry.take() else { return };
        let Some(connection) = self.get(entry) else { return };
        connection.cancel(user);
        if connection.is_idle() {
            self.close(entry);
        } else {
            self.mark_dirty(entry);
        }
    }

    /// True where the user's request may be sent again.
    pub fn may_resend(&mut self, user: u32) -> bool {
        let part = self.user(user);
        part.resends += 1;
        part.resends <= RESENDS_MAX
    }
}
