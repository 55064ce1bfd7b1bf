//! Which way of being known a request takes. A credential that is wrong is refused, and never counts as none.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value as Json};

use super::{
    certificate::{Certificates, check_time},
    issuer::{Issuer, Issuers, Verified},
    key_sets::KeySetId,
    last_token::{AuthenticatorId, LastToken},
    roles::Roles,
    tokens::{AuthStatistics, TokenCache, TokenHash, VerifiedToken},
    webhook::{Asked, Webhook, WebhookQuestion, WebhookResponse},
};
use crate::{
    api_key::{ApiKeyRecord, ApiKeys},
    credentials::Credentials,
    identity::{Identity, Scopes, Way},
    refusal::{AuthRefusal, RefusalKind},
    settings::AccessSettings,
};

/// Knows who asks. It is shared by all cores, and replaced as a whole when its settings change.
pub struct Authenticator {
    roles: Roles,
    anonymous: Option<Arc<Identity>>,
    pub(super) issuers: Issuers,
    api_keys: ApiKeys<Arc<Identity>>,
    certificates: Option<Certificates>,
    webhook: Option<Webhook>,
    pub(super) tokens: TokenCache,
    id: AuthenticatorId,
    max_token_bytes: usize,
}

/// What a request brings to be known by.
enum Credential<'a> {
    Token(&'a [u8]),
    /// A token from a cookie of this name.
    Cookie(&'a [u8], &'a str),
    ApiKey(&'a [u8]),
    None,
}

/// What became of a request's credentials.
#[derive(Debug)]
pub enum Identified<'a> {
    Known(Arc<Identity>),
    Refused(AuthRefusal),
    /// The token names a key that is not known. Fetching this key set may help, and is due.
    NeedsKeys(KeySetId),
    /// The webhook is to be asked.
    NeedsWebhook(WebhookQuestion<'a>),
}

impl Authenticator {
    /// For settings that have no faults.
    pub fn new(settings: &AccessSettings) -> Self {
        Self::after(settings, None)
    }

    /// The same in place of another one: keys that it has fetched stay known, as their address may be dead just now.
    pub fn after(settings: &AccessSettings, before: Option<&Self>) -> Self {
        let roles = Roles::new(settings);
        let identity = |record: &ApiKeyRecord| {
            let session = roles.session(|name| {
                let given = record.session.iter().find(|(known, _)| known == name);
                given.map(|(_, value)| value.clone())
            });
            Arc::new(Identity {
                role: record.role,
                way: Way::ApiKey,
                session: roles.with_role(&session, record.role),
                scopes: record.scopes.clone(),
                subject: Some(Arc::clone(&record.name)),
                issuer: None,
                expires_at: record.expires_at,
            })
        };
        let api_keys = ApiKeys::new(settings.api_keys.iter().map(|record| (record, identity(record))));
        let anonymous = settings.anonymous.map(|role| {
            let session = roles.with_role(&roles.session(|_| None), role);
            Arc::new(Identity {
                role,
                way: Way::Anonymous,
                session,
                scopes: Scopes::default(),
                subject: None,
                issuer: None,
                expires_at: None,
            })
        });
        let issuers = Issuers::new(settings, &roles, before.map(|before| &before.issuers));
        let certificates = settings.certificates.as_ref().map(|settings| Certificates::new(settings, &roles));
        Self {
            anonymous,
            issuers,
            api_keys,
            certificates,
            webhook: settings.webhook.clone().map(Webhook::new),
            tokens: TokenCache::new(settings.token_cache_bytes),
            id: AuthenticatorId::default(),
            max_token_bytes: settings.max_token_bytes,
            roles,
        }
    }

    /// Credentials that are still to be given the request's headers.
    pub fn credentials(&self) -> Credentials<'_> {
        let forward = self.webhook.as_ref().map_or(&[][..], Webhook::forward);
        Credentials { forward, ..Credentials::default() }
    }

    /// Who asks at this time (Unix seconds). `last` is what is kept with the request's connection, where something is.
    pub fn identify<'a>(
        &'a self,
        credentials: &Credentials<'a>,
        last: Option<&LastToken>,
        now: i64,
    ) -> Identified<'a> {
        let identified = match self.credential(credentials) {
            Ok(Credential::Token(token)) => self.token(token, None, credentials.role, last, now),
            Ok(Credential::Cookie(token, name)) => self.token(token, Some(name), credentials.role, last, now),
            Ok(Credential::ApiKey(key)) => self.api_key(key, credentials.role, now).into(),
            Ok(Credential::None) => self.without(credentials, now),
            Err(refusal) => Identified::Refused(refusal),
        };
        match identified {
            Identified::Known(identity) => self.beside_certificate(identity, credentials, now).into(),
            other => other,
        }
    }

    /// Somebody who is known, with the variables of the session that only the request's certificate says.
    ///
    /// # Errors
    /// The certificate has expired.
    pub fn beside_certificate(
        &self,
        identity: Arc<Identity>,
        credentials: &Credentials<'_>,
        now: i64,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        match (&self.certificates, credentials.certificate) {
            (Some(certificates), Some(names)) => {
                check_time(names, now).map(|()| certificates.add_to(&identity, names))
            }
            _ => Ok(identity),
        }
    }

    /// The one credential that is brought. A header counts before a cookie, which browsers send unasked.
    fn credential<'a>(&'a self, credentials: &Credentials<'a>) -> Result<Credential<'a>, AuthRefusal> {
        if let Some(name) = credentials.repeated {
            return Err(AuthRefusal::new(RefusalKind::InvalidRequest, format!("`{name}` stands twice")));
        }
        let is_asked = |name| credentials.forward.iter().any(|known| known == name);
        let authorization = match credentials.authorization.map(parse_authorization) {
            Some(Ok(Credential::Token(_))) if self.issuers.is_empty() && is_asked("authorization") => None,
            Some(Ok(Credential::ApiKey(_))) if self.api_keys.is_empty() && is_asked("authorization") => None,
            Some(Err(_)) if is_asked("authorization") => None,
            parsed => parsed.transpose()?,
        };
        let api_key = credentials.api_key.filter(|_| !self.api_keys.is_empty() || !is_asked("x-api-key"));
        match (authorization, api_key) {
            (Some(_), Some(_)) => {
                let reason = "`authorization` and `x-api-key` both bring a credential";
                Err(AuthRefusal::new(RefusalKind::InvalidRequest, reason))
            }
            (Some(credential), None) => Ok(credential),
            (None, Some(key)) => Ok(Credential::ApiKey(key)),
            (None, None) => self.cookie(credentials),
        }
    }

    fn cookie<'a>(&'a self, credentials: &Credentials<'a>) -> Result<Credential<'a>, AuthRefusal> {
        if credentials.cookies.is_empty() {
            return Ok(Credential::None);
        }
        let mut found = Credential::None;
        for name in self.issuers.cookies() {
            let cookie = credentials.cookie(name);
            let cookie = cookie.map_err(|_| {
                AuthRefusal::new(RefusalKind::InvalidRequest, format!("cookie `{name}` stands twice"))
            })?;
            match (cookie, &found) {
                (Some(token), Credential::None) => found = Credential::Cookie(token, name),
                (Some(_), _) => {
                    let reason = "two cookies bring a token";
                    return Err(AuthRefusal::new(RefusalKind::InvalidRequest, reason));
                }
                (None, _) => {}
            }
        }
        Ok(found)
    }

    fn token<'a>(
        &'a self,
        token: &'a [u8],
        cookie: Option<&str>,
        role: Option<&[u8]>,
        last: Option<&LastToken>,
        now: i64,
    ) -> Identified<'a> {
        if token.len() > self.max_token_bytes {
            let reason = format!("the token has {} bytes, more than {}", token.len(), self.max_token_bytes);
            return Identified::Refused(AuthRefusal::new(RefusalKind::InvalidToken, reason));
        }
        // A key that was gone may be there again, and is looked for as any other then.
        let has_key = |verified: &Arc<VerifiedToken>| !verified.is_keyless();
        if let Some(verified) = last.and_then(|last| last.get(&self.id, token)).filter(has_key) {
            self.tokens.count_hit();
            return self.of_verified(&verified, cookie, role, now).into();
        }
        let keep = |verified| {
            if let Some(last) = last {
                last.keep(&self.id, token, verified);
            }
        };
        let hash = TokenHash::of(token);
        if let Some(verified) = self.tokens.get(&hash).filter(has_key) {
            keep(&verified);
            return self.of_verified(&verified, cookie, role, now).into();
        }
        match self.issuers.verify(token, &self.roles, now) {
            Verified::Token(verified) => {
                let verified = Arc::new(verified);
                keep(&verified);
                let identified = self.of_verified(&verified, cookie, role, now);
                self.tokens.insert(hash, verified);
                identified.into()
            }
            Verified::Refused(refusal) => Identified::Refused(refusal),
            Verified::NeedsKeys(id) => Identified::NeedsKeys(id),
        }
    }

    fn of_verified(
        &self,
        token: &VerifiedToken,
        cookie: Option<&str>,
        role: Option<&[u8]>,
        now: i64,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        token.check(now)?;
        let issuer: &Issuer = self.issuers.at(token.issuer);
        if cookie.is_some() && cookie != issuer.cookie.as_deref() {
            let reason = "the cookie's token is of an issuer that has no such cookie";
            return Err(AuthRefusal::new(RefusalKind::InvalidToken, reason));
        }
        token.grants.identity(&self.roles, role)
    }

    fn api_key(&self, key: &[u8], role: Option<&[u8]>, now: i64) -> Result<Arc<Identity>, AuthRefusal> {
        let refused = |reason: String| AuthRefusal::new(RefusalKind::InvalidToken, reason);
        let identity = self.api_keys.find(key).ok_or_else(|| refused("the API key is unknown".to_owned()))?;
        if identity.has_expired(now) {
            let name = identity.subject.as_deref().unwrap_or_default();
            return Err(refused(format!("API key `{name}` has expired")));
        }
        self.roles.only(identity.role, role)?;
        Ok(Arc::clone(identity))
    }

    /// Who asks without token and key: a certificate, whom the webhook knows, or nobody.
    fn without<'a>(&'a self, credentials: &Credentials<'a>, now: i64) -> Identified<'a> {
        if let Some(certificates) = &self.certificates
            && let Some(names) = credentials.certificate
            && let Some(identity) = certificates.identity(names)
        {
            if let Err(refusal) = check_time(names, now) {
                return Identified::Refused(refusal);
            }
            return self.roles.only(identity.role, credentials.role).map(|()| identity).into();
        }
        if let Some(webhook) = &self.webhook
            && !credentials.forwarded.is_empty()
        {
            return match webhook.ask(credentials, &self.tokens, &self.roles, now) {
                Asked::Known(known) => known.into(),
                Asked::Unknown(question) => Identified::NeedsWebhook(question),
            };
        }
        let Some(anonymous) = &self.anonymous else {
            let reason = "there are no credentials";
            return Identified::Refused(AuthRefusal::new(RefusalKind::NoCredentials, reason));
        };
        self.roles.only(anonymous.role, credentials.role).map(|()| Arc::clone(anonymous)).into()
    }

    /// Who a token with these claims would be, with its signature and its times unseen: for tests of permissions. `role` is the
    /// one that is chosen, where the claims allow several.
    pub fn with_claims(
        &self,
        claims: &Map<String, Json>,
        role: Option<&str>,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        self.issuers.granted(claims, &self.roles)?.identity(&self.roles, role.map(str::as_bytes))
    }

    /// Who asks without credentials, where that is somebody.
    pub fn anonymous(&self) -> Option<Arc<Identity>> {
        self.anonymous.clone()
    }

    /// Somebody in a role with these variables of the session, for tests of permissions; none where there is no such role.
    pub fn with_role(
        &self,
        role: &str,
        session: &Map<String, Json>,
        scopes: Scopes,
    ) -> Option<Arc<Identity>> {
        let role = self.roles.find(role)?;
        let session = self.roles.session(|name| session.get(name).cloned());
        let session = self.roles.with_role(&session, role);
        let way = Way::Token;
        Some(Arc::new(Identity { role, way, session, scopes, subject: None, issuer: None, expires_at: None }))
    }

    /// Who asks, by the webhook's response. 401 and 403 say that it is nobody; of anything else but 200 nothing is known.
    pub fn webhook_response(
        &self,
        question: &WebhookQuestion<'_>,
        response: &WebhookResponse<'_>,
        now: i64,
    ) -> Result<Arc<Identity>, AuthRefusal> {
        let Some(webhook) = &self.webhook else {
            return Err(AuthRefusal::new(RefusalKind::Unavailable, "no webhook is configured"));
        };
        webhook.responded(question, response, &self.tokens, &self.roles, now)
    }

    /// What was done so far, and what is kept.
    pub fn statistics(&self) -> AuthStatistics {
        self.tokens.statistics()
    }
}

