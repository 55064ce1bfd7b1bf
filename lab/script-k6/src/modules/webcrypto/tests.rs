//! Keys through all of their formats, and signatures that others made.

use super::ciphers::Hash;
use super::jwk;
use super::keys::{Curve, Material};
use super::rsa;
use super::rsa_operations::RsaPadding;

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digits).collect()
}

fn through_jwk(material: &Material) -> Material {
    let members = jwk::write(material).expect("a whole key");
    let find = |name: &str| members.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
    jwk::read(find).expect("what was written")
}

fn public_half(private: &Material) -> Material {
    match private {
        Material::EcPrivate(curve, _, point) => Material::EcPublic(*curve, point.clone()),
        Material::RsaPrivate(der) => {
            let numbers = rsa::read_private(der).expect("a key");
            Material::RsaPublic(rsa::write_public(&[&numbers[0], &numbers[1]]).expect("numbers"))
        }
        other => panic!("{other:?} is no private key"),
    }
}

/// RFC 6979, A.2.5: key pair and signature of "sample" with SHA-256.
#[test]
fn a_published_signature_is_good() {
    let x = "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6";
    let y = "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299";
    let scalar = unhex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    let signature = unhex(
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    );
    let public = Material::ec_public(Curve::P256, &unhex(&format!("04{x}{y}"))).expect("a point");
    assert_eq!(public.verify_ecdsa(Hash::Sha256, b"sample", &signature), Ok(true));
    assert_eq!(public.verify_ecdsa(Hash::Sha256, b"simple", &signature), Ok(false));
    let private = Material::ec_private(Curve::P256, &scalar).expect("a scalar");
    assert_eq!(public_half(&private), public);
}

#[test]
fn pairs_of_curves_sign_agree_and_come_back_from_their_formats() {
    for (curve, hash) in
        [(Curve::P256, Hash::Sha256), (Curve::P384, Hash::Sha384), (Curve::P521, Hash::Sha512)]
    {
        let (private, public) = Material::generate_ec(curve).expect("random numbers");
        let signature = private.sign_ecdsa(hash, b"text").expect("a private key");
        assert_eq!(signature.len(), curve.bytes() * 2);
        assert_eq!(public.verify_ecdsa(hash, b"text", &signature), Ok(true));
        assert_eq!(through_jwk(&private), private);
        assert_eq!(through_jwk(&public), public);
        assert_eq!(Material::ec_pkcs8(curve, &private.pkcs8().expect("private")).expect("written"), private);
        assert_eq!(Material::ec_spki(curve, &public.spki().expect("public")).expect("written"), public);
        let (other_private, other_public) = Material::generate_ec(curve).expect("random numbers");
        assert_eq!(
            private.agree(&other_public).expect("same curve"),
            other_private.agree(&public).expect("same curve")
        );
        assert!(public.sign_ecdsa(hash, b"text").is_err() && private.verify_ecdsa(hash, b"", b"").is_err());
    }
    assert!(Material::ec_public(Curve::P256, &[4; 65]).is_err(), "no point of the curve");
}

#[test]
fn rsa_signs_encrypts_and_comes_back_from_its_formats() {
    for bits in [1_024, 2_048] {
        let (private, public) = Material::generate_rsa(bits).expect("random numbers");
        for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384] {
            for padding in
                [RsaPadding::Pkcs1, RsaPadding::Pss { salt_bytes: 32 }, RsaPadding::Pss { salt_bytes: 0 }]
            {
                let signature = private.sign_rsa(padding, hash, b"text").expect("a private key");
                assert_eq!(signature.len(), bits / 8);
                assert_eq!(public.verify_rsa(padding, hash, b"text", &signature), Ok(true));
                assert_eq!(public.verify_rsa(padding, hash, b"other", &signature), Ok(false));
                assert_eq!(public.verify_rsa(padding, hash, b"text", &signature[1..]), Ok(false));
            }
        }
        let padding = RsaPadding::Pss { salt_bytes: 32 };
        let signature = private.sign_rsa(padding, Hash::Sha256, b"text").expect("a private key");
        assert_eq!(
            public.verify_rsa(RsaPadding::Pss { salt_bytes: 20 }, Hash::Sha256, b"text", &signature),
            Ok(false)
        );
        let encrypted = public.encrypt_oaep(Hash::Sha1, b"label", b"secret").expect("short enough");
        assert_eq!(private.decrypt_oaep(Hash::Sha1, b"label", &encrypted).expect("untouched"), b"secret");
        assert!(private.decrypt_oaep(Hash::Sha1, b"other", &encrypted).is_err());
        let unlabelled = public.encrypt_oaep(Hash::Sha256, b"", b"secret").expect("short enough");
        assert_eq!(private.decrypt_oaep(Hash::Sha256, b"", &unlabelled).expect("untouched"), b"secret");
        assert!(public.encrypt_oaep(Hash::Sha256, b"", &[0; 256]).is_err(), "too long");
        assert_eq!(through_jwk(&public), public);
        assert_eq!(through_jwk(&private), private);
        assert_eq!(public_half(&private), public);
        assert!(
            public.sign_rsa(padding, Hash::Sha256, b"").is_err()
                && private.verify_rsa(padding, Hash::Sha256, b"", b"").is_err()
        );
    }
    assert!(Material::generate_rsa(1_023).is_err() && Material::generate_rsa(8_193).is_err());
    assert!(Material::rsa_pkcs8(b"no key").is_err() && Material::rsa_spki(b"no key").is_err());
    let (elliptic, _) = Material::generate_ec(Curve::P256).expect("random numbers");
    assert!(Material::rsa_pkcs8(&elliptic.pkcs8().expect("private")).is_err());
}
