//! A response that is kept: how long it may be given, and what is said of that with it (RFC 9111).

use std::{borrow::Cow, fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, header};
use sha2::{Digest, Sha256};

use super::versions::Versions;
use crate::access::Keeping;

/// Of a validator: those of different bodies differ.
const ETAG_BYTES: usize = 16;

/// A response that is kept.
#[derive(Debug)]
pub(crate) struct KeptResponse {
    pub(crate) body: Bytes,
    /// A strong validator (RFC 9110, section 8.8.3), in quotes.
    pub(crate) etag: Box<str>,
    made_ns: u64,
    ttl: Duration,
    /// The value of `Cache-Control`: what was made for nobody in particular may be kept by any cache.
    cache_control: Box<str>,
    versions: Arc<Versions>,
    /// Of `versions`, from before it was made.
    version: u64,
    /// The value of `Vary`.
    vary: Box<str>,
}

/// What a new response is kept by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Freshness<'a> {
    pub(super) keeping: Keeping,
    pub(super) is_public: bool,
    pub(super) versions: &'a Arc<Versions>,
    pub(super) version: u64,
    /// Names of further headers of requests on which responses depend.
    pub(super) vary: &'a str,
}

impl KeptResponse {
    /// `now_ns` is of a clock that is never set back.
    pub(super) fn new(body: &[u8], freshness: Freshness<'_>, now_ns: u64) -> Self {
        let Freshness { keeping, is_public, .. } = freshness;
        let who = if is_public { "public" } else { "private" };
        Self {
            body: Bytes::copy_from_slice(body),
            etag: etag(body),
            made_ns: now_ns,
            ttl: keeping.ttl,
            cache_control: format!("{who}, max-age={}", keeping.ttl.as_secs()).into(),
            versions: Arc::clone(freshness.versions),
            version: freshness.version,
            vary: [VARY, freshness.vary].concat().into(),
        }
    }

    pub(super) fn is_fresh(&self, now_ns: u64) -> bool {
        self.age(now_ns) < self.ttl && self.versions.current() == self.version
    }

    pub(super) fn age(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(now_ns.saturating_sub(self.made_ns))
    }

    /// What a response with it says of how it may be kept (RFC 9111): each header's name and value. `now_ns` is of a clock that is
    /// never set back.
    pub(crate) fn headers(&self, now_ns: u64) -> [(HeaderName, Cow<'_, str>); 4] {
        [
            (header::CACHE_CONTROL, Cow::Borrowed(&*self.cache_control)),
            (header::AGE, Cow::Owned(self.age(now_ns).as_secs().to_string())),
            (header::ETAG, Cow::Borrowed(&*self.etag)),
            (header::VARY, Cow::Borrowed(&*self.vary)),
        ]
    }
}

/// Request headers on which every response depends.
const VARY: &str = "accept, authorization, cookie, x-api-key, x-prony-role";

/// Equal for equal bodies alone.
fn etag(body: &[u8]) -> Box<str> {
    let mut text = String::with_capacity(2 * ETAG_BYTES + 2);
    text.push('"');
    for byte in &Sha256::digest(body)[..ETAG_BYTES] {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validators_differ_where_bodies_do() {
        assert_eq!(&*etag(b""), "\"e3b0c44298fc1c149afbf4c8996fb924\"");
        assert_ne!(etag(b"a"), etag(b"b"));
    }
}
