//! Takes joined fields out of what a source is asked, and plans what they join.

use std::{cell::Cell, sync::Arc};

use prony_graphql::{
    Name,
    compiler::ast::Type,
    error::GraphqlError,
    schema::SourceId,
    selection::{Field, OperationKind, Slot, SlotRoot, Value},
    variables::Variables,
};
use prony_source::{FieldRequest, PreparedField, SourceSchema};

use super::{
    given::with_keys,
    keys::{KeyComparison, KeyForm},
    schema::{Join, Joins},
};

/// Where in a response joined fields are: as a tree of response keys.
#[derive(Debug, Default)]
pub(crate) struct JoinNode {
    pub(super) steps: Vec<JoinStep>,
    pub(super) below: Vec<(Name, JoinNode)>,
    /// Response keys in the order of the selection, where there are steps.
    pub(super) order: Vec<Name>,
    /// Response keys that the client has not asked for.
    pub(super) hidden: Vec<Name>,
}

/// One joined field.
#[derive(Debug)]
pub(super) struct JoinStep {
    pub(super) response_key: Name,
    /// Under which the parent's key comes.
    pub(super) key: Name,
    pub(super) keys: KeyForm,
    pub(super) comparison: KeyComparison,
    pub(super) source: SourceId,
    pub(super) root: PreparedField,
    /// Under which the key of what comes comes.
    pub(super) matched: Name,
    pub(super) many: bool,
    /// The most keys of one request.
    pub(super) batch: usize,
    /// None where nobody knows how many items an answer may have.
    pub(super) limit: Option<ItemLimit>,
    /// What is joined to what comes.
    pub(super) node: JoinNode,
}

/// How many items one request may bring: an answer with as many may lack some.
#[derive(Debug)]
pub(super) struct ItemLimit {
    pub(super) items: usize,
    /// The root field, as `Query.orders`.
    pub(super) of: Box<str>,
    /// The field that is joined, as `Person.orders`.
    pub(super) join: Box<str>,
}

impl JoinNode {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.below.is_empty() && self.hidden.is_empty()
    }

    /// Objects of several types may have a response key in common; what belongs to which of them its hidden keys say.
    fn add_below(&mut self, response_key: Name, node: Self) {
        let Some((_, known)) = self.below.iter_mut().find(|(known, _)| *known == response_key) else {
            return self.below.push((response_key, node));
        };
        known.steps.extend(node.steps);
        known.hidden.extend(node.hidden);
        for name in node.order {
            if !known.order.contains(&name) {
                known.order.push(name);
            }
        }
        for (response_key, below) in node.below {
            known.add_below(response_key, below);
        }
    }

    /// All fields that are joined, with the response keys that lead to them from the root field, and what their sources are asked.
    pub(crate) fn joined_fields(&self) -> Vec<(Vec<&Name>, SourceId, &PreparedField)> {
        let mut found = Vec::new();
        for step in &self.steps {
            found.push((vec![&step.response_key], step.source, &step.root));
            found.extend(below(&step.response_key, &step.node));
        }
        found.extend(self.below.iter().flat_map(|(name, node)| below(name, node)));
        found
    }

    /// Bytes that the plan cache accounts for it.
    pub(crate) fn weight_bytes(&self) -> usize {
        let steps = self
            .steps
            .iter()
            .map(|step| size_of::<JoinStep>() + step.root.weight_bytes() + step.node.weight_bytes());
        let below = self.below.iter().map(|(_, node)| node.weight_bytes());
        size_of::<Self>()
            + (self.order.len() + self.hidden.len()) * size_of::<Name>()
            + steps.sum::<usize>()
            + below.sum::<usize>()
    }
}

fn below<'n>(
    name: &'n Name,
    node: &'n JoinNode,
) -> impl Iterator<Item = (Vec<&'n Name>, SourceId, &'n PreparedField)> {
    node.joined_fields().into_iter().map(move |(mut path, source, root)| {
        path.insert(0, name);
        (path, source, root)
    })
}

/// Plans the joins below root fields.
pub(crate) struct JoinPlanner<'a> {
    joins: &'a Joins,
    /// By [`SourceId`].
    sources: &'a [Arc<dyn SourceSchema>],
    /// The index of the variable that keys are given in, behind those of the operation.
    keys_variable: usize,
    /// Of selections with joins, so far.
    selections: Cell<usize>,
}

impl<'a> JoinPlanner<'a> {
    pub(crate) fn new(joins: &'a Joins, sources: &'a [Arc<dyn SourceSchema>], variables: &Variables) -> Self {
        Self { joins, sources, keys_variable: variables.values().len(), selections: Cell::new(0) }
    }
}

