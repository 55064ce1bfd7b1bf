//! Mutations: all root fields of one operation in one write, answered once it is durable.

use std::{borrow::Cow, cell::Cell, sync::Arc};

use prony_graph_store::{Keep, Kind, LogError, Read, Ref, Refusal, Side, Value, Write};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    selection::{self, SlotRoot},
    variables::Variables,
};
use tokio::sync::oneshot;

use crate::{
    execute::{
        answer::{Begin, answer, failed, id_of},
        json_value,
        thing::Thing,
        view::{View, Visible},
    },
    graph::Graph,
    planning::{
        assignments::Assignments,
        filter::Filter,
        plan::{NodeKey, Plan, RecordKey, Root, ShapeId},
        restrict::TypeRestrictions,
    },
    schema::model::TypeId,
};
use prony_source::dialect::{result_object, row_refused};

/// What one root field has done.
enum Done {
    Created(Ref, ShapeId),
    /// Whether there was something to change.
    Changed(bool),
}

/// Why nothing was done.
enum Fault {
    Refused(Refusal),
    /// An end of a relationship that is not there.
    NoEnd(&'static str),
    /// What was written does not pass what it must pass.
    RowRefused,
    Invalid(GraphqlError),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub(crate) async fn mutate(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
) -> Vec<FieldResult> {
    if plans.iter().any(|plan| lacks_preset(plan, variables)) {
        let message = "what your role writes into such a row is not known of your session";
        return all_failed(plans, &GraphqlError::new(ErrorCode::Forbidden, message));
    }
    let (sender, settled) = oneshot::channel();
    let mut culprit = None;
    let written = {
        let read = source.store().read();
        source.store().write(
            |write| {
                let mut done = Vec::with_capacity(plans.len());
                for (index, plan) in plans.iter().enumerate() {
                    match apply(source, plan, variables, &read, write) {
                        Ok(one) => done.push(one),
                        Err(fault) => {
                            culprit = Some((index, fault));
                            // Takes back what was done before.
                            return Err(Refusal::NoNode);
                        }
                    }
                }
                Ok(done)
            },
            // Nobody waits for it where the request is gone.
            move |outcome| drop(sender.send(outcome)),
        )
    };
    let done = match (written, culprit) {
        (Ok(done), _) => done,
        (Err(_), Some((index, fault))) => return after_fault(plans, index, fault),
        (Err(refusal), None) => return all_failed(plans, &refused(&refusal)),
    };
    match settled.await.unwrap_or(Err(LogError::Closed)) {
        Ok(()) => answers(source, plans, variables, done).await,
        Err(error) => all_failed(plans, &not_durable(&error)),
    }
}

/// Whether the session lacks a value that would be written, or has one that does not fit.
fn lacks_preset(plan: &Plan, variables: &Variables) -> bool {
    let (Root::CreateNode { properties, .. }
    | Root::CreateRelationship { properties, .. }
    | Root::Set { properties, .. }) = &plan.root
    else {
        return false;
    };
    let is_of_session = |value: &selection::Value| matches!(value, selection::Value::Slot(slot) if matches!(slot.root, SlotRoot::Session(_)));
    properties
        .iter()
        .any(|(_, kind, value)| is_of_session(value) && json_value::read(*kind, value, variables).is_none())
}

async fn answers(
    source: &Arc<Graph>,
    plans: &[Arc<Plan>],
    variables: &Variables,
    done: Vec<Done>,
) -> Vec<FieldResult> {
    let mut results = Vec::with_capacity(plans.len());
    for (plan, done) in plans.iter().zip(done) {
        results.push(match (done, &plan.root) {
            (Done::Created(at, shape), _) => answer(source, plan, variables, Begin::Created(at, shape)).await,
            (Done::Changed(changed), Root::Set { outputs, .. } | Root::Delete { outputs, .. }) => {
                FieldResult::data(result_object(outputs, changed).into_vec())
            }
            (Done::Changed(_), _) => unreachable!("only changes say whether they changed something"),
        });
    }
    results
}

/// The types of the request's schema were looked up in `read`, which is older than the write by no more than a moment.
fn apply(
    source: &Graph,
    plan: &Plan,
    variables: &Variables,
    read: &Read,
    write: &mut Write<'_>,
) -> Result<Done, Fault> {
    // Sees what has been written so far, also of types that are new.
    let passes = |(side, of): (Side, TypeId), at, filter: fn(&TypeRestrictions) -> &Filter| {
        passes(&source.store().read(), plan, variables, (side, of), at, filter)
    };
    match &plan.root {
        Root::CreateNode { of, key, properties, shape } => {
            let type_name = &plan.model.nodes.get(*of).name;
            let key = text(key, variables).ok_or_else(|| invalid("`_key` must not be null"))?;
            let at = write.create_node(type_name, &key, &given(properties, variables))?;
            checked(passes((Side::Nodes, *of), at, |restrictions| &restrictions.insert_check)?)?;
            Ok(Done::Created(at, *shape))
        }
        Root::CreateRelationship { of, from, to, properties, shape } => {
            let type_name = &plan.model.relationships.get(*of).name;
            let (start, end) =
                (find_end(plan, from, variables, read, write)?, find_end(plan, to, variables, read, write)?);
            let created = write.create_relationship(type_name, start, end, &given(properties, variables));
            let at = created.map_err(|refusal| match refusal {
                Refusal::NoNode => Fault::NoEnd("from` or `to"),
                other => Fault::Refused(other),
            })?;
            checked(passes((Side::Relationships, *of), at, |restrictions| &restrictions.insert_check)?)?;
            Ok(Done::Created(at, *shape))
        }
        Root::Set { side, of, key, properties, keep, .. } => {
            let Some(at) = find(plan, *side, *of, key, variables, read, write) else {
                return Ok(Done::Changed(false));
            };
            if !passes((*side, *of), at, |restrictions| &restrictions.update)? {
                return Ok(Done::Changed(false));
            }
            let done = found(set(*side, at, properties, *keep, variables, write))?;
            if matches!(done, Done::Changed(true)) {
                checked(passes((*side, *of), at, |restrictions| &restrictions.update_check)?)?;
            }
            Ok(done)
        }
        Root::Delete { side, of, key, .. } => {
            let Some(at) = find(plan, *side, *of, key, variables, read, write) else {
                return Ok(Done::Changed(false));
            };
            if !passes((*side, *of), at, |restrictions| &restrictions.delete)? {
                return Ok(Done::Changed(false));
            }
            found(match side {
                Side::Nodes => write.delete_node(at),
                Side::Relationships => write.delete_relationship(at),
            })
        }
        Root::Node { .. } | Root::ById { .. } | Root::List(_) | Root::Change(_) => {
            unreachable!("queries and subscriptions are no mutations")
        }
    }
}

/// Whether a node or relationship passes what its type's restrictions say; everything does where there are none.
fn passes(
    read: &Read,
    plan: &Plan,
    variables: &Variables,
    (side, of): (Side, TypeId),
    at: Ref,
    filter: fn(&TypeRestrictions) -> &Filter,
) -> Result<bool, Fault> {
    let Some(restrictions) = &plan.restrictions else { return Ok(true) };
    let Some(restrictions) = restrictions.of(side, of) else { return Ok(false) };
    let thing = match side {
        Side::Nodes => read.node(at).map(Thing::Node),
        Side::Relationships => read.relationship(at).map(Thing::Relationship),
    };
    let Some(thing) = thing else { return Ok(false) };
    let searched_bytes = Cell::new(0);
    let view = View::new(read, &plan.model, None, &searched_bytes);
    view.passes(filter(restrictions), variables, &thing).map_err(Fault::Invalid)
}

fn checked(passes: bool) -> Result<(), Fault> {
    if passes { Ok(()) } else { Err(Fault::RowRefused) }
}

/// What is not there was not changed.
fn found(outcome: Result<(), Refusal>) -> Result<Done, Fault> {
    match outcome {
        Ok(()) => Ok(Done::Changed(true)),
        Err(Refusal::NoNode | Refusal::NoRelationship) => Ok(Done::Changed(false)),
        Err(refusal) => Err(refusal.into()),
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
    let given = given(properties, variables);
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

/// Without those that are null.
fn given<'v>(properties: &'v Assignments, variables: &'v Variables) -> Vec<(&'v str, Value<'v>)> {
    let read = |(name, kind, value): &'v (Arc<str>, Kind, selection::Value)| {
        Some((&**name, json_value::read(*kind, value, variables)?))
    };
    properties.iter().filter_map(read).collect()
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
    plan: &Plan,
    key: &NodeKey,
    variables: &Variables,
    read: &Read,
    write: &Write<'_>,
) -> Result<Ref, Fault> {
    let at = any_end(key, variables, read, write)?;
    let Some(restrictions) = &plan.restrictions else { return Ok(at) };
    let visible = Visible::new(restrictions, variables).map_err(Fault::Invalid)?;
    let is_seen = View::new(read, &plan.model, Some(&visible), &Cell::new(0)).node(at).is_some();
    if is_seen { Ok(at) } else { Err(Fault::NoEnd(key.argument)) }
}

fn any_end(key: &NodeKey, variables: &Variables, read: &Read, write: &Write<'_>) -> Result<Ref, Fault> {
    let missing = || Fault::NoEnd(key.argument);
    if let Some(id) = &key.id {
        return id_of(id, variables)
            .filter(|at| read.schema().side(Side::Nodes).get(at.type_number()).is_some())
            .ok_or_else(missing);
    }
    let of = key.type_name.as_ref().and_then(|name| text(name, variables)).ok_or_else(missing)?;
    let node = key.key.as_ref().and_then(|key| text(key, variables)).ok_or_else(missing)?;
    write.find(&of, &node).ok_or_else(missing)
}

fn invalid(message: &str) -> Fault {
    Fault::Invalid(GraphqlError::new(ErrorCode::BadUserInput, message))
}

fn refused(refusal: &Refusal) -> GraphqlError {
    let code = match refusal {
        Refusal::KeyExists { .. } | Refusal::TypeInUse { .. } => ErrorCode::ConstraintViolation,
        Refusal::TooLong { .. } | Refusal::TooMany { .. } => ErrorCode::LimitExceeded,
        _ => ErrorCode::BadUserInput,
    };
    GraphqlError::new(code, refusal.to_string())
}

fn not_durable(error: &LogError) -> GraphqlError {
    let message = if error.is_disk_full() {
        "nothing was changed: the disk of the graph is full; try again when there is room"
    } else {
        "nothing was changed: the graph's log cannot be written"
    };
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    GraphqlError::new(ErrorCode::SourceUnavailable, message).with_detail(format!("{error}{cause}"))
}

/// The culprit has its own error; the others say that nothing of them is left.
fn after_fault(plans: &[Arc<Plan>], culprit: usize, fault: Fault) -> Vec<FieldResult> {
    let error = match fault {
        Fault::Refused(refusal) => refused(&refusal),
        Fault::Invalid(error) => error,
        Fault::RowRefused => row_refused(),
        Fault::NoEnd(argument) => GraphqlError::new(
            ErrorCode::ConstraintViolation,
            format!("`{argument}` names a node that is not there"),
        ),
    };
    let others = format!(
        "nothing was changed: `{}` failed, and a request's mutations are all done or none",
        plans[culprit].response_key
    );
    let each = plans.iter().enumerate().map(|(index, plan)| {
        let own =
            if index == culprit { error.clone() } else { GraphqlError::new(error.code, others.clone()) };
        failed(plan, own)
    });
    each.collect()
}

fn all_failed(plans: &[Arc<Plan>], error: &GraphqlError) -> Vec<FieldResult> {
    plans.iter().map(|plan| failed(plan, error.clone())).collect()
}
