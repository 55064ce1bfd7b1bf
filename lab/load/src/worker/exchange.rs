//! A user's requests on the wire: connect, send, read, judge, record.

use super::{Worker, WorkerError};
use crate::alarm::Alarm;
use crate::calls::LINE_BIT;
use crate::connection::{Carrier, Connection, Token};
use crate::user::{Exchange, State};
use prony_client::http1::scanner::Answer;
use prony_client::http1::sink::Sink;
use prony_client::http2::pool::TOKEN_BIT;
use prony_client::poller::{Poller, Ready};
use prony_client::targets::TargetId;
use prony_client::transport::{Fault, Progress, Read, Transport};
use prony_model::plan::wire::Connections;
use prony_model::program::{Event, ProgramError};
use prony_model::{Nanos, Outcome, Record, TransportError};
use rustls::HandshakeKind;
use std::mem;

impl Worker<'_> {
    // ---- send

    /// Sends what the program wrote, as soon as there is a connection.
    pub(super) fn send(&mut self, user: u32, scheduled: Nanos, started: Nanos) -> Result<(), WorkerError> {
        let requests = &self.outgoing.requests;
        let Some((first, following)) = requests.split_first() else {
            return Err(ProgramError("a program sent a step without a request".to_owned()).into());
        };
        let (count, slot) = (requests.len() as u32, self.slots.of(user, first.target));
        let exchange = Exchange {
            slot,
            present: *first,
            following: following.iter().copied().collect(),
            scheduled,
            started,
            deadline: started.plus(self.shared.plan.timeout()),
            first_byte: None,
            bytes_received: 0,
            text_begin: 0,
            sink: Sink::new(first.keep, &mut self.spare),
        };
        self.note_started(count, started);
        let entry = &mut self.users[user as usize];
        entry.has_sent = true;
        if !mem::replace(&mut entry.timeout_is_set, true) {
            self.timers.set(exchange.deadline, (Alarm::Timeout, user));
        }
        entry.state = State::Exchanging(exchange);
        self.write(user, slot)
    }

    fn write(&mut self, user: u32, slot: u32) -> Result<(), WorkerError> {
        let target = self.slots.target_of(slot);
        if self.speaks_http2(target) {
            return self.write_http2(user, target);
        }
        if self.slots.get(slot).is_none()
            && let Err(fault) = self.connect(user, slot)?
        {
            self.count_connect_fault(&fault);
            return self.fail(user, fault.kind);
        }
        let State::Exchanging(exchange) = &self.users[user as usize].state else { return Ok(()) };
        let Some(connection) = self.slots.get(slot) else { return Ok(()) };
        connection.scanner.begin(exchange.present.is_head);
        if !connection.transport.is_open() {
            connection.queued.extend_from_slice(&self.outgoing.text);
            return Ok(());
        }
        match connection.transport.send(&self.outgoing.text) {
            Ok(()) => Ok(()),
            Err(fault) => self.fail(user, fault.kind),
        }
    }

    // ---- connect

    /// Users that only serve starts connect before the first is due, as they would have long before.
    pub(super) fn connect_early(&mut self) -> Result<(), WorkerError> {
        if self.shared.plan.connections() == Connections::Fresh || self.shared.plan.targets().is_empty() {
            return Ok(());
        }
        for user in 0..self.users.len() as u32 {
            let scenario = self.users[user as usize].place.scenario;
            let begins_now = self.shared.plan.scenarios()[scenario].start == Nanos::ZERO;
            if begins_now && matches!(self.users[user as usize].state, State::Free) {
                if self.speaks_http2(0) {
                    if self.http2.entry_of(user, 0).is_none()
                        && let Err(fault) = self.connect_http2(user, 0)?
                    {
                        self.count_connect_fault(&fault);
                    }
                    continue;
                }
                let slot = self.slots.of(user, 0);
                if let Err(fault) = self.connect(user, slot)? {
                    self.count_connect_fault(&fault);
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self, user: u32, slot: u32) -> Result<Result<(), Fault>, WorkerError> {
        let number = self.users[user as usize].place.number;
        let (target, turn) = (self.slots.target_of(slot), self.slots.generation(slot));
        let opened = self.open_planned(target, number, turn);
        let (token, is_again) = self.slots.begin(slot);
        self.tally.connections.opened += 1;
        self.tally.connections.reopened += u64::from(is_again);
        let transport = match opened {
            Ok(transport) => transport,
            Err(fault) => return Ok(Err(fault)),
        };
        self.poller.add(transport.socket(), token.0)?;
        self.slots.put(slot, Connection::new(transport));
        Ok(Ok(()))
    }

    pub(super) fn open_planned(&self, target: usize, user: u32, turn: u32) -> Result<Transport, Fault> {
        let place = self.shared.network.planned(TargetId(target as u32));
        place.open(user, user.wrapping_add(turn), self.address, false).1
    }

    pub(super) fn count_connect_fault(&mut self, fault: &Fault) {
        match fault.cause.raw_os_error() {
            Some(libc::EADDRNOTAVAIL) => self.tally.connections.ports_exhausted += 1,
            Some(libc::ECONNREFUSED) => self.tally.connections.refused += 1,
            _ => {}
        }
    }

    /// What was read along with the end of a handshake is told of by no event: the same event goes on to reading.
    fn go_on_opening(&mut self, carrier: Carrier) -> Result<(), WorkerError> {
        let Some(connection) = self.connection(carrier) else { return Ok(()) };
        let progress = connection.transport.progress();
        let handshake = connection.transport.handshake();
        if let Carrier::Line(line) = carrier {
            self.note_line_progress(line);
        }
        match progress {
            Ok(Progress::Waiting) => Ok(()),
            Ok(Progress::Open) => {
                self.count_handshake(handshake);
                match carrier {
                    Carrier::Slot(slot) => self.send_queued(slot),
                    Carrier::Line(line) => self.use_opened_line(line),
                }
            }
            Err(fault) => {
                self.count_connect_fault(&fault);
                self.lose(carrier, &fault)
            }
        }
    }

    pub(super) fn count_handshake(&mut self, handshake: Option<HandshakeKind>) {
        match handshake {
            None => {}
            Some(HandshakeKind::Resumed) => self.tally.connections.tls_resumed += 1,
            Some(_) => self.tally.connections.tls_full_handshakes += 1,
        }
    }

    fn send_queued(&mut self, slot: u32) -> Result<(), WorkerError> {
        let Some(connection) = self.slots.get(slot) else { return Ok(()) };
        let queued = mem::take(&mut connection.queued);
        match connection.transport.send(&queued) {
            Ok(()) => Ok(()),
            Err(fault) => self.lose(Carrier::Slot(slot), &fault),
        }
    }

    fn connection(&mut self, carrier: Carrier) -> Option<&mut Connection> {
        match carrier {
            Carrier::Slot(slot) => self.slots.get(slot),
            Carrier::Line(line) => self.calls.line(line).connection.as_mut(),
        }
    }

    /// The connection that an event belongs to; nothing for one that was given up a moment ago.
    fn present(&self, token: u64) -> Option<Carrier> {
        if token & LINE_BIT != 0 {
            self.calls.present(token).map(Carrier::Line)
        } else {
            self.slots.present(Token(token)).map(Carrier::Slot)
        }
    }

    // ---- read

    pub(super) fn handle(&mut self, ready: Ready) -> Result<(), WorkerError> {
        if Poller::is_timer(ready) {
            return Ok(());
        }
        if Poller::is_waker(ready) {
            return self.on_wake();
        }
        if ready.token & TOKEN_BIT != 0 {
            self.handle_http2(ready);
            return Ok(());
        }
        let Some(carrier) = self.present(ready.token) else { return Ok(()) };
        let Some(connection) = self.connection(carrier) else {
            if let Carrier::Line(line) = carrier {
                self.note_stream_event(line, ready.readable, ready.is_ending);
            }
            return Ok(());
        };
        if !connection.transport.is_open() {
            self.go_on_opening(carrier)?;
        } else if ready.writable {
            match connection.transport.flush() {
                Ok(()) => self.note_flushed(carrier),
                Err(fault) => self.lose(carrier, &fault)?,
            }
        }
        if ready.readable && self.present(ready.token).is_some() {
            self.handle_readable(carrier, ready.is_ending)?;
        }
        Ok(())
    }

    fn note_flushed(&mut self, carrier: Carrier) {
        if let Carrier::Line(line) = carrier {
            self.note_line_flushed(line);
        }
    }

    /// Reads until nothing is left: readiness is told once only.
    fn handle_readable(&mut self, carrier: Carrier, is_ending: bool) -> Result<(), WorkerError> {
        let mut buffer = mem::take(&mut self.buffer);
        let mut outcome = Ok(());
        while let Some(connection) = self.connection(carrier)
            && connection.transport.is_open()
        {
            match connection.transport.read(&mut buffer) {
                Ok(Read::Bytes { count, is_all }) => {
                    outcome = match carrier {
                        Carrier::Slot(slot) => self.handle_bytes(slot, &buffer[..count]),
                        Carrier::Line(line) => self.handle_line_bytes(line, &buffer[..count]),
                    };
                    if is_all && !is_ending || outcome.is_err() {
                        break;
                    }
                }
                Ok(Read::Nothing) => break,
                Ok(Read::End) => {
                    outcome = match carrier {
                        Carrier::Slot(slot) => self.handle_end(slot),
                        Carrier::Line(line) => self.handle_line_end(line),
                    };
                    break;
                }
                Err(fault) => {
                    outcome = self.lose(carrier, &fault);
                    break;
                }
            }
        }
        self.buffer = buffer;
        outcome
    }

    /// Bytes of the awaited answer, and of those pipelined behind it.
    fn handle_bytes(&mut self, slot: u32, bytes: &[u8]) -> Result<(), WorkerError> {
        let (now, user) = (self.now(), self.slots.user_of(slot));
        let mut rest = bytes;
        loop {
            let entry = &mut self.users[user as usize];
            let State::Exchanging(exchange) = &mut entry.state else {
                // Nobody asked for these bytes: the connection cannot be trusted any more.
                self.slots.close(slot);
                return Ok(());
            };
            let Some(connection) = self.slots.get(slot).filter(|_| exchange.slot == slot) else {
                self.slots.close(slot);
                return Ok(());
            };
            exchange.first_byte.get_or_insert(now);
            let Ok(found) = connection.scanner.feed(rest, &mut exchange.sink, &mut self.heads) else {
                return self.fail(user, TransportError::Protocol);
            };
            let consumed = found.as_ref().map_or(rest.len(), |answer| answer.consumed);
            exchange.bytes_received += consumed as u64;
            rest = &rest[consumed..];
            if exchange.sink.is_too_long() {
                return self.fail(user, TransportError::Protocol);
            }
            let Some(answer) = found else { return Ok(()) };
            let (is_last, generation) = (exchange.following.is_empty(), self.slots.generation(slot));
            self.answered(user, answer, rest.is_empty(), now)?;
            if is_last || rest.is_empty() || self.slots.generation(slot) != generation {
                return Ok(());
            }
        }
    }

    fn handle_end(&mut self, slot: u32) -> Result<(), WorkerError> {
        let (now, user) = (self.now(), self.slots.user_of(slot));
        let is_awaited =
            matches!(&self.users[user as usize].state, State::Exchanging(exchange) if exchange.slot == slot);
        match self.slots.get(slot).map(|connection| connection.scanner.end()) {
            Some(Ok(answer)) if is_awaited => self.answered(user, answer, true, now),
            _ => self.lose(Carrier::Slot(slot), &Fault::end_of_connection()),
        }
    }

    // ---- judge

    /// `is_all`: no bytes came behind the answer.
    fn answered(&mut self, user: u32, answer: Answer, is_all: bool, now: Nanos) -> Result<(), WorkerError> {
        let place = self.users[user as usize].place;
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return Ok(()) };
        let outcome =
            self.program.judge(place, exchange.present.request, &exchange.sink.answer(answer.status))?;
        let slot = exchange.slot;
        let record = record_of(exchange, outcome, now);
        self.tally.record(self.shared.windows, &record);
        self.note_sign(now);
        let State::Exchanging(exchange) = &mut self.users[user as usize].state else { return Ok(()) };
        let Some(connection) = self.slots.get(slot) else { return Ok(()) };
        if exchange.turn_to_next() {
            if !answer.keeps_connection {
                return self.fail(user, TransportError::Read);
            }
            let sink = Sink::new(exchange.present.keep, &mut self.spare);
            mem::replace(&mut exchange.sink, sink).recycle(&mut self.spare);
            connection.scanner.begin(exchange.present.is_head);
            return Ok(());
        }
        // Bytes past the answer, and requests answered before they were written, spoil the connection.
        let is_fresh = self.shared.plan.connections() == Connections::Fresh;
        if !answer.keeps_connection || !is_all || is_fresh || connection.transport.has_unsent() {
            self.slots.close(slot);
        }
        mem::take(&mut exchange.sink).recycle(&mut self.spare);
        self.users[user as usize].state = State::Free;
        self.advance(user, Event::Answered, now, now)
    }

    /// A connection is lost, with what its user may have asked over it.
    fn lose(&mut self, carrier: Carrier, fault: &Fault) -> Result<(), WorkerError> {
        let slot = match carrier {
            Carrier::Slot(slot) => slot,
            Carrier::Line(line) => return self.lose_line(line, fault, false),
        };
        let user = self.slots.user_of(slot);
        match &self.users[user as usize].state {
            State::Exchanging(exchange) if exchange.slot == slot => self.fail(user, fault.kind),
            _ => {
                self.slots.close(slot);
                Ok(())
            }
        }
    }

    /// Gives up what the user has asked: all of it failed in the same way.
    pub(super) fn fail(&mut self, user: u32, error: TransportError) -> Result<(), WorkerError> {
        let now = self.now();
        let entry = &mut self.users[user as usize];
        if !matches!(entry.state, State::Exchanging(_)) {
            return Ok(());
        }
        let State::Exchanging(mut exchange) = mem::replace(&mut entry.state, State::Free) else {
            return Ok(());
        };
        self.slots.close(exchange.slot);
        self.http2.cancel(user);
        loop {
            let record = record_of(&exchange, Outcome::Transport(error), now);
            self.tally.record(self.shared.windows, &record);
            self.note_sign(now);
            if !exchange.turn_to_next() {
                break;
            }
        }
        exchange.sink.recycle(&mut self.spare);
        self.after_failure(user, error, now)
    }

    pub(super) fn check_timeout(&mut self, user: u32, now: Nanos) -> Result<(), WorkerError> {
        let entry = &mut self.users[user as usize];
        entry.timeout_is_set = false;
        let State::Exchanging(exchange) = &entry.state else { return Ok(()) };
        if exchange.deadline <= now {
            return self.fail(user, TransportError::Timeout);
        }
        entry.timeout_is_set = true;
        let deadline = exchange.deadline;
        self.timers.set(deadline, (Alarm::Timeout, user));
        Ok(())
    }

    /// So many requests more are in flight.
    pub(super) fn note_started(&mut self, count: u32, now: Nanos) {
        self.tally.started += u64::from(count);
        if self.in_flight == 0 {
            self.last_sign = now;
        }
        self.in_flight += count;
    }

    /// One request less is in flight.
    pub(super) fn note_sign(&mut self, now: Nanos) {
        self.tally.longest_silence = self.tally.longest_silence.max(now.since(self.last_sign));
        self.last_sign = now;
        self.in_flight -= 1;
    }
}

// ---- record

pub(super) fn record_of(exchange: &Exchange, outcome: Outcome, now: Nanos) -> Record {
    Record {
        request: exchange.present.request,
        scheduled: exchange.scheduled,
        started: exchange.started,
        first_byte: exchange.first_byte,
        ended: now,
        outcome,
        bytes_sent: exchange.bytes_sent(),
        bytes_received: exchange.bytes_received,
    }
}
