//! A parsed page whose nodes have numbers in the order of the text, and what single nodes say.

use scraper::{ElementRef, Html, Node};
use std::collections::{HashMap, HashSet};

/// A node of a [`Document`]: its place in the order of the text, the document itself being the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Number(pub u32);

/// A page.
#[derive(Debug)]
pub(crate) struct Document {
    page: Html,
    order: Vec<ego_tree::NodeId>,
    numbers: HashMap<ego_tree::NodeId, Number>,
}

pub(super) type NodeRef<'a> = ego_tree::NodeRef<'a, Node>;

/// As the DOM numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeType {
    Element = 1,
    Text = 3,
    Comment = 8,
    Document = 9,
    Doctype = 10,
}

impl Document {
    /// The number of the document itself.
    pub(crate) const ROOT: Number = Number(0);

    /// Whatever the text is, it is a page, as for browsers.
    pub(crate) fn parse(text: &str) -> Self {
        let page = Html::parse_document(text);
        let order: Vec<_> = page.tree.root().descendants().map(|node| node.id()).collect();
        let numbers = order.iter().enumerate().map(|(index, id)| (*id, Number(index as u32))).collect();
        Self { page, order, numbers }
    }

    pub(super) fn node(&self, number: Number) -> Option<NodeRef<'_>> {
        self.page.tree.get(*self.order.get(number.0 as usize)?)
    }

    pub(super) fn element(&self, number: Number) -> Option<ElementRef<'_>> {
        ElementRef::wrap(self.node(number)?)
    }

    pub(super) fn number(&self, node: NodeRef<'_>) -> Number {
        self.numbers[&node.id()]
    }

    pub(super) fn numbers<'a>(&self, nodes: impl Iterator<Item = NodeRef<'a>>) -> Vec<Number> {
        nodes.map(|node| self.number(node)).collect()
    }

    pub(crate) fn node_type(&self, number: Number) -> Option<NodeType> {
        Some(match self.node(number)?.value() {
            Node::Element(_) => NodeType::Element,
            Node::Text(_) => NodeType::Text,
            Node::Comment(_) | Node::ProcessingInstruction(_) => NodeType::Comment,
            Node::Document | Node::Fragment => NodeType::Document,
            Node::Doctype(_) => NodeType::Doctype,
        })
    }

    /// `p`, `#text`, `#document`.
    pub(crate) fn node_name(&self, number: Number) -> &str {
        match self.node(number).map(|node| node.value()) {
            Some(Node::Element(element)) => element.name(),
            Some(Node::Text(_)) => "#text",
            Some(Node::Comment(_) | Node::ProcessingInstruction(_)) => "#comment",
            Some(Node::Document | Node::Fragment) => "#document",
            Some(Node::Doctype(doctype)) => doctype.name(),
            None => "",
        }
    }

    pub(crate) fn attribute(&self, number: Number, name: &str) -> Option<&str> {
        self.element(number)?.attr(name)
    }

    /// Names and values in the order of the text.
    pub(crate) fn attributes(&self, number: Number) -> Vec<(&str, &str)> {
        self.element(number).map(|element| element.value().attrs().collect()).unwrap_or_default()
    }

    /// `svg` and `math` where an element is of these, else empty.
    pub(crate) fn namespace(&self, number: Number) -> &'static str {
        match self.element(number).map(|element| &*element.value().name.ns) {
            Some("http://www.w3.org/2000/svg") => "svg",
            Some("http://www.w3.org/1998/Math/MathML") => "math",
            _ => "",
        }
    }

    /// All text within the nodes.
    pub(crate) fn text(&self, nodes: &[Number]) -> String {
        let within = nodes.iter().filter_map(|number| self.node(*number)).flat_map(|node| node.descendants());
        within.filter_map(|node| node.value().as_text()).map(|text| &**text).collect()
    }

    pub(crate) fn parent(&self, number: Number) -> Option<Number> {
        self.node(number)?.parent().map(|node| self.number(node))
    }

    pub(crate) fn first_child(&self, number: Number) -> Option<Number> {
        self.node(number)?.first_child().map(|node| self.number(node))
    }

    pub(crate) fn last_child(&self, number: Number) -> Option<Number> {
        self.node(number)?.last_child().map(|node| self.number(node))
    }

    pub(crate) fn previous_sibling(&self, number: Number) -> Option<Number> {
        self.node(number)?.prev_sibling().map(|node| self.number(node))
    }

    pub(crate) fn next_sibling(&self, number: Number) -> Option<Number> {
        self.node(number)?.next_sibling().map(|node| self.number(node))
    }

    /// True where `inner` is below `outer`, or is it.
    pub(crate) fn contains(&self, outer: Number, inner: Number) -> bool {
        let mut at = self.node(inner);
        while let Some(node) = at {
            if self.number(node) == outer {
                return true;
            }
            at = node.parent();
        }
        false
    }
}

/// Each once, where it came first.
pub(super) fn distinct(nodes: impl IntoIterator<Item = Number>) -> Vec<Number> {
    let mut seen = HashSet::new();
    nodes.into_iter().filter(|number| seen.insert(*number)).collect()
}
