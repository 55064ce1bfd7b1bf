//! What retention removes, and what is kept of it: rows that are older than their type's rows are kept, and aggregates in their place where
//! the type has any. Both change at one stroke, with a manifest.

use crate::aggregates::{Downsampling, SeriesAggregates, is_mostly_hidden};
use crate::catalog::Table;
use crate::error::SealError;
use crate::ids::{SeriesId, TableId, TimeMs, TimeRange};
use crate::manifest::Segments;
use crate::memory::reading;
use crate::op::{Deleted, OpNumber};
use crate::options::Options;
use crate::read::StoredRows;
use crate::removal::Removal;
use crate::rows::Rows;
use crate::sealer::{Change, Files, Sealer, cannot_write, lock, together};
use crate::segment::{Segment, SegmentWriter};
use crate::tombstones::{Tombstone, Tombstones};
use crate::write::Write;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Deletions that are made in aggregates when they are read, in place of once and for all.
const DELETIONS_BEHIND_AGGREGATES_MAX: usize = 10_000;

impl Sealer {
    /// Removes what is too old at a moment, of types of which something else is removed than the last time.
    pub(crate) fn remove_old(&self, now_ms: TimeMs) -> Result<(), SealError> {
        let due = self.due(now_ms);
        if due.is_empty() {
            return Ok(());
        }
        let has_aggregates = self.with_aggregates();
        let (alone, rows): (HashMap<_, _>, HashMap<_, _>) =
            due.into_iter().partition(|(table, of)| of.period.is_none() && !has_aggregates.contains(table));
        for (table, removal) in alone {
            self.delete_rows(table, removal);
        }
        if rows.is_empty() {
            return Ok(());
        }
        // What comes into memory from here on stays until the next time.
        if self.has_rows_in_memory() {
            self.seal()?;
        }
        self.downsample(&rows)?;
        lock(&self.removed).extend(rows);
        self.compact_aggregates(false)
    }

    fn has_rows_in_memory(&self) -> bool {
        let memory = reading(&self.shared.state.memory);
        memory.frozen.is_some() || !reading(&memory.active).is_empty()
    }

    /// As [`Self::remove_old`], of all types.
    pub(crate) fn remove_all_old(&self, now_ms: TimeMs) -> Result<(), SealError> {
        lock(&self.removed).clear();
        self.remove_old(now_ms)
    }

    fn due(&self, now_ms: TimeMs) -> HashMap<TableId, Removal> {
        let Options { retention, aggregates, .. } = &self.options;
        if retention.is_empty() {
            return HashMap::new();
        }
        let (memory, removed) = (reading(&self.shared.state.memory), lock(&self.removed));
        let of = |(id, table): (TableId, &Table)| {
            Some((id, Removal::of(retention, aggregates, &table.name, now_ms)?))
        };
        let all = memory.catalog.served_tables().filter_map(of);
        all.filter(|(id, removal)| removed.get(id) != Some(removal)).collect()
    }

    /// Types that have aggregates.
    fn with_aggregates(&self) -> BTreeSet<TableId> {
        let memory = reading(&self.shared.state.memory);
        let blocks = memory.aggregates.iter().flat_map(|segment| segment.blocks());
        blocks.map(|block| memory.catalog.series(block.series).table).collect()
    }

