//! The ring between those who commit changes and those who read them. Nobody waits for a reader: one that falls behind
//! is told that it has lost something.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::SeqCst},
    },
};

use tokio::sync::Notify;

use crate::changes::{
    RowChange, Transaction,
    table_states::{Counted, TableStates},
};
use crate::model::{Model, TableId};

/// Transactions that are kept for readers which are behind.
pub const KEPT_TRANSACTIONS: usize = 1024;
/// Bytes of transactions that are kept; the newest is kept whatever its size.
pub const KEPT_BYTES: usize = 16 << 20;

/// Why a reader does not know what has changed. Anything in its tables may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It was too slow: so many transactions of its source are lost to it.
    #[error(
        "{0} transactions are lost to this subscription, which is behind by more than {KEPT_TRANSACTIONS} of them or \
         {KEPT_BYTES} bytes; ask for the state again"
    )]
    Behind(u64),
    /// Somebody could not say what was changed: the connection broke during a commit, a gap at the database could not be
    /// healed, or the change was under way as the reader began.
    #[error("what was changed in the meantime is not known; ask for the state again")]
    Unknown,
    /// Nothing: the tables have become others, and [`Feed::model`] has those of now.
    #[error("the tables of the database have changed")]
    Renewed,
}

/// The changes of one source.
#[derive(Debug)]
pub struct Feed {
    tables: TableStates,
    /// What is served now; none before that is known.
    model: Mutex<Option<Arc<Model>>>,
    /// Readers of any table.
    readers: AtomicU32,
    /// Those who hold [`Interest`] in any table.
    interested: AtomicU32,
    /// How often a table has become wanted or unwanted.
    turns: AtomicU64,
    ring: Mutex<Ring>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Entry>,
    /// Sum over `entries`.
    bytes: usize,
    /// Number of the first entry that is kept.
    first: u64,
}

#[derive(Debug, Clone)]
enum Entry {
    Changes(Arc<Transaction>, usize),
    Lost(Arc<[TableId]>),
    Renewed,
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Self::Changes(_, bytes) => *bytes,
            Self::Lost(tables) => size_of_val::<[TableId]>(tables),
            Self::Renewed => 0,
        }
    }

    fn concerns(&self, wanted: &[TableId]) -> bool {
        match self {
            Self::Changes(transaction, _) => transaction.touches(wanted),
            Self::Lost(tables) => tables.iter().any(|table| wanted.contains(table)),
            Self::Renewed => true,
        }
    }
}

