//! What the halves of the pipeline hand over: which operations may come, an operation of which its execution is left to do, and what
//! has become of it.

use std::{borrow::Cow, sync::Arc};

use prony_access::RuleId;
use prony_graphql::{Name, document::Operation, selection::OperationKind, variables::Variables};
use prony_source::{AcceptedCodings, ContentCoding};

use super::{
    outcome::{Outcome, ResponseBody},
    plan::Plan,
    reuse::KeptResponse,
    roles::Asker,
    served::CoreServed,
};

/// What the request's method (GraphQL over HTTP, section 5.3) and the form of its answer allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowedKinds {
    /// GET: it must be safe to repeat.
    Queries,
    /// POST with one answer.
    QueriesAndMutations,
    /// GET with a stream of answers.
    QueriesAndSubscriptions,
    /// Sockets, and POST with a stream of answers.
    All,
}

impl AllowedKinds {
    pub(super) fn include(self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Query => true,
            OperationKind::Mutation => matches!(self, Self::QueriesAndMutations | Self::All),
            OperationKind::Subscription => matches!(self, Self::QueriesAndSubscriptions | Self::All),
        }
    }
}

/// An operation of which nothing but its execution is left to do.
#[derive(Debug, Clone)]
pub(crate) struct Prepared<S = CoreServed> {
    pub(super) served: S,
    pub(super) operation: Arc<Operation>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) variables: Variables,
    /// Who asks, where not everybody is let in.
    pub(crate) asker: Option<Asker>,
    /// Codings in which the response may come, beside none at all.
    pub(super) codings: AcceptedCodings,
    /// The estimate that `max_complexity` limits.
    pub(super) cost: u64,
    /// Whether it is counted by its rules; where that waits for other servers' counts, it is counted before it is executed.
    pub(crate) is_admitted: bool,
}

impl<S: Clone> Prepared<S> {
    /// The same, of which the response comes in no coding.
    pub(super) fn uncoded(&self) -> Self {
        Self { codings: AcceptedCodings::default(), ..self.clone() }
    }
}

impl<S> Prepared<S> {
    pub(crate) fn kind(&self) -> OperationKind {
        self.plan.selection.kind
    }

    /// Who asks, and the rules for its root fields; none where there are none.
    pub(crate) fn rules(&self) -> Option<(&Asker, Cow<'_, [RuleId]>)> {
        let asker = self.asker.as_ref()?;
        let rules = asker.rules_of(self.operation.name().map(Name::as_str), &self.plan);
        (!rules.is_empty()).then_some((asker, rules))
    }

    /// Whether it can be executed now: it waits for nothing, and its rules ask for nothing but to be counted.
    pub(super) fn runs_at_once(&self) -> bool {
        let is_simple = |(asker, rules): (&Asker, Cow<'_, [RuleId]>)| {
            let fields = self.plan.selection.fields.len();
            !asker.rules.operations.needs_place(&rules) && asker.rules.keeping(&rules, fields).is_none()
        };
        self.is_admitted && !self.plan.waits() && self.rules().is_none_or(is_simple)
    }
}

/// What is known of executed root fields.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ending {
    /// The body holds errors.
    pub(crate) has_errors: bool,
    /// It holds nothing else, because a source is asked for more than it has room for.
    pub(super) is_overloaded: bool,
}

impl Ending {
    pub(crate) fn outcome(self) -> Outcome {
        if self.is_overloaded { Outcome::Overloaded } else { Outcome::Executed { errors: self.has_errors } }
    }
}

/// What has become of an operation that was executed, or whose response was kept.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) ending: Ending,
    pub(crate) body: ResponseBody,
    /// In which the body is.
    pub(crate) coding: ContentCoding,
    /// What the body is kept as, where it is.
    pub(crate) kept: Option<Arc<KeptResponse>>,
}

impl From<Arc<KeptResponse>> for Finished {
    fn from(kept: Arc<KeptResponse>) -> Self {
        let body = ResponseBody { bytes: kept.body.clone(), budget: None, is_unread: true };
        Self { ending: Ending::default(), body, coding: ContentCoding::Identity, kept: Some(kept) }
    }
}
