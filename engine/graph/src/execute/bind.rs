//! A plan's lists with the values of one request: filters, limits, and the names of relationship types.

use prony_graph_store::{Around, Ref};
use prony_graphql::{error::GraphqlError, variables::Variables};

use crate::{
    execute::filter::Bound,
    planning::plan::{AroundPlan, ListAnswer, ListPlan, Plan},
};
use prony_source::{CommonSettings, dialect};

/// By the plan's lists.
#[derive(Debug)]
pub(crate) struct BoundLists<'v>(pub(crate) Vec<BoundList<'v>>);

#[derive(Debug)]
pub(crate) struct BoundList<'v> {
    pub(crate) filter: Bound<'v>,
    pub(crate) other: Bound<'v>,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
    around: Option<BoundAround<'v>>,
}

/// Which relationships of a node are meant.
#[derive(Debug)]
pub(crate) struct BoundAround<'v> {
    plan: &'v AroundPlan,
    types: Option<Vec<&'v str>>,
}

impl<'v> BoundLists<'v> {
    pub(crate) fn new(
        plan: &'v Plan,
        variables: &'v Variables,
        settings: &CommonSettings,
    ) -> Result<Self, GraphqlError> {
        let lists = plan.lists.iter().map(|list| BoundList::new(list, variables, settings));
        lists.collect::<Result<_, _>>().map(Self)
    }
}

impl<'v> BoundList<'v> {
    fn new(
        list: &'v ListPlan,
        variables: &'v Variables,
        settings: &CommonSettings,
    ) -> Result<Self, GraphqlError> {
        let (limit, offset) = match &list.answer {
            ListAnswer::Items { limit, offset, .. } => (
                dialect::limit(limit.as_ref(), variables, settings)? as usize,
                dialect::offset(offset.as_ref(), variables)? as usize,
            ),
            ListAnswer::Aggregate(_) => (0, 0),
        };
        Ok(Self {
            filter: Bound::new(&list.filter, variables)?,
            other: Bound::new(&list.other, variables)?,
            limit,
            offset,
            around: list.candidates.around.as_ref().map(BoundAround::new),
        })
    }

    /// The relationships that lead to the candidates, of a list below a node.
    pub(crate) fn around(&self) -> Option<Around<'_>> {
        self.around.as_ref().map(BoundAround::get)
    }
}

impl<'v> BoundAround<'v> {
    pub(crate) fn new(plan: &'v AroundPlan) -> Self {
        let types = plan.types.as_ref().map(|types| types.iter().map(|name| &**name).collect());
        Self { plan, types }
    }

    pub(crate) fn get(&self) -> Around<'_> {
        Around { direction: self.plan.direction, types: self.types.as_deref() }
    }
}

/// A node or relationship in a list, with the node from which it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Node(Ref),
    /// `other` is the end that is not the node above.
    Relationship {
        at: Ref,
        other: Ref,
    },
}
