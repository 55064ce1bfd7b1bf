//! From a root field's selection to a [`Plan`]. Below an interface, objects of several types may come: types of which the
//! same is asked share a class, and a selection that is reached on several ways is planned once.

use std::{collections::HashMap, sync::Arc};

use prony_graph_store::{Direction, Side};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    json,
    selection::{Field, OperationKind, Value},
};

use crate::{
    events::operation::Operations,
    planning::{
        filter::Subject,
        grant,
        lower_filter::Scope,
        plan::{
            AggregateField, AggregateKind, AggregateOutput, AroundPlan, Candidates, ChangeOutput,
            ChangeOutputKind, ChangePlan, ListAnswer, ListId, ListPlan, Output, OutputKind, Plan, Root,
            Shape, ShapeId,
        },
        restrict::Restrictions,
    },
    schema::{
        contribution::{NODE, RELATIONSHIP},
        model::{Model, TypeId, TypeModel},
    },
};
use prony_source::{
    dialect::{AggregateFunction, RowCount},
    interceptors::RowOperation,
};

/// Members of objects in one plan. Selections of interfaces are planned once for each set of types that they are asked of
/// differently; no honest operation comes near.
const MAX_OUTPUTS: usize = 20_000;

/// The root fields of a model by name.
#[derive(Debug, Default)]
pub(crate) struct RootIndex {
    queries: HashMap<Box<str>, RootKind>,
    pub(crate) mutations: HashMap<Box<str>, (Verb, Side, TypeId)>,
    changes: HashMap<Box<str>, (Side, TypeId)>,
}

#[derive(Debug, Clone, Copy)]
enum RootKind {
    List(Side, Option<TypeId>),
    Aggregate(Side, TypeId),
    Node(TypeId),
    ById(Side),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Replace,
    Delete,
}

impl RootIndex {
    pub(crate) fn new(model: &Model) -> Self {
        let mut index = Self::default();
        for side in [Side::Nodes, Side::Relationships] {
            for (id, of) in model.side(side).all() {
                index.queries.insert(of.list_name.clone(), RootKind::List(side, Some(id)));
                let aggregate = format!("{}_aggregate", of.list_name);
                index.queries.insert(aggregate.into(), RootKind::Aggregate(side, id));
                if side == Side::Nodes {
                    index.queries.insert(of.single_name.clone(), RootKind::Node(id));
                }
                index.changes.insert(of.change_field().into(), (side, id));
                let verbs = [
                    ("create", Verb::Create),
                    ("update", Verb::Update),
                    ("replace", Verb::Replace),
                    ("delete", Verb::Delete),
                ];
                for (word, verb) in verbs {
                    let name = format!("{word}{}", of.mutation_stem);
                    index.mutations.insert(name.into(), (verb, side, id));
                }
            }
        }
        for (one, all, side) in [
            ("graph_node", "graph_nodes", Side::Nodes),
            ("graph_relationship", "graph_relationships", Side::Relationships),
        ] {
            index.queries.insert(one.into(), RootKind::ById(side));
            index.queries.insert(all.into(), RootKind::List(side, None));
        }
        index
    }

    /// Of which nodes or relationships a root field gives a list; of all types where there is none.
    pub(crate) fn listed(&self, name: &str) -> Option<(Side, Option<TypeId>)> {
        match *self.queries.get(name)? {
            RootKind::List(side, only) => Some((side, only)),
            RootKind::Aggregate(..) | RootKind::Node(_) | RootKind::ById(_) => None,
        }
    }

    /// What a root field of queries or subscriptions reads, where it reads one type.
    pub(super) fn access(&self, name: &str) -> Option<(Side, TypeId, RowOperation)> {
        if let Some(&(side, of)) = self.changes.get(name) {
            return Some((side, of, RowOperation::Event));
        }
        match *self.queries.get(name)? {
            RootKind::List(side, Some(of)) => Some((side, of, RowOperation::Select)),
            RootKind::Aggregate(side, of) => Some((side, of, RowOperation::Aggregate)),
            RootKind::Node(of) => Some((Side::Nodes, of, RowOperation::Select)),
            RootKind::List(_, None) | RootKind::ById(_) => None,
        }
    }
}

