//! Which tables have a subscription field, and the names that come with it. A table needs a primary key: without one,
//! nobody could say which row an event is about. Views do not change by themselves.

use prony_source::dialect::names;
use std::collections::{HashMap, HashSet};

use crate::{
    catalog::TableKind,
    model::{Model, TableId},
};

/// Members of a change beside the row.
pub(super) const OPERATION: &str = "operation";
pub(super) const KEY: &str = "key";
pub(super) const PREVIOUS_KEY: &str = "previous_key";

/// The names of one table's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeNames {
    pub table: TableId,
    /// The root field: `onMemberChanged`.
    pub field: Box<str>,
    /// The type of an event: `MemberChange`.
    pub type_name: Box<str>,
    /// The event's member for the row: `member`.
    pub row: Box<str>,
}

/// All tables with a subscription field.
#[derive(Debug, Default)]
pub struct ChangeIndex {
    pub tables: Vec<ChangeNames>,
    by_field: HashMap<Box<str>, usize>,
}

impl ChangeIndex {
    /// The names follow from the model alone. Those of the model come first: what collides with them gets another name,
    /// of which the notes tell.
    pub fn new(model: &Model, notes: &mut Vec<String>) -> Self {
        let mut types: HashSet<String> = model.type_names().collect();
        // Live queries have them.
        let mut fields: HashSet<String> = HashSet::new();
        for table in &model.tables {
            fields.extend([table.list_name.to_string(), format!("{}_aggregate", table.list_name)]);
        }
        let mut index = Self::default();
        for (id, table) in model.numbered() {
            if table.kind != TableKind::Table || table.primary_key.is_empty() {
                continue;
            }
            let name = &*table.type_name;
            let type_name = free(&mut types, &format!("{name}Change"), &format!("{name}RowChange"), notes);
            let field = free(&mut fields, &format!("on{name}Changed"), &format!("on{name}RowChanged"), notes);
            let row = names::snake_case(name);
            let is_taken = [OPERATION, KEY, PREVIOUS_KEY].contains(&row.as_str());
            let row = if is_taken { "row".to_owned() } else { row };
            index.by_field.insert(field.as_str().into(), index.tables.len());
            index.tables.push(ChangeNames {
                table: id,
                field: field.into(),
                type_name: type_name.into(),
                row: row.into(),
            });
        }
        index
    }

    /// Those of a table; it has none where it has no subscription field.
    pub(crate) fn of(&self, table: TableId) -> Option<&ChangeNames> {
        self.tables.iter().find(|names| names.table == table)
    }

    pub fn find(&self, field: &str) -> Option<&ChangeNames> {
        self.by_field.get(field).map(|index| &self.tables[*index])
    }
}

fn free(taken: &mut HashSet<String>, wanted: &str, other: &str, notes: &mut Vec<String>) -> String {
    let numbered = (2u32..).map(|number| format!("{wanted}{number}"));
    let mut candidates = [wanted.to_owned(), other.to_owned()].into_iter().chain(numbered);
    let found = candidates.find(|name| taken.insert(name.clone())).expect("numbers do not run out");
    if found != wanted {
        notes.push(format!("subscriptions have `{found}` because `{wanted}` is already in use"));
    }
    found
}
