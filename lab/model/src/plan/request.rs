//! A request: what a plan asks for, and the checked form whose slots all name a known variable.

use crate::data::encoding::Encoding;
use crate::data::template::{Part, Template};
use crate::data::variable::Variable;
use crate::plan::{Fault, Field, Place};
use crate::program::Keep;
use crate::response::capture::{Capture, CaptureDraft};
use crate::response::check::{Check, CheckDraft};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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
    pub captures: Vec<CaptureDraft>,
    pub checks: Vec<CheckDraft>,
    /// Results are also kept by it.
    pub group: Option<String>,
    pub tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyDraft {
    None,
    Text(String),
    /// A text in it that is one `"${name}"` takes the type of what it names.
    Json(Value),
    GraphQl {
        query: String,
        variables: Map<String, Value>,
        operation_name: Option<String>,
    },
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
            captures: Vec::new(),
            checks: Vec::new(),
            group: None,
            tags: BTreeMap::new(),
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
    pub captures: Vec<Capture>,
    pub checks: Vec<Check>,
    pub group: Option<String>,
}

impl Request {
    /// `variables` holds those that feeders fill and those that requests capture.
    pub(crate) fn check(
        index: usize,
        draft: &RequestDraft,
        variables: &[Variable],
        faults: &mut Vec<Fault>,
    ) -> Self {
        let mut notes = RequestNotes { index, faults };
        notes.check_line(draft);
        let path = notes.taken(Field::Path, Template::read(&draft.path, Encoding::Target, variables));
        let mut headers = Vec::new();
        for (at, (name, value)) in draft.headers.iter().enumerate() {
            let value = notes.taken(Field::Header(at), read_header(name, value, variables));
            headers.push((name.clone(), value));
        }
        if matches!(draft.body, BodyDraft::Json(_)) && !has_header(draft, "content-type") {
            headers.push(("Content-Type".to_owned(), Template::fixed("application/json")));
        }
        let is_graphql = matches!(draft.body, BodyDraft::GraphQl { .. });
        Self {
            name: draft.name.clone(),
            weight: draft.weight,
            method: draft.method.clone(),
            path,
            headers,
            body: notes.body(&draft.body, variables),
            expect: draft.expect.clone(),
            check: if is_graphql { AnswerCheck::GraphQl } else { AnswerCheck::Status },
            captures: notes.captures(draft, variables),
            checks: notes.checks(draft, variables),
            group: draft.group.clone(),
        }
    }

    /// What of an answer has to be kept until it is judged.
    pub fn keep(&self) -> Keep {
        if !self.captures.is_empty() || !self.checks.iter().all(|check| check.rule.is_of_status()) {
            Keep::Whole
        } else if self.check == AnswerCheck::GraphQl {
            Keep::GraphQlErrors
        } else {
            Keep::Status
        }
    }

    /// What is counted of its answers beside their outcome: its checks, then its captures that have no default.
    pub fn check_names(&self) -> impl Iterator<Item = String> + '_ {
        let checks = self.checks.iter().map(|check| check.name.clone());
        let needed = self.captures.iter().filter(|capture| capture.draft.default.is_none());
        checks.chain(needed.map(|capture| capture.draft.check_name()))
    }

    /// The variables that its checks compare answers with, each once.
    pub fn check_variables(&self) -> Vec<usize> {
        let templates = self.checks.iter().filter_map(|check| check.rule.template());
        sources(templates.flat_map(Template::parts))
    }

    /// The variables that the request takes values from, each once.
    pub fn variables(&self) -> Vec<usize> {
        let templates = [&self.path].into_iter().chain(self.headers.iter().map(|(_, value)| value));
        let parts = templates.chain(&self.body).flat_map(Template::parts);
        sources(parts)
    }
}

fn sources<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<usize> {
    let mut used: Vec<_> = parts.filter_map(Part::source).map(|source| source.variable).collect();
    used.sort_unstable();
    used.dedup();
    used
}

fn has_header(draft: &RequestDraft, name: &str) -> bool {
    draft.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// Collects what is wrong with one request.
struct RequestNotes<'a> {
    index: usize,
    faults: &'a mut Vec<Fault>,
}

