//! A root field as one SELECT: nested fields are correlated scalar subqueries that give JSON text, the root's
//! own columns come as they are and are written by `rows`.
//!
//! Correlated subqueries in the select list over an inner, ordered and limited derived table run once per
//! row that is returned, and no generic plan can turn them into joins over whole tables.

use prony_graphql::{
    error::GraphqlError,
    selection::{SlotRoot, Value},
    variables::Variables,
};
use prony_source::dialect::{self, AggregateFunction, RowCount};

use crate::{
    run::rows::{Form, RowShape},
    statement::{
        dialect::Postgres,
        json_sql::{self, JsonText},
    },
};
use prony_sql::{
    builder::{Parameter, SqlBuilder, column_operand, push_identifier},
    catalog::ColumnKind,
    model::{ColumnId, Model, Relation, Table, TableId},
    plan::{
        AggregateField, AggregateKind, AggregatePlan, Filter, ListPlan, OrderKey, Output, OutputKind, RowPlan,
    },
    settings::RelationalSettings,
};

/// A finished SELECT.
#[derive(Debug)]
pub(crate) struct Select {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
    /// How a row becomes JSON.
    pub(crate) shape: RowShape,
}

/// Which rows of a table, in which order.
pub(crate) struct Rows<'p> {
    pub(crate) table: TableId,
    pub(crate) filter: &'p Filter,
    pub(crate) order: &'p [OrderKey],
    pub(crate) limit: Option<&'p RowCount>,
    pub(crate) offset: Option<&'p RowCount>,
}

impl<'p> Rows<'p> {
    fn of(plan: &'p ListPlan) -> Self {
        Self {
            table: plan.table,
            filter: &plan.filter,
            order: &plan.order,
            limit: plan.limit.as_ref(),
            offset: plan.offset.as_ref(),
        }
    }
}

/// Writes the SELECT of one root field.
pub(crate) struct SelectWriter<'m> {
    model: &'m Model,
    settings: &'m RelationalSettings,
    pub(crate) builder: SqlBuilder<'static, Postgres>,
}

/// Columns of nested rows and what they must equal: a column of the row above, or a part of a key.
pub(crate) type Equalities = Vec<(ColumnId, String)>;

/// What ties the rows of a relation to the row above, which stands under an alias.
fn tied_to(table: &Table, alias: &str, relation: &Relation) -> Equalities {
    let pairs = relation.pairs.iter();
    pairs.map(|&(own, theirs)| (theirs, column_operand(alias, table.column(own)))).collect()
}

impl<'m> SelectWriter<'m> {
    pub(crate) fn new(model: &'m Model, settings: &'m RelationalSettings) -> Self {
        Self { model, settings, builder: SqlBuilder::new(&Postgres) }
    }

