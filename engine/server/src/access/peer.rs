//! The other end of a connection: its address, and the certificate that it has brought.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use prony_access::{AuthRefusal, CertificateNames, RefusalKind};

use crate::tls::ClientCertificate;

/// Who is at the other end of a connection; among the extensions of its requests' heads.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
}

/// Of requests whose connection is a host program's.
pub(super) static UNKNOWN: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), certificate: None };

impl Peer {
    /// Without a certificate.
    pub(crate) const fn of(address: IpAddr) -> Self {
        Self { address, certificate: None }
    }

    /// What its certificate says. One that no longer counts is refused, and never counts as none.
    pub(super) fn names(&self) -> Result<Option<&CertificateNames>, AuthRefusal> {
        let Some(certificate) = &self.certificate else { return Ok(None) };
        let refused = |refusal: crate::tls::CertificateRefusal| {
            AuthRefusal::new(RefusalKind::InvalidToken, refusal.to_string())
        };
        certificate.names().map(Some).map_err(refused)
    }
}
