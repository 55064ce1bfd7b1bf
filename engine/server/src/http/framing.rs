//! Requests whose head leaves open what is asked, or how long it is: they are refused before anything else of them is read, because
//! a proxy in front may have read them otherwise.

use http::{HeaderMap, HeaderName, StatusCode, Version, header, uri::Authority};

/// Why a head is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadFault {
    pub(super) status: StatusCode,
    pub(super) message: &'static str,
}

/// Whether a request names its host once, as hosts are named, and has a body that can be read (RFC 9112, sections 3.2 and 6.1;
/// RFC 9110, section 8.4).
/// `codings` are those that its body may have.
pub(super) fn check(version: Version, headers: &HeaderMap, codings: &[&str]) -> Result<(), HeadFault> {
    let fault = |status, message| Err(HeadFault { status, message });
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 {
        return fault(StatusCode::BAD_REQUEST, "the field `host` stands more than once; send one");
    }
    if hosts == 0 && version == Version::HTTP_11 {
        return fault(StatusCode::BAD_REQUEST, "a request of HTTP/1.1 has a field `host`; send one");
    }
    if !headers.get_all(header::HOST).iter().all(|host| is_host(host.as_bytes())) {
        let message = "the field `host` is a name or an address, with a port or without";
        return fault(StatusCode::BAD_REQUEST, message);
    }
    // Several fields are one list of codings, of which one is taken.
    let is = |name: HeaderName, known: &dyn Fn(&[u8]) -> bool| {
        let mut codings = headers.get_all(name).iter();
        codings.next().is_none_or(|coding| known(coding.as_bytes().trim_ascii())) && codings.next().is_none()
    };
    if !is(header::TRANSFER_ENCODING, &|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        let message = "the only transfer coding that is understood is `transfer-encoding: chunked`";
        return fault(StatusCode::NOT_IMPLEMENTED, message);
    }
    let known = ["identity"].iter().chain(codings);
    if !is(header::CONTENT_ENCODING, &|coding| {
        known.clone().any(|known| coding.eq_ignore_ascii_case(known.as_bytes()))
    }) {
        let message = "bodies of requests are taken as they are, without `content-encoding`";
        return fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    Ok(())
}

/// Whether the value of a `Host` field is one (RFC 9110, section 7.2: `uri-host [ ":" port ]`); the host may be empty.
pub(super) fn is_host(value: &[u8]) -> bool {
    if value.is_empty() {
        return true;
    }
    let Ok(authority) = Authority::try_from(value) else { return false };
    let (whole, host) = (authority.as_str(), authority.host());
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_user = whole.contains('@');
    !has_user && (whole == host || whole[host.len()..].strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn status(version: Version, fields: &[(&'static str, &'static str)]) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        check(version, &headers, &["snappy"]).map_or_else(|fault| fault.status.as_u16(), |()| 200)
    }

    #[test]
    fn a_host_is_named_once() {
        let (host, other) = (("host", "a"), ("host", "b"));
        assert_eq!(status(Version::HTTP_11, &[host]), 200);
        assert_eq!(status(Version::HTTP_11, &[]), 400);
        assert_eq!(status(Version::HTTP_11, &[host, other]), 400);
        assert_eq!(status(Version::HTTP_11, &[host, host]), 400);
        assert_eq!(status(Version::HTTP_10, &[]), 200);
        assert_eq!(status(Version::HTTP_10, &[host, host]), 400);
        assert_eq!(status(Version::HTTP_2, &[]), 200, "`:authority` names it");
    }

    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port_or_without() {
        for host in ["", "a", "a.test:80", "my_service:8080", "127.0.0.1", "[::1]", "[::1]:80", "a:", ":80"] {
            assert_eq!(status(Version::HTTP_11, &[("host", host)]), 200, "{host}");
        }
        for host in ["a b", "a/b", "http://a", "ann@a", "a:b", "a:80:80", "[::1", "a, b", "a?b", "a\"b"] {
            assert_eq!(status(Version::HTTP_11, &[("host", host)]), 400, "{host}");
        }
    }

    #[test]
    fn codings_that_are_not_understood_are_refused() {
        let with = |name, value| status(Version::HTTP_11, &[("host", "a"), (name, value)]);
        assert_eq!(with("transfer-encoding", "chunked"), 200);
        assert_eq!(with("transfer-encoding", " Chunked "), 200);
        for coding in ["gzip, chunked", "chunked, chunked", "identity", "xchunked", ""] {
            assert_eq!(with("transfer-encoding", coding), 501, "{coding}");
        }
        assert_eq!(with("content-encoding", "identity"), 200);
        assert_eq!(with("content-encoding", "Snappy"), 200, "whoever has the path decodes it");
        for coding in ["gzip", "br", "identity, gzip", "unknown"] {
            assert_eq!(with("content-encoding", coding), 415, "{coding}");
        }
        for first in ["gzip", "chunked"] {
            let twice = [("host", "a"), ("transfer-encoding", first), ("transfer-encoding", "chunked")];
            assert_eq!(status(Version::HTTP_11, &twice), 501, "{first}");
        }
        let twice = [("host", "a"), ("content-encoding", "snappy"), ("content-encoding", "snappy")];
        assert_eq!(status(Version::HTTP_11, &twice), 415);
    }
}
