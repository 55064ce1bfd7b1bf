//! What is done beside reads and writes, on a thread of its own: names of others are added, parts of tables are made before they are needed,
//! old rows go, tables of deleted types go, and whoever asks is told how the database fares.

use crate::mapping::Mapping;
use crate::names::KnownNames;
use crate::schema::{begin_of, default_part_name, literal, month_of, part_name, qualified};
use crate::settings::PostgresSettings;
use crate::wanted::Wanted;
use prony_series_database::{Condition, Database, Fault, FaultKind, Moment, Session, now_ms};
use prony_series_store::{Retention, TimeMs, WritesElsewhere};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// How often the database is asked for names of others, where reads do not ask.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often parts and old rows are looked at; sooner where rows of a month come for the first time.
const ORDER_EVERY: Duration = Duration::from_secs(60);
/// How often rows are counted, about.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Months that have parts of their own: so many before this one, and behind it; rows of all others are together in one part.
const MONTHS_BEFORE: i32 = 240;
const MONTHS_BEHIND: i32 = 24;
/// Months from this one on that have their parts before there are rows.
const MONTHS_AHEAD: i32 = 2;
/// The longest that upkeep makes others wait.
const SHORT_LOCK: &str = "set local lock_timeout = 1000";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What upkeep needs.
#[derive(Debug)]
pub(crate) struct Upkeep {
    pub(crate) database: Arc<Database>,
    pub(crate) settings: PostgresSettings,
    pub(crate) writes: Arc<WritesElsewhere>,
    pub(crate) mapping: Arc<RwLock<Mapping>>,
    pub(crate) known: Arc<KnownNames>,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) condition: Arc<Condition>,
}

#[derive(Debug)]
struct TypeInOrder {
    id: i32,
    name: String,
    schema: String,
    table: String,
    is_dropped: bool,
}

impl Upkeep {
    /// Until it is stopped.
    pub(crate) fn run(&self) {
        let (mut ordered, mut counted): (Option<Instant>, Option<Instant>) = (None, None);
        let is_due = |last: Option<Instant>, every: Duration| last.is_none_or(|at| at.elapsed() >= every);
        loop {
            let looked = self.look();
            self.condition.note_gone(looked.as_ref().err(), &self.writes);
            if looked.is_ok() {
                // A part that is made soon has few rows to take over from the one for all other months.
                let keeps_order = !self.settings.is_read_only;
                if keeps_order && (self.wanted.take_new() || is_due(ordered, ORDER_EVERY)) {
                    let done = self.database.wait(self.put_in_order());
                    *lock(&self.condition.failure) = done.err().map(|fault| (fault.why, SystemTime::now()));
                    ordered = Some(Instant::now());
                }
                if is_due(counted, COUNT_EVERY) {
                    // It is told again soon.
                    let _ = self.database.wait(self.count());
                    counted = Some(Instant::now());
                }
            }
            if self.condition.pause(LOOK_EVERY) {
                return;
            }
        }
    }

    /// Adds names of others.
    fn look(&self) -> Result<(), Fault> {
        let version = self.database.wait(async {
            let session = self.database.session().await?;
            let version = self.known.look(&session).await?;
            self.database.give_back(session);
            Ok(version)
        })?;
        if version != self.known.version() {
            self.known.refresh(&self.database, &self.writes, &self.mapping)?;
        }
        Ok(())
    }

    async fn count(&self) -> Result<(), Fault> {
        let session = self.database.session().await?;
        let sql = "select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint from prony_series.types t \
             cross join lateral (select to_regclass(format('%I.%I', t.schema_name, t.table_name)) as id) as r \
             join pg_class c on c.oid = r.id or c.oid in (select inhrelid from pg_inherits where inhparent = r.id) \
             where not t.is_dropped and c.relkind = 'r'";
        let rows: i64 = session.query_one(sql, &[]).await?.get(0);
        self.condition.rows.store(rows.max(0).cast_unsigned(), Ordering::Relaxed);
        self.database.give_back(session);
        Ok(())
    }

