//! JavaScript values as k6 reads them from its calls' arguments.

use crate::http::binding::handle::Handle;
use crate::http::fault::RequestFault;
use crate::http::gjson::Node;
use crate::modules::binding::{byte_array, go_error, go_type, is_nullish};
use crate::vm;
use prony_http_session::form::{Field, File, encode_form};
use rquickjs::{Array, Coerced, Ctx, Object, Value};
use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _};
use std::rc::Rc;

/// Objects in objects deeper than this are cut where they are printed into a form.
const DEPTH_MAX: usize = 32;
/// Letters of a multipart boundary.
const BOUNDARY_LETTERS: usize = 60;

/// Why a request cannot even be made.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Thrown or answered, as option `throw` says.
    RequestFault(RequestFault),
    /// Thrown.
    Js(rquickjs::Error),
}

impl From<rquickjs::Error> for Refusal {
    fn from(error: rquickjs::Error) -> Self {
        Self::Js(error)
    }
}

impl From<RequestFault> for Refusal {
    fn from(fault: RequestFault) -> Self {
        Self::RequestFault(fault)
    }
}

/// A fault in what the script said: its code is 0, as in k6.
pub(crate) fn misuse(message: impl Into<String>) -> Refusal {
    Refusal::RequestFault(RequestFault { code: 0, ..RequestFault::local(message) })
}

/// A body with the `Content-Type` that its kind brings.
#[derive(Debug)]
pub(crate) struct GivenBody {
    pub bytes: Rc<[u8]>,
    pub content_type: Option<String>,
}

/// As JavaScript's `String(value)`.
pub(crate) fn text_of(value: &Value<'_>) -> rquickjs::Result<String> {
    vm::text_of(value.ctx(), value.clone())
}

/// As where Go takes a text: nothing of what is null or undefined.
pub(crate) fn text_or_nothing(value: &Value<'_>) -> rquickjs::Result<String> {
    if is_nullish(value) { Ok(String::new()) } else { text_of(value) }
}

/// A call's `body` argument.
pub(crate) fn body_of(value: &Value<'_>) -> Result<Option<GivenBody>, Refusal> {
    if is_nullish(value) {
        return Ok(None);
    }
    if let Some(text) = value.as_string() {
        let bytes: Rc<[u8]> = vm::well_formed(text)?.into_bytes().into();
        return Ok(Some(GivenBody { bytes, content_type: None }));
    }
    if let Some(bytes) = byte_array(value) {
        return Ok(Some(GivenBody { bytes: bytes.into(), content_type: None }));
    }
    match value.as_object() {
        Some(object) if !value.is_array() && !value.is_function() => form_of(object).map(Some),
        _ => Err(misuse(format!("unknown request body type {}", go_type(value)))),
    }
}

fn form_of(object: &Object<'_>) -> Result<GivenBody, Refusal> {
    let mut fields = Vec::new();
    for property in object.props::<String, Value<'_>>() {
        let (name, value) = property?;
        fields.push((name, field_of(&value)?));
    }
    let form = encode_form(&fields, &random_letters(BOUNDARY_LETTERS));
    Ok(GivenBody { bytes: form.body.into(), content_type: Some(form.content_type) })
}

fn field_of(value: &Value<'_>) -> rquickjs::Result<Field> {
    if let Some(items) = value.as_array() {
        let items = items.iter::<Value<'_>>().map(|item| go_text(&item?, 0));
        return items.collect::<rquickjs::Result<_>>().map(Field::List);
    }
    if let (Some(Handle::File), Some(object)) = (Handle::of(value), value.as_object()) {
        let data: Value<'_> = object.get("data")?;
        let data = match byte_array(&data) {
            Some(bytes) => bytes,
            None => text_of(&data)?.into_bytes(),
        };
        let content_type = object.get("content_type")?;
        return Ok(Field::File(File { data, name: object.get("filename")?, content_type }));
    }
    go_text(value, 0).map(Field::Text)
}

/// Hexadecimal letters that nobody has seen before: a boundary, or a client's nonce. No secret.
pub(crate) fn random_letters(count: usize) -> String {
    let mut letters = String::with_capacity(count + 16);
    while letters.len() < count {
        // The standard library keys each state anew, from the system's randomness.
        let number = RandomState::new().build_hasher().finish();
        let _ = write!(letters, "{number:016x}");
    }
    letters.truncate(count);
    letters
}

/// A value as Go prints it, which is what k6 puts into forms.
fn go_text(value: &Value<'_>, depth: usize) -> rquickjs::Result<String> {
    if is_nullish(value) || depth > DEPTH_MAX {
        return Ok("<nil>".to_owned());
    }
    if let Some(number) = value.as_number() {
        return Ok(go_number(number));
    }
    if let Some(items) = value.as_array() {
        let items = items.iter::<Value<'_>>().map(|item| go_text(&item?, depth + 1));
        return Ok(format!("[{}]", items.collect::<rquickjs::Result<Vec<_>>>()?.join(" ")));
    }
    match value.as_object() {
        Some(object) if !value.is_function() => {
            let mut members: Vec<(String, String)> = Vec::new();
            for property in object.props::<String, Value<'_>>() {
                let (name, value) = property?;
                members.push((name, go_text(&value, depth + 1)?));
            }
            members.sort();
            let members: Vec<String> =
                members.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
            Ok(format!("map[{}]", members.join(" ")))
        }
        _ => text_of(value),
    }
}

/// A number as Go's `%v` prints it.
fn go_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let is_whole = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0;
    if is_whole {
        return (number as i64).to_string();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// As a number of a JavaScript argument that counts something.
pub(crate) fn integer_of(value: &Value<'_>) -> rquickjs::Result<i64> {
    Ok(value.get::<Coerced<f64>>()?.0 as i64)
}

/// A JSON tree as a JavaScript value.
pub(crate) fn value_of<'js>(ctx: &Ctx<'js>, node: &Node) -> rquickjs::Result<Value<'js>> {
    Ok(match node {
        Node::Null => Value::new_null(ctx.clone()),
        Node::Bool(value) => Value::new_bool(ctx.clone(), *value),
        Node::Number(number) => Value::new_number(ctx.clone(), *number),
        Node::String(text) => rquickjs::String::from_str(ctx.clone(), text)?.into_value(),
        Node::Array(items) => {
            let array = Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                array.set(index, value_of(ctx, item)?)?;
            }
            array.into_value()
        }
        Node::Object(members) => {
            let object = Object::new(ctx.clone())?;
            for (name, value) in members {
                object.set(name.as_str(), value_of(ctx, value)?)?;
            }
            object.into_value()
        }
    })
}

/// `Get "URL": reason` and its like, thrown.
pub(crate) fn thrown(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    go_error(ctx, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_go_does() {
        let check = |number, expected: &str| assert_eq!(go_number(number), expected);
        check(1.0, "1");
        check(-0.5, "-0.5");
        check(123_456_789_012.0, "123456789012");
        check(1e21, "1e+21");
        check(1.5e-7, "1.5e-07");
        check(0.0001, "0.0001");
        check(0.00001, "1e-05");
        check(1e20, "100000000000000000000");
        check(f64::NEG_INFINITY, "-Inf");
        check(f64::NAN, "NaN");
    }
}
