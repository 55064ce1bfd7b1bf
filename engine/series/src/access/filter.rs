//! Which entities pass, by id and service path: as a request or a permission asks for it, and with its values. Three-valued as in SQL: a
//! comparison with a variable that a session does not have is unknown, and so is its negation; neither lets an entity pass.

use std::{cmp::Ordering, collections::HashSet};

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    selection::Value,
    variables::Variables,
};
use prony_source::{
    dialect::{self, LikePattern},
    permissions::misfit,
};
use serde_json::Value as Json;

/// Entries of an object that name its parts.
type Entries = [(Name, Value)];

/// What of an entity is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Id,
    ServicePath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    In,
    NotIn,
    Like,
    LikeInAnyCase,
}

/// A filter whose values are still open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Compare { subject: Subject, operator: Operator, operand: Value },
}

/// A filter with its values.
#[derive(Debug)]
pub(crate) enum BoundFilter {
    Unknown,
    All(Vec<BoundFilter>),
    Any(Vec<BoundFilter>),
    Not(Box<BoundFilter>),
    Text { subject: Subject, operator: Operator, text: Box<str> },
    Among { subject: Subject, texts: HashSet<Box<str>>, has_null: bool, not: bool },
    Like(Subject, LikePattern),
}

const OPERATORS: [(&str, Operator); 10] = [
    ("eq", Operator::Equal),
    ("ne", Operator::NotEqual),
    ("gt", Operator::Greater),
    ("gte", Operator::GreaterOrEqual),
    ("lt", Operator::Less),
    ("lte", Operator::LessOrEqual),
    ("in", Operator::In),
    ("not_in", Operator::NotIn),
    ("like", Operator::Like),
    ("ilike", Operator::LikeInAnyCase),
];

impl Filter {
    pub(crate) const fn everything() -> Self {
        Self::All(Vec::new())
    }

    pub(crate) const fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    /// What passes both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All(parts), other) | (other, Self::All(parts)) if parts.is_empty() => other,
            (one, other) => Self::All(vec![one, other]),
        }
    }

    /// From a `where` argument; a null asks for nothing.
    ///
    /// # Errors
    /// Keys and operators that there are not.
    pub(crate) fn of(value: Option<&Value>) -> Result<Self, String> {
        match value {
            None | Some(Value::Null) => Ok(Self::everything()),
            Some(Value::Object(entries)) => {
                let parts: Vec<Self> = entries.iter().map(clause).collect::<Result<_, _>>()?;
                Ok(parts.into_iter().fold(Self::everything(), Self::and))
            }
            Some(_) => Err("a condition is a table with `id` and `servicePath`".to_owned()),
        }
    }

    /// From a condition that a configuration has written: whatever could be a mistake is one.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn of_condition(value: &Value) -> Result<Self, String> {
        if let Value::Object(entries) = value {
            check_condition(entries)?;
        }
        Self::of(Some(value))
    }

    /// With the values of a request.
    ///
    /// # Errors
    /// A value that is no text, or a pattern that is too long.
    pub(crate) fn bind(&self, variables: &Variables) -> Result<BoundFilter, GraphqlError> {
        let each = |parts: &[Self]| parts.iter().map(|part| part.bind(variables)).collect::<Result<_, _>>();
        Ok(match self {
            Self::All(parts) => BoundFilter::All(each(parts)?),
            Self::Any(parts) => BoundFilter::Any(each(parts)?),
            Self::Not(part) => BoundFilter::Not(Box::new(part.bind(variables)?)),
            Self::Compare { subject, operator, operand } => {
                let bound = bind_comparison(*subject, *operator, &dialect::json(operand, variables));
                bound.map_err(|error| misfit(error, operand))?
            }
        })
    }
}

fn clause((key, value): &(Name, Value)) -> Result<Filter, String> {
    if *value == Value::Null {
        return Ok(Filter::everything());
    }
    let each = || match value {
        Value::List(items) => items.iter().map(|item| Filter::of(Some(item))).collect(),
        item => Ok::<_, String>(vec![Filter::of(Some(item))?]),
    };
    match key.as_str() {
        "and" => Ok(Filter::All(each()?)),
        "or" => Ok(Filter::Any(each()?)),
        "not" => Ok(Filter::Not(Box::new(Filter::of(Some(value))?))),
        "id" => comparisons(Subject::Id, value),
        "servicePath" => comparisons(Subject::ServicePath, value),
        _ => Err(format!("entities are filtered by `id` and `servicePath`, not by `{key}`")),
    }
}

fn comparisons(subject: Subject, value: &Value) -> Result<Filter, String> {
    let Value::Object(entries) = value else {
        return Err("`id` and `servicePath` are compared by operators, as in `id = { eq = … }`".to_owned());
    };
    let parts = entries.iter().map(|(operator, operand)| comparison(subject, operator, operand));
    Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().fold(Filter::everything(), Filter::and))
}

/// Neither an id nor a service path is ever null.
fn comparison(subject: Subject, operator: &Name, operand: &Value) -> Result<Filter, String> {
    let known = OPERATORS.iter().find(|(name, _)| operator == name).map(|(_, of)| *of);
    Ok(match (known, operand) {
        (None, Value::Boolean(true)) if operator == "is_null" => Filter::nothing(),
        (None, Value::Boolean(false) | Value::Null) if operator == "is_null" => Filter::everything(),
        (None, _) => return Err(format!("there is no operator `{operator}` with this value")),
        (Some(Operator::NotEqual), Value::Null) => Filter::everything(),
        // A comparison with null is unknown.
        (Some(_), Value::Null) => Filter::nothing(),
        (Some(operator), operand) => Filter::Compare { subject, operator, operand: operand.clone() },
    })
}

