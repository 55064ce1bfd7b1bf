//! What the waiting users of one thread have open: their calls, and the connections that carry these or are kept for the
//! next ones. Bookkeeping only: when something is opened, sent and told is left to the worker.

mod lines;
mod open;
mod share;

pub(crate) use lines::{LINE_BIT, Line};
pub(crate) use open::{Begun, Closed, OpenCall, Stage};

use prony_client::http2::connection::Event;
use prony_client::websocket::{End, Socket};
use prony_model::program::call::{AskId, CallFault};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Connections that a user keeps without using them; a further one is closed.
const IDLE_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Places are used again, with the memory and the alarm that they have.
    open: Vec<OpenCall>,
    free: Vec<u32>,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    /// Grows to the highest user that has asked for something.
    users: Vec<UserCalls>,
    /// Calls that wait for their target's address.
    pub(crate) resolving: Vec<u32>,
    /// Calls that have failed, and whose users have not heard of it.
    failed: VecDeque<u32>,
    /// Connections whose sockets are gone, and whose users have not heard of it.
    ended: VecDeque<u64>,
    streams: share::Streams,
    /// Used again by each HTTP/2 connection that is driven.
    pub(crate) events: Vec<Event>,
    /// Connections so far; each has its turn at the addresses of its target.
    pub(crate) opened: u32,
}

/// What one user has. Few of each, so they are searched from one end to the other.
#[derive(Debug, Default)]
struct UserCalls {
    open: Vec<u32>,
    /// Connections without a call, with their targets; the last used at the end.
    idle: Vec<(u32, u32)>,
    /// Connections that are WebSockets now.
    sockets: Vec<u32>,
    /// HTTP/2 connections that take calls, with their targets.
    shared: Vec<(u32, u32)>,
}

impl Calls {
    // ---- calls

    pub(crate) fn open(&mut self, begun: Begun<'_>) -> u32 {
        let user = begun.user;
        let index = self.free.pop().unwrap_or_else(|| {
            self.open.push(OpenCall::default());
            self.open.len() as u32 - 1
        });
        let open = &mut self.user(user).open;
        let place = open.len();
        open.push(index);
        self.open[index as usize].begin(begun, place);
        index
    }

    /// The call is over, as far as its place is concerned.
    pub(crate) fn close(&mut self, index: u32) -> Closed {
        let call = &mut self.open[index as usize];
        let (user, place, closed) = (call.user, call.place, call.end());
        let open = &mut self.users[user as usize].open;
        open.swap_remove(place);
        if let Some(moved) = open.get(place) {
            self.open[*moved as usize].place = place;
        }
        self.free.push(index);
        closed
    }

    /// The user's call of this name.
    pub(crate) fn find(&self, user: u32, id: AskId) -> Option<u32> {
        let open = &self.users.get(user as usize)?.open;
        open.iter().copied().find(|index| self[*index].id == id)
    }

    /// One of the user's open calls.
    pub(crate) fn any_of(&self, user: u32) -> Option<u32> {
        self.users.get(user as usize)?.open.last().copied()
    }

    /// Its user hears of it as soon as nothing else is being done.
    pub(crate) fn fail_later(&mut self, index: u32, fault: CallFault) {
        self[index].stage = Stage::Failing(fault);
        self.failed.push_back(index);
    }

    /// Something is to be done before anything is waited for.
    pub(crate) fn has_work(&self) -> bool {
        !self.failed.is_empty() || !self.ended.is_empty() || self.dirty_count() > 0
    }

    pub(crate) fn failed_count(&self) -> usize {
        self.failed.len()
    }

    pub(crate) fn pop_failed(&mut self) -> Option<u32> {
        self.failed.pop_front()
    }

    /// Nothing is waited for any more on its behalf.
    pub(crate) fn forget(&mut self, index: u32) {
        match self[index].stage {
            Stage::Resolving => self.resolving.retain(|other| *other != index),
            Stage::Failing(_) => self.failed.retain(|other| *other != index),
            Stage::Opening | Stage::Underway => {}
        }
    }

    fn user(&mut self, user: u32) -> &mut UserCalls {
        let user = user as usize;
        if user >= self.users.len() {
            self.users.resize_with(user + 1, UserCalls::default);
        }
        &mut self.users[user]
    }

    // ---- lines

    /// A place for a connection that is going to be opened, and the token of its events.
    pub(crate) fn place_line(&mut self, user: u32, target: usize) -> (u32, u64) {
        let line = self.free_lines.pop().unwrap_or_else(|| {
            self.lines.push(Line::default());
            self.lines.len() as u32 - 1
        });
        let generation = self.lines[line as usize].begin(user, target as u32);
        (line, lines::token(line, generation))
    }

