//! What fields do with the rows of which table, for interceptors.

use prony_graphql::selection::{Field, OperationKind};
use prony_source::interceptors::{RowAccess, RowOperation};

use crate::{
    changes::names::ChangeIndex,
    lower::RootIndex,
    model::{Model, RootField, RowField, TableId},
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
