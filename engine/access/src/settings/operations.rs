//! Reading `[[operation]]`: which root fields, operations or calls it is for, and what is asked of them.

use std::collections::BTreeSet;

use prony_graphql::{
    Name,
    selection::{SlotRoot, Value},
};
use prony_source::{
    config::{Faults, FileEntry},
    fair_queue::QueueBounds,
    permissions::SessionNames,
};
use serde_json::Value as Json;
use toml::de::DeValue;

use super::{
    fields::{Fields, texts},
    issuers::is_pointer,
    time,
    types::AccessSettings,
};
use crate::{
    call_pattern::CallPattern,
    limits::{Rate, RateLimit, Window},
    operation::{
        CLAIM_VARIABLE, CacheScope, KeyedConcurrency, KeyedQuota, KeyedRateLimit, LimitBy, OperationMatch,
        OperationRule, ResponseCacheRule,
    },
};

const MOST_AT_A_TIME: u64 = 1_000_000;
/// Operations that wait for a place where nothing is said; each holds its request.
const DEFAULT_WAITING: u64 = 1_000;
const DEFAULT_WAITING_EACH: u64 = 100;
/// Clients give up after some seconds.
const DEFAULT_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 600_000;
const LONGEST_TTL_MS: u64 = 30 * 86_400_000;

const ROOT_TYPES: [&str; 3] = ["Query", "Mutation", "Subscription"];

impl AccessSettings {
    /// Reads the value of `operation`, after [`Self::read`]. Whether root fields exist is not known here.
    pub fn read_operations(&mut self, list: FileEntry<'_, '_>, faults: &mut Faults) {
        let mut known = BTreeSet::new();
        for item in list.items(faults) {
            let reader = RuleReader { names: &mut self.names, faults };
            let Some(rule) = reader.read(item) else { continue };
            let name = match &rule.matches {
                OperationMatch::Call(pattern) => pattern.without_names(),
                matches => matches.to_string(),
            };
            if !known.insert(name) {
                faults.push(item.value_origin(), format!("`{}` stands twice", rule.matches));
            }
            self.operations.push(rule);
        }
    }
}

struct RuleReader<'r> {
    names: &'r mut SessionNames,
    faults: &'r mut Faults,
}

