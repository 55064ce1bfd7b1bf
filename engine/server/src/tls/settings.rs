//! What is configured of TLS.

use std::{path::PathBuf, time::Duration};

/// The protocols that a client may choose by ALPN (RFC 7301), the preferred one first.
pub(crate) const HTTP2: &[u8] = b"h2";
pub(super) const HTTP11: &[u8] = b"http/1.1";

/// TLS of all listeners: off without a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// A PEM file: the server's certificate, and behind it those between it and its root.
    pub certificate: Option<PathBuf>,
    /// A PEM file with the private key of the certificate; required with it.
    pub key: Option<PathBuf>,
    /// PEM files of further certificates, for clients that ask for one of their names; what asks for none, or for another name,
    /// gets the one above.
    pub sni_certificates: Vec<PathBuf>,
    /// PEM files with their keys, one for each.
    pub sni_keys: Vec<PathBuf>,
    pub min_version: TlsVersion,
    /// A PEM file of authorities: clients are asked for certificates that these have signed.
    pub client_ca: Option<PathBuf>,
    pub client_certificates: ClientCertificates,
    /// PEM files of revocation lists, of each authority in clients' chains one.
    pub revocation_lists: Vec<PathBuf>,
    /// From the connection's start to the end of its handshake.
    pub handshake_timeout: Duration,
    /// Handshakes under way over all cores; one more is closed.
    pub max_handshakes: usize,
}

/// The lowest version that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// RFC 5246, and what is newer.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// Whether clients may come without a certificate where they are asked for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificates {
    Required,
    Optional,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            certificate: None,
            key: None,
            sni_certificates: Vec::new(),
            sni_keys: Vec::new(),
            min_version: TlsVersion::Tls12,
            client_ca: None,
            client_certificates: ClientCertificates::Required,
            revocation_lists: Vec::new(),
            handshake_timeout: Duration::from_secs(10),
            max_handshakes: 4096,
        }
    }
}
