//! How a call ended: the codes of gRPC, found in trailers, in statuses of HTTP, or in how its stream was lost.

use crate::http::fault::reset_name;
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use prony_model::program::call::CallFaultKind;

/// As grpc.io numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub(super) u32);

impl Code {
    pub(super) const OK: Self = Self(0);
    pub(super) const CANCELED: Self = Self(1);
    pub(super) const UNKNOWN: Self = Self(2);
    pub(super) const DEADLINE_EXCEEDED: Self = Self(4);
    pub(super) const PERMISSION_DENIED: Self = Self(7);
    pub(super) const RESOURCE_EXHAUSTED: Self = Self(8);
    pub(super) const UNIMPLEMENTED: Self = Self(12);
    pub(super) const INTERNAL: Self = Self(13);
    pub(super) const UNAVAILABLE: Self = Self(14);
    pub(super) const UNAUTHENTICATED: Self = Self(16);

    /// As grpc-go writes it in errors.
    pub(super) fn name(self) -> String {
        const NAMES: [&str; 17] = [
            "OK",
            "Canceled",
            "Unknown",
            "InvalidArgument",
            "DeadlineExceeded",
            "NotFound",
            "AlreadyExists",
            "PermissionDenied",
            "ResourceExhausted",
            "FailedPrecondition",
            "Aborted",
            "OutOfRange",
            "Unimplemented",
            "Internal",
            "Unavailable",
            "DataLoss",
            "Unauthenticated",
        ];
        NAMES.get(self.0 as usize).map_or_else(|| format!("Code({})", self.0), |name| (*name).to_owned())
    }

    /// Of a response without a status of gRPC.
    fn of_http(status: u16) -> Self {
        match status {
            400 => Self::INTERNAL,
            401 => Self::UNAUTHENTICATED,
            403 => Self::PERMISSION_DENIED,
            404 => Self::UNIMPLEMENTED,
            429 | 502..=504 => Self::UNAVAILABLE,
            _ => Self::UNKNOWN,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) code: Code,
    pub(super) message: String,
    /// A message `google.rpc.Status`; empty where there is none.
    pub(super) details: Vec<u8>,
}

/// Padding may be there or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Fields with their names in lower case; those of binary ones are decoded.
pub(super) type Fields = Vec<(String, Vec<u8>)>;

impl Status {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Vec::new() }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.code == Code::OK
    }

    /// As grpc-go prints the error.
    pub(super) fn described(&self) -> String {
        format!("rpc error: code = {} desc = {}", self.code.name(), self.message)
    }

    /// What trailers say, where they say it.
    pub(super) fn of_trailers(trailers: &Fields) -> Option<Self> {
        let code = std::str::from_utf8(field(trailers, "grpc-status")?).ok()?.trim();
        let Ok(code) = code.parse() else {
            let message = format!(
                "transport: malformed grpc-status: strconv.ParseInt: parsing {code:?}: invalid syntax"
            );
            return Some(Self::new(Code::UNKNOWN, message));
        };
        let message = field(trailers, "grpc-message").map(percent_decoded).unwrap_or_default();
        let details = field(trailers, "grpc-status-details-bin").unwrap_or_default().to_vec();
        Some(Self { code: Code(code), message, details })
    }

    /// Of a whole response without a status of gRPC.
    pub(super) fn of_response(status: u16, head: &Fields) -> Self {
        let content_type = field(head, "content-type").map(String::from_utf8_lossy);
        let is_grpc = content_type.as_deref().is_some_and(is_grpc);
        if status == 200 && is_grpc {
            let message = "server closed the stream without sending trailers";
            return Self::new(Code::INTERNAL, message);
        }
        let mut parts = Vec::new();
        if status != 200 {
            let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
            let reason = reason.unwrap_or_default();
            parts.push(format!("unexpected HTTP status code received from server: {status} ({reason})"));
        }
        match content_type {
            None => parts.push("malformed header: missing HTTP content-type".to_owned()),
            Some(content_type) if !is_grpc => {
                parts.push(format!("transport: received unexpected content-type {content_type:?}"));
            }
            Some(_) => {}
        }
        Self::new(Code::of_http(status), parts.join("; "))
    }

    /// Of a call whose stream was lost, or was never begun. `dial`: how its connection failed, in k6's words.
    pub(super) fn of_fault(kind: CallFaultKind, message: &str, dial: &str) -> Self {
        use CallFaultKind as Kind;
        match kind {
            Kind::Timeout => Self::new(Code::DEADLINE_EXCEEDED, "context deadline exceeded"),
            Kind::StreamReset(code) => Self::of_reset(code),
            Kind::Unprocessed => Self::new(Code::UNAVAILABLE, "the connection is draining"),
            Kind::Protocol => Self::new(Code::INTERNAL, message),
            Kind::Read => Self::new(Code::UNAVAILABLE, "error reading from server: EOF"),
            Kind::Reset | Kind::Write => {
                Self::new(Code::UNAVAILABLE, format!("error reading from server: {dial}"))
            }
            _ => {
                Self::new(Code::UNAVAILABLE, format!("connection error: desc = {:?}", dial_error(kind, dial)))
            }
        }
    }

    /// RFC 9113, 7, as PROTOCOL-HTTP2 maps it.
    fn of_reset(code: u32) -> Self {
        let status = match code {
            7 => Code::UNAVAILABLE,
            8 => Code::CANCELED,
            11 => Code::RESOURCE_EXHAUSTED,
            12 => Code::PERMISSION_DENIED,
            _ => Code::INTERNAL,
        };
        let name = reset_name(code);
        let name = name.map_or_else(|| format!("unknown error code 0x{code:x}"), str::to_owned);
        Self::new(status, format!("stream terminated by RST_STREAM with error code: {name}"))
    }
}