impl RequestNotes<'_> {
    fn add(&mut self, field: Field, message: impl Into<String>) {
        self.faults.push(Fault { place: Place::Request(self.index, field), message: message.into() });
    }

    fn taken<T: Default>(&mut self, field: Field, read: Result<T, Vec<String>>) -> T {
        read.unwrap_or_else(|messages| {
            for message in messages {
                self.add(field, message);
            }
            T::default()
        })
    }

    fn check_line(&mut self, draft: &RequestDraft) {
        if !is_token(&draft.method) {
            self.add(Field::Method, format!("`{}` is not an HTTP method", draft.method));
        }
        let path = &draft.path;
        let between_slots = Template::between_slots(path);
        if !path.starts_with(['/', '$']) || between_slots.contains([' ', '#']) {
            let message = format!("path `{path}` must start with `/` and hold neither spaces nor `#`");
            self.add(Field::Path, message);
        }
        if between_slots.chars().any(|c| !c.is_ascii() || c.is_ascii_control()) {
            self.add(Field::Path, "path must be ASCII; percent-encode other characters");
        }
        if let ExpectedStatus::OneOf(list) = &draft.expect
            && let Some(status) = list.iter().find(|status| !(200..600).contains(*status))
        {
            self.add(Field::Status, format!("status {status} cannot be expected; use 200 to 599"));
        }
    }

    fn body(&mut self, draft: &BodyDraft, variables: &[Variable]) -> Option<Template> {
        match draft {
            BodyDraft::None => None,
            BodyDraft::Text(text) => {
                Some(self.taken(Field::Body, Template::read(text, Encoding::Plain, variables)))
            }
            BodyDraft::Json(value) => Some(self.taken(Field::Body, Template::read_json(value, variables))),
            BodyDraft::GraphQl { query, variables: given, operation_name } => {
                let read = Template::read_json(&Value::Object(given.clone()), variables);
                let given = (!given.is_empty()).then(|| self.taken(Field::Variables, read));
                Some(graphql_body(query, given.as_ref(), operation_name.as_deref()))
            }
        }
    }

    fn captures(&mut self, draft: &RequestDraft, variables: &[Variable]) -> Vec<Capture> {
        let mut captures = Vec::new();
        for (at, capture) in draft.captures.iter().enumerate() {
            let place = variables.iter().position(|variable| variable.name == capture.name);
            let variable = place.filter(|at| variables[*at].is_captured());
            if draft.captures[..at].iter().any(|before| before.name == capture.name) {
                self.add(Field::Capture(at), format!("`{}` is captured twice", capture.name));
            }
            match variable {
                Some(variable) => captures.push(Capture { variable, draft: capture.clone() }),
                None => self.add(
                    Field::Capture(at),
                    format!("`{}` is a variable already; capture into another name", capture.name),
                ),
            }
        }
        captures
    }

    fn checks(&mut self, draft: &RequestDraft, variables: &[Variable]) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        for (at, given) in draft.checks.iter().enumerate() {
            match given.check(variables) {
                Ok(check) if checks.iter().any(|before| before.name == check.name) => {
                    let message = format!("two checks are named `{}`; they are counted by name", check.name);
                    self.add(Field::Check(at), message);
                }
                Ok(check) => checks.push(check),
                Err(messages) => messages.into_iter().for_each(|message| self.add(Field::Check(at), message)),
            }
        }
        checks
    }
}

/// True of a token, which names of headers and methods are (RFC 9110, 5.6.2).
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

pub(crate) fn read_header(name: &str, value: &str, variables: &[Variable]) -> Result<Template, Vec<String>> {
    if !is_token(name) {
        return Err(vec![format!("`{name}` is not a header name")]);
    }
    if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
        return Err(vec![format!("header `{name}` is computed from the body; leave it out")]);
    }
    if value.chars().any(char::is_control) {
        return Err(vec![format!("header `{name}` holds a control character")]);
    }
    let template = Template::read(value, Encoding::Header, variables)?;
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
pub(crate) fn graphql_body(
    query: &str,
    variables: Option<&Template>,
    operation_name: Option<&str>,
) -> Template {
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
