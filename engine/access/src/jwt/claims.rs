//! The claims of a token whose signature is verified: for whom it is, from when, until when (RFC 7519, section 4.1).

use serde_json::{Map, Value as Json};

use super::{TokenFault, abridged};

/// What is asked of claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimRules {
    /// One of which the token must be for. Where there is none, tokens for somebody in particular are refused.
    pub(crate) audience: Vec<String>,
    /// Seconds by which clocks may differ.
    pub(crate) leeway_s: i64,
    pub(crate) require_expiry: bool,
}

/// When a token is valid, the leeway included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VerifiedClaims {
    pub(crate) valid_from: Option<i64>,
    /// The first second in which it is not valid any more.
    pub(crate) valid_until: Option<i64>,
}

/// The last second of the year 9999: a later time is no time.
const MAX_TIME: f64 = 253_402_300_799.0;

impl ClaimRules {
    /// Checks all but the time.
    pub(crate) fn check(&self, claims: &Map<String, Json>) -> Result<VerifiedClaims, TokenFault> {
        self.audience(claims)?;
        let expires = time(claims, "exp", f64::floor)?;
        if expires.is_none() && self.require_expiry {
            return Err(TokenFault::Claim { name: "exp", message: "is missing" });
        }
        let not_before = time(claims, "nbf", f64::ceil)?;
        let issued = time(claims, "iat", f64::ceil)?;
        Ok(VerifiedClaims {
            valid_from: not_before.max(issued).map(|time| time - self.leeway_s),
            valid_until: expires.map(|time| time + self.leeway_s),
        })
    }

    fn audience(&self, claims: &Map<String, Json>) -> Result<(), TokenFault> {
        let refused = TokenFault::Claim { name: "aud", message: "is neither a text nor a list of texts" };
        let named: Vec<&str> = match claims.get("aud") {
            None if self.audience.is_empty() => return Ok(()),
            None => return Err(TokenFault::Claim { name: "aud", message: "is missing" }),
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(all)) => all.iter().map(Json::as_str).collect::<Option<_>>().ok_or(refused)?,
            Some(_) => return Err(refused),
        };
        if named.iter().any(|named| self.audience.iter().any(|known| known == named)) {
            return Ok(());
        }
        Err(TokenFault::Audience(abridged(&named.join(", "))))
    }
}

impl VerifiedClaims {
    /// Whether the token is valid now.
    pub(crate) fn check(&self, now: i64) -> Result<(), TokenFault> {
        if let Some(end) = self.valid_until.filter(|end| now >= *end) {
            return Err(TokenFault::Expired(end));
        }
        if let Some(begin) = self.valid_from.filter(|begin| now < *begin) {
            return Err(TokenFault::NotYetValid(begin));
        }
        Ok(())
    }
}

/// A time in Unix seconds; of fractions the stricter second.
fn time(
    claims: &Map<String, Json>,
    name: &'static str,
    whole: fn(f64) -> f64,
) -> Result<Option<i64>, TokenFault> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = if value.is_number() { value.as_f64() } else { None };
    let seconds = seconds.filter(|seconds| (0.0..=MAX_TIME).contains(seconds));
    let refused = TokenFault::Claim { name, message: "is no time in seconds" };
    seconds.map(|seconds| Some(whole(seconds) as i64)).ok_or(refused)
}
