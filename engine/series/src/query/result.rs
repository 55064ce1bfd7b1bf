//! Which rows a query asks for: types, entities, the rows of each, and what is made of them.

use std::ops::Range;

use prony_series_store::{
    AttributeId, Catalog, Kind, Page, Read, ReadError, Rows, Series, SeriesId, SeriesRows, Summary, TableId,
    TimeMs, Value, calendar::Period,
};

use super::{
    fault::Fault,
    parameters::{Aggregation, Parameters},
    value::can_aggregate,
};
use crate::{
    access::{filter::BoundFilter, role::RoleAccess},
    ngsi::geometry::GeoQuery,
};

/// Entities whose names are looked at in one go, while writers wait.
const SLICE_ENTITIES: usize = 4096;
/// Rows that a geographical query finds, of all entities.
const FOUND_ROWS_MAX: usize = 5_000_000;
/// Where geographical queries look.
const LOCATION: &str = "location";
/// Periods of all entities.
const PERIODS_MAX: usize = 5_000_000;

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) tenant: String,
    /// A service path, or all of them.
    pub(crate) path: Option<String>,
    /// Who may not do everything.
    pub(crate) role: Option<RoleAccess>,
    /// What the entities are looked for.
    pub(crate) purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Delete,
}

impl Scope {
    /// Whether entities under a service path belong to it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let Some(own) = &self.path else { return true };
        path.strip_prefix(&**own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The entities of a type that are there for who asks; none where none are.
    fn entities(&self, type_name: &str) -> Option<BoundFilter> {
        match (&self.role, self.purpose) {
            (None, _) => Some(BoundFilter::everything()),
            (Some(role), Purpose::Read) => role.visible(&self.tenant, type_name),
            (Some(role), Purpose::Delete) => role.deletes(&self.tenant, type_name),
        }
    }

    /// Whether an attribute is there for who asks: to be read, or to be summed up.
    pub(crate) fn has_attribute(&self, type_name: &str, name: &str, is_summed_up: bool) -> bool {
        let Some(role) = &self.role else { return true };
        role.select(&self.tenant, type_name).is_some_and(|select| {
            if is_summed_up { select.aggregated.has(name) } else { select.attributes.has(name) }
        })
    }

    /// The most rows of a type, where there is a limit.
    pub(crate) fn limit(&self, type_name: &str) -> Option<u64> {
        self.role.as_ref()?.select(&self.tenant, type_name)?.limit.map(u64::from)
    }
}

/// An attribute that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct AskedAttribute {
    pub(crate) id: AttributeId,
    pub(crate) name: String,
    /// The type that it was first given.
    pub(crate) declared: String,
    pub(crate) kind: Kind,
}

/// The entities of a type.
#[derive(Debug)]
pub(crate) struct TypeResult {
    pub(crate) name: String,
    /// By their names.
    pub(crate) attributes: Vec<AskedAttribute>,
    /// By their ids; each has rows.
    pub(crate) entities: Vec<EntityResult>,
    /// Rows without regard to limits, where they are to be counted.
    pub(crate) total: u64,
}

#[derive(Debug)]
pub(crate) struct EntityResult {
    pub(crate) id: String,
    /// One for each service path.
    pub(crate) series: Vec<(SeriesRows, Chosen)>,
    pub(crate) aggregated: Option<Aggregated>,
}

/// Which rows of a series are asked for.
#[derive(Debug, Clone)]
pub(crate) enum Chosen {
    Range(Range<u64>),
    /// In order.
    List(Vec<u64>),
}

/// What was made of an entity's values.
#[derive(Debug, Default)]
pub(crate) struct Aggregated {
    /// The beginnings of the periods; none without a period.
    pub(crate) index: Vec<TimeMs>,
    /// For each period those of all attributes.
    pub(crate) summaries: Vec<Vec<Summary>>,
}

