//! One core's part of a source of series.

use std::{rc::Rc, sync::Arc, time::SystemTime};

use futures_util::future::{LocalBoxFuture, join_all, ready};
use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};
use prony_source::{ChangeSignal, DataVersion, Events, NotReady, PreparedField, SourceSession};

use super::{
    events::{depends_on, events},
    plan::Plan,
    respond::{at_once, respond},
    served::ServedSeries,
};
use crate::series::with_causes;

#[derive(Debug)]
pub(crate) struct SeriesSession(Arc<ServedSeries>);

impl SeriesSession {
    pub(crate) fn of(series: &Arc<ServedSeries>) -> Rc<dyn SourceSession> {
        Rc::new(Self(Arc::clone(series)))
    }
}

impl SourceSession for SeriesSession {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(async {
            let results = respond(&self.0, &[field.shared()], variables).await;
            results.into_iter().next().expect("one response for each plan")
        })
    }

    /// From the store as it is at one moment.
    fn query_all<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(async {
            let plans: Vec<Arc<Plan>> = fields.iter().map(|field| field.shared()).collect();
            respond(&self.0, &plans, variables).await
        })
    }

    /// There are no mutations.
    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(join_all(fields.iter().map(|field| self.query(field, variables))))
    }

    fn try_answer(&self, field: &PreparedField, variables: &Variables) -> Option<FieldResult> {
        if field.waits() {
            return None;
        }
        at_once(&self.0.series, &[field.shared::<Plan>()], variables)?.pop()
    }

    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        events(&self.0.series, &self.0.readers, &field.shared(), variables)
    }

    fn change_signal(&self, field: &PreparedField) -> Option<Box<dyn ChangeSignal>> {
        let dependencies = depends_on(field.plan())?;
        Some(Box::new(self.0.readers.watch(&*self.0.series.store, dependencies)))
    }

    fn data_version(&self, field: &PreparedField) -> Option<Arc<dyn DataVersion>> {
        let dependencies = depends_on(field.plan())?;
        Some(Arc::new(self.0.readers.version(&*self.0.series.store, dependencies)))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(ready(match self.0.series.store.health().write_failure {
            Some((error, _)) => Err(with_causes(&error)),
            None => Ok(()),
        }))
    }

    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        let failure = self.0.series.store.health().write_failure;
        let reason = failure
            .and_then(|(error, at)| NotReady::of_refused_write(error.is_disk_full(), at, SystemTime::now()));
        Box::pin(ready(reason.map_or(Ok(()), Err)))
    }
}
