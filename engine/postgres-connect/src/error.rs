//! Why there is no connection, sorted by SQLSTATE (PostgreSQL manual, appendix A) and by types of errors, never by message texts.

use std::{error::Error as _, io};

use tokio_postgres::error::SqlState;

use crate::tls::HandshakeError;

/// Why a database cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct ConnectError {
    pub kind: ConnectErrorKind,
    /// Hosts, ports and database; never a password.
    pub target: String,
    /// With what to try.
    pub reason: String,
    #[source]
    cause: Option<tokio_postgres::Error>,
}

/// What kept the connection from being made, to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectErrorKind {
    /// What was given cannot be used.
    Config,
    /// Refused, unknown host, no route, or no answer in time.
    Unreachable,
    /// The server has no TLS, its certificate is not trusted, or it wants another one of us.
    Tls,
    /// Wrong password, unknown role, or a role that may not connect.
    Rejected,
    NoSuchDatabase,
    /// Starting up, shutting down, no connection left, or none of the hosts is what `target_session_attrs` asks for.
    NotReady,
}

impl ConnectErrorKind {
    /// It may pass by itself.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Unreachable | Self::NotReady)
    }
}

impl ConnectError {
    pub(crate) fn new(kind: ConnectErrorKind, target: &str, reason: impl Into<String>) -> Self {
        Self { kind, target: target.to_owned(), reason: reason.into(), cause: None }
    }

    pub(crate) fn config(target: &str, reason: impl Into<String>) -> Self {
        Self::new(ConnectErrorKind::Config, target, reason)
    }

    /// Sorts an error of an attempt at one host, and says what to try. `host` is whom a certificate must be of.
    pub(crate) fn attempting(target: &str, host: &str, cause: tokio_postgres::Error) -> Self {
        let text = describe(&cause);
        let refusal = refusal_behind_handshake(&cause);
        if refusal.is_some() || handshake_failure(&cause).is_some() {
            let reason = refusal.or_else(|| handshake_failure(&cause)?.reason());
            let is_broken_off = handshake_failure(&cause).is_some_and(HandshakeError::is_broken_off);
            let advice = if is_broken_off { BROKEN_OFF } else { advice_on_certificate(reason) };
            let reason = format!("TLS with {host}: {text}; {advice}");
            return Self {
                kind: ConnectErrorKind::Tls,
                target: target.to_owned(),
                reason,
                cause: Some(cause),
            };
        }
        let (kind, advice) = sorted(&cause);
        Self { kind, target: target.to_owned(), reason: format!("{text}; {advice}"), cause: Some(cause) }
    }

    /// Of an attempt that needs TLS, at a server that has not begun to speak it.
    pub(crate) fn without_tls(target: &str, host: &str, cause: tokio_postgres::Error) -> Self {
        if cause.code().is_some() || !is_about_credentials(&cause) {
            return Self::attempting(target, host, cause);
        }
        let reason = format!(
            "{}; set ssl = on at the server, or use sslmode=disable where the way to {host} is safe otherwise",
            describe(&cause)
        );
        Self { kind: ConnectErrorKind::Tls, target: target.to_owned(), reason, cause: Some(cause) }
    }

    /// Whether the server has refused who asks, as `pg_hba.conf` does where it wants no TLS.
    pub(crate) fn is_authorization(&self) -> bool {
        self.cause.as_ref().and_then(tokio_postgres::Error::code)
            == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
    }
}

fn sorted(cause: &tokio_postgres::Error) -> (ConnectErrorKind, &'static str) {
    match cause.code().map(SqlState::code) {
        Some("3D000") => (ConnectErrorKind::NoSuchDatabase, "create it, or correct the name in the URL"),
        Some("28P01" | "28000" | "42501") => {
            (ConnectErrorKind::Rejected, "check user and password, and the server's pg_hba.conf")
        }
        Some("57P03" | "57P01" | "57P02" | "53300") => (ConnectErrorKind::NotReady, "try again in a moment"),
        Some(_) => (ConnectErrorKind::Rejected, "see the server's log"),
        None if is_about_credentials(cause) => (
            ConnectErrorKind::Rejected,
            "give user and password in the URL (postgres://user:password@host/database), in PGPASSWORD or in a pass file",
        ),
        None => {
            (ConnectErrorKind::Unreachable, "check that the server runs and that host and port are right")
        }
    }
}

/// What TLS said, where that is what failed.
fn handshake_failure(error: &tokio_postgres::Error) -> Option<&HandshakeError> {
    error.source()?.downcast_ref()
}

/// What the server said of the client's certificate in TLS 1.3: only once the client takes the handshake to be over, so that what fails is
/// reading the response to the first message (RFC 8446, section 4.4.2.4).
fn refusal_behind_handshake(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    let broken: &io::Error = error.source()?.downcast_ref()?;
    let reason: &rustls::Error = broken.get_ref()?.downcast_ref()?;
    matches!(reason, rustls::Error::AlertReceived(_)).then_some(reason)
}

/// It has not been read why.
const BROKEN_OFF: &str = "the server has broken off the handshake: where it wants a client's certificate, give one that it accepts with sslcert=FILE \
                          and sslkey=FILE; its log says why";

fn advice_on_certificate(reason: Option<&rustls::Error>) -> &'static str {
    use rustls::CertificateError as Certificate;
    match reason {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            // A signature that is wrong is one of another authority with the same name.
            Certificate::UnknownIssuer | Certificate::BadSignature | Certificate::Other(_) => {
                "name the authority's certificate with sslrootcert=FILE, or sslrootcert=system for those of this system"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "connect by a name that the certificate has, or check the authority alone with sslmode=verify-ca"
            }
            Certificate::Expired | Certificate::ExpiredContext { .. } => "renew the server's certificate",
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => "check both clocks",
            Certificate::Revoked => "give the server another certificate",
            _ => "check the server's certificate",
        },
        Some(rustls::Error::AlertReceived(_)) => {
            "the server refuses this client: give a certificate that it accepts with sslcert=FILE and sslkey=FILE"
        }
        _ => {
            "check that the server has TLS (ssl = on), or use sslmode=disable where the way is safe otherwise"
        }
    }
}

/// The driver has no kind for "the server wants a password and none was given"; it is the only error of an
/// attempt with neither an SQLSTATE nor an input/output error beneath that is not about TLS.
fn is_about_credentials(error: &tokio_postgres::Error) -> bool {
    let source = error.source();
    !error.is_closed() && source.is_some_and(|source| !source.is::<io::Error>())
}

/// The error with its causes in one line, for logs and start-up messages.
pub fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(database) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", database.message(), database.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
