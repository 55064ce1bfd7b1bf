//! What one root field needs of a graph: which nodes or relationships, in which order, and what is written of each. Values
//! of variables are still open; `bind` fills them in. The `lower` module makes it from a GraphQL selection.

use std::sync::Arc;

use prony_graph_store::{Direction, Keep, Kind, Side};
use prony_graphql::{error::Position, selection::Value};

use crate::{
    events::operation::Operations,
    planning::{
        assignments::Assignments,
        filter::{Filter, SortKey, Subject},
        restrict::Restrictions,
    },
    schema::model::{Model, TypeId},
};
use prony_source::dialect::{AggregateFunction, ResultOutput, RowCount};

/// Index into [`Plan::lists`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListId(pub(crate) usize);

/// Index into [`Plan::shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShapeId(pub(crate) usize);

/// One root field, checked.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) model: Arc<Model>,
    /// Everything can be seen and written where there are none.
    pub(crate) restrictions: Option<Arc<Restrictions>>,
    /// The first segment of every error's path.
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
    pub(crate) root: Root,
    pub(crate) lists: Vec<ListPlan>,
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Debug)]
pub(crate) enum Root {
    /// A node of one type by key, by id, or by both.
    Node {
        of: TypeId,
        key: Option<Value>,
        id: Option<Value>,
        shape: ShapeId,
    },
    /// A node or relationship of any type by its id.
    ById {
        side: Side,
        id: Value,
        shape: ShapeId,
    },
    List(ListId),
    CreateNode {
        of: TypeId,
        key: Value,
        properties: Assignments,
        shape: ShapeId,
    },
    CreateRelationship {
        of: TypeId,
        from: Box<NodeKey>,
        to: Box<NodeKey>,
        properties: Assignments,
        shape: ShapeId,
    },
    Set {
        side: Side,
        of: TypeId,
        key: RecordKey,
        properties: Assignments,
        keep: Keep,
        outputs: Vec<ResultOutput>,
    },
    Change(Box<ChangePlan>),
    Delete {
        side: Side,
        of: TypeId,
        key: RecordKey,
        outputs: Vec<ResultOutput>,
    },
}

/// Changes of nodes or relationships of one type, one answer for each.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    pub(crate) side: Side,
    pub(crate) of: TypeId,
    pub(crate) operations: Operations,
    pub(crate) id: Option<Value>,
    pub(crate) key: Option<Value>,
    pub(crate) filter: Filter,
    pub(crate) outputs: Vec<ChangeOutput>,
}

#[derive(Debug)]
pub(crate) struct ChangeOutput {
    pub(crate) prefix: Box<[u8]>,
    pub(crate) kind: ChangeOutputKind,
}

#[derive(Debug)]
pub(crate) enum ChangeOutputKind {
    Typename(Box<str>),
    Operation,
    /// The node or relationship.
    Thing(ShapeId),
}

/// What `pk_columns` says.
#[derive(Debug)]
pub(crate) struct RecordKey {
    pub(crate) key: Option<Value>,
    pub(crate) id: Option<Value>,
}

/// A node of any type.
#[derive(Debug)]
pub(crate) struct NodeKey {
    /// `from` or `to`, for messages.
    pub(crate) argument: &'static str,
    pub(crate) id: Option<Value>,
    pub(crate) type_name: Option<Value>,
    pub(crate) key: Option<Value>,
}

/// Nodes or relationships in an order, or what is computed of them.
#[derive(Debug)]
pub(crate) struct ListPlan {
    pub(crate) candidates: Candidates,
    pub(crate) filter: Filter,
    /// Of the relationship that leads to a neighbour, or of the neighbour that a relationship leads to.
    pub(crate) other: Filter,
    pub(crate) answer: ListAnswer,
}

#[derive(Debug)]
pub(crate) enum ListAnswer {
    Items { sort: Vec<SortKey>, limit: Option<RowCount>, offset: Option<RowCount>, shape: ShapeId },
    Aggregate(Vec<AggregateOutput>),
}

/// Where items come from, before they are filtered.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// What is listed.
    pub(crate) side: Side,
    /// All types where none is named.
    pub(crate) only: Option<TypeId>,
    /// Around the node above; anywhere where there is none.
    pub(crate) around: Option<AroundPlan>,
}

#[derive(Debug)]
pub(crate) struct AroundPlan {
    pub(crate) direction: Option<Direction>,
    /// Names in the store; all types where none is named.
    pub(crate) types: Option<Vec<Arc<str>>>,
}

/// What is written of an object, by its type.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// By [`TypeId`]; the first class where it has no entry.
    pub(crate) class_of: Vec<u16>,
    pub(crate) classes: Vec<Vec<Output>>,
}

/// One member of an object in the response.
#[derive(Debug)]
pub(crate) struct Output {
    /// `"key":`, with a comma before it where it is not the first.
    pub(crate) prefix: Box<[u8]>,
    pub(crate) kind: OutputKind,
}

#[derive(Debug)]
pub(crate) enum OutputKind {
    Typename,
    Id,
    Type,
    Key,
    Property(Arc<str>, Kind),
    List(ListId),
    Degree(AroundPlan),
    From(ShapeId),
    To(ShapeId),
    /// The end that is not the node above.
    Other(ShapeId),
}

#[derive(Debug)]
pub(crate) struct AggregateOutput {
    pub(crate) prefix: Box<[u8]>,
    pub(crate) kind: AggregateKind,
}

#[derive(Debug)]
pub(crate) enum AggregateKind {
    Typename(Box<str>),
    Count,
    /// Null where no item has passed.
    Fields(AggregateFunction, Vec<AggregateField>),
}

#[derive(Debug)]
pub(crate) struct AggregateField {
    pub(crate) prefix: Box<[u8]>,
    /// `Err` holds the answer of `__typename`.
    pub(crate) subject: Result<Subject, Box<str>>,
}

impl Plan {
    pub(crate) fn list(&self, id: ListId) -> &ListPlan {
        &self.lists[id.0]
    }

    pub(crate) fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0]
    }

    /// An estimate for the plan cache.
    pub(crate) fn weight_bytes(&self) -> usize {
        /// For filters, orders and what they own.
        const PER_LIST: usize = 512;
        const PER_OUTPUT: usize = 64;
        let outputs: usize = self.shapes.iter().flat_map(|shape| &shape.classes).map(Vec::len).sum();
        let classes: usize =
            self.shapes.iter().map(|shape| shape.class_of.len() * 2 + size_of::<Shape>()).sum();
        size_of::<Self>() + self.lists.len() * PER_LIST + outputs * PER_OUTPUT + classes
    }
}

impl Shape {
    pub(crate) fn outputs(&self, of: TypeId) -> &[Output] {
        let class = self.class_of.get(usize::from(of.0)).copied().unwrap_or(0);
        &self.classes[usize::from(class)]
    }
}
