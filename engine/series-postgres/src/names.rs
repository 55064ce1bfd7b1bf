//! Names that are in the database and not yet here: read by their versions, and added by writes like all others, so that there is one order
//! of names in this process.

use crate::mapping::{ColumnMap, FoundEntity, Mapping, TableMap};
use crate::schema::qualified;
use prony_series_database::{Column, Database, Fault, Session, kind_of, quoted, submit};
use prony_series_store::{Kind, WritesElsewhere};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// The version of the names in the database.
pub(crate) const VERSION: &str = "select version from prony_series.state";
/// Entities that one write adds.
const ENTITIES_AT_A_TIME: usize = 20_000;

/// What is known of the names in the database.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    /// All names up to this version are here.
    version: AtomicI64,
    /// While names of others are added, where the database has them.
    found: Mutex<Found>,
    /// One refresh at a time.
    refreshing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Found {
    tables: HashMap<(String, String), TableMap>,
    columns: HashMap<i32, Vec<ColumnMap>>,
    entities: HashMap<(i32, String, String), i32>,
}

#[derive(Debug)]
struct TypeRow {
    id: i32,
    tenant: String,
    name: String,
    table: String,
    is_dropped: bool,
}

#[derive(Debug, Default)]
struct NewNames {
    version: i64,
    types: Vec<TypeRow>,
    /// With the type that each is of.
    columns: Vec<(i32, ColumnMap)>,
    entities: Vec<(i32, i32, String, String)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KnownNames {
    pub(crate) fn version(&self) -> i64 {
        self.version.load(Ordering::Acquire)
    }

    /// Names of this process are committed with a version: all are known where there was none between.
    pub(crate) fn note_own(&self, version: i64) {
        let _ = self.version.compare_exchange(version - 1, version, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Asks the database for the version of its names.
    pub(crate) async fn look(&self, session: &Session) -> Result<i64, Fault> {
        let statement = session.statement(VERSION).await?;
        Ok(session.query_one(&statement, &[]).await?.get(0))
    }

    pub(crate) fn table(&self, tenant: &str, name: &str) -> Option<TableMap> {
        lock(&self.found).tables.get(&(tenant.to_owned(), name.to_owned())).cloned()
    }

    pub(crate) fn column(&self, type_id: i32, name: &str) -> Option<ColumnMap> {
        lock(&self.found).columns.get(&type_id)?.iter().find(|of| of.attribute == name).cloned()
    }

    pub(crate) fn entity(&self, type_id: i32, entity: &str, path: &str) -> Option<i32> {
        let found = lock(&self.found);
        if found.entities.is_empty() {
            return None;
        }
        found.entities.get(&(type_id, entity.to_owned(), path.to_owned())).copied()
    }

    /// Adds all names that are in the database. Blocks.
    pub(crate) fn refresh(
        &self,
        database: &Database,
        writes: &WritesElsewhere,
        mapping: &RwLock<Mapping>,
    ) -> Result<(), Fault> {
        let _one = lock(&self.refreshing);
        let from = self.version();
        let new = database.wait(async {
            let session = database.session().await?;
            let new = NewNames::load(&session, from).await?;
            database.give_back(session);
            Ok(new)
        })?;
        if new.version == from {
            return Ok(());
        }
        let version = new.version;
        let added = self.add(&new, writes, mapping);
        *lock(&self.found) = Found::default();
        added?;
        self.version.fetch_max(version, Ordering::AcqRel);
        Ok(())
    }

    fn add(&self, new: &NewNames, writes: &WritesElsewhere, mapping: &RwLock<Mapping>) -> Result<(), Fault> {
        let by_id: HashMap<i32, &TypeRow> = new.types.iter().map(|of| (of.id, of)).collect();
        let dropped: HashSet<i32> = new.types.iter().filter(|of| of.is_dropped).map(|of| of.id).collect();
        let mut found = Found::default();
        for of in new.types.iter().filter(|of| !of.is_dropped) {
            let table = TableMap {
                id: of.id,
                tenant: of.tenant.clone(),
                type_name: of.name.clone(),
                name: of.table.clone(),
                columns: Vec::new(),
            };
            found.tables.insert((of.tenant.clone(), of.name.clone()), table);
        }
        for (id, column) in &new.columns {
            found.columns.entry(*id).or_default().push(column.clone());
        }
        for (number, id, entity, path) in &new.entities {
            found.entities.insert((*id, entity.clone(), path.clone()), *number);
        }
        *lock(&self.found) = found;
        submit(writes, &mut |write| {
            for of in &dropped {
                let Some(of) = by_id.get(of) else { continue };
                let known = write.catalog().find_table(&of.tenant, &of.name);
                let table_id = known.and_then(|known| {
                    mapping.read().unwrap_or_else(PoisonError::into_inner).table(known).map(|table| table.id)
                });
                if let (Some(known), true) = (known, table_id == Some(of.id)) {
                    write.drop_table(known);
                }
            }
            for of in new.types.iter().filter(|of| !of.is_dropped) {
                write.table(&of.tenant, &of.name)?;
            }
            for (id, column) in &new.columns {
                if let Some(of) = by_id.get(id).filter(|of| !of.is_dropped) {
                    let table = write.table(&of.tenant, &of.name)?;
                    write.attribute(table, &column.attribute, &column.declared, || column.column.kind)?;
                }
            }
            Ok(())
        })?;
        for some in new.entities.chunks(ENTITIES_AT_A_TIME) {
            let mut entities = Vec::with_capacity(some.len());
            submit(writes, &mut |write| {
                entities.clear();
                for (number, type_id, entity, path) in some {
                    if let Some(of) = by_id.get(type_id).filter(|of| !of.is_dropped) {
                        let table = write.table(&of.tenant, &of.name)?;
                        let id = write.series(table, entity, path)?;
                        entities.push(FoundEntity { table, type_id: *type_id, id, number: *number });
                    }
                }
                Ok(())
            })?;
            // Those of a type that was made anew have names here, and nothing that the database calls them.
            mapping.write().unwrap_or_else(PoisonError::into_inner).take_found(&entities);
        }
        Ok(())
    }
}

impl NewNames {
    /// All that came behind a version, with the types that it belongs to.
    async fn load(session: &Session, from: i64) -> Result<Self, Fault> {
        session.batch_execute("begin isolation level repeatable read read only").await?;
        let version: i64 = session.query_one(VERSION, &[]).await?.get(0);
        if version == from {
            session.batch_execute("commit").await?;
            return Ok(Self { version, ..Self::default() });
        }
        let types = "select id, tenant, name, schema_name, table_name, is_dropped from prony_series.types t \
             where version > $1 or exists (select from prony_series.attributes where type_id = t.id and version > $1) \
             or exists (select from prony_series.entities where type_id = t.id and version > $1) order by id";
        let columns = "select type_id, name, declared, kind, column_name from prony_series.attributes \
             where version > $1 order by type_id, place";
        let entities = "select id, type_id, entity, service_path from prony_series.entities \
             where version > $1 order by id";
        let types = session.query(types, &[&from]).await?;
        let columns = session.query(columns, &[&from]).await?;
        let entities = session.query(entities, &[&from]).await?;
        session.batch_execute("commit").await?;
        let type_row = |row: &tokio_postgres::Row| TypeRow {
            id: row.get(0),
            tenant: row.get(1),
            name: row.get(2),
            table: qualified(row.get(3), row.get(4)),
            is_dropped: row.get(5),
        };
        let column = |row: &tokio_postgres::Row| {
            let kind: Kind = kind_of(row.get(3));
            let name = quoted(row.get(4));
            let column = Column { name, kind };
            (row.get(0), ColumnMap { column, attribute: row.get(1), declared: row.get(2) })
        };
        Ok(Self {
            version,
            types: types.iter().map(type_row).collect(),
            columns: columns.iter().map(column).collect(),
            entities: entities.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect(),
        })
    }
}
