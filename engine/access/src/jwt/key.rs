//! A key that verifies signatures: by which algorithms is settled when it is read.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use aws_lc_rs::{digest, hmac, rsa::PublicKey as RsaPublicKey, signature::ParsedPublicKey};

use super::{
    algorithm::{Algorithm, KeyFamily},
    ed25519,
};

/// A key with the algorithms that it is for.
pub(crate) struct VerificationKey {
    /// `kid`; a key without one may be that of any token.
    pub(crate) id: Option<Box<str>>,
    /// SHA-256 of what makes it this key: its material, its id and its algorithms.
    pub(super) fingerprint: [u8; 32],
    verifiers: Vec<(Algorithm, Verifier)>,
    /// Whether it has gone from its key set: what it has verified is not valid any more.
    dropped: AtomicBool,
}

/// By its material, its id and its algorithms.
impl PartialEq for VerificationKey {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

enum Verifier {
    Secret(Box<hmac::Key>),
    Public(ParsedPublicKey),
}

/// Why something is no key for the algorithms that are asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("no public key in PEM, and no JWK or JWK set")]
    Unreadable,
    #[error("a private key is no key to verify with; give the public one")]
    Private,
    #[error("a certificate is no key; give its public key (`openssl x509 -pubkey -noout`)")]
    Certificate,
    #[error("the RSA key has {0} bits; at least 2048 are needed")]
    RsaBits(usize),
    #[error("the Ed25519 key is a point of small order, under which anybody can sign")]
    SmallOrder,
    #[error("the secret has {bytes} bytes; {algorithm} needs at least {least}")]
    ShortSecret { algorithm: &'static str, bytes: usize, least: usize },
    #[error("the secret is a public key, which everybody knows; give it as `key_file`")]
    PublicSecret,
    #[error("the key is for none of these algorithms")]
    Algorithms,
    #[error("{0}")]
    Jwk(&'static str),
}

/// Bits that an RSA key must have.
const LEAST_RSA_BITS: usize = 2048;

impl VerificationKey {
    fn new(
        id: Option<&str>,
        material: &[u8],
        verifiers: Vec<(Algorithm, Verifier)>,
    ) -> Result<Self, KeyFault> {
        if verifiers.is_empty() {
            return Err(KeyFault::Algorithms);
        }
        let mut context = digest::Context::new(&digest::SHA256);
        let names = verifiers.iter().map(|(algorithm, _)| algorithm.name().as_bytes());
        for part in [id.unwrap_or_default().as_bytes()].into_iter().chain(names).chain([material]) {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(context.finish().as_ref());
        Ok(Self { id: id.map(Into::into), fingerprint, verifiers, dropped: AtomicBool::new(false) })
    }

    /// A secret for those of the algorithms that take one.
    pub(crate) fn secret(
        id: Option<&str>,
        secret: &[u8],
        algorithms: &[Algorithm],
    ) -> Result<Self, KeyFault> {
        if is_public_key(secret) {
            return Err(KeyFault::PublicSecret);
        }
        let mut verifiers = Vec::new();
        for algorithm in algorithms {
            let Some((hash, least)) = algorithm.hmac() else { continue };
            if secret.len() < least {
                let (algorithm, bytes) = (algorithm.name(), secret.len());
                return Err(KeyFault::ShortSecret { algorithm, bytes, least });
            }
            verifiers.push((*algorithm, Verifier::Secret(Box::new(hmac::Key::new(hash, secret)))));
        }
        Self::new(id, secret, verifiers)
    }

    /// A public key as X.509's `SubjectPublicKeyInfo`, RSA's `RSAPublicKey`, a point of a curve or the bytes of Ed25519, for those
    /// of the algorithms that take it.
    pub(super) fn public(id: Option<&str>, key: &[u8], algorithms: &[Algorithm]) -> Result<Self, KeyFault> {
        if algorithms.iter().any(|algorithm| algorithm.family() == KeyFamily::Rsa)
            && let Ok(rsa) = RsaPublicKey::from_der(key)
        {
            enough_bits(rsa.modulus_len() * 8)?;
        }
        let is_of = |family| algorithms.iter().any(|algorithm| algorithm.family() == family);
        if is_of(KeyFamily::Ed25519) && ed25519::is_of_small_order(key) {
            return Err(KeyFault::SmallOrder);
        }
        let verifiers = algorithms.iter().filter_map(|algorithm| {
            let parsed = ParsedPublicKey::new(algorithm.verification()?, key).ok()?;
            Some((*algorithm, Verifier::Public(parsed)))
        });
        Self::new(id, key, verifiers.collect())
    }

    /// An RSA key from modulus and exponent, big-endian without leading zeros.
    pub(super) fn rsa(
        id: Option<&str>,
        modulus: &[u8],
        exponent: &[u8],
        algorithms: &[Algorithm],
    ) -> Result<Self, KeyFault> {
        let unused = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
        enough_bits((modulus.len() * 8).saturating_sub(unused))?;
        let verifiers = algorithms.iter().filter_map(|algorithm| {
            Some((*algorithm, Verifier::Public(algorithm.rsa_key(modulus, exponent)?)))
        });
        let material = [modulus, exponent].join(&b"/"[..]);
        Self::new(id, &material, verifiers.collect())
    }

    /// A public key in PEM.
    pub(crate) fn pem(text: &str, algorithms: &[Algorithm]) -> Result<Self, KeyFault> {
        let section = pem::parse(text).map_err(|_| KeyFault::Unreadable)?;
        match section.tag() {
            "PUBLIC KEY" | "RSA PUBLIC KEY" => Self::public(None, section.contents(), algorithms),
            "CERTIFICATE" => Err(KeyFault::Certificate),
            tag if tag.ends_with("PRIVATE KEY") => Err(KeyFault::Private),
            _ => Err(KeyFault::Unreadable),
        }
    }

    pub(crate) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.verifiers.iter().any(|(known, _)| *known == algorithm)
    }

    /// Whether the signature is one of this key by this algorithm.
    pub(crate) fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let verifier = self.verifiers.iter().find(|(known, _)| *known == algorithm);
        verifier.is_some_and(|(_, verifier)| match verifier {
            Verifier::Secret(key) => hmac::verify(key, signed, signature).is_ok(),
            Verifier::Public(key) => key.verify_sig(signed, signature).is_ok(),
        })
    }

    pub(crate) fn set_dropped(&self) {
        self.dropped.store(true, Relaxed);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }
}

fn enough_bits(bits: usize) -> Result<(), KeyFault> {
    if bits < LEAST_RSA_BITS { Err(KeyFault::RsaBits(bits)) } else { Ok(()) }
}

/// Whether a text is a public key or a certificate, which would be no secret.
fn is_public_key(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let looks_like_pem = text.contains("-----BEGIN") && !text.contains("PRIVATE KEY");
    let looks_like_jwk = serde_json::from_str::<serde_json::Value>(&text)
        .is_ok_and(|value| value.get("kty").is_some_and(|kind| kind != "oct") || value.get("keys").is_some());
    looks_like_pem || looks_like_jwk
}

/// Never shows the key.
impl fmt::Debug for VerificationKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithms: Vec<_> = self.verifiers.iter().map(|(algorithm, _)| algorithm.name()).collect();
        formatter
            .debug_struct("VerificationKey")
            .field("id", &self.id)
            .field("algorithms", &algorithms)
            .finish_non_exhaustive()
    }
}
