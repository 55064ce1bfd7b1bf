//! Answers that all sources give in the same form: functions of aggregates, and the `Result` of mutations.

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    json,
    selection::Field,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Sum,
    Avg,
    Max,
    Min,
}

/// Members of `Result`.
#[derive(Debug, Clone)]
pub struct ResultOutput {
    pub response_key: Box<str>,
    pub kind: ResultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultKind {
    /// `result`: whether something was changed.
    Changed,
    Typename(Box<str>),
}

impl ResultOutput {
    /// The selected members of the `Result` that a mutation's field answers.
    pub fn all_of(field: &Field) -> Vec<Self> {
        let kind = |output: &Field| {
            if output.name == "__typename" {
                ResultKind::Typename(output.parent_type.as_str().into())
            } else {
                ResultKind::Changed
            }
        };
        let output =
            |output: &Field| Self { response_key: output.response_key.as_str().into(), kind: kind(output) };
        field.selections.iter().map(output).collect()
    }
}

/// A `Result` as JSON.
pub fn result_object(outputs: &[ResultOutput], changed: bool) -> Box<[u8]> {
    let mut out = json::ObjectText::default();
    for output in outputs {
        out.key(&output.response_key);
        match &output.kind {
            ResultKind::Changed => out.json(if changed { b"true" } else { b"false" }),
            ResultKind::Typename(name) => out.string(name),
        }
    }
    out.end().into()
}

/// The error of a mutation whose row does not pass what rows must pass once they are written.
pub fn row_refused() -> GraphqlError {
    let message = "a row with these values may not be written; nothing was changed";
    GraphqlError::new(ErrorCode::Forbidden, message)
}

/// The error of a mutation that was taken back because another one of its request failed: the field `culprit`, with this code.
pub fn taken_back(culprit: &str, code: ErrorCode) -> GraphqlError {
    let rule = "a request's mutations of one source are all done or none";
    GraphqlError::new(code, format!("nothing was changed: `{culprit}` failed, and {rule}"))
}
