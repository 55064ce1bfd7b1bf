//! What GraphQL's documentation says of tables, columns and relations: the database's own comments, and where there is none, what the
//! catalog knows. Texts that all tables have in common are shared by them.

use std::fmt::Write as _;

use crate::{
    catalog::TableKind,
    model::{Cardinality, Column, ColumnId, Relation, Table},
};

pub(super) const KEY: &str = "The key of the row.";
pub(super) const CREATE: &str = "Creates a row and answers its key.";
pub(super) const UPDATE: &str = "Sets the given columns of the row that has the key.";
pub(super) const DELETE: &str = "Deletes the row that has the key.";

/// Of the row type.
pub(super) fn of_row(table: &Table) -> String {
    of_table("A row", table)
}

/// Of the field that lists the rows.
pub(super) fn of_list(table: &Table) -> String {
    of_table("Rows", table)
}

fn of_table(what: &str, table: &Table) -> String {
    if let Some(comment) = &table.comment {
        return comment.to_string();
    }
    let kind = match table.kind {
        TableKind::Table => "table",
        TableKind::View => "view",
    };
    format!("{what} of the {kind} `{}`.", table.qualified_name())
}

/// The type in the database is what a GraphQL type does not say.
pub(super) fn of_column(table: &Table, id: ColumnId, column: &Column) -> String {
    if let Some(comment) = &column.comment {
        return comment.to_string();
    }
    let mut text = match &*column.database_type {
        "" => "no declared type".to_owned(),
        declared => format!("`{declared}`"),
    };
    if table.primary_key.contains(&id) {
        text += if table.primary_key.len() == 1 { ", primary key" } else { ", part of the primary key" };
    } else if table.unique_keys.iter().any(|key| **key == [id]) {
        text += ", unique";
    }
    if !column.writable && table.kind == TableKind::Table {
        text += ", generated";
    } else if column.has_default {
        text += ", filled where it is not given";
    }
    text
}

/// By which columns rows belong together, for those who see them.
pub(super) fn of_relation(table: &Table, relation: &Relation, target: &Table, are_seen: bool) -> String {
    let (rows, belong) = match relation.cardinality {
        Cardinality::One => ("The row", "belongs"),
        Cardinality::Many => ("The rows", "belong"),
    };
    if !are_seen {
        return format!("{rows} of `{}` that {belong} to this one.", target.qualified_name());
    }
    let mut text = format!("{rows} of `{}` whose ", target.qualified_name());
    for (index, (own, other)) in relation.pairs.iter().enumerate() {
        let joint = if index == 0 { "" } else { " and " };
        let (own, other) = (&table.column(*own).field, &target.column(*other).field);
        let _ = write!(text, "{joint}`{other}` is this row's `{own}`");
    }
    text.push('.');
    text
}