impl Ring {
    fn push(&mut self, entry: Entry) {
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > KEPT_TRANSACTIONS || (self.bytes > KEPT_BYTES && self.entries.len() > 1) {
            let Some(oldest) = self.entries.pop_front() else { return };
            self.bytes -= oldest.bytes();
            self.first += 1;
        }
    }

    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

impl Feed {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            tables: TableStates::default(),
            model: Mutex::default(),
            readers: AtomicU32::new(0),
            interested: AtomicU32::new(0),
            turns: AtomicU64::new(0),
            ring: Mutex::default(),
            news: Notify::new(),
        })
    }

    /// What is served now, by which those publish who hear of changes without being asked for them.
    pub fn model(&self) -> Option<Arc<Model>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tables are these from now on: whoever reads is told so, and whatever depended on those of before counts as changed.
    pub fn renew(&self, model: &Arc<Model>) {
        let before = self.model.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(model));
        if before.is_some() {
            self.count(&self.wanted_tables());
            self.push(Entry::Renewed);
        }
    }

    /// Hears of all transactions that change rows of these tables and are committed after this returns. Of one that is
    /// under way by now, it may hear [`Lost::Unknown`] instead.
    pub fn subscribe(self: &Arc<Self>, tables: &[TableId]) -> Reader {
        let mut tables = tables.to_vec();
        tables.sort_unstable();
        tables.dedup();
        let ring = self.lock();
        self.readers.fetch_add(1, SeqCst);
        let next = ring.end();
        drop(ring);
        self.want(&tables);
        Reader { feed: Arc::clone(self), tables: tables.into(), next }
    }

    /// Has changes of these tables counted from now on, as those of a transaction that is under way by now.
    pub fn take_interest(self: &Arc<Self>, tables: Vec<TableId>) -> Interest {
        self.interested.fetch_add(1, SeqCst);
        self.want(&tables);
        Interest { feed: Arc::clone(self), tables: tables.into() }
    }

    fn want(&self, tables: &[TableId]) {
        for table in tables {
            if self.tables.of(*table).wanted.fetch_add(1, SeqCst) == 0 {
                self.turns.fetch_add(1, SeqCst);
            }
        }
    }

    fn want_no_more(&self, tables: &[TableId]) {
        for table in tables {
            if self.tables.of(*table).wanted.fetch_sub(1, SeqCst) == 1 {
                self.turns.fetch_add(1, SeqCst);
            }
        }
    }

    /// How many such changes of a table have been counted while somebody was interested in it.
    pub fn version(&self, table: TableId, counted: Counted) -> u64 {
        self.tables.of(table).version.counted(counted)
    }

    /// Counts that rows of these tables may have changed, before it is known which: who has changed them hears that it is
    /// committed, and [`publish`](Self::publish) may wait for others.
    pub fn count(&self, tables: &[TableId]) {
        for table in tables.iter().filter(|table| self.is_wanted(**table)) {
            self.tables.of(*table).version.count_unknown();
        }
    }

    /// Whether anybody is interested: all that is looked at where nobody is.
    pub fn is_read(&self) -> bool {
        self.has_readers() || self.interested.load(SeqCst) > 0
    }

    fn has_readers(&self) -> bool {
        self.readers.load(SeqCst) > 0
    }

    /// Whether somebody wants to hear of the table.
    pub fn is_wanted(&self, table: TableId) -> bool {
        self.tables.of(table).wanted.load(SeqCst) > 0
    }

    /// Whether those who change the table's rows must publish what they change.
    pub fn wants_from_writers(&self, table: TableId) -> bool {
        self.is_wanted(table) && !self.tables.of(table).by_triggers.load(SeqCst)
    }

    /// From now on the database's triggers capture changes of these tables and of no others. When they stopped doing so for a
    /// table is not known, so that changes of it are lost.
    pub fn set_captured_by_triggers(&self, tables: &[TableId]) {
        let mut left = Vec::new();
        // So that all are among those that are gone over.
        for table in tables {
            let _made = self.tables.of(*table);
        }
        for (id, state) in self.tables.iter() {
            let is_captured = tables.contains(&id);
            if state.by_triggers.swap(is_captured, SeqCst) && !is_captured {
                left.push(id);
            }
        }
        self.lose(&left);
    }

    /// Changes when other tables than before are wanted.
    pub fn turns(&self) -> u64 {
        self.turns.load(SeqCst)
    }

    /// All tables that somebody wants to hear of.
    pub fn wanted_tables(&self) -> Vec<TableId> {
        let wanted = self.tables.iter().filter(|(_, state)| state.wanted.load(SeqCst) > 0);
        wanted.map(|(id, _)| id).collect()
    }

    /// Tells what a transaction has changed, after its commit; values are those of the model's columns. Those who publish keep to the
    /// order of commits.
    pub fn publish(&self, model: &Arc<Model>, changes: Vec<RowChange>) {
        let mut is_wanted = false;
        for change in changes.iter().filter(|change| self.is_wanted(change.table)) {
            is_wanted = true;
            self.tables.of(change.table).version.count(change);
        }
        if is_wanted {
            let transaction = Transaction { model: Arc::clone(model), changes: changes.into() };
            let bytes = transaction.size_bytes();
            self.push(Entry::Changes(Arc::new(transaction), bytes));
        }
    }

    /// Tells that rows of these tables may have changed, and that nobody knows which.
    pub fn lose(&self, tables: &[TableId]) {
        self.count(tables);
        let tables: Vec<TableId> = tables.iter().copied().filter(|table| self.is_wanted(*table)).collect();
        if !tables.is_empty() {
            self.push(Entry::Lost(tables.into()));
        }
    }

    fn push(&self, entry: Entry) {
        let mut ring = self.lock();
        if self.has_readers() {
            ring.push(entry);
            drop(ring);
            self.news.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // Nothing panics while it is held.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has changes of tables counted until it is dropped.
#[derive(Debug)]
pub struct Interest {
    feed: Arc<Feed>,
    tables: Box<[TableId]>,
}

impl Interest {
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.feed.want_no_more(&self.tables);
        self.feed.interested.fetch_sub(1, SeqCst);
    }
}

/// One who hears of changes until it is dropped.
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    tables: Box<[TableId]>,
    /// Number of the entry that it reads next.
    next: u64,
}

