//! A plan's XML as a tree of elements with their properties: bounded, without DTDs, disabled elements left out.

use crate::error::{JmeterError, PlanError, PlanErrorKind};
use roxmltree::{Document, Node, ParsingOptions};
use std::fs;
use std::path::Path;

/// Plans with recorded pages reach a few megabytes; this is a slip of the file's name.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;
/// XML nodes in one file.
const NODES_MAX: u32 = 4_000_000;
/// Elements within elements. JMeter's GUI cannot show as many.
pub(crate) const DEPTH_MAX: usize = 100;
/// Tags within tags, of which an element of the plan takes up to three.
const TAG_DEPTH_MAX: usize = 3 * DEPTH_MAX;

/// The property that holds the name of an element within another one.
pub(crate) const ELEMENT_NAME: &str = "TestElement.name";

/// An element of the plan that is enabled, with those below it.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    /// The tag in the file, such as `HTTPSamplerProxy`.
    pub tag: String,
    /// What its author called it: `testname`.
    pub name: String,
    /// From 1.
    pub line: u32,
    pub props: Props,
    pub children: Vec<Element>,
}

/// Properties by name, in the order of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Props(Vec<(String, Value)>);

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Element(Props),
    List(Vec<Value>),
}

impl Props {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of a property; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.text(name).trim() {
            "" => None,
            text => Some(text.eq_ignore_ascii_case("true")),
        }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    pub(crate) fn element(&self, name: &str) -> Option<&Self> {
        match self.get(name) {
            Some(Value::Element(props)) => Some(props),
            _ => None,
        }
    }

    pub(crate) fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The elements of a list of them.
    pub(crate) fn elements(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.list(name).iter().filter_map(|value| match value {
            Value::Element(props) => Some(props),
            _ => None,
        })
    }

    /// The texts of a list of them.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list(name).iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Reads a file's elements: those below its root.
pub(crate) fn read_file(path: &Path) -> Result<Vec<Element>, JmeterError> {
    let unreadable = |cause| JmeterError::Unreadable { path: path.to_owned(), cause };
    let bytes = fs::metadata(path).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(JmeterError::TooLarge { path: path.to_owned(), bytes, limit: FILE_BYTES_MAX });
    }
    Ok(read(path, &fs::read(path).map_err(unreadable)?)?)
}

/// Reads a plan's text; the elements below its root.
fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Element>, PlanError> {
    let fault = |line, kind| PlanError::new(path, line, kind);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        fault(1 + memchr::memchr_iter(b'\n', before).count() as u32, PlanErrorKind::Encoding)
    })?;
    if let Some(line) = too_deep(text) {
        return Err(fault(line, PlanErrorKind::Depth { limit: DEPTH_MAX }));
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => fault(doctype_line(text), PlanErrorKind::Dtd),
        error => fault(error.pos().row, PlanErrorKind::Xml(error.to_string())),
    })?;
    let root = document.root_element();
    let line = |node: &Node<'_, '_>| document.text_pos_at(node.range().start).row;
    if root.tag_name().name() != "jmeterTestPlan" {
        let found = root.tag_name().name().to_owned();
        return Err(fault(line(&root), PlanErrorKind::NoPlan { found }));
    }
    let version = root.attribute("version").unwrap_or_default();
    if version != "1.2" {
        let jmeter = root.attribute("jmeter").unwrap_or_default().to_owned();
        return Err(fault(line(&root), PlanErrorKind::Version { version: version.to_owned(), jmeter }));
    }
    let Some(tree) = elements(root).find(|node| node.has_tag_name("hashTree")) else {
        return Err(fault(line(&root), PlanErrorKind::NoPlan { found: "nothing".to_owned() }));
    };
    Ok(children(&document, tree))
}

/// The line of a tag that stands deeper than any plan's: what reads the text must not be led into endless depths.
fn too_deep(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        let start = at + found;
        let rest = &bytes[start..];
        let skip = |opening: &[u8], closing: &[u8]| {
            rest.starts_with(opening).then(|| {
                memchr::memmem::find(rest, closing).map_or(bytes.len(), |end| start + end + closing.len())
            })
        };
        if let Some(end) = skip(b"<!--", b"-->").or_else(|| skip(b"<![CDATA[", b"]]>")) {
            at = end;
            continue;
        }
        let end = memchr::memchr(b'>', rest).map_or(bytes.len(), |end| start + end);
        if rest.starts_with(b"</") {
            depth = depth.saturating_sub(1);
        } else if !rest.starts_with(b"<?") && !rest.starts_with(b"<!") && bytes.get(end - 1) != Some(&b'/') {
            depth += 1;
        }
        if depth > TAG_DEPTH_MAX {
            return Some(1 + memchr::memchr_iter(b'\n', &bytes[..start]).count() as u32);
        }
        at = end;
    }
    None
}

fn doctype_line(text: &str) -> u32 {
    let before = text.find("<!DOCTYPE").map_or("", |at| &text[..at]);
    1 + before.matches('\n').count() as u32
}

