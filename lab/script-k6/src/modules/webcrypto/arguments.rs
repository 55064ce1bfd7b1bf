//! What the functions of `crypto.subtle` are given: algorithms, keys, and bytes.

use super::ciphers::{Aes, Hash};
use super::fault::CryptoFault;
use super::keys::{Curve, Material};
use super::rsa;
use crate::host::host_of;
use crate::modules::binding::{buffer_source, hold, with_held};
use crate::modules::log::{Level, Log};
use crate::vm::need_buffers;
use pkcs8::der;
use rquickjs::object::Property;
use rquickjs::{Coerced, Ctx, Object, TypedArray, Value};
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter keys of RSA are taken, and told of.
const SAFE_RSA_BITS: usize = 2_048;

/// What went wrong: the operation, or JavaScript itself.
pub(super) enum Failure {
    Refused(CryptoFault),
    Script(rquickjs::Error),
}

impl From<CryptoFault> for Failure {
    fn from(fault: CryptoFault) -> Self {
        Self::Refused(fault)
    }
}

impl From<rquickjs::Error> for Failure {
    fn from(error: rquickjs::Error) -> Self {
        Self::Script(error)
    }
}

/// An algorithm as scripts say it: a name, or an object with one.
pub(super) struct Algorithm<'js> {
    /// As the specification writes it.
    pub(super) name: &'static str,
    pub(super) object: Option<Object<'js>>,
}

pub(super) const NAMES: &[&str] = &[
    "AES-CBC",
    "AES-CTR",
    "AES-GCM",
    "HMAC",
    "ECDSA",
    "ECDH",
    "RSA-OAEP",
    "RSA-PSS",
    "RSASSA-PKCS1-v1_5",
    "PBKDF2",
];

impl<'js> Algorithm<'js> {
    pub(super) fn read(value: &Value<'js>) -> Result<Self, Failure> {
        let object = value.as_object().filter(|_| !value.is_string()).cloned();
        let name: String = match &object {
            Some(object) => object.get::<_, Coerced<String>>("name")?.0,
            None => value.get::<Coerced<String>>()?.0,
        };
        let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(&name));
        let name = known.ok_or_else(|| CryptoFault::unsupported(format!("unsupported algorithm: {name}")))?;
        Ok(Self { name, object })
    }

    pub(super) fn member(&self, name: &str) -> Result<Option<Value<'js>>, Failure> {
        let Some(object) = &self.object else { return Ok(None) };
        let value: Value<'js> = object.get(name)?;
        Ok((!value.is_undefined() && !value.is_null()).then_some(value))
    }

    pub(super) fn required(&self, name: &str) -> Result<Value<'js>, Failure> {
        let missing = || CryptoFault::syntax(format!("could not get {name} from algorithm parameter"));
        Ok(self.member(name)?.ok_or_else(missing)?)
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let refused = || CryptoFault::operation(format!("{name} must be an ArrayBuffer or a view of one"));
        Ok(buffer_source(&self.required(name)?).ok_or_else(refused)?)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, Failure> {
        Ok(self
            .member(name)?
            .map(|value| value.get::<Coerced<f64>>())
            .transpose()?
            .map(|number| number.0 as usize))
    }

    pub(super) fn hash(&self) -> Result<Hash, Failure> {
        hash_of(&self.required("hash")?)
    }

    pub(super) fn curve(&self) -> Result<Curve, Failure> {
        Ok(Curve::named(&self.required("namedCurve")?.get::<Coerced<String>>()?.0)?)
    }

    pub(super) fn aes(&self) -> Result<Aes, Failure> {
        Ok(match self.name {
            "AES-CBC" => Aes::Cbc { iv: self.bytes("iv")? },
            "AES-CTR" => Aes::Ctr { counter: self.bytes("counter")? },
            _ => {
                let additional = match self.member("additionalData")? {
                    Some(_) => self.bytes("additionalData")?,
                    None => Vec::new(),
                };
                let tag_bits = self.number("tagLength")?.unwrap_or(128);
                if ![96, 104, 112, 120, 128].contains(&tag_bits) {
                    let message = "invalid tag length, accepted values are 96, 104, 112, 120, 128";
                    return Err(CryptoFault::operation(message).into());
                }
                Aes::Gcm { iv: self.bytes("iv")?, additional, tag_bits }
            }
        })
    }
}

pub(super) fn hash_of(value: &Value<'_>) -> Result<Hash, Failure> {
    let name: Coerced<String> = match value.as_object().filter(|_| !value.is_string()) {
        Some(object) => object.get("name")?,
        None => value.get()?,
    };
    Ok(Hash::named(&name.0)?)
}

