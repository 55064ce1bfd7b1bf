//! What the client tells of requests: recorded, and handed to the program and the machine.

use super::Worker;
use super::request::{Context, Purpose};
use crate::error::WorkerError;
use crate::users::UserIndex;
use prony_client::{ClientEvent, Ended, EventKind, Failure, RequestId};
use prony_model::program::call::{AskId, CallBytes, CallTimes, ChannelEvent, Peer, SocketEvent, WaitEvent};
use prony_model::{Outcome, Record};
use std::mem;

impl Worker<'_> {
    pub(super) fn on_client_event(&mut self, event: ClientEvent) -> Result<(), WorkerError> {
        let ClientEvent { request, kind } = event;
        let Some(entry) = self.client.get(request) else {
            self.on_bytes_event(request, kind)?;
            return self.act();
        };
        let Some(context) = entry.context() else { return Ok(()) };
        match context.purpose {
            Purpose::Step { bytes_sent } => {
                let (user, times) = (context.user, entry.times());
                let status = kind.status();
                let (outcome, error) = match kind {
                    EventKind::Response(status) => {
                        let (place, response) = (self.machine.place_of(user), entry.response(status));
                        (self.program.judge(place, context.request, &response)?, None)
                    }
                    EventKind::Failed(Failure { error, .. }) => (Outcome::Transport(error), Some(error)),
                    _ => return Ok(()),
                };
                let bytes = CallBytes { sent: bytes_sent, received: entry.bytes().received };
                self.recorder.ended(&record(context, (outcome, status), times, bytes));
                let now = times.ended;
                self.client.release(request);
                self.machine.on_request_end(user, error, now);
            }
            Purpose::Call { id, .. } => self.on_call_event(request, id, kind)?,
            Purpose::WebSocket { id } => {
                let user = context.user;
                self.on_websocket_event(user, request, id, kind)?;
            }
            Purpose::Channel { id } => {
                let user = context.user;
                self.on_opening_event(user, request, id, kind)?;
            }
            Purpose::Stream { id, .. } => {
                let user = context.user;
                self.on_stream_event(user, request, id, kind)?;
            }
        }
        self.act()
    }

    // ---- calls

    fn on_call_event(&mut self, request: RequestId, id: AskId, kind: EventKind) -> Result<(), WorkerError> {
        let Some(Ended { context, times, peer, bytes, sink, .. }) = self.client.take(request) else {
            return Ok(());
        };
        let user = context.user;
        let is_counted = !matches!(context.purpose, Purpose::Call { is_counted: false, .. });
        self.forget(user, request);
        let told = match kind {
            EventKind::Response(status) => {
                if is_counted {
                    let outcome = outcome(&context, status);
                    self.recorder.ended(&record(&context, (outcome, Some(status)), &times, bytes));
                }
                let answer = sink.answer(status);
                self.notify(user, WaitEvent::Answered { call: id, answer, times, peer, bytes })
            }
            EventKind::Failed(Failure { fault, .. }) => {
                if is_counted {
                    let outcome = Outcome::Transport(fault.kind.transport());
                    self.recorder.ended(&record(&context, (outcome, None), &times, bytes));
                }
                self.notify(user, WaitEvent::Failed { call: id, fault, times, peer, bytes })
            }
            _ => Ok(()),
        };
        self.client.recycle(sink);
        told
    }

    // ---- WebSockets

    fn on_websocket_event(
        &mut self,
        user: UserIndex,
        request: RequestId,
        socket: AskId,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        let bytes = self.client.take_bytes_of(request);
        match kind {
            EventKind::Message(message) => {
                self.notify_of_websocket(user, socket, bytes, SocketEvent::Message(message))
            }
            EventKind::Opened => {
                let Some((times, peer, sink)) = self.client.take_opening(request) else { return Ok(()) };
                let event = SocketEvent::Opened { answer: sink.answer(101), times, peer };
                let told = self.notify_of_websocket(user, socket, bytes, event);
                self.client.recycle(sink);
                told
            }
            end => {
                self.forget(user, request);
                let Some(Ended { times, peer, sink, .. }) = self.client.take(request) else { return Ok(()) };
                let event = match end {
                    EventKind::Refused(status) => {
                        SocketEvent::Refused { answer: sink.answer(status), times, peer }
                    }
                    EventKind::Closed(close) => SocketEvent::Closed(close),
                    EventKind::Lost(failure) => SocketEvent::Failed { fault: failure.fault, times },
                    _ => return Ok(()),
                };
                let told = self.notify_of_websocket(user, socket, bytes, event);
                self.client.recycle(sink);
                told
            }
        }
    }

    fn notify_of_websocket(
        &mut self,
        user: UserIndex,
        socket: AskId,
        bytes: CallBytes,
        event: SocketEvent<'_>,
    ) -> Result<(), WorkerError> {
        self.notify(user, WaitEvent::Socket { socket, event, bytes })
    }
}

// ---- channels

