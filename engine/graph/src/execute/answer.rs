//! Answering one root field: at once on its core where that is short, else on a thread that may take its time.

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prony_graph_store::{Kind, LogError, Overtaken, Read, ReadFence, Ref, Side, Value};
use prony_graphql::{
    budget::{ResponseMeter, TooLarge},
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};

use crate::{
    databases::{settle, with_causes},
    events::Change,
    execute::{
        bind::{BoundLists, Item},
        find::{Search, Stop, Watch},
        json_value,
        searched::Searched,
        slow,
        view::{View, Visible},
        walk::Walk,
    },
    graph::Graph,
    planning::plan::{Plan, Root, ShapeId},
    schema::model::TypeId,
};
use prony_source::CommonSettings;

/// What an answer begins with.
#[derive(Debug, Clone)]
pub(crate) enum Begin {
    /// What the plan's root finds.
    Root,
    /// What a mutation has created.
    Created(Ref, ShapeId),
    /// What a subscription is told of.
    Changed(Arc<Change>),
}

/// Answers at once, or on another thread where that would hold up this one; waits until all that the answer was made of may be told.
/// Dropping the future stops the work.
pub(crate) async fn answer(
    source: &Arc<Graph>,
    plan: &Arc<Plan>,
    variables: &Variables,
    begin: Begin,
) -> FieldResult {
    let (result, fence) = untold_answer(source, plan, variables, begin).await;
    match settle::behind(source.database(), fence).outcome().await {
        Ok(()) => result,
        Err(error) => failed(plan, read_not_durable(&error)),
    }
}

/// As [`answer`], with what it is to wait for yet.
pub(crate) async fn untold_answer(
    source: &Arc<Graph>,
    plan: &Arc<Plan>,
    variables: &Variables,
    begin: Begin,
) -> (FieldResult, Option<ReadFence>) {
    let clock = source.slow().begin();
    let (result, fence) = settle::look(source.database(), |read| {
        at_once(source, plan, variables, read, Watch::in_place(1), &begin)
    });
    if let Some(result) = result {
        if let Some(clock) = clock {
            slow::report(source.slow(), slice::from_ref(plan), variables, clock.elapsed());
        }
        return (result, fence);
    }
    let (mut results, fence) = on_thread(source, &[Arc::clone(plan)], variables, begin).await;
    (results.pop().expect("one answer for each plan"), fence)
}

/// As [`answer`], all from one look at the graph.
pub(crate) async fn answer_all(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
) -> Vec<FieldResult> {
    let clock = source.slow().begin();
    let (results, fence) = settle::look(source.database(), |read| {
        let watch = || Watch::in_place(plans.len());
        let each = plans.iter().map(|plan| at_once(source, plan, variables, read, watch(), &Begin::Root));
        each.collect::<Option<Vec<FieldResult>>>()
    });
    let (results, fence) = match results {
        Some(results) => {
            if let Some(begun) = clock {
                slow::report(source.slow(), plans, variables, begun.elapsed());
            }
            (results, fence)
        }
        None => on_thread(source, plans, variables, Begin::Root).await,
    };
    told(source, plans, results, fence).await
}

/// Answers once all that they were made of may be told.
pub(crate) async fn told(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    results: Vec<FieldResult>,
    fence: Option<ReadFence>,
) -> Vec<FieldResult> {
    match settle::behind(source.database(), fence).outcome().await {
        Ok(()) => results,
        Err(error) => all_failed(plans, &read_not_durable(&error)),
    }
}

/// An error of all fields.
pub(crate) fn all_failed(plans: &[Arc<Plan>], error: &GraphqlError) -> Vec<FieldResult> {
    plans.iter().map(|plan| failed(plan, error.clone())).collect()
}

/// Of what was read, as `not_durable` of mutations has it of what was written.
pub(crate) fn read_not_durable(error: &LogError) -> GraphqlError {
    let code = if matches!(error, LogError::Unknown { .. } | LogError::Broken) {
        ErrorCode::OutcomeUnknown
    } else {
        ErrorCode::SourceUnavailable
    };
    GraphqlError::new(code, settle::not_durable(error)).with_detail(with_causes(error))
}

