//! The pipeline of a request: parse, validate and plan in [`prepare`], execute and assemble in [`finish`], both in
//! [`respond`]. What comes over a socket goes through the same stages.

use std::sync::Arc;

use prony_access::Role;
use prony_graphql::{
    document::{
        Operation,
        complexity::{check_depth, check_estimate, check_nest_level},
        limits::Limits,
    },
    error::{ErrorCode, GraphqlError},
    request::{RequestFault, RequestParameters},
    response::{self, FieldResult},
    selection::OperationKind,
};
use prony_source::{ContentCoding, OperationRecord, current_request};
use serde_json::{Map, Value as Json};

pub(crate) use super::prepared::{AllowedKinds, Finished, Prepared};
use super::{
    admission::operation_budget,
    context::RequestContext,
    execution::ExecutionContext,
    long_documents::{GivenRequest, KnownDocument, Lookup, look_up, with_document},
    outcome::{HeldBytes, Outcome, RequestError, Response, ResponseBody, Seen, held_by},
    plan::{Plan, Step},
    planning::{find_operation, plan_for},
    prepared::Ending,
    roles::Asker,
    root_fields::{Executed, execute, try_execute},
    spans,
    stages::{ClockKind, Stage, StageClock, StageTimes},
};

/// Takes a request to the bytes of its response; `parsed` is its parsing, whose time counts. Dropping the future cancels the request.
pub(crate) async fn respond<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parsed: impl Future<Output = Result<RequestParameters, RequestFault>>,
    allowed: AllowedKinds,
) -> Response {
    let clock = StageClock::of(context.clock);
    let parsed = parsed.await;
    respond_parsed(core, context, parsed, allowed, clock).await
}

/// As [`respond`], for what is parsed already; the clock has begun with that.
pub(crate) async fn respond_parsed<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
    allowed: AllowedKinds,
    mut clock: StageClock,
) -> Response {
    let mut seen = Seen::default();
    let given = with_document(core, &context, parsed).await;
    let finished = match prepare_given(core, context, given, allowed, &mut clock, &mut seen) {
        Ok(prepared) => finish(core, &prepared, &mut clock).await,
        Err(error) => Err(error),
    };
    response(core, finished, seen, clock.times())
}

/// What has become of an operation as a response.
pub(crate) fn response(
    core: &impl ExecutionContext,
    finished: Result<Finished, RequestError>,
    seen: Seen,
    times: StageTimes,
) -> Response {
    match finished {
        Ok(Finished { ending, body, coding, kept }) => {
            Response { outcome: ending.outcome(), body, coding, kept, seen, times }
        }
        Err(error) => {
            let bytes = error_body(core, &error).into();
            let body = ResponseBody { bytes, budget: None, is_unread: false };
            let (outcome, coding) = (Outcome::Refused(error), ContentCoding::Identity);
            Response { outcome, body, coding, kept: None, seen, times }
        }
    }
}

/// How far a request is that was given no time to wait.
pub(crate) enum Tried<S> {
    /// The response is written.
    Responded(Response<HeldBytes>),
    /// A step may wait: [`finish`] is left to do.
    Waits(Box<Prepared<S>>, StageClock, Seen),
    /// Its rules have not let it in, which has been counted.
    Denied(Box<Response>),
    /// Its document is long and not known: [`respond_parsed`] is left to do.
    Unknown(Box<(RequestContext, RequestParameters)>, StageClock),
    /// The response has no body that is executed; nothing has been done.
    NotHere,
}

