//! The two sub-protocols of GraphQL over WebSocket as pure state machines: a client's text goes in, [`Action`]s come out.
//! Sockets, clocks and the execution of operations are the connection's.
//!
//! Where the protocols leave a case open, both behave as graphql-ws and subscriptions-transport-ws do on npm.

mod legacy;
mod message;
mod transport;

use std::{borrow::Cow, collections::HashSet, rc::Rc};

use http::StatusCode;
use prony_access::AuthRefusal;
use prony_graphql::request::{RequestFault, RequestParameters};
use serde_json::Value as Json;

use self::message::Message;
pub(super) use self::message::{error_list, quoted};
use super::wrap::Wrap;
use crate::access::LetGo;

/// Which of the two a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `graphql-transport-ws`, of the npm package graphql-ws.
    Transport,
    /// `graphql-ws`, of the npm package subscriptions-transport-ws.
    Legacy,
}

impl Dialect {
    pub(crate) const ALL: [Self; 2] = [Self::Transport, Self::Legacy];

    /// As it stands in `Sec-WebSocket-Protocol`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Transport => "graphql-transport-ws",
            Self::Legacy => "graphql-ws",
        }
    }

    /// The first of the client's that is spoken here.
    pub(crate) fn choose<'a>(mut offered: impl Iterator<Item = &'a str>) -> Option<Self> {
        offered.find_map(|offer| Self::ALL.into_iter().find(|known| known.name() == offer))
    }
}

/// Why a connection is closed: a code of the protocol or of RFC 6455, and a text for the client's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Close {
    pub(crate) code: u16,
    pub(crate) reason: Cow<'static, str>,
}

/// A close frame's body is at most 125 bytes, two of which are the code (RFC 6455, section 5.5).
const MAX_REASON_BYTES: usize = 123;

impl Close {
    pub(crate) fn new(code: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        let mut reason = reason.into();
        if reason.len() > MAX_REASON_BYTES {
            let mut text = reason.into_owned();
            let end = (0..=MAX_REASON_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.truncate(end);
            reason = text.into();
        }
        Self { code, reason }
    }

    fn invalid(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(4400, reason)
    }

    fn unauthorized() -> Self {
        Self::new(4401, "Unauthorized")
    }

    /// Who asks is not let in.
    pub(crate) fn refused(refusal: &AuthRefusal) -> Self {
        match refusal.status() {
            StatusCode::FORBIDDEN => Self::forbidden(format!("Forbidden: {}", refusal.message())),
            StatusCode::SERVICE_UNAVAILABLE => Self::new(1013, refusal.message()),
            _ => Self::new(4401, format!("Unauthorized: {}", refusal.message())),
        }
    }

    pub(crate) fn forbidden(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(4403, reason)
    }

    /// Who was let in may not go on.
    pub(crate) fn let_go(why: LetGo) -> Self {
        match why {
            LetGo::Refused => Self::forbidden("Forbidden: the credentials are not accepted any more"),
            LetGo::OtherRights => Self::new(1012, "who may do what has changed: connect again"),
        }
    }

    pub(crate) fn no_dialect() -> Self {
        Self::new(4406, "Subprotocol not acceptable: graphql-transport-ws and graphql-ws are")
    }

    fn init_timeout() -> Self {
        Self::new(4408, "Connection initialisation timeout")
    }

    fn doubled(id: &str) -> Self {
        Self::new(4409, format!("Subscriber for {id} already exists"))
    }

    fn too_many_inits() -> Self {
        Self::new(4429, "Too many initialisation requests")
    }

    pub(crate) fn internal() -> Self {
        Self::new(4500, "Internal server error: the server's log has more")
    }

    /// Clients connect again, and ask again what was not completed.
    pub(crate) fn restart() -> Self {
        Self::new(1012, "the server is stopping: connect again")
    }

    pub(crate) fn normal() -> Self {
        Self::new(1000, "")
    }
}

/// What the connection does next.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Find out who it is, of this payload of its `connection_init`; what follows holds only if that is not refused.
    Meet(Json),
    /// The client brings new credentials in this payload; what follows holds only if they are not refused.
    Renew(Json),
    Send(Cow<'static, str>),
    /// Run this; answer with [`Session::wrap`], [`Session::refused`] and [`Session::complete`].
    Start {
        id: Rc<str>,
        parameters: RequestParameters,
    },
    /// The client wants no more of it.
    Stop {
        id: Rc<str>,
    },
    /// After what was sent before.
    Close(Close),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing but `connection_init` may come.
    Opening,
    Ready,
    /// Whatever comes is of no interest.
    Closed,
}

/// The client is let in.
const ACKNOWLEDGED: &str = r#"{"type":"connection_ack"}"#;

/// One connection's state.
#[derive(Debug)]
pub(crate) struct Session {
    dialect: Dialect,
    phase: Phase,
    /// Operations that are neither completed nor stopped.
    open: HashSet<Rc<str>>,
    max_operations: usize,
    meets: bool,
}

impl Session {
    pub(crate) fn new(dialect: Dialect, max_operations: usize) -> Self {
        Self { dialect, phase: Phase::Opening, open: HashSet::new(), max_operations, meets: false }
    }

