//! The plan of an operation for one shape of its variables: for each root field, who answers it and how.

use prony_graphql::{
    cache::Weight,
    document::{Operation, complexity::Complexity, limits::Limits},
    error::GraphqlError,
    introspection,
    response::FieldResult,
    schema::SourceId,
    selection::{Field, Selection},
    variables::Variables,
};
use prony_source::{FieldRequest, PreparedField};

use super::served::Served;

/// Kept in the plan cache.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) selection: Selection,
    /// One for each field of the selection.
    pub(crate) steps: Vec<Step>,
    pub(crate) complexity: Complexity,
    weight_bytes: usize,
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
    /// Collects the fields and lets each field's source prepare it. All faults are reported at once.
    pub(crate) fn make(
        served: &Served,
        limits: &Limits,
        operation: &Operation,
        variables: &Variables,
    ) -> Result<Self, Vec<GraphqlError>> {
        let selection = operation.select(&served.schema, variables)?;
        let mut steps = Vec::with_capacity(selection.fields.len());
        let mut errors = Vec::new();
        for field in &selection.fields {
            match step(served, limits, &selection, field, variables) {
                Ok(step) => steps.push(step),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let complexity = Complexity::of(&selection.fields);
        let weight_bytes = weight(&selection.fields)
            + complexity.weight_bytes()
            + steps.iter().map(Step::weight_bytes).sum::<usize>();
        Ok(Self { selection, steps, complexity, weight_bytes })
    }
}

fn step(
    served: &Served,
    limits: &Limits,
    selection: &Selection,
    field: &Field,
    variables: &Variables,
) -> Result<Step, GraphqlError> {
    if field.is_introspection() {
        if introspection::depends_on_variables(field) {
            return Ok(Step::Schema(AboutSchema::Introspection));
        }
        let answer = introspection::answer(&served.schema, field, variables, limits);
        return Ok(Step::Schema(AboutSchema::Constant(answer)));
    }
    let owner = served.schema.owner(selection.kind, &field.name).expect("a valid field has an owner");
    let source = &served.sources[usize::from(owner.0)];
    Ok(Step::Source(owner, source.plan(&FieldRequest { kind: selection.kind, field })?))
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
