//! Mutations: all root fields of one operation in one write, answered once it is durable.

use std::{borrow::Cow, cell::Cell, collections::HashSet, sync::Arc, time::Duration};

use prony_graph_store::{Keep, Kind, LogError, Read, Ref, Refusal, Side, Store, Unwritten, Value, Write};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    selection,
    variables::Variables,
};
use tokio::sync::oneshot;

use crate::{
    databases::settle::{self, RefusedWrite},
    execute::{
        answer::{Begin, all_failed, answer, failed, id_of, told},
        json_value,
        write_access::{LACKS_VALUE, WriteAccess, WriteFault, lacks_value, values},
    },
    graph::Graph,
    planning::{
        assignments::Assignments,
        plan::{NodeKey, Plan, RecordKey, Root, ShapeId},
    },
    schema::model::TypeId,
};
use prony_source::{
    dialect::{result_object, row_refused, taken_back},
    trace::{COMMIT, SpanKind, begin_span},
};

/// What one root field has done.
enum Done {
    Created(Ref, ShapeId),
    /// Whether there was something to change.
    Changed(bool),
    Deleted(Ref),
}

pub(crate) async fn mutate(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
) -> Vec<FieldResult> {
    if plans.iter().any(|plan| lacks_preset(plan, variables)) {
        return all_failed(plans, &GraphqlError::new(ErrorCode::Forbidden, LACKS_VALUE));
    }
    let (culprit, begun) = (Cell::new(None), source.store().begin_read());
    let operate = |write: &mut Write<'_>| {
        let read = source.store().read();
        let mut done = Vec::with_capacity(plans.len());
        for (index, plan) in plans.iter().enumerate() {
            match apply(source, plan, variables, &read, write) {
                Ok(one) => done.push(one),
                Err(fault) => {
                    culprit.set(Some((index, fault)));
                    // Takes back what was done before.
                    return Err(Refusal::NoNode);
                }
            }
        }
        Ok(done)
    };
    let (mut written, mut settled) = write(source.store(), operate).await;
    let mut attempts: Option<RefusedWrite> = None;
    while let Err(Refusal::DiskFull) = written {
        let attempt = attempts.unwrap_or_default();
        if attempt.is_final() {
            break;
        }
        attempts = Some(attempt.again(source.store()).await);
        (written, settled) = write(source.store(), operate).await;
    }
    let done = match (written, culprit.take()) {
        (Ok(done), _) => done,
        (Err(_), Some((index, fault))) => {
            let fence = settle::refused(source.database(), begun);
            return told(source, plans, after_fault(plans, index, fault), fence).await;
        }
        (Err(refusal), None) => return all_failed(plans, &refused(&refusal)),
    };
    let span = begin_span(COMMIT, SpanKind::Internal);
    let settled = settled.await.unwrap_or(Err(LogError::Closed));
    if let Some(mut span) = span {
        if settled.is_err() {
            span.fail(ErrorCode::SourceFailed.as_str());
        }
        span.end();
    }
    match settled {
        Ok(()) => {
            wait_until_detached(source, &done).await;
            answers(source, plans, variables, done).await
        }
        Err(error) => all_failed(plans, &not_durable(&error)),
    }
}

/// Makes changes, once the log can take them; then what tells that they are durable.
async fn write<T>(
    store: &Store,
    operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
) -> (Result<T, Refusal>, oneshot::Receiver<Result<(), LogError>>) {
    let (sender, settled) = oneshot::channel();
    // Nobody waits for it where the request is gone.
    let mut written = store.try_write(operate, move |outcome| drop(sender.send(outcome)));
    loop {
        written = match written {
            Ok(result) => return (Ok(result), settled),
            Err(Unwritten::Refused(refusal)) => return (Err(refusal), settled),
            Err(Unwritten::NoRoom((operate, done))) => {
                store.room().await;
                store.try_write(operate, done)
            }
        };
    }
}

/// Until nothing is left of the nodes that were deleted, or for as long as a query may take.
async fn wait_until_detached(source: &Graph, done: &[Done]) {
    let milliseconds = source.settings().statement_timeout_ms;
    let limit = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
    for done in done {
        if let Done::Deleted(at) = done {
            settle::within(limit, source.store().detached(*at)).await;
        }
    }
}

