//! Whether an operation is let in: the rules of its root fields, the scopes that they need, the limits of whoever asks.

use std::{borrow::Cow, collections::HashMap, fmt, net::IpAddr, sync::Arc};

use serde_json::Value as Json;

use crate::{
    identity::{Identity, Way},
    limits::{LimiterStatistics, QuotaCount, Quotas, RateLimiter, Window, quota_key},
    operation::{KeyedQuota, KeyedRateLimit, LimitBy, OperationMatch, OperationRule},
    refusal::{AuthRefusal, RefusalKind},
    settings::AccessSettings,
};

/// Index of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u32);

/// The rules, and what was counted by them; shared by all cores.
pub struct Operations {
    rules: Vec<Rule>,
    by_match: HashMap<OperationMatch, RuleId>,
    has_names: bool,
    rates: RateLimiter,
    quotas: Quotas,
}

struct Rule {
    settings: OperationRule,
    /// Numbers of its rate limits and quotas among all, from these on.
    first_rate: u32,
    first_quota: u32,
    /// Of each rate limit and each quota, for people and for keys that stay the same after a restart.
    rate_names: Vec<Arc<str>>,
    quota_names: Vec<Arc<str>>,
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

/// How a limit stands for whoever asks, for `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitState {
    /// What it is of, by whom: `Query.orders by user`.
    pub name: Arc<str>,
    /// So many in the window.
    pub quota: u64,
    pub window_s: u64,
    pub remaining: u64,
    /// After so many seconds there is more.
    pub reset_s: u64,
}

/// Keys of all rate limits; each takes some 60 bytes.
const MAX_RATE_KEYS: usize = 500_000;
/// Keys of all quotas; each takes some 60 bytes.
const MAX_QUOTA_KEYS: usize = 500_000;
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
    pub fn new(settings: &AccessSettings) -> Self {
        let (mut first_rate, mut first_quota) = (0, 0);
        let rules = settings.operations.iter().map(|settings| {
            let quota_name = |quota: &KeyedQuota| {
                Arc::from(format!("{} by {} per {}", settings.matches, quota.by, quota.window.name()))
            };
            let rate_name =
                |limit: &KeyedRateLimit| Arc::from(format!("{} by {}", settings.matches, limit.by));
            let rule = Rule {
                settings: settings.clone(),
                first_rate,
                first_quota,
                rate_names: settings.rate_limits.iter().map(rate_name).collect(),
                quota_names: settings.quotas.iter().map(quota_name).collect(),
            };
            first_rate += settings.rate_limits.len() as u32;
            first_quota += settings.quotas.len() as u32;
            rule
        });
        let rules: Vec<Rule> = rules.collect();
        let by_match = rules
            .iter()
            .enumerate()
            .map(|(index, rule)| (rule.settings.matches.clone(), RuleId(index as u32)));
        let by_match: HashMap<_, _> = by_match.collect();
        let has_names = by_match.keys().any(|found| matches!(found, OperationMatch::Named(_)));
        let (rates, quotas) = (RateLimiter::new(MAX_RATE_KEYS), Quotas::new(MAX_QUOTA_KEYS));
        Self { rules, by_match, has_names, rates, quotas }
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
        let is_first = |index: usize| !rules[..index].contains(&rules[index]);
        let distinct: Vec<(RuleId, u64)> = (0..rules.len())
            .filter(|index| is_first(*index))
            .map(|index| (rules[index], rules.iter().filter(|rule| **rule == rules[index]).count() as u64))
            .collect();
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

    fn at(&self, rule: RuleId) -> &Rule {
        &self.rules[rule.0 as usize]
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
        &self,
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
            let Some(key) = key(&limit.by, asker) else { continue };
            let number = (rule.first_rate + index as u32, limit.limit);
            match self.rates.take(number, &key, cost, times.monotonic_ns) {
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
            let Some(key) = key(&quota.by, asker) else { continue };
            let key = quota_key(&rule.quota_names[index], &key);
            let number = (rule.first_quota + index as u32, quota.window);
            let reset_s = |end: i64| u64::try_from(end - times.unix_s).unwrap_or(0);
            match self.quotas.take(number, key, (cost, quota.most), times.unix_s) {
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
                    self.rates.give_back((rule.first_rate + *index as u32, limit), key, *cost);
                }
                Step::Quota { rule, index, key, cost } => {
                    self.quotas.give_back(self.at(*rule).first_quota + *index as u32, *key, *cost);
                }
            }
        }
    }

    /// Counts of quotas, to be written down for the next start.
    pub fn quota_counts(&self, now: i64) -> Vec<QuotaCount> {
        self.quotas.snapshot(now)
    }

    /// Takes up counts of quotas that were written down.
    pub fn restore_quotas(&self, written: &[QuotaCount], now: i64) {
        self.quotas.restore(written, now);
    }

    pub fn rate_statistics(&self) -> LimiterStatistics {
        self.rates.statistics()
    }
}

/// By what the requests of whoever asks are counted; none where the limit is not for it.
fn key<'a>(by: &LimitBy, asker: &Asker<'a>) -> Option<Cow<'a, [u8]>> {
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
        LimitBy::Role => Cow::Owned((identity.role.index() as u64).to_le_bytes().to_vec()),
        LimitBy::Everybody => Cow::Borrowed(b""),
        LimitBy::Claim { index, .. } => match identity.session.get(*index) {
            Some(Json::String(text)) => tagged(b's', text.as_bytes()),
            Some(Json::Null) | None => Cow::Borrowed(b""),
            Some(other) => tagged(b'j', other.to_string().as_bytes()),
        },
    })
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
            name: Arc::clone(&self.rate_names[index]),
            quota: limit.limit.burst,
            window_s: limit.limit.window_s(),
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
        let name = Arc::clone(&self.quota_names[index]);
        LimitState { name, quota: quota.most, window_s, remaining, reset_s }
    }
}

impl LimitState {
    /// The value of `RateLimit-Policy`.
    pub fn policy(&self) -> String {
        format!("{:?};q={};w={}", self.name, self.quota, self.window_s)
    }

    /// The value of `RateLimit`.
    pub fn rate_limit(&self) -> String {
        format!("{:?};r={};t={}", self.name, self.remaining, self.reset_s)
    }
}

impl fmt::Display for LimitState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the limit of {} for {} is reached", self.quota, self.name)
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
