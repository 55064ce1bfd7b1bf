//! The client of one thread: requests in, events out, over connections that it opens, keeps and closes itself.
//!
//! [`send`] gives requests to connections and opens these, [`channels`] does what programs speak that send pieces of bodies or
//! other protocols, [`read`] takes what HTTP/1.1 connections bring, [`streams`] drives
//! HTTP/2, [`websockets`] what a request became, [`received`] shows what is streamed, [`finish`] ends requests and tells of
//! them. Its owner alternates between
//! [`Client::wait`] and [`Client::next_event`]; nothing waits anywhere else.

mod channels;
mod finish;
mod read;
mod received;
mod send;
mod streams;
mod websockets;

pub use send::SendError;

use crate::clock::{Clock, VirtualTime};
use crate::connection::Connection;
use crate::event::{ClientEvent, ConnectionCounts};
use crate::http1::head::HeadMemo;
use crate::http1::sink::{Kept, Sink};
use crate::http2::connection::StreamEvent;
use crate::http2::io::{ReadBuffer, read_buffer};
use crate::http2::translate::Translator;
use crate::ids::{Arena, ConnectionId, Id as _, RequestId};
use crate::poller::Poller;
use crate::pool::{Pool, PoolId, Pooling};
use crate::request::Stage;
use crate::requests::Requests;
use crate::targets::{Destination, Targets, Waker};
use crate::timers::Timers;
use prony_model::program::call::CallFaultKind;
use prony_model::program::table::Table;
use prony_model::{Nanos, Target};
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Shared by all connections of a thread, so that a connection costs no buffer of its own.
const READ_BUFFER_BYTES: usize = 256 * 1024;
/// A connection that is not open by then never will be; as long as k6 waits.
pub(crate) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(30);

/// How a client treats its connections.
#[derive(Debug, Clone, Copy)]
pub struct ClientSettings {
    pub pooling: Pooling,
    /// False where each request has a connection of its own.
    pub keeps_connections: bool,
    /// Where connections go instead of the targets' addresses.
    pub address: Option<SocketAddr>,
}

/// `C`: what its owner wants to find again with each event of a request.
#[derive(Debug)]
pub struct Client<'a, C> {
    targets: &'a Targets,
    /// Those that programs name while the run goes, behind those of the plan.
    named: Option<&'a Table<Target>>,
    settings: ClientSettings,
    clock: Clock,
    /// By target: those that were used.
    known: Vec<Option<Arc<Destination>>>,
    /// By target.
    translators: Vec<Option<Translator>>,
    poller: Poller,
    waker: Waker,
    timers: Timers<Alarm>,
    requests: Requests<C>,
    connections: Arena<ConnectionId, Connection>,
    pools: Vec<Pool>,
    /// Requests that wait for their target's addresses.
    resolving: Vec<RequestId>,
    /// What its owner has not heard yet.
    pending: VecDeque<Pending>,
    /// Failures; those that come while others are told wait until the next [`Client::wait`], so that others have a turn.
    failed: VecDeque<Pending>,
    failed_due: usize,
    /// HTTP/2 connections that have something to do.
    dirty: Vec<ConnectionId>,
    http2_buffer: ReadBuffer,
    /// Used again by each HTTP/2 connection that is driven.
    stream_events: Vec<StreamEvent>,
    /// The socket that is being read, and the next of those that are ready.
    reading: Option<Reading>,
    next_ready: usize,
    /// Connections so far; with [`Pooling::Many`] each has its turn at the addresses of its target.
    opened: u32,
    counts: ConnectionCounts,
    heads: HeadMemo,
    spare: Vec<Kept>,
    buffer: Vec<u8>,
    /// Whose owner may be reading what was received.
    shown: Option<RequestId>,
    /// Where in the buffer frames are that their WebSocket's owner reads.
    frames: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// A request, by its place: its deadline, or that of its connection.
    Request(u32),
    /// A WebSocket, by its connection's place: its peer should have closed.
    Close(u32),
}

/// Something that its owner has to hear.
#[derive(Debug, Clone, Copy)]
enum Pending {
    /// A request is over, or has become a WebSocket.
    Request(RequestId),
    /// A WebSocket may have messages.
    Messages(ConnectionId),
    /// A WebSocket is gone.
    Ended(ConnectionId),
    /// A read at this moment has brought something that is streamed.
    Received(RequestId, Nanos),
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    connection: ConnectionId,
    /// After the last bytes comes an end that no event tells of.
    is_ending: bool,
}

impl<'a, C: Clone> Client<'a, C> {
    pub fn new(
        targets: &'a Targets,
        named: Option<&'a Table<Target>>,
        settings: ClientSettings,
    ) -> io::Result<Self> {
        let client = Self {
            targets,
            named,
            settings,
            clock: Clock::system(Instant::now()),
            known: Vec::new(),
            translators: Vec::new(),
            poller: Poller::new()?,
            waker: Waker::new()?,
            timers: Timers::default(),
            requests: Requests::default(),
            connections: Arena::default(),
            pools: Vec::new(),
            resolving: Vec::new(),
            pending: VecDeque::new(),
            failed: VecDeque::new(),
            failed_due: 0,
            dirty: Vec::new(),
            http2_buffer: read_buffer(),
            stream_events: Vec::new(),
            reading: None,
            next_ready: 0,
            opened: 0,
            counts: ConnectionCounts::default(),
            heads: HeadMemo::default(),
            spare: Vec::new(),
            buffer: vec![0; READ_BUFFER_BYTES],
            shown: None,
            frames: 0..0,
        };
        client.poller.add_waker(client.waker.descriptor())?;
        Ok(client)
    }

