//! Takes what connections of HTTP/1.1 bring, in the order of the system's events.

use super::{Client, Pending, Reading, SendError};
use crate::connection::Carrier;
use crate::event::Failure;
use crate::http1::error::ScanError;
use crate::http1::scanner::Answer;
use crate::ids::{ConnectionId, RequestId};
use crate::poller::{Poller, Ready};
use crate::transport::{Fault, Read};
use prony_model::Nanos;
use prony_model::program::call::CallFaultKind;
use std::io;
use std::mem;

impl<C: Clone> Client<'_, C> {
    pub(super) fn handle(&mut self, ready: Ready) -> io::Result<()> {
        if Poller::is_timer(ready) {
            return Ok(());
        }
        if Poller::is_waker(ready) {
            let woken = self.on_wake();
            return system(woken);
        }
        let id = ConnectionId::of_u64(ready.token);
        // Nothing for one that was closed a moment ago.
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        if let Some(http2) = connection.http2() {
            http2.note_event(ready.readable, ready.is_ending);
            self.mark_dirty(id);
            return Ok(());
        }
        let Some(transport) = connection.transport() else { return Ok(()) };
        if !transport.is_open() {
            let opened = self.go_on_opening(id);
            system(opened)?;
        } else if ready.writable && transport.has_unsent() {
            match transport.flush() {
                Ok(()) => self.note_flushed(id),
                Err(fault) => {
                    let lost = self.lose(id, &fault, false);
                    system(lost)?;
                }
            }
        }
        if ready.readable {
            return self.read(Reading { connection: id, is_ending: ready.is_ending });
        }
        Ok(())
    }

    /// Reads once, and again as long as something may be left: readiness is told once only.
    pub(super) fn read(&mut self, reading: Reading) -> io::Result<()> {
        let id = reading.connection;
        let transport = self.connections.get_mut(id).and_then(|connection| connection.transport());
        let Some(transport) = transport.filter(|transport| transport.is_open()) else { return Ok(()) };
        let mut buffer = mem::take(&mut self.buffer);
        let read = transport.read(&mut buffer);
        let taken = match read {
            Ok(Read::Bytes { count, is_all }) => {
                if !is_all || reading.is_ending {
                    self.reading = Some(reading);
                }
                self.take_bytes(id, &buffer[..count])
            }
            Ok(Read::Nothing) => Ok(()),
            Ok(Read::End) => self.take_end(id),
            Err(fault) => self.lose(id, &fault, false),
        };
        self.buffer = buffer;
        system(taken)
    }

    /// Bytes of the awaited response, and of those pipelined behind it.
    fn take_bytes(&mut self, id: ConnectionId, bytes: &[u8]) -> Result<(), SendError> {
        let now = self.now();
        let mut rest = bytes;
        loop {
            let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
            let http1 = match &mut connection.carrier {
                Carrier::Http1(http1) => http1,
                Carrier::WebSocket(..) => {
                    self.take_websocket_bytes(id, rest);
                    return Ok(());
                }
                Carrier::Frames(_) => {
                    self.take_frames(id, bytes.len() - rest.len()..bytes.len(), now);
                    return Ok(());
                }
                Carrier::Closed | Carrier::Http2(_) => return Ok(()),
            };
            let carried = connection.carries.and_then(|id| Some((id, self.requests.get_mut(id)?)));
            let Some((request_id, request)) = carried else {
                // Nobody asked for these bytes: the connection cannot be trusted any more.
                self.close(id);
                return Ok(());
            };
            request.times.first_byte.get_or_insert(now);
            request.sink.begin_read(&mut self.spare);
            let found = http1.scanner.feed(rest, &mut request.sink, &mut self.heads);
            let consumed = match &found {
                Ok(Some(response)) => response.consumed,
                _ => rest.len(),
            };
            request.bytes.received += consumed as u64;
            rest = &rest[consumed..];
            // Of a WebSocket's opening nothing is shown before it is whole.
            if request.accept.is_none() && request.sink.announce() {
                self.pending.push_back(Pending::Received(request_id, now));
            }
            match found {
                Err(error) => {
                    self.give_up(request_id, crate::fault::new(CallFaultKind::Protocol, error.to_string()));
                }
                Ok(_) if request.sink.is_too_long() => self.give_up(request_id, crate::fault::too_long()),
                Ok(None) => {}
                Ok(Some(response)) if request.accept.is_some() => {
                    self.finish_opening(id, request_id, response, now);
                    if !rest.is_empty() {
                        continue;
                    }
                }
                Ok(Some(response)) => {
                    if self.take_response(id, request_id, response, rest.is_empty(), now) && !rest.is_empty()
                    {
                        continue;
                    }
                }
            }
            return Ok(());
        }
    }

    /// A response is whole; true where the connection carries the next request of a pipeline. `is_all`: no bytes came
    /// behind it.
    fn take_response(
        &mut self,
        id: ConnectionId,
        request_id: RequestId,
        response: Answer,
        is_all: bool,
        now: Nanos,
    ) -> bool {
        let Some(request) = self.requests.get_mut(request_id) else { return false };
        let (next, is_fresh) = (request.next.take(), request.options.is_fresh);
        request.connection = None;
        self.finish(request_id, response.status, now);
        let Some(next) = next else {
            let connection = self.connections.get_mut(id);
            let transport = connection.and_then(|connection| connection.transport());
            // Bytes past the response, and one that came before its request was written, spoil the connection.
            let is_clean = transport.is_some_and(|transport| is_all && !transport.has_unsent());
            if is_clean && response.keeps_connection && self.settings.keeps_connections && !is_fresh {
                self.rest(id);
            } else {
                self.close(id);
            }
            return false;
        };
        if !response.keeps_connection {
            self.close(id);
            self.fail(next, &Failure::of_transport(&Fault::end_of_connection()));
            return false;
        }
        let (Some(connection), Some(request)) = (self.connections.get_mut(id), self.requests.get_mut(next))
        else {
            return false;
        };
        connection.carries = Some(next);
        request.connection = Some(id);
        request.bytes.sent += request.length;
        if let Carrier::Http1(http1) = &mut connection.carrier {
            http1.scanner.begin(request.options.is_head);
        }
        true
    }

    fn take_end(&mut self, id: ConnectionId) -> Result<(), SendError> {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        if connection.websocket().is_some() {
            self.end_websocket_abnormally(id);
            return Ok(());
        }
        let end = match &mut connection.carrier {
            Carrier::Http1(http1) => http1.scanner.end(),
            _ => Err(ScanError::Truncated),
        };
        let carried = connection.carries.and_then(|id| Some((id, self.requests.get(id)?)));
        match (carried, end) {
            (Some((request, entry)), Ok(response)) if entry.accept.is_some() => {
                self.finish_opening(id, request, response, now);
            }
            // Of a streamed response the owner knows best whether it was whole.
            (Some((request, entry)), Ok(response))
                if entry.times.first_byte.is_some() && !entry.sink.is_stream() =>
            {
                self.take_response(id, request, response, true, now);
            }
            _ => return self.lose(id, &Fault::end_of_connection(), false),
        }
        Ok(())
    }

    /// A connection is lost. A request that it carried goes over another one, or fails.
    pub(super) fn lose(
        &mut self,
        id: ConnectionId,
        fault: &Fault,
        nothing_was_sent: bool,
    ) -> Result<(), SendError> {
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        if connection.websocket().is_some() {
            self.end_websocket(id, fault);
            return Ok(());
        }
        let carried = connection.carries;
        let is_opening = connection.transport().is_some_and(|transport| !transport.is_open());
        self.close(id);
        let Some(carried) = carried else { return Ok(()) };
        let Some(request) = self.requests.get_mut(carried) else {
            self.lose_frames(carried, fault);
            return Ok(());
        };
        request.connection = None;
        if request.may_be_repeated(nothing_was_sent) {
            let now = self.now();
            return self.carry(carried, None, now);
        }
        let of = if is_opening { Failure::of_opening } else { Failure::of_transport };
        self.fail(carried, &of(fault));
        Ok(())
    }
}

/// What was repeated has been sent before: only the system can refuse it.
#[inline]
fn system(sent: Result<(), SendError>) -> io::Result<()> {
    sent.map_err(|error| match error {
        SendError::System(error) => error,
        error => io::Error::other(error),
    })
}
