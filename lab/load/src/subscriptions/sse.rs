//! Server-sent events (WHATWG HTML, 9.2.6), read in whatever pieces they come, and what GraphQL over SSE makes of them in
//! its distinct connections mode (graphql-sse, PROTOCOL.md): `next` with a result, then `complete`.

use std::mem;

/// An event with longer data, or a longer line, ends its stream: events are small.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct EventReader {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// The last line ended with a carriage return: a line feed right behind it belongs to it.
    after_return: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {EVENT_BYTES_MAX} bytes")]
pub(crate) struct EventTooLong;

impl EventReader {
    /// Shows each event, by its name and its data.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), EventTooLong> {
        let mut rest = bytes;
        if mem::take(&mut self.after_return) && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            if self.partial.is_empty() {
                self.take_line(&rest[..end], &mut each);
            } else {
                let mut line = mem::take(&mut self.partial);
                line.extend_from_slice(&rest[..end]);
                self.take_line(&line, &mut each);
            }
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.partial.extend_from_slice(rest);
        if self.partial.len().max(self.data.len()) > EVENT_BYTES_MAX { Err(EventTooLong) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], each: &mut impl FnMut(&[u8], &[u8])) {
        if line.is_empty() {
            // An event without data is none.
            if mem::take(&mut self.has_data) || !self.name.is_empty() {
                each(&self.name, &self.data);
            }
            self.name.clear();
            self.data.clear();
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            // A comment.
            Some(0) => return,
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8], piece: usize) -> Vec<String> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            reader
                .feed(piece, |name, data| {
                    events.push(format!(
                        "{}: {}",
                        String::from_utf8_lossy(name),
                        String::from_utf8_lossy(data)
                    ));
                })
                .unwrap();
        }
        events
    }

    #[test]
    fn events_are_the_same_in_any_pieces() {
        let text = b":\n\nevent: next\ndata: {\"a\":\"\xc3\xa9\"}\n\nevent:next\r\ndata:1\r\ndata:2\r\nid: 3\r\n\r\n\
                     event: next\rdata: x\r\rretry: 5\n: ping\n\ndata\n\nevent: complete\n\nevent: cut";
        let whole = shown(text, text.len());
        assert_eq!(whole, ["next: {\"a\":\"é\"}", "next: 1\n2", "next: x", ": ", "complete: "]);
        for piece in 1..text.len() {
            assert_eq!(shown(text, piece), whole, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_event_of_many_lines_is_bounded_too() {
        let mut reader = EventReader::default();
        let line = [&b"data: "[..], &vec![b'x'; 64 * 1024], b"\n"].concat();
        let fed = (0..=EVENT_BYTES_MAX / (64 * 1024)).try_for_each(|_| reader.feed(&line, |_, _| {}));
        fed.unwrap_err();
    }
}
