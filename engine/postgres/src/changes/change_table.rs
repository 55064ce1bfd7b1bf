//! Reading the table that the triggers write: each committed change once, whatever was lost in between.
//!
//! Numbers of rows and of transactions do not say what has committed: a transaction may begin early and commit late. So
//! what is read is the difference between two snapshots of the database: transactions which the last one did not see
//! (PostgreSQL manual, section 9.28.8, `pg_visible_in_snapshot`). It holds over a broken connection and a restart of the
//! database. Within a difference, transactions come by the number of their last change, which is taken while the row is
//! locked (`changes::order` says why that is their order). A loss is published where the last change of its transaction
//! would be: a subscriber that then reads the state gets no change after it that is older than what it has read.
//!
//! A database that was killed with `synchronous_commit` off forgets its last commits and gives their numbers again; those
//! of rows, of which 32 are logged ahead, it gives again only where that record was lost too. So rows with higher numbers
//! than were there are unseen as well, and a highest number below the last one says that some are forgotten. What has come up
//! to that number again by then is not noticed.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio_postgres::{Client, Error, Row};

use crate::{
    changes::triggers::KEPT_CHANGES,
    run::rows::{Form, column_text},
};
use prony_sql::{
    builder::{SelectList, column_operand, push_identifier},
    changes::{Feed, Operation, RowChange, RowValues},
    model::{ColumnId, Model, Table, TableId},
};

/// Changes whose rows are read, and published, at once.
const CHANGES_AT_ONCE: usize = 1000;

/// What a snapshot sees, in PostgreSQL's own words: `xmin:xmax:xip,…`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    text: String,
    oldest: u64,
    next: u64,
    under_way: HashSet<u64>,
}

impl Snapshot {
    fn parse(text: String) -> Option<Self> {
        let mut parts = text.split(':');
        let (oldest, next) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let under_way = parts.next().unwrap_or_default().split(',').filter(|number| !number.is_empty());
        let under_way = under_way.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { text, oldest, next, under_way })
    }

    fn sees(&self, transaction: u64) -> bool {
        transaction < self.next && !self.under_way.contains(&transaction)
    }
}

/// How far the table has been read.
#[derive(Debug)]
pub(crate) struct ChangeTable {
    model: Arc<Model>,
    feed: Arc<Feed>,
    seen: Option<Seen>,
    /// Tables that have triggers now, and those that had them when the table was read last: of others, this server tells
    /// what it changes itself.
    captured: Vec<TableId>,
    captured_before: Vec<TableId>,
    /// Something is not known, which is said behind all that is unread.
    is_lost: bool,
    /// Of what was seen, what is not published yet, in order: the connection broke meanwhile.
    unread: Vec<Line>,
    /// Transactions that notified, of which nothing has been read yet.
    notified: HashSet<u64>,
}

#[derive(Debug)]
struct Seen {
    snapshot: Snapshot,
    /// The highest number at that time.
    last: i64,
}

/// One line of the table, without its row.
#[derive(Debug)]
struct Line {
    id: i64,
    transaction: u64,
    table: Option<TableId>,
    /// `None` for TRUNCATE.
    operation: Option<Operation>,
}

impl ChangeTable {
    pub(crate) fn new(model: &Arc<Model>, feed: &Arc<Feed>) -> Self {
        let (model, feed) = (Arc::clone(model), Arc::clone(feed));
        Self {
            model,
            feed,
            seen: None,
            captured: Vec::new(),
            captured_before: Vec::new(),
            is_lost: false,
            unread: Vec::new(),
            notified: HashSet::new(),
        }
    }

    /// The tables are these from now on.
    pub(crate) fn renew(&mut self, model: &Arc<Model>) {
        self.model = Arc::clone(model);
    }

    /// From what is committed after the next read on, changes of these tables are captured, and of no others.
    pub(crate) fn hear_of(&mut self, tables: Vec<TableId>) {
        self.captured_before.retain(|table| tables.contains(table));
        self.captured = tables;
    }

    /// How many tables have their changes captured.
    pub(crate) fn tables(&self) -> usize {
        self.captured.len()
    }

    pub(crate) fn notified(&mut self, transaction: u64) {
        self.notified.insert(transaction);
    }

    /// Publishes all that has been committed since the last call; the first one only says from where on. What could not be
    /// published before an error is published by the next call. What is published is counted before anybody hears of it.
    pub(crate) async fn read(&mut self, client: &Client, published: &AtomicU64) -> Result<(), Error> {
        self.find(client).await?;
        while !self.unread.is_empty() {
            let count = self.unread.len().min(CHANGES_AT_ONCE);
            let rows = self.rows(client, &self.unread[..count]).await?;
            let lines: Vec<Line> = self.unread.drain(..count).collect();
            published.fetch_add(count as u64, Relaxed);
            self.publish(&lines, rows);
        }
        if std::mem::take(&mut self.is_lost) {
            tracing::warn!(
                "changes are lost: more than {KEPT_CHANGES} were made since the table was read last"
            );
            self.feed.lose(&self.captured);
        }
        Ok(())
    }

