//! INSERT, UPDATE and DELETE of one row, the same text for both dialects except for placeholders.

use prony_graphql::selection::Value;

use crate::builder::{Dialect, Parameter, SqlBuilder, filter::Rows, push_identifier};
use crate::{
    model::{Column, ColumnId, Model, Table, TableId},
    plan::{CreatePlan, DeletePlan, Filter, UpdatePlan, Visibility},
};

impl<D: Dialect> SqlBuilder<'_, D> {
    /// INSERT; `RETURNING` is appended by the dialect, which knows how it reads rows.
    pub fn insert(&mut self, model: &Model, plan: &CreatePlan) {
        let table = model.table(plan.table);
        self.push("INSERT INTO ");
        self.table_name(table);
        if plan.values.is_empty() {
            self.push(" DEFAULT VALUES");
            return;
        }
        for (index, (column, _)) in plan.values.iter().enumerate() {
            self.push(if index == 0 { " (" } else { ", " });
            push_identifier(&mut self.text, &table.column(*column).name);
        }
        self.push(") VALUES (");
        for (index, (column, value)) in plan.values.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.assigned(model, plan.table, *column, value);
        }
        self.push(")");
    }

    /// UPDATE of the row with the key if it passes the filter. Without values it sets a column to itself, so that the count
    /// of changed rows says whether the row exists.
    pub fn update(&mut self, model: &Model, plan: &UpdatePlan) {
        let alias = self.update_values(model, plan);
        self.key_condition(model, (plan.table, &alias), &plan.key, &plan.filter);
    }

    /// The same beside the row as it was, which is locked and then read as `previous`: of its columns, by their ids, `name`
    /// gives the names. For databases that have `FROM` in an UPDATE, and locks of rows.
    pub fn update_beside_previous(
        &mut self,
        model: &Model,
        plan: &UpdatePlan,
        previous: &str,
        name: impl Fn(ColumnId) -> String,
    ) {
        let alias = self.update_values(model, plan);
        let table = model.table(plan.table);
        self.push(" FROM (SELECT ");
        let locked = self.new_alias();
        for (index, column) in table.columns.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.column(&locked, column);
            self.push(" AS ");
            push_identifier(&mut self.text, &name(ColumnId(index as u16)));
        }
        self.push(" FROM ");
        self.table_name(table);
        self.push(" AS ");
        self.push(&locked);
        self.key_condition(model, (plan.table, &locked), &plan.key, &Filter::everything());
        self.push(" FOR UPDATE) AS ");
        self.push(previous);
        // By the row's own key, so that the parameters are those of an update without it.
        for (index, (column, _)) in plan.key.iter().enumerate() {
            self.push(if index == 0 { " WHERE " } else { " AND " });
            let mut before = format!("{previous}.");
            push_identifier(&mut before, &name(*column));
            let column = table.column(*column);
            let operator = self.dialect().operator("=", column);
            self.compared_column(&alias, column);
            self.push(&operator);
            let before = self.dialect().comparable(before, column);
            self.push(&before);
        }
        self.row_filter(model, (plan.table, &alias), &plan.filter);
    }

    /// As far as `WHERE`; returns the table's alias.
    fn update_values(&mut self, model: &Model, plan: &UpdatePlan) -> String {
        let table = model.table(plan.table);
        self.push("UPDATE ");
        let alias = self.aliased_table(table);
        self.push(" SET ");
        let itself = plan.values.is_empty().then(|| column_that_stays(table, plan)).flatten();
        if let Some(column) = itself {
            let name = &table.column(column).name;
            push_identifier(&mut self.text, name);
            self.push(" = ");
            push_identifier(&mut self.text, name);
        }
        for (index, (column, value)) in plan.values.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            push_identifier(&mut self.text, &table.column(*column).name);
            self.push(" = ");
            self.assigned(model, plan.table, *column, value);
        }
        alias
    }

    /// DELETE of the row with the key if it passes the filter.
    pub fn delete(&mut self, model: &Model, plan: &DeletePlan) {
        self.push("DELETE FROM ");
        let alias = self.aliased_table(model.table(plan.table));
        self.key_condition(model, (plan.table, &alias), &plan.key, &plan.filter);
    }

    /// A SELECT that has a row where there are rows with the key and all of them pass the filter: a key that the settings name, and one of
    /// tables of PostgreSQL that others inherit from, may be that of several, and which of them was written is not known. `key_part` writes
    /// the placeholder of a part of the key, whose parameters come first, as [`Parameter::Parent`]. Without a primary key no row passes.
    pub fn row_check(
        &mut self,
        model: &Model,
        id: TableId,
        filter: &Filter,
        key_part: impl Fn(&mut String, usize, &Column),
    ) {
        let table = model.table(id);
        self.push("SELECT count(*) FROM ");
        let alias = self.aliased_table(table);
        self.push(" WHERE ");
        for (index, column) in table.primary_key.iter().map(|&id| table.column(id)).enumerate() {
            self.push(if index == 0 { "" } else { " AND " });
            let number = self.parameter(Parameter::Parent(index));
            let operator = self.dialect().operator("=", column);
            self.compared_column(&alias, column);
            self.push(&operator);
            key_part(&mut self.text, number, column);
        }
        if table.primary_key.is_empty() {
            let never = self.dialect().constant(false);
            self.push(never);
        }
        self.push(" HAVING count(*) > 0 AND count(*) = count(CASE WHEN ");
        self.condition(model, id, &alias, filter);
        self.push(" THEN 1 END)");
    }

    /// A SELECT that has a row where one that can be seen has a key, all of whose columns can be read, that the written row
    /// would have: `values` are those written, and `own` is the primary key of the row that is updated, which has the others. False,
    /// and nothing is written, where no such key is known from them.
    pub fn visible_collision(
        &mut self,
        model: &Model,
        (id, visibility): (TableId, &Visibility),
        values: &[(ColumnId, Value)],
        own: &[(ColumnId, Value)],
    ) -> bool {
        let given = |column: &ColumnId| values.iter().find(|(id, _)| id == column).map(|(_, value)| value);
        // Nulls are not alike.
        let is_known =
            |column: &ColumnId| given(column).map_or(!own.is_empty(), |value| *value != Value::Null);
        let is_written =
            |key: &&Vec<ColumnId>| key.iter().all(is_known) && key.iter().any(|c| given(c).is_some());
        let keys: Vec<&Vec<ColumnId>> = visibility.keys.iter().filter(is_written).collect();
        if keys.is_empty() {
            return false;
        }
        let table = model.table(id);
        self.push("SELECT 1 FROM ");
        let alias = self.aliased_table(table);
        for (index, key) in keys.into_iter().enumerate() {
            self.push(if index == 0 { " WHERE ((" } else { ") OR (" });
            for (index, column) in key.iter().enumerate() {
                self.push(if index == 0 { "" } else { " AND " });
                let operator = self.dialect().operator("=", table.column(*column));
                self.compared_column(&alias, table.column(*column));
                self.push(&operator);
                match given(column) {
                    Some(value) => self.column_value((id, table), *column, value.clone()),
                    None => self.column_of_own(model, id, *column, own),
                }
            }
        }
        self.push("))");
        for (index, (column, value)) in own.iter().enumerate() {
            self.push(if index == 0 { " AND NOT (" } else { " AND " });
            self.equal(Rows { id, table, alias: &alias }, *column, value);
        }
        self.push(if own.is_empty() { "" } else { ")" });
        self.row_filter(model, (id, &alias), &visibility.rows);
        true
    }

    /// A column of the row with this key.
    fn column_of_own(&mut self, model: &Model, id: TableId, column: ColumnId, own: &[(ColumnId, Value)]) {
        let table = model.table(id);
        self.push("(SELECT ");
        let alias = self.new_alias();
        self.compared_column(&alias, table.column(column));
        self.push(" FROM ");
        self.table_name(table);
        self.push(" AS ");
        self.push(&alias);
        self.key_condition(model, (id, &alias), own, &Filter::everything());
        self.push(")");
    }

    /// The table's name with an alias, which it gives.
    fn aliased_table(&mut self, table: &Table) -> String {
        let alias = self.new_alias();
        self.table_name(table);
        self.push(" AS ");
        self.push(&alias);
        alias
    }

    fn assigned(&mut self, model: &Model, table: TableId, column: ColumnId, value: &Value) {
        if *value == Value::Null {
            self.push("NULL");
        } else {
            self.column_value((table, model.table(table)), column, value.clone());
        }
    }

    fn key_condition(
        &mut self,
        model: &Model,
        (id, alias): (TableId, &str),
        key: &[(ColumnId, Value)],
        filter: &Filter,
    ) {
        let table = model.table(id);
        for (index, (column, value)) in key.iter().enumerate() {
            self.push(if index == 0 { " WHERE " } else { " AND " });
            self.equal(Rows { id, table, alias }, *column, value);
        }
        self.row_filter(model, (id, alias), filter);
    }

    /// Behind a condition for the key.
    fn row_filter(&mut self, model: &Model, (id, alias): (TableId, &str), filter: &Filter) {
        if !filter.is_everything() {
            self.push(" AND ");
            self.condition(model, id, alias, filter);
        }
    }
}

/// The column that an update without values sets to itself: one that can be set, of the key where that has such. A key that the
/// database alone gives (`GENERATED ALWAYS`) must not be set, be it to what it is.
fn column_that_stays(table: &Table, plan: &UpdatePlan) -> Option<ColumnId> {
    let first_of_key = plan.key.first().map(|(column, _)| *column);
    let all = (0..table.columns.len()).map(|index| ColumnId(index as u16));
    let mut candidates = plan.key.iter().map(|(column, _)| *column).chain(all);
    candidates.find(|column| table.column(*column).writable).or(first_of_key)
}