impl RuleReader<'_> {
    fn read(mut self, entry: FileEntry<'_, '_>) -> Option<OperationRule> {
        let mut fields = Fields::of(entry, "[[operation]]", self.faults);
        let (field, name) = (fields.take("match"), fields.take("name"));
        let matches = match (field, name) {
            (Some(field), None) => self.matches(field),
            (None, Some(name)) => self.operation_name(name),
            (Some(_), Some(_)) => {
                fields.missing("has `match` or `name`, and not both", self.faults);
                None
            }
            (None, None) => {
                let message =
                    "needs `match`, such as \"Query.orders\" or \"Mutation.*\", or `name` of an operation";
                fields.missing(message, self.faults);
                None
            }
        };
        let scopes = fields.take("scopes").map_or_else(Vec::new, |entry| self.scopes(entry));
        let rate_limits = fields.take("rate_limit").map_or_else(Vec::new, |entry| {
            entry.items(self.faults).into_iter().filter_map(|item| self.rate_limit(item)).collect()
        });
        let quotas = fields.take("quota").map_or_else(Vec::new, |entry| {
            entry.items(self.faults).into_iter().flat_map(|item| self.quotas(item)).collect()
        });
        let concurrency = fields.take("concurrency").and_then(|entry| self.concurrency(entry));
        let deduplicate = fields.boolean("deduplicate", false, self.faults);
        let cache = fields.take("cache").and_then(|entry| self.cache(entry));
        if matches!(matches, Some(OperationMatch::Call(_))) && (deduplicate || cache.is_some()) {
            let message = "`cache` and `deduplicate` are for queries of GraphQL, not for calls";
            self.faults.push(entry.value_origin(), message);
        }
        fields.end(self.faults);
        Some(OperationRule {
            matches: matches?,
            scopes,
            rate_limits,
            quotas,
            concurrency,
            deduplicate,
            cache,
        })
    }

    fn matches(&mut self, entry: FileEntry<'_, '_>) -> Option<OperationMatch> {
        let text = entry.text(self.faults)?;
        if text == "*" {
            return Some(OperationMatch::All);
        }
        if text.contains(['/', ' ']) {
            let pattern = text.parse::<CallPattern>();
            let pattern = pattern.map_err(|error| {
                self.faults.push(entry.value_origin(), format!("`match`: {error}"));
            });
            return pattern.ok().map(OperationMatch::Call);
        }
        let found = text.split_once('.').and_then(|(root, field)| {
            let root = ROOT_TYPES.into_iter().find(|known| *known == root)?;
            if field == "*" {
                return Some(OperationMatch::RootType(root));
            }
            Name::new(field).ok().map(|_| OperationMatch::RootField(root, field.to_owned()))
        });
        if found.is_none() {
            let message = "`match`: write \"Query.orders\", \"Mutation.*\", \"Subscription.*\" or \"*\"";
            self.faults.push(entry.value_origin(), message);
        }
        found
    }

    fn operation_name(&mut self, entry: FileEntry<'_, '_>) -> Option<OperationMatch> {
        let name = entry.text(self.faults)?;
        if Name::new(&name).is_err() {
            self.faults.push(entry.value_origin(), format!("`{name}` is no name of an operation"));
            return None;
        }
        Some(OperationMatch::Named(name))
    }

    /// Scopes all of which are needed, or lists of which one is.
    fn scopes(&mut self, entry: FileEntry<'_, '_>) -> Vec<Vec<String>> {
        let of_list = |entry, faults: &mut Faults| -> Vec<String> {
            texts(entry, faults).into_iter().map(|(scope, _)| scope).collect()
        };
        let is_list = |item: &FileEntry<'_, '_>| matches!(item.value().get_ref(), DeValue::Array(_));
        let has_lists = matches!(entry.value().get_ref(), DeValue::Array(_))
            && entry.items(&mut Faults::default()).iter().any(is_list);
        if has_lists {
            let items = entry.items(self.faults).into_iter();
            return items.map(|item| of_list(item, self.faults)).collect();
        }
        let all = of_list(entry, self.faults);
        if all.is_empty() { Vec::new() } else { vec![all] }
    }

    fn rate_limit(&mut self, entry: FileEntry<'_, '_>) -> Option<KeyedRateLimit> {
        let mut fields = Fields::of(entry, "a rate limit", self.faults);
        let by = self.required_by(&mut fields);
        let entry = fields.take("rate");
        if entry.is_none() {
            fields.missing("needs its `rate`, such as \"50/s\"", self.faults);
        }
        let rate = entry.and_then(|entry| {
            let rate = entry.text(self.faults)?.parse::<Rate>();
            rate.map_err(|error| self.faults.push(entry.value_origin(), format!("`rate`: {error}"))).ok()
        });
        let most = rate.map_or(u64::MAX, RateLimit::max_burst);
        let burst = fields.number("burst", (1, most), self.faults);
        fields.end(self.faults);
        let rate = rate?;
        let burst = burst.unwrap_or_else(|| rate.count().min(most));
        Some(KeyedRateLimit { by: by?, limit: RateLimit { rate, burst } })
    }

    fn quotas(&mut self, entry: FileEntry<'_, '_>) -> Vec<KeyedQuota> {
        let mut fields = Fields::of(entry, "a quota", self.faults);
        let by = self.required_by(&mut fields);
        let windows = [("hour", Window::Hour), ("day", Window::Day), ("month", Window::Month)];
        let written = windows.map(|(key, window)| {
            fields.number(key, (1, u64::MAX >> 1), self.faults).map(|most| (window, most))
        });
        if written.iter().all(Option::is_none) {
            fields.missing("needs `hour`, `day` or `month`: so many in it", self.faults);
        }
        fields.end(self.faults);
        let Some(by) = by else { return Vec::new() };
        let written = written.into_iter().flatten();
        written.map(|(window, most)| KeyedQuota { by: by.clone(), window, most }).collect()
    }

    fn concurrency(&mut self, entry: FileEntry<'_, '_>) -> Option<KeyedConcurrency> {
        let mut fields = Fields::of(entry, "`concurrency`", self.faults);
        let by = fields.take("by").map_or(Some(LimitBy::User), |entry| self.by(entry));
        let most = fields.number("most", (1, MOST_AT_A_TIME), self.faults);
        let each = fields.number("each", (1, MOST_AT_A_TIME), self.faults);
        if most.is_none() && each.is_none() {
            let message = "needs `most`: so many at a time, or `each`: so many of one user";
            fields.missing(message, self.faults);
        }
        let max_waiting = fields.number("max_waiting", (0, MOST_AT_A_TIME), self.faults);
        let max_waiting_each = fields.number("max_waiting_each", (0, MOST_AT_A_TIME), self.faults);
        let max_wait_ms = fields.number("max_wait_ms", (1, LONGEST_WAIT_MS), self.faults);
        let subscriptions = fields.boolean("subscriptions", false, self.faults);
        fields.end(self.faults);
        let bounds = QueueBounds {
            most: most.unwrap_or(u64::MAX),
            each: each.unwrap_or(u64::MAX),
            max_waiting: max_waiting.unwrap_or(DEFAULT_WAITING) as usize,
            max_waiting_each: max_waiting_each.unwrap_or(DEFAULT_WAITING_EACH) as usize,
        };
        let max_wait_ms = max_wait_ms.unwrap_or(DEFAULT_WAIT_MS);
        Some(KeyedConcurrency { by: by?, bounds, max_wait_ms, subscriptions })
    }

    fn cache(&mut self, entry: FileEntry<'_, '_>) -> Option<ResponseCacheRule> {
        let mut fields = Fields::of(entry, "`cache`", self.faults);
        let ttl = fields.take("ttl");
        if ttl.is_none() {
            fields.missing("needs its `ttl`, such as \"5s\": for how long responses are kept", self.faults);
        }
        let ttl_ms = ttl.and_then(|entry| time::duration_ms(entry, (1, LONGEST_TTL_MS), self.faults));
        let scope = fields.take("scope").map_or(Some(CacheScope::User), |entry| {
            let scope = match entry.text(self.faults)?.as_str() {
                "user" => Some(CacheScope::User),
                "shared" => Some(CacheScope::Shared),
                _ => None,
            };
            if scope.is_none() {
                self.faults.push(entry.value_origin(), "`scope`: write \"user\" or \"shared\"");
            }
            scope
        });
        fields.end(self.faults);
        Some(ResponseCacheRule { ttl_ms: ttl_ms?, scope: scope? })
    }

    fn required_by(&mut self, fields: &mut Fields<'_, '_>) -> Option<LimitBy> {
        let Some(entry) = fields.take("by") else {
            fields.missing("needs `by`: user, key, address, role, everybody, or claim:/…", self.faults);
            return None;
        };
        self.by(entry)
    }

    fn by(&mut self, entry: FileEntry<'_, '_>) -> Option<LimitBy> {
        let text = entry.text(self.faults)?;
        let found = match text.as_str() {
            "user" => Some(LimitBy::User),
            "key" => Some(LimitBy::Key),
            "address" => Some(LimitBy::Address),
            "role" => Some(LimitBy::Role),
            "everybody" => Some(LimitBy::Everybody),
            claim => {
                claim.strip_prefix(CLAIM_VARIABLE).filter(|pointer| is_pointer(pointer)).and_then(|_| {
                    let variable = self.names.condition(&Json::from(format!("${claim}")));
                    let Ok(Value::Slot(slot)) = variable else { return None };
                    let SlotRoot::Session(index) = slot.root else { return None };
                    Some(LimitBy::Claim { name: claim.to_owned(), index })
                })
            }
        };
        if found.is_none() {
            let message = "`by`: write user, key, address, role, everybody, or a claim such as claim:/tenant";
            self.faults.push(entry.value_origin(), message);
        }
        found
    }
}