/// Plans one root field, for a role where restrictions are given.
pub(crate) fn lower(
    model: &Arc<Model>,
    restrictions: Option<&Arc<Restrictions>>,
    roots: &RootIndex,
    kind: OperationKind,
    field: &Field,
) -> Result<Plan, GraphqlError> {
    let mut lowering = Lowering::new(model);
    let root = match kind {
        OperationKind::Mutation => lowering.mutation(roots, field),
        OperationKind::Subscription if roots.changes.contains_key(field.name.as_str()) => {
            lowering.change(roots, field)
        }
        OperationKind::Query | OperationKind::Subscription => lowering.query(roots, field),
    };
    let mut root =
        root.map_err(|error| if error.positions.is_empty() { error.at(field.position) } else { error })?;
    if let Some(restrictions) = restrictions {
        grant::apply(restrictions, &mut root, &mut lowering.lists, field.position);
    }
    Ok(Plan {
        model: Arc::clone(model),
        restrictions: restrictions.cloned(),
        response_key: field.response_key.as_str().into(),
        position: field.position,
        root,
        lists: lowering.lists,
        shapes: lowering.shapes,
    })
}

pub(crate) struct Lowering<'m> {
    pub(crate) model: &'m Model,
    lists: Vec<ListPlan>,
    shapes: Vec<Shape>,
    /// By what is selected of which types.
    known: HashMap<ShapeKey, ShapeId>,
    outputs: usize,
}

/// Fields by their addresses, which stay while a root field is planned.
type ShapeKey = (Side, Option<TypeId>, Vec<*const Field>);

impl<'m> Lowering<'m> {
    fn new(model: &'m Model) -> Self {
        Self { model, lists: Vec::new(), shapes: Vec::new(), known: HashMap::new(), outputs: 0 }
    }

    fn change(&mut self, roots: &RootIndex, field: &Field) -> Result<Root, GraphqlError> {
        let &(side, of) = roots.changes.get(field.name.as_str()).ok_or_else(|| unknown_field(field))?;
        let operations = match field.argument("operations") {
            None | Some(Value::Null) => Operations::ALL,
            Some(Value::List(items)) => Operations::named(items.iter().filter_map(enum_name)),
            Some(item) => Operations::named(enum_name(item).into_iter()),
        };
        let given = |name: &str| field.argument(name).filter(|value| **value != Value::Null).cloned();
        let scope = Scope { model: self.model, side, only: Some(of) };
        Ok(Root::Change(Box::new(ChangePlan {
            side,
            of,
            operations,
            id: given("_id"),
            key: given("_key"),
            filter: scope.clauses(field.argument("where"))?,
            outputs: self.change_outputs(side, of, &field.selections)?,
        })))
    }

    fn change_outputs(
        &mut self,
        side: Side,
        of: TypeId,
        fields: &[Field],
    ) -> Result<Vec<ChangeOutput>, GraphqlError> {
        let fields: Vec<&Field> = fields.iter().collect();
        let mut outputs: Vec<ChangeOutput> = Vec::new();
        for (field, selections) in grouped(&fields) {
            let kind = match field.name.as_str() {
                "__typename" => ChangeOutputKind::Typename(field.parent_type.as_str().into()),
                "operation" => ChangeOutputKind::Operation,
                "node" | "relationship" => {
                    ChangeOutputKind::Thing(self.shape(side, Some(of), &selections)?)
                }
                _ => return Err(unknown_field(field)),
            };
            outputs.push(ChangeOutput { prefix: prefix(field, outputs.is_empty()), kind });
        }
        Ok(outputs)
    }

