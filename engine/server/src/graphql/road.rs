//! The road of a request, parse, validate and plan in [`prepare`], execute and assemble in [`finish`],
//! both in [`travel`]. What comes over a socket goes the same way.

use std::sync::Arc;

use futures_util::future::join_all;
use prony_graphql::{
    document::{Operation, limits::Limits},
    error::{ErrorCode, GraphqlError},
    introspection,
    request::{Asked, RequestFault, RequestParameters},
    response::{self, FieldResult},
    schema::SourceId,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::PreparedField;

use super::{
    core::{CoreEngine, CoreServed, Lane},
    plan::{AboutSchema, Plan, Step},
    served::Served,
    stages::{Stage, StageClock, StageTimes},
};

/// What the request's method (GraphQL over HTTP, section 5.3) and the form of its answer allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// GET: it must be safe to repeat.
    Queries,
    /// POST with one answer.
    QueriesAndMutations,
    /// GET with a stream of answers.
    QueriesAndSubscriptions,
    /// Sockets, and POST with a stream of answers.
    All,
}

impl Permission {
    fn allows(self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Query => true,
            OperationKind::Mutation => matches!(self, Self::QueriesAndMutations | Self::All),
            OperationKind::Subscription => matches!(self, Self::QueriesAndSubscriptions | Self::All),
        }
    }
}

/// How the journey ended.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// The body holds `data`.
    Executed { errors: bool },
    /// The body holds only errors: nothing was executed.
    Refused,
    /// The request is no GraphQL request; there is no body yet.
    Unreadable(RequestFault),
    /// The method does not allow this kind of operation; there is no body yet.
    Forbidden,
}

/// A response body with what HTTP needs to know of it.
#[derive(Debug)]
pub(crate) struct Answer<B = Vec<u8>> {
    pub(crate) arrival: Arrival,
    pub(crate) body: B,
    pub(crate) kind: Option<OperationKind>,
    pub(crate) times: StageTimes,
}

/// An operation of which nothing but its execution is left to do.
#[derive(Debug)]
pub(crate) struct Prepared<S = CoreServed> {
    served: S,
    pub(crate) plan: Arc<Plan>,
    pub(crate) variables: Variables,
}

impl<S> Prepared<S> {
    pub(crate) fn kind(&self) -> OperationKind {
        self.plan.selection.kind
    }
}

/// Why an operation is not executed.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Unreadable(RequestFault),
    Forbidden,
    /// For the client; the log has been told.
    Refused(Vec<GraphqlError>),
}

/// Takes a request from its text to the bytes of its response. Dropping the future cancels the request.
pub(crate) async fn travel(
    core: &impl Lane,
    parse: impl FnOnce() -> Result<RequestParameters, RequestFault>,
    permission: Permission,
) -> Answer {
    let mut clock = StageClock::start();
    let mut kind = None;
    let (arrival, body) = match prepare(core, parse, permission, &mut clock, &mut kind) {
        Ok(prepared) => {
            let (errors, body) = finish(core, &prepared, &mut clock).await;
            (Arrival::Executed { errors }, body)
        }
        Err(Obstacle::Unreadable(fault)) => (Arrival::Unreadable(fault), Vec::new()),
        Err(Obstacle::Forbidden) => (Arrival::Forbidden, Vec::new()),
        Err(Obstacle::Refused(errors)) => {
            (Arrival::Refused, response::refuse(&errors, core.engine().detail()))
        }
    };
    Answer { arrival, body, kind, times: clock.times() }
}

/// As [`travel`], for the JSON of a request, where no step waits. `begin` writes what comes before the body, of which it is
/// told the length. None where a step may wait, or where the body is not one that is executed; nothing has been done then.
pub(crate) fn travel_at_once(
    core: &CoreEngine,
    body: &[u8],
    caller: Option<Asked>,
    permission: Permission,
    out: &mut Vec<u8>,
    begin: impl Fn(&mut Vec<u8>, &Arrival, usize),
) -> Option<Answer<()>> {
    let mut clock = StageClock::start();
    let mut kind = None;
    let parse = || Ok(RequestParameters::from_json(body)?.asked_by(caller));
    let arrival = match prepare(core, parse, permission, &mut clock, &mut kind) {
        Ok(prepared) => finish_at_once(core, &prepared, &mut clock, out, begin)?,
        Err(Obstacle::Refused(errors)) => {
            let body = response::refuse(&errors, core.engine().detail());
            begin(out, &Arrival::Refused, body.len());
            out.extend_from_slice(&body);
            Arrival::Refused
        }
        Err(Obstacle::Unreadable(_) | Obstacle::Forbidden) => return None,
    };
    Some(Answer { arrival, body: (), kind, times: clock.times() })
}

