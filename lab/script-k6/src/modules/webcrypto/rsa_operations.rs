//! What RSA keys do, by the library beneath aws-lc-rs: the functions of aws-lc-rs itself take no key of fewer than 2,048
//! bits, sign nothing with SHA-1, and know one length of salt.

#![expect(unsafe_code, reason = "the library is one of C")]

use super::ciphers::Hash;
use aws_lc_sys as c;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

/// As Go, which takes shorter ones for a mistake.
pub(super) const BITS_MIN: usize = 1_024;
/// Longer ones take minutes to be made.
pub(super) const BITS_MAX: usize = 8_192;

/// How RSA signs (RFC 8017, sections 8.1 and 8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RsaPadding {
    Pkcs1,
    Pss { salt_bytes: usize },
}

/// A key, private or public.
pub(super) struct RsaKey(NonNull<c::EVP_PKEY>);

/// An operation of a key that takes parameters.
struct Operation(NonNull<c::EVP_PKEY_CTX>);

/// A signature that is made or looked at.
struct Digest(NonNull<c::EVP_MD_CTX>);

type Begin = unsafe extern "C" fn(*mut c::EVP_PKEY_CTX) -> c_int;
type Transform = unsafe extern "C" fn(*mut c::EVP_PKEY_CTX, *mut u8, *mut usize, *const u8, usize) -> c_int;
type Write = unsafe extern "C" fn(*mut c::CBB, *const c::EVP_PKEY) -> c_int;
type Read = unsafe extern "C" fn(*mut c::CBS) -> *mut c::EVP_PKEY;

/// What functions of the library return where all went well is 1. What went wrong stays in a queue of the thread, which nobody reads.
fn done(returned: c_int) -> Option<()> {
    if returned == 1 {
        return Some(());
    }
    // SAFETY: the queue is the thread's own.
    unsafe { c::ERR_clear_error() };
    None
}

fn digest(hash: Hash) -> *const c::EVP_MD {
    // SAFETY: these give pointers to constants.
    unsafe {
        match hash {
            Hash::Sha1 => c::EVP_sha1(),
            Hash::Sha256 => c::EVP_sha256(),
            Hash::Sha384 => c::EVP_sha384(),
            Hash::Sha512 => c::EVP_sha512(),
        }
    }
}

impl RsaKey {
    /// With the public exponent 65,537.
    pub(super) fn generate(bits: usize) -> Option<Self> {
        let bits = c_int::try_from(bits).ok()?;
        let mut key = ptr::null_mut();
        // SAFETY: the operation is a new one of RSA, and the library writes a key of our own.
        unsafe {
            let operation =
                Operation(NonNull::new(c::EVP_PKEY_CTX_new_id(c::EVP_PKEY_RSA, ptr::null_mut()))?);
            done(c::EVP_PKEY_keygen_init(operation.0.as_ptr()))?;
            done(c::EVP_PKEY_CTX_set_rsa_keygen_bits(operation.0.as_ptr(), bits))?;
            done(c::EVP_PKEY_keygen(operation.0.as_ptr(), &raw mut key))?;
        }
        NonNull::new(key).map(Self)
    }

    /// Of PKCS 8.
    pub(super) fn private(der: &[u8]) -> Option<Self> {
        Self::read(der, c::EVP_parse_private_key)
    }

    /// Of `SubjectPublicKeyInfo`.
    pub(super) fn public(der: &[u8]) -> Option<Self> {
        Self::read(der, c::EVP_parse_public_key)
    }

    fn read(der: &[u8], read: Read) -> Option<Self> {
        let mut reader = MaybeUninit::<c::CBS>::uninit();
        // SAFETY: the reader is initialised first, and the bytes outlive it.
        let (key, left) = unsafe {
            c::CBS_init(reader.as_mut_ptr(), der.as_ptr(), der.len());
            (NonNull::new(read(reader.as_mut_ptr())), c::CBS_len(reader.as_ptr()))
        };
        let Some(key) = key.map(Self) else {
            return done(0).and(None);
        };
        // SAFETY: the key is alive.
        let (kind, bits) = unsafe { (c::EVP_PKEY_id(key.0.as_ptr()), c::EVP_PKEY_bits(key.0.as_ptr())) };
        let is_fitting = kind == c::EVP_PKEY_RSA && left == 0;
        (is_fitting && usize::try_from(bits).is_ok_and(|bits| bits >= BITS_MIN)).then_some(key)
    }

    pub(super) fn pkcs8(&self) -> Option<Vec<u8>> {
        self.written(c::EVP_marshal_private_key)
    }

    pub(super) fn spki(&self) -> Option<Vec<u8>> {
        self.written(c::EVP_marshal_public_key)
    }

