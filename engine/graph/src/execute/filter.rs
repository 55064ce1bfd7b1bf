//! Filters with their values. How a value compares with another is the store's business; `view` says what passes.

use prony_graph_store::{Condition, Kind, Test, Value};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::{SlotRoot, Value as Given},
    variables::Variables,
};

use crate::{
    execute::json_value,
    planning::filter::{Filter, Subject},
};
use prony_source::{dialect::LikePattern, permissions};

/// A [`Filter`] with its values filled in.
#[derive(Debug)]
pub(crate) enum Bound<'v> {
    /// Neither true nor false of anything: a comparison with null, or with a variable that the session does not have.
    Unknown,
    All(Vec<Bound<'v>>),
    Any(Vec<Bound<'v>>),
    Not(Box<Bound<'v>>),
    Test(&'v Subject, Condition<'v>),
    IsNull(&'v Subject, bool),
    Like(&'v Subject, LikePattern),
    From(Box<Bound<'v>>),
    To(Box<Bound<'v>>),
}

impl<'v> Bound<'v> {
    pub(crate) fn new(filter: &'v Filter, variables: &'v Variables) -> Result<Self, GraphqlError> {
        let each = |parts: &'v [Filter]| {
            parts.iter().map(|part| Self::new(part, variables)).collect::<Result<Vec<_>, _>>()
        };
        let inner = |filter: &'v Filter| Self::new(filter, variables).map(Box::new);
        Ok(match filter {
            Filter::All(parts) => Self::All(each(parts)?),
            Filter::Any(parts) => Self::Any(each(parts)?),
            Filter::Not(filter) => Self::Not(inner(filter)?),
            Filter::Unknown => Self::Unknown,
            Filter::From(filter) => Self::From(inner(filter)?),
            Filter::To(filter) => Self::To(inner(filter)?),
            Filter::Test { operand: value, .. } | Filter::Like { pattern: value, .. }
                if is_absent_of_session(value, variables) =>
            {
                Self::Unknown
            }
            Filter::IsNull { subject, is_null } => Self::IsNull(subject, *is_null),
            Filter::Test { subject, test, not, operand } => tested(subject, *test, *not, operand, variables)?,
            Filter::Like { subject, pattern, insensitive } => {
                let read = json_value::read(Kind::String, pattern, variables);
                let Some(Value::String(read)) = read else { return Err(misfit(subject, pattern)) };
                let pattern = LikePattern::new(&read, *insensitive)
                    .map_err(|error| GraphqlError::new(ErrorCode::LimitExceeded, error.to_string()))?;
                Self::Like(subject, pattern)
            }
        })
    }

    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }

    /// Tests that all which passes must pass.
    fn tests(&self) -> impl Iterator<Item = (&'v Subject, &Condition<'v>)> {
        let parts = match self {
            Self::All(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        parts.iter().filter_map(Self::test)
    }

    fn test(&self) -> Option<(&'v Subject, &Condition<'v>)> {
        match self {
            Self::Test(subject, condition) => Some((*subject, condition)),
            // `in` of a list with a null in it.
            Self::Any(parts) => match parts.as_slice() {
                [Self::Test(subject, condition), Self::Unknown] => Some((*subject, condition)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Conditions on properties that all which passes must fulfil: an index may know who does.
    pub(crate) fn conditions(&self) -> Vec<Condition<'v>> {
        let of_properties = self.tests().filter(|(subject, _)| matches!(subject, Subject::Property(..)));
        of_properties.map(|(_, condition)| condition.clone()).collect()
    }

    /// The keys of all nodes that can pass, where the filter names them.
    pub(crate) fn keys(&self) -> Option<Vec<&str>> {
        self.tests().filter(|(subject, condition)| **subject == Subject::Key && !condition.not).find_map(
            |(_, condition)| match (condition.test, condition.value.as_ref()?) {
                (Test::Equal, Value::String(key)) => Some(vec![&**key]),
                (Test::In, Value::StringList(keys)) => Some(keys.iter().map(|key| &**key).collect()),
                _ => None,
            },
        )
    }
}

/// A null among the values of a list, as a variable is that the session does not have: nothing compares with it, and whether something is
/// among such values is unknown where it is none of the others.
fn tested<'v>(
    subject: &'v Subject,
    test: Test,
    not: bool,
    operand: &'v Given,
    variables: &'v Variables,
) -> Result<Bound<'v>, GraphqlError> {
    let kind = if test == Test::In { json_value::list_of(kind(subject)) } else { kind(subject) };
    let value = json_value::read(kind, operand, variables).ok_or_else(|| misfit(subject, operand))?;
    let tested = Bound::Test(subject, Condition { property: name(subject), test, not, value: Some(value) });
    if !json_value::has_null(operand, variables) {
        return Ok(tested);
    }
    let parts = vec![tested, Bound::Unknown];
    Ok(match test {
        Test::In if not => Bound::All(parts),
        Test::In => Bound::Any(parts),
        _ => Bound::Unknown,
    })
}

fn is_absent_of_session(value: &Given, variables: &Variables) -> bool {
    let Given::Slot(slot) = value else { return false };
    matches!(slot.root, SlotRoot::Session(_)) && variables.get(slot).is_none_or(serde_json::Value::is_null)
}

fn kind(subject: &Subject) -> Kind {
    match subject {
        Subject::Id => Kind::Integer,
        Subject::Key | Subject::Type => Kind::String,
        Subject::Property(_, kind) => *kind,
    }
}

fn name(subject: &Subject) -> &str {
    match subject {
        Subject::Id => "_id",
        Subject::Key => "_key",
        Subject::Type => "_type",
        Subject::Property(name, _) => name,
    }
}

/// Coercion lets only values of the right type through.
fn misfit(subject: &Subject, value: &Given) -> GraphqlError {
    let message = format!("`{}` is compared with a value that is no {}", name(subject), kind(subject).name());
    permissions::misfit(GraphqlError::new(ErrorCode::BadUserInput, message), value)
}
