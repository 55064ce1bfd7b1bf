//! CSS selectors as k6 takes them: those of the standard, and the few of jQuery's that scripts use.

use super::document::{Document, Number};
use scraper::{ElementRef, Selector};

/// A selector; one that cannot be read matches nothing, as in k6.
#[derive(Debug, Default)]
pub(crate) struct Query {
    alternatives: Vec<Alternative>,
}

/// Compound selectors, the element's own last; without `:contains` the whole is one.
#[derive(Debug)]
struct Alternative(Vec<Compound>);

#[derive(Debug)]
struct Compound {
    /// What joins it to the one before: a blank, `>`, `+` or `~`.
    joint: char,
    selector: Selector,
    conditions: Vec<Condition>,
}

/// jQuery's, which no standard selector can say.
#[derive(Debug)]
enum Condition {
    /// `:contains("text")`, in lower case.
    Contains(String),
    /// `:containsOwn("text")`: not in the elements within it.
    ContainsOwn(String),
    /// `:not(…)` and `:has(…)` with such a condition in them.
    Not(Query),
    Has(Query),
}

/// Names of conditions as they are written.
const CONDITIONS: [&str; 5] = [":containsOwn(", ":containsown(", ":contains(", ":not(", ":has("];
/// What all selectors with conditions have in them.
const CONTAINS: &str = ":contains";
/// `:not(:has(…))` and the like nest no deeper.
const DEPTH_MAX: usize = 16;

/// jQuery's own names, and what they mean.
const SHORTHANDS: &[(&str, &str)] = &[
    (":input", ":is(input, select, textarea, button)"),
    (":checked", ":is(input[checked], option[selected])"),
    (":selected", ":is(option[selected])"),
    (":disabled", ":is([disabled], :is(input, select, textarea, button, option):is(fieldset[disabled] *))"),
    (":enabled", ":is(input, select, textarea, button, option):not([disabled], fieldset[disabled] *)"),
    (":link", ":is(a[href], area[href], link[href])"),
    (":header", ":is(h1, h2, h3, h4, h5, h6)"),
    (":parent", ":not(:empty)"),
];

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self::parse_within(text, 0).unwrap_or_default()
    }

    fn parse_within(text: &str, depth: usize) -> Option<Self> {
        let alternatives = split_alternatives(text).into_iter();
        let alternatives = alternatives.map(|alternative| Alternative::parse(alternative.trim(), depth));
        Some(Self { alternatives: alternatives.collect::<Option<_>>()? })
    }

    fn matches(&self, element: ElementRef<'_>) -> bool {
        self.alternatives.iter().any(|alternative| matches_chain(&alternative.0, element))
    }
}

impl Document {
    pub(crate) fn matches(&self, number: Number, query: &Query) -> bool {
        self.element(number).is_some_and(|element| query.matches(element))
    }
}

impl Alternative {
    fn parse(text: &str, depth: usize) -> Option<Self> {
        if text.is_empty() || depth > DEPTH_MAX {
            return None;
        }
        let compounds = if text.contains(CONTAINS) { split_compounds(text)? } else { vec![(' ', text)] };
        let compounds = compounds.into_iter().map(|(joint, text)| Compound::parse(joint, text, depth));
        Some(Self(compounds.collect::<Option<_>>()?))
    }
}

impl Compound {
    fn parse(joint: char, text: &str, depth: usize) -> Option<Self> {
        let (rest, conditions) = split_conditions(text, depth)?;
        let mut css = if rest.is_empty() { "*".to_owned() } else { rest };
        for (shorthand, meaning) in SHORTHANDS {
            css = replace_names(&css, shorthand, meaning);
        }
        css = standard_inequality(css);
        Some(Self { joint, selector: Selector::parse(&css).ok()?, conditions })
    }

    fn matches(&self, element: ElementRef<'_>) -> bool {
        self.selector.matches(&element) && self.conditions.iter().all(|condition| condition.holds(element))
    }
}

impl Condition {
    fn parse(name: &str, argument: &str, depth: usize) -> Option<Self> {
        let text = || {
            let argument = argument.trim();
            // Nothing at all is no text; an empty one in quotes is.
            (!argument.is_empty()).then(|| argument.trim_matches(['"', '\'']).to_lowercase())
        };
        Some(match name {
            ":contains(" => Self::Contains(text()?),
            ":not(" => Self::Not(Query::parse_within(argument, depth + 1)?),
            ":has(" => Self::Has(Query::parse_within(argument, depth + 1)?),
            _ => Self::ContainsOwn(text()?),
        })
    }