    /// The place of a present connection; nothing for one that was given up.
    pub(crate) fn present(&self, token: u64) -> Option<u32> {
        let (line, generation) = lines::of_token(token);
        let is_present = self.lines.get(line as usize).is_some_and(|entry| entry.generation == generation);
        is_present.then_some(line)
    }

    /// The token of the connection that has this place now.
    pub(crate) fn token_of(&self, line: u32) -> u64 {
        lines::token(line, self.lines[line as usize].generation)
    }

    pub(crate) fn line(&mut self, line: u32) -> &mut Line {
        &mut self.lines[line as usize]
    }

    /// A connection that the user keeps to the target, the last used first.
    pub(crate) fn take_idle(&mut self, user: u32, target: usize) -> Option<u32> {
        let idle = &mut self.users.get_mut(user as usize)?.idle;
        let at = idle.iter().rposition(|(_, kept)| *kept as usize == target)?;
        let (line, _) = idle.remove(at);
        self.line(line).is_idle = false;
        Some(line)
    }

    /// Keeps a connection for its user's next call.
    pub(crate) fn rest(&mut self, line: u32) {
        let entry = &mut self.lines[line as usize];
        entry.carries = None;
        entry.is_idle = true;
        let (user, target) = (entry.user, entry.target);
        let idle = &mut self.user(user).idle;
        if idle.len() >= IDLE_MAX {
            let (oldest, _) = idle.remove(0);
            self.line(oldest).is_idle = false;
            self.close_line(oldest);
        }
        self.user(user).idle.push((line, target));
    }

    /// Closes the connection and makes its remaining events strangers.
    pub(crate) fn close_line(&mut self, line: u32) {
        let entry = &mut self.lines[line as usize];
        let (user, is_idle, is_socket) = (entry.user, entry.is_idle, entry.socket.is_some());
        if is_socket {
            self.forget_socket(user, line);
        }
        self.retire_line(line);
        let entry = &mut self.lines[line as usize];
        if entry.end() {
            self.free_lines.push(line);
        }
        if is_idle {
            self.user(user).idle.retain(|(other, _)| *other != line);
        }
    }

    // ---- sockets

    /// The connection is a WebSocket from now on.
    pub(crate) fn keep_socket(&mut self, line: u32, socket: Socket) {
        let entry = self.line(line);
        (entry.carries, entry.socket) = (None, Some(Box::new(socket)));
        let user = entry.user;
        self.user(user).sockets.push(line);
    }

    pub(crate) fn socket_of(&self, user: u32, id: AskId) -> Option<u32> {
        let sockets = &self.users.get(user as usize)?.sockets;
        let is_it = |line: &u32| self.lines[*line as usize].socket.as_ref().is_some_and(|s| s.id == id);
        sockets.iter().copied().find(is_it)
    }

    pub(crate) fn any_socket_of(&self, user: u32) -> Option<u32> {
        self.users.get(user as usize)?.sockets.last().copied()
    }

    /// Its user hears of it as soon as nothing else is being done.
    pub(crate) fn end_socket(&mut self, line: u32, end: End) {
        let token = self.token_of(line);
        if let Some(socket) = &mut self.line(line).socket
            && socket.end.is_none()
        {
            socket.end = Some(end);
            self.ended.push_back(token);
        }
    }

    pub(crate) fn ended_count(&self) -> usize {
        self.ended.len()
    }

    /// The next connection whose socket is gone; those that were dropped meanwhile are passed over.
    pub(crate) fn pop_ended(&mut self) -> Option<u32> {
        while let Some(token) = self.ended.pop_front() {
            if let Some(line) = self.present(token) {
                return Some(line);
            }
        }
        None
    }

    pub(crate) fn forget_socket(&mut self, user: u32, line: u32) {
        self.user(user).sockets.retain(|other| *other != line);
    }

    /// Closes what the user keeps and does not use.
    pub(crate) fn close_idle(&mut self, user: u32) {
        let Some(part) = self.users.get_mut(user as usize) else { return };
        let mut idle = std::mem::take(&mut part.idle);
        for (line, _) in idle.drain(..) {
            self.line(line).is_idle = false;
            self.close_line(line);
        }
        self.users[user as usize].idle = idle;
        self.close_shared(user);
    }
}

impl Index<u32> for Calls {
    type Output = OpenCall;

    fn index(&self, call: u32) -> &OpenCall {
        &self.open[call as usize]
    }
}

impl IndexMut<u32> for Calls {
    fn index_mut(&mut self, call: u32) -> &mut OpenCall {
        &mut self.open[call as usize]
    }
}
