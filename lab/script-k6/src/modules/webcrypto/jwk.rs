//! Keys as JSON Web Keys (RFC 7517, RFC 7518): members as base64url of big-endian numbers.

use super::fault::CryptoFault;
use super::keys::{Curve, Material};
use super::rsa;
use crate::modules::encoding::base64_text::{Alphabet, decode, encode};

/// The members that RFC 7518 gives the numbers of an RSA key, in the order of PKCS 1.
const RSA_MEMBERS: [&str; 8] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];

/// Names and texts of the members that hold the key, `kty` first.
pub(crate) fn write(material: &Material) -> Result<Vec<(&'static str, String)>, CryptoFault> {
    let text = |bytes: &[u8]| encode(bytes, Alphabet::RawUrl);
    let unreadable = |_| CryptoFault::operation("the key cannot be read");
    let members = match material {
        Material::Secret(bytes) => vec![("kty", "oct".to_owned()), ("k", text(bytes))],
        Material::EcPublic(curve, point) => ec_members(*curve, point),
        Material::EcPrivate(curve, scalar, point) => {
            let mut members = ec_members(*curve, point);
            members.push(("d", text(scalar)));
            members
        }
        Material::RsaPublic(der) | Material::RsaPrivate(der) => {
            let numbers = match material {
                Material::RsaPublic(_) => rsa::read_public(der),
                _ => rsa::read_private(der),
            };
            let numbers = numbers.map_err(unreadable)?;
            let members = RSA_MEMBERS.into_iter().zip(numbers.iter().map(|number| text(number)));
            [("kty", "RSA".to_owned())].into_iter().chain(members).collect()
        }
    };
    Ok(members)
}

fn ec_members(curve: Curve, point: &[u8]) -> Vec<(&'static str, String)> {
    let (x, y) = point[1..].split_at(curve.bytes());
    let text = |bytes: &[u8]| encode(bytes, Alphabet::RawUrl);
    vec![("kty", "EC".to_owned()), ("crv", curve.name().to_owned()), ("x", text(x)), ("y", text(y))]
}

/// `member` gives the text of a member.
pub(crate) fn read(member: impl Fn(&str) -> Option<String>) -> Result<Material, CryptoFault> {
    let bytes = |name: &str| {
        let text =
            member(name).ok_or_else(|| CryptoFault::data(format!("the JSON web key has no {name}")))?;
        decode(text.trim_end_matches('='), Alphabet::RawUrl)
            .map_err(|fault| CryptoFault::data(format!("{name} of the JSON web key: {fault}")))
    };
    match member("kty").as_deref() {
        Some("oct") => Ok(Material::Secret(bytes("k")?)),
        Some("EC") => {
            let curve = Curve::named(&member("crv").unwrap_or_default())?;
            if member("d").is_some() {
                return Material::ec_private(curve, &bytes("d")?);
            }
            Material::ec_public(curve, &[&[4][..], &bytes("x")?, &bytes("y")?].concat())
        }
        Some("RSA") => {
            let names = if member("d").is_some() { &RSA_MEMBERS[..] } else { &RSA_MEMBERS[..2] };
            let numbers = names.iter().map(|name| bytes(name)).collect::<Result<Vec<_>, _>>()?;
            let too_long = |_| CryptoFault::data("a number of the JSON web key is too long");
            let numbers: Vec<&[u8]> = numbers.iter().map(Vec::as_slice).collect();
            if let Ok(numbers) = <&[&[u8]; 8]>::try_from(numbers.as_slice()) {
                return Material::rsa_pkcs8(&rsa::write_private(numbers).map_err(too_long)?);
            }
            Material::rsa_spki(&rsa::write_public(&[numbers[0], numbers[1]]).map_err(too_long)?)
        }
        _ => Err(CryptoFault::data("kty of a JSON web key must be oct, EC or RSA")),
    }
}
