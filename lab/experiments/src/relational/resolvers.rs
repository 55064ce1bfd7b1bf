//! The three resolver models side by side: each with the engine saturated by the same few connections, since
//! that tells their costs apart, where users with think time would only tell that all three keep up.

use prony_load::RunError;
use prony_model::{Nanos, result::RunState};
use serde::Serialize;

use super::{
    capacity::target_of,
    display::RelationalDisplay,
    measure::RelationalSurroundings,
    study::{Operation, RelationalPace, Workload},
};
use crate::shares::microseconds_per_request;

/// Connections that saturate the engine. `bucket` gathers what they ask at the same time.
pub(super) const CONNECTIONS: u32 = 64;
/// As the engine's option names them.
pub(super) const MODELS: [&str; 3] = ["subquery", "per-nest", "bucket"];

/// One model and query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolverRow {
    pub resolver: &'static str,
    pub operation: Operation,
    pub limit: u32,
    pub requests_per_second: f64,
    pub p95_ms: Option<f64>,
    pub error_share: f64,
    /// The engine's processor time per request, the database's not included when that is a server.
    pub engine_us_per_request: Option<f64>,
    pub engine_resident_bytes: Option<u64>,
    pub lab_busy_share: f64,
}

/// Measures one row. `None` when it was stopped.
pub(super) fn measure(
    resolver: &'static str,
    workload: &Workload,
    pace: &RelationalPace,
    surroundings: &RelationalSurroundings<'_>,
    display: &RelationalDisplay,
) -> Result<Option<ResolverRow>, RunError> {
    let target = target_of(surroundings);
    let plan = workload.saturation(&target, CONNECTIONS, pace.saturation);
    let title = format!("resolver {resolver}, {}", workload.operation.label().to_lowercase());
    let watch = display.begin_saturation(&title, pace);
    let before = surroundings.engine.usage().ok();
    let file = format!("resolver-{resolver}-{}-{}.prony.json", workload.operation.name(), workload.limit);
    let result = surroundings.runs.run(&plan, &file, watch)?;
    if result.state == RunState::Stopped {
        return Ok(None);
    }
    let after = surroundings.engine.usage().ok();
    let steady = &result.headline().all;
    let requests = result.windows.last().map_or(0, |whole| whole.all.requests);
    Ok(Some(ResolverRow {
        resolver,
        operation: workload.operation,
        limit: workload.limit,
        requests_per_second: steady.rate_per_s,
        p95_ms: steady.response_time.percentile(95.0).map(Nanos::as_millis_f64),
        error_share: steady.error_share(),
        engine_us_per_request: microseconds_per_request(before, after, requests),
        engine_resident_bytes: after.map(|usage| usage.resident_bytes),
        lab_busy_share: result.lab.busiest_thread_share,
    }))
}
