//! One connection of a subscriber, from the request that opens it to its end: bytes in, what they mean and bytes out. Knows
//! neither sockets nor clocks nor what its subscriptions are about.

use super::frames::{self, Flow, Frame, FrameReader, Opcode};
use super::messages::{self, Message};
use super::orders::read_token;
use super::requests::{Opening, TOKEN_HEADER};
use super::sse::EventReader;
use prony_client::http1::head::HeadMemo;
use prony_client::http1::scanner::Scanner;
use prony_client::http1::sink::Sink;
use prony_client::websocket::{new_key, opening, opening_fault};
use prony_model::program::Keep;
use prony_model::response::answer::header;
use prony_model::subscription::Protocol;
use std::mem;

/// RFC 6455, 7.4.1.
const NORMAL_CLOSURE: u16 = 1000;
/// Of a reason that the target gives, so much is kept.
const REASON_BYTES_MAX: usize = 120;

#[derive(Debug)]
pub(super) struct Link {
    protocol: Protocol,
    stage: Stage,
    is_acknowledged: bool,
    /// Of its stream, where that had to be reserved.
    token: Option<Box<str>>,
}

#[derive(Debug)]
enum Stage {
    Opening(Box<Answer>, String),
    /// With the head of the request for the stream.
    Reserving(Box<Answer>, Vec<u8>),
    Socket(FrameReader),
    Stream(Box<Answer>, EventReader),
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
    /// Was asked for a second time.
    is_repeated: bool,
}

