//! Whether an operation is let in: the rules of its root fields, the scopes that they need, the limits of whoever asks.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    net::IpAddr,
    sync::Arc,
};

use serde_json::Value as Json;

use crate::{
    identity::{Identity, Way},
    limits::{LimitCounts, LimitState, RateLimit, Window, quota_key},
    operation::{KeyedConcurrency, KeyedQuota, KeyedRateLimit, LimitBy, OperationMatch, OperationRule},
    refusal::{AuthRefusal, RefusalKind},
    settings::AccessSettings,
};

/// Index of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u32);

impl RuleId {
    /// Among [`Operations::rules`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The rules, and what was counted by them; shared by all cores.
pub struct Operations {
    rules: Vec<Rule>,
    by_match: HashMap<OperationMatch, RuleId>,
    has_names: bool,
    counts: Arc<LimitCounts>,
    /// By [`RoleId`](crate::RoleId); a name is the same in another configuration.
    role_names: Vec<Arc<str>>,
}

struct Rule {
    settings: OperationRule,
    rates: Vec<NumberedLimit>,
    quotas: Vec<NumberedLimit>,
    /// The name of its bound on what runs at a time, for people.
    concurrency_name: Arc<str>,
}

/// A rate limit or a quota among those that have counts.
struct NumberedLimit {
    number: u32,
    /// For people; of quotas also for keys that stay the same after a restart.
    name: Arc<str>,
}

/// A place among the operations that may run at a time by a rule.
#[derive(Debug, Clone)]
pub struct PlaceRequest<'a> {
    pub rule: RuleId,
    pub settings: &'a KeyedConcurrency,
    /// Of whoever asks.
    pub key: Cow<'a, [u8]>,
    /// How many of its root fields are of the rule, as far as so many can run.
    pub weight: u64,
    name: &'a Arc<str>,
}

/// Who asks, for limits.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub identity: &'a Identity,
    /// Of the client, behind trusted proxies.
    pub address: IpAddr,
}

/// The time, twice.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Of a clock that is never set back, from any time on.
    pub monotonic_ns: u64,
    pub unix_s: i64,
}

/// Why an operation is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationRefusal {
    #[error(transparent)]
    Scope(AuthRefusal),
    #[error("{0}")]
    Limit(LimitState),
}

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;
const MONTH_S: u64 = 30 * DAY_S;

/// What was taken of one limit.
enum Step<'a> {
    Rate { rule: RuleId, index: usize, key: Cow<'a, [u8]>, cost: u64 },
    Quota { rule: RuleId, index: usize, key: [u8; 16], cost: u64 },
}

impl Operations {
    /// With counts of their own.
    pub fn new(settings: &AccessSettings) -> Self {
        Self::with_counts(settings, Arc::default())
    }

    /// With the counts of another configuration: a limit that is in both goes on counting.
    pub fn with_counts(settings: &AccessSettings, counts: Arc<LimitCounts>) -> Self {
        let rules = number(&settings.operations, &counts);
        let by_match = rules
            .iter()
            .enumerate()
            .map(|(index, rule)| (rule.settings.matches.clone(), RuleId(index as u32)));
        let by_match: HashMap<_, _> = by_match.collect();
        let has_names = by_match.keys().any(|found| matches!(found, OperationMatch::Named(_)));
        let role_names = settings.roles.iter().map(|role| Arc::clone(&role.name)).collect();
        Self { rules, by_match, has_names, counts, role_names }
    }

