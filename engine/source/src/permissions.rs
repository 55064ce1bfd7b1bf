//! What a role may do with the rows of a source, as data: conditions in the words of `where`, whose values may be variables of
//! the session. Each source makes its own filters of them ([`Source`](crate::Source) knows its tables).

use std::collections::BTreeMap;

use prony_graphql::{
    Name,
    selection::{Slot, SlotRoot, Value},
};
use serde_json::Value as Json;

/// What a role may do, by the names of a source's tables or types. What is not named cannot be seen or written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permissions {
    pub rows: BTreeMap<String, RowPermissions>,
}

/// What a role may do with the rows of one table or type; none where it may not do that with any. An empty condition holds for
/// all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowPermissions {
    /// Rows that can be seen: in lists, below other rows, in aggregates, and by filters through relations.
    pub read: Option<Value>,
    /// What a row must pass once it is inserted.
    pub insert_check: Option<Value>,
    pub update: Option<UpdatePermission>,
    /// Rows that can be deleted.
    pub delete: Option<Value>,
}

/// Which rows can be updated, and what they must pass then.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdatePermission {
    pub rows: Value,
    pub check: Value,
}

/// A permission that does not fit what the source has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: {message}")]
pub struct PermissionFault {
    /// Of the table or type.
    pub name: String,
    pub message: String,
}

/// Names of the session's variables, each with the index of its value in a session
/// ([`Variables::with_session`](prony_graphql::variables::Variables::with_session)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNames(Vec<Box<str>>);

impl SessionNames {
    /// By index.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    fn index(&mut self, name: &str) -> usize {
        self.0.iter().position(|known| **known == *name).unwrap_or_else(|| {
            self.0.push(name.into());
            self.0.len() - 1
        })
    }

    /// A condition from what a file says of it. A text that begins with `$` is a variable of the session (`$user.id`); one
    /// that begins with `$$` is a text that begins with one `$`.
    ///
    /// # Errors
    /// A key that is no name.
    pub fn condition(&mut self, written: &Json) -> Result<Value, String> {
        Ok(match written {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Boolean(*truth),
            Json::Number(_) => Value::Scalar(written.clone()),
            Json::String(text) => match text.strip_prefix('$') {
                Some(rest) if rest.starts_with('$') => Value::Scalar(Json::from(rest)),
                Some(name) => Value::Slot(Slot::from(SlotRoot::Session(self.index(name)))),
                None => Value::Scalar(written.clone()),
            },
            Json::Array(items) => {
                Value::List(items.iter().map(|item| self.condition(item)).collect::<Result<_, _>>()?)
            }
            Json::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let name = Name::new(key).map_err(|_| format!("`{key}` is no field's name"))?;
                    Ok::<_, String>((name, self.condition(value)?))
                });
                Value::Object(entries.collect::<Result<_, _>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_name_variables_of_the_session() {
        let mut names = SessionNames::default();
        let written = json!({"a": {"eq": "$user.id"}, "or": [{"b": {"in": ["$role", "$$x", "$user.id"]}}, {"c": {"eq": null}}]});
        let condition = names.condition(&written).expect("it is a condition");
        let slot = |index| Value::Slot(Slot::from(SlotRoot::Session(index)));
        let a = condition.get("a").and_then(|a| a.get("eq"));
        assert_eq!(a, Some(&slot(0)));
        let Some(Value::List(parts)) = condition.get("or") else { panic!("{condition:?}") };
        let among = parts[0].get("b").and_then(|b| b.get("in"));
        assert_eq!(among, Some(&Value::List(vec![slot(1), Value::Scalar(json!("$x")), slot(0)])));
        assert_eq!(names.names().collect::<Vec<_>>(), ["user.id", "role"]);
        assert_eq!(names.condition(&json!({"no name": 1})), Err("`no name` is no field's name".to_owned()));
    }
}