/// Whether the session lacks a value that would be written, or has one that does not fit.
fn lacks_preset(plan: &Plan, variables: &Variables) -> bool {
    match &plan.root {
        Root::CreateNode { properties, .. }
        | Root::CreateRelationship { properties, .. }
        | Root::Set { properties, .. } => lacks_value(properties, variables),
        _ => false,
    }
}

async fn answers(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
    done: Vec<Done>,
) -> Vec<FieldResult> {
    let mut results = Vec::with_capacity(plans.len());
    let replaced = replaced(plans, &done);
    for ((plan, done), is_replaced) in plans.iter().zip(done).zip(replaced) {
        results.push(match (done, &plan.root) {
            (Done::Created(..), _) if is_replaced => FieldResult::data(b"null".to_vec()),
            (Done::Created(at, shape), _) => answer(source, plan, variables, Begin::Created(at, shape)).await,
            (Done::Changed(changed), Root::Set { outputs, .. } | Root::Delete { outputs, .. }) => {
                FieldResult::data(result_object(outputs, changed).into_vec())
            }
            (Done::Deleted(_), Root::Delete { outputs, .. }) => {
                FieldResult::data(result_object(outputs, true).into_vec())
            }
            (Done::Changed(_) | Done::Deleted(_), _) => {
                unreachable!("only changes say whether they changed something")
            }
        });
    }
    results
}

/// Of which fields what they have created was deleted by a later one, and another that was created behind that has its id.
fn replaced(plans: &[Arc<Plan>], done: &[Done]) -> Vec<bool> {
    let mut later = HashSet::new();
    let each = plans.iter().zip(done).rev().map(|(plan, done)| match done {
        Done::Created(at, _) => !later.insert((matches!(plan.root, Root::CreateNode { .. }), *at)),
        Done::Changed(_) | Done::Deleted(_) => false,
    });
    let mut replaced: Vec<bool> = each.collect();
    replaced.reverse();
    replaced
}

/// The types of the request's schema were looked up in `read`, which is older than the write by no more than a moment.
fn apply(
    source: &Graph,
    plan: &Plan,
    variables: &Variables,
    read: &Read,
    write: &mut Write<'_>,
) -> Result<Done, WriteFault> {
    let access = WriteAccess::new(source.store(), &plan.model, plan.restrictions.as_deref(), variables);
    match &plan.root {
        Root::CreateNode { of, key, properties, shape } => {
            let key = text(key, variables).ok_or_else(|| invalid("`_key` must not be null"))?;
            let at = access.create_node(write, *of, &key, &values(properties, variables))?;
            Ok(Done::Created(at, *shape))
        }
        Root::CreateRelationship { of, from, to, properties, shape } => {
            let ends = (
                find_end(&access, from, variables, read, write)?,
                find_end(&access, to, variables, read, write)?,
            );
            let at = access.create_relationship(write, *of, ends, &values(properties, variables))?;
            Ok(Done::Created(at, *shape))
        }
        Root::Set { side, of, key, properties, keep, .. } => {
            let Some(at) = find(plan, *side, *of, key, variables, read, write) else {
                return Ok(Done::Changed(false));
            };
            let change = |write: &mut Write<'_>| set(*side, at, properties, *keep, variables, write);
            access.update(write, (*side, *of), at, change).map(Done::Changed)
        }
        Root::Delete { side, of, key, .. } => {
            let Some(at) = find(plan, *side, *of, key, variables, read, write) else {
                return Ok(Done::Changed(false));
            };
            let is_deleted = access.delete(write, (*side, *of), at)?;
            Ok(if is_deleted && *side == Side::Nodes { Done::Deleted(at) } else { Done::Changed(is_deleted) })
        }
        Root::Node { .. } | Root::ById { .. } | Root::List(_) | Root::Change(_) => {
            unreachable!("queries and subscriptions are no mutations")
        }
    }
}

