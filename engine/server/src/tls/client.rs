//! A client's certificate for the life of its connection. It was verified in the handshake, and is verified again when the
//! authorities or revocation lists have been read anew.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prony_access::CertificateNames;
use rustls::pki_types::{CertificateDer, UnixTime};

use super::{Tls, names};

/// A verified certificate.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    tls: Arc<Tls>,
    /// The client's own first; there is at least that.
    chain: Vec<CertificateDer<'static>>,
    names: CertificateNames,
    /// The number of the generation of files by which it is known to be good.
    verified_by: AtomicU64,
}

/// Why a certificate does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the client's certificate does not count: {0}")]
pub(crate) struct CertificateRefusal(String);

impl ClientCertificate {
    pub(super) fn new(tls: Arc<Tls>, chain: &[CertificateDer<'static>]) -> Result<Self, CertificateRefusal> {
        let unreadable = || CertificateRefusal("it cannot be read".to_owned());
        let names = chain.first().and_then(|own| names::read(own.as_ref())).ok_or_else(unreadable)?;
        // Of no generation: the handshake may have been begun by one that has been replaced.
        Ok(Self { tls, chain: chain.to_vec(), names, verified_by: AtomicU64::new(0) })
    }

    /// What it says, as long as it counts.
    pub(crate) fn names(&self) -> Result<&CertificateNames, CertificateRefusal> {
        let current = self.tls.current.load();
        if self.verified_by.load(Ordering::Relaxed) == current.number {
            return Ok(&self.names);
        }
        let Some(verifier) = &current.loaded.clients else { return Ok(&self.names) };
        let (own, others) = self.chain.split_first().expect("there is the client's own");
        verifier
            .verify_client_cert(own, others, UnixTime::now())
            .map_err(|error| CertificateRefusal(error.to_string()))?;
        self.verified_by.store(current.number, Ordering::Relaxed);
        Ok(&self.names)
    }
}
