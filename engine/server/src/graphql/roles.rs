//! What each role is served: schemas of their own, which are made when they are first asked for.

use std::{
    borrow::Cow,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use prony_access::{
    AccessSettings, Identity, LimitState, OperationRefusal, Role, RoleId, RuleId, Times, Way, client_network,
};
use prony_graphql::{
    schema::SharedDefinitions,
    selection::{SlotRoot, Value},
    variables::{Authority, Policies, RequestClient},
};
use prony_source::permissions::{Permissions, TablePermissions};

use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, Serializer};

use super::{engine::Engine, merging::joined, plan::Plan, served::Served};
use crate::{
    access::{OperationRules, Places},
    clock::monotonic_ns,
    memory::give_back,
};

/// The roles of a configuration, and what they are served.
#[derive(Debug)]
pub(crate) struct RoleSchemas {
    pub(crate) settings: Arc<AccessSettings>,
    /// By [`RoleId`], the last that was made.
    served: Vec<Mutex<Option<Arc<Served>>>>,
    /// What the schemas of one [`Served::generation`] have alike.
    shared: Mutex<Option<(u64, SharedDefinitions)>>,
    /// By [`RoleId`]: which of the session's variables its permissions use, or sources want to know, sorted.
    variables: Vec<Box<[usize]>>,
}

/// Who asks, and the configuration that knows the role.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) roles: Arc<RoleSchemas>,
    pub(crate) rules: Arc<OperationRules>,
    pub(crate) identity: Arc<Identity>,
    /// Of the client, behind trusted proxies.
    pub(crate) address: IpAddr,
}

/// A client of whom nothing else is known, by its network.
pub(crate) fn client_at(address: IpAddr) -> RequestClient {
    let network = match client_network(address) {
        IpAddr::V4(network) => network.to_ipv6_mapped(),
        IpAddr::V6(network) => network,
    };
    RequestClient::Address(network.octets())
}

/// From so many on, what a role's schema is made of, and is gone then, is worth a walk over the heap.
const MANY_TYPES: usize = 10_000;

/// Who new credentials of a connection are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    Same,
    SomebodyElse,
    /// What is open is served by another configuration than the one that knows them.
    OtherConfiguration,
}

impl RoleSchemas {
    pub(crate) fn new(settings: Arc<AccessSettings>) -> Self {
        let served = settings.roles.iter().map(|_| Mutex::default()).collect();
        let of_role = |role| variables(role, &settings.source_variables);
        let variables = settings.roles.iter().map(of_role).collect();
        Self { settings, served, shared: Mutex::default(), variables }
    }

    pub(crate) fn role(&self, id: RoleId) -> &Role {
        &self.settings.roles[id.index()]
    }

    /// What a role is served at present.
    pub(crate) fn served(&self, id: RoleId, engine: &Engine) -> Arc<Served> {
        let role = self.role(id);
        let everything = engine.served();
        if role.unrestricted {
            return everything;
        }
        let mut known = self.served[id.index()].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(served) = known.as_ref().filter(|served| served.generation == everything.generation) {
            return Arc::clone(served);
        }
        let made = self.make(role, engine, &everything);
        *known = Some(Arc::clone(&made));
        if everything.schema.valid().types.len() >= MANY_TYPES {
            give_back();
        }
        made
    }

    fn make(&self, role: &Role, engine: &Engine, everything: &Served) -> Arc<Served> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.as_ref().is_none_or(|(generation, _)| *generation != everything.generation) {
            *shared = Some((everything.generation, SharedDefinitions::of(&everything.schema)));
        }
        let (_, shared) = shared.as_mut().expect("it was made above");
        let made = engine.served_to(everything, role, shared).unwrap_or_else(|faults| {
            let faults = joined(&faults, engine.sources());
            tracing::error!(role = &*role.name, faults, "the role has no schema; it is served nothing");
            engine.served_nothing(everything)
        });
        Arc::new(made.intercept(&self.settings, Some(role), engine.sources()))
    }
}

