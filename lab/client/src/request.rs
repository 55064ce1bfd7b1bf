//! One request from the moment it is sent until its owner has heard what became of it.

use crate::event::Failure;
use crate::http1::sink::Sink;
use crate::http2::translate::Translated;
use crate::http2::upload::Pieces;
use crate::ids::{ConnectionId, RequestId};
use crate::pool::PoolId;
use crate::targets::TargetId;
use crate::timers::LazyAlarm;
use prony_model::Nanos;
use prony_model::program::call::{CallBytes, CallTimes, Peer};
use prony_model::program::{Answer, Keep};
use std::rc::Rc;

/// Memory for a longer text is given back when its request is over.
const TEXT_BYTES_KEPT: usize = 16 * 1024;
/// How often a request is sent again that peers have not processed (RFC 9113, 8.7).
const RESENDS_MAX: u8 = 3;
/// What may be sent twice without harm (RFC 9110, 9.2.2), as far as Go's transport, and with it k6, does so.
const REPEATABLE: [&[u8]; 4] = [b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE "];

/// Where requests go, and whose they are.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub pool: PoolId,
    pub target: TargetId,
    /// Decides the source address on the loopback and the first of the target's addresses.
    pub user: u32,
}

/// How a request is sent and what of its response is kept.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing, and any may hold with any")]
pub struct RequestOptions {
    /// A response to HEAD has no body, whatever its headers say.
    pub is_head: bool,
    pub keep: Keep,
    /// From `asked` to the last byte of the response.
    pub timeout: Nanos,
    /// Over a connection that carries nothing else.
    pub is_fresh: bool,
    /// Sent once more where a kept connection turns out to be dead, as far as that does no harm.
    pub is_repeatable: bool,
    /// All of [`CallTimes`] are taken, and not only those of the first and the last byte.
    pub wants_times: bool,
    /// Its owner is shown what comes after each read, and nothing is kept; so are the frames of a WebSocket.
    pub is_streamed: bool,
}

impl RequestOptions {
    /// Of a request whose response is streamed, for as long as its owner wants it.
    pub const STREAMED: Self = Self {
        is_head: false,
        keep: Keep::Status,
        timeout: Nanos::MAX,
        is_fresh: false,
        is_repeatable: false,
        wants_times: false,
        is_streamed: true,
    };
}

/// One of the requests that are written together.
#[derive(Debug)]
pub struct Part<C> {
    /// Where its text ends within that of all.
    pub text_end: usize,
    pub options: RequestOptions,
    pub context: C,
}

/// One request, or the WebSocket that it has become.
#[derive(Debug)]
pub struct Request<C> {
    pub(crate) context: Option<C>,
    pub(crate) route: Route,
    pub(crate) options: RequestOptions,
    pub(crate) times: CallTimes,
    /// Where its times are wanted.
    pub(crate) peer: Peer,
    pub(crate) bytes: CallBytes,
    /// Of its text.
    pub(crate) length: u64,
    /// For a connection that is not open yet, and for another one where it may be repeated. Those behind it in a pipeline
    /// have theirs here too.
    pub(crate) text: Vec<u8>,
    /// For HTTP/2.
    pub(crate) translated: Option<Rc<Translated>>,
    pub(crate) sink: Sink,
    pub(crate) stage: Stage,
    /// The connection that carries it, or is being opened for it.
    pub(crate) connection: Option<ConnectionId>,
    /// It is a stream of that connection, which others may share.
    pub(crate) is_stream: bool,
    /// Of the response, where its body is searched as a whole.
    pub(crate) content_length: Option<u64>,
    resends: u8,
    /// Over a connection that has served before.
    pub(crate) is_reused: bool,
    pub(crate) alarm: LazyAlarm,
    /// It opens a WebSocket, and this is what the response has to accept it with.
    pub(crate) accept: Option<String>,
    /// The one behind it in a pipeline.
    pub(crate) next: Option<RequestId>,
    pub(crate) form: Form,
    /// Of a body that is sent piece by piece, until a connection has them.
    pub(crate) pieces: Option<Box<Pieces>>,
    /// Of the response to one whose body is sent piece by piece, as lines of HTTP/1.1.
    pub(crate) trailers: Vec<u8>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// A response of HTTP, or a WebSocket; its text is whole.
    #[default]
    Exchange,
    /// A stream of HTTP/2; its body is sent piece by piece.
    Pieces,
    /// That its connection of HTTP/2 is open.
    Connection,
    /// A connection whose bytes its owner alone understands.
    Bytes,
}

