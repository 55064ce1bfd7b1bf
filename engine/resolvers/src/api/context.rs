//! What functions get as their first argument: one value for all requests, or one that is made of each request's head.

use std::{any::Any, fmt, sync::Arc};

use prony_graphql::{
    error::GraphqlError,
    request::{Asked, Caller},
    variables::Variables,
};

use crate::{
    api::error::Error,
    execute::guard::{Row, guarded},
};

/// Where a function's context comes from.
pub struct Context<C>(ContextSource<C>);

enum ContextSource<C> {
    Shared(Arc<C>),
    OfRequest,
}

impl<C> Clone for Context<C> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            ContextSource::Shared(context) => ContextSource::Shared(Arc::clone(context)),
            ContextSource::OfRequest => ContextSource::OfRequest,
        })
    }
}

impl<C: Any + Send + Sync> Context<C> {
    pub(crate) fn shared(context: Arc<C>) -> Self {
        Self(ContextSource::Shared(context))
    }

    pub(crate) fn of_request() -> Self {
        Self(ContextSource::OfRequest)
    }

    pub(crate) fn get<'a>(&'a self, variables: &'a Variables) -> Row<&'a C> {
        match &self.0 {
            ContextSource::Shared(context) => Ok(context),
            ContextSource::OfRequest => {
                variables.caller().and_then(Caller::get).ok_or_else(|| Box::new(nobody::<C>()))
            }
        }
    }

    /// As [`Context::get`], for what waits.
    pub(crate) fn share(&self, variables: &Variables) -> Row<Arc<C>> {
        match &self.0 {
            ContextSource::Shared(context) => Ok(Arc::clone(context)),
            ContextSource::OfRequest => {
                variables.caller().and_then(Caller::share).ok_or_else(|| Box::new(nobody::<C>()))
            }
        }
    }
}

#[cold]
fn nobody<C>() -> GraphqlError {
    let detail = format!("the request has come without a context of {}", std::any::type_name::<C>());
    Error::masked(detail).to_graphql()
}

impl<C> fmt::Debug for Context<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            ContextSource::Shared(_) => "Shared",
            ContextSource::OfRequest => "OfRequest",
        })
    }
}

/// Makes contexts of the heads of requests; what a head is, is the server's to say.
#[derive(Clone)]
pub(crate) struct Making {
    make: Arc<Make>,
    head: &'static str,
}

type Make = dyn Fn(&dyn Any) -> Option<Asked> + Send + Sync;

impl Making {
    pub(crate) fn new<H: Any, C: Any + Send + Sync>(
        make: impl Fn(&H) -> Result<C, Error> + Send + Sync + 'static,
    ) -> Self {
        let make = move |head: &dyn Any| {
            let head = head.downcast_ref()?;
            Some(match guarded(|| make(head)) {
                Ok(Ok(context)) => Ok(Caller::new(context)),
                Ok(Err(error)) => Err(Box::new(error.to_graphql())),
                Err(panic) => Err(panic),
            })
        };
        Self { make: Arc::new(make), head: std::any::type_name::<H>() }
    }

    pub(crate) fn caller(&self, head: &dyn Any) -> Asked {
        (self.make)(head).unwrap_or_else(|| {
            let detail = format!("the server gives no {} to make a context of", self.head);
            Err(Box::new(Error::masked(detail).to_graphql()))
        })
    }
}
