//! What is made of the instances of periods (ETSI GS CIM 009, clause 4.5.19).

use std::collections::{BTreeMap, HashSet};

use prony_series_store::{AttributeId, ReadError, Summary, TimeMs, TimeRange, Value, calendar};

use super::{
    duration::PeriodLength,
    instances::last_instances,
    method::AggregateMethod,
    parameters::TimeRelation,
    problem::{Problem, ProblemKind},
};
use crate::query::{
    entity::{AskedAttribute, EntityResult},
    spread::Spread,
};

/// Periods of a response, and different values that are counted in it.
const PERIODS_MAX: usize = 1_000_000;
const DISTINCT_VALUES_MAX: usize = 1_000_000;
const DISTINCT_BYTES_MAX: usize = 64 << 20;

/// What is known of the values of a period.
#[derive(Debug, Default)]
pub(super) struct PeriodValues {
    /// The first moment behind it.
    pub(super) end_ms: TimeMs,
    pub(super) summary: Summary,
    sum_of_squares: f64,
    spread: Spread,
    distinct: HashSet<Box<[u8]>>,
    /// The least and the greatest of texts.
    texts: Option<Box<(String, String)>>,
}

/// Periods of an attribute by their beginnings.
pub(super) type Periods = BTreeMap<TimeMs, PeriodValues>;

/// What a response may still have.
#[derive(Debug)]
pub(super) struct Room {
    periods: usize,
    distinct_values: usize,
    distinct_bytes: usize,
}

/// What a value is written as.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AggregateValue<'p> {
    Count(u64),
    Number(Option<f64>),
    /// A number of the attribute's own kind, with all its digits where it is whole.
    OfKind(f64, Option<i128>),
    Text(&'p str),
}

impl Default for Room {
    fn default() -> Self {
        Self {
            periods: PERIODS_MAX,
            distinct_values: DISTINCT_VALUES_MAX,
            distinct_bytes: DISTINCT_BYTES_MAX,
        }
    }
}

impl Room {
    fn takes_period(&mut self) -> bool {
        self.periods = self.periods.saturating_sub(1);
        self.periods > 0
    }

    fn takes_value(&mut self, bytes: usize) -> bool {
        self.distinct_values = self.distinct_values.saturating_sub(1);
        self.distinct_bytes = self.distinct_bytes.saturating_sub(bytes);
        self.distinct_values > 0 && self.distinct_bytes > 0
    }

    fn too_many() -> Problem {
        let detail = format!(
            "more than {PERIODS_MAX} periods or {DISTINCT_VALUES_MAX} different values; ask for less time, fewer entities or longer periods"
        );
        Problem::new(ProblemKind::TooManyResults, detail)
    }
}

impl PeriodValues {
    pub(super) fn value(&self, method: AggregateMethod) -> AggregateValue<'_> {
        let Summary { count, sum, min, max, exact } = self.summary;
        match (method, &self.texts) {
            (AggregateMethod::TotalCount, _) => AggregateValue::Count(count),
            (AggregateMethod::DistinctCount, _) => AggregateValue::Count(self.distinct.len() as u64),
            (AggregateMethod::Sum, _) => AggregateValue::OfKind(sum, exact.map(|exact| exact.sum)),
            (AggregateMethod::Avg, _) => {
                let sum = exact.map_or(sum, |exact| exact.sum as f64);
                AggregateValue::Number(Some(sum / count as f64))
            }
            (AggregateMethod::Min, Some(texts)) => AggregateValue::Text(&texts.0),
            (AggregateMethod::Max, Some(texts)) => AggregateValue::Text(&texts.1),
            (AggregateMethod::Min, None) => AggregateValue::OfKind(min, exact.map(|exact| exact.min.into())),
            (AggregateMethod::Max, None) => AggregateValue::OfKind(max, exact.map(|exact| exact.max.into())),
            (AggregateMethod::StdDev, _) => AggregateValue::Number(self.spread.of_sample()),
            (AggregateMethod::SumSq, _) => AggregateValue::Number(Some(self.sum_of_squares)),
        }
    }

    /// False where there is no room for it.
    fn add(&mut self, value: Value<'_>, methods: &[AggregateMethod], room: &mut Room) -> bool {
        if let Value::Text(text) = value {
            self.summary.count += 1;
            if methods.contains(&AggregateMethod::Min) || methods.contains(&AggregateMethod::Max) {
                self.add_text(text);
            }
        }
        let number = if let Value::Boolean(value) = value { Some(f64::from(value)) } else { value.number() };
        if let Some(number) = number {
            let of_value = Summary::of_value(value);
            // Booleans are 0 and 1 here.
            let is_number = matches!(value, Value::Integer(_) | Value::Double(_));
            self.summary.add_all(&if is_number { of_value } else { Summary::of_one(number) });
            self.sum_of_squares += number * number;
            self.spread.add(number);
        }
        if !methods.contains(&AggregateMethod::DistinctCount) {
            return true;
        }
        let bytes = match (value, number) {
            (Value::Text(text), _) => text.as_bytes().to_vec(),
            (Value::Integer(value), _) => value.to_le_bytes().to_vec(),
            // Both zeros are one.
            (_, Some(number)) => (number + 0.0).to_le_bytes().to_vec(),
            _ => return true,
        };
        let length = bytes.len();
        !self.distinct.insert(bytes.into()) || room.takes_value(length)
    }

    fn add_text(&mut self, text: &str) {
        match &mut self.texts {
            None => self.texts = Some(Box::new((text.to_owned(), text.to_owned()))),
            Some(texts) if *text < *texts.0 => text.clone_into(&mut texts.0),
            Some(texts) if *text > *texts.1 => text.clone_into(&mut texts.1),
            Some(_) => {}
        }
    }
}

