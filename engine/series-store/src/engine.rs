//! The seam between those who ask for series and what keeps them. An engine makes writes durable ([`Engine`]) and reads as it was at one
//! moment ([`Snapshot`]) the rows of series ([`RowSource`]); what has type parameters, for the comfort of those who call, is made of these.

use crate::calendar::Periods;
use crate::catalog::Catalog;
use crate::error::{ReadError, Refusal, Unwritten, WriteError};
use crate::ids::{AttributeId, SeriesId, TimeMs, TimeRange};
use crate::listen::Listener;
use crate::page::Page;
use crate::rows::Rows;
use crate::summary::Summary;
use crate::write::{Operation, Write};
use prony_log::error::LogError;
use prony_log::register::Registration;
use prony_log::ticket::{Settled, Ticket};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

/// What an engine can do, and how it is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a thing that an engine can do or not")]
pub struct Capabilities {
    /// All of a write is done at once, or nothing.
    pub transactions: bool,
    /// A row can take the place of one with the same key in one statement.
    pub upsert: bool,
    /// Tables have parts by time.
    pub partitions: bool,
    /// It finds rows by their places itself.
    pub geometry: bool,
    /// Of one statement.
    pub parameters_max: usize,
    /// Reads wait for another process: they are made by threads that may wait, and no more than these at a time.
    pub waiting_reads: Option<usize>,
}

/// A figure that tells how an engine fares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// As a metric.
    pub name: &'static str,
    pub help: &'static str,
    pub value: u64,
}

/// How an engine fares.
#[derive(Debug, Clone, Default)]
pub struct EngineHealth {
    /// Why the last write could not be made durable, and when; none once one has been again.
    pub write_failure: Option<(LogError, SystemTime)>,
    /// Why what is done beside writes, such as segments or partitions, failed the last time, and when.
    pub upkeep_failure: Option<(Arc<str>, SystemTime)>,
}

/// What keeps series.
pub trait Engine: fmt::Debug + Send + Sync + 'static {
    /// In one word, for people.
    fn product(&self) -> &'static str;

    fn capabilities(&self) -> Capabilities;

    /// Calls `with` with all names that are known, without waiting for others than writers.
    fn names(&self, with: &mut dyn FnMut(&Catalog));

    /// Rows and names as they are now.
    fn snapshot(&self) -> Result<Read, ReadError>;

    /// Makes a write. It is settled, and seen, when those who [watch](Self::watch) are told of it or of a later one. Never blocks.
    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten>;

    /// As [`Self::submit`]; blocks until it is durable and seen.
    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError>;

    /// Ready where a write need not wait; else the task is woken when that may be so.
    fn poll_room(&self, context: &Context<'_>) -> Poll<()>;

    /// Calls `watcher` once for each batch of writes that became durable or was taken back, in order, from a thread that all writes wait
    /// for.
    fn watch(&self, watcher: Arc<dyn Fn(&Settled) + Send + Sync>) -> Registration;

    /// Calls `listener` with what is written from now on, in order, once it is durable and seen, and before those go on who wait for it;
    /// never with what was taken back. It is called from a thread that all writes wait for.
    fn listen(&self, listener: Arc<Listener>) -> Registration;

    fn health(&self) -> EngineHealth;

    /// What is measured of it, `prony_series_rows` (about how many there are) among it.
    fn figures(&self) -> Vec<Figure>;

    /// How safe a write is that is acknowledged, for people.
    fn durability_text(&self) -> String;

    /// Where its files are, where it has any here.
    fn directory(&self) -> Option<&Path>;
}

/// An engine at one moment.
pub trait Snapshot: fmt::Debug + Send + Sync {
    /// Calls `with` with all names, to which others may have come since. Writers may wait meanwhile.
    fn names(&self, with: &mut dyn FnMut(&Catalog));

    /// The rows of some series of one type, each with a reader of its own: in a range of time, and for values of these attributes.
    fn series(&self, series: &[SeriesId], range: TimeRange, attributes: &[AttributeId]) -> Vec<SeriesRows>;

