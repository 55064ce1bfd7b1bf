//! The header of a token: its algorithm and the name of its key, and nothing by which a token could bring a key of its own.

use serde_json::{Map, Value as Json};

use super::{Algorithm, TokenFault};

/// What is used of a header.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) algorithm: Algorithm,
    /// Compared with the names of known keys, and never anything else.
    pub(crate) key_id: Option<String>,
}

/// Headers that bring a key, or say where one is.
const KEY_HEADERS: [&str; 4] = ["jku", "jwk", "x5u", "x5c"];
/// Types of tokens for access; others, as those of a logout, are signed by the same keys and are none.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

impl Header {
    pub(super) fn read(header: &Map<String, Json>) -> Result<Self, TokenFault> {
        for name in KEY_HEADERS {
            if header.contains_key(name) {
                return Err(TokenFault::Header { name, message: "brings a key" });
            }
        }
        if header.contains_key("crit") {
            return Err(TokenFault::Header { name: "crit", message: "asks for an extension" });
        }
        text(header, "typ").and_then(|found| match found {
            Some(found) if !is_access(found) => {
                Err(TokenFault::Header { name: "typ", message: "is of another kind of token" })
            }
            _ => Ok(()),
        })?;
        let name = text(header, "alg")?.ok_or(TokenFault::Header { name: "alg", message: "is missing" })?;
        let algorithm =
            name.parse().map_err(|_| TokenFault::UnknownAlgorithm(name.chars().take(16).collect()))?;
        Ok(Self { algorithm, key_id: text(header, "kid")?.map(str::to_owned) })
    }
}

/// Whether a type is one of access tokens; types of media may leave out `application/` (RFC 7515, section 4.1.9).
fn is_access(found: &str) -> bool {
    let found = found.to_ascii_lowercase();
    TYPES.contains(&found.strip_prefix("application/").unwrap_or(&found))
}

fn text<'h>(header: &'h Map<String, Json>, name: &'static str) -> Result<Option<&'h str>, TokenFault> {
    match header.get(name) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(TokenFault::Header { name, message: "is no text" }),
    }
}
