//! Finds the entities and rows of a plan in the store as it was at one moment, and writes them as JSON.

use std::{collections::VecDeque, ops::Range};

use prony_graphql::{
    budget::ResponseMeter,
    error::{ErrorCode, GraphqlError},
    json::write_string,
    selection::Value,
    variables::Variables,
};
use prony_series_store::{
    AttributeId, Kind, Page, Read, Rows, SeriesId, SeriesRows, Summary, TimeMs, TimeRange, Value as DataValue,
};
use prony_source::{CommonSettings, dialect};

use super::{
    objects::end_object,
    pace::{Pace, Stop},
    plan::{
        EntitiesPlan, EntityList, EntityOutput, PointOutput, RowOutput, Selected, SummariesPlan,
        SummaryOutput, TimeList,
    },
};
use crate::access::filter::BoundFilter;
use crate::{
    hidden,
    ngsi::time,
    query::{
        entity::OrderedRows,
        measure::{MeasuredPeriod, Measurement, measure},
        page::paged,
        result::series_of,
        value::{summary_kind, summary_value, write_time, write_value},
    },
};

/// To look for the rows of an entity; about five microseconds.
const OPENING_STEPS: u64 = 20;
/// To read a block.
const BLOCK_STEPS: u64 = 50;
/// Summaries that are kept until the last of them are known.
const KEPT_SUMMARIES_MAX: u64 = 1_000_000;
/// The same of periods whose values are read.
const MEASURED_PERIODS_MAX: usize = 1_000_000;

/// Rows of the lists of entities that are read together.
const ROWS_TOGETHER_MAX: u64 = 20_000;

/// An entity that is shown: its id, its series, all its rows.
type ShownEntity<'c> = (&'c str, SeriesId, SeriesRows);

/// The rows of a list, and which of them are in it, of one entity after the other.
type OpenedLists = VecDeque<(SeriesRows, Range<u64>)>;

/// A list with its values.
#[derive(Debug, Clone, Copy)]
struct BoundList {
    range: TimeRange,
    page: Page,
}

/// One response while it is made.
struct Execution<'r> {
    read: &'r Read,
    plan: &'r EntitiesPlan,
    lists: Vec<BoundList>,
    pace: Pace,
    meter: ResponseMeter,
    out: Vec<u8>,
}

impl EntitiesPlan {
    /// The whole response.
    pub(super) fn execute(
        &self,
        read: &Read,
        variables: &Variables,
        settings: &CommonSettings,
        pace: Pace,
    ) -> Result<Vec<u8>, Stop> {
        let filter = self.filter.bind(variables)?;
        let lists = self.lists.iter().map(|list| BoundList::new(list, variables, settings));
        let mut execution = Execution {
            read,
            plan: self,
            lists: lists.collect::<Result<_, _>>()?,
            pace,
            meter: ResponseMeter::new(settings.max_response_bytes, variables.budget()),
            out: Vec::with_capacity(256),
        };
        match &self.list {
            EntityList::One => {
                if execution.entities(&filter, 0, 1)? == 0 {
                    execution.out.extend_from_slice(b"null");
                }
            }
            EntityList::Many { limit, offset } => {
                let limit = dialect::limit(limit.as_ref(), variables, settings)?.cast_unsigned();
                let offset = dialect::offset(offset.as_ref(), variables)?.cast_unsigned();
                execution.out.push(b'[');
                execution.entities(&filter, offset, limit)?;
                execution.out.push(b']');
            }
        }
        Ok(execution.out)
    }
}

impl BoundList {
    fn new(plan: &TimeList, variables: &Variables, settings: &CommonSettings) -> Result<Self, GraphqlError> {
        let time = |value: Option<&Value>, name: &str| {
            let Some(value) = value else { return Ok(None) };
            let json = dialect::json(value, variables);
            match json.as_str().and_then(time::parse) {
                Some(time) => Ok(Some(time)),
                None if json.is_null() => Ok(None),
                None => {
                    let shown = dialect::abbreviated(&json);
                    let message = format!("`{name}` is {shown}, and no time as \"2024-05-06T07:08:09Z\"");
                    Err(GraphqlError::new(ErrorCode::BadUserInput, message).at(plan.position))
                }
            }
        };
        let range = TimeRange {
            from_ms: time(plan.from.as_ref(), "from")?.unwrap_or(TimeMs::MIN),
            to_ms: time(plan.to.as_ref(), "to")?.unwrap_or(TimeMs::MAX),
        };
        let offset = dialect::offset(plan.offset.as_ref(), variables)?.cast_unsigned();
        let limit = dialect::limit(plan.limit.as_ref(), variables, settings)?.cast_unsigned();
        let page = match &plan.last {
            None => Page::First { offset, limit },
            Some(last) => {
                let last = dialect::limit_of("last", Some(last), variables, settings)?.cast_unsigned();
                let is_limited = plan.limit.as_ref().is_some_and(|limit| limit.value != Value::Null);
                Page::Last { offset, limit: if is_limited { last.min(limit) } else { last } }
            }
        };
        Ok(Self { range, page })
    }
}

