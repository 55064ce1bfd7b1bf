//! JSON Web Keys and sets of them (RFC 7517, 7518, 8037).

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value as Json};

use super::{
    algorithm::{Algorithm, KeyFamily},
    key::{KeyFault, VerificationKey},
    strict_json,
};

/// Keys that a set may have.
const MAX_KEYS: usize = 256;

/// Where keys come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    /// A file of whoever runs the server, which may hold secrets; a key that cannot be used is a mistake.
    File,
    /// An address, where everybody may read what stands there; keys that cannot be used are for others.
    Address,
}

/// What became of a key set that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedKeySet {
    /// Keys that can verify tokens.
    pub keys: usize,
    /// Keys that are for something else.
    pub skipped: usize,
}

/// The keys of a JWK or of a set of them, each for those of the algorithms that it fits.
///
/// # Errors
/// There is no key, or, in a file, one that cannot be used.
pub(crate) fn key_set(
    body: &[u8],
    algorithms: &[Algorithm],
    origin: KeyOrigin,
) -> Result<(Vec<Arc<VerificationKey>>, FetchedKeySet), KeyFault> {
    let object = strict_json::object(body).map_err(|_| KeyFault::Unreadable)?;
    let single = [Json::Object(object)];
    let written = match single[0].get("keys") {
        Some(Json::Array(keys)) => keys.as_slice(),
        None if single[0].get("kty").is_some() => &single,
        _ => return Err(KeyFault::Unreadable),
    };
    if written.len() > MAX_KEYS {
        return Err(KeyFault::Jwk("a key set has more than 256 keys"));
    }
    let mut keys = Vec::new();
    let mut skipped = 0;
    for key in written {
        match (
            key.as_object()
                .ok_or(KeyFault::Jwk("a key is no object"))
                .and_then(|key| read(key, algorithms, origin)),
            origin,
        ) {
            (Ok(key), _) => keys.push(Arc::new(key)),
            (Err(fault), KeyOrigin::File) => return Err(fault),
            (Err(_), KeyOrigin::Address) => skipped += 1,
        }
    }
    if keys.is_empty() {
        return Err(KeyFault::Jwk("no key of the set is for the configured algorithms"));
    }
    let fetched = FetchedKeySet { keys: keys.len(), skipped };
    Ok((keys, fetched))
}

fn read(
    key: &Map<String, Json>,
    algorithms: &[Algorithm],
    origin: KeyOrigin,
) -> Result<VerificationKey, KeyFault> {
    let pinned = usable_for(key, algorithms)?;
    let of = |families: &[KeyFamily]| -> Vec<Algorithm> {
        pinned.iter().copied().filter(|algorithm| families.contains(&algorithm.family())).collect()
    };
    let id = match key.get("kid") {
        None => None,
        Some(Json::String(id)) => Some(id.as_str()),
        Some(_) => return Err(KeyFault::Jwk("`kid` of a key is no text")),
    };
    let kind = text(key, "kty")?;
    if kind != "oct" && key.contains_key("d") {
        return Err(KeyFault::Private);
    }
    match kind {
        "RSA" => {
            let (modulus, exponent) = (number(key, "n")?, number(key, "e")?);
            VerificationKey::rsa(id, &modulus, &exponent, &of(&[KeyFamily::Rsa]))
        }
        "EC" => {
            let (family, coordinate_bytes) = match text(key, "crv")? {
                "P-256" => (KeyFamily::P256, 32),
                "P-384" => (KeyFamily::P384, 48),
                "P-521" => (KeyFamily::P521, 66),
                _ => return Err(KeyFault::Jwk("`crv` of a key is another curve than P-256, P-384 or P-521")),
            };
            let (x, y) = (bytes(key, "x")?, bytes(key, "y")?);
            if x.len() != coordinate_bytes || y.len() != coordinate_bytes {
                return Err(KeyFault::Jwk("`x` and `y` of a key have another length than its curve"));
            }
            // An uncompressed point (SEC 1, section 2.3.3).
            let point = [&[4][..], &x, &y].concat();
            VerificationKey::public(id, &point, &of(&[family]))
        }
        "OKP" if text(key, "crv")? == "Ed25519" => {
            let x = bytes(key, "x")?;
            if x.len() != 32 {
                return Err(KeyFault::Jwk("`x` of a key for Ed25519 has not 32 bytes"));
            }
            VerificationKey::public(id, &x, &of(&[KeyFamily::Ed25519]))
        }
        "oct" if origin == KeyOrigin::File => {
            VerificationKey::secret(id, &bytes(key, "k")?, &of(&[KeyFamily::Secret]))
        }
        "oct" => Err(KeyFault::Jwk("a secret stands where everybody may read it")),
        _ => Err(KeyFault::Jwk("`kty` of a key is another kind than RSA, EC, OKP (Ed25519) or oct")),
    }
}

/// The algorithms that a key may be used for, by what is configured and by what it says itself.
fn usable_for(key: &Map<String, Json>, algorithms: &[Algorithm]) -> Result<Vec<Algorithm>, KeyFault> {
    if key.get("use").is_some_and(|usage| usage != "sig") {
        return Err(KeyFault::Jwk("`use` of a key is not `sig`"));
    }
    let verifies = |operations: &Json| {
        operations.as_array().is_some_and(|all| all.iter().any(|operation| operation == "verify"))
    };
    if key.get("key_ops").is_some_and(|operations| !verifies(operations)) {
        return Err(KeyFault::Jwk("`key_ops` of a key has no `verify`"));
    }
    let Some(own) = key.get("alg") else { return Ok(algorithms.to_vec()) };
    let own: Option<Algorithm> = own.as_str().and_then(|own| own.parse().ok());
    own.filter(|own| algorithms.contains(own)).map(|own| vec![own]).ok_or(KeyFault::Algorithms)
}

fn text<'k>(key: &'k Map<String, Json>, name: &'static str) -> Result<&'k str, KeyFault> {
    key.get(name).and_then(Json::as_str).ok_or(KeyFault::Jwk("a member of a key is missing or no text"))
}

fn bytes(key: &Map<String, Json>, name: &'static str) -> Result<Vec<u8>, KeyFault> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(text(key, name)?);
    decoded.map_err(|_| KeyFault::Jwk("a member of a key is not base64url"))
}

/// A number, big-endian without the leading zeros that some write.
fn number(key: &Map<String, Json>, name: &'static str) -> Result<Vec<u8>, KeyFault> {
    let decoded = bytes(key, name)?;
    let first = decoded.iter().position(|byte| *byte != 0).unwrap_or(decoded.len());
    Ok(decoded[first..].to_vec())
}