    /// The same, in which each client is met before it is let in.
    pub(crate) fn meeting(self, meets: bool) -> Self {
        Self { meets, ..self }
    }

    /// What lets a client in.
    fn let_in(&mut self, message: &Message<'_>) -> Result<Vec<Action>, Close> {
        let mut actions = Vec::with_capacity(3);
        if self.meets {
            actions.push(Action::Meet(payload(message)?));
        }
        self.phase = Phase::Ready;
        actions.push(Action::Send(ACKNOWLEDGED.into()));
        Ok(actions)
    }

    /// The credentials of a client that has been let in, where this message brings new ones.
    fn renewal(&self, message: &Message<'_>) -> Result<Option<Action>, Close> {
        if !self.meets || self.phase != Phase::Ready || message.payload.is_none() {
            return Ok(None);
        }
        let payload = payload(message)?;
        Ok(prony_access::brings_credential(&payload).then_some(Action::Renew(payload)))
    }

    /// A text of the client. The list ends with a [`Action::Close`] where it breaks the protocol.
    pub(crate) fn receive(&mut self, text: &str) -> Vec<Action> {
        if self.phase == Phase::Closed {
            return Vec::new();
        }
        match Message::parse(text) {
            Err(fault) => self.close(Close::invalid(fault)),
            Ok(message) => match self.dialect {
                Dialect::Transport => self.receive_transport(&message),
                Dialect::Legacy => self.receive_legacy(&message),
            },
        }
    }

    /// A frame of bytes: both protocols are text.
    pub(crate) fn receive_binary(&mut self) -> Vec<Action> {
        self.close(Close::invalid("Invalid message: the protocol is text, and this frame is binary"))
    }

    /// The time for the client's `connection_init` is over.
    pub(crate) fn init_time_over(&mut self) -> Vec<Action> {
        if self.phase == Phase::Opening { self.close(Close::init_timeout()) } else { Vec::new() }
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.phase == Phase::Opening
    }

    /// Ends the session, in the words that the protocol has for it.
    pub(crate) fn close(&mut self, close: Close) -> Vec<Action> {
        if self.phase == Phase::Closed {
            return Vec::new();
        }
        self.phase = Phase::Closed;
        self.open.clear();
        match self.dialect {
            Dialect::Legacy if close.code >= 4000 => legacy::connection_error(close),
            _ => vec![Action::Close(close)],
        }
    }

    /// What goes around each result of an operation.
    pub(crate) fn wrap(&self, id: &str) -> Wrap {
        let kind = match self.dialect {
            Dialect::Transport => "next",
            Dialect::Legacy => "data",
        };
        Wrap { before: message::head(id, kind).into_bytes().into(), after: b"}" }
    }

    /// The texts that end an operation which was refused, if it is open; `errors` is a JSON list.
    pub(crate) fn refused(&mut self, id: &str, errors: &str) -> Vec<String> {
        if !self.open.remove(id) {
            return Vec::new();
        }
        match self.dialect {
            Dialect::Transport => vec![format!("{}{errors}}}", message::head(id, "error"))],
            Dialect::Legacy => vec![
                format!("{}{{\"errors\":{errors}}}}}", message::head(id, "data")),
                message::of(id, "complete"),
            ],
        }
    }

    /// The text that ends an operation, if it is open.
    pub(crate) fn complete(&mut self, id: &str) -> Option<String> {
        self.open.remove(id).then(|| message::of(id, "complete"))
    }

    /// Keeps a client's connection in use; only the older protocol has a text for it.
    pub(crate) fn keep_alive(&self) -> Option<&'static str> {
        (self.dialect == Dialect::Legacy && self.phase == Phase::Ready).then_some(legacy::KEEP_ALIVE)
    }

    fn start(&mut self, id: &str, parameters: RequestParameters) -> Vec<Action> {
        if self.open.len() >= self.max_operations {
            let limit = self.max_operations;
            let errors = error_list(&format!(
                "this connection has {limit} operations (max_operations); complete one, or open another connection"
            ));
            let id: Rc<str> = id.into();
            self.open.insert(Rc::clone(&id));
            return self.refused(&id, &errors).into_iter().map(|text| Action::Send(text.into())).collect();
        }
        let id: Rc<str> = id.into();
        self.open.insert(Rc::clone(&id));
        vec![Action::Start { id, parameters }]
    }

    fn stop(&mut self, id: &str) -> Vec<Action> {
        // Unknown ones may have been completed by us a moment ago.
        self.open.take(id).map(|id| Action::Stop { id }).into_iter().collect()
    }
}

/// The payload of a message about its connection; null where there is none.
fn payload(message: &Message<'_>) -> Result<Json, Close> {
    let payload = message.payload.map(|payload| serde_json::from_str(payload.get())).transpose();
    let payload = payload.map_err(|fault| Close::invalid(format!("Invalid message: payload: {fault}")))?;
    Ok(payload.unwrap_or_default())
}

/// What a message that starts an operation carries.
fn parameters(message: &Message<'_>) -> Result<RequestParameters, RequestFault> {
    RequestParameters::from_json(message.payload.map_or("null", |payload| payload.get()).as_bytes())
}

#[cfg(test)]
mod tests;
