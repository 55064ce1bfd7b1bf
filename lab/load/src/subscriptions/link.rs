//! One connection of a subscriber, from its opening to its end: what was read in, what it means and what is sent out. Knows
//! neither sockets nor clocks nor what its subscriptions are about.

use super::frames::{self, Flow, Frame, FrameReader, Opcode};
use super::messages::{self, Message};
use super::requests::TOKEN_HEADER;
use super::response::{check_stream, cut, read_token};
use super::sse::EventReader;
use prony_client::new_websocket_key;
use prony_model::program::Answer;
use prony_model::response::answer::header;
use prony_model::subscription::SubscriptionProtocol;
use std::borrow::Cow;
use std::mem;

/// RFC 6455, 7.4.1.
const NORMAL_CLOSURE: u16 = 1000;

#[derive(Debug)]
pub(super) struct Link {
    protocol: SubscriptionProtocol,
    stage: Stage,
    is_acknowledged: bool,
    /// Of its stream, where that had to be reserved.
    token: Option<Box<str>>,
}

#[derive(Debug)]
enum Stage {
    /// Its WebSocket is being opened.
    Opening,
    /// Its stream is being reserved; the head of the request for that.
    Reserving(Vec<u8>),
    Socket(FrameReader),
    /// One stream, of its only operation or of all.
    Stream(EventReader),
    /// Over HTTP/2, one for each operation.
    Streams(Vec<OwnStream>),
    Over,
}

/// One of several streams of a connection.
#[derive(Debug, Default)]
struct OwnStream {
    events: EventReader,
    is_begun: bool,
    is_over: bool,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkEvent<'a> {
    /// The target agrees to the WebSocket or the stream.
    Connected,
    /// Operations may be sent; over SSE the one that opened the stream is in force.
    Acknowledged,
    /// The answer to our ping, or the head of a stream: what was sent before it was read.
    Read,
    /// The head of one of several streams.
    Begun,
    Result(u32, &'a [u8]),
    Rejected(u32, String),
    Completed(u32),
    /// It is over, against our will.
    Ended(String),
}

impl Link {
    /// `stream_head`: of the request for a stream, where that is reserved.
    pub(super) fn new(protocol: SubscriptionProtocol, stream_head: Vec<u8>) -> Self {
        let stage = match protocol {
            SubscriptionProtocol::GraphqlTransportWs | SubscriptionProtocol::GraphqlWs => Stage::Opening,
            SubscriptionProtocol::SseSingle => Stage::Reserving(stream_head),
            SubscriptionProtocol::Sse => Stage::Stream(EventReader::default()),
        };
        Self { protocol, stage, is_acknowledged: false, token: None }
    }

    /// A connection on which each operation is a stream of its own.
    pub(super) fn of_streams(count: u32) -> Self {
        let stage = Stage::Streams((0..count).map(|_| OwnStream::default()).collect());
        Self { protocol: SubscriptionProtocol::Sse, stage, is_acknowledged: false, token: None }
    }

    // ---- WebSockets

