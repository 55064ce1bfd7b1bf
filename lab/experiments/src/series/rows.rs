//! How many rows an engine has, asked outside of all load: what it has acknowledged must be there.

use serde_json::Value;

use super::ingest::RowsError;
use crate::{ask::AnswerError, error::LabError};

/// Rows of a type.
pub(super) fn count(address: &str, type_name: &str) -> Result<u64, AnswerError> {
    let path = format!("/v2/types/{type_name}/attrs/temperature?aggrMethod=count");
    let mut rows = 0;
    crate::ask::look(address, ("GET", &path, None), "count", |json| {
        if json.as_array().is_some_and(Vec::is_empty) {
            return None;
        }
        let Some(entities) = json["entities"].as_array() else { return Some("it names no entities".into()) };
        let values = entities.iter().filter_map(|entity| entity["values"].as_array()).flatten();
        rows = values.filter_map(Value::as_f64).sum::<f64>() as u64;
        None
    })?;
    Ok(rows)
}

/// Fails where fewer rows are there than were acknowledged.
pub(super) fn compare(
    address: &str,
    of: &'static str,
    acknowledged: u64,
    when: &'static str,
) -> Result<u64, LabError> {
    let found = count(address, of)?;
    if found < acknowledged {
        return Err(RowsError::Missing { of, acknowledged, found, when }.into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use prony_testkit::peer::{ScriptedPeer, Step};

    use super::*;

    fn with_response<T>(body: &str, ask: impl FnOnce(&str) -> T) -> T {
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let peer = ScriptedPeer::start(vec![vec![Step::ReadRequest, Step::Write(text.into())]]);
        ask(&peer.address().to_string())
    }

    #[test]
    fn lost_rows_are_an_error() {
        let body = r#"{"type":"Room","attrName":"temperature","entities":[{"id":"a","index":[],"values":[3]},{"id":"b","index":[],"values":[4]}]}"#;
        assert_eq!(with_response(body, |address| count(address, "Room").unwrap()), 7);
        assert_eq!(with_response("[]", |address| count(address, "Room").unwrap()), 0);
        let compared = |acknowledged| {
            with_response(body, |address| compare(address, "Room", acknowledged, "after a kill"))
        };
        assert_eq!(compared(7).unwrap(), 7);
        assert_eq!(
            compared(8).unwrap_err().to_string(),
            "8 rows of type Room were acknowledged, and 7 are there after a kill"
        );
    }
}