    pub(crate) fn model(&self) -> &'m Model {
        self.model
    }

    /// Rows of the list, one row of the result each.
    pub(crate) fn list(mut self, plan: &ListPlan) -> Result<Select, GraphqlError> {
        let derived = self.builder.new_alias();
        let table = self.model.table(plan.table);
        let rows = self.rows(&Rows::of(plan), needed_columns(table, &plan.outputs), &Equalities::new())?;
        let mut select = SelectList::default();
        let shape = self.root_outputs(table, &derived, &plan.outputs, &mut select)?;
        let sql = format!("SELECT {} FROM {rows} AS {derived}", select.into_sql());
        Ok(Select { sql, parameters: self.builder.parameters, shape })
    }

    /// As [`Self::list`], of the one row that the variables give instead of those of the table.
    pub(crate) fn given(mut self, plan: &ListPlan) -> Result<Select, GraphqlError> {
        let alias = self.builder.new_alias();
        let table = self.model.table(plan.table);
        let row = self.given_row(plan.table, table);
        let mut select = SelectList::default();
        let shape = self.root_outputs(table, &alias, &plan.outputs, &mut select)?;
        let condition = self.condition(plan.table, &alias, &plan.filter, &Equalities::new());
        let sql = format!("SELECT {} FROM {row} AS {alias}{condition}", select.into_sql());
        Ok(Select { sql, parameters: self.builder.parameters, shape })
    }

    fn given_row(&mut self, id: TableId, table: &Table) -> String {
        let mut row = "(SELECT ".to_owned();
        for (index, column) in table.columns.iter().enumerate() {
            row.push_str(if index == 0 { "" } else { "," });
            let (value, column_id) = (Value::Slot(SlotRoot::Given(index).into()), ColumnId(index as u16));
            row.push_str(&self.fragment(|builder| builder.column_value((id, table), column_id, value)));
            row.push_str("::");
            row.push_str(&column.database_type);
            row.push_str(" AS ");
            push_identifier(&mut row, &column.name);
        }
        row + ")"
    }

    /// One row with one column: the object as JSON text.
    pub(crate) fn aggregate(mut self, plan: &AggregatePlan) -> Select {
        let sql = self.aggregate_over(plan, &Equalities::new());
        let mut shape = RowShape::default();
        shape.column(0, Form::Json);
        Select { sql, parameters: self.builder.parameters, shape }
    }

    fn root_outputs(
        &mut self,
        table: &Table,
        alias: &str,
        outputs: &[Output],
        select: &mut SelectList,
    ) -> Result<RowShape, GraphqlError> {
        let mut shape = RowShape::default();
        for (index, output) in outputs.iter().enumerate() {
            shape.key(index, &output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => shape.string(name),
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    let (form, sql) = Form::of(column, &column_operand(alias, column));
                    shape.column(select.position(sql), form);
                }
                nested => {
                    let sql = self.nested(table, alias, nested)?;
                    shape.column(select.position(sql), Form::Json);
                }
            }
        }
        shape.end(outputs.is_empty());
        Ok(shape)
    }

    /// An object of nested rows as JSON text.
    fn object(&mut self, table: &Table, alias: &str, outputs: &[Output]) -> Result<String, GraphqlError> {
        let mut text = JsonText::default();
        for (index, output) in outputs.iter().enumerate() {
            text.key(index, &output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => text.string(name),
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    text.expression(json_sql::column(column, &column_operand(alias, column)));
                }
                nested => text.expression(self.nested(table, alias, nested)?),
            }
        }
        text.end(outputs.is_empty());
        Ok(text.into_sql())
    }

    /// A scalar subquery for a relation's field, never null.
    fn nested(&mut self, table: &Table, alias: &str, kind: &OutputKind) -> Result<String, GraphqlError> {
        match kind {
            OutputKind::One(id, plan) => self.one(plan, &tied_to(table, alias, table.relation(*id))),
            OutputKind::Many(id, plan) => self.many(plan, &tied_to(table, alias, table.relation(*id))),
            OutputKind::Aggregate(id, plan) => {
                let tied = tied_to(table, alias, table.relation(*id));
                Ok(format!("({})", self.aggregate_over(plan, &tied)))
            }
            OutputKind::Typename(_) | OutputKind::Column(_) => Ok("'null'".to_owned()),
        }
    }

    fn one(&mut self, plan: &RowPlan, tied: &Equalities) -> Result<String, GraphqlError> {
        let target = self.model.table(plan.table);
        let alias = self.builder.new_alias();
        let object = self.object(target, &alias, &plan.outputs)?;
        let from = self.from(target, &alias);
        let condition = self.condition(plan.table, &alias, &plan.filter, tied);
        let first = first_of(target, &alias, tied);
        Ok(format!("coalesce((SELECT {object} FROM {from}{condition}{first}),'null')"))
    }

    fn many(&mut self, plan: &ListPlan, tied: &Equalities) -> Result<String, GraphqlError> {
        let derived = self.builder.new_alias();
        let rows =
            self.rows(&Rows::of(plan), needed_columns(self.model.table(plan.table), &plan.outputs), tied)?;
        let object = self.object(self.model.table(plan.table), &derived, &plan.outputs)?;
        Ok(format!("(SELECT concat('[',string_agg({object},','),']') FROM {rows} AS {derived})"))
    }

    pub(crate) fn aggregate_over(&mut self, plan: &AggregatePlan, tied: &Equalities) -> String {
        let table = self.model.table(plan.table);
        let alias = self.builder.new_alias();
        let object = aggregate_object(table, &alias, plan);
        let from = self.from(table, &alias);
        let condition = self.condition(plan.table, &alias, &plan.filter, tied);
        format!("SELECT {object} AS o FROM {from}{condition}")
    }

    /// The derived table `(SELECT … ORDER BY … LIMIT …)` with these columns.
    pub(crate) fn rows(
        &mut self,
        rows: &Rows<'_>,
        columns: Vec<ColumnId>,
        tied: &Equalities,
    ) -> Result<String, GraphqlError> {
        let table = self.model.table(rows.table);
        let alias = self.builder.new_alias();
        let columns = column_list(table, &alias, columns);
        let from = self.from(table, &alias);
        let condition = self.condition(rows.table, &alias, rows.filter, tied);
        let order = self.fragment(|builder| builder.order_by(table, &alias, rows.order));
        let limits = self.limits(rows)?;
        Ok(format!("(SELECT {columns} FROM {from}{condition}{order}{limits})"))
    }

    pub(crate) fn from(&mut self, table: &Table, alias: &str) -> String {
        let name = self.fragment(|builder| builder.table_name(table));
        format!("{name} AS {alias}")
    }

    pub(crate) fn condition(
        &mut self,
        table: TableId,
        alias: &str,
        filter: &Filter,
        tied: &Equalities,
    ) -> String {
        let model = self.model;
        let mut parts: Vec<String> = tied
            .iter()
            .map(|(column, equal)| {
                format!("{} = {equal}", column_operand(alias, model.table(table).column(*column)))
            })
            .collect();
        if !filter.is_everything() {
            parts.push(self.fragment(|builder| builder.condition(model, table, alias, filter)));
        }
        if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) }
    }

    /// LIMIT and OFFSET: numbers of the document become part of the text, so that the planner knows them.
    fn limits(&mut self, plan: &Rows<'_>) -> Result<String, GraphqlError> {
        let none = Variables::default();
        let limit = if is_open(plan.limit) {
            format!("${}", self.builder.parameter(Parameter::Limit(plan.limit.cloned())))
        } else {
            dialect::limit(plan.limit, &none, &self.settings.common)?.to_string()
        };
        let offset = if is_open(plan.offset) {
            format!(" OFFSET ${}", self.builder.parameter(Parameter::Offset(plan.offset.cloned())))
        } else {
            match dialect::offset(plan.offset, &none)? {
                0 => String::new(),
                rows => format!(" OFFSET {rows}"),
            }
        };
        Ok(format!(" LIMIT {limit}{offset}"))
    }

    /// What the closure appends to the builder, as a text of its own.
    fn fragment(&mut self, append: impl FnOnce(&mut SqlBuilder<'static, Postgres>)) -> String {
        let start = self.builder.text.len();
        append(&mut self.builder);
        self.builder.text.split_off(start)
    }
}

