//! WebSocket frames of a client (RFC 6455, 5), as subscribers need them: messages are shown where they lie in the bytes that
//! were read, without a copy, unless a frame came in pieces.
//!
//! k6 scripts have the tungstenite crate for their sockets; a subscriber reads many thousand small messages a second.

use std::mem;

/// A longer message ends its connection: events are small.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// RFC 6455, 5.5.
const CONTROL_BYTES_MAX: usize = 125;
/// Memory for what came in pieces is given back beyond this.
const BYTES_KEPT: usize = 4 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameFault {
    #[error("a frame of the target is masked")]
    Masked,
    #[error("a frame uses an extension that was not agreed on")]
    Reserved,
    #[error("a frame of an unknown kind")]
    Kind,
    #[error("a control frame in pieces, or of more than {CONTROL_BYTES_MAX} bytes")]
    Control,
    #[error("a message goes on that was not begun, or another begins within it")]
    Order,
    #[error("a message of more than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Text(&'a [u8]),
    Binary(&'a [u8]),
    Ping(&'a [u8]),
    Pong,
    /// With its code, where it has one, and the reason.
    Close(Option<u16>, &'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// The beginning of a frame whose end has not come.
    partial: Vec<u8>,
    /// The beginning of a message whose last frame has not come, and whether it is text.
    message: Vec<u8>,
    message_is_text: Option<bool>,
}

/// A frame at the beginning of some bytes.
struct Head {
    is_last: bool,
    kind: Kind,
    /// Where its payload begins and ends.
    begin: usize,
    end: usize,
}

impl FrameReader {
    /// Shows each whole message in turn, until it is told to stop.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Frame<'_>) -> Flow,
    ) -> Result<(), FrameFault> {
        if self.partial.is_empty() {
            let taken = self.take(bytes, &mut each)?;
            self.partial.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut joined = mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let taken = self.take(&joined, &mut each)?;
        joined.drain(..taken);
        joined.shrink_to(BYTES_KEPT.max(joined.len()));
        self.partial = joined;
        Ok(())
    }

    /// How many bytes whole frames took.
    fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(Frame<'_>) -> Flow) -> Result<usize, FrameFault> {
        let mut at = 0;
        while let Some(head) = read_head(&bytes[at..])? {
            if bytes.len() - at < head.end {
                break;
            }
            let payload = &bytes[at + head.begin..at + head.end];
            at += head.end;
            if self.show(&head, payload, each)? == Flow::Stop {
                return Ok(bytes.len());
            }
        }
        Ok(at)
    }

    fn show(
        &mut self,
        head: &Head,
        payload: &[u8],
        each: &mut impl FnMut(Frame<'_>) -> Flow,
    ) -> Result<Flow, FrameFault> {
        let is_text = match head.kind {
            Kind::Ping => return Ok(each(Frame::Ping(payload))),
            Kind::Pong => return Ok(each(Frame::Pong)),
            Kind::Close => {
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                return Ok(each(Frame::Close(code, payload.get(2..).unwrap_or_default())));
            }
            Kind::Continuation => None,
            Kind::Text => Some(true),
            Kind::Binary => Some(false),
        };
        match (is_text, self.message_is_text) {
            (Some(_), Some(_)) | (None, None) => return Err(FrameFault::Order),
            (Some(is_text), None) if head.is_last => return Ok(each(message(is_text, payload))),
            (Some(is_text), None) => self.message_is_text = Some(is_text),
            (None, Some(_)) => {}
        }
        if self.message.len() + payload.len() > MESSAGE_BYTES_MAX {
            return Err(FrameFault::TooLong);
        }
        self.message.extend_from_slice(payload);
        if !head.is_last {
            return Ok(Flow::GoOn);
        }
        let is_text = self.message_is_text.take().unwrap_or(true);
        let flow = each(message(is_text, &self.message));
        self.message.clear();
        self.message.shrink_to(BYTES_KEPT);
        Ok(flow)
    }
}

/// What whoever is shown a message wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The rest is of no interest.
    Stop,
}

fn message(is_text: bool, payload: &[u8]) -> Frame<'_> {
    if is_text { Frame::Text(payload) } else { Frame::Binary(payload) }
}

/// The head of a frame, once it is whole.
fn read_head(bytes: &[u8]) -> Result<Option<Head>, FrameFault> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(FrameFault::Reserved);
    }
    let kind = match first & 0x0f {
        0 => Kind::Continuation,
        1 => Kind::Text,
        2 => Kind::Binary,
        8 => Kind::Close,
        9 => Kind::Ping,
        10 => Kind::Pong,
        _ => return Err(FrameFault::Kind),
    };
    if second & 0x80 != 0 {
        return Err(FrameFault::Masked);
    }
    let is_last = first & 0x80 != 0;
    let (length, begin) = match (second & 0x7f, rest) {
        (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 4),
        (127, _) => match rest.first_chunk() {
            Some(length) => (u64::from_be_bytes(*length), 10),
            None => return Ok(None),
        },
        (126, _) => return Ok(None),
        (short, _) => (u64::from(short), 2),
    };
    let is_control = matches!(kind, Kind::Close | Kind::Ping | Kind::Pong);
    if is_control && (!is_last || length > CONTROL_BYTES_MAX as u64) {
        return Err(FrameFault::Control);
    }
    if length > MESSAGE_BYTES_MAX as u64 {
        return Err(FrameFault::TooLong);
    }
    Ok(Some(Head { is_last, kind, begin, end: begin + length as usize }))
}

