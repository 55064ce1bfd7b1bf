//! A user's requests over HTTP/2: the same exchange as over HTTP/1.1, on a stream of a connection that users share.

use super::exchange::record_of;
use super::{Worker, WorkerError};
use crate::user::{Exchange, State};
use http::Response;
use prony_client::http1::sink::Sink;
use prony_client::http2::connection::{Event as Http2Event, Life};
use prony_client::http2::streams::Interest;
use prony_client::http2::translate::Translated;
use prony_client::poller::Ready;
use prony_client::targets::TargetId;
use prony_client::transport::Fault;
use prony_model::plan::wire::Connections;
use prony_model::plan::wire::Spoken;
use prony_model::program::{Event, ProgramError};
use prony_model::{Nanos, TransportError};
use rustls::HandshakeKind;
use std::mem;
use std::rc::Rc;

impl Worker<'_> {
    pub(super) fn speaks_http2(&self, target: usize) -> bool {
        self.shared.network.planned(TargetId(target as u32)).spoken() == Spoken::Http2
    }

    // ---- send

    /// Sends the first request of what the program wrote, and keeps the others until that was answered.
    pub(super) fn write_http2(&mut self, user: u32, target: usize) -> Result<(), WorkerError> {
        let mut begin = 0;
        let mut first = None;
        for request in &self.outgoing.requests {
            let text = &self.outgoing.text[begin..request.text_end];
            let translated =
                self.http2.translate(target, text).map_err(|error| ProgramError(error.to_string()))?;
            match first {
                None => first = Some(translated),
                Some(_) => self.http2.user(user).following.push_back(translated),
            }
            begin = request.text_end;
        }
        first.map_or(Ok(()), |request| self.send_http2(user, target, request))
    }

    fn send_http2(&mut self, user: u32, target: usize, request: Rc<Translated>) -> Result<(), WorkerError> {
        let entry = match self.http2.entry_of(user, target) {
            Some(entry) => entry,
            None => match self.connect_http2(user, target)? {
                Ok(entry) => entry,
                Err(fault) => {
                    self.count_connect_fault(&fault);
                    return self.fail(user, fault.kind);
                }
            },
        };
        let is_ignored = |exchange: &Exchange| matches!(exchange.sink, Sink::Ignore);
        let interest = match &self.users[user as usize].state {
            State::Exchanging(exchange) if !is_ignored(exchange) => Interest::Everything,
            _ => Interest::Status,
        };
        self.http2.send(entry, user, request, interest);
        Ok(())
    }

    pub(super) fn connect_http2(
        &mut self,
        user: u32,
        target: usize,
    ) -> Result<Result<u32, Fault>, WorkerError> {
        let placed = self.http2.place(user, target);
        let number = self.users[user as usize].place.number;
        let turn = (placed.token >> 32) as u32;
        self.tally.connections.opened += 1;
        self.tally.connections.reopened += u64::from(placed.is_again);
        match self.open_planned(target, number, turn) {
            Err(fault) => {
                self.http2.give_back(placed);
                Ok(Err(fault))
            }
            Ok(transport) => {
                self.poller.add(transport.socket(), placed.token)?;
                self.http2.put(placed, transport);
                Ok(Ok(placed.entry))
            }
        }
    }

    // ---- drive

    /// Only notes the event: all that came at once is driven together.
    pub(super) fn handle_http2(&mut self, ready: Ready) {
        // An event of a connection that was given up a moment ago.
        let Some(entry) = self.http2.present(ready.token) else { return };
        if let Some(connection) = self.http2.get(entry) {
            connection.note_event(ready.readable, ready.is_ending);
            self.http2.mark_dirty(entry);
        }
    }

    /// Writes what was asked and reads what came, on all connections that have either.
    pub(super) fn drive_http2(&mut self) -> Result<(), WorkerError> {
        while let Some(entry) = self.http2.take_dirty() {
            self.drive_connection(entry)?;
        }
        Ok(())
    }

    fn drive_connection(&mut self, entry: u32) -> Result<(), WorkerError> {
        let mut events = mem::take(&mut self.http2.events);
        let Some(connection) = self.http2.get(entry) else {
            self.http2.events = events;
            return Ok(());
        };
        let was_open = connection.is_open();
        let life = connection.drive(&mut events);
        if !was_open && connection.is_open() {
            match connection.handshake() {
                None => {}
                Some(HandshakeKind::Resumed) => self.tally.connections.tls_resumed += 1,
                Some(_) => self.tally.connections.tls_full_handshakes += 1,
            }
        }
        match life {
            Ok(Life::Takes) => {}
            Ok(Life::Drains) if connection.is_idle() => self.http2.close(entry),
            Ok(Life::Drains) => self.http2.retire(entry),
            Ok(Life::Over) => self.http2.close(entry),
            Err(fault) => {
                let users = connection.take_users();
                self.http2.close(entry);
                self.count_connect_fault(&fault);
                events.extend(users.map(|user| Http2Event::Failed { user, error: fault.kind }));
            }
        }
        let target = self.http2.target_of(entry);
        let now = self.now();
        for event in events.drain(..) {
            self.handle_http2_event(event, target, now)?;
        }
        self.http2.events = events;
        if self.http2.get(entry).is_some_and(|connection| connection.has_work()) {
            self.http2.mark_dirty(entry);
        }
        Ok(())
    }

    fn handle_http2_event(
        &mut self,
        event: Http2Event,
        target: usize,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        match event {
            Http2Event::Head { user, head } => {
                self.take_http2_head(user, &head, now);
                Ok(())
            }
            Http2Event::Data { user, bytes } => self.take_http2_data(user, &bytes),
            Http2Event::Begun { user } => {
                if let State::Exchanging(exchange) = &mut self.users[user as usize].state {
                    exchange.first_byte.get_or_insert(now);
                }
                Ok(())
            }
            Http2Event::End { user, status, received_bytes } => {
                if let State::Exchanging(exchange) = &mut self.users[user as usize].state {
                    exchange.first_byte.get_or_insert(now);
                    exchange.bytes_received += received_bytes;
                    return self.answered_http2(user, target, status, now);
                }
                Ok(())
            }
            Http2Event::Failed { user, error } => {
                // Its stream is over: there is nothing to cancel.
                self.http2.user(user).entry = None;
                self.fail(user, error)
            }
            Http2Event::Unprocessed { user, .. } if !self.http2.may_resend(user) => {
                self.fail(user, TransportError::Read)
            }
            Http2Event::Unprocessed { user, request } => self.send_http2(user, target, request),
        }
    }

    fn take_http2_head(&mut self, user: u32, head: &Response<()>, now: Nanos) {
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return };
        exchange.first_byte.get_or_insert(now);
        let part = self.http2.user(user);
        part.content_length = match exchange.sink {
            Sink::GraphQl(_) => content_length(head),
            _ => None,
        };
        if matches!(exchange.sink, Sink::Keep(_)) {
            exchange.sink.take_head(&text_of(head));
        }
    }

    fn take_http2_data(&mut self, user: u32, bytes: &[u8]) -> Result<(), WorkerError> {
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return Ok(()) };
        if self.http2.user(user).content_length == Some(bytes.len() as u64) {
            exchange.sink.feed_whole(bytes);
        } else {
            exchange.sink.feed(bytes);
        }
        if exchange.sink.is_too_long() { self.fail(user, TransportError::Protocol) } else { Ok(()) }
    }

    // ---- judge

    fn answered_http2(
        &mut self,
        user: u32,
        target: usize,
        status: u16,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let place = self.users[user as usize].place;
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return Ok(()) };
        let part = self.http2.user(user);
        (part.resends, part.content_length) = (0, None);
        let (entry, next) = (part.entry.take(), part.following.pop_front());
        let outcome = self.program.judge(place, exchange.present.request, &exchange.sink.answer(status))?;
        let record = record_of(exchange, outcome, now);
        self.tally.record(self.shared.windows, &record);
        self.note_sign(now);
        if self.shared.plan.connections() == Connections::Fresh
            && let Some(entry) = entry
        {
            self.http2.close(entry);
        }
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return Ok(()) };
        if exchange.turn_to_next()
            && let Some(request) = next
        {
            let sink = Sink::new(exchange.present.keep, &mut self.spare);
            mem::replace(&mut exchange.sink, sink).recycle(&mut self.spare);
            return self.send_http2(user, target, request);
        }
        mem::take(&mut exchange.sink).recycle(&mut self.spare);
        self.users[user as usize].state = State::Free;
        self.advance(user, Event::Answered, now, now)
    }
}

fn content_length(head: &Response<()>) -> Option<u64> {
    head.headers().get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The head as HTTP/1.1 has it, which is what programs read.
pub(super) fn text_of(head: &Response<()>) -> Vec<u8> {
    let status = head.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in head.headers() {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    text
}
