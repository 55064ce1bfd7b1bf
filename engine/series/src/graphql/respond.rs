//! Responds to root fields: at once on the core where that is short, else on a thread that may take its time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use prony_series_store::{Read, ReadError};

use super::{
    pace::{Pace, Stop},
    plan::{Plan, Root},
    served::ServedSeries,
};
use crate::series::Series;

/// All from the store as it is at one moment. Dropping the future stops the work.
pub(super) async fn respond(
    served: &Arc<ServedSeries>,
    plans: &[Arc<Plan>],
    variables: &Variables,
) -> Vec<FieldResult> {
    match at_once(&served.series, plans, variables) {
        Some(results) => results,
        None => on_thread(served, plans, variables).await,
    }
}

/// None where a thread is to respond, which may take its time.
pub(super) fn at_once(
    series: &Series,
    plans: &[impl AsRef<Plan>],
    variables: &Variables,
) -> Option<Vec<FieldResult>> {
    if series.store.waits() {
        return None;
    }
    let pace = || Pace::on_core(plans.len());
    match series.store.read() {
        Ok(read) => {
            plans.iter().map(|plan| plan.as_ref().respond(series, variables, &read, pace())).collect()
        }
        Err(error) => Some(unreadable(series, plans, error)),
    }
}

fn unreadable(series: &Series, plans: &[impl AsRef<Plan>], error: ReadError) -> Vec<FieldResult> {
    let error = Stop::from(error).error(&series.settings.common);
    plans.iter().map(|plan| plan.as_ref().failed(error.clone())).collect()
}

impl Plan {
    /// None where it takes too long for a core.
    pub(super) fn respond(
        &self,
        series: &Series,
        variables: &Variables,
        read: &Read,
        pace: Pace,
    ) -> Option<FieldResult> {
        let settings = &series.settings.common;
        let written = match &self.root {
            Root::Types(types) => Ok(read.with_catalog(|catalog| types.respond(catalog))),
            Root::Entities(entities) => entities.execute(read, variables, settings, pace),
            Root::Rows(_) => {
                let message = format!("`{}` has events, and no one response", self.response_key);
                Err(GraphqlError::new(ErrorCode::ValidationFailed, message).into())
            }
        };
        match written {
            Ok(data) => Some(FieldResult::data(data)),
            Err(Stop::Later) => None,
            Err(stop) => Some(self.failed(stop.error(settings))),
        }
    }

    /// An error of the whole field.
    pub(super) fn failed(&self, error: GraphqlError) -> FieldResult {
        FieldResult::failed(error.of_field(&self.response_key, self.position))
    }
}

/// Tells the thread when the request is gone.
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

async fn on_thread(
    served: &Arc<ServedSeries>,
    plans: &[Arc<Plan>],
    variables: &Variables,
) -> Vec<FieldResult> {
    let settings = &served.series.settings.common;
    let all_failed = |error: &GraphqlError| plans.iter().map(|plan| plan.failed(error.clone())).collect();
    let time = Duration::from_millis(settings.statement_timeout_ms.into());
    let deadline = Instant::now() + time;
    let permit = tokio::time::timeout(time, Arc::clone(&served.places).acquire_owned()).await;
    let Ok(Ok(permit)) = permit else { return all_failed(&Stop::Timeout.error(settings)) };
    let cancel = Cancel(Arc::default());
    let cancelled = Arc::clone(&cancel.0);
    let own_plans = plans.to_vec();
    let (series, variables) = (Arc::clone(&served.series), variables.clone());
    let work = tokio::task::spawn_blocking(move || {
        let read = match series.store.read() {
            Ok(read) => read,
            Err(error) => return unreadable(&series, &own_plans, error),
        };
        let pace = || Pace::OnThread { steps: 0, deadline, cancelled: Arc::clone(&cancelled) };
        let each = own_plans.iter().map(|plan| {
            let result = plan.respond(&series, &variables, &read, pace());
            result.expect("a thread is never asked to stop for others")
        });
        let results = each.collect();
        drop(permit);
        results
    });
    let done = work.await;
    drop(cancel);
    done.unwrap_or_else(|_| {
        all_failed(&GraphqlError::new(ErrorCode::SourceFailed, "the response could not be made"))
    })
}
