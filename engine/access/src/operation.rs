//! What is asked of operations beside permissions: scopes, rates and quotas, by root field, by the operation's name, or by the calls
//! of sources' HTTP APIs.

use std::fmt;

use prony_source::fair_queue::QueueBounds;

use crate::{
    call_pattern::CallPattern,
    limits::{RateLimit, Window},
};

/// The beginning of a session variable that is a claim, before its JSON pointer.
pub(crate) const CLAIM_VARIABLE: &str = "claim:";

/// One `[[operation]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRule {
    pub matches: OperationMatch,
    /// Lists of scopes, of which one must be granted whole; where there is none, nothing is needed.
    pub scopes: Vec<Vec<String>>,
    pub rate_limits: Vec<KeyedRateLimit>,
    pub quotas: Vec<KeyedQuota>,
    /// How many may run at a time.
    pub concurrency: Option<KeyedConcurrency>,
    /// Whether queries that ask the same at the same time are executed once.
    pub deduplicate: bool,
    /// For how long responses are kept.
    pub cache: Option<ResponseCacheRule>,
}

/// What a rule is for. Of several that match, the first kind counts that stands here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationMatch {
    /// All root fields of operations with this name.
    Named(String),
    /// A field of `Query`, `Mutation` or `Subscription`.
    RootField(&'static str, String),
    /// All fields of one of these.
    RootType(&'static str),
    /// Calls of the HTTP APIs of sources.
    Call(CallPattern),
    /// Root fields and calls.
    All,
}

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitBy {
    /// The user of a token or the API key; of requests without one, the address.
    User,
    /// The API key; requests without one are not limited.
    Key,
    /// The client's address; of IPv6 the network of 64 bits.
    Address,
    Role,
    Everybody,
    /// A claim of the token. Requests without it are counted together.
    Claim {
        /// With `claim:` before its JSON pointer.
        name: String,
        /// In [`Identity::session`](crate::Identity::session).
        index: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRateLimit {
    pub by: LimitBy,
    pub limit: RateLimit,
}

/// So many in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedQuota {
    pub by: LimitBy,
    pub window: Window,
    pub most: u64,
}

/// So many at a time. The keys of those that wait take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedConcurrency {
    pub by: LimitBy,
    pub bounds: QueueBounds,
    pub max_wait_ms: u64,
    /// Whether subscriptions count, as long as they live.
    pub subscriptions: bool,
}

/// Responses to queries are kept so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseCacheRule {
    pub ttl_ms: u64,
    pub scope: CacheScope,
}

/// Who gets a response that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// The user who asked for it.
    User,
    /// Everybody of the role who agrees in the session's variables that its permissions use.
    Shared,
}

impl fmt::Display for OperationMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(formatter, "operation {name}"),
            Self::RootField(root, field) => write!(formatter, "{root}.{field}"),
            Self::RootType(root) => write!(formatter, "{root}.*"),
            Self::Call(pattern) => pattern.fmt(formatter),
            Self::All => formatter.write_str("*"),
        }
    }
}

impl fmt::Display for LimitBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::User => "user",
            Self::Key => "key",
            Self::Address => "address",
            Self::Role => "role",
            Self::Everybody => "everybody",
            Self::Claim { name, .. } => name,
        })
    }
}
