//! Writes of an engine that keeps its rows elsewhere: names are kept in memory, and what a frame says is done by whoever makes it durable
//! ([`FrameLog`]).

use crate::catalog::{Catalog, CatalogLock};
use crate::error::{Unwritten, WriteError};
use crate::ids::{SeriesId, TableId, TimeRange};
use crate::listen::{Events, Listener};
use crate::memory::{reading, writing};
use crate::op::{Deleted, Op, OpNumber, put_row};
use crate::rows::Rows;
use crate::value::Value;
use crate::write::{Limits, Operation, SeriesWriter};
use crate::write_queue::WriteQueue;
use prony_log::Durability;
use prony_log::codec::Input;
use prony_log::commit::{Batch, CommitQueue, Logged, Queue, Waiter};
use prony_log::error::LogError;
use prony_log::frame_log::FrameLog;
use prony_log::frames::LOG_FRAME_HEAD_BYTES;
use prony_log::register::{Register, Registration};
use prony_log::ticket::{Settled, Ticket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, RwLock};
use std::task::{Context, Poll};
use std::time::SystemTime;

/// Writes of an engine that keeps its rows elsewhere.
#[derive(Debug)]
pub struct WritesElsewhere(CommitQueue<Names>);

/// Names of what is durable.
#[derive(Debug)]
struct Names {
    catalog: RwLock<Catalog>,
    limits: Limits,
    /// Of the last write that is durable.
    last_number: AtomicU64,
    listeners: Register<Listener>,
}

/// What others have done to the rows that an engine keeps elsewhere, for those who listen ([`WritesElsewhere::tell`]).
#[derive(Debug, Default)]
pub struct WrittenByOthers {
    payload: Vec<u8>,
}

impl WrittenByOthers {
    /// The first of these rows, of a series that is known.
    pub fn add_row(&mut self, series: SeriesId, rows: &Rows) {
        let Some(time_ms) = rows.times.first() else { return };
        let values = rows.columns.iter().map(|(attribute, column)| (*attribute, column.get(0)));
        let values: Vec<_> = values.filter(|(_, value)| *value != Value::Null).collect();
        put_row(&mut self.payload, 0, series, *time_ms, &values);
    }

    /// Rows of a type were deleted, or may be others now.
    pub fn add_deletion(&mut self, table: TableId) {
        let (of, range) = (Deleted::Table(table), TimeRange::ALL);
        Op::Delete { number: 0, of, range }.put(&mut self.payload);
    }
}

/// What a frame says is to be done, in its order.
pub fn ops(frame: &[u8]) -> impl Iterator<Item = Op<'_>> {
    let mut input = Input::new(frame.get(LOG_FRAME_HEAD_BYTES..).unwrap_or_default());
    std::iter::from_fn(move || {
        (!input.is_empty())
            .then(|| Op::take(&mut input).expect("what a write has put into a frame can be read"))
    })
}

impl CatalogLock for RwLock<Catalog> {
    fn with_catalog(&self, with: &mut dyn FnMut(&Catalog)) {
        with(&reading(self));
    }
}

impl Names {
    fn note(&self, op: &Op<'_>) {
        if let Op::Row { number, .. } | Op::Delete { number, .. } | Op::DropTable { number, .. } = op {
            self.last_number.fetch_max(*number, Ordering::Relaxed);
        }
        if let Op::DropTable { table, .. } = op {
            writing(&self.catalog).drop_table(*table);
        } else if !matches!(op, Op::Row { .. } | Op::Delete { .. }) {
            writing(&self.catalog).name(op).expect("names of a write are in order");
        }
    }

    fn last_number(&self) -> OpNumber {
        self.last_number.load(Ordering::Relaxed)
    }
}

impl Logged for Names {
    type Writer = SeriesWriter;
    type Attached = ();

    fn pending(writer: &SeriesWriter) -> &Batch<()> {
        &writer.pending
    }

    fn pending_mut(writer: &mut SeriesWriter) -> &mut Batch<()> {
        &mut writer.pending
    }

    fn logged(&self, queue: MutexGuard<'_, Queue<Self>>, batch: &mut Batch<()>) {
        drop(queue);
        ops(&batch.frame).for_each(|op| self.note(&op));
        if let Some(payload) = batch.frame.get(LOG_FRAME_HEAD_BYTES..)
            && !self.listeners.is_empty()
        {
            self.listeners.each(|listener| listener(&Events::new(payload, &self.catalog)));
        }
    }

    fn roll_back(&self, writer: &mut SeriesWriter) -> Vec<Waiter> {
        let before = SeriesWriter::new(reading(&self.catalog).clone(), self.last_number(), self.limits);
        std::mem::replace(writer, before).pending.waiters
    }
}

impl WritesElsewhere {
    pub fn new(limits: Limits) -> Self {
        let names = Names {
            catalog: RwLock::default(),
            limits,
            last_number: AtomicU64::new(0),
            listeners: Register::default(),
        };
        let writer = SeriesWriter::new(Catalog::default(), 0, limits);
        Self(CommitQueue::new(names, writer, Durability::Sync, (0, 0)))
    }

    /// Makes writes durable, one frame after the other, until this is [closed](Self::close) and all are.
    pub fn run(&self, log: impl FrameLog) {
        self.0.run(log);
    }

    pub fn close(&self) {
        self.0.close();
    }

    pub fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.0.state.catalog.with_catalog(with);
    }

    /// As [`crate::Engine::submit`].
    pub fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten> {
        WriteQueue::submit(&self.0, operation)
    }

    /// As [`crate::Engine::submit_and_wait`].
    pub fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError> {
        WriteQueue::submit_and_wait(&self.0, operation)
    }

    /// As [`crate::Engine::poll_room`].
    pub fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.0.poll_room(context)
    }

    /// As [`crate::Engine::watch`].
    pub fn watch(&self, watcher: Arc<dyn Fn(&Settled) + Send + Sync>) -> Registration {
        self.0.watchers.add(watcher)
    }

    /// As [`crate::Engine::listen`].
    pub fn listen(&self, listener: Arc<Listener>) -> Registration {
        self.0.state.listeners.add(listener)
    }

    pub fn has_listeners(&self) -> bool {
        !self.0.state.listeners.is_empty()
    }

    /// Tells those who listen what others have done. Names of it are known here.
    pub fn tell(&self, written: &WrittenByOthers) {
        if !written.payload.is_empty() {
            let names = &self.0.state;
            names.listeners.each(|listener| listener(&Events::new(&written.payload, &names.catalog)));
        }
    }

    /// Why the last write could not be made durable, and when.
    pub fn failure(&self) -> Option<(LogError, SystemTime)> {
        self.0.lock().log_failure.clone()
    }
}
