//! What becomes of those who were let in, and stay, when other settings take the place of those that let them in.

use std::{collections::HashMap, sync::Arc};

use crate::{
    identity::{Identity, Way},
    interceptors::are_called_as,
    role::RoleId,
    settings::AccessSettings,
};

/// Whether somebody may go on as they were let in.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// With the same rights, as which they are known to the new settings.
    Same(Arc<Identity>),
    /// What they, or the way in which they are known, may do is another: they must ask to be let in again.
    Other,
    /// They would be refused: the key, the way or the role is gone.
    Refused,
}

/// Settings beside those before them, which is worked out once for all who are connected: they may be many. Each is none where what it is
/// about is gone, and says otherwise whether it is the same.
#[derive(Debug)]
pub struct Standings {
    /// By the [`RoleId`] of before, with the one of now.
    roles: Vec<Option<(RoleId, bool)>>,
    /// The values of a session are by the index of their names; certificates add to those of all who bring one.
    has_same_session: bool,
    /// The names of issuers now, one of which may be without.
    issuers: Vec<Option<String>>,
    are_issuers_same: bool,
    api_keys: HashMap<Arc<str>, bool>,
    has_certificates: bool,
    webhook: Option<bool>,
    anonymous: Option<bool>,
}

impl Standings {
    pub fn between(before: &AccessSettings, now: &AccessSettings) -> Self {
        let are_called_same = are_called_as(&now.interceptors.tables, &before.interceptors.tables);
        let roles = before.roles.iter().map(|then| {
            let (role, index) = now.roles.iter().zip(0..).find(|(role, _)| role.name == then.name)?;
            Some((RoleId(index), are_called_same && role.grants_as(then)))
        });
        let name = |settings: &AccessSettings, role: Option<RoleId>| {
            role.map(|role| Arc::clone(&settings.roles[role.index()].name))
        };
        let mut issuers = now.issuers.iter().zip(&before.issuers);
        let are_issuers_same = now.issuers.len() == before.issuers.len()
            && issuers.all(|(one, then)| {
                one.is_but_for_role(then) && name(now, one.role) == name(before, then.role)
            });
        let certificates = |settings: &AccessSettings| {
            let given = settings.certificates.as_ref();
            given.map(|given| (name(settings, given.role), given.session.clone()))
        };
        let then: HashMap<_, _> = before.api_keys.iter().map(|record| (&record.name, record)).collect();
        let api_keys = now.api_keys.iter().filter_map(|record| {
            let then = then.get(&record.name).filter(|then| record.is_same_key(then))?;
            Some((Arc::clone(&record.name), record.gives_as(then)))
        });
        Self {
            roles: roles.collect(),
            has_same_session: now.names == before.names
                && now.source_names == before.source_names
                && certificates(now) == certificates(before),
            issuers: now.issuers.iter().map(|issuer| issuer.issuer.clone()).collect(),
            are_issuers_same,
            api_keys: api_keys.collect(),
            has_certificates: now.certificates.is_some(),
            webhook: now.webhook.as_ref().map(|_| now.webhook == before.webhook),
            anonymous: name(now, now.anonymous).map(|role| Some(role) == name(before, before.anonymous)),
        }
    }

    /// What becomes of somebody whom the settings of before have let in.
    pub fn of(&self, identity: &Arc<Identity>) -> Standing {
        let role = self.roles.get(identity.role.index()).copied().flatten();
        let (Some((role, grants_same)), Some(is_same_way)) = (role, self.way(identity)) else {
            return Standing::Refused;
        };
        if !(grants_same && is_same_way && self.has_same_session) {
            return Standing::Other;
        }
        if identity.role == role {
            return Standing::Same(Arc::clone(identity));
        }
        Standing::Same(Arc::new(Identity { role, ..(**identity).clone() }))
    }

    /// The way in which somebody is known.
    fn way(&self, identity: &Identity) -> Option<bool> {
        match identity.way {
            Way::Token => {
                let is_of =
                    |name: &Option<String>| name.is_none() || name.as_deref() == identity.issuer.as_deref();
                self.issuers.iter().any(is_of).then_some(self.are_issuers_same)
            }
            Way::ApiKey => self.api_keys.get(identity.subject.as_deref()?).copied(),
            Way::Certificate => self.has_certificates.then_some(true),
            Way::Webhook => self.webhook,
            Way::Anonymous => self.anonymous,
        }
    }
}
