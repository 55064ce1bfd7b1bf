//! A WebSocket sample under way: a connection that is opened or used again, what is written, and the frame that is waited for.
//!
//! Codes and messages are those of the plug-in, its spelling included, so that assertions and tables made for it hold.

use super::filter::discards;
use super::socket::{SocketFrame, UserSocket, frame_bytes, parse_hexadecimal};
use crate::plan::websocket::{
    Payload, PayloadKind, WantedFrame, WebSocketAction, WebSocketAddress, WebSocketSampler,
};
use crate::run::context::Context;
use crate::run::exchange::{TIMEOUT_MAX, target_of};
use crate::run::result::SampleResult;
use crate::run::web::Web;
use crate::text::Text;
use compact_str::{CompactString, ToCompactString as _, format_compact};
use prony_http_session::url::Url;
use prony_model::Nanos;
use prony_model::measurement::record::TransportError;
use prony_model::program::call::{
    Ask, CallBytes, CallFault, CallFaultKind, CallTimes, SocketClose, SocketEvent, SocketMessage,
    SocketOpening,
};
use prony_model::program::table::Tables;
use prony_model::program::{Answer, Outgoing};
use std::fmt::Write as _;

/// Milliseconds, as the plug-in bounds them.
const TIMEOUT_MS_MAX: i64 = 999_999;
/// The variable in which it says whether a message goes on.
const LAST_FRAME_FINAL: &str = "websocket.last_frame_final";
/// The property with which frames that filters discard count as received.
const COUNTS_DISCARDED: &str = "websocket.result.size_includes_filtered_frames";
const CLOSE_REASON: &str = "sampler requested close";
/// Frames that filters discarded which are written as parts of a sample.
const PARTS_MAX: usize = 1_000;
/// What the plug-in's client writes itself.
const OWN_HEADERS: [&str; 5] =
    ["Host", "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version"];
/// What the mask takes of a frame that is sent (RFC 6455, 5.2).
const MASK_BYTES: u64 = 4;

/// One sample of a WebSocket sampler.
#[derive(Debug)]
pub(crate) struct WebSocketSample {
    pub(crate) sampler: usize,
    pub(crate) result: SampleResult,
    /// Frames that filters discarded.
    pub(crate) parts: Vec<SampleResult>,
    pub(crate) transport: Option<TransportError>,
    read_timeout: Nanos,
    /// When the frame must have come that it waits for; none while the connection is being opened.
    deadline: Option<Nanos>,
    /// When it began to wait for the next frame.
    waits_since: Nanos,
}

/// What a sample needs beside itself.
pub(crate) struct SocketWire<'a, 'b> {
    pub(crate) tables: &'a Tables,
    pub(crate) out: &'b mut Outgoing,
    pub(crate) web: &'b mut Web,
    pub(crate) socket: &'b mut UserSocket,
    pub(crate) websocket: &'a WebSocketSampler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// For something to come, or until this moment.
    Waits(Option<Nanos>),
    Ended,
}

