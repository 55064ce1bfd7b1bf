//! What becomes of somebody who was let in, and stays, when other settings take the place of those that let them in.

use std::sync::Arc;

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

impl AccessSettings {
    /// What becomes, under these settings, of somebody whom those of `before` let in.
    pub fn standing(&self, identity: &Arc<Identity>, before: &Self) -> Standing {
        let Some(role) = before.roles.get(identity.role.index()) else { return Standing::Refused };
        let found = self.roles.iter().zip(0..).find(|(now, _)| now.name == role.name);
        let (Some((now, index)), Some(has_same_way)) = (found, self.has_same_way(identity, before)) else {
            return Standing::Refused;
        };
        // The values of a session are by the index of their names.
        let is_same = has_same_way
            && now.grants_as(role)
            && self.names == before.names
            && self.source_names == before.source_names
            && self.certificates == before.certificates
            && are_called_as(&self.interceptors.tables, &before.interceptors.tables);
        if !is_same {
            return Standing::Other;
        }
        if identity.role == RoleId(index) {
            return Standing::Same(Arc::clone(identity));
        }
        Standing::Same(Arc::new(Identity { role: RoleId(index), ..(**identity).clone() }))
    }

    /// Whether the way in which somebody is known is the one that it was; none where it is gone.
    fn has_same_way(&self, identity: &Identity, before: &Self) -> Option<bool> {
        match identity.way {
            Way::Token => {
                let is_of = |name: Option<&str>| name.is_none() || name == identity.issuer.as_deref();
                let is_there = self.issuers.iter().any(|issuer| is_of(issuer.issuer.as_deref()));
                is_there.then(|| self.issuers == before.issuers)
            }
            Way::ApiKey => {
                let of = |settings: &Self| {
                    let is_it = |name: &str| identity.subject.as_deref() == Some(name);
                    settings.api_keys.iter().position(|record| is_it(&record.name))
                };
                let (now, then) = (&self.api_keys[of(self)?], &before.api_keys[of(before)?]);
                now.is_same_key(then).then(|| now.gives_as(then))
            }
            Way::Certificate => self.certificates.as_ref().map(|_| true),
            Way::Webhook => self.webhook.as_ref().map(|_| self.webhook == before.webhook),
            Way::Anonymous => {
                let of = |settings: &Self| {
                    settings.anonymous.map(|role| Arc::clone(&settings.roles[role.index()].name))
                };
                of(self).map(|role| Some(role) == of(before))
            }
        }
    }
}
