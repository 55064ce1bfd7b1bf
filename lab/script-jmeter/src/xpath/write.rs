//! Parts of a document as XML: what an extractor gives that is to return whole fragments.

use super::tree::{Document, NodeData};
use std::fmt::Write as _;
use xpath_eval::NodeKind;

impl Document {
    /// A node with all that is within it, on lines of their own where elements stand alone and an indent is given. Of an attribute its
    /// value.
    pub(crate) fn fragment(&self, place: usize, indent: Option<&str>) -> String {
        let mut out = String::new();
        let node = &self.nodes[place];
        match node.kind {
            NodeKind::Attribute => out.push_str(&node.text),
            _ => self.write(place, 0, indent, true, &mut out),
        }
        out
    }

    /// An attribute as it stands in its element.
    pub(crate) fn attribute(&self, place: usize) -> Option<String> {
        let node = &self.nodes[place];
        (node.kind == NodeKind::Attribute).then(|| attribute(node).trim_start().to_owned())
    }

    /// Documents are at most so deep that this may call itself.
    fn write(&self, place: usize, depth: usize, indent: Option<&str>, is_outermost: bool, out: &mut String) {
        let node = &self.nodes[place];
        match node.kind {
            NodeKind::Text => out.push_str(&escaped(&node.text, false)),
            NodeKind::Comment => {
                let _ = write!(out, "<!--{}-->", node.text);
            }
            NodeKind::ProcessingInstruction => {
                let _ = write!(out, "<?{} {}?>", node.name.qualified, node.text);
            }
            NodeKind::Root => {
                for child in self.children(place) {
                    self.write(child, depth, indent, true, out);
                }
            }
            NodeKind::Element => {
                let _ = write!(out, "<{}", node.name.qualified);
                if is_outermost {
                    self.write_namespaces(node, out);
                }
                let attributes = &self.nodes[place + 1..place + 1 + node.attributes];
                for data in attributes {
                    out.push_str(&attribute(data));
                }
                if self.first_child(place).is_none() {
                    out.push_str("/>");
                    return;
                }
                out.push('>');
                let indent_within = indent
                    .filter(|_| self.children(place).all(|child| self.nodes[child].kind != NodeKind::Text));
                for child in self.children(place) {
                    line(indent_within, depth + 1, out);
                    self.write(child, depth + 1, indent_within, false, out);
                }
                line(indent_within, depth, out);
                let _ = write!(out, "</{}>", node.name.qualified);
            }
            NodeKind::Attribute | NodeKind::Namespace => {}
        }
    }

    /// The prefixes of the document's outermost element, that of the node itself first.
    fn write_namespaces(&self, node: &NodeData, out: &mut String) {
        let own = node.name.qualified.split_once(':').map_or("", |(prefix, _)| prefix);
        let mut all: Vec<_> = self.namespaces.iter().filter(|(prefix, _)| prefix != "xml").collect();
        all.sort_by_key(|(prefix, _)| prefix != own);
        for (prefix, namespace) in all {
            let _ = write!(out, " xmlns:{prefix}=\"{}\"", escaped(namespace, true));
        }
    }

    fn children(&self, place: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first_child(place), |at| self.nodes[*at].next_sibling)
    }
}

fn line(indent: Option<&str>, depth: usize, out: &mut String) {
    if let Some(indent) = indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn attribute(data: &NodeData) -> String {
    format!(" {}=\"{}\"", data.name.qualified, escaped(&data.text, true))
}

fn escaped(text: &str, is_attribute: bool) -> String {
    let mut escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if is_attribute {
        escaped = escaped.replace('"', "&quot;");
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::{Document, Markup};

    #[test]
    fn elements_alone_stand_on_lines_of_their_own() {
        let document =
            Document::read("<a><b x=\"1 &lt; &quot;2\"><c>t</c><d/></b>tail</a>", Markup::Xml).unwrap();
        let place = (0..10).find(|at| document.is_element(*at) && document.text_of(*at) == "t").unwrap();
        assert_eq!(
            document.fragment(place, Some("   ")),
            "<b x=\"1 &lt; &quot;2\">\n   <c>t</c>\n   <d/>\n</b>"
        );
        assert_eq!(document.fragment(place, None), "<b x=\"1 &lt; &quot;2\"><c>t</c><d/></b>");
        assert_eq!(document.attribute(place + 1).unwrap(), "x=\"1 &lt; &quot;2\"");
        let outer = document.fragment(1, Some("   "));
        assert_eq!(
            outer, "<a><b x=\"1 &lt; &quot;2\"><c>t</c><d/></b>tail</a>",
            "mixed content stays as it is"
        );
    }
}
