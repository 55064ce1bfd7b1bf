//! Values of arguments: where they stand, and the bounds of lists.

use std::borrow::Cow;

use prony_graphql::{
    error::{ErrorCode, GraphqlError, Position},
    selection::Value,
    variables::Variables,
};
use serde_json::Value as Json;

use crate::CommonSettings;

/// A `limit` or `offset`: a scalar or a slot; checked against its bounds at execution.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCount {
    pub value: Value,
    pub position: Position,
    /// Of a limit: the highest for whom it is made, where that is less than the source's own.
    pub highest: Option<u32>,
}

/// The JSON of a parameter's value: borrowed where it is one value of the document or the variables.
pub fn json<'v>(value: &'v Value, variables: &'v Variables) -> Cow<'v, Json> {
    const NULL: Json = Json::Null;
    match value {
        Value::Scalar(json) => Cow::Borrowed(json),
        Value::Slot(slot) => variables.get(slot).map_or(Cow::Owned(NULL), Cow::Borrowed),
        other => Cow::Owned(other.resolve(variables)),
    }
}

/// At most 60 characters of a value, for messages.
pub fn abbreviated(value: &Json) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The effective LIMIT.
///
/// # Errors
/// `BadUserInput` for a negative limit, `LimitExceeded` above the highest.
pub fn limit(
    count: Option<&RowCount>,
    variables: &Variables,
    settings: &CommonSettings,
) -> Result<i64, GraphqlError> {
    limit_of("limit", count, variables, settings)
}

/// The same by an argument of another name.
///
/// # Errors
/// As of [`limit`].
pub fn limit_of(
    name: &str,
    count: Option<&RowCount>,
    variables: &Variables,
    settings: &CommonSettings,
) -> Result<i64, GraphqlError> {
    let Some(count) = count else { return Ok(i64::from(settings.default_limit)) };
    let highest = count.highest.map_or(settings.max_limit, |highest| highest.min(settings.max_limit));
    let Some(limit) = row_count(count, name, variables)? else {
        return Ok(i64::from(settings.default_limit.min(highest)));
    };
    if limit > i64::from(highest) {
        let whose = if highest == settings.max_limit { "max_limit" } else { "of your role" };
        let message = format!(
            "`{name}` is {limit}, above the highest of {highest} ({whose}): page with `offset` or a filter on the key"
        );
        return Err(GraphqlError::new(ErrorCode::LimitExceeded, message).at(count.position));
    }
    Ok(limit)
}

/// The effective OFFSET.
///
/// # Errors
/// `BadUserInput` for a negative offset.
pub fn offset(count: Option<&RowCount>, variables: &Variables) -> Result<i64, GraphqlError> {
    let Some(count) = count else { return Ok(0) };
    Ok(row_count(count, "offset", variables)?.unwrap_or(0))
}

fn row_count(count: &RowCount, name: &str, variables: &Variables) -> Result<Option<i64>, GraphqlError> {
    let value = json(&count.value, variables);
    match value.as_i64() {
        Some(number) if number >= 0 => Ok(Some(number)),
        None if value.is_null() => Ok(None),
        _ => {
            let message = format!("`{name}` is {}, it must be a whole number from 0", abbreviated(&value));
            Err(GraphqlError::new(ErrorCode::BadUserInput, message).at(count.position))
        }
    }
}
