//! Extractors: variables set from a response, named and numbered as JMeter's.

use crate::json::{Path, text_of};
use crate::patterns::{self, Groups, Pick, Template};
use crate::plan::{
    BoundaryExtractor, CssExtractor, Expression, JsonExtractor, RegexExtractor, SampleScope, Source,
};
use crate::run::context::Context;
use crate::run::result::SampleResult;
use crate::run::shared::Variables;
use scraper::{ElementRef, Html, Node, Selector};
use serde_json::Value;
use std::borrow::Cow;

/// Matches that are numbered as variables; further ones are left.
const MATCHES_MAX: usize = 100_000;
/// Elements that stand on lines of their own, as jsoup has them, and `br`.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "ins",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Results of a sample that are in a scope, in JMeter's order.
pub(crate) fn results_in<'a>(
    scope: SampleScope,
    sample: &'a SampleResult,
    parts: &'a [SampleResult],
) -> impl Iterator<Item = &'a SampleResult> {
    let main = (scope != SampleScope::Parts).then_some(sample);
    let parts: &[SampleResult] = if scope == SampleScope::Main { &[] } else { parts };
    main.into_iter().chain(parts)
}

/// The part of a sample that is looked at.
pub(crate) fn text_of_source<'a>(
    source: &Source,
    result: &'a SampleResult,
    vars: &'a Variables,
) -> Cow<'a, str> {
    match source {
        Source::Body => result.body_text(),
        Source::Whole => Cow::Owned(result.response_headers() + &result.body_text()),
        Source::UnescapedBody => Cow::Owned(patterns::unescape_html(&result.body_text())),
        Source::Headers => Cow::Owned(result.response_headers()),
        Source::RequestHeaders => result.request_headers(),
        Source::RequestData => match result.request_data() {
            Cow::Borrowed(data) => String::from_utf8_lossy(data),
            Cow::Owned(data) => Cow::Owned(String::from_utf8_lossy(&data).into_owned()),
        },
        Source::Url => Cow::Borrowed(result.url.as_deref().unwrap_or_default()),
        Source::Code => Cow::Borrowed(&result.code),
        Source::Message => Cow::Borrowed(&result.message),
        Source::Variable(name) => Cow::Borrowed(vars.get(name).unwrap_or_default()),
    }
}

/// Sets `name`, or `name_1` to `name_N` where all matches are wanted, with `name_matchNr`.
struct Naming<'a> {
    name: &'a str,
    pick: Pick,
    default: Option<String>,
}

impl Naming<'_> {
    fn keep(&self, values: &[String], context: &mut Context<'_>) {
        let Self { name, pick, default } = self;
        let counted = format!("{name}_matchNr");
        let old = context.vars.get(&counted).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        if let Some(default) = default {
            context.vars.set(name, default);
        }
        let count = if *pick == Pick::All {
            for (at, value) in values.iter().enumerate() {
                context.vars.set(&format!("{name}_{}", at + 1), value);
            }
            context.vars.set(&counted, &values.len().to_string());
            values.len()
        } else {
            if let Some(place) = pick.place(values.len(), &mut context.thread.random) {
                context.vars.set(name, &values[place]);
            }
            // An extractor before this one may have counted.
            context.vars.remove(&counted);
            0
        };
        for at in count..old {
            let numbered = format!("{name}_{}", at + 1);
            context.vars.remove(&numbered);
            clear_groups(&numbered, context.vars);
        }
    }
}

/// The default that is set where nothing is found; none where the variable then keeps its value.
fn default_of(text: String, is_empty: bool) -> Option<String> {
    (is_empty || !text.is_empty()).then_some(text)
}

