//! Reading: the store as it was at one moment, however long one reads, and the rows of a series in it in the order of their times.

use crate::aggregates::{Periodic, SeriesAggregates};
use crate::block::BlockMeta;
use crate::calendar::Periods;
use crate::catalog::{Catalog, CatalogLock};
use crate::columns::Wanted;
use crate::engine::{PagedRows, RowSource, SeriesRows, Snapshot};
use crate::error::{ReadError, SealError};
use crate::head::{HeadBlock, SeriesHead};
use crate::ids::{AttributeId, SeriesId, TimeMs, TimeRange};
use crate::memory::{Memory, SharedHead, reading};
use crate::op::OpNumber;
use crate::page::Page;
use crate::rows::{OnDuplicate, RowAt, Rows};
use crate::segment::{Segment, read_block};
use crate::select::{candidates, select};
use crate::summary::Summary;
use crate::tombstones::{Hidden, Tombstones};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

/// Series whose newest rows are looked at in one go, while writers wait.
const HEADS_AT_A_TIME: usize = 1024;

/// The store at one moment. Later writes are not seen; names that came later may be.
#[derive(Debug, Clone)]
pub(crate) struct StoreSnapshot {
    memory: Arc<RwLock<Memory>>,
    /// The older first.
    heads: Vec<SharedHead>,
    segments: Arc<Vec<Arc<Segment>>>,
    aggregates: Arc<Vec<Arc<Segment>>>,
    tombstones: Arc<Tombstones>,
    /// Of the last write that is seen.
    last_number: OpNumber,
    policy: OnDuplicate,
}

/// Where rows of a series are.
#[derive(Debug)]
enum Source {
    Segment(Arc<Segment>, usize),
    Head(Arc<HeadBlock>),
    /// What was in no block, in the order of its times, without what is not seen.
    Loose(Rows),
}

/// Sources whose times overlap. Groups follow one another in time.
#[derive(Debug)]
struct Group {
    /// In the order of their writes.
    sources: Vec<Source>,
    first_ms: TimeMs,
    last_ms: TimeMs,
    /// There is one source, and all its rows are seen.
    is_whole: bool,
    /// How many rows there are; none where that is not known without reading.
    rows: Option<usize>,
}

/// The rows of a series in a range of time, in the order of their times.
#[derive(Debug)]
pub(crate) struct StoredRows {
    range: TimeRange,
    hidden: Hidden,
    last_number: OpNumber,
    policy: OnDuplicate,
    groups: Vec<Group>,
    /// Of rows that are there no more.
    aggregates: SeriesAggregates,
    /// The times of the group that was read last.
    cached: Option<(usize, Vec<TimeMs>)>,
}

/// A block that a group consists of, with its bytes; none where its rows have to be put together.
pub(crate) type WholeBlock<'a> = Option<(&'a BlockMeta, &'a [u8])>;
/// Puts the rows of a group together.
pub(crate) type LoadRows<'a> = dyn Fn() -> Result<Rows, ReadError> + 'a;

impl StoreSnapshot {
    pub(crate) fn new(memory: &Arc<RwLock<Memory>>, policy: OnDuplicate) -> Self {
        let now = reading(memory);
        let frozen = now.frozen.as_ref().map(|frozen| Arc::clone(&frozen.head));
        Self {
            memory: Arc::clone(memory),
            heads: frozen.into_iter().chain([Arc::clone(&now.active)]).collect(),
            segments: Arc::clone(&now.segments),
            aggregates: Arc::clone(&now.aggregates),
            tombstones: Arc::clone(&now.tombstones),
            last_number: now.last_number,
            policy,
        }
    }

    /// About how many rows there are of all series.
    pub(crate) fn row_count(&self) -> u64 {
        let heads: u64 = self.heads.iter().map(|head| reading(head).row_count()).sum();
        heads + self.segments.iter().map(|segment| segment.entry.rows).sum::<u64>()
    }

    /// Segments, and bytes of them.
    pub(crate) fn segments(&self) -> (usize, u64) {
        let all = || self.segments.iter().chain(self.aggregates.iter());
        (all().count(), all().map(|segment| segment.bytes()).sum())
    }

    /// Of rows that retention has removed.
    pub(crate) fn aggregate_count(&self) -> u64 {
        self.aggregates.iter().map(|segment| segment.entry.rows).sum()
    }

