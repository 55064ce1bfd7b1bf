//! A root field as one SELECT: nested fields are correlated scalar subqueries that give JSON text, the root's
//! own columns come as they are and are written by `rows`.
//!
//! Correlated subqueries in the select list over an inner, ordered and limited derived table run once per
//! row that is returned, and no generic plan can turn them into joins over whole tables.

use std::{iter, sync::Arc};

use prony_graphql::{
    selection::{SlotRoot, Value},
    variables::Variables,
};
use prony_source::dialect::{self, RowCount};

use crate::{
    run::rows::{Form, RowShape, ShapeBuilder},
    statement::{
        aggregate::aggregate_object,
        dialect::Postgres,
        json_sql::{self, JsonText},
        text::Statement,
    },
};
use prony_sql::{
    builder::{
        Dialect as _, Parameter, SelectList, SqlBuilder, collate_clause, column_operand, push_identifier,
    },
    database::{Statements, WrittenStatement},
    model::{ColumnId, Model, Relation, Table, TableId},
    plan::{Filter, ListPlan, Output, OutputKind, RowsPlan},
    settings::RelationalSettings,
};

/// Of columns that have none of their own, and of casts.
const DEFAULT_COLLATION: &str = "pg_catalog.\"default\"";

/// The statement of a whole list or aggregate.
#[derive(Debug)]
pub struct Read {
    pub(crate) statement: Arc<Statement>,
    /// How a row becomes JSON.
    pub(crate) shape: Arc<RowShape>,
    pub(crate) is_list: bool,
}

impl Read {
    pub(crate) fn new(model: &Model, settings: &RelationalSettings, rows: &RowsPlan, is_given: bool) -> Self {
        let mut writer =
            SelectWriter { model, settings, builder: SqlBuilder::new(&Postgres), is_level: false };
        let (sql, shape) = writer.field(rows, is_given);
        let statement = Statement::of_rows(model, sql, writer.builder, iter::empty());
        let is_list = !matches!(rows, RowsPlan::Aggregate(_));
        Self { statement, shape: Arc::new(shape), is_list }
    }
}

impl Statements for Read {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        vec![self.statement.written()]
    }

    fn weight_bytes(&self) -> usize {
        self.statement.weight_bytes() + self.shape.weight_bytes()
    }
}

/// Writes the SELECT of a root field or of one of its levels.
pub(crate) struct SelectWriter<'m> {
    model: &'m Model,
    settings: &'m RelationalSettings,
    pub(crate) builder: SqlBuilder<'static, Postgres>,
    /// What is below a row is another level.
    is_level: bool,
}

/// Columns of nested rows and what they must equal, with the operator before it: a column of the row above, or a part of a key.
pub(crate) type Equalities = Vec<(ColumnId, String)>;

/// What ties the rows of a relation to the row above, which stands under an alias.
fn tied_to(model: &Model, table: &Table, alias: &str, relation: &Relation) -> Equalities {
    let target = model.table(relation.target);
    let pairs = relation.pairs.iter().map(|&(own, theirs)| {
        let (own, column) = (table.column(own), target.column(theirs));
        let collate = collate_clause(relation.collation(own, column));
        let operand = Postgres.comparable(column_operand(alias, own), own);
        (theirs, Postgres.equality(own, column) + &operand + &collate)
    });
    pairs.collect()
}

impl<'m> SelectWriter<'m> {
    pub(crate) fn of_level(model: &'m Model, settings: &'m RelationalSettings) -> Self {
        Self { model, settings, builder: SqlBuilder::new(&Postgres), is_level: true }
    }