    fn holds(&self, element: ElementRef<'_>) -> bool {
        match self {
            Self::Contains(text) => element.text().collect::<String>().to_lowercase().contains(text),
            Self::ContainsOwn(text) => {
                let own = element.children().filter_map(|child| child.value().as_text());
                own.map(|text| &**text).collect::<String>().to_lowercase().contains(text)
            }
            Self::Not(query) => !query.matches(element),
            Self::Has(query) => {
                element.descendants().skip(1).filter_map(ElementRef::wrap).any(|inner| query.matches(inner))
            }
        }
    }
}

/// Whether the element is what a chain of compound selectors ends with.
fn matches_chain(chain: &[Compound], element: ElementRef<'_>) -> bool {
    let Some((last, before)) = chain.split_last() else { return true };
    if !last.matches(element) {
        return false;
    }
    if before.is_empty() {
        return true;
    }
    let fits = |other: ElementRef<'_>| matches_chain(before, other);
    match last.joint {
        '>' => element.parent().and_then(ElementRef::wrap).is_some_and(fits),
        '+' => element.prev_siblings().find_map(ElementRef::wrap).is_some_and(fits),
        '~' => element.prev_siblings().filter_map(ElementRef::wrap).any(fits),
        _ => element.ancestors().filter_map(ElementRef::wrap).any(fits),
    }
}

/// The compound selectors of one without commas, each with what joins it to the one before.
fn split_compounds(text: &str) -> Option<Vec<(char, &str)>> {
    let (mut depth, mut quote, mut start, mut joint) = (0_i32, None, None, ' ');
    let mut parts = Vec::new();
    for (index, character) in text.char_indices() {
        let is_between = character.is_whitespace() || matches!(character, '>' | '+' | '~');
        let is_joint = is_between && depth == 0 && quote.is_none();
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        if !is_joint {
            start = start.or(Some(index));
            continue;
        }
        if let Some(begun) = start.take() {
            parts.push((joint, &text[begun..index]));
            joint = ' ';
        }
        if !character.is_whitespace() {
            joint = character;
        }
    }
    // None begins or ends with a joint: a blank at its ends is trimmed.
    parts.push((joint, &text[start?..]));
    parts.first().is_some_and(|(joint, _)| *joint == ' ').then_some(parts)
}

/// A compound selector without jQuery's conditions, and these.
fn split_conditions(text: &str, depth: usize) -> Option<(String, Vec<Condition>)> {
    let (mut rest, mut conditions, mut from) = (text.to_owned(), Vec::new(), 0);
    if !rest.contains(CONTAINS) {
        return Some((rest, conditions));
    }
    loop {
        let next = CONDITIONS.iter().filter_map(|name| Some((from + rest[from..].find(name)?, *name))).min();
        let Some((at, name)) = next else { return Some((rest, conditions)) };
        let inside = at + name.len();
        let end = inside + argument_length(&rest[inside..])?;
        if name.starts_with(CONTAINS) || rest[inside..end].contains(CONTAINS) {
            conditions.push(Condition::parse(name, &rest[inside..end], depth)?);
            rest.replace_range(at..=end, "");
        } else {
            from = end;
        }
    }
}

/// Up to the bracket that closes, outside of quotes.
fn argument_length(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return Some(index),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// At the commas outside brackets and quotes.
fn split_alternatives(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_i32, None, 0);
    let mut parts = Vec::new();
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Only whole names: `:input` is not part of `:input-x`.
fn replace_names(css: &str, name: &str, meaning: &str) -> String {
    let mut parts = css.split(name);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '(');
        replaced.push_str(if goes_on { name } else { meaning });
        replaced.push_str(part);
    }
    replaced
}

/// `[name!=value]` is `:not([name=value])`.
fn standard_inequality(mut css: String) -> String {
    while let Some(at) = css.find("!=") {
        let (Some(open), Some(length)) = (css[..at].rfind('['), css[at..].find(']')) else { return css };
        let inner = css[open..=at + length].replacen("!=", "=", 1);
        css.replace_range(open..=at + length, &format!(":not({inner})"));
    }
    css
}
