//! From a `where` argument to a [`Filter`], and from `sort` to its keys. Several keys of one input must all hold; a null
//! in place of clauses asks for nothing and is left out.

use std::sync::Arc;

use prony_graph_store::{Side, Test};
use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    selection::Value,
};

use crate::{
    planning::filter::{Filter, SortKey, Subject},
    schema::model::{Model, PropertyModel, TypeId},
};

/// What a filter's or an order's fields stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'m> {
    pub(crate) model: &'m Model,
    pub(crate) side: Side,
    /// All types where none is named.
    pub(crate) only: Option<TypeId>,
}

impl Scope<'_> {
    fn subject(self, field: &str) -> Option<Subject> {
        let side = self.model.side(self.side);
        match field {
            "_id" => return Some(Subject::Id),
            // A relationship has none: it may have a property of this name.
            "_key" if self.side == Side::Nodes => return Some(Subject::Key),
            "_type" => return Some(Subject::Type),
            _ => {}
        }
        let properties: &[PropertyModel] = match self.only {
            Some(id) => &side.get(id).properties,
            None => &side.common,
        };
        let property = properties.iter().find(|property| *property.field == *field)?;
        Some(Subject::Property(Arc::clone(&property.name), property.kind))
    }

    fn nodes(self) -> Self {
        Self { side: Side::Nodes, only: None, ..self }
    }

    pub(crate) fn clauses(self, value: Option<&Value>) -> Result<Filter, GraphqlError> {
        let Some(Value::Object(entries)) = value else { return Ok(Filter::everything()) };
        let parts = entries.iter().map(|(key, value)| self.clause(key, value));
        Ok(all(parts.collect::<Result<_, _>>()?))
    }

    fn clause(self, key: &Name, value: &Value) -> Result<Filter, GraphqlError> {
        if *value == Value::Null {
            return Ok(Filter::everything());
        }
        match key.as_str() {
            "and" => Ok(all(self.each(value)?)),
            "or" => Ok(Filter::Any(self.each(value)?)),
            "not" => Ok(Filter::Not(Box::new(self.clauses(Some(value))?))),
            "from" if self.side == Side::Relationships => {
                Ok(Filter::From(Box::new(self.nodes().clauses(Some(value))?)))
            }
            "to" if self.side == Side::Relationships => {
                Ok(Filter::To(Box::new(self.nodes().clauses(Some(value))?)))
            }
            field => {
                let subject = self.subject(field).ok_or_else(|| unknown("key", field))?;
                comparisons(&subject, value)
            }
        }
    }

    fn each(self, value: &Value) -> Result<Vec<Filter>, GraphqlError> {
        match value {
            Value::List(items) => items.iter().map(|item| self.clauses(Some(item))).collect(),
            item => Ok(vec![self.clauses(Some(item))?]),
        }
    }

    /// Keys in the order written; a null asks for no order.
    pub(crate) fn sort(self, value: Option<&Value>) -> Vec<SortKey> {
        let inputs = match value {
            Some(Value::List(inputs)) => inputs.as_slice(),
            Some(input) => std::slice::from_ref(input),
            None => &[],
        };
        let mut keys: Vec<SortKey> = Vec::new();
        for input in inputs {
            let Value::Object(entries) = input else { continue };
            for (field, order) in entries {
                let (Some(subject), Value::Enum(order)) = (self.subject(field), order) else { continue };
                if keys.iter().all(|known| known.subject != subject) {
                    keys.push(SortKey { subject, descending: order == "desc" });
                }
            }
        }
        keys
    }
}

/// `All` without needless nesting.
fn all(parts: Vec<Filter>) -> Filter {
    let mut kept: Vec<Filter> = parts.into_iter().filter(|part| !part.is_everything()).collect();
    if kept.len() == 1 { kept.remove(0) } else { Filter::All(kept) }
}

fn comparisons(subject: &Subject, value: &Value) -> Result<Filter, GraphqlError> {
    let Value::Object(entries) = value else { return Ok(Filter::everything()) };
    let parts = entries.iter().map(|(operator, operand)| comparison(subject, operator, operand));
    Ok(all(parts.collect::<Result<_, _>>()?))
}

fn comparison(subject: &Subject, operator: &Name, operand: &Value) -> Result<Filter, GraphqlError> {
    let is_null = |is_null| Filter::IsNull { subject: subject.clone(), is_null };
    if *operand == Value::Null {
        return Ok(match operator.as_str() {
            "eq" => is_null(true),
            "ne" => is_null(false),
            "is_null" => Filter::everything(),
            _ => Filter::Unknown,
        });
    }
    let test = |test, not| Filter::Test { subject: subject.clone(), test, not, operand: operand.clone() };
    let like = |insensitive| Filter::Like { subject: subject.clone(), pattern: operand.clone(), insensitive };
    Ok(match operator.as_str() {
        "eq" => test(Test::Equal, false),
        "ne" => test(Test::Equal, true),
        "gt" => test(Test::Greater, false),
        "gte" => test(Test::GreaterOrEqual, false),
        "lt" => test(Test::Less, false),
        "lte" => test(Test::LessOrEqual, false),
        "in" => test(Test::In, false),
        "not_in" => test(Test::In, true),
        "starts_with" => test(Test::StartsWith, false),
        "contains" => test(Test::Contains, false),
        "ends_with" => test(Test::EndsWith, false),
        "like" => like(false),
        "ilike" => like(true),
        "is_null" => is_null(*operand == Value::Boolean(true)),
        other => return Err(unknown("operator", other)),
    })
}

/// Validation lets only known keys through; this names one should schema and model ever disagree.
fn unknown(what: &str, name: &str) -> GraphqlError {
    GraphqlError::new(ErrorCode::ValidationFailed, format!("`where` has no {what} `{name}`"))
}
