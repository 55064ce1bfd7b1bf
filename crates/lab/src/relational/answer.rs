//! A look at one answer before anything is measured: figures of wrong answers would be worth nothing.

use std::io;

use serde_json::{Value, json};

use super::study::{Operation, Workload};
use crate::ask::ask;

/// How much of a wrong answer an error shows.
const SHOWN_CHARACTERS: usize = 400;

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("cannot ask the engine")]
    Io(#[from] io::Error),
    #[error("the engine answers {operation} wrongly: {why}; it said: {answer}")]
    Wrong { operation: &'static str, why: String, answer: String },
}

/// Asks once and compares with what the data set must give.
pub(super) fn check(address: &str, workload: &Workload) -> Result<(), AnswerError> {
    let body = json!({ "query": workload.operation.text(), "variables": workload.sample_variables() });
    let answer = ask(address, "POST", "/graphql", Some(&body.to_string()))?;
    fault(&answer, workload).map_or(Ok(()), |why| {
        let answer = answer.chars().take(SHOWN_CHARACTERS).collect();
        Err(AnswerError::Wrong { operation: workload.operation.name(), why, answer })
    })
}

fn fault(answer: &str, workload: &Workload) -> Option<String> {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return Some("no HTTP answer".into()) };
    if !head.starts_with("HTTP/1.1 200 ") {
        return Some(format!("status line {:?}", head.lines().next().unwrap_or_default()));
    }
    let Ok(json) = serde_json::from_str::<Value>(body) else { return Some("its body is no JSON".into()) };
    if json.get("errors").is_some() {
        return Some("it has errors".into());
    }
    let field = match workload.operation {
        Operation::NoNest | Operation::OneNest => "venues",
        Operation::TwoNests => "meetups",
        Operation::Create => {
            let id = json.pointer("/data/createVenue/id").and_then(Value::as_i64);
            return id.is_none().then(|| "no id".into());
        }
    };
    let rows = json["data"][field].as_array().map_or(0, Vec::len);
    let expected = workload.limit.min(workload.rows) as usize;
    (rows != expected).then(|| format!("{rows} rows instead of {expected}"))
}

#[cfg(test)]
mod tests {
    use prony_testkit::peer::{ScriptedPeer, Step};

    use super::*;

    const WORKLOAD: Workload = Workload { operation: Operation::NoNest, limit: 2, rows: 100, seed: 1 };

    fn check_answer(body: &str, expected: Option<&str>) {
        let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Write(answer.into())]]);
        let found = check(&peer.address().to_string(), &WORKLOAD).map_err(|error| error.to_string());
        let expected = expected.map_or(Ok(()), |why| {
            let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
            Err(format!("the engine answers no-nest wrongly: {why}; it said: {answer}"))
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn only_the_expected_rows_are_right() {
        check_answer(r#"{"data":{"venues":[{},{}]}}"#, None);
        check_answer(r#"{"data":{"venues":[{}]}}"#, Some("1 rows instead of 2"));
        check_answer(r#"{"data":null,"errors":[]}"#, Some("it has errors"));
        check_answer("oops", Some("its body is no JSON"));
    }
}
