//! Why a request has no answer, in k6's words and codes (1000 to 1701).

use prony_http_session::request::RequestError;
use prony_http_session::url::Url;
use prony_model::program::call::{CallFault, CallFaultKind, Peer};

/// An answer that came has the code 1000 more than its status, from 400 up.
pub(crate) const STATUS_ERRORS_FROM: u16 = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    /// `response.error_code`, and the tag `error_code`.
    pub code: u32,
    /// `response.error`, and the tag `error`.
    pub short: String,
    /// What an exception or a warning says; longer where k6's is.
    pub long: String,
}

pub(crate) const CODE_DEFAULT: u32 = 1000;
pub(crate) const CODE_INVALID_URL: u32 = 1020;
pub(crate) const CODE_DECOMPRESSION: u32 = 1701;
const CODE_STREAM: u32 = 1630;

impl From<RequestError> for RequestFault {
    fn from(error: RequestError) -> Self {
        Self::local(error.to_string())
    }
}

impl RequestFault {
    /// A request that was not even sent.
    pub(crate) fn local(message: impl Into<String>) -> Self {
        let short = message.into();
        Self { code: CODE_DEFAULT, long: short.clone(), short }
    }

    pub(crate) fn invalid_url(reason: &str) -> Self {
        Self { code: CODE_INVALID_URL, ..Self::local(format!("invalid URL: {reason}")) }
    }

    pub(crate) fn decompression(message: String) -> Self {
        Self { code: CODE_DECOMPRESSION, ..Self::local(message) }
    }

    /// A call that failed on its way.
    pub(crate) fn of_call(fault: &CallFault, peer: &Peer, url: &Url) -> Self {
        let address = peer.address.map_or_else(|| url.host.clone(), |address| address.to_string());
        let (code, short, long) = match fault.kind {
            CallFaultKind::Resolve | CallFaultKind::NoAddress => {
                (1101, "lookup: no such host", format!("lookup {}: no such host", url.host_name()))
            }
            CallFaultKind::BlockedName => (1111, "hostname is blocked", fault.message.clone()),
            CallFaultKind::BlockedAddress => (1110, "ip is blacklisted", fault.message.clone()),
            CallFaultKind::Refused => {
                (1212, "dial: connection refused", format!("dial tcp {address}: connect: connection refused"))
            }
            CallFaultKind::ConnectTimeout => {
                (1211, "dial: i/o timeout", format!("dial tcp {address}: i/o timeout"))
            }
            CallFaultKind::Connect => {
                let long = format!("dial tcp {address}: {}", fault.message);
                return Self { code: 1210, short: long.clone(), long };
            }
            CallFaultKind::TlsHostname => (
                1311,
                "x509: certificate doesn't match hostname",
                format!("tls: failed to verify certificate: x509: {}", fault.message),
            ),
            CallFaultKind::TlsAuthority => (
                1310,
                "x509: unknown authority",
                "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned(),
            ),
            CallFaultKind::Tls => {
                return Self { code: 1300, ..Self::local(format!("tls: {}", fault.message)) };
            }
            CallFaultKind::Write => (1201, "write: broken pipe", "write: broken pipe".to_owned()),
            CallFaultKind::Reset => {
                (1220, "read: connection reset by peer", "read: connection reset by peer".to_owned())
            }
            CallFaultKind::Read | CallFaultKind::Unprocessed => return Self::local("EOF"),
            CallFaultKind::StreamReset(reset) => return Self::of_reset(reset),
            CallFaultKind::Protocol => return Self::local(fault.message.clone()),
            CallFaultKind::Timeout => (1050, "request timeout", "request timeout".to_owned()),
        };
        Self { code, short: short.to_owned(), long }
    }

    /// A stream of HTTP/2 that the target has reset: the code is k6's for streams, and HTTP/2's is added to it.
    fn of_reset(reset: u32) -> Self {
        let name = reset_name(reset);
        let known = name.map_or(CODE_STREAM, |_| CODE_STREAM + 1 + reset);
        let name = name.map_or_else(|| format!("unknown error code 0x{reset:x}"), str::to_owned);
        Self {
            code: known,
            short: format!("http2: stream error with http2 ErrCode {name}"),
            long: format!("stream error: {name}; received from peer"),
        }
    }

    /// The long message with method and URL, as exceptions and warnings have it.
    pub(crate) fn described(&self, method: &str, url: &Url) -> String {
        format!("{} \"{}\": {}", operation(method), url.without_password(), self.long)
    }
}

/// How RFC 9113, 7 calls the code of a reset.
pub(crate) fn reset_name(code: u32) -> Option<&'static str> {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(code as usize).copied()
}

/// `GET` as `Get`.
fn operation(method: &str) -> String {
    let mut letters = method.chars();
    let first: String = letters.next().into_iter().collect();
    first + &letters.as_str().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn faults_have_k6s_codes_and_words() {
        use CallFaultKind as Kind;
        let kinds = [
            Kind::Resolve,
            Kind::NoAddress,
            Kind::Refused,
            Kind::ConnectTimeout,
            Kind::Connect,
            Kind::TlsHostname,
            Kind::TlsAuthority,
            Kind::Tls,
            Kind::Write,
            Kind::Reset,
            Kind::Read,
            Kind::Protocol,
            Kind::Timeout,
            Kind::StreamReset(2),
            Kind::StreamReset(99),
        ];
        let url = Url::parse("http://u:secret@h:81/x").unwrap();
        let shown: Vec<String> = kinds
            .into_iter()
            .map(|kind| {
                let fault = CallFault { kind, message: "why".to_owned() };
                let fault = RequestFault::of_call(&fault, &Peer::default(), &url);
                format!("{} {} | {}", fault.code, fault.short, fault.described("POST", &url))
            })
            .collect();
        expect![[r#"
            1101 lookup: no such host | Post "http://u:***@h:81/x": lookup h: no such host
            1101 lookup: no such host | Post "http://u:***@h:81/x": lookup h: no such host
            1212 dial: connection refused | Post "http://u:***@h:81/x": dial tcp h:81: connect: connection refused
            1211 dial: i/o timeout | Post "http://u:***@h:81/x": dial tcp h:81: i/o timeout
            1210 dial tcp h:81: why | Post "http://u:***@h:81/x": dial tcp h:81: why
            1311 x509: certificate doesn't match hostname | Post "http://u:***@h:81/x": tls: failed to verify certificate: x509: why
            1310 x509: unknown authority | Post "http://u:***@h:81/x": tls: failed to verify certificate: x509: certificate signed by unknown authority
            1300 tls: why | Post "http://u:***@h:81/x": tls: why
            1201 write: broken pipe | Post "http://u:***@h:81/x": write: broken pipe
            1220 read: connection reset by peer | Post "http://u:***@h:81/x": read: connection reset by peer
            1000 EOF | Post "http://u:***@h:81/x": EOF
            1000 why | Post "http://u:***@h:81/x": why
            1050 request timeout | Post "http://u:***@h:81/x": request timeout
            1633 http2: stream error with http2 ErrCode INTERNAL_ERROR | Post "http://u:***@h:81/x": stream error: INTERNAL_ERROR; received from peer
            1630 http2: stream error with http2 ErrCode unknown error code 0x63 | Post "http://u:***@h:81/x": stream error: unknown error code 0x63; received from peer"#]].assert_eq(&shown.join("\n"));
    }
}
