//! `XPath` extractors and assertions over a sample's body or a variable. Messages are JMeter's, but for what its XML parser says.

use crate::patterns::Pick;
use crate::plan::xpath::{XPathAssertion, XPathEdition, XPathExtractor, XPathText};
use crate::run::context::Context;
use crate::run::extract::results_in;
use crate::run::result::{AssertionResult, SampleResult};
use crate::xpath::{self, Document, FindError, Found, Markup};
use std::borrow::Cow;

/// As JMeter's XML writer of the second edition indents.
const INDENT: &str = "   ";
/// Matches that are numbered as variables; further ones are left.
const MATCHES_MAX: usize = 100_000;

/// Why nothing can be found.
enum Failure {
    /// The text is no document.
    NoDocument(String),
    /// The expression cannot be evaluated.
    NoValue(String),
}

impl Failure {
    fn message(self) -> String {
        match self {
            Self::NoDocument(message) | Self::NoValue(message) => message,
        }
    }
}

pub(crate) fn extract(
    extractor: &XPathExtractor,
    sample: &mut SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    let name = extractor.name.value(context);
    let default = extractor.default.value(context);
    let counted = format!("{name}_matchNr");
    let old = context.vars.get(&counted).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    context.vars.set(&name, &default);
    context.vars.set(&counted, "0");
    context.vars.remove(&format!("{name}_1"));
    let texts: Vec<String> = if let Some(variable) = &extractor.variable {
        let text = context.vars.get(variable).filter(|text| !text.is_empty());
        text.map(str::to_owned).into_iter().collect()
    } else {
        let results = results_in(extractor.scope, sample, parts);
        results.map(|result| result.body_text().into_owned()).collect()
    };
    if texts.is_empty() && extractor.variable.is_some() {
        return;
    }
    let (mut values, mut is_computed) = (Vec::new(), false);
    for text in &texts {
        match search(text, &extractor.edition, &extractor.expression, context) {
            Ok((document, found, _)) => {
                is_computed |= !matches!(found, Found::Nodes(_));
                values.extend(values_of(&document, found, &extractor.edition, extractor.wants_fragment));
            }
            Err(failure) => {
                // The sample stays as good as it was, as in JMeter.
                let failure = format!("{}\nSee log file for further details.", failure.message());
                return sample
                    .note_assertion(AssertionResult { name: extractor.element.as_str().into(), failure });
            }
        }
    }
    let number = extractor.number.number(context).unwrap_or(-1);
    let pick = Pick::of_number(number);
    // What is computed is taken whatever number is wanted, where nodes are not Saxon's.
    let takes_all = pick == Pick::All || is_computed && matches!(extractor.edition, XPathEdition::First(_));
    if !takes_all {
        let place = pick.place(values.len(), &mut context.thread.random);
        values = place.map(|place| values.swap_remove(place)).into_iter().collect();
    }
    values.truncate(MATCHES_MAX);
    context.vars.set(&counted, &values.len().to_string());
    if let Some(Some(first)) = values.first() {
        context.vars.set(&name, first);
    }
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            context.vars.set(&format!("{name}_{}", at + 1), value);
        }
    }
    (values.len()..old).for_each(|at| context.vars.remove(&format!("{name}_{}", at + 1)));
}

/// What is found as texts; none where a node has none.
fn values_of(
    document: &Document,
    found: Found,
    edition: &XPathEdition,
    is_whole: bool,
) -> Vec<Option<String>> {
    let places = match found {
        Found::Boolean(is_true) => return vec![Some(is_true.to_string())],
        Found::Text(text) => return vec![Some(text)],
        Found::Nodes(places) => places,
    };
    let value = |place: usize| match (edition, is_whole) {
        (XPathEdition::First(_), true) => Some(document.fragment(place, None)),
        (XPathEdition::First(_), false) if document.is_element(place) => {
            document.first_text_of(place).map(str::to_owned)
        }
        (XPathEdition::Second { .. }, true) => {
            Some(document.attribute(place).unwrap_or_else(|| document.fragment(place, Some(INDENT))))
        }
        (_, false) => Some(document.text_of(place)),
    };
    places.into_iter().map(value).collect()
}

