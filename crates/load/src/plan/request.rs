//! One entry of a plan's `[[requests]]`.

use super::reader::{Notes, Section, Value, array, integer, json_object, kind};
use prony_load_model::plan::Field;
use prony_load_model::{BodyDraft, ExpectedStatus, RequestDraft};
use std::ops::Range;

const KEYS: [&str; 8] = ["name", "weight", "method", "path", "headers", "body", "graphql", "expect_status"];
const GRAPHQL_KEYS: [&str; 3] = ["query", "variables", "operation_name"];
const WEIGHT_MAX: u64 = 1_000_000;

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
    let section = Section::of(value, &KEYS, notes)?;
    let name = section.text("name", notes).unwrap_or_else(|| format!("request {}", index + 1));
    let (body, is_graphql) = body(&section, notes);
    let path = match section.get("path") {
        Some(path) => super::reader::text(path, notes),
        None if is_graphql => Some("/graphql".to_owned()),
        None => section.require("path", "\"/items\"", notes).and(None),
    };
    let (method, default_path) = if matches!(body, BodyDraft::None) { ("GET", "/") } else { ("POST", "/") };
    let (own, mut spans) = headers(section.get("headers"), notes);
    let inherited =
        common.iter().filter(|(name, _)| !own.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
    let headers = own.iter().chain(inherited).cloned().collect();
    for (field, key) in [
        (Field::Name, "name"),
        (Field::Method, "method"),
        (Field::Path, "path"),
        (Field::Body, "body"),
        (Field::Variables, "graphql"),
        (Field::Status, "expect_status"),
    ] {
        spans.extend(section.get(key).map(|value| (field, value.span())));
    }
    let draft = RequestDraft {
        name,
        target: None,
        weight: section.count("weight", WEIGHT_MAX, notes).unwrap_or(1) as u32,
        method: section.text("method", notes).unwrap_or_else(|| method.to_owned()),
        path: path.unwrap_or_else(|| default_path.to_owned()),
        headers,
        body,
        expect: expected_status(&section, notes),
    };
    Some(Located { draft, spans, whole: value.span() })
}

fn body(section: &Section<'_>, notes: &mut Notes) -> (BodyDraft, bool) {
    let Some(graphql) = section.get("graphql") else {
        return (section.text("body", notes).map_or(BodyDraft::None, BodyDraft::Text), false);
    };
    if section.get("body").is_some() {
        notes.add(section.span_of("body"), "`body` and `graphql` exclude each other; leave one out");
    }
    (graphql_body(graphql, notes).unwrap_or(BodyDraft::None), true)
}

fn graphql_body(value: Value<'_>, notes: &mut Notes) -> Option<BodyDraft> {
    let section = Section::of(value, &GRAPHQL_KEYS, notes)?;
    let query = super::reader::text(section.require("query", "\"{ venues { id } }\"", notes)?, notes);
    let given = section.get("variables");
    let variables = given.and_then(|value| {
        let table = value.get_ref().as_table();
        if table.is_none() {
            notes.add(
                value.span(),
                format!("expected a table such as `{{ id = \"${{id}}\" }}`, not {}", kind(value)),
            );
        }
        table.map(json_object)
    });
    let operation_name = section.text("operation_name", notes);
    Some(BodyDraft::GraphQl { query: query?, variables: variables.unwrap_or_default(), operation_name })
}

type Headers = Vec<(String, String)>;

/// Names and values, and where each value stands.
pub(super) fn headers(value: Option<Value<'_>>, notes: &mut Notes) -> (Headers, Vec<(Field, Range<usize>)>) {
    let Some(value) = value else { return (Vec::new(), Vec::new()) };
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("expected a table such as `{{ Accept = \"text/html\" }}`, not {}", kind(value));
        notes.add(value.span(), message);
        return (Vec::new(), Vec::new());
    };
    let (mut headers, mut spans) = (Vec::new(), Vec::new());
    for (name, value) in table {
        if let Some(text) = super::reader::text(value, notes) {
            spans.push((Field::Header(headers.len()), value.span()));
            headers.push((name.get_ref().to_string(), text));
        }
    }
    (headers, spans)
}

fn expected_status(section: &Section<'_>, notes: &mut Notes) -> ExpectedStatus {
    let Some(value) = section.get("expect_status") else { return ExpectedStatus::Success };
    let statuses = if value.get_ref().is_integer() {
        vec![value]
    } else {
        array(value, "a status or a list of them", notes)
    };
    let read = statuses.into_iter().filter_map(|status| Some(integer(status, notes)?.clamp(0, 999) as u16));
    ExpectedStatus::OneOf(read.collect())
}
