//! Which rows a query asks for: types, entities, the rows of each, and what is made of them.

use std::collections::HashSet;

use prony_series_store::{
    AttributeId, Catalog, Kind, Page, Read, ReadError, Series, SeriesId, SeriesRows, TableId, TimeMs,
    TimeRange, Value,
};

use super::{
    aggregate::aggregate,
    entity::{AskedAttribute, Chosen, EntityResult, TypeResult},
    fault::Fault,
    page::paged,
    parameters::Parameters,
};
use crate::{
    access::{filter::BoundFilter, role::RoleAccess},
    hidden,
    ngsi::geometry::GeoQuery,
};

/// Entities whose names are looked at in one go, while writers wait.
const SLICE_ENTITIES: usize = 4096;
/// Rows that a geographical query finds, of all entities.
const FOUND_ROWS_MAX: usize = 5_000_000;
/// Where geographical queries look.
const LOCATION: &str = "location";

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

    /// Whether all attributes of a type are there for who asks.
    fn has_all_attributes(&self, type_name: &str) -> bool {
        let Some(role) = &self.role else { return true };
        role.select(&self.tenant, type_name).is_some_and(|select| select.attributes.has_all())
    }

    /// The most rows of a type, where there is a limit.
    pub(crate) fn limit(&self, type_name: &str) -> Option<u64> {
        self.role.as_ref()?.select(&self.tenant, type_name)?.limit.map(u64::from)
    }
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

/// What a query has found.
#[derive(Debug, Default)]
pub(crate) struct QueryResults {
    /// Those that have rows in the page.
    pub(crate) types: Vec<TypeResult>,
    /// Rows of all pages, where they are to be counted.
    pub(crate) total: u64,
}

/// Types and the entities that are asked for of each: ids with their series.
pub(crate) type Found = Vec<(TableId, Vec<(String, Vec<SeriesId>)>)>;

