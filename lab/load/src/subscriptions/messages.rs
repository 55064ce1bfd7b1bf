//! The messages of both WebSocket sub-protocols, read and written: graphql-transport-ws (the npm package graphql-ws,
//! PROTOCOL.md) and graphql-ws (subscriptions-transport-ws, PROTOCOL.md), and what an event of a shared stream says
//! (graphql-sse, PROTOCOL.md, single connection mode). Knows neither sockets nor clocks.

use prony_model::subscription::SubscriptionProtocol;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::Write as _;

/// What the target says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Acknowledged,
    /// `connection_error` of the older protocol.
    Refused(&'a str),
    Ping,
    Pong,
    /// `ka` of the older protocol.
    KeepAlive,
    /// A result, of the operation with this number.
    Next(u32, &'a str),
    Error(u32, &'a str),
    Complete(u32),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Nothing where it is no message of the protocol.
    pub(crate) fn read(protocol: SubscriptionProtocol, text: &'a [u8]) -> Option<Self> {
        let Envelope { id, kind, payload } = serde_json::from_slice(text).ok()?;
        let number = || id?.get().trim_matches('"').parse().ok();
        let payload = payload.map_or("null", RawValue::get);
        let is_new = protocol == SubscriptionProtocol::GraphqlTransportWs;
        Some(match kind.get() {
            "\"next\"" if is_new => Self::Next(number()?, payload),
            "\"data\"" if !is_new => Self::Next(number()?, payload),
            "\"connection_ack\"" => Self::Acknowledged,
            "\"ping\"" if is_new => Self::Ping,
            "\"pong\"" if is_new => Self::Pong,
            "\"ka\"" if !is_new => Self::KeepAlive,
            "\"connection_error\"" if !is_new => Self::Refused(payload),
            "\"error\"" => Self::Error(number()?, payload),
            "\"complete\"" => Self::Complete(number()?),
            _ => return None,
        })
    }
}

/// The operation that an event of a shared stream is of, and its payload; nothing where it is no event of the protocol.
pub(crate) fn addressed(data: &[u8]) -> Option<(u32, &[u8])> {
    #[derive(Deserialize)]
    struct Addressed<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        payload: Option<&'a RawValue>,
    }
    let Addressed { id, payload } = serde_json::from_slice(data).ok()?;
    // All of ours are numbers: what is none is of nobody.
    let number = id.parse().unwrap_or(u32::MAX);
    Some((number, payload.map_or("null", RawValue::get).as_bytes()))
}

/// `payload` is JSON.
pub(crate) fn init(payload: Option<&[u8]>, out: &mut Vec<u8>) {
    match payload {
        None => out.extend_from_slice(br#"{"type":"connection_init"}"#),
        Some(payload) => {
            out.extend_from_slice(br#"{"type":"connection_init","payload":"#);
            out.extend_from_slice(payload);
            out.push(b'}');
        }
    }
}

pub(crate) fn subscribe(protocol: SubscriptionProtocol, number: u32, operation: &[u8], out: &mut Vec<u8>) {
    let kind = if protocol == SubscriptionProtocol::GraphqlWs { "start" } else { "subscribe" };
    write!(out, r#"{{"id":"{number}","type":"{kind}","payload":"#)
        .expect("writing into memory does not fail");
    out.extend_from_slice(operation);
    out.push(b'}');
}

pub(crate) fn complete(protocol: SubscriptionProtocol, number: u32, out: &mut Vec<u8>) {
    let kind = if protocol == SubscriptionProtocol::GraphqlWs { "stop" } else { "complete" };
    write!(out, r#"{{"id":"{number}","type":"{kind}"}}"#).expect("writing into memory does not fail");
}

pub(crate) const PING: &[u8] = br#"{"type":"ping"}"#;
pub(crate) const PONG: &[u8] = br#"{"type":"pong"}"#;

/// True where a result has errors at its top.
pub(crate) fn has_errors(result: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Top<'a> {
        #[serde(borrow)]
        errors: Option<&'a RawValue>,
    }
    // Most have no such word anywhere.
    memchr::memmem::find(result, b"\"errors\"").is_some()
        && serde_json::from_slice::<Top<'_>>(result).is_ok_and(|top| top.errors.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_whatever_the_order_of_their_members() {
        let new =
            |text: &'static str| Message::read(SubscriptionProtocol::GraphqlTransportWs, text.as_bytes());
        let old = |text: &'static str| Message::read(SubscriptionProtocol::GraphqlWs, text.as_bytes());
        assert_eq!(new(r#"{"type":"connection_ack"}"#), Some(Message::Acknowledged));
        assert_eq!(
            new(r#"{"id":"7","type":"next","payload":{"data":1}}"#),
            Some(Message::Next(7, r#"{"data":1}"#))
        );
        assert_eq!(new(r#" { "payload" : 1 , "type" : "next" , "id" : "0" } "#), Some(Message::Next(0, "1")));
        assert_eq!(old(r#"{"type":"data","id":"7","payload":{}}"#), Some(Message::Next(7, "{}")));
        assert_eq!(old(r#"{"type":"ka"}"#), Some(Message::KeepAlive));
        assert_eq!(new(r#"{"type":"ping","payload":{}}"#), Some(Message::Ping));
        assert_eq!(new(r#"{"type":"complete","id":"1"}"#), Some(Message::Complete(1)));
        assert_eq!(new(r#"{"type":"error","id":"1","payload":[]}"#), Some(Message::Error(1, "[]")));
        assert_eq!(old(r#"{"type":"connection_error"}"#), Some(Message::Refused("null")));
        for text in
            [r#"{"type":"data","id":"7"}"#, "", "[]", r#"{"type":"next"}"#, r#"{"type":"next","id":"x"}"#]
        {
            assert_eq!(new(text), None, "{text}");
        }
    }

    #[test]
    fn events_of_shared_streams_say_whose_they_are() {
        let read = |text: &'static str| {
            addressed(text.as_bytes()).map(|(number, payload)| (number, str::from_utf8(payload).unwrap()))
        };
        assert_eq!(read(r#"{"id":"7","payload":{"data":1}}"#), Some((7, r#"{"data":1}"#)));
        assert_eq!(read(r#" { "payload" : 1 , "id" : "0" } "#), Some((0, "1")));
        assert_eq!(read(r#"{"id":"1"}"#), Some((1, "null")));
        assert_eq!(read(r#"{"id":"another's","payload":2}"#), Some((u32::MAX, "2")));
        for text in ["", "{}", r#"{"payload":1}"#, r#"{"id":7}"#, r#"{"data":{}}"#] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_errors_at_the_top_are_errors() {
        assert!(has_errors(br#"{"data":null,"errors":[{}]}"#));
        assert!(!has_errors(br#"{"data":{"errors":[1]}}"#));
        assert!(!has_errors(br#"{"data":{}}"#));
    }

    #[test]
    fn messages_are_written_as_each_protocol_names_them() {
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&|out| init(None, out)), r#"{"type":"connection_init"}"#);
        assert_eq!(
            written(&|out| init(Some(b"{\"a\":1}"), out)),
            r#"{"type":"connection_init","payload":{"a":1}}"#
        );
        assert_eq!(
            written(&|out| subscribe(SubscriptionProtocol::GraphqlTransportWs, 3, b"{}", out)),
            r#"{"id":"3","type":"subscribe","payload":{}}"#
        );
        assert_eq!(
            written(&|out| subscribe(SubscriptionProtocol::GraphqlWs, 3, b"{}", out)),
            r#"{"id":"3","type":"start","payload":{}}"#
        );
        assert_eq!(
            written(&|out| complete(SubscriptionProtocol::GraphqlWs, 3, out)),
            r#"{"id":"3","type":"stop"}"#
        );
    }
}
