//! The parameters of a GraphQL request (GraphQL over HTTP, section 5.1), from JSON or from separate texts. It
//! knows nothing of HTTP: methods, media types and sizes are the server's.

use std::{any::Any, fmt, ptr, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value as Json, value::RawValue};

use crate::error::{ErrorCode, GraphqlError, Position};

/// Who asks, as the program that serves knows it. What is in it is between that program and its functions.
#[derive(Clone)]
pub struct Caller(Arc<dyn Any + Send + Sync>);

impl Caller {
    pub fn new(value: impl Any + Send + Sync) -> Self {
        Self(Arc::new(value))
    }

    /// The value, where it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// As [`Caller::get`], to be kept.
    pub fn share<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0).downcast().ok()
    }

    /// Differs from that of all other callers as long as this one is held.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

/// One is equal only to itself.
impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Caller")
    }
}

/// Who asks, or why that is refused.
pub type Asked = Result<Caller, Box<GraphqlError>>;

/// What a client sends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestParameters {
    /// Empty where the document is named instead: by `document_id`, or by `extensions.persistedQuery`.
    pub query: String,
    /// GraphQL over HTTP, appendix A.
    pub document_id: Option<String>,
    pub operation_name: Option<String>,
    pub variables: Map<String, Json>,
    pub extensions: Map<String, Json>,
    /// The variables as JSON, as they were sent, where a number among them may have more digits than are kept of it.
    pub sent_variables: Option<Arc<str>>,
}

/// Why a request has no parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    #[error("{member} is not JSON: {message} at line {}, column {}", .position.line, .position.column)]
    BrokenJson { member: &'static str, message: String, position: Position },
    #[error("the request must be a JSON object, not {found}")]
    NoObject { found: &'static str },
    #[error("{member} must be {expected}, not {found}")]
    WrongType { member: &'static str, expected: &'static str, found: &'static str },
    #[error("query is missing: send the text of a GraphQL document in it")]
    NoQuery,
}

impl From<RequestFault> for GraphqlError {
    fn from(fault: RequestFault) -> Self {
        // A position would read as one in the document, so it stays in the message.
        Self::new(ErrorCode::BadUserInput, fault.to_string())
    }
}

impl RequestParameters {
    /// Reads a body of `application/json`. Members other than the five known ones are ignored.
    pub fn from_json(body: &[u8]) -> Result<Self, RequestFault> {
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(match parse::<Json>("the request", body) {
                Ok(other) => RequestFault::NoObject { found: kind(&other) },
                Err(fault) => fault,
            });
        }
        let text = std::str::from_utf8(body).map_err(|error| not_utf8(body, error.valid_up_to()))?;
        let members: Members<'_> = serde_json::from_str(text).map_err(|error| fault_of(body, &error))?;
        let string = |member, value| string(body, member, value);
        Self {
            query: string("query", members.query)?.unwrap_or_default(),
            document_id: string("documentId", members.document_id)?,
            operation_name: string("operationName", members.operation_name)?,
            variables: members.variables.members("variables")?,
            extensions: members.extensions.members("extensions")?,
            sent_variables: if has_long_number(body) { sent_variables(text) } else { None },
        }
        .with_a_document()
    }

    /// Reads the parameters of a URL, already percent-decoded; `variables` and `extensions` are JSON texts.
    pub fn from_texts(
        query: Option<String>,
        document_id: Option<String>,
        operation_name: Option<String>,
        variables: Option<&str>,
        extensions: Option<&str>,
    ) -> Result<Self, RequestFault> {
        let object = |member, text: Option<&str>| match text {
            Some(text) => parse::<ObjectMember>(member, text.as_bytes())?.members(member),
            None => Ok(Map::new()),
        };
        Self {
            query: query.unwrap_or_default(),
            document_id: document_id.filter(|id| !id.is_empty()),
            operation_name: operation_name.filter(|name| !name.is_empty()),
            variables: object("variables", variables)?,
            extensions: object("extensions", extensions)?,
            sent_variables: variables.filter(|text| has_long_number(text.as_bytes())).map(Arc::from),
        }
        .with_a_document()
    }

    fn with_a_document(self) -> Result<Self, RequestFault> {
        let is_named = self.document_id.is_some() || self.extensions.contains_key("persistedQuery");
        if self.query.is_empty() && !is_named { Err(RequestFault::NoQuery) } else { Ok(self) }
    }
}

/// A request. Its texts stand in the body as they were sent; the others may be of any type yet.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'b> {
    #[serde(borrow)]
    query: Option<&'b RawValue>,
    document_id: Option<&'b RawValue>,
    operation_name: Option<&'b RawValue>,
    #[serde(default)]
    variables: ObjectMember,
    #[serde(default)]
    extensions: ObjectMember,
}

/// A number of fewer bytes, signs and exponents aside, is the same as a double.
const LONG_NUMBER_BYTES: usize = 17;

