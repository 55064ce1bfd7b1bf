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
    roles::Asker,
    served::Served,
};
use crate::offload::offload;

/// A document of so many bytes takes a core about half a millisecond where it is not known; handing it over takes some hundredths.
const LONG_BYTES: usize = 2 << 10;

/// An operation, or why there is none.
type FoundOperation = Result<Arc<Operation>, Vec<GraphqlError>>;

/// What is known of a request's document before the pipeline comes to it.
#[derive(Debug)]
pub(super) struct KnownDocument<S> {
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
    pub(super) document: Option<KnownDocument<S>>,
}

/// What can be said of a request at once.
pub(super) enum Lookup<S> {
    Known(Result<GivenRequest<S>, RequestFault>),
    /// Its document is long, and has to be parsed.
    Unknown(RequestParameters),
}

/// Whether a document is to be parsed beside the core where it is not known.
fn is_long(core: &impl ExecutionContext, context: &RequestContext, parameters: &RequestParameters) -> bool {
    let engine = core.engine();
    let bytes = LONG_BYTES..=engine.limits().max_document_bytes;
    bytes.contains(&parameters.query.len())
        && engine.documents.takes_texts(context.asker.as_ref().map(Asker::role))
}

pub(super) fn look_up<C: ExecutionContext>(
    core: &C,
    context: &RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
) -> Lookup<C::Served> {
    let parameters = match parsed {
        Ok(parameters) => parameters,
        Err(fault) => return Lookup::Known(Err(fault)),
    };
    if !is_long(core, context, &parameters) {
        return Lookup::Known(Ok(GivenRequest { parameters, document: None }));
    }
    let served = core.served(context);
    let name = parameters.operation_name.as_deref();
    let Some(operation) = served.cache.operation(&parameters.query, name) else {
        return Lookup::Unknown(parameters);
    };
    let document = KnownDocument { served, operation: Ok(operation), plan: None };
    Lookup::Known(Ok(GivenRequest { parameters, document: Some(document) }))
}

/// What is asked, with its document parsed and planned beside the core where it is long and not known.
pub(super) async fn with_document<C: ExecutionContext>(
    core: &C,
    context: &RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
) -> Result<GivenRequest<C::Served>, RequestFault> {
    let parameters = match look_up(core, context, parsed) {
        Lookup::Known(given) => return given,
        Lookup::Unknown(parameters) => parameters,
    };
    let served = core.served(context);
    let (shared, limits) = (C::share(&served), core.engine().limits().clone());
    let (parameters, operation, plan) = offload(move || {
        let (operation, plan) = compile(&shared, &limits, &parameters);
        (parameters, operation, plan)
    })
    .await;
    Ok(GivenRequest { parameters, document: Some(KnownDocument { served, operation, plan }) })
}

/// The operation, and its plan for these variables. What is wrong with the variables is said by who asks for the plan.
fn compile(
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