impl WebSocketSample {
    pub(crate) fn begin(
        sampler: usize,
        label: CompactString,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> (Self, Progress) {
        let now = context.shared.clock.now();
        let result = SampleResult { label, start: now, end: now, ..SampleResult::default() };
        let mut sample = Self {
            sampler,
            result,
            parts: Vec::new(),
            transport: None,
            read_timeout: Nanos::ZERO,
            deadline: None,
            waits_since: now,
        };
        let progress = match sample.start(wire, context) {
            Ok(progress) => progress,
            Err(message) => sample.fail("Sampler error", &format!("Sampler error: {message}"), context),
        };
        (sample, progress)
    }

    /// The message says what in the sampler is wrong.
    fn start(
        &mut self,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<Progress, String> {
        let websocket = wire.websocket;
        let mut place = None;
        if let Some(address) = &websocket.address {
            let port = port(&address.port.value(context))?;
            let text = address.connect_timeout_ms.value(context);
            place = Some((address, port, timeout("Connection timeout", &text, 1)?));
        }
        let text = websocket.read_timeout_ms.value(context);
        let read_timeout = timeout("Read timeout", &text, 0)?;
        self.read_timeout = if read_timeout == Nanos::ZERO { TIMEOUT_MAX } else { read_timeout };
        if let Some((address, port, connect_timeout)) = place {
            return self.connect(address, port, connect_timeout, wire, context);
        }
        if wire.socket.exists() {
            self.result.code = "200".into();
            self.result.message = "OK".into();
            return Ok(self.act(wire, context));
        }
        let (code, message) = match websocket.action {
            WebSocketAction::Close { .. } => ("", "No connection; nothing to close."),
            WebSocketAction::PingPong { .. } => {
                ("Sampler error", "Sampler must use existing connection, but there is no connection")
            }
            _ => (
                "Sampler error",
                "Sampler configured for using existing connection, but there is no connection",
            ),
        };
        Ok(self.fail(code, message, context))
    }

    // ---- open

    fn connect(
        &mut self,
        address: &WebSocketAddress,
        port: u16,
        connect_timeout: Nanos,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<Progress, String> {
        let (id, old) = wire.socket.renew();
        wire.out.asks.extend(old.map(Ask::DropCall));
        let (server, path) = (address.server.value(context), address.path.value(context));
        let (server, path) = (server.trim(), path.trim());
        let slash = if path.starts_with('/') { "" } else { "/" };
        let scheme = if address.is_tls { "https" } else { "http" };
        let text = format!("{scheme}://{server}:{port}{slash}{path}").replace(' ', "%20");
        let url = Url::parse(&text).map_err(|error| error.to_string())?;
        let target = target_of(wire.tables, &url).map_err(|fault| fault.message)?;
        let headers = Self::headers(&url, wire, context)?;
        let shown = text.replacen("http", "ws", 1);
        self.result.own_data = format!("Connect URL:\n{shown}\n").into_bytes();
        let begin = wire.out.text.len();
        let request =
            format!("GET {} HTTP/1.1\r\nHost: {server}:{port}\r\n{headers}\r\n", url.request_target());
        wire.out.text.extend_from_slice(request.as_bytes());
        self.result.own_headers = headers.replace("\r\n", "\n");
        wire.out.asks.push(Ask::OpenSocket(SocketOpening {
            id,
            target,
            text: begin..wire.out.text.len(),
            timeout: connect_timeout.plus(self.read_timeout),
            outlives_iteration: true,
        }));
        Ok(Progress::Waits(None))
    }

    fn headers(
        url: &Url,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<String, String> {
        let mut headers = String::new();
        for (name, value) in &wire.websocket.headers {
            let (name, value) = (name.value(context), value.value(context));
            if name.trim().is_empty() || OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                continue;
            }
            if name.contains(['\r', '\n']) || value.contains(['\r', '\n']) {
                return Err("Invalid header; contains new line.".to_owned());
            }
            let _ = write!(headers, "{name}: {value}\r\n");
        }
        let cookies = wire.web.cookies(wire.websocket.cookies, url, &context.shared.clock);
        if !cookies.is_empty() {
            let _ = write!(headers, "Cookie: {cookies}\r\n");
        }
        Ok(headers)
    }

    // ---- what has come

    /// Something has come over the connection that it opens or uses.
    pub(crate) fn heard(
        &mut self,
        event: SocketEvent<'_>,
        bytes: CallBytes,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Progress {
        match event {
            SocketEvent::Opened { answer, times, .. } => self.opened(answer, &times, bytes, wire, context),
            SocketEvent::Refused { answer, .. } => {
                wire.socket.forget();
                let line = answer.head.split(|byte| *byte == b'\r').next().unwrap_or_default();
                let line = String::from_utf8_lossy(line).into_owned();
                let message = format!("Got unexpected status {} with statusLine:{line}", answer.status);
                self.fail(&answer.status.to_string(), &message, context)
            }
            SocketEvent::Failed { fault, times } if self.deadline.is_none() => {
                wire.socket.forget();
                self.transport = Some(fault.kind.transport());
                if fault.kind == CallFaultKind::Protocol {
                    return self.fail("", &fault.message, context);
                }
                self.io_error(&opening_message(&fault, &times, wire.websocket, context), context)
            }
            event => {
                if wire.socket.take(event) {
                    wire.out.asks.push(Ask::DropCall(wire.socket.id()));
                }
                self.read(wire, context)
            }
        }
    }

    fn opened(
        &mut self,
        answer: Answer<'_>,
        times: &CallTimes,
        bytes: CallBytes,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Progress {
        wire.socket.set_open();
        self.result.connect = times.ended.since(times.asked);
        self.result.head = answer.head.to_vec();
        self.result.bytes = answer.head.len() as u64;
        self.result.head_bytes = self.result.bytes;
        self.result.sent_bytes = bytes.sent;
        self.result.code = "101".into();
        self.result.message = "Switching Protocols".into();
        self.act(wire, context)
    }

    /// The time is over until which it waited.
    pub(crate) fn woken(&mut self, wire: &mut SocketWire<'_, '_>, context: &mut Context<'_>) -> Progress {
        match self.deadline {
            Some(_) => self.read(wire, context),
            None => Progress::Waits(None),
        }
    }

    // ---- use

    /// The connection stands.
    fn act(&mut self, wire: &mut SocketWire<'_, '_>, context: &mut Context<'_>) -> Progress {
        let websocket = wire.websocket;
        match &websocket.action {
            WebSocketAction::Open => self.succeed(context),
            WebSocketAction::Write(_) if wire.socket.is_gone() => {
                self.transport = Some(TransportError::Write);
                self.io_error("Broken pipe", context)
            }
            WebSocketAction::Write(payload) => match self.send_payload(payload, wire, context) {
                Ok(()) => self.succeed(context),
                Err(message) => self.fail("Sampler Error", &message, context),
            },
            WebSocketAction::Request(payload) => match self.send_payload(payload, wire, context) {
                Ok(()) => self.begin_to_read(wire, context),
                Err(message) => self.fail("Sampler Error", &message, context),
            },
            WebSocketAction::Read { .. } => self.begin_to_read(wire, context),
            WebSocketAction::PingPong { is_pong_only: true } => {
                self.send(SocketMessage::Pong(Vec::new()), 0, wire);
                self.succeed(context)
            }
            WebSocketAction::PingPong { is_pong_only: false } => {
                self.send(SocketMessage::Ping(Vec::new()), 0, wire);
                self.begin_to_read(wire, context)
            }
            WebSocketAction::Close { status } => self.close(status, wire, context),
        }
    }

    fn close(&mut self, status: &Text, wire: &mut SocketWire<'_, '_>, context: &mut Context<'_>) -> Progress {
        let text = status.value(context);
        let Ok(code) = text.trim().parse::<u16>() else {
            let message = format!("Sampler error: the status `{text}` is no number up to 65535");
            return self.fail("Sampler error", &message, context);
        };
        let request = format!("Requested connection close with status {code} and reason '{CLOSE_REASON}'.");
        self.result.own_data = request.into_bytes();
        self.result.sent_bytes = frame_bytes(2 + CLOSE_REASON.len()) + MASK_BYTES;
        if let Some(id) = wire.socket.open_id() {
            let close = SocketClose { code, reason: CLOSE_REASON.to_owned() };
            wire.out.asks.push(Ask::CloseSocket(id, close));
        }
        self.begin_to_read(wire, context)
    }

    /// The message says why there is nothing to send.
    fn send_payload(
        &mut self,
        payload: &Payload,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Result<(), String> {
        let data = match &payload.file {
            None => payload.data.value(context).into_bytes(),
            Some(file) => {
                let name = file.value(context);
                let read = context.shared.files.bytes(&name);
                read.map_err(|_| format!("Request data cannot be loaded, file '{name}' not found"))?.to_vec()
            }
        };
        let text = String::from_utf8_lossy(&data);
        let message = match payload.kind {
            PayloadKind::Text => SocketMessage::Text(text.into_owned()),
            PayloadKind::Stomp => SocketMessage::Text(text.replace("^@", "\0")),
            // A file is sent as it is.
            PayloadKind::Binary if payload.file.is_some() => SocketMessage::Binary(data),
            PayloadKind::Binary => SocketMessage::Binary(
                parse_hexadecimal(&text).ok_or_else(|| format!("Request data is not binary: {text}"))?,
            ),
        };
        let length = match &message {
            SocketMessage::Text(text) => text.len(),
            SocketMessage::Binary(bytes) => bytes.len(),
            SocketMessage::Ping(_) | SocketMessage::Pong(_) => 0,
        };
        if let SocketMessage::Text(text) = &message {
            self.result.own_data.extend_from_slice(format!("\nRequest data:\n{text}\n").as_bytes());
        }
        self.send(message, length, wire);
        Ok(())
    }

    /// What a peer that has closed is sent is lost.
    fn send(&mut self, message: SocketMessage, length: usize, wire: &mut SocketWire<'_, '_>) {
        self.result.sent_bytes = frame_bytes(length) + MASK_BYTES;
        if let Some(id) = wire.socket.open_id() {
            wire.out.asks.push(Ask::SendSocket(id, message));
        }
    }

    // ---- read

    fn begin_to_read(&mut self, wire: &mut SocketWire<'_, '_>, context: &mut Context<'_>) -> Progress {
        self.waits_since = context.shared.clock.now();
        self.deadline = Some(self.waits_since.plus(self.read_timeout));
        self.read(wire, context)
    }

    fn read(&mut self, wire: &mut SocketWire<'_, '_>, context: &mut Context<'_>) -> Progress {
        let websocket = wire.websocket;
        while let Some(frame) = wire.socket.next_frame() {
            let filter = websocket.filters.iter().find(|filter| discards(filter, &frame, context));
            if filter.is_none() {
                return self.judge(frame, wire, context);
            }
            self.discard(&frame, context);
        }
        let is_closing = matches!(websocket.action, WebSocketAction::Close { .. });
        if let Some(message) = wire.socket.end() {
            let message = message.to_owned();
            if is_closing {
                wire.socket.forget();
            }
            self.transport = Some(TransportError::Read);
            return self.io_error(&message, context);
        }
        let now = context.shared.clock.now();
        match self.deadline.filter(|deadline| *deadline <= now) {
            None => Progress::Waits(self.deadline),
            Some(_) if is_closing => {
                wire.out.asks.push(Ask::DropCall(wire.socket.id()));
                wire.socket.forget();
                self.time_out(websocket, context)
            }
            Some(_) => self.time_out(websocket, context),
        }
    }

    fn time_out(&mut self, websocket: &WebSocketSampler, context: &Context<'_>) -> Progress {
        if matches!(websocket.action, WebSocketAction::Read { is_optional: true, .. }) {
            self.result.code = "No response".into();
            self.result.message = "Read timeout, no response received.".into();
            return self.succeed(context);
        }
        self.transport = Some(TransportError::Timeout);
        self.io_error("Read timed out", context)
    }

    /// A frame that a filter discards is a part of the sample.
    fn discard(&mut self, frame: &SocketFrame, context: &mut Context<'_>) {
        let now = context.shared.clock.now();
        if context.shared.properties.get(COUNTS_DISCARDED).is_some_and(|value| value.trim() == "true") {
            self.result.bytes += frame.bytes();
        }
        if self.parts.len() < PARTS_MAX {
            self.parts.push(SampleResult {
                label: format_compact!("{}-{}", self.result.label, self.parts.len()),
                message: format_compact!("Received {}", frame.shown()),
                is_success: true,
                start: self.waits_since,
                end: now,
                bytes: frame.bytes(),
                // The client has answered it.
                sent_bytes: if matches!(frame, SocketFrame::Ping(_)) {
                    frame.bytes() + MASK_BYTES
                } else {
                    0
                },
                ..SampleResult::default()
            });
        }
        self.waits_since = now;
    }

    /// A frame that no filter discards is what the sampler wants, or its failure.
    fn judge(
        &mut self,
        frame: SocketFrame,
        wire: &mut SocketWire<'_, '_>,
        context: &mut Context<'_>,
    ) -> Progress {
        let action = &wire.websocket.action;
        let is_closing = matches!(action, WebSocketAction::Close { .. });
        if is_closing || matches!(frame, SocketFrame::Close(..)) {
            wire.out.asks.extend(wire.socket.open_id().map(Ask::DropCall));
            wire.socket.forget();
        }
        let is_wanted = match (action, &frame) {
            (WebSocketAction::Request(Payload { kind: PayloadKind::Binary, .. }), SocketFrame::Binary(_))
            | (WebSocketAction::PingPong { .. }, SocketFrame::Pong(_))
            | (WebSocketAction::Close { .. }, SocketFrame::Close(..)) => true,
            (WebSocketAction::Request(payload), SocketFrame::Text(_)) => payload.kind != PayloadKind::Binary,
            (WebSocketAction::Read { wanted, .. }, SocketFrame::Text(_)) => *wanted != WantedFrame::Binary,
            (WebSocketAction::Read { wanted, .. }, SocketFrame::Binary(_)) => *wanted != WantedFrame::Text,
            _ => false,
        };
        let shown = frame.shown();
        if !is_wanted && is_closing {
            let message = format!("WebSocket error: received not a close frame, but {shown}");
            return self.fail("WebSocket error: unsuccesful close.", &message, context);
        }
        if !is_wanted {
            let code = format!("Sampler error: unexpected frame type ({}).", frame.kind());
            return self.fail(&code, &format!("Received: {shown}"), context);
        }
        self.result.bytes += frame.bytes();
        match frame {
            SocketFrame::Text(text) => self.take_data(text.into_bytes(), "text", context),
            SocketFrame::Binary(bytes) => self.take_data(bytes, "bin", context),
            SocketFrame::Close(code, reason) => self.take_close(code, &reason),
            SocketFrame::Ping(_) | SocketFrame::Pong(_) => {}
        }
        self.succeed(context)
    }

    fn take_data(&mut self, body: Vec<u8>, data_type: &'static str, context: &mut Context<'_>) {
        self.result.body = body;
        self.result.data_type = data_type;
        context.vars.set(LAST_FRAME_FINAL, "true");
    }

    fn take_close(&mut self, code: Option<u16>, reason: &str) {
        self.result.code = code.map(|code| code.to_compact_string()).unwrap_or_default();
        let (said, suffix) = if reason.is_empty() {
            (".".to_owned(), String::new())
        } else {
            (format!("; close reason: '{reason}'."), format!(": {reason}"))
        };
        self.result.message = format_compact!("Connection closed{said}");
        self.result.body = format!("{}{suffix}", self.result.code).into_bytes();
        self.result.data_type = "text";
    }

    // ---- end

    fn succeed(&mut self, context: &Context<'_>) -> Progress {
        self.result.is_success = true;
        self.result.end = context.shared.clock.now();
        Progress::Ended
    }

    fn fail(&mut self, code: &str, message: &str, context: &Context<'_>) -> Progress {
        self.result.code = code.into();
        self.result.message = message.into();
        self.result.end = context.shared.clock.now();
        Progress::Ended
    }

    fn io_error(&mut self, message: &str, context: &Context<'_>) -> Progress {
        self.fail("Websocket I/O error", &format!("WebSocket I/O error: {message}"), context)
    }
}

/// Why a connection was not opened, in the words of Java's sockets.
fn opening_message(
    fault: &CallFault,
    times: &CallTimes,
    websocket: &WebSocketSampler,
    context: &mut Context<'_>,
) -> String {
    match fault.kind {
        CallFaultKind::Resolve | CallFaultKind::NoAddress | CallFaultKind::BlockedName => {
            let server = websocket.address.as_ref().map(|address| address.server.value(context));
            server.unwrap_or_default()
        }
        CallFaultKind::Refused => "Connection refused".to_owned(),
        CallFaultKind::ConnectTimeout => "Connect timed out".to_owned(),
        CallFaultKind::Timeout if times.connected == Nanos::ZERO => "Connect timed out".to_owned(),
        CallFaultKind::Timeout => "Read timed out".to_owned(),
        CallFaultKind::Reset => "Connection reset".to_owned(),
        CallFaultKind::Read => "Empty response; connection closed.".to_owned(),
        _ => fault.message.clone(),
    }
}

fn port(text: &str) -> Result<u16, String> {
    let text = text.trim();
    match text.parse::<i32>() {
        Err(_) => Err(format!("Port number '{text}' is not a number.")),
        Ok(number) => match u16::try_from(number) {
            Ok(port) if port > 0 => Ok(port),
            _ => Err(format!("Port number '{text}' is not valid.")),
        },
    }
}

fn timeout(what: &str, text: &str, least_ms: i64) -> Result<Nanos, String> {
    let text = text.trim();
    let Ok(number) = text.parse::<i64>() else { return Err(format!("{what} '{text}' is not a number.")) };
    match u64::try_from(number) {
        Ok(ms) if (least_ms..=TIMEOUT_MS_MAX).contains(&number) => Ok(Nanos::from_millis(ms)),
        _ => Err(format!("{what} '{number}' is not valid; should between {least_ms} and {TIMEOUT_MS_MAX}")),
    }
}
