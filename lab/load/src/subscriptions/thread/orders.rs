//! A shared stream and its operations (graphql-sse, PROTOCOL.md, single connection mode): the stream is reserved before it is
//! opened, its operations are started and, at the end, stopped over another connection. That is opened again where the target
//! closes it between two of them.

use super::Subscribers;
use super::connections::{WHOLE, reason};
use super::slot::{Live, RequestContext, RequestPurpose, SubscriptionState};
use crate::subscriptions::requests::Speaker;
use prony_client::{EventKind, Part, RequestId, RequestOptions};
use prony_model::Nanos;

impl Subscribers<'_> {
    /// The target has answered the reservation of a stream, which is opened now over the same connection.
    pub(super) fn on_reservation(
        &mut self,
        index: usize,
        live: &mut Live,
        request: RequestId,
        kind: EventKind,
        at: Nanos,
    ) -> Result<(), String> {
        let status = match kind {
            EventKind::Response(status) => status,
            EventKind::Failed(failure) => {
                self.client.release(request);
                return Err(reason(&failure));
            }
            _ => return Ok(()),
        };
        let Some(ended) = self.client.take(request) else { return Ok(()) };
        let reserved = live.link.reserve(status, ended.sink.answer(status).body);
        self.client.recycle(ended.sink);
        let (text, route) = (reserved?, self.route(index));
        if !self.client.is_connected(route) {
            return Err("the target closes the connection behind the reservation of a stream".to_owned());
        }
        let context = RequestContext { slot: index as u32, purpose: RequestPurpose::Stream(0) };
        let stream = self.client.send(route, &text, RequestOptions::STREAMED, at, context);
        live.request = stream.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Starts the first operation of a stream that was opened.
    pub(super) fn begin_orders(&mut self, index: usize, live: &mut Live) -> Result<(), String> {
        live.orders = Some(crate::subscriptions::orders::Orders::default());
        self.order_next(index, live).map_err(|reason| beside(&reason))
    }

    /// An event of the request that starts an operation.
    pub(super) fn on_order(
        &mut self,
        index: usize,
        live: &mut Live,
        request: RequestId,
        kind: EventKind,
        at: Nanos,
    ) -> Result<(), String> {
        live.order = None;
        let status = match kind {
            EventKind::Response(status) => status,
            EventKind::Failed(failure) => {
                self.client.release(request);
                return Err(beside(&reason(&failure)));
            }
            _ => return Ok(()),
        };
        let (Some(ended), Some(orders)) = (self.client.take(request), &mut live.orders) else {
            return Ok(());
        };
        let answered = orders.take(status, ended.sink.answer(status).body);
        self.client.recycle(ended.sink);
        match &answered.refused {
            None => self.machine.note_answered(index, at, &live.marks),
            Some(reason) => self.machine.reject(index, answered.number, reason),
        }
        self.order_next(index, live).map_err(|reason| beside(&reason))
    }

    /// Starts the operation that is next; where there is none, all are soon in force.
    fn order_next(&mut self, index: usize, live: &mut Live) -> Result<(), String> {
        let (now, slot) = (self.client.now(), &self.machine.slots[index]);
        let (plan, group) = (self.shared.plan, slot.group);
        let next = live.orders.as_ref().and_then(|orders| orders.next(slot.subscriptions));
        let Some(number) = next else {
            self.machine.note_all_read(index, now, &mut live.marks);
            return Ok(());
        };
        let subscription = &plan.subscriptions()[group];
        let operation = self.machine.values_of(index, number).render(&subscription.operation);
        let values = self.machine.values_of(index, 0);
        let token = live.link.token().unwrap_or_default();
        let text = Speaker { plan, subscription, values: &values }.start(token, number, &operation);
        self.machine.note_asked(index, 1);
        (live.marks.asked, live.marks.deadline) = (Some(now), now.plus(plan.timeout()));
        let context = RequestContext { slot: index as u32, purpose: RequestPurpose::Order };
        let sent = self.client.send(self.route(index), &text, WHOLE, now, context);
        live.order = Some(sent.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Stops what was started on a shared stream, over a connection that stands; responses are of no interest.
    pub(super) fn stop_orders(&mut self, index: usize, live: &mut Live) {
        let (Some(orders), route) = (&live.orders, self.route(index)) else { return };
        if live.order.is_some() || !self.client.is_connected(route) {
            return;
        }
        let (plan, group) = (self.shared.plan, self.machine.slots[index].group);
        let values = self.machine.values_of(index, 0);
        let speaker = Speaker { plan, subscription: &plan.subscriptions()[group], values: &values };
        let token = live.link.token().unwrap_or_default();
        let started = (0..orders.answered())
            .filter(|number| self.machine.state_of(index, *number) != SubscriptionState::Over);
        let (mut text, mut parts) = (Vec::new(), Vec::new());
        for number in started {
            text.extend_from_slice(&speaker.stop(token, number));
            let context = RequestContext { slot: index as u32, purpose: RequestPurpose::Order };
            parts.push(Part { text_end: text.len(), options: WHOLE, context });
        }
        // Who does not take a farewell goes without.
        let _ = self.client.send_all(route, &text, parts.into_iter(), self.client.now());
    }
}

fn beside(reason: &str) -> String {
    format!("beside its stream: {reason}")
}
