//! A request: what a plan asks for, and the checked form whose slots all name a known variable.

use crate::plan::{Fault, Field, Place};
use crate::template::{Encoding, Part, Template};
use crate::variable::Variable;
use serde_json::{Map, Value};

/// A request as it was asked for; slots in it are not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDraft {
    pub name: String,
    /// How often it is chosen, against the sum of all requests' weights.
    pub weight: u32,
    /// The name of its target; the plan's first where there is none.
    pub target: Option<String>,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: BodyDraft,
    pub expect: ExpectedStatus,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyDraft {
    None,
    Text(String),
    GraphQl { query: String, variables: Map<String, Value>, operation_name: Option<String> },
}

/// Which HTTP status is a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// 200 to 299.
    Success,
    OneOf(Vec<u16>),
}

impl ExpectedStatus {
    pub fn accepts(&self, status: u16) -> bool {
        match self {
            Self::Success => (200..300).contains(&status),
            Self::OneOf(list) => list.contains(&status),
        }
    }
}

impl RequestDraft {
    pub fn get(name: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            weight: 1,
            target: None,
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: BodyDraft::None,
            expect: ExpectedStatus::Success,
        }
    }

    /// A GraphQL operation sent by POST. A variable whose value is `"${name}"` takes the type of what it names.
    pub fn graphql(name: &str, path: &str, query: &str, variables: Map<String, Value>) -> Self {
        let body = BodyDraft::GraphQl { query: query.to_owned(), variables, operation_name: None };
        Self { method: "POST".to_owned(), body, ..Self::get(name, path) }
    }
}

/// How an answer is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerCheck {
    Status,
    /// The status, and no `errors` at the top of the JSON body.
    GraphQl,
}

/// A request whose slots are all known.
#[derive(Debug, Clone)]
pub struct Request {
    pub name: String,
    pub weight: u32,
    pub method: String,
    /// With the target's prefix left out.
    pub path: Template,
    /// `Host`, `Content-Length` and, for GraphQL, `Content-Type` and `Accept` are added by the runner where absent.
    pub headers: Vec<(String, Template)>,
    pub body: Option<Template>,
    pub expect: ExpectedStatus,
    pub check: AnswerCheck,
}

impl Request {
    pub(crate) fn check(
        index: usize,
        draft: &RequestDraft,
        variables: &[Variable],
        faults: &mut Vec<Fault>,
    ) -> Self {
        let mut fault = |field, message: String| {
            faults.push(Fault { place: Place::Request(index, field), message });
        };
        if !is_token(&draft.method) {
            fault(Field::Method, format!("`{}` is not an HTTP method", draft.method));
        }
        if !draft.path.starts_with(['/', '$']) || draft.path.contains([' ', '#']) {
            let path = &draft.path;
            fault(Field::Path, format!("path `{path}` must start with `/` and hold neither spaces nor `#`"));
        }
        if draft.path.chars().any(|c| !c.is_ascii() || c.is_ascii_control()) {
            fault(Field::Path, "path must be ASCII; percent-encode other characters".to_owned());
        }
        if let ExpectedStatus::OneOf(list) = &draft.expect
            && let Some(status) = list.iter().find(|status| !(200..600).contains(*status))
        {
            fault(Field::Status, format!("status {status} cannot be expected; use 200 to 599"));
        }
        let mut template = |field, read: Result<Template, Vec<String>>| {
            read.unwrap_or_else(|messages| {
                for message in messages {
                    fault(field, message);
                }
                Template::default()
            })
        };
        let path = template(Field::Path, Template::read(&draft.path, Encoding::Target, variables));
        let headers = draft.headers.iter().enumerate().map(|(at, (name, value))| {
            (name.clone(), template(Field::Header(at), read_header(name, value, variables)))
        });
        let headers = headers.collect();
        let (body, check) = match &draft.body {
            BodyDraft::None => (None, AnswerCheck::Status),
            BodyDraft::Text(text) => {
                let read = Template::read(text, Encoding::Plain, variables);
                (Some(template(Field::Body, read)), AnswerCheck::Status)
            }
            BodyDraft::GraphQl { query, variables: given, operation_name } => {
                let read = Template::read_json(&Value::Object(given.clone()), variables);
                let given = (!given.is_empty()).then(|| template(Field::Variables, read));
                (Some(graphql_body(query, given.as_ref(), operation_name.as_deref())), AnswerCheck::GraphQl)
            }
        };
        Self {
            name: draft.name.clone(),
            weight: draft.weight,
            method: draft.method.clone(),
            path,
            headers,
            body,
            expect: draft.expect.clone(),
            check,
        }
    }

    /// The variables that the request takes values from, each once.
    pub fn variables(&self) -> Vec<usize> {
        let templates = [&self.path].into_iter().chain(self.headers.iter().map(|(_, value)| value));
        let parts = templates.chain(&self.body).flat_map(Template::parts);
        let mut used: Vec<_> = parts.filter_map(Part::source).map(|source| source.variable).collect();
        used.sort_unstable();
        used.dedup();
        used
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn read_header(name: &str, value: &str, variables: &[Variable]) -> Result<Template, Vec<String>> {
    if !is_token(name) {
        return Err(vec![format!("`{name}` is not a header name")]);
    }
    if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(vec![format!("header `{name}` is computed from the body; leave it out")]);
    }
    if value.chars().any(char::is_control) {
        return Err(vec![format!("header `{name}` holds a control character")]);
    }
    let template = Template::read(value, Encoding::Plain, variables)?;
    for source in template.sources() {
        let variable = &variables[source.variable];
        if variable.has_control_characters(source.column) {
            let name = &variable.name;
            return Err(vec![format!(
                "a value of `{name}` holds a control character, which no header can carry"
            )]);
        }
    }
    Ok(template)
}

/// The query is sent as it is: GraphQL's own `$name` is no slot.
fn graphql_body(query: &str, variables: Option<&Template>, operation_name: Option<&str>) -> Template {
    let mut body = Template::fixed(format!("{{\"query\":{}", Value::from(query)));
    if let Some(variables) = variables {
        body.push_text(b",\"variables\":");
        body.push(variables);
    }
    if let Some(name) = operation_name {
        body.push_text(format!(",\"operationName\":{}", Value::from(name)).as_bytes());
    }
    body.push_text(b"}");
    body
}