    /// A list has one row of the result for each of its rows, an aggregate one with one column.
    fn field(&mut self, rows: &RowsPlan, is_given: bool) -> (String, RowShape) {
        let untied = Equalities::new();
        if let RowsPlan::Aggregate(_) = rows {
            return (self.rows(rows, &untied), RowShape::of_column(0, Form::Json));
        }
        let (id, alias) = (rows.table(), self.builder.new_alias());
        let table = self.model.table(id);
        let from =
            if is_given { self.given_row(id, table) } else { format!("({})", self.rows(rows, &untied)) };
        let mut select = SelectList::default();
        let shape = self.pieces(table, &alias, rows.outputs(), &mut select).pop().unwrap_or_default();
        let condition =
            if is_given { self.condition(id, &alias, rows.filter(), &untied) } else { String::new() };
        (format!("SELECT {} FROM {from} AS {alias}{condition}", select.to_sql("NULL")), shape)
    }

    fn given_row(&mut self, id: TableId, table: &Table) -> String {
        let mut row = "(SELECT ".to_owned();
        for (index, column) in table.columns.iter().enumerate() {
            row.push_str(if index == 0 { "" } else { "," });
            let (value, column_id) = (Value::Slot(SlotRoot::Given(index).into()), ColumnId(index as u16));
            row.push_str(&self.fragment(|builder| builder.column_value((id, table), column_id, value)));
            row.push_str("::");
            row.push_str(&column.database_type);
            // What a cast gives is compared by the default one, and the rows of the table by their column's.
            let is_other = |name: &&str| *name != DEFAULT_COLLATION;
            row.push_str(&collate_clause(column.collation.as_deref().filter(is_other)));
            row.push_str(" AS ");
            push_identifier(&mut row, &column.name);
        }
        row + ")"
    }

