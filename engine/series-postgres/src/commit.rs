//! Makes groups of writes durable: each in one transaction, with one statement for all rows of a type. What fails is taken back as a whole,
//! and nobody is told of a write before its group is committed.

use crate::cache::NamesCache;
use crate::columns::ColumnValues;
use crate::hear::Others;
use crate::insert::Insert;
use crate::mapping::{Draft, Mapping, TableMap};
use crate::names::KnownNames;
use crate::notices::{CHANNEL, Changes, written};
use crate::schema::{Growth, month_of};
use crate::settings::PostgresSettings;
use crate::wanted::Wanted;
use prony_series_database::{Database, Fault, Gathered, Moment, Session, Step, now_ms, steps};
use prony_series_store::{Deleted, FrameLog, LogError, SeriesId, TableId, TimeRange, WritesElsewhere};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_postgres::types::ToSql;

/// Times that a group is tried: again where the connection had been closed, or a type was deleted by another server.
const TRIES: usize = 3;

/// Writes groups to the database, one after the other.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) database: Arc<Database>,
    pub(crate) settings: PostgresSettings,
    pub(crate) writes: Arc<WritesElsewhere>,
    pub(crate) mapping: Arc<RwLock<Mapping>>,
    pub(crate) known: Arc<KnownNames>,
    pub(crate) cache: Arc<NamesCache>,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) others: Arc<Others>,
    session: Option<Session>,
    /// Types and months of which the upkeep has been told.
    months: HashSet<(i32, i32)>,
}

/// What a transaction has done.
#[derive(Debug, Default)]
struct Done {
    draft: Draft,
    /// What is known of names is not to be relied upon: others have changed it.
    is_looked_up: bool,
    /// Of the names that it has added, where it has.
    version: Option<i64>,
    /// Types and months of its rows.
    months: HashSet<(i32, i32)>,
    /// What other servers are told; none where none of them listens.
    changes: Option<Changes>,
}

/// Why a transaction is not committed.
#[derive(Debug)]
struct Failed {
    fault: Fault,
    /// It may have been committed: the connection broke meanwhile.
    is_unsure: bool,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self { fault, is_unsure: false }
    }
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Self {
        Fault::from(error).into()
    }
}

/// Names of series that are looked up anew: ids and service paths.
type SeriesNames = HashMap<SeriesId, (String, String)>;

impl FrameLog for Committer {
    fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError> {
        let database = Arc::clone(&self.database);
        let done = database.wait(self.commit(frame));
        if done.is_err() {
            // What is left of a transaction ends with its connection.
            self.session = None;
        }
        done.map_err(|fault| fault.of_write(&database.description))
    }

    fn give_up(&mut self) {
        // As where a group fails.
        self.session = None;
    }
}

impl Committer {
    pub(crate) fn new(
        database: Arc<Database>,
        settings: PostgresSettings,
        writes: Arc<WritesElsewhere>,
        mapping: Arc<RwLock<Mapping>>,
        (known, cache, wanted): (Arc<KnownNames>, Arc<NamesCache>, Arc<Wanted>),
        others: Arc<Others>,
    ) -> Self {
        let (session, months) = (None, HashSet::new());
        Self { database, settings, writes, mapping, known, cache, wanted, others, session, months }
    }

    async fn commit(&mut self, frame: &[u8]) -> Result<(), Fault> {
        let mut steps_of_frame = Vec::new();
        self.writes.names(&mut |catalog| steps_of_frame = steps(frame, catalog));
        let mut is_looked_up = false;
        for tried in 1.. {
            let is_kept = self.session.as_ref().is_some_and(|session| !session.is_closed());
            let session = match self.session.take() {
                Some(session) if is_kept => session,
                _ => self.database.connect().await?,
            };
            match self.transaction(&session, &steps_of_frame, is_looked_up).await {
                Ok(done) => {
                    self.session = self.settings.reuses_connections.then_some(session);
                    self.take(done).await;
                    return Ok(());
                }
                Err(Failed { fault, is_unsure }) => {
                    drop(session);
                    let is_broken = fault.is_gone() && is_kept && !is_unsure;
                    if tried == TRIES || !(fault.is_stale() && !is_looked_up || is_broken) {
                        return Err(fault);
                    }
                    is_looked_up |= fault.is_stale();
                }
            }
        }
        unreachable!("the last try has returned")
    }

