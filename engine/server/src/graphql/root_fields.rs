//! Execution of the root fields of a plan: each by its source, those of a query at the same time, those of a mutation one after the
//! other, and what is asked about the schema here.

use bytes::Bytes;
use futures_util::future::join_all;
use prony_graphql::{
    introspection,
    response::FieldResult,
    schema::SourceId,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::{ContentCoding, OperationResult, PreparedField};

use super::{
    execution::ExecutionContext,
    interception::{ExecutedOperation, InterceptedOperation},
    plan::{AboutSchema, Plan, Step},
    prepared::Prepared,
    served::Served,
};
use crate::clock::monotonic_ns;

/// What is there when an operation has been executed.
pub(super) enum Executed {
    Fields(Results),
    /// The body of the response.
    Whole {
        body: Bytes,
        coding: ContentCoding,
        has_errors: bool,
    },
}

/// The results of root fields. One is so usual that it has no list.
pub(super) enum Results {
    One(FieldResult),
    Many(Vec<FieldResult>),
}

impl Results {
    fn into_list(self) -> Vec<FieldResult> {
        match self {
            Self::One(result) => vec![result],
            Self::Many(results) => results,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [FieldResult] {
        match self {
            Self::One(result) => std::slice::from_mut(result),
            Self::Many(results) => results,
        }
    }
}

/// Executes root fields in their order where none of them waits; none where one does, and nothing has been done.
pub(super) fn try_execute<C: ExecutionContext>(core: &C, prepared: &Prepared<C::Served>) -> Option<Results> {
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
        steps if plan.sole_source.is_some() => Results::Many(fields.iter().zip(steps).map(answer).collect()),
        _ => Results::Many(answer_timed(core, plan, answer)),
    };
    if plan.selection.kind == OperationKind::Mutation {
        for (source, _) in by_source(plan) {
            core.site().mutations.count(source);
        }
    }
    Some(results)
}

/// Root fields in their order. The time of a source is that of its fields which follow one another.
fn answer_timed<'p>(
    core: &impl ExecutionContext,
    plan: &'p Plan,
    answer: impl Fn((&'p Field, &'p Step)) -> FieldResult,
) -> Vec<FieldResult> {
    let fields = &plan.selection.fields;
    let mut results = Vec::with_capacity(fields.len());
    let mut begun_ns = monotonic_ns();
    for steps in plan.steps.chunk_by(|one, next| one.source() == next.source()) {
        let fields = &fields[results.len()..];
        results.extend(fields.iter().zip(steps).map(&answer));
        let now_ns = monotonic_ns();
        if let Some(source) = steps[0].source() {
            core.metrics().source_took(usize::from(source.0), now_ns.saturating_sub(begun_ns));
        }
        begun_ns = now_ns;
    }
    results
}

/// What a source does for a plan, of which the time is counted where the time of the whole execution is not the source's.
async fn timed<T>(
    core: &impl ExecutionContext,
    plan: &Plan,
    source: SourceId,
    work: impl Future<Output = T>,
) -> T {
    if plan.sole_source.is_some() {
        return work.await;
    }
    let begun_ns = monotonic_ns();
    let done = work.await;
    core.metrics().source_took(usize::from(source.0), monotonic_ns().saturating_sub(begun_ns));
    done
}

/// Root fields of a query at the same time, those of a mutation one after the other.
pub(super) async fn execute<C: ExecutionContext>(core: &C, prepared: &Prepared<C::Served>) -> Executed {
    let Prepared { served, plan, variables, asker, .. } = prepared;
    if let Some((source, operation)) = &plan.whole {
        let is_mutation = plan.selection.kind == OperationKind::Mutation;
        let counted = is_mutation.then(|| core.site().mutations.counted_at_end(*source));
        let executed = core.execute(*source, operation, variables, prepared.codings).await;
        drop(counted);
        return match executed {
            OperationResult::Body { bytes, coding, has_errors } => {
                Executed::Whole { body: bytes, coding, has_errors }
            }
            OperationResult::Fields(results) => Executed::Fields(Results::Many(results)),
        };
    }
    let Some(interception) = &plan.interception else {
        return Executed::Fields(execute_plan(core, served, plan, variables).await);
    };
    let (asker, limits) = (asker.as_ref(), core.engine().limits());
    let rows = &interception.rows_before(core, prepared).await;
    let operation = InterceptedOperation { served, plan, variables, asker, limits, rows };
    let begun = interception.begin(operation).await;
    let (plan, variables) = (begun.plan.as_ref().unwrap_or(plan), &*begun.variables);
    let mut results = execute_plan(core, served, plan, variables).await.into_list();
    let fields = &plan.selection.fields;
    let executed = ExecutedOperation { served, kind: plan.selection.kind, fields, variables, asker, rows };
    interception.end(executed, &mut results).await;
    Executed::Fields(Results::Many(results))
}

async fn execute_plan(
    core: &impl ExecutionContext,
    served: &Served,
    plan: &Plan,
    variables: &Variables,
) -> Results {
    let mut results = match (plan.selection.kind, plan.steps.as_slice()) {
        (OperationKind::Mutation, _) => Results::Many(mutate(core, served, plan, variables).await),
        (_, [only]) => Results::One(query(core, served, plan, (0, only), variables).await),
        _ => Results::Many(query_all(core, served, plan, variables).await),
    };
    let fields = &plan.selection.fields;
    let joined =
        results.as_mut_slice().iter_mut().zip(fields).enumerate().filter_map(|(index, (result, field))| {
            let (_, node) = plan.joins.iter().find(|(known, _)| *known == index)?;
            Some(core.join(field, node, variables, result))
        });
    join_all(joined).await;
    results
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
        async move { timed(core, plan, *source, core.query_all(*source, &roots, variables)).await }
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
    plan: &Plan,
    (index, step): (usize, &Step),
    variables: &Variables,
) -> FieldResult {
    match step {
        Step::Source(source, root) => timed(core, plan, *source, core.query(*source, root, variables)).await,
        Step::Schema(about) => about_schema(core, served, &plan.selection.fields[index], about, variables),
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
        let counted = core.site().mutations.counted_at_end(source);
        let answers = timed(core, plan, source, core.mutate(source, &roots, variables)).await;
        drop(counted);
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
            results[index] = Some(query(core, served, plan, (index, step), variables).await);
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
