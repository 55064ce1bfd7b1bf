//! A subscription over a WebSocket: graphql-transport-ws, or the older subscriptions-transport-ws where the upstream speaks
//! nothing newer.

use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderName, HeaderValue, Request, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message as Frame, handshake::client::generate_key, protocol::WebSocketConfig},
};

use super::message::{Headers, Message};
use crate::{
    client::{SendErrorKind, Transport},
    upstream::{Endpoint, Upstream},
};

/// In the order of preference.
const PROTOCOLS: &str = "graphql-transport-ws, graphql-ws";
/// Of the older protocol, by the name that it has in handshakes.
const OLDER: &str = "graphql-ws";

pub(super) struct Socket {
    stream: WebSocketStream<Transport>,
}

#[derive(Deserialize)]
struct Incoming<'m> {
    #[serde(rename = "type")]
    kind: &'m str,
    #[serde(borrow)]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    payload: Option<&'m RawValue>,
}

impl Incoming<'_> {
    /// Whether it is of the only subscription, or says nothing of which.
    fn is_ours(&self) -> bool {
        self.id.is_none_or(|id| matches!(id.get(), "\"1\"" | "1"))
    }
}

impl Socket {
    /// Connects, introduces itself and subscribes.
    pub(super) async fn open(
        upstream: &Upstream,
        endpoint: &Endpoint,
        request: Vec<u8>,
        headers: &Headers,
    ) -> Result<Self, SendErrorKind> {
        let limit = upstream.settings.connect_timeout;
        let opened = tokio::time::timeout(limit, Self::connect(upstream, endpoint, request, headers)).await;
        opened.unwrap_or_else(|_| {
            Err(SendErrorKind::Timeout {
                what: "to open a subscription",
                limit_ms: limit.as_millis(),
                option: "connect_timeout_ms",
            })
        })
    }

    async fn connect(
        upstream: &Upstream,
        endpoint: &Endpoint,
        request: Vec<u8>,
        headers: &Headers,
    ) -> Result<Self, SendErrorKind> {
        let address = &endpoint.address;
        let transport = upstream.connector.open_stream(address).await.map_err(|error| error.kind)?;
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(upstream.settings.common.max_response_bytes);
        config.max_frame_size = config.max_message_size;
        let scheme = if address.is_secure { "wss" } else { "ws" };
        let mut head = Request::get(format!("{scheme}://{}{}", address.authority, address.target))
            .header(header::HOST, &address.authority)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, generate_key())
            .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOLS)
            .body(())
            .map_err(|error| SendErrorKind::Protocol(error.to_string()))?;
        let own = upstream.headers(endpoint);
        let own = own.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let forwarded = headers.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in own.chain(forwarded) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
                head.headers_mut().insert(name, value);
            }
        }
        let (mut stream, response) =
            client_async_with_config(head, transport, Some(config)).await.map_err(|error| failure(&error))?;
        let chosen = response.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
        let is_older = chosen.is_some_and(|chosen| chosen.as_bytes() == OLDER.as_bytes());
        send(&mut stream, r#"{"type":"connection_init"}"#.to_owned()).await?;
        let mut socket = Self { stream };
        socket.wait_for_acknowledgement().await?;
        let kind = if is_older { "start" } else { "subscribe" };
        let request = String::from_utf8_lossy(&request);
        let subscribe = format!("{{\"id\":\"1\",\"type\":\"{kind}\",\"payload\":{request}}}");
        send(&mut socket.stream, subscribe).await?;
        Ok(socket)
    }

    async fn wait_for_acknowledgement(&mut self) -> Result<(), SendErrorKind> {
        loop {
            let text = self.text().await?;
            match parse(&text)?.kind {
                "connection_ack" => return Ok(()),
                "ka" | "pong" => {}
                "ping" => send(&mut self.stream, r#"{"type":"pong"}"#.to_owned()).await?,
                other => {
                    return Err(SendErrorKind::Protocol(format!(
                        "it said `{other}` in place of connection_ack"
                    )));
                }
            }
        }
    }

    pub(super) async fn next(&mut self) -> Result<Message, SendErrorKind> {
        loop {
            let text = self.text().await?;
            let message = parse(&text)?;
            let payload = || message.payload.map_or("null", RawValue::get).as_bytes().to_vec();
            match message.kind {
                "next" | "data" | "error" | "complete" if !message.is_ours() => {}
                "next" | "data" => return Ok(Message::Next(payload())),
                "error" => {
                    // The older protocol has one error here, the newer one a list.
                    let payload = payload();
                    let is_list = payload.starts_with(b"[");
                    return Ok(Message::Errors(if is_list {
                        payload
                    } else {
                        [b"[", payload.as_slice(), b"]"].concat()
                    }));
                }
                "complete" => return Ok(Message::Complete),
                "ping" => send(&mut self.stream, r#"{"type":"pong"}"#.to_owned()).await?,
                _ => {}
            }
        }
    }

    async fn text(&mut self) -> Result<String, SendErrorKind> {
        loop {
            match self.stream.next().await {
                None => return Err(SendErrorKind::Closed),
                Some(Err(error)) => return Err(failure(&error)),
                Some(Ok(Frame::Text(text))) => return Ok(text.as_str().to_owned()),
                Some(Ok(Frame::Close(frame))) => {
                    let reason =
                        frame.map_or_else(String::new, |frame| format!("{} {}", frame.code, frame.reason));
                    return Err(SendErrorKind::Protocol(format!("it closed the WebSocket: {reason}")));
                }
                // Pings are answered by the library when it is asked for more.
                Some(Ok(_)) => {}
            }
        }
    }
}

fn parse(text: &str) -> Result<Incoming<'_>, SendErrorKind> {
    serde_json::from_str(text)
        .map_err(|error| SendErrorKind::Protocol(format!("a message is not JSON: {error}")))
}

async fn send(stream: &mut WebSocketStream<Transport>, text: String) -> Result<(), SendErrorKind> {
    stream.send(Frame::Text(text.into())).await.map_err(|error| failure(&error))
}

fn failure(error: &tungstenite::Error) -> SendErrorKind {
    match error {
        tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => SendErrorKind::Closed,
        tungstenite::Error::Http(response) => SendErrorKind::NoEvents { status: response.status().as_u16() },
        other => SendErrorKind::Protocol(other.to_string()),
    }
}