    /// The object of a row: cut in pieces where values of other levels belong, else whole.
    pub(crate) fn pieces(
        &mut self,
        table: &Table,
        alias: &str,
        outputs: &[Output],
        select: &mut SelectList,
    ) -> Vec<RowShape> {
        let (mut pieces, mut shape) = (Vec::new(), ShapeBuilder::default());
        for output in outputs {
            shape.text.key(&output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => shape.text.string(name),
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    let (form, sql) = Form::of(column, &column_operand(alias, column));
                    shape.column(select.position(sql), form);
                }
                OutputKind::Related(..) if self.is_level => pieces.push(shape.cut()),
                OutputKind::Related(id, rows) => {
                    let sql = self.nested(rows, &tied_to(self.model, table, alias, table.relation(*id)));
                    shape.column(select.position(sql), Form::Json);
                }
            }
        }
        pieces.push(shape.end());
        pieces
    }

    /// An object of nested rows as JSON text.
    fn object(&mut self, table: &Table, alias: &str, outputs: &[Output]) -> String {
        let mut text = JsonText::default();
        for output in outputs {
            text.key(&output.response_key);
            match &output.kind {
                OutputKind::Typename(name) => text.string(name),
                OutputKind::Column(id) => {
                    let column = table.column(*id);
                    text.expression(json_sql::column(column, &column_operand(alias, column)));
                }
                OutputKind::Related(id, rows) => {
                    text.expression(
                        self.nested(rows, &tied_to(self.model, table, alias, table.relation(*id))),
                    );
                }
            }
        }
        text.into_sql()
    }

    /// A scalar subquery for a relation's field, never null.
    fn nested(&mut self, rows: &RowsPlan, tied: &Equalities) -> String {
        let (target, alias) = (self.model.table(rows.table()), self.builder.new_alias());
        match rows {
            RowsPlan::One(plan) => {
                let object = self.object(target, &alias, &plan.outputs);
                let select = self.select(&object, (plan.table, &alias), &plan.filter, tied);
                let first = first_of(target, &alias, tied);
                format!("coalesce(({select}{first}),'null')")
            }
            RowsPlan::List(plan) => {
                let rows = self.rows(rows, tied);
                let object = self.object(target, &alias, &plan.outputs);
                format!("(SELECT concat('[',string_agg({object},','),']') FROM ({rows}) AS {alias})")
            }
            RowsPlan::Aggregate(_) => format!("({})", self.rows(rows, tied)),
        }
    }

    /// The SELECT of rows with the columns that their outputs need; of an aggregate with its object.
    pub(crate) fn rows(&mut self, rows: &RowsPlan, tied: &Equalities) -> String {
        let (id, alias) = (rows.table(), self.builder.new_alias());
        let table = self.model.table(id);
        let what = match rows {
            RowsPlan::List(_) | RowsPlan::One(_) => needed_columns(table, &alias, rows.outputs()),
            RowsPlan::Aggregate(plan) => format!("{} AS o", aggregate_object(table, &alias, plan)),
        };
        let mut select = self.select(&what, (id, &alias), rows.filter(), tied);
        match rows {
            RowsPlan::List(plan) => {
                select.push_str(&self.fragment(|builder| builder.order_by(table, &alias, &plan.order)));
                select.push_str(&self.limits(plan));
            }
            RowsPlan::One(_) => {
                let first = first_of(table, &alias, tied);
                // The limit also keeps the planner from joining in another order than that of the keys.
                select.push_str(if first.is_empty() { " LIMIT 1" } else { &first });
            }
            RowsPlan::Aggregate(_) => {}
        }
        select
    }

    /// `SELECT … FROM … WHERE …` over a table under an alias.
    fn select(
        &mut self,
        what: &str,
        (id, alias): (TableId, &str),
        filter: &Filter,
        tied: &Equalities,
    ) -> String {
        let table = self.model.table(id);
        let name = self.fragment(|builder| builder.table_name(table));
        let condition = self.condition(id, alias, filter, tied);
        format!("SELECT {what} FROM {name} AS {alias}{condition}")
    }

    fn condition(&mut self, table: TableId, alias: &str, filter: &Filter, tied: &Equalities) -> String {
        let model = self.model;
        self.builder.equate(table, alias, tied.iter().map(|&(column, _)| column));
        let mut parts: Vec<String> = tied
            .iter()
            .map(|(column, equal)| {
                let column = model.table(table).column(*column);
                Postgres.comparable(column_operand(alias, column), column) + equal
            })
            .collect();
        if !filter.is_everything() {
            parts.push(self.fragment(|builder| builder.condition(model, table, alias, filter)));
        }
        if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) }
    }

    /// LIMIT and OFFSET: numbers of the document become part of the text, so that the planner knows them. Those that are wrong are told
    /// where the statement is bound, as variables are.
    fn limits(&mut self, plan: &ListPlan) -> String {
        let none = Variables::default();
        let (limit, offset) = (plan.limit.as_ref(), plan.offset.as_ref());
        let known =
            if is_open(limit) { None } else { dialect::limit(limit, &none, &self.settings.common).ok() };
        let limit = match known {
            Some(rows) => rows.to_string(),
            None => format!("${}", self.builder.parameter(Parameter::Limit(limit.cloned()))),
        };
        let known = if is_open(offset) { None } else { dialect::offset(offset, &none).ok() };
        let offset = match known {
            Some(0) => String::new(),
            Some(rows) => format!(" OFFSET {rows}"),
            None => format!(" OFFSET ${}", self.builder.parameter(Parameter::Offset(offset.cloned()))),
        };
        format!(" LIMIT {limit}{offset}")
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
fn first_of(table: &Table, alias: &str, tied: &Equalities) -> String {
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

/// Columns that outputs show or that their relations start from, each once.
fn needed_columns(table: &Table, alias: &str, outputs: &[Output]) -> String {
    let mut needed = Vec::new();
    for output in outputs {
        match &output.kind {
            OutputKind::Typename(_) => {}
            OutputKind::Column(id) => needed.push(*id),
            OutputKind::Related(id, _) => {
                needed.extend(table.relation(*id).pairs.iter().map(|&(own, _)| own));
            }
        }
    }
    if needed.is_empty() {
        return "NULL".to_owned();
    }
    needed.sort_unstable();
    needed.dedup();
    let columns = needed.into_iter().map(|column| column_operand(alias, table.column(column)));
    columns.collect::<Vec<_>>().join(",")
}
