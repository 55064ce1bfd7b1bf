//! JSON Web Tokens in their compact form (RFC 7515, 7519, 8725): read strictly, verified by keys that have their algorithms
//! pinned. Signatures are aws-lc's business.

mod algorithm;
mod claims;
mod compact;
mod ed25519;
mod header;
mod jwk;
mod key;
mod strict_json;

pub use self::{algorithm::Algorithm, jwk::FetchedKeySet};
pub(crate) use self::{
    claims::{ClaimRules, VerifiedClaims},
    compact::CompactToken,
    jwk::{KeyOrigin, key_set},
    key::{KeyFault, VerificationKey},
    strict_json::object,
};

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenFault {
    #[error("the token has not three parts")]
    Parts,
    #[error("{part} is not canonical base64url")]
    Encoding { part: &'static str },
    #[error("{part} is no JSON object with each name once: {message}")]
    Json { part: &'static str, message: String },
    #[error("header `{name}` {message}")]
    Header { name: &'static str, message: &'static str },
    #[error("algorithm {0:?} is not known")]
    UnknownAlgorithm(String),
    #[error("algorithm {0} is not configured for this issuer")]
    Algorithm(&'static str),
    #[error("issuer {0} is not configured")]
    Issuer(String),
    #[error("no key is {0}")]
    Key(String),
    #[error("the signature is wrong")]
    Signature,
    #[error("claim `{name}` {message}")]
    Claim { name: &'static str, message: &'static str },
    #[error("the token has expired at {0}")]
    Expired(i64),
    #[error("the token is not valid before {0}")]
    NotYetValid(i64),
    #[error("the token is for {0}")]
    Audience(String),
}

/// A text from a token for the log: bounded, without characters that would change a line.
pub(crate) fn abridged(text: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
