//! The pipeline of a request: parse, validate and plan in [`prepare`], execute and assemble in [`finish`], both in
//! [`respond`]. What comes over a socket goes through the same stages.

use std::{borrow::Cow, sync::Arc};

use futures_util::future::join_all;
use prony_access::{OperationRefusal, Role, RuleId};
use prony_graphql::{
    Name,
    budget::{ResponseBudget, ResponseLimit},
    document::{
        Operation,
        complexity::{check_depth, check_estimate},
        limits::Limits,
    },
    error::{ErrorCode, GraphqlError},
    introspection,
    request::{RequestFault, RequestParameters},
    response::{self, FieldResult},
    schema::SourceId,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::PreparedField;

use super::{
    context::RequestContext,
    core::{CoreServed, ExecutionContext},
    outcome::{Outcome, RequestError, Response, ResponseBody, Seen},
    plan::{AboutSchema, Plan, Step},
    response_cache::KeptResponse,
    roles::Asker,
    served::Served,
    stages::{Stage, StageClock, StageTimes},
};
use crate::access::Places;

/// What the request's method (GraphQL over HTTP, section 5.3) and the form of its answer allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowedKinds {
    /// GET: it must be safe to repeat.
    Queries,
    /// POST with one answer.
    QueriesAndMutations,
    /// GET with a stream of answers.
    QueriesAndSubscriptions,
    /// Sockets, and POST with a stream of answers.
    All,
}

impl AllowedKinds {
    fn include(self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Query => true,
            OperationKind::Mutation => matches!(self, Self::QueriesAndMutations | Self::All),
            OperationKind::Subscription => matches!(self, Self::QueriesAndSubscriptions | Self::All),
        }
    }
}

/// An operation of which nothing but its execution is left to do.
#[derive(Debug, Clone)]
pub(crate) struct Prepared<S = CoreServed> {
    served: S,
    pub(super) operation: Arc<Operation>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) variables: Variables,
    /// Who asks, where not everybody is let in.
    pub(crate) asker: Option<Asker>,
    /// The estimate that `max_complexity` limits.
    pub(super) cost: u64,
}

impl<S> Prepared<S> {
    /// The same as a part of what a connection's operations may have.
    pub(crate) fn within(self, core: &impl ExecutionContext, connection: &Arc<ResponseBudget>) -> Self {
        let budget = operation_budget(core, connection);
        Self { variables: self.variables.with_budget(Some(budget)), ..self }
    }

    pub(crate) fn kind(&self) -> OperationKind {
        self.plan.selection.kind
    }

    /// Who asks, and the rules for its root fields; none where there are none.
    pub(crate) fn rules(&self) -> Option<(&Asker, Cow<'_, [RuleId]>)> {
        let asker = self.asker.as_ref()?;
        let rules = asker.rules_of(self.operation.name().map(Name::as_str), &self.plan);
        (!rules.is_empty()).then_some((asker, rules))
    }

    /// Counts it by its rules.
    fn admit(&self, core: &impl ExecutionContext) -> Result<(), RequestError> {
        let Some((asker, rules)) = self.rules() else { return Ok(()) };
        let admitted = asker.admit(&rules).map_err(RequestError::Denied);
        admitted.inspect_err(|error| self.note_refusal(core, error, false))
    }

    /// What it needs to live as a subscription.
    pub(crate) fn places_of_subscription(
        &self,
        core: &impl ExecutionContext,
    ) -> Result<Places, RequestError> {
        let Some((asker, rules)) = self.rules() else { return Ok(Places::default()) };
        let places = asker.places_of_subscription(&rules);
        let places = places.map_err(|state| RequestError::Denied(OperationRefusal::Limit(state)));
        places.inspect_err(|error| self.note_refusal(core, error, true))
    }

    /// Whether it can be executed now: it waits for nothing, and its rules ask for nothing but to be counted.
    fn runs_at_once(&self) -> bool {
        let is_simple = |(asker, rules): (&Asker, Cow<'_, [RuleId]>)| {
            let fields = self.plan.selection.fields.len();
            !asker.rules.operations.needs_place(&rules) && asker.rules.keeping(&rules, fields).is_none()
        };
        !self.plan.waits() && self.rules().is_none_or(is_simple)
    }
}

/// What has become of an operation that was executed, or whose response was kept.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) errors: bool,
    pub(crate) body: ResponseBody,
    /// What the body is kept as, where it is.
    pub(crate) kept: Option<Arc<KeptResponse>>,
}