fn is_open(count: Option<&RowCount>) -> bool {
    count.is_some_and(|count| matches!(count.value, Value::Slot(_)))
}

/// What picks one row where several may match: the first by key.
pub(crate) fn first_of(table: &Table, alias: &str, tied: &Equalities) -> String {
    let is_unique = !table.primary_key.is_empty()
        && table.primary_key.iter().all(|key| tied.iter().any(|(column, _)| column == key));
    if is_unique {
        return String::new();
    }
    let key: Vec<String> =
        table.primary_key.iter().map(|column| column_operand(alias, table.column(*column))).collect();
    let order = if key.is_empty() { String::new() } else { format!(" ORDER BY {}", key.join(",")) };
    format!("{order} LIMIT 1")
}

pub(crate) fn column_list(table: &Table, alias: &str, columns: Vec<ColumnId>) -> String {
    if columns.is_empty() {
        return "NULL".to_owned();
    }
    let columns: Vec<String> =
        columns.into_iter().map(|column| column_operand(alias, table.column(column))).collect();
    columns.join(",")
}

/// Columns that outputs show or that their relations start from, each once.
fn needed_columns(table: &Table, outputs: &[Output]) -> Vec<ColumnId> {
    let mut needed = Vec::new();
    for output in outputs {
        match &output.kind {
            OutputKind::Typename(_) => {}
            OutputKind::Column(id) => needed.push(*id),
            OutputKind::One(id, _) | OutputKind::Many(id, _) | OutputKind::Aggregate(id, _) => {
                needed.extend(table.relation(*id).pairs.iter().map(|&(own, _)| own));
            }
        }
    }
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Expressions of the outer SELECT, equal ones once.
#[derive(Debug, Clone, Default)]
pub(crate) struct SelectList {
    expressions: Vec<String>,
}

impl SelectList {
    pub(crate) fn position(&mut self, sql: String) -> usize {
        if let Some(position) = self.expressions.iter().position(|known| *known == sql) {
            return position;
        }
        self.expressions.push(sql);
        self.expressions.len() - 1
    }

    pub(crate) fn into_sql(self) -> String {
        if self.expressions.is_empty() { "NULL".to_owned() } else { self.expressions.join(",") }
    }
}

fn aggregate_object(table: &Table, alias: &str, plan: &AggregatePlan) -> String {
    let mut text = JsonText::default();
    for (index, output) in plan.outputs.iter().enumerate() {
        text.key(index, &output.response_key);
        match &output.kind {
            AggregateKind::Typename(name) => text.string(name),
            AggregateKind::Count => text.expression("count(*)::text".to_owned()),
            AggregateKind::Fields(function, fields) => {
                let object = aggregate_fields(table, alias, *function, fields);
                text.expression(format!("CASE WHEN count(*) = 0 THEN 'null' ELSE {object} END"));
            }
        }
    }
    text.end(plan.outputs.is_empty());
    if plan.outputs.iter().all(|output| matches!(output.kind, AggregateKind::Typename(_))) {
        // Without any function of all rows, there would be one for each of them.
        text.expression("left(count(*)::text, 0)".to_owned());
    }
    text.into_sql()
}

fn aggregate_fields(
    table: &Table,
    alias: &str,
    function: AggregateFunction,
    fields: &[AggregateField],
) -> String {
    let mut text = JsonText::default();
    for (index, field) in fields.iter().enumerate() {
        text.key(index, &field.response_key);
        match &field.column {
            Err(typename) => text.string(typename),
            Ok(id) => {
                let column = table.column(*id);
                text.expression(aggregate_value(function, &column.kind, &column_operand(alias, column)));
            }
        }
    }
    text.end(fields.is_empty());
    text.into_sql()
}

/// The JSON text of an aggregate over a column; `null` where the function has no meaning for its type.
fn aggregate_value(function: AggregateFunction, kind: &ColumnKind, operand: &str) -> String {
    match function {
        AggregateFunction::Sum | AggregateFunction::Avg => total(function, kind, operand),
        AggregateFunction::Max | AggregateFunction::Min => {
            let is_max = function == AggregateFunction::Max;
            extreme(is_max, kind, operand)
        }
    }
}

fn total(function: AggregateFunction, kind: &ColumnKind, operand: &str) -> String {
    let is_sum = function == AggregateFunction::Sum;
    match kind {
        // bigint and numeric sums are exact; averages of integers are computed exactly, then shown as Float.
        ColumnKind::Int | ColumnKind::BigInt if is_sum => format!("coalesce(sum({operand})::text,'null')"),
        ColumnKind::Numeric if is_sum => json_sql::value(kind, true, &format!("sum({operand})")),
        ColumnKind::Int | ColumnKind::BigInt | ColumnKind::Numeric => {
            json_sql::value(&ColumnKind::Float, true, &format!("avg({operand})::float8"))
        }
        ColumnKind::Float | ColumnKind::Decimal => {
            let name = if is_sum { "sum" } else { "avg" };
            json_sql::value(kind, true, &format!("{name}({operand})"))
        }
        _ => "'null'".to_owned(),
    }
}

fn extreme(is_max: bool, kind: &ColumnKind, operand: &str) -> String {
    let name = if is_max { "max" } else { "min" };
    match kind {
        ColumnKind::Boolean => {
            let name = if is_max { "bool_or" } else { "bool_and" };
            json_sql::value(kind, true, &format!("{name}({operand})"))
        }
        // These have no max and min of their own in all versions; their text form orders them alike.
        ColumnKind::Uuid | ColumnKind::OtherText => {
            json_sql::value(&ColumnKind::Text, true, &format!("{name}({operand}::text COLLATE \"C\")"))
        }
        ColumnKind::Bytes => format!(
            "coalesce('\"'||translate(encode(decode({name}(encode({operand},'hex') COLLATE \"C\"),'hex'),\
             'base64'),E'\\n','')||'\"','null')"
        ),
        ColumnKind::Json => "'null'".to_owned(),
        _ => json_sql::value(kind, true, &format!("{name}({operand})")),
    }
}