pub(crate) fn regex(
    extractor: &RegexExtractor,
    sample: &SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    let name = extractor.name.value(context);
    let template = Template::read(&extractor.template.value(context));
    let pick = Pick::of_number(extractor.number.number(context).unwrap_or(0));
    let default = default_of(extractor.default.value(context), extractor.is_empty_default);
    let compiled;
    let expression = match &extractor.expression {
        Expression::Fixed(expression) => &**expression,
        Expression::Text(text) => match patterns::compile(&text.value(context)) {
            Ok(expression) => {
                compiled = expression;
                &compiled
            }
            Err(message) => {
                return context.shared.log(&format!("Regular Expression Extractor {name}: {message}"));
            }
        },
    };
    let most = match pick {
        Pick::Nth(number) => usize::try_from(number).unwrap_or(0),
        _ => MATCHES_MAX,
    };
    let mut found = Vec::new();
    for result in results_in(extractor.scope, sample, parts) {
        let text = text_of_source(&extractor.source, result, context.vars);
        found.extend(patterns::find_all(expression, &text, most - found.len()));
    }
    let values: Vec<String> = found.iter().map(|groups| template.fill(groups)).collect();
    clear_groups(&name, context.vars);
    if pick == Pick::All {
        for (at, groups) in found.iter().enumerate() {
            set_groups(&format!("{name}_{}", at + 1), groups, context.vars);
        }
        return Naming { name: &name, pick, default }.keep(&values, context);
    }
    // The place is drawn once: groups and value are of the same match.
    let place = pick.place(found.len(), &mut context.thread.random);
    if let Some(place) = place {
        set_groups(&name, &found[place], context.vars);
    }
    let pick = Pick::Nth(place.map_or(0, |place| i64::try_from(place).unwrap_or(0) + 1));
    Naming { name: &name, pick, default }.keep(&values, context);
}

fn set_groups(name: &str, groups: &Groups, vars: &mut Variables) {
    for (at, group) in groups.iter().enumerate() {
        let name = format!("{name}_g{at}");
        match group {
            Some(group) => vars.set(&name, group),
            // One that took no part in the match is no variable.
            None => vars.remove(&name),
        }
    }
    vars.set(&format!("{name}_g"), &groups.len().saturating_sub(1).to_string());
}

fn clear_groups(name: &str, vars: &mut Variables) {
    let counted = format!("{name}_g");
    let Some(count) = vars.get(&counted).and_then(|text| text.parse::<usize>().ok()) else { return };
    vars.remove(&counted);
    (0..=count).for_each(|at| vars.remove(&format!("{name}_g{at}")));
}

pub(crate) fn boundary(
    extractor: &BoundaryExtractor,
    sample: &SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    let name = extractor.name.value(context);
    let (left, right) = (extractor.left.value(context), extractor.right.value(context));
    let pick = Pick::of_number(extractor.number.number(context).unwrap_or(0));
    let default = default_of(extractor.default.value(context), extractor.is_empty_default);
    let mut values = Vec::new();
    for result in results_in(extractor.scope, sample, parts) {
        let text = text_of_source(&extractor.source, result, context.vars);
        add_between(&text, &left, &right, &mut values);
    }
    Naming { name: &name, pick, default }.keep(&values, context);
}

/// Adds what stands between two texts; without one of them it is one value, from the beginning or to the end.
fn add_between(text: &str, left: &str, right: &str, values: &mut Vec<String>) {
    let mut rest = text;
    while let Some(at) = rest.find(left).filter(|_| values.len() < MATCHES_MAX) {
        let after = &rest[at + left.len()..];
        let end = if right.is_empty() { Some(after.len()) } else { after.find(right) };
        let Some(end) = end else { break };
        values.push(after[..end].to_owned());
        // What stands between may begin another.
        rest = after;
        if left.is_empty() || right.is_empty() {
            break;
        }
    }
}

pub(crate) fn css(
    extractor: &CssExtractor,
    sample: &SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    let name = extractor.name.value(context);
    let (expression, attribute) = (extractor.expression.value(context), extractor.attribute.value(context));
    let pick = Pick::of_number(extractor.number.number(context).unwrap_or(0));
    let default = default_of(extractor.default.value(context), extractor.is_empty_default);
    let source = extractor.variable.clone().map_or(Source::Body, Source::Variable);
    let mut values: Vec<String> = Vec::new();
    let selector = match selector(&expression) {
        Ok(selector) => selector,
        Err(message) => {
            context.shared.log(&format!("CSS Selector Extractor {name}: {message}"));
            return Naming { name: &name, pick, default }.keep(&values, context);
        }
    };
    for result in results_in(extractor.scope, sample, parts) {
        let text = text_of_source(&source, result, context.vars);
        let document = Html::parse_document(&text);
        let found = document.select(&selector).take(MATCHES_MAX - values.len());
        values.extend(found.map(|element| match attribute.trim() {
            "" => shown_text(element),
            name => element.value().attr(name).unwrap_or_default().to_owned(),
        }));
    }
    Naming { name: &name, pick, default }.keep(&values, context);
}

