//! A look at one answer before anything is measured: figures of wrong answers would be worth nothing.

use serde_json::{Value, json};

use super::study::{Operation, Workload};
use crate::ask::{AnswerError, look};

/// Asks once and compares with what the data set must give.
pub(super) fn check(address: &str, workload: &Workload) -> Result<(), AnswerError> {
    let body = json!({ "query": workload.operation.text(), "variables": workload.sample_variables() });
    let body = body.to_string();
    let request = ("POST", "/graphql", Some(&*body));
    look(address, request, workload.operation.name(), |json| fault(json, workload))
}

fn fault(json: &Value, workload: &Workload) -> Option<String> {
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
        let expected = expected
            .map_or(Ok(()), |why| Err(format!("the engine answers no-nest wrongly: {why}; it said: {body}")));
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
