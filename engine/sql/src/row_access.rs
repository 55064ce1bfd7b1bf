//! What fields do with the rows of which table, for interceptors, and how many rows they give, for joins.

use prony_graphql::{
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::interceptors::{RowAccess, RowOperation, RowQuery};
use serde_json::{Map, Value as Json, json};

use crate::{
    changes::names::ChangeIndex,
    lower::RootIndex,
    model::{Model, RootField, RowField, TableId},
    restrict::Restrictions,
};

/// What a field does, whether it is a root field or one of a row.
pub(crate) fn row_access(
    model: &Model,
    roots: &RootIndex,
    changes: &ChangeIndex,
    kind: OperationKind,
    field: &Field,
) -> Option<RowAccess> {
    let (table, operation) = match field.parent_type.as_str() {
        "Subscription" => match changes.find(&field.name) {
            Some(names) => (names.table, RowOperation::Event),
            None => of_root(roots.find(OperationKind::Query, &field.name)?),
        },
        "Query" | "Mutation" => of_root(roots.find(kind, &field.name)?),
        row_type => of_row(model, row_type, &field.name)?,
    };
    Some(RowAccess { table: model.table(table).qualified_name().into(), operation })
}

/// A query for the row that an update or a delete names by its primary key, with all its columns.
pub(crate) fn row_query(
    model: &Model,
    roots: &RootIndex,
    field: &Field,
    variables: &Variables,
) -> Option<RowQuery> {
    let (RootField::Update(table) | RootField::Delete(table)) =
        roots.find(OperationKind::Mutation, &field.name)?
    else {
        return None;
    };
    let table = model.table(table);
    let Json::Object(key) = field.argument("pk_columns")?.resolve(variables) else { return None };
    // Of a part of a key there may be several rows.
    if key.len() != table.primary_key.len() || key.values().any(Json::is_null) {
        return None;
    }
    let columns: Vec<&str> = table.columns.iter().map(|column| &*column.field).collect();
    let (row, list, columns) = (&table.type_name, &table.list_name, columns.join(" "));
    let text = format!("query($key: {row}Clauses) {{ {list}(where: $key, limit: 1) {{ {columns} }} }}");
    let key: Map<String, Json> =
        key.into_iter().map(|(column, value)| (column, json!({ "eq": value }))).collect();
    Some(RowQuery { text, variables: Map::from_iter([("key".to_owned(), Json::Object(key))]) })
}

/// The highest `limit` of a list of rows, for whom these restrictions are.
pub(crate) fn highest_limit(
    roots: &RootIndex,
    restrictions: Option<&Restrictions>,
    of_source: u32,
    root_field: &str,
) -> Option<u32> {
    let Some(RootField::List(table)) = roots.find(OperationKind::Query, root_field) else { return None };
    let of_role = restrictions.and_then(|restrictions| restrictions.of(table).limit);
    Some(of_role.map_or(of_source, |of_role| of_role.min(of_source)))
}

fn of_root(root: RootField) -> (TableId, RowOperation) {
    match root {
        RootField::List(table) => (table, RowOperation::Select),
        RootField::Aggregate(table) => (table, RowOperation::Aggregate),
        RootField::Create(table) => (table, RowOperation::Insert),
        RootField::Update(table) => (table, RowOperation::Update),
        RootField::Delete(table) => (table, RowOperation::Delete),
    }
}

/// Rows beside a row of a type.
fn of_row(model: &Model, row_type: &str, field: &str) -> Option<(TableId, RowOperation)> {
    let table = model.tables.iter().find(|table| *table.type_name == *row_type)?;
    match table.row_field(field)? {
        RowField::Column(_) => None,
        RowField::Relation(relation) => Some((table.relation(relation).target, RowOperation::Select)),
        RowField::RelationAggregate(relation) => {
            Some((table.relation(relation).target, RowOperation::Aggregate))
        }
    }
}