impl Worker<'_> {
    /// Of a channel that is being opened.
    fn on_opening_event(
        &mut self,
        user: UserIndex,
        request: RequestId,
        id: AskId,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        let bytes = self.client.take_bytes_of(request);
        let Some(entry) = self.client.get(request) else { return Ok(()) };
        let (times, peer) = (*entry.times(), entry.peer());
        match kind {
            EventKind::Opened if entry.is_over() => self.end(user, request),
            EventKind::Opened => drop(self.client.take_opening(request)),
            EventKind::Failed(Failure { fault, .. }) => {
                self.end(user, request);
                let event = ChannelEvent::Failed { fault, times, peer };
                return self.notify(user, WaitEvent::Channel { id, event, bytes });
            }
            _ => return Ok(()),
        }
        self.notify(user, WaitEvent::Channel { id, event: ChannelEvent::Opened { times, peer }, bytes })
    }

    /// Of a channel of bytes that is open.
    fn on_bytes_event(&mut self, request: RequestId, kind: EventKind) -> Result<(), WorkerError> {
        let Some(context) = self.client.context(request) else { return Ok(()) };
        let Purpose::Channel { id } = context.purpose else { return Ok(()) };
        let user = context.user;
        let bytes = self.client.take_bytes_of(request);
        match kind {
            EventKind::Received { .. } => self.notify_of_received(user, request, id, Peer::default(), bytes),
            EventKind::Lost(Failure { fault, .. }) => {
                self.end(user, request);
                let event =
                    ChannelEvent::Failed { fault, times: CallTimes::default(), peer: Peer::default() };
                self.notify(user, WaitEvent::Channel { id, event, bytes })
            }
            _ => Ok(()),
        }
    }

    fn on_stream_event(
        &mut self,
        user: UserIndex,
        request: RequestId,
        id: AskId,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        if let EventKind::Received { .. } = kind {
            let Some(entry) = self.client.get(request) else { return Ok(()) };
            let peer = entry.peer();
            let is_counted = matches!(
                entry.context().map(|context| &context.purpose),
                Some(Purpose::Stream { is_counted: true, .. })
            );
            // The record of one that is counted has all its bytes.
            let bytes = if is_counted { CallBytes::default() } else { self.client.take_bytes_of(request) };
            return self.notify_of_received(user, request, id, peer, bytes);
        }
        self.forget(user, request);
        let Some(Ended { context, times, peer, bytes, trailers, sink }) = self.client.take(request) else {
            return Ok(());
        };
        self.client.recycle(sink);
        let outcome = match &kind {
            EventKind::Response(status) => stream_outcome(&context, *status, &trailers),
            EventKind::Failed(failure) => Outcome::Transport(failure.error),
            _ => return Ok(()),
        };
        if matches!(context.purpose, Purpose::Stream { is_counted: true, .. }) {
            self.recorder.ended(&record(&context, (outcome, kind.status()), &times, bytes));
        }
        let event = match kind {
            EventKind::Failed(Failure { fault, .. }) => ChannelEvent::Failed { fault, times, peer },
            EventKind::Response(status) => ChannelEvent::Ended { status, trailers: &trailers, times, peer },
            _ => return Ok(()),
        };
        self.notify(user, WaitEvent::Channel { id, event, bytes })
    }

    fn notify_of_received(
        &mut self,
        user: UserIndex,
        request: RequestId,
        id: AskId,
        peer: Peer,
        bytes: CallBytes,
    ) -> Result<(), WorkerError> {
        let mut received = mem::take(&mut self.received);
        received.clear();
        let answer = self.client.received(request);
        received.extend_from_slice(answer.head);
        received.extend_from_slice(answer.body);
        let (head, body) = received.split_at(answer.head.len());
        let event = ChannelEvent::Received { head, body, peer };
        let told = self.notify(user, WaitEvent::Channel { id, event, bytes });
        self.received = received;
        told
    }

    fn end(&mut self, user: UserIndex, request: RequestId) {
        self.forget(user, request);
        self.client.release(request);
    }
}

fn stream_outcome(context: &Context, status: u16, trailers: &[u8]) -> Outcome {
    let Purpose::Stream { expects: Some((name, value)), .. } = context.purpose else {
        return Outcome::of_status(status);
    };
    let mut lines = trailers.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        Some((line[..at].trim_ascii(), line[at + 1..].trim_ascii()))
    });
    let is_met = lines.any(|line| line == (name.as_bytes(), value.as_bytes()));
    if !is_met && Outcome::of_status(status) == Outcome::Success {
        return Outcome::FailedCheck;
    }
    Outcome::of_status(status)
}

fn outcome(context: &Context, status: u16) -> Outcome {
    match &context.purpose {
        Purpose::Call { expects: Some(ranges), .. } => {
            let is_expected = ranges.iter().any(|range| range.contains(&status));
            if is_expected { Outcome::Success } else { Outcome::Status(status) }
        }
        _ => Outcome::of_status(status),
    }
}

/// How it ended, and the status of its response, where one came.
fn record(
    context: &Context,
    (outcome, status): (Outcome, Option<u16>),
    times: &CallTimes,
    bytes: CallBytes,
) -> Record {
    Record {
        request: context.request,
        scheduled: context.scheduled,
        started: times.asked,
        first_byte: times.first_byte,
        ended: times.ended,
        outcome,
        status,
        bytes_sent: bytes.sent,
        bytes_received: bytes.received,
    }
}