/// An HTTP answer that is being read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) scanner: Scanner,
    pub(super) sink: Sink,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard<'a> {
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
    /// The text with which it begins goes to `out`.
    pub(super) fn open(protocol: Protocol, first: Opening, out: &mut Vec<u8>) -> Self {
        let mut answer = Box::new(Answer::new());
        let stage = if protocol.is_websocket() {
            let request = opening(&[&first.head, &b"\r\n"[..]].concat(), &new_key());
            let (text, accept) = request.expect("a head whose lines are ended");
            out.extend_from_slice(&text);
            answer.scanner.begin_upgrade();
            Stage::Opening(answer, accept)
        } else {
            out.extend_from_slice(&first.head);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(&first.body);
            match protocol {
                Protocol::SseSingle => Stage::Reserving(answer, first.stream_head),
                _ => Stage::Stream(answer, EventReader::default()),
            }
        };
        Self { protocol, stage, is_acknowledged: false, token: None }
    }

    /// A connection on which each operation is a stream of its own.
    pub(super) fn of_streams(count: u32) -> Self {
        let streams = (0..count).map(|_| OwnStream::default()).collect();
        let stage = Stage::Streams(streams);
        Self { protocol: Protocol::Sse, stage, is_acknowledged: false, token: None }
    }

    /// The head of an answer on one of several streams.
    pub(super) fn take_head(
        &mut self,
        number: u32,
        status: u16,
        kind: &str,
        heard: &mut impl FnMut(Heard<'_>),
    ) {
        let Stage::Streams(streams) = &mut self.stage else { return };
        let Some(stream) = streams.get_mut(number as usize) else { return };
        if let Err(reason) = check_stream(status, kind) {
            stream.is_over = true;
            return heard(Heard::Rejected(number, reason));
        }
        stream.is_begun = true;
        if !mem::replace(&mut self.is_acknowledged, true) {
            heard(Heard::Connected);
            heard(Heard::Acknowledged);
        }
        heard(Heard::Begun);
    }

    /// What came on one of several streams.
    pub(super) fn take_data(&mut self, number: u32, bytes: &[u8], heard: &mut impl FnMut(Heard<'_>)) {
        let Stage::Streams(streams) = &mut self.stage else { return };
        let Some(stream) = streams.get_mut(number as usize).filter(|stream| !stream.is_over) else { return };
        let mut is_complete = false;
        let fed = stream.events.feed(bytes, |name, data| match name {
            b"next" => heard(Heard::Result(number, data)),
            b"complete" => {
                is_complete = true;
                heard(Heard::Completed(number));
            }
            _ => {}
        });
        stream.is_over |= is_complete;
        if let Err(fault) = fed {
            stream.is_over = true;
            heard(Heard::Rejected(number, fault.to_string()));
        }
    }

    /// True where a stream that the target did not take may be asked for again: once.
    pub(super) fn may_repeat(&mut self, number: u32) -> bool {
        let Stage::Streams(streams) = &mut self.stage else { return false };
        let stream = streams.get_mut(number as usize);
        stream.is_some_and(|stream| !mem::replace(&mut stream.is_repeated, true))
    }

    /// One of several streams has ended; the others go on.
    pub(super) fn end_stream(&mut self, number: u32, reason: &str, heard: &mut impl FnMut(Heard<'_>)) {
        let Stage::Streams(streams) = &mut self.stage else { return };
        let Some(stream) = streams.get_mut(number as usize) else { return };
        if !mem::replace(&mut stream.is_over, true) {
            heard(Heard::Rejected(number, reason.to_owned()));
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

    /// Takes what was read; answers to it go to `out`.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        memo: &mut HeadMemo,
        out: &mut Vec<u8>,
        heard: &mut impl FnMut(Heard<'_>),
    ) {
        let mut rest = bytes;
        if let Stage::Opening(answer, accept) = &mut self.stage {
            match answer.opened(rest, accept, self.protocol, memo) {
                Ok(None) => return,
                Ok(Some(taken)) => rest = &rest[taken..],
                Err(reason) => return self.end(reason, heard),
            }
            self.stage = Stage::Socket(FrameReader::default());
            heard(Heard::Connected);
        }
        if let Stage::Reserving(answer, stream_head) = &mut self.stage {
            match answer.reserved(rest, memo) {
                Ok(None) => return,
                Ok(Some((token, length))) => {
                    out.append(stream_head);
                    out.extend_from_slice(format!("{TOKEN_HEADER}: {token}\r\n\r\n").as_bytes());
                    (self.token, rest) = (Some(token), &rest[length..]);
                }
                Err(reason) => return self.end(reason, heard),
            }
            self.stage = Stage::Stream(Box::new(Answer::new()), EventReader::default());
        }
        let ended = match &mut self.stage {
            Stage::Socket(frames) => {
                let mut talk =
                    Talk { protocol: self.protocol, is_acknowledged: &mut self.is_acknowledged, end: None };
                let fed = frames.feed(rest, |frame| talk.take(&frame, out, heard));
                talk.end.or_else(|| fed.err().map(|fault| fault.to_string()))
            }
            Stage::Stream(answer, events) => {
                match answer.streamed(rest, events, self.protocol, memo, &mut self.is_acknowledged, heard) {
                    Ok(false) => None,
                    Ok(true) => {
                        self.stage = Stage::Over;
                        None
                    }
                    Err(reason) => Some(reason),
                }
            }
            Stage::Opening(..) | Stage::Reserving(..) | Stage::Streams(_) | Stage::Over => None,
        };
        if let Some(reason) = ended {
            self.end(reason, heard);
        }
    }

    pub(super) fn end(&mut self, reason: String, heard: &mut impl FnMut(Heard<'_>)) {
        if !self.is_over() {
            self.stage = Stage::Over;
            heard(Heard::Ended(reason));
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
            Protocol::GraphqlTransportWs => write_text(messages::PING, out),
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

impl Answer {
    /// Ready for the answer to a request.
    pub(super) fn new() -> Self {
        let mut scanner = Scanner::default();
        scanner.begin(false);
        Self { scanner, sink: Sink::new(Keep::Whole, &mut Vec::new()) }
    }

    /// The token of a stream that was reserved, once its answer is whole, and how many bytes that took.
    fn reserved(&mut self, bytes: &[u8], memo: &mut HeadMemo) -> Result<Option<(Box<str>, usize)>, String> {
        let found = self.scanner.feed(bytes, &mut self.sink, memo).map_err(|fault| fault.to_string())?;
        let Some(answer) = found else { return Ok(None) };
        let token = read_token(answer.status, self.sink.answer(answer.status).body)?;
        if !answer.keeps_connection {
            return Err("the target closes the connection behind the reservation of a stream".to_owned());
        }
        Ok(Some((token, answer.consumed)))
    }

    /// How many bytes the answer to the opening took, once it is whole and agrees.
    fn opened(
        &mut self,
        bytes: &[u8],
        accept: &str,
        protocol: Protocol,
        memo: &mut HeadMemo,
    ) -> Result<Option<usize>, String> {
        let found = self.scanner.feed(bytes, &mut self.sink, memo).map_err(|fault| fault.to_string())?;
        let Some(answer) = found else { return Ok(None) };
        if answer.status != 101 {
            return Err(format!("status {}", answer.status));
        }
        let head = self.sink.answer(101).head;
        if let Some(fault) = opening_fault(head, accept) {
            return Err(fault.message);
        }
        let chosen = header(head, "sec-websocket-protocol").unwrap_or_default();
        if chosen != protocol.name().as_bytes() {
            let chosen = String::from_utf8_lossy(chosen);
            return Err(format!(
                "the target does not choose the sub-protocol {}, but `{chosen}`",
                protocol.name()
            ));
        }
        Ok(Some(answer.consumed))
    }

    /// Reads on in a stream of events; true where the target says that it is complete.
    fn streamed(
        &mut self,
        bytes: &[u8],
        events: &mut EventReader,
        protocol: Protocol,
        memo: &mut HeadMemo,
        is_acknowledged: &mut bool,
        heard: &mut impl FnMut(Heard<'_>),
    ) -> Result<bool, String> {
        let found = self.scanner.feed(bytes, &mut self.sink, memo).map_err(|fault| fault.to_string())?;
        if !*is_acknowledged {
            let answer = self.sink.answer(0);
            if answer.head.is_empty() {
                return Ok(false);
            }
            let status = answer.head.get(9..12).and_then(|status| str::from_utf8(status).ok()?.parse().ok());
            let kind = String::from_utf8_lossy(header(answer.head, "content-type").unwrap_or_default());
            check_stream(status.unwrap_or(0), &kind)?;
            *is_acknowledged = true;
            heard(Heard::Connected);
            heard(Heard::Acknowledged);
            heard(Heard::Read);
        }
        let is_shared = protocol == Protocol::SseSingle;
        let (mut is_complete, mut fault) = (false, None);
        let fed = events.feed(self.sink.answer(0).body, |name, data| {
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
                heard(Heard::Result(number, payload));
            } else {
                // The other operations of a shared stream go on.
                is_complete |= !is_shared;
                heard(Heard::Completed(number));
            }
        });
        self.sink.forget_body();
        fed.map_err(|fault| fault.to_string())?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        match found {
            Some(_) if !is_complete => Err("the stream ended".to_owned()),
            _ => Ok(is_complete),
        }
    }
}

fn check_stream(status: u16, kind: &str) -> Result<(), String> {
    if status != 200 {
        return Err(format!("status {status}"));
    }
    if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
        return Err(format!("the answer is no stream of events, but `{kind}`"));
    }
    Ok(())
}

/// The frames of one read.
struct Talk<'a> {
    protocol: Protocol,
    is_acknowledged: &'a mut bool,
    end: Option<String>,
}

impl Talk<'_> {
    fn take(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>, heard: &mut impl FnMut(Heard<'_>)) -> Flow {
        match frame {
            Frame::Text(text) => return self.take_message(text, out, heard),
            Frame::Binary(_) => return self.stop("the target sent a binary message".to_owned()),
            Frame::Ping(payload) => frames::write(Opcode::Pong, payload, mask(), out),
            Frame::Pong => heard(Heard::Read),
            Frame::Close(code, reason) => {
                let reason = String::from_utf8_lossy(cut(reason)).into_owned();
                let code = code.map_or("without a code".to_owned(), |code| code.to_string());
                return self.stop(format!("closed {code} {reason}").trim_end().to_owned());
            }
        }
        Flow::GoOn
    }

    fn take_message(&mut self, text: &[u8], out: &mut Vec<u8>, heard: &mut impl FnMut(Heard<'_>)) -> Flow {
        let Some(message) = Message::read(self.protocol, text) else {
            return self.stop(no_message(text));
        };
        match message {
            Message::Next(number, result) => heard(Heard::Result(number, result.as_bytes())),
            Message::Acknowledged if *self.is_acknowledged => {
                return self.stop("the target acknowledged the connection twice".to_owned());
            }
            Message::Acknowledged => {
                *self.is_acknowledged = true;
                heard(Heard::Acknowledged);
            }
            Message::Refused(payload) => {
                let payload = String::from_utf8_lossy(cut(payload.as_bytes()));
                return self.stop(format!("connection_error {payload}"));
            }
            Message::Ping => write_text(messages::PONG, out),
            Message::Pong => heard(Heard::Read),
            Message::KeepAlive => {}
            Message::Error(number, errors) => {
                heard(Heard::Rejected(number, String::from_utf8_lossy(cut(errors.as_bytes())).into_owned()));
            }
            Message::Complete(number) => heard(Heard::Completed(number)),
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

pub(super) fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(REASON_BYTES_MAX)]
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    frames::write(Opcode::Text, text, mask(), out);
}

/// Of no meaning to the measurement, so without a seed.
fn mask() -> [u8; 4] {
    let key = new_key();
    let mut mask = [0; 4];
    mask.copy_from_slice(&key.as_bytes()[..4]);
    mask
}
