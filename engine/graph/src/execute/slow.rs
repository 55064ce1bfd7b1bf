//! Fields that take long, for the log: what they ask for, what the variables are like, and how long it took.

use std::{sync::Arc, time::Duration};

use prony_graph_store::Side;
use prony_graphql::variables::Variables;
use prony_source::ValueShape;
use serde_json::Value as Json;

use crate::{
    planning::plan::{ListAnswer, Plan, Root},
    schema::model::TypeId,
    slow_log::SlowLog,
};

/// Tells of the fields of one operation that were answered together, where that took long.
pub(crate) fn report(log: &SlowLog, plans: &[Arc<Plan>], variables: &Variables, took: Duration) {
    if log.is_slow(took) {
        let fields: Vec<String> = plans.iter().map(|plan| described(plan)).collect();
        let values: Vec<ValueShape> = variables.values().iter().map(|value| shape(value.as_ref())).collect();
        log.report(&fields.join("; "), &values, took);
    }
}

/// Such as `people: list User`.
fn described(plan: &Plan) -> String {
    let name = |side, of: TypeId| {
        let model = match side {
            Side::Nodes => &plan.model.nodes,
            Side::Relationships => &plan.model.relationships,
        };
        model.get(of).name.to_string()
    };
    let (action, of) = match &plan.root {
        Root::Node { of, .. } => ("find", name(Side::Nodes, *of)),
        Root::ById { side, .. } => ("find", all(*side)),
        Root::List(id) => {
            let list = &plan.lists[id.0];
            let side = list.candidates.side;
            let action = if matches!(list.answer, ListAnswer::Aggregate(_)) { "aggregate" } else { "list" };
            (action, list.candidates.only.map_or_else(|| all(side), |of| name(side, of)))
        }
        Root::CreateNode { of, .. } => ("create", name(Side::Nodes, *of)),
        Root::CreateRelationship { of, .. } => ("create", name(Side::Relationships, *of)),
        Root::Set { side, of, .. } => ("update", name(*side, *of)),
        Root::Change(change) => ("change", name(change.side, change.of)),
        Root::Delete { side, of, .. } => ("delete", name(*side, *of)),
    };
    format!("{}: {action} {of}", plan.response_key)
}

fn all(side: Side) -> String {
    let all = match side {
        Side::Nodes => "nodes",
        Side::Relationships => "relationships",
    };
    all.to_owned()
}

/// What a variable of the operation is like.
fn shape(value: Option<&Json>) -> ValueShape {
    let of = |value_type: &str| ValueShape { value_type: value_type.into(), ..ValueShape::default() };
    match value {
        None | Some(Json::Null) => ValueShape { is_null: true, ..ValueShape::default() },
        Some(Json::Bool(_)) => of("boolean"),
        Some(Json::Number(number)) => of(if number.is_f64() { "float" } else { "int" }),
        Some(Json::String(text)) => ValueShape { length: Some(text.chars().count()), ..of("string") },
        Some(Json::Array(items)) => ValueShape { items: Some(items.len()), ..of("list") },
        Some(Json::Object(_)) => of("object"),
    }
}
