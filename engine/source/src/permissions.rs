//! What a role may do with the rows of a source, as data: conditions in the words of `where`, whose values may be variables of
//! the session. Each source makes its own filters of them ([`Source`](crate::Source) knows its tables).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    selection::{Slot, SlotRoot, Value},
};
use serde_json::Value as Json;

/// What is told of a value that does not fit: of one of the session less than `error` says, as whoever asks may not see what it is compared
/// with or written to. The log has all of it.
#[must_use]
pub fn misfit(error: GraphqlError, value: &Value) -> GraphqlError {
    if !value.is_of_session() {
        return error;
    }
    session_misfit(error)
}

/// As [`misfit`], of a value that is known to be of the session.
#[must_use]
pub fn session_misfit(error: GraphqlError) -> GraphqlError {
    let message = "what is known of your session does not fit what your role's permissions use it for";
    GraphqlError::new(ErrorCode::Forbidden, message).with_detail(error.detail.unwrap_or(error.message))
}

/// What a role may do, by the names of a source's tables or types. What is not named cannot be seen or written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permissions {
    /// Whether all of the source can be seen and written, as far as the source itself lets it.
    pub everything: bool,
    /// Equal ones may be one.
    pub tables: BTreeMap<String, Arc<TablePermissions>>,
    /// Of a source that has no tables: functions, and other GraphQL servers.
    pub fields: FieldPermissions,
    /// Policies that hold for the role, by their names.
    pub policies: BTreeSet<String>,
}

/// Fields that can be asked for, as `Type.field`, `Type.*`, or `*` for all. Of the root types only those that are named; of other
/// types all or, where some of a type are named, those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPermissions(BTreeSet<String>);

impl FieldPermissions {
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Whether nothing can be asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a field of a type can be asked for, once something leads to the type.
    pub fn allow(&self, type_name: &str, field: &str, is_root: bool) -> bool {
        let mut of_type = self.of_type(type_name).peekable();
        let names_none = of_type.peek().is_none();
        self.0.contains("*") || names_none && !is_root || of_type.any(|name| name == "*" || name == field)
    }

    /// What can be asked for with either. Of a type of which only one names fields, the other may have all.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other.clone() } else { self.clone() };
        }
        let mut names: BTreeSet<String> = self.0.union(&other.0).cloned().collect();
        let types = names.iter().filter_map(|name| name.split_once('.')).map(|(name, _)| name);
        let is_root = |name: &str| ["Query", "Mutation", "Subscription"].contains(&name);
        let is_named = |of: &Self, name: &str| of.of_type(name).next().is_some();
        let open = types.filter(|name| !is_root(name) && is_named(self, name) != is_named(other, name));
        let open: Vec<String> = open.map(|name| format!("{name}.*")).collect();
        names.extend(open);
        Self(names)
    }

    /// The fields of a type that are named.
    fn of_type(&self, type_name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(move |name| name.strip_prefix(type_name)?.strip_prefix('.'))
    }
}

impl Permissions {
    /// The faults of a source that has tables, and no fields that are granted by themselves.
    pub fn field_faults(&self) -> impl Iterator<Item = PermissionFault> {
        self.fields.names().map(|name| PermissionFault {
            name: name.to_owned(),
            message: "fields are granted of functions and upstreams; of this source grant `tables`"
                .to_owned(),
        })
    }
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

    /// The index of a name, which is added where it is not known.
    pub fn index(&mut self, name: &str) -> usize {
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
    fn fields_are_granted_by_name_and_united() {
        let of = |names: &[&str]| FieldPermissions::new(names.iter().map(|name| (*name).to_owned()));
        let books = of(&["Query.books", "Book.title"]);
        let allows = |permissions: &FieldPermissions, field: &str| {
            let (type_name, field) = field.split_once('.').expect("it is Type.field");
            permissions.allow(type_name, field, type_name == "Query")
        };
        for (field, expected) in [
            ("Query.books", true),
            ("Query.book", false),
            ("Book.title", true),
            ("Book.price", false),
            ("Books.price", true),
        ] {
            assert_eq!(allows(&books, field), expected, "{field}");
        }
        assert!(allows(&of(&["*"]), "Query.a") && allows(&of(&["Query.*"]), "Query.a"));
        assert!(!allows(&FieldPermissions::default(), "Query.a"));
        let united = books.union(&of(&["Query.authors"]));
        assert!(allows(&united, "Book.price") && allows(&united, "Query.authors"), "{united:?}");
        let united = books.union(&of(&["Query.authors", "Book.year"]));
        assert!(!allows(&united, "Book.price") && allows(&united, "Book.year"), "{united:?}");
        assert_eq!(books.union(&FieldPermissions::default()), books);
    }

    #[test]
    fn what_does_not_fit_of_a_session_is_told_to_the_log_alone() {
        let error = || GraphqlError::new(ErrorCode::BadUserInput, "`age` takes an integer");
        let slot = |root: SlotRoot| Value::Slot(Slot::from(root));
        let of_session = slot(SlotRoot::Session(0));
        for value in [of_session.clone(), Value::List(vec![Value::Null, of_session])] {
            let told = misfit(error(), &value);
            assert_eq!(told.code, ErrorCode::Forbidden);
            assert_eq!(told.detail.as_deref(), Some("`age` takes an integer"));
            assert!(!told.message.contains("age"), "{}", told.message);
        }
        let told = misfit(error(), &slot(SlotRoot::Variable(0)));
        assert_eq!((told.code, told.detail), (ErrorCode::BadUserInput, None));
    }

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