impl From<Result<Arc<Identity>, AuthRefusal>> for Identified<'_> {
    fn from(result: Result<Arc<Identity>, AuthRefusal>) -> Self {
        result.map_or_else(Identified::Refused, Identified::Known)
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Authenticator").field("issuers", &self.issuers).finish_non_exhaustive()
    }
}

/// `Bearer TOKEN` or `ApiKey KEY`, with one or more spaces (RFC 9110, section 11.4).
fn parse_authorization(value: &[u8]) -> Result<Credential<'_>, AuthRefusal> {
    let refused = |reason| AuthRefusal::new(RefusalKind::InvalidRequest, reason);
    let space = value.iter().position(|byte| *byte == b' ');
    let (scheme, rest) = value.split_at(space.unwrap_or(value.len()));
    let credential = rest.trim_ascii();
    // Tokens are long: to the end, so that many bytes are compared at once.
    let is_several = credential.iter().fold(false, |found, byte| found | byte.is_ascii_whitespace());
    if credential.is_empty() || is_several {
        return Err(refused("`authorization` is no scheme and a credential"));
    }
    if scheme.eq_ignore_ascii_case(b"bearer") {
        Ok(Credential::Token(credential))
    } else if scheme.eq_ignore_ascii_case(b"apikey") {
        Ok(Credential::ApiKey(credential))
    } else {
        Err(AuthRefusal::new(
            RefusalKind::InvalidToken,
            "`authorization` has another scheme than Bearer and ApiKey",
        ))
    }
}
