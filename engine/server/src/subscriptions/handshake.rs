//! The opening of a WebSocket (RFC 6455, section 4.2): what is checked before a connection leaves HTTP.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header, request::Parts};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::protocol::{Close, Dialect};
use crate::access::Peer;
use crate::config::Settings;
use crate::http::{JSON, Reply, comes_from_a_friend, empty, refusal};

/// On a response 101: what the connection becomes.
#[derive(Debug, Clone)]
pub(crate) struct Upgrade {
    /// An error is told over the open socket, because only there does a page learn the reason.
    pub(crate) dialect: Result<Dialect, Close>,
    /// Of the request, where functions want to know who asks.
    pub(crate) head: Option<Box<Parts>>,
    /// Of the client, where it is limited by its address.
    pub(crate) network: Option<IpAddr>,
    /// Of the client's end.
    pub(crate) address: Option<IpAddr>,
}

const WEBSOCKET_VERSION: HeaderValue = HeaderValue::from_static("13");
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const UPGRADE: HeaderValue = HeaderValue::from_static("upgrade");

/// Whether the client asks for a WebSocket.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE) && lists(headers, header::UPGRADE, "websocket")
}

/// Answers the opening: 101 with an [`Upgrade`] in its extensions, or what is wrong.
/// `wants_head` where who asks is found out once the socket is open; `network` where the client is limited by its address.
pub(crate) fn answer<B>(
    request: &Request<B>,
    settings: &Settings,
    wants_head: bool,
    network: Option<IpAddr>,
) -> Reply {
    let headers = request.headers();
    let bad = |message| refusal(StatusCode::BAD_REQUEST, JSON, message);
    if request.method() != Method::GET || request.version() != Version::HTTP_11 {
        return bad("a WebSocket is opened with GET over HTTP/1.1");
    }
    if !lists(headers, header::CONNECTION, "upgrade") {
        return bad("a WebSocket is opened with `connection: upgrade`");
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION) != Some(&WEBSOCKET_VERSION) {
        let mut response =
            refusal(StatusCode::UPGRADE_REQUIRED, JSON, "WebSockets of version 13 are spoken here");
        let answers = response.headers_mut();
        answers.insert(header::SEC_WEBSOCKET_VERSION, WEBSOCKET_VERSION);
        // RFC 9110, section 15.5.22.
        answers.insert(header::UPGRADE, WEBSOCKET);
        answers.insert(header::CONNECTION, UPGRADE);
        return response;
    }
    let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY).filter(|key| is_key(key.as_bytes())) else {
        return bad("sec-websocket-key must be 16 bytes in base64");
    };
    if !headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        return bad(
            "name the protocol: `sec-websocket-protocol: graphql-transport-ws` (or the older graphql-ws)",
        );
    }
    let dialect = Dialect::choose(items(headers, header::SEC_WEBSOCKET_PROTOCOL));
    // Browsers let any page open a socket to anywhere.
    let is_allowed = comes_from_a_friend(headers, &settings.cors_origins);
    let head = (wants_head || settings.functions.want_caller()).then(|| Box::new(head_of(request)));
    let address = request.extensions().get::<Peer>().map(|peer| peer.address);
    let name = dialect.map(Dialect::name);
    let dialect = match dialect {
        _ if !is_allowed => {
            Err(Close::forbidden("Forbidden: pages of this origin may not connect (cors_origins)"))
        }
        None => Err(Close::no_dialect()),
        Some(dialect) => Ok(dialect),
    };
    switch(key, name, Upgrade { dialect, head, network, address })
}

fn head_of<B>(request: &Request<B>) -> Parts {
    let (mut head, ()) = Request::new(()).into_parts();
    head.method.clone_from(request.method());
    head.uri.clone_from(request.uri());
    head.version = request.version();
    head.headers.clone_from(request.headers());
    head.extensions.clone_from(request.extensions());
    head
}

fn switch(key: &HeaderValue, dialect: Option<&'static str>, upgrade: Upgrade) -> Reply {
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    let answers = response.headers_mut();
    answers.insert(header::UPGRADE, WEBSOCKET);
    answers.insert(header::CONNECTION, UPGRADE);
    let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes())).expect("base64 is ASCII");
    answers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(dialect) = dialect {
        answers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(dialect));
    }
    response.extensions_mut().insert(upgrade);
    response
}

/// 16 bytes in base64 are 22 digits and two signs of filling.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == 24 && key.ends_with(b"==") && key[..22].iter().all(is_digit)
}

fn lists(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    items(headers, name).any(|item| item.eq_ignore_ascii_case(token))
}

fn items(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(change: impl FnOnce(&mut Request<()>)) -> Reply {
        let mut request = Request::new(());
        for (name, value) in [
            ("host", "api.example:8080"),
            ("upgrade", "WebSocket"),
            ("connection", "keep-alive, Upgrade"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", "soap, graphql-transport-ws"),
        ] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        change(&mut request);
        let settings =
            Settings { cors_origins: vec!["https://shop.example".to_owned()], ..Settings::default() };
        answer(&request, &settings, false, None)
    }

    fn set(name: &'static str, value: &'static str) -> impl FnOnce(&mut Request<()>) {
        move |request| {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }

    #[test]
    fn an_opening_as_it_should_be_is_answered_with_the_key() {
        let response = open(|_| {});
        assert_eq!(response.status(), 101);
        // The example of RFC 6455, section 1.3.
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(response.headers()["sec-websocket-protocol"], "graphql-transport-ws");
        assert_eq!(response.extensions().get::<Upgrade>().unwrap().dialect, Ok(Dialect::Transport));
    }

    #[test]
    fn openings_with_faults_stay_http() {
        let other_version = open(set("sec-websocket-version", "8"));
        assert_eq!(other_version.status(), 426);
        for (name, value) in
            [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-version", "13")]
        {
            assert_eq!(other_version.headers()[name], value);
        }
        for (name, value) in [
            ("connection", "keep-alive"),
            ("sec-websocket-key", "short"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=A"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZ!=="),
        ] {
            assert_eq!(open(set(name, value)).status(), 400, "{name}: {value}");
        }
        for absent in ["connection", "sec-websocket-key", "sec-websocket-protocol"] {
            let response = open(|request| {
                request.headers_mut().remove(absent);
            });
            assert_eq!(response.status(), 400, "without {absent}");
        }
        assert_eq!(open(|request| *request.method_mut() = Method::POST).status(), 400);
        assert_eq!(open(|request| *request.version_mut() = Version::HTTP_10).status(), 400);
    }

    #[test]
    fn what_a_page_can_learn_only_from_a_socket_is_said_there() {
        let code = |response: &Reply| {
            assert_eq!(response.status(), 101);
            response.extensions().get::<Upgrade>().unwrap().dialect.as_ref().err().map(|close| close.code)
        };
        assert_eq!(code(&open(set("sec-websocket-protocol", "soap"))), Some(4406));
        for (origin, expected) in [
            ("http://api.example:8080", None),
            ("https://API.example:8080", None),
            ("https://shop.example", None),
            ("http://api.example", Some(4403)),
            ("https://evil.example", Some(4403)),
            ("http://shop.example", Some(4403)),
            ("null", Some(4403)),
            ("", Some(4403)),
        ] {
            assert_eq!(code(&open(set("origin", origin))), expected, "{origin}");
        }
    }
}