/// How grpc-go says that a connection could not be opened.
pub(super) fn dial_error(kind: CallFaultKind, dial: &str) -> String {
    use CallFaultKind as Kind;
    match kind {
        Kind::TlsHostname | Kind::TlsAuthority | Kind::Tls => {
            format!("transport: authentication handshake failed: {dial}")
        }
        _ => format!("transport: error while dialing: {dial}"),
    }
}

pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
}

/// The lines of a head or of trailers. A first line without a colon is passed over.
pub(super) fn fields_of(lines: &[u8]) -> Fields {
    let pairs = lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        let name = String::from_utf8_lossy(line[..at].trim_ascii()).to_ascii_lowercase();
        let value = line[at + 1..].trim_ascii();
        let value = if name.ends_with("-bin") {
            BASE64.decode(value).unwrap_or_else(|_| value.to_vec())
        } else {
            value.to_vec()
        };
        Some((name, value))
    });
    pairs.collect()
}

/// As binary metadata is sent.
pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

fn is_grpc(content_type: &str) -> bool {
    let rest = content_type.to_ascii_lowercase();
    rest.strip_prefix("application/grpc").is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

fn percent_decoded(bytes: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(status: &Status, expected: &Expect) {
        expected.assert_eq(&status.described());
    }

    #[test]
    fn trailers_say_how_a_call_ended() {
        let trailers = fields_of(
            b"grpc-status: 5\r\ngrpc-message: no %22x%22 %C3%A9 100%\r\nGrpc-Status-Details-Bin: CAU\r\n",
        );
        let status = Status::of_trailers(&trailers).unwrap();
        check(&status, &expect![[r#"rpc error: code = NotFound desc = no "x" é 100%"#]]);
        assert_eq!(status.details, [8, 5]);
        assert_eq!(Status::of_trailers(&fields_of(b"x: y\r\n")), None);
        assert_eq!(Status::of_trailers(&fields_of(b"grpc-status: x\r\n")).unwrap().code, Code::UNKNOWN);
        assert_eq!(Status::of_trailers(&fields_of(b"grpc-status: 0\r\n")), Some(Status::new(Code::OK, "")));
    }

    #[test]
    fn responses_that_are_none_of_grpc_have_a_code() {
        let head = |text: &str| fields_of(format!("HTTP/1.1 200 OK\r\n{text}\r\n").as_bytes());
        check(
            &Status::of_response(404, &head("content-type: text/plain\r\n")),
            &expect![[
                r#"rpc error: code = Unimplemented desc = unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type "text/plain""#
            ]],
        );
        check(
            &Status::of_response(200, &head("")),
            &expect!["rpc error: code = Unknown desc = malformed header: missing HTTP content-type"],
        );
        check(
            &Status::of_response(200, &head("content-type: application/grpc+proto\r\n")),
            &expect!["rpc error: code = Internal desc = server closed the stream without sending trailers"],
        );
    }

    #[test]
    fn streams_that_are_lost_have_a_code() {
        use CallFaultKind as Kind;
        check(
            &Status::of_fault(Kind::StreamReset(8), "", ""),
            &expect![
                "rpc error: code = Canceled desc = stream terminated by RST_STREAM with error code: CANCEL"
            ],
        );
        check(
            &Status::of_fault(Kind::Timeout, "", ""),
            &expect!["rpc error: code = DeadlineExceeded desc = context deadline exceeded"],
        );
        check(
            &Status::of_fault(Kind::Refused, "", "dial tcp 127.0.0.1:1: connect: connection refused"),
            &expect![[
                r#"rpc error: code = Unavailable desc = connection error: desc = "transport: error while dialing: dial tcp 127.0.0.1:1: connect: connection refused""#
            ]],
        );
    }
}
