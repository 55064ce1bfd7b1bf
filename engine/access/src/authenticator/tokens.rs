//! Tokens that are verified already, by their hash: a repeated one costs a hash and a look-up.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use aws_lc_rs::digest;
use quick_cache::{Weighter, sync::Cache};
use serde_json::Value as Json;

use super::roles::Roles;
use crate::{
    identity::{Identity, Scopes, Way},
    jwt::{VerificationKey, VerifiedClaims},
    refusal::{AuthRefusal, RefusalKind},
    role::RoleId,
};

/// SHA-256 of what a client brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenHash([u8; 32]);

/// A token whose signature was right, or what the webhook has said of a request.
#[derive(Debug)]
pub(super) struct VerifiedToken {
    /// Index of its issuer.
    pub(super) issuer: usize,
    /// None where the webhook has said it.
    pub(super) key: Option<Arc<VerificationKey>>,
    pub(super) claims: VerifiedClaims,
    pub(super) grants: Grants,
}

/// What credentials allow.
#[derive(Debug)]
pub(super) struct Grants {
    way: Way,
    /// Where nothing is chosen: the index of a role that is allowed.
    pub(super) default: Option<usize>,
    pub(super) allowed: Box<[RoleId]>,
    /// By the index of the role, made when first asked for.
    identities: Box<[OnceLock<Arc<Identity>>]>,
    session: Arc<[Json]>,
    scopes: Scopes,
    subject: Option<Arc<str>>,
    issuer: Option<Arc<str>>,
    expires_at: Option<i64>,
}

/// What was done, and what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthStatistics {
    /// Credentials that were known already.
    pub hits: u64,
    /// Credentials that were not.
    pub misses: u64,
    pub entries: u64,
    pub bytes: u64,
}

pub(super) struct TokenCache {
    cache: Cache<TokenHash, Arc<VerifiedToken>, ByBytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct ByBytes;

impl TokenHash {
    pub(super) fn of(token: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token).as_ref());
        Self(hash)
    }

    pub(super) fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl VerifiedToken {
    /// Whether it is still valid: time goes on, and keys go.
    pub(super) fn check(&self, now: i64) -> Result<(), AuthRefusal> {
        let refused = |reason| AuthRefusal::new(RefusalKind::InvalidToken, reason);
        if self.is_keyless() {
            return Err(refused("the token's key is gone from its key set".to_owned()));
        }
        self.claims.check(now).map_err(|fault| refused(fault.to_string()))
    }

    /// Whether its key is gone.
    pub(super) fn is_keyless(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.is_dropped())
    }
}

impl Grants {
    /// Of a default role and others; each is kept once.
    pub(super) fn new(
        way: Way,
        default: Option<RoleId>,
        others: impl IntoIterator<Item = RoleId>,
        session: Arc<[Json]>,
        scopes: Scopes,
        subject: Option<Arc<str>>,
        expires_at: Option<i64>,
    ) -> Self {
        let mut allowed: Vec<RoleId> = default.into_iter().collect();
        for role in others {
            if !allowed.contains(&role) {
                allowed.push(role);
            }
        }
        let default = default.is_some().then_some(0);
        let identities = allowed.iter().map(|_| OnceLock::new()).collect();
        let allowed = allowed.into();
        Self { way, default, allowed, identities, session, scopes, subject, issuer: None, expires_at }
    }

    /// The same of a token of this issuer.
    pub(super) fn of_issuer(self, issuer: Option<Arc<str>>) -> Self {
        Self { issuer, ..self }
    }

    pub(super) fn identity(
        &self,
        roles: &Roles,
        chosen: Option<&[u8]>,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        let index = match chosen {
            Some(chosen) => roles.choose(&self.allowed, chosen)?,
            None => self.default.ok_or_else(|| {
                let reason = match self.allowed.len() {
                    0 => "the credentials give no role that is configured",
                    _ => "the credentials allow several roles: `x-prony-role` chooses one",
                };
                AuthRefusal::new(RefusalKind::RoleNotAllowed, reason)
            })?,
        };
        let identity = self.identities[index].get_or_init(|| {
            let role = self.allowed[index];
            Arc::new(Identity {
                role,
                way: self.way,
                session: roles.with_role(&self.session, role),
                scopes: self.scopes.clone(),
                subject: self.subject.clone(),
                issuer: self.issuer.clone(),
                expires_at: self.expires_at,
            })
        });
        Ok(Arc::clone(identity))
    }

    fn weight_bytes(&self) -> usize {
        // Of an identity and its place, where the session is another one in each role.
        let of_role = size_of::<OnceLock<Arc<Identity>>>() + size_of::<RoleId>() + size_of::<Identity>() + 16;
        let session: usize = self.session.iter().map(json_bytes).sum();
        let subject = self.subject.as_ref().map_or(0, |subject| subject.len() + 16);
        self.allowed.len() * (of_role + session) + session + subject + self.scopes.weight_bytes()
    }
}

fn json_bytes(value: &Json) -> usize {
    let inner = match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(json_bytes).sum(),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| name.len() + json_bytes(value) + 48);
            entries.sum()
        }
    };
    size_of::<Json>() + inner
}

impl Weighter<TokenHash, Arc<VerifiedToken>> for ByBytes {
    fn weight(&self, _: &TokenHash, token: &Arc<VerifiedToken>) -> u64 {
        /// Of the cache for an entry.
        const OVERHEAD: usize = 128;
        (size_of::<VerifiedToken>() + token.grants.weight_bytes() + OVERHEAD) as u64
    }
}

impl TokenCache {
    /// Holds so many bytes at most.
    pub(super) fn new(bytes: usize) -> Self {
        /// Only sizes the table of recently evicted keys.
        const USUAL_ENTRY_BYTES: usize = 768;
        const MAX_USUAL_ENTRIES: usize = 1 << 20;
        let usual_entries = (bytes / USUAL_ENTRY_BYTES).min(MAX_USUAL_ENTRIES);
        let cache = Cache::with_weighter(usual_entries, bytes as u64, ByBytes);
        Self { cache, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<VerifiedToken>> {
        let found = self.cache.get(hash);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    /// A token was known without being looked up.
    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    pub(super) fn insert(&self, hash: TokenHash, token: Arc<VerifiedToken>) {
        self.cache.insert(hash, token);
    }

    /// Forgets tokens whose keys are gone.
    pub(super) fn drop_keyless(&self) {
        self.cache.retain(|_, token| !token.is_keyless());
    }

    pub(super) fn statistics(&self) -> AuthStatistics {
        AuthStatistics {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            entries: self.cache.len() as u64,
            bytes: self.cache.weight(),
        }
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statistics().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::Algorithm;

    /// A token may be verified while its key goes: it is in the cache then, after those of gone keys were forgotten.
    #[test]
    fn a_token_of_a_key_that_is_gone_is_refused_where_it_is_still_kept() {
        let key = VerificationKey::secret(None, &[7; 32], &[Algorithm::Hs256]).expect("it is a key");
        let key = Arc::new(key);
        let grants = Grants::new(Way::Token, None, [], Arc::from([]), Scopes::default(), None, None);
        let claims = VerifiedClaims { valid_from: None, valid_until: None };
        let token = VerifiedToken { issuer: 0, key: Some(Arc::clone(&key)), claims, grants };
        assert_eq!(token.check(0), Ok(()));
        key.set_dropped();
        assert!(token.check(0).is_err());
    }
}