fn elements<'a, 'input>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(Node::is_element)
}

/// The elements of a `hashTree`, each followed by one with what is below it.
fn children(document: &Document<'_>, tree: Node<'_, '_>) -> Vec<Element> {
    let mut list = Vec::new();
    let mut nodes = elements(tree).peekable();
    while let Some(node) = nodes.next() {
        if node.has_tag_name("hashTree") {
            continue;
        }
        let below = nodes.next_if(|next| next.has_tag_name("hashTree"));
        let is_enabled = node.attribute("enabled").is_none_or(|text| !text.eq_ignore_ascii_case("false"));
        if is_enabled {
            list.push(Element {
                tag: node.tag_name().name().to_owned(),
                name: node.attribute("testname").unwrap_or_default().to_owned(),
                line: document.text_pos_at(node.range().start).row,
                props: props(node),
                children: below.map(|below| children(document, below)).unwrap_or_default(),
            });
        }
    }
    list
}

fn props(node: Node<'_, '_>) -> Props {
    let named = elements(node).filter_map(|child| {
        let part = |name| elements(child).find(|part| part.has_tag_name(name));
        // Beans write some numbers with their names as elements, and listeners what they save.
        let name = child.attribute("name").map(str::to_owned).or_else(|| part("name").map(text_of))?;
        match part("value") {
            Some(inner) if child.attribute("name").is_none() => Some((name, value_of_bean(inner))),
            _ => Some((name, value(child)?)),
        }
    });
    Props(named.collect())
}

/// A text, or settings with a tag each.
fn value_of_bean(node: Node<'_, '_>) -> Value {
    let settings = elements(node).map(|tag| (tag.tag_name().name().to_owned(), Value::Text(text_of(tag))));
    let settings: Vec<_> = settings.collect();
    if settings.is_empty() { Value::Text(text_of(node)) } else { Value::Element(Props(settings)) }
}

fn value(node: Node<'_, '_>) -> Option<Value> {
    Some(match node.tag_name().name() {
        "collectionProp" => Value::List(elements(node).filter_map(value).collect()),
        "elementProp" => Value::Element(named_props(node)),
        // Settings of what is saved: files have columns of their own here.
        "objProp" | "mapProp" => return None,
        _ => Value::Text(text_of(node)),
    })
}

/// The properties of an element within another one. Its name is one of them, which JMeter writes as an attribute.
fn named_props(node: Node<'_, '_>) -> Props {
    let mut props = props(node);
    if let Some(name) = node.attribute("testname").filter(|_| props.get(ELEMENT_NAME).is_none()) {
        props.0.push((ELEMENT_NAME.to_owned(), Value::Text(name.to_owned())));
    }
    props
}

fn text_of(node: Node<'_, '_>) -> String {
    node.children().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn check(text: &str, expected: &Expect) {
        fn show(list: &[Element], depth: usize, out: &mut String) {
            for element in list {
                let indent = "  ".repeat(depth);
                let _ = writeln!(out, "{indent}{} {} {:?}", element.line, element.tag, element.name);
                show(&element.children, depth + 1, out);
            }
        }
        let shown = match read(Path::new("a.jmx"), text.as_bytes()) {
            Ok(list) => {
                let mut out = String::new();
                show(&list, 0, &mut out);
                out
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn elements_stand_above_what_follows_them_and_disabled_ones_are_left_out() {
        check(
            "<jmeterTestPlan version=\"1.2\">\n<hashTree>\n<TestPlan testname=\"P\"/>\n<hashTree>\n\
             <A testname=\"off\" enabled=\"false\"/><hashTree><B/></hashTree>\n<C testname=\"c\"/>\n<D/><hashTree/>\
             </hashTree></hashTree></jmeterTestPlan>",
            &expect![[r#"
                3 TestPlan "P"
                  6 C "c"
                  7 D ""
            "#]],
        );
    }

    #[test]
    fn what_is_no_plan_is_named_with_its_line() {
        check(
            "<a>\n<b></a>",
            &expect![
                "a.jmx:2: this is no XML: expected 'b' tag, not 'a' at 2:4; open the plan in JMeter and save it again"
            ],
        );
        check(
            "<html/>",
            &expect!["a.jmx:1: this is no plan of JMeter: it begins with `html`, not with `jmeterTestPlan`"],
        );
        check(
            "<jmeterTestPlan version=\"1.0\" jmeter=\"2.0\"/>",
            &expect![
                "a.jmx:1: the plan has version `1.0` (JMeter 2.0) and 1.2 is known; open it in JMeter 5 and save it again"
            ],
        );
        check(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"y\">]>\n<jmeterTestPlan/>",
            &expect![
                "a.jmx:2: the file declares a document type (DTD), which no plan of JMeter has and which is never read; remove the `<!DOCTYPE …>`"
            ],
        );
        check(
            &"<a>\n".repeat(100_000),
            &expect![
                "a.jmx:301: elements stand more than 100 deep, which is the limit; move the inner ones to a Test Fragment and include it"
            ],
        );
    }
}