/// As [`respond`], for the JSON of a request, as far as that goes without waiting. `begin` writes what comes before the body, of
/// which it is told the length.
pub(crate) fn try_respond<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    body: &[u8],
    allowed: AllowedKinds,
    out: &mut Vec<u8>,
    begin: impl Fn(&mut Vec<u8>, &Outcome, usize),
) -> Tried<C::Served> {
    let mut clock = StageClock::start();
    let mut seen = Seen::default();
    let given = match look_up(core, &context, RequestParameters::from_json(body)) {
        Lookup::Known(given) => given,
        Lookup::Unknown(parameters) => return Tried::Unknown(Box::new((context, parameters)), clock),
    };
    let mut held = None;
    let outcome = match prepare_given(core, context, given, allowed, &mut clock, &mut seen) {
        Ok(prepared) => {
            let results = if prepared.runs_at_once() { try_execute(core, &prepared) } else { None };
            let Some(mut results) = results else {
                return Tried::Waits(Box::new(prepared), clock, seen);
            };
            let plan = &prepared.plan;
            note_executed(core, plan, &mut clock);
            prepared.note_results(core, results.as_mut_slice());
            let ending = note_errors(core, plan, results.as_mut_slice());
            let outcome = ending.outcome();
            assemble_into(core, plan, results.as_mut_slice(), out, |out, length| {
                begin(out, &outcome, length);
            });
            clock.ended(Stage::Assemble);
            prepared.note_end(core, ending.has_errors, &clock);
            held = prepared.variables.budget().and_then(held_by);
            outcome
        }
        Err(error @ RequestError::Invalid(_)) => {
            let body = error_body(core, &error);
            let outcome = Outcome::Refused(error);
            begin(out, &outcome, body.len());
            out.extend_from_slice(&body);
            outcome
        }
        Err(error @ RequestError::Denied(_)) => {
            return Tried::Denied(Box::new(response(core, Err(error), seen, clock.times())));
        }
        Err(RequestError::Unreadable(_) | RequestError::NotAllowed) => return Tried::NotHere,
    };
    let (coding, times) = (ContentCoding::Identity, clock.times());
    Tried::Responded(Response { outcome, body: held, coding, kept: None, seen, times })
}

/// Only the first half, without counting it; what is wrong with the request, as the body of a response.
pub(crate) fn check(
    core: &impl ExecutionContext,
    context: RequestContext,
    parameters: RequestParameters,
    allowed: AllowedKinds,
) -> Result<(), Vec<u8>> {
    let given = Ok(GivenRequest { parameters, document: None });
    let prepared = plan(core, context, given, allowed, &mut StageClock::start(), &mut Seen::default());
    let Err(error) = prepared else { return Ok(()) };
    let errors = error.into_errors("this kind is not taken here");
    Err(response::refuse(&errors, core.engine().detail()))
}

/// The first half of the pipeline, which does not wait: parse, validate, plan, and count it by its rules, as far as that needs no
/// waiting. `seen` is filled in
/// as it becomes known.
pub(crate) fn prepare<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parsed: Result<RequestParameters, RequestFault>,
    allowed: AllowedKinds,
    clock: &mut StageClock,
    seen: &mut Seen,
) -> Result<Prepared<C::Served>, RequestError> {
    let given = parsed.map(|parameters| GivenRequest { parameters, document: None });
    prepare_given(core, context, given, allowed, clock, seen)
}

/// As [`prepare`], with what is known of the document.
fn prepare_given<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    given: Result<GivenRequest<C::Served>, RequestFault>,
    allowed: AllowedKinds,
    clock: &mut StageClock,
    seen: &mut Seen,
) -> Result<Prepared<C::Served>, RequestError> {
    let prepared = plan(core, context, given, allowed, clock, seen)?.try_admit(core)?;
    clock.admitted();
    Ok(prepared)
}

/// As [`prepare_given`], without counting it.
fn plan<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    given: Result<GivenRequest<C::Served>, RequestFault>,
    allowed: AllowedKinds,
    clock: &mut StageClock,
    seen: &mut Seen,
) -> Result<Prepared<C::Served>, RequestError> {
    let limits = core.engine().limits();
    let refused = |errors| invalid(core, errors);
    let GivenRequest { mut parameters, document } = given.map_err(RequestError::Unreadable)?;
    let (served, found, made) = match document {
        Some(KnownDocument { served, operation, plan }) => (served, Some(operation), plan),
        None => (core.served(&context), None, None),
    };
    let role = context.asker.as_ref().map(Asker::role);
    core.engine().documents.resolve(&mut parameters, role).map_err(|error| refused(vec![error]))?;
    clock.ended(Stage::Parse);

    let RequestParameters { query, operation_name, variables, extensions, sent_variables, .. } = parameters;
    let find = || find_operation(&served, limits, &query, operation_name.as_deref());
    let operation = found.unwrap_or_else(find).map_err(refused)?;
    seen.kind = Some(operation.kind());
    if core.site().notes_requests() {
        note_operation(&operation, context.asker.as_ref(), context.clock);
    }
    if !allowed.include(operation.kind()) {
        return Err(RequestError::NotAllowed);
    }
    let (variables, shape) = operation.coerce(&served.schema, variables).map_err(refused)?;
    clock.ended(Stage::Validate);

    let plan = match made {
        Some(plan) => plan,
        None => plan_for(&served, limits, (&operation, &query), &variables, shape).map_err(refused)?,
    };
    let cost = plan.complexity.with(&variables);
    seen.cost = Some(cost);
    check_size(&plan, cost, limits, role).map_err(|error| refused(vec![error]))?;
    let mut variables = context.add_session(variables);
    if plan.whole.is_some() {
        variables = variables.with_extensions(forwarded(extensions)).with_sent(sent_variables);
    }
    let RequestContext { asker, caller, codings, .. } = context;
    let variables = match caller {
        None => variables,
        Some(caller) => variables.asked_by(caller.map_err(|error| refused(vec![*error]))?),
    };
    let variables = if operation.kind() == OperationKind::Subscription {
        // It has one root field, and its responses have no end.
        variables
    } else {
        variables.with_budget(Some(operation_budget(core, &core.site().responses)))
    };
    clock.ended(Stage::Plan);
    Ok(Prepared { served, operation, plan, variables, asker, codings, cost, is_admitted: false })
}

