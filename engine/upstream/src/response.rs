//! Responses of upstreams (GraphQL specification, section 7): which are passed on as they are, and what is in the others.

use std::{borrow::Cow, fmt};

use memchr::memmem;
use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment, Position},
    json,
    response::FieldResult,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value as Json, value::RawValue};

use crate::plan::{Typenames, UpstreamField, WholeField};

/// What clients see of a response beside its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) errors: bool,
    pub(crate) extensions: bool,
}

/// Why a response is none of GraphQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResponseFault {
    #[error("the response is not JSON of GraphQL: {0}")]
    Broken(String),
    #[error("the response has neither data nor errors")]
    Empty,
}

/// A response to a whole operation.
#[derive(Debug, PartialEq)]
pub(crate) enum WholeResponse {
    /// It is the client's as it is.
    AsItIs { has_errors: bool },
    /// Another text takes its place.
    Body { bytes: Vec<u8>, has_errors: bool },
    /// Nothing was executed, or errors are not shown as they came.
    Fields(Vec<FieldResult>),
}

#[derive(Deserialize)]
struct Response<'b> {
    #[serde(borrow, default)]
    data: Data<'b>,
    #[serde(default)]
    errors: Option<Vec<UpstreamError>>,
    #[serde(borrow)]
    extensions: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct WholeData<'b> {
    #[serde(borrow)]
    data: Option<&'b RawValue>,
}

/// The member `data`.
#[derive(Default)]
enum Data<'b> {
    #[default]
    Absent,
    Null,
    Members(Vec<(Cow<'b, str>, &'b RawValue)>),
}

#[derive(Deserialize)]
struct UpstreamError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    path: Option<Vec<Json>>,
    #[serde(default)]
    extensions: Option<Map<String, Json>>,
}

impl<'de: 'b, 'b> Deserialize<'de> for Data<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object, or null, as data")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Data::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            members.push((key.0, map.next_value()?));
        }
        Ok(Data::Members(members))
    }
}

/// Borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'b>(#[serde(borrow)] Cow<'b, str>);

/// What becomes of a response to a whole operation. Most are neither parsed nor copied: a body that begins with its data and
/// names neither errors nor extensions has none.
pub(crate) fn whole(
    body: &[u8],
    fields: &[WholeField],
    shown: Shown,
) -> Result<WholeResponse, ResponseFault> {
    // It may be passed on as it is, and a message of a WebSocket that is not UTF-8 ends it, with all that is open on it.
    if str::from_utf8(body).is_err() {
        return Err(ResponseFault::Broken("it is not UTF-8".to_owned()));
    }
    if is_data_alone(body) {
        return Ok(WholeResponse::AsItIs { has_errors: false });
    }
    let Response { data, errors, extensions } = parse(body)?;
    let has_errors = errors.as_ref().is_some_and(|errors| !errors.is_empty());
    let is_executed = matches!(data, Data::Null | Data::Members(_));
    if is_executed && (shown.errors || !has_errors) && (shown.extensions || extensions.is_none()) {
        return Ok(WholeResponse::AsItIs { has_errors });
    }
    if is_executed && !has_errors {
        let data: WholeData<'_> = serde_json::from_slice(body).map_err(broken)?;
        let data = data.data.map_or("null", RawValue::get);
        let bytes = [b"{\"data\":", data.as_bytes(), b"}"].concat();
        return Ok(WholeResponse::Body { bytes, has_errors });
    }
    let mut results = results_of(&data, fields.iter().map(|field| &*field.response_key));
    for error in errors.into_iter().flatten() {
        let (index, error) = placed(error, fields.iter().map(|field| &*field.response_key));
        results[index].errors.push(shown_error(error, fields[index].position, shown));
    }
    Ok(WholeResponse::Fields(results))
}

fn is_data_alone(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let ends = body.strip_suffix(b"}").is_some_and(|data| data.trim_ascii_end().ends_with(b"}"));
    body.starts_with(b"{\"data\":{")
        && ends
        && memmem::find(body, b"\"errors\"").is_none()
        && memmem::find(body, b"\"extensions\"").is_none()
}

/// The results of forwarded root fields, in their order.
pub(crate) fn fields(
    body: &[u8],
    fields: &[&UpstreamField],
    shown: Shown,
) -> Result<Vec<FieldResult>, ResponseFault> {
    let Response { data, errors, .. } = parse(body)?;
    let mut results = results_of(&data, fields.iter().map(|field| &*field.response_key));
    for error in errors.into_iter().flatten() {
        let (index, error) = placed(error, fields.iter().map(|field| &*field.response_key));
        results[index].errors.push(shown_error(error, fields[index].position, shown));
    }
    let is_told = results.iter().any(|result| !result.errors.is_empty());
    for (field, result) in fields.iter().zip(&mut results) {
        if field.is_non_null && result.data.as_deref() == Some(b"null") {
            result.data = None;
        }
        if result.data.is_none() && !is_told {
            let path = vec![PathSegment::Key(field.response_key.as_str().into())];
            let error =
                GraphqlError::new(ErrorCode::SourceFailed, "the service behind this field left it out");
            result.errors.push(error.at(field.position).with_path(path));
        }
        if let (Some(typenames), Some(data)) = (&field.typenames, &mut result.data) {
            let mut renamed = Vec::with_capacity(data.len());
            let value: &RawValue = serde_json::from_slice(data).map_err(broken)?;
            rename(value, typenames, 0, &mut renamed)?;
            *data = renamed;
        }
    }
    Ok(results)
}

