//! PEM files: certificates, keys and lists out of them, and what can be wrong with a file of TLS.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};

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

/// A fault of what is in a file, in the words of rustls.
pub(super) fn refused(path: &Path) -> impl FnOnce(rustls::Error) -> TlsError {
    let path = path.to_owned();
    move |error| {
        let text = error.to_string();
        // Those that are made by hand without extensions; its own word for it is that of a type.
        let message = if text.contains("UnsupportedCertVersion") {
            "it is a certificate of version 1, and version 3 is needed, which those with a subjectAltName have".to_owned()
        } else {
            text
        };
        TlsError::Refused { path, message }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    items(path, "certificate")
}

/// All that a PEM file has of one kind: at least one.
pub(super) fn items<T: pem::PemObject>(path: &Path, what: &'static str) -> Result<Vec<T>, TlsError> {
    let text = read(path)?;
    let found: Vec<T> = T::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|source| TlsError::Pem { path: path.to_owned(), source })?;
    if found.is_empty() {
        return Err(TlsError::Missing { path: path.to_owned(), what });
    }
    Ok(found)
}

pub(super) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|source| {
        // The older form of keys with a password has lines within that are no base64.
        let is_encrypted = memchr::memmem::find(&text, b"ENCRYPTED").is_some();
        if is_encrypted || matches!(source, pem::Error::NoItemsFound) {
            let what = "private key that can be used; one with a password is decrypted first";
            TlsError::Missing { path: path.to_owned(), what }
        } else {
            TlsError::Pem { path: path.to_owned(), source }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_without_extensions_is_told_as_such() {
        let error = rustls::Error::General("Other(OtherError(UnsupportedCertVersion))".to_owned());
        let message = refused(Path::new("shop.pem"))(error).to_string();
        assert!(message.starts_with("shop.pem: it is a certificate of version 1"), "{message}");
    }
}