impl JoinPlanner<'_> {
    /// What the source of a field is asked, and what is joined to that; none where nothing is.
    pub(crate) fn split(&self, field: &Field) -> Result<Option<(Field, JoinNode)>, GraphqlError> {
        if self.joins.is_empty() || !self.has_joins(field) {
            return Ok(None);
        }
        let mut field = field.clone();
        let node = self.take(&mut field.selections)?;
        Ok((!node.is_empty()).then_some((field, node)))
    }

    fn has_joins(&self, field: &Field) -> bool {
        field
            .selections
            .iter()
            .any(|child| self.joins.find(&child.parent_type, &child.name).is_some() || self.has_joins(child))
    }

    fn take(&self, fields: &mut Vec<Field>) -> Result<JoinNode, GraphqlError> {
        let mut node = JoinNode::default();
        if fields.iter().any(|field| self.joins.find(&field.parent_type, &field.name).is_some()) {
            self.selections.set(self.selections.get() + 1);
            let number = self.selections.get();
            node.order = fields.iter().map(|field| field.response_key.clone()).collect();
            let mut kept: Vec<Field> = Vec::with_capacity(fields.len());
            for field in fields.drain(..) {
                match self.joins.find(&field.parent_type, &field.name) {
                    Some(join) => {
                        let step = self.step(join, &field, number, &mut node, &mut kept)?;
                        node.steps.push(step);
                    }
                    None => kept.push(field),
                }
            }
            *fields = kept;
        }
        for field in fields.iter_mut().filter(|field| !field.selections.is_empty()) {
            let below = self.take(&mut field.selections)?;
            if !below.is_empty() {
                node.add_below(field.response_key.clone(), below);
            }
        }
        Ok(node)
    }

    /// Has the key be asked for, and plans the root field that finds what is joined.
    fn step(
        &self,
        join: &Join,
        field: &Field,
        selection: usize,
        parent: &mut JoinNode,
        kept: &mut Vec<Field>,
    ) -> Result<JoinStep, GraphqlError> {
        // Objects of several types may stand at one place, each with a key of another type.
        let key = format!("{selection}_{}_{}", field.parent_type, join.key);
        let key = hidden_key(&key, &parent.order);
        if !parent.hidden.contains(&key) {
            parent.hidden.push(key.clone());
        }
        if !kept.iter().any(|known| known.response_key == key && known.parent_type == field.parent_type) {
            kept.push(leaf(&key, &join.key, &field.parent_type, &join.key_type, field));
        }
        let mut selections = field.selections.clone();
        let mut node = self.take(&mut selections)?;
        let own: Vec<Name> =
            selections.iter().chain(&field.selections).map(|child| child.response_key.clone()).collect();
        let matched = hidden_key(&format!("match_{}", join.matched), &own);
        node.hidden.push(matched.clone());
        let item = join.root.ty.inner_named_type();
        let limit = self.limit(join);
        selections.push(leaf(&matched, &join.matched, item, &join.matched_type, field));
        let root = Field {
            response_key: join.root.name.clone(),
            name: join.root.name.clone(),
            parent_type: ROOT,
            output: join.root.ty.clone(),
            arguments: self.arguments(join, limit),
            directives: Vec::new(),
            selections,
            position: field.position,
        };
        let request = FieldRequest { kind: OperationKind::Query, field: &root };
        let root = self.sources[usize::from(join.source.0)].plan(&request)?;
        Ok(JoinStep {
            response_key: field.response_key.clone(),
            key,
            keys: join.keys.clone(),
            comparison: join.comparison,
            source: join.source,
            root,
            matched,
            many: join.settings.many,
            batch: batch(join, limit),
            limit: limit.map(|items| ItemLimit {
                items,
                of: join.settings.to.as_str().into(),
                join: join.settings.field.as_str().into(),
            }),
            node,
        })
    }

    /// The most items that are asked for: what the configuration says, or as many as the source gives whoever asks.
    fn limit(&self, join: &Join) -> Option<usize> {
        let of_source = self.sources[usize::from(join.source.0)].highest_limit(&join.root.name);
        let of_source = of_source.filter(|_| join.argument[0] != LIMIT).map(u64::from);
        let configured = join.settings.arguments.get(LIMIT).and_then(serde_json::Value::as_u64);
        let items = configured.into_iter().chain(of_source).min()?;
        Some(usize::try_from(items).unwrap_or(usize::MAX))
    }

    /// In the order of the schema, as sources are used to.
    fn arguments(&self, join: &Join, limit: Option<usize>) -> Vec<(Name, Value)> {
        let (first, rest) = join.argument.split_first().expect("an argument has a name");
        let keys = Value::Slot(Slot::from(SlotRoot::Variable(self.keys_variable)));
        let argument = |name: &Name| {
            let given = join.given.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            if name == first {
                return Some(with_keys(given, rest, keys.clone()));
            }
            let limit = limit.filter(|_| *name == *LIMIT).map(|items| Value::Scalar(items.into()));
            limit.or(given)
        };
        let names = join.root.arguments.iter().map(|argument| &argument.name);
        names.filter_map(|name| Some((name.clone(), argument(name)?))).collect()
    }
}

/// The argument of lists that bounds them.
const LIMIT: &str = "limit";

/// The most keys of one request. Of those that each find one item, no more than items may come.
fn batch(join: &Join, limit: Option<usize>) -> usize {
    let items = limit.filter(|_| !join.settings.many).unwrap_or(usize::MAX);
    join.settings.batch.min(items).max(1)
}

const ROOT: Name = Name::new_static_unchecked("Query");

/// A response key that no other field of a selection has.
fn hidden_key(key: &str, taken: &[Name]) -> Name {
    let mut text = format!("prony_key_{key}");
    while taken.iter().any(|name| *name == *text) {
        text.push('_');
    }
    Name::new(&text).expect("a name with letters before it is one")
}

fn leaf(response_key: &Name, name: &Name, parent: &Name, ty: &Type, at: &Field) -> Field {
    Field {
        response_key: response_key.clone(),
        name: name.clone(),
        parent_type: parent.clone(),
        output: ty.clone(),
        arguments: Vec::new(),
        directives: Vec::new(),
        selections: Vec::new(),
        position: at.position,
    }
}