    /// Adds to what is unread.
    async fn find(&mut self, client: &Client) -> Result<(), Error> {
        let (now, mut lines) = self.lines(client).await?;
        let Some(now) = now else { return Ok(()) };
        let captured = std::mem::replace(&mut self.captured_before, self.captured.clone());
        // Those who notified had committed before.
        let notified = std::mem::take(&mut self.notified);
        let before = self.seen.replace(now);
        let (Some(before), Some(now)) = (before, &self.seen) else { return Ok(()) };
        if self.is_incomplete(&before, now, &lines, &notified) {
            self.is_lost = true;
            self.unread.clear();
            if lines.len() > KEPT_CHANGES as usize {
                lines.clear();
            }
        }
        self.unread
            .extend(lines.into_iter().filter(|line| line.table.is_some_and(|id| captured.contains(&id))));
        Ok(())
    }

    /// Whether something between two looks is not in the lines, or not any more in what is unread.
    fn is_incomplete(&self, before: &Seen, now: &Seen, lines: &[Line], notified: &HashSet<u64>) -> bool {
        let found: HashSet<u64> = lines.iter().map(|line| line.transaction).collect();
        let is_missing = |transaction: &u64| {
            !before.snapshot.sees(*transaction)
                && now.snapshot.sees(*transaction)
                && !found.contains(transaction)
        };
        // The database is another one.
        let is_other = now.snapshot.next < before.snapshot.oldest || now.last < before.last;
        // The triggers may have removed what is older, of a transaction that began long ago also in part.
        let oldest_kept = now.last - KEPT_CHANGES;
        let is_removed = |line: &Line| line.id < oldest_kept;
        is_other
            || before.last < oldest_kept
            || lines.len() > KEPT_CHANGES as usize
            || lines.iter().chain(&self.unread).any(is_removed)
            || notified.iter().any(is_missing)
    }

