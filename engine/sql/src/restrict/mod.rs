//! Restricts what a role sees and writes of a relational source: its schema has only what it may ask for
//! ([`TableRights`]), and conditions of tables are added to plans wherever one reads, filters by, changes or writes rows of
//! them. What is restricted is data ([`Permissions`]); the plans' statements hold its values as parameters, so that they are
//! shared by all who are restricted alike.

mod condition;
mod rights;

use std::{borrow::Cow, collections::HashMap};

use prony_graphql::{
    error::Position,
    selection::{Slot, SlotRoot, Value},
};
use prony_source::{
    dialect::RowCount,
    permissions::{PermissionFault, Permissions},
};

pub(crate) use self::rights::{ColumnUse, TableRights, Verb};

use crate::{
    model::{Model, Table, TableId, suggestion},
    plan::{Filter, ListPlan, MutationPlan, Output, OutputKind, Root, RootPlan, RowsPlan},
};

/// Restrictions by table. Of a table that has none, nothing can be seen or written.
#[derive(Debug, Clone)]
pub struct Restrictions {
    /// Boxed: a role may name thousands of tables, and the map has room for more.
    tables: HashMap<TableId, Box<TableRights>>,
    none: TableRights,
}

impl Restrictions {
    /// Tables are named as they are in the database, with their schema where there are several of one name.
    ///
    /// # Errors
    /// All tables that are not served, columns that they do not have and conditions that do not fit them.
    pub fn new(model: &Model, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let (mut tables, mut faults) = (HashMap::new(), permissions.field_faults().collect::<Vec<_>>());
        let names = KnownTables::of(model);
        for (name, granted) in &permissions.tables {
            let mut fault = |message: String| faults.push(PermissionFault { name: name.clone(), message });
            match names.find(name) {
                Ok((id, table)) => match TableRights::of(model, table, granted) {
                    Ok(rights) => {
                        tables.insert(id, Box::new(rights));
                    }
                    Err(messages) => messages.into_iter().for_each(&mut fault),
                },
                Err(message) => fault(message),
            }
        }
        if faults.is_empty() { Ok(Self { tables, none: TableRights::default() }) } else { Err(faults) }
    }

    /// What may be done with a table.
    pub(crate) fn of(&self, table: TableId) -> &TableRights {
        self.tables.get(&table).map_or(&self.none, |rights| rights)
    }

    /// Adds them to a plan, at every depth.
    pub fn apply(&self, model: &Model, plan: &mut RootPlan) {
        let restricting = Restricting { model, restrictions: self };
        match &mut plan.root {
            Root::Read(rows) => restricting.rows(rows, plan.position),
            Root::Write(MutationPlan::Create(create)) => {
                let rights = self.of(create.table);
                create.check = rights.insert_check.clone();
                create.visibility = Some(rights.visibility(model.table(create.table)));
                rights.insert_set.apply(&mut create.values);
            }
            Root::Write(MutationPlan::Update(update)) => {
                let rights = self.of(update.table);
                update.filter = rights.update.clone();
                update.check = rights.update_check.clone();
                update.visibility = Some(rights.visibility(model.table(update.table)));
                // An update that gives nothing only asks whether the row is there.
                if !update.values.is_empty() {
                    rights.update_set.apply(&mut update.values);
                }
            }
            Root::Write(MutationPlan::Delete(delete)) => delete.filter = self.of(delete.table).delete.clone(),
        }
    }

    /// Adds them to the list of the one row of a change.
    pub(crate) fn apply_to_change(&self, model: &Model, list: &mut ListPlan, position: Position) {
        Restricting { model, restrictions: self }.list(list, position);
        // It is one row, whatever the highest number of rows is.
        list.limit = None;
    }
}

/// The session's variables that a plan writes into rows: without them it must not be executed.
pub(crate) fn written_session_variables(root: &Root) -> Vec<Slot> {
    let values = match root {
        Root::Write(MutationPlan::Create(create)) => &create.values,
        Root::Write(MutationPlan::Update(update)) => &update.values,
        Root::Read(_) | Root::Write(MutationPlan::Delete(_)) => return Vec::new(),
    };
    let mut slots = Vec::new();
    for (_, value) in values {
        add_session_variables(&mut slots, value);
    }
    slots
}

/// Those of a value, or of the items of a list.
fn add_session_variables(slots: &mut Vec<Slot>, value: &Value) {
    match value {
        Value::Slot(slot) if matches!(slot.root, SlotRoot::Session(_)) => slots.push(slot.clone()),
        Value::List(items) => items.iter().for_each(|item| add_session_variables(slots, item)),
        _ => {}
    }
}

/// The table that a configuration calls so.
pub(crate) fn table_named<'m>(model: &'m Model, name: &str) -> Result<(TableId, &'m Table), String> {
    KnownTables::of(model).find(name)
}

/// The tables of a model by their names: permissions of many roles name many tables.
struct KnownTables<'m> {
    model: &'m Model,
    /// With and without the schema; none where several have a name.
    by_name: HashMap<Cow<'m, str>, Option<TableId>>,
}

impl<'m> KnownTables<'m> {
    fn of(model: &'m Model) -> Self {
        let mut by_name = HashMap::with_capacity(model.tables.len());
        let mut add = |name: Cow<'m, str>, id: TableId| {
            let known = by_name.entry(name).or_insert(Some(id));
            if *known != Some(id) {
                *known = None;
            }
        };
        for (id, table) in model.numbered() {
            add(Cow::Borrowed(&table.name), id);
            add(Cow::Owned(table.qualified_name()), id);
        }
        Self { model, by_name }
    }

    fn find(&self, name: &str) -> Result<(TableId, &'m Table), String> {
        match self.by_name.get(name) {
            Some(Some(id)) => Ok((*id, self.model.table(*id))),
            Some(None) => Err("several schemas have a table of this name; write schema.name".to_owned()),
            None => {
                let known = self.model.tables.iter().map(|table| &*table.name);
                Err(format!("no such table is served{}", suggestion(name, known)))
            }
        }
    }
}

struct Restricting<'r> {
    model: &'r Model,
    restrictions: &'r Restrictions,
}

impl Restricting<'_> {
    fn list(&self, list: &mut ListPlan, position: Position) {
        self.filter(list.table, &mut list.filter);
        if let Some(highest) = self.restrictions.of(list.table).limit {
            let unlimited = || RowCount { value: Value::Null, position, highest: None };
            let given = list.limit.take().unwrap_or_else(unlimited);
            list.limit = Some(RowCount { highest: Some(highest), ..given });
        }
        self.outputs(&mut list.outputs);
    }

    fn rows(&self, rows: &mut RowsPlan, position: Position) {
        match rows {
            RowsPlan::List(list) => self.list(list, position),
            RowsPlan::One(row) => {
                self.filter(row.table, &mut row.filter);
                self.outputs(&mut row.outputs);
            }
            RowsPlan::Aggregate(aggregate) => self.filter(aggregate.table, &mut aggregate.filter),
        }
    }

    fn outputs(&self, outputs: &mut [Output]) {
        for output in outputs {
            if let OutputKind::Related(_, rows) = &mut output.kind {
                self.rows(rows, output.position);
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
