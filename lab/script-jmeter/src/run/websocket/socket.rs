//! A user's WebSocket between its samples: what has come over it and was not read yet.

use prony_model::program::call::{AskId, SocketClose, SocketEvent, SocketMessage};
use std::collections::VecDeque;

/// WebSockets are numbered from here, requests below it.
const FIRST_ID: AskId = 1 << 32;
/// What may wait for a sampler that reads it: more means that the plan never reads.
const WAITING_FRAMES_MAX: usize = 10_000;
const WAITING_BYTES_MAX: usize = 16 << 20;
/// RFC 6455, 7.4.1: the connection ended without a close.
const ABNORMAL: u16 = 1006;
/// None was given.
const NO_CODE: u16 = 1005;

/// What samplers read. A message of several frames is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SocketFrame {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

/// The user's one connection; it outlives samples and passes.
#[derive(Debug, Default)]
pub(crate) struct UserSocket {
    id: AskId,
    state: SocketState,
    waiting: VecDeque<SocketFrame>,
    waiting_bytes: usize,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum SocketState {
    /// There is none.
    #[default]
    None,
    Opening,
    Open,
    /// The peer has closed, and samplers may not have read it yet.
    ClosedByPeer,
    /// It is gone without a close, for this reason; samplers hear it when they have read what came before.
    Gone(String),
}

impl UserSocket {
    /// A number for a new connection, and the old one's, which is to be dropped.
    pub(super) fn renew(&mut self) -> (AskId, Option<AskId>) {
        let old = matches!(self.state, SocketState::Opening | SocketState::Open).then_some(self.id);
        let id = self.id.max(FIRST_ID) + 1;
        *self = Self { id, state: SocketState::Opening, ..Self::default() };
        (id, old)
    }

    pub(crate) fn id(&self) -> AskId {
        self.id
    }

    /// The connection that is open now, if there is one.
    pub(crate) fn open_id(&self) -> Option<AskId> {
        (self.state == SocketState::Open).then_some(self.id)
    }

    /// True where samplers have a connection to use, which may be at its end.
    pub(super) fn exists(&self) -> bool {
        !matches!(self.state, SocketState::None | SocketState::Opening)
    }

    pub(super) fn set_open(&mut self) {
        self.state = SocketState::Open;
    }

    /// There is none any more.
    pub(crate) fn forget(&mut self) {
        *self = Self { id: self.id, ..Self::default() };
    }

    /// Why nothing comes after what waits.
    pub(super) fn end(&self) -> Option<&str> {
        match &self.state {
            SocketState::Gone(message) => Some(message),
            _ => None,
        }
    }

    /// True where the peer cannot be written to and does not say why.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.state, SocketState::Gone(_))
    }

    /// Takes what came over the open connection; true where it is too much, and the connection is to be dropped.
    pub(crate) fn take(&mut self, event: SocketEvent<'_>) -> bool {
        if self.state != SocketState::Open {
            return false;
        }
        let frame = match event {
            SocketEvent::Message(SocketMessage::Text(text)) => SocketFrame::Text(text),
            SocketEvent::Message(SocketMessage::Binary(bytes)) => SocketFrame::Binary(bytes),
            SocketEvent::Message(SocketMessage::Ping(bytes)) => SocketFrame::Ping(bytes),
            SocketEvent::Message(SocketMessage::Pong(bytes)) => SocketFrame::Pong(bytes),
            SocketEvent::Closed(SocketClose { code: ABNORMAL, .. }) => {
                self.state = SocketState::Gone("end of stream".to_owned());
                return false;
            }
            SocketEvent::Closed(SocketClose { code, reason }) => {
                self.state = SocketState::ClosedByPeer;
                SocketFrame::Close((code != NO_CODE).then_some(code), reason)
            }
            SocketEvent::Failed { fault, .. } => {
                self.state = SocketState::Gone(fault.message);
                return false;
            }
            SocketEvent::Opened { .. } | SocketEvent::Refused { .. } => return false,
        };
        self.waiting_bytes += frame.payload_bytes();
        self.waiting.push_back(frame);
        let is_too_much = self.waiting.len() > WAITING_FRAMES_MAX || self.waiting_bytes > WAITING_BYTES_MAX;
        if is_too_much {
            self.state = SocketState::Gone(format!(
                "more than {WAITING_FRAMES_MAX} messages or {WAITING_BYTES_MAX} bytes came that no sampler has read; read them, or \
                 close the connection"
            ));
        }
        is_too_much
    }

    pub(super) fn next_frame(&mut self) -> Option<SocketFrame> {
        let frame = self.waiting.pop_front()?;
        self.waiting_bytes -= frame.payload_bytes();
        Some(frame)
    }
}

impl SocketFrame {
    pub(super) fn payload_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) | Self::Ping(bytes) | Self::Pong(bytes) => bytes.len(),
            Self::Close(code, reason) => code.map_or(0, |_| 2 + reason.len()),
        }
    }

    /// On the way from a server, which masks nothing (RFC 6455, 5.2).
    pub(super) fn bytes(&self) -> u64 {
        frame_bytes(self.payload_bytes())
    }

    /// As the plug-in calls its kind.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Binary(_) => "binary",
            Self::Ping(_) => "ping",
            Self::Pong(_) => "pong",
            Self::Close(..) => "close",
        }
    }

    /// As the plug-in shows it.
    pub(super) fn shown(&self) -> String {
        let data = |bytes: &[u8]| match bytes {
            [] => "no application data".to_owned(),
            bytes => format!("application data '{}'", String::from_utf8_lossy(bytes)),
        };
        match self {
            Self::Text(text) => format!("Text frame with text '{text}'"),
            Self::Binary(bytes) => {
                format!("Binary frame, payload (length {}): {}", bytes.len(), hexadecimal(bytes))
            }
            Self::Ping(bytes) => format!("Ping frame with {}", data(bytes)),
            Self::Pong(bytes) => format!("Pong frame with {}", data(bytes)),
            Self::Close(code, reason) => {
                let code = code.map_or("null".to_owned(), |code| code.to_string());
                let reason = if reason.is_empty() { "null" } else { reason };
                format!("Close frame with status code {code} and close reason '{reason}'")
            }
        }
    }
}

