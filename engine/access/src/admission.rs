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
    call_pattern::{CallPattern, segments},
    identity::{Identity, Way},
    limits::{LimitCounts, LimitState, RateLimit, SharedBound, SharedLimit, Window, quota_key},
    network::client_network,
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
    /// Of calls, the most exact first.
    calls: Vec<(CallPattern, RuleId)>,
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
    /// For people.
    name: Arc<str>,
    /// For keys that stay the same after a restart and at other servers with this configuration: no other limit has it.
    full_name: Arc<str>,
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
    /// Counts are shared with other servers, and where they are kept cannot be reached.
    #[error("limits cannot be checked at present")]
    Unreachable,
}

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;
const MONTH_S: u64 = 30 * DAY_S;

/// What an operation takes of one limit.
#[derive(Debug)]
pub(crate) struct LimitStep<'a> {
    rule: RuleId,
    kind: LimitKind,
    /// Among the rule's limits of its kind.
    index: usize,
    /// Of whoever asks.
    key: Cow<'a, [u8]>,
    cost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitKind {
    Rate,
    Quota,
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
        let call = |(matches, id): (&OperationMatch, &RuleId)| match matches {
            OperationMatch::Call(pattern) => Some((pattern.clone(), *id)),
            _ => None,
        };
        let mut calls: Vec<_> = by_match.iter().filter_map(call).collect();
        calls.sort_unstable();
        let has_names = by_match.keys().any(|found| matches!(found, OperationMatch::Named(_)));
        let role_names = settings.roles.iter().map(|role| Arc::clone(&role.name)).collect();
        Self { rules, by_match, calls, has_names, counts, role_names }
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

    /// Whether a call's path matters.
    pub fn has_call_rules(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The rule for a call of a source's HTTP API: the most exact one.
    pub fn call_rule(&self, method: &str, path: &str) -> Option<RuleId> {
        if !self.calls.is_empty() {
            let (method, path) = (if method == "HEAD" { "GET" } else { method }, segments(path));
            let found = self.calls.iter().find(|(pattern, _)| pattern.matches(method, &path));
            if let Some((_, id)) = found {
                return Some(*id);
            }
        }
        self.by_match.get(&OperationMatch::All).copied()
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
        let steps = self.steps(rules, asker)?;
        let mut least: Option<LimitState> = None;
        for (position, step) in steps.iter().enumerate() {
            match self.take(step, times) {
                Ok(state) => note_least(&mut least, state),
                Err(state) => {
                    steps[..position].iter().for_each(|taken| self.give_back(taken));
                    return Err(OperationRefusal::Limit(state));
                }
            }
        }
        Ok(least)
    }

    /// What an operation takes of each limit, once the scopes that it needs are granted.
    pub(crate) fn steps<'a>(
        &'a self,
        rules: &[RuleId],
        asker: &Asker<'a>,
    ) -> Result<Vec<LimitStep<'a>>, OperationRefusal> {
        for (rule, _) in distinct(rules) {
            self.check_scopes(rule, asker.identity)?;
        }
        let mut steps = Vec::new();
        for (id, cost) in distinct(rules) {
            let OperationRule { rate_limits, quotas, .. } = &self.at(id).settings;
            let rates =
                rate_limits.iter().enumerate().map(|(index, limit)| (LimitKind::Rate, index, &limit.by));
            let quotas = quotas.iter().enumerate().map(|(index, quota)| (LimitKind::Quota, index, &quota.by));
            for (kind, index, by) in rates.chain(quotas) {
                let Some(key) = self.key(by, asker) else { continue };
                steps.push(LimitStep { rule: id, kind, index, key, cost });
            }
        }
        Ok(steps)
    }

    /// Whether a place is needed to run an operation with these rules.
    pub fn needs_place(&self, rules: &[RuleId]) -> bool {
        rules.iter().any(|rule| self.at(*rule).settings.concurrency.is_some())
    }

    /// The places that an operation needs to run, in an order that is the same for all.
    pub fn places<'a>(&'a self, rules: &[RuleId], asker: &Asker<'a>) -> Vec<PlaceRequest<'a>> {
        if !self.needs_place(rules) {
            return Vec::new();
        }
        let mut rules: Vec<(RuleId, u64)> = distinct(rules).collect();
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

    /// How the limit stands once it is counted, or without it.
    pub(crate) fn take(&self, step: &LimitStep<'_>, times: Times) -> Result<LimitState, LimitState> {
        let rule = self.at(step.rule);
        match step.kind {
            LimitKind::Rate => {
                let number = (rule.rates[step.index].number, rule.settings.rate_limits[step.index].limit);
                let taken = self.counts.rates.take(number, &step.key, step.cost, times.monotonic_ns);
                match taken {
                    Ok(left) => Ok(self.state(step, left.remaining, 0, times)),
                    Err(refused) => Err(self.state(step, 0, refused.retry_after_ns, times)),
                }
            }
            LimitKind::Quota => {
                let quota = &rule.settings.quotas[step.index];
                let key = quota_key(&rule.quotas[step.index].full_name, &step.key);
                let number = (rule.quotas[step.index].number, quota.window);
                let taken = self.counts.quotas.take(number, key, (step.cost, quota.most), times.unix_s);
                match taken {
                    Ok(remaining) => Ok(self.state(step, remaining, 0, times)),
                    Err(end) => {
                        let state = rule.quota_state(step.index, 0, seconds_until(end, times));
                        Err(LimitState { cost: step.cost, ..state })
                    }
                }
            }
        }
    }

    pub(crate) fn give_back(&self, step: &LimitStep<'_>) {
        let rule = self.at(step.rule);
        match step.kind {
            LimitKind::Rate => {
                let number = (rule.rates[step.index].number, rule.settings.rate_limits[step.index].limit);
                self.counts.rates.give_back(number, &step.key, step.cost);
            }
            LimitKind::Quota => {
                let key = quota_key(&rule.quotas[step.index].full_name, &step.key);
                self.counts.quotas.give_back(rule.quotas[step.index].number, key, step.cost);
            }
        }
    }

    /// How the limit of a step stands. `wait_ns` is for rates; a quota has more when its window ends.
    pub(crate) fn state(
        &self,
        step: &LimitStep<'_>,
        remaining: u64,
        wait_ns: u64,
        times: Times,
    ) -> LimitState {
        let rule = self.at(step.rule);
        let state = match step.kind {
            LimitKind::Rate => rule.rate_state(step.index, remaining, wait_ns.div_ceil(NANOSECONDS_A_SECOND)),
            LimitKind::Quota => {
                let ends_at = rule.settings.quotas[step.index].window.ends_at(times.unix_s);
                rule.quota_state(step.index, remaining, seconds_until(ends_at, times))
            }
        };
        LimitState { cost: step.cost, ..state }
    }

    /// The limit of a step, as servers share it.
    pub(crate) fn shared_limit<'s>(&'s self, step: &'s LimitStep<'_>, times: Times) -> SharedLimit<'s> {
        let rule = self.at(step.rule);
        let (limit, bound) = match step.kind {
            LimitKind::Rate => {
                (&rule.rates[step.index], SharedBound::Rate(rule.settings.rate_limits[step.index].limit))
            }
            LimitKind::Quota => {
                let quota = &rule.settings.quotas[step.index];
                let ends_at = quota.window.ends_at(times.unix_s);
                (&rule.quotas[step.index], SharedBound::Quota { most: quota.most, ends_at })
            }
        };
        SharedLimit { number: limit.number, name: &limit.full_name, key: &step.key, cost: step.cost, bound }
    }

    /// By what the requests of whoever asks are counted; none where the limit is not for it.
    fn key<'a>(&'a self, by: &LimitBy, asker: &Asker<'a>) -> Option<Cow<'a, [u8]>> {
        let identity = asker.identity;
        Some(match by {
            LimitBy::User => match &identity.subject {
                Some(subject) => {
                    let issuer = identity.issuer.as_deref().unwrap_or_default();
                    tagged(identity.way.tag(), &[issuer.as_bytes(), b"\0", subject.as_bytes()])
                }
                None => tagged(Way::Anonymous.tag(), &[&address_bytes(asker.address)]),
            },
            LimitBy::Key if identity.way == Way::ApiKey => {
                Cow::Borrowed(identity.subject.as_deref().unwrap_or_default().as_bytes())
            }
            LimitBy::Key => return None,
            LimitBy::Address => Cow::Owned(address_bytes(asker.address)),
            LimitBy::Role => Cow::Borrowed(self.role_names[identity.role.index()].as_bytes()),
            LimitBy::Everybody => Cow::Borrowed(b""),
            LimitBy::Claim { index, .. } => match identity.session.get(*index) {
                Some(Json::String(text)) => tagged(b's', &[text.as_bytes()]),
                Some(Json::Null) | None => Cow::Borrowed(b""),
                Some(other) => tagged(b'j', &[other.to_string().as_bytes()]),
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
            // No more places are asked for than there may be.
            cost: 1,
        }
    }
}

/// Each rule once, with how often it stands there.
fn distinct(rules: &[RuleId]) -> impl Iterator<Item = (RuleId, u64)> {
    let is_first = |index: &usize| !rules[..*index].contains(&rules[*index]);
    let count = |rule: RuleId| rules.iter().filter(|other| **other == rule).count() as u64;
    (0..rules.len()).filter(is_first).map(move |index| (rules[index], count(rules[index])))
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
            let full =
                if *before == 1 { format!("{shown}{rest}") } else { format!("{shown}{rest} {before}") };
            names.push((shown.into(), full.into()));
        }
    }
    let full: Vec<Arc<str>> = names.iter().map(|(_, full)| Arc::clone(full)).collect();
    let numbers = counts.numbers(&full);
    let numbered = |((name, full_name), number)| NumberedLimit { number, name, full_name };
    let mut limits = names.into_iter().zip(numbers).map(numbered);
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

/// Of several states the one with the least left.
pub(crate) fn note_least(least: &mut Option<LimitState>, state: LimitState) {
    if least.as_ref().is_none_or(|least| state.remaining < least.remaining) {
        *least = Some(state);
    }
}

fn seconds_until(end: i64, times: Times) -> u64 {
    u64::try_from(end - times.unix_s).unwrap_or(0)
}

fn tagged<'a>(tag: u8, parts: &[&[u8]]) -> Cow<'a, [u8]> {
    let mut bytes = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    bytes.push(tag);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    Cow::Owned(bytes)
}

fn address_bytes(address: IpAddr) -> Vec<u8> {
    match client_network(address) {
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
            cost: 1,
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
        LimitState { name, quota: quota.most, window_s, remaining, reset_s, cost: 1 }
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
