//! The hashes of `k6/crypto`, plain and keyed, and how their digests are written. Bytes in, bytes out.

use crate::modules::encoding::base64_text::{Alphabet, encode};
use hmac::digest::block_api::BlockSizeUser;
use hmac::{KeyInit, Mac, SimpleHmac};
use sha2::Digest;
use std::fmt;

/// A hash that is still being fed. Looking at its digest does not end it, as in k6.
pub(crate) struct Hasher(Box<dyn Feed>);

trait Feed {
    fn feed(&mut self, bytes: &[u8]);
    fn digest(&self) -> Vec<u8>;
}

struct Plain<D>(D);

impl<D: Digest + Clone> Feed for Plain<D> {
    fn feed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn digest(&self) -> Vec<u8> {
        self.0.clone().finalize().to_vec()
    }
}

/// RFC 2104.
struct Keyed<D: Digest + BlockSizeUser>(SimpleHmac<D>);

impl<D: Digest + BlockSizeUser + Clone> Feed for Keyed<D> {
    fn feed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn digest(&self) -> Vec<u8> {
        self.0.clone().finalize().into_bytes().to_vec()
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

impl Hasher {
    /// `None` where k6 knows no hash of this name.
    pub(crate) fn plain(name: &str) -> Option<Self> {
        Self::new(name, None)
    }

    pub(crate) fn keyed(name: &str, key: &[u8]) -> Option<Self> {
        Self::new(name, Some(key))
    }

    fn new(name: &str, key: Option<&[u8]>) -> Option<Self> {
        Some(match name {
            "md4" => of::<md4::Md4>(key),
            "md5" => of::<md5::Md5>(key),
            "sha1" => of::<sha1::Sha1>(key),
            "sha256" => of::<sha2::Sha256>(key),
            "sha384" => of::<sha2::Sha384>(key),
            "sha512" => of::<sha2::Sha512>(key),
            "sha512_224" => of::<sha2::Sha512_224>(key),
            "sha512_256" => of::<sha2::Sha512_256>(key),
            "ripemd160" => of::<ripemd::Ripemd160>(key),
            _ => return None,
        })
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.feed(bytes);
    }

    pub(crate) fn digest(&self) -> Vec<u8> {
        self.0.digest()
    }
}

fn of<D: Digest + BlockSizeUser + Clone + 'static>(key: Option<&[u8]>) -> Hasher {
    let Some(key) = key else { return Hasher(Box::new(Plain(D::new()))) };
    let keyed = SimpleHmac::<D>::new_from_slice(key).expect("HMAC takes keys of any length");
    Hasher(Box::new(Keyed(keyed)))
}

/// How a digest is handed to the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EncodedDigest {
    Text(String),
    /// An `ArrayBuffer`.
    Binary(Vec<u8>),
}

/// `None` where k6 knows no such output encoding.
pub(crate) fn write(digest: Vec<u8>, encoding: &str) -> Option<EncodedDigest> {
    Some(match encoding {
        "hex" => EncodedDigest::Text(hex(&digest)),
        "base64" => EncodedDigest::Text(encode(&digest, Alphabet::Standard)),
        "base64url" => EncodedDigest::Text(encode(&digest, Alphabet::Url)),
        "base64rawurl" => EncodedDigest::Text(encode(&digest, Alphabet::RawUrl)),
        "binary" => EncodedDigest::Binary(digest),
        _ => return None,
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(name: &str, text: &str) -> String {
        let mut hasher = Hasher::plain(name).expect("a known hash");
        hasher.update(text.as_bytes());
        hex(&hasher.digest())
    }

    /// From RFC 1320, RFC 1321, FIPS 180-4's examples and the RIPEMD-160 paper.
    #[test]
    fn published_digests() {
        let vectors = [
            ("md4", "abc", "a448017aaf21d8525fc10ae87aa6729d"),
            ("md5", "abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("md5", "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("sha256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "sha384",
                "abc",
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
            ),
            (
                "sha512",
                "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            ("sha512_224", "abc", "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"),
            ("sha512_256", "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            ("ripemd160", "abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
        ];
        for (name, text, expected) in vectors {
            assert_eq!(digest(name, text), expected, "{name}");
        }
    }

    /// From RFC 2202 and RFC 4231, case 2 of each.
    #[test]
    fn published_keyed_digests() {
        let vectors = [
            ("md5", "750c783e6ab0b503eaa86e310a5db738"),
            ("sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            ("sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                "sha384",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
            ),
        ];
        for (name, expected) in vectors {
            let mut hasher = Hasher::keyed(name, b"Jefe").expect("a known hash");
            hasher.update(b"what do ya want ");
            hasher.update(b"for nothing?");
            assert_eq!(hex(&hasher.digest()), expected, "{name}");
        }
    }

    #[test]
    fn a_digest_does_not_end_its_hash() {
        let mut hasher = Hasher::plain("sha1").expect("a known hash");
        hasher.update(b"a");
        let first = hasher.digest();
        assert_eq!(first, hasher.digest());
        hasher.update(b"bc");
        assert_eq!(hex(&hasher.digest()), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }

    #[test]
    fn digests_are_written_as_asked() {
        let bytes = vec![0xfb, 0xff, 0x01, 0x02];
        let text = |encoding| match write(bytes.clone(), encoding) {
            Some(EncodedDigest::Text(text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(text("hex"), "fbff0102");
        assert_eq!(text("base64"), "+/8BAg==");
        assert_eq!(text("base64url"), "-_8BAg==");
        assert_eq!(text("base64rawurl"), "-_8BAg");
        assert_eq!(write(bytes.clone(), "binary"), Some(EncodedDigest::Binary(bytes.clone())));
        assert_eq!(write(bytes, "octal"), None);
        assert!(Hasher::plain("sha3").is_none());
    }
}
