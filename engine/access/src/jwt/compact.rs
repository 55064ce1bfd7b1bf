//! The compact form of a token: three parts in base64url, of which the first two are JSON objects.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value as Json};

use super::{TokenFault, header::Header, strict_json};

/// A token that is read and not verified.
pub(crate) struct CompactToken<'t> {
    pub(crate) header: Header,
    /// What the signature is of.
    pub(crate) signed: &'t [u8],
    pub(crate) signature: Vec<u8>,
    /// Nothing in here may be trusted before the signature is verified.
    pub(crate) claims: Map<String, Json>,
}

impl<'t> CompactToken<'t> {
    pub(crate) fn read(token: &'t [u8]) -> Result<Self, TokenFault> {
        let mut dots = token.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(index, _)| index);
        let (Some(first), Some(second), None) = (dots.next(), dots.next(), dots.next()) else {
            return Err(TokenFault::Parts);
        };
        let header = json(&token[..first], "the header")?;
        let header = Header::read(&header)?;
        let claims = json(&token[first + 1..second], "the payload")?;
        let signature = bytes(&token[second + 1..], "the signature")?;
        Ok(Self { header, signed: &token[..second], signature, claims })
    }
}

/// Neither padding nor white space nor bits that say nothing: one value has one text.
fn bytes(part: &[u8], name: &'static str) -> Result<Vec<u8>, TokenFault> {
    BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Encoding { part: name })
}

fn json(part: &[u8], name: &'static str) -> Result<Map<String, Json>, TokenFault> {
    let decoded = bytes(part, name)?;
    strict_json::object(&decoded).map_err(|message| TokenFault::Json { part: name, message })
}
