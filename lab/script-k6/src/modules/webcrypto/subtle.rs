//! `crypto.subtle`: arguments read, work done at once, results handed over as promises.

use super::arguments::{Algorithm, Failure, Key, data_of, hash_of, key_for};
use super::ciphers::pbkdf2;
use super::fault::CryptoFault;
use super::jwk;
use super::keys::Material;
use super::rsa_operations::RsaPadding;
use crate::modules::binding::array_buffer;
use crate::modules::crypto::random;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs as _, Object, Promise, Value};

type Outcome<'js> = Result<Value<'js>, Failure>;

pub(super) fn install<'js>(ctx: &Ctx<'js>, subtle: &Object<'js>) -> rquickjs::Result<()> {
    subtle.set("digest", Function::new(ctx.clone(), digest)?)?;
    subtle.set("generateKey", Function::new(ctx.clone(), generate_key)?)?;
    subtle.set("importKey", Function::new(ctx.clone(), import_key)?)?;
    subtle.set("exportKey", Function::new(ctx.clone(), export_key)?)?;
    subtle.set("sign", Function::new(ctx.clone(), sign)?)?;
    subtle.set("verify", Function::new(ctx.clone(), verify)?)?;
    subtle.set("encrypt", Function::new(ctx.clone(), encrypt)?)?;
    subtle.set("decrypt", Function::new(ctx.clone(), decrypt)?)?;
    subtle.set("deriveBits", Function::new(ctx.clone(), derive_bits)?)?;
    subtle.set("deriveKey", Function::new(ctx.clone(), derive_key)?)
}

/// A promise that is settled already.
fn promise<'js>(ctx: &Ctx<'js>, outcome: Outcome<'js>) -> rquickjs::Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    match outcome {
        Ok(value) => resolve.call::<_, ()>((value,))?,
        Err(Failure::Refused(fault)) => {
            let error = Exception::from_message(ctx.clone(), &fault.message)?;
            error.as_object().set("name", fault.name)?;
            reject.call::<_, ()>((error.into_object(),))?;
        }
        Err(Failure::Script(error)) if error.is_exception() => reject.call::<_, ()>((ctx.catch(),))?,
        Err(Failure::Script(error)) => {
            let error = Exception::from_message(ctx.clone(), &error.to_string())?;
            reject.call::<_, ()>((error.into_object(),))?;
        }
    }
    Ok(promise)
}

fn digest<'js>(ctx: Ctx<'js>, algorithm: Value<'js>, data: Value<'js>) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let hash = hash_of(&algorithm)?;
        Ok(array_buffer(&ctx, hash.digest(&data_of(&data)?))?)
    };
    promise(&ctx, work())
}

fn generate_key<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    is_extractable: Coerced<bool>,
    usages: Vec<String>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let algorithm = Algorithm::read(&algorithm)?;
        let hash = match algorithm.member("hash")? {
            Some(hash) => Some(hash_of(&hash)?),
            None => None,
        };
        let key = |material, is_extractable, usages| Key {
            algorithm: algorithm.name,
            hash,
            is_extractable,
            usages,
            material,
        };
        let (private, public) = match algorithm.name {
            "AES-CBC" | "AES-CTR" | "AES-GCM" => {
                let bits = algorithm.number("length")?.unwrap_or_default();
                if ![128, 192, 256].contains(&bits) {
                    return Err(CryptoFault::operation("invalid key length").into());
                }
                let material = Material::Secret(random(bits / 8));
                return Ok(key(material, is_extractable.0, usages.clone()).into_js(&ctx)?);
            }
            "HMAC" => {
                let bytes = algorithm
                    .number("length")?
                    .map_or(algorithm.hash()?.block_bytes(), |bits| bits.div_ceil(8));
                if bytes == 0 {
                    return Err(CryptoFault::operation("invalid key length").into());
                }
                let material = Material::Secret(random(bytes));
                return Ok(key(material, is_extractable.0, usages.clone()).into_js(&ctx)?);
            }
            "ECDSA" | "ECDH" => Material::generate_ec(algorithm.curve()?)?,
            "RSA-OAEP" | "RSA-PSS" | "RSASSA-PKCS1-v1_5" => {
                algorithm.hash()?;
                Material::generate_rsa(algorithm.number("modulusLength")?.unwrap_or_default())?
            }
            name => return Err(CryptoFault::unsupported(format!("{name} has no keys to generate")).into()),
        };
        let of =
            |names: &[&str]| usages.iter().filter(|usage| names.contains(&usage.as_str())).cloned().collect();
        let pair = Object::new(ctx.clone())?;
        let private =
            key(private, is_extractable.0, of(&["sign", "decrypt", "deriveKey", "deriveBits", "unwrapKey"]));
        let public = key(public, true, of(&["verify", "encrypt", "wrapKey"]));
        pair.set("privateKey", private.into_js(&ctx)?)?;
        pair.set("publicKey", public.into_js(&ctx)?)?;
        Ok(pair.into_value())
    };
    promise(&ctx, work())
}