/// What a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text = 1,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Appends one whole frame. A mask keeps proxies from reading a message as a request; chance adds nothing in a test.
pub(crate) fn write(opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    out.push(0x80 | opcode as u8);
    match payload.len() {
        length @ 0..=125 => out.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            out.push(0x80 | 0x7e);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 0x7f);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use tungstenite::protocol::{Role, WebSocketContext};

    /// What is shown of these bytes, whole and in any pieces.
    fn check(bytes: &[u8], expected: &Expect) {
        let whole = shown(bytes, bytes.len());
        expected.assert_eq(&whole);
        for piece in 1..bytes.len() {
            assert_eq!(shown(bytes, piece), whole, "in pieces of {piece}");
        }
    }

    fn shown(bytes: &[u8], piece: usize) -> String {
        let (mut reader, mut lines) = (FrameReader::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            let fed = reader.feed(piece, |frame| {
                lines.push(format!("{frame:?}"));
                Flow::GoOn
            });
            if let Err(fault) = fed {
                lines.push(fault.to_string());
                break;
            }
        }
        lines.join("\n")
    }

    #[test]
    fn messages_are_put_together_whatever_their_pieces() {
        check(
            b"\x01\x02he\x89\x02hi\x80\x02lo\x82\x01\x00\x8a\x00\x81\x7e\x00\x03abc",
            &expect![[r#"
                Ping([104, 105])
                Text([104, 101, 108, 111])
                Binary([0])
                Pong
                Text([97, 98, 99])"#]],
        );
        check(b"\x88\x05\x11\x33bye", &expect!["Close(Some(4403), [98, 121, 101])"]);
        check(b"\x88\x00", &expect!["Close(None, [])"]);
    }

    #[test]
    fn what_is_no_frame_of_a_target_is_refused() {
        for (bytes, fault) in [
            (&b"\x81\x81\0\0\0\0x"[..], FrameFault::Masked),
            (b"\xc1\x01x", FrameFault::Reserved),
            (b"\x83\x00", FrameFault::Kind),
            (b"\x09\x00", FrameFault::Control),
            (b"\x89\x7e\x00\x7e", FrameFault::Control),
            (b"\x80\x00", FrameFault::Order),
            (b"\x01\x01x\x81\x01y", FrameFault::Order),
            (b"\x82\x7f\x40\0\0\0\0\0\0\0", FrameFault::TooLong),
        ] {
            assert_eq!(shown(bytes, bytes.len()), fault.to_string());
        }
    }

    #[test]
    fn a_reader_that_stops_is_shown_no_more() {
        let (mut reader, mut count) = (FrameReader::default(), 0);
        let mut feed = |bytes: &[u8]| {
            reader
                .feed(bytes, |_| {
                    count += 1;
                    Flow::Stop
                })
                .unwrap();
        };
        feed(b"\x81\x01a\x81\x01b");
        assert_eq!(count, 1);
    }

    /// Another implementation reads what is written.
    #[test]
    fn frames_are_read_by_tungstenite() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let text = "x".repeat(length);
            let mut bytes = Vec::new();
            write(Opcode::Text, text.as_bytes(), [1, 2, 3, 4], &mut bytes);
            let mut pipe = std::io::Cursor::new(bytes);
            let mut server = WebSocketContext::new(Role::Server, None);
            assert_eq!(server.read(&mut pipe).unwrap().into_text().unwrap().as_str(), text);
        }
    }
}
