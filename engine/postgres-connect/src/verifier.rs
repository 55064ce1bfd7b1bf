//! How a server's certificate is checked: by its authority and its name, by its authority alone, or not at all. As libpq has it, a
//! certificate without alternative names is of its subject's common name, and a certificate that was given itself is trusted.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        VerifierBuilderError, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, prelude::FromDer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    Nothing,
    Authority,
    AuthorityAndName,
}

/// Signatures of the handshake are checked in each case.
#[derive(Debug)]
pub(crate) struct Verifier {
    checks: Checks,
    /// `None` where nothing is checked.
    usual: Option<Arc<WebPkiServerVerifier>>,
    /// What `openssl req -x509` makes is an authority's certificate, which no server may show otherwise.
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    pub(crate) fn of_anything(provider: &Arc<CryptoProvider>) -> Self {
        Self { checks: Checks::Nothing, usual: None, given: Vec::new(), provider: Arc::clone(provider) }
    }

    pub(crate) fn new(
        checks: Checks,
        roots: Arc<RootCertStore>,
        given: Vec<CertificateDer<'static>>,
        revocations: Vec<CertificateRevocationListDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let usual = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
            .with_crls(revocations)
            .allow_unknown_revocation_status()
            .build()?;
        Ok(Self { checks, usual: Some(usual), given, provider: Arc::clone(provider) })
    }

    /// The name of a certificate that was given itself, or that has been found to be of an authority.
    fn check_name(&self, certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
        if self.checks != Checks::AuthorityAndName {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        verify_server_name(&parsed, name)
            .or_else(|error| if common_name_fits(certificate, name) { Ok(()) } else { Err(error) })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(usual) = &self.usual else { return Ok(ServerCertVerified::assertion()) };
        if self.given.iter().any(|given| given == end_entity) {
            check_dates(end_entity, now)?;
            self.check_name(end_entity, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        // The name is checked last: its fault says that all else is in order.
        match usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => {
                self.check_name(end_entity, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn check_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let encoding = || Error::InvalidCertificate(CertificateError::BadEncoding);
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| encoding())?;
    let now = i64::try_from(now.as_secs()).map_err(|_| encoding())?;
    if now > parsed.validity().not_after.timestamp() {
        return Err(Error::InvalidCertificate(CertificateError::Expired));
    }
    if now < parsed.validity().not_before.timestamp() {
        return Err(Error::InvalidCertificate(CertificateError::NotValidYet));
    }
    Ok(())
}

/// Whether a certificate without alternative names of hosts has this common name; `*.` stands for one label.
fn common_name_fits(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
    let has_alternatives = parsed.subject_alternative_name().ok().flatten().is_some_and(|extension| {
        let is_host =
            |name: &GeneralName<'_>| matches!(name, GeneralName::DNSName(_) | GeneralName::IPAddress(_));
        extension.value.general_names.iter().any(is_host)
    });
    if has_alternatives {
        return false;
    }
    let wanted = name.to_str();
    let common = parsed.subject().iter_common_name().next().and_then(|part| part.as_str().ok());
    common.is_some_and(|common| {
        if common.eq_ignore_ascii_case(&wanted) {
            return true;
        }
        let (Some(suffix), Some((label, rest))) = (common.strip_prefix("*."), wanted.split_once('.')) else {
            return false;
        };
        matches!(name, ServerName::DnsName(_)) && !label.is_empty() && rest.eq_ignore_ascii_case(suffix)
    })
}
