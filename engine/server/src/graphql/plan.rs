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
    Name,
    cache::Weight,
    document::{
        Operation,
        complexity::{Complexity, depth, nest_level},
        limits::Limits,
    },
    error::{ErrorCode, GraphqlError},
    introspection,
    response::FieldResult,
    schema::{Schema, SourceId},
    selection::{Field, OperationKind, Selection},
    variables::Variables,
};
use prony_source::{FieldRequest, OperationRequest, PreparedField, SourceSchema};

use super::{
    interception::{Interception, InterceptorIndex},
    reuse::Versions,
};
use crate::{
    access::OperationRules,
    joins::{JoinNode, JoinPlanner, Joins},
    observe::OperationLabel,
};

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanInputs<'a> {
    pub(crate) schema: &'a Schema,
    /// By [`SourceId`].
    pub(crate) sources: &'a [Arc<dyn SourceSchema>],
    pub(crate) joins: &'a Joins,
    pub(crate) interceptors: Option<&'a Arc<InterceptorIndex>>,
    pub(crate) limits: &'a Limits,
}

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
    /// Where one source executes all of it.
    pub(crate) whole: Option<(SourceId, PreparedField)>,
    /// The source that the execution waits for and for nothing else, so that the time of both is one.
    pub(super) sole_source: Option<SourceId>,
    pub(crate) joins: JoinsByField,
    pub(crate) complexity: Complexity,
    /// What is called around its fields; none where nothing is.
    pub(crate) interception: Option<Box<Interception>>,
    /// Of its nested objects.
    pub(super) depth: usize,
    /// Of rows below those of the root fields.
    pub(super) nest_level: usize,
    weight_bytes: usize,
    /// What is asked of its root fields, by the rules of the configuration that asked first.
    rules: OnceLock<(Arc<OperationRules>, Box<[RuleId]>)>,
    /// Of what its response depends on, once somebody keeps that.
    versions: OnceLock<Arc<Versions>>,
    /// Of the operation's name, once it was executed.
    label: OnceLock<OperationLabel>,
}

/// How one root field is answered.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Schema(AboutSchema),
    Source(SourceId, PreparedField),
}

/// What the schema says of itself.
#[derive(Debug, Clone)]
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
    /// `text` is the operation's document.
    pub(crate) fn make(
        inputs: PlanInputs<'_>,
        operation: &Operation,
        text: &str,
        variables: &Variables,
    ) -> Result<Self, Vec<GraphqlError>> {
        let PlanInputs { schema, sources, joins, interceptors, limits } = inputs;
        let planner = JoinPlanner::new(joins, sources, variables);
        let selection = operation.select(schema, variables)?;
        let (steps, joins) = plan_fields(&inputs, &planner, &selection, variables)?;
        let complexity = Complexity::of(&selection.fields, &limits.weights);
        let depth = depth(&selection.fields);
        let nest_level = nest_level(&selection.fields, schema);
        let interception = interceptors
            .and_then(|index| Interception::of(index, schema, sources, selection.kind, &selection.fields));
        // What is joined or intercepted is executed field by field.
        let is_plain = joins.is_empty() && interception.is_none();
        let whole = if is_plain { plan_whole(sources, operation, text, &selection, &steps) } else { None };
        let sole_source = if is_plain { sole_source(&steps) } else { None };
        let weight_bytes = weight(&selection.fields)
            + complexity.weight_bytes()
            + interception.as_ref().map_or(0, |interception| interception.weight_bytes())
            + steps.iter().map(Step::weight_bytes).sum::<usize>()
            + whole.as_ref().map_or(0, |(_, operation)| operation.weight_bytes())
            + joins.iter().map(|(_, node)| node.weight_bytes()).sum::<usize>();
        Ok(Self {
            id: next_id(),
            selection,
            steps,
            whole,
            sole_source,
            joins,
            complexity,
            interception,
            depth,
            nest_level,
            weight_bytes,
            rules: OnceLock::new(),
            versions: OnceLock::new(),
            label: OnceLock::new(),
        })
    }

    /// The same with other fields, for one execution: those that are changed are planned anew. What cannot be planned is added
    /// to what is refused of the root fields.
    pub(super) fn changed(
        &self,
        inputs: PlanInputs<'_>,
        variables: &Variables,
        fields: Vec<Field>,
        changed: &[bool],
        refused: &mut [Option<GraphqlError>],
    ) -> Self {
        let PlanInputs { schema, sources, joins, limits, .. } = inputs;
        // Keys of joins come behind the values that were added.
        let planner = JoinPlanner::new(joins, sources, variables);
        let (kind, mut steps, mut joins) = (self.selection.kind, self.steps.clone(), Vec::new());
        for (number, field) in fields.iter().enumerate() {
            let made = planner.split(field).and_then(|split| {
                let (rest, node) = split.map_or((None, None), |(rest, node)| (Some(rest), Some(node)));
                let rest = rest.as_ref().unwrap_or(field);
                let step = changed[number].then(|| of_source(schema, sources, kind, rest)).transpose()?;
                Ok((step, node))
            });
            match made {
                Ok((step, node)) => {
                    steps[number] = step.unwrap_or_else(|| steps[number].clone());
                    joins.extend(node.map(|node| (number, node)));
                }
                Err(error) if refused[number].is_none() => refused[number] = Some(error),
                Err(_) => {}
            }
        }
        Self {
            id: next_id(),
            complexity: Complexity::of(&fields, &limits.weights),
            depth: depth(&fields),
            nest_level: nest_level(&fields, schema),
            selection: Selection { kind, fields },
            steps,
            whole: None,
            sole_source: None,
            joins,
            interception: None,
            weight_bytes: 0,
            rules: OnceLock::new(),
            versions: OnceLock::new(),
            label: OnceLock::new(),
        }
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

    /// The version of what the response to a query depends on, which `find` says once.
    pub(super) fn versions(&self, find: impl FnOnce() -> Versions) -> &Arc<Versions> {
        self.versions.get_or_init(|| Arc::new(find()))
    }

    /// What metrics count the operation under, which `find` says once.
    pub(super) fn label(&self, find: impl FnOnce() -> OperationLabel) -> OperationLabel {
        *self.label.get_or_init(find)
    }

    /// Whether a step may have to be waited for.
    pub(super) fn waits(&self) -> bool {
        self.interception.is_some() || !self.joins.is_empty() || self.steps.iter().any(Step::waits)
    }
}

