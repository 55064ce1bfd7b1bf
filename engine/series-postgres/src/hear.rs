//! Hears what other servers write to the same database, on a thread of its own, and tells those who listen here. Servers tell of their writes
//! only while one of the others has said that somebody listens: one that is alone tells nothing.

use crate::mapping::Mapping;
use crate::names::KnownNames;
use crate::notices::{CHANNEL, Change, Notice, Told, Written, listening, read};
use crate::read::{Transaction, columns_of};
use prony_series_database::{Database, Fault, Listening, Moment, Session, list_of, push_row};
use prony_series_store::{AttributeId, ReadError, Rows, SeriesId, TableId, WritesElsewhere, WrittenByOthers};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until};

/// The advisory lock that each server holds who hears: `seri` and `hear` in ASCII.
const PRESENT: (i32, i32) = (0x7365_7269, 0x6865_6172);
/// How often a server says that somebody listens.
const SAY_EVERY: Duration = Duration::from_secs(3);
/// For how long it is believed.
const BELIEVED_FOR: Duration = Duration::from_secs(10);
/// Between attempts to connect.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// Entities that are asked for one by one; of more all between the first and the last.
const ENTITIES_MAX: i64 = 20_000;

/// What is known of the other servers.
#[derive(Debug)]
pub(crate) struct Others {
    /// What this server calls itself.
    pub(crate) server: String,
    /// When one of the others last said that somebody listens, or may have.
    said: Mutex<Option<Instant>>,
    /// Somebody listens here, or all is to end.
    call: Notify,
    is_stopping: AtomicBool,
}

impl Others {
    pub(crate) fn new() -> Self {
        let server = format!("{:016x}", RandomState::new().build_hasher().finish());
        let said = Mutex::new(Some(Instant::now()));
        Self { server, said, call: Notify::new(), is_stopping: AtomicBool::new(false) }
    }

    /// Whether one of them wants to hear of writes. Where it is not known, it is taken that one does.
    pub(crate) fn listen(&self) -> bool {
        let said = *self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.is_some_and(|at| at.elapsed() < BELIEVED_FOR)
    }

    fn note(&self, said: Option<Instant>) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }

    /// Has it said soon that somebody listens here.
    pub(crate) fn say(&self) {
        self.call.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.call.notify_one();
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
}

/// What hearing needs.
#[derive(Debug)]
pub(crate) struct Hearing {
    pub(crate) database: Arc<Database>,
    pub(crate) writes: Arc<WritesElsewhere>,
    pub(crate) mapping: Arc<RwLock<Mapping>>,
    pub(crate) known: Arc<KnownNames>,
    pub(crate) others: Arc<Others>,
}

/// What comes next.
enum Next {
    Heard(Option<String>),
    Say,
}

impl Hearing {
    /// Until it is stopped.
    pub(crate) fn run(&self) {
        let mut was_deaf = false;
        while !self.others.is_stopping() {
            if let Ok((mut open, is_alone)) = self.database.wait(self.listen()) {
                // Others may have said before that somebody listens; they say it again soon.
                self.others.note((!is_alone).then(Instant::now));
                if was_deaf {
                    self.tell_any();
                }
                was_deaf = true;
                self.hear(&mut open);
            }
            if !self.others.is_stopping() {
                self.database.block(async {
                    tokio::select! { () = sleep(RETRY_EVERY) => {}, () = self.others.call.notified() => {} }
                });
            }
        }
    }

    /// A connection that hears, and whether no other server of this database heard when this one began.
    async fn listen(&self) -> Result<(Listening, bool), Fault> {
        let open = self.database.listen(CHANNEL).await?;
        let (first, second) = PRESENT;
        let lock = format!("select pg_advisory_lock_shared({first}, {second})");
        open.session.batch_execute(&lock).await?;
        // In this order: of two that come at the same time, one at least sees the other.
        let sql = format!(
            "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 and classid = {first} and objid = {second} \
             and database = (select oid from pg_database where datname = current_database())"
        );
        let present: i64 = open.session.query_one(&sql, &[]).await?.try_get(0)?;
        Ok((open, present <= 1))
    }

    /// That somebody listens here.
    async fn say(&self, session: &Session) -> Result<(), Fault> {
        session.query("select pg_notify($1, $2)", &[&CHANNEL, &listening(&self.others.server)]).await?;
        Ok(())
    }