    /// For another configuration, and for what is written down.
    pub fn counts(&self) -> &Arc<LimitCounts> {
        &self.counts
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule for a root field of an operation: the most exact one. `root` is `Query`, `Mutation` or `Subscription`. It can
    /// be kept with a plan.
    pub fn rule(&self, operation_name: Option<&str>, root: &'static str, field: &str) -> Option<RuleId> {
        let named = operation_name.filter(|_| self.has_names);
        let named = named.map(|name| OperationMatch::Named(name.to_owned()));
        let others = [
            OperationMatch::RootField(root, field.to_owned()),
            OperationMatch::RootType(root),
            OperationMatch::All,
        ];
        named.iter().chain(&others).find_map(|found| self.by_match.get(found)).copied()
    }

    /// Lets an operation in by the rules of its root fields, one a field, or refuses all of it: nothing is counted then. Of
    /// several limits the one with the least left is returned.
    ///
    /// # Errors
    /// A scope is missing, or a limit is reached.
    pub fn admit(
        &self,
        rules: &[RuleId],
        asker: &Asker<'_>,
        times: Times,
    ) -> Result<Option<LimitState>, OperationRefusal> {
        let distinct = distinct(rules);
        for (rule, _) in &distinct {
            self.check_scopes(*rule, asker.identity)?;
        }
        let mut taken = Vec::new();
        let mut least: Option<LimitState> = None;
        for (rule, cost) in distinct {
            match self.take(rule, cost, asker, times, &mut taken) {
                Ok(Some(state)) => {
                    if least.as_ref().is_none_or(|least| state.remaining < least.remaining) {
                        least = Some(state);
                    }
                }
                Ok(None) => {}
                Err(state) => {
                    self.give_back(&taken);
                    return Err(OperationRefusal::Limit(state));
                }
            }
        }
        Ok(least)
    }

    /// Whether a place is needed to run an operation with these rules.
    pub fn needs_place(&self, rules: &[RuleId]) -> bool {
        rules.iter().any(|rule| self.at(*rule).settings.concurrency.is_some())
    }

    /// The places that an operation needs to run, in an order that is the same for all.
    pub fn places<'a>(&'a self, rules: &[RuleId], asker: &Asker<'a>) -> Vec<PlaceRequest<'a>> {
        let mut rules: Vec<(RuleId, u64)> = distinct(rules);
        rules.sort_unstable();
        let request = |(id, fields): (RuleId, u64)| {
            let rule = self.at(id);
            let settings = rule.settings.concurrency.as_ref()?;
            let key = self.key(&settings.by, asker)?;
            let weight = settings.bounds.weight(fields);
            Some(PlaceRequest { rule: id, settings, key, weight, name: &rule.concurrency_name })
        };
        rules.into_iter().filter_map(request).collect()
    }

    /// The rule as it was written.
    pub fn settings(&self, rule: RuleId) -> &OperationRule {
        &self.at(rule).settings
    }

    /// All of them, with their settings.
    pub fn rules(&self) -> impl Iterator<Item = &OperationRule> {
        self.rules.iter().map(|rule| &rule.settings)
    }

    fn at(&self, rule: RuleId) -> &Rule {
        &self.rules[rule.index()]
    }

    fn check_scopes(&self, rule: RuleId, identity: &Identity) -> Result<(), OperationRefusal> {
        let settings = &self.at(rule).settings;
        if identity.scopes.satisfy(&settings.scopes) {
            return Ok(());
        }
        let reason = format!("`{}` needs scopes {:?}", settings.matches, settings.scopes);
        Err(OperationRefusal::Scope(AuthRefusal::new(RefusalKind::InsufficientScope, reason)))
    }

    fn take<'a>(
        &'a self,
        id: RuleId,
        cost: u64,
        asker: &Asker<'a>,
        times: Times,
        taken: &mut Vec<Step<'a>>,
    ) -> Result<Option<LimitState>, LimitState> {
        let rule = self.at(id);
        let mut least: Option<LimitState> = None;
        let mut note = |state: LimitState| {
            if least.as_ref().is_none_or(|least| state.remaining < least.remaining) {
                least = Some(state);
            }
        };
        for (index, limit) in rule.settings.rate_limits.iter().enumerate() {
            let Some(key) = self.key(&limit.by, asker) else { continue };
            let number = (rule.rates[index].number, limit.limit);
            match self.counts.rates.take(number, &key, cost, times.monotonic_ns) {
                Ok(left) => {
                    taken.push(Step::Rate { rule: id, index, key, cost });
                    note(rule.rate_state(index, left.remaining, 0));
                }
                Err(refused) => {
                    let reset_s = refused.retry_after_ns.div_ceil(NANOSECONDS_A_SECOND);
                    return Err(rule.rate_state(index, 0, reset_s));
                }
            }
        }
        for (index, quota) in rule.settings.quotas.iter().enumerate() {
            let Some(key) = self.key(&quota.by, asker) else { continue };
            let key = quota_key(&rule.quotas[index].name, &key);
            let number = (rule.quotas[index].number, quota.window);
            let reset_s = |end: i64| u64::try_from(end - times.unix_s).unwrap_or(0);
            match self.counts.quotas.take(number, key, (cost, quota.most), times.unix_s) {
                Ok(remaining) => {
                    taken.push(Step::Quota { rule: id, index, key, cost });
                    note(rule.quota_state(index, remaining, reset_s(quota.window.ends_at(times.unix_s))));
                }
                Err(end) => return Err(rule.quota_state(index, 0, reset_s(end))),
            }
        }
        Ok(least)
    }