/// A CSS selector, without those that jsoup has beside them.
pub(crate) fn selector(expression: &str) -> Result<Selector, String> {
    Selector::parse(expression).map_err(|_| {
        format!(
            "`{expression}` is no CSS selector that is known here; jsoup's own, such as `:contains(…)` and `:eq(…)`, are not: select by \
             names, classes and attributes, or take the text with a Regular Expression Extractor"
        )
    })
}

/// The text of an element as jsoup has it: white space is one space, and there is one between blocks.
fn shown_text(element: ElementRef<'_>) -> String {
    let is_block = |node: &Node| node.as_element().is_some_and(|tag| BLOCKS.contains(&tag.name()));
    let mut text = String::new();
    for node in element.descendants() {
        if is_block(node.value()) || node.prev_sibling().is_some_and(|before| is_block(before.value())) {
            text.push(' ');
        }
        if let Some(part) = node.value().as_text() {
            text.push_str(part);
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lists of names, paths, numbers and defaults, each separated by `;`.
pub(crate) fn json(
    extractor: &JsonExtractor,
    sample: &SampleResult,
    parts: &[SampleResult],
    context: &mut Context<'_>,
) {
    let [names, paths, numbers, defaults] =
        [&extractor.names, &extractor.paths, &extractor.numbers, &extractor.defaults]
            .map(|text| text.value(context));
    let source = extractor.variable.clone().map_or(Source::Body, Source::Variable);
    let parse =
        |result: &SampleResult| serde_json::from_str(&text_of_source(&source, result, context.vars)).ok();
    // One that is no JSON spoils them all, as in JMeter.
    let parsed: Option<Vec<Value>> = results_in(extractor.scope, sample, parts).map(parse).collect();
    let (mut paths, mut numbers, mut defaults) = (paths.split(';'), numbers.split(';'), defaults.split(';'));
    for name in names.split(';').map(str::trim) {
        let Some(path) = paths.next() else { return };
        let number = numbers.next().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let default = defaults.next().unwrap_or_default();
        let values = match Path::read(path) {
            Ok(path) => {
                let found = parsed.iter().flatten().flat_map(|value| path.find(value));
                found.map(|value| text_or_null(&value)).collect()
            }
            Err(message) => {
                context.shared.log(&format!("JSON Extractor {name}: {message}"));
                Vec::new()
            }
        };
        keep_json(name, number, default, extractor.joins_all, &values, context);
    }
}

/// A null has no text; a list is one value, whose elements a path asks for with `[*]`.
fn text_or_null(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| text_of(value))
}

fn keep_json(
    name: &str,
    number: i64,
    default: &str,
    joins_all: bool,
    values: &[Option<String>],
    context: &mut Context<'_>,
) {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| default.to_owned());
    let counted = format!("{name}_matchNr");
    let old = context.vars.get(&counted).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    (0..old).for_each(|at| context.vars.remove(&format!("{name}_{}", at + 1)));
    let pick = Pick::of_number(number);
    if values.is_empty() {
        context.vars.set(name, default);
        context.vars.set(&counted, "0");
    } else {
        match pick {
            Pick::All => {
                for (at, value) in values.iter().enumerate() {
                    context.vars.set(&format!("{name}_{}", at + 1), &text(value));
                }
            }
            pick => {
                // One value is taken whatever its number is.
                let place = if values.len() == 1 {
                    Some(0)
                } else {
                    pick.place(values.len(), &mut context.thread.random)
                };
                let value = place.map_or_else(|| default.to_owned(), |place| text(&values[place]));
                context.vars.set(name, &value);
            }
        }
        if number != 0 {
            context.vars.set(&counted, &values.len().to_string());
        }
    }
    if joins_all && pick == Pick::All {
        context.vars.set(&format!("{name}_ALL"), &values.iter().map(text).collect::<Vec<_>>().join(","));
    }
}
