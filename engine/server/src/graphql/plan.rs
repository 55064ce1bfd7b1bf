//! The plan of an operation for one shape of its variables: for each root field, who answers it and how.

use std::{
    borrow::Cow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use prony_access::RuleId;
use prony_graphql::{
    cache::Weight,
    document::{
        Operation,
        complexity::{Complexity, depth},
        limits::Limits,
    },
    error::GraphqlError,
    introspection,
    response::FieldResult,
    schema::{Schema, SourceId},
    selection::{Field, OperationKind, Selection},
    variables::Variables,
};
use prony_source::{FieldRequest, PreparedField, SourceSchema};

use super::{core::CoreEngine, versions::Versions};
use crate::{access::OperationRules, observe::OperationLabel};

/// The owner of fields that the server answers itself, with null.
pub(super) const NO_SOURCE: SourceId = SourceId(u16::MAX);

/// Names a [`Plan`] as long as the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlanId(pub(super) u64);

fn next_id() -> PlanId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    PlanId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Kept in the plan cache.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) id: PlanId,
    pub(crate) selection: Selection,
    /// One for each field of the selection.
    pub(crate) steps: Vec<Step>,
    pub(crate) complexity: Complexity,
    /// Of its nested objects.
    pub(super) depth: usize,
    weight_bytes: usize,
    /// What is asked of its root fields, by the rules of the configuration that asked first.
    rules: OnceLock<(Arc<OperationRules>, Box<[RuleId]>)>,
    /// Of what its response depends on, once somebody keeps that.
    versions: OnceLock<Arc<Versions>>,
    /// Of the operation's name, once it was executed.
    label: OnceLock<OperationLabel>,
}

/// How one root field is answered.
#[derive(Debug)]
pub(crate) enum Step {
    Schema(AboutSchema),
    Source(SourceId, PreparedField),
}

/// What the schema says of itself.
#[derive(Debug)]
pub(crate) enum AboutSchema {
    /// Once for all requests.
    Constant(FieldResult),
    /// To the variables.
    Introspection,
}

impl Weight for Plan {
    fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }
}

impl Plan {
    /// Collects the fields and lets each field's source, of which there is one by each `SourceId`, prepare it. All faults are reported at once.
    pub(crate) fn make(
        schema: &Schema,
        sources: &[Arc<dyn SourceSchema>],
        limits: &Limits,
        operation: &Operation,
        variables: &Variables,
    ) -> Result<Self, Vec<GraphqlError>> {
        let selection = operation.select(schema, variables)?;
        let mut steps = Vec::with_capacity(selection.fields.len());
        let mut errors = Vec::new();
        for field in &selection.fields {
            let step = if field.is_introspection() {
                Ok(about_schema(schema, limits, field, variables))
            } else {
                of_source(schema, sources, selection.kind, field)
            };
            match step {
                Ok(step) => steps.push(step),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let complexity = Complexity::of(&selection.fields, &limits.weights);
        let depth = depth(&selection.fields);
        let weight_bytes = weight(&selection.fields)
            + complexity.weight_bytes()
            + steps.iter().map(Step::weight_bytes).sum::<usize>();
        Ok(Self {
            id: next_id(),
            selection,
            steps,
            complexity,
            depth,
            weight_bytes,
            rules: OnceLock::new(),
            versions: OnceLock::new(),
            label: OnceLock::new(),
        })
    }
}

impl Plan {
    /// The rules for its root fields, one a field. `name` is the operation's, which all who have the plan have in common.
    pub(super) fn rules(&self, rules: &Arc<OperationRules>, name: Option<&str>) -> Cow<'_, [RuleId]> {
        let find = || -> Box<[RuleId]> {
            let root = match self.selection.kind {
                OperationKind::Query => "Query",
                OperationKind::Mutation => "Mutation",
                OperationKind::Subscription => "Subscription",
            };
            let fields = self.selection.fields.iter();
            fields.filter_map(|field| rules.operations.rule(name, root, &field.name)).collect()
        };
        let (known, found) = self.rules.get_or_init(|| (Arc::clone(rules), find()));
        // Others come only with another configuration.
        if Arc::ptr_eq(known, rules) { Cow::Borrowed(found) } else { Cow::Owned(find().into_vec()) }
    }

    /// The version of what the response to a query depends on.
    pub(super) fn versions(&self, core: &CoreEngine) -> &Arc<Versions> {
        self.versions.get_or_init(|| Arc::new(Versions::of(core, &self.steps)))
    }

    /// What metrics count the operation under, which `find` says once.
    pub(super) fn label(&self, find: impl FnOnce() -> OperationLabel) -> OperationLabel {
        *self.label.get_or_init(find)
    }

    /// Whether a step may have to be waited for.
    pub(super) fn waits(&self) -> bool {
        self.steps.iter().any(Step::waits)
    }
}

fn about_schema(schema: &Schema, limits: &Limits, field: &Field, variables: &Variables) -> Step {
    if introspection::depends_on_variables(field) {
        return Step::Schema(AboutSchema::Introspection);
    }
    Step::Schema(AboutSchema::Constant(introspection::answer(schema, field, variables, limits)))
}

fn of_source(
    schema: &Schema,
    sources: &[Arc<dyn SourceSchema>],
    kind: OperationKind,
    field: &Field,
) -> Result<Step, GraphqlError> {
    let owner = schema.owner(kind, &field.name).expect("a valid field has an owner");
    if owner == NO_SOURCE {
        return Ok(Step::Schema(AboutSchema::Constant(FieldResult::data(b"null".to_vec()))));
    }
    let source = &sources[usize::from(owner.0)];
    Ok(Step::Source(owner, source.plan(&FieldRequest { kind, field })?))
}

impl Step {
    /// Whether its answer may have to be waited for.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Self::Schema(_) => false,
            Self::Source(_, root) => root.waits(),
        }
    }

    fn weight_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Schema(AboutSchema::Constant(result)) => result.data.as_ref().map_or(0, Vec::len),
                Self::Schema(AboutSchema::Introspection) => 0,
                Self::Source(_, prepared) => prepared.weight_bytes(),
            }
    }
}

/// Bytes of selected fields; names are shared with the schema, arguments are estimated.
fn weight(fields: &[Field]) -> usize {
    const PER_ARGUMENT: usize = 256;
    let one =
        |field: &Field| size_of::<Field>() + field.arguments.len() * PER_ARGUMENT + weight(&field.selections);
    fields.iter().map(one).sum()
}
