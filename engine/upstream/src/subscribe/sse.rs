//! A subscription as server-sent events (graphql-sse, distinct connections): a request whose response stays open.

use bytes::{Buf as _, BytesMut};

use super::message::{Headers, Message};
use crate::{
    client::{OpenResponse, SendErrorKind},
    upstream::{Endpoint, Upstream},
};

pub(super) struct EventStream {
    response: OpenResponse,
    unread: BytesMut,
    max_bytes: usize,
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
        Ok(Self { response, unread: BytesMut::new(), max_bytes })
    }

    pub(super) async fn next(&mut self) -> Result<Message, SendErrorKind> {
        loop {
            while let Some(event) = take_event(&mut self.unread) {
                match read_event(&event) {
                    Some((b"complete", _)) => return Ok(Message::Complete),
                    Some((b"next", data)) => return Ok(Message::Next(data)),
                    // Others, and comments that keep the connection alive.
                    _ => {}
                }
            }
            if self.unread.len() > self.max_bytes {
                return Err(SendErrorKind::TooLarge { max_bytes: self.max_bytes });
            }
            if !self.response.read(&mut self.unread, self.max_bytes).await? {
                return Err(SendErrorKind::Closed);
            }
        }
    }
}

/// The lines up to the first empty one (HTML, section 9.2.6); lines end with LF or CR LF.
fn take_event(bytes: &mut BytesMut) -> Option<BytesMut> {
    let mut from = 0;
    loop {
        let end = from + memchr::memchr(b'\n', &bytes[from..])?;
        if bytes[from..end].trim_ascii_end().is_empty() {
            let event = bytes.split_to(from);
            bytes.advance(end + 1 - from);
            return Some(event);
        }
        from = end + 1;
    }
}

/// Name and data; none where it has no name.
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
    Some((name?, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_one_by_one() {
        let mut bytes = BytesMut::from(
            &b":\n\nevent: next\ndata: {\"a\":\ndata: 1}\n\nevent:complete\r\ndata:\r\n\r\nevent: n"[..],
        );
        let mut events = Vec::new();
        while let Some(event) = take_event(&mut bytes) {
            events.push(read_event(&event).map(|(name, data)| {
                (String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(&data).into_owned())
            }));
        }
        let event = |name: &str, data: &str| Some((name.to_owned(), data.to_owned()));
        assert_eq!(events, [None, event("next", "{\"a\":\n1}"), event("complete", "")]);
        assert_eq!(&bytes[..], b"event: n");
    }
}