/// What a `CryptoKey` of JavaScript holds.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) algorithm: &'static str,
    pub(super) hash: Option<Hash>,
    pub(super) is_extractable: bool,
    pub(super) usages: Vec<String>,
    pub(super) material: Material,
}

impl Key {
    pub(super) fn kind(&self) -> &'static str {
        match self.material {
            Material::Secret(_) => "secret",
            Material::EcPrivate(..) | Material::RsaPrivate(_) => "private",
            Material::EcPublic(..) | Material::RsaPublic(_) => "public",
        }
    }

    pub(super) fn secret(&self) -> Result<&[u8], CryptoFault> {
        match &self.material {
            Material::Secret(bytes) => Ok(bytes),
            _ => Err(CryptoFault::access("the key is not a secret key")),
        }
    }

    pub(super) fn hash(&self) -> Result<Hash, CryptoFault> {
        self.hash.ok_or_else(|| CryptoFault::access("the key has no hash"))
    }

    pub(super) fn into_js<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let key = Object::new(ctx.clone())?;
        let algorithm = Object::new(ctx.clone())?;
        algorithm.set("name", self.algorithm)?;
        if let Some(hash) = self.hash {
            let object = Object::new(ctx.clone())?;
            object.set("name", hash.name())?;
            algorithm.set("hash", object)?;
        }
        match &self.material {
            Material::Secret(bytes) if self.algorithm != "PBKDF2" => {
                algorithm.set("length", bytes.len() * 8)?;
            }
            Material::EcPrivate(curve, ..) | Material::EcPublic(curve, _) => {
                algorithm.set("namedCurve", curve.name())?;
            }
            Material::RsaPrivate(der) => rsa_members(&algorithm, rsa::read_private(der))?,
            Material::RsaPublic(der) => rsa_members(&algorithm, rsa::read_public(der))?,
            Material::Secret(_) => {}
        }
        key.set("type", self.kind())?;
        key.set("extractable", self.is_extractable)?;
        key.set("algorithm", algorithm)?;
        key.set("usages", self.usages.clone())?;
        key.prop("_key", Property::from(hold(ctx, self)?))?;
        Ok(key.into_value())
    }
}

/// Once a script.
fn warn_of_short_key(ctx: &Ctx<'_>, bits: usize) {
    let script = &host_of(ctx).script;
    if !script.shared::<WarnedOfShortKey>().0.swap(true, Ordering::Relaxed) {
        let message = format!(
            "an RSA key of {bits} bits is taken; it is too short to be safe: use {SAFE_RSA_BITS} or more"
        );
        script.shared::<Log>().write(Level::Warning, &message, &[]);
    }
}

/// Whether a key that is too short was told of.
#[derive(Debug, Default)]
struct WarnedOfShortKey(AtomicBool);

/// `modulusLength` in bits and `publicExponent` as bytes, of a key's first two numbers.
fn rsa_members(algorithm: &Object<'_>, numbers: der::Result<Vec<Vec<u8>>>) -> rquickjs::Result<()> {
    let ctx = algorithm.ctx();
    let Ok([modulus, exponent, ..]) = numbers.as_deref() else { return Ok(()) };
    let zeros = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    let bits = modulus.len() * 8 - zeros;
    if bits < SAFE_RSA_BITS {
        warn_of_short_key(ctx, bits);
    }
    algorithm.set("modulusLength", bits)?;
    need_buffers(ctx)?;
    algorithm.set("publicExponent", TypedArray::<u8>::new_copy(ctx.clone(), exponent)?)
}

/// The key in a `CryptoKey`, which allows the usage and belongs to the algorithm.
pub(super) fn key_for<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    algorithm: Option<&'static str>,
    usages: &[&str],
) -> Result<Key, Failure> {
    let held: Option<Value<'js>> = value.as_object().map(|key| key.get("_key")).transpose()?;
    let held = held.ok_or_else(|| CryptoFault::access("the argument is not a CryptoKey"))?;
    let key = with_held(ctx, &held, |key: &mut Key| key.clone())?;
    if algorithm.is_some_and(|algorithm| algorithm != key.algorithm) {
        return Err(CryptoFault::access("key algorithm does not match the operation's").into());
    }
    if !usages.is_empty() && !usages.iter().any(|usage| key.usages.iter().any(|known| known == usage)) {
        return Err(CryptoFault::access(format!("key does not allow {}", usages.join(" or "))).into());
    }
    Ok(key)
}

pub(super) fn data_of(value: &Value<'_>) -> Result<Vec<u8>, Failure> {
    let refused = || CryptoFault {
        name: "TypeError",
        message: "data must be an ArrayBuffer or a view of one".to_owned(),
    };
    Ok(buffer_source(value).ok_or_else(refused)?)
}
