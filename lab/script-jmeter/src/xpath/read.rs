//! Documents of responses: XML with or without namespaces, and HTML as browsers read it. Nothing outside of the text is ever read.

use super::tree::{Document, Name, NodeData};
use roxmltree::ParsingOptions;
use scraper::{Html, Node as HtmlNode};
use xpath_eval::NodeKind;

/// Bytes of one document, its nodes, and elements within elements.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
const NODES_MAX: usize = 1_000_000;
const DEPTH_MAX: usize = 1_000;

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    Xml,
    /// Names are those that are written, prefixes included.
    XmlWithoutNamespaces,
    Html,
}

impl Document {
    /// The message says why the text is no document.
    pub(crate) fn read(text: &str, markup: Markup) -> Result<Self, String> {
        if text.len() > DOCUMENT_BYTES_MAX {
            return Err(format!(
                "the document has {} bytes and at most {DOCUMENT_BYTES_MAX} are searched with XPath",
                text.len()
            ));
        }
        match markup {
            Markup::Html => read_html(text),
            markup => read_xml(text, markup == Markup::Xml),
        }
    }
}

fn read_xml(text: &str, has_namespaces: bool) -> Result<Document, String> {
    // Entities that the document itself declares are expanded, as far as the parser's own bounds on them go.
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX as u32, ..ParsingOptions::default() };
    let parsed = roxmltree::Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let written = |range: core::ops::Range<usize>| text.get(range).unwrap_or_default();
    let named = |qualified: &str, local: &str, namespace: Option<&str>| {
        let local_at = if has_namespaces { qualified.len().saturating_sub(local.len()) } else { 0 };
        let namespace = namespace.filter(|_| has_namespaces).map(Into::into);
        Name { namespace, qualified: qualified.into(), local_at }
    };
    let mut builder = Builder::new();
    let first = parsed.root().first_child();
    walk(
        first,
        |node| node.first_child(),
        |node| node.next_sibling(),
        |visit| {
            let node = match visit {
                Visit::Close(node) => {
                    if node.is_element() {
                        builder.close();
                    }
                    return Ok(());
                }
                Visit::Open(node) => node,
            };
            match node.node_type() {
                roxmltree::NodeType::Element => {
                    let tag = node.tag_name();
                    let source = written(node.range());
                    let length = source.find(|letter: char| letter.is_whitespace() || "/>".contains(letter));
                    let qualified = source.get(1..length.unwrap_or(source.len())).unwrap_or(tag.name());
                    let attributes = node.attributes().map(|attribute| {
                        let qualified = written(attribute.range_qname());
                        (named(qualified, attribute.name(), attribute.namespace()), attribute.value())
                    });
                    builder.open(named(qualified, tag.name(), tag.namespace()), attributes)
                }
                roxmltree::NodeType::Text => {
                    builder.leaf(NodeKind::Text, "", node.text().unwrap_or_default())
                }
                roxmltree::NodeType::Comment => {
                    builder.leaf(NodeKind::Comment, "", node.text().unwrap_or_default())
                }
                roxmltree::NodeType::PI => {
                    let (target, value) =
                        node.pi().map_or(("", ""), |pi| (pi.target, pi.value.unwrap_or("")));
                    builder.leaf(NodeKind::ProcessingInstruction, target, value)
                }
                roxmltree::NodeType::Root => Ok(()),
            }
        },
    )?;
    let namespaces = parsed.root_element().namespaces();
    let namespaces = namespaces
        .filter_map(|namespace| Some((namespace.name()?.to_owned(), namespace.uri().to_owned())))
        .filter(|_| has_namespaces);
    Ok(builder.end(namespaces.collect()))
}

fn read_html(text: &str) -> Result<Document, String> {
    let parsed = Html::parse_document(text);
    let mut builder = Builder::new();
    let first = parsed.tree.root().first_child();
    walk(
        first,
        |node| node.first_child(),
        |node| node.next_sibling(),
        |visit| match visit {
            Visit::Open(node) => match node.value() {
                HtmlNode::Element(element) => {
                    let attributes = element.attrs().map(|(name, value)| (plain(name), value));
                    builder.open(plain(element.name()), attributes)
                }
                HtmlNode::Text(text) => builder.leaf(NodeKind::Text, "", text),
                HtmlNode::Comment(comment) => builder.leaf(NodeKind::Comment, "", comment),
                _ => Ok(()),
            },
            Visit::Close(node) => {
                if node.value().is_element() {
                    builder.close();
                }
                Ok(())
            }
        },
    )?;
    Ok(builder.end(Vec::new()))
}

/// A node of a parser's tree, before and behind those within it.
enum Visit<N> {
    Open(N),
    Close(N),
}

/// Visits nodes beside each other with all that is within them, however deep they are.
fn walk<N: Copy>(
    first: Option<N>,
    first_child: impl Fn(N) -> Option<N>,
    next_sibling: impl Fn(N) -> Option<N>,
    mut visit: impl FnMut(Visit<N>) -> Result<(), String>,
) -> Result<(), String> {
    let (mut open, mut next) = (Vec::new(), first);
    loop {
        while let Some(node) = next {
            visit(Visit::Open(node))?;
            open.push(node);
            next = first_child(node);
        }
        let Some(node) = open.pop() else { return Ok(()) };
        visit(Visit::Close(node))?;
        next = next_sibling(node);
    }
}