    async fn lines(&self, client: &Client) -> Result<(Option<Seen>, Vec<Line>), Error> {
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let state = client
            .query_one(
                "SELECT pg_current_snapshot()::text, (SELECT coalesce(max(id), 0) FROM prony.change)",
                &[],
            )
            .await?;
        let mut lines = Vec::new();
        if let Some(seen) = &self.seen {
            let sql = "SELECT id, transaction::text, schema_name, table_name, operation::text FROM (
                    SELECT *, max(id) OVER (PARTITION BY transaction) AS last FROM prony.change
                    WHERE transaction >= pg_snapshot_xmin($1::text::pg_snapshot)
                        AND NOT pg_visible_in_snapshot(transaction, $1::text::pg_snapshot)
                        OR id > $2) AS unseen
                ORDER BY last, operation = 'T', id LIMIT $3";
            let rows = client.query(sql, &[&seen.snapshot.text, &seen.last, &(KEPT_CHANGES + 1)]).await?;
            lines = rows.iter().map(|row| self.line(row)).collect::<Result<_, _>>()?;
        }
        client.batch_execute("COMMIT").await?;
        let snapshot = Snapshot::parse(state.try_get(0)?);
        let last = state.try_get(1)?;
        Ok((snapshot.map(|snapshot| Seen { snapshot, last }), lines))
    }

    fn line(&self, row: &Row) -> Result<Line, Error> {
        let (schema, name): (&str, &str) = (row.try_get(2)?, row.try_get(3)?);
        Ok(Line {
            id: row.try_get(0)?,
            transaction: row.try_get::<_, &str>(1)?.parse().unwrap_or_default(),
            table: table_named(&self.model, schema, name),
            operation: match row.try_get(4)? {
                "I" => Some(Operation::Insert),
                "U" => Some(Operation::Update),
                "D" => Some(Operation::Delete),
                _ => None,
            },
        })
    }

    /// Publishes lines, those of a transaction together: what is not known of it behind the others, as lines come.
    fn publish(&mut self, lines: &[Line], mut rows: HashMap<i64, Option<KnownRow>>) {
        for lines in lines.chunk_by(|one, other| one.transaction == other.transaction) {
            let (mut changes, mut unknown) = (Vec::new(), Vec::new());
            for line in lines {
                let Some(table) = line.table else { continue };
                match (line.operation, rows.remove(&line.id)) {
                    (None, _) => unknown.push(table),
                    (Some(operation), Some(row)) => {
                        let (row, previous_key) = row.unwrap_or_default();
                        changes.push(RowChange { table, operation, row, previous_key, previous: None });
                    }
                    // Somebody has begun to listen since the rows were read, or the triggers have removed it.
                    (Some(_), None) => self.is_lost |= self.feed.is_wanted(table),
                }
            }
            self.feed.publish(&self.model, changes);
            self.feed.lose(&unknown);
        }
    }

    /// By number; `None` where a row cannot be read, as its table has changed. Those that are removed by now are not there.
    ///
    /// # Errors
    /// When the database could not be asked, such as where the connection broke.
    async fn rows(&self, client: &Client, lines: &[Line]) -> Result<HashMap<i64, Option<KnownRow>>, Error> {
        let mut by_table: HashMap<TableId, Vec<i64>> = HashMap::new();
        for line in lines {
            if let (Some(table), Some(_)) = (line.table, line.operation)
                && self.feed.is_wanted(table)
            {
                by_table.entry(table).or_default().push(line.id);
            }
        }
        let mut all = HashMap::new();
        for (table, ids) in by_table {
            let Some(table) = self.model.find_table(table) else { continue };
            let reading = RowReading::new(table);
            let read = client.query(&reading.sql, &[&ids]).await;
            match read {
                Ok(rows) => {
                    let known = rows.iter().filter_map(|row| reading.read(row));
                    all.extend(known.map(|(id, row)| (id, Some(row))));
                }
                Err(error) if is_of_the_table(&error) => {
                    all.extend(ids.iter().map(|id| (*id, None)));
                    let reason = crate::error::describe(&error);
                    tracing::warn!(table = %table.name, reason, "changed rows cannot be read");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

/// Whether the statement does not fit the table or its values: classes 22, 23 and 42 (PostgreSQL manual, appendix A), P0 of functions that
/// a domain checks by, and XX, which is what types of extensions say of a text that is none of theirs. It would be so each time that these
/// rows are read. Whatever else stands against it may be gone the next time.
fn is_of_the_table(error: &Error) -> bool {
    let class = error.code().and_then(|state| state.code().get(..2));
    matches!(class, Some("22" | "23" | "42" | "P0" | "XX"))
}

/// The row, and the key before.
type KnownRow = (Option<RowValues>, Option<RowValues>);

/// The table of the model; partitions have their parent's name.
pub(crate) fn table_named(model: &Model, schema: &str, name: &str) -> Option<TableId> {
    let is_it = |table: &Table| *table.name == *name && table.schema.as_deref().unwrap_or_default() == schema;
    model.numbered().find(|(_, table)| is_it(table)).map(|(id, _)| id)
}

/// Reads the changed rows of one table, in the forms of responses.
struct RowReading {
    sql: String,
    row: Vec<(usize, Form)>,
    key: Vec<(usize, Form)>,
    is_moved: usize,
    id: usize,
}

impl RowReading {
    fn new(table: &Table) -> Self {
        let mut select = SelectList::default();
        let id = select.position("c.id".to_owned());
        let is_moved = select.position("c.previous IS NOT NULL".to_owned());
        let mut column = |alias: &str, column: ColumnId| {
            let column = table.column(column);
            let (form, sql) = Form::of(column, &column_operand(alias, column));
            (select.position(sql), form)
        };
        let row = (0..table.columns.len()).map(|index| column("r", ColumnId(index as u16))).collect();
        let key = table.primary_key.iter().map(|&id| column("p", id)).collect();
        let mut name = String::new();
        push_identifier(&mut name, table.schema.as_deref().unwrap_or_default());
        name.push('.');
        push_identifier(&mut name, &table.name);
        let list = select.to_sql("NULL");
        let sql = format!(
            "SELECT {list} FROM prony.change AS c, LATERAL jsonb_populate_record(NULL::{name}, c.row_data) AS r, \
             LATERAL jsonb_populate_record(NULL::{name}, coalesce(c.previous, c.row_data)) AS p WHERE c.id = ANY($1)"
        );
        Self { sql, row, key, is_moved, id }
    }

    fn read(&self, row: &Row) -> Option<(i64, KnownRow)> {
        let id = row.try_get(self.id).ok()?;
        let values = |columns: &[(usize, Form)]| {
            let texts = columns.iter().map(|&(column, form)| column_text(row, column, form));
            texts.collect::<Result<_, _>>().ok().map(RowValues)
        };
        let previous = if row.try_get(self.is_moved).ok()? { values(&self.key) } else { None };
        Some((id, (values(&self.row), previous)))
    }
}

/// Tables of the model whose changes the triggers capture.
pub(crate) async fn tables_with_triggers(client: &Client, model: &Model) -> Result<Vec<TableId>, Error> {
    // Those for statements are three, of which each is needed.
    let sql =
        "SELECT n.nspname::text, c.relname::text FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
            JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE p.pronamespace = to_regnamespace('prony') AND p.proname IN ('row_changed', 'rows_changed')
             AND t.tgparentid = 0 AND t.tgenabled IN ('O', 'A')
         GROUP BY 1, 2 HAVING bool_or(p.proname = 'row_changed') OR count(*) = 3";
    let rows = client.query(sql, &[]).await?;
    let mut tables = Vec::with_capacity(rows.len());
    for row in &rows {
        tables.extend(table_named(model, row.try_get(0)?, row.try_get(1)?));
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_say_what_they_see() {
        let snapshot = Snapshot::parse("700:710:700,705".to_owned()).unwrap();
        let seen: Vec<u64> = (698..712).filter(|number| snapshot.sees(*number)).collect();
        assert_eq!(seen, [698, 699, 701, 702, 703, 704, 706, 707, 708, 709]);
        assert!(Snapshot::parse("7:7:".to_owned()).unwrap().sees(6));
        for wrong in ["", "7", "a:b:", "1:2:x"] {
            assert_eq!(Snapshot::parse(wrong.to_owned()), None, "{wrong}");
        }
    }
}
