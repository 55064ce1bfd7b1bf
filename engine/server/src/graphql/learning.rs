//! Long documents that nobody has sent before are parsed, validated and planned beside the core, which they would hold up for some
//! milliseconds.

use std::sync::Arc;

use prony_graphql::{
    document::{Operation, limits::Limits},
    error::GraphqlError,
    request::{RequestFault, RequestParameters},
};

use super::{
    context::RequestContext,
    execution::ExecutionContext,
    plan::Plan,
    planning::{find_operation, plan_for},
    served::Served,
};
use crate::beside::beside;

/// A document of so many bytes takes a core about half a millisecond where it is not known; handing it over takes some hundredths.
const LONG_BYTES: usize = 2 << 10;

/// An operation, or why there is none.
type FoundOperation = Result<Arc<Operation>, Vec<GraphqlError>>;

/// What is known of a request's document before the pipeline comes to it.
#[derive(Debug)]
pub(super) struct Learned<S> {
    /// By which it is known.
    pub(super) served: S,
    pub(super) operation: FoundOperation,
    /// For its variables; none where it was not asked for, or cannot be made.
    pub(super) plan: Option<Arc<Plan>>,
}

/// A request with what is known of its document.
#[derive(Debug)]
pub(super) struct GivenRequest<S> {
    pub(super) parameters: RequestParameters,
    pub(super) learned: Option<Learned<S>>,
}

/// What can be said of a request without learning anything.
pub(super) enum Lookup<S> {
    Said(Result<GivenRequest<S>, RequestFault>),
    /// Its document is long, and has to be learned.
    Unknown(RequestParameters),
}

/// Whether a document is to be learned beside the core where it is not known.
fn is_long(core: &impl ExecutionContext, parameters: &RequestParameters) -> bool {
    let engine = core.engine();
    let bytes = LONG_BYTES..=engine.limits().max_document_bytes;
    bytes.contains(&parameters.query.len()) && engine.documents.takes_texts()
}

pub(super) fn look_up<C: ExecutionContext>(
    core: &C,
    context: &RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
) -> Lookup<C::Served> {
    let parameters = match parsed {
        Ok(parameters) => parameters,
        Err(fault) => return Lookup::Said(Err(fault)),
    };
    if !is_long(core, &parameters) {
        return Lookup::Said(Ok(GivenRequest { parameters, learned: None }));
    }
    let served = core.served(context);
    let name = parameters.operation_name.as_deref();
    let Some(operation) = served.cache.operation(&parameters.query, name) else {
        return Lookup::Unknown(parameters);
    };
    let learned = Learned { served, operation: Ok(operation), plan: None };
    Lookup::Said(Ok(GivenRequest { parameters, learned: Some(learned) }))
}

/// What is asked, with its document learned beside the core where it is long and not known.
pub(super) async fn learned<C: ExecutionContext>(
    core: &C,
    context: &RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
) -> Result<GivenRequest<C::Served>, RequestFault> {
    let parameters = match look_up(core, context, parsed) {
        Lookup::Said(given) => return given,
        Lookup::Unknown(parameters) => parameters,
    };
    let served = core.served(context);
    let (shared, limits) = (C::share(&served), core.engine().limits().clone());
    let (parameters, operation, plan) = beside(move || {
        let (operation, plan) = learn(&shared, &limits, &parameters);
        (parameters, operation, plan)
    })
    .await;
    Ok(GivenRequest { parameters, learned: Some(Learned { served, operation, plan }) })
}

/// The operation, and its plan for these variables. What is wrong with the variables is said by who asks for the plan.
fn learn(
    served: &Served,
    limits: &Limits,
    parameters: &RequestParameters,
) -> (FoundOperation, Option<Arc<Plan>>) {
    let RequestParameters { query, operation_name, variables, .. } = parameters;
    let operation = find_operation(served, limits, query, operation_name.as_deref());
    let plan = operation.as_ref().ok().and_then(|operation| {
        let (variables, shape) = operation.coerce(&served.schema, variables.clone()).ok()?;
        plan_for(served, limits, (operation, query), &variables, shape).ok()
    });
    (operation, plan)
}
