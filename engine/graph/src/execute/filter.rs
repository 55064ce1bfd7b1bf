//! Filters with their values: whether a node or relationship passes. How a value compares with another is the store's
//! business; how answers combine is SQL's, where what is asked of a missing property is neither true nor false.

use std::borrow::Cow;

use prony_graph_store::{Condition, Kind, Node, Ref, Relationship, Test, Value};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    selection::{SlotRoot, Value as Given},
    variables::Variables,
};

use crate::{
    execute::{json_value, view::View},
    planning::plan::{Filter, Subject},
};
use prony_source::dialect::LikePattern;

/// A node or relationship as it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Thing<'r> {
    Node(Node<'r>),
    Relationship(Relationship<'r>),
}

impl<'r> Thing<'r> {
    pub(crate) fn at(&self) -> Ref {
        match self {
            Self::Node(node) => node.at,
            Self::Relationship(relationship) => relationship.at,
        }
    }

    pub(crate) fn property(&self, name: &str) -> Option<Value<'r>> {
        match self {
            Self::Node(node) => node.property(name),
            Self::Relationship(relationship) => relationship.property(name),
        }
    }

    /// None for a property that is missing, or of another kind than when the request was planned.
    pub(crate) fn value(&self, subject: &Subject) -> Option<Value<'r>> {
        match (subject, self) {
            (Subject::Id, _) => Some(Value::Integer(self.at().id().cast_signed())),
            (Subject::Key, Self::Node(node)) => Some(Value::String(Cow::Borrowed(node.key))),
            (Subject::Key, Self::Relationship(_)) => None,
            (Subject::Type, Self::Node(node)) => Some(Value::String(Cow::Borrowed(&node.of.name))),
            (Subject::Type, Self::Relationship(of)) => Some(Value::String(Cow::Borrowed(&of.of.name))),
            (Subject::Property(name, kind), _) => self.property(name)?.fit(*kind),
        }
    }
}

/// A [`Filter`] with its values filled in.
#[derive(Debug)]
pub(crate) enum Bound<'v> {
    /// Neither true nor false of anything: a comparison with a variable that the session does not have.
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
            Filter::From(filter) => Self::From(inner(filter)?),
            Filter::To(filter) => Self::To(inner(filter)?),
            Filter::Test { operand: value, .. } | Filter::Like { pattern: value, .. }
                if is_absent_of_session(value, variables) =>
            {
                Self::Unknown
            }
            Filter::IsNull { subject, is_null } => Self::IsNull(subject, *is_null),
            Filter::Test { subject, test, not, operand } => {
                let kind = if *test == Test::In { json_value::list_of(kind(subject)) } else { kind(subject) };
                let value = json_value::read(kind, operand, variables).ok_or_else(|| misfit(subject))?;
                Self::Test(
                    subject,
                    Condition { property: name(subject), test: *test, not: *not, value: Some(value) },
                )
            }
            Filter::Like { subject, pattern, insensitive } => {
                let pattern = json_value::read(Kind::String, pattern, variables);
                let Some(Value::String(pattern)) = pattern else { return Err(misfit(subject)) };
                Self::Like(subject, LikePattern::new(&pattern, *insensitive))
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
        parts.iter().filter_map(|part| {
            if let Self::Test(subject, condition) = part { Some((*subject, condition)) } else { None }
        })
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

    /// Only what is certain passes.
    pub(crate) fn passes(&self, thing: &Thing<'_>, view: &View<'_>) -> bool {
        self.holds(thing, view) == Some(true)
    }

    /// None where it is neither true nor false.
    fn holds(&self, thing: &Thing<'_>, view: &View<'_>) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::All(parts) => combine(parts.iter().map(|part| part.holds(thing, view)), false),
            Self::Any(parts) => combine(parts.iter().map(|part| part.holds(thing, view)), true),
            Self::Not(filter) => filter.holds(thing, view).map(|holds| !holds),
            Self::IsNull(subject, is_null) => Some(thing.value(subject).is_none() == *is_null),
            Self::Test(subject, condition) => {
                let found = thing.value(subject)?;
                Some(condition.holds(Some(&found)))
            }
            Self::Like(subject, pattern) => match thing.value(subject)? {
                Value::String(text) => Some(pattern.matches(&text)),
                _ => Some(false),
            },
            Self::From(filter) => holds_at(filter, thing, view, |relationship| relationship.from),
            Self::To(filter) => holds_at(filter, thing, view, |relationship| relationship.to),
        }
    }
}

fn holds_at(
    filter: &Bound<'_>,
    thing: &Thing<'_>,
    view: &View<'_>,
    end: impl Fn(&Relationship<'_>) -> Ref,
) -> Option<bool> {
    let Thing::Relationship(relationship) = thing else { return None };
    filter.holds(&Thing::Node(view.node(end(relationship))?), view)
}

/// All of them, or where `decisive` is true any of them: a decisive one decides, else an unknown one leaves it open.
fn combine(parts: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut is_open = false;
    for part in parts {
        match part {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => is_open = true,
        }
    }
    (!is_open).then_some(!decisive)
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
fn misfit(subject: &Subject) -> GraphqlError {
    let message = format!("`{}` is compared with a value that is no {}", name(subject), kind(subject).name());
    GraphqlError::new(ErrorCode::BadUserInput, message)
}