impl Asker {
    /// The rules for the root fields of an operation.
    pub(crate) fn rules_of<'p>(&self, name: Option<&str>, plan: &'p Plan) -> Cow<'p, [RuleId]> {
        if self.rules.operations.is_empty() {
            return Cow::Borrowed(&[]);
        }
        plan.rules(&self.rules, name)
    }

    /// Counts an operation by its rules, as far as that needs no waiting: false where it does, and nothing is counted.
    ///
    /// # Errors
    /// A scope is missing, or a limit is reached or cannot be checked.
    pub(crate) fn try_admit(&self, rules: &[RuleId]) -> Result<bool, OperationRefusal> {
        if rules.is_empty() {
            return Ok(true);
        }
        self.rules.try_admit(rules, &self.for_limits(), times())
    }

    /// Counts an operation by its rules.
    ///
    /// # Errors
    /// As [`Self::try_admit`].
    pub(crate) async fn admit(&self, rules: &[RuleId]) -> Result<(), OperationRefusal> {
        self.rules.admit(rules, &self.for_limits(), times()).await
    }

    /// Waits until an operation may run by its rules.
    pub(crate) async fn places(&self, rules: &[RuleId]) -> Result<Places, LimitState> {
        self.rules.places(rules, &self.for_limits()).await
    }

    /// What a subscription needs by its rules, as long as it lives.
    pub(crate) fn places_of_subscription(&self, rules: &[RuleId]) -> Result<Places, LimitState> {
        self.rules.places_of_subscription(rules, &self.for_limits())
    }

    /// A user by name, others by their address.
    pub(crate) fn client(&self) -> RequestClient {
        if self.identity.subject.is_none() {
            return client_at(self.address);
        }
        let identity: Arc<Identity> = Arc::clone(&self.identity);
        RequestClient::User(identity)
    }

    fn for_limits(&self) -> prony_access::Asker<'_> {
        prony_access::Asker { identity: &self.identity, address: self.address }
    }

    pub(crate) fn role(&self) -> &Role {
        self.roles.role(self.identity.role)
    }

    /// Whether the rows that its role sees depend on who asks.
    pub(crate) fn sees_by_session(&self) -> bool {
        !self.roles.variables[self.identity.role.index()].is_empty()
    }

    /// What is granted to who asks, for directives of schemas of functions.
    pub(crate) fn authority(&self) -> Authority {
        let role = self.roles.role(self.identity.role);
        let is_authenticated = self.identity.way != Way::Anonymous;
        let policies =
            if role.unrestricted { Policies::All } else { Policies::Only(Arc::clone(&role.policies)) };
        Authority { is_authenticated, scopes: self.identity.scopes.shared(), policies }
    }

    /// Everything that interceptors are told of who asks, as text.
    pub(crate) fn identity_text(&self) -> Box<str> {
        let Identity { role, session, scopes, subject, .. } = &*self.identity;
        let known = (role.index(), session, scopes.iter_sorted(), subject);
        serde_json::to_string(&known).expect("JSON values are JSON").into()
    }

    /// Whether what was begun for this asker may go on by the credentials of another: of the same user in the same role, with the
    /// same variables and no scope less.
    pub(crate) fn goes_on_as(&self, other: &Self) -> Renewal {
        if !Arc::ptr_eq(&self.roles, &other.roles) {
            return Renewal::OtherConfiguration;
        }
        let known = |asker: &Self| {
            let Identity { role, way, session, subject, issuer, .. } = (*asker.identity).clone();
            (role, way, session, subject, issuer)
        };
        let keeps_scopes =
            self.identity.scopes.iter_sorted().iter().all(|scope| other.identity.scopes.contains(scope));
        let is_same = known(self) == known(other) && keeps_scopes;
        if is_same { Renewal::Same } else { Renewal::SomebodyElse }
    }

    /// [`RelevantValues`] as JSON.
    pub(crate) fn relevant_text(&self) -> Box<str> {
        serde_json::to_string(&RelevantValues(self)).expect("JSON values are JSON").into()
    }
}

/// Values of the session's variables that the permissions of the role use: those who agree in them are served alike.
#[derive(Debug)]
pub(crate) struct RelevantValues<'a>(pub(crate) &'a Asker);

impl Serialize for RelevantValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Asker { identity, roles, .. } = self.0;
        let used = &roles.variables[identity.role.index()];
        serializer.collect_seq(used.iter().map(|index| identity.session.get(*index)))
    }
}

fn times() -> Times {
    Times { monotonic_ns: monotonic_ns(), unix_s: clock_gettime(ClockId::RealtimeCoarse).tv_sec }
}

fn variables(role: &Role, of_sources: &[usize]) -> Box<[usize]> {
    let mut found = of_sources.to_vec();
    let tables = role.permissions.values().flat_map(|Permissions { tables, .. }| tables.values());
    for table in tables {
        let TablePermissions { select, insert, update, delete } = &**table;
        let conditions = [
            select.as_ref().map(|select| &select.rows),
            insert.as_ref().map(|insert| &insert.check),
            update.as_ref().map(|update| &update.rows),
            update.as_ref().map(|update| &update.check),
            delete.as_ref().map(|delete| &delete.rows),
        ];
        conditions.into_iter().flatten().for_each(|condition| add_variables(condition, &mut found));
        let presets = [insert.as_ref().map(|insert| &insert.set), update.as_ref().map(|update| &update.set)];
        let presets = presets.into_iter().flatten().flat_map(|set| set.values());
        presets.for_each(|value| add_variables(value, &mut found));
    }
    found.sort_unstable();
    found.dedup();
    found.into()
}

fn add_variables(value: &Value, found: &mut Vec<usize>) {
    match value {
        Value::Slot(slot) => {
            if let SlotRoot::Session(index) = slot.root {
                found.push(index);
            }
        }
        Value::List(items) => items.iter().for_each(|item| add_variables(item, found)),
        Value::Object(entries) => entries.iter().for_each(|(_, value)| add_variables(value, found)),
        Value::Null | Value::Boolean(_) | Value::Enum(_) | Value::Scalar(_) => {}
    }
}
