//! The study's table: each operation by numbers of users, through the gateway that the study had.

use prony_model::measurement::statistics::Statistics;
use prony_model::{Nanos, ResultFile};
use serde::Serialize;

use super::{
    gateways::Gateway,
    study::{GatewayPace, Query},
};
use crate::{
    display::Display,
    error::LabError,
    markdown::{milliseconds, thousands},
    runs::{Runs, Used},
};

/// One operation with so many users. Times are in milliseconds, of the steady state; absent with too few samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserStep {
    pub users: u32,
    pub query: Query,
    pub requests: u64,
    pub error_share: f64,
    pub requests_per_second: f64,
    pub mean_ms: Option<f64>,
    pub deviation_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub min_ms: Option<f64>,
    pub max_ms: Option<f64>,
    #[serde(flatten)]
    pub used: Used,
    /// The result file, next to the table.
    pub file: String,
}

/// Measures all steps; those that were made before a stop are kept.
pub(super) fn measure(
    gateway: &Gateway<'_>,
    (queries, users): (&[Query], &[u32]),
    pace: &GatewayPace,
    runs: &Runs<'_>,
    display: &Display,
    done: &mut Vec<UserStep>,
) -> Result<(), LabError> {
    let mut left = pace.step().0 * (queries.len() * users.len()) as u64;
    for query in queries {
        for users in users {
            left -= pace.step().0;
            let plan = gateway.requests().plan(*query, *users, pace.warm_up, pace.hold);
            let title = format!("{}, {} users", query.label(), thousands((*users).into()));
            let file = format!("{}-{users}.prony.json", query.name());
            let watch = display.begin(title, pace.step(), Nanos(left));
            let Some((result, used)) = runs.measure(&plan, &file, gateway.measured(), watch)? else {
                return Ok(());
            };
            let step = step_of(*users, *query, &result, used, file);
            display.line(&line(&step));
            done.push(step);
        }
    }
    Ok(())
}

fn step_of(users: u32, query: Query, result: &ResultFile, used: Used, file: String) -> UserStep {
    let steady = &result.headline().all;
    let times = &steady.response_time;
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let at = |percentile| ms(times.percentile(percentile));
    let deviation = Statistics::of_response(steady).ok().filter(|statistics| statistics.count() > 1);
    UserStep {
        users,
        query,
        requests: steady.requests,
        error_share: steady.error_share(),
        requests_per_second: steady.rate_per_s,
        mean_ms: ms(times.mean_ns),
        deviation_ms: deviation.map(|statistics| statistics.deviation() / 1e3),
        p90_ms: at(90.0),
        p95_ms: at(95.0),
        p99_ms: at(99.0),
        min_ms: ms(times.min_ns),
        max_ms: ms(times.max_ns),
        used,
        file,
    }
}

fn line(step: &UserStep) -> String {
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), milliseconds);
    format!(
        "{}, {:>5} users: {:>7}/s, mean {}, p95 {}, p99 {}, {:.1} % errors",
        step.query.label(),
        thousands(step.users.into()),
        thousands(step.requests_per_second.round() as u64),
        time(step.mean_ms),
        time(step.p95_ms),
        time(step.p99_ms),
        step.error_share * 100.0,
    )
}