    fn give_back(&self, taken: &[Step<'_>]) {
        for step in taken {
            match step {
                Step::Rate { rule, index, key, cost } => {
                    let rule = self.at(*rule);
                    let limit = rule.settings.rate_limits[*index].limit;
                    self.counts.rates.give_back((rule.rates[*index].number, limit), key, *cost);
                }
                Step::Quota { rule, index, key, cost } => {
                    self.counts.quotas.give_back(self.at(*rule).quotas[*index].number, *key, *cost);
                }
            }
        }
    }

    /// By what the requests of whoever asks are counted; none where the limit is not for it.
    fn key<'a>(&'a self, by: &LimitBy, asker: &Asker<'a>) -> Option<Cow<'a, [u8]>> {
        let identity = asker.identity;
        Some(match by {
            LimitBy::User => match &identity.subject {
                Some(subject) => tagged(identity.way.tag(), subject.as_bytes()),
                None => tagged(Way::Anonymous.tag(), &address_bytes(asker.address)),
            },
            LimitBy::Key if identity.way == Way::ApiKey => {
                Cow::Borrowed(identity.subject.as_deref().unwrap_or_default().as_bytes())
            }
            LimitBy::Key => return None,
            LimitBy::Address => Cow::Owned(address_bytes(asker.address)),
            LimitBy::Role => Cow::Borrowed(self.role_names[identity.role.index()].as_bytes()),
            LimitBy::Everybody => Cow::Borrowed(b""),
            LimitBy::Claim { index, .. } => match identity.session.get(*index) {
                Some(Json::String(text)) => tagged(b's', text.as_bytes()),
                Some(Json::Null) | None => Cow::Borrowed(b""),
                Some(other) => tagged(b'j', other.to_string().as_bytes()),
            },
        })
    }
}

impl PlaceRequest<'_> {
    /// What is said where there is no place.
    pub fn refusal(&self) -> LimitState {
        let bounds = &self.settings.bounds;
        LimitState {
            name: Arc::clone(self.name),
            quota: bounds.most.min(bounds.each),
            window_s: None,
            remaining: 0,
            reset_s: self.settings.max_wait_ms.div_ceil(1_000).max(1),
        }
    }
}

/// Each rule once, with how often it stands there.
fn distinct(rules: &[RuleId]) -> Vec<(RuleId, u64)> {
    let is_first = |index: usize| !rules[..index].contains(&rules[index]);
    let count = |rule: RuleId| rules.iter().filter(|other| **other == rule).count() as u64;
    (0..rules.len())
        .filter(|index| is_first(*index))
        .map(|index| (rules[index], count(rules[index])))
        .collect()
}

/// Gives the limits of all rules their names and numbers. A rate limit is another one with another rate; a quota goes on with
/// another bound.
fn number(settings: &[OperationRule], counts: &LimitCounts) -> Vec<Rule> {
    let rate = |rule: &OperationRule, limit: &KeyedRateLimit| {
        let RateLimit { rate, burst } = limit.limit;
        (format!("{} by {}", rule.matches, limit.by), format!(" at {rate}, {burst} at once"))
    };
    let quota = |rule: &OperationRule, quota: &KeyedQuota| {
        (format!("{} by {} per {}", rule.matches, quota.by, quota.window.name()), String::new())
    };
    let mut repeated: BTreeMap<String, u32> = BTreeMap::new();
    let mut names: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    for rule in settings {
        let rates = rule.rate_limits.iter().map(|limit| rate(rule, limit));
        for (shown, rest) in rates.chain(rule.quotas.iter().map(|found| quota(rule, found))) {
            let before = repeated.entry(format!("{shown}{rest}")).or_default();
            *before += 1;
            let full = format!("{shown}{rest} {before}");
            names.push((shown.into(), full.into()));
        }
    }
    let full: Vec<Arc<str>> = names.iter().map(|(_, full)| Arc::clone(full)).collect();
    let numbers = counts.numbers(&full);
    let mut limits = names.into_iter().zip(numbers).map(|((name, _), number)| NumberedLimit { number, name });
    let rule = |settings: &OperationRule| Rule {
        rates: limits.by_ref().take(settings.rate_limits.len()).collect(),
        quotas: limits.by_ref().take(settings.quotas.len()).collect(),
        concurrency_name: settings.concurrency.as_ref().map_or_else(
            || "".into(),
            |concurrency| format!("{} by {} at a time", settings.matches, concurrency.by).into(),
        ),
        settings: settings.clone(),
    };
    settings.iter().map(rule).collect()
}

fn tagged<'a>(tag: u8, bytes: &[u8]) -> Cow<'a, [u8]> {
    Cow::Owned([&[tag], bytes].concat())
}

/// Of IPv6 the network: a client can have all addresses of one.
fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets()[..8].to_vec(),
    }
}

impl Rule {
    fn rate_state(&self, index: usize, remaining: u64, reset_s: u64) -> LimitState {
        let limit = &self.settings.rate_limits[index];
        LimitState {
            name: Arc::clone(&self.rates[index].name),
            quota: limit.limit.burst,
            window_s: Some(limit.limit.window_s()),
            remaining,
            reset_s,
        }
    }

    fn quota_state(&self, index: usize, remaining: u64, reset_s: u64) -> LimitState {
        let quota = &self.settings.quotas[index];
        let window_s = match quota.window {
            Window::Hour => HOUR_S,
            Window::Day => DAY_S,
            Window::Month => MONTH_S,
        };
        let (name, window_s) = (Arc::clone(&self.quotas[index].name), Some(window_s));
        LimitState { name, quota: quota.most, window_s, remaining, reset_s }
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.iter().map(|rule| &rule.settings);
        formatter
            .debug_struct("Operations")
            .field("rules", &rules.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
