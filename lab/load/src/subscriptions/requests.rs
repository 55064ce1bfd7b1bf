//! The HTTP requests of subscribers, as text: what opens a WebSocket or a stream, and what goes beside a shared stream
//! (graphql-sse, PROTOCOL.md, single connection mode).

use super::values::SubscriberValues;
use crate::prepared::USER_AGENT;
use prony_model::Plan;
use prony_model::subscription::{Subscription, SubscriptionProtocol};

/// Carries the token of a reserved stream.
pub(super) const TOKEN_HEADER: &str = "X-GraphQL-Event-Stream-Token";

const EVENT_STREAM: (&str, &str) = ("Accept", "text/event-stream");
const JSON: (&str, &str) = ("Content-Type", "application/json");

/// The first request of a connection; that of a WebSocket is without the headers of the opening handshake.
pub(super) struct Opening {
    pub(super) text: Vec<u8>,
    /// What follows on the same connection once a stream is reserved: a head without the token and the last empty line.
    pub(super) stream_head: Vec<u8>,
}

/// Whoever of a group of subscribers speaks to the target.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) subscription: &'a Subscription,
    /// Those of a connection's first subscription.
    pub(super) values: &'a SubscriberValues<'a>,
}

impl Speaker<'_> {
    pub(super) fn opening(self) -> Opening {
        let (mut body, mut stream_head) = (Vec::new(), Vec::new());
        let protocol = self.subscription.draft.protocol;
        let head = match protocol {
            SubscriptionProtocol::GraphqlTransportWs | SubscriptionProtocol::GraphqlWs => {
                self.head("GET", "", &[("Sec-WebSocket-Protocol", protocol.name())])
            }
            SubscriptionProtocol::Sse => {
                body = self.values.render(&self.subscription.operation);
                self.head("POST", "", &[JSON, EVENT_STREAM, ("Content-Length", &body.len().to_string())])
            }
            SubscriptionProtocol::SseSingle => {
                stream_head = self.head("GET", "", &[EVENT_STREAM]);
                self.head("PUT", "", &[("Content-Length", "0")])
            }
        };
        Opening { text: [&head, &b"\r\n"[..], &body].concat(), stream_head }
    }

    /// Starts an operation on a stream.
    pub(super) fn start(self, token: &str, number: u32, operation: &[u8]) -> Vec<u8> {
        let operation = operation.strip_suffix(b"}").expect("an operation is an object");
        let id = format!(r#","extensions":{{"operationId":"{number}"}}}}"#);
        let body = [operation, id.as_bytes()].concat();
        let length = body.len().to_string();
        let head = self.head("POST", "", &[JSON, (TOKEN_HEADER, token), ("Content-Length", &length)]);
        [&head, &b"\r\n"[..], &body].concat()
    }

    /// Stops it.
    pub(super) fn stop(self, token: &str, number: u32) -> Vec<u8> {
        let query = format!("operationId={number}");
        let head = self.head("DELETE", &query, &[(TOKEN_HEADER, token)]);
        [&head, &b"\r\n"[..]].concat()
    }

    /// Without its last empty line. The plan's own headers replace `defaults`.
    fn head(self, method: &str, query: &str, defaults: &[(&str, &str)]) -> Vec<u8> {
        let Self { plan, subscription, values } = self;
        let target = &plan.targets()[subscription.target].target;
        let mut path = String::from_utf8_lossy(&values.render(&subscription.path)).into_owned();
        if !query.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(query);
        }
        let mut head = format!("{method} {}{path} HTTP/1.1\r\n", target.path_prefix).into_bytes();
        let (host, is_given) = (target.authority(), |name: &str| {
            subscription.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
        });
        let always = [("Host", host.as_str()), ("User-Agent", USER_AGENT)];
        for (name, value) in always.iter().chain(defaults).filter(|(name, _)| !is_given(name)) {
            head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        for (name, value) in &subscription.headers {
            head.extend_from_slice(format!("{name}: ").as_bytes());
            value.render(values, &mut head);
            head.extend_from_slice(b"\r\n");
        }
        head
    }
}
