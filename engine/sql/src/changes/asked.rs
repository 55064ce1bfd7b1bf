//! The names by which a subscription asks for tables, columns and relations, held against what is served later: its document would say
//! something else then, or nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    changes::{
        columns::{column_now, table_now},
        names::ChangeNames,
    },
    model::{ColumnId, Model, Relation, RelationId, Table, TableId},
    plan::{AggregateKind, Filter, Output, OutputKind, Root, RowsPlan},
};

/// What of one model a subscription asks for. What its role adds to that is not in it.
#[derive(Debug)]
pub(crate) struct AskedNames {
    model: Arc<Model>,
    root: RootName,
    tables: BTreeMap<TableId, AskedFields>,
}

/// By what the root field is named.
#[derive(Debug)]
enum RootName {
    /// A live query has the name of a table's list.
    List(TableId),
    /// Events have a name of their own.
    Changes(ChangeNames),
}

#[derive(Debug, Default)]
struct AskedFields {
    columns: BTreeSet<ColumnId>,
    relations: BTreeSet<RelationId>,
}

impl AskedNames {
    /// Of a live query, before the permissions of a role are applied to it; a mutation asks for nothing here.
    pub(crate) fn of_query(model: &Arc<Model>, root: &Root) -> Option<Self> {
        let Root::Read(rows) = root else { return None };
        let mut asked = Self::new(model, RootName::List(rows.table()), rows.table());
        asked.add_rows(rows);
        Some(asked)
    }

    /// Of events; what they filter by and show is to be added.
    pub(crate) fn of_changes(model: &Arc<Model>, names: &ChangeNames) -> Self {
        Self::new(model, RootName::Changes(names.clone()), names.table)
    }

    fn new(model: &Arc<Model>, root: RootName, table: TableId) -> Self {
        let tables = BTreeMap::from([(table, AskedFields::default())]);
        Self { model: Arc::clone(model), root, tables }
    }

    fn fields(&mut self, table: TableId) -> &mut AskedFields {
        self.tables.entry(table).or_default()
    }

    fn add_rows(&mut self, rows: &RowsPlan) {
        let id = rows.table();
        self.add_filter(id, rows.filter());
        self.add_outputs(id, rows.outputs());
        match rows {
            RowsPlan::One(_) => {}
            RowsPlan::List(list) => {
                // The key's columns may have been added to what was asked for.
                let key = &self.model.table(id).primary_key;
                let columns = list.order.iter().map(|key| key.column).filter(|column| !key.contains(column));
                let columns: Vec<ColumnId> = columns.collect();
                self.fields(id).columns.extend(columns);
            }
            RowsPlan::Aggregate(aggregate) => {
                for output in &aggregate.outputs {
                    if let AggregateKind::Fields(_, fields) = &output.kind {
                        let columns = fields.iter().filter_map(|field| field.column.as_ref().ok().copied());
                        self.fields(id).columns.extend(columns);
                    }
                }
            }
        }
    }

    /// What is shown of a row.
    pub(crate) fn add_outputs(&mut self, id: TableId, outputs: &[Output]) {
        for output in outputs {
            match &output.kind {
                OutputKind::Typename(_) => {}
                OutputKind::Column(column) => {
                    self.fields(id).columns.insert(*column);
                }
                OutputKind::Related(relation, rows) => {
                    self.fields(id).relations.insert(*relation);
                    self.fields(rows.table());
                    self.add_rows(rows);
                }
            }
        }
    }

    /// What a client's filter compares.
    pub(crate) fn add_filter(&mut self, id: TableId, filter: &Filter) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                for part in parts {
                    self.add_filter(id, part);
                }
            }
            Filter::Not(part) => self.add_filter(id, part),
            Filter::Compare { column, .. } => {
                self.fields(id).columns.insert(*column);
            }
            Filter::Exists { relation, filter } => {
                self.fields(id).relations.insert(*relation);
                let target = self.model.table(id).relation(*relation).target;
                self.fields(target);
                self.add_filter(target, filter);
            }
        }
    }

    /// What of it is not served as it was asked for, in words; none where all is.
    pub(crate) fn missing<'n>(
        &self,
        now: &Model,
        changes: impl FnOnce(TableId) -> Option<&'n ChangeNames>,
    ) -> Option<String> {
        if std::ptr::eq(now, Arc::as_ptr(&self.model)) {
            return None;
        }
        // A table that is gone is the reason for fields that are.
        self.tables
            .keys()
            .find_map(|id| self.missing_table(now, *id))
            .or_else(|| self.other_root(now, changes))
            .or_else(|| {
                self.tables.iter().find_map(|(id, fields)| {
                    fields.missing((&*self.model, self.model.table(*id)), (now, now.find_table(*id)?))
                })
            })
    }

    fn missing_table(&self, now: &Model, id: TableId) -> Option<String> {
        let own = self.model.table(id);
        match table_now(own, now, id) {
            Err(missing) => Some(missing),
            Ok(theirs) if theirs.type_name != own.type_name => {
                Some(other_name("table", &own.qualified_name()))
            }
            Ok(_) => None,
        }
    }

    /// Where the root field has another name in a model that has its table.
    fn other_root<'n>(
        &self,
        now: &Model,
        changes: impl FnOnce(TableId) -> Option<&'n ChangeNames>,
    ) -> Option<String> {
        let (table, is_same) = match &self.root {
            RootName::List(id) => (id, now.table(*id).list_name == self.model.table(*id).list_name),
            RootName::Changes(names) => (&names.table, changes(names.table) == Some(names)),
        };
        (!is_same).then(|| other_name("table", &self.model.table(*table).qualified_name()))
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        let fields = |fields: &AskedFields| {
            size_of_val(fields)
                + fields.columns.len() * size_of::<ColumnId>()
                + fields.relations.len() * size_of::<RelationId>()
        };
        size_of::<Self>() + self.tables.values().map(fields).sum::<usize>()
    }
}

fn other_name(what: &str, name: &str) -> String {
    format!("the {what} `{name}` is served under another name now")
}

impl AskedFields {
    fn missing(&self, (model, own): (&Model, &Table), (now, theirs): (&Model, &Table)) -> Option<String> {
        let table = own.qualified_name();
        let column = self.columns.iter().find_map(|id| {
            let column = own.column(*id);
            match column_now((model, own, column), (now, theirs)) {
                Err(missing) => Some(missing),
                Ok(other) if other.field != column.field => {
                    Some(other_name("column", &format!("{}` of `{table}", column.name)))
                }
                Ok(_) => None,
            }
        });
        column.or_else(|| {
            let relation = self.relations.iter().map(|id| own.relation(*id)).find(|&relation| {
                let is_it = |other| is_same_relation((model, own, relation), (now, theirs, other));
                !theirs.relations.iter().any(is_it)
            })?;
            Some(format!("the field `{}` of `{table}` is not served any more, or is another", relation.field))
        })
    }
}

fn is_same_relation(
    (model, own, relation): (&Model, &Table, &Relation),
    (now, theirs, other): (&Model, &Table, &Relation),
) -> bool {
    let are_same_pairs = || {
        let target = model.table(relation.target);
        let other_target = now.table(other.target);
        relation.pairs.iter().zip(&other.pairs).all(|((here, there), (other_here, other_there))| {
            own.column(*here).name == theirs.column(*other_here).name
                && target.column(*there).name == other_target.column(*other_there).name
        })
    };
    relation.field == other.field
        && relation.aggregate_field == other.aggregate_field
        && relation.cardinality == other.cardinality
        && relation.target == other.target
        && relation.pairs.len() == other.pairs.len()
        && are_same_pairs()
}
