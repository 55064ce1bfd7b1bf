//! From nodes to nodes: what `find`, `parents`, `nextUntil` and their like give, in the order and without the doubles
//! of jQuery.

use super::document::{Document, NodeRef, Number, distinct};
use super::query::Query;
use scraper::ElementRef;

/// A step from each node of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Children,
    Contents,
    Parent,
    Parents,
    Next,
    NextAll,
    Previous,
    PreviousAll,
    Siblings,
}

/// Where a walk ends, exclusive.
#[derive(Debug)]
pub(crate) enum Until<'a> {
    Query(&'a Query),
    Nodes(&'a [Number]),
}

impl Step {
    /// By the names of jQuery; `None` for others.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "children" => Self::Children,
            "contents" => Self::Contents,
            "parent" => Self::Parent,
            "parents" => Self::Parents,
            "next" => Self::Next,
            "nextAll" => Self::NextAll,
            "prev" => Self::Previous,
            "prevAll" => Self::PreviousAll,
            "siblings" => Self::Siblings,
            _ => return None,
        })
    }
}

impl Document {
    pub(crate) fn step(&self, nodes: &[Number], step: Step) -> Vec<Number> {
        distinct(nodes.iter().flat_map(|number| self.step_of(*number, step)))
    }

    /// A step that ends before the first that `until` names.
    pub(crate) fn step_until(&self, nodes: &[Number], step: Step, until: &Until<'_>) -> Vec<Number> {
        let is_end = |number: &Number| match until {
            Until::Query(query) => self.matches(*number, query),
            Until::Nodes(ends) => ends.contains(number),
        };
        let walks = nodes.iter().map(|number| self.step_of(*number, step));
        distinct(walks.flat_map(|walk| walk.into_iter().take_while(|number| !is_end(number))))
    }

    /// What is below the nodes, each node's in the order of the text.
    pub(crate) fn find(&self, nodes: &[Number], query: &Query) -> Vec<Number> {
        let below =
            nodes.iter().filter_map(|number| self.node(*number)).flat_map(|node| node.descendants().skip(1));
        let found = below.filter(|node| node.value().is_element()).map(|node| self.number(node));
        distinct(found.filter(|number| self.matches(*number, query)))
    }

    /// Those of `others` that are below the nodes.
    pub(crate) fn find_nodes(&self, nodes: &[Number], others: &[Number]) -> Vec<Number> {
        let is_below =
            |other: &Number| nodes.iter().any(|node| node != other && self.contains(*node, *other));
        distinct(others.iter().copied().filter(is_below))
    }

    pub(crate) fn filter(&self, nodes: &[Number], query: &Query) -> Vec<Number> {
        nodes.iter().copied().filter(|number| self.matches(*number, query)).collect()
    }

    pub(crate) fn not(&self, nodes: &[Number], query: &Query) -> Vec<Number> {
        nodes.iter().copied().filter(|number| !self.matches(*number, query)).collect()
    }

    /// Those with a match below them.
    pub(crate) fn has(&self, nodes: &[Number], query: &Query) -> Vec<Number> {
        nodes.iter().copied().filter(|number| !self.find(&[*number], query).is_empty()).collect()
    }

    pub(crate) fn has_nodes(&self, nodes: &[Number], others: &[Number]) -> Vec<Number> {
        nodes.iter().copied().filter(|number| !self.find_nodes(&[*number], others).is_empty()).collect()
    }

    /// For each node the nearest match that it is or is in.
    pub(crate) fn closest(&self, nodes: &[Number], query: &Query) -> Vec<Number> {
        distinct(nodes.iter().filter_map(|number| self.upwards(*number).find(|at| self.matches(*at, query))))
    }

    pub(crate) fn closest_nodes(&self, nodes: &[Number], others: &[Number]) -> Vec<Number> {
        distinct(nodes.iter().filter_map(|number| self.upwards(*number).find(|at| others.contains(at))))
    }

    /// The nodes and then the others.
    pub(crate) fn add(nodes: &[Number], others: &[Number]) -> Vec<Number> {
        distinct(nodes.iter().chain(others).copied())
    }

    /// How many elements stand before it under its parent.
    pub(crate) fn index(&self, number: Number) -> usize {
        self.step_of(number, Step::PreviousAll).len()
    }

    fn upwards(&self, number: Number) -> impl Iterator<Item = Number> {
        std::iter::successors(Some(number), |at| self.parent(*at))
    }

    fn step_of(&self, number: Number, step: Step) -> Vec<Number> {
        let Some(node) = self.node(number) else { return Vec::new() };
        let is_element = |node: &NodeRef<'_>| node.value().is_element();
        match step {
            Step::Contents => self.numbers(node.children()),
            Step::Children => self.numbers(node.children().filter(is_element)),
            Step::Parent => self.numbers(node.parent().into_iter().filter(is_element)),
            Step::Parents => self.numbers(node.ancestors().filter(is_element)),
            Step::Next => self.numbers(node.next_siblings().filter(is_element).take(1)),
            Step::NextAll => self.numbers(node.next_siblings().filter(is_element)),
            Step::Previous => self.numbers(node.prev_siblings().filter(is_element).take(1)),
            Step::PreviousAll => self.numbers(node.prev_siblings().filter(is_element)),
            Step::Siblings => {
                let all = node.parent().into_iter().flat_map(|parent| parent.children());
                let others = all.filter(|other| other.id() != node.id());
                self.numbers(others.filter_map(ElementRef::wrap).map(|element| *element))
            }
        }
    }
}