/// Travels the first half only; what is in the way, as the body of an answer.
pub(crate) fn check(
    core: &impl Lane,
    parameters: RequestParameters,
    permission: Permission,
) -> Result<(), Vec<u8>> {
    let errors = match prepare(core, || Ok(parameters), permission, &mut StageClock::start(), &mut None) {
        Ok(_) => return Ok(()),
        Err(Obstacle::Refused(errors)) => errors,
        Err(Obstacle::Unreadable(fault)) => vec![fault.into()],
        Err(Obstacle::Forbidden) => {
            vec![GraphqlError::new(ErrorCode::BadUserInput, "this kind is not taken here")]
        }
    };
    Err(response::refuse(&errors, core.engine().detail()))
}

/// The first half of the road, which does not wait: parse, validate, plan. `kind` is told as soon as it is known.
pub(crate) fn prepare<L: Lane>(
    core: &L,
    parse: impl FnOnce() -> Result<RequestParameters, RequestFault>,
    permission: Permission,
    clock: &mut StageClock,
    kind: &mut Option<OperationKind>,
) -> Result<Prepared<L::Served>, Obstacle> {
    let served = core.served();
    let limits = core.engine().limits();
    let refused = |errors| refuse(core, errors);
    let mut parameters = parse().map_err(Obstacle::Unreadable)?;
    core.engine().documents.resolve(&mut parameters).map_err(|error| refused(vec![error]))?;
    clock.ended(Stage::Parse);

    let RequestParameters { query, operation_name, variables, caller, .. } = parameters;
    let operation = find_operation(&served, limits, &query, operation_name.as_deref()).map_err(refused)?;
    *kind = Some(operation.kind());
    if !permission.allows(operation.kind()) {
        return Err(Obstacle::Forbidden);
    }
    let (variables, shape) = operation.coerce(&served.schema, variables).map_err(refused)?;
    clock.ended(Stage::Validate);

    let plan = if let Some(plan) = served.cache.plan(operation.id(), &shape) {
        plan
    } else {
        let plan = Plan::make(&served, limits, &operation, &variables).map_err(refused)?;
        served.cache.insert_plan(operation.id(), shape, plan)
    };
    plan.complexity.check(&variables, limits.max_complexity).map_err(|error| refused(vec![error]))?;
    let variables = match caller {
        None => variables,
        Some(caller) => variables.asked_by(caller.map_err(|error| refused(vec![*error]))?),
    };
    clock.ended(Stage::Plan);
    Ok(Prepared { served, plan, variables })
}

/// The second half: execute, assemble. The body, and whether it holds errors.
pub(crate) async fn finish<L: Lane>(
    core: &L,
    prepared: &Prepared<L::Served>,
    clock: &mut StageClock,
) -> (bool, Vec<u8>) {
    let Prepared { served, plan, variables } = prepared;
    let mut results = execute(core, served, plan, variables).await;
    clock.ended(Stage::Execute);

    let finished = assemble(core, plan, &mut results);
    clock.ended(Stage::Assemble);
    finished
}