/// About how many blocks are looked at: what makes a query long.
pub(crate) fn cost(read: &Read, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> usize {
    let (Page::First { limit, .. } | Page::Last { limit, .. }) = parameters.page;
    let entities = entity_count(read, scope, asked, parameters);
    let pages = if parameters.is_page_of_each { entities } else { 1 };
    let rows = (limit.min(1 << 30) as usize).saturating_mul(pages);
    let columns = columns(read, scope, asked, parameters).max(4);
    let of_rows = if parameters.aggregation.is_some() || parameters.geo.is_some() {
        // How many rows there are of each is not known.
        entities * 16
    } else {
        rows.saturating_mul(columns) / 1000
    };
    entities + of_rows.min(entities * 1000)
}

/// How many attributes are looked at, of the type that has most.
fn columns(read: &Read, scope: &Scope, asked: Asked<'_>, parameters: &Parameters) -> usize {
    if !parameters.attributes.is_empty() {
        return parameters.attributes.len();
    }
    read.with_catalog(|catalog| {
        let is_there = |table: &TableId| match asked {
            Asked::Entity(id) => catalog.series_of(*table, id).next().is_some(),
            Asked::Type(_) | Asked::All => true,
        };
        let tables = tables(catalog, scope, asked, parameters).into_iter().filter(is_there);
        tables.map(|table| catalog.table(table).attributes.len()).max().unwrap_or_default()
    })
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
    let find = |name: &str| catalog.find_table(&scope.tenant, name);
    match (asked, &parameters.type_name) {
        // A path names one type, which may have commas in its name.
        (Asked::Type(name), _) => find(name).into_iter().collect(),
        (_, Some(names)) => {
            // A type may be called as a list is written.
            if let Some(table) = find(names) {
                return vec![table];
            }
            let mut tables: Vec<TableId> = Vec::new();
            for table in names.split(',').filter_map(|name| find(name.trim())) {
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
            tables
        }
        (_, None) => catalog.tables_of(&scope.tenant).to_vec(),
    }
}

/// The rows that a query asks for.
pub(crate) fn run(
    read: &Read,
    scope: &Scope,
    asked: Asked<'_>,
    parameters: &Parameters,
) -> Result<QueryResults, Fault> {
    let mut found = find(read, scope, asked, parameters);
    if let (Asked::Entity(id), [_, _, ..]) = (asked, &found[..]) {
        found = with_rows(read, found, TimeRange::ALL)?;
        if found.len() > 1 {
            return Err(Fault::ambiguous(id, http::StatusCode::BAD_REQUEST));
        }
    }
    let mut results = QueryResults::default();
    for (table, entities) in found {
        let mut result = read.with_catalog(|catalog| {
            let table = catalog.table(table);
            let is_summed_up = parameters.aggregation.is_some();
            let is_there = |name: &str| scope.has_attribute(&table.name, name, is_summed_up);
            let shows_source = parameters.shown.time_attribute && scope.has_all_attributes(&table.name);
            TypeResult {
                name: table.name.to_string(),
                attributes: asked_attributes(table, &parameters.attributes, &is_there),
                time_attribute: hidden::time_attribute_of(table).filter(|_| shows_source),
                entities: Vec::new(),
                total: 0,
            }
        });
        let limited = scope.limit(&result.name).map(|limit| parameters.within(limit));
        let parameters = limited.as_ref().unwrap_or(parameters);
        if result.attributes.is_empty() && !parameters.attributes.is_empty() {
            continue;
        }
        fill(&mut result, read, table, entities, (scope, parameters))?;
        results.total += result.total;
        if !result.entities.is_empty() {
            results.types.push(result);
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
        metadata: hidden::metadata_of(table, &of.name),
    };
    let mut attributes: Vec<AskedAttribute> = if names.is_empty() {
        hidden::visible(table).map(asked).collect()
    } else {
        names.iter().filter_map(|name| hidden::named(table, name)).map(asked).collect()
    };
    attributes.retain(|of| is_there(&of.name));
    attributes.sort_by(|one, other| one.name.cmp(&other.name));
    attributes.dedup_by(|one, other| one.id == other.id);
    attributes
}

/// Those of the entities that have rows within the time, or aggregates of rows that they had. Names stay when all rows are deleted, so
/// that an entity which is found by its name may have none.
pub(crate) fn with_rows(read: &Read, found: Found, range: TimeRange) -> Result<Found, ReadError> {
    let mut left: Found = Vec::new();
    for (table, mut entities) in found {
        let all: Vec<SeriesId> = entities.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let mut kept = HashSet::new();
        for (id, mut rows) in all.iter().zip(read.series_of_type(&all, range, &[])) {
            if rows.last_time()?.is_some() || has_aggregates(read, *id, range)? {
                kept.insert(*id);
            }
        }
        for (_, ids) in &mut entities {
            ids.retain(|id| kept.contains(id));
        }
        entities.retain(|(_, ids)| !ids.is_empty());
        if !entities.is_empty() {
            left.push((table, entities));
        }
    }
    Ok(left)
}

/// Whether there may be aggregates to which a row of the range belonged.
fn has_aggregates(read: &Read, series: SeriesId, range: TimeRange) -> Result<bool, ReadError> {
    let aggregated = read.series(series, TimeRange::ALL, &[]).aggregated(None)?;
    Ok(aggregated.is_some_and(|of| of.from_ms <= range.to_ms && range.from_ms <= of.to_ms))
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
    if parameters.shown.metadata {
        wanted.extend(result.attributes.iter().filter_map(|of| of.metadata));
    }
    wanted.extend(result.time_attribute);
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
        let page = is_paged.then_some(parameters.page);
        let lists = lists(found, &owners, page, parameters.is_page_of_each);
        rows.into_iter().zip(lists).collect()
    } else if parameters.is_page_of_each && parameters.aggregation.is_none() {
        let (chosen, total) = pages_of_each(read, (&series, &owners), &wanted, parameters)?;
        result.total = total;
        chosen
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
    if let Some(aggregation) = parameters.aggregation {
        aggregate(result, aggregation, parameters)?;
    }
    let is_paged = parameters.aggregation.is_none_or(|of| of.period.is_some());
    if parameters.is_page_of_each
        && is_paged
        && let Some(most) = parameters.most
    {
        keep_most(&mut result.entities, most);
    }
    Ok(())
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
            return Err(Fault::too_many("rows", FOUND_ROWS_MAX as u64));
        }
    }
    Ok(found)
}

/// For each series the rows of a page: of all, or of each owner of series.
fn lists(
    mut found: Vec<FoundRow>,
    owners: &[usize],
    page: Option<Page>,
    is_page_of_each: bool,
) -> Vec<Chosen> {
    let owner_of = |(_, place, _): &FoundRow| if is_page_of_each { owners[*place] } else { 0 };
    found.sort_unstable_by_key(|row| (owner_of(row), *row));
    let mut lists = vec![Vec::new(); owners.len()];
    for of_owner in found.chunk_by(|one, other| owner_of(one) == owner_of(other)) {
        for (_, place, row) in &of_owner[paged(of_owner.len(), page)] {
            lists[*place].push(*row);
        }
    }
    lists.into_iter().map(Chosen::List).collect()
}

/// For each series the rows of a page of its owner, and how many rows all have. Series of an owner follow one another.
fn pages_of_each(
    read: &Read,
    (series, owners): (&[SeriesId], &[usize]),
    wanted: &[AttributeId],
    parameters: &Parameters,
) -> Result<(Vec<(SeriesRows, Chosen)>, u64), Fault> {
    let (mut rows, mut total) = (Vec::with_capacity(series.len()), 0);
    // Those that are alone are asked about together.
    let of_owner =
        |owner: usize| owners.partition_point(|of| *of < owner)..owners.partition_point(|of| *of <= owner);
    let alone: Vec<SeriesId> = series
        .iter()
        .zip(owners)
        .filter(|(_, owner)| of_owner(**owner).len() == 1)
        .map(|(id, _)| *id)
        .collect();
    let mut alone = read.series_of_type(&alone, parameters.range, wanted).into_iter();
    let mut place = 0;
    while let Some(owner) = owners.get(place) {
        let places = of_owner(*owner);
        place = places.end;
        if places.len() == 1
            && let Some(mut of) = alone.next()
        {
            let count = of.count()?;
            total += count;
            let chosen = paged(count as usize, Some(parameters.page));
            rows.push((of, Chosen::Range(chosen.start as u64..chosen.end as u64)));
            continue;
        }
        let paged =
            read.page(&series[places], parameters.range, wanted, parameters.page, parameters.counts)?;
        total += paged.total;
        rows.extend(paged.series.into_iter().map(|(rows, range)| (rows, Chosen::Range(range))));
    }
    Ok((rows, total))
}

/// Leaves so many rows or periods of all entities at most, those of the first ones.
fn keep_most(entities: &mut Vec<EntityResult>, most: u64) {
    let mut left = most;
    for entity in entities.iter_mut() {
        if let Some(aggregated) = &mut entity.aggregated {
            left -= aggregated.keep_last(left);
            continue;
        }
        for (_, chosen) in &mut entity.series {
            chosen.keep_last(left);
            left -= chosen.len();
        }
        entity.series.retain(|(_, chosen)| chosen.len() > 0);
    }
    entities.retain(|entity| {
        entity.aggregated.as_ref().map_or(!entity.series.is_empty(), |of| !of.index.is_empty())
    });
}
