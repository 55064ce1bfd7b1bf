//! What a run does, checked: a [`Scenario`] only exists when everything in it makes sense together.
//!
//! [`ScenarioDraft`] is what a plan file or a program says; [`ScenarioDraft::check`] turns it into a
//! [`Scenario`] or reports all its faults, each with its place.

use crate::load::{LoadModel, ThinkTime};
use crate::target::Target;
use crate::template::{Encoding, Part, Template};
use crate::threshold::{Metric, Scope, Threshold};
use crate::units::Nanos;
use crate::variable::Variable;
pub use crate::wire::Connections;
use serde_json::{Map, Value};
use std::fmt;

/// Named requests in one scenario: each has histograms of its own.
pub const REQUESTS_MAX: usize = 200;

/// A request as it was asked for; slots in it are not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDraft {
    pub name: String,
    /// How often it is chosen, against the sum of all requests' weights.
    pub weight: u32,
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

/// What a plan file or a program asks for, before it was looked at as a whole.
#[derive(Debug, Clone)]
pub struct ScenarioDraft {
    pub name: String,
    pub target: Target,
    pub load: LoadModel,
    pub think_time: ThinkTime,
    /// A request without a whole answer after this time is given up and counted as a timeout.
    pub timeout: Nanos,
    pub connections: Connections,
    pub seed: u64,
    pub variables: Vec<Variable>,
    pub requests: Vec<RequestDraft>,
    pub thresholds: Vec<Threshold>,
    /// Cut off the beginning of the steady state and shown as a window of its own.
    pub warm_up: Nanos,
}

impl ScenarioDraft {
    /// No requests yet, no think time, a timeout of 30 s, kept connections and the seed 1.
    pub fn new(name: &str, target: Target, load: LoadModel) -> Self {
        Self {
            name: name.to_owned(),
            target,
            load,
            think_time: ThinkTime::None,
            timeout: Nanos::from_secs(30),
            connections: Connections::Kept,
            seed: 1,
            variables: Vec::new(),
            requests: Vec::new(),
            thresholds: Vec::new(),
            warm_up: Nanos::ZERO,
        }
    }

    /// Everything that is wrong, or the scenario.
    pub fn check(self) -> Result<Scenario, ScenarioFaults> {
        let mut faults = Vec::new();
        self.check_load(&mut faults);
        self.check_variables(&mut faults);
        self.check_names(&mut faults);
        let mut requests = Vec::new();
        for (index, draft) in self.requests.iter().enumerate() {
            requests.push(Request::check(index, draft, &self.variables, &mut faults));
        }
        if !faults.is_empty() {
            return Err(ScenarioFaults(faults));
        }
        Ok(Scenario { draft: self, requests })
    }

    fn check_load(&self, faults: &mut Vec<Fault>) {
        let mut fault = |place, message: String| faults.push(Fault { place, message });
        for message in self.load.faults() {
            fault(Place::Stages, message);
        }
        if self.timeout == Nanos::ZERO {
            fault(
                Place::Timeout,
                "a timeout of zero fails every request; write for example `30s`".to_owned(),
            );
        }
        if let Some(message) = self.think_time.fault() {
            fault(Place::ThinkTime, message);
        }
    }

    fn check_variables(&self, faults: &mut Vec<Fault>) {
        for (index, variable) in self.variables.iter().enumerate() {
            let place = Place::Variable(index);
            if let Some(message) = variable.fault() {
                faults.push(Fault { place, message });
            }
            if self.variables[..index].iter().any(|before| before.name == variable.name) {
                faults
                    .push(Fault { place, message: format!("variable `{}` is defined twice", variable.name) });
            }
        }
    }

    fn check_names(&self, faults: &mut Vec<Fault>) {
        let mut fault = |place, message: String| faults.push(Fault { place, message });
        if self.requests.is_empty() || self.requests.iter().all(|request| request.weight == 0) {
            fault(Place::Requests, "there is no request to send; add one with a weight above 0".to_owned());
        }
        if self.requests.len() > REQUESTS_MAX {
            let count = self.requests.len();
            fault(Place::Requests, format!("{count} requests are more than the limit of {REQUESTS_MAX}"));
        }
        for (index, request) in self.requests.iter().enumerate() {
            if self.requests[..index].iter().any(|before| before.name == request.name) {
                let message = format!("two requests are named `{}`; results are kept by name", request.name);
                fault(Place::Request(index, Field::Name), message);
            }
        }
        for (index, threshold) in self.thresholds.iter().enumerate() {
            if threshold.metric == Metric::RateReached && self.load.rate_max().is_none() {
                let message = format!(
                    "threshold `{threshold}` is a share of an asked rate, and users ask for none; \
                     write requests a second, as in `rate>=500/s`"
                );
                fault(Place::Threshold(index), message);
            }
            if let Scope::Request(name) = &threshold.scope
                && !self.requests.iter().any(|request| request.name == *name)
            {
                let known: Vec<_> = self.requests.iter().map(|request| request.name.as_str()).collect();
                let message = format!("threshold is for `{name}`; requests are: {}", known.join(", "));
                fault(Place::Threshold(index), message);
            }
        }
    }
}

/// Where in a scenario a fault is, so that a plan file can say the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    Stages,
    Timeout,
    ThinkTime,
    Requests,
    Variable(usize),
    Request(usize, Field),
    Threshold(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Name,
    Method,
    Path,
    Header(usize),
    Body,
    Variables,
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub place: Place,
    pub message: String,
}

/// All that is wrong with a scenario; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioFaults(pub Vec<Fault>);

impl fmt::Display for ScenarioFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<_> = self.0.iter().map(|fault| fault.message.as_str()).collect();
        f.write_str(&messages.join("\n"))
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
    fn check(index: usize, draft: &RequestDraft, variables: &[Variable], faults: &mut Vec<Fault>) -> Self {
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

/// A scenario that makes sense as a whole. Made only by [`ScenarioDraft::check`].
#[derive(Debug, Clone)]
pub struct Scenario {
    draft: ScenarioDraft,
    requests: Vec<Request>,
}

impl Scenario {
    pub fn name(&self) -> &str {
        &self.draft.name
    }

    pub fn target(&self) -> &Target {
        &self.draft.target
    }

    pub fn load(&self) -> &LoadModel {
        &self.draft.load
    }

    pub fn think_time(&self) -> ThinkTime {
        self.draft.think_time
    }

    pub fn timeout(&self) -> Nanos {
        self.draft.timeout
    }

    pub fn connections(&self) -> Connections {
        self.draft.connections
    }

    pub fn seed(&self) -> u64 {
        self.draft.seed
    }

    pub fn variables(&self) -> &[Variable] {
        &self.draft.variables
    }

    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    pub fn thresholds(&self) -> &[Threshold] {
        &self.draft.thresholds
    }

    pub fn warm_up(&self) -> Nanos {
        self.draft.warm_up
    }

    /// The highest rate that think times allow, were every answer immediate; none without think time, and none where
    /// the load model asks for a rate itself.
    pub fn rate_cap(&self) -> Option<f64> {
        if self.load().rate_max().is_some() {
            return None;
        }
        let think = self.think_time().mean().as_secs_f64();
        (think > 0.0).then(|| f64::from(self.load().users_max()) / think)
    }
}

impl Scenario {
    /// The same scenario with another seed: a seed cannot make it wrong.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.draft.seed = seed;
        self
    }
}