/// What is joined to the results of root fields, by their indexes.
type JoinsByField = Vec<(usize, JoinNode)>;

/// How each root field is answered, and what is joined to it, or all that is wrong with them.
fn plan_fields(
    inputs: &PlanInputs<'_>,
    planner: &JoinPlanner<'_>,
    selection: &Selection,
    variables: &Variables,
) -> Result<(Vec<Step>, JoinsByField), Vec<GraphqlError>> {
    let PlanInputs { schema, sources, limits, .. } = *inputs;
    let (mut steps, mut joins) = (Vec::with_capacity(selection.fields.len()), Vec::new());
    let mut errors = Vec::new();
    for (index, field) in selection.fields.iter().enumerate() {
        let split = planner.split(field).and_then(|split| match (split, selection.kind) {
            (Some(_), OperationKind::Subscription) => Err(no_joins(field)),
            (split, _) => Ok(split),
        });
        let step = split.and_then(|split| {
            let (rest, node) = split.map_or((None, None), |(rest, node)| (Some(rest), Some(node)));
            joins.extend(node.map(|node| (index, node)));
            let field = rest.as_ref().unwrap_or(field);
            if field.is_introspection() {
                Ok(about_schema(schema, limits, field, variables))
            } else {
                of_source(schema, sources, selection.kind, field)
            }
        });
        match step {
            Ok(step) => steps.push(step),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok((steps, joins)) } else { Err(errors) }
}

fn no_joins(field: &Field) -> GraphqlError {
    let message = "fields that are joined from another source cannot be asked for in a subscription";
    GraphqlError::new(ErrorCode::ValidationFailed, message).at(field.position)
}

/// Lets the source of all root fields, where there is one, plan the operation as a whole.
fn plan_whole(
    sources: &[Arc<dyn SourceSchema>],
    operation: &Operation,
    text: &str,
    selection: &Selection,
    steps: &[Step],
) -> Option<(SourceId, PreparedField)> {
    let Some(Step::Source(owner, _)) = steps.first() else { return None };
    let is_owned = steps.iter().all(|step| matches!(step, Step::Source(source, _) if source == owner));
    if !is_owned || !operation.is_alone() || selection.kind == OperationKind::Subscription {
        return None;
    }
    let variables: Vec<Name> = operation.variable_names().cloned().collect();
    let request = OperationRequest {
        kind: selection.kind,
        text,
        document: operation.document(),
        name: operation.name(),
        variables: &variables,
        fields: &selection.fields,
    };
    Some((*owner, sources[usize::from(owner.0)].plan_operation(&request)?))
}

/// The source of all root fields but those whose result is known.
fn sole_source(steps: &[Step]) -> Option<SourceId> {
    let mut sole: Option<SourceId> = None;
    for step in steps {
        match step {
            Step::Source(source, _) if sole.is_none_or(|known| known == *source) => sole = Some(*source),
            Step::Schema(AboutSchema::Constant(_)) => {}
            Step::Source(..) | Step::Schema(AboutSchema::Introspection) => return None,
        }
    }
    sole
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

impl AboutSchema {
    /// The result of a root field that is known already.
    pub(super) fn answered(&self) -> FieldResult {
        match self {
            Self::Constant(result) => result.clone(),
            Self::Introspection => FieldResult::default(),
        }
    }
}

impl Step {
    /// Of a root field whose result is known.
    pub(super) fn answered(result: FieldResult) -> Self {
        Self::Schema(AboutSchema::Constant(result))
    }

    /// None of what the server answers itself.
    pub(super) fn source(&self) -> Option<SourceId> {
        match self {
            Self::Schema(_) => None,
            Self::Source(source, _) => Some(*source),
        }
    }

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