    /// Between which times the rows of each series are: all that a range meets are, and maybe some that are not seen. None where there are none.
    fn bounds(&self, series: &[SeriesId], range: TimeRange) -> Vec<Option<TimeRange>> {
        let mut bounds = vec![None; series.len()];
        let add = |bounds: &mut Option<TimeRange>, first_ms: TimeMs, last_ms: TimeMs| {
            if range.meets(first_ms, last_ms) {
                let known = bounds.unwrap_or(TimeRange { from_ms: TimeMs::MAX, to_ms: TimeMs::MIN });
                *bounds = Some(TimeRange {
                    from_ms: known.from_ms.min(first_ms.max(range.from_ms)),
                    to_ms: known.to_ms.max(last_ms.min(range.to_ms)),
                });
            }
        };
        for segment in self.segments.iter().filter(|of| range.meets(of.first_ms, of.last_ms)) {
            for (id, bounds) in series.iter().zip(&mut bounds) {
                for block in segment.places(*id).map(|place| segment.block(place)) {
                    add(bounds, block.first_ms, block.last_ms);
                }
            }
        }
        for head in &self.heads {
            for (ids, bounds) in series.chunks(HEADS_AT_A_TIME).zip(bounds.chunks_mut(HEADS_AT_A_TIME)) {
                let head = reading(head);
                for (head, bounds) in ids.iter().zip(bounds).filter_map(|(id, of)| Some((head.get(*id)?, of)))
                {
                    head.blocks.iter().for_each(|block| add(bounds, block.meta.first_ms, block.meta.last_ms));
                    if let Some(of) = head.range() {
                        add(bounds, of.from_ms, of.to_ms);
                    }
                }
            }
        }
        bounds
    }

    /// A page of all series, which is of some of them.
    fn page_of(
        &self,
        count: usize,
        range: TimeRange,
        found: Vec<(usize, SeriesRows)>,
        page: Page,
    ) -> Result<PagedRows, ReadError> {
        let (places, mut rows): (Vec<usize>, Vec<SeriesRows>) = found.into_iter().unzip();
        let chosen = select(&mut rows, page)?;
        let mut series: Vec<(SeriesRows, Range<u64>)> =
            (0..count).map(|_| (SeriesRows::new(self.no_rows(range)), 0..0)).collect();
        for (place, of) in places.into_iter().zip(rows.into_iter().zip(chosen)) {
            series[place] = of;
        }
        Ok(PagedRows { series, total: 0 })
    }

    fn no_rows(&self, range: TimeRange) -> StoredRows {
        StoredRows {
            range,
            hidden: Hidden::default(),
            last_number: self.last_number,
            policy: self.policy,
            groups: Vec::new(),
            aggregates: SeriesAggregates::none(),
            cached: None,
        }
    }

    /// The rows of a series; of those that are in no block yet only the values of these attributes.
    fn rows_of(&self, series: SeriesId, range: TimeRange, attributes: &[AttributeId]) -> StoredRows {
        let table_of = || reading(&self.memory).catalog.series(series).table;
        let hidden = if self.tombstones.is_empty() {
            Hidden::default()
        } else {
            self.tombstones.of(table_of(), series)
        };
        let aggregates = if self.aggregates.is_empty() {
            SeriesAggregates::none()
        } else {
            let hidden = self.tombstones.of_aggregates(table_of(), series);
            SeriesAggregates::new(&self.aggregates, series, range, hidden)
        };
        let mut rows = StoredRows { hidden, aggregates, ..self.no_rows(range) };
        let mut sources = Vec::new();
        for segment in self.segments.iter().filter(|of| range.meets(of.first_ms, of.last_ms)) {
            for place in segment.places(series) {
                let block = segment.block(place);
                let number = segment.entry.last_number;
                if range.meets(block.first_ms, block.last_ms)
                    && !rows.hidden.hides_all(number, block.first_ms, block.last_ms)
                {
                    sources.push(Source::Segment(Arc::clone(segment), place));
                }
            }
        }
        for head in &self.heads {
            let head = reading(head);
            let Some(head) = head.get(series) else { continue };
            let blocks = head.blocks.iter().filter(|of| range.meets(of.meta.first_ms, of.meta.last_ms));
            sources.extend(blocks.map(|block| Source::Head(Arc::clone(block))));
            if head.range().is_some_and(|of| range.meets(of.from_ms, of.to_ms)) {
                let (loose, numbers) = head.loose_rows(range, Wanted::Only(attributes));
                let seen = rows.seen(&loose.times, |row| numbers[row]);
                let loose = Rows::merge(&[&loose], seen, OnDuplicate::Append);
                if !loose.is_empty() {
                    sources.push(Source::Loose(loose));
                }
            }
        }
        rows.groups = rows.group(sources);
        rows
    }
}