    /// While the connection is good.
    fn hear(&self, open: &mut Listening) {
        let mut say_at = tokio::time::Instant::now();
        loop {
            let next = self.database.block(async {
                tokio::select! {
                    heard = open.notifications.recv() => Next::Heard(heard),
                    () = self.others.call.notified() => Next::Say,
                    () = sleep_until(say_at) => Next::Say,
                }
            });
            match next {
                Next::Heard(None) => return,
                Next::Heard(Some(text)) => self.take(&text),
                Next::Say => {
                    if self.others.is_stopping() {
                        return;
                    }
                    say_at = tokio::time::Instant::now() + SAY_EVERY;
                    let said = || self.database.wait(self.say(&open.session));
                    if self.writes.has_listeners() && said().is_err() {
                        return;
                    }
                }
            }
            if open.take_lost() {
                self.tell_any();
            }
        }
    }

    fn take(&self, text: &str) {
        let Some(Notice { server, told }) = read(text) else { return };
        if server == self.others.server {
            return;
        }
        match told {
            Told::Listening => self.others.note(Some(Instant::now())),
            Told::Written { version, transaction, changes } => {
                if !self.writes.has_listeners() {
                    return;
                }
                let told = self.tell(version, transaction, changes);
                if let Err(error) = told {
                    tracing::debug!(%error, "what another server has written cannot be read");
                    self.tell_any();
                }
            }
        }
    }

    fn tell(&self, version: i64, transaction: u32, changes: Option<Vec<Change>>) -> Result<(), ReadError> {
        if version > self.known.version() {
            let refreshed = self.known.refresh(&self.database, &self.writes, &self.mapping);
            refreshed.map_err(|fault: Fault| fault.of_read(&self.database.description))?;
        }
        let Some(changes) = changes else {
            self.tell_any();
            return Ok(());
        };
        let mut written = WrittenByOthers::default();
        for Change { type_id, rows } in changes {
            let known = self.mapping.read().unwrap_or_else(PoisonError::into_inner).table_of(type_id);
            // One that has been deleted meanwhile is told of by its name.
            let Some(table) = known else { continue };
            match rows {
                Some(rows) => self.read(table, transaction, &rows, &mut written)?,
                None => written.add_deletion(table),
            }
        }
        self.writes.tell(&written);
        Ok(())
    }

    /// Of a table the rows of a transaction.
    fn read(
        &self,
        id: TableId,
        transaction: u32,
        of: &Written,
        written: &mut WrittenByOthers,
    ) -> Result<(), ReadError> {
        let mapping = || self.mapping.read().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = mapping().table(id) else { return Ok(()) };
        let mut attributes: Vec<AttributeId> = Vec::new();
        self.writes.names(&mut |catalog| attributes = catalog.table(id).ids().map(|(id, _)| id).collect());
        let columns = columns_of(&table, &attributes);
        let sql = format!(
            "select time, series{} from {} where xmin = $1::text::xid and time >= $2 and time <= $3 and series {} order by time, seq",
            list_of(&columns, ""),
            table.name,
            if of.count() <= ENTITIES_MAX {
                "= any($4::integer[])"
            } else {
                "between ($4::integer[])[1] and ($4::integer[])[2]"
            },
        );
        let (from, to) = (Moment::nearest(of.from_ms), Moment::nearest(of.to_ms));
        let reading = Transaction::new(Arc::clone(&self.database), true);
        let found = reading.query(&sql, &[&transaction.to_string(), &from, &to, &of.numbers()])?;
        for row in &found {
            let Some(series): Option<SeriesId> = mapping().series_of(row.get(1)) else { continue };
            let mut rows = Rows::default();
            push_row(&mut rows, row, 0, 2, &columns)?;
            written.add_row(series, &rows);
        }
        Ok(())
    }

    /// That something may have changed of everything.
    fn tell_any(&self) {
        if !self.writes.has_listeners() {
            return;
        }
        let mut written = WrittenByOthers::default();
        self.writes.names(&mut |catalog| {
            catalog.served_tables().for_each(|(table, _)| written.add_deletion(table));
        });
        self.writes.tell(&written);
    }
}

impl Written {
    fn count(&self) -> i64 {
        self.series.iter().map(|(first, last)| i64::from(*last) - i64::from(*first) + 1).sum()
    }

    /// All of them, or the first and the last where they are too many.
    fn numbers(&self) -> Vec<i32> {
        if self.count() <= ENTITIES_MAX {
            return self.series.iter().flat_map(|(first, last)| *first..=*last).collect();
        }
        let first = self.series.first().map(|(first, _)| *first);
        let last = self.series.last().map(|(_, last)| *last);
        first.into_iter().chain(last).collect()
    }
}