fn import_key<'js>(
    ctx: Ctx<'js>,
    format: Coerced<String>,
    data: Value<'js>,
    algorithm: Value<'js>,
    is_extractable: Coerced<bool>,
    usages: Vec<String>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let algorithm = Algorithm::read(&algorithm)?;
        let is_ec = matches!(algorithm.name, "ECDSA" | "ECDH");
        let is_secret = matches!(algorithm.name, "AES-CBC" | "AES-CTR" | "AES-GCM" | "HMAC" | "PBKDF2");
        let material = match format.0.as_str() {
            "jwk" => {
                let object =
                    data.as_object().ok_or_else(|| CryptoFault::data("a JSON web key is an object"))?;
                jwk::read(|name| object.get::<_, Option<String>>(name).ok().flatten())?
            }
            "raw" if is_secret => Material::Secret(data_of(&data)?),
            "raw" if is_ec => Material::ec_public(algorithm.curve()?, &data_of(&data)?)?,
            "pkcs8" if is_ec => Material::ec_pkcs8(algorithm.curve()?, &data_of(&data)?)?,
            "spki" if is_ec => Material::ec_spki(algorithm.curve()?, &data_of(&data)?)?,
            "pkcs8" if !is_secret => Material::rsa_pkcs8(&data_of(&data)?)?,
            "spki" if !is_secret => Material::rsa_spki(&data_of(&data)?)?,
            format => {
                let message = format!("unsupported key format {format} for algorithm {}", algorithm.name);
                return Err(CryptoFault::unsupported(message).into());
            }
        };
        check_material(&algorithm, &material)?;
        let needs_hash = algorithm.name == "HMAC" || algorithm.name.starts_with("RSA");
        let hash = if needs_hash { Some(algorithm.hash()?) } else { None };
        let key = Key {
            algorithm: algorithm.name,
            hash,
            is_extractable: is_extractable.0,
            usages: usages.clone(),
            material,
        };
        Ok(key.into_js(&ctx)?)
    };
    promise(&ctx, work())
}

/// A key of the algorithm's kind and size.
fn check_material(algorithm: &Algorithm<'_>, material: &Material) -> Result<(), Failure> {
    let is_fitting = match (algorithm.name, material) {
        ("AES-CBC" | "AES-CTR" | "AES-GCM", Material::Secret(bytes)) => {
            if ![16, 24, 32].contains(&bytes.len()) {
                let message = format!("invalid key length {} bytes", bytes.len());
                return Err(CryptoFault::data(message).into());
            }
            true
        }
        ("HMAC" | "PBKDF2", Material::Secret(_)) => true,
        ("ECDSA" | "ECDH", Material::EcPrivate(curve, ..) | Material::EcPublic(curve, _)) => {
            *curve == algorithm.curve()?
        }
        (name, Material::RsaPrivate(_) | Material::RsaPublic(_)) => name.starts_with("RSA"),
        _ => false,
    };
    if is_fitting {
        return Ok(());
    }
    Err(CryptoFault::data(format!("the key is none of {}", algorithm.name)).into())
}

fn export_key<'js>(
    ctx: Ctx<'js>,
    format: Coerced<String>,
    key: Value<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let key = key_for(&ctx, &key, None, &[])?;
        if !key.is_extractable {
            return Err(CryptoFault::access("the key is not extractable").into());
        }
        let bytes = match (format.0.as_str(), &key.material) {
            ("jwk", material) => return write_jwk(&ctx, &key, material),
            ("raw", Material::Secret(bytes) | Material::EcPublic(_, bytes)) => bytes.clone(),
            ("pkcs8", material) => material.pkcs8()?,
            ("spki", material) => material.spki()?,
            (format, _) => {
                return Err(CryptoFault::unsupported(format!("unsupported key format {format}")).into());
            }
        };
        Ok(array_buffer(&ctx, bytes)?)
    };
    promise(&ctx, work())
}

