//! What is counted and written down of operations: by their names in the metrics, mutations and refusals in the audit log.

use prony_access::OperationRefusal;
use prony_graphql::{
    Name,
    response::FieldResult,
    selection::{Field, OperationKind},
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::{
    execution::ExecutionContext, outcome::RequestError, prepared::Prepared, roles::Asker, spans,
    stages::StageClock,
};
use crate::observe::{AuditEntry, AuditField, AuditOutcome, OperationLabel, RefusalReason};

impl<S> Prepared<S> {
    fn name(&self) -> Option<&str> {
        self.operation.name().map(Name::as_str)
    }

    fn label(&self, core: &impl ExecutionContext) -> OperationLabel {
        self.plan.label(|| core.site().metrics.label(self.name()))
    }

    /// It was executed, or its response was kept.
    pub(crate) fn note_end(&self, core: &impl ExecutionContext, errors: bool, clock: &StageClock) {
        if core.site().notes_requests() {
            spans::end_operation(clock, errors);
        }
        core.metrics().operations().ended(self.label(core), errors, clock.times().total_ns(), self.cost);
    }

    /// Its rules have not let it in.
    pub(crate) fn note_refusal(&self, core: &impl ExecutionContext, error: &RequestError, is_place: bool) {
        let RequestError::Denied(refusal) = error else { return };
        let reason = match refusal {
            OperationRefusal::Scope(_) => RefusalReason::Scope,
            OperationRefusal::Limit(_) if is_place => RefusalReason::Concurrency,
            OperationRefusal::Limit(_) => RefusalReason::Limit,
            OperationRefusal::Unreachable => RefusalReason::Unreachable,
        };
        core.metrics().operations().refused(self.label(core), reason);
        let audit = &core.site().audit;
        if audit.is_on() {
            let fields = self.plan.selection.fields.iter();
            let fields = fields.map(|field| AuditField { field: &field.name, rows: None, arguments: None });
            let reason = refusal.to_string();
            audit.note(&self.entry(AuditOutcome::Refused, fields.collect(), Some(&reason)));
        }
    }

    /// It was executed; only mutations are written down.
    pub(super) fn note_results(&self, core: &impl ExecutionContext, results: &[FieldResult]) {
        let audit = &core.site().audit;
        if self.kind() != OperationKind::Mutation || !audit.is_on() {
            return;
        }
        let arguments = |field: &Field| {
            let arguments = field.arguments.iter();
            arguments.map(|(name, value)| (name.to_string(), value.resolve(&self.variables))).collect()
        };
        let fields = self.plan.selection.fields.iter().zip(results).map(|(field, result)| AuditField {
            field: &field.name,
            rows: written_rows(field, result.data.as_deref().unwrap_or_default()),
            arguments: audit.has_values().then(|| arguments(field)),
        });
        let has_failed = results.iter().any(|result| !result.errors.is_empty());
        let outcome = if has_failed { AuditOutcome::Failed } else { AuditOutcome::Executed };
        audit.note(&self.entry(outcome, fields.collect(), None));
    }

    /// As [`Self::note_results`], of an operation that one source has executed; how many rows there are is not known.
    pub(super) fn note_whole_end(&self, core: &impl ExecutionContext, has_errors: bool) {
        let audit = &core.site().audit;
        if self.kind() == OperationKind::Mutation && audit.is_on() {
            let fields = self.plan.selection.fields.iter();
            let fields = fields.map(|field| AuditField { field: &field.name, rows: None, arguments: None });
            let outcome = if has_errors { AuditOutcome::Failed } else { AuditOutcome::Executed };
            audit.note(&self.entry(outcome, fields.collect(), None));
        }
    }

    fn entry<'a>(
        &'a self,
        outcome: AuditOutcome,
        fields: Vec<AuditField<'a>>,
        reason: Option<&'a str>,
    ) -> AuditEntry<'a> {
        let identity = self.asker.as_ref().map(|asker| &*asker.identity);
        AuditEntry {
            outcome,
            user: identity.and_then(|identity| identity.subject.as_deref()),
            way: identity.map(|identity| identity.way.name()),
            role: self.asker.as_ref().map(|asker| &*asker.role().name),
            address: self.asker.as_ref().map(|asker: &Asker| asker.address),
            operation: self.name(),
            fields,
            reason,
        }
    }
}

/// How many rows a root field of a mutation has written, by its response. That there was no row to change is only said by the member
/// `result` of a change: where nobody has asked for it, the number is not known.
fn written_rows(field: &Field, json: &[u8]) -> Option<usize> {
    let rows = rows(json);
    if rows == 0 || field.output.inner_named_type().as_str() != "Result" {
        return Some(rows);
    }
    let result = field.selections.iter().find(|below| below.name.as_str() == "result")?;
    let members: Map<String, Json> = serde_json::from_slice(json).ok()?;
    members.get(result.response_key.as_str())?.as_bool().map(usize::from)
}

/// How many rows there are in a root field of a response.
fn rows(json: &[u8]) -> usize {
    match json.first() {
        Some(b'[') => serde_json::from_slice::<Vec<IgnoredAny>>(json).map_or(0, |items| items.len()),
        Some(b'n') | None => 0,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_response() {
        for (json, expected) in [
            ("null", 0),
            ("[]", 0),
            ("{\"a\":[1,2]}", 1),
            ("[{\"a\":[1,2]},null, {\"b\":\"[,]\"}]", 3),
            ("7", 1),
            ("", 0),
        ] {
            assert_eq!(rows(json.as_bytes()), expected, "{json}");
        }
    }
}
