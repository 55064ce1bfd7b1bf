//! What all connections share, and what several calls do.

use std::sync::Arc;

use http::header;
use prony_series_store::ReadError;
use prony_source::http_api::ApiResponse;
use tokio::sync::Semaphore;

use super::path::Owner;
use crate::{
    query::{parameters::Parameters, result::Asked, shape::Stopped},
    series::Series,
};

/// Queries that take long and are answered at a time, each by a thread of its own.
const LONG_QUERIES: usize = 8;

/// What all connections share.
#[derive(Debug)]
pub(super) struct ApiShared {
    pub(super) series: Arc<Series>,
    pub(super) long_queries: Arc<Semaphore>,
}

impl ApiShared {
    pub(super) fn new(series: Arc<Series>) -> Self {
        let at_a_time = series.reads_at_a_time(LONG_QUERIES);
        Self { series, long_queries: Arc::new(Semaphore::new(at_a_time)) }
    }
}

/// Whether a body was written to its end.
pub(super) fn finish(written: Result<(), Stopped>) -> Result<(), ReadError> {
    match written {
        Ok(()) | Err(Stopped::Gone) => Ok(()),
        Err(Stopped::Unreadable(error)) => Err(error),
    }
}

pub(super) fn asked(of: &Owner) -> Asked<'_> {
    match of {
        Owner::Entity(id) => Asked::Entity(id),
        Owner::Type(name) => Asked::Type(name),
        Owner::All => Asked::All,
    }
}

/// How many rows there are, where that is asked for.
pub(super) fn count_header(parameters: &Parameters, total: u64, response: &mut ApiResponse) {
    if parameters.counts {
        set_count(total, response);
    }
}

pub(super) fn set_count(count: u64, response: &mut ApiResponse) {
    for name in ["fiware-total-count", "x-total-count"] {
        response.headers.push((header::HeaderName::from_static(name), count.into()));
    }
}
