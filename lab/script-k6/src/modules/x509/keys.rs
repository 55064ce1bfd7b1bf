//! Public keys of certificates as k6 shows them. Large numbers are hexadecimal texts, of which the module makes numbers.

use super::error::CertificateError;
use crate::modules::crypto::hash::hex;
use serde::Serialize;
use x509_parser::asn1_rs::{Any, FromDer as _, Integer, Sequence};
use x509_parser::public_key::{ECPoint, PublicKey};
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

#[derive(Debug, Serialize)]
#[serde(tag = "algorithm", content = "key")]
pub(super) enum PublicKeyData {
    #[serde(rename = "RSA")]
    Rsa { n: String, e: u64 },
    #[serde(rename = "ECDSA")]
    Ecdsa { curve: CurveParams, x: String, y: String },
    #[serde(rename = "DSA")]
    Dsa { parameters: DsaParameters, y: String },
}

/// A curve as Go's `elliptic.CurveParams` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CurveParams {
    name: &'static str,
    bit_size: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct DsaParameters {
    p: String,
    q: String,
    g: String,
}

/// Those that Go knows, by the identifiers of SEC 2.
const CURVES: [(&str, CurveParams); 4] = [
    ("1.3.132.0.33", CurveParams { name: "P-224", bit_size: 224 }),
    ("1.2.840.10045.3.1.7", CurveParams { name: "P-256", bit_size: 256 }),
    ("1.3.132.0.34", CurveParams { name: "P-384", bit_size: 384 }),
    ("1.3.132.0.35", CurveParams { name: "P-521", bit_size: 521 }),
];

impl PublicKeyData {
    pub(super) fn of(key: &SubjectPublicKeyInfo<'_>) -> Result<Self, CertificateError> {
        match key.parsed().map_err(CertificateError::malformed)? {
            PublicKey::RSA(rsa) => {
                let e = rsa
                    .try_exponent()
                    .map_err(|_| CertificateError::malformed("invalid RSA public exponent"))?;
                Ok(Self::Rsa { n: hex(rsa.modulus), e })
            }
            PublicKey::EC(point) => ecdsa(&key.algorithm, &point),
            PublicKey::DSA(y) => {
                let parameters = key.algorithm.parameters().and_then(dsa_parameters);
                let parameters =
                    parameters.ok_or_else(|| CertificateError::malformed("invalid DSA parameters"))?;
                Ok(Self::Dsa { parameters, y: hex(y) })
            }
            _ => Err(CertificateError::UnknownKey),
        }
    }
}

/// Of an uncompressed point (SEC 1, section 2.3.3).
fn ecdsa(
    algorithm: &AlgorithmIdentifier<'_>,
    point: &ECPoint<'_>,
) -> Result<PublicKeyData, CertificateError> {
    let named =
        algorithm.parameters().and_then(|curve| curve.as_oid().ok()).map(|curve| curve.to_id_string());
    let known = CURVES.iter().find(|(id, _)| named.as_deref() == Some(*id));
    let (_, curve) = known.ok_or_else(|| CertificateError::malformed("unsupported elliptic curve"))?;
    let bytes = curve.bit_size.div_ceil(8);
    match point.data() {
        [4, coordinates @ ..] if coordinates.len() == bytes * 2 => {
            let (x, y) = coordinates.split_at(bytes);
            Ok(PublicKeyData::Ecdsa { curve: *curve, x: hex(x), y: hex(y) })
        }
        _ => Err(CertificateError::malformed("failed to unmarshal elliptic curve point")),
    }
}

/// RFC 3279, section 2.3.2.
fn dsa_parameters(parameters: &Any<'_>) -> Option<DsaParameters> {
    let sequence = Sequence::try_from(parameters).ok()?;
    let (rest, p) = Integer::from_der(&sequence.content).ok()?;
    let (rest, q) = Integer::from_der(rest).ok()?;
    let (_, g) = Integer::from_der(rest).ok()?;
    let text = |number: &Integer<'_>| hex(number.as_ref());
    Some(DsaParameters { p: text(&p), q: text(&q), g: text(&g) })
}