    fn written(&self, write: Write) -> Option<Vec<u8>> {
        let mut writer = MaybeUninit::<c::CBB>::zeroed();
        let (mut bytes, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the writer is initialised first and finished or cleaned up once; what it has written is copied and freed.
        unsafe {
            done(c::CBB_init(writer.as_mut_ptr(), 0))?;
            let written = done(write(writer.as_mut_ptr(), self.0.as_ptr()))
                .and_then(|()| done(c::CBB_finish(writer.as_mut_ptr(), &raw mut bytes, &raw mut length)));
            if written.is_none() {
                c::CBB_cleanup(writer.as_mut_ptr());
                return None;
            }
            let copy = slice::from_raw_parts(bytes, length).to_vec();
            c::OPENSSL_free(bytes.cast());
            Some(copy)
        }
    }

    /// The most bytes of a signature or a text that is hidden.
    fn bytes(&self) -> usize {
        // SAFETY: the key is alive.
        usize::try_from(unsafe { c::EVP_PKEY_size(self.0.as_ptr()) }).unwrap_or_default()
    }

    pub(super) fn sign(&self, padding: RsaPadding, hash: Hash, data: &[u8]) -> Option<Vec<u8>> {
        let work = Digest::new()?;
        let mut parameters = ptr::null_mut();
        let mut signature = vec![0; self.bytes()];
        let mut length = signature.len();
        // SAFETY: key and work are alive; the parameters are the work's; `length` says how much may be written.
        unsafe {
            let (work, key) = (work.0.as_ptr(), self.0.as_ptr());
            done(c::EVP_DigestSignInit(work, &raw mut parameters, digest(hash), ptr::null_mut(), key))?;
            set_padding(parameters, padding)?;
            let out = signature.as_mut_ptr();
            done(c::EVP_DigestSign(work, out, &raw mut length, data.as_ptr(), data.len()))?;
        }
        signature.truncate(length);
        Some(signature)
    }

    /// None where the key cannot be used so.
    pub(super) fn verify(
        &self,
        padding: RsaPadding,
        hash: Hash,
        data: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        let work = Digest::new()?;
        let mut parameters = ptr::null_mut();
        // SAFETY: key and work are alive, the parameters are the work's, and slices are only read.
        unsafe {
            let (work, key) = (work.0.as_ptr(), self.0.as_ptr());
            done(c::EVP_DigestVerifyInit(work, &raw mut parameters, digest(hash), ptr::null_mut(), key))?;
            set_padding(parameters, padding)?;
            let (bytes, length) = (signature.as_ptr(), signature.len());
            Some(done(c::EVP_DigestVerify(work, bytes, length, data.as_ptr(), data.len())).is_some())
        }
    }

    /// RSAES-OAEP (RFC 8017, section 7.1), with the hash for the mask too.
    pub(super) fn encrypt(&self, hash: Hash, label: &[u8], text: &[u8]) -> Option<Vec<u8>> {
        self.transformed((c::EVP_PKEY_encrypt_init, c::EVP_PKEY_encrypt), hash, label, text)
    }

    pub(super) fn decrypt(&self, hash: Hash, label: &[u8], text: &[u8]) -> Option<Vec<u8>> {
        self.transformed((c::EVP_PKEY_decrypt_init, c::EVP_PKEY_decrypt), hash, label, text)
    }

    fn transformed(
        &self,
        (begin, transform): (Begin, Transform),
        hash: Hash,
        label: &[u8],
        text: &[u8],
    ) -> Option<Vec<u8>> {
        let mut out = vec![0; self.bytes()];
        let mut length = out.len();
        // SAFETY: key and operation are alive; `length` says how much may be written.
        unsafe {
            let operation = Operation(NonNull::new(c::EVP_PKEY_CTX_new(self.0.as_ptr(), ptr::null_mut()))?);
            let context = operation.0.as_ptr();
            done(begin(context))?;
            done(c::EVP_PKEY_CTX_set_rsa_padding(context, c::RSA_PKCS1_OAEP_PADDING))?;
            done(c::EVP_PKEY_CTX_set_rsa_oaep_md(context, digest(hash)))?;
            done(c::EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest(hash)))?;
            set_label(context, label)?;
            done(transform(context, out.as_mut_ptr(), &raw mut length, text.as_ptr(), text.len()))?;
        }
        out.truncate(length);
        Some(out)
    }
}

/// # Safety
/// The parameters are those of a signature that has begun.
unsafe fn set_padding(parameters: *mut c::EVP_PKEY_CTX, padding: RsaPadding) -> Option<()> {
    // SAFETY: as promised.
    unsafe {
        match padding {
            RsaPadding::Pkcs1 => done(c::EVP_PKEY_CTX_set_rsa_padding(parameters, c::RSA_PKCS1_PADDING)),
            RsaPadding::Pss { salt_bytes } => {
                done(c::EVP_PKEY_CTX_set_rsa_padding(parameters, c::RSA_PKCS1_PSS_PADDING))?;
                done(c::EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, c_int::try_from(salt_bytes).ok()?))
            }
        }
    }
}

/// # Safety
/// The context is that of an operation with OAEP.
unsafe fn set_label(context: *mut c::EVP_PKEY_CTX, label: &[u8]) -> Option<()> {
    if label.is_empty() {
        return Some(());
    }
    // SAFETY: the copy is as long as the label; the operation frees it where it has taken it.
    unsafe {
        let copy = NonNull::new(c::OPENSSL_malloc(label.len()))?.cast::<u8>().as_ptr();
        ptr::copy_nonoverlapping(label.as_ptr(), copy, label.len());
        let taken = done(c::EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, label.len()));
        if taken.is_none() {
            c::OPENSSL_free(copy.cast());
        }
        taken
    }
}

impl Digest {
    fn new() -> Option<Self> {
        // SAFETY: a new one, of our own.
        NonNull::new(unsafe { c::EVP_MD_CTX_new() }).map(Self)
    }
}

impl Drop for RsaKey {
    fn drop(&mut self) {
        // SAFETY: the key is the value's own.
        unsafe { c::EVP_PKEY_free(self.0.as_ptr()) };
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: the operation is the value's own.
        unsafe { c::EVP_PKEY_CTX_free(self.0.as_ptr()) };
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        // SAFETY: the work is the value's own.
        unsafe { c::EVP_MD_CTX_free(self.0.as_ptr()) };
    }
}
