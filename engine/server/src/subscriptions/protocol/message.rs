//! Messages of both protocols: `{"id": …, "type": …, "payload": …}`.

use std::borrow::Cow;

use prony_graphql::json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A message of a client; what its type needs is checked by the protocol.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) payload: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// The error is for the client.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        if !text.trim_ascii_start().starts_with('{') {
            return Err("Invalid message: it must be a JSON object".to_owned());
        }
        serde_json::from_str(text).map_err(|error| format!("Invalid message: {error}"))
    }

    /// The id of an operation, which is a text that is not empty.
    pub(super) fn operation(&self) -> Result<&str, String> {
        match self.id.as_deref() {
            Some(id) if !id.is_empty() => Ok(id),
            _ => Err(format!("Invalid message: {} needs an id, a text that is not empty", self.r#type)),
        }
    }

    /// Whether the payload is left out, or an object as connections and pings may carry.
    pub(super) fn check_payload(&self) -> Result<(), String> {
        match self.payload {
            Some(payload) if payload.get() != "null" && !payload.get().starts_with('{') => {
                Err(format!("Invalid message: the payload of {} must be an object", self.r#type))
            }
            _ => Ok(()),
        }
    }
}

/// A message with an id and nothing else.
pub(super) fn of(id: &str, kind: &str) -> String {
    format!("{{\"id\":{},\"type\":\"{kind}\"}}", quoted(id))
}

/// A message with an id up to its payload.
pub(super) fn head(id: &str, kind: &str) -> String {
    format!("{{\"id\":{},\"type\":\"{kind}\",\"payload\":", quoted(id))
}

/// A list of one GraphQL error, for limits of a connection.
pub(in crate::subscriptions) fn error_list(message: &str) -> String {
    format!("[{{\"message\":{},\"extensions\":{{\"code\":\"LIMIT_EXCEEDED\"}}}}]", quoted(message))
}

pub(in crate::subscriptions) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::write_string(&mut out, text);
    String::from_utf8(out).expect("escaping keeps a text UTF-8")
}
