//! Why a call has no answer, told from what the system or the TLS library say.

use crate::http1::sink::KEPT_BODY_BYTES_MAX;
use crate::transport::Fault;
use prony_model::TransportError;
use prony_model::program::call::{CallFault, CallFaultKind};
use rustls::CertificateError;
use std::io;

pub(crate) fn of_transport(fault: &Fault) -> CallFault {
    CallFault { kind: kind_of(fault), message: fault.cause.to_string() }
}

pub(crate) fn new(kind: CallFaultKind, message: impl Into<String>) -> CallFault {
    CallFault { kind, message: message.into() }
}

/// The answer's body does not end.
pub(crate) fn too_long() -> CallFault {
    new(CallFaultKind::Protocol, format!("the answer's body is longer than {KEPT_BODY_BYTES_MAX} bytes"))
}

fn kind_of(fault: &Fault) -> CallFaultKind {
    let system = fault.cause.raw_os_error();
    match (fault.kind, system) {
        (TransportError::Connect, Some(libc::ECONNREFUSED)) => CallFaultKind::Refused,
        (TransportError::Connect, Some(libc::ETIMEDOUT)) => CallFaultKind::ConnectTimeout,
        (TransportError::Connect, _) => CallFaultKind::Connect,
        (TransportError::Tls | TransportError::Read | TransportError::Write, Some(libc::ECONNRESET)) => {
            CallFaultKind::Reset
        }
        (TransportError::Tls, _) => kind_of_tls(&fault.cause),
        (TransportError::Write, _) => CallFaultKind::Write,
        (TransportError::Read, _) => CallFaultKind::Read,
        (TransportError::Protocol, _) => CallFaultKind::Protocol,
        (TransportError::Timeout, _) => CallFaultKind::Timeout,
    }
}

fn kind_of_tls(cause: &io::Error) -> CallFaultKind {
    let error = cause.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    match error {
        Some(rustls::Error::InvalidCertificate(error)) => match error {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                CallFaultKind::TlsHostname
            }
            // A signature does not fit where two authorities have the same name.
            // Others are such as the one that `openssl req -x509` makes: an authority's own.
            CertificateError::UnknownIssuer | CertificateError::BadSignature | CertificateError::Other(_) => {
                CallFaultKind::TlsAuthority
            }
            _ => CallFaultKind::Tls,
        },
        _ => CallFaultKind::Tls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::OtherError;
    use std::sync::Arc;

    fn kind(kind: TransportError, cause: io::Error) -> CallFaultKind {
        of_transport(&Fault { kind, cause }).kind
    }

    #[test]
    fn faults_are_told_apart() {
        use TransportError::{Connect, Read, Tls, Write};
        let system = io::Error::from_raw_os_error;
        assert_eq!(kind(Connect, system(libc::ECONNREFUSED)), CallFaultKind::Refused);
        assert_eq!(kind(Connect, system(libc::ETIMEDOUT)), CallFaultKind::ConnectTimeout);
        assert_eq!(kind(Connect, system(libc::EHOSTUNREACH)), CallFaultKind::Connect);
        assert_eq!(kind(Read, system(libc::ECONNRESET)), CallFaultKind::Reset);
        assert_eq!(kind(Write, system(libc::EPIPE)), CallFaultKind::Write);
        assert_eq!(kind(Tls, system(libc::ECONNRESET)), CallFaultKind::Reset);
        let certificate = |error| io::Error::other(rustls::Error::InvalidCertificate(error));
        let authority = certificate(CertificateError::UnknownIssuer);
        assert_eq!(kind(Tls, authority), CallFaultKind::TlsAuthority);
        assert_eq!(kind(Tls, certificate(CertificateError::NotValidForName)), CallFaultKind::TlsHostname);
        let own_authority = CertificateError::Other(OtherError(Arc::new(io::Error::other("an authority's"))));
        assert_eq!(kind(Tls, certificate(own_authority)), CallFaultKind::TlsAuthority);
        assert_eq!(kind(Tls, certificate(CertificateError::Expired)), CallFaultKind::Tls);
        assert_eq!(kind(Tls, io::ErrorKind::UnexpectedEof.into()), CallFaultKind::Tls);
    }
}
