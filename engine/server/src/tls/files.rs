//! From the files of certificates, keys and revocation lists to what rustls serves with.

use std::{sync::Arc, time::SystemTime};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::CertificateRevocationListDer,
    server::{ServerSessionMemoryCache, WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};
use x509_parser::parse_x509_crl;

use super::{
    certificates::{CertificatesByName, ServedCertificate},
    pem::{TlsError, certificates, items, refused},
    settings::{ClientCertificates, HTTP2, HTTP11, TlsSettings, TlsVersion},
};
use crate::config::changed_at;

/// Sessions of clients that take no tickets, which are few; all others keep theirs themselves.
const KEPT_SESSIONS: usize = 4096;

/// What the files say.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) config: Arc<ServerConfig>,
    /// Verifies certificates of clients; none where they are not asked for any.
    pub(super) clients: Option<Arc<dyn ClientCertVerifier>>,
    /// The first expiry in the server's chains, in Unix seconds.
    pub(super) certificate_expires_at: i64,
    pub(super) revocation_lists_expire_at: Option<i64>,
}

/// When each file was last changed; none of one that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<SystemTime>>);

impl Stamps {
    pub(super) fn are_all_there(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }
}

pub(super) fn stamps(settings: &TlsSettings) -> Stamps {
    let single = [&settings.certificate, &settings.key, &settings.client_ca];
    let several = [&settings.sni_certificates, &settings.sni_keys, &settings.revocation_lists];
    let paths = single.into_iter().flatten().chain(several.into_iter().flatten());
    Stamps(paths.map(|path| changed_at(path)).collect())
}

/// Reads all files.
///
/// # Panics
/// Without a certificate and a key, which the configuration has checked.
pub(super) fn load(settings: &TlsSettings) -> Result<Loaded, TlsError> {
    let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else {
        unreachable!("a certificate and its key are checked where the configuration is read")
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let others = settings.sni_certificates.iter().zip(&settings.sni_keys);
    let mut served = Vec::with_capacity(1 + settings.sni_certificates.len());
    let mut certificate_expires_at = i64::MAX;
    for (certificate, key) in std::iter::once((certificate, key)).chain(others) {
        let (one, expires_at) = ServedCertificate::load(&provider, certificate, key)?;
        certificate_expires_at = certificate_expires_at.min(expires_at);
        served.push(one);
    }
    let (clients, revocation_lists_expire_at) = clients(settings)?;
    let versions: &[_] = match settings.min_version {
        TlsVersion::Tls12 => &[&TLS13, &TLS12],
        TlsVersion::Tls13 => &[&TLS13],
    };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let builder = builder.map_err(refused(certificate))?;
    let builder = match &clients {
        Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(CertificatesByName::new(served)));
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP11.to_vec()];
    // Both begin anew with each reading of the files: a session keeps the client's certificate, which may have been revoked.
    config.session_storage = ServerSessionMemoryCache::new(KEPT_SESSIONS);
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(refused(certificate))?;
    Ok(Loaded { config: Arc::new(config), clients, certificate_expires_at, revocation_lists_expire_at })
}

/// Who verifies clients' certificates, and when the first of the revocation lists ends.
type Clients = (Option<Arc<dyn ClientCertVerifier>>, Option<i64>);

fn clients(settings: &TlsSettings) -> Result<Clients, TlsError> {
    let Some(path) = &settings.client_ca else { return Ok((None, None)) };
    let refused = |message: String| TlsError::Refused { path: path.clone(), message };
    let mut roots = RootCertStore::empty();
    for authority in certificates(path)? {
        roots.add(authority).map_err(|error| refused(error.to_string()))?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let mut first_end = None;
    for path in &settings.revocation_lists {
        let lists = items::<CertificateRevocationListDer<'static>>(path, "revocation list")?;
        for list in &lists {
            let unreadable = |_| TlsError::Unreadable { path: path.clone(), what: "revocation list" };
            let (_, list) = parse_x509_crl(list.as_ref()).map_err(unreadable)?;
            let end = list.next_update().map(|end| end.timestamp());
            first_end = [first_end, end].into_iter().flatten().min();
        }
        // As other servers do: a list that is too old says nothing of who was revoked since.
        builder = builder.with_crls(lists).enforce_revocation_expiration();
    }
    if settings.client_certificates == ClientCertificates::Optional {
        builder = builder.allow_unauthenticated();
    }
    let verifier = builder.build().map_err(|error| refused(error.to_string()))?;
    Ok((Some(verifier), first_end))
}
