//! The events of one subscription: rows that pass its filter, each as it was written.

use std::sync::Arc;

use futures_util::stream;
use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use prony_source::Events;

use super::{EventReader, Readers, queue::QueuedEvent};
use crate::{
    graphql::{
        execute::write_row,
        plan::{EventsPlan, Plan, Root},
    },
    series::Series,
};

/// Begins to read rows: all that are written after this returns.
pub(in crate::graphql) fn events(
    series: &Arc<Series>,
    readers: &Readers,
    plan: &Arc<Plan>,
    variables: &Variables,
) -> Result<Events, GraphqlError> {
    let Root::Rows(wanted) = &plan.root else {
        let message = format!("`{}` has one response, and no events", plan.response_key);
        return Err(GraphqlError::new(ErrorCode::ValidationFailed, message).at(plan.position));
    };
    let filter = wanted.filter.bind(variables).map_err(|error| error.at(plan.position))?;
    let following = Following {
        reader: readers.add(&*series.store, wanted.of.table, filter),
        series: Arc::clone(series),
        plan: Arc::clone(plan),
        variables: variables.clone(),
        has_ended: false,
    };
    Ok(Box::pin(stream::unfold(following, |mut following| async {
        let result = following.next().await?;
        Some((result, following))
    })))
}

struct Following {
    series: Arc<Series>,
    plan: Arc<Plan>,
    variables: Variables,
    reader: EventReader,
    has_ended: bool,
}

impl Following {
    async fn next(&mut self) -> Option<FieldResult> {
        if self.has_ended {
            return None;
        }
        // Where many rows wait, those who write them to clients get their turns.
        tokio::task::consume_budget().await;
        let wanted = self.wanted();
        let error = match self.reader.next().await {
            QueuedEvent::Row(row) => {
                let mut out = Vec::with_capacity(128);
                write_row(&mut out, &wanted.outputs, (&row.id, &row.path), &row.rows, 0);
                let max_bytes = self.series.settings.common.max_response_bytes;
                match ResponseMeter::new(max_bytes, self.variables.budget()).check(out.len()) {
                    Ok(()) => return Some(FieldResult::data(out)),
                    Err(error) => error.into(),
                }
            }
            QueuedEvent::Dropped => {
                let message = format!("the type `{}` is gone from the series", wanted.of.name);
                self.has_ended = true;
                GraphqlError::new(ErrorCode::SubscriptionEnded, message)
            }
            QueuedEvent::Lost(count) => {
                let message = format!(
                    "{count} rows are lost: they came faster than they could be told; ask for the state anew"
                );
                GraphqlError::new(ErrorCode::EventsLost, message)
            }
        };
        Some(self.plan.failed(error))
    }

    fn wanted(&self) -> &EventsPlan {
        let Root::Rows(wanted) = &self.plan.root else { unreachable!("only rows are followed") };
        wanted
    }
}
