//! Keys: made, read from and written to the formats of Web Cryptography, and what pairs of keys do.

use super::ciphers::Hash;
use super::fault::CryptoFault;
use super::rsa_operations::{BITS_MAX, BITS_MIN, RsaKey, RsaPadding};
use aws_lc_rs::agreement::{self, UnparsedPublicKey as AgreementKey};
use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, EcdsaKeyPair, UnparsedPublicKey};
use pkcs8::ObjectIdentifier;
use pkcs8::der::Encode as _;
use pkcs8::der::asn1::BitStringRef;
use pkcs8::spki::{AlgorithmIdentifier, SubjectPublicKeyInfo};

/// What a key is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Material {
    Secret(Vec<u8>),
    /// The scalar and the uncompressed point (SEC 1, 2.3).
    EcPrivate(Curve, Vec<u8>, Vec<u8>),
    EcPublic(Curve, Vec<u8>),
    /// PKCS 8.
    RsaPrivate(Vec<u8>),
    /// `SubjectPublicKeyInfo` (RFC 5280).
    RsaPublic(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    pub(crate) fn named(name: &str) -> Result<Self, CryptoFault> {
        match name {
            "P-256" => Ok(Self::P256),
            "P-384" => Ok(Self::P384),
            "P-521" => Ok(Self::P521),
            _ => Err(CryptoFault::unsupported(format!("elliptic curve {name} is not supported"))),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Of a coordinate.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    const fn agreement(self) -> &'static agreement::Algorithm {
        match self {
            Self::P256 => &agreement::ECDH_P256,
            Self::P384 => &agreement::ECDH_P384,
            Self::P521 => &agreement::ECDH_P521,
        }
    }

    fn signing(
        self,
        hash: Hash,
    ) -> Result<
        (&'static signature::EcdsaSigningAlgorithm, &'static signature::EcdsaVerificationAlgorithm),
        CryptoFault,
    > {
        Ok(match (self, hash) {
            (Self::P256, Hash::Sha256) => {
                (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &signature::ECDSA_P256_SHA256_FIXED)
            }
            (Self::P384, Hash::Sha384) => {
                (&signature::ECDSA_P384_SHA384_FIXED_SIGNING, &signature::ECDSA_P384_SHA384_FIXED)
            }
            (Self::P521, Hash::Sha256) => {
                (&signature::ECDSA_P521_SHA256_FIXED_SIGNING, &signature::ECDSA_P521_SHA256_FIXED)
            }
            (Self::P521, Hash::Sha384) => {
                (&signature::ECDSA_P521_SHA384_FIXED_SIGNING, &signature::ECDSA_P521_SHA384_FIXED)
            }
            (Self::P521, Hash::Sha512) => {
                (&signature::ECDSA_P521_SHA512_FIXED_SIGNING, &signature::ECDSA_P521_SHA512_FIXED)
            }
            _ => {
                let (curve, hash) = (self.name(), hash.name());
                return Err(CryptoFault::unsupported(format!(
                    "ECDSA on {curve} with {hash} is not supported: use the hash of the curve's size"
                )));
            }
        })
    }

    /// The point of a private key.
    fn point_of(self, scalar: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let key = agreement::PrivateKey::from_private_key(self.agreement(), scalar);
        let key = key.map_err(|_| {
            CryptoFault::data(format!("unable to import the private key: it is none of {}", self.name()))
        })?;
        let public = key.compute_public_key().map_err(|_| CryptoFault::operation("the key has no point"))?;
        Ok(public.as_ref().to_vec())
    }
}

impl Material {
    /// Private and public.
    pub(crate) fn generate_ec(curve: Curve) -> Result<(Self, Self), CryptoFault> {
        let failed = |_| CryptoFault::operation("unable to generate a key pair");
        let key = agreement::PrivateKey::generate(curve.agreement()).map_err(failed)?;
        let scalar: EcPrivateKeyBin<'_> = key.as_be_bytes().map_err(failed)?;
        let point = key.compute_public_key().map_err(failed)?.as_ref().to_vec();
        Ok((Self::EcPrivate(curve, scalar.as_ref().to_vec(), point.clone()), Self::EcPublic(curve, point)))
    }

    /// Private and public.
    pub(crate) fn generate_rsa(bits: usize) -> Result<(Self, Self), CryptoFault> {
        if !(BITS_MIN..=BITS_MAX).contains(&bits) {
            let message = format!("modulusLength must be from {BITS_MIN} to {BITS_MAX}");
            return Err(CryptoFault::operation(message));
        }
        let failed = CryptoFault::operation("unable to generate a key pair");
        let key = RsaKey::generate(bits).ok_or_else(|| failed.clone())?;
        let (private, public) = key.pkcs8().zip(key.spki()).ok_or(failed)?;
        Ok((Self::RsaPrivate(private), Self::RsaPublic(public)))
    }

    pub(crate) fn ec_public(curve: Curve, point: &[u8]) -> Result<Self, CryptoFault> {
        let refused = || {
            CryptoFault::data(format!("unable to import the public key: it is no point of {}", curve.name()))
        };
        if point.len() != 1 + 2 * curve.bytes() || point[0] != 4 {
            return Err(refused());
        }
        let parsed = agreement::ParsedPublicKey::try_from(AgreementKey::new(curve.agreement(), point));
        match parsed {
            Ok(_) => Ok(Self::EcPublic(curve, point.to_vec())),
            Err(_) => Err(refused()),
        }
    }

    pub(crate) fn ec_private(curve: Curve, scalar: &[u8]) -> Result<Self, CryptoFault> {
        Ok(Self::EcPrivate(curve, scalar.to_vec(), curve.point_of(scalar)?))
    }

    pub(crate) fn ec_pkcs8(curve: Curve, der: &[u8]) -> Result<Self, CryptoFault> {
        let refused = |_| {
            CryptoFault::data(format!(
                "unable to import the private key: it is no PKCS 8 of {}",
                curve.name()
            ))
        };
        let key = agreement::PrivateKey::from_private_key_der(curve.agreement(), der).map_err(refused)?;
        let scalar: EcPrivateKeyBin<'_> =
            key.as_be_bytes().map_err(|_| CryptoFault::data("the key has no scalar"))?;
        Self::ec_private(curve, scalar.as_ref())
    }

    /// The point is the end of what `SubjectPublicKeyInfo` holds for a curve.
    pub(crate) fn ec_spki(curve: Curve, der: &[u8]) -> Result<Self, CryptoFault> {
        let point = der.len().checked_sub(1 + 2 * curve.bytes()).map_or(&[][..], |start| &der[start..]);
        let key = Self::ec_public(curve, point)?;
        let written = key.spki()?;
        if written == der {
            Ok(key)
        } else {
            Err(CryptoFault::data(format!("unable to import the public key: it is not of {}", curve.name())))
        }
    }

    pub(crate) fn rsa_pkcs8(der: &[u8]) -> Result<Self, CryptoFault> {
        RsaKey::private(der).ok_or_else(|| {
            CryptoFault::data(format!(
                "unable to import the private key: it is no PKCS 8 of RSA with at least {BITS_MIN} bits"
            ))
        })?;
        Ok(Self::RsaPrivate(der.to_vec()))
    }

    pub(crate) fn rsa_spki(der: &[u8]) -> Result<Self, CryptoFault> {
        RsaKey::public(der).ok_or_else(|| {
            CryptoFault::data(format!(
                "unable to import the public key: it is no RSA key of at least {BITS_MIN} bits"
            ))
        })?;
        Ok(Self::RsaPublic(der.to_vec()))
    }

    pub(crate) fn pkcs8(&self) -> Result<Vec<u8>, CryptoFault> {
        match self {
            Self::RsaPrivate(der) => Ok(der.clone()),
            Self::EcPrivate(curve, scalar, point) => {
                let (signing, _) = curve.signing(match curve {
                    Curve::P256 => Hash::Sha256,
                    Curve::P384 => Hash::Sha384,
                    Curve::P521 => Hash::Sha512,
                })?;
                let key = EcdsaKeyPair::from_private_key_and_public_key(signing, scalar, point)
                    .map_err(|_| CryptoFault::operation("unable to write the key"))?;
                let document =
                    key.to_pkcs8v1().map_err(|_| CryptoFault::operation("unable to write the key"))?;
                Ok(document.as_ref().to_vec())
            }
            _ => Err(CryptoFault::access("the key is not a private key")),
        }
    }

    pub(crate) fn spki(&self) -> Result<Vec<u8>, CryptoFault> {
        match self {
            Self::RsaPublic(der) => Ok(der.clone()),
            Self::EcPublic(curve, point) => Ok(ec_spki_der(*curve, point)),
            _ => Err(CryptoFault::access("the key is not a public key")),
        }
    }

    pub(crate) fn sign_ecdsa(&self, hash: Hash, data: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let Self::EcPrivate(curve, scalar, point) = self else {
            return Err(CryptoFault::access("key is not a valid ECDSA private key"));
        };
        let failed = CryptoFault::operation("unable to sign data");
        let key = EcdsaKeyPair::from_private_key_and_public_key(curve.signing(hash)?.0, scalar, point);
        let key = key.map_err(|_| failed.clone())?;
        key.sign(&SystemRandom::new(), data).map(|signature| signature.as_ref().to_vec()).map_err(|_| failed)
    }

    pub(crate) fn verify_ecdsa(
        &self,
        hash: Hash,
        data: &[u8],
        signature: &[u8],
    ) -> Result<bool, CryptoFault> {
        let Self::EcPublic(curve, point) = self else {
            return Err(CryptoFault::access("key is not a valid ECDSA public key"));
        };
        Ok(UnparsedPublicKey::new(curve.signing(hash)?.1, point).verify(data, signature).is_ok())
    }

    /// The x coordinate that both sides come to (SEC 1, 3.3.1).
    pub(crate) fn agree(&self, other: &Self) -> Result<Vec<u8>, CryptoFault> {
        let (Self::EcPrivate(curve, scalar, _), Self::EcPublic(other_curve, point)) = (self, other) else {
            return Err(CryptoFault::access("a private and a public key of ECDH are needed"));
        };
        if curve != other_curve {
            return Err(CryptoFault::access("the keys are of different curves"));
        }
        let failed = CryptoFault::operation("unable to agree on a secret");
        let key =
            agreement::PrivateKey::from_private_key(curve.agreement(), scalar).map_err(|_| failed.clone())?;
        let peer = AgreementKey::new(curve.agreement(), point);
        agreement::agree(&key, peer, failed, |secret| Ok(secret.to_vec()))
    }

    pub(crate) fn sign_rsa(
        &self,
        padding: RsaPadding,
        hash: Hash,
        data: &[u8],
    ) -> Result<Vec<u8>, CryptoFault> {
        let signature = self.rsa_private()?.sign(padding, hash, data);
        signature.ok_or_else(|| CryptoFault::operation("unable to sign data"))
    }

    pub(crate) fn verify_rsa(
        &self,
        padding: RsaPadding,
        hash: Hash,
        data: &[u8],
        signature: &[u8],
    ) -> Result<bool, CryptoFault> {
        let is_good = self.rsa_public()?.verify(padding, hash, data, signature);
        is_good.ok_or_else(|| CryptoFault::operation("unable to verify the signature"))
    }

    pub(crate) fn encrypt_oaep(&self, hash: Hash, label: &[u8], text: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let hidden = self.rsa_public()?.encrypt(hash, label, text);
        hidden
            .ok_or_else(|| CryptoFault::operation("could not encrypt: the text may be too long for the key"))
    }

    pub(crate) fn decrypt_oaep(&self, hash: Hash, label: &[u8], text: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let shown = self.rsa_private()?.decrypt(hash, label, text);
        shown.ok_or_else(|| CryptoFault::operation("could not decrypt ciphertext"))
    }

    fn rsa_private(&self) -> Result<RsaKey, CryptoFault> {
        let key = if let Self::RsaPrivate(der) = self { RsaKey::private(der) } else { None };
        key.ok_or_else(|| CryptoFault::access("key is not a valid RSA private key"))
    }

    fn rsa_public(&self) -> Result<RsaKey, CryptoFault> {
        let key = if let Self::RsaPublic(der) = self { RsaKey::public(der) } else { None };
        key.ok_or_else(|| CryptoFault::access("key is not a valid RSA public key"))
    }
}

/// RFC 5480, 2: the algorithm with its curve, and the point as a bit string.
fn ec_spki_der(curve: Curve, point: &[u8]) -> Vec<u8> {
    const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
    let curve = ObjectIdentifier::new_unwrap(match curve {
        Curve::P256 => "1.2.840.10045.3.1.7",
        Curve::P384 => "1.3.132.0.34",
        Curve::P521 => "1.3.132.0.35",
    });
    let info = SubjectPublicKeyInfo {
        algorithm: AlgorithmIdentifier { oid: EC_PUBLIC_KEY, parameters: Some(curve) },
        subject_public_key: BitStringRef::from_bytes(point).expect("a point has fewer than 2^28 bytes"),
    };
    info.to_der().expect("a point has fewer than 2^28 bytes")
}
