//! What a draft says, before it is a text.

use serde_json::Value;

use crate::toml_text;

/// Headers by which requests tell who the user is.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "x-api-key", "proxy-authorization"];

/// The names of the headers of requests that hold credentials as they are, and not a variable.
pub(crate) fn credential_headers(requests: &[Request]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, value) in requests.iter().flat_map(|request| &request.headers) {
        let lower = name.to_ascii_lowercase();
        if CREDENTIALS.contains(&lower.as_str()) && !value.contains("${") && !names.contains(&lower) {
            names.push(lower);
        }
    }
    names
}

/// A plan to begin with.
#[derive(Debug, Default)]
pub struct Draft {
    pub(crate) name: String,
    /// Where it comes from, and what is to be looked at, a line each.
    pub(crate) notes: Vec<String>,
    /// Names and addresses; of one alone the name is not written.
    pub(crate) targets: Vec<(String, String)>,
    /// Keys of the plan with their values in TOML, such as `timeout`.
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) requests: Vec<Request>,
    /// Requests by index, in the order of an iteration; none where each iteration is one of them.
    pub(crate) steps: Vec<Step>,
}

/// A value that is not known.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// What to do with it.
    pub(crate) note: String,
    /// In TOML.
    pub(crate) value: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) request: usize,
    pub(crate) think_time_ms: u64,
}

/// Texts have `${NAME}` for variables, and `$${` for what is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Request {
    pub(crate) name: String,
    /// A line above it, where it needs one.
    pub(crate) note: Option<String>,
    /// One of the draft's.
    pub(crate) target: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    /// None where any of 200 to 299 is well.
    pub(crate) expect_status: Vec<u16>,
    pub(crate) captures: Vec<Capture>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Body {
    #[default]
    None,
    Text(String),
    Json(Value),
    /// An operation of GraphQL, whose text is sent as it is.
    Graphql {
        query: String,
        variables: Option<Value>,
        operation_name: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Capture {
    pub(crate) name: String,
    /// Keys of the capture with their texts, such as `json` and a pointer.
    pub(crate) rules: Vec<(&'static str, String)>,
}

impl Body {
    /// A body of JSON as plans say it best. What TOML has no form for stays a text, and so does what a value does not say in full.
    pub(crate) fn of_json(text: &str, path: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        if !says_all(&value, text) {
            return None;
        }
        if let Some(graphql) = graphql(&value, path) {
            return Some(graphql);
        }
        escape_all(&mut value);
        toml_text::json(&value).map(|_| Self::Json(value))
    }
}

fn graphql(value: &Value, path: &str) -> Option<Body> {
    let object = value.as_object()?;
    let query = object.get("query")?.as_str()?.to_owned();
    let only = ["query", "variables", "operationName"];
    let is_operation = query.contains('{') && object.keys().all(|key| only.contains(&key.as_str()));
    if !is_operation || !path.to_ascii_lowercase().contains("graphql") {
        return None;
    }
    let mut variables = object.get("variables").filter(|value| !value.is_null()).cloned();
    if let Some(variables) = &mut variables {
        escape_all(variables);
        toml_text::json(variables)?;
    }
    let operation_name = object.get("operationName").and_then(Value::as_str).map(str::to_owned);
    Some(Body::Graphql { query, variables, operation_name })
}

/// Whether a value has all that its text has: each member, also of a name that comes twice, and whole numbers to the last digit.
fn says_all(value: &Value, text: &str) -> bool {
    let bare = without_strings(text);
    let is_of_number = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
    let words = bare.split(|letter: char| !is_of_number(letter));
    let begins = |first: char| first == '-' || first.is_ascii_digit();
    let mut numbers = words.filter(|word| word.starts_with(begins));
    let is_kept = |number: &str| number.contains(['.', 'e', 'E']) || number.parse::<i64>().is_ok();
    bare.matches(':').count() == members(value) && numbers.all(is_kept)
}

/// JSON with its strings left out, so that each member has a colon.
fn without_strings(text: &str) -> String {
    let (mut bare, mut is_string, mut is_escaped) = (String::new(), false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ if is_string => {}
            letter => bare.push(letter),
        }
    }
    bare
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(own) => own.len() + own.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// `${` of a text that was sent is no variable.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// Each name has one value; case does not matter.
pub(crate) fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value.to_owned()));
}

fn escape_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = escaped(text),
        Value::Array(items) => items.iter_mut().for_each(escape_all),
        Value::Object(members) => {
            let own = std::mem::take(members).into_iter();
            *members = own.map(|(name, value)| (escaped(&name), value)).collect();
            members.values_mut().for_each(escape_all);
        }
        _ => {}
    }
}

impl Draft {
    /// The index of a target, which is added where it is new. Its name is the host's.
    pub(crate) fn target(&mut self, url: &str) -> usize {
        if let Some(index) = self.targets.iter().position(|(_, known)| known == url) {
            return index;
        }
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let name = host.trim_start_matches("unix:").trim_matches('/').to_owned();
        let is_taken = self.targets.iter().any(|(known, _)| *known == name);
        self.targets.push((if is_taken { url.to_owned() } else { name }, url.to_owned()));
        self.targets.len() - 1
    }
}
