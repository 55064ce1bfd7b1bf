//! Writing SQL that both dialects share: identifiers, filters, orders, mutations and the list of parameters.
//! What a statement selects, and how rows become JSON, is each dialect's own.
//!
//! Values never enter a statement's text: they are [`Parameter`]s, bound at execution by [`bind`].
//! Identifiers come from the catalog only and are always quoted.

pub mod bind;
mod compared;
mod filter;
mod mutation;

use prony_graphql::selection::Value;
use prony_source::dialect::RowCount;

pub use self::compared::{ComparedColumns, ComparedTable};
use crate::{
    model::{Column, ColumnId, Table, TableId},
    plan::OrderKey,
};

/// What differs between databases within shared statements. Each method appends to the builder's text.
pub trait Dialect {
    /// A placeholder for the parameter with this number (from 1), typed for comparing with or writing to
    /// the column.
    fn placeholder(&self, text: &mut String, number: usize, column: &Column);

    /// A column's operand as what is compared with other values.
    fn comparable(&self, operand: String, column: &Column) -> String {
        let _ = column;
        operand
    }

    /// What stands behind a column's operand to ask whether it is null.
    fn null_test(&self, column: &Column, is_null: bool) -> &'static str {
        let _ = column;
        if is_null { " IS NULL" } else { " IS NOT NULL" }
    }

    /// The parameter with this number, as what `operand` is compared with, which is the column.
    fn compared(&self, text: &mut String, operand: &str, number: usize, column: &Column) {
        let _ = operand;
        self.placeholder(text, number, column);
    }

    /// Whether `operand` is (not) among the list that the parameter holds; an empty list has no members.
    fn membership(&self, text: &mut String, operand: &str, number: usize, column: &Column, negated: bool);

    /// Whether one value of the column may be stored in several forms. A list that is bound for it holds all of them, so that what equals the
    /// value is what is among them.
    fn has_forms(&self, column: &Column) -> bool {
        let _ = column;
        false
    }

    /// LIKE with `\` as the escape, case-sensitive or not.
    fn like(&self, text: &mut String, operand: &str, number: usize, column: &Column, insensitive: bool);

    /// An operator between values of the column, with blanks around it.
    fn operator(&self, sign: &str, column: &Column) -> String {
        let _ = column;
        format!(" {sign} ")
    }

    /// What stands between two columns of a relation that must be equal. They have operators of their own where both have the same.
    fn equality(&self, own: &Column, target: &Column) -> String {
        if own.operators == target.operators { self.operator("=", target) } else { " = ".to_owned() }
    }

    /// A condition that always holds, or never does. It does not depend on the names of columns.
    fn constant(&self, holds: bool) -> &'static str {
        if holds { "TRUE" } else { "FALSE" }
    }

    /// One key of ORDER BY: nulls last ascending, first descending.
    fn order_key(&self, text: &mut String, operand: &str, column: &Column, key: OrderKey);
}

/// A value that a statement takes at execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// For one column: a scalar, a slot, or (for memberships) a list.
    Column { table: TableId, column: ColumnId, value: Value, list: bool },
    /// The effective LIMIT: the client's, checked against the highest, or the default.
    Limit(Option<RowCount>),
    /// The effective OFFSET: the client's, or 0.
    Offset(Option<RowCount>),
    /// A column of the row above, where nested rows are fetched by statements of their own: the index of the
    /// pair in the relation.
    Parent(usize),
}

/// A statement under construction.
#[derive(Debug)]
pub struct SqlBuilder<'d, D> {
    pub text: String,
    pub parameters: Vec<Parameter>,
    /// What conditions of the text compare, table by table.
    pub compared: Vec<ComparedTable>,
    dialect: &'d D,
    aliases: usize,
}

impl<'d, D: Dialect> SqlBuilder<'d, D> {
    pub fn new(dialect: &'d D) -> Self {
        Self { text: String::new(), parameters: Vec::new(), compared: Vec::new(), dialect, aliases: 0 }
    }

    pub fn dialect(&self) -> &'d D {
        self.dialect
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A table alias that no other part of the statement uses: `t0`, `t1`, …
    pub fn new_alias(&mut self) -> String {
        let alias = format!("t{}", self.aliases);
        self.aliases += 1;
        alias
    }

    /// Registers that columns of a table under an alias must equal something, which whoever calls it writes.
    pub fn equate(&mut self, table: TableId, alias: &str, columns: impl IntoIterator<Item = ColumnId>) {
        let compared = self.compared_of(table, alias);
        columns.into_iter().for_each(|column| compared.add_equal(column));
    }

