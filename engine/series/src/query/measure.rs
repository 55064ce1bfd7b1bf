//! What is made of the values of periods by reading them all, in one pass and in bounded memory.

use std::ops::Range;

use prony_series_store::{AttributeId, Kind, ReadError, Rows, Summary, TimeMs, Value, calendar::Period};

use super::{
    entity::OrderedRows,
    parameters::Method,
    percentile::{Percentile, SORTED_MAX},
    spread::Spread,
    value::summary_value,
};

/// What is to be made of which values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement<'m> {
    pub(crate) attribute: AttributeId,
    pub(crate) kind: Kind,
    pub(crate) methods: &'m [Method],
    /// All rows are one where there is none.
    pub(crate) period: Option<Period>,
    /// The last moment that is asked about, where one is: until then the last value holds.
    pub(crate) until: Option<TimeMs>,
    /// Whether periods count whose rows have no value.
    pub(crate) has_empty: bool,
    /// Later periods are not looked at.
    pub(crate) periods_max: usize,
}

/// A period that has rows.
#[derive(Debug)]
pub(crate) struct MeasuredPeriod {
    /// Of its first row.
    pub(crate) time: TimeMs,
    /// Values that are not null.
    pub(crate) count: u64,
    /// By the methods.
    pub(crate) values: Vec<Value<'static>>,
}

/// The period that is read.
struct OpenPeriod {
    time: TimeMs,
    begin: TimeMs,
    /// The first moment behind it.
    end: TimeMs,
    first_row: u64,
    summary: Summary,
    spread: Spread,
    first: Value<'static>,
    last: Value<'static>,
    /// In the order in which they came, where percentiles are made of them; none once they are too many.
    sorted_later: Option<Vec<f64>>,
    /// Values by the time for which they held, and this time.
    weighted_sum: f64,
    weight_ms: f64,
}

/// What is read row by row.
struct Pass<'m> {
    of: &'m Measurement<'m>,
    open: Option<OpenPeriod>,
    /// The value that holds, and since when; nothing of it is weighed from there on.
    held: Option<(TimeMs, f64)>,
    row: u64,
    measured: Vec<MeasuredPeriod>,
    /// Measured periods with too many values to sort them, and their rows.
    counted_later: Vec<(usize, Range<u64>)>,
}

