//! Live queries: which tables the answer of a root field depends on, and when it may have become another. Asking anew and
//! comparing answers is the server's business.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use futures_util::future::LocalBoxFuture;
use prony_source::{ChangeSignal, DataVersion};

use crate::{
    catalog::TableKind,
    changes::{Counted, Feed, Interest, Lost, Operation, Reader, Transaction},
    model::{Cardinality, Model, Table, TableId},
    plan::{Filter, Output, Root, RowsPlan},
};

/// What the answer of a root field depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependencies {
    /// Tables that it selects from or filters by, sorted.
    tables: Box<[TableId]>,
    /// Tables from which a deletion, or a change of what is referenced, may come to `tables` by a foreign key, sorted. Not
    /// every database says what its cascades do.
    above: Box<[(TableId, Referenced)]>,
    /// It depends on all tables, whatever there are: what a view shows is the database's secret.
    is_of_all: bool,
}

/// What of a row foreign keys lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Referenced {
    /// The primary key alone, of which a change says when it is another.
    Key,
    /// Other unique columns: any update may be of them.
    Columns,
}

impl Dependencies {
    pub(super) fn of(model: &Model, root: &Root) -> Self {
        let mut finder = Finder { model, found: BTreeSet::new(), referenced: HashMap::new() };
        if let Root::Read(rows) = root {
            finder.rows(rows);
        }
        let tables = finder.ids();
        if tables.iter().any(|id| model.table(*id).kind != TableKind::Table) {
            finder.found = model.numbered().map(|(id, _)| id).collect();
            return Self { tables: finder.ids(), above: Box::default(), is_of_all: true };
        }
        finder.add_above(&tables);
        let referenced = |id: TableId| finder.referenced.get(&id).map(|referenced| (id, *referenced));
        let above =
            finder.ids().into_iter().filter(|id| !tables.contains(id)).filter_map(referenced).collect();
        Self { tables, above, is_of_all: false }
    }

    /// Signals what may change the answer, from now on.
    pub(super) fn signal(&self, feed: &Arc<Feed>) -> TableSignal {
        TableSignal {
            reader: feed.subscribe(&self.all()),
            dependencies: self.clone(),
            feed: Arc::clone(feed),
        }
    }

    /// Counts what may change the answer, from now on.
    pub(super) fn version(&self, feed: &Arc<Feed>) -> TableVersions {
        TableVersions { interest: feed.take_interest(self.all()), dependencies: self.clone() }
    }

    fn all(&self) -> Vec<TableId> {
        self.tables.iter().copied().chain(self.above.iter().map(|(id, _)| *id)).collect()
    }

    fn concern(&self, transaction: &Transaction) -> bool {
        transaction.changes.iter().any(|change| {
            self.tables.binary_search(&change.table).is_ok()
                || self.above.binary_search_by_key(&change.table, |(id, _)| *id).is_ok_and(|place| {
                    match change.operation {
                        Operation::Insert => false,
                        Operation::Delete => true,
                        Operation::Update => {
                            change.previous_key.is_some() || self.above[place].1 == Referenced::Columns
                        }
                    }
                })
        })
    }

    pub(super) fn weight_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.tables) + size_of_val(&*self.above)
    }
}

struct Finder<'m> {
    model: &'m Model,
    found: BTreeSet<TableId>,
    /// Of tables that foreign keys lead to.
    referenced: HashMap<TableId, Referenced>,
}

impl Finder<'_> {
    fn ids(&self) -> Box<[TableId]> {
        self.found.iter().copied().collect()
    }

    fn add(&mut self, id: TableId) -> bool {
        self.found.insert(id)
    }

    fn rows(&mut self, rows: &RowsPlan) {
        self.add(rows.table());
        self.filter(self.model.table(rows.table()), rows.filter());
        for (_, rows) in rows.outputs().iter().filter_map(Output::related) {
            self.rows(rows);
        }
    }

    fn filter(&mut self, table: &Table, filter: &Filter) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                for part in parts {
                    self.filter(table, part);
                }
            }
            Filter::Not(part) => self.filter(table, part),
            Filter::Compare { .. } => {}
            Filter::Exists { relation, filter } => {
                let target = table.relation(*relation).target;
                self.add(target);
                self.filter(self.model.table(target), filter);
            }
        }
    }

    /// Tables that foreign keys lead to, over any number of steps.
    fn add_above(&mut self, tables: &[TableId]) {
        let mut to_do = tables.to_vec();
        while let Some(id) = to_do.pop() {
            for relation in &self.model.table(id).relations {
                if relation.cardinality != Cardinality::One {
                    continue;
                }
                let key = &self.model.table(relation.target).primary_key;
                let is_key = relation.pairs.iter().all(|(_, column)| key.contains(column));
                let referenced = self.referenced.entry(relation.target).or_insert(Referenced::Key);
                if !is_key {
                    *referenced = Referenced::Columns;
                }
                if self.add(relation.target) {
                    to_do.push(relation.target);
                }
            }
        }
    }
}

/// Counts the changes that an answer depends on.
#[derive(Debug)]
pub(super) struct TableVersions {
    interest: Interest,
    dependencies: Dependencies,
}

impl DataVersion for TableVersions {
    fn current(&self) -> u64 {
        let feed = self.interest.feed();
        let tables = self.dependencies.tables.iter().map(|table| feed.version(*table, Counted::All));
        let above = self.dependencies.above.iter().map(|(table, referenced)| {
            feed.version(
                *table,
                match referenced {
                    Referenced::Key => Counted::OfKeys,
                    Referenced::Columns => Counted::OfColumns,
                },
            )
        });
        tables.chain(above).fold(0, u64::wrapping_add)
    }
}

/// Tells when an answer may have become another.
#[derive(Debug)]
pub(super) struct TableSignal {
    reader: Reader,
    dependencies: Dependencies,
    feed: Arc<Feed>,
}

impl TableSignal {
    /// Depends on tables that have come, where it depends on all.
    fn renew(&mut self) {
        if let (true, Some(model)) = (self.dependencies.is_of_all, self.feed.model()) {
            let tables: BTreeSet<TableId> = model.numbered().map(|(id, _)| id).collect();
            self.dependencies.tables = tables.into_iter().collect();
            self.reader = self.feed.subscribe(&self.dependencies.tables);
        }
    }
}

impl ChangeSignal for TableSignal {
    fn changed(&mut self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                match self.reader.next().await {
                    Ok(transaction) if !self.dependencies.concern(&transaction) => {}
                    Err(Lost::Renewed) => {
                        self.renew();
                        return;
                    }
                    _ => return,
                }
            }
        })
    }

    fn mark_seen(&mut self) {
        while let Some(heard) = self.reader.try_next() {
            if heard == Err(Lost::Renewed) {
                self.renew();
            }
        }
    }
}
