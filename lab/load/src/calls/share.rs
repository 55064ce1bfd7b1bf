//! Connections that several calls of a user share, as HTTP/2 allows it.

use super::Calls;
use prony_client::http2::io::{ReadBuffer, read_buffer};
use prony_client::http2::translate::{Translated, Translator};
use std::mem;
use std::rc::Rc;

/// A stream is known by the place of its call, and by the last bits of how many calls that place has had.
const PLACE_BITS: u32 = 20;

/// What all shared connections of a thread have in common.
#[derive(Debug, Default)]
pub(super) struct Streams {
    translator: Option<Translator>,
    buffer: Option<ReadBuffer>,
    /// Those that have something to do.
    dirty: Vec<u32>,
}

impl Calls {
    /// The connection that takes the user's calls to the target, where there is one.
    pub(crate) fn shared_line(&self, user: u32, target: usize) -> Option<u32> {
        let shared = &self.users.get(user as usize)?.shared;
        shared.iter().find(|(_, kept)| *kept as usize == target).map(|(line, _)| *line)
    }

    pub(crate) fn share_line(&mut self, line: u32) {
        let entry = self.line(line);
        let (user, target) = (entry.user, entry.target);
        self.user(user).shared.push((line, target));
    }

    /// New calls go to another connection; those that are open come to their end on this one.
    pub(crate) fn retire_line(&mut self, line: u32) {
        let user = self.line(line).user;
        self.user(user).shared.retain(|(other, _)| *other != line);
    }

    pub(super) fn close_shared(&mut self, user: u32) {
        for (line, _) in mem::take(&mut self.user(user).shared) {
            if self.line(line).http2.as_ref().is_none_or(|http2| http2.is_idle()) {
                self.close_line(line);
            }
        }
    }

    /// By which its stream is known; nothing where there are more calls than streams can be told apart.
    pub(crate) fn key_of(&self, index: u32) -> Option<u32> {
        (index < 1 << PLACE_BITS).then(|| self[index].generation << PLACE_BITS | index)
    }

    /// The call of a stream, unless it was dropped meanwhile.
    pub(crate) fn of_key(&self, key: u32) -> Option<u32> {
        let index = key & ((1 << PLACE_BITS) - 1);
        let call = self.open.get(index as usize).filter(|call| call.is_open && call.is_stream)?;
        (call.generation << PLACE_BITS == key - index).then_some(index)
    }

    pub(crate) fn translate(&mut self, index: u32) -> Result<Rc<Translated>, String> {
        // Only targets with TLS choose HTTP/2.
        let translator = self.streams.translator.get_or_insert_with(|| Translator::new(true));
        translator.translate(&self.open[index as usize].text).map_err(|error| error.to_string())
    }

    pub(crate) fn read_buffer(&mut self) -> ReadBuffer {
        Rc::clone(self.streams.buffer.get_or_insert_with(read_buffer))
    }

    pub(crate) fn mark_dirty(&mut self, line: u32) {
        if !mem::replace(&mut self.line(line).is_dirty, true) {
            self.streams.dirty.push(line);
        }
    }

    pub(crate) fn dirty_count(&self) -> usize {
        self.streams.dirty.len()
    }

    pub(crate) fn take_dirty(&mut self) -> Option<u32> {
        let line = self.streams.dirty.pop()?;
        self.line(line).is_dirty = false;
        Some(line)
    }
}