fn parse(body: &[u8]) -> Result<Response<'_>, ResponseFault> {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(ResponseFault::Broken("it is no object".to_owned()));
    }
    let response: Response<'_> = serde_json::from_slice(body).map_err(broken)?;
    if matches!(response.data, Data::Absent) && response.errors.as_ref().is_none_or(Vec::is_empty) {
        return Err(ResponseFault::Empty);
    }
    Ok(response)
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn broken(error: serde_json::Error) -> ResponseFault {
    ResponseFault::Broken(error.to_string())
}

fn results_of<'k>(data: &Data<'_>, keys: impl Iterator<Item = &'k str>) -> Vec<FieldResult> {
    let member = |key: &str| match data {
        Data::Members(members) => members.iter().find(|(known, _)| known == key).map(|(_, value)| *value),
        Data::Null | Data::Absent => None,
    };
    let result = |value: Option<&RawValue>| FieldResult {
        data: value.map(|value| value.get().as_bytes().to_vec()),
        errors: Vec::new(),
    };
    keys.map(|key| result(member(key))).collect()
}

/// Whose error it is: the first field's where it has no path, or one that is not known.
fn placed<'k>(error: UpstreamError, mut keys: impl Iterator<Item = &'k str>) -> (usize, UpstreamError) {
    let root = error.path.as_ref().and_then(|path| path.first()?.as_str().map(str::to_owned));
    let index = root.and_then(|root| keys.position(|key| key == root));
    match index {
        Some(index) => (index, error),
        None => (0, UpstreamError { path: None, ..error }),
    }
}

/// Positions in its text are not those of the client's.
fn shown_error(error: UpstreamError, position: Position, shown: Shown) -> GraphqlError {
    let UpstreamError { message, path, extensions } = error;
    let path = path.into_iter().flatten().filter_map(|segment| match segment {
        Json::String(key) => Some(PathSegment::Key(key.into())),
        Json::Number(index) => Some(PathSegment::Index(index.as_u64()? as usize)),
        _ => None,
    });
    let path = path.collect();
    if !shown.errors {
        let masked = GraphqlError::new(ErrorCode::SourceFailed, MASKED).with_detail(message);
        return masked.at(position).with_path(path);
    }
    let mut error = GraphqlError::new(ErrorCode::SourceFailed, message).at(position).with_path(path);
    error.extensions = extensions.filter(|extensions| !extensions.is_empty()).map(Box::new);
    error
}

const MASKED: &str = "the service behind this field reported an error";

/// Writes a value with the names of types under which they are served; all else as it came, with every digit of its numbers. `lists`
/// is how many lists it stands within.
fn rename(
    value: &RawValue,
    typenames: &Typenames,
    lists: usize,
    out: &mut Vec<u8>,
) -> Result<(), ResponseFault> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'[') if lists == json::NESTED_LISTS_MAX => {
            return Err(ResponseFault::Broken(json::NESTED_TOO_DEEP.to_owned()));
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            out.push(b'[');
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                rename(item, typenames, lists + 1, out)?;
            }
            out.push(b']');
        }
        Some(b'{') => {
            let Data::Members(members) = serde_json::from_str(text).map_err(broken)? else { return Ok(()) };
            out.push(b'{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::write_string(out, &key);
                out.push(b':');
                rename_member(&key, value, typenames, out)?;
            }
            out.push(b'}');
        }
        _ => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

fn rename_member(
    key: &str,
    value: &RawValue,
    typenames: &Typenames,
    out: &mut Vec<u8>,
) -> Result<(), ResponseFault> {
    if let Some((_, below)) = typenames.below.iter().find(|(known, _)| **known == *key) {
        return rename(value, below, 0, out);
    }
    let name: Option<String> = if typenames.keys.iter().any(|known| **known == *key) {
        serde_json::from_str(value.get()).ok()
    } else {
        None
    };
    let served = name.and_then(|name| typenames.served.iter().find(|(original, _)| **original == *name));
    match served {
        Some((_, served)) => json::write_string(out, served),
        None => out.extend_from_slice(value.get().as_bytes()),
    }
    Ok(())
}

/// The same error for fields that have no results: the first one tells it.
pub(crate) fn failed(error: &GraphqlError, position: Position, count: usize) -> Vec<FieldResult> {
    let mut results = vec![FieldResult::default(); count];
    if let Some(first) = results.first_mut() {
        first.errors.push(error.clone().at(position));
    }
    results
}