    /// Takes in what is committed.
    async fn take(&mut self, done: Done) {
        if !done.draft.is_empty() {
            self.mapping.write().unwrap_or_else(PoisonError::into_inner).take(done.draft);
        }
        if let Some(version) = done.version {
            self.known.note_own(version);
            self.cache.publish(version).await;
        }
        let new: Vec<(i32, i32)> = done.months.into_iter().filter(|of| self.months.insert(*of)).collect();
        self.wanted.add(new);
    }

    async fn transaction(
        &self,
        session: &Session,
        steps: &[Step<'_>],
        is_looked_up: bool,
    ) -> Result<Done, Failed> {
        let changes = self.others.listen().then(Changes::default);
        let mut done = Done { is_looked_up, changes, ..Done::default() };
        if self.cache.asks_database() {
            self.known.look(session).await?;
        }
        if let ([Step::Rows(gathered)], false) = (steps, is_looked_up)
            && gathered.series.is_empty()
            && gathered.rows.len() == 1
            && done.changes.is_none()
        {
            // One statement is a transaction of its own.
            self.insert(session, gathered, &mut done)
                .await
                .map_err(|failed| Failed { is_unsure: failed.fault.is_gone(), ..failed })?;
            return Ok(done);
        }
        session.batch_execute("begin").await?;
        let mut growth = Growth::new(session, self.settings.has_partitions, now_ms());
        if steps.iter().any(|step| matches!(step, Step::Delete { .. } | Step::DropTable(_))) {
            // Names may follow, whose lock must not be waited for with rows in hand.
            growth.lock().await?;
        }
        if is_looked_up {
            self.look_up(steps, &mut growth, &mut done.draft).await?;
        }
        for step in steps {
            self.step(session, step, &mut growth, &mut done).await?;
        }
        growth.add_parts().await?;
        done.version = growth.version;
        self.tell(session, &done).await?;
        let committed = session.batch_execute("commit").await.map_err(Fault::from);
        committed.map_err(|fault| Failed { is_unsure: fault.is_gone(), fault })?;
        Ok(done)
    }

    /// Tells other servers, once the transaction is committed.
    async fn tell(&self, session: &Session, done: &Done) -> Result<(), Fault> {
        let Some(changes) = done.changes.as_ref().filter(|of| done.version.is_some() || !of.is_empty())
        else {
            return Ok(());
        };
        let version = done.version.unwrap_or_else(|| self.known.version());
        let (before, behind) = written(&self.others.server, version, changes);
        // As `xmin` of rows has it.
        let sql = "select pg_notify($1, $2::text || (txid_current() % 4294967296)::text || $3::text)";
        let statement = session.statement(sql).await?;
        session.query(&statement, &[&CHANNEL, &before, &behind]).await?;
        Ok(())
    }

    async fn step(
        &self,
        session: &Session,
        step: &Step<'_>,
        growth: &mut Growth<'_>,
        done: &mut Done,
    ) -> Result<(), Failed> {
        match step {
            Step::Table { id, tenant, name } => {
                let known = self.known.table(tenant, name).filter(|_| !done.is_looked_up);
                let table = match known {
                    Some(known) => known,
                    None => growth.table(tenant, name).await?,
                };
                done.draft.set_table(*id, table);
            }
            Step::Attribute { table, id, name, declared, kind } => {
                let mut of = (*self.table(&done.draft, *table)?).clone();
                let column = match self.known.column(of.id, name) {
                    Some(known) => known,
                    None => growth.column(&of, (name, declared, *kind)).await?,
                };
                if of.columns.len() <= id.place() {
                    of.columns.resize(id.place() + 1, None);
                }
                of.columns[id.place()] = Some(column);
                done.draft.set_table(*table, of);
            }
            Step::Rows(gathered) => {
                growth.add_parts().await?;
                for (table, series) in &gathered.series {
                    self.add_series(*table, series, growth, &mut done.draft).await?;
                }
                self.insert(session, gathered, done).await?;
            }
            Step::Delete { of, range } => self.delete(session, *of, *range, done).await?,
            Step::DropTable(table) => {
                growth.add_parts().await?;
                let table = self.table(&done.draft, *table)?;
                growth.drop_type(&table).await?;
            }
        }
        Ok(())
    }

    fn with_mapping<T>(&self, with: impl FnOnce(&Mapping) -> T) -> T {
        with(&self.mapping.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn table(&self, draft: &Draft, id: TableId) -> Result<Arc<TableMap>, Fault> {
        let found = self.with_mapping(|mapping| draft.table(mapping, id));
        found.ok_or_else(|| Fault::new("a type has no table"))
    }

    async fn add_series(
        &self,
        table: TableId,
        series: &[(SeriesId, &str, &str)],
        growth: &mut Growth<'_>,
        draft: &mut Draft,
    ) -> Result<(), Failed> {
        let of = self.table(draft, table)?;
        let mut new = Vec::new();
        for (id, entity, path) in series {
            match self.known.entity(of.id, entity, path) {
                Some(known) => draft.set_series(*id, known),
                None => new.push((*id, *entity, *path)),
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let entities: Vec<&str> = new.iter().map(|(_, entity, _)| *entity).collect();
        let paths: Vec<&str> = new.iter().map(|(.., path)| *path).collect();
        let found = growth.entities(&of, &entities, &paths).await?;
        if found.len() != new.len() {
            return Err(Fault::new("entities that this transaction added are not there").into());
        }
        new.iter().zip(found).for_each(|((id, ..), known)| draft.set_series(*id, known));
        Ok(())
    }

    async fn insert(
        &self,
        session: &Session,
        gathered: &Gathered<'_>,
        done: &mut Done,
    ) -> Result<(), Failed> {
        for (table, rows) in &gathered.rows {
            let of = self.table(&done.draft, *table)?;
            let insert = self.with_mapping(|mapping| {
                let series_of = |id| done.draft.series(mapping, id);
                Insert::new(&of, rows, series_of, self.settings.on_duplicate)
            });
            let insert = insert.ok_or_else(|| Fault::stale("an entity or an attribute has no number"))?;
            if self.settings.has_partitions {
                done.months.extend(months(&of, &insert.times));
            }
            if let Some(changes) = &mut done.changes {
                let times = insert.times.iter().map(|time| time.0);
                changes.add_rows(of.id, insert.series.iter().copied().zip(times));
            }
            let statement = session.statement(&insert.sql).await?;
            let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&insert.series, &insert.times];
            parameters.extend(insert.columns.iter().map(ColumnValues::parameter));
            session.execute(&statement, &parameters).await?;
        }
        Ok(())
    }

    async fn delete(
        &self,
        session: &Session,
        of: Deleted,
        range: TimeRange,
        Done { draft, is_looked_up, changes, .. }: &mut Done,
    ) -> Result<(), Failed> {
        let mut note = |table: &TableMap| {
            if let Some(changes) = changes {
                changes.add_deletion(table.id);
            }
        };
        let (from, to) = (Moment::nearest(range.from_ms), Moment::nearest(range.to_ms));
        match of {
            Deleted::Table(table) => {
                let table = self.table(draft, table)?;
                if *is_looked_up && !is_there(session, &table).await? {
                    return Ok(());
                }
                note(&table);
                let sql = format!("delete from {} where time >= $1 and time <= $2", table.name);
                let statement = session.statement(&sql).await?;
                session.execute(&statement, &[&from, &to]).await?;
            }
            Deleted::Series(series) => {
                let mut owner = None;
                self.writes.names(&mut |catalog| {
                    owner = (series.place() < catalog.series_count()).then(|| catalog.series(series).table);
                });
                // Rows that are deleted were written by earlier writes; of the same group where the entity is new.
                let Some(table) = owner else { return Err(Fault::new("an entity has no table").into()) };
                let table = self.table(draft, table)?;
                if *is_looked_up && !is_there(session, &table).await? {
                    return Ok(());
                }
                note(&table);
                let number = self.with_mapping(|mapping| draft.series(mapping, series));
                // The database does not have it: so it has no rows.
                let Some(number) = number else { return Ok(()) };
                let sql =
                    format!("delete from {} where series = $1 and time >= $2 and time <= $3", table.name);
                let statement = session.statement(&sql).await?;
                session.execute(&statement, &[&number, &from, &to]).await?;
            }
        }
        Ok(())
    }

    /// Looks up anew what the group needs, which is to be there again: another server has deleted a type, or the database was put back from
    /// a backup.
    async fn look_up(
        &self,
        steps: &[Step<'_>],
        growth: &mut Growth<'_>,
        draft: &mut Draft,
    ) -> Result<(), Failed> {
        let mut by_table: HashMap<TableId, Vec<SeriesId>> = HashMap::new();
        for step in steps {
            let Step::Rows(gathered) = step else { continue };
            for (table, rows) in &gathered.rows {
                by_table.entry(*table).or_default().extend(rows.iter().map(|row| row.series));
            }
        }
        for (id, mut series) in by_table {
            // Those of the frame are added by its own steps.
            let Some(old) = self.with_mapping(|mapping| mapping.table(id)) else { continue };
            let mut table = growth.table(&old.tenant, &old.type_name).await?;
            for column in &old.columns {
                let new = match column {
                    Some(of) => {
                        Some(growth.column(&table, (&of.attribute, &of.declared, of.column.kind)).await?)
                    }
                    None => None,
                };
                table.columns.push(new);
            }
            if table.id != old.id {
                self.forget_series(id, draft);
            }
            draft.set_table(id, table);
            series.sort_unstable();
            series.dedup();
            let names = self.names_of(&series);
            let with_name = |id: &SeriesId| names.get(id).map(|(entity, path)| (*id, &**entity, &**path));
            let series: Vec<(SeriesId, &str, &str)> = series.iter().filter_map(with_name).collect();
            self.add_series(id, &series, growth, draft).await?;
        }
        Ok(())
    }

    /// What the database called the entities of a type that was deleted is nothing in the type that has its name now.
    fn forget_series(&self, table: TableId, draft: &mut Draft) {
        self.writes.names(&mut |catalog| {
            catalog.table(table).series.iter().for_each(|id| draft.forget_series(*id));
        });
    }

    /// Those that are durable.
    fn names_of(&self, series: &[SeriesId]) -> SeriesNames {
        let mut names = SeriesNames::new();
        self.writes.names(&mut |catalog| {
            for id in series.iter().filter(|id| id.place() < catalog.series_count()) {
                let of = catalog.series(*id);
                names.insert(*id, (of.entity.to_string(), of.path.to_string()));
            }
        });
        names
    }
}

/// Whether a type has not been deleted; nobody deletes it before the transaction ends, which has the lock.
async fn is_there(session: &Session, table: &TableMap) -> Result<bool, Fault> {
    let sql = "select 1 from prony_series.types where id = $1 and not is_dropped";
    Ok(session.query_opt(sql, &[&table.id]).await?.is_some())
}

fn months(table: &TableMap, times: &[Moment]) -> HashSet<(i32, i32)> {
    times.iter().map(|time| (table.id, month_of(time.0))).collect()
}
