//! What a failed handshake means for the person who asked for it: what is wrong, and what to try.

use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// One sentence without its end. The cause is a [`rustls::Error`] where the peer or its certificate is at fault.
pub(crate) fn explain(cause: &io::Error, wants_certificate: bool) -> String {
    if wants_certificate {
        return "it asks for a client certificate and refuses to go on without; \
                give one with --cert FILE --key FILE (tls.cert, tls.key)"
            .to_owned();
    }
    let error = cause.get_ref().and_then(|error| error.downcast_ref::<Error>());
    match error {
        Some(Error::InvalidCertificate(error)) => certificate(error),
        Some(Error::AlertReceived(alert)) => refusal(*alert),
        Some(Error::InvalidMessage(_)) => {
            "what it answers is no TLS; is it an `http://` target, or another port?".to_owned()
        }
        Some(Error::NoCertificatesPresented) => "it shows no certificate".to_owned(),
        Some(Error::PeerIncompatible(what)) => {
            format!("it has no version or cipher in common with us ({what:?})")
        }
        Some(error) => error.to_string(),
        None if cause.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection during the handshake; does this port speak TLS?".to_owned()
        }
        None if is_silence(cause) => {
            "it does not respond to the handshake in time; does this port speak TLS?".to_owned()
        }
        None => cause.to_string(),
    }
}

/// True where the peer sent nothing for as long as a socket was to wait.
pub(crate) fn is_silence(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn certificate(error: &CertificateError) -> String {
    let (what, remedy) = match error {
        // A signature does not fit where two authorities have the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (
            "its certificate was issued by an authority that is not trusted".to_owned(),
            "give the authority's certificate with --cacert FILE (tls.ca)",
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("its certificate has expired".to_owned(), "renew it, check this machine's clock")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet".to_owned(), "check this machine's clock")
        }
        CertificateError::NotValidForNameContext { expected, presented } => (
            format!("its certificate is for {}, and not for {}", names(presented), expected.to_str()),
            "ask for one of its names with --server-name NAME (tls.server_name)",
        ),
        CertificateError::NotValidForName => (
            "its certificate is for another name".to_owned(),
            "ask for one of its names with --server-name NAME (tls.server_name)",
        ),
        CertificateError::Revoked => ("its certificate was revoked".to_owned(), "replace it"),
        // Such as the one that `openssl req -x509` makes, which is an authority's.
        CertificateError::Other(reason) => (
            format!("its certificate does not fit a server ({})", reason.0),
            "trust that one alone with --cacert FILE (tls.ca)",
        ),
        error => (format!("its certificate cannot be checked ({error})"), "replace it"),
    };
    format!("{what}; {remedy}, or take any certificate with --insecure (tls.insecure)")
}

/// rustls writes them as `DnsName("shop.test")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        inner.trim_matches('"').to_owned()
    };
    match presented {
        [] => "no name".to_owned(),
        names => names.iter().map(bare).collect::<Vec<_>>().join(", "),
    }
}

fn refusal(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::NoApplicationProtocol => {
            "it speaks none of the protocols that were offered; choose another `protocol`".to_owned()
        }
        AlertDescription::UnrecognisedName => {
            "it knows no server of this name; ask for another with --server-name NAME (tls.server_name)"
                .to_owned()
        }
        AlertDescription::ProtocolVersion => "it speaks neither TLS 1.2 nor 1.3".to_owned(),
        AlertDescription::CertificateRequired => {
            "it asks for a client certificate; give one with --cert FILE --key FILE (tls.cert, tls.key)"
                .to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::AccessDenied => {
            format!("it refuses our client certificate ({alert:?}); is --cert FILE (tls.cert) the right one?")
        }
        alert => format!("it refuses the handshake ({alert:?})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(alert: AlertDescription, expected: &Expect) {
        expected.assert_eq(&explain(&io::Error::other(Error::AlertReceived(alert)), false));
    }

    #[test]
    fn a_peer_that_says_nothing_is_not_told_by_the_systems_words() {
        // So a server without TLS waits for the end of a request's head.
        let silence = io::Error::from(io::ErrorKind::WouldBlock);
        expect!["it does not respond to the handshake in time; does this port speak TLS?"]
            .assert_eq(&explain(&silence, false));
    }

    #[test]
    fn refusals_say_what_to_change() {
        check(
            AlertDescription::NoApplicationProtocol,
            &expect!["it speaks none of the protocols that were offered; choose another `protocol`"],
        );
        check(
            AlertDescription::UnrecognisedName,
            &expect![
                "it knows no server of this name; ask for another with --server-name NAME (tls.server_name)"
            ],
        );
        check(
            AlertDescription::UnknownCA,
            &expect![
                "it refuses our client certificate (UnknownCA); is --cert FILE (tls.cert) the right one?"
            ],
        );
        check(AlertDescription::HandshakeFailure, &expect!["it refuses the handshake (HandshakeFailure)"]);
    }
}
