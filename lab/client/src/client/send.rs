//! Gives requests to connections: to one that the pool keeps, or to a new one.

use super::{CONNECT_TIMEOUT, Client};
use crate::connection::{Carrier, Http1};
use crate::event::Failure;
use crate::http1::sink::{Sink, Unread};
use crate::http2::connection::Http2Connection;
use crate::http2::translate::{TranslateError, Translated, Translator};
use crate::ids::{ConnectionId, RequestId};
use crate::pool::{IDLE_MAX, Pooling};
use crate::request::{Form, Part, RequestOptions, Route, Stage};
use crate::targets::{Destination, Finding, Speaks, TargetId};
use crate::transport::{Address, Fault, Progress};
use crate::websocket;
use prony_model::Nanos;
use prony_model::plan::wire::Spoken;
use prony_model::program::Keep;
use prony_model::program::call::{CallTimes, Peer};
use rustls::HandshakeKind;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Why a request cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Http2(#[from] TranslateError),
    #[error("a program asked for target {0}, which is not there")]
    UnknownTarget(usize),
    #[error("a step without a request")]
    NoRequest,
    #[error("the request of a WebSocket has no end")]
    WebSocketText,
}

impl<C: Clone> Client<'_, C> {
    // ---- from outside

    /// Sends a request: at once where the pool has an open connection to its target. `asked` is when its times begin.
    pub fn send(
        &mut self,
        route: Route,
        text: &[u8],
        options: RequestOptions,
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let is_http2 = self.speaks(route.target) == Some(Speaks::Always(Spoken::Http2));
        let part = Part { text_end: text.len(), options, context };
        let id = self.begin_spoken(route, part, text, is_http2, asked)?;
        self.carry(id, Some(text), asked)?;
        Ok(id)
    }

    /// Sends requests in one piece, over one connection; responses come in their order. Over HTTP/2 each is sent once the
    /// one before was answered. The id is that of the first; what fails one fails those behind it.
    pub fn send_all(
        &mut self,
        route: Route,
        text: &[u8],
        parts: impl Iterator<Item = Part<C>>,
        asked: Nanos,
    ) -> Result<RequestId, SendError> {
        let is_http2 = self.speaks(route.target) == Some(Speaks::Always(Spoken::Http2));
        let (mut first, mut last, mut begin) = (None, None, 0);
        for part in parts {
            let own = text.get(begin..part.text_end).unwrap_or_default();
            begin = part.text_end;
            let id = self.begin_spoken(route, part, own, is_http2, asked)?;
            match last.and_then(|last| self.requests.get_mut(last)) {
                Some(before) => before.next = Some(id),
                None => first = Some(id),
            }
            last = Some(id);
        }
        let first = first.ok_or(SendError::NoRequest)?;
        self.carry(first, Some(text), asked)?;
        Ok(first)
    }

    /// Opens a WebSocket (RFC 6455). `text` is the request without the headers of the opening handshake, which are added.
    pub fn open_websocket(
        &mut self,
        route: Route,
        text: &[u8],
        timeout: Nanos,
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let options = RequestOptions {
            is_head: false,
            keep: Keep::Whole,
            timeout,
            is_fresh: true,
            is_repeatable: false,
            wants_times: true,
            is_streamed: false,
        };
        self.upgrade(route, text, options, asked, context)
    }

    /// As [`Client::open_websocket`], of which the owner reads and writes the frames. It decides how long the opening may take.
    pub fn open_frames(
        &mut self,
        route: Route,
        text: &[u8],
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let options = RequestOptions { is_fresh: true, ..RequestOptions::STREAMED };
        self.upgrade(route, text, options, asked, context)
    }

    fn upgrade(
        &mut self,
        route: Route,
        text: &[u8],
        options: RequestOptions,
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let (text, accept) =
            websocket::opening(text, &websocket::new_key()).ok_or(SendError::WebSocketText)?;
        let id = self.begin(route, Part { text_end: text.len(), options, context }, &text, asked);
        if let Some(request) = self.requests.get_mut(id) {
            request.accept = Some(accept);
        }
        self.carry(id, Some(&text), asked)?;
        Ok(id)
    }

    /// True where the pool has a connection to the target that the next request goes over at once.
    pub fn is_connected(&mut self, route: Route) -> bool {
        let pool = self.pool(route.pool);
        pool.idle.iter().chain(&pool.shared).any(|(_, target)| *target == route.target)
    }

    /// Opens the connection of a pool before its first request.
    pub fn connect(&mut self, route: Route) -> Result<(), SendError> {
        let Finding::Known(place) = self.find(route.target)? else { return Ok(()) };
        if self.is_connected(route) {
            return Ok(());
        }
        match self.open(route, &place, false)?.1 {
            Ok(id) if !self.is_shared(id) => self.rest(id),
            Ok(_) => {}
            Err(fault) => self.count_connect_fault(&fault),
        }
        Ok(())
    }

    // ---- choose

    /// Begins a request, in the words of HTTP/2 where that is spoken.
    #[inline]
    fn begin_spoken(
        &mut self,
        route: Route,
        part: Part<C>,
        text: &[u8],
        is_http2: bool,
        asked: Nanos,
    ) -> Result<RequestId, SendError> {
        if !is_http2 {
            return Ok(self.begin(route, part, text, asked));
        }
        let translated = self.translate(route.target, text)?;
        let id = self.begin(route, part, text, asked);
        if let Some(request) = self.requests.get_mut(id) {
            request.translated = Some(translated);
        }
        Ok(id)
    }

    #[inline]
    pub(super) fn begin(&mut self, route: Route, part: Part<C>, text: &[u8], asked: Nanos) -> RequestId {
        let sink = if part.options.is_streamed {
            Sink::Stream(Unread::default())
        } else {
            Sink::new(part.options.keep, &mut self.spare)
        };
        let is_repeatable = part.options.is_repeatable;
        let (id, request) = self.requests.take();
        request.begin(route, part, asked, text.len() as u64, sink);
        if is_repeatable {
            request.text.extend_from_slice(text);
        }
        request.alarm.set(&mut self.timers, request.deadline(), Self::alarm_of(id));
        id
    }

    /// Gives the request to a connection, or opens one for it. `text` is its own with that of all behind it, where it is not
    /// kept.
    pub(super) fn carry(&mut self, id: RequestId, text: Option<&[u8]>, now: Nanos) -> Result<(), SendError> {
        let Some(request) = self.requests.get_mut(id) else { return Ok(()) };
        let (route, is_fresh) = (request.route, request.options.is_fresh);
        if !is_fresh {
            let pool = self.pool(route.pool);
            if let Some(connection) = pool.take_idle(route.target) {
                return self.write(connection, id, text, Some(now));
            }
            if let Some(connection) = pool.shared(route.target) {
                self.reuse(id, connection, now);
                self.send_stream(connection, id);
                return Ok(());
            }
        }
        match self.find(route.target)? {
            Finding::Known(place) => {
                self.keep_text(id, text);
                self.open_for(id, route, &place, now)
            }
            Finding::Resolving => {
                self.keep_text(id, text);
                self.set_stage(id, Stage::Resolving);
                self.resolving.push(id);
                Ok(())
            }
            Finding::Failed(fault) => {
                self.give_up(id, fault);
                Ok(())
            }
        }
    }

    fn reuse(&mut self, id: RequestId, connection: ConnectionId, now: Nanos) {
        if let Some(entry) = self.connections.get_mut(connection) {
            entry.is_idle = false;
        }
        if let Some(request) = self.requests.get_mut(id) {
            request.reuse(connection, now);
        }
    }

    /// Keeps the text for a connection that is not open yet.
    fn keep_text(&mut self, id: RequestId, text: Option<&[u8]>) {
        if let (Some(request), Some(text)) = (self.requests.get_mut(id), text)
            && request.text.is_empty()
        {
            request.text.extend_from_slice(text);
        }
    }

    fn set_stage(&mut self, id: RequestId, stage: Stage) {
        if let Some(request) = self.requests.get_mut(id) {
            request.stage = stage;
        }
    }

    fn find(&mut self, target: TargetId) -> Result<Finding, SendError> {
        let index = target.0 as usize;
        if let Some(Some(place)) = self.known.get(index) {
            return Ok(Finding::Known(Arc::clone(place)));
        }
        let named = |index| self.named.and_then(|named| named.get(index));
        let finding = self.targets.find(target, &self.waker, named).ok_or(SendError::UnknownTarget(index))?;
        if let Finding::Known(place) = &finding {
            if index >= self.known.len() {
                self.known.resize(index + 1, None);
            }
            self.known[index] = Some(Arc::clone(place));
        }
        Ok(finding)
    }

    /// What is spoken with a target that is known before the run.
    fn speaks(&self, target: TargetId) -> Option<Speaks> {
        let is_planned = (target.0 as usize) < self.targets.planned_count();
        is_planned.then(|| self.targets.planned(target).speaks())
    }

    /// Targets were found, or found not to be there.
    pub(super) fn on_wake(&mut self) -> Result<(), SendError> {
        self.waker.reset();
        let now = self.now();
        for id in std::mem::take(&mut self.resolving) {
            self.carry(id, None, now)?;
        }
        Ok(())
    }

    // ---- connect

    fn open_for(
        &mut self,
        id: RequestId,
        route: Route,
        place: &Destination,
        now: Nanos,
    ) -> Result<(), SendError> {
        let is_for_websocket = self.requests.get(id).is_some_and(|request| request.accept.is_some());
        let (peer, opened) = self.open(route, place, is_for_websocket)?;
        let Some(request) = self.requests.get_mut(id) else { return Ok(()) };
        let asked = request.times.asked;
        request.times = CallTimes { asked, resolved: now, is_new_connection: true, ..CallTimes::default() };
        (request.is_reused, request.stage, request.peer) = (false, Stage::Opening, peer);
        let connection = match opened {
            Ok(connection) => connection,
            Err(fault) => {
                self.count_connect_fault(&fault);
                self.fail(id, &Failure::of_opening(&fault));
                return Ok(());
            }
        };
        if self.is_shared(connection) {
            self.send_stream(connection, id);
            return Ok(());
        }
        let Some(request) = self.requests.get_mut(id) else { return Ok(()) };
        request.connection = Some(connection);
        if request.options.wants_times {
            let by = request.deadline().min(now.plus(CONNECT_TIMEOUT));
            request.alarm.set(&mut self.timers, by, Self::alarm_of(id));
        }
        if let Some(entry) = self.connections.get_mut(connection) {
            entry.carries = Some(id);
        }
        Ok(())
    }

    /// Begins to connect. A connection that speaks HTTP/2 from its first byte is shared at once.
    fn open(
        &mut self,
        route: Route,
        place: &Destination,
        is_for_websocket: bool,
    ) -> Result<(Peer, Result<ConnectionId, Fault>), SendError> {
        self.opened = self.opened.wrapping_add(1);
        self.counts.opened += 1;
        let turn = match self.settings.pooling {
            Pooling::One => {
                let before = self.pool(route.pool).note_opened(route.target);
                self.counts.reopened += u64::from(before > 0);
                before
            }
            Pooling::Many => self.opened,
            Pooling::ByUser => 0,
        };
        let address = self.settings.address;
        let turn = route.user.wrapping_add(turn);
        let (address, opened) = place.open(route.user, turn, address, is_for_websocket);
        let address = match address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) => None,
        };
        let peer = Peer { address, ..Peer::default() };
        let transport = match opened {
            Ok(transport) => transport,
            Err(fault) => return Ok((peer, Err(fault))),
        };
        let id = self.connections.take();
        self.poller.add(transport.socket(), id.to_u64())?;
        let is_http2 = place.speaks() == Speaks::Always(Spoken::Http2) && !is_for_websocket;
        let carrier = if is_http2 {
            let buffer = Rc::clone(&self.http2_buffer);
            self.pool(route.pool).shared.push((id, route.target));
            Carrier::Http2(Box::new(Http2Connection::new(transport, buffer)))
        } else {
            Carrier::Http1(Http1 { transport, scanner: Box::default() })
        };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.begin(route.pool, route.target, carrier, peer);
        }
        Ok((peer, Ok(id)))
    }

    fn is_shared(&mut self, id: ConnectionId) -> bool {
        self.connections.get_mut(id).is_some_and(|connection| connection.http2().is_some())
    }

    pub(super) fn count_connect_fault(&mut self, fault: &Fault) {
        match fault.cause.raw_os_error() {
            Some(libc::EADDRNOTAVAIL) => self.counts.ports_exhausted += 1,
            Some(libc::ECONNREFUSED) => self.counts.refused += 1,
            _ => {}
        }
    }

    /// Goes on with connecting and the handshake. What was read along with the end of a handshake is reported by no event:
    /// the same event goes on to reading.
    pub(super) fn go_on_opening(&mut self, id: ConnectionId) -> Result<(), SendError> {
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        let Some(transport) = connection.transport() else { return Ok(()) };
        let progress = transport.progress();
        let is_connected = !transport.is_connecting();
        let handshake = transport.handshake();
        if is_connected {
            self.note_connected(id);
        }
        match progress {
            Ok(Progress::Waiting) => Ok(()),
            Ok(Progress::Open) => {
                self.count_handshake(id, handshake);
                self.use_opened(id)
            }
            Err(fault) => {
                self.count_connect_fault(&fault);
                self.lose(id, &fault, false)
            }
        }
    }

    fn note_connected(&mut self, id: ConnectionId) {
        let carried = self.connections.get(id).and_then(|connection| connection.carries);
        let now = carried.map(|_| self.now());
        if let (Some(now), Some(request)) = (now, carried.and_then(|id| self.requests.get_mut(id)))
            && request.times.connected == Nanos::ZERO
        {
            request.times.connected = now;
        }
    }

    /// Counts the TLS handshake of a connection that has just opened, once.
    pub(super) fn count_handshake(&mut self, id: ConnectionId, handshake: Option<HandshakeKind>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if std::mem::replace(&mut connection.has_counted_handshake, true) {
            return;
        }
        match handshake {
            None => {}
            Some(HandshakeKind::Resumed) => self.counts.tls_resumed += 1,
            Some(_) => self.counts.tls_full_handshakes += 1,
        }
    }

    fn use_opened(&mut self, id: ConnectionId) -> Result<(), SendError> {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        let Some(transport) = connection.transport() else { return Ok(()) };
        let (facts, has_chosen_http2) = (transport.tls_facts(), transport.has_chosen_http2());
        if let Some(peer) = &mut connection.peer {
            peer.tls = facts;
        }
        let Some(request) = connection.carries else {
            if !connection.is_idle {
                self.close(id);
            }
            return Ok(());
        };
        if let Some(entry) = self.requests.get_mut(request) {
            entry.times.ready = now;
            if entry.form == Form::Bytes {
                self.begin_bytes(id, request);
                return Ok(());
            }
        }
        if has_chosen_http2 {
            self.turn_to_http2(id, request);
            return Ok(());
        }
        self.write(id, request, None, None)
    }

    // ---- write

    /// Writes a request to a connection of HTTP/1.1, or keeps its text until that is open. `reused_at`: the connection was idle
    /// until then.
    fn write(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        text: Option<&[u8]>,
        reused_at: Option<Nanos>,
    ) -> Result<(), SendError> {
        let (Some(entry), Some(request)) = (self.connections.get_mut(connection), self.requests.get_mut(id))
        else {
            return Ok(());
        };
        entry.carries = Some(id);
        if let Some(now) = reused_at {
            entry.is_idle = false;
            request.reuse(connection, now);
        }
        if request.options.wants_times {
            request.peer = entry.peer();
        }
        let Carrier::Http1(http1) = &mut entry.carrier else {
            self.begin_bytes(connection, id);
            return Ok(());
        };
        request.connection = Some(connection);
        if !http1.transport.is_open() {
            request.stage = Stage::Opening;
            self.keep_text(id, text);
            return Ok(());
        }
        request.stage = Stage::Underway;
        request.bytes.sent += request.length;
        match request.accept {
            None => http1.scanner.begin(request.options.is_head),
            Some(_) => http1.scanner.begin_upgrade(),
        }
        let sent = http1.transport.send(text.unwrap_or(&request.text));
        if request.options.wants_times && sent.is_ok() && !http1.transport.has_unsent() {
            let now = self.clock.now();
            request.times.sent = now;
        }
        match sent {
            Ok(()) if request.options.is_streamed => {
                self.drop_text(id);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(fault) => self.lose(connection, &fault, true),
        }
    }

    /// What the system did not take at once is sent.
    pub(super) fn note_flushed(&mut self, id: ConnectionId) {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(id) else { return };
        let carried = connection.carries;
        let is_sent = connection.transport().is_some_and(|transport| !transport.has_unsent());
        if let Some(request) = carried.filter(|_| is_sent).and_then(|id| self.requests.get_mut(id))
            && request.times.sent == Nanos::ZERO
        {
            request.times.sent = now;
        }
        self.flush_websocket(id);
    }

    /// Keeps a connection for the pool's next request.
    pub(super) fn rest(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        (connection.carries, connection.is_idle) = (None, true);
        let (pool, target) = (connection.pool, connection.target);
        let idle = &mut self.pool(pool).idle;
        idle.push((id, target));
        if idle.len() > IDLE_MAX {
            let (oldest, _) = idle.remove(0);
            self.close(oldest);
        }
    }

    pub(super) fn translate(
        &mut self,
        target: TargetId,
        text: &[u8],
    ) -> Result<Rc<Translated>, TranslateError> {
        let index = target.0 as usize;
        let known = self.known.get(index).and_then(Option::as_ref);
        // Of targets that are named while the run goes, only those with TLS choose HTTP/2.
        let is_tls = known.map_or_else(
            || self.speaks(target).is_none_or(|_| self.targets.planned(target).is_tls()),
            |place| place.is_tls(),
        );
        if index >= self.translators.len() {
            self.translators.resize_with(index + 1, || None);
        }
        self.translators[index].get_or_insert_with(|| Translator::new(is_tls)).translate(text)
    }
}