    /// Of all rows of some series of one type those of a page; rows of the same time are in the order of the series.
    fn page(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
        counts: bool,
    ) -> Result<PagedRows, ReadError>;

    /// Of how many series it is best to be asked at a time: of several where each question goes to another process.
    fn series_at_a_time(&self) -> usize {
        1
    }

    /// Of the rows of each of some series of one type those of a page. Whoever asks for many rows asks about few series: all may be read at
    /// once.
    fn page_of_each(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
    ) -> Result<Vec<(SeriesRows, Range<u64>)>, ReadError> {
        let mut pages = Vec::with_capacity(series.len());
        for id in series {
            pages.extend(self.page(&[*id], range, attributes, page, false)?.series);
        }
        Ok(pages)
    }
}

/// The rows of a page.
#[derive(Debug)]
pub struct PagedRows {
    /// For each series its rows, and which of them are in the page.
    pub series: Vec<(SeriesRows, Range<u64>)>,
    /// Rows of all pages, where they are to be counted; else it means nothing.
    pub total: u64,
}

/// The rows of one series in a range of time, in the order of their times; rows of the same time are in the order of their writes.
pub trait RowSource: fmt::Debug + Send {
    /// How many blocks there are to be read, for who wants to know whether that takes long.
    fn block_count(&self) -> usize;

    /// No row is before or after; none where there is no row. There may be none where this says that there is.
    fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError>;

    /// The time of the first row; none where there is no row.
    fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError>;

    /// The time of the last row; none where there is no row.
    fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError>;

    /// How many rows there are.
    fn count(&mut self) -> Result<u64, ReadError>;

    /// How many rows are before a moment.
    fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError>;

    /// Calls `take` with rows from one place to another in this order, part by part: columns with these attributes, and which rows of
    /// them. Stops where it says so.
    fn visit(
        &mut self,
        rows: Range<u64>,
        attributes: &[AttributeId],
        take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError>;

    /// Summaries of an attribute by periods, in the order of time, each with a moment that is in its period. Periods without rows are left
    /// out. Stops where `take` says so. Rows that retention has removed count where there is an aggregate of them, all of which were in the
    /// range and in one of the periods.
    fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError>;

    /// Between which times the rows were that retention has removed and of which there are aggregates; of rows with an attribute, where one is
    /// named. None where there are no aggregates.
    fn aggregated(&mut self, _attribute: Option<AttributeId>) -> Result<Option<TimeRange>, ReadError> {
        Ok(None)
    }

    /// From here on only rows count that are there.
    fn leave_out_aggregates(&mut self) {}
}

/// An engine at one moment. Later writes are not seen; names that came later may be.
#[derive(Debug)]
pub struct Read(Box<dyn Snapshot>);

/// The rows of one series in a range of time, in the order of their times.
#[derive(Debug)]
pub struct SeriesRows(Box<dyn RowSource>);

/// Calls something once that has a result, where only what has none may be called any number of times.
fn once<A: ?Sized, T>(call: impl FnOnce(&A) -> T, calls: impl FnOnce(&mut dyn FnMut(&A))) -> T {
    let (mut call, mut result) = (Some(call), None);
    calls(&mut |argument| {
        if let Some(call) = call.take() {
            result = Some(call(argument));
        }
    });
    result.expect("an engine calls what it is given")
}

/// As [`once`], of what is done to series.
pub(crate) fn submit_once<T, W, E>(
    operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    submit: impl FnOnce(&mut Operation<'_>) -> Result<W, E>,
) -> Result<(T, W), E> {
    let (mut operate, mut result) = (Some(operate), None);
    let submitted = submit(&mut |write| {
        if let Some(operate) = operate.take() {
            result = Some(operate(write)?);
        }
        Ok(())
    })?;
    Ok((result.expect("an engine makes a write that it accepts"), submitted))
}

impl dyn Engine {
    /// Rows and names as they are now. Blocks where the engine's reads wait.
    ///
    /// # Errors
    /// The engine cannot be asked.
    pub fn read(&self) -> Result<Read, ReadError> {
        self.snapshot()
    }

    /// All names that are known, without waiting for others than writers.
    pub fn with_catalog<T>(&self, with: impl FnOnce(&Catalog) -> T) -> T {
        once(with, |with| self.names(with))
    }

    /// Makes a write, all or none; never waits.
    pub fn try_write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Unwritten> {
        submit_once(operate, |operation| self.submit(operation))
    }

    /// Makes a write, all or none; blocks until it is durable and seen.
    pub fn write_and_wait<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, WriteError> {
        submit_once(operate, |operation| self.submit_and_wait(operation)).map(|(result, ())| result)
    }

    /// Ready once a write need not wait. Others may take the room first: try again, and wait again.
    pub fn room(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|context| self.poll_room(context))
    }

    /// Whether reads are to be made by threads that may wait.
    pub fn waits(&self) -> bool {
        self.capabilities().waiting_reads.is_some()
    }
}

impl Read {
    pub fn new(snapshot: impl Snapshot + 'static) -> Self {
        Self(Box::new(snapshot))
    }