    /// With a clock of its own, for tests.
    #[must_use]
    pub fn with_time(self, time: Box<dyn VirtualTime>) -> Self {
        Self { clock: Clock::Virtual(time), ..self }
    }

    /// Sets the start of the run, from which all times are counted.
    pub fn start(&mut self, epoch: Instant) {
        if let Clock::System { .. } = self.clock {
            self.clock = Clock::system(epoch);
        }
    }

    /// Ends its present or next [`Client::wait`] from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Waits until there may be events, or until a moment. Events that were not taken yet are kept.
    pub fn wait(&mut self, now: Nanos, until: Nanos) -> io::Result<()> {
        self.check_alarms(now);
        while let Some(connection) = self.take_dirty() {
            self.drive(connection)?;
        }
        let has_work = !(self.pending.is_empty() && self.failed.is_empty() && self.dirty.is_empty());
        let until = if has_work { now } else { until.min(self.timers.next().unwrap_or(Nanos::MAX)) };
        self.clock.wait(&mut self.poller, now, until)?;
        self.next_ready = 0;
        self.failed_due = self.failed.len();
        Ok(())
    }

    /// The next event of those that are there; nothing where it has to be waited for. What its owner sends meanwhile is
    /// written at once.
    pub fn next_event(&mut self) -> io::Result<Option<ClientEvent>> {
        if let Some(shown) = self.shown.take() {
            self.end_received(shown);
        }
        loop {
            if let Some(pending) = self.next_pending() {
                if let Some(event) = self.tell(pending) {
                    return Ok(Some(event));
                }
            } else if let Some(reading) = self.reading.take() {
                self.read(reading)?;
            } else if let Some(ready) = self.poller.ready(self.next_ready) {
                self.next_ready += 1;
                self.handle(ready)?;
            } else if let Some(connection) = self.take_dirty() {
                self.drive(connection)?;
            } else {
                return Ok(None);
            }
        }
    }

    fn next_pending(&mut self) -> Option<Pending> {
        if let Some(pending) = self.pending.pop_front() {
            return Some(pending);
        }
        self.failed_due = self.failed_due.checked_sub(1)?;
        self.failed.pop_front()
    }

    /// What was counted since this was last asked.
    pub fn take_counts(&mut self) -> ConnectionCounts {
        mem::take(&mut self.counts)
    }

    /// Takes back the memory of a response that was read.
    pub fn recycle(&mut self, sink: Sink) {
        sink.recycle(&mut self.spare);
    }

    fn check_alarms(&mut self, now: Nanos) {
        while let Some((at, alarm)) = self.timers.pop_due(now) {
            match alarm {
                Alarm::Request(index) => self.check_deadline(index, at, now),
                Alarm::Close(index) => self.check_close(index, at, now),
            }
        }
    }

    /// An alarm of the request that has this place now.
    fn check_deadline(&mut self, index: u32, at: Nanos, now: Nanos) {
        let Some((id, request)) = self.requests.at(index) else { return };
        if !request.alarm.rings(at) {
            return;
        }
        let Some(id) = id.filter(|_| !request.is_over() && !matches!(request.stage, Stage::WebSocket)) else {
            return;
        };
        let connects_by = match request.stage {
            Stage::Opening if request.options.wants_times && request.times.connected == Nanos::ZERO => {
                request.times.resolved.plus(CONNECT_TIMEOUT)
            }
            _ => Nanos::MAX,
        };
        let next = request.deadline().min(connects_by);
        if next > now {
            request.alarm.set(&mut self.timers, next, Alarm::Request(index));
            return;
        }
        let fault = if request.deadline() <= now {
            crate::fault::new(CallFaultKind::Timeout, "no whole answer came within the call's timeout")
        } else {
            crate::fault::new(CallFaultKind::ConnectTimeout, "the connection did not stand within 30 s")
        };
        self.give_up(id, fault);
    }

    fn pool(&mut self, pool: PoolId) -> &mut Pool {
        let index = pool.0 as usize;
        if index >= self.pools.len() {
            self.pools.resize_with(index + 1, Pool::default);
        }
        &mut self.pools[index]
    }

    /// Closes a connection; later events with its token are ignored.
    fn close(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.release(id) else { return };
        let (pool, is_idle, is_shared) = (connection.pool, connection.is_idle, connection.http2().is_some());
        connection.end();
        if is_idle {
            self.pool(pool).forget_idle(id);
        }
        if is_shared {
            self.pool(pool).forget_shared(id);
        }
    }

    /// Closes what the pool keeps and does not use.
    pub fn close_idle(&mut self, pool: PoolId) {
        let entry = self.pool(pool);
        let (idle, shared) = (mem::take(&mut entry.idle), mem::take(&mut entry.shared));
        for (id, _) in idle {
            self.close(id);
        }
        for (id, _) in shared {
            let http2 = self.connections.get_mut(id).and_then(Connection::http2);
            if http2.is_none_or(|http2| http2.is_idle()) {
                self.close(id);
            }
        }
    }

    fn mark_dirty(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id)
            && !mem::replace(&mut connection.is_dirty, true)
        {
            self.dirty.push(id);
        }
    }

    /// The next HTTP/2 connection that has something to do.
    fn take_dirty(&mut self) -> Option<ConnectionId> {
        while let Some(id) = self.dirty.pop() {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.is_dirty = false;
                return Some(id);
            }
        }
        None
    }

    fn alarm_of(request: RequestId) -> Alarm {
        Alarm::Request(request.index())
    }
}