    fn compared_of(&mut self, table: TableId, alias: &str) -> &mut ComparedColumns {
        let known = self.compared.iter().position(|known| *known.alias == *alias);
        let place = known.unwrap_or_else(|| {
            let columns = ComparedColumns::default();
            self.compared.push(ComparedTable { alias: alias.into(), table, columns });
            self.compared.len() - 1
        });
        &mut self.compared[place].columns
    }

    /// Registers a parameter and gives its number, from 1.
    pub fn parameter(&mut self, parameter: Parameter) -> usize {
        self.parameters.push(parameter);
        self.parameters.len()
    }

    /// The table's name with its schema, quoted.
    pub fn table_name(&mut self, table: &Table) {
        if let Some(schema) = &table.schema {
            push_identifier(&mut self.text, schema);
            self.text.push('.');
        }
        push_identifier(&mut self.text, &table.name);
    }

    /// `alias."column"`.
    pub fn column(&mut self, alias: &str, column: &Column) {
        let operand = column_operand(alias, column);
        self.text.push_str(&operand);
    }

    /// The same as what is compared with other values.
    pub fn compared_column(&mut self, alias: &str, column: &Column) {
        let operand = self.dialect.comparable(column_operand(alias, column), column);
        self.text.push_str(&operand);
    }

    /// A placeholder for a value of a column.
    pub fn column_value(&mut self, table: (TableId, &Table), column: ColumnId, value: Value) {
        let number = self.parameter(Parameter::Column { table: table.0, column, value, list: false });
        self.dialect.placeholder(&mut self.text, number, table.1.column(column));
    }

    /// ` ORDER BY …`, or nothing without keys; a primary key that is not served comes last.
    pub fn order_by(&mut self, table: &Table, alias: &str, order: &[OrderKey]) {
        for (index, &key) in order.iter().enumerate() {
            self.push(if index == 0 { " ORDER BY " } else { ", " });
            let column = table.column(key.column);
            self.dialect.order_key(&mut self.text, &column_operand(alias, column), column, key);
        }
        for (index, name) in table.unserved_key.iter().enumerate() {
            self.push(if order.is_empty() && index == 0 { " ORDER BY " } else { ", " });
            self.push(alias);
            self.push(".");
            push_identifier(&mut self.text, name);
        }
    }
}

/// Expressions of what a statement selects or returns, equal ones once.
#[derive(Debug, Clone, Default)]
pub struct SelectList {
    pub expressions: Vec<String>,
}

impl SelectList {
    /// The place of an expression, from 0.
    pub fn position(&mut self, sql: String) -> usize {
        self.expressions.iter().position(|known| *known == sql).unwrap_or_else(|| {
            self.expressions.push(sql);
            self.expressions.len() - 1
        })
    }

    /// The list's text; of an empty one, an expression that stands for it.
    pub fn to_sql(&self, if_empty: &str) -> String {
        if self.expressions.is_empty() { if_empty.to_owned() } else { self.expressions.join(", ") }
    }
}

/// A column by its name alone.
pub fn column_name(column: &Column) -> String {
    let mut name = String::with_capacity(column.name.len() + 2);
    push_identifier(&mut name, &column.name);
    name
}

/// `alias."column"` as text, for dialect methods that take an operand.
pub fn column_operand(alias: &str, column: &Column) -> String {
    let mut operand = String::with_capacity(alias.len() + column.name.len() + 3);
    operand.push_str(alias);
    operand.push('.');
    push_identifier(&mut operand, &column.name);
    operand
}

/// What stands behind an operand that is compared by a collating sequence.
pub fn collate_clause(collation: Option<&str>) -> String {
    collation.map_or_else(String::new, |name| format!(" COLLATE {name}"))
}

/// A quoted identifier, its quotes doubled (SQL-92, section 5.2; the same in SQLite and PostgreSQL).
pub fn push_identifier(text: &mut String, name: &str) {
    push_quoted(text, name, '"');
}

/// A string literal, its quotes doubled. Sound for SQLite, and for PostgreSQL with
/// `standard_conforming_strings` on, its default.
pub fn push_literal(text: &mut String, value: &str) {
    push_quoted(text, value, '\'');
}

fn push_quoted(text: &mut String, inner: &str, quote: char) {
    text.push(quote);
    for character in inner.chars() {
        if character == quote {
            text.push(quote);
        }
        text.push(character);
    }
    text.push(quote);
}
