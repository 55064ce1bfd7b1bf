//! Issuers of tokens: which one a token is from, which of its keys verifies it, and what its claims grant.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    key_sets::{KeySet, KeySetId},
    roles::{Roles, only_allowed},
    tokens::{Grants, VerifiedToken},
};
use crate::{
    identity::{Scopes, Way},
    jwt::{Algorithm, ClaimRules, CompactToken, TokenFault, VerificationKey, abridged},
    operation::CLAIM_VARIABLE,
    refusal::{AuthRefusal, RefusalKind},
    role::RoleId,
    settings::{AccessSettings, IssuerKeys, IssuerSettings},
};

/// All issuers, in the order of the configuration.
#[derive(Debug)]
pub(super) struct Issuers(Vec<Issuer>);

#[derive(Debug)]
pub(super) struct Issuer {
    name: Option<String>,
    algorithms: Vec<Algorithm>,
    keys: Keys,
    rules: ClaimRules,
    pointers: Pointers,
    role: Option<RoleId>,
    pub(super) cookie: Option<String>,
}

#[derive(Debug)]
enum Keys {
    Given(Vec<Arc<VerificationKey>>),
    /// Shared with the configuration before, where it had the same.
    Fetched(Arc<KeySet>),
}

/// JSON pointers into the claims.
#[derive(Debug)]
struct Pointers {
    role: Option<String>,
    allowed_roles: Option<String>,
    scopes: Option<String>,
    /// Of the session's variables, by index.
    session: Vec<Option<String>>,
}

/// What became of a token.
pub(super) enum Verified {
    Token(VerifiedToken),
    Refused(AuthRefusal),
    NeedsKeys(KeySetId),
}

/// Keys that are tried for a token that names none.
const MAX_TRIED_KEYS: usize = 16;

