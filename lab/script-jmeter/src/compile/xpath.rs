//! `XPath` extractors and assertions, of both editions that JMeter has.

use super::Compiler;
use super::scoped::{scope_of, variable_scope};
use crate::plan::xpath::{XPathAssertion, XPathEdition, XPathExtractor, XPathText};
use crate::text::Text;
use crate::tree::Element;
use crate::xpath::{self, Markup};

impl Compiler<'_> {
    pub(super) fn xpath_extractor(&mut self, element: &Element) -> Option<XPathExtractor> {
        let is_second = element.tag == "XPath2Extractor";
        let prefix = if is_second { "XPathExtractor2" } else { "XPathExtractor" };
        let name = |property: &str| format!("{prefix}.{property}");
        let edition = if is_second {
            XPathEdition::Second { namespaces: self.prop(element, &name("namespaces")) }
        } else {
            XPathEdition::First(self.markup(element, prefix)?)
        };
        Some(XPathExtractor {
            element: element.name.clone(),
            edition,
            scope: scope_of(element),
            variable: variable_scope(element),
            name: self.prop(element, &name("refname")),
            expression: self.xpath_text(element, &name("xpathQuery"))?,
            number: match element.props.get(&name("matchNumber")) {
                Some(_) => self.prop(element, &name("matchNumber")),
                None => Text::literal("-1"),
            },
            default: self.prop(element, &name("default")),
            wants_fragment: element.props.is(&name("fragment")),
        })
    }

    pub(super) fn xpath_assertion(&mut self, element: &Element) -> Option<XPathAssertion> {
        let edition = if element.tag == "XPath2Assertion" {
            XPathEdition::Second { namespaces: self.prop(element, "XPath.namespaces") }
        } else {
            XPathEdition::First(self.markup(element, "XPath")?)
        };
        Some(XPathAssertion {
            edition,
            variable: variable_scope(element),
            expression: self.xpath_text(element, "XPath.xpath")?,
            is_negated: element.props.is("XPath.negate"),
        })
    }

    /// How an element of the first edition reads its document; none where it asks for what is not done.
    fn markup(&mut self, element: &Element, prefix: &str) -> Option<Markup> {
        let is = |property: &str| element.props.is(&format!("{prefix}.{property}"));
        if is("validate") {
            let message = "documents are not validated, since nothing outside of them is read; leave the box empty, and check what \
                           matters with an XPath Assertion";
            self.fault(element, message.to_owned());
            return None;
        }
        Some(match (is("tolerant"), is("namespace")) {
            (true, _) => Markup::Html,
            (false, true) => Markup::Xml,
            (false, false) => Markup::XmlWithoutNamespaces,
        })
    }

    fn xpath_text(&mut self, element: &Element, property: &str) -> Option<XPathText> {
        let raw = element.props.text(property);
        let text = self.text(element, if raw.trim().is_empty() { "/" } else { raw });
        let Some(source) = text.as_literal() else { return Some(XPathText::Text(text)) };
        match xpath::compile(source) {
            Ok(compiled) => Some(XPathText::Fixed { source: source.to_owned(), compiled }),
            Err(message) => {
                self.fault(element, message);
                None
            }
        }
    }
}
