//! A document as the data model of `XPath` has it (`XPath` 1.0, 5): nodes in one list, in the order of the document.

use std::cell::Cell;
use std::cmp::Ordering;
use std::iter;
use xpath_eval::{ExpandedName, Node, NodeKind};

/// Nodes that one search may look at, those that it meets again included.
pub(super) const STEPS_MAX: u64 = 5_000_000;

/// Nodes of a document; the first is its root.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) nodes: Vec<NodeData>,
    /// Prefixes of the outermost element.
    pub(super) namespaces: Vec<(String, String)>,
    steps: Cell<u64>,
}

#[derive(Debug)]
pub(super) struct NodeData {
    pub(super) kind: NodeKind,
    pub(super) parent: usize,
    /// Of an element or attribute.
    pub(super) name: Name,
    /// Of an attribute, a text or a comment.
    pub(super) text: Box<str>,
    /// Attributes follow their element.
    pub(super) attributes: usize,
    /// Behind the last node below it.
    pub(super) end: usize,
    pub(super) next_sibling: Option<usize>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) namespace: Option<Box<str>>,
    /// As it is written, with its prefix.
    pub(super) qualified: Box<str>,
    /// Where the part without the prefix begins in it.
    pub(super) local_at: usize,
}

impl Name {
    pub(super) fn local(&self) -> &str {
        &self.qualified[self.local_at..]
    }
}

impl Document {
    pub(super) fn new(nodes: Vec<NodeData>, namespaces: Vec<(String, String)>) -> Self {
        Self { nodes, namespaces, steps: Cell::new(0) }
    }

    pub(super) fn root(&self) -> NodeRef<'_> {
        NodeRef { document: self, at: 0 }
    }

    /// What a prefix means at the outermost element.
    pub(crate) fn namespace_of_root(&self, prefix: &str) -> Option<String> {
        let found = self.namespaces.iter().find(|(known, _)| known == prefix);
        found.map(|(_, namespace)| namespace.clone())
    }

    pub(super) fn begin_search(&self) {
        self.steps.set(0);
    }

    /// True where the last search has looked at all that it may.
    pub(super) fn is_search_over(&self) -> bool {
        self.steps.get() > STEPS_MAX
    }

    /// Counts nodes that are looked at; false where there are no more to be had.
    fn spend(&self, count: u64) -> bool {
        self.steps.set(self.steps.get().saturating_add(count));
        !self.is_search_over()
    }

    pub(crate) fn is_element(&self, place: usize) -> bool {
        self.nodes[place].kind == NodeKind::Element
    }

    /// All text within a node.
    pub(crate) fn text_of(&self, place: usize) -> String {
        let node = &self.nodes[place];
        match node.kind {
            NodeKind::Root | NodeKind::Element => {
                let within = &self.nodes[place..node.end];
                within.iter().filter(|node| node.kind == NodeKind::Text).map(|node| &*node.text).collect()
            }
            _ => node.text.to_string(),
        }
    }

    /// The text of an element's first child; none where that has no text of its own, or there is none.
    pub(crate) fn first_text_of(&self, place: usize) -> Option<&str> {
        let first = self.first_child(place)?;
        let node = &self.nodes[first];
        (node.kind != NodeKind::Element).then_some(&*node.text)
    }

    pub(super) fn first_child(&self, place: usize) -> Option<usize> {
        let node = &self.nodes[place];
        let first = place + 1 + node.attributes;
        (first < node.end).then_some(first)
    }
}

/// A node as the evaluator handles it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeRef<'a> {
    document: &'a Document,
    at: usize,
}

impl<'a> NodeRef<'a> {
    pub(super) fn place(self) -> usize {
        self.at
    }

    fn data(self) -> &'a NodeData {
        &self.document.nodes[self.at]
    }

    fn other(self, at: usize) -> Self {
        Self { at, ..self }
    }
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for NodeRef<'_> {}

impl<'a> Node<'a> for NodeRef<'a> {
    fn kind(self) -> NodeKind {
        self.data().kind
    }

    fn parent(self) -> Option<Self> {
        let has_more = self.at > 0 && self.document.spend(1);
        has_more.then(|| self.other(self.data().parent))
    }

    fn children(self) -> impl Iterator<Item = Self> + 'a {
        let document = self.document;
        let first = document.first_child(self.at);
        iter::successors(first, move |at| document.nodes[*at].next_sibling)
            .take_while(move |_| document.spend(1))
            .map(move |at| self.other(at))
    }

    fn attributes(self) -> impl Iterator<Item = Self> + 'a {
        let document = self.document;
        let all = self.at + 1..self.at + 1 + self.data().attributes;
        all.take_while(move |_| document.spend(1)).map(move |at| self.other(at))
    }

    /// Nobody asks for them: prefixes are resolved by whoever searches.
    fn namespaces(self) -> impl Iterator<Item = Self> + 'a {
        iter::empty()
    }

    fn expanded_name(self) -> Option<ExpandedName> {
        let name = &self.data().name;
        let named =
            matches!(self.kind(), NodeKind::Element | NodeKind::Attribute | NodeKind::ProcessingInstruction);
        named.then(|| ExpandedName {
            namespace_uri: name.namespace.as_deref().map(str::to_owned),
            local_name: name.local().to_owned(),
        })
    }

    fn has_expanded_name(self, namespace_uri: Option<&str>, local_name: &str) -> bool {
        let name = &self.data().name;
        name.namespace.as_deref() == namespace_uri && name.local() == local_name
    }

    fn string_value(self) -> String {
        let node = self.data();
        // As many as are put together.
        self.document.spend((node.end - self.at) as u64);
        self.document.text_of(self.at)
    }

    fn document_order(self, other: Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}