/// None where it takes too long for a core.
fn at_once(
    source: &Graph,
    plan: &Plan,
    variables: &Variables,
    read: &Read,
    watch: Watch,
    begin: &Begin,
) -> Option<FieldResult> {
    match run(plan, variables, source.settings(), read, watch, begin) {
        Ok(data) => Some(FieldResult::data(data)),
        Err(Unfinished::Stopped(Stop::Later)) => None,
        Err(unfinished) => Some(failed(plan, unfinished.error(source.settings()))),
    }
}

/// Tells the thread when the request is gone.
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

async fn on_thread(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
    begin: Begin,
) -> (Vec<FieldResult>, Option<ReadFence>) {
    let settings = source.settings();
    let time = Duration::from_millis(settings.statement_timeout_ms.into());
    let deadline = Instant::now() + time;
    let Some(place) = source.place(time).await else {
        return (all_failed(plans, &Unfinished::Stopped(Stop::Timeout).error(settings)), None);
    };
    let cancel = Cancel(Arc::default());
    let cancelled = Arc::clone(&cancel.0);
    let (own_source, own_plans, own_variables) = (Arc::clone(source), plans.to_vec(), variables.clone());
    let work = tokio::task::spawn_blocking(move || {
        let started = Instant::now();
        let watch = || Watch::Thread { visits: 0, deadline, cancelled: Arc::clone(&cancelled) };
        let look = |read: &Read| -> Vec<FieldResult> {
            let each = own_plans.iter().map(|plan| {
                let result = at_once(&own_source, plan, &own_variables, read, watch(), &begin);
                result.expect("a thread is never asked to stop for others")
            });
            each.collect()
        };
        let goes_on = || !cancelled.load(Relaxed) && Instant::now() < deadline;
        let looked = settle::look_for_long(own_source.database(), look, goes_on);
        drop(place);
        (looked, started.elapsed())
    });
    let done = work.await;
    drop(cancel);
    let Ok((looked, took)) = done else {
        let error = GraphqlError::new(ErrorCode::SourceFailed, "the answer could not be made");
        return (all_failed(plans, &error), None);
    };
    slow::report(source.slow(), plans, variables, took);
    looked.unwrap_or_else(|Overtaken| (all_failed(plans, &overtaken(settings)), None))
}

fn overtaken(settings: &CommonSettings) -> GraphqlError {
    let message = format!(
        "whatever was read within {} ms (statement_timeout_ms) may have had changes of writes that were refused meanwhile: ask again, or \
         for less at a time",
        settings.statement_timeout_ms
    );
    GraphqlError::new(ErrorCode::Timeout, message)
}

enum Unfinished {
    Stopped(Stop),
    Failed(GraphqlError),
}