/// Takes a request from its text to the bytes of its response. Dropping the future cancels the request.
pub(crate) async fn respond<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parse: impl FnOnce() -> Result<RequestParameters, RequestFault>,
    allowed: AllowedKinds,
) -> Response {
    let mut clock = StageClock::start();
    let mut seen = Seen::default();
    let finished = match prepare(core, context, parse, allowed, &mut clock, &mut seen) {
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
        Ok(Finished { errors, body, kept }) => {
            Response { outcome: Outcome::Executed { errors }, body, kept, seen, times }
        }
        Err(error) => {
            let body = ResponseBody { bytes: error_body(core, &error).into(), budget: None };
            Response { outcome: Outcome::Refused(error), body, kept: None, seen, times }
        }
    }
}

/// As [`respond`], for the JSON of a request, where no step waits. `begin` writes what comes before the body, of which it is
/// told the length. None where a step may wait, or where the body is not one that is executed; nothing has been done then.
pub(crate) fn try_respond<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    body: &[u8],
    allowed: AllowedKinds,
    out: &mut Vec<u8>,
    begin: impl Fn(&mut Vec<u8>, &Outcome, usize),
) -> Option<Response<()>> {
    let mut clock = StageClock::start();
    let mut seen = Seen::default();
    let parse = || RequestParameters::from_json(body);
    let prepared = plan(core, context, parse, allowed, &mut clock, &mut seen);
    let admitted = match prepared {
        Ok(prepared) if !prepared.runs_at_once() => return None,
        Ok(prepared) => prepared.admit(core).map(|()| prepared),
        Err(error) => Err(error),
    };
    let outcome = match admitted {
        Ok(prepared) => {
            let mut results = try_execute(core, &prepared)?;
            clock.ended(Stage::Execute);
            let plan = &prepared.plan;
            prepared.note_results(core, results.as_mut_slice());
            let errors = note_errors(core, plan, results.as_mut_slice());
            let outcome = Outcome::Executed { errors };
            assemble_into(core, plan, results.as_mut_slice(), out, |out, length| {
                begin(out, &outcome, length);
            });
            clock.ended(Stage::Assemble);
            prepared.note_end(core, errors, &clock);
            outcome
        }
        Err(error @ RequestError::Invalid(_)) => {
            let body = error_body(core, &error);
            let outcome = Outcome::Refused(error);
            begin(out, &outcome, body.len());
            out.extend_from_slice(&body);
            outcome
        }
        // It is counted once: what was refused took nothing.
        Err(RequestError::Unreadable(_) | RequestError::NotAllowed | RequestError::Denied(_)) => return None,
    };
    Some(Response { outcome, body: (), kept: None, seen, times: clock.times() })
}

/// Only the first half, without counting it; what is wrong with the request, as the body of a response.
pub(crate) fn check(
    core: &impl ExecutionContext,
    context: RequestContext,
    parameters: RequestParameters,
    allowed: AllowedKinds,
) -> Result<(), Vec<u8>> {
    let prepared =
        plan(core, context, || Ok(parameters), allowed, &mut StageClock::start(), &mut Seen::default());
    let Err(error) = prepared else { return Ok(()) };
    let errors = error.into_errors("this kind is not taken here");
    Err(response::refuse(&errors, core.engine().detail()))
}

/// The first half of the pipeline, which does not wait: parse, validate, plan, and count it by its rules. `seen` is filled in
/// as it becomes known.
pub(crate) fn prepare<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parse: impl FnOnce() -> Result<RequestParameters, RequestFault>,
    allowed: AllowedKinds,
    clock: &mut StageClock,
    seen: &mut Seen,
) -> Result<Prepared<C::Served>, RequestError> {
    let prepared = plan(core, context, parse, allowed, clock, seen)?;
    prepared.admit(core)?;
    Ok(prepared)
}

/// As [`prepare`], without counting it.
fn plan<C: ExecutionContext>(
    core: &C,
    context: RequestContext,
    parse: impl FnOnce() -> Result<RequestParameters, RequestFault>,
    allowed: AllowedKinds,
    clock: &mut StageClock,
    seen: &mut Seen,
) -> Result<Prepared<C::Served>, RequestError> {
    let served = core.served(&context);
    let limits = core.engine().limits();
    let refused = |errors| invalid(core, errors);
    let mut parameters = parse().map_err(RequestError::Unreadable)?;
    core.engine().documents.resolve(&mut parameters).map_err(|error| refused(vec![error]))?;
    clock.ended(Stage::Parse);

    let RequestParameters { query, operation_name, variables, .. } = parameters;
    let operation = find_operation(&served, limits, &query, operation_name.as_deref()).map_err(refused)?;
    seen.kind = Some(operation.kind());
    if !allowed.include(operation.kind()) {
        return Err(RequestError::NotAllowed);
    }
    let (variables, shape) = operation.coerce(&served.schema, variables).map_err(refused)?;
    clock.ended(Stage::Validate);

    let plan = if let Some(plan) = served.cache.plan(operation.id(), &shape) {
        plan
    } else {
        let plan =
            Plan::make(&served.schema, &served.sources, limits, &operation, &variables).map_err(refused)?;
        served.cache.insert_plan(operation.id(), shape, plan)
    };
    let cost = plan.complexity.with(&variables);
    seen.cost = Some(cost);
    let role = context.asker.as_ref().map(Asker::role);
    check_size(&plan, cost, limits, role).map_err(|error| refused(vec![error]))?;
    let variables = context.add_session(variables);
    let RequestContext { asker, caller } = context;
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
    Ok(Prepared { served, operation, plan, variables, asker, cost })
}

