//! What is made of the values of entities, by period: from summaries where these say it, else by reading the values.

use std::{collections::BTreeMap, ops::Range};

use prony_series_store::{Page, ReadError, Summary, TimeMs, Value};

use super::{
    entity::{Aggregated, AskedAttribute, Chosen, EntityResult, TypeResult, each_of},
    fault::Fault,
    fill::Filling,
    measure::{Measurement, measure},
    page::paged,
    parameters::{Aggregation, Parameters},
    value::{can_aggregate, summary_kind, summary_value},
};

/// Periods of all entities.
const PERIODS_MAX: usize = 5_000_000;
/// Rows of an entity that are put in order in memory.
const ORDERED_ROWS_MAX: u64 = 5_000_000;

/// Aggregates the chosen rows of all entities of a type.
pub(super) fn aggregate(
    result: &mut TypeResult,
    aggregation: Aggregation,
    parameters: &Parameters,
) -> Result<(), Fault> {
    let Aggregation { method, period, .. } = aggregation;
    if result.attributes.iter().any(|of| !can_aggregate(of.kind, method)) {
        return Err(Fault::Described {
            status: http::StatusCode::NOT_FOUND,
            error: "AggrMethod cannot be applied",
            description: "AggrMethod cannot be applied on type TEXT and BOOLEAN.".into(),
        });
    }
    let kinds = result.attributes.iter().map(|of| summary_kind(of.kind, method)).collect();
    let mut filling = Filling::new(aggregation, kinds, parameters.dates)?;
    let mut periods_left = PERIODS_MAX;
    let entities = entities_of_page(aggregation, parameters);
    let mut count = 0;
    for entity in &mut result.entities {
        if count == entities.end && !parameters.counts {
            break;
        }
        let mut aggregated = if method.is_summary() {
            summarize(entity, &result.attributes, aggregation)?
        } else {
            measured(entity, &result.attributes, aggregation, parameters.dates[1], periods_left)?
        };
        if let Some(filling) = &mut filling {
            filling.apply(&mut aggregated)?;
        }
        periods_left = periods_left
            .checked_sub(aggregated.index.len())
            .ok_or_else(|| Fault::too_many("periods", PERIODS_MAX as u64))?;
        count += u64::from(!aggregated.index.is_empty());
        entity.aggregated = Some(aggregated).filter(|_| count > entities.start && count <= entities.end);
    }
    result.total = (PERIODS_MAX - periods_left) as u64;
    if period.is_some() {
        choose_periods(&mut result.entities, parameters);
    }
    result.entities.retain(|entity| entity.aggregated.as_ref().is_some_and(|of| !of.index.is_empty()));
    Ok(())
}

/// Which of the entities that have values are in a page. Without periods each is one row of the result, which has no time, so that the first
/// are taken, by their ids, also where the last rows are asked for.
fn entities_of_page(aggregation: Aggregation, parameters: &Parameters) -> Range<u64> {
    if aggregation.period.is_some() || parameters.is_page_of_each {
        return 0..u64::MAX;
    }
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = parameters.page;
    offset..offset.saturating_add(limit)
}

/// Leaves the periods of a page: of all entities, or of each.
fn choose_periods(entities: &mut [EntityResult], parameters: &Parameters) {
    let page = Some(parameters.page);
    if parameters.is_page_of_each {
        for aggregated in entities.iter_mut().filter_map(|of| of.aggregated.as_mut()) {
            let chosen = paged(aggregated.index.len(), page);
            aggregated.keep(chosen);
        }
    } else {
        let mut periods: Vec<(TimeMs, usize, usize)> = Vec::new();
        for (place, aggregated) in entities.iter().map(|of| &of.aggregated).enumerate() {
            let index = aggregated.iter().flat_map(|of| &of.index).enumerate();
            periods.extend(index.map(|(at, time)| (*time, place, at)));
        }
        periods.sort_unstable();
        // Of each entity they are in the order of time: those that are chosen follow one another.
        let mut kept: Vec<Option<(usize, usize)>> = vec![None; entities.len()];
        for (_, place, at) in &periods[paged(periods.len(), page)] {
            let (first, _) = kept[*place].unwrap_or((*at, *at));
            kept[*place] = Some((first, at + 1));
        }
        for (entity, kept) in entities.iter_mut().zip(kept) {
            if let Some(aggregated) = &mut entity.aggregated {
                aggregated.keep(kept.map_or(0..0, |(from, to)| from..to));
            }
        }
    }
}

/// The first moment of the period that a moment is in.
fn begin_of(aggregation: Aggregation, time: TimeMs) -> TimeMs {
    aggregation.period.map_or(TimeMs::MIN, |period| period.around(time).0)
}

/// Of all rows of an entity that are chosen, by period, what summaries say.
fn summarize(
    entity: &mut EntityResult,
    attributes: &[AskedAttribute],
    aggregation: Aggregation,
) -> Result<Aggregated, ReadError> {
    let mut all: BTreeMap<TimeMs, Vec<Summary>> = BTreeMap::new();
    for (rows, chosen) in &mut entity.series {
        for (place, attribute) in attributes.iter().enumerate() {
            let mut add = |time: TimeMs, summary: &Summary| {
                let begin = begin_of(aggregation, time);
                let of = all.entry(begin).or_insert_with(|| vec![Summary::default(); attributes.len()]);
                of[place].add_all(summary);
                true
            };
            match chosen {
                Chosen::Range(_) => rows.summarize(attribute.id, aggregation.period.into(), add)?,
                Chosen::List(list) => each_of(rows, list, &[attribute.id], |part, row| {
                    let _ = add(part.times[row], &Summary::of_value(part.get(row, attribute.id)));
                })?,
            }
        }
    }
    let value =
        |(of, summary): (&AskedAttribute, &Summary)| summary_value(of.kind, aggregation.method, summary);
    let values = |summaries: Vec<Summary>| attributes.iter().zip(&summaries).map(value).collect();
    let (index, values) = all.into_iter().map(|(begin, summaries)| (begin, values(summaries))).unzip();
    Ok(Aggregated { index, values })
}

/// The same of what is made by reading all values.
fn measured(
    entity: &mut EntityResult,
    attributes: &[AskedAttribute],
    aggregation: Aggregation,
    until: Option<TimeMs>,
    periods_max: usize,
) -> Result<Aggregated, Fault> {
    if !entity.is_stored_in_order() && entity.row_count() > ORDERED_ROWS_MAX {
        return Err(Fault::too_many("rows", ORDERED_ROWS_MAX));
    }
    let wanted: Vec<_> = attributes.iter().map(|of| of.id).collect();
    let mut rows = entity.ordered(&wanted)?;
    let mut all: BTreeMap<TimeMs, Vec<Value<'static>>> = BTreeMap::new();
    for (place, attribute) in attributes.iter().enumerate() {
        let measurement = Measurement {
            attribute: attribute.id,
            kind: attribute.kind,
            methods: &[aggregation.method],
            period: aggregation.period,
            until,
            has_empty: true,
            periods_max: periods_max.saturating_add(1),
        };
        for period in measure(&mut rows, &measurement, &mut |_| Ok::<_, ReadError>(()))? {
            let begin = begin_of(aggregation, period.time);
            let of = all.entry(begin).or_insert_with(|| vec![Value::Null; attributes.len()]);
            of[place] = period.values[0];
        }
    }
    let (index, values) = all.into_iter().unzip();
    Ok(Aggregated { index, values })
}