/// Sources with their places in the order of the writes, and the times between which they all are.
type Overlapping = (Vec<(usize, Source)>, TimeMs, TimeMs);

impl Source {
    fn bounds(&self) -> (TimeMs, TimeMs) {
        match self {
            Self::Segment(segment, place) => (segment.block(*place).first_ms, segment.block(*place).last_ms),
            Self::Head(block) => (block.meta.first_ms, block.meta.last_ms),
            Self::Loose(rows) => (rows.times[0], rows.times[rows.len() - 1]),
        }
    }

    fn meta(&self) -> Option<&BlockMeta> {
        match self {
            Self::Segment(segment, place) => Some(segment.block(*place)),
            Self::Head(block) => Some(&block.meta),
            Self::Loose(_) => None,
        }
    }

    fn read(&self, wanted: Wanted<'_>, buffer: &mut Vec<u8>) -> Result<Rows, ReadError> {
        match self {
            Self::Segment(segment, place) => read_block(segment, *place, wanted, buffer),
            Self::Head(block) => block.meta.read(&block.bytes, wanted).map_err(|damage| ReadError::Damaged {
                path: PathBuf::from("memory"),
                offset: 0,
                what: damage.0,
            }),
            // Of columns there may be thousands, which are mostly asked for one by one.
            Self::Loose(rows) => Ok(Rows {
                times: rows.times.clone(),
                columns: rows.columns.wanted(wanted).cloned().collect(),
            }),
        }
    }
}

impl StoredRows {
    /// The rows that are seen, with the writes that have made them.
    fn seen(&self, times: &[TimeMs], number: impl Fn(usize) -> OpNumber) -> Vec<RowAt> {
        let is_seen = |row: &usize| {
            let (number, time) = (number(*row), times[*row]);
            number <= self.last_number && self.range.contains(time) && !self.hidden.hides(number, time)
        };
        (0..times.len()).filter(is_seen).map(|row| (0, row as u32)).collect()
    }

    fn group(&self, sources: Vec<Source>) -> Vec<Group> {
        let mut by_time: Vec<(usize, Source)> = sources.into_iter().enumerate().collect();
        by_time.sort_by_key(|(_, source)| source.bounds().0);
        let mut gathered: Vec<Overlapping> = Vec::new();
        for (place, source) in by_time {
            let (first, last) = source.bounds();
            match gathered.last_mut() {
                Some((group, _, group_last)) if first <= *group_last => {
                    group.push((place, source));
                    *group_last = last.max(*group_last);
                }
                _ => gathered.push((vec![(place, source)], first, last)),
            }
        }
        let groups = gathered.into_iter().map(|(mut group, first_ms, last_ms)| {
            group.sort_by_key(|(place, _)| *place);
            let sources: Vec<Source> = group.into_iter().map(|(_, source)| source).collect();
            let rows = match &sources[..] {
                [source] => self.known_rows(source),
                _ => None,
            };
            Group { sources, first_ms, last_ms, is_whole: rows.is_some(), rows }
        });
        groups.collect()
    }

    /// How many rows of a source there are, where all that it has are seen.
    fn known_rows(&self, source: &Source) -> Option<usize> {
        let is_append = self.policy == OnDuplicate::Append;
        match source {
            Source::Loose(rows) => {
                let is_single = is_append || rows.times.windows(2).all(|pair| pair[0] != pair[1]);
                is_single.then(|| rows.len())
            }
            Source::Segment(segment, _) => {
                self.known_block(source.meta()?, segment.entry.last_number, is_append)
            }
            Source::Head(block) if block.last_number > self.last_number => None,
            Source::Head(block) => self.known_block(&block.meta, 0, is_append),
        }
    }

    fn known_block(&self, block: &BlockMeta, number: OpNumber, is_append: bool) -> Option<usize> {
        let is_known = self.range.covers(block.first_ms, block.last_ms)
            && (is_append || !block.has_equal_times)
            && !self.hidden.may_hide(number, block.first_ms, block.last_ms);
        is_known.then_some(block.rows as usize)
    }