    /// All of it is tried; the first failure is told.
    pub(crate) async fn put_in_order(&self) -> Result<(), Fault> {
        let session = self.database.session().await?;
        let sql = "select id, name, schema_name, table_name, is_dropped from prony_series.types \
                   where table_name <> '' order by id";
        let rows = session.query(sql, &[]).await?;
        let types = rows.iter().map(|row| TypeInOrder {
            id: row.get(0),
            name: row.get(1),
            schema: row.get(2),
            table: row.get(3),
            is_dropped: row.get(4),
        });
        let parts = session.query("select type_id, month from prony_series.parts", &[]).await?;
        let mut months: HashMap<i32, HashSet<i32>> = HashMap::new();
        for row in &parts {
            months.entry(row.get(0)).or_default().insert(row.get(1));
        }
        let mut failure = None;
        for of in types {
            let has = months.remove(&of.id).unwrap_or_default();
            let done = if of.is_dropped {
                drop_tables(&session, &of).await
            } else {
                self.keep(&session, &of, has).await
            };
            if let Err(fault) = done {
                // What is left of its transaction.
                session.batch_execute("rollback").await?;
                // Somebody reads it: the next time will do.
                if fault.kind != FaultKind::Locked {
                    failure.get_or_insert(fault);
                }
            }
        }
        self.database.give_back(session);
        failure.map_or(Ok(()), Err)
    }

    async fn keep(&self, session: &Session, of: &TypeInOrder, has: HashSet<i32>) -> Result<(), Fault> {
        let now = now_ms();
        let oldest_ms = Retention::of(&self.settings.retention, &of.name)
            .map(|keep| now.saturating_sub(TimeMs::try_from(keep.as_millis()).unwrap_or(TimeMs::MAX)));
        if self.settings.has_partitions {
            let this = month_of(now);
            let in_reach = this - MONTHS_BEFORE..=this + MONTHS_BEHIND;
            let wanted =
                self.wanted.all().into_iter().filter(|(id, month)| *id == of.id && in_reach.contains(month));
            let mut needed: BTreeSet<i32> = wanted.map(|(_, month)| month).collect();
            needed.extend(this..=this + MONTHS_AHEAD);
            let is_kept = |month: &i32| oldest_ms.is_none_or(|oldest| begin_of(month + 1) > oldest);
            for month in needed.iter().filter(|month| !has.contains(*month) && is_kept(month)) {
                add_part(session, of, *month).await?;
            }
            for month in has.iter().filter(|month| !is_kept(month)) {
                drop_part(session, of, *month).await?;
            }
        }
        if let Some(oldest_ms) = oldest_ms {
            let sql = format!("delete from {} where time < $1", qualified(&of.schema, &of.table));
            session.execute(&sql, &[&Moment::nearest(oldest_ms)]).await?;
        }
        Ok(())
    }
}

/// Makes a part, and takes into it what the part for all other months has of it.
async fn add_part(session: &Session, of: &TypeInOrder, month: i32) -> Result<(), Fault> {
    let whole = qualified(&of.schema, &of.table);
    let (other, part) = (default_part_name(&of.schema, &of.table), part_name(&of.schema, &of.table, month));
    session.batch_execute(&format!("begin; {SHORT_LOCK}")).await?;
    let claim = "insert into prony_series.parts values ($1, $2) on conflict do nothing";
    if session.execute(claim, &[&of.id, &month]).await? == 0 {
        // Another server has just made it.
        session.batch_execute("rollback").await?;
        return Ok(());
    }
    // A writer that has found the part for all other months would not look again for this one; and rows that came while others are taken over
    // would be in its way. Readers go on.
    session.batch_execute(&format!("lock table only {whole} in share row exclusive mode")).await?;
    session.batch_execute(&format!("create table {part} (like {whole} including all)")).await?;
    let (from, to) = (Moment(begin_of(month)), Moment(begin_of(month + 1)));
    let sql = format!(
        "with moved as (delete from {other} where time >= $1 and time < $2 returning *) insert into {part} select * from moved"
    );
    session.execute(&sql, &[&from, &to]).await?;
    let (from, to) = (literal(month), literal(month + 1));
    let attach =
        format!("alter table {whole} attach partition {part} for values from ({from}) to ({to}); commit");
    Ok(session.batch_execute(&attach).await?)
}

async fn drop_part(session: &Session, of: &TypeInOrder, month: i32) -> Result<(), Fault> {
    let part = part_name(&of.schema, &of.table, month);
    let id = of.id;
    let sql = format!(
        "begin; {SHORT_LOCK}; drop table if exists {part}; \
         delete from prony_series.parts where type_id = {id} and month = {month}; commit"
    );
    Ok(session.batch_execute(&sql).await?)
}

async fn drop_tables(session: &Session, of: &TypeInOrder) -> Result<(), Fault> {
    let (id, whole) = (of.id, qualified(&of.schema, &of.table));
    let sql = format!(
        "begin; {SHORT_LOCK}; drop table if exists {whole}; \
         delete from prony_series.parts where type_id = {id}; \
         delete from prony_series.entities where type_id = {id}; \
         delete from prony_series.attributes where type_id = {id}; \
         update prony_series.types set table_name = '' where id = {id}; commit"
    );
    Ok(session.batch_execute(&sql).await?)
}