/// Measures the rows of an entity, by period. `step` is told of rows before they are looked at.
pub(crate) fn measure<E: From<ReadError>>(
    rows: &mut OrderedRows<'_>,
    of: &Measurement<'_>,
    step: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Vec<MeasuredPeriod>, E> {
    let (mut pass, mut stopped) = (Pass::new(of), None);
    rows.visit(0..u64::MAX, &[of.attribute], |part, range| {
        stopped = step(range.len()).err();
        stopped.is_none() && range.into_iter().all(|row| pass.row(part, row))
    })?;
    if let Some(stop) = stopped {
        return Err(stop);
    }
    pass.end_period();
    let Pass { mut measured, counted_later, .. } = pass;
    measured.truncate(of.periods_max);
    for (place, range) in counted_later {
        let Some(period) = measured.get_mut(place) else { continue };
        for (method, value) in of.methods.iter().zip(&mut period.values) {
            if let Method::Percentile(percentile) = method {
                *value = Value::Double(counted(rows, of, *percentile, (period.count, &range), step)?);
            }
        }
    }
    Ok(measured)
}

/// A percentile of more values than are sorted.
fn counted<E: From<ReadError>>(
    rows: &mut OrderedRows<'_>,
    of: &Measurement<'_>,
    percentile: Percentile,
    (count, range): (u64, &Range<u64>),
    step: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<f64, E> {
    percentile.of_many(count, &mut |take| {
        let mut stopped = None;
        rows.visit(range.clone(), &[of.attribute], |part, places| {
            stopped = step(places.len()).err();
            if stopped.is_none() {
                places.filter_map(|row| part.get(row, of.attribute).number()).for_each(&mut *take);
            }
            stopped.is_none()
        })?;
        stopped.map_or(Ok(()), Err)
    })
}

impl<'m> Pass<'m> {
    const fn new(of: &'m Measurement<'m>) -> Self {
        Self { of, open: None, held: None, row: 0, measured: Vec::new(), counted_later: Vec::new() }
    }

    /// False where no more periods are looked at.
    fn row(&mut self, part: &Rows, row: usize) -> bool {
        let time = part.times[row];
        if self.open.as_ref().is_none_or(|open| time >= open.end) {
            self.end_period();
            if self.measured.len() >= self.of.periods_max {
                return false;
            }
            self.begin_period(time);
        }
        self.row += 1;
        // Texts and the like have no number.
        let value = match part.get(row, self.of.attribute) {
            Value::Double(value) => Value::Double(value),
            Value::Integer(value) => Value::Integer(value),
            _ => return true,
        };
        if let (Some(open), Some(number)) = (&mut self.open, value.number()) {
            open.hold(self.held, time);
            self.held = Some((time, number));
            open.add(value, number);
        }
        true
    }

    fn begin_period(&mut self, time: TimeMs) {
        let (begin, end) = self.of.period.map_or((TimeMs::MIN, TimeMs::MAX), |period| period.around(time));
        if let Some((since, _)) = &mut self.held {
            *since = begin.max(*since);
        }
        let has_percentiles = self.of.methods.iter().any(|method| matches!(method, Method::Percentile(_)));
        self.open = Some(OpenPeriod {
            time,
            begin,
            end,
            first_row: self.row,
            summary: Summary::default(),
            spread: Spread::default(),
            first: Value::Null,
            last: Value::Null,
            sorted_later: has_percentiles.then(Vec::new),
            weighted_sum: 0.0,
            weight_ms: 0.0,
        });
    }

    fn end_period(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let count = open.summary.count;
        if count == 0 && !self.of.has_empty {
            return;
        }
        let until = match (self.of.until, self.of.period) {
            (Some(until), _) => Some(until.min(open.end)),
            (None, Some(_)) => Some(open.end),
            // The last value ends it, and nothing of it is weighed.
            (None, None) => None,
        };
        if let Some(until) = until {
            open.hold(self.held, until);
        }
        let mut sorted = open.sorted_later.take();
        if let Some(values) = &mut sorted {
            values.sort_unstable_by(f64::total_cmp);
        } else if count > 0 && self.of.methods.iter().any(|of| matches!(of, Method::Percentile(_))) {
            self.counted_later.push((self.measured.len(), open.first_row..self.row));
        }
        let held = self.held.map(|(_, number)| number);
        let values = self.of.methods.iter().map(|method| match method {
            Method::First => open.first,
            Method::Last => open.last,
            Method::StdDev => open.spread.of_sample().map_or(Value::Null, Value::Double),
            Method::Percentile(percentile) => match &sorted {
                Some(sorted) if !sorted.is_empty() => Value::Double(percentile.of_sorted(sorted)),
                _ => Value::Null,
            },
            Method::TimeWeightedAvg if open.weight_ms > 0.0 => {
                Value::Double(open.weighted_sum / open.weight_ms)
            }
            Method::TimeWeightedAvg => held.map_or(Value::Null, Value::Double),
            _ => summary_value(self.of.kind, *method, &open.summary),
        });
        let values = values.collect();
        self.measured.push(MeasuredPeriod { time: open.time, count, values });
    }
}

impl OpenPeriod {
    /// Weighs the value that has held until now.
    fn hold(&mut self, held: Option<(TimeMs, f64)>, until: TimeMs) {
        let Some((since, number)) = held else { return };
        let held_ms = until.saturating_sub(since.max(self.begin));
        if held_ms > 0 {
            self.weighted_sum += number * held_ms as f64;
            self.weight_ms += held_ms as f64;
        }
    }

    fn add(&mut self, value: Value<'static>, number: f64) {
        if self.summary.count == 0 {
            self.first = value;
        }
        self.last = value;
        self.summary.add_all(&Summary::of_value(value));
        self.spread.add(number);
        if let Some(values) = &mut self.sorted_later {
            values.push(number);
            if values.len() > SORTED_MAX {
                self.sorted_later = None;
            }
        }
    }
}