/// Extensions of a request for who executes all of it. Those that are between the client and this server are not: documents are
/// looked up here by their hashes, and streams of events have operations by their ids.
fn forwarded(mut extensions: Map<String, Json>) -> Option<Arc<str>> {
    extensions.retain(|name, _| !["persistedQuery", "operationId"].contains(&name.as_str()));
    (!extensions.is_empty()).then(|| Json::Object(extensions).to_string().into())
}

/// For the logs of the request that it came in.
fn note_operation(operation: &Operation, asker: Option<&Asker>, clock: ClockKind) {
    if let Some(record) = current_request() {
        if let Some(trace) = &record.trace {
            spans::begin_operation(trace, operation, asker, clock);
        }
        let name = operation.name().map(|name| name.as_str().into());
        let role = asker.map(|asker| (*asker.role().name).into());
        *record.operation.borrow_mut() = Some(OperationRecord { name, role });
    }
}

/// Tells which request an error is of, where requests have ids.
fn name_request(core: &impl ExecutionContext, error: &mut GraphqlError) {
    if !core.site().notes_requests() {
        return;
    }
    let Some(record) = current_request() else { return };
    if let Some(trace) = &record.trace {
        trace.note_error(error.code.as_str());
    }
    if !record.id.is_empty() {
        error.extensions.get_or_insert_default().insert("request_id".into(), (*record.id).into());
    }
}

/// Whether an operation is within the limits of all, and of the role of who asks.
fn check_size(plan: &Plan, cost: u64, limits: &Limits, role: Option<&Role>) -> Result<(), GraphqlError> {
    let of_role = role.and_then(|role| role.max_complexity).unwrap_or(u64::MAX);
    check_estimate(cost, limits.max_complexity.min(of_role))?;
    check_nest_level(plan.nest_level, limits.max_nest_level)?;
    check_depth(plan.depth, role.and_then(|role| role.max_depth).unwrap_or(usize::MAX))
}

/// The second half: count it where that has to wait, execute, assemble; as its rules have it.
pub(crate) async fn finish<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    prepared.admit(core).await?;
    if !prepared.is_admitted {
        clock.waited();
    }
    let finished = match prepared.rules() {
        Some(_) => core.finish_by_rules(prepared, clock).await,
        None => Ok(execute_and_assemble(core, prepared, clock).await),
    };
    match &finished {
        Ok(Finished { ending, .. }) => prepared.note_end(core, ending.has_errors, clock),
        Err(error) => prepared.note_refusal(core, error, true),
    }
    finished
}

/// Executes an operation, whatever its rules are.
pub(super) async fn execute_and_assemble<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    clock: &mut StageClock,
) -> Finished {
    let mut results = match try_execute(core, prepared) {
        Some(results) => results,
        None => match execute(core, prepared).await {
            Executed::Fields(results) => results,
            Executed::Whole { body, coding, has_errors } => {
                note_executed(core, &prepared.plan, clock);
                note_whole(core, &prepared.plan, has_errors);
                clock.ended(Stage::Assemble);
                prepared.note_whole_end(core, has_errors);
                let budget = prepared.variables.budget().cloned();
                let body = ResponseBody { bytes: body, budget, is_unread: true };
                let ending = Ending { has_errors, is_overloaded: false };
                return Finished { ending, body, coding, kept: None };
            }
        },
    };
    note_executed(core, &prepared.plan, clock);
    prepared.note_results(core, results.as_mut_slice());

    let (ending, bytes) = assemble(core, &prepared.plan, results.as_mut_slice());
    clock.ended(Stage::Assemble);
    let budget = prepared.variables.budget().cloned();
    let body = ResponseBody { bytes: bytes.into(), budget, is_unread: false };
    Finished { ending, body, coding: ContentCoding::Identity, kept: None }
}

