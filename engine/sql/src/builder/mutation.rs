//! INSERT, UPDATE and DELETE of one row, the same text for both dialects except for placeholders.

use prony_graphql::selection::Value;

use crate::builder::{Dialect, SqlBuilder, push_identifier};
use crate::{
    model::{ColumnId, Model, TableId},
    plan::{CreatePlan, DeletePlan, UpdatePlan},
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

    /// UPDATE of the row with the key. Without values it sets the key to itself, so that the count of changed
    /// rows says whether the row exists.
    pub fn update(&mut self, model: &Model, plan: &UpdatePlan) {
        let table = model.table(plan.table);
        self.push("UPDATE ");
        self.table_name(table);
        self.push(" SET ");
        let itself = plan.key.iter().take(usize::from(plan.values.is_empty()));
        for (column, _) in itself {
            let name = &table.column(*column).name;
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
        self.key_condition(model, plan.table, &plan.key);
    }

    /// DELETE of the row with the key.
    pub fn delete(&mut self, model: &Model, plan: &DeletePlan) {
        self.push("DELETE FROM ");
        self.table_name(model.table(plan.table));
        self.key_condition(model, plan.table, &plan.key);
    }

    fn assigned(&mut self, model: &Model, table: TableId, column: ColumnId, value: &Value) {
        if *value == Value::Null {
            self.push("NULL");
        } else {
            self.column_value((table, model.table(table)), column, value.clone());
        }
    }

    fn key_condition(&mut self, model: &Model, id: TableId, key: &[(ColumnId, Value)]) {
        let table = model.table(id);
        for (index, (column, value)) in key.iter().enumerate() {
            self.push(if index == 0 { " WHERE " } else { " AND " });
            push_identifier(&mut self.text, &table.column(*column).name);
            self.push(" = ");
            self.column_value((id, table), *column, value.clone());
        }
    }
}
