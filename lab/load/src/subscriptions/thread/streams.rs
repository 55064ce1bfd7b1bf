//! A client's connection over HTTP/2: each of its operations is a stream of server-sent events.

use super::Subscribers;
use super::connection::{Carrier, Live, connect_reason};
use crate::subscriptions::link::{Heard, Link};
use crate::subscriptions::requests::Speaker;
use http::header::CONTENT_TYPE;
use prony_client::http2::connection::{Event, Http2Connection, Life};
use prony_client::http2::streams::Interest;
use prony_client::http2::translate::{TranslateError, Translator};
use prony_client::poller::Ready;
use prony_client::targets::TargetId;
use prony_client::transport::Transport;
use prony_model::{Nanos, TransportError};
use std::rc::Rc;

impl Subscribers<'_> {
    /// Asks for all streams of a connection that is being opened.
    pub(super) fn ask_over_http2(
        &self,
        index: usize,
        transport: Transport,
    ) -> Result<(Carrier, Link), TranslateError> {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let subscription = &plan.subscriptions()[slot.group];
        let mut connection = Box::new(Http2Connection::new(transport, Rc::clone(&self.http2_buffer)));
        let mut translator =
            Translator::new(self.shared.network.planned(TargetId(subscription.target as u32)).is_tls());
        for number in 0..slot.subscriptions {
            let values = self.values_of(index, number);
            let first = Speaker { plan, subscription, values: &values }.opening();
            let request = translator.translate(&[&first.head, &b"\r\n"[..], &first.body].concat())?;
            connection.send(number, request, Interest::Everything);
        }
        Ok((Carrier::Http2(connection), Link::of_streams(slot.subscriptions)))
    }

    /// An event of the connection. Frames are taken apart in the same go as they are read, so receipts are stamped a little
    /// after that.
    pub(super) fn go_on_with_streams(
        &mut self,
        index: usize,
        live: &mut Live,
        ready: Ready,
        since: Nanos,
    ) -> Result<(), String> {
        let mut events = Vec::new();
        if let Carrier::Http2(connection) = &mut live.carrier {
            connection.note_event(ready.readable, ready.is_ending);
        }
        while let Carrier::Http2(connection) = &mut live.carrier {
            let found = connection.drive(&mut events).map_err(|fault| connect_reason(&fault))?;
            let (received, has_work) = (connection.take_received_bytes(), connection.has_work());
            let at = self.now();
            self.tally.subscribers.read_lateness.record(at.since(since));
            let ended: u64 = events.iter().map(ended_bytes).sum();
            self.count_bytes(index, (received + ended) as usize, self.window_at(at));
            if found == Life::Over {
                // All streams end for the same reason.
                events.retain(|event| !matches!(event, Event::Failed { .. } | Event::Unprocessed { .. }));
            }
            let is_repeated = self.hear_streams(index, live, &mut events, found, at);
            if found == Life::Over && !live.link.is_over() {
                return Err("the connection ended".to_owned());
            }
            if live.link.is_over() || !has_work && !is_repeated {
                break;
            }
        }
        Ok(())
    }

    /// True where a stream waits to be asked for again.
    fn hear_streams(
        &mut self,
        index: usize,
        live: &mut Live,
        events: &mut Vec<Event>,
        found: Life,
        at: Nanos,
    ) -> bool {
        // Whatever mutation an event is of was told of before it was written.
        self.take_notices();
        let window = self.window_at(at);
        let Live { carrier, link, marks, .. } = live;
        let mut is_repeated = false;
        let hear = &mut |heard: Heard<'_>| {
            self.hear(index, &heard, at, window, marks);
        };
        for event in events.drain(..) {
            match event {
                Event::Head { user, head } => {
                    let kind = head.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                    link.take_head(user, head.status().as_u16(), kind.unwrap_or_default(), hear);
                }
                Event::Data { user, bytes } => link.take_data(user, &bytes, hear),
                Event::Begun { .. } => {}
                Event::End { user, .. } => link.end_stream(user, "the stream ended", hear),
                Event::Failed { user, error: TransportError::Protocol } => {
                    link.end_stream(user, "the stream broke the protocol", hear);
                }
                Event::Failed { user, .. } => link.end_stream(user, "the target reset the stream", hear),
                // Before its settings are known, more may be asked for than the target allows.
                Event::Unprocessed { user, request } if found == Life::Takes && link.may_repeat(user) => {
                    if let Carrier::Http2(connection) = carrier {
                        connection.send(user, request, Interest::Everything);
                        is_repeated = true;
                    }
                }
                Event::Unprocessed { user, .. } => {
                    link.end_stream(user, "the target did not take the stream", hear);
                }
            }
        }
        if !marks.is_read && link.is_answered() {
            self.note_all_read(index, at, marks);
        }
        link.close_streams();
        is_repeated
    }
}

/// Of the connection, since the answer before.
fn ended_bytes(event: &Event) -> u64 {
    match event {
        Event::End { received_bytes, .. } => *received_bytes,
        _ => 0,
    }
}
