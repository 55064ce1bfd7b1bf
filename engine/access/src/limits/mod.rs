//! How much of it: rates and quotas as decisions over the time that is given. Where the counts are that other servers share is not
//! known here.

mod counts;
mod quota;
mod rate;
mod rate_limiter;
mod shared;
mod state;

pub use self::{
    counts::LimitCounts,
    quota::{QuotaCount, Window},
    rate::{BadRate, Rate, RateLimit},
    rate_limiter::LimiterStatistics,
    shared::{SharedBound, SharedCounts, SharedSettings, StoreCall, StoreReply, Verdict, WhenUnreachable},
    state::LimitState,
};
pub(crate) use self::{
    quota::{Quotas, quota_key},
    rate_limiter::RateLimiter,
    shared::{Attempt, SharedLimit},
};
