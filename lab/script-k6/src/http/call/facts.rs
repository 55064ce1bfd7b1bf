//! What is known of a response, before a script has looked at it.

use crate::http::call::page::Page;
use crate::http::call::state::GivenRequest;
use crate::http::fault::RequestFault;
use prony_http_session::headers::Headers;
use prony_metrics::Phases;
use prony_model::program::call::Peer;
use std::rc::Rc;

#[derive(Debug, Default)]
pub(crate) struct CallFacts {
    /// 0 where there is no answer.
    pub status: u16,
    pub head: Vec<u8>,
    /// Unpacked; `None` is `null`.
    pub body: Option<Vec<u8>>,
    pub is_binary: bool,
    pub peer: Peer,
    pub phases: Phases,
    pub url: String,
    pub error: String,
    pub error_code: u32,
    pub request: Option<RequestFacts>,
    /// The request was refused before it was made: k6 then shows an empty array as the body.
    pub is_refused: bool,
}

#[derive(Debug)]
pub(crate) enum RequestFacts {
    /// With what each request has for headers.
    Plain(Rc<Page>, Rc<Headers>),
    Given(Rc<GivenRequest>),
}

impl CallFacts {
    /// Of a request that was refused for what the script said.
    pub(crate) fn refused(fault: &RequestFault) -> Self {
        Self { error: fault.short.clone(), error_code: fault.code, is_refused: true, ..Self::default() }
    }

    /// `HTTP/1.1` and its like; empty where there is no answer.
    pub(crate) fn protocol(&self) -> &str {
        protocol(&self.head, &self.peer)
    }
}

/// The protocol of an answer with this head.
pub(crate) fn protocol<'a>(head: &'a [u8], peer: &Peer) -> &'a str {
    if head.is_empty() {
        return "";
    }
    if peer.is_http2 {
        return "HTTP/2.0";
    }
    std::str::from_utf8(head.get(..8).unwrap_or_default()).unwrap_or("HTTP/1.1")
}

/// k6's names of TLS versions, by IANA's numbers.
pub(crate) const fn tls_version(version: u16) -> &'static str {
    match version {
        0x0301 => "tls1.0",
        0x0302 => "tls1.1",
        0x0303 => "tls1.2",
        0x0304 => "tls1.3",
        _ => "",
    }
}

/// Names of cipher suites, by IANA's numbers (RFC 8446, B.4; RFC 5289; RFC 7905).
pub(crate) const fn cipher_suite(suite: u16) -> &'static str {
    match suite {
        0x1301 => "TLS_AES_128_GCM_SHA256",
        0x1302 => "TLS_AES_256_GCM_SHA384",
        0x1303 => "TLS_CHACHA20_POLY1305_SHA256",
        0xc02b => "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        0xc02c => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        0xc02f => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        0xc030 => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        0xcca8 => "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        0xcca9 => "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        _ => "",
    }
}