/// Whether an operation is within the limits of all, and of the role of who asks.
fn check_size(plan: &Plan, cost: u64, limits: &Limits, role: Option<&Role>) -> Result<(), GraphqlError> {
    let of_role = role.and_then(|role| role.max_complexity).unwrap_or(u64::MAX);
    check_estimate(cost, limits.max_complexity.min(of_role))?;
    check_depth(plan.depth, role.and_then(|role| role.max_depth).unwrap_or(usize::MAX))
}

/// What the response of an operation may have, of what all of its kind may.
fn operation_budget(core: &impl ExecutionContext, whole: &Arc<ResponseBudget>) -> Arc<ResponseBudget> {
    whole.part(ResponseLimit::Operation, core.settings().max_operation_bytes)
}

/// The second half: execute, assemble; as its rules have it.
pub(crate) async fn finish<C: ExecutionContext>(
    core: &C,
    prepared: &Prepared<C::Served>,
    clock: &mut StageClock,
) -> Result<Finished, RequestError> {
    let finished = match prepared.rules() {
        Some(_) => core.finish_by_rules(prepared, clock).await,
        None => Ok(execute_and_assemble(core, prepared, clock).await),
    };
    match &finished {
        Ok(Finished { errors, .. }) => prepared.note_end(core, *errors, clock),
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
        None => execute(core, prepared).await,
    };
    clock.ended(Stage::Execute);
    prepared.note_results(core, results.as_mut_slice());

    let (errors, bytes) = assemble(core, &prepared.plan, results.as_mut_slice());
    clock.ended(Stage::Assemble);
    let body = ResponseBody { bytes: bytes.into(), budget: prepared.variables.budget().cloned() };
    Finished { errors, body, kept: None }
}