/// The periods of an attribute that have instances. The first begins with the time that is asked for, or with the first instance.
pub(super) fn periods_of(
    entity: &mut EntityResult,
    of: &AskedAttribute,
    (methods, length): (&[AggregateMethod], PeriodLength),
    time: TimeRelation,
    room: &mut Room,
) -> Result<Periods, Problem> {
    let mut periods = Periods::new();
    let origin = match time {
        TimeRelation::After(from) | TimeRelation::Between(from, _) => Some(from),
        TimeRelation::Any | TimeRelation::Before(_) => {
            let (of_rows, of_removed) = (first_instance(entity, of.id)?, aggregated(entity, of.id)?);
            of_rows.into_iter().chain(of_removed.map(|of| first_period(of, length))).min()
        }
    };
    let Some(origin) = origin else { return Ok(periods) };
    let around = |time: TimeMs| length.around(origin, time);
    let mut has_room = true;
    let is_summary = methods.iter().all(|method| method.is_summary(of.kind));
    for (rows, _) in &mut entity.series {
        let mut period_of =
            |time: TimeMs, room: &mut Room, add: &mut dyn FnMut(&mut PeriodValues, &mut Room) -> bool| {
                let (begin, end) = around(time);
                let is_new = !periods.contains_key(&begin);
                let period = periods.entry(begin).or_default();
                period.end_ms = end;
                (!is_new || room.takes_period()) && add(period, room)
            };
        if is_summary {
            rows.summarize(of.id, calendar::Periods::EndsAt(&|time| around(time).1), |time, summary| {
                if summary.count > 0 {
                    has_room &= period_of(time, room, &mut |period, _| {
                        period.summary.add_all(summary);
                        true
                    });
                }
                has_room
            })?;
        } else {
            rows.visit(0..u64::MAX, &[of.id], |part, mut places| {
                places.all(|row| {
                    let value = part.get(row, of.id);
                    if value != Value::Null {
                        has_room &= period_of(part.times[row], room, &mut |period, room| {
                            period.add(value, methods, room)
                        });
                    }
                    has_room
                })
            })?;
        }
    }
    if !has_room {
        return Err(Room::too_many());
    }
    if length.is_zero()
        && let Some(mut whole) = periods.first_entry()
    {
        whole.get_mut().end_ms = match time {
            TimeRelation::Before(end) | TimeRelation::Between(_, end) => end,
            TimeRelation::Any | TimeRelation::After(_) => {
                let of_rows = last_instances(entity, of.id, 1)?.last().map(|(time, ..)| *time);
                let of_removed = aggregated(entity, of.id)?.map(|of| of.to_ms);
                of_rows.max(of_removed).unwrap_or(origin)
            }
        };
    }
    Ok(periods)
}

/// When the instances of an attribute were of which there are aggregates alone.
fn aggregated(entity: &mut EntityResult, attribute: AttributeId) -> Result<Option<TimeRange>, ReadError> {
    let mut all: Option<TimeRange> = None;
    for (rows, _) in &mut entity.series {
        let of = rows.aggregated(Some(attribute))?;
        all = all.into_iter().chain(of).reduce(|one, other| TimeRange {
            from_ms: one.from_ms.min(other.from_ms),
            to_ms: one.to_ms.max(other.to_ms),
        });
    }
    Ok(all)
}

/// Where the periods begin: with the calendar's, so that an aggregate of one of these lies in one period.
fn first_period(of: TimeRange, length: PeriodLength) -> TimeMs {
    if length.is_zero() { of.from_ms } else { calendar::Period::Year.around(of.from_ms).0 }
}

/// The time of the first instance of an attribute.
fn first_instance(entity: &mut EntityResult, attribute: AttributeId) -> Result<Option<TimeMs>, ReadError> {
    let mut first: Option<TimeMs> = None;
    for (rows, _) in &mut entity.series {
        rows.visit(0..u64::MAX, &[attribute], |part, mut places| {
            let found = places.find(|row| part.get(*row, attribute) != Value::Null);
            if let Some(row) = found {
                let time = part.times[row];
                first = Some(first.map_or(time, |known| known.min(time)));
            }
            found.is_none()
        })?;
    }
    Ok(first)
}