    fn query(&mut self, roots: &RootIndex, field: &Field) -> Result<Root, GraphqlError> {
        let selections: Vec<&Field> = field.selections.iter().collect();
        Ok(match roots.queries.get(field.name.as_str()) {
            Some(RootKind::List(side, only)) => {
                let candidates = Candidates { side: *side, only: *only, around: None };
                Root::List(self.list(candidates, field, &selections)?)
            }
            Some(RootKind::Aggregate(side, id)) => {
                let candidates = Candidates { side: *side, only: Some(*id), around: None };
                Root::List(self.aggregate(candidates, field, &selections)?)
            }
            Some(RootKind::Node(of)) => {
                let given = |name: &str| field.argument(name).filter(|value| **value != Value::Null).cloned();
                let (key, id) = (given("_key"), given("_id"));
                if key.is_none() && id.is_none() {
                    let message = format!("`{}` needs the `_key` or the `_id` of the node", field.name);
                    return Err(GraphqlError::new(ErrorCode::BadUserInput, message));
                }
                Root::Node { of: *of, key, id, shape: self.shape(Side::Nodes, Some(*of), &selections)? }
            }
            Some(RootKind::ById(side)) => {
                let id = field.argument("_id").cloned().unwrap_or(Value::Null);
                Root::ById { side: *side, id, shape: self.shape(*side, None, &selections)? }
            }
            None => return Err(unknown_field(field)),
        })
    }

    fn list(
        &mut self,
        candidates: Candidates,
        field: &Field,
        selections: &[&Field],
    ) -> Result<ListId, GraphqlError> {
        let shape = self.shape(candidates.side, candidates.only, selections)?;
        let scope = Scope { model: self.model, side: candidates.side, only: candidates.only };
        let answer = ListAnswer::Items {
            sort: scope.sort(field.argument("sort")),
            limit: row_count(field, "limit"),
            offset: row_count(field, "offset"),
            shape,
        };
        self.add_list(candidates, field, answer)
    }

    fn aggregate(
        &mut self,
        candidates: Candidates,
        field: &Field,
        selections: &[&Field],
    ) -> Result<ListId, GraphqlError> {
        let id = candidates.only.expect("aggregates are of one type");
        let of = self.model.side(candidates.side).get(id);
        let outputs = aggregate_outputs(of, selections)?;
        self.add_list(candidates, field, ListAnswer::Aggregate(outputs))
    }

    fn add_list(
        &mut self,
        candidates: Candidates,
        field: &Field,
        answer: ListAnswer,
    ) -> Result<ListId, GraphqlError> {
        let scope = Scope { model: self.model, side: candidates.side, only: candidates.only };
        let filter = scope.clauses(field.argument("where"))?;
        let (other_side, argument) = match candidates.side {
            Side::Nodes => (Side::Relationships, "relationship"),
            Side::Relationships => (Side::Nodes, "node"),
        };
        let other = Scope { side: other_side, only: None, ..scope }.clauses(field.argument(argument))?;
        self.lists.push(ListPlan { candidates, filter, other, answer });
        Ok(ListId(self.lists.len() - 1))
    }

    /// What is written of objects of one type, or of any.
    pub(crate) fn shape(
        &mut self,
        side: Side,
        only: Option<TypeId>,
        fields: &[&Field],
    ) -> Result<ShapeId, GraphqlError> {
        let key = (side, only, fields.iter().map(|field| std::ptr::from_ref(*field)).collect());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let types = self.model.side(side);
        let interface = if side == Side::Nodes { NODE } else { RELATIONSHIP };
        let of_class = |of: Option<&TypeModel>| -> Vec<&Field> {
            let applies = |field: &&&Field| {
                field.parent_type == interface || of.is_some_and(|of| field.parent_type == *of.type_name)
            };
            fields.iter().filter(applies).copied().collect()
        };
        let shape = if let Some(id) = only {
            let outputs = self.class(side, only, &of_class(Some(types.get(id))))?;
            Shape { class_of: Vec::new(), classes: vec![outputs] }
        } else {
            let mut shape = Shape {
                class_of: vec![0; types.types.len()],
                classes: vec![self.class(side, None, &of_class(None))?],
            };
            for (id, of) in types.all() {
                if fields.iter().any(|field| field.parent_type == *of.type_name) {
                    shape.class_of[usize::from(id.0)] = shape.classes.len() as u16;
                    shape.classes.push(self.class(side, Some(id), &of_class(Some(of)))?);
                }
            }
            shape
        };
        self.shapes.push(shape);
        let id = ShapeId(self.shapes.len() - 1);
        self.known.insert(key, id);
        Ok(id)
    }