    /// The target agrees to the WebSocket; `head` is of its response.
    pub(super) fn open(&mut self, head: &[u8], notify: &mut impl FnMut(LinkEvent<'_>)) {
        let chosen = header(head, "sec-websocket-protocol").unwrap_or_default();
        if chosen != self.protocol.name().as_bytes() {
            let (name, chosen) = (self.protocol.name(), String::from_utf8_lossy(chosen));
            let reason = format!("the target does not choose the sub-protocol {name}, but `{chosen}`");
            return self.end(reason, notify);
        }
        self.stage = Stage::Socket(FrameReader::default());
        notify(LinkEvent::Connected);
    }

    /// Takes frames that were read; answers to them go to `out`.
    fn take_frames(&mut self, bytes: &[u8], out: &mut Vec<u8>, notify: &mut impl FnMut(LinkEvent<'_>)) {
        let Stage::Socket(frames) = &mut self.stage else { return };
        let mut talk =
            Talk { protocol: self.protocol, is_acknowledged: &mut self.is_acknowledged, end: None };
        let fed = frames.feed(bytes, |frame| talk.take(&frame, out, notify));
        if let Some(reason) = talk.end.or_else(|| fed.err().map(|fault| fault.to_string())) {
            self.end(reason, notify);
        }
    }

    // ---- streams

    /// The target has answered the reservation of its stream: the text of the request for that.
    pub(super) fn reserve(&mut self, status: u16, body: &[u8]) -> Result<Vec<u8>, String> {
        let Stage::Reserving(head) = &mut self.stage else { return Ok(Vec::new()) };
        let token = read_token(status, body)?;
        let mut text = mem::take(head);
        text.extend_from_slice(format!("{TOKEN_HEADER}: {token}\r\n\r\n").as_bytes());
        self.token = Some(token);
        self.stage = Stage::Stream(EventReader::default());
        Ok(text)
    }

    /// Takes what was read over a WebSocket or on a stream; answers to it go to `out`.
    pub(super) fn take(
        &mut self,
        number: u32,
        response: &Answer<'_>,
        out: &mut Vec<u8>,
        notify: &mut impl FnMut(LinkEvent<'_>),
    ) {
        match &mut self.stage {
            Stage::Socket(_) => self.take_frames(response.body, out, notify),
            Stage::Stream(_) => {
                if let Err(reason) = self.take_stream(response, notify) {
                    self.end(reason, notify);
                }
            }
            Stage::Streams(_) => {
                if !response.head.is_empty() {
                    self.take_head(number, response, notify);
                }
                self.take_data(number, response.body, notify);
            }
            Stage::Opening | Stage::Reserving(_) | Stage::Over => {}
        }
    }

    /// What came on the only stream.
    fn take_stream(
        &mut self,
        response: &Answer<'_>,
        notify: &mut impl FnMut(LinkEvent<'_>),
    ) -> Result<(), String> {
        let Stage::Stream(events) = &mut self.stage else { return Ok(()) };
        if !self.is_acknowledged {
            check_stream(response.status, &content_type(response.head))?;
            self.is_acknowledged = true;
            notify(LinkEvent::Connected);
            notify(LinkEvent::Acknowledged);
            notify(LinkEvent::Read);
        }
        let is_shared = self.protocol == SubscriptionProtocol::SseSingle;
        let (mut is_complete, mut fault) = (false, None);
        let fed = events.feed(response.body, |name, data| {
            let is_next = name == b"next";
            if fault.is_some() || !is_next && name != b"complete" {
                return;
            }
            let (number, payload) = match is_shared.then(|| messages::addressed(data)) {
                None => (0, data),
                Some(Some(addressed)) => addressed,
                Some(None) => {
                    fault = Some(no_message(data));
                    return;
                }
            };
            if is_next {
                notify(LinkEvent::Result(number, payload));
            } else {
                // The other operations of a shared stream go on.
                is_complete |= !is_shared;
                notify(LinkEvent::Completed(number));
            }
        });
        fed.map_err(|fault| fault.to_string())?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        if is_complete {
            self.stage = Stage::Over;
        }
        Ok(())
    }

    /// The head of a response on one of several streams.
    fn take_head(&mut self, number: u32, response: &Answer<'_>, notify: &mut impl FnMut(LinkEvent<'_>)) {
        let Stage::Streams(streams) = &mut self.stage else { return };
        let Some(stream) = streams.get_mut(number as usize) else { return };
        if let Err(reason) = check_stream(response.status, &content_type(response.head)) {
            stream.is_over = true;
            return notify(LinkEvent::Rejected(number, reason));
        }
        stream.is_begun = true;
        if !mem::replace(&mut self.is_acknowledged, true) {
            notify(LinkEvent::Connected);
            notify(LinkEvent::Acknowledged);
        }
        notify(LinkEvent::Begun);
    }

    /// What came on one of several streams.
    fn take_data(&mut self, number: u32, bytes: &[u8], notify: &mut impl FnMut(LinkEvent<'_>)) {
        let Stage::Streams(streams) = &mut self.stage else { return };
        let Some(stream) = streams.get_mut(number as usize).filter(|stream| !stream.is_over) else { return };
        let mut is_complete = false;
        let fed = stream.events.feed(bytes, |name, data| match name {
            b"next" => notify(LinkEvent::Result(number, data)),
            b"complete" => {
                is_complete = true;
                notify(LinkEvent::Completed(number));
            }
            _ => {}
        });
        stream.is_over |= is_complete;
        if let Err(fault) = fed {
            stream.is_over = true;
            notify(LinkEvent::Rejected(number, fault.to_string()));
        }
    }

    /// A stream has ended: its connection with it, unless it is one of several.
    pub(super) fn end_stream(&mut self, number: u32, reason: &str, notify: &mut impl FnMut(LinkEvent<'_>)) {
        let Stage::Streams(streams) = &mut self.stage else { return self.end(reason.to_owned(), notify) };
        let Some(stream) = streams.get_mut(number as usize) else { return };
        if !mem::replace(&mut stream.is_over, true) {
            notify(LinkEvent::Rejected(number, reason.to_owned()));
        }
    }

    /// True where none of several streams waits for its answer.
    pub(super) fn is_answered(&self) -> bool {
        match &self.stage {
            Stage::Streams(streams) => streams.iter().all(|stream| stream.is_begun || stream.is_over),
            _ => false,
        }
    }

    /// Its end, where several streams have all come to theirs.
    pub(super) fn close_streams(&mut self) {
        if matches!(&self.stage, Stage::Streams(streams) if streams.iter().all(|stream| stream.is_over)) {
            self.stage = Stage::Over;
        }
    }

    /// Of the stream that was reserved.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    pub(super) fn end(&mut self, reason: String, notify: &mut impl FnMut(LinkEvent<'_>)) {
        if !self.is_over() {
            self.stage = Stage::Over;
            notify(LinkEvent::Ended(reason));
        }
    }

    // ---- what is sent

    pub(super) fn greet(payload: Option<&[u8]>, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        messages::init(payload, &mut text);
        write_text(&text, out);
    }

    pub(super) fn subscribe(&self, number: u32, operation: &[u8], out: &mut Vec<u8>) {
        let mut text = Vec::new();
        messages::subscribe(self.protocol, number, operation, &mut text);
        write_text(&text, out);
    }

    /// Asks for a sign that all before was read: in the sub-protocol where it has one, else of the WebSocket itself.
    pub(super) fn ping(&self, out: &mut Vec<u8>) {
        match self.protocol {
            SubscriptionProtocol::GraphqlTransportWs => write_text(messages::PING, out),
            _ => frames::write(Opcode::Ping, b"", mask(), out),
        }
    }

    /// Says farewell; answers are of no interest.
    pub(super) fn leave(&mut self, subscriptions: u32, out: &mut Vec<u8>) {
        if let Stage::Socket(_) = self.stage {
            let mut text = Vec::new();
            for number in 0..subscriptions {
                text.clear();
                messages::complete(self.protocol, number, &mut text);
                write_text(&text, out);
            }
            frames::write(Opcode::Close, &NORMAL_CLOSURE.to_be_bytes(), mask(), out);
        }
        self.stage = Stage::Over;
    }
}

fn content_type(head: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(header(head, "content-type").unwrap_or_default())
}

/// The frames of one read.
struct Talk<'a> {
    protocol: SubscriptionProtocol,
    is_acknowledged: &'a mut bool,
    end: Option<String>,
}

impl Talk<'_> {
    fn take(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>, notify: &mut impl FnMut(LinkEvent<'_>)) -> Flow {
        match frame {
            Frame::Text(text) => return self.take_message(text, out, notify),
            Frame::Binary(_) => return self.stop("the target sent a binary message".to_owned()),
            Frame::Ping(payload) => frames::write(Opcode::Pong, payload, mask(), out),
            Frame::Pong => notify(LinkEvent::Read),
            Frame::Close(code, reason) => {
                let reason = String::from_utf8_lossy(cut(reason)).into_owned();
                let code = code.map_or("without a code".to_owned(), |code| code.to_string());
                return self.stop(format!("closed {code} {reason}").trim_end().to_owned());
            }
        }
        Flow::GoOn
    }

    fn take_message(
        &mut self,
        text: &[u8],
        out: &mut Vec<u8>,
        notify: &mut impl FnMut(LinkEvent<'_>),
    ) -> Flow {
        let Some(message) = Message::read(self.protocol, text) else {
            return self.stop(no_message(text));
        };
        match message {
            Message::Next(number, result) => notify(LinkEvent::Result(number, result.as_bytes())),
            Message::Acknowledged if *self.is_acknowledged => {
                return self.stop("the target acknowledged the connection twice".to_owned());
            }
            Message::Acknowledged => {
                *self.is_acknowledged = true;
                notify(LinkEvent::Acknowledged);
            }
            Message::Refused(payload) => {
                let payload = String::from_utf8_lossy(cut(payload.as_bytes()));
                return self.stop(format!("connection_error {payload}"));
            }
            Message::Ping => write_text(messages::PONG, out),
            Message::Pong => notify(LinkEvent::Read),
            Message::KeepAlive => {}
            Message::Error(number, errors) => {
                notify(LinkEvent::Rejected(
                    number,
                    String::from_utf8_lossy(cut(errors.as_bytes())).into_owned(),
                ));
            }
            Message::Complete(number) => notify(LinkEvent::Completed(number)),
        }
        Flow::GoOn
    }

    fn stop(&mut self, reason: String) -> Flow {
        self.end = Some(reason);
        Flow::Stop
    }
}

fn no_message(text: &[u8]) -> String {
    format!("`{}` is no message of the protocol", String::from_utf8_lossy(cut(text)))
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    frames::write(Opcode::Text, text, mask(), out);
}

/// Of no meaning to the measurement, so without a seed.
fn mask() -> [u8; 4] {
    let key = new_websocket_key();
    let mut mask = [0; 4];
    mask.copy_from_slice(&key.as_bytes()[..4]);
    mask
}
