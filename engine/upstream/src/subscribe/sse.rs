//! A subscription as server-sent events (graphql-sse, distinct connections): a request whose response stays open.

use bytes::{Buf as _, BytesMut};

use super::message::{Headers, Message};
use crate::{
    client::{OpenResponse, SendErrorKind},
    upstream::{Endpoint, Upstream},
};

pub(super) struct EventStream {
    response: OpenResponse,
    unread: UnreadEvents,
    max_bytes: usize,
    /// A result in place of events has come.
    is_over: bool,
}

/// What has come of events. Of one that comes in many pieces each is looked through once.
#[derive(Debug, Default)]
struct UnreadEvents {
    bytes: BytesMut,
    /// Where the line begins whose end has not come.
    line: usize,
    /// Up to where that was looked for.
    searched: usize,
}

impl EventStream {
    pub(super) async fn open(
        upstream: &Upstream,
        endpoint: &Endpoint,
        request: Vec<u8>,
        headers: &Headers,
    ) -> Result<Self, SendErrorKind> {
        let address = &endpoint.address;
        let transport = upstream.connector.open_stream(address).await.map_err(|error| error.kind)?;
        let mut head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\ncontent-length: {}\r\n",
            address.target,
            address.authority,
            request.len()
        )
        .into_bytes();
        let own = upstream.headers(endpoint);
        let own = own.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let forwarded = headers.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in own.chain(forwarded) {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(&request);
        let limit = upstream.settings.first_byte_timeout;
        let opened = tokio::time::timeout(limit, OpenResponse::open(transport, &head)).await;
        let response = opened.unwrap_or_else(|_| {
            Err(SendErrorKind::Timeout {
                what: "the first byte of the response",
                limit_ms: limit.as_millis(),
                option: "first_byte_timeout_ms",
            })
        })?;
        let max_bytes = upstream.settings.common.max_response_bytes;
        Ok(Self { response, unread: UnreadEvents::default(), max_bytes, is_over: false })
    }

    pub(super) async fn next(&mut self) -> Result<Message, SendErrorKind> {
        if self.response.is_json {
            return self.result().await;
        }
        loop {
            while let Some(event) = self.unread.take() {
                match read_event(&event) {
                    Some((b"complete", _)) => return Ok(Message::Complete),
                    Some((b"next", data)) => return Ok(Message::Next(data)),
                    // Others, and comments that keep the connection alive.
                    _ => {}
                }
            }
            if self.unread.bytes.len() > self.max_bytes {
                return Err(SendErrorKind::TooLarge { max_bytes: self.max_bytes });
            }
            if !self.response.read(&mut self.unread.bytes, self.max_bytes).await? {
                return Err(SendErrorKind::Closed);
            }
        }
    }

    /// The only result, where the upstream sends that in place of events, and then the end.
    async fn result(&mut self) -> Result<Message, SendErrorKind> {
        if self.is_over {
            return Ok(Message::Complete);
        }
        while self.response.read(&mut self.unread.bytes, self.max_bytes).await? {
            if self.unread.bytes.len() > self.max_bytes {
                return Err(SendErrorKind::TooLarge { max_bytes: self.max_bytes });
            }
        }
        self.is_over = true;
        Ok(Message::Next(self.unread.bytes.to_vec()))
    }
}

impl UnreadEvents {
    /// The lines up to the first empty one (HTML, section 9.2.6); lines end with LF or CR LF.
    fn take(&mut self) -> Option<BytesMut> {
        loop {
            let Some(offset) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
                self.searched = self.bytes.len();
                return None;
            };
            let (begin, behind) = (self.line, self.searched + offset + 1);
            if matches!(&self.bytes[begin..behind], b"\n" | b"\r\n") {
                let event = self.bytes.split_to(begin);
                self.bytes.advance(behind - begin);
                (self.line, self.searched) = (0, 0);
                return Some(event);
            }
            (self.line, self.searched) = (behind, behind);
        }
    }
}

/// Name and data; none where it has neither. Data without a name is a result, as older servers send it.
fn read_event(event: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let (mut name, mut data) = (None, Vec::new());
    for line in event.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let value = |field: &[u8]| {
            let value = line.strip_prefix(field)?.strip_prefix(b":")?;
            Some(value.strip_prefix(b" ").unwrap_or(value))
        };
        if let Some(value) = value(b"event") {
            name = Some(value);
        } else if let Some(value) = value(b"data") {
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(value);
        }
    }
    match name {
        None if data.is_empty() => None,
        name => Some((name.unwrap_or(b"next"), data)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_one_by_one() {
        let bytes = BytesMut::from(
            &b":\n\nevent: next\ndata: {\"a\":\ndata: 1}\n\nevent:complete\r\ndata:\r\n\r\ndata: 2\n\nevent: n"[..],
        );
        let mut unread = UnreadEvents { bytes, ..UnreadEvents::default() };
        let mut events = Vec::new();
        while let Some(event) = unread.take() {
            events.push(read_event(&event).map(|(name, data)| {
                (String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(&data).into_owned())
            }));
        }
        let event = |name: &str, data: &str| Some((name.to_owned(), data.to_owned()));
        let expected = [None, event("next", "{\"a\":\n1}"), event("complete", ""), event("next", "2")];
        assert_eq!(events, expected);
        assert_eq!(&unread.bytes[..], b"event: n");
    }

    /// It was looked through from its beginning with each piece, which took a core for seconds where it had megabytes.
    #[test]
    fn a_long_event_is_looked_through_once() {
        let mut unread = UnreadEvents::default();
        let head = b"event: next\ndata: ";
        unread.bytes.extend_from_slice(head);
        for _ in 0..100 {
            assert!(unread.take().is_none());
            assert_eq!((unread.line, unread.searched), (12, unread.bytes.len()));
            unread.bytes.extend_from_slice(&[b'x'; 1000]);
        }
        unread.bytes.extend_from_slice(b"\r\n\r\n:");
        let event = unread.take().expect("it is whole");
        assert_eq!(event.len(), head.len() + 100_000 + 2);
        assert_eq!(&unread.bytes[..], b":");
        assert!(unread.take().is_none());
    }
}