/// The execution has ended. Where it was that of one source, the time is its; [`execute`] counts those of others.
fn note_executed(core: &impl ExecutionContext, plan: &Plan, clock: &mut StageClock) {
    clock.ended(Stage::Execute);
    if let Some((source, time_ns)) = plan.sole_source.zip(clock.times().sources_ns()) {
        core.metrics().source_took(usize::from(source.0), time_ns);
    }
}

/// Counts the root fields of an operation that one source has executed.
fn note_whole(core: &impl ExecutionContext, plan: &Plan, has_errors: bool) {
    for step in &plan.steps {
        let Step::Source(source, _) = step else { continue };
        core.metrics().field_ended(usize::from(source.0), has_errors);
    }
}

/// The body of a plan's results, and what is known of it; errors are counted and logged here.
pub(crate) fn assemble(
    core: &impl ExecutionContext,
    plan: &Plan,
    results: &mut [FieldResult],
) -> (Ending, Vec<u8>) {
    let ending = note_errors(core, plan, results);
    (ending, response::assemble(&plan.selection.fields, results, core.engine().detail()))
}

/// Writes the body of a plan's results behind what `begin` writes for a body of its length.
fn assemble_into(
    core: &impl ExecutionContext,
    plan: &Plan,
    results: &mut [FieldResult],
    out: &mut Vec<u8>,
    begin: impl Fn(&mut Vec<u8>, usize),
) {
    let fields = &plan.selection.fields;
    let (start, expected) = (out.len(), response::expected_bytes(fields, results));
    begin(out, expected);
    let body_start = out.len();
    response::assemble_into(out, fields, results, core.engine().detail());
    if out.len() - body_start != expected {
        // There are errors, whose length is not known before.
        let body = out.split_off(body_start);
        out.truncate(start);
        begin(out, body.len());
        out.extend_from_slice(&body);
    }
}

/// What protocols that answer with a GraphQL body send; empty where each has its own words.
fn error_body(core: &impl ExecutionContext, error: &RequestError) -> Vec<u8> {
    match error {
        RequestError::Invalid(errors) => response::refuse(errors, core.engine().detail()),
        RequestError::Unreadable(_) | RequestError::NotAllowed | RequestError::Denied(_) => Vec::new(),
    }
}

fn invalid(core: &impl ExecutionContext, mut errors: Vec<GraphqlError>) -> RequestError {
    for error in &mut errors {
        refer(core, "", error);
        name_request(core, error);
    }
    RequestError::Invalid(errors)
}

/// Counts fields and gives references.
fn note_errors(core: &impl ExecutionContext, plan: &Plan, results: &mut [FieldResult]) -> Ending {
    let mut has_errors = false;
    let is_overload = |error: &GraphqlError| error.code == ErrorCode::Overloaded;
    let is_overloaded = results.iter().flat_map(|result| &result.errors).any(is_overload)
        && results.iter().all(|result| result.data.is_none());
    for (step, result) in plan.steps.iter().zip(results) {
        let failed = !result.errors.is_empty();
        has_errors |= failed;
        let Step::Source(source, _) = step else { continue };
        core.metrics().field_ended(usize::from(source.0), failed);
        if failed {
            let name = &core.engine().sources()[usize::from(source.0)].name;
            for error in &mut result.errors {
                refer(core, name, error);
                name_request(core, error);
            }
        }
    }
    Ending { has_errors, is_overloaded }
}

/// An error of a connection, as its client may see it.
pub(crate) fn for_the_client(core: &impl ExecutionContext, mut error: GraphqlError) -> GraphqlError {
    refer(core, "", &mut error);
    error
}

/// Joins an error that has a detail with a line of the log. What the client's own values caused is no failure of ours.
fn refer(core: &impl ExecutionContext, source: &str, error: &mut GraphqlError) {
    let Some(detail) = &error.detail else { return };
    let references = &core.site().references;
    let reference = references.next();
    if references.may_log() {
        let kind = error.code.as_str();
        let what = error.message.as_str();
        let record = current_request();
        let request_id = record.as_ref().map(|record| &*record.id).filter(|id| !id.is_empty());
        let trace_id =
            record.as_ref().and_then(|record| record.trace.as_ref()).map(|trace| trace.id().to_string());
        match error.code {
            ErrorCode::ConstraintViolation | ErrorCode::BadUserInput | ErrorCode::ValueOutOfRange => {
                tracing::info!(%reference, request_id, trace_id, source, code = kind, what, detail, "a request was refused");
            }
            _ => {
                tracing::error!(%reference, request_id, trace_id, source, code = kind, what, detail, "a request failed");
            }
        }
    }
    error.refer(&reference);
}
