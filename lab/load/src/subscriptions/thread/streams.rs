//! A client's connection over HTTP/2: each of its operations is a stream of server-sent events.

use super::Subscribers;
use super::connection::{Carrier, Live, connect_reason};
use crate::subscriptions::link::{Heard, Link};
use crate::subscriptions::requests::Speaker;
use http::header::CONTENT_TYPE;
use prony_client::http2::connection::{Http2Connection, Http2State, StreamEvent};
use prony_client::http2::streams::{Interest, StreamKey};
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
            Translator::new(self.shared.targets.planned(TargetId(subscription.target as u32)).is_tls());
        for number in 0..slot.subscriptions {
            let values = self.values_of(index, number);
            let first = Speaker { plan, subscription, values: &values }.opening();
            let request = translator.translate(&[&first.head, &b"\r\n"[..], &first.body].concat())?;
            connection.send(StreamKey(u64::from(number)), request, Interest::Everything);
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
            if found == Http2State::Closed {
                // All streams end for the same reason.
                events.retain(|event| {
                    !matches!(event, StreamEvent::Failed { .. } | StreamEvent::Unprocessed { .. })
                });
            }
            let is_repeated = self.hear_streams(index, live, &mut events, found, at);
            if found == Http2State::Closed && !live.link.is_over() {
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
        events: &mut Vec<StreamEvent>,
        found: Http2State,
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
                StreamEvent::Head { key, head } => {
                    let kind = head.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                    link.take_head(key.0 as u32, head.status().as_u16(), kind.unwrap_or_default(), hear);
                }
                StreamEvent::Data { key, bytes } => link.take_data(key.0 as u32, &bytes, hear),
                StreamEvent::Begun { .. } => {}
                StreamEvent::End { key, .. } => link.end_stream(key.0 as u32, "the stream ended", hear),
                StreamEvent::Failed { key, error: TransportError::Protocol } => {
                    link.end_stream(key.0 as u32, "the stream broke the protocol", hear);
                }
                StreamEvent::Failed { key, .. } => {
                    link.end_stream(key.0 as u32, "the target reset the stream", hear);
                }
                // Before its settings are known, more may be asked for than the target allows.
                StreamEvent::Unprocessed { key, request }
                    if found == Http2State::Accepting && link.may_repeat(key.0 as u32) =>
                {
                    if let Carrier::Http2(connection) = carrier {
                        connection.send(key, request, Interest::Everything);
                        is_repeated = true;
                    }
                }
                StreamEvent::Unprocessed { key, .. } => {
                    link.end_stream(key.0 as u32, "the target did not take the stream", hear);
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
fn ended_bytes(event: &StreamEvent) -> u64 {
    match event {
        StreamEvent::End { received_bytes, .. } => *received_bytes,
        _ => 0,
    }
}