/// The body of a plan's results, and whether it holds errors, which are counted and logged here.
pub(crate) fn assemble(
    core: &impl ExecutionContext,
    plan: &Plan,
    results: &mut [FieldResult],
) -> (bool, Vec<u8>) {
    let errors = note_errors(core, plan, results);
    (errors, response::assemble(&plan.selection.fields, results, core.engine().detail()))
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

fn find_operation(
    served: &Served,
    limits: &Limits,
    text: &str,
    name: Option<&str>,
) -> Result<Arc<Operation>, Vec<GraphqlError>> {
    if let Some(known) = served.cache.operation(text, name) {
        return Ok(known);
    }
    let operation = Operation::parse(&served.schema, text, name, limits)?;
    Ok(served.cache.insert_operation(text, name, operation))
}

fn invalid(core: &impl ExecutionContext, mut errors: Vec<GraphqlError>) -> RequestError {
    for error in &mut errors {
        refer(core, "", error);
    }
    RequestError::Invalid(errors)
}

/// The results of root fields. One is so usual that it has no list.
enum Results {
    One(FieldResult),
    Many(Vec<FieldResult>),
}

impl Results {
    fn as_mut_slice(&mut self) -> &mut [FieldResult] {
        match self {
            Self::One(result) => std::slice::from_mut(result),
            Self::Many(results) => results,
        }
    }
}

/// Executes root fields in their order where none of them waits; none where one does, and nothing has been done.
fn try_execute<C: ExecutionContext>(core: &C, prepared: &Prepared<C::Served>) -> Option<Results> {
    let Prepared { served, plan, variables, .. } = prepared;
    if plan.waits() {
        return None;
    }
    let answer = |(field, step): (&Field, &Step)| match step {
        Step::Source(source, root) => core.answer(*source, root, variables),
        Step::Schema(about) => about_schema(core, served, field, about, variables),
    };
    let fields = &plan.selection.fields;
    let results = match plan.steps.as_slice() {
        [only] => Results::One(answer((&fields[0], only))),
        steps => Results::Many(fields.iter().zip(steps).map(answer).collect()),
    };
    if plan.selection.kind == OperationKind::Mutation {
        for (source, _) in by_source(plan) {
            core.site().mutations.count(source);
        }
    }
    Some(results)
}

/// Root fields of a query at the same time, those of a mutation one after the other.
async fn execute<C: ExecutionContext>(core: &C, prepared: &Prepared<C::Served>) -> Results {
    let Prepared { served, plan, variables, .. } = prepared;
    match (plan.selection.kind, plan.steps.as_slice()) {
        (OperationKind::Mutation, _) => Results::Many(mutate(core, served, plan, variables).await),
        (_, [only]) => Results::One(query(core, served, &plan.selection.fields[0], only, variables).await),
        _ => Results::Many(query_all(core, served, plan, variables).await),
    }
}

/// All sources at the same time, each with all its fields.
async fn query_all(
    core: &impl ExecutionContext,
    served: &Served,
    plan: &Plan,
    variables: &Variables,
) -> Vec<FieldResult> {
    let groups = by_source(plan);
    let answers = join_all(groups.iter().map(|(source, members)| {
        let roots: Vec<&PreparedField> = members.iter().map(|&(_, root)| root).collect();
        async move { core.query_all(*source, &roots, variables).await }
    }));
    let mut results: Vec<Option<FieldResult>> = plan.steps.iter().map(|_| None).collect();
    for ((_, members), answers) in groups.iter().zip(answers.await) {
        place(&mut results, members, answers);
    }
    with_the_rest(core, served, plan, variables, results).await
}

async fn query(
    core: &impl ExecutionContext,
    served: &Served,
    field: &Field,
    step: &Step,
    variables: &Variables,
) -> FieldResult {
    match step {
        Step::Source(source, prepared) => core.query(*source, prepared, variables).await,
        Step::Schema(about) => about_schema(core, served, field, about, variables),
    }
}

fn about_schema(
    core: &impl ExecutionContext,
    served: &Served,
    field: &Field,
    about: &AboutSchema,
    variables: &Variables,
) -> FieldResult {
    match about {
        AboutSchema::Constant(result) => result.clone(),
        AboutSchema::Introspection => {
            introspection::answer(&served.schema, field, variables, core.engine().limits())
        }
    }
}

/// All fields of one source in one transaction, in their order; sources in the order of their first field.
async fn mutate(
    core: &impl ExecutionContext,
    served: &Served,
    plan: &Plan,
    variables: &Variables,
) -> Vec<FieldResult> {
    let mut results: Vec<Option<FieldResult>> = plan.steps.iter().map(|_| None).collect();
    for (source, members) in by_source(plan) {
        let roots: Vec<&PreparedField> = members.iter().map(|&(_, root)| root).collect();
        let answers = core.mutate(source, &roots, variables).await;
        core.site().mutations.count(source);
        place(&mut results, &members, answers);
    }
    with_the_rest(core, served, plan, variables, results).await
}

fn place(results: &mut [Option<FieldResult>], members: &Members<'_>, answers: Vec<FieldResult>) {
    for (&(index, _), answer) in members.iter().zip(answers) {
        results[index] = Some(answer);
    }
}

/// Answers what belongs to no source too.
async fn with_the_rest(
    core: &impl ExecutionContext,
    served: &Served,
    plan: &Plan,
    variables: &Variables,
    mut results: Vec<Option<FieldResult>>,
) -> Vec<FieldResult> {
    for (index, step) in plan.steps.iter().enumerate() {
        if results[index].is_none() {
            let field = &plan.selection.fields[index];
            results[index] = Some(query(core, served, field, step, variables).await);
        }
    }
    results.into_iter().map(|result| result.expect("a source answers each of its fields")).collect()
}

type Members<'a> = Vec<(usize, &'a PreparedField)>;

fn by_source(plan: &Plan) -> Vec<(SourceId, Members<'_>)> {
    let mut groups: Vec<(SourceId, Members<'_>)> = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let Step::Source(source, root) = step else { continue };
        match groups.iter_mut().find(|(known, _)| known == source) {
            Some((_, members)) => members.push((index, root)),
            None => groups.push((*source, vec![(index, root)])),
        }
    }
    groups
}

/// Counts fields and gives references; whether there are errors.
fn note_errors(core: &impl ExecutionContext, plan: &Plan, results: &mut [FieldResult]) -> bool {
    let mut any = false;
    for (step, result) in plan.steps.iter().zip(results) {
        let failed = !result.errors.is_empty();
        any |= failed;
        let Step::Source(source, _) = step else { continue };
        core.metrics().field_ended(usize::from(source.0), failed);
        if failed {
            let name = &core.engine().sources()[usize::from(source.0)].name;
            result.errors.iter_mut().for_each(|error| refer(core, name, error));
        }
    }
    any
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
        match error.code {
            ErrorCode::ConstraintViolation | ErrorCode::BadUserInput | ErrorCode::ValueOutOfRange => {
                tracing::info!(%reference, source, code = kind, what, detail, "a request was refused");
            }
            _ => tracing::error!(%reference, source, code = kind, what, detail, "a request failed"),
        }
    }
    error.refer(&reference);
}