    /// Names as they are now. Writers may wait meanwhile.
    pub fn with_catalog<T>(&self, with: impl FnOnce(&Catalog) -> T) -> T {
        once(with, |with| self.0.names(with))
    }

    /// The rows of a series.
    pub fn series(&self, series: SeriesId, range: TimeRange, attributes: &[AttributeId]) -> SeriesRows {
        let rows = self.0.series(&[series], range, attributes).pop();
        rows.expect("an engine has a reader for each series")
    }

    /// As [`Self::series`], of several series of one type.
    pub fn series_of_type(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
    ) -> Vec<SeriesRows> {
        self.0.series(series, range, attributes)
    }

    /// Of all rows of some series of one type those of a page; `counts` says whether those of all pages are to be counted.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn page(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
        counts: bool,
    ) -> Result<PagedRows, ReadError> {
        self.0.page(series, range, attributes, page, counts)
    }

    /// As [`Snapshot::series_at_a_time`].
    pub fn series_at_a_time(&self) -> usize {
        self.0.series_at_a_time()
    }

    /// As [`Snapshot::page_of_each`].
    ///
    /// # Errors
    /// They cannot be read.
    pub fn page_of_each(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
    ) -> Result<Vec<(SeriesRows, Range<u64>)>, ReadError> {
        self.0.page_of_each(series, range, attributes, page)
    }
}

impl SeriesRows {
    pub fn new(rows: impl RowSource + 'static) -> Self {
        Self(Box::new(rows))
    }

    pub fn block_count(&self) -> usize {
        self.0.block_count()
    }

    pub fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError> {
        self.0.bounds()
    }

    pub fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        self.0.first_time()
    }

    pub fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        self.0.last_time()
    }

    pub fn count(&mut self) -> Result<u64, ReadError> {
        self.0.count()
    }

    pub fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError> {
        self.0.count_before(time_ms)
    }

    /// As [`RowSource::visit`].
    pub fn visit(
        &mut self,
        rows: Range<u64>,
        attributes: &[AttributeId],
        mut take: impl FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        self.0.visit(rows, attributes, &mut take)
    }

    /// As [`RowSource::summarize`].
    pub fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        mut take: impl FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError> {
        self.0.summarize(attribute, periods, &mut take)
    }

    /// As [`RowSource::aggregated`].
    pub fn aggregated(&mut self, attribute: Option<AttributeId>) -> Result<Option<TimeRange>, ReadError> {
        self.0.aggregated(attribute)
    }

    /// As [`RowSource::leave_out_aggregates`].
    pub fn leave_out_aggregates(&mut self) {
        self.0.leave_out_aggregates();
    }
}
