//! All that is known of a store: names, rows in memory, segments, deletions. The log's thread changes it, once a write is durable;
//! a start makes it of the files in the same way.

use crate::catalog::{Catalog, CatalogLock};
use crate::head::Head;
use crate::ids::TimeRange;
use crate::op::{Deleted, Op, OpNumber};
use crate::segment::Segment;
use crate::tombstones::{Reach, Tombstone, Tombstones};
use prony_log::codec::{Damage, Input};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A head that readers may hold while it grows.
pub(crate) type SharedHead = Arc<RwLock<Head>>;

/// A head that takes no more rows, until a segment has them.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    pub(crate) head: SharedHead,
    /// All its rows were made by writes up to this one.
    pub(crate) last_number: OpNumber,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) catalog: Catalog,
    pub(crate) active: SharedHead,
    pub(crate) frozen: Option<Frozen>,
    /// In the order of their writes.
    pub(crate) segments: Arc<Vec<Arc<Segment>>>,
    /// Segments of aggregates of rows that retention has removed, in the order of the removals.
    pub(crate) aggregates: Arc<Vec<Arc<Segment>>>,
    pub(crate) tombstones: Arc<Tombstones>,
    /// Of the last write.
    pub(crate) last_number: OpNumber,
}

/// A frame of the log that is being applied.
#[derive(Debug)]
pub(crate) struct Applying<'a> {
    input: Input<'a>,
    /// Of the write that is being applied; 0 before the first.
    number: OpNumber,
    /// That write deletes: deletions hide rows at once, so that no pause lies in it.
    deletes: bool,
}

impl<'a> Applying<'a> {
    pub(crate) const fn of(payload: &'a [u8]) -> Self {
        Self { input: Input::new(payload), number: 0, deletes: false }
    }

    fn left_bytes(&self) -> usize {
        let mut left = self.input;
        left.rest().len()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.input.is_empty()
    }
}

pub(crate) fn reading<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn writing<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl CatalogLock for RwLock<Memory> {
    fn with_catalog(&self, with: &mut dyn FnMut(&Catalog)) {
        with(&reading(self).catalog);
    }
}

impl Memory {
    /// Does what a frame of the log says.
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<(), Damage> {
        self.apply_piece(&mut Applying::of(payload), usize::MAX)
    }

    /// Does what is left of a frame, or about so many bytes of it. Readers see the rows of a write when all of it is done.
    pub(crate) fn apply_piece(&mut self, frame: &mut Applying<'_>, bytes_max: usize) -> Result<(), Damage> {
        let active = Arc::clone(&self.active);
        let mut head = writing(&active);
        let end = frame.left_bytes().saturating_sub(bytes_max);
        while !frame.is_done() && (frame.left_bytes() > end || frame.deletes) {
            let op = Op::take(&mut frame.input)?;
            if let Op::Row { number, .. } | Op::Delete { number, .. } | Op::DropTable { number, .. } = op
                && number > frame.number
            {
                self.last_number = self.last_number.max(frame.number);
                (frame.number, frame.deletes) = (number, false);
            }
            frame.deletes |= matches!(op, Op::Delete { .. } | Op::DropTable { .. });
            self.make(&mut head, &op)?;
        }
        if frame.is_done() {
            self.last_number = self.last_number.max(frame.number);
        }
        Ok(())
    }

    fn make(&mut self, head: &mut Head, op: &Op<'_>) -> Result<(), Damage> {
        match *op {
            Op::Table { .. } | Op::Attribute { .. } | Op::Series { .. } => self.catalog.name(op)?,
            Op::Row { number, series, time_ms, ref values } => {
                self.catalog.check_series(series)?;
                head.put(number, series, time_ms, values)?;
            }
            Op::Delete { number, of, range } => {
                match of {
                    Deleted::Series(series) => self.catalog.check_series(series)?,
                    Deleted::Table(table) => self.catalog.check_table(table)?,
                }
                Arc::make_mut(&mut self.tombstones).add(of, Tombstone { number, range, reach: Reach::All });
            }
            Op::DropTable { number, table } => {
                self.catalog.check_table(table)?;
                self.catalog.drop_table(table);
                let tombstone = Tombstone { number, range: TimeRange::ALL, reach: Reach::All };
                Arc::make_mut(&mut self.tombstones).add(Deleted::Table(table), tombstone);
            }
        }
        Ok(())
    }

    /// Later rows go into another head; those before them are to become a segment. Not while others are to become one.
    pub(crate) fn freeze(&mut self) {
        if self.frozen.is_none() && !reading(&self.active).is_empty() {
            let head = std::mem::take(&mut self.active);
            self.frozen = Some(Frozen { head, last_number: self.last_number });
        }
    }
}
