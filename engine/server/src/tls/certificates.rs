//! The certificates that clients are shown: which of them is chosen by the name that a client asks for (SNI, RFC 6066, section 3).

use std::{collections::HashMap, path::Path, sync::Arc};

use rustls::{
    crypto::CryptoProvider,
    pki_types::CertificateDer,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, parse_x509_certificate};

use super::pem::{TlsError, certificates, private_key, refused};

/// One certificate with its key, and the names that it is for.
#[derive(Debug)]
pub(super) struct ServedCertificate {
    key: Arc<CertifiedKey>,
    /// In small letters; `*.` stands before those that are for any name of one part more.
    names: Vec<String>,
}

impl ServedCertificate {
    /// Reads both files. The second is the first expiry in the chain, in Unix seconds.
    pub(super) fn load(
        provider: &CryptoProvider,
        certificate: &Path,
        key: &Path,
    ) -> Result<(Self, i64), TlsError> {
        let chain = certificates(certificate)?;
        let mut expires_at = i64::MAX;
        for part in &chain {
            expires_at = expires_at.min(read(certificate, part)?.validity().not_after.timestamp());
        }
        let names = match chain.first() {
            Some(own) => names(&read(certificate, own)?),
            None => Vec::new(),
        };
        let key =
            CertifiedKey::from_der(chain, private_key(key)?, provider).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    TlsError::OtherKey { certificate: certificate.to_owned(), key: key.to_owned() }
                }
                error @ rustls::Error::InvalidCertificate(_) => refused(certificate)(error),
                error => refused(key)(error),
            })?;
        Ok((Self { key: Arc::new(key), names }, expires_at))
    }
}

fn read<'c>(path: &Path, certificate: &'c CertificateDer<'_>) -> Result<X509Certificate<'c>, TlsError> {
    let unreadable = |_| TlsError::Unreadable { path: path.to_owned(), what: "certificate" };
    Ok(parse_x509_certificate(certificate.as_ref()).map_err(unreadable)?.1)
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let names = alternatives.iter().flat_map(|extension| &extension.value.general_names);
    let dns = names.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    dns.collect()
}

/// Chooses among certificates; where several are for a name, the first.
#[derive(Debug)]
pub(super) struct CertificatesByName {
    /// For clients that ask for no name, or for one that no certificate is for.
    default: Option<Arc<CertifiedKey>>,
    by_name: HashMap<String, Arc<CertifiedKey>>,
}

impl CertificatesByName {
    pub(super) fn new(served: Vec<ServedCertificate>) -> Self {
        let default = served.first().map(|first| Arc::clone(&first.key));
        let mut by_name = HashMap::new();
        for ServedCertificate { key, names } in served {
            for name in names {
                by_name.entry(name).or_insert_with(|| Arc::clone(&key));
            }
        }
        Self { default, by_name }
    }

    fn find(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        self.by_name.get(&name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.by_name.get(&format!("*.{parent}"))
        })
    }
}

impl ResolvesServerCert for CertificatesByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        hello.server_name().and_then(|name| self.find(name)).or(self.default.as_ref()).cloned()
    }
}