impl Issuers {
    /// With the keys that have been fetched by those of the configuration before.
    pub(super) fn new(settings: &AccessSettings, roles: &Roles, before: Option<&Self>) -> Self {
        let issuer = |issuer: &IssuerSettings| {
            let same = |known: &&Issuer| known.name == issuer.issuer && known.algorithms == issuer.algorithms;
            let known = before.and_then(|before| before.0.iter().find(same));
            Issuer::new(issuer, roles, known)
        };
        Self(settings.issuers.iter().map(issuer).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn at(&self, index: usize) -> &Issuer {
        &self.0[index]
    }

    /// Names of cookies in which tokens may come.
    pub(super) fn cookies(&self) -> impl Iterator<Item = &str> {
        self.0.iter().enumerate().filter_map(|(index, issuer)| {
            let name = issuer.cookie.as_deref()?;
            let is_first = self.0[..index].iter().all(|other| other.cookie.as_deref() != Some(name));
            is_first.then_some(name)
        })
    }

    /// The key sets that are fetched.
    pub(super) fn key_sets(&self) -> impl Iterator<Item = (KeySetId, &KeySet)> {
        self.0.iter().enumerate().filter_map(|(index, issuer)| match &issuer.keys {
            Keys::Fetched(set) => Some((KeySetId(index as u32), &**set)),
            Keys::Given(_) => None,
        })
    }

    /// The algorithms that keys of an issuer may have.
    pub(super) fn algorithms(&self, id: KeySetId) -> &[Algorithm] {
        self.0.get(id.0 as usize).map_or(&[], |issuer| &issuer.algorithms)
    }

    pub(super) fn verify(&self, token: &[u8], roles: &Roles, now: i64) -> Verified {
        self.verified(token, roles, now).unwrap_or_else(|fault| {
            Verified::Refused(AuthRefusal::new(RefusalKind::InvalidToken, fault.to_string()))
        })
    }

    fn verified(&self, token: &[u8], roles: &Roles, now: i64) -> Result<Verified, TokenFault> {
        let token = CompactToken::read(token)?;
        let index = self.of(&token.claims)?;
        let issuer = &self.0[index];
        let algorithm = token.header.algorithm;
        if !issuer.algorithms.contains(&algorithm) {
            return Err(TokenFault::Algorithm(algorithm.name()));
        }
        let key = match &issuer.keys {
            Keys::Given(keys) => verifying_key(keys, &token),
            Keys::Fetched(set) => match verifying_key(&set.keys(), &token) {
                Err(fault) if fault.may_lack_key(&token, &set.keys()) && set.is_fetch_due(now) => {
                    return Ok(Verified::NeedsKeys(KeySetId(index as u32)));
                }
                Err(TokenFault::Key(_)) if set.keys().is_empty() => {
                    let reason = "no keys have been fetched so far";
                    return Ok(Verified::Refused(AuthRefusal::new(RefusalKind::Unavailable, reason)));
                }
                found => found,
            },
        }?;
        let claims = issuer.rules.check(&token.claims)?;
        claims.check(now)?;
        let grants = issuer.grants(&token.claims, roles, claims.valid_until);
        Ok(Verified::Token(VerifiedToken { issuer: index, key: Some(key), claims, grants }))
    }

    /// What claims grant, as if they were a token's that has been verified. Where there is one issuer, `iss` may be left out.
    pub(super) fn granted(&self, claims: &Map<String, Json>, roles: &Roles) -> Result<Grants, AuthRefusal> {
        let index = match self.of(claims) {
            Err(_) if self.0.len() == 1 && !claims.contains_key("iss") => 0,
            found => found.map_err(|fault| AuthRefusal::new(RefusalKind::InvalidToken, fault.to_string()))?,
        };
        Ok(self.0[index].grants(claims, roles, None))
    }

    /// The issuer that a token says it is from; its signature will show whether that is true.
    fn of(&self, claims: &Map<String, Json>) -> Result<usize, TokenFault> {
        let named = match claims.get("iss") {
            None => None,
            Some(Json::String(name)) => Some(name),
            Some(_) => return Err(TokenFault::Claim { name: "iss", message: "is no text" }),
        };
        let by_name = self.0.iter().position(|issuer| issuer.name.is_some() && issuer.name.as_ref() == named);
        let found = by_name.or_else(|| self.0.iter().position(|issuer| issuer.name.is_none()));
        found.ok_or_else(|| match named {
            Some(name) => TokenFault::Issuer(abridged(name)),
            None => TokenFault::Claim { name: "iss", message: "is missing" },
        })
    }
}

impl TokenFault {
    /// Whether a newer key set may have the key: none is known by the token's name for it, or it names none.
    fn may_lack_key(&self, token: &CompactToken<'_>, keys: &[Arc<VerificationKey>]) -> bool {
        let named = token.header.key_id.as_deref();
        match self {
            Self::Key(_) => true,
            Self::Signature => keys.iter().all(|key| key.id.is_none() || key.id.as_deref() != named),
            _ => false,
        }
    }
}

/// The key that verifies the token.
fn verifying_key(
    keys: &[Arc<VerificationKey>],
    token: &CompactToken<'_>,
) -> Result<Arc<VerificationKey>, TokenFault> {
    let header = &token.header;
    let may_be = |key: &&Arc<VerificationKey>| {
        let has_id = match (&key.id, &header.key_id) {
            (Some(known), Some(named)) => **known == **named,
            (None, Some(named)) => !is_attack(named),
            (_, None) => true,
        };
        has_id && key.is_for(header.algorithm)
    };
    let mut candidates = keys.iter().filter(may_be).take(MAX_TRIED_KEYS).peekable();
    if candidates.peek().is_none() {
        let named =
            header.key_id.as_deref().map_or_else(String::new, |id| format!("named {} and ", abridged(id)));
        return Err(TokenFault::Key(format!("{named}for {}", header.algorithm.name())));
    }
    let verifying = candidates.find(|key| key.verifies(header.algorithm, token.signed, &token.signature));
    verifying.cloned().ok_or(TokenFault::Signature)
}

/// Whether a name of a key was made for programs that find keys by it: a path, or a piece of a command or a query. A key that has this name
/// is known by it all the same, but none that has no name verifies such a token.
fn is_attack(key_id: &str) -> bool {
    const SIGNS: &str = "'\"`\\;|<>$&(){}*%";
    let is_path =
        key_id.contains("..") || key_id.strip_prefix('/').is_some_and(|rest| rest.contains(['/', '.']));
    let is_sign = |letter: char| letter.is_control() || letter.is_whitespace() || SIGNS.contains(letter);
    is_path || key_id.contains(is_sign)
}

impl Issuer {
    /// `before` has the same name and the same algorithms.
    fn new(settings: &IssuerSettings, roles: &Roles, before: Option<&Self>) -> Self {
        let claims = &settings.claims;
        let pointer = |name: &str| {
            if let Some(pointer) = name.strip_prefix(CLAIM_VARIABLE) {
                return Some(pointer.to_owned());
            }
            let found = claims.session.iter().find(|(known, _)| known == name);
            found.map(|(_, pointer)| pointer.clone())
        };
        Self {
            name: settings.issuer.clone(),
            algorithms: settings.algorithms.clone(),
            keys: match &settings.keys {
                IssuerKeys::Given(keys) => Keys::Given(keys.clone()),
                IssuerKeys::Fetched(settings) => {
                    let known = match before.map(|before| &before.keys) {
                        Some(Keys::Fetched(known)) => KeySet::after(known, settings),
                        _ => None,
                    };
                    Keys::Fetched(known.unwrap_or_else(|| Arc::new(KeySet::new(settings.clone()))))
                }
            },
            rules: settings.rules.clone(),
            pointers: Pointers {
                role: claims.role.clone(),
                allowed_roles: claims.allowed_roles.clone(),
                scopes: claims.scopes.clone(),
                session: roles.variables().map(pointer).collect(),
            },
            role: settings.role,
            cookie: settings.cookie.clone(),
        }
    }

    /// What verified claims grant. A role that is not configured is none.
    fn grants(&self, claims: &Map<String, Json>, roles: &Roles, expires_at: Option<i64>) -> Grants {
        let claims_object = ClaimsObject(claims);
        let at = |pointer: &Option<String>| pointer.as_deref().and_then(|pointer| claims_object.at(pointer));
        let allowed = texts(at(&self.pointers.allowed_roles)).into_iter().filter_map(|name| roles.find(name));
        let allowed: Vec<RoleId> = allowed.collect();
        let default = match at(&self.pointers.role) {
            Some(named) => named.as_str().and_then(|name| roles.find(name)),
            None => self.role.or_else(|| only_allowed(&allowed)),
        };
        let session = self.pointers.session.iter().map(|pointer| at(pointer).cloned().unwrap_or(Json::Null));
        let scopes = match at(&self.pointers.scopes) {
            Some(Json::String(text)) => text.split_ascii_whitespace().collect(),
            scopes => texts(scopes).into_iter().collect::<Scopes>(),
        };
        let subject = claims.get("sub").and_then(Json::as_str).map(Arc::from);
        let grants =
            Grants::new(Way::Token, default, allowed, session.collect(), scopes, subject, expires_at);
        grants.of_issuer(claims.get("iss").and_then(Json::as_str).map(Arc::from))
    }
}

/// A text, or the texts of a list.
fn texts(value: Option<&Json>) -> Vec<&str> {
    match value {
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Claims in which pointers are followed.
struct ClaimsObject<'c>(&'c Map<String, Json>);

impl<'c> ClaimsObject<'c> {
    /// What a JSON pointer that begins with a slash points to.
    fn at(&self, pointer: &str) -> Option<&'c Json> {
        let rest = pointer.strip_prefix('/')?;
        let (first, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let value = self.0.get(first.replace("~1", "/").replace("~0", "~").as_str())?;
        value.pointer(below)
    }
}
