//! The algorithms of signatures that are accepted (RFC 7518, 8037), and the keys that each of them takes.

use std::str::FromStr;

use aws_lc_rs::{hmac, rsa::PublicKeyComponents, signature as aws};

/// An algorithm of a signature. There is no `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

/// What an algorithm takes for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFamily {
    Secret,
    Rsa,
    P256,
    P384,
    P521,
    Ed25519,
}

/// A text that names no algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown algorithm")]
pub struct UnknownAlgorithm;

impl Algorithm {
    pub(crate) const ALL: [Self; 13] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
    ];

    /// As a token's header has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(crate) fn family(self) -> KeyFamily {
        match self {
            Self::Hs256 | Self::Hs384 | Self::Hs512 => KeyFamily::Secret,
            Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 | Self::Ps384 | Self::Ps512 => {
                KeyFamily::Rsa
            }
            Self::Es256 => KeyFamily::P256,
            Self::Es384 => KeyFamily::P384,
            Self::Es512 => KeyFamily::P521,
            Self::EdDsa => KeyFamily::Ed25519,
        }
    }

    pub(crate) fn is_symmetric(self) -> bool {
        self.family() == KeyFamily::Secret
    }

    /// The HMAC, with the fewest bytes that its secret may have: as many as the hash (RFC 7518, section 3.2).
    pub(super) fn hmac(self) -> Option<(hmac::Algorithm, usize)> {
        match self {
            Self::Hs256 => Some((hmac::HMAC_SHA256, 32)),
            Self::Hs384 => Some((hmac::HMAC_SHA384, 48)),
            Self::Hs512 => Some((hmac::HMAC_SHA512, 64)),
            _ => None,
        }
    }

    /// How a public key of this algorithm verifies.
    pub(super) fn verification(self) -> Option<&'static dyn aws::VerificationAlgorithm> {
        if let Some(rsa) = self.rsa() {
            return Some(rsa);
        }
        match self {
            Self::Es256 => Some(&aws::ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Some(&aws::ECDSA_P384_SHA384_FIXED),
            Self::Es512 => Some(&aws::ECDSA_P521_SHA512_FIXED),
            Self::EdDsa => Some(&aws::ED25519),
            _ => None,
        }
    }

    fn rsa(self) -> Option<&'static aws::RsaParameters> {
        match self {
            Self::Rs256 => Some(&aws::RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Some(&aws::RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Some(&aws::RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Some(&aws::RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Some(&aws::RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Some(&aws::RSA_PSS_2048_8192_SHA512),
            _ => None,
        }
    }

    /// The key of an RSA algorithm from modulus and exponent.
    pub(super) fn rsa_key(self, modulus: &[u8], exponent: &[u8]) -> Option<aws::ParsedPublicKey> {
        PublicKeyComponents { n: modulus, e: exponent }.to_parsed_public_key(self.rsa()?).ok()
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// By its exact name.
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == text).ok_or(UnknownAlgorithm)
    }
}
