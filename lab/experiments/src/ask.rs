//! One request and its answer, outside of all load: for looks at what the engine serves. Figures of wrong answers would
//! be worth nothing.

use std::{fmt, time::Duration};

use serde_json::Value;
use ureq::{Agent, Body, http};

/// An aggregate over a large table may take half a minute on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Far above what any of the studies' requests answers.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// How much of a wrong answer an error shows.
const SHOWN_CHARACTERS: usize = 400;

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("cannot ask the engine")]
    NoAnswer(#[from] ureq::Error),
    #[error("the engine answers {operation} wrongly: {why}; it said: {answer}")]
    Wrong { operation: &'static str, why: String, answer: String },
}

/// Asks, and looks at the JSON of an answer with status 200 and without `errors`; the look says what is wrong.
pub(crate) fn look(
    address: &str,
    (method, path, body): (&str, &str, Option<&str>),
    operation: &'static str,
    look: impl FnOnce(&Value) -> Option<String>,
) -> Result<(), AnswerError> {
    let answer = ask(address, method, path, body)?;
    json_of(&answer).and_then(|json| look(&json).map_or(Ok(()), Err)).map_err(|why| AnswerError::Wrong {
        operation,
        why,
        answer: answer.to_string(),
    })
}

fn json_of(answer: &Answer) -> Result<Value, String> {
    if answer.status != 200 {
        return Err(format!("status {}", answer.status));
    }
    let json: Value = serde_json::from_str(&answer.body).map_err(|_| "its body is no JSON")?;
    if json.get("errors").is_some() { Err("it has errors".to_owned()) } else { Ok(json) }
}

/// What came, whichever status it has.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// The begin of its body.
impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body.chars().take(SHOWN_CHARACTERS).try_for_each(|character| write!(formatter, "{character}"))
    }
}

/// Sends a request on a connection of its own. A body is JSON.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: Option<&str>,
) -> Result<Answer, ureq::Error> {
    let agent: Agent =
        Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into();
    let request = http::Request::builder()
        .method(method)
        .uri(format!("http://{address}{path}"))
        .header("accept", "application/json")
        .header("connection", "close");
    let response = match body {
        Some(body) => agent.run(request.header("content-type", "application/json").body(body)?),
        None => agent.run(request.body(())?),
    }?;
    let status = response.status().as_u16();
    let mut body: Body = response.into_body();
    Ok(Answer { status, body: body.with_config().limit(ANSWER_BYTES_MAX).read_to_string()? })
}

#[cfg(test)]
mod tests {
    use prony_testkit::peer::{ScriptedPeer, Step};

    use super::*;

    fn check(sent: &str, status: u16, body: &str) {
        let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Write(sent.into())]]);
        let answer = ask(&peer.address().to_string(), "GET", "/db", None).expect("the peer answers");
        assert_eq!((answer.status, &*answer.body), (status, body));
    }

    #[test]
    fn bodies_are_read_however_they_are_framed() {
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", 200, "[]");
        check("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\nno", 404, "no");
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n[\r\n3\r\n{}]\r\n0\r\n\r\n",
            200,
            "[{}]",
        );
    }
}
