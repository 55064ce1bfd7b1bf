//! A WebSocket that stands (RFC 6455): bytes of the connection in, messages out, and the other way round. Frames are the
//! tungstenite crate's work; the connection is the worker's.

use crate::fault;
use crate::timers::LazyAlarm;
use prony_model::Nanos;
use prony_model::program::call::{CallBytes, CallFault, CallFaultKind, SocketClose, SocketMessage};
use prony_model::response::answer::{header, headers};
use std::io::{self, Read, Write};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Error, Message};

/// A longer message ends its socket.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a peer that does not read may leave with us; more ends the socket.
pub(crate) const OUTGOING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Memory for what waits is given back beyond this.
const BYTES_KEPT: usize = 16 * 1024;
/// What one read of the frames' reader takes; the connection itself is read in larger pieces.
const READ_BYTES: usize = 4 * 1024;
/// RFC 6455, 5.5: of a control frame; the code of a close takes two of it.
const CONTROL_BYTES_MAX: usize = 125;
/// RFC 6455, 7.4.1: none was given; the connection ended without a close; the user went away.
const NO_CODE: u16 = 1005;
const ABNORMAL: u16 = 1006;
pub(crate) const GOING_AWAY: u16 = 1001;

pub(crate) struct OpenWebSocket {
    /// Not told of yet.
    pub bytes: CallBytes,
    frames: WebSocketContext,
    pipe: Pipe,
    pub is_closing: bool,
    /// When the peer has had its time to answer the close.
    pub close_by: Nanos,
    pub alarm: LazyAlarm,
    /// It is gone; its user has not heard of it yet.
    pub end: Option<WebSocketEnd>,
}

#[derive(Debug)]
pub(crate) enum WebSocketEnd {
    Closed(SocketClose),
    Failed(CallFault),
}

#[derive(Debug)]
pub(crate) enum Received {
    Message(SocketMessage),
    End(WebSocketEnd),
}

/// What has come and was not read, and what was written and not sent.
#[derive(Debug, Default)]
struct Pipe {
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
}

impl OpenWebSocket {
    pub(crate) fn new() -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let frames = WebSocketContext::new(Role::Client, Some(config));
        Self {
            bytes: CallBytes::default(),
            frames,
            pipe: Pipe::default(),
            is_closing: false,
            close_by: Nanos::ZERO,
            alarm: LazyAlarm::default(),
            end: None,
        }
    }

    /// Takes what came over the connection.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes.received += bytes.len() as u64;
        self.pipe.input.extend_from_slice(bytes);
    }

    /// The next message within what came. Pings and closes are answered by the way: see [`OpenWebSocket::output`].
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let failed = |error: &dyn ToString| {
            let fault = fault::new(CallFaultKind::Protocol, error.to_string());
            Some(Received::End(WebSocketEnd::Failed(fault)))
        };
        let read = self.frames.read(&mut self.pipe);
        match read {
            Ok(Message::Text(text)) => Some(Received::Message(SocketMessage::Text(text.as_str().to_owned()))),
            Ok(Message::Binary(bytes)) => Some(Received::Message(SocketMessage::Binary(bytes.into()))),
            Ok(Message::Ping(bytes)) => Some(Received::Message(SocketMessage::Ping(bytes.into()))),
            Ok(Message::Pong(bytes)) => Some(Received::Message(SocketMessage::Pong(bytes.into()))),
            Ok(Message::Close(frame)) => {
                // Our answer to it is written along.
                let _ = self.frames.flush(&mut self.pipe);
                Some(Received::End(WebSocketEnd::Closed(frame.map_or_else(
                    Self::closed_without_code,
                    |frame| SocketClose { code: frame.code.into(), reason: frame.reason.as_str().to_owned() },
                ))))
            }
            Ok(Message::Frame(_)) => failed(&"a frame outside of all messages"),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                self.pipe.rest();
                None
            }
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                Some(Received::End(WebSocketEnd::abnormal()))
            }
            Err(error) => failed(&error),
        }
    }

    fn closed_without_code() -> SocketClose {
        SocketClose { code: NO_CODE, reason: String::new() }
    }

    /// Writes a message to the output. Once the closing has begun, nothing is written any more.
    pub(crate) fn send(&mut self, message: SocketMessage) -> Result<(), CallFault> {
        let message = match message {
            SocketMessage::Text(text) => Message::text(text),
            SocketMessage::Binary(bytes) => Message::binary(bytes),
            SocketMessage::Ping(bytes) | SocketMessage::Pong(bytes) if bytes.len() > CONTROL_BYTES_MAX => {
                let text = format!(
                    "a ping of {} bytes is longer than the limit of {CONTROL_BYTES_MAX}",
                    bytes.len()
                );
                return Err(fault::new(CallFaultKind::Protocol, text));
            }
            SocketMessage::Ping(bytes) => Message::Ping(bytes.into()),
            SocketMessage::Pong(bytes) => Message::Pong(bytes.into()),
        };
        if !self.frames.can_write() {
            return Ok(());
        }
        let written = self.frames.write(&mut self.pipe, message);
        written
            .and_then(|()| self.frames.flush(&mut self.pipe))
            .map_err(|error| fault::new(CallFaultKind::Write, error.to_string()))
    }

    /// Begins the closing handshake.
    pub(crate) fn close(&mut self, close: SocketClose) {
        self.is_closing = true;
        let frame = (close.code != NO_CODE).then(|| {
            let reason = cut(close.reason, CONTROL_BYTES_MAX - 2);
            CloseFrame { code: CloseCode::from(close.code), reason: reason.into() }
        });
        // The pipe takes everything.
        let _ = self.frames.close(&mut self.pipe, frame);
    }

    /// What is to be sent; the caller takes it from the front.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.pipe.output
    }

    /// Gives back memory that a large message took.
    pub(crate) fn note_sent(&mut self) {
        self.bytes.sent += self.pipe.output.len() as u64;
        self.pipe.output.clear();
        self.pipe.output.shrink_to(BYTES_KEPT);
    }
}