impl Reader {
    /// Whose changes they are.
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// The tables that it hears of.
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// The next transaction that changes one of the tables; it may hold changes of others too. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> Result<Arc<Transaction>, Lost> {
        let feed = Arc::clone(&self.feed);
        loop {
            let news = feed.news.notified();
            if let Some(heard) = self.try_next() {
                return heard;
            }
            news.await;
        }
    }

    /// What can be heard without waiting.
    pub fn try_next(&mut self) -> Option<Result<Arc<Transaction>, Lost>> {
        let ring = self.feed.lock();
        if self.next < ring.first {
            let behind = ring.first - self.next;
            self.next = ring.first;
            return Some(Err(Lost::Behind(behind)));
        }
        while let Some(entry) = ring.entries.get((self.next - ring.first) as usize) {
            self.next += 1;
            if !entry.concerns(&self.tables) {
                continue;
            }
            return Some(match entry {
                Entry::Changes(transaction, _) => Ok(Arc::clone(transaction)),
                Entry::Lost(_) => Err(Lost::Unknown),
                Entry::Renewed => Err(Lost::Renewed),
            });
        }
        None
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.want_no_more(&self.tables);
        let mut ring = self.feed.lock();
        if self.feed.readers.fetch_sub(1, SeqCst) == 1 {
            ring.first = ring.end();
            ring.entries = VecDeque::new();
            ring.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::changes::{Operation, RowValues};

    fn change(table: u32, value: &str) -> RowChange {
        let row = RowValues(vec![value.into()].into());
        RowChange {
            table: TableId(table),
            operation: Operation::Insert,
            row: Some(row),
            previous_key: None,
            previous: None,
        }
    }

    fn heard(reader: &mut Reader) -> Option<Result<String, Lost>> {
        let value =
            |change: &RowChange| change.row.as_ref().map(|row| row.0[0].to_string()).unwrap_or_default();
        let texts = |found: Arc<Transaction>| found.changes.iter().map(value).collect::<Vec<_>>().join(",");
        reader.try_next().map(|heard| heard.map(texts))
    }

    #[test]
    fn changes_are_counted_as_long_as_somebody_is_interested() {
        let feed = Feed::new();
        let at = |table| {
            [Counted::All, Counted::OfKeys, Counted::OfColumns].map(|of| feed.version(TableId(table), of))
        };
        feed.publish(&Arc::default(), vec![change(0, "before")]);
        let turns = feed.turns();
        let interest = feed.take_interest(vec![TableId(0)]);
        assert!(feed.is_read() && feed.is_wanted(TableId(0)) && feed.turns() > turns);
        feed.publish(&Arc::default(), vec![change(0, "a"), change(1, "b")]);
        assert_eq!((at(0), at(1)), ([1, 0, 0], [0; 3]));
        let update = RowChange { operation: Operation::Update, ..change(0, "c") };
        let moved = RowChange { previous_key: Some(RowValues(vec!["c".into()].into())), ..update.clone() };
        feed.publish(&Arc::default(), vec![update]);
        assert_eq!(at(0), [2, 0, 1]);
        feed.publish(&Arc::default(), vec![moved]);
        assert_eq!(at(0), [3, 1, 2]);
        feed.publish(&Arc::default(), vec![RowChange { operation: Operation::Delete, ..change(0, "d") }]);
        assert_eq!(at(0), [4, 2, 3]);
        feed.lose(&[TableId(0), TableId(1)]);
        feed.count(&[TableId(0), TableId(1)]);
        assert_eq!((at(0), at(1)), ([6, 4, 5], [0; 3]));
        assert_eq!(feed.lock().entries.len(), 0, "nothing is kept for nobody");
        drop(interest);
        assert!(!feed.is_read() && !feed.is_wanted(TableId(0)));
    }

    #[test]
    fn readers_hear_of_their_tables_from_when_they_begin() {
        let feed = Feed::new();
        feed.publish(&Arc::default(), vec![change(0, "before")]);
        let mut zero = feed.subscribe(&[TableId(0)]);
        let mut both = feed.subscribe(&[TableId(1), TableId(0), TableId(0)]);
        feed.publish(&Arc::default(), vec![change(0, "a")]);
        feed.publish(&Arc::default(), vec![change(1, "b"), change(0, "c")]);
        feed.publish(&Arc::default(), vec![change(2, "nobody wants it")]);
        feed.publish(&Arc::default(), vec![change(1, "d")]);
        feed.lose(&[TableId(1), TableId(2)]);
        let text = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!([heard(&mut zero), heard(&mut zero), heard(&mut zero)], [text("a"), text("b,c"), None]);
        assert_eq!(
            [heard(&mut both), heard(&mut both), heard(&mut both)],
            [text("a"), text("b,c"), text("d")]
        );
        assert_eq!(heard(&mut both), Some(Err(Lost::Unknown)));
        assert!(!feed.is_wanted(TableId(2)) && feed.is_wanted(TableId(1)));
        let turns = feed.turns();
        drop(both);
        assert!(!feed.is_wanted(TableId(1)) && feed.is_wanted(TableId(0)) && feed.turns() > turns);
        drop(zero);
        assert_eq!(feed.lock().entries.len(), 0, "nothing is kept for nobody");
    }

    #[test]
    fn one_that_falls_behind_is_told() {
        let feed = Feed::new();
        let mut slow = feed.subscribe(&[TableId(0)]);
        for number in 0..KEPT_TRANSACTIONS + 3 {
            feed.publish(&Arc::default(), vec![change(0, &number.to_string())]);
        }
        assert_eq!(heard(&mut slow), Some(Err(Lost::Behind(3))));
        assert_eq!(heard(&mut slow), Some(Ok("3".to_owned())));
        let mut slow = feed.subscribe(&[TableId(0)]);
        let large = "x".repeat(KEPT_BYTES / 2);
        for _ in 0..4 {
            feed.publish(&Arc::default(), vec![change(0, &large)]);
        }
        assert_eq!(heard(&mut slow), Some(Err(Lost::Behind(3))));
        assert!(heard(&mut slow).is_some_and(|heard| heard.is_ok()));
        assert_eq!(heard(&mut slow), None);
        feed.publish(&Arc::default(), vec![change(0, &"x".repeat(KEPT_BYTES * 2))]);
        assert!(
            heard(&mut slow).is_some_and(|heard| heard.is_ok()),
            "a single one is kept whatever its size"
        );
    }

    #[tokio::test]
    async fn waiting_readers_are_woken() {
        let feed = Feed::new();
        let mut reader = feed.subscribe(&[TableId(0)]);
        assert!(reader.next().now_or_never().is_none());
        let (published, heard) =
            tokio::join!(async { feed.publish(&Arc::default(), vec![change(0, "a")]) }, async {
                reader.next().await.map(|found| found.changes.len())
            });
        assert_eq!((published, heard), ((), Ok(1)));
        let other = Arc::clone(&feed);
        let thread = std::thread::spawn(move || other.publish(&Arc::default(), vec![change(0, "b")]));
        assert!(reader.next().await.is_ok());
        thread.join().unwrap();
    }
}
