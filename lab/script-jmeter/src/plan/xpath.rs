//! `XPath` extractors and assertions.

use super::sample_scope::SampleScope;
use crate::text::Text;
use crate::xpath::{self, Markup};

/// An expression, compiled beforehand where nothing in it changes.
#[derive(Debug)]
pub(crate) enum XPathText {
    Fixed { source: String, compiled: xpath::XPathExpression },
    Text(Text),
}

/// The first `XPath` elements of JMeter have namespaces by their document, those of version 2 by a list.
#[derive(Debug)]
pub(crate) enum XPathEdition {
    First(Markup),
    Second {
        /// Lines of `prefix=namespace`.
        namespaces: Text,
    },
}

#[derive(Debug)]
pub(crate) struct XPathExtractor {
    /// What the element is called, for its messages.
    pub(crate) element: String,
    pub(crate) edition: XPathEdition,
    pub(crate) scope: SampleScope,
    /// A variable instead of a response.
    pub(crate) variable: Option<String>,
    pub(crate) name: Text,
    pub(crate) expression: XPathText,
    pub(crate) number: Text,
    pub(crate) default: Text,
    /// Whole parts of the document instead of their texts.
    pub(crate) wants_fragment: bool,
}

#[derive(Debug)]
pub(crate) struct XPathAssertion {
    pub(crate) edition: XPathEdition,
    pub(crate) variable: Option<String>,
    pub(crate) expression: XPathText,
    pub(crate) is_negated: bool,
}
