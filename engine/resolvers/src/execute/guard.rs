//! What a call of a function runs in: the scope that it shares with all calls of its root field, the guards around what
//! the user wrote, and the rows that come of it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    time::Duration,
};

use futures_util::future::FutureExt;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    variables::Variables,
};

use crate::api::error::Error;

/// What holds for all calls of one root field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) variables: &'a Variables,
    /// For each function that waits.
    pub(crate) timeout: Duration,
}

/// An answer for one parent, or why there is none.
pub(crate) type Row<A> = Result<A, Box<GraphqlError>>;

/// An answer for each parent; one without a list for root fields.
pub(crate) enum Rows<A> {
    One([Row<A>; 1]),
    Many(Vec<Row<A>>),
}

impl<A> Rows<A> {
    pub(crate) fn as_slice(&self) -> &[Row<A>] {
        match self {
            Self::One(row) => row,
            Self::Many(rows) => rows,
        }
    }

    /// The same error for each of the parents.
    pub(crate) fn failed(parents: usize, error: &GraphqlError) -> Self {
        Self::Many((0..parents).map(|_| Err(Box::new(error.clone()))).collect())
    }
}

pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs what the user wrote; a panic becomes an error, and its message goes to the log.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Row<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| Box::new(panicked(&*panic)))
}

/// The same for what waits, which also gets a limit of time.
pub(crate) async fn guarded_later<T>(scope: Scope<'_>, call: impl Future<Output = T> + Send) -> Row<T> {
    let call = AssertUnwindSafe(call).catch_unwind();
    match tokio::time::timeout(scope.timeout, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(panic)) => Err(Box::new(panicked(&*panic))),
        Err(_) => {
            let message = format!("the field was not answered within {} ms", scope.timeout.as_millis());
            Err(Box::new(GraphqlError::new(ErrorCode::Timeout, message)))
        }
    }
}

pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> GraphqlError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::masked(format!("a function panicked: {text}")).to_graphql()
}