fn write_jwk<'js>(ctx: &Ctx<'js>, key: &Key, material: &Material) -> Result<Value<'js>, Failure> {
    let object = Object::new(ctx.clone())?;
    for (name, text) in jwk::write(material)? {
        object.set(name, text)?;
    }
    let bits = match material {
        Material::Secret(bytes) => bytes.len() * 8,
        _ => 0,
    };
    let hash = key.hash.map(|hash| hash.name().trim_start_matches("SHA-")).unwrap_or_default();
    let name = match key.algorithm {
        "AES-CBC" => Some(format!("A{bits}CBC")),
        "AES-CTR" => Some(format!("A{bits}CTR")),
        "AES-GCM" => Some(format!("A{bits}GCM")),
        "HMAC" => Some(format!("HS{hash}")),
        "RSASSA-PKCS1-v1_5" => Some(format!("RS{hash}")),
        "RSA-PSS" => Some(format!("PS{hash}")),
        "RSA-OAEP" if hash == "1" => Some("RSA-OAEP".to_owned()),
        "RSA-OAEP" => Some(format!("RSA-OAEP-{hash}")),
        _ => None,
    };
    if let Some(name) = name {
        object.set("alg", name)?;
    }
    object.set("ext", key.is_extractable)?;
    object.set("key_ops", key.usages.clone())?;
    Ok(object.into_value())
}

/// With as much salt as the algorithm says, or none.
fn pss(algorithm: &Algorithm<'_>) -> Result<RsaPadding, Failure> {
    Ok(RsaPadding::Pss { salt_bytes: algorithm.number("saltLength")?.unwrap_or_default() })
}

fn sign<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    key: Value<'js>,
    data: Value<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let algorithm = Algorithm::read(&algorithm)?;
        let key = key_for(&ctx, &key, Some(algorithm.name), &["sign"])?;
        let data = data_of(&data)?;
        let signature = match algorithm.name {
            "HMAC" => key.hash()?.hmac(key.secret()?, &data),
            "ECDSA" => key.material.sign_ecdsa(algorithm.hash()?, &data)?,
            "RSA-PSS" => key.material.sign_rsa(pss(&algorithm)?, key.hash()?, &data)?,
            "RSASSA-PKCS1-v1_5" => key.material.sign_rsa(RsaPadding::Pkcs1, key.hash()?, &data)?,
            name => {
                return Err(
                    CryptoFault::unsupported(format!("unsupported algorithm for sign: {name}")).into()
                );
            }
        };
        Ok(array_buffer(&ctx, signature)?)
    };
    promise(&ctx, work())
}

fn verify<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    key: Value<'js>,
    signature: Value<'js>,
    data: Value<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let algorithm = Algorithm::read(&algorithm)?;
        let key = key_for(&ctx, &key, Some(algorithm.name), &["verify"])?;
        let (signature, data) = (data_of(&signature)?, data_of(&data)?);
        let is_good = match algorithm.name {
            "HMAC" => {
                let expected = key.hash()?.hmac(key.secret()?, &data);
                aws_lc_rs::constant_time::verify_slices_are_equal(&expected, &signature).is_ok()
            }
            "ECDSA" => key.material.verify_ecdsa(algorithm.hash()?, &data, &signature)?,
            "RSA-PSS" => key.material.verify_rsa(pss(&algorithm)?, key.hash()?, &data, &signature)?,
            "RSASSA-PKCS1-v1_5" => {
                key.material.verify_rsa(RsaPadding::Pkcs1, key.hash()?, &data, &signature)?
            }
            name => {
                return Err(
                    CryptoFault::unsupported(format!("unsupported algorithm for verify: {name}")).into()
                );
            }
        };
        Ok(is_good.into_js(&ctx)?)
    };
    promise(&ctx, work())
}

fn encrypt<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    key: Value<'js>,
    data: Value<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let outcome = crypt(&ctx, &algorithm, &key, &data, true);
    promise(&ctx, outcome)
}

fn decrypt<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    key: Value<'js>,
    data: Value<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let outcome = crypt(&ctx, &algorithm, &key, &data, false);
    promise(&ctx, outcome)
}