/// As [`finish`], where no step waits. Fields are answered in their order.
fn finish_at_once(
    core: &CoreEngine,
    prepared: &Prepared,
    clock: &mut StageClock,
    out: &mut Vec<u8>,
    begin: impl Fn(&mut Vec<u8>, &Arrival, usize),
) -> Option<Arrival> {
    let Prepared { served, plan, variables } = prepared;
    let fields = &plan.selection.fields;
    if plan.steps.iter().any(Step::waits) {
        return None;
    }
    let answer = |(field, step): (&Field, &Step)| match step {
        Step::Source(source, root) => core.answer_at_once(*source, root, variables),
        Step::Schema(about) => about_schema(core, served, field, about, variables),
    };
    let (mut one, mut many);
    let results: &mut [FieldResult] = if let [only] = plan.steps.as_slice() {
        one = [answer((&fields[0], only))];
        &mut one
    } else {
        many = fields.iter().zip(&plan.steps).map(answer).collect::<Vec<_>>();
        &mut many
    };
    clock.ended(Stage::Execute);

    let arrival = Arrival::Executed { errors: note_errors(core, plan, results) };
    let (start, expected) = (out.len(), response::expected_bytes(fields, results));
    begin(out, &arrival, expected);
    let body_start = out.len();
    response::assemble_into(out, fields, results, core.engine().detail());
    if out.len() - body_start != expected {
        let body = out.split_off(body_start);
        out.truncate(start);
        begin(out, &arrival, body.len());
        out.extend_from_slice(&body);
    }
    clock.ended(Stage::Assemble);
    Some(arrival)
}

/// The body of a plan's results, and whether it holds errors, which are counted and logged here.
pub(crate) fn assemble(core: &impl Lane, plan: &Plan, results: &mut [FieldResult]) -> (bool, Vec<u8>) {
    let errors = note_errors(core, plan, results);
    (errors, response::assemble(&plan.selection.fields, results, core.engine().detail()))
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

fn refuse(core: &impl Lane, mut errors: Vec<GraphqlError>) -> Obstacle {
    for error in &mut errors {
        refer(core, "", error);
    }
    Obstacle::Refused(errors)
}

/// Root fields of a query at the same time, those of a mutation one after the other.
async fn execute(core: &impl Lane, served: &Served, plan: &Plan, variables: &Variables) -> Vec<FieldResult> {
    match (plan.selection.kind, plan.steps.as_slice()) {
        (OperationKind::Mutation, _) => mutate(core, served, plan, variables).await,
        (_, [only]) => vec![query(core, served, &plan.selection.fields[0], only, variables).await],
        _ => query_all(core, served, plan, variables).await,
    }
}

/// All sources at the same time, each with all its fields.
async fn query_all(
    core: &impl Lane,
    served: &Served,
    plan: &Plan,
    variables: &Variables,
) -> Vec<FieldResult> {
    let groups = by_source(plan);
    let answers = join_all(groups.iter().map(|(source, members)| {
        let roots: Vec<&PreparedField> = members.iter().map(|&(_, root)| root).collect();
        async move { core.query_all_of(*source, &roots, variables).await }
    }));
    let mut results: Vec<Option<FieldResult>> = plan.steps.iter().map(|_| None).collect();
    for ((_, members), answers) in groups.iter().zip(answers.await) {
        place(&mut results, members, answers);
    }
    with_the_rest(core, served, plan, variables, results).await
}

async fn query(
    core: &impl Lane,
    served: &Served,
    field: &Field,
    step: &Step,
    variables: &Variables,
) -> FieldResult {
    match step {
        Step::Source(source, prepared) => core.query_source(*source, prepared, variables).await,
        Step::Schema(about) => about_schema(core, served, field, about, variables),
    }
}

fn about_schema(
    core: &impl Lane,
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
async fn mutate(core: &impl Lane, served: &Served, plan: &Plan, variables: &Variables) -> Vec<FieldResult> {
    let mut results: Vec<Option<FieldResult>> = plan.steps.iter().map(|_| None).collect();
    for (source, members) in by_source(plan) {
        let roots: Vec<&PreparedField> = members.iter().map(|&(_, root)| root).collect();
        let answers = core.mutate_source(source, &roots, variables).await;
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
    core: &impl Lane,
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
fn note_errors(core: &impl Lane, plan: &Plan, results: &mut [FieldResult]) -> bool {
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
pub(crate) fn for_the_client(core: &impl Lane, mut error: GraphqlError) -> GraphqlError {
    refer(core, "", &mut error);
    error
}

/// Joins an error that has a detail with a line of the log. What the client's own values caused is no failure of ours.
fn refer(core: &impl Lane, source: &str, error: &mut GraphqlError) {
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
