//! Which role a request has, among those that its credentials allow, and the variables of its session.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value as Json;

use crate::{
    refusal::{AuthRefusal, RefusalKind},
    role::RoleId,
    settings::{AccessSettings, ROLE_VARIABLE},
};

/// The roles by their names, and the variables that permissions use.
#[derive(Debug)]
pub(super) struct Roles {
    names: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, RoleId>,
    variables: Vec<Box<str>>,
    /// The index of the variable that is the name of the role.
    role_variable: Option<usize>,
}

impl Roles {
    pub(super) fn new(settings: &AccessSettings) -> Self {
        let names: Vec<Arc<str>> = settings.roles.iter().map(|role| Arc::clone(&role.name)).collect();
        let by_name = names.iter().enumerate().map(|(index, name)| (Arc::clone(name), RoleId(index as u32)));
        let variables: Vec<Box<str>> = settings.names.names().map(Into::into).collect();
        let role_variable = variables.iter().position(|name| **name == *ROLE_VARIABLE);
        Self { by_name: by_name.collect(), names, variables, role_variable }
    }

    pub(super) fn find(&self, name: &str) -> Option<RoleId> {
        self.by_name.get(name).copied()
    }

    /// Names of the session's variables, by index.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|name| &**name)
    }

    /// A session of what is known of each variable.
    pub(super) fn session(&self, value: impl Fn(&str) -> Option<Json>) -> Arc<[Json]> {
        self.variables().map(|name| value(name).unwrap_or(Json::Null)).collect()
    }

    /// The same session in a role: it is another one only where permissions use the role's name.
    pub(super) fn with_role(&self, session: &Arc<[Json]>, role: RoleId) -> Arc<[Json]> {
        let Some(index) = self.role_variable else { return Arc::clone(session) };
        let mut values = session.to_vec();
        values[index] = Json::from(&*self.names[role.index()]);
        values.into()
    }

    /// Whether a request may have this role, the only one that its credentials allow.
    pub(super) fn only(&self, role: RoleId, chosen: Option<&[u8]>) -> Result<(), AuthRefusal> {
        match chosen {
            Some(chosen) if chosen != self.names[role.index()].as_bytes() => Err(not_allowed()),
            _ => Ok(()),
        }
    }

    /// The index of the chosen role among allowed ones.
    pub(super) fn choose(&self, allowed: &[RoleId], chosen: &[u8]) -> Result<usize, AuthRefusal> {
        let index = allowed.iter().position(|role| self.names[role.index()].as_bytes() == chosen);
        index.ok_or_else(not_allowed)
    }
}

/// The role of credentials that name none and allow one, which may stand there several times.
pub(super) fn only_allowed(allowed: &[RoleId]) -> Option<RoleId> {
    allowed.first().copied().filter(|first| allowed.iter().all(|role| role == first))
}

fn not_allowed() -> AuthRefusal {
    AuthRefusal::new(RefusalKind::RoleNotAllowed, "`x-prony-role` asks for a role that is not allowed")
}
