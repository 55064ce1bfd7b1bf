//! How much of it: rates and quotas as decisions over the time that is given. Where counts are shared with other instances is
//! not known here.

mod quota;
mod rate;
mod rate_limiter;

pub use self::{
    quota::{QuotaCount, Window},
    rate::{BadRate, Rate, RateLimit},
    rate_limiter::LimiterStatistics,
};
pub(crate) use self::{
    quota::{Quotas, quota_key},
    rate_limiter::RateLimiter,
};
