//! One of a plan's `[[requests]]`.

use super::answers::{captures, checks};
use super::reader::{Notes, Section, Value, json, json_object};
use prony_model::plan::Field;
use prony_model::response::check::{CheckDraft, RuleDraft};
use prony_model::{BodyDraft, ExpectedStatus, RequestDraft};
use std::collections::BTreeMap;
use std::ops::Range;

const BODIES: [&str; 3] = ["body", "json", "graphql"];

/// A request and where its parts stand in the file.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) draft: RequestDraft,
    spans: Vec<(Field, Range<usize>)>,
    whole: Range<usize>,
}

impl Located {
    pub(super) fn span(&self, field: Field) -> Range<usize> {
        let found = self.spans.iter().find(|(known, _)| *known == field);
        found.map_or(self.whole.clone(), |(_, span)| span.clone())
    }
}

pub(super) fn request(
    index: usize,
    value: Value<'_>,
    common: &[(String, String)],
    notes: &mut Notes,
) -> Option<Located> {
    let section = Section::of(value)?;
    let body = body(&section, notes);
    let is_graphql = section.has("graphql");
    if !section.has("path") && !is_graphql {
        notes.missing(&section.span, "path", "\"/items\"");
    }
    let method = if matches!(body, BodyDraft::None) { "GET" } else { "POST" };
    let default_path = if is_graphql { "/graphql" } else { "/" };
    let mut spans = spans(&section);
    let checks = checks(&section, &mut spans, notes);
    let draft = RequestDraft {
        name: section.text("name").map_or_else(|| default_name(index, &body), str::to_owned),
        weight: section.small_count("weight").unwrap_or(1),
        target: section.text("target").map(str::to_owned),
        method: section.text("method").unwrap_or(method).to_owned(),
        path: section.text("path").unwrap_or(default_path).to_owned(),
        headers: headers(&section, common),
        body,
        expect: expected_status(&section, &checks, notes),
        captures: captures(&section, &mut spans, notes),
        checks,
        group: section.text("group").map(str::to_owned),
        tags: section.texts("tags").into_iter().collect::<BTreeMap<_, _>>(),
    };
    Some(Located { draft, spans, whole: value.span() })
}

fn spans(section: &Section<'_>) -> Vec<(Field, Range<usize>)> {
    let keys = [
        (Field::Name, "name"),
        (Field::Target, "target"),
        (Field::Method, "method"),
        (Field::Path, "path"),
        (Field::Body, "body"),
        (Field::Body, "json"),
        (Field::Variables, "graphql"),
        (Field::Status, "expect_status"),
    ];
    let given = keys.into_iter().filter_map(|(field, key)| Some((field, section.get(key)?.span())));
    let headers = section.entries("headers").into_iter().enumerate();
    given.chain(headers.map(|(at, (_, value))| (Field::Header(at), value.span()))).collect()
}

/// A GraphQL operation is known by its name.
fn default_name(index: usize, body: &BodyDraft) -> String {
    let operation = match body {
        BodyDraft::GraphQl { operation_name: Some(name), .. } => Some(name.clone()),
        BodyDraft::GraphQl { query, .. } => first_operation(query),
        _ => None,
    };
    operation.unwrap_or_else(|| format!("request {}", index + 1))
}

/// The name of a document's first operation, past comments and what else is ignored between tokens.
pub(super) fn first_operation(query: &str) -> Option<String> {
    let lines = query.lines().map(|line| line.split('#').next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '\u{feff}');
    rest = ["query", "mutation", "subscription"].iter().find_map(|word| rest.strip_prefix(word))?;
    let rest = rest.strip_prefix(|c: char| c.is_whitespace())?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

fn body(section: &Section<'_>, notes: &mut Notes) -> BodyDraft {
    let given = section.given(&BODIES);
    if let [first, second, ..] = given.as_slice() {
        let message = format!("`{first}` and `{second}` exclude each other; leave one out");
        notes.add(section.span_of(first), message);
    }
    match given.first().copied() {
        Some("body") => section.text("body").map_or(BodyDraft::None, |text| BodyDraft::Text(text.to_owned())),
        Some("json") => {
            section.get("json").map_or(BodyDraft::None, |value| BodyDraft::Json(json(value.get_ref())))
        }
        Some(_) => {
            section.section("graphql").and_then(|graphql| graphql_body(&graphql)).unwrap_or(BodyDraft::None)
        }
        None => BodyDraft::None,
    }
}

fn graphql_body(section: &Section<'_>) -> Option<BodyDraft> {
    let variables = section.get("variables").and_then(|value| value.get_ref().as_table());
    Some(BodyDraft::GraphQl {
        query: section.text("query")?.to_owned(),
        variables: variables.map(json_object).unwrap_or_default(),
        operation_name: section.text("operation_name").map(str::to_owned),
    })
}

/// Its own, then those of all requests that it does not set itself.
pub(super) fn headers(section: &Section<'_>, common: &[(String, String)]) -> Vec<(String, String)> {
    let own = section.texts("headers");
    let is_own = |name: &str| own.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let inherited: Vec<_> = common.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    own.into_iter().chain(inherited).collect()
}

/// A check of the status says what is expected, where nothing else does.
fn expected_status(section: &Section<'_>, checks: &[CheckDraft], notes: &mut Notes) -> ExpectedStatus {
    if section.has("expect_status") {
        return ExpectedStatus::OneOf(section.statuses("expect_status", notes));
    }
    let of_check = checks.iter().find_map(|check| match &check.rule {
        RuleDraft::Status(list) => Some(list.clone()),
        _ => None,
    });
    of_check.map_or(ExpectedStatus::Success, ExpectedStatus::OneOf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_after_themselves() {
        for (query, name) in [
            ("query flat($a: Int) { a }", Some("flat")),
            ("# query no\n,\n mutation  add_1{ a }", Some("add_1")),
            ("{ a }", None),
            ("query { a }", None),
            ("query($a: Int) { a }", None),
            ("queryish x { a }", None),
            ("", None),
        ] {
            assert_eq!(first_operation(query).as_deref(), name, "{query}");
        }
    }
}
