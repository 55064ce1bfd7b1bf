//! What the client tells of requests: recorded, and handed to the program and the machine.

use super::{Worker, WorkerError};
use crate::users::UserIndex;
use prony_client::event::{Failure, Finished};
use prony_client::{ClientEvent, EventKind};
use prony_model::program::call::{AskId, CallBytes, CallTimes, News, Peer, SocketNews};
use prony_model::{Nanos, Outcome, Record};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Statuses that count as a success where a call does not say which.
const EXPECTED: RangeInclusive<u16> = 200..=399;

/// Whose request it is, and how it is counted.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) user: UserIndex,
    /// Under which it is counted.
    pub(super) request: usize,
    pub(super) scheduled: Nanos,
    pub(super) purpose: Purpose,
}

#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// A request of a step, whose response the program judges.
    Step { bytes_sent: u64 },
    /// A call of a waiting program; the statuses that count as a success.
    Call { id: AskId, expects: Option<Arc<[RangeInclusive<u16>]>> },
    /// A WebSocket of a waiting program; it is not counted.
    WebSocket { id: AskId },
}

impl Worker<'_> {
    pub(super) fn on_client_event(&mut self, event: ClientEvent<Context>) -> Result<(), WorkerError> {
        let ClientEvent { request, context, bytes, kind } = event;
        match context.purpose {
            Purpose::Step { bytes_sent } => self.on_step_event(&context, bytes_sent, bytes.received, kind)?,
            Purpose::Call { id, ref expects } => {
                self.forget(context.user, request);
                self.on_call_event(&context, id, expects.as_deref(), bytes, kind)?;
            }
            Purpose::WebSocket { id } => {
                if !matches!(kind, EventKind::Opened(_) | EventKind::Message(_)) {
                    self.forget(context.user, request);
                }
                self.on_websocket_event(context.user, id, bytes, kind)?;
            }
        }
        self.act()
    }

    // ---- steps

    fn on_step_event(
        &mut self,
        context: &Context,
        bytes_sent: u64,
        bytes_received: u64,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        let place = self.machine.place_of(context.user);
        let (outcome, error, times) = match kind {
            EventKind::Response(Finished { status, sink, times, .. }) => {
                let judged = self.program.judge(place, context.request, &sink.answer(status));
                self.client.recycle(sink);
                (judged?, None, times)
            }
            EventKind::Failed { failure, times, .. } => {
                (Outcome::Transport(failure.error), Some(failure.error), times)
            }
            _ => return Ok(()),
        };
        self.recorder.ended(&Record {
            request: context.request,
            scheduled: context.scheduled,
            started: times.asked,
            first_byte: times.first_byte,
            ended: times.ended,
            outcome,
            bytes_sent,
            bytes_received,
        });
        self.machine.on_request_end(context.user, error, times.ended);
        Ok(())
    }

    // ---- calls

    fn on_call_event(
        &mut self,
        context: &Context,
        id: AskId,
        expects: Option<&[RangeInclusive<u16>]>,
        bytes: CallBytes,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        match kind {
            EventKind::Response(Finished { status, sink, times, peer }) => {
                let is_expected = match expects {
                    None => EXPECTED.contains(&status),
                    Some(ranges) => ranges.iter().any(|range| range.contains(&status)),
                };
                let outcome = if is_expected { Outcome::Success } else { Outcome::Status(status) };
                self.record_call(context, outcome, &times, bytes);
                let answer = sink.answer(status);
                let told = self.notify(context.user, News::Answered { call: id, answer, times, peer, bytes });
                self.client.recycle(sink);
                told
            }
            EventKind::Failed { failure, times, peer } => {
                let Failure { fault, .. } = failure;
                self.record_call(context, Outcome::Transport(fault.kind.transport()), &times, bytes);
                self.notify(context.user, News::Failed { call: id, fault, times, peer, bytes })
            }
            _ => Ok(()),
        }
    }

    fn record_call(&mut self, context: &Context, outcome: Outcome, times: &CallTimes, bytes: CallBytes) {
        self.recorder.ended(&Record {
            request: context.request,
            scheduled: context.scheduled,
            started: times.asked,
            first_byte: times.first_byte,
            ended: times.ended,
            outcome,
            bytes_sent: bytes.sent,
            bytes_received: bytes.received,
        });
    }

    // ---- WebSockets

    fn on_websocket_event(
        &mut self,
        user: UserIndex,
        socket: AskId,
        bytes: CallBytes,
        kind: EventKind,
    ) -> Result<(), WorkerError> {
        let news = match kind {
            EventKind::Opened(Finished { status, sink, times, peer }) => {
                let answer = sink.answer(status);
                let news = SocketNews::Opened { answer, times, peer };
                let told = self.notify(user, News::Socket { socket, news, bytes });
                self.client.recycle(sink);
                return told;
            }
            EventKind::Refused(finished) => return self.refused(user, socket, bytes, finished),
            EventKind::Message(message) => SocketNews::Message(message),
            EventKind::Closed(close) => SocketNews::Closed(close),
            EventKind::Lost { failure, times } => SocketNews::Failed { fault: failure.fault, times },
            EventKind::Response(_) | EventKind::Failed { .. } => return Ok(()),
        };
        self.notify(user, News::Socket { socket, news, bytes })
    }

    fn refused(
        &mut self,
        user: UserIndex,
        socket: AskId,
        bytes: CallBytes,
        finished: Finished,
    ) -> Result<(), WorkerError> {
        let Finished { status, sink, times, peer } = finished;
        let peer: Peer = peer;
        let news = SocketNews::Refused { answer: sink.answer(status), times, peer };
        let told = self.notify(user, News::Socket { socket, news, bytes });
        self.client.recycle(sink);
        told
    }
}
