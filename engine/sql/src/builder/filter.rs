//! Filters as SQL conditions: the same text for both dialects except for placeholders, memberships and LIKE.

use prony_graphql::selection::Value;

use crate::builder::{Dialect, Parameter, SqlBuilder, collate_clause, column_operand};
use crate::{
    model::{ColumnId, Model, RelationId, Table, TableId},
    plan::{Comparison, Filter},
};

/// So many parts of a condition stand side by side; more are written as a tree.
const PARTS_IN_ROW: usize = 64;

/// The rows that a filter looks at: a table under an alias.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'m> {
    pub(super) id: TableId,
    pub(super) table: &'m Table,
    pub(super) alias: &'m str,
}

impl<D: Dialect> SqlBuilder<'_, D> {
    /// The filter as one condition that can stand beside `AND`.
    pub fn condition(&mut self, model: &Model, table: TableId, alias: &str, filter: &Filter) {
        self.compared_of(table, alias).add_filter(filter);
        let rows = Rows { id: table, table: model.table(table), alias };
        self.filter(model, rows, filter);
    }

    fn filter(&mut self, model: &Model, rows: Rows<'_>, filter: &Filter) {
        match filter {
            Filter::All(parts) => {
                let always = self.dialect().constant(true);
                self.joined(model, rows, parts, " AND ", always);
            }
            Filter::Any(parts) => {
                let never = self.dialect().constant(false);
                self.joined(model, rows, parts, " OR ", never);
            }
            Filter::Not(part) => {
                self.push("NOT (");
                self.filter(model, rows, part);
                self.push(")");
            }
            Filter::Compare { column, comparison } => self.comparison(rows, *column, comparison),
            Filter::Exists { relation, filter } => self.exists(model, rows, *relation, filter),
        }
    }

    fn joined(&mut self, model: &Model, rows: Rows<'_>, parts: &[Filter], joint: &str, empty: &str) {
        match parts {
            [] => self.push(empty),
            [only] => self.filter(model, rows, only),
            // In halves, so that the depth of the expression grows with the logarithm: databases bound it.
            many if many.len() > PARTS_IN_ROW => {
                let (first, second) = many.split_at(many.len() / 2);
                self.push("(");
                self.joined(model, rows, first, joint, empty);
                self.push(joint);
                self.joined(model, rows, second, joint, empty);
                self.push(")");
            }
            several => {
                for (index, part) in several.iter().enumerate() {
                    self.push(if index == 0 { "(" } else { joint });
                    self.filter(model, rows, part);
                }
                self.push(")");
            }
        }
    }

    fn comparison(&mut self, rows: Rows<'_>, id: ColumnId, comparison: &Comparison) {
        let column = rows.table.column(id);
        let dialect = self.dialect();
        let operand = dialect.comparable(column_operand(rows.alias, column), column);
        match comparison {
            Comparison::Equal(value) => self.equal(rows, id, value),
            Comparison::NotEqual(value) if dialect.has_forms(column) => {
                self.membership(rows, id, &operand, &one(value), true);
            }
            Comparison::NotEqual(value) => self.binary(rows, id, &operand, "<>", value),
            Comparison::Greater(value) => self.binary(rows, id, &operand, ">", value),
            Comparison::GreaterOrEqual(value) => self.binary(rows, id, &operand, ">=", value),
            Comparison::Less(value) => self.binary(rows, id, &operand, "<", value),
            Comparison::LessOrEqual(value) => self.binary(rows, id, &operand, "<=", value),
            Comparison::IsNull(is_null) => {
                self.push(&operand);
                self.push(dialect.null_test(column, *is_null));
            }
            Comparison::Unknown => self.push("NULL"),
            Comparison::In(value) => self.membership(rows, id, &operand, value, false),
            Comparison::NotIn(value) => self.membership(rows, id, &operand, value, true),
            Comparison::Like(value) | Comparison::InsensitiveLike(value) => {
                let pattern =
                    Parameter::Column { table: rows.id, column: id, value: value.clone(), list: false };
                let number = self.parameter(pattern);
                let insensitive = matches!(comparison, Comparison::InsensitiveLike(_));
                dialect.like(&mut self.text, &operand, number, column, insensitive);
            }
        }
    }

    /// That a column of the rows has a value, in whatever form it is stored.
    pub(super) fn equal(&mut self, rows: Rows<'_>, id: ColumnId, value: &Value) {
        let column = rows.table.column(id);
        let operand = self.dialect().comparable(column_operand(rows.alias, column), column);
        if self.dialect().has_forms(column) {
            self.membership(rows, id, &operand, &one(value), false);
        } else {
            self.binary(rows, id, &operand, "=", value);
        }
    }

    fn binary(&mut self, rows: Rows<'_>, id: ColumnId, operand: &str, sign: &str, value: &Value) {
        let operator = self.dialect().operator(sign, rows.table.column(id));
        self.push(operand);
        self.push(&operator);
        let compared = Parameter::Column { table: rows.id, column: id, value: value.clone(), list: false };
        let (number, dialect) = (self.parameter(compared), self.dialect());
        dialect.compared(&mut self.text, operand, number, rows.table.column(id));
    }

    /// A value that is no list is a list of one.
    fn membership(&mut self, rows: Rows<'_>, id: ColumnId, operand: &str, value: &Value, negated: bool) {
        let list = Parameter::Column { table: rows.id, column: id, value: value.clone(), list: true };
        let (number, dialect) = (self.parameter(list), self.dialect());
        dialect.membership(&mut self.text, operand, number, rows.table.column(id), negated);
    }

    fn exists(&mut self, model: &Model, rows: Rows<'_>, id: RelationId, filter: &Filter) {
        let relation = rows.table.relation(id);
        let target = model.table(relation.target);
        let alias = self.new_alias();
        self.push("EXISTS (SELECT 1 FROM ");
        self.table_name(target);
        self.push(" AS ");
        self.push(&alias);
        self.push(" WHERE ");
        self.equate(relation.target, &alias, relation.pairs.iter().map(|&(_, theirs)| theirs));
        for &(own, theirs) in &relation.pairs {
            let (own, theirs) = (rows.table.column(own), target.column(theirs));
            let equality = self.dialect().equality(own, theirs);
            self.compared_column(&alias, theirs);
            self.push(&equality);
            self.compared_column(rows.alias, own);
            self.push(&collate_clause(relation.collation(own, theirs)));
            self.push(" AND ");
        }
        self.condition(model, relation.target, &alias, filter);
        self.push(")");
    }
}

/// As a list of it: what is known of a session may be a list, which is not one of a column's values.
fn one(value: &Value) -> Value {
    Value::List(vec![value.clone()])
}