    /// Members in the order in which they were met; those of one response key are one.
    fn class(
        &mut self,
        side: Side,
        of: Option<TypeId>,
        fields: &[&Field],
    ) -> Result<Vec<Output>, GraphqlError> {
        let mut outputs: Vec<Output> = Vec::new();
        for (first, selections) in grouped(fields) {
            let kind = match side {
                Side::Nodes => self.node_output(of, first, &selections)?,
                Side::Relationships => self.relationship_output(of, first, &selections)?,
            };
            outputs.push(Output { prefix: prefix(first, outputs.is_empty()), kind });
        }
        self.outputs += outputs.len();
        if self.outputs > MAX_OUTPUTS {
            let message = format!(
                "the selection has more than {MAX_OUTPUTS} fields, counted for each type that it is asked of: select less \
                 below interfaces"
            );
            return Err(GraphqlError::new(ErrorCode::LimitExceeded, message));
        }
        Ok(outputs)
    }

    fn node_output(
        &mut self,
        of: Option<TypeId>,
        field: &Field,
        selections: &[&Field],
    ) -> Result<OutputKind, GraphqlError> {
        let around = |side, only| Candidates { side, only, around: Some(self.around(field)) };
        Ok(match field.name.as_str() {
            "__typename" => OutputKind::Typename,
            "_id" => OutputKind::Id,
            "_type" => OutputKind::Type,
            "_key" => OutputKind::Key,
            "neighbors" => OutputKind::List(self.list(around(Side::Nodes, None), field, selections)?),
            "relationships" => {
                OutputKind::List(self.list(around(Side::Relationships, None), field, selections)?)
            }
            "degree" => OutputKind::Degree(self.around(field)),
            name => {
                let own = of.and_then(|of| self.model.nodes.get(of).property(name));
                if let Some(property) = own {
                    return Ok(OutputKind::Property(Arc::clone(&property.name), property.kind));
                }
                let lists = |target: &TypeModel| *target.list_name == *name;
                if let Some((id, _)) = self.model.nodes.all().find(|(_, target)| lists(target)) {
                    return Ok(OutputKind::List(self.list(
                        around(Side::Nodes, Some(id)),
                        field,
                        selections,
                    )?));
                }
                let stem = name.strip_suffix("_aggregate").ok_or_else(|| unknown_field(field))?;
                let target = self.model.nodes.all().find(|(_, target)| *target.list_name == *stem);
                let (id, _) = target.ok_or_else(|| unknown_field(field))?;
                OutputKind::List(self.aggregate(around(Side::Nodes, Some(id)), field, selections)?)
            }
        })
    }

    fn relationship_output(
        &mut self,
        of: Option<TypeId>,
        field: &Field,
        selections: &[&Field],
    ) -> Result<OutputKind, GraphqlError> {
        Ok(match field.name.as_str() {
            "__typename" => OutputKind::Typename,
            "_id" => OutputKind::Id,
            "_type" => OutputKind::Type,
            "from" => OutputKind::From(self.shape(Side::Nodes, None, selections)?),
            "to" => OutputKind::To(self.shape(Side::Nodes, None, selections)?),
            "node" => OutputKind::Other(self.shape(Side::Nodes, None, selections)?),
            name => {
                let own = of.and_then(|of| self.model.relationships.get(of).property(name));
                let property = own.ok_or_else(|| unknown_field(field))?;
                OutputKind::Property(Arc::clone(&property.name), property.kind)
            }
        })
    }

