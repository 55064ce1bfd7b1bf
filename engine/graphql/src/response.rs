//! The response: root fields' bytes spliced unparsed into one body, and errors beside them.

use std::io::Write as _;

use crate::{
    error::{GraphqlError, PathSegment},
    json,
    selection::Field,
};

/// What a source answered for one root field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldResult {
    /// JSON text of the field's value. `None` where an error left the field without a value: it becomes null,
    /// or its parent does where the field's type is non-null (GraphQL specification, section 6.4.4).
    pub data: Option<Vec<u8>>,
    /// Paths start at the root's response key.
    pub errors: Vec<GraphqlError>,
}

impl FieldResult {
    pub fn data(data: Vec<u8>) -> Self {
        Self { data: Some(data), errors: Vec::new() }
    }

    pub fn failed(error: GraphqlError) -> Self {
        Self { data: None, errors: vec![error] }
    }
}

/// How much of an error's inside a client sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The source's own text stays in the log.
    #[default]
    Hidden,
    /// It is sent as `extensions.detail`, for development.
    Shown,
}

/// The body of an executed request: `{"data":{…}}`, and `"errors"` after it where there are some. Each result
/// belongs to the root field with the same index; its bytes are copied once and never read.
///
/// # Panics
/// Where there are not as many results as fields.
pub fn assemble(fields: &[Field], results: &[FieldResult], detail: Detail) -> Vec<u8> {
    let mut out = Vec::with_capacity(expected_bytes(fields, results));
    assemble_into(&mut out, fields, results, detail);
    out
}

/// The same, written behind what `out` holds.
///
/// # Panics
/// Where there are not as many results as fields.
pub fn assemble_into(out: &mut Vec<u8>, fields: &[Field], results: &[FieldResult], detail: Detail) {
    assert_eq!(fields.len(), results.len(), "every root field has one result");
    out.extend_from_slice(b"{\"data\":");
    let nulls_all =
        |(field, result): (&Field, &FieldResult)| result.data.is_none() && field.output.is_non_null();
    if fields.iter().zip(results).any(nulls_all) {
        out.extend_from_slice(b"null");
    } else {
        write_data(out, fields, results);
    }
    if results.iter().any(|result| !result.errors.is_empty()) {
        out.push(b',');
        write_errors(out, results.iter().flat_map(|result| &result.errors), detail);
    }
    out.push(b'}');
}

/// The body of a request that was refused before it was executed: `{"errors":[…]}`, without `data`.
pub fn refuse(errors: &[GraphqlError], detail: Detail) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + errors.len() * ERROR_BYTES);
    out.push(b'{');
    write_errors(&mut out, errors.iter(), detail);
    out.push(b'}');
    out
}

/// Errors as a JSON list, for protocols that have a message of their own for them.
pub fn error_list(errors: &[GraphqlError], detail: Detail) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + errors.len() * ERROR_BYTES);
    write_list(&mut out, errors, |out, error| write_error(out, error, detail));
    out
}

/// An error usually takes less.
const ERROR_BYTES: usize = 256;

/// Bytes that a body will have: the exact number where there are no errors, because response keys need no escapes, so that the
/// vector is handed on without being shortened; with errors an estimate.
pub fn expected_bytes(fields: &[Field], results: &[FieldResult]) -> usize {
    let members = fields.iter().zip(results).map(|(field, result)| {
        let data = result.data.as_ref().map_or(4, Vec::len);
        field.response_key.len() + b"\"\":,".len() + data
    });
    let errors: usize = results.iter().map(|result| result.errors.len()).sum();
    let list = if errors == 0 { 0 } else { b",\"errors\":[]".len() + errors * ERROR_BYTES };
    // The last member has no comma.
    let commas = usize::from(!fields.is_empty());
    b"{\"data\":{}}".len() + members.sum::<usize>() - commas + list
}

fn write_data(out: &mut Vec<u8>, fields: &[Field], results: &[FieldResult]) {
    out.push(b'{');
    for (index, (field, result)) in fields.iter().zip(results).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json::write_string(out, &field.response_key);
        out.push(b':');
        out.extend_from_slice(result.data.as_deref().unwrap_or(b"null"));
    }
    out.push(b'}');
}

fn write_errors<'a>(out: &mut Vec<u8>, errors: impl Iterator<Item = &'a GraphqlError>, detail: Detail) {
    out.extend_from_slice(b"\"errors\":[");
    for (index, error) in errors.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_error(out, error, detail);
    }
    out.push(b']');
}

fn write_error(out: &mut Vec<u8>, error: &GraphqlError, detail: Detail) {
    out.extend_from_slice(b"{\"message\":");
    json::write_string(out, &error.message);
    if !error.positions.is_empty() {
        out.extend_from_slice(b",\"locations\":");
        write_list(out, &error.positions, |out, position| {
            write_text(out, format_args!("{{\"line\":{},\"column\":{}}}", position.line, position.column));
        });
    }
    if !error.path.is_empty() {
        out.extend_from_slice(b",\"path\":");
        write_list(out, &error.path, |out, segment| match segment {
            PathSegment::Key(key) => json::write_string(out, key),
            PathSegment::Index(index) => write_text(out, format_args!("{index}")),
        });
    }
    out.extend_from_slice(b",\"extensions\":{\"code\":");
    let extensions = error.extensions.as_deref();
    match extensions.and_then(|extensions| extensions.get("code")?.as_str()) {
        Some(code) => json::write_string(out, code),
        None => json::write_string(out, error.code.as_str()),
    }
    for (key, value) in extensions.into_iter().flatten().filter(|(key, _)| *key != "code") {
        out.push(b',');
        json::write_string(out, key);
        write_text(out, format_args!(":{value}"));
    }
    if let (Some(text), Detail::Shown) = (&error.detail, detail) {
        out.extend_from_slice(b",\"detail\":");
        json::write_string(out, text);
    }
    out.extend_from_slice(b"}}");
}

fn write_list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn write_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes any number of bytes");
}
