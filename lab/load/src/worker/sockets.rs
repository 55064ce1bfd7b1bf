//! WebSockets of programs that wait: opened as calls are, then messages in both directions until one side closes.

use super::{Worker, WorkerError};
use crate::alarm::Alarm;
use crate::calls::Begun;
use prony_client::fault;
use prony_client::http1::scanner::Answer;
use prony_client::http1::sink::Sink;
use prony_client::websocket::{self, End, GOING_AWAY, OUTGOING_BYTES_MAX, Received, Socket};
use prony_model::Nanos;
use prony_model::program::call::{
    AskId, Call, CallBytes, CallFaultKind, News, SocketClose, SocketMessage, SocketNews, SocketOpening,
};
use prony_model::program::{Keep, ProgramError};
use std::mem;

/// As long as the peer may take to answer a close.
const CLOSE_TIMEOUT: Nanos = Nanos::from_secs(5);

impl Worker<'_> {
    // ---- open

    pub(super) fn open_socket(
        &mut self,
        user: u32,
        opening: SocketOpening,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let SocketOpening { id, target, text: range, timeout } = opening;
        let request = text.get(range).and_then(|text| websocket::opening(text, &websocket::new_key()));
        let Some((text, accept)) = request else {
            return Err(ProgramError("a program opened a WebSocket without a request".to_owned()).into());
        };
        let (keep, is_fresh) = (Keep::Whole, true);
        let text_range = 0..text.len();
        let call = Call {
            id,
            target,
            request: 0,
            text: text_range,
            is_head: false,
            keep,
            timeout,
            is_fresh,
            expects: None,
        };
        let sink = Sink::new(keep, &mut self.spare);
        let accept = Some(accept);
        let index =
            self.calls.open(Begun { user, call, text: &text, scheduled: now, asked: now, sink, accept });
        let call = &mut self.calls[index];
        call.alarm.set(&mut self.timers, call.deadline, (Alarm::Call, index));
        self.carry_call(index, now)
    }

    /// The opening was answered; `rest` came behind the answer.
    pub(super) fn answered_opening(
        &mut self,
        line: u32,
        index: u32,
        answer: Answer,
        rest: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let call = &mut self.calls[index];
        call.end_times(now);
        let user = call.user;
        if answer.status == 101 {
            let accept = call.accept.take().unwrap_or_default();
            if let Some(fault) = websocket::opening_fault(call.sink.answer(101).head, &accept) {
                call.accept = Some(accept);
                self.give_up(index, fault);
                return Ok(());
            }
        }
        let closed = self.calls.close(index);
        let (id, times, peer, bytes) = (closed.id, closed.times, closed.peer, closed.bytes);
        let whole = closed.sink.answer(answer.status);
        let token = self.calls.token_of(line);
        let told = if answer.status == 101 {
            self.calls.keep_socket(line, Socket::new(id, times, CallBytes::default()));
            self.tell_socket(user, id, bytes, SocketNews::Opened { answer: whole, times, peer })
        } else {
            self.calls.close_line(line);
            self.tell_socket(user, id, bytes, SocketNews::Refused { answer: whole, times, peer })
        };
        closed.sink.recycle(&mut self.spare);
        told?;
        // Its user may have closed it at once.
        if answer.status == 101 && self.calls.present(token).is_some() {
            return self.take_socket_bytes(line, rest);
        }
        Ok(())
    }

    // ---- send

    pub(super) fn send_socket(&mut self, user: u32, id: AskId, message: SocketMessage) {
        let Some(line) = self.calls.socket_of(user, id) else { return };
        let Some(socket) = &mut self.calls.line(line).socket else { return };
        match socket.send(message) {
            Ok(()) => self.flush_socket(line),
            Err(fault) => self.calls.end_socket(line, End::Failed(fault)),
        }
    }

    pub(super) fn close_socket(&mut self, user: u32, id: AskId, close: SocketClose, now: Nanos) {
        if let Some(line) = self.calls.socket_of(user, id) {
            let entry = self.calls.line(line);
            let Some(socket) = &mut entry.socket else { return };
            socket.close(close);
            entry.close_by = now.plus(CLOSE_TIMEOUT);
            entry.alarm.set(&mut self.timers, entry.close_by, (Alarm::Close, line));
            self.flush_socket(line);
        } else if let Some(call) = self.calls.find(user, id) {
            self.give_up(call, fault::new(CallFaultKind::Connect, "it was closed before it was open"));
        }
    }

    /// Sends what the socket has written, as soon as the connection takes it.
    pub(super) fn flush_socket(&mut self, line: u32) {
        let entry = self.calls.line(line);
        let (Some(socket), Some(connection)) = (&mut entry.socket, &mut entry.connection) else { return };
        if socket.output().is_empty() {
            return;
        }
        if connection.transport.has_unsent() {
            if socket.output().len() > OUTGOING_BYTES_MAX {
                let message =
                    format!("more than {OUTGOING_BYTES_MAX} bytes wait for a peer that does not read");
                self.calls.end_socket(line, End::Failed(fault::new(CallFaultKind::Write, message)));
            }
            return;
        }
        let sent = connection.transport.send(socket.output());
        socket.note_sent();
        if let Err(fault) = sent {
            self.calls.end_socket(line, End::Failed(fault::of_transport(&fault)));
        }
    }

    // ---- hear

    pub(super) fn take_socket_bytes(&mut self, line: u32, bytes: &[u8]) -> Result<(), WorkerError> {
        self.tally.interval_bytes_received += bytes.len() as u64;
        let token = self.calls.token_of(line);
        if let Some(socket) = &mut self.calls.line(line).socket {
            socket.take(bytes);
        }
        // Each message is heard by the program, which may close the socket.
        while self.calls.present(token).is_some() {
            let entry = self.calls.line(line);
            let user = entry.user;
            let Some(socket) = entry.socket.as_mut().filter(|socket| socket.end.is_none()) else { break };
            let (id, heard) = (socket.id, socket.receive());
            self.flush_socket(line);
            match heard {
                None => break,
                Some(Received::Message(message)) => {
                    let socket = self.calls.line(line).socket.as_mut();
                    let bytes = socket.map(|socket| mem::take(&mut socket.bytes)).unwrap_or_default();
                    self.tell_socket(user, id, bytes, SocketNews::Message(message))?;
                }
                Some(Received::End(end)) => self.calls.end_socket(line, end),
            }
        }
        Ok(())
    }

    /// Tells users of sockets that are gone.
    pub(super) fn tell_ended_sockets(&mut self) -> Result<(), WorkerError> {
        for _ in 0..self.calls.ended_count() {
            let Some(line) = self.calls.pop_ended() else { break };
            let entry = self.calls.line(line);
            let user = entry.user;
            let ended = entry.socket.take().map(|socket| (socket.id, socket.times, socket.bytes, socket.end));
            self.calls.close_line(line);
            let Some((id, times, bytes, Some(end))) = ended else { continue };
            self.calls.forget_socket(user, line);
            let news = match end {
                End::Closed(close) => SocketNews::Closed(close),
                End::Failed(fault) => SocketNews::Failed { fault, times },
            };
            self.tell_socket(user, id, bytes, news)?;
        }
        Ok(())
    }

    fn tell_socket(
        &mut self,
        user: u32,
        socket: AskId,
        bytes: CallBytes,
        news: SocketNews<'_>,
    ) -> Result<(), WorkerError> {
        self.tell(user, News::Socket { socket, news, bytes })
    }

    // ---- end

    /// A peer that was told of the end has had its time to say so too.
    pub(super) fn check_close(&mut self, line: u32, at: Nanos, now: Nanos) {
        let entry = self.calls.line(line);
        if !entry.alarm.rings(at) || !entry.socket.as_ref().is_some_and(|socket| socket.is_closing) {
            return;
        }
        if entry.close_by > now {
            entry.alarm.set(&mut self.timers, entry.close_by, (Alarm::Close, line));
            return;
        }
        self.calls.end_socket(line, End::abnormal());
    }

    /// The user goes away: its peer is told, if that takes no waiting.
    pub(super) fn drop_sockets(&mut self, user: u32) {
        while let Some(line) = self.calls.any_socket_of(user) {
            if let Some(socket) = &mut self.calls.line(line).socket
                && socket.end.is_none()
            {
                socket.close(SocketClose { code: GOING_AWAY, reason: String::new() });
                self.flush_socket(line);
            }
            self.calls.close_line(line);
        }
    }
}
