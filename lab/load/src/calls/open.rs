//! One call from the moment it is asked for until its user hears what became of it.

use prony_client::http1::sink::Sink;
use prony_client::timers::LazyAlarm;
use prony_model::program::call::{AskId, Call, CallBytes, CallFault, CallTimes, Peer};
use prony_model::{Nanos, Outcome, Record};
use std::mem;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Memory for a longer text is given back when its call is over.
const TEXT_BYTES_KEPT: usize = 16 * 1024;
const EXPECTED: RangeInclusive<u16> = 200..=399;
/// How often a call is sent again that peers have not looked at.
const RESENDS_MAX: u8 = 3;
/// What may be sent twice without harm (RFC 9110, 9.2.2), as far as Go's transport, and with it k6, does so.
const REPEATABLE: [&[u8]; 4] = [b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE "];

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each says one thing, and any may hold with any")]
pub(crate) struct OpenCall {
    pub(crate) user: u32,
    pub(crate) id: AskId,
    pub(crate) target: usize,
    request: usize,
    pub(crate) is_head: bool,
    pub(crate) is_fresh: bool,
    expects: Option<Arc<[RangeInclusive<u16>]>>,
    pub(crate) deadline: Nanos,
    scheduled: Nanos,
    pub(crate) times: CallTimes,
    pub(crate) peer: Peer,
    pub(crate) bytes: CallBytes,
    /// For a connection that is not open yet, and for another one where a kept one turns out to be dead.
    pub(crate) text: Vec<u8>,
    pub(crate) sink: Sink,
    pub(crate) stage: Stage,
    /// The connection that carries it, or is being opened for it.
    pub(crate) line: Option<u32>,
    /// It is a stream of that connection, which others may share.
    pub(crate) is_stream: bool,
    /// How often it was sent again because its peer had not looked at it.
    resends: u8,
    /// Tells it from the calls that had its place before.
    pub(super) generation: u32,
    /// Over a connection that has served before.
    pub(crate) is_reused: bool,
    pub(crate) alarm: LazyAlarm,
    pub(crate) is_open: bool,
    /// It opens a WebSocket, and this is what the answer has to accept it with. Such a call is not counted.
    pub(crate) accept: Option<String>,
    /// Among its user's open ones.
    pub(super) place: usize,
}

/// What a call waits for.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    /// For the addresses of its target.
    #[default]
    Resolving,
    /// For its connection.
    Opening,
    /// For its answer.
    Underway,
    /// For its user to hear of this.
    Failing(CallFault),
}

/// A call that is asked for.
#[derive(Debug)]
pub(crate) struct Begun<'a> {
    pub(crate) user: u32,
    pub(crate) call: Call,
    pub(crate) text: &'a [u8],
    pub(crate) scheduled: Nanos,
    pub(crate) asked: Nanos,
    pub(crate) sink: Sink,
    pub(crate) accept: Option<String>,
}

/// What is told of a call that is over.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) id: AskId,
    pub(crate) times: CallTimes,
    pub(crate) peer: Peer,
    pub(crate) bytes: CallBytes,
    pub(crate) sink: Sink,
}

impl OpenCall {
    pub(super) fn begin(&mut self, begun: Begun<'_>, place: usize) {
        let Begun { user, call, text, scheduled, asked, sink, accept } = begun;
        (self.user, self.id, self.target, self.request) = (user, call.id, call.target, call.request);
        (self.is_head, self.is_fresh, self.expects) = (call.is_head, call.is_fresh, call.expects);
        self.deadline = asked.plus(call.timeout);
        self.scheduled = scheduled;
        self.times = CallTimes { asked, ..CallTimes::default() };
        (self.peer, self.bytes) = (Peer::default(), CallBytes::default());
        self.text.extend_from_slice(text);
        (self.sink, self.stage) = (sink, Stage::Resolving);
        (self.line, self.is_reused, self.is_stream, self.resends) = (None, false, false, 0);
        self.generation = self.generation.wrapping_add(1);
        (self.is_open, self.place, self.accept) = (true, place, accept);
    }

    pub(super) fn end(&mut self) -> Closed {
        self.text.clear();
        self.text.shrink_to(TEXT_BYTES_KEPT);
        (self.expects, self.stage, self.line) = (None, Stage::Resolving, None);
        (self.is_open, self.accept) = (false, None);
        let (times, peer, bytes) = (self.times, self.peer, self.bytes);
        Closed { id: self.id, times, peer, bytes, sink: mem::take(&mut self.sink) }
    }

    /// A connection that stands was taken: nothing was waited for.
    pub(crate) fn take_kept(&mut self, line: u32, now: Nanos) {
        (self.line, self.is_reused) = (Some(line), true);
        (self.times.resolved, self.times.connected, self.times.ready) = (now, now, now);
        (self.times.sent, self.times.is_new_connection) = (Nanos::ZERO, false);
    }

    pub(crate) fn outcome(&self, status: u16) -> Outcome {
        let is_expected = match &self.expects {
            None => EXPECTED.contains(&status),
            Some(ranges) => ranges.iter().any(|range| range.contains(&status)),
        };
        if is_expected { Outcome::Success } else { Outcome::Status(status) }
    }

    /// The moment that `times.ended` says is its end. Moments that never came are the end too.
    pub(crate) fn record(&self, outcome: Outcome) -> Record {
        Record {
            request: self.request,
            scheduled: self.scheduled,
            started: self.times.asked,
            first_byte: self.times.first_byte,
            ended: self.times.ended,
            outcome,
            bytes_sent: self.bytes.sent,
            bytes_received: self.bytes.received,
        }
    }

    /// Closes the times at the end of a call that did not come as far as all of them.
    pub(crate) fn end_times(&mut self, now: Nanos) {
        let times = &mut self.times;
        times.ended = now;
        for moment in [&mut times.resolved, &mut times.connected, &mut times.ready, &mut times.sent] {
            if *moment < times.asked {
                *moment = now;
            }
        }
    }

    /// True where a stream may be tried again that its peer has done nothing with.
    pub(crate) fn may_be_resent(&mut self) -> bool {
        self.resends += 1;
        self.resends <= RESENDS_MAX
    }

    /// True where it may go over another connection, as its own was kept for too long.
    pub(crate) fn may_be_repeated(&self, nothing_was_sent: bool) -> bool {
        let is_harmless = || REPEATABLE.iter().any(|method| self.text.starts_with(method));
        self.is_reused && self.times.first_byte.is_none() && (nothing_was_sent || is_harmless())
    }
}
