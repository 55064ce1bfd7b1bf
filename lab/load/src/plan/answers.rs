//! What a request asks of its answers: `checks` and `captures`.

use super::reader::{Notes, Section, json, listed};
use prony_model::data::rows::cell_of;
use prony_model::plan::Field;
use prony_model::plan::request::is_token;
use prony_model::response::answer::AnswerPart;
use prony_model::response::capture::{CaptureDraft, Captured};
use prony_model::response::check::{CheckDraft, RelationDraft, RuleDraft};
use prony_model::response::pattern::Pattern;
use prony_model::response::pointer::Pointer;
use serde_json::Value as Json;
use std::ops::Range;

const SUBJECTS: [&str; 2] = ["json", "header"];
const RELATIONS: [&str; 5] = ["exists", "equals", "contains", "lacks", "matches"];
const BYTES: [&str; 2] = ["bytes_min", "bytes_max"];

type Spans = Vec<(Field, Range<usize>)>;

pub(super) fn captures(section: &Section<'_>, spans: &mut Spans, notes: &mut Notes) -> Vec<CaptureDraft> {
    let mut captures = Vec::new();
    for (name, value) in section.entries("captures") {
        let Some(table) = Section::of(value) else { continue };
        if let Some(draft) = capture(name, &table, notes) {
            spans.push((Field::Capture(captures.len()), value.span()));
            captures.push(draft);
        }
    }
    captures
}

fn capture(name: &str, section: &Section<'_>, notes: &mut Notes) -> Option<CaptureDraft> {
    if name.is_empty() || name.contains(['.', '{', '}', '$']) {
        notes.add(
            section.span.clone(),
            format!("`{name}` cannot be written as `${{{name}}}`; use another name"),
        );
    }
    let subject = subject(section, notes)?;
    if subject == AnswerPart::Body && !section.has("matches") {
        if !notes.has_within(&section.span) {
            notes.add(section.span.clone(), "needs one of `json`, `header`, `matches`");
        }
        return None;
    }
    let pattern = if section.has("matches") { Some(pattern(section, notes)?) } else { None };
    let default = section.get("default").map(|value| {
        let (kind, text) = cell_of(&json(value.get_ref()));
        Captured { kind, text: text.into_bytes().into() }
    });
    Some(CaptureDraft { name: name.to_owned(), subject, pattern, default })
}

pub(super) fn checks(section: &Section<'_>, spans: &mut Spans, notes: &mut Notes) -> Vec<CheckDraft> {
    let mut checks = Vec::new();
    if section.get("checks").is_none_or(|value| !value.get_ref().is_array()) {
        return checks;
    }
    for item in section.items("checks") {
        let Some(table) = Section::of(item) else { continue };
        if let Some(rule) = rule(&table, notes) {
            spans.push((Field::Check(checks.len()), item.span()));
            checks.push(CheckDraft { name: table.text("name").map(str::to_owned), rule });
        }
    }
    checks
}

/// A check has one rule: of the status, of the body's size, or of a value.
fn rule(section: &Section<'_>, notes: &mut Notes) -> Option<RuleDraft> {
    let of_value = [section.given(&SUBJECTS), section.given(&RELATIONS)].concat();
    let rules = [section.given(&["status"]), section.given(&BYTES), of_value];
    let mut given = rules.iter().filter(|keys| !keys.is_empty());
    match (given.next(), given.next()) {
        (None, _) => {
            let known = [&["status"], &SUBJECTS[..], &RELATIONS[1..], &BYTES].concat();
            notes.add(section.span.clone(), format!("checks nothing; write one of {}", listed(&known)));
            None
        }
        (Some(one), Some(other)) => {
            let message = format!("`{}` and `{}` are two checks; write a table for each", one[0], other[0]);
            notes.add(section.span_of(other[0]), message);
            None
        }
        (Some(keys), None) if keys[0] == "status" => {
            Some(RuleDraft::Status(section.statuses("status", notes)))
        }
        (Some(keys), None) if BYTES.contains(&keys[0]) => bytes(section, notes),
        _ => value_rule(section, notes),
    }
}

fn bytes(section: &Section<'_>, notes: &mut Notes) -> Option<RuleDraft> {
    let (min, max) =
        (section.count("bytes_min").unwrap_or(0), section.count("bytes_max").unwrap_or(u64::MAX));
    if min > max {
        notes
            .add(section.span_of("bytes_min"), format!("no body has at least {min} and at most {max} bytes"));
        return None;
    }
    Some(RuleDraft::Bytes { min, max })
}

fn value_rule(section: &Section<'_>, notes: &mut Notes) -> Option<RuleDraft> {
    let subject = subject(section, notes)?;
    let relation = match section.given(&RELATIONS).as_slice() {
        [] => RelationDraft::Exists,
        ["exists"] if section.flag("exists")? => RelationDraft::Exists,
        ["exists"] => RelationDraft::Absent,
        ["equals"] => RelationDraft::Equals(json(section.get("equals")?.get_ref())),
        ["contains"] => RelationDraft::Contains(section.text("contains")?.to_owned()),
        ["lacks"] => RelationDraft::Lacks(section.text("lacks")?.to_owned()),
        ["matches"] => RelationDraft::Matches(pattern(section, notes)?),
        several => {
            let message = format!("{} are several checks; write a table for each", listed(several));
            notes.add(section.span.clone(), message);
            return None;
        }
    };
    match (&subject, &relation) {
        (AnswerPart::Body, RelationDraft::Exists | RelationDraft::Absent) => {
            notes.add(section.span_of("exists"), "`exists` looks at a `json` value or a `header`; name one");
            None
        }
        // The whole body as JSON.
        (AnswerPart::Body, RelationDraft::Equals(value)) if !value.is_string() => {
            let whole = AnswerPart::Json(Pointer::parse("").expect("the empty pointer is the whole"));
            Some(RuleDraft::Value(whole, relation))
        }
        (AnswerPart::Header(_), RelationDraft::Equals(value)) if !value.is_string() => {
            let text = Json::from(value.to_string());
            Some(RuleDraft::Value(subject, RelationDraft::Equals(text)))
        }
        _ => Some(RuleDraft::Value(subject, relation)),
    }
}

fn subject(section: &Section<'_>, notes: &mut Notes) -> Option<AnswerPart> {
    match (section.text("json"), section.text("header")) {
        (None, None) => Some(AnswerPart::Body),
        (None, Some(name)) if !is_token(name) => {
            notes.add(section.span_of("header"), format!("`{name}` is not a header name"));
            None
        }
        (None, Some(name)) => Some(AnswerPart::header(name)),
        (Some(text), None) => Pointer::parse(text)
            .map(AnswerPart::Json)
            .map_err(|error| notes.add(section.span_of("json"), error.to_string()))
            .ok(),
        (Some(_), Some(_)) => {
            notes.add(section.span_of("header"), "`json` and `header` exclude each other; leave one out");
            None
        }
    }
}

fn pattern(section: &Section<'_>, notes: &mut Notes) -> Option<Pattern> {
    let text = section.text("matches")?;
    Pattern::parse(text).map_err(|error| notes.add(section.span_of("matches"), error.to_string())).ok()
}
