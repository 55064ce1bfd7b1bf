//! From a field of a GraphQL selection to a [`RootPlan`]: names become ids, arguments become filters, orders
//! and row counts. It knows no dialect and no value of a variable.

use std::collections::HashMap;

use prony_graphql::{
    Name,
    error::{ErrorCode, GraphqlError},
    selection::{Field, OperationKind, Value},
};
use prony_source::dialect::{AggregateFunction, ResultOutput, RowCount};

use crate::{
    lower_filter,
    model::{Cardinality, ColumnId, Model, RelationId, RootField, RowField, Table, TableId},
    plan::{
        AggregateField, AggregateKind, AggregateOutput, AggregatePlan, CreatePlan, DeletePlan, Direction,
        Filter, ListPlan, MutationPlan, OrderKey, Output, OutputKind, Root, RootPlan, RowPlan, RowsPlan,
        UpdatePlan,
    },
};

/// Finds what a root field stands for; made once per model.
#[derive(Debug, Default)]
pub struct RootIndex {
    query: HashMap<Box<str>, RootField>,
    mutation: HashMap<Box<str>, RootField>,
}

impl RootIndex {
    pub fn new(model: &Model) -> Self {
        let mut index = Self::default();
        for (id, table) in model.numbered() {
            index.query.insert(table.list_name.clone(), RootField::List(id));
            index.query.insert(format!("{}_aggregate", table.list_name).into(), RootField::Aggregate(id));
            for (verb, root) in [
                ("create", RootField::Create(id)),
                ("update", RootField::Update(id)),
                ("delete", RootField::Delete(id)),
            ] {
                index.mutation.insert(format!("{verb}{}", table.type_name).into(), root);
            }
        }
        index
    }

    pub(crate) fn find(&self, kind: OperationKind, name: &str) -> Option<RootField> {
        match kind {
            OperationKind::Query => self.query.get(name).copied(),
            OperationKind::Mutation => self.mutation.get(name).copied(),
            OperationKind::Subscription => None,
        }
    }
}

/// Lowers one root field of a valid operation.
///
/// # Errors
/// `BadUserInput` where an argument's value asks for something that its type cannot refuse, such as a null in
/// place of a key.
pub fn lower(
    model: &Model,
    index: &RootIndex,
    kind: OperationKind,
    field: &Field,
) -> Result<RootPlan, GraphqlError> {
    let root = index.find(kind, &field.name).ok_or_else(|| unknown_field(field))?;
    let lowering = Lowering { model };
    let root = match root {
        RootField::List(id) => Root::Read(RowsPlan::List(lowering.list(id, field)?)),
        RootField::Aggregate(id) => Root::Read(RowsPlan::Aggregate(lowering.aggregate(id, field)?)),
        RootField::Create(id) => Root::Write(MutationPlan::Create(lowering.create(id, field)?)),
        RootField::Update(id) => Root::Write(MutationPlan::Update(lowering.update(id, field)?)),
        RootField::Delete(id) => Root::Write(MutationPlan::Delete(lowering.delete(id, field)?)),
    };
    Ok(RootPlan { response_key: field.response_key.as_str().into(), position: field.position, root })
}

/// What is selected of a row of the table.
pub(super) fn row_outputs(
    model: &Model,
    table: TableId,
    selections: &[Field],
) -> Result<Vec<Output>, GraphqlError> {
    Lowering { model }.outputs(model.table(table), selections)
}

struct Lowering<'m> {
    model: &'m Model,
}

impl Lowering<'_> {
    fn list(&self, id: TableId, field: &Field) -> Result<ListPlan, GraphqlError> {
        let table = self.model.table(id);
        Ok(ListPlan {
            table: id,
            outputs: self.outputs(table, &field.selections)?,
            filter: lower_filter::clauses(self.model, table, field)?,
            order: order(table, field.argument("sort")),
            limit: row_count(field, "limit"),
            offset: row_count(field, "offset"),
        })
    }

    fn outputs(&self, table: &Table, selections: &[Field]) -> Result<Vec<Output>, GraphqlError> {
        selections.iter().map(|field| self.output(table, field)).collect()
    }

    fn output(&self, table: &Table, field: &Field) -> Result<Output, GraphqlError> {
        let kind = if field.name == "__typename" {
            OutputKind::Typename(field.parent_type.as_str().into())
        } else {
            match table.row_field(&field.name).ok_or_else(|| unknown_field(field))? {
                RowField::Column(id) => OutputKind::Column(id),
                RowField::Relation(id) => self.relation(table, id, field)?,
                RowField::RelationAggregate(id) => {
                    let aggregate = self.aggregate(table.relation(id).target, field)?;
                    OutputKind::Related(id, RowsPlan::Aggregate(aggregate).into())
                }
            }
        };
        Ok(Output { response_key: field.response_key.as_str().into(), position: field.position, kind })
    }

    fn relation(&self, table: &Table, id: RelationId, field: &Field) -> Result<OutputKind, GraphqlError> {
        let relation = table.relation(id);
        let rows = match relation.cardinality {
            Cardinality::One => {
                let outputs = self.outputs(self.model.table(relation.target), &field.selections)?;
                RowsPlan::One(RowPlan { table: relation.target, filter: Filter::everything(), outputs })
            }
            Cardinality::Many => RowsPlan::List(self.list(relation.target, field)?),
        };
        Ok(OutputKind::Related(id, rows.into()))
    }

    fn aggregate(&self, id: TableId, field: &Field) -> Result<AggregatePlan, GraphqlError> {
        let table = self.model.table(id);
        let outputs = field.selections.iter().map(|output| aggregate_output(table, output));
        Ok(AggregatePlan {
            table: id,
            filter: lower_filter::clauses(self.model, table, field)?,
            outputs: outputs.collect::<Result<_, _>>()?,
        })
    }

    fn create(&self, id: TableId, field: &Field) -> Result<CreatePlan, GraphqlError> {
        let table = self.model.table(id);
        Ok(CreatePlan {
            table: id,
            values: assignments(table, field, field.arguments.iter())?,
            check: Filter::everything(),
            visibility: None,
            outputs: self.outputs(table, &field.selections)?,
        })
    }

    fn update(&self, id: TableId, field: &Field) -> Result<UpdatePlan, GraphqlError> {
        let table = self.model.table(id);
        // A column of that name cannot be updated: the key has it.
        let columns = field.arguments.iter().filter(|(name, _)| name != "pk_columns");
        Ok(UpdatePlan {
            table: id,
            key: key(table, field)?,
            filter: Filter::everything(),
            check: Filter::everything(),
            visibility: None,
            values: assignments(table, field, columns)?,
            outputs: ResultOutput::all_of(field),
        })
    }

    fn delete(&self, id: TableId, field: &Field) -> Result<DeletePlan, GraphqlError> {
        let table = self.model.table(id);
        Ok(DeletePlan {
            table: id,
            key: key(table, field)?,
            filter: Filter::everything(),
            outputs: ResultOutput::all_of(field),
        })
    }
}

