//! Encryption and derivation with keys that are plain bytes: AES in three modes, PBKDF2, digests.

use super::fault::CryptoFault;
use crate::modules::crypto::hash::Hasher;
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    self, DecryptionContext, EncryptingKey, EncryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use core::num::NonZeroU32;

/// The hashes of Web Cryptography.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// More would stop all users of a thread for minutes.
const ITERATIONS_MAX: u32 = 100_000_000;
const DERIVED_BYTES_MAX: usize = 1 << 20;

impl Hash {
    pub(crate) fn named(name: &str) -> Result<Self, CryptoFault> {
        match name.to_ascii_uppercase().as_str() {
            "SHA-1" => Ok(Self::Sha1),
            "SHA-256" => Ok(Self::Sha256),
            "SHA-384" => Ok(Self::Sha384),
            "SHA-512" => Ok(Self::Sha512),
            _ => Err(CryptoFault::unsupported(format!("unsupported hash algorithm: {name}"))),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        }
    }

    const fn short_name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// FIPS 180-4: how long blocks are, which is how long HMAC keys are by default.
    pub(crate) const fn block_bytes(self) -> usize {
        match self {
            Self::Sha1 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 => 128,
        }
    }

    pub(crate) fn digest(self, data: &[u8]) -> Vec<u8> {
        let mut hasher = Hasher::plain(self.short_name()).expect("names come from the table");
        hasher.update(data);
        hasher.digest()
    }

    pub(crate) fn hmac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut hasher = Hasher::keyed(self.short_name(), key).expect("names come from the table");
        hasher.update(data);
        hasher.digest()
    }
}

/// A mode of AES with what it needs beside key and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Aes {
    Cbc { iv: Vec<u8> },
    Ctr { counter: Vec<u8> },
    Gcm { iv: Vec<u8>, additional: Vec<u8>, tag_bits: usize },
}

fn block_key(key: &[u8]) -> Result<UnboundCipherKey, CryptoFault> {
    let algorithm = match key.len() {
        16 => &cipher::AES_128,
        24 => &cipher::AES_192,
        32 => &cipher::AES_256,
        _ => return Err(CryptoFault::operation("invalid key length")),
    };
    UnboundCipherKey::new(algorithm, key).map_err(|_| CryptoFault::operation("could not create AES cipher"))
}

fn gcm_key(key: &[u8]) -> Result<LessSafeKey, CryptoFault> {
    let algorithm = match key.len() {
        16 => &aead::AES_128_GCM,
        24 => &aead::AES_192_GCM,
        32 => &aead::AES_256_GCM,
        _ => return Err(CryptoFault::operation("invalid key length")),
    };
    let key =
        UnboundKey::new(algorithm, key).map_err(|_| CryptoFault::operation("could not create AES cipher"))?;
    Ok(LessSafeKey::new(key))
}

fn block(bytes: &[u8], what: &str) -> Result<FixedLength<16>, CryptoFault> {
    let block: [u8; 16] =
        bytes.try_into().map_err(|_| CryptoFault::operation(format!("{what} length is not 16 bytes")))?;
    Ok(FixedLength::from(block))
}

fn nonce(iv: &[u8]) -> Result<Nonce, CryptoFault> {
    Nonce::try_assume_unique_for_key(iv)
        .map_err(|_| CryptoFault::unsupported("only 12 bytes long iv are supported"))
}

impl Aes {
    pub(crate) fn encrypt(&self, key: &[u8], text: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let failed = |_| CryptoFault::operation("could not encrypt");
        let mut bytes = text.to_vec();
        match self {
            Self::Cbc { iv } => {
                let context = EncryptionContext::Iv128(block(iv, "iv")?);
                let key = PaddedBlockEncryptingKey::cbc_pkcs7(block_key(key)?).map_err(failed)?;
                key.less_safe_encrypt(&mut bytes, context).map_err(failed)?;
            }
            Self::Ctr { counter } => {
                let context = EncryptionContext::Iv128(block(counter, "counter")?);
                let key = EncryptingKey::ctr(block_key(key)?).map_err(failed)?;
                key.less_safe_encrypt(&mut bytes, context).map_err(failed)?;
            }
            Self::Gcm { iv, additional, tag_bits } => {
                let (key, nonce) = (gcm_key(key)?, nonce(iv)?);
                key.seal_in_place_append_tag(nonce, Aad::from(additional), &mut bytes).map_err(failed)?;
                // A shorter tag is the beginning of the whole (NIST SP 800-38D, 7.1).
                bytes.truncate(text.len() + tag_bits / 8);
            }
        }
        Ok(bytes)
    }

