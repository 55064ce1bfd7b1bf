//! What a role may do with the rows of a source, as data: conditions in the words of `where`, whose values may be variables of
//! the session. Each source makes its own filters of them ([`Source`](crate::Source) knows its tables).

use std::collections::{BTreeMap, BTreeSet};

use prony_graphql::{
    Name,
    selection::{Slot, SlotRoot, Value},
};
use serde_json::Value as Json;

/// What a role may do, by the names of a source's tables or types. What is not named cannot be seen or written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permissions {
    pub tables: BTreeMap<String, TablePermissions>,
}

/// What a role may do with the rows of one table or type; none where it may not do that with any. An empty condition holds for
/// all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TablePermissions {
    pub select: Option<SelectPermission>,
    pub insert: Option<InsertPermission>,
    pub update: Option<UpdatePermission>,
    pub delete: Option<DeletePermission>,
}

/// What can be seen: in lists, below other rows, in aggregates, and by filters through relations.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectPermission {
    pub rows: Value,
    /// That can be read.
    pub columns: Columns,
    /// That rows can be filtered by; where there is none, those that can be read.
    pub filter: Option<Columns>,
    /// That rows can be sorted by; where there is none, those that can be read.
    pub sort: Option<Columns>,
    /// That can be summed up; where there is none, those that can be read.
    pub aggregate: Option<Columns>,
    /// Whether rows can be counted and summed up at all.
    pub aggregates: bool,
    /// The most rows that one list can hold, also where the source allows more.
    pub limit: Option<u64>,
}

/// What can be given for a new row.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertPermission {
    pub columns: Columns,
    /// Values that are written whatever is asked; their columns cannot be given.
    pub set: BTreeMap<String, Value>,
    /// What a row must pass once it is written.
    pub check: Value,
}

/// Which rows can be updated, in which columns, and what they must pass then.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdatePermission {
    pub rows: Value,
    pub columns: Columns,
    /// As [`InsertPermission::set`].
    pub set: BTreeMap<String, Value>,
    pub check: Value,
}

/// Which rows can be deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletePermission {
    pub rows: Value,
}

/// Columns of a table or properties of a type, by the names of their fields or, where those differ, by those that the database
/// has for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Columns {
    #[default]
    All,
    Only(BTreeSet<String>),
}

impl SelectPermission {
    /// All columns of these rows.
    pub fn of_rows(rows: Value) -> Self {
        let (filter, sort, aggregate) = (None, None, None);
        Self { rows, columns: Columns::All, filter, sort, aggregate, aggregates: true, limit: None }
    }
}

impl InsertPermission {
    /// All columns of rows that pass the check.
    pub fn checked(check: Value) -> Self {
        Self { columns: Columns::All, set: BTreeMap::new(), check }
    }
}

impl UpdatePermission {
    /// All columns of these rows, if they pass the check then.
    pub fn of_rows(rows: Value, check: Value) -> Self {
        Self { rows, columns: Columns::All, set: BTreeMap::new(), check }
    }
}

impl Columns {
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }
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