    fn around(&self, field: &Field) -> AroundPlan {
        let direction = match field.argument("direction") {
            Some(Value::Enum(name)) if name == "out" => Some(Direction::Outgoing),
            Some(Value::Enum(name)) if name == "in" => Some(Direction::Incoming),
            _ => None,
        };
        let named = |value: &Value| {
            let Value::Enum(name) = value else { return None };
            let id = self.model.relationships.by_type_name(name)?;
            Some(Arc::clone(&self.model.relationships.get(id).name))
        };
        let types = match field.argument("types") {
            Some(Value::List(items)) => Some(items.iter().filter_map(named).collect()),
            Some(value @ Value::Enum(_)) => Some(named(value).into_iter().collect()),
            _ => None,
        };
        AroundPlan { direction, types }
    }
}

fn enum_name(value: &Value) -> Option<&str> {
    if let Value::Enum(name) = value { Some(name.as_str()) } else { None }
}

/// Fields of one response key together: the first of them, and what is selected below all of them.
fn grouped<'f>(fields: &[&'f Field]) -> Vec<(&'f Field, Vec<&'f Field>)> {
    let mut groups: Vec<(&Field, Vec<&Field>)> = Vec::new();
    for &field in fields {
        match groups.iter_mut().find(|(first, _)| first.response_key == field.response_key) {
            Some((_, selections)) => selections.extend(&field.selections),
            None => groups.push((field, field.selections.iter().collect())),
        }
    }
    groups
}

fn prefix(field: &Field, is_first: bool) -> Box<[u8]> {
    let own = json::member_prefix(&field.response_key);
    if is_first { own } else { [b",", &*own].concat().into() }
}

fn aggregate_outputs(of: &TypeModel, fields: &[&Field]) -> Result<Vec<AggregateOutput>, GraphqlError> {
    let mut outputs: Vec<AggregateOutput> = Vec::new();
    for (field, selections) in grouped(fields) {
        let function = match field.name.as_str() {
            "sum" => Some(AggregateFunction::Sum),
            "avg" => Some(AggregateFunction::Avg),
            "max" => Some(AggregateFunction::Max),
            "min" => Some(AggregateFunction::Min),
            _ => None,
        };
        let kind = match (field.name.as_str(), function) {
            ("__typename", _) => AggregateKind::Typename(field.parent_type.as_str().into()),
            ("count", _) => AggregateKind::Count,
            (_, Some(function)) => AggregateKind::Fields(function, aggregate_fields(of, &selections)?),
            _ => return Err(unknown_field(field)),
        };
        outputs.push(AggregateOutput { prefix: prefix(field, outputs.is_empty()), kind });
    }
    Ok(outputs)
}

fn aggregate_fields(of: &TypeModel, fields: &[&Field]) -> Result<Vec<AggregateField>, GraphqlError> {
    let mut members: Vec<AggregateField> = Vec::new();
    for (field, _) in grouped(fields) {
        let subject = match field.name.as_str() {
            "__typename" => Err(field.parent_type.as_str().into()),
            "_key" if of.property("_key").is_none() => Ok(Subject::Key),
            name => {
                let property = of.property(name).ok_or_else(|| unknown_field(field))?;
                Ok(Subject::Property(Arc::clone(&property.name), property.kind))
            }
        };
        members.push(AggregateField { prefix: prefix(field, members.is_empty()), subject });
    }
    Ok(members)
}

/// `None` where the argument is absent or null.
fn row_count(field: &Field, argument: &str) -> Option<RowCount> {
    let value = field.argument(argument).filter(|value| **value != Value::Null)?;
    Some(RowCount { value: value.clone(), position: field.position, highest: None })
}

/// Validation lets only known fields through; this names the field should schema and model ever disagree.
pub(crate) fn unknown_field(field: &Field) -> GraphqlError {
    let message = format!("`{}` has no field `{}` in this source", field.parent_type, field.name);
    GraphqlError::new(ErrorCode::ValidationFailed, message).at(field.position)
}
