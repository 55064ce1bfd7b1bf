//! Calls over HTTP/2: streams of a connection that a user keeps to a target which chose it by ALPN.

use super::http2::text_of;
use super::{Worker, WorkerError};
use crate::calls::Stage;
use prony_client::fault;
use prony_client::http1::sink::Sink;
use prony_client::http2::connection::{Event, Http2Connection, Life};
use prony_client::http2::streams::Interest;
use prony_client::transport::Fault;
use prony_model::plan::wire::Connections;
use prony_model::program::call::CallFaultKind;
use prony_model::{Nanos, TransportError};
use std::io;
use std::mem;

impl Worker<'_> {
    /// The target of a connection that has just opened speaks HTTP/2 on it. Other calls of its user share it, unless it
    /// was opened for one alone; where the user has one already, that one is used.
    pub(super) fn turn_to_http2(&mut self, line: u32, index: u32) {
        let (user, target, is_fresh) = {
            let call = &self.calls[index];
            (call.user, call.target, call.is_fresh)
        };
        let shared = if is_fresh { None } else { self.calls.shared_line(user, target) };
        if let Some(shared) = shared {
            self.calls.line(line).carries = None;
            self.calls.close_line(line);
            self.send_stream(shared, index);
            return;
        }
        let buffer = self.calls.read_buffer();
        let entry = self.calls.line(line);
        let Some(connection) = entry.connection.take() else { return };
        let mut http2 = Http2Connection::new(connection.transport, buffer);
        // What came along with the handshake is told of by no event.
        http2.note_event(true, false);
        (entry.http2, entry.carries) = (Some(Box::new(http2)), None);
        entry.peer.is_http2 = true;
        if !is_fresh {
            self.calls.share_line(line);
        }
        self.send_stream(line, index);
    }

    /// Sends a call over a connection that stands.
    pub(super) fn send_stream(&mut self, line: u32, index: u32) {
        let entry = self.calls.line(line);
        let peer = entry.peer;
        let key = self.calls.key_of(index);
        let request = self.calls.translate(index);
        let (request, key) = match (request, key) {
            (Ok(request), Some(key)) => (request, key),
            (Err(message), _) => {
                return self.give_up(index, fault::new(CallFaultKind::Protocol, message));
            }
            (Ok(_), None) => {
                let message = "too many calls are open at the same time";
                return self.give_up(index, fault::new(CallFaultKind::Protocol, message));
            }
        };
        let call = &mut self.calls[index];
        (call.line, call.stage, call.peer, call.is_stream) = (Some(line), Stage::Underway, peer, true);
        call.bytes.sent += call.text.len() as u64;
        let entry = self.calls.line(line);
        if let Some(http2) = &mut entry.http2 {
            http2.send(key, request, Interest::Everything);
        }
        entry.sending.push(index);
        self.calls.mark_dirty(line);
    }

    /// An event of such a connection; all that came at once is driven together.
    pub(super) fn note_stream_event(&mut self, line: u32, is_readable: bool, is_ending: bool) {
        if let Some(http2) = &mut self.calls.line(line).http2 {
            http2.note_event(is_readable, is_ending);
            self.calls.mark_dirty(line);
        }
    }

    /// Writes what was asked and reads what came, on all connections that have either.
    pub(super) fn drive_streams(&mut self) -> Result<(), WorkerError> {
        for _ in 0..self.calls.dirty_count() {
            let Some(line) = self.calls.take_dirty() else { break };
            self.drive_line(line)?;
        }
        Ok(())
    }

    fn drive_line(&mut self, line: u32) -> Result<(), WorkerError> {
        let mut events = mem::take(&mut self.calls.events);
        let entry = self.calls.line(line);
        let Some(http2) = &mut entry.http2 else {
            self.calls.events = events;
            return Ok(());
        };
        let driven = http2.drive(&mut events);
        let (is_idle, has_work) = (http2.is_idle(), http2.has_work());
        let sent = mem::take(&mut entry.sending);
        match driven {
            Ok(Life::Takes) if has_work => self.calls.mark_dirty(line),
            Ok(Life::Takes) => {}
            Ok(Life::Drains) if !is_idle => {
                self.calls.retire_line(line);
                if has_work {
                    self.calls.mark_dirty(line);
                }
            }
            Ok(Life::Drains | Life::Over) => self.calls.close_line(line),
            Err(fault) => {
                let waiting = self.calls.line(line).http2.as_mut().map(|http2| http2.take_users());
                let failed = waiting.into_iter().flatten();
                events.extend(failed.map(|user| Event::Failed { user, error: fault.kind }));
                self.calls.close_line(line);
            }
        }
        let now = self.now();
        self.note_streams_sent(line, sent, now);
        let mut told = Ok(());
        for event in events.drain(..) {
            told = self.take_stream_event(event, now);
            if told.is_err() {
                break;
            }
        }
        events.clear();
        self.calls.events = events;
        told
    }

    fn note_streams_sent(&mut self, line: u32, mut sent: Vec<u32>, now: Nanos) {
        for index in sent.drain(..) {
            let call = &mut self.calls[index];
            if call.is_open && call.line == Some(line) && call.times.sent == Nanos::ZERO {
                call.times.sent = now;
            }
        }
        self.calls.line(line).sending = sent;
    }

    fn take_stream_event(&mut self, event: Event, now: Nanos) -> Result<(), WorkerError> {
        match event {
            Event::Head { user: key, head } => {
                let Some(index) = self.calls.of_key(key) else { return Ok(()) };
                let call = &mut self.calls[index];
                call.times.first_byte.get_or_insert(now);
                if matches!(call.sink, Sink::Head(_) | Sink::Keep(_)) {
                    call.sink.take_head(&text_of(&head));
                }
            }
            Event::Data { user: key, bytes } => {
                let Some(index) = self.calls.of_key(key) else { return Ok(()) };
                let call = &mut self.calls[index];
                call.sink.feed(&bytes);
                if call.sink.is_too_long() {
                    self.give_up(index, fault::too_long());
                }
            }
            Event::Begun { user: key } => {
                if let Some(index) = self.calls.of_key(key) {
                    self.calls[index].times.first_byte.get_or_insert(now);
                }
            }
            Event::End { user: key, status, received_bytes } => {
                let Some(index) = self.calls.of_key(key) else { return Ok(()) };
                self.calls[index].bytes.received += received_bytes;
                return self.answered_stream(index, status, now);
            }
            Event::Failed { user: key, error } => {
                let Some(index) = self.calls.of_key(key) else { return Ok(()) };
                return self.lose_stream(index, error, false);
            }
            Event::Unprocessed { user: key, .. } => {
                let Some(index) = self.calls.of_key(key) else { return Ok(()) };
                return self.lose_stream(index, TransportError::Read, true);
            }
        }
        Ok(())
    }

    fn answered_stream(&mut self, index: u32, status: u16, now: Nanos) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        call.times.first_byte.get_or_insert(now);
        let is_fresh = call.is_fresh || self.shared.plan.connections() == Connections::Fresh;
        if let Some(line) = call.line.take().filter(|_| is_fresh) {
            self.calls.close_line(line);
        }
        self.end_call(index, status, now)
    }

    /// A stream ends without an answer. `is_untouched`: the peer says that it has done nothing with the request.
    fn lose_stream(
        &mut self,
        index: u32,
        error: TransportError,
        is_untouched: bool,
    ) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        // The stream is over: there is nothing to cancel.
        (call.line, call.is_stream) = (None, false);
        if is_untouched && call.may_be_resent() {
            let now = self.now();
            return self.carry_call(index, now);
        }
        let cause = io::Error::other("the connection or its stream ended before the answer did");
        self.give_up(index, fault::of_transport(&Fault { kind: error, cause }));
        Ok(())
    }

    /// Nothing more is wanted of the call; its connection goes on where others use it.
    pub(super) fn detach(&mut self, index: u32) {
        let call = &mut self.calls[index];
        let is_stream = mem::take(&mut call.is_stream);
        let Some(line) = call.line.take() else { return };
        if !is_stream {
            self.calls.close_line(line);
            return;
        }
        let key = self.calls.key_of(index);
        if let (Some(http2), Some(key)) = (&mut self.calls.line(line).http2, key) {
            http2.cancel(key);
            // Without anybody else on it, it may be dead.
            if http2.is_idle() {
                self.calls.close_line(line);
            } else {
                self.calls.mark_dirty(line);
            }
        }
    }
}