fn aggregate_output(table: &Table, field: &Field) -> Result<AggregateOutput, GraphqlError> {
    let kind = match field.name.as_str() {
        "__typename" => AggregateKind::Typename(field.parent_type.as_str().into()),
        "count" => AggregateKind::Count,
        name => {
            let function = aggregate_function(name).ok_or_else(|| unknown_field(field))?;
            let members = field.selections.iter().map(|member| aggregate_field(table, member));
            AggregateKind::Fields(function, members.collect::<Result<_, _>>()?)
        }
    };
    Ok(AggregateOutput { response_key: field.response_key.as_str().into(), position: field.position, kind })
}

fn aggregate_function(name: &str) -> Option<AggregateFunction> {
    match name {
        "sum" => Some(AggregateFunction::Sum),
        "avg" => Some(AggregateFunction::Avg),
        "max" => Some(AggregateFunction::Max),
        "min" => Some(AggregateFunction::Min),
        _ => None,
    }
}

fn aggregate_field(table: &Table, field: &Field) -> Result<AggregateField, GraphqlError> {
    let column = if field.name == "__typename" {
        Err(field.parent_type.as_str().into())
    } else {
        Ok(table.column_by_field(&field.name).ok_or_else(|| unknown_field(field))?)
    };
    Ok(AggregateField { response_key: field.response_key.as_str().into(), position: field.position, column })
}

/// The client's keys in the order written, then the primary key's columns which are not among them.
fn order(table: &Table, sort: Option<&Value>) -> Vec<OrderKey> {
    let mut keys: Vec<OrderKey> = Vec::new();
    let mut add = |key: OrderKey| {
        if keys.iter().all(|known| known.column != key.column) {
            keys.push(key);
        }
    };
    let inputs = match sort {
        Some(Value::List(inputs)) => inputs.as_slice(),
        Some(input) => std::slice::from_ref(input),
        None => &[],
    };
    for input in inputs {
        let Value::Object(entries) = input else { continue };
        for (name, value) in entries {
            if let (Some(column), Some(direction)) = (table.column_by_field(name), direction(value)) {
                add(OrderKey { column, direction });
            }
        }
    }
    for &column in &table.primary_key {
        add(OrderKey { column, direction: Direction::Ascending });
    }
    keys
}

/// `None` for a null, which asks for no order.
fn direction(value: &Value) -> Option<Direction> {
    match value {
        Value::Enum(name) if name == "asc" => Some(Direction::Ascending),
        Value::Enum(name) if name == "desc" => Some(Direction::Descending),
        _ => None,
    }
}

/// `None` where the argument is absent or null.
fn row_count(field: &Field, argument: &str) -> Option<RowCount> {
    match field.argument(argument) {
        None | Some(Value::Null) => None,
        Some(value) => Some(RowCount { value: value.clone(), position: field.position, highest: None }),
    }
}

/// The columns that the arguments write.
fn assignments<'a>(
    table: &Table,
    field: &Field,
    arguments: impl Iterator<Item = &'a (Name, Value)>,
) -> Result<Vec<(ColumnId, Value)>, GraphqlError> {
    arguments
        .map(|(name, value)| {
            let column = table.column_by_field(name).ok_or_else(|| unknown_field(field))?;
            Ok((column, lower_filter::operand(value)))
        })
        .collect()
}

/// Values of all columns of the primary key.
fn key(table: &Table, field: &Field) -> Result<Vec<(ColumnId, Value)>, GraphqlError> {
    let given = field.argument("pk_columns");
    table
        .primary_key
        .iter()
        .map(|&id| {
            let name = &table.column(id).field;
            match given.and_then(|columns| columns.get(name)) {
                Some(value) if *value != Value::Null => Ok((id, lower_filter::operand(value))),
                _ => Err(GraphqlError::new(
                    ErrorCode::BadUserInput,
                    format!(
                        "`pk_columns` of `{}` needs a value for `{name}`, a column of the primary key",
                        field.name
                    ),
                )
                .at(field.position)),
            }
        })
        .collect()
}

/// Validation lets only known fields through; this names the field should schema and model ever disagree.
pub(super) fn unknown_field(field: &Field) -> GraphqlError {
    GraphqlError::new(
        ErrorCode::ValidationFailed,
        format!("`{}` has no field `{}` in this source", field.parent_type, field.name),
    )
    .at(field.position)
}