fn check_condition(entries: &Entries) -> Result<(), String> {
    let text_or_variable = |value: &Value| {
        let fits = matches!(value, Value::Scalar(Json::String(_)) | Value::Slot(_));
        fits.then_some(()).ok_or_else(|| "ids and service paths are compared with texts".to_owned())
    };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("and" | "or", Value::List(items)) => {
                for item in items {
                    let Value::Object(entries) = item else {
                        return Err(format!("`{key}` is a list of conditions"));
                    };
                    check_condition(entries)?;
                }
            }
            ("and" | "or", _) => return Err(format!("`{key}` is a list of conditions")),
            ("not", Value::Object(entries)) => check_condition(entries)?,
            ("not", _) => return Err("`not` is a condition".to_owned()),
            ("id" | "servicePath", Value::Object(entries)) if !entries.is_empty() => {
                for (operator, operand) in entries {
                    match (operator.as_str(), operand) {
                        ("in" | "not_in", Value::List(items)) => {
                            items.iter().try_for_each(text_or_variable)?;
                        }
                        ("in" | "not_in", Value::Slot(_)) | ("is_null", Value::Boolean(_)) => {}
                        ("in" | "not_in", _) => return Err(format!("`{operator}` of `{key}` is a list")),
                        _ => text_or_variable(operand)?,
                    }
                }
            }
            ("id" | "servicePath", _) => {
                return Err(format!("`{key}` is compared by operators, as in `{key} = {{ eq = … }}`"));
            }
            _ => return Err(format!("there is no `{key}`; write `id`, `servicePath`, `and`, `or` or `not`")),
        }
    }
    Ok(())
}

fn bind_comparison(
    subject: Subject,
    operator: Operator,
    operand: &Json,
) -> Result<BoundFilter, GraphqlError> {
    let no_text =
        || GraphqlError::new(ErrorCode::BadUserInput, "ids and service paths are compared with texts");
    let text = || operand.as_str().ok_or_else(no_text);
    if operand.is_null() {
        return Ok(BoundFilter::Unknown);
    }
    Ok(match operator {
        Operator::In | Operator::NotIn => {
            let items = operand.as_array().map_or(std::slice::from_ref(operand), Vec::as_slice);
            let has_null = items.iter().any(Json::is_null);
            let texts = items.iter().filter(|item| !item.is_null());
            let texts = texts.map(|item| item.as_str().map(Box::from).ok_or_else(no_text));
            let not = operator == Operator::NotIn;
            BoundFilter::Among { subject, texts: texts.collect::<Result<_, _>>()?, has_null, not }
        }
        Operator::Like | Operator::LikeInAnyCase => {
            let pattern = LikePattern::new(text()?, operator == Operator::LikeInAnyCase);
            let too_long = |error: dialect::PatternTooLong| {
                GraphqlError::new(ErrorCode::LimitExceeded, error.to_string())
            };
            BoundFilter::Like(subject, pattern.map_err(too_long)?)
        }
        _ => BoundFilter::Text { subject, operator, text: text()?.into() },
    })
}

impl BoundFilter {
    pub(crate) const fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// Whether an entity passes.
    pub(crate) fn passes(&self, id: &str, service_path: &str) -> bool {
        self.truth(id, service_path) == Some(true)
    }

    fn truth(&self, id: &str, service_path: &str) -> Option<bool> {
        let value = |subject: &Subject| match subject {
            Subject::Id => id,
            Subject::ServicePath => service_path,
        };
        match self {
            Self::Unknown => None,
            Self::All(parts) => {
                let mut all = Some(true);
                for part in parts {
                    match part.truth(id, service_path) {
                        Some(false) => return Some(false),
                        Some(true) => {}
                        None => all = None,
                    }
                }
                all
            }
            Self::Any(parts) => {
                let mut any = Some(false);
                for part in parts {
                    match part.truth(id, service_path) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => any = None,
                    }
                }
                any
            }
            Self::Not(part) => part.truth(id, service_path).map(|truth| !truth),
            Self::Text { subject, operator, text } => {
                Some(holds(*operator, Ord::cmp(value(subject), &**text)))
            }
            Self::Among { subject, texts, has_null, not } => match texts.contains(value(subject)) {
                true => Some(!not),
                false if *has_null => None,
                false => Some(*not),
            },
            Self::Like(subject, pattern) => Some(pattern.matches(value(subject))),
        }
    }

    /// The ids of all entities that can pass, where the filter names them.
    pub(crate) fn ids(&self) -> Option<Vec<&str>> {
        match self {
            Self::Text { subject: Subject::Id, operator: Operator::Equal, text } => Some(vec![&**text]),
            Self::Among { subject: Subject::Id, texts, not: false, .. } => {
                Some(texts.iter().map(|text| &**text).collect())
            }
            Self::All(parts) => parts.iter().find_map(Self::ids),
            _ => None,
        }
    }
}

fn holds(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::In | Operator::NotIn | Operator::Like | Operator::LikeInAnyCase => false,
    }
}
