//! A call that may take long: the log is told of it by its route, without keys and values.

use std::{sync::Arc, time::Instant};

use http::Method;
use prony_source::http_api::{ApiRequest, Progress};

use super::route::route;
use crate::slow_log::SlowLog;

/// A call that has begun.
#[derive(Debug)]
pub(super) struct SlowCall {
    log: Arc<SlowLog>,
    begun: Instant,
    method: Method,
    path: String,
}

impl SlowCall {
    pub(super) fn new(log: &Arc<SlowLog>, begun: Instant, request: &ApiRequest<'_>) -> Self {
        let (method, path) = (request.method.clone(), request.path.to_owned());
        Self { log: Arc::clone(log), begun, method, path }
    }

    /// Ends with the response, or with the beginning of one that is streamed. The call is given back where the response waits.
    pub(super) fn follow(self, progress: Progress) -> (Progress, Option<Self>) {
        match progress {
            Progress::Done | Progress::Streams(_) => {
                self.end();
                (progress, None)
            }
            Progress::Waits => (progress, Some(self)),
            Progress::Asynchronous(respond) => {
                let followed = Progress::Asynchronous(Box::new(move |body| {
                    Box::pin(async move {
                        let response = respond(body).await;
                        self.end();
                        response
                    })
                }));
                (followed, None)
            }
            // Nothing was done.
            Progress::NeedsBody | Progress::NotReady(_) | Progress::Refused => (progress, None),
        }
    }

    pub(super) fn end(self) {
        let took = self.begun.elapsed();
        if self.log.is_slow(took) {
            let statement = format!("{} {}", self.method, route(&self.method, &self.path).path);
            self.log.report(&statement, &[], took);
        }
    }
}
