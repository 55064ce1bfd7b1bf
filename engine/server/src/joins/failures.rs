//! Where errors of what is joined belong: to the first field of the response whose value one concerns.

use std::collections::HashMap;

use prony_graphql::error::{GraphqlError, PathSegment};

use super::{
    plan::{JoinNode, JoinStep},
    tree::Tree,
};

/// An error of what a step has asked for, before it is known at which parents its keys are.
#[derive(Debug)]
pub(super) struct JoinFailure {
    pub(super) error: GraphqlError,
    pub(super) concerns: Concern,
}

/// Of which parents something is concerned.
#[derive(Debug)]
pub(super) enum Concern {
    /// Those with one of these keys.
    Keys(Vec<String>),
    /// Those with the key of an item: which of the items with that key it is, and from it down to what has failed.
    Item { key: String, number: usize, below: Vec<PathSegment> },
}

/// Lets a path, from a value of the node downwards, lead to the first field that is joined by a key, where it leads to that and the
/// client has not asked for it.
pub(super) fn show_joined(path: &mut [PathSegment], node: &JoinNode) {
    let mut node = node;
    for segment in path {
        let PathSegment::Key(key) = &*segment else { continue };
        if let Some(step) = node.steps.iter().find(|step| *step.key == **key) {
            *segment = PathSegment::Key(step.response_key.as_str().into());
            return;
        }
        let Some((_, below)) = node.below.iter().find(|(name, _)| **name == **key) else { return };
        node = below;
    }
}

/// The errors of a step, with their paths from a value downwards.
pub(super) fn placed(
    failures: Vec<JoinFailure>,
    step: &JoinStep,
    tree: &Tree<'_>,
    node: &JoinNode,
) -> Vec<GraphqlError> {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, failure) in failures.iter().enumerate() {
        let keys = match &failure.concerns {
            Concern::Keys(keys) => keys.as_slice(),
            Concern::Item { key, .. } => std::slice::from_ref(key),
        };
        for key in keys {
            by_key.entry(key.clone()).or_default().push(index);
        }
    }
    let (left, waiting) = (failures.len(), failures.into_iter().map(Some).collect());
    let mut placing = Placing { step, path: Vec::new(), waiting, left, by_key, placed: Vec::new() };
    placing.look(tree, node);
    let Placing { waiting, mut placed, .. } = placing;
    placed.extend(waiting.into_iter().flatten().map(|failure| failure.error.with_path(Vec::new())));
    placed
}

struct Placing<'a> {
    step: &'a JoinStep,
    /// To the value that is looked at.
    path: Vec<PathSegment>,
    /// None where it is placed.
    waiting: Vec<Option<JoinFailure>>,
    /// How many wait.
    left: usize,
    /// Which failures concern parents with a key: there may be one for each of many parents.
    by_key: HashMap<String, Vec<usize>>,
    placed: Vec<GraphqlError>,
}

impl Placing<'_> {
    fn look(&mut self, tree: &Tree<'_>, node: &JoinNode) {
        match tree {
            _ if self.left == 0 => {}
            Tree::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.below(PathSegment::Index(index), item, node);
                }
            }
            Tree::Object(_) => {
                if node.steps.iter().any(|known| std::ptr::eq(known, self.step))
                    && let Some(key) = tree.key_for(self.step)
                {
                    self.place_at(&key);
                }
                for (name, below) in &node.below {
                    if let Some(value) = tree.member(name) {
                        self.below(PathSegment::Key(name.as_str().into()), value, below);
                    }
                }
            }
            Tree::Text(_) | Tree::Joined(_) => {}
        }
    }

    fn below(&mut self, segment: PathSegment, tree: &Tree<'_>, node: &JoinNode) {
        self.path.push(segment);
        self.look(tree, node);
        self.path.pop();
    }

    /// Places what concerns the parent at the path, which has this key.
    fn place_at(&mut self, key: &str) {
        for index in self.by_key.remove(key).unwrap_or_default() {
            let Some(failure) = self.waiting[index].take() else { continue };
            self.left -= 1;
            let mut path = self.path.clone();
            path.push(PathSegment::Key(self.step.response_key.as_str().into()));
            if let Concern::Item { number, below, .. } = failure.concerns {
                path.extend(self.step.many.then_some(PathSegment::Index(number)));
                path.extend(below);
            }
            self.placed.push(failure.error.with_path(path));
        }
    }
}
