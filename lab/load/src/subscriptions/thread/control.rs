//! The connection beside a shared stream, over which a client's operations are started and, at the end, stopped. It is
//! opened again where the target closes it between two orders.

use super::connection::{Live, Wire, connect_reason};
use super::{State, Subscribers};
use crate::subscriptions::orders::{Answered, Orders};
use crate::subscriptions::requests::Speaker;
use prony_client::poller::Ready;
use prony_model::Nanos;
use prony_model::subscription::tally::count_reason;

/// Tells its events from those of the stream with the same place.
pub(super) const CONTROL: u64 = 1 << 62;

pub(super) struct Control {
    /// Nothing where the target has closed it.
    wire: Option<Wire>,
    orders: Orders,
}

impl Subscribers<'_> {
    /// Starts the first operation of a stream that was opened.
    pub(super) fn begin_orders(&mut self, index: usize, live: &mut Live) -> Result<(), String> {
        let mut control = Control { wire: None, orders: Orders::new() };
        let begun = self.order_next(index, live, &mut control);
        live.control = Some(control);
        begun.map_err(|reason| beside(&reason))
    }

    /// An event of the connection beside a stream.
    pub(super) fn go_on_with_orders(
        &mut self,
        index: usize,
        live: &mut Live,
        ready: Ready,
        buffer: &mut [u8],
    ) -> Result<(), String> {
        let Some(mut control) = live.control.take() else { return Ok(()) };
        let mut gone_on = self.read_orders(index, live, &mut control, ready, buffer);
        if gone_on.is_err() && !control.orders.is_awaiting() {
            // Between two orders the target may close it.
            (control.wire, gone_on) = (None, Ok(()));
        }
        live.control = Some(control);
        gone_on.map_err(|reason| beside(&reason))
    }

    fn read_orders(
        &mut self,
        index: usize,
        live: &mut Live,
        control: &mut Control,
        ready: Ready,
        buffer: &mut [u8],
    ) -> Result<(), String> {
        let Some(wire) = &mut control.wire else { return Ok(()) };
        let mut is_readable = wire.go_on(ready)?;
        while is_readable && let Some(wire) = &mut control.wire {
            let Some((count, is_all)) = wire.read(buffer)? else { break };
            is_readable = !is_all || ready.is_ending;
            let at = self.now();
            self.count_bytes(index, count, self.window_at(at));
            let Some(answered) = control.orders.take(&buffer[..count], &mut self.memo)? else { continue };
            if !answered.keeps_connection || ready.is_ending {
                (control.wire, is_readable) = (None, false);
            }
            self.note_answer(index, live, &answered, at);
            self.order_next(index, live, control)?;
        }
        Ok(())
    }

    fn note_answer(&mut self, index: usize, live: &Live, answered: &Answered, at: Nanos) {
        let link = &mut self.tally.subscribers.links[self.slots[index].group];
        match &answered.refused {
            None => link.subscribe.record(at.since(live.marks.asked.unwrap_or(at))),
            Some(reason) => {
                count_reason(&mut link.counts.rejected, reason);
                self.end_subscription(index, answered.number);
            }
        }
    }

    /// Starts the operation that is next; where there is none, all are soon in force.
    fn order_next(&mut self, index: usize, live: &mut Live, control: &mut Control) -> Result<(), String> {
        let (now, slot) = (self.now(), &self.slots[index]);
        let Some(number) = control.orders.next(slot.subscriptions) else {
            self.note_all_read(index, now, &mut live.marks);
            return Ok(());
        };
        let (plan, group) = (self.shared.plan, slot.group);
        let subscription = &plan.subscriptions()[group];
        let operation = self.values_of(index, number).render(&subscription.operation);
        let values = self.values_of(index, 0);
        let token = live.link.token().unwrap_or_default();
        let text = Speaker { plan, subscription, values: &values }.start(token, number, &operation);
        self.tally.subscribers.links[group].counts.asked += 1;
        live.marks.asked = Some(now);
        live.marks.deadline = now.plus(plan.timeout());
        if let Some(wire) = &mut control.wire {
            return wire.send(&text);
        }
        let transport = self.open(index).map_err(|fault| connect_reason(&fault))?;
        self.poller.add(transport.socket(), index as u64 | CONTROL).map_err(|error| error.to_string())?;
        control.wire = Some(Wire { transport, queued: text });
        Ok(())
    }

    /// Stops what was started on a shared stream; answers are of no interest.
    pub(super) fn stop_orders(&self, index: usize, live: &mut Live) {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let Some(Control { wire: Some(wire), orders }) = &mut live.control else { return };
        let values = self.values_of(index, 0);
        let speaker = Speaker { plan, subscription: &plan.subscriptions()[slot.group], values: &values };
        let token = live.link.token().unwrap_or_default();
        let started = (0..orders.answered()).filter(|number| self.state_of(index, *number) != State::Over);
        let texts: Vec<_> = started.map(|number| speaker.stop(token, number)).collect();
        // Who does not take a farewell goes without.
        let _ = wire.send(&texts.concat());
    }
}

fn beside(reason: &str) -> String {
    format!("beside its stream: {reason}")
}
