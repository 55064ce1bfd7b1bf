//! Restricts plans to rows that may be seen and written: conditions of tables are added wherever a plan reads, filters by,
//! changes or writes rows of them. What is restricted is data ([`Permissions`]); the plans' statements hold its values
//! as parameters, so that they are shared by all who are restricted alike.

use std::collections::HashMap;

use prony_graphql::{error::GraphqlError, selection::Value};
use prony_source::permissions::{PermissionFault, Permissions, TablePermissions};

use crate::{
    lower_filter,
    model::{Model, Table, TableId, suggestion},
    plan::{Filter, ListPlan, Output, OutputKind, Root, RootPlan},
};

/// Which rows of a table may be read, changed and written.
#[derive(Debug, Clone, PartialEq)]
struct RowRestrictions {
    /// Rows that can be seen, also by filters through relations, aggregates and relations that lead to one row.
    read: Filter,
    /// What a row must pass once it is inserted.
    insert_check: Filter,
    /// Rows that can be updated.
    update: Filter,
    /// What a row must pass once it is updated.
    update_check: Filter,
    /// Rows that can be deleted.
    delete: Filter,
}

impl RowRestrictions {
    fn all() -> Self {
        Self {
            read: Filter::nothing(),
            insert_check: Filter::nothing(),
            update: Filter::nothing(),
            update_check: Filter::nothing(),
            delete: Filter::nothing(),
        }
    }

    fn of(model: &Model, table: &Table, permissions: &TablePermissions) -> Result<Self, GraphqlError> {
        let filter = |condition: Option<&Value>| match condition {
            Some(condition) => lower_filter::clauses_value(model, table, condition),
            None => Ok(Filter::nothing()),
        };
        let update = permissions.update.as_ref();
        Ok(Self {
            read: filter(permissions.select.as_ref().map(|select| &select.rows))?,
            insert_check: filter(permissions.insert.as_ref().map(|insert| &insert.check))?,
            update: filter(update.map(|update| &update.rows))?,
            update_check: filter(update.map(|update| &update.check))?,
            delete: filter(permissions.delete.as_ref().map(|delete| &delete.rows))?,
        })
    }
}

/// Restrictions by table. Of a table that has none, no row can be seen or written.
#[derive(Debug, Clone)]
pub struct Restrictions {
    tables: HashMap<TableId, RowRestrictions>,
    unknown: RowRestrictions,
}

impl Restrictions {
    /// Tables are named as they are in the database, with their schema where there are several of one name.
    ///
    /// # Errors
    /// All tables that are not served and conditions that do not fit theirs.
    pub fn new(model: &Model, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let (mut tables, mut faults) = (HashMap::new(), Vec::new());
        for (name, rows) in &permissions.tables {
            let mut fault = |message: String| faults.push(PermissionFault { name: name.clone(), message });
            match table_named(model, name) {
                Ok((id, table)) => match RowRestrictions::of(model, table, rows) {
                    Ok(restrictions) => {
                        tables.insert(id, restrictions);
                    }
                    Err(error) => fault(error.message),
                },
                Err(message) => fault(message),
            }
        }
        if faults.is_empty() { Ok(Self { tables, unknown: RowRestrictions::all() }) } else { Err(faults) }
    }

    fn of(&self, table: TableId) -> &RowRestrictions {
        self.tables.get(&table).unwrap_or(&self.unknown)
    }

    /// Adds them to a plan, at every depth.
    pub fn apply(&self, model: &Model, plan: &mut RootPlan) {
        let restricted = Restricting { model, restrictions: self };
        match &mut plan.root {
            Root::List(list) => restricted.list(list),
            Root::Aggregate(aggregate) => restricted.filter(aggregate.table, &mut aggregate.filter),
            Root::Create(create) => create.check = self.of(create.table).insert_check.clone(),
            Root::Update(update) => {
                update.filter = self.of(update.table).update.clone();
                update.check = self.of(update.table).update_check.clone();
            }
            Root::Delete(delete) => delete.filter = self.of(delete.table).delete.clone(),
        }
    }
}

fn table_named<'m>(model: &'m Model, name: &str) -> Result<(TableId, &'m Table), String> {
    let qualified = |table: &Table| {
        let schema = table.schema.as_deref();
        schema.map_or_else(|| table.name.to_string(), |schema| format!("{schema}.{}", table.name))
    };
    let is_meant = |table: &Table| *table.name == *name || qualified(table) == name;
    let mut found = model.tables.iter().enumerate().filter(|(_, table)| is_meant(table));
    match (found.next(), found.next()) {
        (Some((index, table)), None) => Ok((TableId(index as u32), table)),
        (Some(_), Some(_)) => Err("several schemas have a table of this name; write schema.name".to_owned()),
        (None, _) => {
            let known = model.tables.iter().map(|table| &*table.name);
            Err(format!("no such table is served{}", suggestion(name, known)))
        }
    }
}

struct Restricting<'r> {
    model: &'r Model,
    restrictions: &'r Restrictions,
}

impl Restricting<'_> {
    fn list(&self, list: &mut ListPlan) {
        self.filter(list.table, &mut list.filter);
        self.outputs(&mut list.outputs);
    }

    fn outputs(&self, outputs: &mut [Output]) {
        for output in outputs {
            match &mut output.kind {
                OutputKind::Typename(_) | OutputKind::Column(_) => {}
                OutputKind::One(_, row) => {
                    self.filter(row.table, &mut row.filter);
                    self.outputs(&mut row.outputs);
                }
                OutputKind::Many(_, list) => self.list(list),
                OutputKind::Aggregate(_, aggregate) => {
                    self.filter(aggregate.table, &mut aggregate.filter);
                }
            }
        }
    }

    /// The client's filter finds only rows that can be seen, and through its relations too.
    fn filter(&self, table: TableId, filter: &mut Filter) {
        self.relations(table, filter);
        let given = std::mem::replace(filter, Filter::everything());
        *filter = given.and(self.restrictions.of(table).read.clone());
    }

    fn relations(&self, table: TableId, filter: &mut Filter) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                for part in parts {
                    self.relations(table, part);
                }
            }
            Filter::Not(part) => self.relations(table, part),
            Filter::Compare { .. } => {}
            Filter::Exists { relation, filter } => {
                let target = self.model.table(table).relation(*relation).target;
                self.filter(target, filter);
            }
        }
    }
}
