//! The numbers of a source's tables, which stay as they are when the database's schema becomes another: what is told of changes, and who
//! waits for them, knows tables by them.

use std::collections::HashMap;

use super::{Model, TableId};

/// Tables that may have come and gone; their numbers are not given again.
const MAX_TABLES: usize = 1 << 20;

/// The numbers that have been given, by schema and name.
#[derive(Debug, Clone, Default)]
pub struct TableNumbers {
    by_name: HashMap<(Option<Box<str>>, Box<str>), TableId>,
}

impl TableNumbers {
    /// Gives the tables of a model, in which each has its index for a number, those that they had in earlier models, and new ones to new
    /// tables.
    pub fn number(&mut self, model: &mut Model) {
        let mut ids = Vec::with_capacity(model.tables.len());
        for table in &model.tables {
            let next = TableId(self.by_name.len() as u32);
            let name = (table.schema.clone(), table.name.clone());
            ids.push(*self.by_name.entry(name).or_insert(next));
        }
        if ids.iter().enumerate().all(|(index, id)| id.0 as usize == index) {
            return;
        }
        let mut places = vec![None; self.by_name.len()];
        for (index, id) in ids.iter().enumerate() {
            places[id.0 as usize] = Some(index as u32);
        }
        for relation in model.tables.iter_mut().flat_map(|table| &mut table.relations) {
            relation.target = ids[relation.target.0 as usize];
        }
        (model.ids, model.places) = (ids, places);
    }

    /// # Errors
    /// More than [`MAX_TABLES`] have come and gone.
    pub fn check(&self) -> Result<(), String> {
        if self.by_name.len() <= MAX_TABLES {
            return Ok(());
        }
        Err(format!(
            "more than {MAX_TABLES} tables have come and gone since the start; restart to serve those that are there now"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Catalog, CatalogColumn, CatalogForeignKey, CatalogTable, ColumnKind, TableKind},
        settings::RelationalSettings,
    };

    /// Tables of these names, each of which refers to the last.
    fn model(names: &[&str]) -> Model {
        let column = CatalogColumn {
            name: "id".into(),
            comment: None,
            kind: ColumnKind::Int,
            database_type: "integer".into(),
            collation: None,
            operators: None,
            nullable: false,
            has_default: false,
            writable: true,
        };
        let key =
            CatalogForeignKey { columns: vec![0], target_table: names.len() - 1, target_columns: vec![0] };
        let table = |name: &&str| CatalogTable {
            schema: None,
            name: (*name).into(),
            kind: TableKind::Table,
            comment: None,
            columns: vec![column.clone()],
            primary_key: vec![0],
            unique_keys: Vec::new(),
            foreign_keys: vec![key.clone()],
        };
        let catalog = Catalog { tables: names.iter().map(table).collect(), ..Catalog::default() };
        Model::build(&catalog, &RelationalSettings::default()).expect("there are no settings")
    }

    /// Names of all tables with their numbers and those that they refer to.
    fn numbered(numbers: &mut TableNumbers, names: &[&str]) -> Vec<(String, u32, u32)> {
        let mut model = model(names);
        numbers.number(&mut model);
        for (id, table) in model.numbered() {
            assert_eq!(model.table(id).name, table.name);
            assert_eq!(model.id_at(model.index(id)), id);
        }
        let target =
            |table: &crate::model::Table| table.relations.first().map_or(99, |relation| relation.target.0);
        model.numbered().map(|(id, table)| (table.name.to_string(), id.0, target(table))).collect()
    }

    #[test]
    fn tables_keep_their_numbers_while_others_come_and_go() {
        let mut numbers = TableNumbers::default();
        let of = |name: &str, number, target| (name.to_owned(), number, target);
        assert_eq!(numbered(&mut numbers, &["b", "c", "d"]), [of("b", 0, 2), of("c", 1, 2), of("d", 2, 2)]);
        assert_eq!(numbered(&mut numbers, &["a", "b", "d"]), [of("a", 3, 2), of("b", 0, 2), of("d", 2, 2)]);
        assert_eq!(numbered(&mut numbers, &["c"]), [of("c", 1, 1)]);
        assert_eq!(numbered(&mut numbers, &["b", "c", "d"]), [of("b", 0, 2), of("c", 1, 2), of("d", 2, 2)]);
        let mut without = model(&["c"]);
        numbers.number(&mut without);
        assert!(without.find_table(TableId(0)).is_none() && without.find_table(TableId(77)).is_none());
    }
}
