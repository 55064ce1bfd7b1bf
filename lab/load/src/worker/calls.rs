//! Calls of programs that wait: asked for, carried by a connection of the user's own, answered or failed, told.

use super::{Worker, WorkerError};
use crate::alarm::Alarm;
use crate::calls::{Begun, Stage};
use crate::connection::Connection;
use prony_client::fault;
use prony_client::http1::scanner::{Answer, ScanError};
use prony_client::http1::sink::Sink;
use prony_client::targets::{Destination, Finding, TargetId};
use prony_client::transport::{Address, Fault, Transport};
use prony_client::websocket::End;
use prony_model::plan::wire::Connections;
use prony_model::program::call::{Ask, Call, CallFault, CallFaultKind, CallTimes, News, Peer, SocketNews};
use prony_model::program::{Outgoing, ProgramError, Step};
use prony_model::{Nanos, Outcome};
use std::mem;
use std::sync::Arc;

/// A connection that does not stand by then never will; as long as k6 waits.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(30);

impl Worker<'_> {
    // ---- ask

    /// Begins what the program has asked for along with its step.
    pub(super) fn begin_asks(&mut self, user: u32, step: Step) -> Result<(), WorkerError> {
        if self.outgoing.asks.is_empty() {
            return Ok(());
        }
        if matches!(step, Step::Send | Step::Pause(_)) {
            let message = "a program asked for something in a step that does not wait for it";
            return Err(ProgramError(message.to_owned()).into());
        }
        let mut outgoing = mem::take(&mut self.outgoing);
        let Outgoing { asks, text, .. } = &mut outgoing;
        let now = self.now();
        let mut begun = Ok(());
        for ask in asks.drain(..) {
            begun = self.begin_ask(user, ask, text, now);
            if begun.is_err() {
                break;
            }
        }
        self.outgoing = outgoing;
        begun
    }

    fn begin_ask(&mut self, user: u32, ask: Ask, text: &[u8], now: Nanos) -> Result<(), WorkerError> {
        match ask {
            Ask::Call(call) => self.begin_call(user, call, text, now),
            Ask::DropCall(id) => {
                if let Some(call) = self.calls.find(user, id) {
                    self.drop_call(call);
                }
                Ok(())
            }
            Ask::CloseConnections => {
                self.calls.close_idle(user);
                Ok(())
            }
            Ask::OpenSocket(opening) => self.open_socket(user, opening, text, now),
            Ask::SendSocket(id, message) => {
                self.send_socket(user, id, message);
                Ok(())
            }
            Ask::CloseSocket(id, close) => {
                self.close_socket(user, id, close, now);
                Ok(())
            }
        }
    }

    fn begin_call(&mut self, user: u32, call: Call, text: &[u8], now: Nanos) -> Result<(), WorkerError> {
        let Some(text) = text.get(call.text.clone()) else {
            return Err(ProgramError("a program asked for a call without its text".to_owned()).into());
        };
        let entry = &mut self.users[user as usize];
        entry.has_sent = true;
        // As long as the iteration waited for its user, its first call has waited too.
        let scheduled = Nanos(now.0.saturating_sub(mem::take(&mut entry.start_lag).0));
        self.note_started(1, now);
        let sink = Sink::new(call.keep, &mut self.spare);
        let index = self.calls.open(Begun { user, call, text, scheduled, asked: now, sink, accept: None });
        let call = &mut self.calls[index];
        call.alarm.set(&mut self.timers, call.deadline, (Alarm::Call, index));
        self.carry_call(index, now)
    }

    // ---- connect

    /// Sends the call over a connection that its user keeps, or opens one for it.
    pub(super) fn carry_call(&mut self, index: u32, now: Nanos) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        let (user, target, is_fresh) = (call.user, call.target, call.is_fresh);
        if !is_fresh && let Some(line) = self.calls.take_idle(user, target) {
            self.calls[index].take_kept(line, now);
            return self.write_call(line, index);
        }
        if !is_fresh && let Some(line) = self.calls.shared_line(user, target) {
            self.calls[index].take_kept(line, now);
            self.send_stream(line, index);
            return Ok(());
        }
        match self.find_place(target)? {
            Finding::Known(place) => self.open_line(index, &place, now),
            Finding::Resolving => {
                self.calls[index].stage = Stage::Resolving;
                self.calls.resolving.push(index);
                Ok(())
            }
            Finding::Failed(fault) => {
                self.give_up(index, fault);
                Ok(())
            }
        }
    }

    fn find_place(&mut self, target: usize) -> Result<Finding, WorkerError> {
        if let Some(Some(place)) = self.places.get(target) {
            return Ok(Finding::Known(Arc::clone(place)));
        }
        let named = |index| self.shared.workload.tables().and_then(|tables| tables.targets.get(index));
        let found = self.shared.network.find(TargetId(target as u32), &self.waker, named);
        let Some(finding) = found else {
            return Err(
                ProgramError(format!("a program asked for target {target}, which is not there")).into()
            );
        };
        if let Finding::Known(place) = &finding {
            if target >= self.places.len() {
                self.places.resize(target + 1, None);
            }
            self.places[target] = Some(Arc::clone(place));
        }
        Ok(finding)
    }

    /// Targets were found, or found not to be there.
    pub(super) fn on_wake(&mut self) -> Result<(), WorkerError> {
        self.waker.reset();
        let now = self.now();
        for index in mem::take(&mut self.calls.resolving) {
            self.carry_call(index, now)?;
        }
        Ok(())
    }

    fn open_line(&mut self, index: u32, place: &Destination, now: Nanos) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        let (user, target) = (call.user, call.target);
        let asked = call.times.asked;
        call.times = CallTimes { asked, resolved: now, is_new_connection: true, ..CallTimes::default() };
        (call.is_reused, call.stage) = (false, Stage::Opening);
        self.calls.opened = self.calls.opened.wrapping_add(1);
        self.tally.connections.opened += 1;
        let number = self.users[user as usize].place.number;
        let is_for_socket = self.calls[index].accept.is_some();
        let (address, opened) =
            place.open(number, number.wrapping_add(self.calls.opened), None, is_for_socket);
        let address = match address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) => None,
        };
        let peer = Peer { address, ..Peer::default() };
        self.calls[index].peer = peer;
        let transport = match opened {
            Ok(transport) => transport,
            Err(fault) => {
                self.count_connect_fault(&fault);
                self.give_up(index, fault::of_transport(&fault));
                return Ok(());
            }
        };
        let (line, token) = self.calls.place_line(user, target);
        self.poller.add(transport.socket(), token)?;
        let entry = self.calls.line(line);
        (entry.connection, entry.carries, entry.peer) = (Some(Connection::new(transport)), Some(index), peer);
        let call = &mut self.calls[index];
        call.line = Some(line);
        let by = call.deadline.min(now.plus(CONNECT_TIMEOUT));
        call.alarm.set(&mut self.timers, by, (Alarm::Call, index));
        Ok(())
    }

    /// Notes when a connection stood, before its handshake.
    pub(super) fn note_line_progress(&mut self, line: u32) {
        let entry = self.calls.line(line);
        let is_connecting = entry.connection.as_ref().is_none_or(|open| open.transport.is_connecting());
        let Some(index) = entry.carries.filter(|_| !is_connecting) else { return };
        if self.calls[index].times.connected == Nanos::ZERO {
            self.calls[index].times.connected = self.now();
        }
    }

    /// The connection can be written to.
    pub(super) fn use_opened_line(&mut self, line: u32) -> Result<(), WorkerError> {
        let now = self.now();
        let entry = self.calls.line(line);
        let transport = entry.connection.as_ref().map(|open| &open.transport);
        let has_chosen_http2 = transport.is_some_and(Transport::has_chosen_http2);
        entry.peer.tls = transport.and_then(Transport::tls_facts);
        let Some(index) = entry.carries else {
            self.calls.close_line(line);
            return Ok(());
        };
        self.calls[index].times.ready = now;
        if has_chosen_http2 {
            self.turn_to_http2(line, index);
            return Ok(());
        }
        self.write_call(line, index)
    }

    // ---- send

    fn write_call(&mut self, line: u32, index: u32) -> Result<(), WorkerError> {
        let entry = self.calls.line(line);
        entry.carries = Some(index);
        let (peer, connection) = (entry.peer, entry.connection.take());
        let Some(mut connection) = connection else { return Ok(()) };
        let call = &mut self.calls[index];
        (call.line, call.stage, call.peer) = (Some(line), Stage::Underway, peer);
        call.bytes.sent += call.text.len() as u64;
        match call.accept {
            None => connection.scanner.begin(call.is_head),
            Some(_) => connection.scanner.begin_upgrade(),
        }
        let sent = connection.transport.send(&call.text);
        let is_sent = sent.is_ok() && !connection.transport.has_unsent();
        self.calls.line(line).connection = Some(connection);
        if is_sent {
            self.calls[index].times.sent = self.now();
        }
        sent.or_else(|fault| self.lose_line(line, &fault, true))
    }

    /// What the system did not take at once is sent.
    pub(super) fn note_line_flushed(&mut self, line: u32) {
        let entry = self.calls.line(line);
        let is_sent = entry.connection.as_ref().is_some_and(|open| !open.transport.has_unsent());
        if let Some(index) = entry.carries.filter(|_| is_sent)
            && self.calls[index].times.sent == Nanos::ZERO
        {
            self.calls[index].times.sent = self.now();
        }
        self.flush_socket(line);
    }

    // ---- read

    pub(super) fn handle_line_bytes(&mut self, line: u32, bytes: &[u8]) -> Result<(), WorkerError> {
        let now = self.now();
        let entry = self.calls.line(line);
        if entry.socket.is_some() {
            return self.take_socket_bytes(line, bytes);
        }
        let (Some(index), Some(mut connection)) = (entry.carries, entry.connection.take()) else {
            // Nobody asked for these bytes: the connection cannot be trusted any more.
            self.calls.close_line(line);
            return Ok(());
        };
        let call = &mut self.calls[index];
        call.times.first_byte.get_or_insert(now);
        let found = connection.scanner.feed(bytes, &mut call.sink, &mut self.heads);
        self.calls.line(line).connection = Some(connection);
        let call = &mut self.calls[index];
        let consumed = match &found {
            Ok(Some(answer)) => answer.consumed,
            _ => bytes.len(),
        };
        call.bytes.received += consumed as u64;
        let is_too_long = call.sink.is_too_long();
        match found {
            Err(error) => self.give_up(index, fault::new(CallFaultKind::Protocol, error.to_string())),
            Ok(_) if is_too_long => self.give_up(index, fault::too_long()),
            Ok(Some(answer)) if self.calls[index].accept.is_some() => {
                return self.answered_opening(line, index, answer, &bytes[consumed..], now);
            }
            Ok(Some(answer)) => return self.answered_call(line, index, answer, consumed == bytes.len(), now),
            Ok(None) => {}
        }
        Ok(())
    }

    pub(super) fn handle_line_end(&mut self, line: u32) -> Result<(), WorkerError> {
        let now = self.now();
        let entry = self.calls.line(line);
        if entry.socket.is_some() {
            self.calls.end_socket(line, End::abnormal());
            return Ok(());
        }
        let end = match &mut entry.connection {
            Some(connection) => connection.scanner.end(),
            None => Err(ScanError::Truncated),
        };
        match (entry.carries, end) {
            (Some(index), Ok(answer)) if self.calls[index].accept.is_some() => {
                self.answered_opening(line, index, answer, b"", now)
            }
            (Some(index), Ok(answer)) if self.calls[index].times.first_byte.is_some() => {
                self.answered_call(line, index, answer, true, now)
            }
            _ => self.lose_line(line, &Fault::end_of_connection(), false),
        }
    }

    // ---- judge, record, tell

    /// `is_all`: no bytes came behind the answer.
    fn answered_call(
        &mut self,
        line: u32,
        index: u32,
        answer: Answer,
        is_all: bool,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let is_kept = !self.calls[index].is_fresh && self.shared.plan.connections() == Connections::Kept;
        let connection = self.calls.line(line).connection.as_ref();
        // Bytes past the answer, and one that came before its request was written, spoil the connection.
        let is_clean = connection.is_some_and(|connection| is_all && !connection.transport.has_unsent());
        if is_kept && is_clean && answer.keeps_connection {
            self.calls.rest(line);
        } else {
            self.calls.close_line(line);
        }
        self.end_call(index, answer.status, now)
    }

    /// The answer is whole.
    pub(super) fn end_call(&mut self, index: u32, status: u16, now: Nanos) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        call.end_times(now);
        let (user, outcome) = (call.user, call.outcome(status));
        let record = call.record(outcome);
        self.tally.record(self.shared.windows, &record);
        self.note_sign(now);
        let closed = self.calls.close(index);
        let news = News::Answered {
            call: closed.id,
            answer: closed.sink.answer(status),
            times: closed.times,
            peer: closed.peer,
            bytes: closed.bytes,
        };
        let told = self.tell(user, news);
        closed.sink.recycle(&mut self.spare);
        told
    }

    /// Tells users of calls that have failed. Those that fail meanwhile have their turn later: others are served first.
    pub(super) fn tell_failed(&mut self) -> Result<(), WorkerError> {
        for _ in 0..self.calls.failed_count() {
            let Some(index) = self.calls.pop_failed() else { break };
            self.fail_call(index)?;
        }
        self.tell_ended_sockets()
    }

    fn fail_call(&mut self, index: u32) -> Result<(), WorkerError> {
        let now = self.now();
        let call = &mut self.calls[index];
        let Stage::Failing(fault) = mem::take(&mut call.stage) else { return Ok(()) };
        call.end_times(now);
        let (user, is_counted) = (call.user, call.accept.is_none());
        if is_counted {
            let record = call.record(Outcome::Transport(fault.kind.transport()));
            self.tally.record(self.shared.windows, &record);
            self.note_sign(now);
        }
        let closed = self.calls.close(index);
        closed.sink.recycle(&mut self.spare);
        let (id, times, peer, bytes) = (closed.id, closed.times, closed.peer, closed.bytes);
        if is_counted {
            self.tell(user, News::Failed { call: id, fault, times, peer, bytes })
        } else {
            self.tell(user, News::Socket { socket: id, news: SocketNews::Failed { fault, times }, bytes })
        }
    }

    // ---- give up

    /// The call has failed; its user hears of it as soon as nothing else is being done.
    pub(super) fn give_up(&mut self, index: u32, fault: CallFault) {
        if matches!(self.calls[index].stage, Stage::Failing(_)) {
            return;
        }
        self.detach(index);
        self.calls.forget(index);
        self.calls.fail_later(index, fault);
    }

    /// A connection is lost. A call that it carried goes over another one, or fails.
    pub(super) fn lose_line(
        &mut self,
        line: u32,
        fault: &Fault,
        nothing_was_sent: bool,
    ) -> Result<(), WorkerError> {
        let entry = self.calls.line(line);
        if entry.socket.is_some() {
            self.calls.end_socket(line, End::Failed(fault::of_transport(fault)));
            return Ok(());
        }
        let carried = entry.carries;
        self.calls.close_line(line);
        let Some(index) = carried else { return Ok(()) };
        self.calls[index].line = None;
        if self.calls[index].may_be_repeated(nothing_was_sent) {
            let now = self.now();
            return self.carry_call(index, now);
        }
        self.give_up(index, fault::of_transport(fault));
        Ok(())
    }

    /// Its user wants nothing of it any more.
    pub(super) fn drop_call(&mut self, index: u32) {
        self.calls.forget(index);
        self.detach(index);
        if self.calls[index].accept.is_none() {
            self.in_flight -= 1;
            self.tally.unfinished += 1;
        }
        self.calls.close(index).sink.recycle(&mut self.spare);
    }

    /// An alarm of the call that has this place now.
    pub(super) fn check_call(&mut self, index: u32, at: Nanos, now: Nanos) {
        let call = &mut self.calls[index];
        if !call.alarm.rings(at) || !call.is_open {
            return;
        }
        let connects_by = match call.stage {
            Stage::Opening if call.times.connected == Nanos::ZERO => {
                call.times.resolved.plus(CONNECT_TIMEOUT)
            }
            _ => Nanos::MAX,
        };
        let next = call.deadline.min(connects_by);
        if next > now {
            call.alarm.set(&mut self.timers, next, (Alarm::Call, index));
            return;
        }
        let fault = if call.deadline <= now {
            fault::new(CallFaultKind::Timeout, "no whole answer came within the call's timeout")
        } else {
            fault::new(CallFaultKind::ConnectTimeout, "the connection did not stand within 30 s")
        };
        self.give_up(index, fault);
    }
}