    /// The rows of a group, with the columns that are wanted.
    fn load(&self, group: usize, wanted: Wanted<'_>) -> Result<Rows, ReadError> {
        let Group { sources, is_whole, .. } = &self.groups[group];
        let mut buffer = Vec::new();
        if let ([source], true) = (&sources[..], is_whole) {
            return source.read(wanted, &mut buffer);
        }
        let (mut read, mut order) = (Vec::with_capacity(sources.len()), Vec::new());
        for (place, source) in sources.iter().enumerate() {
            let rows = source.read(wanted, &mut buffer)?;
            let seen = match source {
                Source::Segment(segment, _) => self.seen(&rows.times, |_| segment.entry.last_number),
                Source::Head(block) => self.seen(&rows.times, |row| block.numbers[row]),
                Source::Loose(_) => (0..rows.len() as u32).map(|row| (0, row)).collect(),
            };
            order.extend(seen.into_iter().map(|(_, row)| (place as u32, row)));
            read.push(rows);
        }
        Ok(Rows::merge(&read.iter().collect::<Vec<_>>(), order, self.policy))
    }

    /// The times of a group, kept until those of another are asked for.
    fn times(&mut self, group: usize) -> Result<&[TimeMs], ReadError> {
        if self.cached.as_ref().is_none_or(|(of, _)| *of != group) {
            let times = self.load(group, Wanted::Only(&[]))?.times;
            self.cached = Some((group, times));
        }
        Ok(self.cached.as_ref().map_or(&[], |(_, times)| times))
    }

    fn group_rows(&mut self, group: usize) -> Result<usize, ReadError> {
        if let Some(rows) = self.groups[group].rows {
            return Ok(rows);
        }
        let rows = self.times(group)?.len();
        self.groups[group].rows = Some(rows);
        Ok(rows)
    }

    /// Calls `take` with all rows of all columns, in the order of their times.
    pub(crate) fn each_part(&self, mut take: impl FnMut(&Rows)) -> Result<(), ReadError> {
        (0..self.groups.len()).try_for_each(|group| {
            take(&self.load(group, Wanted::All)?);
            Ok(())
        })
    }

    /// Calls `take` with all rows of all columns, group by group: a block as it is, or rows that were put together.
    pub(crate) fn each_group(
        &self,
        mut take: impl FnMut(WholeBlock<'_>, &LoadRows<'_>) -> Result<(), SealError>,
    ) -> Result<(), SealError> {
        let mut buffer = Vec::new();
        for (place, group) in self.groups.iter().enumerate() {
            let whole = match (&group.sources[..], group.is_whole) {
                ([Source::Segment(segment, at)], true) => {
                    segment.read_bytes(*at, &mut buffer)?;
                    Some((segment.block(*at), &buffer[..]))
                }
                ([Source::Head(block)], true) => Some((&block.meta, &*block.bytes)),
                _ => None,
            };
            take(whole, &|| self.load(place, Wanted::All))?;
        }
        Ok(())
    }

    /// Of sources that are to become a segment: in a range what is hidden is left out, nothing else is.
    pub(crate) fn of_sources(
        hidden: Hidden,
        policy: OnDuplicate,
        segments: &[Arc<Segment>],
        head: Option<&SeriesHead>,
        series: SeriesId,
        range: TimeRange,
    ) -> Self {
        let mut rows = Self {
            range,
            hidden,
            last_number: OpNumber::MAX,
            policy,
            groups: Vec::new(),
            aggregates: SeriesAggregates::none(),
            cached: None,
        };
        let mut sources = Vec::new();
        for segment in segments {
            let number = segment.entry.last_number;
            for place in segment.places(series) {
                let block = segment.block(place);
                if range.meets(block.first_ms, block.last_ms)
                    && !rows.hidden.hides_all(number, block.first_ms, block.last_ms)
                {
                    sources.push(Source::Segment(Arc::clone(segment), place));
                }
            }
        }
        if let Some(head) = head {
            sources.extend(head.blocks.iter().map(|block| Source::Head(Arc::clone(block))));
            let seen = rows.seen(&head.rows.times, |row| head.numbers[row]);
            let loose = Rows::merge(&[&head.rows], seen, OnDuplicate::Append);
            if !loose.is_empty() {
                sources.push(Source::Loose(loose));
            }
        }
        rows.groups = rows.group(sources);
        rows
    }
}

