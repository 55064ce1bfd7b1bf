//! What a console says of a model, or of what a role sees of it: how much there is, and a query to begin with.

use std::{collections::HashMap, fmt::Write as _};

use crate::{
    catalog::{ColumnKind, TableKind},
    model::{Cardinality, Column, ColumnId, Model, Relation, Table, TableId},
    restrict::{ColumnUse, Restrictions, Verb},
};

const COLUMNS: usize = 3;
/// Of the list, and of lists below its rows.
const ROWS: [u32; 2] = [5, 3];

/// All of a model where there are no restrictions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'m> {
    pub(crate) model: &'m Model,
    pub(crate) restrictions: Option<&'m Restrictions>,
}

impl<'m> Shown<'m> {
    /// `11 tables`, `1 table, 2 views`.
    pub(crate) fn contents(self) -> String {
        let views = self.tables().filter(|(_, table)| table.kind == TableKind::View).count();
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let tables = counted(self.tables().count() - views, "table");
        if views == 0 { tables } else { format!("{tables}, {}", counted(views, "view")) }
    }

    pub(crate) fn list_fields(self) -> Vec<&'m str> {
        self.tables().map(|(_, table)| &*table.list_name).collect()
    }

    /// With its schema where another schema has a table of the name.
    pub(crate) fn table_names(self) -> Vec<String> {
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for table in &self.model.tables {
            *counts.entry(&table.name).or_default() += 1;
        }
        let name = |table: &Table| match counts[&*table.name] {
            1 => table.name.to_string(),
            _ => table.qualified_name(),
        };
        self.tables().map(|(_, table)| name(table)).collect()
    }

    /// A query over the table that leads to the most: a few of its columns, and of the rows it refers to.
    pub(crate) fn example(self) -> Option<String> {
        let has_columns = |(id, table): &(TableId, &'m Table)| self.columns(*id, table).next().is_some();
        let leads_to = |(_, table): &(TableId, &'m Table)| {
            (self.relations(table).take(3).count(), !table.primary_key.is_empty())
        };
        // `max_by_key` would take the last of equals.
        let (id, table) = self.tables().rev().filter(has_columns).max_by_key(leads_to)?;
        let [outer, inner] = ROWS;
        let limit = self.limited(id, outer);
        let mut text = format!("query Example {{\n  {}(limit: {limit}) {{\n", table.list_name);
        self.push_columns(&mut text, id, "    ");
        let is_other = |relation: &&Relation| self.model.table(relation.target).type_name != table.type_name;
        if let Some(relation) = self.relations(table).find(is_other) {
            let rows = match relation.cardinality {
                Cardinality::Many => format!("(limit: {})", self.limited(relation.target, inner)),
                Cardinality::One => String::new(),
            };
            let _ = writeln!(text, "    {}{rows} {{", relation.field);
            self.push_columns(&mut text, relation.target, "      ");
            text.push_str("    }\n");
        }
        text.push_str("  }\n}\n");
        Some(text)
    }

    /// Those whose rows can be seen.
    fn tables(self) -> impl DoubleEndedIterator<Item = (TableId, &'m Table)> {
        self.model.numbered().filter(move |(id, _)| self.sees(*id))
    }

    fn sees(self, id: TableId) -> bool {
        self.restrictions.is_none_or(|restrictions| restrictions.of(id).can(Verb::Select))
    }

    /// So many rows, or as many as may be asked for.
    fn limited(self, id: TableId, rows: u32) -> u32 {
        let highest = self.restrictions.and_then(|restrictions| restrictions.of(id).limit);
        highest.map_or(rows, |highest| highest.min(rows))
    }

    /// Those that can be read and are worth it.
    fn columns(self, id: TableId, table: &'m Table) -> impl Iterator<Item = &'m Column> {
        let columns = table.columns.iter().enumerate().filter(move |(index, _)| {
            let column = ColumnId(*index as u16);
            self.restrictions.is_none_or(|restrictions| restrictions.of(id).allows(ColumnUse::Read, column))
        });
        columns.map(|(_, column)| column).filter(|column| column.kind != ColumnKind::Bytes)
    }

    /// Those that lead to something which can be shown.
    fn relations(self, table: &'m Table) -> impl Iterator<Item = &'m Relation> {
        table.relations.iter().filter(move |relation| {
            let target = relation.target;
            self.sees(target) && self.columns(target, self.model.table(target)).next().is_some()
        })
    }

    fn push_columns(self, text: &mut String, id: TableId, indent: &str) {
        for column in self.columns(id, self.model.table(id)).take(COLUMNS) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{indent}{}", column.field);
        }
    }
}
