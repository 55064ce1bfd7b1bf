//! The connections of a thread of subscribers: opened when they are due, written to and read until they end.

use super::Subscribers;
use super::slot::{ConnectionAlarm, Live, Marks, RequestContext, RequestPurpose};
use crate::error::WorkerError;
use crate::subscriptions::link::{Link, LinkEvent};
use crate::subscriptions::requests::{Opening, Speaker};
use prony_client::targets::TargetId;
use prony_client::{
    ClientEvent, EventKind, Failure, FailureScope, PoolId, RequestId, RequestOptions, Route, SendError,
};
use prony_model::subscription::SubscriptionProtocol;
use prony_model::{Nanos, TransportError};
use std::mem;

/// Over a connection of its own.
const OWN: RequestOptions = RequestOptions { is_fresh: true, ..RequestOptions::STREAMED };
/// Its response is read whole.
pub(super) const WHOLE: RequestOptions = RequestOptions {
    keep: prony_model::program::Keep::Whole,
    is_streamed: false,
    ..RequestOptions::STREAMED
};

impl Subscribers<'_> {
    // ---- open

    pub(super) fn connect_due(&mut self, now: Nanos) -> Result<(), WorkerError> {
        while self.ended.is_none()
            && let Some(index) = self.machine.next_due(now)
        {
            self.connect(index, now)?;
        }
        Ok(())
    }

    fn connect(&mut self, index: usize, now: Nanos) -> Result<(), WorkerError> {
        let plan = self.shared.plan;
        let slot = &self.machine.slots[index];
        let (protocol, count) = (plan.subscriptions()[slot.group].draft.protocol, slot.subscriptions);
        // Over a stream of its own the request is the operation.
        let asked = (protocol == SubscriptionProtocol::Sse).then_some(now);
        self.machine.note_attempt(index, if asked.is_some() { count } else { 0 }, now);
        let (link, request, further) = match self.open(index, now) {
            Ok(begun) => begun,
            Err(SendError::System(error)) => return Err(error.into()),
            Err(error) => {
                self.machine.refuse(index, &error.to_string());
                return Ok(());
            }
        };
        let marks = Marks {
            begun: now,
            deadline: now.plus(plan.timeout()),
            asked,
            is_connected: false,
            is_greeted: !protocol.is_websocket(),
            is_acknowledged: false,
            is_read: false,
        };
        let live = Live { link, marks, request, further, orders: None, order: None };
        self.machine.slots[index].live = Some(Box::new(live));
        self.machine.set_alarm(marks.deadline, ConnectionAlarm::Timeout, index);
        Ok(())
    }

    /// Sends the first requests of a connection.
    fn open(&mut self, index: usize, now: Nanos) -> Result<(Link, RequestId, Box<[RequestId]>), SendError> {
        let (plan, slot) = (self.shared.plan, &self.machine.slots[index]);
        let (draft, count) = (&plan.subscriptions()[slot.group].draft, slot.subscriptions);
        let Opening { text, stream_head } = self.opening(index, 0);
        let route = self.route(index);
        let context = |purpose| RequestContext { slot: index as u32, purpose };
        if draft.is_http2 {
            let mut send = |number| {
                let text = self.opening(index, number).text;
                let context = context(RequestPurpose::Stream(number));
                self.client.send(route, &text, RequestOptions::STREAMED, now, context)
            };
            let first = send(0)?;
            let further = (1..count).map(send).collect::<Result<_, _>>()?;
            return Ok((Link::of_streams(count), first, further));
        }
        let request = match draft.protocol {
            SubscriptionProtocol::GraphqlTransportWs | SubscriptionProtocol::GraphqlWs => {
                self.client.open_frames(route, &text, now, context(RequestPurpose::Stream(0)))?
            }
            SubscriptionProtocol::Sse => {
                self.client.send(route, &text, OWN, now, context(RequestPurpose::Stream(0)))?
            }
            SubscriptionProtocol::SseSingle => {
                self.client.send(route, &text, WHOLE, now, context(RequestPurpose::Reservation))?
            }
        };
        Ok((Link::new(draft.protocol, stream_head), request, Box::default()))
    }

    fn opening(&self, index: usize, number: u32) -> Opening {
        let values = self.machine.values_of(index, number);
        let (plan, group) = (self.shared.plan, self.machine.slots[index].group);
        Speaker { plan, subscription: &plan.subscriptions()[group], values: &values }.opening()
    }

    /// Where a client's requests go: over connections that are its own.
    pub(super) fn route(&self, index: usize) -> Route {
        let (plan, slot) = (self.shared.plan, &self.machine.slots[index]);
        let groups = &plan.subscriptions()[..slot.group];
        let before = groups.iter().map(|group| group.draft.connections()).sum::<u64>();
        let user = plan.users().wrapping_add((before + slot.number) as u32);
        let target = TargetId(plan.subscriptions()[slot.group].target as u32);
        Route { pool: PoolId(index as u32), target, user }
    }

    // ---- read

    /// `since`: what came has waited from then on at most.
    pub(super) fn on_client_event(&mut self, event: ClientEvent, since: Nanos) {
        let ClientEvent { request, kind } = event;
        let Some(RequestContext { slot, purpose }) = self.client.context(request).copied() else { return };
        let index = slot as usize;
        let Some(mut live) = self.machine.slots[index].live.take() else { return };
        // Users put a mutation into the queue before they send it: that of any event that was read is there.
        self.take_notices();
        let at = match (&kind, self.client.get(request)) {
            (EventKind::Received { at }, _) => *at,
            (_, Some(entry)) => entry.times().ended,
            (_, None) => self.client.now(),
        };
        let bytes = self.client.take_bytes_of(request).received;
        self.machine.count_bytes(index, bytes, at);
        if purpose != RequestPurpose::Order && matches!(kind, EventKind::Received { .. } | EventKind::Opened)
        {
            self.machine.tally.subscribers.read_lateness.record(at.since(since));
        }
        let gone_on = match purpose {
            RequestPurpose::Reservation => self.on_reservation(index, &mut live, request, kind, at),
            RequestPurpose::Stream(number) => self.on_stream(index, number, &mut live, request, kind, at),
            RequestPurpose::Order => self.on_order(index, &mut live, request, kind, at),
        };
        if let Err(reason) = gone_on {
            self.end(index, &mut live, reason, at);
        }
        self.put_back(index, live);
    }

    /// An event of the WebSocket, or of a stream. Or says why the connection cannot go on.
    fn on_stream(
        &mut self,
        index: usize,
        number: u32,
        live: &mut Live,
        request: RequestId,
        kind: EventKind,
        at: Nanos,
    ) -> Result<(), String> {
        let (machine, client) = (&mut self.machine, &mut self.client);
        let window = machine.window_at(at);
        let Live { link, marks, .. } = live;
        let notify = &mut |event: LinkEvent<'_>| machine.on_link_event(index, &event, at, window, marks);
        self.out.clear();
        match kind {
            EventKind::Received { .. } => {
                link.take(number, &client.received(request), &mut self.out, notify);
            }
            EventKind::Opened => {
                let Some((_, _, sink)) = client.take_opening(request) else { return Ok(()) };
                link.open(sink.answer(101).head, notify);
                client.recycle(sink);
            }
            EventKind::Response(_) => {
                client.release(request);
                link.end_stream(number, "the stream ended", notify);
            }
            EventKind::Refused(status) => return Err(format!("status {status}")),
            EventKind::Failed(failure) | EventKind::Lost(failure) => {
                client.release(request);
                match stream_reason(&failure) {
                    Some(reason) => link.end_stream(number, reason, notify),
                    None => return Err(reason(&failure)),
                }
            }
            EventKind::Message(_) | EventKind::Closed(_) => {}
        }
        self.go_on(index, live, at)
    }

    /// What follows from what came.
    fn go_on(&mut self, index: usize, live: &mut Live, at: Nanos) -> Result<(), String> {
        let mut out = mem::take(&mut self.out);
        let marks = &mut live.marks;
        if marks.is_connected && !mem::replace(&mut marks.is_greeted, true) {
            self.greet(index, &mut out);
        } else if marks.is_acknowledged && marks.asked.is_none() {
            if live.link.token().is_none() {
                self.subscribe(index, live, at, &mut out);
            } else {
                self.begin_orders(index, live)?;
            }
        }
        if !live.marks.is_read && live.link.is_answered() {
            self.machine.note_all_read(index, at, &mut live.marks);
        }
        live.link.close_streams();
        if !live.link.is_over() && !out.is_empty() {
            self.client.send_frames(live.request, &out);
        }
        self.out = out;
        Ok(())
    }

    fn greet(&mut self, index: usize, out: &mut Vec<u8>) {
        let values = self.machine.values_of(index, 0);
        let group = &self.shared.plan.subscriptions()[self.machine.slots[index].group];
        let payload = group.connection_init.as_ref().map(|payload| values.render(payload));
        Link::greet(payload.as_deref(), out);
    }

    /// Sends all operations of a connection, and a ping behind them.
    fn subscribe(&mut self, index: usize, live: &mut Live, at: Nanos, out: &mut Vec<u8>) {
        let slot = &self.machine.slots[index];
        let (count, subscription) = (slot.subscriptions, &self.shared.plan.subscriptions()[slot.group]);
        for number in 0..count {
            let values = self.machine.values_of(index, number);
            live.link.subscribe(number, &values.render(&subscription.operation), out);
        }
        live.link.ping(out);
        live.marks.asked = Some(at);
        self.machine.note_asked(index, count);
    }

    // ---- end

    /// The connection cannot go on.
    fn end(&mut self, index: usize, live: &mut Live, reason: String, at: Nanos) {
        // What was sent before the end was expected.
        self.take_notices();
        let (window, machine) = (self.machine.window_at(at), &mut self.machine);
        let Live { link, marks, .. } = live;
        link.end(reason, &mut |event| machine.on_link_event(index, &event, at, window, marks));
    }

    /// Keeps a connection, or gives up what is left of one that is over.
    fn put_back(&mut self, index: usize, live: Box<Live>) {
        if live.link.is_over() {
            let requests = std::iter::once(live.request).chain(live.further).chain(live.order);
            requests.for_each(|request| self.client.abandon(request));
            self.client.close_idle(PoolId(index as u32));
        } else {
            self.machine.slots[index].live = Some(live);
        }
    }

    pub(super) fn handle_alarms(&mut self, now: Nanos) {
        while let Some((alarm, index)) = self.machine.pop_alarm(now) {
            let Some(mut live) = self.machine.slots[index].live.take() else { continue };
            match alarm {
                ConnectionAlarm::InForce => self.machine.put_in_force(index, now),
                ConnectionAlarm::Timeout if live.marks.is_read => {}
                ConnectionAlarm::Timeout if now < live.marks.deadline => {
                    self.machine.set_alarm(live.marks.deadline, ConnectionAlarm::Timeout, index);
                }
                ConnectionAlarm::Timeout => {
                    let timeout = self.shared.plan.timeout();
                    let group = self.machine.slots[index].group;
                    let protocol = self.shared.plan.subscriptions()[group].draft.protocol;
                    let awaited = match (live.marks.is_acknowledged, protocol.is_websocket()) {
                        (false, _) => "acknowledgement",
                        (true, true) => "answer to a ping",
                        (true, false) => "answer to an operation",
                    };
                    self.end(index, &mut live, format!("no {awaited} within {timeout}"), now);
                }
            }
            self.put_back(index, live);
        }
    }

    /// Says farewell over a connection that stands; what is answered to it is of no interest.
    pub(super) fn leave(&mut self, index: usize, live: &mut Live) {
        self.out.clear();
        live.link.leave(self.machine.slots[index].subscriptions, &mut self.out);
        if !self.out.is_empty() {
            self.client.send_frames(live.request, &self.out);
        }
        self.stop_orders(index, live);
    }
}

/// Why a stream has ended, where its connection goes on.
fn stream_reason(failure: &Failure) -> Option<&'static str> {
    match (failure.scope, failure.error) {
        (FailureScope::Stream, TransportError::Protocol) => Some("the stream broke the protocol"),
        (FailureScope::Stream, _) => Some("the target reset the stream"),
        (FailureScope::UnprocessedStream, _) => Some("the target did not take the stream"),
        (FailureScope::Opening | FailureScope::ConnectionEnd | FailureScope::Request, _) => None,
    }
}

/// Why a connection has ended.
pub(super) fn reason(failure: &Failure) -> String {
    match failure.scope {
        FailureScope::Opening => format!("connect: {}", failure.fault.message),
        FailureScope::ConnectionEnd => "the connection ended".to_owned(),
        FailureScope::Stream | FailureScope::UnprocessedStream | FailureScope::Request => {
            failure.fault.message.clone()
        }
    }
}
