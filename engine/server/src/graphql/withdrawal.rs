//! Subscriptions whose field is withdrawn while they live, because the schema that is served has it no more or under another name: they
//! hear of each schema that comes to be served of their source, and end with an error that says what is gone.

use std::{ptr::addr_eq, sync::Arc};

use futures_util::{StreamExt as _, stream};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    schema::SourceId,
};
use prony_source::{Events, SourceSchema};
use tokio::sync::watch;

use super::{
    plan::{Plan, Step},
    served::Served,
};

/// What is served of each source, by [`SourceId`], for those who wait until it is something else.
#[derive(Debug)]
pub(super) struct ServedSchemas(Box<[watch::Sender<Arc<dyn SourceSchema>>]>);

impl ServedSchemas {
    pub(super) fn of(served: &Served) -> Self {
        Self(served.sources.iter().map(|schema| watch::Sender::new(Arc::clone(schema))).collect())
    }

    /// Takes what is about to be served, and tells nobody yet; whether it is another, by [`SourceId`].
    pub(super) fn take(&self, served: &Served) -> Vec<bool> {
        let take = |(sender, schema): (&watch::Sender<Arc<dyn SourceSchema>>, &Arc<dyn SourceSchema>)| {
            let mut is_other = false;
            sender.send_if_modified(|known| {
                is_other = !addr_eq(Arc::as_ptr(known), Arc::as_ptr(schema));
                known.clone_from(schema);
                false
            });
            is_other
        };
        self.0.iter().zip(&served.sources).map(take).collect()
    }

    /// Tells those who wait for another.
    pub(super) fn tell(&self, others: &[bool]) {
        for (sender, _) in self.0.iter().zip(others).filter(|(_, is_other)| **is_other) {
            sender.send_modify(|_| {});
        }
    }

    pub(super) fn follow(&self, source: SourceId) -> watch::Receiver<Arc<dyn SourceSchema>> {
        self.0[usize::from(source.0)].subscribe()
    }
}

/// Watches over the one field of a subscription.
#[derive(Debug)]
pub(crate) struct Withdrawal {
    plan: Arc<Plan>,
    schemas: watch::Receiver<Arc<dyn SourceSchema>>,
}

impl Withdrawal {
    /// With what is served of the field's source.
    pub(crate) fn of(plan: &Arc<Plan>, schemas: watch::Receiver<Arc<dyn SourceSchema>>) -> Self {
        Self { plan: Arc::clone(plan), schemas }
    }

    /// What of the field is not served any more as it was asked for.
    fn reason(&mut self) -> Option<String> {
        let schema = Arc::clone(&self.schemas.borrow_and_update());
        let [Step::Source(_, root)] = self.plan.steps.as_slice() else { return None };
        schema.withdrawn(root)
    }

    /// The last result of the subscription, with this code, where its field is withdrawn by now.
    pub(crate) fn last_result(&mut self, code: ErrorCode) -> Option<FieldResult> {
        let reason = self.reason()?;
        let error = GraphqlError::new(code, format!("{reason}; subscribe again, by the schema of now"));
        let error = match self.plan.selection.fields.first() {
            Some(field) => error.of_field(field.response_key.as_str(), field.position),
            None => error,
        };
        Some(FieldResult::failed(error))
    }

    /// Returns once the field is withdrawn. Dropping the future loses nothing.
    pub(crate) async fn come(&mut self) {
        while self.reason().is_none() {
            if self.schemas.changed().await.is_err() {
                // The engine is gone, and nothing else will be served.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Events until the field is withdrawn, of which the last one tells.
    pub(crate) fn end(self, events: Events) -> Events {
        Box::pin(stream::unfold(Some((events, self)), async |going| {
            let (mut events, mut withdrawal) = going?;
            tokio::select! {
                // What has come before is told.
                biased;
                event = events.next() => event.map(|event| (event, Some((events, withdrawal)))),
                () = withdrawal.come() => {
                    withdrawal.last_result(ErrorCode::SubscriptionEnded).map(|result| (result, None))
                }
            }
        }))
    }
}