    /// Removes rows of a type without aggregates by a write, for which nothing has to be read.
    fn delete_rows(&self, table: TableId, removal: Removal) {
        let mut queue = self.shared.lock_with_room();
        // A log that cannot be written says so to those who wait for it; the next step deletes the same.
        let _ = queue.writer.operate(&mut |write: &mut Write<'_>| {
            write.delete_all(table, removal.rows());
            Ok(())
        });
        self.shared.submit(queue);
        lock(&self.removed).insert(table, removal);
    }

    /// Removes rows that are in segments, and keeps their aggregates.
    fn downsample(&self, due: &HashMap<TableId, Removal>) -> Result<(), SealError> {
        let mut files = lock(&self.files);
        let (mut segments, tombstones, number) = {
            let memory = reading(&self.shared.state.memory);
            (Segments::of(&memory), Arc::clone(&memory.tombstones), memory.last_number)
        };
        if !self.has_old(&segments, due) {
            return Ok(());
        }
        // What came later than all rows of segments is in none: it is not read here, and must not be hidden.
        let rows_number = segments.rows.iter().map(|of| of.entry.last_number + 1).max();
        let new = self.write_aggregates(&mut files, &segments.rows, (&tombstones, number), due)?;
        segments.aggregates.extend(new);
        let removed = due.iter().flat_map(|(table, removal)| {
            let tombstones = removal.tombstones(rows_number, number + 1);
            tombstones.into_iter().map(|tombstone| (*table, tombstone))
        });
        let change = Change { segments, removed: removed.collect(), has_frozen: false };
        self.publish(files.manifest, change)
    }

    /// Whether there may be something to remove.
    fn has_old(&self, segments: &Segments, due: &HashMap<TableId, Removal>) -> bool {
        let has = |segments: &[Arc<Segment>], before: &dyn Fn(&Removal) -> Option<TimeMs>| {
            segments.iter().flat_map(|segment| segment.blocks()).any(|block| {
                let before = due.get(&self.table_of(block.series)).and_then(before);
                before.is_some_and(|before| block.first_ms < before)
            })
        };
        has(&segments.rows, &|of| Some(of.rows_before))
            || has(&segments.aggregates, &|of| of.aggregates_before)
    }

    /// A segment of aggregates of the rows that are removed; none where there are no rows. All deletions up to a write are made in it.
    fn write_aggregates(
        &self,
        files: &mut Files,
        segments: &[Arc<Segment>],
        (tombstones, number): (&Tombstones, OpNumber),
        due: &HashMap<TableId, Removal>,
    ) -> Result<Option<Arc<Segment>>, SealError> {
        let all: BTreeSet<SeriesId> =
            segments.iter().flat_map(|segment| segment.blocks().iter().map(|of| of.series)).collect();
        self.create_segment(files, number, |writer| {
            let write = cannot_write(writer.path());
            for series in all {
                let table = self.table_of(series);
                let Some(removal) = due.get(&table) else { continue };
                let Some(period) = removal.period else { continue };
                let (hidden, policy) = (tombstones.of(table, series), self.options.on_duplicate);
                let rows = StoredRows::of_sources(hidden, policy, segments, None, series, removal.rows());
                let mut downsampling = Downsampling::new(period);
                rows.each_part(|part| downsampling.add(part))?;
                put(writer, series, downsampling.finish()).map_err(&write)?;
            }
            Ok(())
        })
    }

    /// Puts segments of aggregates together that are many, or that are mostly deleted; or all.
    pub(crate) fn compact_aggregates(&self, all: bool) -> Result<(), SealError> {
        let mut files = lock(&self.files);
        loop {
            let (mut segments, tombstones, number) = {
                let memory = reading(&self.shared.state.memory);
                (Segments::of(&memory), Arc::clone(&memory.tombstones), memory.last_number)
            };
            let oldest = segments.aggregates.iter().map(|of| of.entry.last_number).min();
            let is_full =
                oldest.is_some_and(|oldest| tombstones.count_after(oldest) > DELETIONS_BEHIND_AGGREGATES_MAX);
            let chosen = if all || is_full {
                oldest.map(|_| 0..segments.aggregates.len())
            } else {
                self.aggregates_to_compact(&segments.aggregates, &tombstones)
            };
            let Some(chosen) = chosen else { return Ok(()) };
            let parts = &segments.aggregates[chosen.clone()];
            let one = self.put_aggregates_together(&mut files, parts, (&tombstones, number))?;
            segments.aggregates.splice(chosen, one);
            self.publish(files.manifest, Change { segments, removed: Vec::new(), has_frozen: false })?;
            if all {
                return Ok(());
            }
        }
    }

    fn aggregates_to_compact(
        &self,
        segments: &[Arc<Segment>],
        tombstones: &Tombstones,
    ) -> Option<std::ops::Range<usize>> {
        let bytes: Vec<u64> = segments.iter().map(|segment| segment.bytes()).collect();
        let hidden_of = |series| tombstones.of_aggregates(self.table_of(series), series);
        let is_worth =
            |segment: &Arc<Segment>| !tombstones.is_empty() && is_mostly_hidden(segment, hidden_of);
        together(&bytes).or_else(|| segments.iter().position(is_worth).map(|at| at..at + 1))
    }

    fn put_aggregates_together(
        &self,
        files: &mut Files,
        segments: &[Arc<Segment>],
        (tombstones, number): (&Tombstones, OpNumber),
    ) -> Result<Option<Arc<Segment>>, SealError> {
        let all: BTreeSet<SeriesId> =
            segments.iter().flat_map(|segment| segment.blocks().iter().map(|of| of.series)).collect();
        self.create_segment(files, number, |writer| {
            let write = cannot_write(writer.path());
            for series in all {
                let hidden = tombstones.of_aggregates(self.table_of(series), series);
                let of = SeriesAggregates::new(segments, series, TimeRange::ALL, hidden);
                put(writer, series, of.rows()?).map_err(&write)?;
            }
            Ok(())
        })
    }
}

fn put(writer: &mut SegmentWriter<'_>, series: SeriesId, rows: Rows) -> std::io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writer.rows(series, rows)?;
    writer.end_series(series)
}

impl Tombstones {
    /// As [`Self::add`], of what is removed of types.
    pub(crate) fn add_removed(&mut self, removed: &[(TableId, Tombstone)]) {
        for (table, tombstone) in removed {
            self.add(Deleted::Table(*table), *tombstone);
        }
    }
}