/// Whether a text may have a number that a double does not hold to its last digit: as many digits and points in a row, one of which is
/// found at every place that is so far from the last.
fn has_long_number(text: &[u8]) -> bool {
    let is_of_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let mut place = LONG_NUMBER_BYTES - 1;
    while let Some(byte) = text.get(place) {
        if !is_of_number(&byte) {
            place += LONG_NUMBER_BYTES;
            continue;
        }
        let before = text[..place].iter().rev().take_while(is_of_number).count();
        let behind = text[place..].iter().take_while(is_of_number).count();
        if before + behind >= LONG_NUMBER_BYTES {
            return true;
        }
        place += behind + LONG_NUMBER_BYTES;
    }
    false
}

/// The variables of a request that was read.
fn sent_variables(text: &str) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Sent<'b> {
        #[serde(borrow)]
        variables: Option<&'b RawValue>,
    }
    let Sent { variables } = serde_json::from_str(text).ok()?;
    variables.map(|variables| variables.get().into())
}

/// The value of a member that has to be an object, read without a detour over a [`Json`]: it is in every request.
enum ObjectMember {
    /// None also where the member is missing or null.
    Members(Map<String, Json>),
    /// What stands there instead of an object.
    Other(&'static str),
}

impl Default for ObjectMember {
    fn default() -> Self {
        Self::Members(Map::new())
    }
}

impl ObjectMember {
    fn members(self, member: &'static str) -> Result<Map<String, Json>, RequestFault> {
        match self {
            Self::Members(members) => Ok(members),
            Self::Other(found) => Err(RequestFault::WrongType { member, expected: "an object", found }),
        }
    }
}

impl<'de> Deserialize<'de> for ObjectMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = ObjectMember;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<ObjectMember, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = access.next_entry()? {
            members.insert(name, value);
        }
        Ok(ObjectMember::Members(members))
    }

    fn visit_unit<E>(self) -> Result<ObjectMember, E> {
        Ok(ObjectMember::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<ObjectMember, E> {
        Ok(ObjectMember::Other(kind(&value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ObjectMember, E> {
        Ok(ObjectMember::Other(kind(&value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ObjectMember, E> {
        Ok(ObjectMember::Other(kind(&value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ObjectMember, E> {
        Ok(ObjectMember::Other(kind(&value.into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<ObjectMember, E> {
        Ok(ObjectMember::Other(kind(&value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<ObjectMember, A::Error> {
        while access.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ObjectMember::Other(kind(&Json::Array(Vec::new()))))
    }
}

fn parse<T: DeserializeOwned>(member: &'static str, text: &[u8]) -> Result<T, RequestFault> {
    serde_json::from_slice(text).map_err(|error| broken(member, &error))
}

fn read<T: DeserializeOwned>(body: &[u8], value: &RawValue) -> Result<T, RequestFault> {
    serde_json::from_str(value.get()).map_err(|error| fault_of(body, &error))
}

/// What is wrong with a body, with its place in it: an error of a member's value does not know that place.
fn fault_of(body: &[u8], error: &serde_json::Error) -> RequestFault {
    let whole = parse::<Json>("the request", body);
    whole.err().unwrap_or_else(|| broken("the request", error))
}

/// JSON is UTF-8 (RFC 8259, section 8.1), also where nobody looks.
fn not_utf8(body: &[u8], valid_bytes: usize) -> RequestFault {
    let lines = || body[..valid_bytes].split(|byte| *byte == b'\n');
    let column = 1 + lines().next_back().map_or(0, <[u8]>::len);
    let position = Position { line: lines().count() as u32, column: column as u32 };
    RequestFault::BrokenJson { member: "the request", message: "invalid UTF-8".to_owned(), position }
}

fn broken(member: &'static str, error: &serde_json::Error) -> RequestFault {
    let position = Position { line: error.line() as u32, column: error.column() as u32 };
    let message = error.to_string();
    // serde_json appends the place, which is reported apart.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    RequestFault::BrokenJson { member, message: message.to_owned(), position }
}

fn string(
    body: &[u8],
    member: &'static str,
    value: Option<&RawValue>,
) -> Result<Option<String>, RequestFault> {
    let Some(value) = value else { return Ok(None) };
    let inside = value.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inside.map(unescape) {
        Some(Some(text)) => Ok(Some(text)),
        Some(None) => read(body, value).map(Some),
        None => {
            let found = kind(&read(body, value)?);
            Err(RequestFault::WrongType { member, expected: "a string", found })
        }
    }
}

/// A JSON string (RFC 8259, section 7) from what stands between its quotation marks, in a buffer of the right size. None
/// where it names code points by number, which is `serde_json`'s.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(end) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..end]);
        let character = match *rest.as_bytes().get(end + 1)? {
            plain @ (b'"' | b'\\' | b'/') => char::from(plain),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return None,
        };
        out.push(character);
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    Some(out)
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
