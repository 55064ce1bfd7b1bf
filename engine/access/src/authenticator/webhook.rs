//! Asking a service who asks: which headers it is sent, and what its response means. The server sends and receives.

use std::{fmt, sync::Arc};

use aws_lc_rs::digest;
use http::StatusCode;
use serde_json::{Map, Value as Json};

use super::{
    key_sets::CacheFacts,
    roles::{Roles, only_allowed},
    tokens::{Grants, TokenCache, TokenHash, VerifiedToken},
};
use crate::{
    credentials::Credentials,
    identity::{Identity, Scopes, Way},
    jwt::{self, VerifiedClaims},
    refusal::{AuthRefusal, RefusalKind},
    role::RoleId,
    settings::WebhookSettings,
};

/// What the webhook is to be asked.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookQuestion<'a> {
    pub address: &'a str,
    pub timeout_ms: u64,
    /// The headers of the request, in small letters, in its order.
    pub headers: Vec<(&'a str, &'a [u8])>,
    hash: TokenHash,
    role: Option<Vec<u8>>,
}

/// Never shows the values of the headers.
impl fmt::Debug for WebhookQuestion<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| *name).collect();
        formatter
            .debug_struct("WebhookQuestion")
            .field("address", &self.address)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// What the webhook has responded.
#[derive(Debug, Clone, Copy)]
pub struct WebhookResponse<'a> {
    pub status: StatusCode,
    /// A JSON object: `role`, `allowed_roles`, `scopes`, `session` (an object of variables), `subject`, `expires_at` (Unix
    /// seconds).
    pub body: &'a [u8],
    pub cache: CacheFacts,
}

/// The configured webhook.
#[derive(Debug)]
pub(super) struct Webhook(WebhookSettings);

/// What is known of a request that the webhook is for.
pub(super) enum Asked<'a> {
    Known(Result<Arc<Identity>, AuthRefusal>),
    Unknown(WebhookQuestion<'a>),
}

impl Webhook {
    pub(super) fn new(settings: WebhookSettings) -> Self {
        Self(settings)
    }

    /// Headers that it is sent, in small letters.
    pub(super) fn forward(&self) -> &[String] {
        &self.0.forward
    }

    pub(super) fn ask<'a>(
        &'a self,
        credentials: &Credentials<'a>,
        tokens: &TokenCache,
        roles: &Roles,
        now: i64,
    ) -> Asked<'a> {
        let hash = hash(&credentials.forwarded);
        if let Some(known) = tokens.get(&hash)
            && known.check(now).is_ok()
        {
            return Asked::Known(known.grants.identity(roles, credentials.role));
        }
        Asked::Unknown(WebhookQuestion {
            address: &self.0.address,
            timeout_ms: self.0.timeout_ms,
            headers: credentials.forwarded.clone(),
            hash,
            role: credentials.role.map(<[u8]>::to_vec),
        })
    }

    pub(super) fn responded(
        &self,
        question: &WebhookQuestion<'_>,
        response: &WebhookResponse<'_>,
        tokens: &TokenCache,
        roles: &Roles,
        now: i64,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        let body = object(response)?;
        let said_end = end(&body, now)?;
        let grants = grants(&body, roles, said_end);
        let kept_s = response.cache.lifetime_s.unwrap_or(0).min(self.0.max_cache_s);
        if kept_s == 0 {
            return grants.identity(roles, question.role.as_deref());
        }
        let kept_until = now.saturating_add(i64::try_from(kept_s).unwrap_or(i64::MAX));
        let valid_until = Some(said_end.map_or(kept_until, |end| end.min(kept_until)));
        let claims = VerifiedClaims { valid_from: Some(now), valid_until };
        let known = Arc::new(VerifiedToken { issuer: 0, key: None, claims, grants });
        let identity = known.grants.identity(roles, question.role.as_deref());
        tokens.insert(question.hash, known);
        identity
    }
}

/// The object that the webhook has responded with.
fn object(response: &WebhookResponse<'_>) -> Result<Map<String, Json>, AuthRefusal> {
    let unavailable = |reason: String| AuthRefusal::new(RefusalKind::Unavailable, reason);
    match response.status {
        StatusCode::OK => jwt::object(response.body)
            .map_err(|message| unavailable(format!("the webhook's response is no JSON object: {message}"))),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(AuthRefusal::new(RefusalKind::InvalidToken, "the webhook has refused the request"))
        }
        status => Err(unavailable(format!("the webhook has responded {status}"))),
    }
}

/// When what it has said ends; of fractions, which programs in JavaScript write, the whole second before.
fn end(body: &Map<String, Json>, now: i64) -> Result<Option<i64>, AuthRefusal> {
    let refused = |reason: &str| AuthRefusal::new(RefusalKind::InvalidToken, reason);
    let said = match body.get("expires_at") {
        None | Some(Json::Null) => return Ok(None),
        Some(said) => said.as_f64(),
    };
    let seconds = said.ok_or_else(|| refused("`expires_at` of the webhook is no time in seconds"))?;
    let end = seconds.floor() as i64;
    if end <= now { Err(refused("`expires_at` of the webhook has passed")) } else { Ok(Some(end)) }
}

fn grants(body: &Map<String, Json>, roles: &Roles, expires_at: Option<i64>) -> Grants {
    let texts = |name: &str| match body.get(name) {
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
        Some(Json::String(text)) => text.split_ascii_whitespace().collect(),
        _ => Vec::new(),
    };
    let allowed = texts("allowed_roles").into_iter().filter_map(|name| roles.find(name));
    let allowed: Vec<RoleId> = allowed.collect();
    let role = match body.get("role") {
        Some(named) => named.as_str().and_then(|name| roles.find(name)),
        None => only_allowed(&allowed),
    };
    let session = roles.session(|name| body.get("session")?.get(name).cloned());
    let scopes: Scopes = texts("scopes").into_iter().collect();
    let subject = body.get("subject").and_then(Json::as_str).map(Arc::from);
    Grants::new(Way::Webhook, role, allowed, session, scopes, subject, expires_at)
}

/// Of the headers that the webhook would be sent, with the length of each: no token has these bytes, as lengths begin with zeros.
fn hash(headers: &[(&str, &[u8])]) -> TokenHash {
    let mut context = digest::Context::new(&digest::SHA256);
    for (name, value) in headers {
        for part in [name.as_bytes(), value] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    TokenHash::from_bytes(hash)
}
