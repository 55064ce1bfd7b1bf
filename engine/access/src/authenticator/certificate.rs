//! Clients that bring a certificate, which the server has verified.

use std::sync::Arc;

use serde_json::Value as Json;

use super::roles::Roles;
use crate::{
    credentials::CertificateNames,
    identity::{Identity, Scopes, Way},
    refusal::{AuthRefusal, RefusalKind},
    role::RoleId,
    settings::{CertificateName, CertificateSettings},
};

/// What the names of a certificate are for.
#[derive(Debug)]
pub(super) struct Certificates {
    role: Option<RoleId>,
    /// Of the session's variables, by index.
    names: Vec<Option<CertificateName>>,
    /// The session of the role without what a certificate says.
    session: Arc<[Json]>,
}

impl Certificates {
    pub(super) fn new(settings: &CertificateSettings, roles: &Roles) -> Self {
        let name = |variable: &str| {
            let found = settings.session.iter().find(|(known, _)| known == variable);
            found.map(|(_, name)| *name)
        };
        let session = roles.session(|_| None);
        let session =
            settings.role.map_or_else(|| Arc::clone(&session), |role| roles.with_role(&session, role));
        Self { role: settings.role, names: roles.variables().map(name).collect(), session }
    }

    /// Who a client with nothing but a certificate is; none where that gives no role.
    pub(super) fn identity(&self, names: &CertificateNames) -> Option<Arc<Identity>> {
        let identity = Identity {
            role: self.role?,
            way: Way::Certificate,
            session: Arc::clone(&self.session),
            scopes: Scopes::default(),
            subject: Some(Arc::from(names.subject.as_str())),
            issuer: None,
            expires_at: names.expires_at,
        };
        Some(self.add_to(&Arc::new(identity), names))
    }

    /// Gives a session those variables that it lacks and the certificate has; they are known no longer than that.
    pub(super) fn add_to(&self, identity: &Arc<Identity>, names: &CertificateNames) -> Arc<Identity> {
        let lacks = |(value, name): (&Json, &Option<CertificateName>)| value.is_null() && name.is_some();
        if !identity.session.iter().zip(&self.names).any(lacks) {
            return Arc::clone(identity);
        }
        let values = identity.session.iter().zip(&self.names).map(|(value, name)| match name {
            Some(name) if value.is_null() => value_of(*name, names),
            _ => value.clone(),
        });
        let expires_at = [identity.expires_at, names.expires_at].into_iter().flatten().min();
        Arc::new(Identity { session: values.collect(), expires_at, ..(**identity).clone() })
    }
}

/// Whether a certificate counts at this time: it was verified when its connection was opened.
pub(super) fn check_time(names: &CertificateNames, now: i64) -> Result<(), AuthRefusal> {
    if names.expires_at.is_some_and(|end| now >= end) {
        let reason = format!("the certificate of {} has expired", names.subject);
        return Err(AuthRefusal::new(RefusalKind::InvalidToken, reason));
    }
    Ok(())
}

fn value_of(name: CertificateName, names: &CertificateNames) -> Json {
    let first = |all: &[String]| all.first().map_or(Json::Null, |name| Json::from(name.as_str()));
    let list = |all: &[String]| all.iter().map(|name| Json::from(name.as_str())).collect();
    match name {
        CertificateName::Subject => Json::from(names.subject.as_str()),
        CertificateName::CommonName => names.common_name.as_deref().map_or(Json::Null, Json::from),
        CertificateName::Dns => first(&names.dns),
        CertificateName::Email => first(&names.emails),
        CertificateName::Uri => first(&names.uris),
        CertificateName::AllDns => list(&names.dns),
        CertificateName::AllEmails => list(&names.emails),
        CertificateName::AllUris => list(&names.uris),
    }
}
