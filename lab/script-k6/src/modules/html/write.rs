//! Nodes as HTML text, character for character as Go writes them, because scripts compare `html()` with texts.

use super::document::{Document, NodeRef, Number};
use ego_tree::iter::Edge;
use scraper::Node;

/// WHATWG HTML, 13.1.2: elements without an end tag, and those whose text is not escaped.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source",
    "track", "wbr",
];
const RAW: &[&str] = &["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "xmp"];

/// Elements whose first line end a parser drops, so that another is written before one that is there.
const LINED: &[&str] = &["pre", "listing", "textarea"];

impl Document {
    /// What is within the first of the nodes; empty where there is none.
    pub(crate) fn inner_html(&self, number: Number) -> String {
        let mut html = String::new();
        if let Some(node) = self.node(number) {
            write_children(&mut html, node);
        }
        html
    }
}

/// Without recursion: a page may be nested as deep as it likes, and the stacks of users are small.
fn write_children(html: &mut String, node: NodeRef<'_>) {
    // An element without an end tag, whose inside is left out.
    let mut skipped = None;
    for edge in node.traverse() {
        match edge {
            Edge::Open(within) | Edge::Close(within) if within.id() == node.id() => {}
            Edge::Open(within) if skipped.is_none() => {
                if !write_start(html, within) {
                    skipped = Some(within.id());
                }
            }
            Edge::Close(within) if skipped.is_none() => write_end(html, within),
            Edge::Close(within) if skipped == Some(within.id()) => skipped = None,
            Edge::Open(_) | Edge::Close(_) => {}
        }
    }
}

/// False where no end follows.
fn write_start(html: &mut String, node: NodeRef<'_>) -> bool {
    match node.value() {
        Node::Document | Node::Fragment => {}
        Node::Doctype(doctype) => {
            html.push_str("<!DOCTYPE ");
            html.push_str(doctype.name());
            html.push('>');
        }
        Node::Comment(comment) => {
            html.push_str("<!--");
            html.push_str(comment);
            html.push_str("-->");
        }
        Node::ProcessingInstruction(instruction) => {
            html.push_str("<!--?");
            html.push_str(instruction);
            html.push_str("-->");
        }
        Node::Text(text) => match parent_name(node) {
            Some(name) if RAW.contains(&name) => html.push_str(text),
            _ => escape(html, text),
        },
        Node::Element(element) => {
            html.push('<');
            html.push_str(element.name());
            for (name, value) in element.attrs() {
                html.extend([" ", name, "=\""]);
                escape(html, value);
                html.push('"');
            }
            if VOID.contains(&element.name()) {
                html.push_str("/>");
                return false;
            }
            html.push('>');
            let first = node.first_child().and_then(|child| child.value().as_text());
            if LINED.contains(&element.name()) && first.is_some_and(|text| text.starts_with('\n')) {
                html.push('\n');
            }
        }
    }
    true
}

fn write_end(html: &mut String, node: NodeRef<'_>) {
    if let Node::Element(element) = node.value() {
        html.extend(["</", element.name(), ">"]);
    }
}

fn parent_name(node: NodeRef<'_>) -> Option<&str> {
    node.parent()?.value().as_element().map(scraper::node::Element::name)
}

fn escape(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '\'' => html.push_str("&#39;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&#34;"),
            '\r' => html.push_str("&#13;"),
            other => html.push(other),
        }
    }
}