fn crypt<'js>(
    ctx: &Ctx<'js>,
    algorithm: &Value<'js>,
    key: &Value<'js>,
    data: &Value<'js>,
    is_encryption: bool,
) -> Outcome<'js> {
    let algorithm = Algorithm::read(algorithm)?;
    let key = key_for(ctx, key, Some(algorithm.name), &[if is_encryption { "encrypt" } else { "decrypt" }])?;
    let data = data_of(data)?;
    let bytes = match algorithm.name {
        "AES-CBC" | "AES-CTR" | "AES-GCM" => {
            let aes = algorithm.aes()?;
            if is_encryption {
                aes.encrypt(key.secret()?, &data)?
            } else {
                aes.decrypt(key.secret()?, &data)?
            }
        }
        "RSA-OAEP" => {
            let label =
                if algorithm.member("label")?.is_some() { algorithm.bytes("label")? } else { Vec::new() };
            let hash = key.hash()?;
            if is_encryption {
                key.material.encrypt_oaep(hash, &label, &data)?
            } else {
                key.material.decrypt_oaep(hash, &label, &data)?
            }
        }
        name => return Err(CryptoFault::unsupported(format!("unsupported algorithm: {name}")).into()),
    };
    Ok(array_buffer(ctx, bytes)?)
}

fn derive_bits<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    key: Value<'js>,
    length: Opt<Option<f64>>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let bits = length.0.flatten().map(|bits| bits as usize);
        Ok(array_buffer(&ctx, derived(&ctx, &algorithm, &key, bits, &["deriveBits"])?)?)
    };
    promise(&ctx, work())
}

fn derived<'js>(
    ctx: &Ctx<'js>,
    algorithm: &Value<'js>,
    key: &Value<'js>,
    bits: Option<usize>,
    usages: &[&str],
) -> Result<Vec<u8>, Failure> {
    let algorithm = Algorithm::read(algorithm)?;
    let key = key_for(ctx, key, Some(algorithm.name), usages)?;
    match algorithm.name {
        "PBKDF2" => {
            let bits = bits.filter(|bits| bits % 8 == 0);
            let bits = bits.ok_or_else(|| CryptoFault::operation("length must be a multiple of 8"))?;
            let iterations = algorithm.number("iterations")?.unwrap_or_default();
            let iterations = u32::try_from(iterations).unwrap_or(u32::MAX);
            Ok(pbkdf2(algorithm.hash()?, key.secret()?, &algorithm.bytes("salt")?, iterations, bits / 8)?)
        }
        "ECDH" => {
            let other = key_for(ctx, &algorithm.required("public")?, Some("ECDH"), &[])?;
            let mut secret = key.material.agree(&other.material)?;
            if let Some(bits) = bits {
                if bits > secret.len() * 8 {
                    return Err(CryptoFault::operation("length is too large").into());
                }
                secret.truncate(bits.div_ceil(8));
            }
            Ok(secret)
        }
        name => {
            Err(CryptoFault::unsupported(format!("unsupported algorithm for derive bits: {name}")).into())
        }
    }
}

fn derive_key<'js>(
    ctx: Ctx<'js>,
    algorithm: Value<'js>,
    base: Value<'js>,
    wanted: Value<'js>,
    is_extractable: Coerced<bool>,
    usages: Vec<String>,
) -> rquickjs::Result<Promise<'js>> {
    let work = || -> Outcome<'js> {
        let wanted = Algorithm::read(&wanted)?;
        let hash = if wanted.name == "HMAC" { Some(wanted.hash()?) } else { None };
        let bits = match (wanted.number("length")?, hash) {
            (Some(bits), _) => bits,
            (None, Some(hash)) => hash.block_bytes() * 8,
            (None, None) => return Err(CryptoFault::operation("length of the derived key is missing").into()),
        };
        let bytes = derived(&ctx, &algorithm, &base, Some(bits), &["deriveKey", "deriveBits"])?;
        let material = Material::Secret(bytes);
        check_material(&wanted, &material)?;
        let key = Key {
            algorithm: wanted.name,
            hash,
            is_extractable: is_extractable.0,
            usages: usages.clone(),
            material,
        };
        Ok(key.into_js(&ctx)?)
    };
    promise(&ctx, work())
}