impl std::fmt::Debug for OpenWebSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWebSocket").field("end", &self.end).finish_non_exhaustive()
    }
}

impl WebSocketEnd {
    /// The connection ended without a close.
    pub(crate) fn abnormal() -> Self {
        Self::Closed(SocketClose { code: ABNORMAL, reason: String::new() })
    }
}

impl Pipe {
    /// All was read.
    fn rest(&mut self) {
        self.input.clear();
        self.input.shrink_to(BYTES_KEPT);
        self.taken = 0;
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = &self.input[self.taken..];
        if left.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// ---- opening

/// The request of an opening handshake with the headers that make it one, and what the answer has to accept it with;
/// nothing where the text has no end.
pub(crate) fn opening(text: &[u8], key: &str) -> Option<(Vec<u8>, String)> {
    let head = text.strip_suffix(b"\r\n").filter(|head| head.ends_with(b"\r\n"))?;
    let mut request = head.to_vec();
    let headers = format!(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    request.extend_from_slice(headers.as_bytes());
    Some((request, derive_accept_key(key.as_bytes())))
}

/// What is wrong with the head of an answer 101 (RFC 6455, 4.1).
pub(crate) fn opening_fault(head: &[u8], accept: &str) -> Option<CallFault> {
    let value = |name| header(head, name).unwrap_or_default();
    // A list may have several lines (RFC 9110, 5.3), as where a proxy adds its own.
    let has_token = |name, token: &str| {
        let mut tokens = headers(head, name).flat_map(|line| line.split(|byte| *byte == b','));
        tokens.any(|found| found.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    };
    let message = if !has_token("upgrade", "websocket") || !has_token("connection", "upgrade") {
        "the answer 101 does not upgrade to a WebSocket".to_owned()
    } else if value("sec-websocket-accept") != accept.as_bytes() {
        "the answer's Sec-WebSocket-Accept does not fit the request's key".to_owned()
    } else if !value("sec-websocket-extensions").is_empty() {
        let extensions = String::from_utf8_lossy(value("sec-websocket-extensions")).into_owned();
        format!("the target has chosen extensions that are not spoken here: {extensions}")
    } else {
        return None;
    };
    Some(fault::new(CallFaultKind::Protocol, message))
}

/// As many whole characters as so many bytes hold.
fn cut(mut text: String, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// A fresh key for one opening.
pub fn new_key() -> String {
    tungstenite::handshake::client::generate_key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Frames of a server in any pieces; what is heard of them, and what is written in answer without the random mask.
    fn check(bytes: &[u8], expected: &Expect) {
        let whole = heard(bytes, bytes.len());
        expected.assert_eq(&whole);
        for piece in 1..bytes.len() {
            assert_eq!(heard(bytes, piece), whole, "in pieces of {piece}");
        }
    }

    fn heard(bytes: &[u8], piece: usize) -> String {
        let mut socket = OpenWebSocket::new();
        let mut lines = Vec::new();
        'all: for piece in bytes.chunks(piece) {
            socket.take(piece);
            while let Some(heard) = socket.receive() {
                let is_end = matches!(heard, Received::End(_));
                lines.push(match heard {
                    Received::Message(message) => format!("{message:?}"),
                    Received::End(end) => format!("{end:?}"),
                });
                if is_end {
                    break 'all;
                }
            }
        }
        lines.push(format!("{} bytes in answer", socket.output().len()));
        lines.join("\n")
    }

    #[test]
    fn messages_are_put_together_and_pings_answered() {
        check(
            b"\x01\x03hel\x89\x02hi\x80\x02lo\x82\x01\x00\x8a\x00",
            &expect![[r#"
                Ping([104, 105])
                Text("hello")
                Binary([0])
                Pong([])
                8 bytes in answer"#]],
        );
    }

    #[test]
    fn a_close_is_answered_and_tells_its_code() {
        check(
            b"\x88\x05\x03\xe8bye",
            &expect![[r#"
                Closed(SocketClose { code: 1000, reason: "bye" })
                11 bytes in answer"#]],
        );
        check(
            b"\x88\x00",
            &expect![[r#"
                Closed(SocketClose { code: 1005, reason: "" })
                6 bytes in answer"#]],
        );
    }

    #[test]
    fn what_is_no_frame_ends_the_socket() {
        let shown = heard(b"\x83\x00", 2);
        assert!(shown.starts_with("Failed(CallFault { kind: Protocol"), "{shown}");
        let shown = heard(b"\x81\x02\xff\xff", 4);
        assert!(shown.starts_with("Failed(CallFault { kind: Protocol"), "{shown}");
        // A masked frame, and one of 2^62 bytes.
        assert!(heard(b"\x81\x80\0\0\0\0", 6).starts_with("Failed"));
        assert!(heard(b"\x82\x7f\x40\0\0\0\0\0\0\0", 10).starts_with("Failed"));
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(cut("aé".to_owned(), 2), "a");
        assert_eq!(cut("aé".to_owned(), 3), "aé");
    }

    #[test]
    fn an_opening_is_accepted_with_its_key_only() {
        // The example of RFC 6455, 1.3.
        let (text, accept) =
            opening(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "dGhlIHNhbXBsZSBub25jZQ==").unwrap();
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(text.ends_with(b"Sec-WebSocket-Version: 13\r\n\r\n"));
        assert_eq!(opening(b"GET / HTTP/1.1\r\n", "k"), None);
        let head = |accept: &str, more: &str| {
            format!(
                "HTTP/1.1 101 S\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{more}\r\n"
            )
        };
        let fault = |head: &str| opening_fault(head.as_bytes(), &accept).map(|fault| fault.message);
        assert_eq!(fault(&head(&accept, "")), None);
        let lines = head(&accept, "").replace("keep-alive, Upgrade", "keep-alive\r\nConnection: Upgrade");
        assert_eq!(fault(&lines), None);
        assert!(fault(&head("x", "")).unwrap().contains("Sec-WebSocket-Accept"));
        let extended = head(&accept, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        assert!(fault(&extended).unwrap().contains("permessage-deflate"));
        assert!(fault("HTTP/1.1 101 S\r\n\r\n").unwrap().contains("does not upgrade"));
    }
}