/// What a request waits for.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    /// For the addresses of its target.
    #[default]
    Resolving,
    /// For its connection.
    Opening,
    /// For its response, or for that of the one before it in a pipeline.
    Underway,
    /// It is a WebSocket now.
    WebSocket,
    /// For its owner to hear of the response.
    Finished(u16),
    /// For its owner to hear of this.
    Failing(Box<Failure>),
}

impl<C> Default for Request<C> {
    fn default() -> Self {
        let options = RequestOptions {
            is_head: false,
            keep: Keep::Status,
            timeout: Nanos::ZERO,
            is_fresh: false,
            is_repeatable: false,
            wants_times: false,
            is_streamed: false,
        };
        Self {
            context: None,
            route: Route { pool: PoolId(0), target: TargetId(0), user: 0 },
            options,
            times: CallTimes::default(),
            peer: Peer::default(),
            bytes: CallBytes::default(),
            length: 0,
            text: Vec::new(),
            translated: None,
            sink: Sink::Ignore,
            stage: Stage::Resolving,
            connection: None,
            is_stream: false,
            content_length: None,
            resends: 0,
            is_reused: false,
            alarm: LazyAlarm::default(),
            accept: None,
            next: None,
            form: Form::Exchange,
            pieces: None,
            trailers: Vec::new(),
        }
    }
}

impl<C> Request<C> {
    /// What its owner gave with it.
    pub fn context(&self) -> Option<&C> {
        self.context.as_ref()
    }

    /// The response as far as it is kept.
    pub fn response(&self, status: u16) -> Answer<'_> {
        self.sink.answer(status)
    }

    pub const fn times(&self) -> &CallTimes {
        &self.times
    }

    pub const fn bytes(&self) -> CallBytes {
        self.bytes
    }

    pub const fn peer(&self) -> Peer {
        self.peer
    }

    #[inline]
    pub(crate) fn begin(&mut self, route: Route, part: Part<C>, asked: Nanos, length: u64, sink: Sink) {
        (self.context, self.route, self.options) = (Some(part.context), route, part.options);
        (self.times.asked, self.times.first_byte) = (asked, None);
        if part.options.wants_times {
            self.times = CallTimes { asked, ..CallTimes::default() };
            self.peer = Peer::default();
        }
        (self.bytes, self.length) = (CallBytes::default(), length);
        (self.sink, self.stage) = (sink, Stage::Underway);
        (self.connection, self.is_stream, self.content_length) = (None, false, None);
        (self.resends, self.is_reused, self.next) = (0, false, None);
    }

    /// Gives back what the next tenant of its place does not need.
    pub(crate) fn end(&mut self) {
        if !self.text.is_empty() {
            self.text.clear();
            self.text.shrink_to(TEXT_BYTES_KEPT);
        }
        (self.context, self.translated, self.accept) = (None, None, None);
        (self.stage, self.connection, self.next) = (Stage::Resolving, None, None);
        if self.form != Form::Exchange {
            (self.form, self.pieces, self.trailers) = (Form::Exchange, None, Vec::new());
        }
    }

    /// An idle connection is used again; times of connecting are zero.
    pub(crate) fn reuse(&mut self, connection: ConnectionId, now: Nanos) {
        (self.connection, self.is_reused) = (Some(connection), true);
        if self.options.wants_times {
            (self.times.resolved, self.times.connected, self.times.ready) = (now, now, now);
            (self.times.sent, self.times.is_new_connection) = (Nanos::ZERO, false);
        }
    }

    /// Moments that never came are the end too.
    pub(crate) fn end_times(&mut self, now: Nanos) {
        let times = &mut self.times;
        times.ended = now;
        if !self.options.wants_times {
            return;
        }
        for moment in [&mut times.resolved, &mut times.connected, &mut times.ready, &mut times.sent] {
            if *moment < times.asked {
                *moment = now;
            }
        }
    }

    /// True where a stream may be tried again that its peer has not processed.
    pub(crate) fn may_be_resent(&mut self) -> bool {
        self.resends += 1;
        self.resends <= RESENDS_MAX
    }

    /// True where it may go over another connection, as its own was kept for too long.
    pub(crate) fn may_be_repeated(&self, nothing_was_sent: bool) -> bool {
        let is_harmless = || REPEATABLE.iter().any(|method| self.text.starts_with(method));
        let is_stale = self.is_reused && self.times.first_byte.is_none();
        self.options.is_repeatable && is_stale && (nothing_was_sent || is_harmless())
    }

    /// When it is given up.
    pub(crate) const fn deadline(&self) -> Nanos {
        self.times.asked.plus(self.options.timeout)
    }

    /// Its last event has come.
    pub const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Finished(_) | Stage::Failing(_))
    }
}
