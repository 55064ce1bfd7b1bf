//! CSS selectors as k6 takes them: those of the standard, and the few of jQuery's that scripts use.

use super::document::{Document, Number};
use scraper::{ElementRef, Selector};

/// A selector; one that cannot be read matches nothing, as in k6.
#[derive(Debug, Default)]
pub(crate) struct Query {
    alternatives: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    selector: Selector,
    /// jQuery's `:contains("text")` at the end.
    text: Option<String>,
}

/// jQuery's own names, and what they mean.
const SHORTHANDS: &[(&str, &str)] = &[
    (":input", ":is(input, select, textarea, button)"),
    (":checked", ":is(input[checked], option[selected])"),
    (":selected", ":is(option[selected])"),
    (":disabled", ":is([disabled])"),
    (":enabled", ":is(input, select, textarea, button, option):not([disabled])"),
    (":link", ":is(a[href], area[href], link[href])"),
    (":header", ":is(h1, h2, h3, h4, h5, h6)"),
    (":parent", ":not(:empty)"),
];

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let alternatives = split_alternatives(text).into_iter().map(Alternative::parse);
        Self { alternatives: alternatives.collect::<Option<_>>().unwrap_or_default() }
    }

    fn matches(&self, element: ElementRef<'_>) -> bool {
        self.alternatives.iter().any(|alternative| {
            alternative.selector.matches(&element)
                && alternative
                    .text
                    .as_ref()
                    .is_none_or(|text| element.text().collect::<String>().contains(text.as_str()))
        })
    }
}

impl Document {
    pub(crate) fn matches(&self, number: Number, query: &Query) -> bool {
        self.element(number).is_some_and(|element| query.matches(element))
    }
}

impl Alternative {
    fn parse(text: &str) -> Option<Self> {
        let (rest, contained) = split_contains(text.trim());
        let mut css = if rest.is_empty() { "*".to_owned() } else { rest.to_owned() };
        for (shorthand, meaning) in SHORTHANDS {
            css = replace_names(&css, shorthand, meaning);
        }
        css = standard_inequality(css);
        Some(Self { selector: Selector::parse(&css).ok()?, text: contained.map(str::to_owned) })
    }
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

fn split_contains(text: &str) -> (&str, Option<&str>) {
    let found = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(":contains("));
    match found {
        Some((rest, argument)) if !argument.contains([')', '(']) => {
            (rest, Some(argument.trim().trim_matches(['"', '\''])))
        }
        _ => (text, None),
    }
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
