//! What a console says of a model: how much there is, and a query to begin with.

use std::fmt::Write as _;

use crate::{
    catalog::{ColumnKind, TableKind},
    model::{Cardinality, Model, Table},
};

const COLUMNS: usize = 3;

impl Model {
    /// `11 tables`, `1 table, 2 views`.
    pub fn contents(&self) -> String {
        let views = self.tables.iter().filter(|table| table.kind == TableKind::View).count();
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let tables = counted(self.tables.len() - views, "table");
        if views == 0 { tables } else { format!("{tables}, {}", counted(views, "view")) }
    }

    /// A query over the table that leads to the most: a few of its columns, and of the rows it refers to.
    pub fn example(&self) -> Option<String> {
        let leads_to = |table: &&Table| (table.relations.len().min(3), !table.primary_key.is_empty());
        // `max_by_key` would take the last of equals.
        let table = self.tables.iter().rev().max_by_key(leads_to)?;
        let mut text = format!("query Example {{\n  {}(limit: 5) {{\n", table.list_name);
        push_columns(&mut text, table, "    ");
        if let Some(relation) =
            table.relations.iter().find(|relation| self.table(relation.target).type_name != table.type_name)
        {
            let limit = if relation.cardinality == Cardinality::Many { "(limit: 3)" } else { "" };
            let _ = writeln!(text, "    {}{limit} {{", relation.field);
            push_columns(&mut text, self.table(relation.target), "      ");
            text.push_str("    }\n");
        }
        text.push_str("  }\n}\n");
        Some(text)
    }
}

fn push_columns(text: &mut String, table: &Table, indent: &str) {
    let shown = table.columns.iter().filter(|column| column.kind != ColumnKind::Bytes).take(COLUMNS);
    for column in shown {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{}", column.field);
    }
}