/// Head and payload of a frame that is not masked; one that is has four bytes more.
pub(super) fn frame_bytes(payload: usize) -> u64 {
    let head = match payload {
        0..=125 => 2,
        126..=0xffff => 4,
        _ => 10,
    };
    head + payload as u64
}

/// The first bytes of a payload.
fn hexadecimal(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 20;
    let shown: Vec<_> = bytes.iter().take(SHOWN_MAX).map(|byte| format!("{byte:#04x}")).collect();
    let rest = if bytes.len() > SHOWN_MAX { " ..." } else { "" };
    shown.join(" ") + rest
}

/// Reads `0xca 0xfe` or `ba be`, with digits in pairs.
pub(super) fn parse_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let digits = word.strip_prefix("0x").unwrap_or(word).as_bytes();
        for pair in digits.chunks(2) {
            let pair = std::str::from_utf8(pair).ok()?;
            bytes.push(u8::from_str_radix(pair, 16).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SocketEvent<'static> {
        SocketEvent::Message(SocketMessage::Text(text.to_owned()))
    }

    fn open() -> UserSocket {
        let mut socket = UserSocket::default();
        assert_eq!(socket.renew(), (FIRST_ID + 1, None));
        socket.set_open();
        socket
    }

    #[test]
    fn what_comes_is_read_in_its_order_and_the_end_after_it() {
        let mut socket = open();
        assert!(!socket.take(text("a")) && !socket.take(text("b")));
        socket.take(SocketEvent::Closed(SocketClose { code: 1001, reason: "bye".to_owned() }));
        assert_eq!(socket.next_frame(), Some(SocketFrame::Text("a".to_owned())));
        assert_eq!(socket.next_frame(), Some(SocketFrame::Text("b".to_owned())));
        assert_eq!(socket.next_frame(), Some(SocketFrame::Close(Some(1001), "bye".to_owned())));
        assert_eq!((socket.next_frame(), socket.open_id()), (None, None));
        assert!(socket.exists() && !socket.is_gone());
    }

    #[test]
    fn one_that_nobody_reads_is_dropped() {
        let mut socket = open();
        for _ in 0..WAITING_FRAMES_MAX {
            assert!(!socket.take(text("x")));
        }
        assert!(socket.take(text("x")));
        assert!(socket.end().unwrap().contains("10000 messages"), "{:?}", socket.end());
        let mut socket = open();
        assert!(!socket.take(text(&"x".repeat(WAITING_BYTES_MAX))));
        assert!(socket.take(text("x")));
    }

    #[test]
    fn reading_makes_room() {
        let mut socket = open();
        for _ in 0..3 {
            assert!(!socket.take(text(&"x".repeat(WAITING_BYTES_MAX))));
            assert!(socket.next_frame().is_some());
        }
    }

    #[test]
    fn a_new_connection_drops_the_old_one_and_what_came_over_it() {
        let mut socket = open();
        socket.take(text("old"));
        assert_eq!(socket.renew(), (FIRST_ID + 2, Some(FIRST_ID + 1)));
        assert_eq!(socket.next_frame(), None);
        assert!(!socket.exists());
        socket.forget();
        assert_eq!(socket.renew(), (FIRST_ID + 3, None));
    }

    #[test]
    fn frames_are_as_long_as_rfc_6455_has_them() {
        let frame = |len: usize| SocketFrame::Text("x".repeat(len)).bytes();
        assert_eq!([0, 125, 126, 65_535, 65_536].map(frame), [2, 127, 130, 65_539, 65_546]);
        assert_eq!(SocketFrame::Close(None, String::new()).bytes(), 2);
        assert_eq!(SocketFrame::Close(Some(1000), "é".to_owned()).bytes(), 6);
    }

    #[test]
    fn hexadecimal_is_read_in_both_ways() {
        assert_eq!(parse_hexadecimal("0xca 0xfe"), Some(vec![0xca, 0xfe]));
        assert_eq!(parse_hexadecimal(" cafe ba b"), Some(vec![0xca, 0xfe, 0xba, 0xb]));
        assert_eq!(parse_hexadecimal(""), Some(Vec::new()));
        assert_eq!(parse_hexadecimal("hello"), None);
        assert_eq!(parse_hexadecimal("aé"), None);
    }

    #[test]
    fn frames_are_shown_as_the_plug_in_shows_them() {
        assert_eq!(SocketFrame::Ping(Vec::new()).shown(), "Ping frame with no application data");
        assert_eq!(SocketFrame::Pong(b"hi".to_vec()).shown(), "Pong frame with application data 'hi'");
        assert_eq!(
            SocketFrame::Close(None, String::new()).shown(),
            "Close frame with status code null and close reason 'null'"
        );
        assert_eq!(SocketFrame::Binary(vec![0, 255]).shown(), "Binary frame, payload (length 2): 0x00 0xff");
    }
}