/// The text of a request that any GraphQL server can respond to.
pub(crate) fn request_text(query: &str) -> Vec<u8> {
    let mut body = b"{\"query\":".to_vec();
    json::write_string(&mut body, query);
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests {
    use prony_graphql::Name;

    use super::*;

    const SHOWN: Shown = Shown { errors: true, extensions: true };

    fn field(key: &str) -> WholeField {
        let response_key = Name::new(key).expect("it is a name");
        WholeField { response_key, position: Position { line: 1, column: 3 } }
    }

    fn check(body: &str, shown: Shown, expected: &str) {
        let actual = match whole(body.as_bytes(), &[field("a"), field("b")], shown) {
            Err(fault) => fault.to_string(),
            Ok(WholeResponse::AsItIs { has_errors }) => format!("as it is, errors: {has_errors}"),
            Ok(WholeResponse::Body { bytes, .. }) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(WholeResponse::Fields(results)) => {
                let result = |result: &FieldResult| {
                    let data = result.data.as_deref().map_or("-".into(), String::from_utf8_lossy);
                    let errors =
                        result.errors.iter().map(|error| format!(" {}{:?}", error.message, error.path));
                    format!("{data}{}", errors.collect::<String>())
                };
                results.iter().map(result).collect::<Vec<_>>().join(" | ")
            }
        };
        assert_eq!(actual, expected, "{body}");
    }

    #[test]
    fn whole_responses_are_passed_on_where_nothing_is_hidden() {
        let masked = Shown { errors: false, extensions: false };
        let as_it_is = "as it is, errors: false";
        check(r#"{"data":{"a":1,"b":{"c":[]}}}"#, masked, as_it_is);
        check(r#"{"data":{"a":{"errors":[]}}}"#, masked, as_it_is);
        check(r#" {"data":null,"errors":[{"message":"no"}]}"#, SHOWN, "as it is, errors: true");
        check(r#"{"data":{"a":1},"extensions":{"cost":3}}"#, SHOWN, as_it_is);
        check(r#"{"extensions":{"cost":3},"data":{"a":1}}"#, masked, r#"{"data":{"a":1}}"#);
        check(
            r#"{"data":{"a":1,"b":null},"errors":[{"message":"secret","path":["b",0]}]}"#,
            masked,
            "1 | null the service behind this field reported an error[Key(\"b\"), Index(0)]",
        );
        check(r#"{"errors":[{"message":"no such field"}]}"#, SHOWN, "- no such field[] | -");
    }

    #[test]
    fn what_is_no_response_is_told() {
        check(
            r#"{"data":{"a":1}"#,
            SHOWN,
            "the response is not JSON of GraphQL: EOF while parsing an object at line 1 column 15",
        );
        check("{}", SHOWN, "the response has neither data nor errors");
        check(r#"{"errors":[]}"#, SHOWN, "the response has neither data nor errors");
        check("[]", SHOWN, "the response is not JSON of GraphQL: it is no object");
    }

    /// It was passed on as it is.
    #[test]
    fn what_is_not_utf_8_is_no_response() {
        for body in [&b"{\"data\":{\"a\":\"caf\xe9\"}}"[..], b"{\"data\":{\"a\":1},\"x\":\"\xe9\"}"] {
            let told = whole(body, &[field("a")], SHOWN).map_err(|fault| fault.to_string());
            assert_eq!(told, Err("the response is not JSON of GraphQL: it is not UTF-8".to_owned()));
        }
    }

    #[test]
    fn names_of_types_are_changed_and_nothing_else() {
        let name = |text: &str| Name::new(text).expect("it is a name");
        let below = Typenames {
            keys: vec![name("kind")],
            below: Vec::new(),
            served: vec![(name("Person"), name("Hero"))],
        };
        let typenames = Typenames { below: vec![(name("friends"), below)], ..Typenames::default() };
        let text = r#"{"kind":"Person","big":12345678901234567890123,"far":1e400,"friends":[[{"kind":"Person","kind":7,"n":1.10}],null]}"#;
        let value: &RawValue = serde_json::from_str(text).expect("it is JSON");
        let mut out = Vec::new();
        rename(value, &typenames, 0, &mut out).expect("it can be read");
        let expected = text.replace(r#"[[{"kind":"Person""#, r#"[[{"kind":"Hero""#);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    /// One with more ended the process, whose stack it wanted for itself.
    #[test]
    fn lists_within_lists_have_a_bound() {
        for (lists, is_taken) in [(json::NESTED_LISTS_MAX, true), (100_000, false)] {
            let text = "[".repeat(lists) + &"]".repeat(lists);
            let value: &RawValue = serde_json::from_str(&text).expect("it is JSON");
            let mut out = Vec::new();
            assert_eq!(rename(value, &Typenames::default(), 0, &mut out).is_ok(), is_taken, "{lists}");
            assert!(!is_taken || out == text.as_bytes());
        }
    }
}