impl Snapshot for StoreSnapshot {
    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.memory.with_catalog(with);
    }

    fn series(&self, series: &[SeriesId], range: TimeRange, attributes: &[AttributeId]) -> Vec<SeriesRows> {
        series.iter().map(|id| SeriesRows::new(self.rows_of(*id, range, attributes))).collect()
    }

    fn page(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
        counts: bool,
    ) -> Result<PagedRows, ReadError> {
        let open = |place: usize| SeriesRows::new(self.rows_of(series[place], range, attributes));
        if !counts && let Some(found) = candidates(&self.bounds(series, range), page, open)? {
            return self.page_of(series.len(), range, found, page);
        }
        let mut rows = self.series(series, range, attributes);
        let mut total = 0;
        if counts {
            for of in &mut rows {
                total += of.count()?;
            }
        }
        let chosen = select(&mut rows, page)?;
        Ok(PagedRows { series: rows.into_iter().zip(chosen).collect(), total })
    }
}

impl RowSource for StoredRows {
    fn block_count(&self) -> usize {
        self.groups.iter().map(|group| group.sources.len()).sum::<usize>() + self.aggregates.block_count()
    }

    fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError> {
        let (Some(first), Some(last)) = (self.groups.first(), self.groups.last()) else { return Ok(None) };
        Ok(Some(TimeRange { from_ms: first.first_ms, to_ms: last.last_ms }))
    }

    fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        for group in 0..self.groups.len() {
            let Group { is_whole, first_ms, .. } = self.groups[group];
            let first = if is_whole { Some(first_ms) } else { self.times(group)?.first().copied() };
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        for group in (0..self.groups.len()).rev() {
            let Group { is_whole, last_ms, .. } = self.groups[group];
            let last = if is_whole { Some(last_ms) } else { self.times(group)?.last().copied() };
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    fn count(&mut self) -> Result<u64, ReadError> {
        let mut count = 0;
        for group in 0..self.groups.len() {
            count += self.group_rows(group)? as u64;
        }
        Ok(count)
    }

    fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError> {
        let mut count = 0;
        for group in 0..self.groups.len() {
            let Group { first_ms, last_ms, .. } = self.groups[group];
            if first_ms >= time_ms {
                break;
            }
            count += if last_ms < time_ms {
                self.group_rows(group)?
            } else {
                self.times(group)?.partition_point(|time| *time < time_ms)
            } as u64;
        }
        Ok(count)
    }

    fn visit(
        &mut self,
        rows: Range<u64>,
        attributes: &[AttributeId],
        take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        let mut before = 0;
        for group in 0..self.groups.len() {
            if before >= rows.end {
                break;
            }
            let count = self.group_rows(group)? as u64;
            let (from, to) = (rows.start.max(before), rows.end.min(before + count));
            if from < to {
                let loaded = self.load(group, Wanted::Only(attributes))?;
                if !take(&loaded, (from - before) as usize..(to - before) as usize) {
                    break;
                }
            }
            before += count;
        }
        Ok(())
    }

    fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError> {
        let mut periodic = Periodic::new(self.aggregates.summaries(attribute, periods)?, take);
        for group in 0..self.groups.len() {
            let Group { sources, first_ms, last_ms, is_whole, .. } = &self.groups[group];
            let end = periods.end_of(*first_ms);
            if let ([source], true, true) = (&sources[..], is_whole, *last_ms < end)
                && let Some(summary) = source.meta().and_then(|meta| meta.summary(attribute))
            {
                if !periodic.add(*first_ms, end, &summary) {
                    return Ok(());
                }
                continue;
            }
            let loaded = self.load(group, Wanted::Only(&[attribute]))?;
            let column = loaded.column(attribute);
            let mut from = 0;
            while from < loaded.len() {
                let end = periods.end_of(loaded.times[from]);
                let to = from + loaded.times[from..].partition_point(|time| *time < end);
                let to = to.max(from + 1);
                let summary = column.map_or_else(Summary::default, |column| Summary::of(column, from..to));
                if !periodic.add(loaded.times[from], end, &summary) {
                    return Ok(());
                }
                from = to;
            }
        }
        periodic.finish();
        Ok(())
    }
    fn aggregated(&mut self, attribute: Option<AttributeId>) -> Result<Option<TimeRange>, ReadError> {
        self.aggregates.times(attribute)
    }

    fn leave_out_aggregates(&mut self) {
        self.aggregates = SeriesAggregates::none();
    }
}