/// Which entities are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// One, by its id; of a type, where it is named.
    Entity(&'a str),
    /// Those of a type.
    Type(&'a str),
    /// Those of all types, or of the one that is named.
    All,
}

/// Types and the entities that are asked for of each: ids with their series.
pub(crate) type Found = Vec<(TableId, Vec<(String, Vec<SeriesId>)>)>;

impl Chosen {
    fn len(&self) -> u64 {
        match self {
            Self::Range(range) => range.end.saturating_sub(range.start),
            Self::List(list) => list.len() as u64,
        }
    }
}

/// About how many blocks are looked at: what makes a query long.
pub(crate) fn cost(read: &Read, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> usize {
    let rows = match parameters.page {
        Page::First { limit, .. } | Page::Last { limit, .. } => limit.min(1 << 30) as usize,
    };
    let entities = entity_count(read, scope, asked, parameters);
    let columns = parameters.attributes.len().max(4);
    let of_rows = if parameters.aggregation.is_some() || parameters.geo.is_some() {
        // How many rows there are of each is not known.
        entities * 16
    } else {
        rows * columns / 1000
    };
    entities + of_rows.min(entities * 1000)
}

/// How many entities are looked at, at most.
pub(crate) fn entity_count(read: &Read, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> usize {
    read.with_catalog(|catalog| {
        let tables = tables(catalog, scope, asked, parameters).into_iter();
        tables
            .map(|table| match asked {
                Asked::Entity(_) => 1,
                _ if !parameters.ids.is_empty() => parameters.ids.len(),
                _ => catalog.table(table).series.len(),
            })
            .sum()
    })
}

/// The types that are asked for.
fn tables(catalog: &Catalog, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> Vec<TableId> {
    let named = match asked {
        Asked::Type(name) => Some(name),
        _ => parameters.type_name.as_deref(),
    };
    match named {
        Some(name) => {
            name.split(',').filter_map(|name| catalog.find_table(&scope.tenant, name.trim())).collect()
        }
        None => catalog.tables_of(&scope.tenant).to_vec(),
    }
}

/// The rows that a query asks for.
pub(crate) fn run(
    read: &Read,
    scope: &Scope,
    asked: Asked<'_>,
    parameters: &Parameters,
) -> Result<Vec<TypeResult>, Fault> {
    let found = find(read, scope, asked, parameters);
    if let (Asked::Entity(id), [_, _, ..]) = (asked, &found[..]) {
        return Err(Fault::ambiguous(id, http::StatusCode::BAD_REQUEST));
    }
    let mut results = Vec::with_capacity(found.len());
    for (table, entities) in found {
        let (name, attributes) = read.with_catalog(|catalog| {
            let table = catalog.table(table);
            let is_summed_up = parameters.aggregation.is_some();
            let is_there = |name: &str| scope.has_attribute(&table.name, name, is_summed_up);
            (table.name.to_string(), asked_attributes(table, &parameters.attributes, &is_there))
        });
        let limited = scope.limit(&name).map(|limit| parameters.within(limit));
        let parameters = limited.as_ref().unwrap_or(parameters);
        if attributes.is_empty() && !parameters.attributes.is_empty() {
            continue;
        }
        let mut result = TypeResult { name, attributes, entities: Vec::new(), total: 0 };
        fill(&mut result, read, table, entities, (scope, parameters))?;
        if !result.entities.is_empty() {
            results.push(result);
        }
    }
    Ok(results)
}

pub(crate) fn asked_attributes(
    table: &prony_series_store::Table,
    names: &[String],
    is_there: &dyn Fn(&str) -> bool,
) -> Vec<AskedAttribute> {
    let asked = |(id, of): (AttributeId, &prony_series_store::Attribute)| AskedAttribute {
        id,
        name: of.name.to_string(),
        declared: of.declared.to_string(),
        kind: of.kind,
    };
    let mut attributes: Vec<AskedAttribute> = if names.is_empty() {
        table.ids().map(asked).collect()
    } else {
        names.iter().filter_map(|name| table.attribute(name)).map(asked).collect()
    };
    attributes.retain(|of| is_there(&of.name));
    attributes.sort_by(|one, other| one.name.cmp(&other.name));
    attributes.dedup_by(|one, other| one.id == other.id);
    attributes
}

pub(crate) fn find(read: &Read, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> Found {
    let mut found: Found = Vec::new();
    let named: Option<Vec<&str>> = match asked {
        Asked::Entity(id) => Some(vec![id]),
        _ if parameters.ids.is_empty() => None,
        _ => Some(parameters.ids.iter().map(String::as_str).collect()),
    };
    for table in read.with_catalog(|catalog| tables(catalog, scope, asked, parameters)) {
        let entities = read.with_catalog(|catalog| scope.entities(&catalog.table(table).name));
        let Some(seen) = entities else { continue };
        let fits = |of: &Series| {
            parameters.id_pattern.as_ref().is_none_or(|pattern| pattern.is_match(&of.entity))
                && scope.has(&of.path)
                && seen.passes(&of.entity, &of.path)
        };
        let series = series_of(read, table, named.as_deref(), &fits);
        let mut entities: Vec<(String, Vec<SeriesId>)> = Vec::new();
        for (entity, id) in series {
            match entities.last_mut() {
                Some((last, ids)) if *last == entity => ids.push(id),
                _ => entities.push((entity, vec![id])),
            }
        }
        if !entities.is_empty() {
            found.push((table, entities));
        }
    }
    found
}

/// The series of a type that fit, by their entities: of those that are named, or of all. Writers wait for no more than some of them.
pub(crate) fn series_of(
    read: &Read,
    table: TableId,
    named: Option<&[&str]>,
    fits: &dyn Fn(&Series) -> bool,
) -> Vec<(String, SeriesId)> {
    let mut series: Vec<(String, SeriesId)> = Vec::new();
    let mut take = |catalog: &Catalog, id: SeriesId| {
        let of = catalog.series(id);
        if fits(of) {
            series.push((of.entity.to_string(), id));
        }
    };
    if let Some(named) = named {
        read.with_catalog(|catalog| {
            for id in named {
                catalog.series_of(table, id).for_each(|id| take(catalog, id));
            }
        });
    } else {
        let count = read.with_catalog(|catalog| catalog.table(table).series.len());
        for from in (0..count).step_by(SLICE_ENTITIES) {
            read.with_catalog(|catalog| {
                let all = &catalog.table(table).series;
                for id in &all[from..count.min(from + SLICE_ENTITIES)] {
                    take(catalog, *id);
                }
            });
        }
    }
    series.sort();
    series.dedup();
    series
}

fn fill(
    result: &mut TypeResult,
    read: &Read,
    table: TableId,
    entities: Vec<(String, Vec<SeriesId>)>,
    (scope, parameters): (&Scope, &Parameters),
) -> Result<(), Fault> {
    let has_location = scope.has_attribute(&result.name, LOCATION, false);
    let location = parameters.geo.is_some().then(|| location_of(read, table).filter(|_| has_location));
    if location == Some(None) {
        return Ok(());
    }
    let location = location.flatten();
    let mut wanted: Vec<AttributeId> = result.attributes.iter().map(|of| of.id).collect();
    wanted.extend(location);
    let (mut owners, mut series) = (Vec::new(), Vec::new());
    for (place, (_, ids)) in entities.iter().enumerate() {
        owners.extend(ids.iter().map(|_| place));
        series.extend(ids);
    }
    let chosen: Vec<(SeriesRows, Chosen)> = if let (Some(geo), Some(location)) = (&parameters.geo, location) {
        let mut rows = read.series_of_type(&series, parameters.range, &wanted);
        let found = lying(&mut rows, geo, location)?;
        result.total = found.len() as u64;
        let is_paged = parameters.aggregation.is_none();
        let lists = lists(found, rows.len(), is_paged.then_some(parameters.page));
        rows.into_iter().zip(lists).collect()
    } else {
        let all = Page::First { offset: 0, limit: u64::MAX };
        let page = if parameters.aggregation.is_some() { all } else { parameters.page };
        let paged = read.page(&series, parameters.range, &wanted, page, parameters.counts)?;
        result.total = paged.total;
        paged.series.into_iter().map(|(rows, range)| (rows, Chosen::Range(range))).collect()
    };
    let mut all: Vec<EntityResult> = entities
        .into_iter()
        .map(|(id, _)| EntityResult { id, series: Vec::new(), aggregated: None })
        .collect();
    let with_aggregates = parameters.aggregation.is_some() && parameters.geo.is_none();
    for (owner, (mut rows, chosen)) in owners.into_iter().zip(chosen) {
        if chosen.len() > 0 || with_aggregates && rows.aggregated(None)?.is_some() {
            all[owner].series.push((rows, chosen));
        }
    }
    all.retain(|entity| !entity.series.is_empty());
    result.entities = all;
    match parameters.aggregation {
        Some(aggregation) => aggregate(result, aggregation, parameters.page),
        None => Ok(()),
    }
}

fn location_of(read: &Read, table: TableId) -> Option<AttributeId> {
    read.with_catalog(|catalog| {
        let (id, of) = catalog.table(table).attribute(LOCATION)?;
        (of.kind == Kind::Geometry).then_some(id)
    })
}

/// A row that is found: its time, its series' place, its own.
type FoundRow = (TimeMs, usize, u64);

/// The rows whose place lies as it is asked for.
fn lying(rows: &mut [SeriesRows], geo: &GeoQuery, location: AttributeId) -> Result<Vec<FoundRow>, Fault> {
    let mut found = Vec::new();
    for (place, of) in rows.iter_mut().enumerate() {
        let mut number = 0;
        // Places change less often than rows come.
        let mut last: Option<(String, bool)> = None;
        of.visit(0..u64::MAX, &[location], |part, range| {
            for row in range {
                if let Value::Text(text) = part.get(row, location) {
                    let holds = match &last {
                        Some((known, holds)) if known == text => *holds,
                        _ => {
                            let holds = geo.holds(text);
                            last = Some((text.to_owned(), holds));
                            holds
                        }
                    };
                    if holds {
                        found.push((part.times[row], place, number));
                    }
                }
                number += 1;
            }
            found.len() <= FOUND_ROWS_MAX
        })?;
        if found.len() > FOUND_ROWS_MAX {
            return Err(too_many("rows", FOUND_ROWS_MAX));
        }
    }
    Ok(found)
}

fn too_many(what: &str, limit: usize) -> Fault {
    let text =
        format!("the query finds more {what} than the limit of {limit}; ask for less time or fewer entities");
    Fault::Text { status: http::StatusCode::PAYLOAD_TOO_LARGE, text: text.into() }
}

/// For each series the rows of a page.
fn lists(mut found: Vec<FoundRow>, count: usize, page: Option<Page>) -> Vec<Chosen> {
    found.sort_unstable();
    let mut lists = vec![Vec::new(); count];
    for (_, place, row) in &found[paged(found.len(), page)] {
        lists[*place].push(*row);
    }
    lists.into_iter().map(Chosen::List).collect()
}

fn paged(total: usize, page: Option<Page>) -> Range<usize> {
    match page {
        None => 0..total,
        Some(Page::First { offset, limit }) => {
            let from = offset.min(total as u64);
            from as usize..from.saturating_add(limit).min(total as u64) as usize
        }
        Some(Page::Last { offset, limit }) => {
            let to = (total as u64).saturating_sub(offset);
            to.saturating_sub(limit) as usize..to as usize
        }
    }
}

fn aggregate(result: &mut TypeResult, aggregation: Aggregation, page: Page) -> Result<(), Fault> {
    let Aggregation { method, period } = aggregation;
    if result.attributes.iter().any(|of| !can_aggregate(of.kind, method)) {
        return Err(Fault::Described {
            status: http::StatusCode::NOT_FOUND,
            error: "AggrMethod cannot be applied",
            description: "AggrMethod cannot be applied on type TEXT and BOOLEAN.".into(),
        });
    }
    let mut periods: Vec<(TimeMs, usize, usize)> = Vec::new();
    for (place, entity) in result.entities.iter_mut().enumerate() {
        let aggregated = summarize(entity, &result.attributes, period)?;
        periods.extend(aggregated.index.iter().enumerate().map(|(at, time)| (*time, place, at)));
        if periods.len() > PERIODS_MAX {
            return Err(too_many("periods", PERIODS_MAX));
        }
        entity.aggregated = Some(aggregated);
    }
    if period.is_none() {
        return Ok(());
    }
    periods.sort_unstable();
    let mut kept: Vec<Aggregated> = result.entities.iter().map(|_| Aggregated::default()).collect();
    for (time, place, at) in &periods[paged(periods.len(), Some(page))] {
        let Some(all) = &mut result.entities[*place].aggregated else { continue };
        kept[*place].index.push(*time);
        kept[*place].summaries.push(std::mem::take(&mut all.summaries[*at]));
    }
    for (entity, kept) in result.entities.iter_mut().zip(kept) {
        entity.aggregated = Some(kept);
    }
    result.entities.retain(|entity| entity.aggregated.as_ref().is_some_and(|of| !of.index.is_empty()));
    Ok(())
}

/// Of all rows of an entity that are chosen, by period.
fn summarize(
    entity: &mut EntityResult,
    attributes: &[AskedAttribute],
    period: Option<Period>,
) -> Result<Aggregated, ReadError> {
    let around = |time: TimeMs| period.map_or((TimeMs::MIN, TimeMs::MAX), |period| period.around(time));
    let mut all: std::collections::BTreeMap<TimeMs, Vec<Summary>> = std::collections::BTreeMap::new();
    for (rows, chosen) in &mut entity.series {
        for (place, attribute) in attributes.iter().enumerate() {
            let mut add = |time: TimeMs, summary: &Summary| {
                let of =
                    all.entry(around(time).0).or_insert_with(|| vec![Summary::default(); attributes.len()]);
                of[place].add_all(summary);
                true
            };
            match chosen {
                Chosen::Range(_) => rows.summarize(attribute.id, period.into(), add)?,
                Chosen::List(list) => each_of(rows, list, &[attribute.id], |part, row| {
                    let value = part.get(row, attribute.id).number();
                    let _ = add(part.times[row], &value.map_or_else(Summary::default, Summary::of_one));
                })?,
            }
        }
    }
    let (index, summaries) = all.into_iter().unzip();
    Ok(Aggregated { index, summaries })
}

/// Calls `take` with the rows of a list.
fn each_of(
    rows: &mut SeriesRows,
    list: &[u64],
    attributes: &[AttributeId],
    mut take: impl FnMut(&Rows, usize),
) -> Result<(), ReadError> {
    let (Some(from), Some(to)) = (list.first(), list.last()) else { return Ok(()) };
    let (mut number, mut left) = (*from, list.iter().copied().peekable());
    rows.visit(*from..to + 1, attributes, |part, range| {
        for row in range {
            if left.peek() == Some(&number) {
                left.next();
                take(part, row);
            }
            number += 1;
        }
        true
    })
}

impl EntityResult {
    /// Calls `take` with the chosen rows in the order of their times, until it says that it is enough.
    pub(crate) fn visit(
        &mut self,
        attributes: &[AttributeId],
        mut take: impl FnMut(&Rows, usize) -> bool,
    ) -> Result<(), ReadError> {
        if let [(rows, Chosen::Range(range))] = &mut self.series[..] {
            return rows.visit(range.clone(), attributes, |part, mut range| range.all(|row| take(part, row)));
        }
        // Those of several service paths, or that were found one by one, are put in order first.
        let mut parts = Vec::new();
        for (rows, chosen) in &mut self.series {
            let mut part = Rows::default();
            let list: Vec<u64> = match chosen {
                Chosen::Range(range) => range.clone().collect(),
                Chosen::List(list) => list.clone(),
            };
            each_of(rows, &list, attributes, |from, row| part.push_row(from, row))?;
            parts.push(part);
        }
        let rows = Rows::in_order(&parts);
        let _ = (0..rows.len()).all(|row| take(&rows, row));
        Ok(())
    }
}
