//! TLS to upstreams: whom we trust, and who we are to them.

use std::{fs, io, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    pki_types::{CertificateDer, PrivateKeyDer},
};

use crate::settings::{HttpVersion, TlsSettings};

#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("{path} cannot be read: {source}")]
    File { path: String, source: io::Error },
    #[error("{path} has no certificate (PEM)")]
    NoCertificate { path: String },
    #[error("{path} has no key (PEM)")]
    NoKey { path: String },
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
}

/// How TLS is spoken with an upstream.
///
/// # Errors
/// Files that cannot be used.
pub(crate) fn connector(settings: &TlsSettings, version: HttpVersion) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    match &settings.ca_file {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate)?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let mut config = match (&settings.client_certificate, &settings.client_key) {
        (Some(certificate), Some(key)) => {
            builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?)?
        }
        _ => builder.with_no_client_auth(),
    };
    let protocols: &[&[u8]] = match version {
        HttpVersion::Auto => &[b"h2", b"http/1.1"],
        HttpVersion::Http1 => &[b"http/1.1"],
        HttpVersion::Http2 => &[b"h2"],
    };
    // A session of before is gone on with without a certificate, so that one which has expired would be trusted as long as connections
    // come and go.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

fn blocks(path: &Path) -> Result<Vec<pem::Pem>, TlsError> {
    let named = |source| TlsError::File { path: path.display().to_string(), source };
    let text = fs::read(path).map_err(named)?;
    pem::parse_many(text).map_err(|error| named(io::Error::other(error)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let blocks = blocks(path)?.into_iter().filter(|block| block.tag() == "CERTIFICATE");
    let found: Vec<_> = blocks.map(|block| CertificateDer::from(block.into_contents())).collect();
    if found.is_empty() {
        Err(TlsError::NoCertificate { path: path.display().to_string() })
    } else {
        Ok(found)
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let none = || TlsError::NoKey { path: path.display().to_string() };
    let block =
        blocks(path)?.into_iter().find(|block| block.tag().ends_with("PRIVATE KEY")).ok_or_else(none)?;
    let tag = block.tag().to_owned();
    let der = block.into_contents();
    Ok(match tag.as_str() {
        "RSA PRIVATE KEY" => PrivateKeyDer::Pkcs1(der.into()),
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(der.into()),
        "PRIVATE KEY" => PrivateKeyDer::Pkcs8(der.into()),
        _ => return Err(none()),
    })
}
