//! From the files of certificates, keys and revocation lists to what rustls serves with.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{
        CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    server::{ServerSessionMemoryCache, WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};
use x509_parser::{parse_x509_certificate, parse_x509_crl};

use super::settings::{ClientCertificates, HTTP2, HTTP11, TlsSettings, TlsVersion};

/// Sessions of clients that take no tickets, which are few; all others keep theirs themselves.
const KEPT_SESSIONS: usize = 4096;

/// What is wrong with a file of TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is no PEM file: {source}", path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error("{} has no {what}", path.display())]
    Missing { path: PathBuf, what: &'static str },
    #[error("{} has a {what} that cannot be read", path.display())]
    Unreadable { path: PathBuf, what: &'static str },
    #[error("the key in {} is not that of the certificate in {}", key.display(), certificate.display())]
    OtherKey { certificate: PathBuf, key: PathBuf },
    #[error("{}: {message}", path.display())]
    Refused { path: PathBuf, message: String },
    #[error("the certificate has expired (Unix time {expired_at})")]
    Expired { expired_at: i64 },
}

/// What the files say.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) config: Arc<ServerConfig>,
    /// Verifies certificates of clients; none where they are not asked for any.
    pub(super) clients: Option<Arc<dyn ClientCertVerifier>>,
    /// The first expiry in the server's chain, in Unix seconds.
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
    let paths = single.into_iter().flatten().chain(&settings.revocation_lists);
    Stamps(paths.map(|path| fs::metadata(path).and_then(|file| file.modified()).ok()).collect())
}

/// Reads all files.
///
/// # Panics
/// Without a certificate and a key, which the configuration has checked.
pub(super) fn load(settings: &TlsSettings) -> Result<Loaded, TlsError> {
    let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else {
        unreachable!("a certificate and its key are checked where the configuration is read")
    };
    let chain = certificates(certificate)?;
    let mut certificate_expires_at = i64::MAX;
    for part in &chain {
        certificate_expires_at = certificate_expires_at.min(expiry(certificate, part)?);
    }
    let (clients, revocation_lists_expire_at) = clients(settings)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions: &[_] = match settings.min_version {
        TlsVersion::Tls12 => &[&TLS13, &TLS12],
        TlsVersion::Tls13 => &[&TLS13],
    };
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |error: rustls::Error| TlsError::Refused { path, message: error.to_string() }
    };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let builder = builder.map_err(refused(certificate))?;
    let builder = match &clients {
        Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, private_key(key)?).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::OtherKey { certificate: certificate.clone(), key: key.clone() }
        }
        error => refused(key)(error),
    })?;
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

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    items(path, "certificate")
}

/// All that a PEM file has of one kind: at least one.
fn items<T: pem::PemObject>(path: &Path, what: &'static str) -> Result<Vec<T>, TlsError> {
    let text = read(path)?;
    let found: Vec<T> = T::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|source| TlsError::Pem { path: path.to_owned(), source })?;
    if found.is_empty() {
        return Err(TlsError::Missing { path: path.to_owned(), what });
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|source| match source {
        pem::Error::NoItemsFound => {
            let what = "private key that can be used; one with a password is decrypted first";
            TlsError::Missing { path: path.to_owned(), what }
        }
        source => TlsError::Pem { path: path.to_owned(), source },
    })
}

/// Until when a certificate holds, in Unix seconds.
fn expiry(path: &Path, certificate: &CertificateDer<'_>) -> Result<i64, TlsError> {
    let unreadable = |_| TlsError::Unreadable { path: path.to_owned(), what: "certificate" };
    let (_, certificate) = parse_x509_certificate(certificate.as_ref()).map_err(unreadable)?;
    Ok(certificate.validity().not_after.timestamp())
}
