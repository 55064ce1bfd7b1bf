//! Fields of subscriptions: a function says which events a client hears, and each event is answered like a value
//! that a function gave.

use std::{marker::PhantomData, panic::AssertUnwindSafe};

use futures_util::{FutureExt as _, stream};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
};
use serde::de::DeserializeOwned;

use crate::{
    api::{
        answer::Answer,
        context::Context,
        events::{Lagged, Subscriber},
        function::{arguments, signature},
        parent::Parent,
        signature::Signature,
    },
    execute::{
        guard::{Later, Row, Rows, Scope, guarded},
        input::Input,
        plan::{CallPlan, Resolve, Subscription},
        rows::Column,
        run::{finish_root, finish_root_later, panicked},
    },
};
use prony_source::Events;

impl Subscription {
    fn scope(&self) -> Scope<'_> {
        Scope { variables: &self.variables, timeout: self.timeout }
    }

    async fn answer<T: Answer>(&self, event: Result<T, Lagged>) -> FieldResult {
        let row: Row<T> =
            event.map_err(|lagged| Box::new(GraphqlError::new(ErrorCode::LimitExceeded, lagged.to_string())));
        let rows = Rows::One([row]);
        if self.call.waits {
            finish_root_later(&rows, self.scope(), &self.call).await
        } else {
            finish_root(&rows, self.scope(), &self.call)
        }
    }
}

/// `Fn(&Context, Arguments) -> Subscriber`.
pub(crate) struct EventField<C, F, A, T> {
    context: Context<C>,
    function: F,
    types: Types<A, T>,
}

type Types<A, T> = PhantomData<fn() -> (A, T)>;

impl<C, F, A, T> EventField<C, F, A, T> {
    pub(crate) fn new(context: Context<C>, function: F) -> Self {
        Self { context, function, types: PhantomData }
    }
}

impl<C, F, A, T> Resolve for EventField<C, F, A, T>
where
    C: Send + Sync + 'static,
    F: Fn(&C, A) -> Subscriber<T> + Send + Sync + 'static,
    A: DeserializeOwned + 'static,
    T: Answer + Clone,
{
    fn signature(&self) -> Signature {
        Signature { is_event: true, ..signature::<A, T>(None) }
    }

    fn waits(&self) -> bool {
        false
    }

    fn root(&self, _scope: Scope<'_>, call: &CallPlan) -> FieldResult {
        FieldResult::failed(no_answer(call))
    }

    fn root_later<'a>(&'a self, _scope: Scope<'a>, call: &'a CallPlan) -> Later<'a, FieldResult> {
        Box::pin(std::future::ready(FieldResult::failed(no_answer(call))))
    }

    fn column(&self, _scope: Scope<'_>, _call: &CallPlan, _parents: &[&dyn Parent]) -> Column {
        Column::default()
    }

    fn column_later<'a>(
        &'a self,
        _scope: Scope<'a>,
        _call: &'a CallPlan,
        _parents: &'a [&'a dyn Parent],
    ) -> Later<'a, Column> {
        Box::pin(std::future::ready(Column::default()))
    }

    fn events(&self, subscription: Subscription) -> Result<Events, GraphqlError> {
        let input = Input::new(&subscription.call.arguments, &subscription.variables);
        let begun = self.context.get(&subscription.variables).and_then(|context| {
            let arguments = arguments(input)?;
            guarded(|| (self.function)(context, arguments))
        });
        let subscriber = begun.map_err(|error| error.at(subscription.call.position))?;
        Ok(Box::pin(stream::unfold((subscriber, subscription), |(mut subscriber, subscription)| async {
            let event = subscriber.next().await?;
            let answer = AssertUnwindSafe(subscription.answer(event)).catch_unwind().await;
            let result = answer.unwrap_or_else(|panic| panicked(&*panic, &subscription.call));
            Some((result, (subscriber, subscription)))
        })))
    }
}

fn no_answer(call: &CallPlan) -> GraphqlError {
    let message = format!("{} has events, and no single answer", call.response_key);
    GraphqlError::new(ErrorCode::ValidationFailed, message).at(call.position)
}
