//! Live queries: which types the answer of a root field depends on, and when it may have become another.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use prony_graph_store::Side;
use tokio::sync::Notify;

use crate::{
    planning::{
        filter::Filter,
        plan::{AroundPlan, Candidates, OutputKind, Plan, Root},
        restrict::Restrictions,
    },
    schema::model::TypeId,
};

/// Types by their names in the store.
pub(super) type TypeSet = HashSet<(Side, Arc<str>)>;

/// What an answer depends on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependencies {
    /// All types of a side, whatever they are called.
    nodes: bool,
    relationships: bool,
    types: TypeSet,
}

impl Dependencies {
    fn concern(&self, changed: &TypeSet) -> bool {
        changed.iter().any(|of| match of.0 {
            Side::Nodes => self.nodes || self.types.contains(of),
            Side::Relationships => self.relationships || self.types.contains(of),
        })
    }

    fn add(&mut self, plan: &Plan, side: Side, only: Option<TypeId>) {
        match (side, only) {
            (_, Some(id)) => {
                self.types.insert((side, Arc::clone(&plan.model.side(side).get(id).name)));
            }
            (Side::Nodes, None) => self.nodes = true,
            (Side::Relationships, None) => self.relationships = true,
        }
    }

    fn around(&mut self, around: &AroundPlan) {
        match &around.types {
            Some(types) => {
                self.types.extend(types.iter().map(|name| (Side::Relationships, Arc::clone(name))));
            }
            None => self.relationships = true,
        }
    }

    fn candidates(&mut self, plan: &Plan, candidates: &Candidates) {
        match (&candidates.around, candidates.side) {
            (Some(around), Side::Relationships) => self.around(around),
            (Some(around), Side::Nodes) => {
                self.around(around);
                self.add(plan, Side::Nodes, candidates.only);
            }
            (None, side) => self.add(plan, side, candidates.only),
        }
    }

    fn has_relationships(&self) -> bool {
        self.relationships || self.types.iter().any(|(side, _)| *side == Side::Relationships)
    }

    /// A role sees a relationship where it sees the nodes at its ends.
    fn ends(&mut self, plan: &Plan, restrictions: &Restrictions) {
        for (id, _) in plan.model.nodes.all() {
            if restrictions.of(Side::Nodes, id).is_some_and(|of| !of.read.is_everything()) {
                self.add(plan, Side::Nodes, Some(id));
            }
        }
        for (id, _) in plan.model.relationships.all() {
            if let Some(of) = restrictions.of(Side::Relationships, id) {
                self.filter(&of.read);
            }
        }
    }

    /// Filters look at the thing itself, and at the nodes at its ends.
    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().for_each(|part| self.filter(part)),
            Filter::Not(part) => self.filter(part),
            Filter::From(_) | Filter::To(_) => self.nodes = true,
            Filter::Unknown | Filter::Test { .. } | Filter::IsNull { .. } | Filter::Like { .. } => {}
        }
    }
}

/// What the answer of a query depends on; none for the events of changes.
pub(crate) fn depends_on(plan: &Plan) -> Option<Dependencies> {
    let mut found = Dependencies::default();
    match &plan.root {
        Root::Node { of, .. } => found.add(plan, Side::Nodes, Some(*of)),
        Root::ById { side, .. } => found.add(plan, *side, None),
        Root::List(_) => {}
        _ => return None,
    }
    for list in &plan.lists {
        found.candidates(plan, &list.candidates);
        found.filter(&list.filter);
        if !list.other.is_everything() {
            // Of the other side: a filter of neighbours by their relationship is around them already.
            found.nodes |= list.candidates.side == Side::Relationships;
            found.filter(&list.other);
        }
    }
    for output in plan.shapes.iter().flat_map(|shape| &shape.classes).flatten() {
        match &output.kind {
            OutputKind::From(_) | OutputKind::To(_) | OutputKind::Other(_) => found.nodes = true,
            OutputKind::Degree(around) => found.around(around),
            _ => {}
        }
    }
    if let Some(restrictions) = &plan.restrictions
        && found.has_relationships()
    {
        found.ends(plan, restrictions);
    }
    Some(found)
}

/// One who waits to ask anew.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) dependencies: Dependencies,
    /// Keeps one call for who is not waiting.
    pub(super) call: Notify,
}

impl Watcher {
    /// `is_unknown` where anything may have changed.
    pub(super) fn tell(&self, changed: &TypeSet, is_unknown: bool) {
        if is_unknown || self.dependencies.concern(changed) {
            self.call.notify_one();
        }
    }
}

/// Changes that answers with the same dependencies depend on.
#[derive(Debug)]
pub(super) struct CountedChanges {
    pub(super) dependencies: Dependencies,
    pub(super) count: AtomicU64,
}

impl CountedChanges {
    /// `is_unknown` where anything may have changed.
    pub(super) fn note(&self, changed: &TypeSet, is_unknown: bool) {
        if is_unknown || self.dependencies.concern(changed) {
            self.count.fetch_add(1, Ordering::Release);
        }
    }
}
