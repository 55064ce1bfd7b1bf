//! What one root field needs: which entities or rows, and what is written of each. Values of variables are still open; `execute` fills
//! them in. The `lower` module makes it from a GraphQL selection.

use std::sync::Arc;

use prony_graphql::{error::Position, selection::Value};
use prony_series_store::{AttributeId, Kind, calendar::Period};
use prony_source::{FieldPlan, dialect::RowCount};

use super::{model::ServedType, types::TypesPlan};
use crate::access::filter::Filter;
use crate::query::parameters::Method;

/// One root field, checked.
#[derive(Debug)]
pub(super) struct Plan {
    /// The first segment of every error's path.
    pub(super) response_key: Box<str>,
    pub(super) position: Position,
    pub(super) root: Root,
}

#[derive(Debug)]
pub(super) enum Root {
    /// Which types there are.
    Types(TypesPlan),
    Entities(EntitiesPlan),
    /// New rows, one response for each.
    Rows(EventsPlan),
}

/// Entities of one type.
#[derive(Debug)]
pub(super) struct EntitiesPlan {
    pub(super) of: Arc<ServedType>,
    /// With what a role may see.
    pub(super) filter: Filter,
    pub(super) list: EntityList,
    pub(super) outputs: Vec<Selected<EntityOutput>>,
    pub(super) lists: Vec<TimeList>,
}

#[derive(Debug)]
pub(super) enum EntityList {
    /// The first that is found, or null.
    One,
    Many {
        limit: Option<RowCount>,
        offset: Option<RowCount>,
    },
}

#[derive(Debug)]
pub(super) struct EventsPlan {
    pub(super) of: Arc<ServedType>,
    pub(super) filter: Filter,
    pub(super) outputs: Vec<Selected<RowOutput>>,
}

/// A member of an object in the response.
#[derive(Debug)]
pub(super) struct Selected<K> {
    /// `"key":`, with a brace or a comma before it.
    pub(super) prefix: Box<[u8]>,
    pub(super) kind: K,
}

/// Index into [`EntitiesPlan::lists`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListId(pub(super) usize);

/// Which rows or periods of an entity a list has.
#[derive(Debug)]
pub(super) struct TimeList {
    pub(super) from: Option<Value>,
    pub(super) to: Option<Value>,
    pub(super) last: Option<RowCount>,
    pub(super) limit: Option<RowCount>,
    pub(super) offset: Option<RowCount>,
    pub(super) position: Position,
}

#[derive(Debug)]
pub(super) enum EntityOutput {
    Typename(Box<str>),
    Id,
    Type,
    ServicePath,
    FirstTime,
    LastTime,
    Rows {
        list: ListId,
        attributes: Vec<AttributeId>,
        outputs: Vec<Selected<RowOutput>>,
    },
    Points {
        list: ListId,
        attribute: AttributeId,
        kind: Kind,
        /// All that are read.
        attributes: Vec<AttributeId>,
        outputs: Vec<Selected<PointOutput>>,
    },
    Summaries(SummariesPlan),
}

#[derive(Debug)]
pub(super) struct SummariesPlan {
    pub(super) list: ListId,
    pub(super) attribute: AttributeId,
    pub(super) kind: Kind,
    /// All of the range where there is none.
    pub(super) period: Option<Period>,
    /// What is made of the values of a period.
    pub(super) methods: Vec<Method>,
    pub(super) outputs: Vec<Selected<SummaryOutput>>,
}

#[derive(Debug)]
pub(super) enum RowOutput {
    Typename(Box<str>),
    Id,
    ServicePath,
    Time,
    Attribute(AttributeId, Kind),
}

#[derive(Debug)]
pub(super) enum PointOutput {
    Typename(Box<str>),
    Time,
    Value,
    /// None where nothing has them.
    Metadata(Option<AttributeId>),
    TimeAttribute(Option<AttributeId>),
}

impl EntityOutput {
    /// The list that it has, and the attributes that are read for it.
    pub(super) fn list(&self) -> Option<(ListId, Vec<AttributeId>)> {
        match self {
            Self::Rows { list, attributes, .. } | Self::Points { list, attributes, .. } => {
                Some((*list, attributes.clone()))
            }
            Self::Summaries(plan) => Some((plan.list, vec![plan.attribute])),
            _ => None,
        }
    }
}

impl PointOutput {
    /// The hidden attribute that it is read from.
    pub(super) const fn hidden(&self) -> Option<AttributeId> {
        match self {
            Self::Metadata(of) | Self::TimeAttribute(of) => *of,
            Self::Typename(_) | Self::Time | Self::Value => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum SummaryOutput {
    Typename(Box<str>),
    From,
    /// Index into [`SummariesPlan::methods`].
    Of(usize),
}

impl FieldPlan for Plan {
    /// An estimate.
    fn weight_bytes(&self) -> usize {
        const PER_OUTPUT: usize = 96;
        const PER_LIST: usize = 256;
        size_of::<Self>()
            + match &self.root {
                Root::Types(types) => types.weight_bytes(),
                Root::Rows(events) => events.outputs.len() * PER_OUTPUT,
                Root::Entities(entities) => {
                    let below = |output: &Selected<EntityOutput>| match &output.kind {
                        EntityOutput::Rows { outputs, .. } => outputs.len(),
                        EntityOutput::Points { outputs, .. } => outputs.len(),
                        EntityOutput::Summaries(plan) => plan.outputs.len(),
                        _ => 0,
                    };
                    let outputs = entities.outputs.len() + entities.outputs.iter().map(below).sum::<usize>();
                    outputs * PER_OUTPUT + entities.lists.len() * PER_LIST
                }
            }
    }

    fn waits(&self) -> bool {
        !matches!(self.root, Root::Types(_))
    }
}