/// A name of HTML, which has no prefix.
fn plain(name: &str) -> Name {
    Name { namespace: None, qualified: name.into(), local_at: 0 }
}

/// Puts nodes one behind the other.
struct Builder {
    nodes: Vec<NodeData>,
    /// Elements that are open, the root first, each with its last child.
    open: Vec<(usize, Option<usize>)>,
}

impl Builder {
    fn new() -> Self {
        let root = node(NodeKind::Root, 0, Name::default(), "");
        Self { nodes: vec![root], open: vec![(0, None)] }
    }

    fn add(&mut self, mut data: NodeData) -> Result<usize, String> {
        let at = self.nodes.len();
        if at >= NODES_MAX {
            return Err(format!("the document has more than {NODES_MAX} nodes"));
        }
        let Some((parent, last)) = self.open.last_mut() else { return Ok(at) };
        data.parent = *parent;
        data.end = at + 1;
        if let Some(before) = last.replace(at) {
            self.nodes[before].next_sibling = Some(at);
        }
        self.nodes.push(data);
        Ok(at)
    }

    fn open<'a>(
        &mut self,
        name: Name,
        attributes: impl Iterator<Item = (Name, &'a str)>,
    ) -> Result<(), String> {
        if self.open.len() > DEPTH_MAX {
            return Err(format!("the document has elements more than {DEPTH_MAX} deep"));
        }
        let at = self.add(node(NodeKind::Element, 0, name, ""))?;
        for (name, value) in attributes {
            let mut attribute = node(NodeKind::Attribute, at, name, value);
            attribute.end = self.nodes.len() + 1;
            self.nodes.push(attribute);
            self.nodes[at].attributes += 1;
        }
        self.open.push((at, None));
        Ok(())
    }

    fn leaf(&mut self, kind: NodeKind, name: &str, text: &str) -> Result<(), String> {
        // Texts that follow each other are one (XPath 1.0, 5.7).
        if kind == NodeKind::Text
            && let Some((_, Some(last))) = self.open.last()
            && self.nodes[*last].kind == NodeKind::Text
        {
            let joined = format!("{}{text}", self.nodes[*last].text);
            self.nodes[*last].text = joined.into();
            return Ok(());
        }
        self.add(node(kind, 0, plain(name), text)).map(drop)
    }

    fn close(&mut self) {
        if self.open.len() > 1
            && let Some((at, _)) = self.open.pop()
        {
            self.nodes[at].end = self.nodes.len();
        }
    }

    fn end(mut self, namespaces: Vec<(String, String)>) -> Document {
        while self.open.len() > 1 {
            self.close();
        }
        self.nodes[0].end = self.nodes.len();
        Document::new(self.nodes, namespaces)
    }
}

fn node(kind: NodeKind, parent: usize, name: Name, text: &str) -> NodeData {
    NodeData { kind, parent, name, text: text.into(), attributes: 0, end: 0, next_sibling: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_bounded() {
        let of = |text: &str| Document::read(text, Markup::Xml).unwrap_err();
        assert!(of(&" ".repeat(DOCUMENT_BYTES_MAX + 1)).contains("16777217 bytes"));
        let deep = "<a>".repeat(DEPTH_MAX + 1) + &"</a>".repeat(DEPTH_MAX + 1);
        assert!(of(&deep).contains("1000 deep"), "{}", of(&deep));
        let deep = "<a>".repeat(DEPTH_MAX) + &"</a>".repeat(DEPTH_MAX);
        assert!(Document::read(&deep, Markup::Xml).is_ok());
        let many = format!("<a>{}</a>", "<b/>".repeat(NODES_MAX));
        assert!(Document::read(&many, Markup::Xml).is_err());
        let deep = "<div>".repeat(DEPTH_MAX + 1);
        assert!(Document::read(&deep, Markup::Html).is_err());
    }

    #[test]
    fn entities_of_the_outside_are_not_read_and_bombs_not_expanded() {
        let external = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/hostname\">]><a>&x;</a>";
        let read = Document::read(external, Markup::Xml);
        let text = read.map(|document| document.text_of(0));
        assert!(text.as_deref().is_err() || text.as_deref() == Ok(""), "{text:?}");
        let levels = (1..30).map(|level| format!("<!ENTITY e{level} \"&e{0};&e{0};\">", level - 1));
        let levels: Vec<_> = levels.collect();
        let bomb = format!("<!DOCTYPE a [<!ENTITY e0 \"ha\">{}]><a>&e29;</a>", levels.concat());
        let error = Document::read(&bomb, Markup::Xml).unwrap_err();
        assert!(error.contains("loop"), "{error}");
        let declared = "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>";
        assert_eq!(Document::read(declared, Markup::Xml).unwrap().text_of(0), "y");
    }

    #[test]
    fn what_is_no_xml_says_where() {
        let error = Document::read("{\"a\":1}", Markup::Xml).unwrap_err();
        assert!(error.contains("1:1"), "{error}");
        assert!(Document::read("", Markup::Xml).is_err());
        assert!(Document::read("<a b=c/>", Markup::Xml).is_err());
    }
}