fn set(
    side: Side,
    at: Ref,
    properties: &Assignments,
    keep: Keep,
    variables: &Variables,
    write: &mut Write<'_>,
) -> Result<(), Refusal> {
    let given = values(properties, variables);
    match side {
        Side::Nodes => write.set_node(at, &given, keep)?,
        Side::Relationships => write.set_relationship(at, &given, keep)?,
    }
    if keep == Keep::Nothing {
        return Ok(());
    }
    for (name, kind, value) in properties {
        if json_value::read(*kind, value, variables).is_some() {
            continue;
        }
        let removed = match side {
            Side::Nodes => write.remove_node_property(at, name),
            Side::Relationships => write.remove_relationship_property(at, name),
        };
        match removed {
            Ok(()) | Err(Refusal::NoProperty) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(())
}

fn text<'v>(value: &'v selection::Value, variables: &'v Variables) -> Option<Cow<'v, str>> {
    match json_value::read(Kind::String, value, variables)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The node or relationship of a type that `pk_columns` names.
fn find(
    plan: &Plan,
    side: Side,
    of: TypeId,
    key: &RecordKey,
    variables: &Variables,
    read: &Read,
    write: &Write<'_>,
) -> Option<Ref> {
    let type_name = &plan.model.side(side).get(of).name;
    if let Some(key) = &key.key {
        return write.find(type_name, &text(key, variables)?);
    }
    let at = id_of(key.id.as_ref()?, variables)?;
    (read.schema().side(side).number(type_name)? == at.type_number()).then_some(at)
}

/// A node that can be seen.
fn find_end(
    access: &WriteAccess<'_>,
    key: &NodeKey,
    variables: &Variables,
    read: &Read,
    write: &Write<'_>,
) -> Result<Ref, WriteFault> {
    let at = any_end(key, variables, read, write)?;
    access.check_end(at, key.argument)?;
    Ok(at)
}

fn any_end(key: &NodeKey, variables: &Variables, read: &Read, write: &Write<'_>) -> Result<Ref, WriteFault> {
    let missing = || WriteFault::NoEnd(key.argument);
    if let Some(id) = &key.id {
        return id_of(id, variables)
            .filter(|at| read.schema().side(Side::Nodes).get(at.type_number()).is_some())
            .ok_or_else(missing);
    }
    let of = key.type_name.as_ref().and_then(|name| text(name, variables)).ok_or_else(missing)?;
    let node = key.key.as_ref().and_then(|key| text(key, variables)).ok_or_else(missing)?;
    write.find(&of, &node).ok_or_else(missing)
}

fn invalid(message: &str) -> WriteFault {
    WriteFault::Invalid(GraphqlError::new(ErrorCode::BadUserInput, message))
}

fn refused(refusal: &Refusal) -> GraphqlError {
    let code = match refusal {
        Refusal::KeyExists { .. } | Refusal::TypeInUse { .. } => ErrorCode::ConstraintViolation,
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => ErrorCode::LimitExceeded,
        Refusal::DiskFull => {
            let message = "nothing was changed: the disk of the graph is full, and only deletions are made until there is room again";
            return GraphqlError::new(ErrorCode::SourceUnavailable, message);
        }
        _ => ErrorCode::BadUserInput,
    };
    GraphqlError::new(code, refusal.to_string())
}

fn not_durable(error: &LogError) -> GraphqlError {
    let (code, message) = match error {
        LogError::Unknown { .. } => (
            ErrorCode::OutcomeUnknown,
            "whether anything was changed is unknown until the graph is opened again: its log could not be synced",
        ),
        LogError::Broken => (
            ErrorCode::OutcomeUnknown,
            "whether anything was changed is unknown until the graph is opened again: a fault of the server has broken off its writing",
        ),
        LogError::Suspect { .. } => (
            ErrorCode::SourceUnavailable,
            "nothing was changed: the graph's log has failed before and takes nothing more until the graph is opened again",
        ),
        error if error.is_disk_full() => (
            ErrorCode::SourceUnavailable,
            "nothing was changed: the disk of the graph is full; try again when there is room",
        ),
        _ => (ErrorCode::SourceUnavailable, "nothing was changed: the graph's log cannot be written"),
    };
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    GraphqlError::new(code, message).with_detail(format!("{error}{cause}"))
}

/// The culprit has its own error; the others say that nothing of them is left.
fn after_fault(plans: &[Arc<Plan>], culprit: usize, fault: WriteFault) -> Vec<FieldResult> {
    let error = match fault {
        WriteFault::Refused(refusal) => refused(&refusal),
        WriteFault::Invalid(error) => error,
        WriteFault::RowRefused => row_refused(),
        WriteFault::NoEnd(argument) => GraphqlError::new(
            ErrorCode::ConstraintViolation,
            format!("`{argument}` names a node that is not there"),
        ),
    };
    let others = taken_back(&plans[culprit].response_key, error.code);
    let each = plans.iter().enumerate().map(|(index, plan)| {
        let own = if index == culprit { &error } else { &others };
        failed(plan, own.clone())
    });
    each.collect()
}