impl Execution<'_> {
    /// Writes entities by their ids; how many. Those that have no rows any more, and no aggregates of such, are not there.
    fn entities(&mut self, filter: &BoundFilter, offset: u64, limit: u64) -> Result<u64, Stop> {
        let (mut found, mut written) = (0, 0);
        let candidates = self.candidates(filter)?;
        let (mut left, together) = (&candidates[..], self.together());
        while written < limit && !left.is_empty() {
            let wanted = offset.saturating_add(limit) - found;
            let (some, rest) = left.split_at(together.min(left.len()).min(wanted.min(1 << 30) as usize));
            left = rest;
            let mut shown = self.with_rows(some)?;
            let skipped = offset.saturating_sub(found).min(shown.len() as u64);
            found += shown.len() as u64;
            shown.drain(..skipped as usize);
            let mut opened = self.open_lists(&shown)?;
            for (id, series, mut rows) in shown {
                if written > 0 {
                    self.out.push(b',');
                }
                self.entity(id, series, &mut rows, &mut opened)?;
                written += 1;
            }
        }
        Ok(written)
    }

    /// Of how many entities what is asked for is read at a time.
    fn together(&self) -> usize {
        let limit = |list: &BoundList| {
            let (Page::First { limit, .. } | Page::Last { limit, .. }) = list.page;
            limit
        };
        let most = self.lists.iter().map(limit).max().unwrap_or(1).max(1);
        self.read.series_at_a_time().min((ROWS_TOGETHER_MAX / most) as usize).max(1)
    }

    /// Those of some entities that have rows, or aggregates of rows that they had.
    fn with_rows<'c>(&mut self, some: &'c [(String, SeriesId)]) -> Result<Vec<ShownEntity<'c>>, Stop> {
        let series: Vec<SeriesId> = some.iter().map(|(_, series)| *series).collect();
        let mut shown = Vec::with_capacity(some.len());
        let opened = self.read.series_of_type(&series, TimeRange::ALL, &[]);
        for ((id, series), mut rows) in some.iter().zip(opened) {
            self.pace.step(OPENING_STEPS + rows.block_count() as u64)?;
            if rows.last_time()?.is_some() || rows.aggregated(None)?.is_some() {
                shown.push((&**id, *series, rows));
            }
        }
        Ok(shown)
    }

    /// For each output the rows of its list, of one entity after the other; none where it has no list.
    fn open_lists(&mut self, shown: &[ShownEntity<'_>]) -> Result<Vec<OpenedLists>, Stop> {
        let series: Vec<SeriesId> = shown.iter().map(|(_, series, _)| *series).collect();
        if series.is_empty() {
            return Ok(Vec::new());
        }
        let plan = self.plan;
        let mut opened = Vec::with_capacity(plan.outputs.len());
        for Selected { kind, .. } in &plan.outputs {
            let Some((list, attributes)) = kind.list() else {
                opened.push(OpenedLists::new());
                continue;
            };
            let BoundList { range, page } = self.lists[list.0];
            self.pace.step(OPENING_STEPS * series.len() as u64)?;
            opened.push(if let EntityOutput::Summaries(_) = kind {
                let rows = self.read.series_of_type(&series, range, &attributes);
                rows.into_iter().map(|rows| (rows, 0..u64::MAX)).collect()
            } else {
                self.read.page_of_each(&series, range, &attributes, page)?.into()
            });
        }
        Ok(opened)
    }

    fn candidates(&mut self, filter: &BoundFilter) -> Result<Vec<(String, SeriesId)>, Stop> {
        let table = self.plan.of.table;
        let ids = filter.ids();
        let count = match &ids {
            Some(ids) => ids.len(),
            None => self.read.with_catalog(|catalog| catalog.table(table).series.len()),
        };
        self.pace.step(count as u64)?;
        Ok(series_of(self.read, table, ids.as_deref(), &|of| filter.passes(&of.entity, &of.path)))
    }

    fn entity(
        &mut self,
        id: &str,
        series: SeriesId,
        rows: &mut SeriesRows,
        opened: &mut [OpenedLists],
    ) -> Result<(), Stop> {
        let plan = self.plan;
        for (Selected { prefix, kind }, opened) in plan.outputs.iter().zip(opened) {
            let mut list = || opened.pop_front().expect("each entity has its part of each list");
            self.out.extend_from_slice(prefix);
            match kind {
                EntityOutput::Typename(name) => write_string(&mut self.out, name),
                EntityOutput::Id => write_string(&mut self.out, id),
                EntityOutput::Type => write_string(&mut self.out, &plan.of.name),
                EntityOutput::ServicePath => {
                    let path = self.path(series);
                    write_string(&mut self.out, &path);
                }
                EntityOutput::FirstTime => self.time(rows.first_time()?),
                EntityOutput::LastTime => self.time(rows.last_time()?),
                EntityOutput::Rows { attributes, outputs, .. } => {
                    let has_path = outputs.iter().any(|of| matches!(of.kind, RowOutput::ServicePath));
                    let path = if has_path { self.path(series) } else { Box::default() };
                    self.rows(list(), attributes, |out, rows, row| {
                        write_row(out, outputs, (id, &path), rows, row);
                    })?;
                }
                EntityOutput::Points { attribute, kind, attributes, outputs, .. } => {
                    self.rows(list(), attributes, |out, rows, row| {
                        write_point(out, outputs, (*attribute, *kind), rows, row);
                    })?;
                }
                EntityOutput::Summaries(plan) => self.summaries(list().0, plan)?,
            }
        }
        end_object(&mut self.out, plan.outputs.is_empty());
        Ok(self.meter.check(self.out.len())?)
    }

    fn path(&self, series: SeriesId) -> Box<str> {
        self.read.with_catalog(|catalog| catalog.series(series).path.clone())
    }

    fn time(&mut self, time: Option<TimeMs>) {
        match time {
            Some(time) => write_time(&mut self.out, time),
            None => self.out.extend_from_slice(b"null"),
        }
    }

    /// Writes a list of rows.
    fn rows(
        &mut self,
        (mut rows, chosen): (SeriesRows, Range<u64>),
        attributes: &[AttributeId],
        write: impl Fn(&mut Vec<u8>, &Rows, usize),
    ) -> Result<(), Stop> {
        self.pace.step(rows.block_count() as u64)?;
        let Self { pace, meter, out, .. } = self;
        out.push(b'[');
        let (mut is_first, mut stopped) = (true, None);
        rows.visit(chosen, attributes, |part, range| {
            let mut write_part = || -> Result<(), Stop> {
                pace.step(BLOCK_STEPS + range.len() as u64)?;
                for row in range.clone() {
                    if !std::mem::replace(&mut is_first, false) {
                        out.push(b',');
                    }
                    write(out, part, row);
                    meter.check(out.len())?;
                }
                Ok(())
            };
            stopped = write_part().err();
            stopped.is_none()
        })?;
        if let Some(stop) = stopped {
            return Err(stop);
        }
        out.push(b']');
        Ok(())
    }

    fn summaries(&mut self, mut rows: SeriesRows, plan: &SummariesPlan) -> Result<(), Stop> {
        let BoundList { range, page } = self.lists[plan.list.0];
        self.pace.step(rows.block_count() as u64)?;
        if plan.period.is_some() {
            // Blocks that lie in several periods are read; those in one are not.
            self.pace.step(BLOCK_STEPS * rows.block_count() as u64)?;
        }
        self.out.push(b'[');
        if plan.methods.iter().all(|method| method.is_summary()) {
            let summaries = self.chosen_summaries(&mut rows, plan, page)?;
            for (place, (time, summary)) in summaries.iter().enumerate() {
                self.summary(plan, place, *time, |method| {
                    summary_value(plan.kind, plan.methods[method], summary)
                })?;
            }
        } else {
            for (place, period) in self.chosen_periods(rows, plan, range, page)?.iter().enumerate() {
                self.summary(plan, place, period.time, |method| period.values[method])?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes what was made of a period, of which a moment is in it.
    fn summary(
        &mut self,
        plan: &SummariesPlan,
        place: usize,
        time: TimeMs,
        value: impl Fn(usize) -> DataValue<'static>,
    ) -> Result<(), Stop> {
        if place > 0 {
            self.out.push(b',');
        }
        let begin = plan.period.map_or(time, |period| period.around(time).0);
        write_summary_object(&mut self.out, plan, begin, value);
        Ok(self.meter.check(self.out.len())?)
    }

    /// Those of a page, made by reading all values.
    fn chosen_periods(
        &mut self,
        mut rows: SeriesRows,
        plan: &SummariesPlan,
        range: TimeRange,
        page: Page,
    ) -> Result<Vec<MeasuredPeriod>, Stop> {
        let (is_last, kept_max) = kept_of(page)?;
        let measurement = Measurement {
            attribute: plan.attribute,
            kind: plan.kind,
            methods: &plan.methods,
            period: plan.period,
            until: (range.to_ms != TimeMs::MAX).then_some(range.to_ms),
            has_empty: false,
            periods_max: if is_last { MEASURED_PERIODS_MAX + 1 } else { kept_max as usize },
        };
        let mut step = |count: usize| self.pace.step(BLOCK_STEPS + count as u64);
        let mut periods = measure(&mut OrderedRows::Stored(&mut rows, 0..u64::MAX), &measurement, &mut step)?;
        if is_last && periods.len() > MEASURED_PERIODS_MAX {
            let message = format!(
                "more than {MEASURED_PERIODS_MAX} periods are there, of which `last` are asked for: ask for another range"
            );
            return Err(GraphqlError::new(ErrorCode::LimitExceeded, message).into());
        }
        let chosen = paged(periods.len(), Some(page));
        periods.truncate(chosen.end);
        periods.drain(..chosen.start);
        Ok(periods)
    }

    /// Those of a page, each with a moment in its period.
    fn chosen_summaries(
        &mut self,
        rows: &mut SeriesRows,
        plan: &SummariesPlan,
        page: Page,
    ) -> Result<VecDeque<(TimeMs, Summary)>, Stop> {
        let (Page::First { offset, .. } | Page::Last { offset, .. }) = page;
        let (is_last, kept_max) = kept_of(page)?;
        let (mut found, mut kept, mut stopped) = (0, VecDeque::new(), None);
        rows.summarize(plan.attribute, plan.period.into(), |time, summary| {
            if summary.count == 0 {
                return true;
            }
            if let Err(stop) = self.pace.step(1) {
                stopped = Some(stop);
                return false;
            }
            found += 1;
            if is_last || found > offset && found <= kept_max {
                kept.push_back((time, *summary));
            }
            if is_last && kept.len() as u64 > kept_max {
                kept.pop_front();
            }
            is_last || found < kept_max
        })?;
        if let Some(stop) = stopped {
            return Err(stop);
        }
        if is_last {
            kept.truncate(kept.len().saturating_sub(offset as usize));
        }
        Ok(kept)
    }
}

/// Whether the last summaries are asked for, and how many are kept until those of the page are known.
fn kept_of(page: Page) -> Result<(bool, u64), Stop> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = page;
    let is_last = matches!(page, Page::Last { .. });
    let kept_max = offset.saturating_add(limit);
    if is_last && kept_max > KEPT_SUMMARIES_MAX {
        let message = format!("an `offset` of {offset} is too deep with `last`: ask for another range");
        return Err(GraphqlError::new(ErrorCode::LimitExceeded, message).into());
    }
    Ok((is_last, kept_max))
}

/// A row of an entity, which is its id and its service path.
pub(super) fn write_row(
    out: &mut Vec<u8>,
    outputs: &[Selected<RowOutput>],
    (id, path): (&str, &str),
    rows: &Rows,
    row: usize,
) {
    for Selected { prefix, kind } in outputs {
        out.extend_from_slice(prefix);
        match kind {
            RowOutput::Typename(name) => write_string(out, name),
            RowOutput::Id => write_string(out, id),
            RowOutput::ServicePath => write_string(out, path),
            RowOutput::Time => write_time(out, rows.times[row]),
            RowOutput::Attribute(attribute, kind) => write_value(out, *kind, rows.get(row, *attribute)),
        }
    }
    end_object(out, outputs.is_empty());
}

fn write_point(
    out: &mut Vec<u8>,
    outputs: &[Selected<PointOutput>],
    (attribute, kind): (AttributeId, Kind),
    rows: &Rows,
    row: usize,
) {
    for Selected { prefix, kind: output } in outputs {
        out.extend_from_slice(prefix);
        match output {
            PointOutput::Typename(name) => write_string(out, name),
            PointOutput::Time => write_time(out, rows.times[row]),
            PointOutput::Value => write_value(out, kind, rows.get(row, attribute)),
            PointOutput::Metadata(of) | PointOutput::TimeAttribute(of) => {
                let is_text = matches!(output, PointOutput::TimeAttribute(_));
                let kind = if is_text { Kind::Text } else { Kind::Structured };
                let value = of.map_or(DataValue::Null, |of| hidden::shown(rows.get(row, of)));
                write_value(out, kind, value);
            }
        }
    }
    end_object(out, outputs.is_empty());
}

fn write_summary_object(
    out: &mut Vec<u8>,
    plan: &SummariesPlan,
    begin: TimeMs,
    value: impl Fn(usize) -> DataValue<'static>,
) {
    for Selected { prefix, kind: output } in &plan.outputs {
        out.extend_from_slice(prefix);
        match output {
            SummaryOutput::Typename(name) => write_string(out, name),
            SummaryOutput::From => write_time(out, begin),
            SummaryOutput::Of(method) => {
                write_value(out, summary_kind(plan.kind, plan.methods[*method]), value(*method));
            }
        }
    }
    end_object(out, plan.outputs.is_empty());
}
