//! A SELECT under construction: its columns, joins, conditions, order and page.

use prony_graphql::selection::{SlotRoot, Value};

use crate::statement::{dialect::Sqlite, program::StatementText};
use prony_sql::{
    builder::{
        Dialect as _, Parameter, SelectList, SqlBuilder, collate_clause, column_operand, push_identifier,
    },
    catalog::{ColumnKind, TableKind},
    model::{Cardinality, Column, ColumnId, Model, Relation, Table, TableId},
    plan::{Filter, ListPlan, OrderKey, RowsPlan},
};

/// Joins of one statement; further has-one relations get statements of their own. SQLite plans joins of many
/// tables slowly and refuses more than 64.
const MAX_JOINS: usize = 12;

/// Columns of one statement; SQLite refuses more than 2000.
const MAX_COLUMNS: usize = 1500;

/// A SELECT under construction; its table is `t0`.
pub(super) struct Select<'m> {
    pub(super) model: &'m Model,
    pub(super) builder: SqlBuilder<'static, Sqlite>,
    pub(super) columns: SelectList,
    joins: String,
    join_count: usize,
    /// What stands in place of the table: one row of parameters.
    row: Option<String>,
}

impl<'m> Select<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let mut builder = SqlBuilder::new(&Sqlite);
        let alias = builder.new_alias();
        debug_assert_eq!(alias, "t0");
        Self {
            model,
            builder,
            columns: SelectList::default(),
            joins: String::new(),
            join_count: 0,
            row: None,
        }
    }

    /// Takes the row that the variables give in place of the table's. Numbers come as text for their digits' sake, and a
    /// parameter has no affinity that makes numbers of it, so that a cast has to; nor has it the column's collating sequence.
    pub(super) fn give_row(&mut self, id: TableId) {
        let table = self.model.table(id);
        let mut row = "(SELECT ".to_owned();
        for (index, column) in table.columns.iter().enumerate() {
            let (value, column_id) = (Value::Slot(SlotRoot::Given(index).into()), ColumnId(index as u16));
            let parameter = Parameter::Column { table: id, column: column_id, value, list: false };
            let number = self.builder.parameter(parameter);
            let is_number = matches!(column.kind, ColumnKind::Numeric | ColumnKind::Decimal)
                && has_numeric_affinity(&column.database_type);
            row.push_str(if index == 0 { "" } else { ", " });
            let placeholder = format!("?{number}");
            if is_number {
                row.push_str("CAST(");
                row.push_str(&placeholder);
                row.push_str(" AS NUMERIC)");
            } else {
                row.push_str(&placeholder);
            }
            let is_other = |name: &&str| !name.eq_ignore_ascii_case(r#""BINARY""#);
            row.push_str(&collate_clause(column.collation.as_deref().filter(is_other)));
            row.push_str(" AS ");
            push_identifier(&mut row, &column.name);
        }
        self.row = Some(row + ")");
    }

    pub(super) fn column(&mut self, alias: &str, column: &Column) -> usize {
        self.columns.position(column_operand(alias, column))
    }

    /// Whether a has-one can be joined: at most one row can match, as the columns are the primary key.
    pub(super) fn can_join(&self, relation: &Relation) -> bool {
        let target = self.model.table(relation.target);
        let key = &target.primary_key;
        let unique = target.kind == TableKind::Table
            && !key.is_empty()
            && key.iter().all(|column| relation.pairs.iter().any(|(_, theirs)| theirs == column));
        relation.cardinality == Cardinality::One
            && unique
            && self.join_count < MAX_JOINS
            && self.columns.expressions.len() + target.columns.len() < MAX_COLUMNS
    }

    /// Joins the relation's target and gives its alias. The `+` keeps the own column's affinity and collation
    /// out of the comparison, as if its value were bound: the target's decide
    /// (<https://sqlite.org/datatype3.html#affinity_of_expressions>).
    pub(super) fn join(&mut self, alias: &str, own: &Table, relation: &Relation, filter: &Filter) -> String {
        let model = self.model;
        self.join_count += 1;
        let joined = self.builder.new_alias();
        let target = model.table(relation.target);
        self.joins.push_str(" LEFT JOIN ");
        push_identifier(&mut self.joins, &target.name);
        self.joins.push_str(" AS ");
        self.joins.push_str(&joined);
        let columns = relation.pairs.iter().map(|&(_, theirs)| theirs);
        self.builder.equate(relation.target, &joined, columns);
        for (index, &(own_column, target_column)) in relation.pairs.iter().enumerate() {
            self.joins.push_str(if index == 0 { " ON " } else { " AND " });
            self.joins.push_str(&column_operand(&joined, target.column(target_column)));
            self.joins.push_str(" = +");
            self.joins.push_str(&column_operand(alias, own.column(own_column)));
        }
        if !filter.is_everything() {
            let start = self.builder.text.len();
            self.builder.condition(model, relation.target, &joined, filter);
            self.joins.push_str(" AND ");
            self.joins.push_str(&self.builder.text.split_off(start));
        }
        joined
    }

    /// `SELECT … FROM … WHERE …`; `leading` stands before the table in FROM.
    pub(super) fn write(&mut self, rows: &RowsPlan, leading: &str, conditions: &[String]) {
        let model = self.model;
        self.builder.push("SELECT ");
        self.builder.push(&self.columns.to_sql("1"));
        self.builder.push(" FROM ");
        self.builder.push(leading);
        match self.row.take() {
            Some(row) => self.builder.push(&row),
            None => self.builder.table_name(model.table(rows.table())),
        }
        self.builder.push(" AS t0");
        let joins = std::mem::take(&mut self.joins);
        self.builder.push(&joins);
        let mut before = " WHERE ";
        for condition in conditions {
            self.builder.push(before);
            self.builder.push(condition);
            before = " AND ";
        }
        if !rows.filter().is_everything() {
            self.builder.push(before);
            self.builder.condition(model, rows.table(), "t0", rows.filter());
        }
    }

    /// Gives all columns so far a name: `c0`, `c1`, …; the names.
    pub(super) fn name_columns(&mut self) -> String {
        let columns = &mut self.columns.expressions;
        let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
        for (column, name) in columns.iter_mut().zip(&names) {
            *column = format!("{column} AS {name}");
        }
        names.join(", ")
    }

    /// The order and the page of rows that are not those of many keys.
    pub(super) fn page(&mut self, rows: &RowsPlan) {
        let table = self.model.table(rows.table());
        match rows {
            RowsPlan::List(plan) => {
                self.builder.push(&Self::order_text(table, &plan.order));
                self.limit(plan);
            }
            RowsPlan::One(_) => {
                if let Some(order) = Self::key_order(table).strip_prefix(", ") {
                    self.builder.push(" ORDER BY ");
                    self.builder.push(order);
                }
                self.builder.push(" LIMIT 1");
            }
            RowsPlan::Aggregate(_) => {}
        }
    }

    /// The primary key's columns, each after a comma: a stable choice where a has-one is not unique after all.
    pub(super) fn key_order(table: &Table) -> String {
        let column = |&id| format!(", {}", column_operand("t0", table.column(id)));
        table.primary_key.iter().map(column).collect()
    }

    /// ` ORDER BY …`. Tables without a primary key come by rowid at last, or by the one that is not served, so that pages are stable
    /// and all resolver models agree.
    pub(super) fn order_text(table: &Table, order: &[OrderKey]) -> String {
        let mut text = String::new();
        for (index, &key) in order.iter().enumerate() {
            text.push_str(if index == 0 { " ORDER BY " } else { ", " });
            let mut column = table.column(key.column).clone();
            // SQLite lets keys be null for the sake of old schemas. An explicit order of nulls would scan their
            // index twice for each parent; keys that really are null come first instead.
            column.nullable &= !table.primary_key.contains(&key.column);
            Sqlite.order_key(&mut text, &column_operand("t0", &column), &column, key);
        }
        if table.kind == TableKind::Table && table.primary_key.is_empty() {
            text.push_str(if order.is_empty() { " ORDER BY " } else { ", " });
            text.push_str(&Self::unserved_order(table));
        }
        text
    }

    /// A table whose key is not served may have no rowid (<https://sqlite.org/withoutrowid.html>).
    fn unserved_order(table: &Table) -> String {
        if table.unserved_key.is_empty() {
            return format!("t0.{}", row_id(table));
        }
        let columns = table.unserved_key.iter().map(|name| {
            let mut column = "t0.".to_owned();
            push_identifier(&mut column, name);
            column
        });
        columns.collect::<Vec<_>>().join(", ")
    }

    fn limit(&mut self, plan: &ListPlan) {
        let number = self.builder.parameter(Parameter::Limit(plan.limit.clone()));
        self.builder.push(&format!(" LIMIT ?{number}"));
        if plan.offset.is_some() {
            let number = self.builder.parameter(Parameter::Offset(plan.offset.clone()));
            self.builder.push(&format!(" OFFSET ?{number}"));
        }
    }

    pub(super) fn finish(self) -> StatementText {
        let SqlBuilder { text, parameters, compared, .. } = self.builder;
        StatementText { sql: text, parameters, keys_parameter: None, compared }
    }
}

/// Whether a column of the declared type makes numbers of texts (<https://sqlite.org/datatype3.html>, section 3.1).
fn has_numeric_affinity(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    !declared.is_empty() && !["CHAR", "CLOB", "TEXT", "BLOB"].iter().any(|word| declared.contains(word))
}

/// The name by which a row's number can be asked for: one that no column has taken (<https://sqlite.org/lang_createtable.html#rowid>).
/// The rarest name comes first, because columns that are not served are not known here.
fn row_id(table: &Table) -> &'static str {
    let is_free = |name: &&str| !table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ["_rowid_", "oid", "rowid"].into_iter().find(is_free).unwrap_or("rowid")
}