impl From<Stop> for Unfinished {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

impl Unfinished {
    fn error(self, settings: &CommonSettings) -> GraphqlError {
        let stop = match self {
            Self::Failed(error) => return error,
            Self::Stopped(stop) => stop,
        };
        let (code, message) = match stop {
            Stop::Timeout => (
                ErrorCode::Timeout,
                format!(
                    "it took longer than {} ms (statement_timeout_ms) to look at the nodes and relationships that this asks \
                     for: name their types, lower the limits, or begin at fewer nodes",
                    settings.statement_timeout_ms
                ),
            ),
            Stop::TooLarge(TooLarge::Field { max_bytes }) => (
                ErrorCode::LimitExceeded,
                format!(
                    "the answer has more than {max_bytes} bytes (max_response_bytes): lower the limits of its lists"
                ),
            ),
            Stop::TooLarge(together) => return together.into(),
            Stop::TooDeep { offset } => (
                ErrorCode::LimitExceeded,
                format!(
                    "an `offset` of {offset} is too deep for a list that is put in order: page with a filter"
                ),
            ),
            Stop::Later | Stop::Cancelled => {
                (ErrorCode::SourceUnavailable, "the request was cancelled".to_owned())
            }
        };
        GraphqlError::new(code, message)
    }
}

/// An error of the whole field.
pub(crate) fn failed(plan: &Plan, error: GraphqlError) -> FieldResult {
    FieldResult::failed(error.of_field(&plan.response_key, plan.position))
}

/// The whole answer from one look at the graph.
fn run(
    plan: &Plan,
    variables: &Variables,
    settings: &CommonSettings,
    read: &Read,
    watch: Watch,
    begin: &Begin,
) -> Result<Vec<u8>, Unfinished> {
    let bound = BoundLists::new(plan, variables, settings).map_err(Unfinished::Failed)?;
    let visible = plan.restrictions.as_ref().map(|restrictions| Visible::new(restrictions, variables));
    let visible = visible.transpose().map_err(Unfinished::Failed)?;
    let searched = Searched::within(watch.search_bound());
    let view = View::new(read, &plan.model, visible.as_ref(), &searched);
    let search = Search { view, watch };
    let mut walk = Walk {
        plan,
        bound: &bound,
        search,
        out: Vec::with_capacity(256),
        meter: ResponseMeter::new(settings.max_response_bytes, variables.budget()),
        gone: Vec::new(),
    };
    write_root(&mut walk, variables, begin)?;
    walk.search.uncut()?;
    Ok(walk.out)
}

/// Writes what the plan's root, or what it begins with, has become.
fn write_root<'r>(walk: &mut Walk<'_, 'r>, variables: &Variables, begin: &'r Begin) -> Result<(), Stop> {
    let (plan, read) = (walk.plan, walk.search.view.read);
    let (item, shape) = match (&plan.root, begin) {
        (Root::List(id), _) => return walk.list(*id, None),
        (Root::Node { of, key, id, shape }, _) => {
            (node(plan, variables, read, *of, key.as_ref(), id.as_ref()).map(Item::Node), *shape)
        }
        (Root::ById { side, id, shape }, _) => (by_id(variables, read, *side, id), *shape),
        (Root::Change(wanted), Begin::Changed(change)) => return walk.change(wanted, change),
        (Root::CreateRelationship { .. }, Begin::Created(at, shape)) => (relationship(read, *at), *shape),
        (_, Begin::Created(at, shape)) => (Some(Item::Node(*at)), *shape),
        (_, Begin::Root | Begin::Changed(_)) => (None, ShapeId(0)),
    };
    let is_there = match item {
        Some(item) => walk.object(item, shape)?,
        None => false,
    };
    if !is_there {
        walk.out.extend_from_slice(b"null");
    }
    Ok(())
}

pub(crate) fn id_of(value: &prony_graphql::selection::Value, variables: &Variables) -> Option<Ref> {
    match json_value::read(Kind::Integer, value, variables)? {
        Value::Integer(id) => Ref::from_id(u64::try_from(id).ok()?),
        _ => None,
    }
}

/// The node of a type that has the key and the id, as far as they are given.
fn node(
    plan: &Plan,
    variables: &Variables,
    read: &Read,
    of: TypeId,
    key: Option<&prony_graphql::selection::Value>,
    id: Option<&prony_graphql::selection::Value>,
) -> Option<Ref> {
    let type_name = &plan.model.nodes.get(of).name;
    let by_id = match id {
        Some(id) => Some(read.node(id_of(id, variables)?).filter(|node| node.of.name == *type_name)?.at),
        None => None,
    };
    let by_key = match key {
        Some(key) => match json_value::read(Kind::String, key, variables)? {
            Value::String(key) => Some(read.find(type_name, &key)?.at),
            _ => None,
        },
        None => None,
    };
    match (by_key, by_id) {
        (Some(by_key), Some(by_id)) => (by_key == by_id).then_some(by_id),
        (by_key, by_id) => by_key.or(by_id),
    }
}

fn by_id(
    variables: &Variables,
    read: &Read,
    side: Side,
    id: &prony_graphql::selection::Value,
) -> Option<Item> {
    let at = id_of(id, variables)?;
    match side {
        Side::Nodes => Some(Item::Node(at)),
        Side::Relationships => relationship(read, at),
    }
}

fn relationship(read: &Read, at: Ref) -> Option<Item> {
    Some(Item::Relationship { at, other: read.relationship(at)?.to })
}