    pub(crate) fn decrypt(&self, key: &[u8], text: &[u8]) -> Result<Vec<u8>, CryptoFault> {
        let failed = |_| CryptoFault::operation("could not decrypt ciphertext");
        let mut bytes = text.to_vec();
        let length = match self {
            Self::Cbc { iv } => {
                let context = DecryptionContext::Iv128(block(iv, "iv")?);
                let key = PaddedBlockDecryptingKey::cbc_pkcs7(block_key(key)?).map_err(failed)?;
                key.decrypt(&mut bytes, context).map_err(failed)?.len()
            }
            // The key stream is the same both ways.
            Self::Ctr { .. } => return self.encrypt(key, text),
            Self::Gcm { iv, tag_bits, .. } if *tag_bits != 128 => {
                return self.open_with_short_tag(key, text, nonce(iv)?, tag_bits / 8);
            }
            Self::Gcm { iv, additional, .. } => {
                let (key, nonce) = (gcm_key(key)?, nonce(iv)?);
                key.open_in_place(nonce, Aad::from(additional), &mut bytes).map_err(failed)?.len()
            }
        };
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Decrypts what has the beginning of a tag. The key stream is the same both ways, so what is sealed again is the plain text, and what
    /// becomes of that has the whole tag.
    fn open_with_short_tag(
        &self,
        key: &[u8],
        text: &[u8],
        nonce: Nonce,
        tag_bytes: usize,
    ) -> Result<Vec<u8>, CryptoFault> {
        let failed = || CryptoFault::operation("could not decrypt ciphertext");
        let (sealed, tag) = text.split_at(text.len().checked_sub(tag_bytes).ok_or_else(failed)?);
        let mut plain = sealed.to_vec();
        let key_stream = gcm_key(key)?.seal_in_place_separate_tag(nonce, Aad::empty(), &mut plain);
        let _tag_of_ciphertext = key_stream.map_err(|_| failed())?;
        let again = self.encrypt(key, &plain)?;
        verify_slices_are_equal(&again[sealed.len()..], tag).map_err(|_| failed())?;
        Ok(plain)
    }
}

/// RFC 8018, 5.2.
pub(crate) fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    bytes: usize,
) -> Result<Vec<u8>, CryptoFault> {
    let algorithm = match hash {
        Hash::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
        Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Hash::Sha384 => pbkdf2::PBKDF2_HMAC_SHA384,
        Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
    };
    let iterations = NonZeroU32::new(iterations).filter(|count| count.get() <= ITERATIONS_MAX);
    let iterations = iterations.ok_or_else(|| {
        CryptoFault::operation(format!("iterations must be between 1 and {ITERATIONS_MAX}"))
    })?;
    if bytes == 0 || bytes > DERIVED_BYTES_MAX {
        return Err(CryptoFault::operation(format!(
            "length must be between 8 and {} bits",
            DERIVED_BYTES_MAX * 8
        )));
    }
    let mut derived = vec![0; bytes];
    pbkdf2::derive(algorithm, iterations, salt, password, &mut derived);
    Ok(derived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crypto::hash::hex;

    fn unhex(text: &str) -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
        (0..text.len()).step_by(2).map(digits).collect()
    }

    /// NIST SP 800-38A, F.2.1 and F.5.1, first blocks.
    #[test]
    fn published_block_modes() {
        let key = unhex("2b7e151628aed2a6abf7158809cf4f3c");
        let text = unhex("6bc1bee22e409f96e93d7e117393172a");
        let cbc = Aes::Cbc { iv: unhex("000102030405060708090a0b0c0d0e0f") };
        let encrypted = cbc.encrypt(&key, &text).expect("a good key");
        assert_eq!(hex(&encrypted[..16]), "7649abac8119b246cee98e9b12e9197d");
        assert_eq!(encrypted.len(), 32, "a block of padding follows");
        assert_eq!(cbc.decrypt(&key, &encrypted).expect("untouched"), text);
        let ctr = Aes::Ctr { counter: unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff") };
        let encrypted = ctr.encrypt(&key, &text).expect("a good key");
        assert_eq!(hex(&encrypted), "874d6191b620e3261bef6864990db6ce");
        assert_eq!(ctr.decrypt(&key, &encrypted).expect("untouched"), text);
        assert!(cbc.decrypt(&key, &encrypted).is_err(), "no padding is there");
        assert!(cbc.encrypt(&key[1..], &text).is_err());
    }

    /// `McGrew` and Viega, "The Galois/Counter Mode of Operation", test case 4.
    #[test]
    fn published_gcm() {
        let key = unhex("feffe9928665731c6d6a8f9467308308");
        let text = unhex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
             b16aedf5aa0de657ba637b39",
        );
        let gcm = |tag_bits| Aes::Gcm {
            iv: unhex("cafebabefacedbaddecaf888"),
            additional: unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
            tag_bits,
        };
        let encrypted = gcm(128).encrypt(&key, &text).expect("a good key");
        assert_eq!(hex(&encrypted[60..]), "5bc94fbc3221a5db94fae95ae7121a47");
        assert_eq!(gcm(128).decrypt(&key, &encrypted).expect("untouched"), text);
        assert_eq!(gcm(96).encrypt(&key, &text).expect("a good key"), encrypted[..72]);
        for tag_bits in [96, 104, 112, 120] {
            let mut short = encrypted[..60 + tag_bits / 8].to_vec();
            assert_eq!(gcm(tag_bits).decrypt(&key, &short).expect("untouched"), text, "{tag_bits}");
            *short.last_mut().expect("a tag") ^= 1;
            assert!(gcm(tag_bits).decrypt(&key, &short).is_err(), "{tag_bits}");
            assert!(gcm(tag_bits).decrypt(&key, &short[..8]).is_err(), "{tag_bits}: no whole tag");
        }
        let mut touched = encrypted;
        touched[0] ^= 1;
        assert!(gcm(128).decrypt(&key, &touched).is_err());
    }

    /// RFC 6070 and RFC 7914, 11.
    #[test]
    fn published_pbkdf2() {
        let derived = pbkdf2(Hash::Sha1, b"password", b"salt", 4096, 20).expect("in bounds");
        assert_eq!(hex(&derived), "4b007901b765489abead49d926f721d065a429c1");
        let derived = pbkdf2(Hash::Sha256, b"passwd", b"salt", 1, 64).expect("in bounds");
        assert_eq!(hex(&derived[..16]), "55ac046e56e3089fec1691c22544b605");
        assert!(pbkdf2(Hash::Sha1, b"a", b"b", 0, 20).is_err());
    }
}
