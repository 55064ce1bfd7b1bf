//! RSA keys between their integers and their files: PKCS 1 within PKCS 8 and `SubjectPublicKeyInfo` (RFC 8017, A.1).

use pkcs1::{RsaPrivateKey, RsaPrivateKeyRef, RsaPublicKey, RsaPublicKeyRef, UintRef};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{BitStringRef, OctetStringRef};
use pkcs8::der::{self, Decode as _, Encode as _};
use pkcs8::spki::SubjectPublicKeyInfoRef;

/// Modulus and exponent as `SubjectPublicKeyInfo`.
pub(super) fn write_public(numbers: &[&[u8]; 2]) -> der::Result<Vec<u8>> {
    let [modulus, public_exponent] = unsigned(numbers)?;
    let key = RsaPublicKey { modulus, public_exponent }.to_der()?;
    let info = SubjectPublicKeyInfoRef {
        algorithm: pkcs1::ALGORITHM_ID,
        subject_public_key: BitStringRef::from_bytes(&key)?,
    };
    info.to_der()
}

/// n, e, d, p, q, dp, dq, qi as PKCS 8.
pub(super) fn write_private(numbers: &[&[u8]; 8]) -> der::Result<Vec<u8>> {
    let [modulus, public_exponent, private_exponent, prime1, prime2, exponent1, exponent2, coefficient] =
        unsigned(numbers)?;
    let key = RsaPrivateKey {
        modulus,
        public_exponent,
        private_exponent,
        prime1,
        prime2,
        exponent1,
        exponent2,
        coefficient,
        other_prime_infos: None,
    };
    PrivateKeyInfoRef::new(pkcs1::ALGORITHM_ID, OctetStringRef::new(&key.to_der()?)?).to_der()
}

/// The two numbers of [`write_public`].
pub(super) fn read_public(der: &[u8]) -> der::Result<Vec<Vec<u8>>> {
    let info = SubjectPublicKeyInfoRef::from_der(der)?;
    let key = RsaPublicKeyRef::from_der(info.subject_public_key.raw_bytes())?;
    Ok([key.modulus, key.public_exponent].map(|number| number.as_bytes().to_vec()).to_vec())
}

/// The eight numbers of [`write_private`].
pub(super) fn read_private(der: &[u8]) -> der::Result<Vec<Vec<u8>>> {
    let info = PrivateKeyInfoRef::from_der(der)?;
    let key = RsaPrivateKeyRef::from_der(info.private_key.as_bytes())?;
    let numbers = [
        key.modulus,
        key.public_exponent,
        key.private_exponent,
        key.prime1,
        key.prime2,
        key.exponent1,
        key.exponent2,
        key.coefficient,
    ];
    Ok(numbers.map(|number| number.as_bytes().to_vec()).to_vec())
}

fn unsigned<'a, const COUNT: usize>(numbers: &[&'a [u8]; COUNT]) -> der::Result<[UintRef<'a>; COUNT]> {
    let mut unsigned = [UintRef::new(&[0])?; COUNT];
    for (number, bytes) in unsigned.iter_mut().zip(numbers) {
        *number = UintRef::new(bytes)?;
    }
    Ok(unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_went() {
        let long = [0xff; 300];
        let numbers: [&[u8]; 8] = [&long, &[1, 0, 1], &[0x7f], &[0x80], &[1], &[2], &[3], &[4]];
        let private = write_private(&numbers).expect("numbers");
        assert_eq!(read_private(&private).expect("what was written"), numbers);
        let public = write_public(&[&long, &[0, 0, 3]]).expect("numbers");
        assert_eq!(read_public(&public).expect("what was written"), [&long[..], &[3]]);
        assert!(read_public(&[0x30, 0x85, 1, 2]).is_err());
    }
}
