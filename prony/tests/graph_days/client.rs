//! Asks the server, one call after the other on a connection that is kept.

use serde_json::Value;
use ureq::{Agent, Error};

pub(crate) struct Client {
    agent: Agent,
    url: String,
}

/// Status and body; a body that is no JSON is null.
pub(crate) type Answer = (u16, Value);

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).build();
        Self { agent: Agent::new_with_config(config), url: format!("{url}/db/rage") }
    }

    /// None where the server went away before it had answered.
    pub(crate) fn try_ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        self.try_send(method, path, body.map(Value::to_string).unwrap_or_default())
    }

    /// A body as it is.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.try_send(method, path, body.to_owned()).unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }

    fn try_send(&self, method: &str, path: &str, body: String) -> Option<Answer> {
        let url = format!("{}{path}", self.url);
        let request = http::Request::builder().method(method).uri(url);
        let mut response = match self.agent.run(request.body(body).unwrap()) {
            Ok(response) => response,
            Err(Error::Io(_) | Error::Protocol(_) | Error::ConnectionFailed) => return None,
            Err(error) => panic!("{method} {path}: {error}"),
        };
        let text = response.body_mut().with_config().limit(u64::MAX).read_to_string().ok()?;
        Some((response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default()))
    }

    /// What `/health` says.
    pub(crate) fn health(&self) -> Value {
        let url = format!("{}/health", self.url.trim_end_matches("/db/rage"));
        let mut response = self.agent.get(url).call().expect("the server answers");
        serde_json::from_str(&response.body_mut().read_to_string().expect("the answer is whole"))
            .expect("it is JSON")
    }

    /// Sends an operation.
    pub(crate) fn graphql(&self, operation: &Value) -> Value {
        let url = format!("{}/graphql", self.url.trim_end_matches("/db/rage"));
        let request = self.agent.post(url).content_type("application/json");
        let mut response = request.send(operation.to_string()).expect("the server answers");
        serde_json::from_str(&response.body_mut().read_to_string().expect("the answer is whole"))
            .expect("it is JSON")
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.try_ask(method, path, body).unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }
}