/// The document, what the expression is in it, and the expression as it was written.
fn search<'a>(
    text: &str,
    edition: &XPathEdition,
    expression: &'a XPathText,
    context: &mut Context<'_>,
) -> Result<(Document, Found, Cow<'a, str>), Failure> {
    let compiled;
    let (expression, source) = match expression {
        XPathText::Fixed { source, compiled } => (compiled, Cow::Borrowed(source.as_str())),
        XPathText::Text(text) => {
            let source = text.value(context);
            compiled = xpath::compile(&source).map_err(Failure::NoValue)?;
            (&compiled, Cow::Owned(source))
        }
    };
    let (markup, list) = match edition {
        XPathEdition::First(markup) => (*markup, None),
        XPathEdition::Second { namespaces } => (Markup::Xml, Some(namespaces.value(context))),
    };
    let document = Document::read(text, markup).map_err(Failure::NoDocument)?;
    let namespace_of = |prefix: &str| match &list {
        None => document.namespace_of_root(prefix),
        Some(list) => list.lines().find_map(|line| {
            let (known, namespace) = line.split_once('=')?;
            (known.trim() == prefix).then(|| namespace.trim().to_owned())
        }),
    };
    let found = xpath::find(&document, expression, &namespace_of).map_err(|error| {
        Failure::NoValue(match error {
            FindError::UnknownPrefix(prefix) if list.is_none() => {
                format!("Prefix must resolve to a namespace: {prefix}")
            }
            FindError::UnknownPrefix(prefix) => format!(
                "net.sf.saxon.s9api.SaxonApiException: Namespace prefix '{prefix}' has not been declared"
            ),
            FindError::TooLong(message) | FindError::Other(message) => message,
        })
    })?;
    Ok((document, found, source))
}

/// The failure's message; empty where the assertion holds.
pub(crate) fn judge(assertion: &XPathAssertion, result: &SampleResult, context: &mut Context<'_>) -> String {
    let is_first = matches!(assertion.edition, XPathEdition::First(_));
    let text = match &assertion.variable {
        Some(variable) => context.vars.get(variable).unwrap_or_default().to_owned(),
        None => result.body_text().into_owned(),
    };
    if text.is_empty() && is_first {
        return "Response was null".to_owned();
    }
    let (found, source) = match search(&text, &assertion.edition, &assertion.expression, context) {
        Ok((_, found, source)) => (found, source),
        Err(Failure::NoDocument(message)) if is_first => return format!("SAXException: {message}"),
        Err(Failure::NoValue(message)) if is_first => return format!("TransformerException: {message}"),
        Err(failure) => {
            let source = match &assertion.expression {
                XPathText::Fixed { source, .. } => source.clone(),
                XPathText::Text(text) => text.value(context),
            };
            return format!(
                "Exception occurred computing assertion with XPath:{source}, error:{}",
                failure.message()
            );
        }
    };
    let is_negated = assertion.is_negated;
    let is_met = match &found {
        Found::Nodes(places) => !places.is_empty(),
        Found::Boolean(is_true) => *is_true,
        Found::Text(_) if is_first => return format!("Cannot understand: {source}"),
        Found::Text(_) => true,
    };
    match (is_met == is_negated, is_negated) {
        (false, _) => String::new(),
        (true, true) if is_first && matches!(found, Found::Nodes(_)) => {
            "Specified XPath was found... Turn off negate if this is not desired".to_owned()
        }
        (true, false) if is_first && matches!(found, Found::Nodes(_)) => format!("No Nodes Matched {source}"),
        (true, true) => format!("Nodes Matched for {source}"),
        (true, false) => format!("No Nodes Matched for {source}"),
    }
}
